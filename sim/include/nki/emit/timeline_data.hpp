#pragma once

#include <nki/emit/event_names.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>
#include <nki/machine/cost.hpp>
#include <nki/machine/params.hpp>
#include <nki/machine/program.hpp>
#include <nki/sim/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

/// What the pictures of a timeline share: events turned into bars in lanes, each with all its waits, and what one
/// execution of an instruction touched.
namespace nki::inline v0_1::emit {

/// What stands around a timeline.
struct TimelineText {
  std::string title;     ///< empty: the kernel's name
  std::string subtitle;  ///< one more line under the title
  std::string hw;        ///< "trn2"
  std::string model_version = machine::model_version;
  std::string note = "Predicted by an uncalibrated model, not measured on a device.";
  /// The text of a line of kernel source, or empty where it is not known. Optional.
  std::function<std::string(std::string_view file, std::uint32_t line)> source_line;
};

namespace detail {

struct BarWait {
  machine::Cause cause = machine::Cause::operand;
  std::int64_t from = 0, until = 0;  ///< equal where nothing was lost
  std::int64_t producer = -1;        ///< bar, or -1
};

/// One instruction of a stream, or one transfer of a queue.
struct Bar {
  sim::Event::Row row = sim::Event::Row::tensor;
  machine::Kind kind = machine::Kind::compute;
  std::uint8_t lane = 0;
  std::uint32_t site = machine::no_id;
  std::int64_t start = 0, end = 0, issued = 0;
  std::int64_t shown_end = 0;  ///< not beyond the start of the next bar in its lane
  std::int64_t trigger = -1;   ///< of a transfer: the bar that triggered it, or -1
  std::uint32_t ordinal = 0;   ///< how often the instruction has run before
  std::uint8_t pass = 0, passes = 1;
  std::uint32_t first_wait = 0, waits = 0;
};

struct Bars {
  std::vector<Bar> bars;  ///< by start
  std::vector<BarWait> waits;
  std::array<int, row_count> lanes{};  ///< of each row, 0 where it has no bar
  std::int64_t begin = 0, end = 0;
};

/// More transfers at once than this share the last lane.
inline constexpr int max_lanes = 8;

inline int passes_of_site(const ir::Program& p, std::uint32_t site) {
  if (site >= p.instrs.size()) return 1;
  const ir::Instr& in = p.instrs[site];
  std::array<machine::Shape, 4> shapes;
  for (int o = 0; o < in.n_operands; ++o) {
    const ir::ViewId v = p.operand(in, o);
    if (v == ir::no_id) continue;
    shapes[static_cast<std::size_t>(o)].view = &p.views[v];
    shapes[static_cast<std::size_t>(o)].buffer = &p.buffers[p.views[v].buffer];
  }
  return machine::passes_of(in, shapes.data());
}

inline Bars bars_of(const ir::Program& p, const sim::Timeline& t) {
  using sim::Event;
  Bars out;
  // A wait of its own (EVENT_SEMAPHORE) belongs to the instruction that follows it in its stream.
  std::vector<std::int64_t> bar_of(t.events.size(), -1);
  std::array<std::vector<std::size_t>, row_count> pending;
  std::unordered_map<std::uint32_t, std::uint32_t> runs;  // events of each site so far
  std::vector<std::vector<std::size_t>> waits_of;         // events whose waits a bar has
  for (std::size_t i = 0; i < t.events.size(); ++i) {
    const Event& e = t.events[i];
    const auto row = static_cast<std::size_t>(e.row);
    if (e.kind == machine::Kind::event) {
      pending[row].push_back(i);
      continue;
    }
    Bar b;
    b.row = e.row;
    b.kind = e.kind;
    b.site = e.site;
    b.start = e.start;
    b.end = std::max(e.end, e.start);
    b.issued = e.issued;
    if (is_queue(e.row)) {
      b.trigger = e.producer;
      const auto trigger = static_cast<std::size_t>(e.producer);
      if (e.producer >= 0 && trigger < i && bar_of[trigger] >= 0)
        b.ordinal = out.bars[static_cast<std::size_t>(bar_of[trigger])].ordinal;
    } else {
      const int passes = passes_of_site(p, e.site);
      const std::uint32_t run = runs[e.site]++;
      b.passes = static_cast<std::uint8_t>(passes);
      b.ordinal = run / static_cast<std::uint32_t>(passes);
      b.pass = static_cast<std::uint8_t>(run % static_cast<std::uint32_t>(passes));
    }
    bar_of[i] = static_cast<std::int64_t>(out.bars.size());
    for (std::size_t w : pending[row]) bar_of[w] = bar_of[i];
    waits_of.push_back(std::move(pending[row]));
    pending[row].clear();
    if (!is_queue(e.row) && (e.producer >= 0 || e.waited > 0)) waits_of.back().push_back(i);
    out.bars.push_back(b);
  }

  std::vector<std::uint32_t> order(out.bars.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return out.bars[a].start < out.bars[b].start; });
  std::vector<std::int64_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int64_t>(i);
  const auto to_bar = [&](std::int64_t event) {
    if (event < 0 || static_cast<std::size_t>(event) >= bar_of.size()) return std::int64_t{-1};
    const std::int64_t b = bar_of[static_cast<std::size_t>(event)];
    return b < 0 ? b : place[static_cast<std::size_t>(b)];
  };
  std::vector<Bar> sorted;
  sorted.reserve(order.size());
  for (std::uint32_t i : order) {
    Bar b = out.bars[i];
    b.first_wait = static_cast<std::uint32_t>(out.waits.size());
    for (std::size_t w : waits_of[i]) {
      const Event& e = t.events[w];
      out.waits.push_back({e.cause, e.issued - e.waited, e.issued, to_bar(e.producer)});
    }
    b.waits = static_cast<std::uint32_t>(out.waits.size()) - b.first_wait;
    b.trigger = to_bar(b.trigger);
    sorted.push_back(b);
  }
  out.bars = std::move(sorted);

