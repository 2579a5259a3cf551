#pragma once

#include <nki/emit/event_names.hpp>
#include <nki/emit/timeline_data.hpp>
#include <nki/ir/program.hpp>
#include <nki/sim/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nki::inline v0_1::emit {

namespace detail {

/// Writes the trace event format that Perfetto and chrome://tracing read: times in microseconds, one process, a thread
/// for each row and lane. Slices of a thread may nest but not cross, so bars end where the next one of their lane
/// starts.
class PerfettoWriter {
 public:
  PerfettoWriter(const ir::Program& p, const sim::Result& r, const sim::Timeline& t, const TimelineText& text)
      : p_(p), r_(r), t_(t), text_(text), names_(p), bars_(bars_of(p, t)) {}

  std::string write() {
    std::vector<std::uint32_t> all(bars_.bars.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    executions_ = ExecutionFinder(names_, bars_, all).find();
    const auto kept = static_cast<std::int64_t>(t_.events.size());
    add(out_, {R"({"displayTimeUnit":"ns",)",
               "\n",
               R"("otherData":{"kernel":)",
               json_string(p_.kernel),
               R"(,"problem":)",
               json_string(p_.problem),
               R"(,"params":)",
               json_string(p_.params),
               R"(,"hw":)",
               json_string(text_.hw),
               R"(,"model_version":)",
               json_string(text_.model_version),
               R"(,"note":)",
               json_string(text_.note),
               R"(,"body_us":")",
               us(r_.body),
               R"(","events":")",
               std::to_string(kept),
               R"(","dropped":")",
               std::to_string(t_.dropped),
               "\"},\n\"traceEvents\":[\n"});
    const std::string process = concat({heading(p_, text_), " (predicted, model ", text_.model_version, ")"});
    add(out_, {R"({"ph":"M","pid":1,"name":"process_name","args":{"name":)", json_string(process), "}}"});
    for (std::size_t row = 0; row < row_count; ++row)
      for (int lane = 0; lane < bars_.lanes[row]; ++lane) {
        const std::string tid = std::to_string(thread(row, lane));
        const std::string name =
            lane == 0 ? row_names[row] : concat({row_names[row], " (", std::to_string(lane + 1), ")"});
        add(out_, {",\n", R"({"ph":"M","pid":1,"tid":)", tid, R"(,"name":"thread_name","args":{"name":)",
                   json_string(name), "}}"});
        add(out_, {",\n", R"({"ph":"M","pid":1,"tid":)", tid, R"(,"name":"thread_sort_index","args":{"sort_index":)",
                   tid, "}}"});
      }
    std::array<std::array<std::int64_t, max_lanes>, row_count> free{};
    for (std::uint32_t i = 0; i < bars_.bars.size(); ++i) {
      const Bar& b = bars_.bars[i];
      std::int64_t& from = free[static_cast<std::size_t>(b.row)][b.lane];
      waits(b, from);
      slice(i, b);
      flows(b);
      from = std::max(from, b.shown_end);
    }
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  static int thread(std::size_t row, int lane) { return static_cast<int>(row) * 16 + lane + 1; }
  static int thread(const Bar& b) { return thread(static_cast<std::size_t>(b.row), b.lane); }
  std::string us(std::int64_t ticks) const { return microseconds(ticks, r_.ticks_per_ns, 6); }
  std::string op(const Bar& b) const {
    std::string s = names_.op(b.site, b.kind);
    if (names_.look(b.site, b.kind, b.row) == Look::trigger) s += " (trigger)";
    return s;
  }

  void event(std::string_view phase, int tid, std::int64_t ticks) {
    add(out_, {",\n{\"ph\":\"", phase, R"(","pid":1,"tid":)", std::to_string(tid), R"(,"ts":)", us(ticks)});
  }

  /// The part of each wait in which the row shows nothing else.
  void waits(const Bar& b, std::int64_t from) {
    for (std::uint32_t w = b.first_wait; w < b.first_wait + b.waits; ++w) {
      const BarWait& x = bars_.waits[w];
      const std::int64_t a = std::max(x.from, from), z = std::min(x.until, b.start);
      if (z <= a) continue;
      event("X", thread(b), a);
      add(out_,
          {R"(,"dur":)", us(z - a), R"(,"cat":"wait","name":"waits: )", cause_names[static_cast<std::size_t>(x.cause)],
           R"(","cname":"grey","args":{"for":)", json_string(waited_for(x)), "}}"});
      from = z;
    }
  }
  std::string waited_for(const BarWait& x) const {
    std::string s = cause_sentences[static_cast<std::size_t>(x.cause)];
    if (x.producer < 0) return s;
    const Bar& p = bars_.bars[static_cast<std::size_t>(x.producer)];
    add(s, {": ", op(p), " ", names_.target(p.site), " in ", row_names[static_cast<std::size_t>(p.row)]});
    return s;
  }

  void slice(std::uint32_t i, const Bar& b) {
    event("X", thread(b), b.start);
    add(out_, {R"(,"dur":)", us(b.shown_end - b.start), R"(,"cat":")", is_queue(b.row) ? "transfer" : "instruction",
               R"(","name":)", json_string(op(b)), R"(,"args":{)"});
    bool first = true;
    const auto argument = [&](std::string_view name, std::string_view json) {
      add(out_, {first ? "\"" : ",\"", name, "\":", json});
      first = false;
    };
    for (const OperandText& o : executions_.sets[executions_.operands[i]])
      argument(o.role, json_string(concat({o.name, " ", o.what})));
    if (const std::string place = names_.place(b.site); !place.empty()) argument("line", json_string(place));
    if (const std::string scope = names_.scope(b.site); !scope.empty()) argument("scope", json_string(scope));
    if (const std::string at = executions_.at(i, b.site); !at.empty()) argument("loops", json_string(at));
    if (b.passes > 1)
      argument("pass", concat({"\"", std::to_string(b.pass + 1), " of ", std::to_string(b.passes), "\""}));
    if (b.shown_end != b.end) argument("whole_us", us(b.end - b.start));
    if (is_queue(b.row)) argument("since_trigger_us", us(b.start - b.issued));
    std::int64_t lost = 0;
    std::string causes;
    for (std::uint32_t w = b.first_wait; w < b.first_wait + b.waits; ++w) {
      const BarWait& x = bars_.waits[w];
      lost += x.until - x.from;
      add(causes, {causes.empty() ? "" : "; ", us(x.until - x.from), " us for ", waited_for(x)});
    }
    if (!causes.empty()) {
      argument("waited_us", us(lost));
      argument("waits", json_string(causes));
    }
    out_ += "}}";
  }

  void flows(const Bar& b) {
    if (b.trigger >= 0) flow("trigger", bars_.bars[static_cast<std::size_t>(b.trigger)], b);
    for (std::uint32_t w = b.first_wait; w < b.first_wait + b.waits; ++w)
      if (const BarWait& x = bars_.waits[w]; x.producer >= 0)
        flow(cause_names[static_cast<std::size_t>(x.cause)], bars_.bars[static_cast<std::size_t>(x.producer)], b);
  }
  void flow(std::string_view name, const Bar& from, const Bar& to) {
    const std::string id = std::to_string(++flows_);
    // An arrow belongs to the slice that its time lies in, so it leaves within the producer and not at its end.
    event("s", thread(from), std::max(from.start, from.shown_end - r_.ticks_per_ns));
    add(out_, {R"(,"cat":"dependence","name":")", name, R"(","id":)", id, "}"});
    event("f", thread(to), to.start);
    add(out_, {R"(,"bp":"e","cat":"dependence","name":")", name, R"(","id":)", id, "}"});
  }

  const ir::Program& p_;
  const sim::Result& r_;
  const sim::Timeline& t_;
  const TimelineText& text_;
  EventNames names_;
  Bars bars_;
  Executions executions_;
  std::string out_;
  std::int64_t flows_ = 0;
};

}  // namespace detail

/// A timeline for Perfetto (ui.perfetto.dev, "Open trace file") or chrome://tracing: slices with operands, kernel line
/// and waits, and an arrow from each producer to what needed it.
inline std::string perfetto_json(const ir::Program& p, const sim::Result& r, const sim::Timeline& t,
                                 const TimelineText& text = {}) {
  return detail::PerfettoWriter(p, r, t, text).write();
}

}  // namespace nki::inline v0_1::emit
