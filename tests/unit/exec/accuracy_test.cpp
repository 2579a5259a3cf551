// The shipped matmul kernel through the executor, against double precision.

#include "matmul_cases.hpp"
#include "support.hpp"

#include <nki/references/matmul.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace exec_test {
namespace {

using enum DType;

nki::references::MatrixView matrix(const HostTensor& t) {
  return {t.data.data(), t.dtype, t.shape[0], t.shape[1]};
}
nki::references::Matmul reference(const Case& c, const std::vector<HostTensor>& in) {
  return {matrix(in[0]), c.layout == Layout::lhsT, matrix(in[1])};
}

TEST(MatmulAccuracy, EveryElementLiesWithinTheRoundingBound) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.spell());
    const ir::Program p = record(c);
    const std::vector<HostTensor> in = normal_inputs(p, 2);
    std::vector<HostTensor> out = make_arguments(p, ir::BufferKind::output);
    fast(p, in, out);
    const auto exact = reference(c, in);
    const nki::references::MatrixXd want = exact.rows(0, c.m), sums = exact.rows(0, c.m, true);
    const std::vector<float> got = nki::exec::to_floats(out[0]);
    for (std::int64_t i = 0; i < c.m * c.n; ++i) {
      const double value = want(i / c.n, i % c.n);
      const double bound = nki::references::matmul_element_bound(c.k, c.out, sums(i / c.n, i % c.n), value);
      ASSERT_LE(std::fabs(static_cast<double>(got[static_cast<std::size_t>(i)]) - value), bound) << "element " << i;
    }
  }
}

TEST(MatmulAccuracy, ErrorsLieBelowTheToleranceAndNotFarBelow) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.spell());
    const ir::Program p = record(c);
    const std::vector<HostTensor> in = normal_inputs(p, 3);
    std::vector<HostTensor> out = make_arguments(p, ir::BufferKind::output);
    fast(p, in, out);
    const nki::references::MatmulErrors e = nki::references::compare(reference(c, in), matrix(out[0]));
    EXPECT_TRUE(e.passed()) << e.rel_l2 << " of " << e.tolerance;
    EXPECT_LE(e.tolerance, e.bound_rel_l2);
    EXPECT_LE(e.rel_l2, e.bound_rel_l2);
    // Small results can be exact by chance.
    if (c.m * c.n > 4000) {
      EXPECT_GT(e.rel_l2, 0.05 * e.tolerance);
    }
  }
}

TEST(MatmulAccuracy, AWrongElementIsFound) {
  const Case c{130, 70, 200, Layout::lhsT, bf16, bf16, f32};
  const ir::Program p = record(c);
  const std::vector<HostTensor> in = normal_inputs(p, 4);
  std::vector<HostTensor> out = make_arguments(p, ir::BufferKind::output);
  fast(p, in, out);
  out[0].as<float>()[70 * 129 + 3] += 0.02F;
  nki::references::MatmulErrors e = nki::references::compare(reference(c, in), matrix(out[0]));
  EXPECT_EQ(e.first_bad, 70 * 129 + 3);
  EXPECT_FALSE(e.passed());
  EXPECT_NEAR(e.max_abs_err, 0.02, 1e-3);
  out[0].as<float>()[5] = std::numeric_limits<float>::quiet_NaN();
  e = nki::references::compare(reference(c, in), matrix(out[0]));
  EXPECT_EQ(e.first_bad, 5);
  EXPECT_TRUE(std::isinf(e.rel_l2));
}

TEST(MatmulAccuracy, HostileValuesReachExactlyTheirRowsAndColumns) {
  const Case c{70, 90, 150, Layout::lhs, bf16, bf16, f32};
  const ir::Program p = record(c);
  std::vector<HostTensor> in = normal_inputs(p, 6);
  const auto lhs = in[0].as<nki::bf16>(), rhs = in[1].as<nki::bf16>();
  const float inf = std::numeric_limits<float>::infinity();
  lhs[3 * 150 + 149] = nki::bf16(std::numeric_limits<float>::quiet_NaN());
  lhs[5 * 150 + 7] = nki::bf16(inf);
  rhs[20 * 90 + 11] = nki::bf16(-inf);
  for (std::int64_t k = 0; k < 150; ++k) lhs[static_cast<std::size_t>(9 * 150 + k)] = nki::bf16(1e-39F);  // subnormal
  for (std::int64_t k = 0; k < 150; ++k) lhs[static_cast<std::size_t>(8 * 150 + k)] = nki::bf16(-0.0F);
  std::vector<HostTensor> out = make_arguments(p, ir::BufferKind::output);
  fast(p, in, out);
  const nki::references::MatmulErrors e = nki::references::compare(reference(c, in), matrix(out[0]));
  EXPECT_TRUE(e.passed()) << e.rel_l2 << " of " << e.tolerance << ", element " << e.first_bad;
  const auto got = out[0].as<float>();
  for (std::int64_t i = 0; i < 70 * 90; ++i) {
    const bool hostile = i / 90 == 3 || i / 90 == 5 || i % 90 == 11;
    EXPECT_EQ(std::isfinite(got[static_cast<std::size_t>(i)]), !hostile) << i;
  }
  if (products_are_rounded) expect_agreement(p, in);
}

TEST(MatmulAccuracy, ExecutorAndInterpreterLieWithinTwiceTheBound) {
  // Both lie within k roundings of the exact sum, and the results' dtype rounds once more.
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.spell());
    const ir::Program p = record(c);
    const std::vector<HostTensor> in = normal_inputs(p, 8);
    std::vector<HostTensor> a = make_arguments(p, ir::BufferKind::output), b = a;
    fast(p, in, a);
    slow(p, in, b);
    const nki::references::MatrixXd sums = reference(c, in).rows(0, c.m, true);
    const std::vector<float> u = nki::exec::to_floats(a[0]), v = nki::exec::to_floats(b[0]);
    for (std::int64_t i = 0; i < c.m * c.n; ++i) {
      const auto e = static_cast<std::size_t>(i);
      const double bound = nki::references::matmul_element_bound(c.k, c.out, sums(i / c.n, i % c.n), u[e]);
      ASSERT_LE(std::fabs(static_cast<double>(u[e]) - static_cast<double>(v[e])), 2 * bound) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace exec_test
