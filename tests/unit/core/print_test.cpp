#include "small_program.hpp"

#include <nki/ir/flatten.hpp>
#include <nki/ir/print.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace {

namespace ir = nki::ir;

TEST(ToText, ShowsLoopsNamesSlicesAttributesAndLines) {
  EXPECT_EQ(ir::to_text(small_program()),
            R"(kernel small
problem rows=300
params bufs=2
input x: hbm f32[300, 64]  # small.cpp:1
input w: hbm f32[256, 64]  # small.cpp:2
output y: hbm f32[300, 64]  # small.cpp:3
tile weights: sbuf f32[128, 2, 64] bufs=1  # small.cpp:4
tile rows: sbuf f32[128, 64] bufs=2  # small.cpp:7 rows
tile turned: psum f32[64, 128] bufs=2  # small.cpp:8 rows
tile columns: sbuf f32[64, 128] bufs=1  # small.cpp:9 rows
tile sum: psum f32[128, 64] bufs=1  # small.cpp:10 rows
alloc weights  # small.cpp:4
gpsimd.dma_copy(dst=weights[0:128, 0:2, 0:64], src=w[0:128@0, ds(0, 2, 128)@0, 0:64@1], dge_mode=swdge)  # small.cpp:5
for m in affine(0, 3):  # small.cpp:6
  alloc rows  # small.cpp:7 rows
  alloc turned  # small.cpp:8 rows
  alloc columns  # small.cpp:9 rows
  alloc sum  # small.cpp:10 rows
  vector.memset(dst=columns[0:64, ds(64*(m%2), 64)], value=0.5)  # small.cpp:11 rows
  sync.dma_copy(dst=rows[ds(0, min(128, 300 - 128*m)), 0:64], src=x[ds(128*m, min(128, 300 - 128*m)), 0:64], dge_mode=hwdge)  # small.cpp:12 rows
  tensor.nc_transpose(dst=turned[0:64, ds(0, min(128, 300 - 128*m))], data=rows[ds(0, min(128, 300 - 128*m)), 0:64])  # small.cpp:13 rows
  scalar.tensor_copy(dst=columns[0:64, ds(0, min(128, 300 - 128*m))], src=turned[0:64, ds(0, min(128, 300 - 128*m))])  # small.cpp:14 rows
  gpsimd.memset(dst=rows[ds(0, min(128, 300 - 128*m) - 44), 0:64], value=-1)  # small.cpp:15 rows
  for j in sequential(max(0, m - 1), 3):  # small.cpp:16 rows
    tensor.nc_matmul(dst=sum[ds(0, min(128, 300 - 128*m)), 0:64], stationary=columns[0:64, ds(0, min(128, 300 - 128*m))], moving=weights[0:64, j//2, 0:64], accumulate=auto)  # small.cpp:17 rows
  vector.tensor_copy(dst=rows[ds(0, min(128, 300 - 128*m)), 0:64], src=sum[ds(0, min(128, 300 - 128*m)), 0:64])  # small.cpp:18 rows
  scalar.dma_copy(dst=y[ds(128*m, min(128, 300 - 128*m)), 0:64], src=rows[ds(0, min(128, 300 - 128*m)), 0:64], dge_mode=hwdge)  # small.cpp:19 rows
)");
}

TEST(ToText, OfAFlatProgramHoldsNumbersOnly) {
  const std::string text = ir::to_text(ir::flatten(small_program()));
  EXPECT_EQ(text.find("ds(0, min"), std::string::npos);
  EXPECT_NE(
      text.find("\nscalar.dma_copy(dst=y[256:300, 0:64], src=rows[0:44, 0:64], dge_mode=hwdge)  # small.cpp:19 rows\n"),
      std::string::npos);
}

TEST(ToText, OfAnEmptyProgramIsItsName) {
  ir::Program p;
  EXPECT_EQ(ir::to_text(p), "kernel -\n");
  p.kernel = "none";
  EXPECT_EQ(ir::to_text(p), "kernel none\n");
}

/// One dma_copy whose source starts at the last expression.
ir::Program program_of(std::vector<ir::Expr> exprs) {
  ir::Program p = small_program();
  const auto first = static_cast<std::uint32_t>(p.exprs.size());
  for (ir::Expr& e : exprs) {
    if (e.op != ir::ExprOp::constant && e.op != ir::ExprOp::index) {
      e.a += first;
      e.b += first;
    }
    p.exprs.push_back(e);
  }
  p.views[p.operand(p.instrs[0], 1)].dims[0].start = static_cast<ir::ExprId>(p.exprs.size() - 1);
  return p;
}
std::string source_of_first_load(const ir::Program& p) {
  const std::string text = ir::to_text(p);
  const std::size_t from = text.find("src=w[ds(");
  return text.substr(from + 9, text.find(", 128)@0", from) - from - 9);
}

TEST(ToText, ParenthesesKeepTheMeaningOfPython) {
  using enum ir::ExprOp;
  const std::vector<ir::Expr> m_and_j{{index, 0, 0, 0}, {index, 1, 0, 0}, {add, 0, 1, 0}};  // m, j, m + j
  const auto with = [&](std::vector<ir::Expr> more) {
    std::vector<ir::Expr> all = m_and_j;
    all.insert(all.end(), more.begin(), more.end());
    return source_of_first_load(program_of(all));
  };
  EXPECT_EQ(with({}), "m + j");
  EXPECT_EQ(with({{mul, 2, 0, 3}}), "3*(m + j)");
  EXPECT_EQ(with({{floordiv, 2, 0, 3}, {mul, 3, 0, 3}}), "3*((m + j)//3)");
  EXPECT_EQ(with({{mul, 0, 0, 3}, {mod, 3, 0, 2}}), "(3*m)%2");
  EXPECT_EQ(with({{mul, 0, 0, -3}, {add, 1, 3, 0}}), "j - 3*m");
  EXPECT_EQ(with({{mul, 0, 0, -3}, {add, 3, 1, 0}}), "j - 3*m");
  EXPECT_EQ(with({{mul, 0, 0, -3}, {constant, 0, 0, -7}, {add, 3, 4, 0}}), "-3*m - 7");
  EXPECT_EQ(with({{min, 2, 0, 0}, {max, 3, 1, 0}}), "max(min(m + j, m), j)");
}

TEST(ToText, NamesExpressionsThatAreTooLongToRepeat) {
  // Doubling a sum a thousand times is short as a graph and longer than any memory as text.
  std::vector<ir::Expr> exprs{{ir::ExprOp::index, 0, 0, 0}};
  for (std::uint32_t i = 0; i < 1000; ++i) exprs.push_back({ir::ExprOp::add, i, i, 0});
  const ir::Program p = program_of(exprs);
  const std::string text = ir::to_text(p);
  EXPECT_LT(text.size(), std::size_t{200'000});
  EXPECT_NE(text.find("\ne"), std::string::npos);
}

}  // namespace
