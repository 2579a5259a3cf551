#pragma once

#include <nki/emit/event_names.hpp>
#include <nki/emit/timeline_data.hpp>
#include <nki/emit/timeline_json.hpp>
#include <nki/emit/timeline_page.hpp>
#include <nki/emit/timeline_svg.hpp>
#include <nki/ir/program.hpp>
#include <nki/sim/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nki::inline v0_1::emit {

/// How much a page holds. Where a run has more, the page shows its beginning and its end and says so.
struct HtmlLimits {
  std::size_t bars = 60000;
  std::size_t bytes = 9500000;
};

namespace detail {

class HtmlWriter {
 public:
  HtmlWriter(const ir::Program& p, const sim::Result& r, const sim::Timeline& t, const TimelineText& text)
      : r_(r), t_(t), v_{&p, &r, &t, &text, EventNames(p), bars_of(p, t), {}, 0, 0, {}, {}} {
    v_.cover = covered(v_.bars);
  }

  std::string write(const HtmlLimits& limits) {
    const std::string svg = timeline_svg(*v_.program, r_, t_, *v_.text), lines = line_table(),
                      summary = summary_table();
    for (std::size_t most = limits.bars;; most = most * 2 / 3) {
      choose(most);
      std::string s = head();
      add(s, {facts(), window_words(), chart(), summary, lines, event_tables()});
      if (svg.size() * 8 < limits.bytes) add(s, {"<noscript>\n", svg, "</noscript>\n"});
      add(s, {R"(<script type="application/json" id="nki-data">)", PageData(v_).write(), "</script>\n<script>",
              page_script, "</script>\n</body>\n</html>\n"});
      if (s.size() <= limits.bytes || most == 0) return s;
    }
  }

 private:
  static constexpr std::size_t text_rows = 30, line_rows = 30;

  std::string us(std::int64_t ticks, int decimals = 3) const {
    return grouped(microseconds(ticks, r_.ticks_per_ns, decimals));
  }
  static std::string commas(std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); }
  static void cell(std::string& s, std::string_view html, std::string_view kind = {}) {
    add(s, {"<td", kind.empty() ? "" : " class=\"", kind, kind.empty() ? ">" : "\">", html, "</td>"});
  }
  struct Column {
    const char* name;
    bool is_number = false;
  };
  static void columns(std::string& s, std::string_view caption, const std::vector<Column>& list) {
    add(s, {"<div class=\"scroll\"><table>\n<caption>", caption, "</caption>\n<thead><tr>"});
    for (const Column& c : list) add(s, {"<th scope=\"col\"", c.is_number ? " class=\"n\">" : ">", c.name, "</th>"});
    s += "</tr></thead>\n<tbody>\n";
  }
  std::string title() const { return heading(*v_.program, *v_.text); }

  // ---- which bars are shown

  void choose(std::size_t most) {
    const std::size_t n = v_.bars.bars.size();
    v_.first = n <= most ? n : most - most / 3;
    v_.last = n <= most ? 0 : most / 3;
    v_.shown.clear();
    for (std::size_t i = 0; i < v_.first; ++i) v_.shown.push_back(static_cast<std::uint32_t>(i));
    for (std::size_t i = n - v_.last; i < n; ++i) v_.shown.push_back(static_cast<std::uint32_t>(i));
    std::vector<std::uint32_t> longest(n);
    for (std::size_t i = 0; i < n; ++i) longest[i] = static_cast<std::uint32_t>(i);
    in_text_.assign(longest.begin(), longest.begin() + static_cast<std::ptrdiff_t>(std::min(n, text_rows)));
    const auto length = [&](std::uint32_t i) { return v_.bars.bars[i].end - v_.bars.bars[i].start; };
    const auto some = static_cast<std::ptrdiff_t>(std::min(n, text_rows));
    std::partial_sort(longest.begin(), longest.begin() + some, longest.end(), [&](std::uint32_t a, std::uint32_t b) {
      return length(a) != length(b) ? length(a) > length(b) : a < b;
    });
    in_text_.insert(in_text_.end(), longest.begin(), longest.begin() + some);
    std::vector<std::uint32_t> asked = v_.shown;
    asked.insert(asked.end(), in_text_.begin(), in_text_.end());
    v_.executions = ExecutionFinder(v_.names, v_.bars, asked).find();
  }

