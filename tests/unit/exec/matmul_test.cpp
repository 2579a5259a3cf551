// The shipped matmul kernel through the executor and the interpreter.

#include "matmul_cases.hpp"
#include "support.hpp"

#include <nki/arch.hpp>
#include <nki/ir/flatten.hpp>
#include <nki/kernels/matmul.hpp>
#include <nki/nki.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace exec_test {

ir::Program record(const Case& c) {
  return nki::record<Matmul>(nki::arch::trn2, c.problem(), c.params);
}

namespace {

using enum DType;

TEST(MatmulKernel, ExecutorEqualsInterpreter) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.spell());
    const ir::Program p = record(c);
    const std::vector<HostTensor> in = normal_inputs(p, 1);
    std::vector<HostTensor> a = make_arguments(p, ir::BufferKind::output), b = a;
    const Report x = fast(p, in, a), y = slow(p, in, b);
    expect_same(x, y);
    EXPECT_TRUE(x.clean());
    if (products_are_rounded) {
      EXPECT_TRUE(same(a[0], b[0]));
    }
  }
}

TEST(MatmulKernel, FlatProgramsGiveTheSameBits) {
  for (std::size_t i : {4U, 8U, 13U, 14U}) {
    const Case& c = cases()[i];
    SCOPED_TRACE(c.spell());
    const ir::Program p = record(c);
    const std::vector<HostTensor> in = normal_inputs(p, 5);
    std::vector<HostTensor> a = make_arguments(p, ir::BufferKind::output), b = a;
    const Report x = fast(p, in, a), y = fast(ir::flatten(p), in, b);
    EXPECT_EQ(a[0].data, b[0].data);
    EXPECT_EQ(x.instructions, y.instructions);
  }
}

TEST(MatmulKernel, AWrongContractionTailIsNamedWithItsLine) {
  // The last contraction tile is loaded with k % 128 rows and used with 128.
  nki::Builder nc(&nki::arch::trn2);
  const auto lhs = nki::argument(nc, ir::BufferKind::input, "lhsT", bf16, {200, 64});
  const auto out = nki::argument(nc, ir::BufferKind::output, "out", f32, {64, 64});
  const auto acc = nki::psum<float>(nc, nki::shape(64, 64), {.name = "acc"});
  std::uint32_t load_line = 0, wrong_line = 0;
  for (nki::nl::Block k : nki::nl::tiles(nc, 200, 128, "k")) {
    const auto t = nki::sbuf<nki::bf16>(nc, nki::shape(128, 64), {.name = "lhs_tile", .bufs = 2});
    load_line = __LINE__ + 1;
    nki::nisa::dma_copy(t(nki::ds(0, k.size), nki::all), lhs(nki::ds(k.start, k.size), nki::all));
    wrong_line = __LINE__ + 1;
    nki::nisa::nc_matmul(acc, t, t);
  }
  const auto y = nki::sbuf<float>(nc, nki::shape(64, 64), {.name = "y"});
  nki::nisa::tensor_copy(y, acc);
  nki::nisa::dma_copy(out, y);
  const ir::Program p = nc.finish();
  Report r;
  const std::vector<HostTensor> got = expect_agreement(p, normal_inputs(p, 7), &r);
  EXPECT_EQ(r.undefined_reads, 2 * 56 * 64);
  const nki::exec::UndefinedRead& u = r.first_undefined_read;
  EXPECT_EQ(u.buffer, "lhs_tile");
  EXPECT_EQ(u.read.operation, "nc_matmul");
  EXPECT_EQ(u.read.file, __FILE__);
  EXPECT_EQ(u.read.line, wrong_line);
  EXPECT_EQ(u.last_write.operation, "dma_copy");
  EXPECT_EQ(u.last_write.line, load_line);
  EXPECT_TRUE(std::isnan(nki::exec::to_floats(got[0])[0]));
}

}  // namespace
}  // namespace exec_test
