#pragma once

#include <nki/emit/event_names.hpp>
#include <nki/emit/timeline_data.hpp>
#include <nki/ir/program.hpp>
#include <nki/sim/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

/// The data behind a timeline's page, as compact JSON: columns, times as differences, each string once. The script in
/// timeline_page.hpp is its only reader.
namespace nki::inline v0_1::emit::detail {

/// A run, and the part of it that a page shows: the first `first` bars and the last `last` ones.
struct PageView {
  const ir::Program* program = nullptr;
  const sim::Result* result = nullptr;
  const sim::Timeline* timeline = nullptr;
  const TimelineText* text = nullptr;
  EventNames names;
  Bars bars;
  std::array<std::int64_t, row_count> cover{};
  std::size_t first = 0, last = 0;
  std::vector<std::uint32_t> shown;
  Executions executions;  ///< of the bars shown, then of the bars of the tables

  std::size_t left_out() const { return bars.bars.size() - shown.size(); }
  /// The number of a bar on the page, or -1 where it is not shown.
  std::int64_t on_page(std::int64_t bar) const {
    if (bar < 0) return -1;
    const auto i = static_cast<std::size_t>(bar), tail = bars.bars.size() - last;
    if (i < first) return bar;
    return i >= tail ? static_cast<std::int64_t>(first + (i - tail)) : -1;
  }
  /// Busy ticks of a stream, or ticks in which a queue has a transfer under way.
  std::int64_t busy(std::size_t row) const {
    return is_queue(static_cast<sim::Event::Row>(row)) ? cover[row] : result->streams[row].busy;
  }
  std::string source_line(std::uint32_t site) const {
    const ir::SourceLoc* l = names.loc(site);
    if (l == nullptr || !text->source_line) return {};
    std::string s = text->source_line(program->files[l->file], l->line);
    const std::size_t from = s.find_first_not_of(" \t");
    if (from == std::string::npos) return {};
    return shortened(s.substr(from, s.find_last_not_of(" \t\r\n") + 1 - from), 2 * longest_name);
  }
};

// Marks over a colour, as paths on a tile of 8 by 8.
namespace marks {
inline constexpr const char *none = "", *up = "M-1 9L9 -1M-1 1L1 -1M7 9L9 7", *down = "M-1 -1L9 9M-1 7L1 9M7 -1L9 1",
                            *cross = "M-1 9L9 -1M-1 -1L9 9", *level = "M0 2H8M0 6H8", *upright = "M2 0V8M6 0V8",
                            *dots = "M1 2H3M5 6H7";
}  // namespace marks
inline constexpr std::array<const char*, look_count> look_marks{marks::none, marks::level, marks::dots,  marks::none,
                                                                marks::up,   marks::down,  marks::cross, marks::none};
inline constexpr std::array<const char*, machine::cause_count> cause_marks{marks::down, marks::up, marks::upright,
                                                                           marks::cross, marks::level};

class PageData {
 public:
  explicit PageData(const PageView& v) : v_(v) {}

  std::string write() {
    for (std::size_t i = 0; i < v_.shown.size(); ++i) add_bar(i);
    const Bars& b = v_.bars;
    std::string s = "{";
    number(s, "tpn", v_.result->ticks_per_ns);
    number(s, "begin", b.begin);
    number(s, "end", std::max({b.end, v_.result->body, b.begin + 1}));
    number(s, "triggerLook", static_cast<int>(Look::trigger));
    number(s, "loadLook", static_cast<int>(Look::load));
    number(s, "copyLook", static_cast<int>(Look::copy));
    strings(s, "rows", row_names);
    std::vector<std::string> busy;
    std::string lanes;
    for (std::size_t row = 0; row < row_count; ++row) {
      busy.push_back(percent(share(v_.busy(row), v_.result->body)));
      put(lanes, b.lanes[row]);
    }
    strings(s, "busy", busy);
    list(s, "lanes", lanes);
    strings(s, "colors", look_colors);
    strings(s, "marks", look_marks);
    strings(s, "causes", cause_sentences);
    strings(s, "causeColors", cause_colors);
    strings(s, "causeMarks", cause_marks);
    if (v_.left_out() > 0 && v_.first > 0 && v_.last > 0) {
      const std::string words =
          concat({with_commas(static_cast<std::int64_t>(v_.left_out())), " bars are left out here"});
      add(s, {",\"gap\":{\"from\":", std::to_string(b.bars[v_.first].start), ",\"until\":",
              std::to_string(b.bars[b.bars.size() - v_.last].start), ",\"text\":", json_string(words), "}"});
    }
    std::string sets;
    for (const std::vector<OperandText>& set : v_.executions.sets) {
      std::string one;
      for (const OperandText& o : set) {
        std::string operand;
        for (const std::string* word : {&o.role, &o.name, &o.what}) put(operand, id(*word));
        put_list(one, operand);
      }
      put_list(sets, one);
    }
    list(s, "operands", sets);
    list(s, "sites", site_rows_);
    list(s, "loops", loop_rows_);
    list(s, "strings", strings_);
    add(s, {",\n\"row\":\"", row_, "\",\n\"lane\":\"", lane_, "\""});
    list(s, "site", site_);
    list(s, "ops", operands_);
    list(s, "t", start_);
    list(s, "d", length_);
    list(s, "i", issued_);
    list(s, "trigger", trigger_);
    list(s, "at", at_);
    list(s, "waits", waits_);
    add(s, {",\n\"pass\":{", pass_, "}}"});
    return s;
  }

