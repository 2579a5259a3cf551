#pragma once

#include <nki/ir/cursor.hpp>
#include <nki/ir/ops.hpp>
#include <nki/ir/program.hpp>
#include <nki/kernel/spec.hpp>
#include <nki/machine/program.hpp>
#include <nki/sim/result.hpp>
#include <nki/sim/simulate.hpp>
#include <nki/tune/objective.hpp>
#include <nki/tune/space.hpp>
#include <nki/tune/tuner.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

/// Why the best configuration is better than the one it is compared with.
namespace nki::inline v0_1::tune {

/// One of the two configurations.
struct Side {
  Timed timed;
  double bound_us = 0;            ///< of this configuration's own array cycles and bytes
  double tensor_utilization = 0;  ///< share of the body in which the array streams
  double of_bound = 0;            ///< the problem's bound over the mean: 1 is out of reach of any configuration
  std::string limit;              ///< what it spends its time on, in a sentence
};

/// A value of the best configuration, and what it is worth: the best, timed with this one value set back.
struct Change {
  std::size_t tunable = 0;
  std::int64_t value = 0, was = 0;
  double back_us = no_time;  ///< at phase 0, as Timed::search_us
  double saves = 0;          ///< share of back_us
  std::string why;           ///< what gets less, or why it cannot be set back alone
  bool alone = true;         ///< false: with this value set back the configuration is not legal
};

struct Comparison {
  Side start, best;
  std::vector<Change> changes;  ///< what saves most first, then what cannot be set back alone
};

namespace detail {

inline constexpr std::array<const char*, machine::stream_count> engine_names{"TensorE", "VectorE", "ScalarE", "GpSimdE",
                                                                             "the sync engine"};

inline std::string format(const char* pattern, double x) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), pattern, x);
  return text.data();
}
inline std::string percent(double share) {
  return format("%.1f %%", share * 100);
}

/// "for ..." after "it waits 10 %".
inline const char* waits_for(sim::Stall s) {
  switch (s) {
    case sim::Stall::operand:
      return "for the results of other engines";
    case sim::Stall::load:
      return "for data on its way from HBM";
    case sim::Stall::slot:
      return "for slots of tiles that are still in use";
    case sim::Stall::store:
      return "for stores that still read their tiles";
    case sim::Stall::imported:
      return "for semaphores of the recording";
    case sim::Stall::weights:
      return "for weights that are not in the array yet";
    case sim::Stall::clock:
      return "because its clock is at half speed";
    case sim::Stall::trigger:
      return "while its queue triggers DMAs";
  }
  return "";
}

/// The engine that works longest; the sync engine has no data path.
inline std::size_t busiest(const sim::Result& r) {
  std::size_t best = 0;
  for (std::size_t s = 1; s < static_cast<std::size_t>(machine::Stream::sync); ++s)
    if (r.streams[s].busy > r.streams[best].busy) best = s;
  return best;
}

