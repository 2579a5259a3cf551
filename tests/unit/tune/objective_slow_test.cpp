#include "bounds_law.hpp"

#include <gtest/gtest.h>

namespace nki::tune_test {
namespace {

TEST(ObjectiveSlow, NoBoundExceedsTheTimeOfAnyConfiguration) {
  const kernel::Of<kernels::Matmul> k;
  for (const BoundsCase& c : bounds_cases()) check_bounds(k, c, 1);
}

}  // namespace
}  // namespace nki::tune_test
