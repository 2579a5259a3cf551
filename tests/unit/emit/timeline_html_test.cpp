#include "timeline_support.hpp"

#include <nki/emit/perfetto.hpp>
#include <nki/emit/timeline_html.hpp>
#include <nki/emit/timeline_svg.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace timeline_test {
namespace {

using nki::emit::perfetto_json;
using nki::emit::row_names;
using nki::emit::timeline_html;
using nki::emit::timeline_svg;

// ---- the page

TEST(Html, HoldsEveryBarOnce) {
  for (const Sample& run :
       {simulated(512, 1024, 1024), simulated(500, 700, 900, true), synthetic(3000, simulated(256, 512, 256).program)})
    EXPECT_EQ(spans_of(data_of(timeline_html(run.program, run.result, run.timeline, text()))), spans_of(run.timeline));
}

TEST(Html, ColumnsAgree) {
  const Sample run = simulated(500, 700, 900, true, nki::DType::f32);
  const Json d = data_of(timeline_html(run.program, run.result, run.timeline, text()));
  const std::size_t n = bars_in(run.timeline);
  for (const char* column : {"site", "ops", "t", "d", "i", "at"}) EXPECT_EQ(d[column].size(), n) << column;
  EXPECT_EQ(d["row"].text.size(), n);
  EXPECT_EQ(d["lane"].text.size(), n);
  EXPECT_EQ(d["trigger"].size(), static_cast<std::size_t>(std::count_if(d["row"].text.begin(), d["row"].text.end(),
                                                                        [](char c) { return c >= '5'; })));
  EXPECT_EQ(d["waits"].size() % 5, 0u);
  const auto strings = static_cast<std::int64_t>(d["strings"].size()),
             sites = static_cast<std::int64_t>(d["sites"].size());
  for (const Json& site : d["sites"].list) {
    ASSERT_EQ(site.size(), 8u);
    for (std::size_t k : {0u, 2u, 3u, 4u, 5u, 6u}) EXPECT_LT(site[k].integer(), strings);
    EXPECT_LT(site[7].integer(), static_cast<std::int64_t>(d["loops"].size()));
  }
  for (std::size_t i = 0; i < n; ++i) {
    ASSERT_LT(d["site"][i].integer(), sites);
    EXPECT_LT(d["ops"][i].integer(), static_cast<std::int64_t>(d["operands"].size()));
    const Json& names =
        d["loops"][static_cast<std::size_t>(d["sites"][static_cast<std::size_t>(d["site"][i].integer())][7].integer())];
    EXPECT_EQ(d["at"][i].size(), names.size()) << "each bar has an index for each of its loops";
  }
  EXPECT_FALSE(d["pass"].keys.empty()) << "f32 products run in two passes";
}

TEST(Html, DependencesPointAtTheProducersOfTheRun) {
  const Sample run = simulated(512, 1024, 1024);
  const Json d = data_of(timeline_html(run.program, run.result, run.timeline));
  std::vector<std::int64_t> start, end;
  std::int64_t t = 0;
  for (std::size_t i = 0; i < d["t"].size(); ++i) {
    t += d["t"][i].integer();
    start.push_back(t);
    end.push_back(t + d["d"][i].integer());
  }
  std::size_t bar = 0, known = 0;
  for (std::size_t w = 0; w < d["waits"].size(); w += 5) {
    bar += static_cast<std::size_t>(d["waits"][w].integer());
    const std::int64_t until = start[bar] - d["waits"][w + 2].integer(), producer = d["waits"][w + 4].integer();
    ASSERT_GE(producer, 0);
    EXPECT_LE(end[static_cast<std::size_t>(producer)], until);
    ++known;
  }
  std::size_t edges = 0;
  for (const Event& e : run.timeline.events) edges += !is_queue(e.row) && e.producer >= 0 ? 1 : 0;
  EXPECT_EQ(known, edges);
}

TEST(Html, AsksNothingOfTheOutside) {
  const Sample run = simulated(512, 1024, 1024);
  std::string s = timeline_html(run.program, run.result, run.timeline, text());
  const std::string ns = "http://www.w3.org/2000/svg";
  for (std::size_t at = s.find(ns); at != std::string::npos; at = s.find(ns)) s.erase(at, ns.size());
  for (const char* word :
       {"http://", "https://", "src=", "@import", "url(http", "<link", "fetch(", "XMLHttpRequest", "//cdn"})
    EXPECT_FALSE(has(s, word)) << word;
  EXPECT_TRUE(has(s, "default-src 'none'"));
}

TEST(Html, SaysWhatItIs) {
  const Sample run = simulated(512, 1024, 1024);
  TimelineText t = text();
  t.subtitle = "A subtitle";
  const std::string s = timeline_html(run.program, run.result, run.timeline, t);
  for (const char* words : {"Predicted by an uncalibrated model, not measured on a device.", "Model 0.1",
                            "m=512,n=1024,k=1024", "trn2", "tiles_m=", "A subtitle", "aria-label=\"Timeline of matmul",
                            "<details><summary>The timeline as text</summary>", "prefers-color-scheme: dark",
                            "@media print", "By kernel line", "source of line ", "Where the time goes", "<noscript>"})
    EXPECT_TRUE(has(s, words)) << words;
  EXPECT_FALSE(has(s, "A part of the run"));
  for (const char* row : row_names) EXPECT_TRUE(has(s, std::string("<th scope=\"row\">") + row)) << row;
}

TEST(Html, LongRunsAreCutInWordsAndStaySmall) {
  const Sample run = synthetic(300000, simulated(500, 700, 900, true).program);
  const std::string s = timeline_html(run.program, run.result, run.timeline, text());
  EXPECT_LT(s.size(), 10u * 1000 * 1000);
  EXPECT_TRUE(has(s, "The timeline has 300,000 bars, more than a page can hold. Shown are the first 40,000 (0."))
      << s.substr(0, 100);
  EXPECT_TRUE(has(s, " and the last 20,000 ("));
  EXPECT_TRUE(has(s, "the 240,000 between them are left out"));
  EXPECT_TRUE(has(s, "240,000 bars are left out here"));
  const Json d = data_of(s);
  ASSERT_EQ(d["t"].size(), 60000u);
  const Spans shown = spans_of(d), all = spans_of(run.timeline);
  EXPECT_TRUE(std::includes(all.begin(), all.end(), shown.begin(), shown.end()));
  EXPECT_LT(timeline_svg(run.program, run.result, run.timeline).size(), 2u * 1000 * 1000);
}

TEST(Html, AProducerOutsideOfTheWindowIsNamed) {
  const Sample run = simulated(512, 1024, 1024);
  const std::string s = timeline_html(run.program, run.result, run.timeline, text(), {.bars = 12});
  const Json d = data_of(s);
  ASSERT_EQ(d["t"].size(), 12u);
  bool outside = false;
  for (std::size_t w = 0; w < d["waits"].size(); w += 5) {
    const std::int64_t producer = d["waits"][w + 4].integer();
    EXPECT_LT(producer, 12);
    if (producer > -2) continue;
    outside = true;
    EXPECT_LT(-2 - producer, static_cast<std::int64_t>(d["sites"].size()));
  }
  EXPECT_TRUE(outside);
  EXPECT_TRUE(has(s, "Shown are the first 8 ("));
}

TEST(Html, ALimitOfBytesHolds) {
  ir::Program p = simulated(500, 700, 900, true).program;
  for (ir::Buffer& b : p.buffers) b.name += std::string(5000, 'x');
  const Sample run = synthetic(20000, p);
  for (std::size_t bytes : {std::size_t{200000}, std::size_t{400000}})
    EXPECT_LE(timeline_html(run.program, run.result, run.timeline, text(), {.bars = 60000, .bytes = bytes}).size(),
              bytes);
}

TEST(Html, SaysThatTheRecordingIsCut) {
  const Sample run = simulated(512, 1024, 1024, false, nki::DType::bf16, 50);
  const std::string s = timeline_html(run.program, run.result, run.timeline);
  EXPECT_TRUE(has(s, "The recording is cut.")) << "dropped " << run.timeline.dropped;
  EXPECT_TRUE(has(s, "the first 50 of "));
  EXPECT_TRUE(has(timeline_svg(run.program, run.result, run.timeline), "Only the first 50 of "));
}

// ---- all pictures

TEST(Pictures, NamesCannotBreakOut) {
  Sample run = simulated(256, 512, 256);
  const std::string evil = "<u>&\"'</u></script><script>";
  for (ir::Buffer& b : run.program.buffers) b.name = evil;
  for (ir::Loop& l : run.program.loops) l.name = evil;
  for (std::string& f : run.program.files)
    if (!f.empty()) f = "dir/" + evil + ".hpp";
  for (std::string& c : run.program.scopes) c = evil;
  for (ir::SourceLoc& l : run.program.locs) l.scope = 0;
  run.program.kernel = run.program.problem = run.program.params = evil;
  TimelineText t = text();
  t.note = t.subtitle = t.hw = evil;
  t.source_line = [&](std::string_view, std::uint32_t) { return evil; };
  const std::string html = timeline_html(run.program, run.result, run.timeline, t);
  const std::string svg = timeline_svg(run.program, run.result, run.timeline, t);
  for (const std::string* s : {&html, &svg}) {
    EXPECT_FALSE(has(*s, "<u>"));
    EXPECT_FALSE(has(*s, "\"'<"));
    EXPECT_TRUE(has(*s, "&lt;u&gt;&amp;&quot;&#39;"));
  }
  EXPECT_EQ(count(html, "<script"), 2u);
  EXPECT_EQ(count(html, "</script>"), 2u);
  data_of(html);
  const Json json = parsed(perfetto_json(run.program, run.result, run.timeline, t));
  EXPECT_EQ(json["otherData"]["kernel"].text, evil);
}

TEST(Pictures, AreTheSameEveryTime) {
  const Sample a = simulated(500, 700, 900, true), b = simulated(500, 700, 900, true);
  EXPECT_EQ(timeline_html(a.program, a.result, a.timeline, text()),
            timeline_html(b.program, b.result, b.timeline, text()));
  EXPECT_EQ(timeline_svg(a.program, a.result, a.timeline, text()),
            timeline_svg(b.program, b.result, b.timeline, text()));
  EXPECT_EQ(perfetto_json(a.program, a.result, a.timeline, text()),
            perfetto_json(b.program, b.result, b.timeline, text()));
}

TEST(Pictures, AnEmptyTimelineIsDrawn) {
  const ir::Program p;
  const Result r;
  const Timeline t;
  EXPECT_TRUE(has(timeline_html(p, r, t), "The timeline has no events."));
  EXPECT_TRUE(has(timeline_svg(p, r, t), "</svg>"));
  parsed(perfetto_json(p, r, t));
  data_of(timeline_html(p, r, t));
}

TEST(Pictures, SitesThatTheProgramDoesNotHaveAreDrawn) {
  const Sample run = synthetic(500, simulated(256, 512, 256).program);
  const ir::Program none;
  EXPECT_TRUE(has(timeline_html(none, run.result, run.timeline), "matmul 3"));
  parsed(perfetto_json(none, run.result, run.timeline));
  EXPECT_TRUE(has(timeline_svg(none, run.result, run.timeline), "</svg>"));
}

// ---- the static picture

/// Tags open and close in order, and attributes are quoted.
void expect_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at)) {
    const std::size_t end = xml.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = xml.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    ASSERT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      ASSERT_EQ(tag.substr(1), open.back());
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  EXPECT_TRUE(open.empty());
}

