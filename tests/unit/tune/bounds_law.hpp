#pragma once

#include "copy_kernel.hpp"

#include <gtest/gtest.h>

#include <cstddef>

namespace nki::tune_test {

struct BoundsCase {
  kernel::Problem problem;
  const Arch* arch;
};

/// For every `step`-th configuration: no lower bound exceeds the time, and a simulation that is given up says no more
/// than it can.
inline void check_bounds(const kernel::Kernel& k, const BoundsCase& c, std::size_t step) {
  const tune::Space space(k, c.problem, *c.arch);
  const tune::SimulatedTime objective(space);
  const double bound = objective.bound().us;
  ASSERT_FALSE(space.empty());
  for (tune::Index i = 0; i < space.size(); i += step) {
    SCOPED_TRACE(k.name() + " " + k.spell_sizes(c.problem) + " on " + c.arch->name + ": " +
                 k.spell_config(space.config(i)));
    const tune::Outcome whole = objective.evaluate(i, tune::no_time);
    ASSERT_EQ(whole.status, tune::Status::evaluated) << whole.message;
    EXPECT_LE(objective.bound(i).us, whole.us);
    EXPECT_LE(bound, objective.bound(i).us * (1 + 1e-12));
    for (const double share : {0.2, 0.5, 0.8, 0.95, 1.0, 1.05}) {
      const tune::Outcome o = objective.evaluate(i, whole.us * share);
      if (o.status == tune::Status::evaluated) {
        EXPECT_EQ(o.us, whole.us);
      } else {
        ASSERT_EQ(o.status, tune::Status::pruned_bound);
        EXPECT_LT(share, 1.0);
        EXPECT_LE(o.least_us, whole.us);
        EXPECT_GE(o.least_us, whole.us * share * (1 - 1e-6));
      }
    }
  }
}

inline std::vector<BoundsCase> bounds_cases() {
  using L = kernels::Matmul::Layout;
  return {{matmul_problem(256, 1024, 512, L::lhsT), &arch::trn2},
          {matmul_problem(256, 1024, 512, L::lhs), &arch::trn2},
          {matmul_problem(300, 700, 200, L::lhsT), &arch::trn2},
          {matmul_problem(300, 700, 200, L::lhs), &arch::trn2},
          {matmul_problem(1, 2000, 300, L::lhs), &arch::trn2},
          {matmul_problem(130, 513, 257, L::lhs, DType::f32), &arch::trn2},
          {matmul_problem(129, 640, 129, L::lhsT, DType::f32), &arch::trn2},
          {matmul_problem(256, 600, 300, L::lhs), &arch::trn1},
          {matmul_problem(256, 600, 300, L::lhsT), &arch::trn3}};
}

}  // namespace nki::tune_test
