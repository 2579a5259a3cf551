#include "bounds_law.hpp"
#include "copy_kernel.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace nki::tune_test {
namespace {

using kernels::Matmul;
using tune::Status;

// The whole spaces are in objective_slow_test.cpp.
TEST(Objective, NoBoundExceedsTheTimeOfMatmul) {
  const kernel::Of<Matmul> k;
  for (const BoundsCase& c : bounds_cases()) check_bounds(k, c, c.arch == &arch::trn1 ? 5 : 97);
}

TEST(Objective, NoBoundExceedsTheTimeOfACopy) {
  const kernel::Of<Copy> k;
  for (const std::int64_t n : {200, 4096, 100000}) {
    const tune::Space space(k, copy_problem(n), arch::trn2, pins(k, {{"trouble", 0}}));
    const tune::SimulatedTime objective(space);
    for (tune::Index i = 0; i < space.size(); ++i) {
      const tune::Outcome whole = objective.evaluate(i, tune::no_time);
      ASSERT_EQ(whole.status, Status::evaluated) << whole.message;
      EXPECT_LE(objective.bound(i).us, whole.us);
      const tune::Outcome half = objective.evaluate(i, whole.us * 0.5);
      ASSERT_EQ(half.status, Status::pruned_bound);
      EXPECT_LE(half.least_us, whole.us);
    }
  }
}

TEST(Objective, SaysWhatIsWrong) {
  const kernel::Of<Copy> k;
  const tune::Space space(k, copy_problem(1024), arch::trn2);
  const tune::SimulatedTime objective(space);
  const tune::Outcome rule = objective.evaluate(space.find({1, 1, 1, 6}), tune::no_time);
  EXPECT_EQ(rule.status, Status::rejected);
  EXPECT_NE(rule.message.find("NKI-E110"), std::string::npos) << rule.message;
  EXPECT_EQ(rule.us, tune::no_time);
  const tune::Outcome thrown = objective.evaluate(space.find({1, 1, 2, 6}), tune::no_time);
  EXPECT_EQ(thrown.status, Status::failed);
  EXPECT_EQ(thrown.message, "this configuration throws");
}

TEST(Objective, PhasesLieInOneHalfWindow) {
  const std::vector<double> at = tune::clock_phases_ns(arch::trn2, 16);
  ASSERT_EQ(at.size(), 16U);
  EXPECT_EQ(at.front(), 0);
  EXPECT_NEAR(at[1] * 16, 4096 / 1.2, 1e-9);
  EXPECT_EQ(tune::clock_phases_ns(arch::trn1, 16), std::vector<double>{0});  // its clock never switches
}

}  // namespace
}  // namespace nki::tune_test
