#pragma once

#include <nki/ir/program.hpp>
#include <nki/kernel/spec.hpp>
#include <nki/sim/bound.hpp>
#include <nki/sim/result.hpp>
#include <nki/tune/objective.hpp>
#include <nki/tune/search.hpp>
#include <nki/tune/space.hpp>
#include <nki/tune/strategy.hpp>
#include <nki/tune/workers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// Tuning a kernel: a search by predicted time at one phase of the clock, then the finalists over all phases.
namespace nki::inline v0_1::tune {

struct TuneOptions {
  SearchOptions search;  ///< `bound_us` is filled in
  int finalists = 4;
  int phases = 16;                     ///< of the TensorE clock
  std::function<void()> search_ended;  ///< called where the sweeps begin
};

/// A configuration over the phases of the clock.
struct Timed {
  Index index = no_index;
  double mean_us = no_time, lo_us = no_time, hi_us = 0;
  double search_us = no_time;  ///< at phase 0
  sim::Result result;          ///< at phase 0
};

struct Tuned {
  Timed best;
  Timed start;  ///< the configuration to compare with; index no_index where it cannot run
  std::vector<Timed> finalists;
  Found found;
  sim::Bound bound;
  double gap = no_time;  ///< share by which the best's mean exceeds the bound that no configuration beats
};

namespace detail {

/// Means over the phases for a list of configurations, all simulations side by side. One that throws keeps no_time.
inline std::vector<Timed> sweep(const SimulatedTime& objective, const std::vector<Index>& list, int phases,
                                Workers& workers) {
  const std::vector<double> at = clock_phases_ns(objective.space().arch(), phases);
  std::vector<Timed> out(list.size());
  std::vector<sim::Result> results(list.size() * at.size());
  std::vector<unsigned char> good(results.size(), 0);
  workers.run(results.size(), [&](std::size_t i) {
    try {
      results[i] = objective.time(objective.record(list[i / at.size()]), at[i % at.size()]);
      good[i] = 1;
    } catch (...) {  // it was timed before, so this is a lack of memory: the configuration is out
      results[i] = {};
    }
  });
  for (std::size_t c = 0; c < list.size(); ++c) {
    Timed& t = out[c];
    t.index = list[c];
    bool all = true;
    double sum = 0;
    for (std::size_t p = 0; p < at.size(); ++p) {
      all = all && good[c * at.size() + p] != 0;
      const double us = results[c * at.size() + p].body_us();
      sum += us;
      t.lo_us = std::min(t.lo_us, us);
      t.hi_us = std::max(t.hi_us, us);
    }
    if (!all) {
      t.lo_us = t.hi_us = no_time;
      continue;
    }
    t.mean_us = sum / static_cast<double>(at.size());
    t.result = results[c * at.size()];
    t.search_us = t.result.body_us();
  }
  return out;
}

}  // namespace detail

/// Searches, then picks among the configuration to compare with and the best few by their means over the phases of the
/// clock; of equals the one that differs less from the former. Finally every value that differs from it without making
/// the mean better is set back: what is left in the difference matters.
inline Tuned tune(const Space& space, Strategy& strategy, const SimulatedTime& objective, TuneOptions options) {
  space.require_legal();
  Tuned out;
  out.bound = objective.bound();
  options.search.bound_us = out.bound.us;
  out.found = search(space, strategy, objective, options.search);
  if (out.found.best == no_index) return out;
  if (options.search_ended) options.search_ended();

  const auto distance = [&](Index i) { return space.distance(i, space.start()); };
  std::vector<Trial> ranked = out.found.evaluated;
  std::sort(ranked.begin(), ranked.end(), [&](const Trial& a, const Trial& b) {
    if (a.outcome.us != b.outcome.us) return a.outcome.us < b.outcome.us;
    const int da = distance(a.index), db = distance(b.index);
    return da != db ? da < db : a.index < b.index;
  });
  std::vector<Index> list;
  if (out.found.start.status == Status::evaluated) list.push_back(space.start());
  for (const Trial& t : ranked) {
    if (list.size() > static_cast<std::size_t>(std::max(options.finalists, 1))) break;
    if (t.index != space.start()) list.push_back(t.index);
  }
  if (list.empty()) list.push_back(out.found.best);

  Workers workers(options.search.threads);
  out.finalists = detail::sweep(objective, list, options.phases, workers);
  for (const Timed& t : out.finalists) {
    if (t.index == space.start()) out.start = t;
    if (t.mean_us < out.best.mean_us) out.best = t;
  }
  if (out.best.index == no_index) return out;

  kernel::Config c = space.config(out.best.index);
  const kernel::Config start = space.config(space.start());
  for (std::size_t t = 0; t < c.size(); ++t) {
    if (c[t] == start[t] || (options.search.stop && options.search.stop())) continue;
    const std::int64_t own = c[t];
    c[t] = start[t];
    const Index i = space.find(c);
    bool kept = false;
    if (i != no_index &&
        objective.evaluate(i, out.best.search_us * (1 + options.search.slack)).status == Status::evaluated) {
      const Timed back = detail::sweep(objective, {i}, options.phases, workers).front();
      if (back.mean_us <= out.best.mean_us) {
        out.best = back;
        kept = true;
      }
    }
    if (!kept) c[t] = own;
  }
  out.gap = out.best.mean_us / out.bound.us - 1;
  return out;
}

}  // namespace nki::inline v0_1::tune
