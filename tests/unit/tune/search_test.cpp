#include "copy_kernel.hpp"

#include <nki/tune/search.hpp>
#include <nki/tune/strategy/exhaustive.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

namespace nki::tune_test {
namespace {

using kernels::Matmul;
using tune::Certificate;
using tune::Found;
using tune::SearchOptions;
using tune::Status;

Found exhaust(const tune::Space& space, const tune::SimulatedTime& objective, SearchOptions options = {},
              std::uint64_t seed = 0) {
  tune::Exhaustive strategy(space, objective.bounds_us(), seed);
  options.bound_us = objective.bound().us;
  return tune::search(space, strategy, objective, options);
}

std::int64_t sum(const tune::Counts& c) {
  return c.evaluated + c.pruned_bound + c.rejected + c.cached + c.failed + c.untried;
}

/// Small slices of the space of matmul, in which brute force is quick.
std::vector<tune::Space> matmul_spaces(const kernel::Kernel& k) {
  using L = Matmul::Layout;
  const auto slice = [&](kernel::Problem p, std::vector<std::pair<const char*, std::int64_t>> values) {
    return tune::Space(k, std::move(p), arch::trn2, pins(k, values));
  };
  std::vector<tune::Space> out;
  out.push_back(slice(matmul_problem(512, 512, 512, L::lhsT),
                      {{"out_queue", 6}, {"evacuate", 0}, {"bufs", 2}, {"panel_bufs", 1}}));
  out.push_back(slice(matmul_problem(300, 1100, 384, L::lhs),
                      {{"lhs_queue", 6}, {"out_queue", 2}, {"bufs", 3}, {"panel_bufs", 1}}));
  out.push_back(slice(matmul_problem(4, 2048, 512, L::lhs), {{"keep", 0}, {"evacuate", 0}}));
  return out;
}

TEST(Exhaustive, FindsWhatBruteForceFinds) {
  const kernel::Of<Matmul> k;
  for (const tune::Space& space : matmul_spaces(k)) {
    SCOPED_TRACE(k.spell_sizes(space.problem()));
    const tune::SimulatedTime objective(space);
    const BruteForce brute(space, objective);
    for (const std::uint64_t seed : {0U, 7U}) {
      const Found f = exhaust(space, objective, {}, seed);
      EXPECT_EQ(f.best_us, brute.best_us);
      EXPECT_EQ(f.certificate, Certificate::optimum);
      EXPECT_EQ(f.stop_reason, "exhausted: optimum proven");
      EXPECT_EQ(f.regret, 0);
      EXPECT_EQ(sum(f.counts), space.cartesian());
      EXPECT_EQ(f.counts.untried, 0);
      EXPECT_LE(f.counts.evaluated, brute.evaluated);
      EXPECT_GT(f.counts.pruned_bound, 0);
      EXPECT_LE(f.best_us, f.start_us);
    }
  }
}

TEST(Exhaustive, ProposesEachOnceTheDefaultFirstThenByBounds) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(1024), arch::trn2);
  std::vector<double> bounds(space.size());
  for (tune::Index i = 0; i < bounds.size(); ++i) bounds[i] = static_cast<double>((i * 7) % 5);
  tune::Exhaustive strategy(space, bounds, 3);
  std::set<tune::Index> seen;
  std::vector<double> order;
  while (!strategy.done()) {
    const std::vector<tune::Candidate> batch = strategy.ask(4);
    ASSERT_FALSE(batch.empty());
    if (seen.empty()) {
      EXPECT_EQ(batch.size(), 1U);
      EXPECT_EQ(batch.front().index, space.start());
    }
    for (const tune::Candidate& c : batch) {
      EXPECT_TRUE(seen.insert(c.index).second);
      if (seen.size() > 1) order.push_back(bounds[c.index]);
      strategy.tell(c, {Status::evaluated, 100, 0, {}});
    }
  }
  EXPECT_EQ(seen.size(), space.size());
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(strategy.remaining_bound(), tune::no_time);
  EXPECT_EQ(strategy.pruned(), 0);
}

TEST(Exhaustive, StopsWhereTheNextBoundIsNoBetter) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(1024), arch::trn2);
  std::vector<double> bounds(space.size());
  for (tune::Index i = 0; i < bounds.size(); ++i) bounds[i] = static_cast<double>(i);
  tune::Exhaustive strategy(space, bounds, 0);
  std::size_t asked = 0;
  while (!strategy.done())
    for (const tune::Candidate& c : strategy.ask(1)) {
      ++asked;
      strategy.tell(c, {Status::evaluated, 5.0, 0, {}});
    }
  // The default, and those with bounds below 5 that it is not one of.
  EXPECT_EQ(asked, 1U + 5U - (space.start() < 5 ? 1U : 0U));
  EXPECT_EQ(strategy.pruned(), static_cast<std::int64_t>(space.size() - asked));
  EXPECT_GE(strategy.remaining_bound(), 5.0);
}

TEST(Search, DoesNotDependOnThreads) {
  const kernel::Of<Matmul> k;
  const tune::Space space = std::move(matmul_spaces(k)[1]);
  const tune::SimulatedTime objective(space);
  for (const std::int64_t evals : {std::int64_t{0}, std::int64_t{77}}) {
    std::vector<Found> found;
    for (const int threads : {1, 2, 5}) {
      SearchOptions o;
      o.threads = threads;
      o.budget.evals = evals;
      found.push_back(exhaust(space, objective, o));
    }
    for (const Found& f : found) {
      EXPECT_EQ(f.best, found[0].best);
      EXPECT_EQ(f.best_us, found[0].best_us);
      EXPECT_EQ(f.stop_reason, found[0].stop_reason);
      EXPECT_EQ(f.regret, found[0].regret);
      EXPECT_EQ(f.counts.evaluated, found[0].counts.evaluated);
      EXPECT_EQ(f.counts.given_up, found[0].counts.given_up);
      EXPECT_EQ(f.counts.pruned_bound, found[0].counts.pruned_bound);
      ASSERT_EQ(f.evaluated.size(), found[0].evaluated.size());
      for (std::size_t i = 0; i < f.evaluated.size(); ++i) {
        EXPECT_EQ(f.evaluated[i].index, found[0].evaluated[i].index);
        EXPECT_EQ(f.evaluated[i].outcome.us, found[0].evaluated[i].outcome.us);
      }
    }
  }
}

