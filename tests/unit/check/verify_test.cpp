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
using ir::Space;

// ---- Storage.

ir::Program banks(std::int64_t n) {
  Maker k;
  for (std::int64_t i = 0; i < n; ++i) k.psum(f32, {128, i % 2 == 0 ? 512 : 1});
  return k.p;
}

TEST(VerifyStorage, E104CountsWholeBanks) {
  for (const Arch* core : arch::all) {
    EXPECT_TRUE(check::verify(banks(7), *core).ok());
    EXPECT_TRUE(check::verify(banks(8), *core).ok());
    EXPECT_EQ(check::verify(banks(8), *core).capacity.psum_banks, 8);
    const check::Report r = check::verify(banks(9), *core);
    ASSERT_EQ(ids(r.violations), std::vector<std::string>{"NKI-E104"});
    EXPECT_NE(r.violations[0].got.find("9 banks"), std::string::npos) << r.violations[0].text();
    EXPECT_EQ(r.violations[0].allowed, "8");
    EXPECT_EQ(r.violations[0].file, "kernel.cpp");
    EXPECT_EQ(r.violations[0].line, 101U);
  }
}

TEST(VerifyStorage, E110CountsTheBytesThatAreLeftToAKernel) {
  const struct {
    const Arch& core;
    std::int64_t bytes;
  } rows[] = {{arch::trn1, 180224}, {arch::trn2, 212984}, {arch::trn3, 245752}};
  for (const auto& [core, bytes] : rows) {
    const auto one = [](std::int64_t n) {
      Maker k;
      k.sbuf(u8, {128, n});
      return k.p;
    };
    EXPECT_TRUE(check::verify(one(bytes - 1), core).ok());
    EXPECT_TRUE(check::verify(one(bytes), core).ok());
    const check::Report r = check::verify(one(bytes + 1), core);
    ASSERT_EQ(ids(r.violations), std::vector<std::string>{"NKI-E110"});
    EXPECT_NE(r.violations[0].got.find(std::to_string(bytes + 1)), std::string::npos);
    EXPECT_EQ(r.violations[0].allowed, std::to_string(bytes));
  }
}

TEST(VerifyStorage, TheLargestTilesAreListedWithTheirLines) {
  Maker k;
  std::vector<std::uint32_t> lines;
  for (const std::int64_t n : {64, 90000, 128, 10000, 50000, 40000, 192}) {
    k.tile(Space::sbuf, u8, {128, n}, 2);
    lines.push_back(k.last_line());
  }
  const check::Report r = check::verify(k.p, arch::trn2);
  const std::string text = text_of(r.violations, "NKI-E110");
  const std::size_t first = text.find("'t1' 180096 in 2 slots (kernel.cpp:" + std::to_string(lines[1]) + ")"),
                    second = text.find("'t4' 100096 in 2 slots"), third = text.find("'t5' 80000"),
                    fourth = text.find("'t3' 20096"), fifth = text.find("'t6' 384"), rest = text.find("and 2 more");
  EXPECT_TRUE(first < second && second < third && third < fourth && fourth < fifth && fifth < rest &&
              rest != std::string::npos)
      << text;
  EXPECT_NE(text.find("at kernel.cpp:" + std::to_string(lines[1])), std::string::npos) << text;
}

TEST(VerifyStorage, E101AndE103HoldForTilesOfAnyOrigin) {
  for (const Arch* core : arch::all) {
    const auto tile = [](Space space, std::int64_t rows, std::int64_t cols) {
      Maker k;
      k.tile(space, f32, {rows, cols});
      return k.p;
    };
    EXPECT_TRUE(check::verify(tile(Space::psum, 127, 511), *core).ok());
    EXPECT_TRUE(check::verify(tile(Space::psum, 128, 512), *core).ok());
    const std::string wide = text_of(check::verify(tile(Space::psum, 128, 513), *core).violations, "NKI-E103");
    EXPECT_NE(wide.find("513 elements of 4 bytes"), std::string::npos) << wide;
    EXPECT_NE(wide.find("2048 bytes"), std::string::npos) << wide;
    const std::string tall = text_of(check::verify(tile(Space::sbuf, 129, 4), *core).violations, "NKI-E101");
    EXPECT_NE(tall.find("129 partitions"), std::string::npos) << tall;
    EXPECT_NE(tall.find("1..128"), std::string::npos) << tall;
  }
}

struct Tiles {
  ir::ViewId a, b, c;
};
Tiles matmul_tiles(Maker& k) {
  const auto a = k.sbuf(bf16, {128, 64}), b = k.sbuf(bf16, {128, 64}), c = k.psum(f32, {64, 64});
  k.fill(a);
  k.fill(b);
  return {k.whole(a), k.whole(b), k.whole(c)};
}

// ---- Warnings.

TEST(VerifyWarnings, W501ShortRuns) {
  for (const std::int64_t cols : {127, 128}) {
    Maker k;
    const auto x = k.input(f32, {128, 1000}), t = k.sbuf(f32, {128, 1000});
    k.dma(k.part(t, {{0, 128}, {0, cols}}), k.part(x, {{0, 128}, {0, cols}}));
    const check::Report r = check::verify(k.p, arch::trn2);
    EXPECT_TRUE(r.ok());
    EXPECT_EQ(has(r.warnings, "NKI-W501"), cols == 127) << all_text(r.warnings);
    EXPECT_EQ(text_of(r.warnings, "NKI-W501").find("508 bytes") != std::string::npos, cols == 127);
  }
}