  // Lanes: instructions of a stream overlap only as a pipeline does and share one; transfers take the first free one.
  std::array<std::array<std::int64_t, max_lanes>, row_count> last{};  // 1 + the bar that is last in the lane
  for (std::size_t i = 0; i < out.bars.size(); ++i) {
    Bar& b = out.bars[i];
    const auto row = static_cast<std::size_t>(b.row);
    int lane = 0;
    if (is_queue(b.row))
      while (lane + 1 < max_lanes) {
        const std::int64_t before = last[row][static_cast<std::size_t>(lane)];
        if (before == 0 || out.bars[static_cast<std::size_t>(before - 1)].end <= b.start) break;
        ++lane;
      }
    std::int64_t& before = last[row][static_cast<std::size_t>(lane)];
    if (before > 0) {
      Bar& previous = out.bars[static_cast<std::size_t>(before - 1)];
      previous.shown_end = std::min(previous.shown_end, b.start);
    }
    before = static_cast<std::int64_t>(i) + 1;
    b.lane = static_cast<std::uint8_t>(lane);
    b.shown_end = b.end;
    out.lanes[row] = std::max(out.lanes[row], lane + 1);
    out.begin = std::min(out.begin, b.start);
    out.end = std::max(out.end, b.end);
  }
  return out;
}

/// "matmul m=512,n=1024,k=1024 on trn2"
inline std::string heading(const ir::Program& p, const TimelineText& text) {
  if (!text.title.empty()) return text.title;
  std::string s = p.kernel.empty() ? "Timeline" : p.kernel;
  if (!p.problem.empty()) add(s, {" ", p.problem});
  if (!text.hw.empty()) add(s, {" on ", text.hw});
  return s;
}

/// "93.1 %"
inline std::string percent(double share) {
  return concat({fixed(100.0 * share, share >= 0.9995 ? 0 : 1), " %"});
}
inline double share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// Ticks in which a row has at least one bar under way.
inline std::array<std::int64_t, row_count> covered(const Bars& b) {
  std::array<std::int64_t, row_count> sum{}, until{};
  until.fill(b.begin);
  for (const Bar& x : b.bars) {
    const auto row = static_cast<std::size_t>(x.row);
    const std::int64_t from = std::max(x.start, until[row]);
    if (x.end <= from) continue;
    sum[row] += x.end - from;
    until[row] = x.end;
  }
  return sum;
}

/// A few sentences for those who do not see the picture.
inline std::string in_words(const sim::Result& r, const Bars& b) {
  std::string s = concat({"The body takes ", microseconds(r.body, r.ticks_per_ns), " microseconds."});
  const std::array<std::int64_t, row_count> cover = covered(b);
  for (std::size_t row = 0; row < row_count; ++row) {
    const std::int64_t busy = is_queue(static_cast<sim::Event::Row>(row)) ? cover[row] : r.streams[row].busy;
    add(s, {" ", row_names[row]});
    if (b.lanes[row] == 0)
      s += " has nothing to do.";
    else
      add(s, {" is busy ", percent(share(busy, r.body)), " of it."});
  }
  return s;
}

/// An operand as one execution of an instruction saw it.
struct OperandText {
  std::string role, name, what;  ///< "moving", "rhs_tile", "sbuf bf16 [128, 512], slot 1 of 3"
};

/// What the bars' executions touched, and the loop indices at the time.
struct Executions {
  std::vector<std::uint32_t> operands;  ///< of each bar asked for: which of `sets`
  std::vector<std::vector<OperandText>> sets;
  std::vector<std::uint32_t> first;  ///< of each bar: its loop indices, outermost first, from here on
  std::vector<std::int64_t> indices;
  std::unordered_map<std::uint32_t, std::vector<std::string>> loops;  ///< of each site: names, outermost first