/// Which tile the engine waits for most, for one cause, and on whom: "for slots of 'turned', which VectorE still reads".
inline std::string culprit(const SimulatedTime& objective, Index i, std::size_t engine, sim::Stall cause) {
  const ir::Program p = objective.record(i);
  sim::Timeline timeline;
  sim::simulate(p, objective.space().arch(), {.timeline = &timeline});
  std::map<std::tuple<std::string, std::size_t>, std::int64_t> lost;  // by tile and engine
  for (const sim::Event& e : timeline.events) {
    if (static_cast<std::size_t>(e.row) != engine || e.waited <= 0 || e.site == machine::no_id ||
        static_cast<int>(e.cause) != static_cast<int>(cause))
      continue;
    const auto at = static_cast<std::size_t>(e.producer);
    if (e.producer < 0 || at >= timeline.events.size() || timeline.events[at].site == machine::no_id) continue;
    const sim::Event& by = timeline.events[at];
    // What an engine overwrites is its own destination; what it reads is the destination of the one before it.
    const bool own = cause == sim::Stall::slot || cause == sim::Stall::store;
    const ir::Instr& in = p.instrs[own ? e.site : by.site];
    const ir::Buffer& tile = p.buffers[p.views[p.operand(in, 0)].buffer];
    lost[{p.files[p.locs[tile.loc].file] + ":" + std::to_string(p.locs[tile.loc].line) + "'" + tile.name,
          static_cast<std::size_t>(by.row)}] += e.waited;
  }
  if (lost.empty()) return waits_for(cause);
  const auto worst =
      std::max_element(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string& place = std::get<0>(worst->first);
  const std::size_t quote = place.find('\''), slash = place.rfind('/', quote);
  const std::size_t from = slash == std::string::npos ? 0 : slash + 1;
  const std::string tile = "'" + place.substr(quote + 1) + "' (" + place.substr(from, quote - from) + ")";
  const std::size_t row = std::get<1>(worst->first);
  const std::string by = row < engine_names.size() ? engine_names[row] : "a DMA";
  switch (cause) {
    case sim::Stall::operand:
      return "for " + tile + ", which " + by + " has yet to write";
    case sim::Stall::load:
      return "for " + tile + " to arrive from HBM";
    case sim::Stall::slot:
      return "for slots of " + tile + ", which " + by + " still reads";
    case sim::Stall::store:
      return "for stores of " + tile;
    default:
      return waits_for(cause);
  }
}

/// What a configuration spends its time on.
inline std::string limit(const SimulatedTime& objective, Index i, const sim::Result& r) {
  const std::size_t engine = busiest(r);
  const auto body = static_cast<double>(r.body);
  const double works = static_cast<double>(r.streams[engine].busy) / body;
  const double dma = static_cast<double>(r.dma_busy) / static_cast<double>(r.dma_engines) / body;
  std::string s;
  if (dma > works) s = "The DMA engines work " + percent(dma) + " of the time; ";
  s += std::string(engine_names[engine]) + " works " + percent(works);
  if (dma <= works) s += " of the time";
  std::size_t worst = 0;
  const auto& stalls = r.streams[engine].stalls;
  for (std::size_t k = 1; k < stalls.size(); ++k)
    if (stalls[k] > stalls[worst]) worst = k;
  const double waits = static_cast<double>(stalls[worst]) / body;
  if (waits < 0.001) return s + " and hardly waits.";
  const auto cause = static_cast<sim::Stall>(worst);
  if (cause == sim::Stall::clock) return s + "; " + percent(waits) + " are lost " + waits_for(cause) + ".";
  const bool by_wait = worst < static_cast<std::size_t>(machine::cause_count);
  return s + " and waits " + percent(waits) + " " +
         (by_wait ? culprit(objective, i, engine, cause) : waits_for(cause)) + ".";
}

/// How often each operation runs on an engine.
inline std::array<std::int64_t, ir::opcode_count> executions(const ir::Program& p, std::size_t engine) {
  std::array<std::int64_t, ir::opcode_count> n{};
  ir::Cursor cursor(p);
  for (auto event = cursor.next(); event != ir::Cursor::Event::end; event = cursor.next()) {
    if (event != ir::Cursor::Event::instr) continue;
    const ir::Instr& in = p.instrs[cursor.id()];
    if (static_cast<std::size_t>(machine::stream_of(in.engine)) == engine) ++n[static_cast<std::size_t>(in.op)];
  }
  return n;
}

/// What a change of one value does to the engine that works longest: the part of its time that shrinks most.
inline std::string gain(const SimulatedTime& objective, const Timed& best, Index back, const sim::Result& without,
                        std::size_t engine) {
  const sim::Result& with = best.result;
  const auto us = [&](std::int64_t ticks) {
    return static_cast<double>(ticks) / static_cast<double>(with.ticks_per_ns) / 1000;
  };
  const sim::StreamResult &a = with.streams[engine], &b = without.streams[engine];
  // What the slow clock adds to the work is a loss of its own.
  constexpr auto clock = static_cast<std::size_t>(sim::Stall::clock);
  double most = us((b.busy - b.stalls[clock]) - (a.busy - a.stalls[clock]));
  std::string s = std::string(engine_names[engine]) + format(" works %.1f us less", most);
  for (std::size_t k = 0; k < a.stalls.size(); ++k) {
    const double less = us(b.stalls[k] - a.stalls[k]);
    if (less <= most) continue;
    most = less;
    s = std::string(engine_names[engine]) + format(k == clock ? " loses %.1f us less " : " waits %.1f us less ", less) +
        waits_for(static_cast<sim::Stall>(k));
  }
  if (const double less = us((without.body - b.end) - (with.body - a.end)); less > most) {
    most = less;
    s = format("%.1f us less between the end of ", less) + engine_names[engine] + " and that of the body";
  }
  if (s.ends_with("us less")) {
    const auto now = executions(objective.record(best.index), engine),
               then = executions(objective.record(back), engine);
    std::size_t op = 0;
    for (std::size_t i = 1; i < now.size(); ++i)
      if (then[i] - now[i] > then[op] - now[op]) op = i;
    if (then[op] > now[op])
      s += ": " + std::to_string(now[op]) + " " + ir::op_table[op].name + " in place of " + std::to_string(then[op]);
  }
  const double bytes =
      static_cast<double>(without.read_bytes + without.write_bytes - with.read_bytes - with.write_bytes);
  if (bytes > 0.01 * static_cast<double>(with.read_bytes + with.write_bytes))
    s += format("; %.1f MB less to move", bytes / 1e6);
  return s;
}

inline Side side(const SimulatedTime& objective, const Timed& t, double bound_us) {
  Side s;
  s.timed = t;
  s.bound_us = objective.bound(t.index).us;
  s.tensor_utilization = static_cast<double>(t.result.streams[0].busy) / static_cast<double>(t.result.body);
  s.of_bound = bound_us / t.mean_us;
  s.limit = limit(objective, t.index, t.result);
  return s;
}

}  // namespace detail