  std::string window_words() const {
    std::string s;
    const std::vector<Bar>& bars = v_.bars.bars;
    if (v_.left_out() > 0) {
      add(s, {R"(<p class="window" role="note"><b>A part of the run.</b> The timeline has )", commas(bars.size()),
              " bars, more than a page can hold. Shown are the first ", commas(v_.first)});
      if (v_.first > 0) add(s, {" (", us(bars[0].start), " to ", us(bars[v_.first - 1].start), " &micro;s)"});
      add(s, {" and the last ", commas(v_.last)});
      if (v_.last > 0) add(s, {" (", us(bars[bars.size() - v_.last].start), " to ", us(v_.bars.end), " &micro;s)"});
      add(s, {"; the ", commas(v_.left_out()), " between them are left out. The tables count all of them.</p>\n"});
    }
    if (t_.dropped > 0) {
      const auto kept = static_cast<std::int64_t>(t_.events.size());
      add(s, {R"(<p class="window" role="note"><b>The recording is cut.</b> It holds the first )", with_commas(kept),
              " of ", with_commas(kept + t_.dropped),
              " events that the simulator met. The streams' busy times, instructions and waits below are of the whole "
              "run, everything else is of the "
              "recorded part.</p>\n"});
    }
    return s;
  }

  // ---- the page