  std::size_t depth(std::size_t bar) const {
    return (bar + 1 < first.size() ? first[bar + 1] : indices.size()) - first[bar];
  }
  /// "n=0 m=1 k=3"
  std::string at(std::size_t bar, std::uint32_t site) const {
    std::string s;
    const auto names = loops.find(site);
    for (std::size_t d = 0; d < depth(bar); ++d) {
      if (!s.empty()) s += ' ';
      if (names != loops.end() && d < names->second.size()) add(s, {names->second[d], "="});
      s += std::to_string(indices[first[bar] + d]);
    }
    return s;
  }
};

/// Walks the program and looks at the executions behind the bars `shown` (indices into b.bars).
class ExecutionFinder {
 public:
  ExecutionFinder(const EventNames& names, const Bars& b, const std::vector<std::uint32_t>& shown)
      : names_(&names),
        program_(&names.program()),
        wanted_(program_->instrs.size()),
        next_(program_->instrs.size(), 0) {
    out_.operands.resize(shown.size(), 0);
    index_.resize(shown.size());
    for (std::uint32_t i = 0; i < shown.size(); ++i) {
      const Bar& bar = b.bars[shown[i]];
      if (names.knows(bar.site))
        wanted_[bar.site].push_back({bar.ordinal, i});
      else
        out_.operands[i] = intern({});
    }
    for (auto& list : wanted_)
      std::sort(list.begin(), list.end(), [](const Wanted& x, const Wanted& y) {
        return x.ordinal != y.ordinal ? x.ordinal < y.ordinal : x.bar < y.bar;
      });
  }

  Executions find() {
    walk();
    // What the walk did not reach belongs to another run than this program's: say what is certain.
    for (std::uint32_t site = 0; site < wanted_.size(); ++site)
      for (std::size_t i = next_[site]; i < wanted_[site].size(); ++i)
        out_.operands[wanted_[site][i].bar] = intern(texts(site, nullptr));
    for (const auto& list : index_) {
      out_.first.push_back(static_cast<std::uint32_t>(out_.indices.size()));
      out_.indices.insert(out_.indices.end(), list.begin(), list.end());
    }
    return std::move(out_);
  }

 private:
  struct Wanted {
    std::uint32_t ordinal, bar;
  };