 private:
  static void put(std::string& s, std::int64_t x) { add(s, {s.empty() ? "" : ",", std::to_string(x)}); }
  static void put_list(std::string& s, std::string_view inner) { add(s, {s.empty() ? "[" : ",[", inner, "]"}); }
  static void list(std::string& s, const char* name, std::string_view inner) {
    add(s, {",\n\"", name, "\":[", inner, "]"});
  }
  static void number(std::string& s, const char* name, std::int64_t x) {
    add(s, {s.size() > 1 ? ",\"" : "\"", name, "\":", std::to_string(x)});
  }
  static void strings(std::string& s, const char* name, const auto& words) {
    std::string inner;
    for (const auto& word : words) add(inner, {inner.empty() ? "" : ",", json_string(word)});
    list(s, name, inner);
  }

  std::uint32_t id(const std::string& s) {
    const auto [at, is_new] = known_strings_.emplace(s, static_cast<std::uint32_t>(known_strings_.size()));
    if (is_new) add(strings_, {strings_.empty() ? "" : ",", json_string(s)});
    return at->second;
  }

  std::uint32_t site_of(const Bar& b) {
    // The trigger and the transfer of a DMA share a row of sites; the script tells them apart.
    const Look look = v_.names.look(b.site, b.kind, b.kind == machine::Kind::dma ? sim::Event::Row::dma_sync : b.row);
    const auto [at, is_new] =
        known_sites_.emplace(std::make_tuple(b.site, b.kind, look), static_cast<std::uint32_t>(known_sites_.size()));
    if (!is_new) return at->second;
    std::string loops;
    if (const auto l = v_.executions.loops.find(b.site); l != v_.executions.loops.end())
      for (const std::string& name : l->second) put(loops, id(name));
    const auto [loop_list, new_list] = known_loops_.emplace(loops, static_cast<std::uint32_t>(known_loops_.size()));
    if (new_list) put_list(loop_rows_, loops);
    std::string row;
    put(row, id(v_.names.op(b.site, b.kind)));
    put(row, static_cast<int>(look));
    for (const std::string& word : {v_.names.place(b.site), v_.names.scope(b.site), v_.source_line(b.site),
                                    v_.names.operands(b.site), v_.names.target(b.site)})
      put(row, id(word));
    put(row, loop_list->second);
    put_list(site_rows_, row);
    return at->second;
  }

  void add_bar(std::size_t i) {
    const Bar& b = v_.bars.bars[v_.shown[i]];
    row_ += static_cast<char>('0' + static_cast<int>(b.row));
    lane_ += static_cast<char>('0' + b.lane);
    put(site_, site_of(b));
    put(operands_, v_.executions.operands[i]);
    put(start_, b.start - before_);
    before_ = b.start;
    put(length_, b.end - b.start);
    put(issued_, b.start - b.issued);
    if (is_queue(b.row)) put(trigger_, v_.on_page(b.trigger));
    std::string indices;
    for (std::size_t d = 0; d < v_.executions.depth(i); ++d)
      put(indices, v_.executions.indices[v_.executions.first[i] + d]);
    if (indices.empty())
      put(at_, 0);
    else
      put_list(at_, indices);
    if (b.passes > 1)
      add(pass_, {pass_.empty() ? "\"" : ",\"", std::to_string(i), "\":\"", std::to_string(b.pass + 1), " of ",
                  std::to_string(b.passes), "\""});
    for (std::uint32_t w = b.first_wait; w < b.first_wait + b.waits; ++w) {
      const BarWait& x = v_.bars.waits[w];
      // A producer that is not shown is named by its site.
      std::int64_t producer = v_.on_page(x.producer);
      if (producer < 0 && x.producer >= 0)
        producer = -2 - std::int64_t{site_of(v_.bars.bars[static_cast<std::size_t>(x.producer)])};
      put(waits_, static_cast<std::int64_t>(i - last_waiter_));
      last_waiter_ = i;
      put(waits_, static_cast<int>(x.cause));
      put(waits_, b.start - x.until);
      put(waits_, x.until - x.from);
      put(waits_, producer);
    }
  }

  const PageView& v_;
  std::unordered_map<std::string, std::uint32_t> known_strings_;
  std::unordered_map<std::string, std::uint32_t> known_loops_;
  std::map<std::tuple<std::uint32_t, machine::Kind, Look>, std::uint32_t> known_sites_;
  std::string strings_, site_rows_, loop_rows_, row_, lane_, site_, operands_, start_, length_, issued_, trigger_, at_,
      pass_, waits_;
  std::int64_t before_ = 0;
  std::size_t last_waiter_ = 0;
};

}  // namespace nki::inline v0_1::emit::detail
