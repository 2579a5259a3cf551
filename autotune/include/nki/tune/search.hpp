#pragma once

#include <nki/tune/objective.hpp>
#include <nki/tune/space.hpp>
#include <nki/tune/strategy.hpp>
#include <nki/tune/workers.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

/// A strategy against an objective, within a budget.
namespace nki::inline v0_1::tune {

/// The first limit that is reached ends the search. Zero, or less: no limit.
struct Budget {
  std::int64_t evals = 0;  ///< configurations that are recorded, whatever comes of them
  double seconds = 0;
  double gap = -1;  ///< share by which the best may exceed what is certain to be out of reach

  bool limited() const { return evals > 0 || seconds > 0 || gap >= 0; }
};

/// Every configuration of the cartesian space is in exactly one of the first five, or in `untried`.
struct Counts {
  std::int64_t evaluated = 0;
  std::int64_t pruned_bound = 0;  ///< proven no better than the best, before or during a try
  std::int64_t rejected = 0;      ///< by a constraint, or by a rule of the machine
  std::int64_t cached = 0;        ///< known without a try
  std::int64_t failed = 0;
  std::int64_t untried = 0;
  std::int64_t given_up = 0;  ///< those of pruned_bound that were tried and given up on the way
  std::int64_t illegal = 0;   ///< those of rejected that only the machine's rules refuse

  /// What counts against Budget::evals.
  std::int64_t tried() const { return evaluated + given_up + illegal + failed; }
};

/// What is certain about the best of a search.
enum class Certificate : std::uint8_t {
  optimum,  ///< no configuration of the space is better
  gap,      ///< none is better by more than the gap that was asked for
  none
};
constexpr const char* name(Certificate c) {
  return c == Certificate::optimum ? "optimum" : c == Certificate::gap ? "gap" : "none";
}

struct Progress {
  Counts counts;
  std::size_t legal = 0;
  double start_us = no_time, best_us = no_time;
  double regret = no_time;  ///< see Found
  double seconds = 0;
};

struct SearchOptions {
  Budget budget;
  int threads = 1;
  /// Candidates of one batch. They share what is known when the batch begins, so this and not `threads` is part of what
  /// a search does.
  std::size_t batch = 32;
  /// Times up to this share beyond the best so far are still exact, so that there are finalists.
  double slack = 0.005;
  double bound_us = 0;                            ///< a time that no configuration beats
  std::function<bool()> stop;                     ///< asked often, from any thread; true ends the search
  std::function<void(const Progress&)> progress;  ///< after each batch, and once at the end
};

struct Trial {
  Index index = no_index;
  Outcome outcome;
};

struct Found {
  Index best = no_index;
  double best_us = no_time;
  double start_us = no_time;  ///< of the configuration to compare with
  Outcome start;
  std::vector<Trial> evaluated;  ///< in the order of the proposals
  std::vector<Trial> refused;    ///< rejected by a rule or failed, in that order, at most `refused_kept`
  Counts counts;
  Certificate certificate = Certificate::none;
  double regret = no_time;  ///< the best is certain to exceed the best of the space by no more than this share
  std::string stop_reason;
  bool interrupted = false;
  double seconds = 0;