/// Compares the winner of a search with the configuration that it set out from. Both must have run.
inline Comparison compare(const SimulatedTime& objective, const Tuned& tuned) {
  const Space& space = objective.space();
  Comparison out;
  out.start = detail::side(objective, tuned.start, tuned.bound.us);
  out.best = tuned.best.index == tuned.start.index ? out.start : detail::side(objective, tuned.best, tuned.bound.us);
  const kernel::Config best = space.config(tuned.best.index), start = space.config(tuned.start.index);
  const std::size_t engine = detail::busiest(tuned.best.result);
  for (std::size_t t = 0; t < best.size(); ++t) {
    if (best[t] == start[t]) continue;
    Change c{t, best[t], start[t], no_time, 0, {}, true};
    kernel::Config back = best;
    back[t] = start[t];
    const int broken = space.kernel().broken_constraint(space.problem(), back, space.arch());
    const Index i = space.find(back);
    if (i == no_index || objective.evaluate(i, no_time).status != Status::evaluated) {
      c.alone = false;
      c.why = broken >= 0 ? "not alone: " + space.kernel().constraints()[static_cast<std::size_t>(broken)]
                          : "not alone: the rules of the machine refuse it";
    } else {
      const sim::Result r = objective.time(objective.record(i), 0);
      c.back_us = r.body_us();
      c.saves = 1 - tuned.best.search_us / c.back_us;
      c.why = c.saves > 0 ? detail::gain(objective, tuned.best, i, r, engine)
                          : "nothing at this phase of the clock, but the mean over all phases is worse without it";
    }
    out.changes.push_back(std::move(c));
  }
  std::stable_sort(out.changes.begin(), out.changes.end(),
                   [](const Change& a, const Change& b) { return a.alone != b.alone ? a.alone : a.saves > b.saves; });
  return out;
}

}  // namespace nki::inline v0_1::tune
