#include "programs.hpp"

#include <nki/check/verify.hpp>
#include <nki/kernels/matmul.hpp>
#include <nki/nki.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace check_test;
using enum nki::DType;
using nki::ds;
using nki::Index;

// Ragged kernels: the iterations decide, not the intervals.

void expect_clean(const ir::Program& p, const Arch& core) {
  const check::Report r = check::verify(p, core);
  EXPECT_TRUE(r.ok()) << core.name << " " << p.problem << " " << p.params << "\n" << all_text(r.violations);
}

TEST(VerifyRagged, TheMatmulKernelIsLegalForEverySizeAroundItsTiles) {
  using M = nki::kernels::Matmul;
  const std::int64_t sizes[] = {1, 127, 128, 129, 511, 513, 1100};
  for (const Arch* core : arch::all)
    for (const std::int64_t m : sizes)
      for (const std::int64_t n : sizes)
        for (const std::int64_t k : sizes) {
          const M::Problem problem{.m = m, .n = n, .k = k};
          expect_clean(nki::record<M>(*core, problem), *core);
        }
}

TEST(VerifyRagged, KeptPanelsAndWideBlocksOfTheMatmulKernelAreLegal) {
  using M = nki::kernels::Matmul;
  for (const auto keep : {M::Keep::none, M::Keep::lhs, M::Keep::rhs})
    for (const std::int64_t tiles_n : {1, 2})
      for (const std::int64_t m : {100, 700})
        for (const std::int64_t n : {900, 2111}) {
          const M::Problem problem{.m = m, .n = n, .k = 777};
          M::Params params = M::default_params(problem, arch::trn2);
          params.keep = keep;
          params.tiles_n = tiles_n;
          params.psum_bufs = 1;
          expect_clean(nki::record<M>(arch::trn2, problem, params), arch::trn2);
        }
}

/// Rows of a tensor in tiles of 128, the last one cut by `cut(size)`.
template <class Cut>
check::Report copy_rows(std::int64_t rows, std::int64_t cols, Cut&& cut) {
  nki::Builder nc(&arch::trn2);
  const auto x = nki::argument(nc, ir::BufferKind::input, "x", f32, {rows, cols});
  const auto y = nki::argument(nc, ir::BufferKind::output, "y", f32, {rows, cols});
  for (Index i : nki::nl::affine_range(nc, ir::ceildiv(rows, 128), "i")) {
    const auto t = nki::sbuf<nki::f32>(nc, nki::shape(nki::Const<128>{}, cols), {.name = "t"});
    const Index size = cut(Index(rows) - i * 128);
    nki::nisa::dma_copy(t(ds(0, size), nki::all), x(ds(i * 128, size), nki::all));
    nki::nisa::dma_copy(y(ds(i * 128, size), nki::all), t(ds(0, size), nki::all));
  }
  return check::verify(nc.finish(), arch::trn2);
}

TEST(VerifyRagged, ASliceCutAtTheEdgeIsLegalAndOneUncutIsNot) {
  for (const std::int64_t rows : {1, 128, 300, 100'001}) {
    EXPECT_TRUE(copy_rows(rows, 256, [](Index left) { return min(Index(128), left); }).ok()) << rows;
    if (rows % 128 == 0) continue;
    if (rows < 128) continue;  // refused while recording
    const check::Report r = copy_rows(rows, 256, [](Index) { return Index(128); });
    ASSERT_TRUE(has(r.violations, "NKI-E231")) << rows;
    EXPECT_NE(text_of(r.violations, "NKI-E231").find("at i = " + std::to_string(rows / 128)), std::string::npos)
        << text_of(r.violations, "NKI-E231");
  }
}

TEST(VerifyRagged, OneRowTooManyIsFoundInTheLastIterationOfALongLoop) {
  const check::Report r = copy_rows(1'000'001, 256, [](Index left) { return min(Index(128), left + 1); });
  const std::string text = text_of(r.violations, "NKI-E231");
  EXPECT_NE(text.find("src 'x' at 999936..1000001 of axis 0 at i = 7812 (allowed: 0..1000000)"), std::string::npos)
      << text;
}

TEST(VerifyRagged, AnInstructionThatIsEmptyWhereverItWouldBeIllegalIsLegal) {
  nki::Builder nc(&arch::trn2);
  const auto x = nki::argument(nc, ir::BufferKind::input, "x", f32, {900, 64});
  for (Index i : nki::nl::affine_range(nc, 10, "i"))
    for (Index j : nki::nl::affine_range(nc, 10, "j")) {
      const auto t = nki::sbuf<nki::f32>(nc, nki::shape(128, 64));
      // Rows up to 1000, of a tensor of 900; but where i is 9 the other extent is 0.
      nki::nisa::dma_copy(t(ds(0, 10), ds(0, min(Index(64), (Index(9) - i) * 64))),
                          x(ds(i * 100 + j * 10, 10), ds(0, min(Index(64), (Index(9) - i) * 64))));
    }
  const check::Report r = check::verify(nc.finish(), arch::trn2);
  EXPECT_TRUE(r.ok()) << all_text(r.violations);
}

TEST(VerifyRagged, ALoopThatNeverRunsHoldsNothingIllegal) {
  for (const std::int64_t n : {0, 1}) {
    Maker k;
    const auto x = k.input(f32, {100, 64}), t = k.sbuf(f32, {128, 64});
    const auto i = k.open(5);
    // `n` trips where i is 4, else none; the slice begins at row 100.
    const auto three = k.number(-3), least = k.number(n);
    const auto past = k.add(i, three), none = k.number(0);
    const auto upper = k.min(k.expr(ir::ExprOp::max, past, none), least);
    k.open(none, upper);
    k.dma(k.part(t, {{0, 64}, {0, 64}}), k.part(x, {{100, 64}, {0, 64}}));
    k.close();
    k.close();
    const check::Report r = check::verify(k.p, arch::trn2);
    EXPECT_EQ(r.ok(), n == 0) << all_text(r.violations);
  }
}

TEST(VerifyRagged, EqualExtentsMayBeWrittenInDifferentWays) {
  nki::Builder nc(&arch::trn2);
  const auto x = nki::argument<1>(nc, ir::BufferKind::input, "x", f32, {1000});
  for (Index i : nki::nl::affine_range(nc, 8, "i")) {
    const auto t = nki::sbuf<nki::f32>(nc, nki::shape(1, 128));
    const Index left = min(Index(128), Index(1000) - i * 128);
    nki::nisa::dma_copy(t(nki::all, ds(0, floordiv(left + 3, 4) * 4 - mod(-left, 4))), x(ds(i * 128, left)));
  }
  const check::Report r = check::verify(nc.finish(), arch::trn2);
  EXPECT_TRUE(r.ok()) << all_text(r.violations);
}

TEST(VerifyRagged, TooManyIterationsAreReportedRatherThanPassed) {
  Maker k;
  const auto x = k.input(u8, {std::int64_t{1} << 40}), t = k.sbuf(u8, {1, 64});
  const auto i = k.open(std::int64_t{1} << 40);
  const auto seven = k.expr(ir::ExprOp::mod, k.mul(i, 7), 0, 1'000'003),
             other = k.expr(ir::ExprOp::mod, k.mul(i, 11), 0, 1'000'003);
  const auto zero = k.number(0);
  k.dma(k.view(t, {{zero, k.number(1), 1, 0, false}, {zero, seven, 1, 1, false}}),
        k.view(x, {{zero, other, 1, 0, false}}));
  k.close();
  EXPECT_TRUE(has(check::verify(k.p, arch::trn2).violations, "NKI-E121"));
}

}  // namespace