  std::string head() const {
    const TimelineText& text = *v_.text;
    std::string s = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="nki">
)html";
    const std::string name = escape_html(title());
    add(s, {"<title>", name, "</title>\n<style>", page_style, "</style>\n</head>\n<body>\n<header>\n<div>\n<h1>", name,
            "</h1>\n"});
    if (!text.subtitle.empty()) add(s, {"<p>", escape_html(text.subtitle), "</p>\n"});
    if (!v_.program->params.empty()) add(s, {"<p class=\"muted\">", escape_html(v_.program->params), "</p>\n"});
    add(s, {"</div>\n<div class=\"body\">", us(r_.body, 1),
            " &micro;s<small>first instruction to last completion</small></div>\n</header>\n"});
    add(s, {R"(<p class="note" role="note">)", escape_html(text.note)});
    if (!text.model_version.empty())
      add(s, {" Model ", escape_html(text.model_version), text.hw.empty() ? "" : ", ", escape_html(text.hw), "."});
    s += "</p>\n";
    return s;
  }

  std::string facts() const {
    std::string s = "<ul class=\"facts\">\n";
    const auto fact = [&](std::string_view value, std::string_view unit, std::string_view what) {
      add(s, {"<li><b>", value, unit, "</b><span>", what, "</span></li>\n"});
    };
    fact(percent(share(r_.streams[0].busy, r_.body)), "", "of the time the tensor array works");
    fact(percent(share(r_.dma_busy, r_.dma_engines * r_.body)), "",
         concat({"of the ", std::to_string(r_.dma_engines), " DMA engines' time in use"}));
    fact(with_commas(r_.instructions), "", "machine instructions");
    fact(grouped(fixed(static_cast<double>(r_.read_bytes) / 1e6, 2)), " MB", "read from HBM");
    fact(grouped(fixed(static_cast<double>(r_.write_bytes) / 1e6, 2)), " MB", "written to HBM");
    std::size_t worst = 0;
    for (std::size_t c = 0; c < sim::stall_count; ++c)
      if (r_.streams[0].stalls[c] > r_.streams[0].stalls[worst]) worst = c;
    constexpr std::array<const char*, sim::stall_count> lost{
        "", "", "", "", "", "loads of weights that nothing hides", "its cold clock", "DMA triggers"};
    if (r_.streams[0].stalls[worst] > 0)
      fact(us(r_.streams[0].stalls[worst], 1), " &micro;s",
           worst < machine::cause_count ? concat({"the array waits for ", cause_sentences[worst]})
                                        : concat({"the array loses to ", lost[worst]}));
    s += "</ul>\n";
    return s;
  }

  std::string chart() const {
    std::string s = R"html(<div class="bar" role="toolbar" aria-label="Timeline">
<span><button type="button" id="out" aria-label="Zoom out">&minus;</button>
<button type="button" id="in" aria-label="Zoom in">+</button>
<button type="button" id="all">Whole run</button></span>
<label>Highlight <input type="search" id="find" placeholder="buffer, operation or line"></label>
<span class="muted" id="count" role="status"></span>
<label><input type="checkbox" id="waits" checked> waits</label>
<label><input type="checkbox" id="arrows" checked> dependences</label>
<span class="hint">wheel zooms, drag moves, click pins</span></div>
<div class="chart"><canvas id="map" aria-hidden="true"></canvas><canvas id="view" tabindex="0" role="application"
 aria-roledescription="timeline" aria-describedby="keys" aria-label=")html";
    add(s, {escape_html(concat({"Timeline of ", title(), ". ", in_words(r_, v_.bars)})),
            "\"></canvas><div id=\"tip\" aria-hidden=\"true\"></div></div>\n<div id=\"pin\"></div>\n<div id=\"say\" "
            "role=\"status\"></div>\n",
            legend()});
    s += R"html(<details class="keys"><summary>Keys</summary>
<p id="keys">With the timeline in focus: <kbd>+</kbd> <kbd>-</kbd> zoom, <kbd>&larr;</kbd> <kbd>&rarr;</kbd> move,
<kbd>Home</kbd> whole run, <kbd>End</kbd> its end, <kbd>.</kbd> <kbd>,</kbd> next and previous bar of the row,
<kbd>&uarr;</kbd> <kbd>&darr;</kbd> row above and below, <kbd>p</kbd> what the bar waited for, <kbd>z</kbd> zoom to it,
<kbd>Esc</kbd> let go.</p></details>
)html";
    return s;
  }

  std::string legend() const {
    std::array<bool, look_count> used{};
    std::array<bool, machine::cause_count> waited{};
    for (const Bar& b : v_.bars.bars) used[static_cast<std::size_t>(v_.names.look(b.site, b.kind, b.row))] = true;
    for (const BarWait& w : v_.bars.waits)
      if (w.until > w.from) waited[static_cast<std::size_t>(w.cause)] = true;
    std::string s = "<ul class=\"legend\" aria-label=\"Legend\">\n";
    const auto entry = [&](std::string_view id, std::string_view paper, std::string_view color, std::string_view path,
                           int height, std::string_view what) {
      add(s, {R"(<li><svg width="26" height="14" aria-hidden="true"><defs><pattern id=")", id,
              R"(" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill=")", paper,
              R"("/><path d=")", path, R"(" stroke=")", color, R"(" stroke-width="1.5"/></pattern></defs><rect y=")",
              std::to_string((14 - height) / 2), R"(" width="26" height=")", std::to_string(height), "\" fill=\"url(#",
              id, ")\"/></svg>", what, "</li>\n"});
    };
    for (std::size_t l = 0; l < look_count; ++l)
      if (used[l])
        entry(concat({"k", std::to_string(l)}), look_colors[l], "rgba(0,0,0,.36)", look_marks[l], 14, look_names[l]);
    for (std::size_t c = 0; c < machine::cause_count; ++c)
      if (waited[c])
        entry(concat({"c", std::to_string(c)}), "transparent", cause_colors[c], cause_marks[c], 8,
              concat({"waits for ", cause_sentences[c]}));
    s += "</ul>\n";
    return s;
  }

  // ---- tables

  std::string summary_table() const {
    std::array<bool, sim::stall_count> used{};
    for (const sim::StreamResult& x : r_.streams)
      for (std::size_t c = 0; c < sim::stall_count; ++c) used[c] = used[c] || x.stalls[c] != 0;
    std::vector<Column> list{{"row"}, {"busy", true}, {"share"}, {"instructions", true}};
    constexpr std::array<const char*, sim::stall_count> names{"waits: operand", "waits: load",     "waits: slot",
                                                              "waits: store",   "waits: imported", "weights",
                                                              "clock",          "trigger"};
    for (std::size_t c = 0; c < sim::stall_count; ++c)
      if (used[c]) list.push_back({names[c], true});
    std::string s = "<h2>Where the time goes</h2>\n";
    columns(
        s,
        concat({"Microseconds of each instruction stream and DMA queue; shares are of the body's ", us(r_.body), "."}),
        list);
    std::array<std::int64_t, row_count> transfers{};
    for (const Bar& b : v_.bars.bars) ++transfers[static_cast<std::size_t>(b.row)];
    for (std::size_t row = 0; row < row_count; ++row) {
      const bool queue = is_queue(static_cast<sim::Event::Row>(row));
      const double part = share(v_.busy(row), r_.body);
      add(s, {"<tr><th scope=\"row\">", row_names[row], "</th>"});
      cell(s, us(v_.busy(row)), "n");
      cell(s,
           concat({"<span class=\"share\">", percent(part),
                   R"(</span><span class="meter" aria-hidden="true"><i style="width:)",
                   fixed(100 * std::clamp(part, 0.0, 1.0), 1), "%\"></i></span>"}),
           "s");
      cell(s, queue ? concat({with_commas(transfers[row]), " transfers"}) : with_commas(r_.streams[row].instructions),
           "n");
      for (std::size_t c = 0; c < sim::stall_count; ++c)
        if (used[c]) cell(s, queue || r_.streams[row].stalls[c] == 0 ? "" : us(r_.streams[row].stalls[c]), "n");
      s += "</tr>\n";
    }
    s += "</tbody></table></div>\n<p class=\"muted\">A queue is busy while it has a transfer under way, from its first "
         "packet until the transfer "
         "is seen to be complete.";
    if (used[static_cast<std::size_t>(sim::Stall::clock)])
      s += " The column clock is a part of busy: what the array would save at its warm clock.";
    s += "</p>\n";
    return s;
  }

  std::string line_table() const {
    struct LineSum {
      std::int64_t count = 0, time = 0, waited = 0;
      std::uint32_t site = machine::no_id;
      std::array<bool, row_count> rows{};
    };
    std::map<std::pair<std::string, std::string>, LineSum> sums;          // of each line and operation
    std::map<std::pair<std::uint32_t, machine::Kind>, LineSum*> of_site;  // to build the words once
    for (const Bar& b : v_.bars.bars) {
      LineSum*& sum = of_site[{b.site, b.kind}];
      if (sum == nullptr) {
        sum = &sums[{v_.names.place(b.site), v_.names.op(b.site, b.kind)}];
        sum->site = b.site;
      }
      for (std::uint32_t w = b.first_wait; w < b.first_wait + b.waits; ++w)
        sum->waited += v_.bars.waits[w].until - v_.bars.waits[w].from;
      if (b.kind == machine::Kind::dma && !is_queue(b.row)) continue;
      ++sum->count;
      sum->time += is_queue(b.row) ? b.end - b.start : b.shown_end - b.start;
      sum->rows[static_cast<std::size_t>(b.row)] = true;
    }
    using Entry = std::pair<const std::pair<std::string, std::string>, LineSum>;
    std::vector<const Entry*> order;
    for (const Entry& e : sums) order.push_back(&e);
    if (order.empty()) return {};
    std::stable_sort(order.begin(), order.end(),
                     [](const Entry* a, const Entry* b) { return a->second.time > b->second.time; });
    std::string s = "<h2>By kernel line</h2>\n";
    columns(s, "Busy time of all executions of a line, longest first; a DMA counts its transfer.",
            {{"line"},
             {"instruction"},
             {"rows"},
             {"times", true},
             {"busy &micro;s", true},
             {"waited &micro;s", true},
             {"source"}});
    for (std::size_t i = 0; i < std::min(order.size(), line_rows); ++i) {
      const auto& [place, op] = order[i]->first;
      const LineSum& sum = order[i]->second;
      std::string rows;
      for (std::size_t row = 0; row < row_count; ++row)
        if (sum.rows[row]) add(rows, {rows.empty() ? "" : ", ", row_names[row]});
      add(s, {"<tr><td", place.empty() ? ">" : " data-find>", escape_html(place), "</td>"});
      cell(s, concat({"<code>", escape_html(op), "</code>"}));
      cell(s, rows);
      cell(s, with_commas(sum.count), "n");
      cell(s, us(sum.time), "n");
      cell(s, us(sum.waited), "n");
      cell(s, concat({"<code>", escape_html(v_.source_line(sum.site)), "</code>"}), "w");
      s += "</tr>\n";
    }
    s += "</tbody></table></div>\n";
    if (order.size() > line_rows)
      add(s, {"<p class=\"muted\">", commas(order.size() - line_rows),
              " more lines with less time each are left out.</p>\n"});
    return s;
  }

  std::string event_tables() const {
    const std::size_t n = in_text_.size() / 2;
    if (n == 0) return "<p>The timeline has no events.</p>\n";
    const std::string many = std::to_string(n);
    std::string s =
        concat({"<details><summary>The timeline as text</summary>\n<p>", escape_html(in_words(r_, v_.bars)), "</p>\n"});
    event_table(s, concat({"The first ", many, " of ", commas(v_.bars.bars.size()), " bars, by start"}), 0, n);
    event_table(s, concat({"The longest ", many}), n, 2 * n);
    s += "</details>\n";
    return s;
  }
  void event_table(std::string& s, std::string_view caption, std::size_t from, std::size_t to) const {
    columns(s, caption,
            {{"row"},
             {"instruction"},
             {"operands"},
             {"start &micro;s", true},
             {"lasts &micro;s", true},
             {"waits"},
             {"loops"},
             {"line"}});
    for (std::size_t i = from; i < to; ++i) {
      const Bar& b = v_.bars.bars[in_text_[i]];
      std::string waits;
      for (std::uint32_t w = b.first_wait; w < b.first_wait + b.waits; ++w) {
        const BarWait& x = v_.bars.waits[w];
        if (x.until == x.from) continue;
        add(waits, {waits.empty() ? "" : "; ", us(x.until - x.from), " for ",
                    cause_sentences[static_cast<std::size_t>(x.cause)]});
        if (x.producer < 0) continue;
        const Bar& p = v_.bars.bars[static_cast<std::size_t>(x.producer)];
        add(waits, {": ", v_.names.op(p.site, p.kind), " ", v_.names.target(p.site), " in ",
                    row_names[static_cast<std::size_t>(p.row)]});
      }
      const bool trigger = v_.names.look(b.site, b.kind, b.row) == Look::trigger;
      s += "<tr>";
      cell(s, row_names[static_cast<std::size_t>(b.row)]);
      cell(s, concat({escape_html(v_.names.op(b.site, b.kind)), trigger ? " (trigger)" : ""}));
      cell(s, escape_html(v_.names.operands(b.site)), "w");
      cell(s, us(b.start), "n");
      cell(s, us(b.end - b.start), "n");
      cell(s, escape_html(waits), "w");
      cell(s, escape_html(v_.executions.at(v_.shown.size() + i, b.site)));
      cell(s, escape_html(v_.names.place(b.site)));
      s += "</tr>\n";
    }
    s += "</tbody></table></div>\n";
  }

  const sim::Result& r_;
  const sim::Timeline& t_;
  PageView v_;
  std::vector<std::uint32_t> in_text_;  ///< the first bars, then the longest
};

}  // namespace detail

/// A timeline as one page that needs nothing from outside: zoom, engines and DMA queues as rows, what each bar is,
/// which kernel line wrote it and what it waited for, tables of where the time goes, and the same in words. It stays
/// below 10 MB: of a longer run it shows the beginning and the end, and says so.
inline std::string timeline_html(const ir::Program& p, const sim::Result& r, const sim::Timeline& t,
                                 const TimelineText& text = {}, const HtmlLimits& limits = {}) {
  return detail::HtmlWriter(p, r, t, text).write(limits);
}

}  // namespace nki::inline v0_1::emit