TEST(Svg, IsWellFormedAndSaysWhatItShows) {
  for (const Sample& run : {simulated(512, 1024, 1024), simulated(500, 700, 900, true),
                            synthetic(5000, simulated(256, 512, 256).program)}) {
    const std::string s = timeline_svg(run.program, run.result, run.timeline, text());
    expect_well_formed(s);
    EXPECT_TRUE(has(s, "viewBox=\"0 0 1200 "));
    EXPECT_TRUE(has(s, "<title id=\"nki-title\">matmul"));
    EXPECT_TRUE(has(s, "<desc id=\"nki-desc\">The body takes "));
    EXPECT_TRUE(has(s, "Predicted by an uncalibrated model"));
    for (const char* row : row_names) EXPECT_TRUE(has(s, std::string(">") + row + "</text>")) << row;
    EXPECT_EQ(count(s, "http"), 1u) << "the namespace and no other address";
  }
}

TEST(Svg, BarsWideEnoughToSeeAreDrawnOneByOne) {
  const Sample run = simulated(256, 512, 256);
  const std::string s = timeline_svg(run.program, run.result, run.timeline);
  std::size_t products = 0;
  for (const Event& e : run.timeline.events) products += e.kind == machine::Kind::matmul ? 1 : 0;
  EXPECT_EQ(count(s, "<title>nc_matmul acc"), products);
}

}  // namespace
}  // namespace timeline_test
