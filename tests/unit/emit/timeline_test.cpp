#include "timeline_support.hpp"

#include <nki/emit/event_names.hpp>
#include <nki/emit/perfetto.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace timeline_test {

namespace {

using nki::emit::EventNames;
using nki::emit::perfetto_json;
using nki::emit::detail::json_string;

// ---- names

TEST(EventNames, ComeFromTheProgram) {
  const Sample run = simulated(512, 1024, 1024);
  const EventNames names(run.program);
  std::set<std::string> buffers;
  for (ir::BufferId b = 0; b < run.program.buffers.size(); ++b) buffers.insert(names.buffer(b));
  EXPECT_EQ(buffers.size(), run.program.buffers.size()) << "two buffers go by one name";
  bool multiplies = false;
  for (const Event& e : run.timeline.events) {
    EXPECT_EQ(names.place(e.site).rfind("matmul.hpp:", 0), 0u) << "the file stands without its folder";
    if (names.op(e) != "nc_matmul" || e.kind == machine::Kind::event) continue;
    multiplies = true;
    EXPECT_TRUE(has(names.operands(e.site), "<- lhs_tile, rhs_tile")) << names.operands(e.site);
    EXPECT_EQ(names.look(e), emit::Look::matmul);
  }
  EXPECT_TRUE(multiplies);
}

TEST(EventNames, TellDirectionsOfDmas) {
  const Sample run = simulated(256, 512, 256);
  const EventNames names(run.program);
  for (const Event& e : run.timeline.events) {
    if (e.kind != machine::Kind::dma) continue;
    const bool store = names.target(e.site) == "out";
    EXPECT_EQ(names.look(e), !is_queue(e.row) ? emit::Look::trigger : store ? emit::Look::store : emit::Look::load);
  }
}

TEST(EventNames, SitesWithoutAProgramGetTheirKindAndNumber) {
  const ir::Program none;
  const EventNames names(none);
  EXPECT_EQ(names.op(17, machine::Kind::matmul), "matmul 17");
  EXPECT_EQ(names.op(machine::no_id, machine::Kind::compute), "compute");
  EXPECT_EQ(names.operands(3), "");
  EXPECT_EQ(names.place(3), "");
  EXPECT_EQ(names.look(3, machine::Kind::dma, Event::Row::dma_sync), emit::Look::copy);
}

TEST(JsonString, IsJsonAndHoldsNoMarkup) {
  for (const std::string& s : {std::string("plain"), std::string("<b>&\"'\\"), std::string("a\nb\tc\0d", 7),
                               std::string("\xC2\xB5s \xE2\x82\xAC \xF0\x9F\x98\x80"), std::string("cut \xE2\x82"),
                               std::string("\xC0\x80 \xED\xA0\x80 \xFF"), std::string("</script>")}) {
    const std::string json = json_string(s);
    Json value;
    EXPECT_TRUE(JsonReader(json).read(value)) << json;
    EXPECT_EQ(json.find_first_of("<>&"), std::string::npos) << json;
  }
  EXPECT_EQ(parsed(json_string("<b>&\"'\\\n")).text, "<b>&\"'\\\n");
  EXPECT_EQ(json_string("\xC2\xB5"), "\"\xC2\xB5\"");
  EXPECT_EQ(json_string("\xC2"), "\"\\ufffd\"");
}

TEST(Numbers, AreWrittenForReaders) {
  using emit::detail::grouped;
  EXPECT_EQ(grouped("0"), "0");
  EXPECT_EQ(grouped("999.1234"), "999.1234");
  EXPECT_EQ(grouped("55936.1"), "55,936.1");
  EXPECT_EQ(grouped("-1234567"), "-1,234,567");
  EXPECT_EQ(emit::detail::with_commas(300000), "300,000");
  EXPECT_EQ(emit::detail::microseconds(120000, 120), "1.000");
}

// ---- Perfetto

TEST(Perfetto, EveryBarAppearsOnce) {
  for (const Sample& run : {simulated(512, 1024, 1024), simulated(500, 700, 900, true),
                            synthetic(3000, simulated(256, 512, 256).program)}) {
    const Json json = parsed(perfetto_json(run.program, run.result, run.timeline, text()));
    std::size_t bars = 0;
    for (const Json& e : json["traceEvents"].list)
      if (e["ph"].text == "X" && e["cat"].text != "wait") ++bars;
    EXPECT_EQ(bars, bars_in(run.timeline));
  }
}

TEST(Perfetto, SlicesOfAThreadDoNotCross) {
  for (const Sample& run : {simulated(512, 1024, 1024), simulated(500, 700, 900, true),
                            synthetic(3000, simulated(256, 512, 256).program)}) {
    const Json json = parsed(perfetto_json(run.program, run.result, run.timeline));
    std::map<std::int64_t, std::vector<std::pair<double, double>>> threads;
    for (const Json& e : json["traceEvents"].list)
      if (e["ph"].text == "X")
        threads[e["tid"].integer()].emplace_back(e["ts"].number, e["ts"].number + e["dur"].number);
    for (auto& [tid, slices] : threads) {
      if (tid > 5 * 16 && tid % 16 == emit::detail::max_lanes) continue;  // the last lane takes what has no place
      std::sort(slices.begin(), slices.end());
      for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_LE(slices[i - 1].second, slices[i].first + 2e-6) << tid;
    }
  }
}

TEST(Perfetto, ArrowsLeaveTheirProducerAndArriveWhereTheyAreNeeded) {
  const Sample run = simulated(512, 1024, 1024);
  const Json json = parsed(perfetto_json(run.program, run.result, run.timeline));
  struct Slice {
    double from, to;
  };
  std::map<std::int64_t, std::vector<Slice>> threads;
  for (const Json& e : json["traceEvents"].list)
    if (e["ph"].text == "X") threads[e["tid"].integer()].push_back({e["ts"].number, e["ts"].number + e["dur"].number});
  std::map<std::int64_t, std::pair<int, int>> ends;
  std::map<std::int64_t, double> left;
  for (const Json& e : json["traceEvents"].list) {
    const bool start = e["ph"].text == "s", finish = e["ph"].text == "f";
    if (!start && !finish) continue;
    ++(start ? ends[e["id"].integer()].first : ends[e["id"].integer()].second);
    if (start)
      left[e["id"].integer()] = e["ts"].number;
    else
      EXPECT_GE(e["ts"].number, left[e["id"].integer()]);
    bool inside = false;
    for (const Slice& s : threads[e["tid"].integer()])
      inside = inside || (s.from <= e["ts"].number && e["ts"].number <= s.to);
    EXPECT_TRUE(inside);
  }
  std::size_t edges = 0;
  for (const Event& e : run.timeline.events) edges += e.producer >= 0 ? 1 : 0;
  EXPECT_EQ(ends.size(), edges);
  for (const auto& [id, n] : ends) EXPECT_EQ(n, std::make_pair(1, 1)) << id;
}

TEST(Perfetto, NamesRowsLinesOperandsAndModel) {
  const Sample run = simulated(512, 1024, 1024);
  const std::string s = perfetto_json(run.program, run.result, run.timeline, text());
  const Json json = parsed(s);
  EXPECT_EQ(json["otherData"]["model_version"].text, machine::model_version);
  EXPECT_EQ(json["otherData"]["hw"].text, "trn2");
  std::set<std::string> names;
  for (const Json& e : json["traceEvents"].list)
    if (e["name"].text == "thread_name") names.insert(e["args"]["name"].text);
  for (const char* row : {"tensor", "vector", "scalar", "sync", "DMA sync", "DMA scalar"})
    EXPECT_TRUE(names.count(row)) << row;
  bool found = false;
  for (const Json& e : json["traceEvents"].list) {
    if (e["ph"].text != "X" || e["name"].text != "nc_matmul") continue;
    found = true;
    EXPECT_EQ(e["args"]["line"].text.rfind("matmul.hpp:", 0), 0u);
    EXPECT_TRUE(has(e["args"]["moving"].text, "rhs_tile sbuf bf16 [128, 512]")) << e["args"]["moving"].text;
    EXPECT_TRUE(has(e["args"]["loops"].text, "k="));
  }
  EXPECT_TRUE(found);
}

}  // namespace

}  // namespace timeline_test