TEST(Search, TheSeedDecidesTheOrder) {
  const kernel::Of<Matmul> k;
  const tune::Space space = std::move(matmul_spaces(k)[0]);
  const tune::SimulatedTime objective(space);
  const auto order = [&](std::uint64_t seed) {
    tune::Exhaustive s(space, objective.bounds_us(), seed);
    std::vector<tune::Index> out;
    while (!s.done())
      for (const tune::Candidate& c : s.ask(8)) out.push_back(c.index);
    return out;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(Search, ABudgetOfTriesIsStrict) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(4096), arch::trn2);  // a third throws, a third is illegal
  const tune::SimulatedTime objective(space);
  for (const std::int64_t evals : {1, 2, 31, 32, 33, 1000}) {
    SearchOptions o;
    o.budget.evals = evals;
    const Found f = exhaust(space, objective, o);
    EXPECT_EQ(sum(f.counts), space.cartesian());
    if (evals < static_cast<std::int64_t>(space.size())) {
      EXPECT_EQ(f.counts.tried(), evals);
      EXPECT_EQ(f.certificate, Certificate::none);
      EXPECT_EQ(f.stop_reason, "budget " + std::to_string(evals) + (evals == 1 ? " eval" : " evals"));
      EXPECT_GT(f.counts.untried, 0);
    } else {
      EXPECT_EQ(f.certificate, Certificate::optimum);
    }
    EXPECT_LT(f.start_us, tune::no_time);  // the default is the first
  }
}

TEST(Search, FailuresAreCountedAndTheRestGoesOn) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(4096), arch::trn2);
  const tune::SimulatedTime objective(space);
  const BruteForce brute(space, objective);
  ASSERT_GT(brute.failed, 0);
  ASSERT_GT(brute.rejected, 0);
  const Found f = exhaust(space, objective);
  EXPECT_EQ(f.best_us, brute.best_us);
  EXPECT_EQ(f.counts.failed, brute.failed);
  EXPECT_EQ(f.counts.illegal, brute.rejected);
  EXPECT_EQ(f.counts.rejected, space.rejected() + brute.rejected);
  EXPECT_EQ(static_cast<std::int64_t>(f.refused.size()), brute.failed + brute.rejected);
  for (const tune::Trial& t : f.refused) EXPECT_FALSE(t.outcome.message.empty());
}

TEST(Search, NothingThatRunsLeavesNoBest) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(1024), arch::trn2, pins(k, {{"trouble", 2}}));
  const tune::SimulatedTime objective(space);
  const Found f = exhaust(space, objective);
  EXPECT_EQ(f.best, tune::no_index);
  EXPECT_EQ(f.certificate, Certificate::none);
  EXPECT_EQ(f.counts.failed, static_cast<std::int64_t>(space.size()));
  EXPECT_EQ(f.start.status, Status::failed);
}

TEST(Search, AGapEndsItWithProof) {
  const kernel::Of<Matmul> k;
  const tune::Space space = std::move(matmul_spaces(k)[2]);
  const tune::SimulatedTime objective(space);
  const Found all = exhaust(space, objective);
  SearchOptions o;
  o.budget.gap = 10;  // reached by anything
  const Found f = exhaust(space, objective, o);
  EXPECT_EQ(f.certificate, Certificate::gap);
  EXPECT_EQ(f.stop_reason, "gap 1000 % reached");
  EXPECT_EQ(f.counts.tried(), 1);
  EXPECT_LE(f.best_us, all.best_us * (1 + f.regret));
  o.budget.gap = 0;  // reached by the optimum only
  EXPECT_EQ(exhaust(space, objective, o).best_us, all.best_us);
}

TEST(Search, StopsWhenAsked) {
  const kernel::Of<Matmul> k;
  const tune::Space space = std::move(matmul_spaces(k)[0]);
  const tune::SimulatedTime objective(space);
  for (const int threads : {1, 3}) {
    std::atomic<int> asked{0};
    SearchOptions o;
    o.threads = threads;
    o.stop = [&] { return ++asked > 40; };
    const Found f = exhaust(space, objective, o);
    EXPECT_TRUE(f.interrupted);
    EXPECT_EQ(f.stop_reason, "interrupted");
    EXPECT_EQ(f.certificate, Certificate::none);
    EXPECT_NE(f.best, tune::no_index);
    EXPECT_GT(f.counts.untried, 0);
    EXPECT_EQ(sum(f.counts), space.cartesian());
  }
}

TEST(Search, AnInterruptedLastBatchProvesNothing) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(1024), arch::trn2, pins(k, {{"trouble", 0}}));
  const tune::SimulatedTime objective(space);
  ASSERT_LE(space.size(), 33U);  // the default, then one batch
  std::atomic<int> asked{0};
  SearchOptions o;
  o.stop = [&] { return ++asked > 6; };
  const Found f = exhaust(space, objective, o);
  EXPECT_EQ(f.certificate, Certificate::none);
  EXPECT_GT(f.counts.untried, 0);
}

}  // namespace
}  // namespace nki::tune_test