  void walk() {
    std::size_t left = 0;
    for (const auto& list : wanted_) left += list.size();
    std::vector<std::vector<ir::LoopId>> around = loops_around();
    std::vector<std::uint32_t> runs(program_->instrs.size(), 0);
    ir::Cursor cursor(*program_);
    while (left > 0) {
      const ir::Cursor::Event e = cursor.next();
      if (e == ir::Cursor::Event::end) return;
      if (e != ir::Cursor::Event::instr) continue;
      const std::uint32_t site = cursor.id(), run = runs[site]++;
      std::size_t& next = next_[site];
      const std::vector<Wanted>& list = wanted_[site];
      if (next == list.size() || list[next].ordinal != run) continue;
      const std::vector<ir::LoopId>& loops = around[cursor.node()];
      if (out_.loops.count(site) == 0)
        for (ir::LoopId l : loops) out_.loops[site].push_back(shortened(program_->loops[l].name, longest_name));
      const std::uint32_t set = intern(texts(site, &cursor));
      for (; next < list.size() && list[next].ordinal == run; ++next, --left) {
        out_.operands[list[next].bar] = set;
        for (ir::LoopId l : loops) index_[list[next].bar].push_back(cursor.loop_index(l));
      }
    }
  }

  std::vector<std::vector<ir::LoopId>> loops_around() const {
    std::vector<std::vector<ir::LoopId>> around(program_->nodes.size());
    std::vector<std::uint32_t> open;
    for (std::uint32_t n = 0; n < program_->nodes.size(); ++n) {
      while (!open.empty() && program_->nodes[open.back()].end <= n) open.pop_back();
      if (program_->nodes[n].kind == ir::Node::Kind::instr)
        for (std::uint32_t o : open) around[n].push_back(program_->nodes[o].id);
      if (program_->nodes[n].kind == ir::Node::Kind::loop) open.push_back(n);
    }
    return around;
  }

  std::vector<OperandText> texts(std::uint32_t site, const ir::Cursor* cursor) const {
    std::vector<OperandText> list;
    const ir::Instr& in = program_->instrs[site];
    for (int o = 0; o < in.n_operands; ++o) {
      const ir::ViewId id = program_->operand(in, o);
      if (id == ir::no_id) continue;
      const ir::View& v = program_->views[id];
      const ir::Buffer& b = program_->buffers[v.buffer];
      OperandText t{ir::info(in.op).operands[static_cast<std::size_t>(o)].name, names_->buffer(v.buffer),
                    concat({ir::name(b.space), " ", nki::name(b.dtype)})};
      if (cursor != nullptr) {
        std::int64_t elems = 1;
        std::string shape;
        for (std::size_t d = 0; d < v.rank; ++d) {
          const std::int64_t count = cursor->value(v.dims[d].count);
          elems *= count;
          if (!v.dims[d].dropped) add(shape, {shape.empty() ? "" : ", ", std::to_string(count)});
        }
        add(t.what, {" [", shape, "]"});
        if (in.op == ir::Opcode::dma_copy) add(t.what, {", ", in_kib(elems * nki::bytes(b.dtype))});
        if (b.slots > 1)
          add(t.what, {", slot ", std::to_string(cursor->slot(v.buffer)), " of ", std::to_string(b.slots)});
      }
      list.push_back(std::move(t));
    }
    return list;
  }
  static std::string in_kib(std::int64_t bytes) {
    return bytes < 1024 ? concat({std::to_string(bytes), " bytes"})
                        : concat({fixed(static_cast<double>(bytes) / 1024.0, bytes % 1024 == 0 ? 0 : 1), " KiB"});
  }

  std::uint32_t intern(std::vector<OperandText> set) {
    std::string key;
    for (const OperandText& t : set) add(key, {t.role, "\1", t.name, "\1", t.what, "\2"});
    const auto [at, is_new] = known_.emplace(std::move(key), static_cast<std::uint32_t>(out_.sets.size()));
    if (is_new) out_.sets.push_back(std::move(set));
    return at->second;
  }

  const EventNames* names_;
  const ir::Program* program_;
  std::vector<std::vector<Wanted>> wanted_;
  std::vector<std::size_t> next_;
  std::vector<std::vector<std::int64_t>> index_;
  std::unordered_map<std::string, std::uint32_t> known_;
  Executions out_;
};

}  // namespace detail

}  // namespace nki::inline v0_1::emit