  static constexpr std::size_t refused_kept = 100;
};

namespace detail {

/// "5", "0.5": no more digits than there are.
inline std::string short_number(double x) {
  std::string s = std::to_string(x);
  while (s.back() == '0') s.pop_back();
  if (s.back() == '.') s.pop_back();
  return s;
}

}  // namespace detail

/// Asks the strategy for batches, tries them on `threads` threads, and tells the outcomes in the order of the proposals.
/// The result does not depend on the number of threads, but where `seconds` or `stop` ends the search.
inline Found search(const Space& space, Strategy& strategy, const Objective& objective, const SearchOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const Budget& budget = options.budget;
  Found found;
  found.counts.rejected = space.rejected();
  Workers workers(options.threads);

  bool complete = true;  // every proposal so far was tried
  const auto update_regret = [&] {
    if (found.best == no_index) return;
    const double remaining = complete ? strategy.remaining_bound() : 0;
    const double least = std::max(options.bound_us, std::min(remaining, found.best_us));
    found.regret = least > 0 ? std::max(0.0, found.best_us / least - 1) : no_time;
  };
  const auto report = [&] {
    if (!options.progress) return;
    Counts counts = found.counts;
    counts.untried = static_cast<std::int64_t>(space.size()) - counts.tried() - (counts.pruned_bound - counts.given_up);
    options.progress({counts, space.size(), found.start_us, found.best_us, found.regret, seconds()});
  };

  while (found.stop_reason.empty()) {
    if (complete && strategy.done()) break;
    if (options.stop && options.stop()) {
      found.interrupted = true;
      found.stop_reason = "interrupted";
      break;
    }
    if (budget.seconds > 0 && seconds() >= budget.seconds) {
      found.stop_reason = "budget " + detail::short_number(budget.seconds) + " s";
      break;
    }
    std::size_t width = options.batch;
    if (budget.evals > 0) {
      const std::int64_t left = budget.evals - found.counts.tried();
      if (left <= 0) {
        found.stop_reason = "budget " + std::to_string(budget.evals) + (budget.evals == 1 ? " eval" : " evals");
        break;
      }
      if (static_cast<std::uint64_t>(left) < width) width = static_cast<std::size_t>(left);
    }
    const std::vector<Candidate> batch = strategy.ask(width);
    if (batch.empty()) {
      found.stop_reason = "the strategy has no more proposals";
      break;
    }

    // Everything in a batch is judged by what was known before it.
    const double enough_us = found.best_us * (1 + options.slack);
    std::vector<Outcome> outcomes(batch.size());
    std::vector<unsigned char> tried(batch.size(), 0);
    workers.run(batch.size(), [&](std::size_t i) {
      if (options.stop && options.stop()) return;
      if (budget.seconds > 0 && seconds() >= budget.seconds) return;
      outcomes[i] = objective.evaluate(batch[i].index, enough_us);
      tried[i] = 1;
    });

    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (tried[i] == 0) {
        complete = false;
        break;
      }
      const Outcome& o = outcomes[i];
      const Index index = batch[i].index;
      if (index == space.start()) found.start = o;
      switch (o.status) {
        case Status::evaluated:
          ++found.counts.evaluated;
          found.evaluated.push_back({index, o});
          if (index == space.start()) found.start_us = o.us;
          if (o.us < found.best_us) {
            found.best_us = o.us;
            found.best = index;
          }
          break;
        case Status::pruned_bound:
          ++found.counts.pruned_bound;
          ++found.counts.given_up;
          break;
        case Status::rejected:
          ++found.counts.rejected;
          ++found.counts.illegal;
          break;
        case Status::failed:
          ++found.counts.failed;
          break;
      }
      if ((o.status == Status::rejected || o.status == Status::failed) && found.refused.size() < Found::refused_kept)
        found.refused.push_back({index, o});
      strategy.tell(batch[i], o);
    }
    update_regret();
    if (budget.gap >= 0 && found.regret <= budget.gap && complete && !strategy.done()) {
      found.stop_reason = "gap " + detail::short_number(budget.gap * 100) + " % reached";
      found.certificate = Certificate::gap;
    }
    report();
  }

  if (complete && strategy.done() && found.best != no_index) {
    found.counts.pruned_bound += strategy.pruned();
    if (strategy.remaining_bound() >= found.best_us) {
      found.certificate = Certificate::optimum;
      found.regret = 0;
      found.stop_reason = "exhausted: optimum proven";
    }
  }
  if (found.stop_reason.empty()) found.stop_reason = "exhausted";
  found.counts.untried = static_cast<std::int64_t>(space.size()) - found.counts.tried() -
                         (found.counts.pruned_bound - found.counts.given_up);
  found.seconds = seconds();
  report();
  return found;
}

}  // namespace nki::inline v0_1::tune
