#include "programs.hpp"

#include <nki/check/verify.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace check_test;
using enum nki::DType;
using ir::Accumulate;

// What tiles hold, as far as the order of reads and writes tells.

struct Tiles {
  ir::ViewId a, b, c;
};
Tiles matmul_tiles(Maker& k) {
  const auto a = k.sbuf(bf16, {128, 64}), b = k.sbuf(bf16, {128, 64}), c = k.psum(f32, {64, 64});
  k.fill(a);
  k.fill(b);
  return {k.whole(a), k.whole(b), k.whole(c)};
}

TEST(VerifyContents, E303FindsAReadThatNoWritePrecedes) {
  Maker k;
  const auto a = k.sbuf(f32, {64, 64}), b = k.sbuf(f32, {64, 64});
  k.copy(k.whole(a), k.whole(b));
  const std::uint32_t line = k.last_line();
  k.fill(b);
  const check::Report r = check::verify(k.p, arch::trn2);
  ASSERT_EQ(ids(r.violations), std::vector<std::string>{"NKI-E303"});
  EXPECT_EQ(r.violations[0].line, line);
  EXPECT_NE(r.violations[0].got.find("src 't1' of tensor_copy"), std::string::npos) << r.violations[0].text();
}

TEST(VerifyContents, E303KnowsThatEachInstanceStartsAnew) {
  for (const bool inside : {false, true}) {
    Maker k;
    const auto out = k.argument(ir::BufferKind::output, f32, {64, 640});
    ir::BufferId t = 0;
    if (!inside) {
      t = k.sbuf(f32, {64, 64});
      k.fill(t);
    }
    const auto i = k.open(10);
    if (inside) t = k.sbuf(f32, {64, 64});
    const auto start = k.mul(i, 64), zero = k.number(0), n = k.number(64);
    k.dma(k.view(out, {{zero, n, 1, 0, false}, {start, n, 1, 1, false}}), k.whole(t));
    k.fill(t);
    k.close();
    const check::Report r = check::verify(k.p, arch::trn2);
    EXPECT_EQ(r.ok(), !inside) << all_text(r.violations);
    EXPECT_EQ(text_of(r.violations, "NKI-E303").find("at i0 = 0") != std::string::npos, inside)
        << all_text(r.violations);
  }
}

/// for i: copy out what the previous iteration wrote, where there is one; then write.
TEST(VerifyContents, AReadThatStartsWithTheSecondIterationIsLegal) {
  for (const std::int64_t first : {0, 1}) {
    Maker k;
    const auto a = k.sbuf(f32, {64, 64}), b = k.sbuf(f32, {64, 64});
    const auto i = k.open(10);
    const auto offset = k.number(first), most = k.number(64);
    const auto count = k.min(k.mul(k.add(i, offset), 64), most);  // 0 or 64 at first
    const auto zero = k.number(0), rows = k.number(64);
    const auto part = [&](ir::BufferId t) {
      return k.view(t, {{zero, rows, 1, 0, false}, {zero, count, 1, 1, false}});
    };
    k.copy(part(b), part(a));
    k.fill(a);
    k.close();
    EXPECT_EQ(check::verify(k.p, arch::trn2).ok(), first == 0);
  }
}

TEST(VerifyContents, AWriteInALoopThatMayNotRunDoesNotCount) {
  for (const std::int64_t first : {0, 1}) {
    Maker k;
    const auto a = k.open(3);
    const auto t = k.sbuf(f32, {64, 64}), u = k.sbuf(f32, {64, 64});
    const auto zero = k.number(0), offset = k.number(first);
    k.open(zero, k.add(a, offset));  // no trip at first, or one
    k.fill(t);
    k.close();
    k.copy(k.whole(u), k.whole(t));
    k.close();
    const check::Report r = check::verify(k.p, arch::trn2);
    EXPECT_EQ(r.ok(), first == 1) << all_text(r.violations);
    EXPECT_EQ(has(r.violations, "NKI-E303"), first == 0);
  }
}

TEST(VerifyContents, E211NeedsAnOverwritingStart) {
  using A = Accumulate;
  const auto report = [](std::vector<Accumulate> chain, const Arch& core) {
    Maker k;
    const Tiles t = matmul_tiles(k);
    for (const A a : chain) k.matmul(t.c, t.a, t.b, a);
    return check::verify(k.p, core);
  };
  for (const Arch* core : arch::all) {
    EXPECT_TRUE(report({A::auto_, A::auto_, A::add}, *core).ok());
    EXPECT_TRUE(report({A::overwrite, A::add, A::overwrite}, *core).ok());
    const check::Report r = report({A::add, A::add}, *core);
    EXPECT_EQ(ids(r.violations), std::vector<std::string>{"NKI-E211"}) << all_text(r.violations);
  }
}

TEST(VerifyContents, E211AddInALoopNeedsAStartBeforeTheLoop) {
  for (const bool started : {false, true}) {
    Maker k;
    const Tiles t = matmul_tiles(k);
    if (started) k.matmul(t.c, t.a, t.b, Accumulate::overwrite);
    k.open(4);
    k.matmul(t.c, t.a, t.b, Accumulate::add);
    k.matmul(t.c, t.a, t.b, Accumulate::auto_);
    k.close();
    const check::Report r = check::verify(k.p, arch::trn2);
    EXPECT_EQ(r.ok(), started) << all_text(r.violations);
    EXPECT_EQ(text_of(r.violations, "NKI-E211").find("at i0 = 0") != std::string::npos, !started);
  }
}

TEST(VerifyContents, E211BeforeNcV4OnlyAMatmulStartsAnAccumulation) {
  for (const Arch* core : arch::all)
    for (const auto a : {Accumulate::overwrite, Accumulate::add, Accumulate::auto_}) {
      Maker k;
      const Tiles t = matmul_tiles(k);
      k.memset(t.c);
      const std::uint32_t fill_line = k.last_line();
      k.matmul(t.c, t.a, t.b, a);
      const check::Report r = check::verify(k.p, *core);
      EXPECT_EQ(r.ok(), a == Accumulate::overwrite || core->generation >= 4) << core->name << all_text(r.violations);
      if (a == Accumulate::auto_ && !r.ok()) {
        const std::string text = text_of(r.violations, "NKI-E211");
        EXPECT_NE(text.find("which memset wrote (kernel.cpp:" + std::to_string(fill_line) + ")"), std::string::npos)
            << text;
      }
    }
}

TEST(VerifyContents, AFillOfOtherElementsDisturbsNoAccumulation) {
  for (const std::int64_t at : {31, 32}) {
    Maker k;
    const auto a = k.sbuf(bf16, {128, 64}), b = k.sbuf(bf16, {128, 32}), c = k.psum(f32, {64, 64});
    k.fill(a);
    k.fill(b);
    k.memset(k.part(c, {{0, 64}, {at, 32}}));
    k.matmul(k.part(c, {{0, 64}, {0, 32}}), k.whole(a), k.whole(b));
    EXPECT_EQ(check::verify(k.p, arch::trn2).ok(), at == 32);
  }
}

}  // namespace