TEST(VerifyWarnings, W501DimensionsThatFollowEachOtherMakeOneRun) {
  Maker k;
  const auto x = k.input(f32, {4, 8, 16}), t = k.sbuf(f32, {4, 128});
  k.dma(k.whole(t), k.whole(x));
  EXPECT_FALSE(has(check::verify(k.p, arch::trn2).warnings, "NKI-W501"));
  k.dma(k.part(t, {{0, 4}, {0, 64}}), k.part(x, {{0, 4}, {0, 8}, {0, 8}}));
  EXPECT_TRUE(has(check::verify(k.p, arch::trn2).warnings, "NKI-W501"));
}

TEST(VerifyWarnings, W501NothingToGainForOneRun) {
  Maker k;
  const auto x = k.input(f32, {64}), t = k.sbuf(f32, {1, 64});
  k.dma(k.whole(t), k.whole(x));
  EXPECT_TRUE(check::verify(k.p, arch::trn2).warnings.empty());
}

TEST(VerifyWarnings, W502PsumReadTwice) {
  for (const bool rewritten : {false, true}) {
    Maker k;
    const Tiles t = matmul_tiles(k);
    const auto y = k.sbuf(f32, {64, 64});
    k.matmul(t.c, t.a, t.b);
    k.copy(k.whole(y), t.c);
    if (rewritten) k.matmul(t.c, t.a, t.b, Accumulate::overwrite);
    k.copy(k.whole(y), t.c);
    EXPECT_EQ(has(check::verify(k.p, arch::trn2).warnings, "NKI-W502"), !rewritten);
  }
}

TEST(VerifyWarnings, W503ALoadThatNoIndexChanges) {
  for (const std::int64_t factor : {0, 1})
    for (const std::int64_t trips : {1, 5}) {
      Maker k;
      const auto x = k.input(f32, {10, 512}), y = k.argument(ir::BufferKind::output, f32, {8, 512});
      const auto i = k.open(trips);
      const auto t = k.sbuf(f32, {8, 512});
      const auto zero = k.number(0), rows = k.number(2), cols = k.number(512);
      const auto start = factor == 0 ? zero : i;
      const auto part = k.view(t, {{zero, rows, 1, 0, false}, {zero, cols, 1, 1, false}});
      k.dma(part, k.view(x, {{start, rows, 1, 0, false}, {zero, cols, 1, 1, false}}));
      k.dma(k.view(y, {{i, rows, 1, 0, false}, {zero, cols, 1, 1, false}}), part);
      k.close();
      const check::Report r = check::verify(k.p, arch::trn2);
      EXPECT_TRUE(r.ok()) << all_text(r.violations);
      EXPECT_EQ(has(r.warnings, "NKI-W503"), factor == 0 && trips > 1) << all_text(r.warnings);
    }
}

TEST(VerifyWarnings, W504AnOutputThatNothingWrites) {
  Maker k;
  k.argument(ir::BufferKind::output, f32, {8, 512});
  const check::Report r = check::verify(k.p, arch::trn2);
  EXPECT_TRUE(r.ok());
  EXPECT_EQ(ids(r.warnings), std::vector<std::string>{"NKI-W504"});
  EXPECT_EQ(r.warnings[0].line, 101U);
}

TEST(Verify, ReportsARuleOnceForALine) {
  Maker k;
  const auto t = k.sbuf(f32, {64, 64});
  for (int i = 0; i < 3; ++i) k.memset(k.part(t, {{1, 1}, {0, 64}}));
  for (ir::Instr& in : k.p.instrs) in.loc = k.p.instrs[0].loc;
  EXPECT_EQ(ids(check::verify(k.p, arch::trn2).violations), std::vector<std::string>{"NKI-E102"});
}

TEST(Verify, ThrowsItsFirstViolationOnRequest) {
  Maker k;
  k.memset(k.part(k.sbuf(f32, {64, 64}), {{1, 1}, {0, 64}}));
  try {
    check::verify(k.p, arch::trn2).throw_if_failed();
    FAIL();
  } catch (const nki::Error& e) {
    EXPECT_EQ(e.id(), "NKI-E102");
    EXPECT_EQ(e.violation().error_class, nki::ErrorClass::illegal);
  }
  EXPECT_NO_THROW(check::verify(ir::Program{}, arch::trn2).throw_if_failed());
}

TEST(Verify, AFlatProgramMayStartManyInstancesOfAPool) {
  Maker k;
  const auto t = k.tile(Space::sbuf, f32, {64, 64}, 2);
  k.fill(t);
  k.p.nodes.push_back({ir::Node::Kind::alloc, t, k.node_count() + 1});
  k.copy(k.whole(k.sbuf(f32, {64, 64})), k.whole(t));
  EXPECT_EQ(ids(check::verify(k.p, arch::trn2).violations), std::vector<std::string>{"NKI-E303"});
}

}  // namespace
