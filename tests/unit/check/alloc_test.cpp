#include "random_programs.hpp"

#include <nki/alloc.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace check_test;
using enum nki::DType;
using ir::Space;

TEST(Alloc, TilesLieOneAfterTheOtherAtAlignedAddresses) {
  Maker k;
  const auto x = k.input(bf16, {128, 8});
  const auto a = k.tile(Space::sbuf, bf16, {128, 50}, 3), b = k.tile(Space::sbuf, f32, {64, 16, 2}, 1),
             c = k.tile(Space::psum, f32, {128, 512}, 2), d = k.tile(Space::psum, bf16, {128, 4}, 1),
             e = k.tile(Space::sbuf, u8, {1, 1}, 1);
  const nki::Allocation at = nki::allocate(k.p, arch::trn2);
  EXPECT_EQ(at.address, (std::vector<std::int64_t>{-1, 0, 384, 0, 4096, 512}));
  EXPECT_EQ(at.stride, (std::vector<std::int64_t>{0, 128, 128, 2048, 2048, 64}));
  EXPECT_EQ(at.slot_address(a, 2), 256);
  EXPECT_EQ(at.slot_address(c, 1), 2048);
  EXPECT_EQ(at.sbuf_bytes_pp, 513);  // up to the last byte
  EXPECT_EQ(at.psum_banks, 3);
  static_cast<void>(x), static_cast<void>(b), static_cast<void>(d), static_cast<void>(e);

  const nki::Capacity used = nki::capacity(at, arch::trn2);
  EXPECT_TRUE(used.fits());
  EXPECT_EQ(used.psum_limit_banks, 8);
  EXPECT_EQ(used.sbuf_limit_bytes_pp, 212984);
}

TEST(Alloc, NoTwoSlotsShareAByte) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ir::Program p = RandomProgram(seed).make();
    const nki::Allocation at = nki::allocate(p, arch::trn2);
    struct Slot {
      Space space;
      std::int64_t begin, end;
    };
    std::vector<Slot> slots;
    for (ir::BufferId b = 0; b < p.buffers.size(); ++b) {
      const ir::Buffer& buffer = p.buffers[b];
      if (buffer.space == Space::hbm) continue;
      const std::int64_t grain = buffer.space == Space::psum ? 2048 : 64;
      for (std::int64_t s = 0; s < buffer.slots; ++s) {
        const std::int64_t begin = at.slot_address(b, s);
        EXPECT_EQ(begin % grain, 0);
        for (const Slot& other : slots)
          EXPECT_TRUE(other.space != buffer.space || other.end <= begin || begin + buffer.bytes_pp() <= other.begin);
        slots.push_back({buffer.space, begin, begin + buffer.bytes_pp()});
        EXPECT_LE(begin + buffer.bytes_pp(), buffer.space == Space::psum ? at.psum_banks * 2048 : at.sbuf_bytes_pp);
      }
    }
  }
}

TEST(Alloc, NothingIsTooLargeForIt) {
  Maker k;
  k.tile(Space::sbuf, f32, {128, std::int64_t{1} << 58}, 4096);
  k.tile(Space::psum, f32, {128, std::int64_t{1} << 58}, 4096);
  const nki::Allocation at = nki::allocate(k.p, arch::trn1);
  EXPECT_GT(at.sbuf_bytes_pp, std::int64_t{1} << 61);
  EXPECT_FALSE(nki::capacity(at, arch::trn1).fits());
}

TEST(LiveRanges, LastFromTheAllocToTheLastUse) {
  Maker k;
  const auto x = k.input(f32, {64, 64});
  const auto a = k.sbuf(f32, {64, 64});  // node 0
  const std::uint32_t a_line = k.last_line();
  const auto b = k.sbuf(f32, {64, 64});  // node 1
  k.dma(k.whole(a), k.whole(x));         // node 2
  k.copy(k.whole(b), k.whole(a));        // node 3
  const std::uint32_t copy_line = k.last_line();
  k.memset(k.whole(b));  // node 4
  const auto ranges = nki::live_ranges(k.p);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].buffer, a);
  EXPECT_EQ(ranges[0].first_node, 0U);
  EXPECT_EQ(ranges[0].last_node, 3U);
  EXPECT_EQ(ranges[0].first_line, a_line);
  EXPECT_EQ(ranges[0].last_line, copy_line);
  EXPECT_EQ(ranges[1].buffer, b);
  EXPECT_EQ(ranges[1].last_node, 4U);
}

TEST(LiveRanges, ATileUsedInALoopLivesToTheEndOfTheLoop) {
  Maker k;
  const auto a = k.sbuf(f32, {64, 64});    // node 0
  k.open(3);                               // node 1
  const auto b = k.sbuf(f32, {64, 64});    // node 2
  k.open(3);                               // node 3
  k.copy(k.whole(b), k.whole(a));          // node 4
  k.memset(k.whole(k.sbuf(f32, {4, 4})));  // nodes 5, 6
  k.close();
  k.memset(k.whole(k.sbuf(f32, {4, 4})));  // nodes 7, 8
  k.close();
  k.memset(k.whole(k.sbuf(f32, {4, 4})));  // nodes 9, 10
  const auto ranges = nki::live_ranges(k.p);
  ASSERT_EQ(ranges.size(), 5U);
  EXPECT_EQ(ranges[0].last_node, 8U);  // the whole of the outer loop
  EXPECT_EQ(ranges[1].last_node, 6U);  // the whole of the inner one
  EXPECT_EQ(ranges[2].last_node, 6U);
  EXPECT_EQ(ranges[3].last_node, 8U);
  EXPECT_EQ(ranges[4].last_node, 10U);
}

TEST(LiveRanges, EveryUseLiesInThem) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ir::Program p = RandomProgram(seed).make();
    const auto ranges = nki::live_ranges(p);
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
      if (p.nodes[n].kind != ir::Node::Kind::instr) continue;
      const ir::Instr& in = p.instrs[p.nodes[n].id];
      for (int o = 0; o < in.n_operands; ++o)
        for (const nki::LiveRange& r : ranges)
          if (r.buffer == p.views[p.operand(in, o)].buffer) {
            EXPECT_TRUE(r.first_node < n && n <= r.last_node);
          }
    }
  }
}

}  // namespace
