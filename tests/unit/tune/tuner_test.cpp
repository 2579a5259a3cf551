#include "copy_kernel.hpp"

#include <nki/tune/report.hpp>
#include <nki/tune/strategy/exhaustive.hpp>
#include <nki/tune/tuner.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace nki::tune_test {
namespace {

using kernels::Matmul;

tune::Tuned tuned(const tune::Space& space, const tune::SimulatedTime& objective, tune::TuneOptions options = {}) {
  tune::Exhaustive strategy(space, objective.bounds_us(), 0);
  return tune::tune(space, strategy, objective, options);
}

tune::Space slice(const kernel::Kernel& k) {
  return {k, matmul_problem(512, 1024, 512, Matmul::Layout::lhs), arch::trn2,
          pins(k, {{"out_queue", 2}, {"panel_bufs", 1}, {"evacuate", 2}})};
}

double mean_us(const tune::SimulatedTime& objective, tune::Index i) {
  double sum = 0;
  const std::vector<double> at = tune::clock_phases_ns(objective.space().arch(), 16);
  for (const double phase : at) sum += objective.time(objective.record(i), phase).body_us();
  return sum / static_cast<double>(at.size());
}

TEST(Tuner, TheWinnerIsNeverWorseThanTheDefault) {
  const kernel::Of<Matmul> k;
  const tune::Space space = slice(k);
  const tune::SimulatedTime objective(space);
  for (const std::int64_t evals : {1, 2, 50, 0}) {
    tune::TuneOptions o;
    o.search.budget.evals = evals;
    const tune::Tuned t = tuned(space, objective, o);
    ASSERT_EQ(t.start.index, space.start());
    EXPECT_LE(t.best.mean_us, t.start.mean_us);
    EXPECT_DOUBLE_EQ(t.best.mean_us, mean_us(objective, t.best.index));
    EXPECT_DOUBLE_EQ(t.start.mean_us, mean_us(objective, t.start.index));
    EXPECT_LE(t.best.lo_us, t.best.mean_us);
    EXPECT_GE(t.best.hi_us, t.best.mean_us);
    EXPECT_NEAR(t.gap, t.best.mean_us / objective.bound().us - 1, 1e-12);
    if (evals == 1) {
      EXPECT_EQ(t.best.index, space.start());
    }
  }
}

TEST(Tuner, TheWinnerDoesNotDependOnThreads) {
  const kernel::Of<Matmul> k;
  const tune::Space space = slice(k);
  const tune::SimulatedTime objective(space);
  tune::TuneOptions one, two;
  two.search.threads = 2;
  const tune::Tuned a = tuned(space, objective, one), b = tuned(space, objective, two);
  EXPECT_EQ(a.best.index, b.best.index);
  EXPECT_EQ(a.best.mean_us, b.best.mean_us);
  ASSERT_EQ(a.finalists.size(), b.finalists.size());
  for (std::size_t i = 0; i < a.finalists.size(); ++i) EXPECT_EQ(a.finalists[i].mean_us, b.finalists[i].mean_us);
}

TEST(Tuner, WhatIsLeftInTheDifferenceMatters) {
  const kernel::Of<Matmul> k;
  const tune::Space space = slice(k);
  const tune::SimulatedTime objective(space);
  const tune::Tuned t = tuned(space, objective);
  const kernel::Config best = space.config(t.best.index), start = space.config(space.start());
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (best[i] == start[i]) continue;
    kernel::Config back = best;
    back[i] = start[i];
    if (const tune::Index at = space.find(back); at != tune::no_index) {
      EXPECT_GT(mean_us(objective, at), t.best.mean_us) << k.tunables()[i].name;
    }
  }
}

TEST(Tuner, ADefaultThatCannotRunIsNotCompared) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(4096), arch::trn2, {}, kernel::Config{1, 1, 2, 6});
  const tune::SimulatedTime objective(space);
  const tune::Tuned t = tuned(space, objective);
  EXPECT_EQ(t.start.index, tune::no_index);
  EXPECT_NE(t.best.index, tune::no_index);
  EXPECT_EQ(t.found.start.status, tune::Status::failed);
}

TEST(Tuner, AnEmptySpaceIsAnError) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(128), arch::trn2, pins(k, {{"width", 4}}));
  const tune::SimulatedTime objective(space);
  EXPECT_THROW(tuned(space, objective), Error);
}

TEST(Report, EachValueIsWorthWhatSettingItBackCosts) {
  const kernel::Of<Matmul> k;
  const tune::Space space = slice(k);
  const tune::SimulatedTime objective(space);
  const tune::Tuned t = tuned(space, objective);
  const tune::Comparison c = tune::compare(objective, t);
  EXPECT_EQ(static_cast<int>(c.changes.size()), space.distance(t.best.index, t.start.index));
  EXPECT_FALSE(c.changes.empty());
  double before = 1;
  bool alone = true;
  for (const tune::Change& x : c.changes) {
    EXPECT_FALSE(x.why.empty());
    EXPECT_TRUE(alone || !x.alone) << "what cannot be set back alone comes last";
    alone = x.alone;
    if (!x.alone) continue;
    EXPECT_LE(x.saves, before);
    before = x.saves;
    kernel::Config back = space.config(t.best.index);
    back[x.tunable] = x.was;
    const tune::Outcome o = objective.evaluate(space.find(back), tune::no_time);
    EXPECT_EQ(o.us, x.back_us);
    EXPECT_NEAR(x.saves, 1 - t.best.search_us / o.us, 1e-12);
  }
  for (const tune::Side* s : {&c.start, &c.best}) {
    EXPECT_NE(s->limit.find("TensorE works"), std::string::npos) << s->limit;
    EXPECT_GT(s->tensor_utilization, 0);
    EXPECT_LE(s->tensor_utilization, 1);
    EXPECT_LE(s->bound_us, s->timed.mean_us);
    EXPECT_NEAR(s->of_bound, objective.bound().us / s->timed.mean_us, 1e-12);
  }
}

TEST(Report, TheDefaultAsWinnerHasNoChanges) {
  const kernel::Of<Matmul> k;
  const tune::Space space = slice(k);
  const tune::SimulatedTime objective(space);
  tune::TuneOptions o;
  o.search.budget.evals = 1;
  const tune::Tuned t = tuned(space, objective, o);
  const tune::Comparison c = tune::compare(objective, t);
  EXPECT_TRUE(c.changes.empty());
  EXPECT_EQ(c.best.timed.mean_us, c.start.timed.mean_us);
}

}  // namespace
}  // namespace nki::tune_test
