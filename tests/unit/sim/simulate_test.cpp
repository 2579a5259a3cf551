#include "programs.hpp"

#include <nki/arch.hpp>
#include <nki/check/verify.hpp>
#include <nki/error.hpp>
#include <nki/machine/cost.hpp>
#include <nki/machine/lower.hpp>
#include <nki/nki.hpp>
#include <nki/sim/simulate.hpp>
#include <nki/testing/random_program.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sim_test {
namespace {

using namespace nki::literals;
using machine::Kind;
using machine::Queue;
using nki::Builder;
using nki::DType;
using nki::Index;
using nki::ir::Engine;
using sim::Stall;

constexpr std::array<std::int64_t, machine::stream_count> signal_delay{ns(15), ns(12), ns(10), ns(12), 0};
constexpr std::array<std::int64_t, machine::stream_count> wake_delay{ns(42), ns(23), ns(22), ns(23), ns(17)};
constexpr std::array<std::int64_t, machine::stream_count> entry{0, 0, ns(156), 0, 0};

// ---- Costs of a data path.

machine::Work work_of(const nki::ir::Program& p, Stream s, std::size_t n = 0) {
  const machine::Program m = machine::lower(p, nki::arch::trn2, machine::trn2_params);
  return m.works[m.streams[static_cast<std::size_t>(s)].at(n).work];
}

/// A copy of [128, n] from PSUM to SBUF, the PSUM tile filled before.
nki::ir::Program psum_copies(std::int64_t n, int copies, Engine engine, DType dtype = DType::f32) {
  Builder nc(&nki::arch::trn2);
  const auto from = nki::psum(nc, dtype, nki::shape(128_c, n), {.name = "from"});
  nki::nisa::memset(from, 0);
  for (int i = 0; i < copies; ++i) {
    const auto to = nki::sbuf(nc, dtype, nki::shape(128_c, n), {.name = "to"});
    nki::nisa::tensor_copy(to, from, engine);
  }
  return nc.finish();
}

TEST(Vector, CopyFromPsumTakes157p5NsAndOneCycleAnElement) {
  for (const std::int64_t n : {1, 128, 512}) {
    const machine::Work w = work_of(psum_copies(n, 1, Engine::vector), Stream::vector, 1);
    EXPECT_EQ(w.duration, 18'900 + n * 125);  // 0.96 GHz
    EXPECT_EQ(w.overlap, ns(83));
  }
}

TEST(Vector, ChainedCopiesOverlapBy83Ns) {
  const Run r = run(psum_copies(512, 3, Engine::vector));
  const std::int64_t fill_end = ns(157.5) + 512 * 125;
  // The first copy reads what the fill wrote: its own semaphore, 12 + 23 ns after the end.
  const std::int64_t first = fill_end + ns(12) + ns(23), interval = 18'900 + 512 * 125 - ns(83);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(r.start(Stream::vector, 1 + i), first + static_cast<std::int64_t>(i) * interval);
    EXPECT_EQ(r.end(Stream::vector, 1 + i), r.start(Stream::vector, 1 + i) + 18'900 + 512 * 125);
  }
  EXPECT_EQ(interval, ns(607.8333));
  EXPECT_EQ(r.result.body, r.end(Stream::vector, 3));
}

TEST(Scalar, CopyFromPsumTakes158NsAndOneCycleAnElement) {
  const Run r = run(psum_copies(512, 2, Engine::scalar));
  const std::int64_t fill_end = ns(157.5) + 512 * 125, duration = ns(158) + 512 * 100;  // 1.2 GHz
  EXPECT_EQ(r.start(Stream::scalar, 0), fill_end + ns(12) + ns(22));
  EXPECT_EQ(r.end(Stream::scalar, 0), r.start(Stream::scalar, 0) + duration);
  EXPECT_EQ(r.start(Stream::scalar, 1), r.end(Stream::scalar, 0) - ns(103));
}

TEST(Vector, SixteenBitCopiesRunAtTwoOrFourTimesTheRate) {
  EXPECT_EQ(work_of(psum_copies(512, 1, Engine::vector, DType::bf16), Stream::vector, 1).duration, 18'900 + 256 * 125);
  Builder nc(&nki::arch::trn2);
  const auto a = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 512), {}),
             b = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 512), {});
  nki::nisa::memset(a, 1);
  nki::nisa::tensor_copy(b, a);
  const nki::ir::Program p = nc.finish();
  EXPECT_EQ(work_of(p, Stream::vector, 0).duration, 18'300 + 512 * 125);
  EXPECT_EQ(work_of(p, Stream::vector, 1).duration, 18'300 + 128 * 125);
}

// ---- Semaphores.

TEST(Semaphores, SignalAndWakeTakeTheirTime) {
  constexpr std::array<Stream, 4> computing{Stream::vector, Stream::scalar, Stream::gpsimd, Stream::tensor};
  for (const Stream from : computing)
    for (const Stream to : computing) {
      if (from == Stream::tensor || to == from) continue;
      MachineProgram p;
      const std::uint32_t s = p.semaphore();
      p.add(from, compute(10'000), {}, s);
      machine::Work w = compute(1000);
      if (to == Stream::tensor)
        w = machine::detail::array_work(nki::arch::trn2, machine::trn2_params, 512, false, false);
      p.add(to, w, {s, 1});
      const Run r = run(p);
      const std::int64_t seen =
          entry[static_cast<std::size_t>(from)] + 10'000 + signal_delay[static_cast<std::size_t>(from)];
      const std::int64_t woken = seen + wake_delay[static_cast<std::size_t>(to)];
      EXPECT_EQ(to == Stream::tensor ? r.at(to, 0).issued : r.start(to, 0), woken)
          << machine::stream_names[static_cast<std::size_t>(from)] << " to "
          << machine::stream_names[static_cast<std::size_t>(to)];
    }
}

TEST(Semaphores, AStepThatIsThereAlreadyCostsNothing) {
  MachineProgram p;
  const std::uint32_t s = p.semaphore();
  p.add(Stream::vector, compute(1000), {}, s);
  p.add(Stream::scalar, compute(50'000)).add(Stream::scalar, compute(1000), {s, 1});
  const Run r = run(p);
  EXPECT_EQ(r.start(Stream::scalar, 1), entry[2] + 50'000);
  EXPECT_EQ(r.at(Stream::scalar, 1).waited, 0);
}

TEST(Semaphores, ACounterStepsWhenAllItsUpdatesHaveCome) {
  MachineProgram p;
  const std::uint32_t s = p.semaphore();
  p.add(Stream::vector, compute(40'000, 30'000), {}, s)
      .add(Stream::vector, compute(1000), {}, s);  // the second ends first
  p.add(Stream::scalar, compute(1), {s, 2});
  EXPECT_EQ(run(p).start(Stream::scalar, 0), 40'000 + ns(12) + ns(22));
}

TEST(Event, TwoWaitsCostAnEvent) {
  // The second wait is satisfied before or after the event's interval has passed.
  struct Case {
    Stream stream;
    std::int64_t interval;
  };
  for (const Case c : {Case{Stream::vector, ns(103)}, Case{Stream::scalar, ns(90)}}) {
    const Stream other = c.stream == Stream::vector ? Stream::scalar : Stream::vector;
    const auto s = static_cast<std::size_t>(c.stream), o = static_cast<std::size_t>(other);
    const auto start_with = [&](std::int64_t second) {  // `second`: when the second semaphore is seen, from the first
      MachineProgram p;
      const std::uint32_t a = p.semaphore(), b = p.semaphore();
      p.add(other, compute(100'000), {}, a);
      p.add(Stream::gpsimd, compute(entry[o] + 100'000 + signal_delay[o] - ns(12) + second), {}, b);
      p.add(c.stream, event(), {a, 1}).add(c.stream, compute(1), {b, 1});
      return run(p).start(c.stream, 1);
    };
    const std::int64_t first = entry[o] + 100'000 + signal_delay[o], event_start = first + wake_delay[s];
    EXPECT_EQ(start_with(-1000), event_start + c.interval);
    EXPECT_EQ(start_with(c.interval), event_start + c.interval);
    EXPECT_EQ(start_with(c.interval + 1), event_start + c.interval + 1);
  }
}

TEST(Event, OnTensorItWakesIn28NsAndIsFollowed77NsLater) {
  MachineProgram p;
  const std::uint32_t a = p.semaphore(), b = p.semaphore();
  p.add(Stream::vector, compute(1000), {}, b).add(Stream::vector, compute(100'000), {}, a);
  const machine::Work w = machine::detail::array_work(nki::arch::trn2, machine::trn2_params, 512, false, false);
  p.add(Stream::tensor, event(), {a, 1}).add(Stream::tensor, w, {b, 1});
  const Run r = run(p);
  EXPECT_EQ(r.start(Stream::tensor, 0), 101'000 + ns(12) + ns(28));
  EXPECT_EQ(r.at(Stream::tensor, 1).issued, r.start(Stream::tensor, 0) + ns(77));
}

TEST(Event, TheSequencerRunsOneInstructionAheadOfTheDataPath) {
  MachineProgram p;
  p.add(Stream::vector, compute(100'000)).add(Stream::vector, event()).add(Stream::vector, compute(1));
  const Run r = run(p);
  EXPECT_EQ(r.start(Stream::vector, 1), ns(20));  // while the first one still runs
  EXPECT_EQ(r.start(Stream::vector, 2), 100'000);
}

// ---- TensorE. The phase leaves the whole of the first 3.4 us cold.

struct Matmuls {
  std::int64_t n = 512;
  DType dtype = DType::bf16;
  int count = 4;
};
/// Matmuls on operands that were filled long before: the array waits for nothing.
Run run_matmuls(const Matmuls& m, double phase_ns = 0) {
  MachineProgram p;
  const bool f32 = m.dtype == DType::f32;
  for (int i = 0; i < m.count; ++i)
    p.add(Stream::tensor,
          machine::detail::array_work(nki::arch::trn2, machine::trn2_params, m.n * (f32 ? 2 : 1), f32, false));
  return run(p, {.clock_phase_ns = phase_ns});
}

TEST(Tensor, ColdMatmulsOf512ColumnsFollowEvery427Ns) {
  const Run r = run_matmuls({});
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(r.start(Stream::tensor, i) - r.start(Stream::tensor, i - 1), 51'200);
}

TEST(Tensor, WeightsOf16BitsAreInBeforeTheStreamNeedsThem) {
  // From idle, streaming begins 19 ns before what is recorded as the load's end.
  const Run r = run_matmuls({.count = 2});
  EXPECT_EQ(r.at(Stream::tensor, 0).issued, 0);
  EXPECT_EQ(r.start(Stream::tensor, 0), ns(-19));
  EXPECT_EQ(r.at(Stream::tensor, 1).issued, ns(2) + ns(2));  // 2 ns behind the issue of the matmul before it
}

TEST(Tensor, WeightsOf32BitsAreExposedBehindShortMatmuls) {
  // LDWEIGHTS 3 ns after the streaming before it began, the weights 161 ns later.
  const Run short_ones = run_matmuls({.n = 64, .dtype = DType::f32});
  EXPECT_EQ(short_ones.start(Stream::tensor, 0), ns(161));
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_EQ(short_ones.start(Stream::tensor, i) - short_ones.start(Stream::tensor, i - 1), ns(164));
  // 2 x 98 cycles are 163.3 ns, 2 x 99 are 165: from there on the stream hides them.
  const Run just = run_matmuls({.n = 98, .dtype = DType::f32}), hidden = run_matmuls({.n = 99, .dtype = DType::f32});
  EXPECT_EQ(just.start(Stream::tensor, 1) - just.start(Stream::tensor, 0), ns(164));
  EXPECT_EQ(hidden.start(Stream::tensor, 1) - hidden.start(Stream::tensor, 0), 2 * 99 * 100);
}

TEST(Tensor, F32TakesTwoPassesOfTwoCyclesAColumn) {
  Builder nc(&nki::arch::trn2);
  const auto a = nki::sbuf(nc, DType::f32, nki::shape(128_c, 128), {});
  const auto b = nki::sbuf(nc, DType::f32, nki::shape(128_c, 512), {});
  const auto c = nki::psum<nki::f32>(nc, nki::shape(128_c, 512_c));
  nki::nisa::memset(a, 1);
  nki::nisa::memset(b, 1);
  nki::nisa::nc_matmul(c, a, b);
  const Run r = run(nc.finish());
  const auto passes = r.row(Stream::tensor);
  ASSERT_EQ(passes.size(), 2u);
  EXPECT_EQ(passes[1].start - passes[0].start, 2 * 512 * 100);  // 853 ns
  EXPECT_EQ(passes[1].end - passes[0].start, 4 * 512 * 100);
}

TEST(Tensor, AWarmF32PassLeavesAGapOf4p8Ns) {
  // 12 cold passes fill three half windows; the fourth one is warm.
  const Run r = run_matmuls({.n = 512, .dtype = DType::f32, .count = 20});
  std::int64_t last = 0;
  for (std::size_t i = 1; i < 20; ++i) last = r.start(Stream::tensor, i) - r.start(Stream::tensor, i - 1);
  EXPECT_EQ(last, 2 * 512 * 50 + 576);  // 431.5 ns
}

TEST(Tensor, ResultsAreThere206NsColdOr162NsWarmAfterTheLastColumn) {
  const Run cold = run_matmuls({.count = 1});
  EXPECT_EQ(cold.result.streams[0].end, ns(-19) + 51'200 + ns(206));
  const Run warm = run_matmuls({.count = 40});
  EXPECT_EQ(warm.result.streams[0].end, warm.end(Stream::tensor, 39) + ns(162));
  EXPECT_EQ(warm.end(Stream::tensor, 39) - warm.start(Stream::tensor, 39), 25'600);
}

TEST(Tensor, AWaitIsCheckedByTheLoadOfWeights) {
  MachineProgram p;
  const std::uint32_t s = p.semaphore();
  const machine::Work w = machine::detail::array_work(nki::arch::trn2, machine::trn2_params, 512, false, false);
  p.add(Stream::tensor, w).add(Stream::tensor, w, {s, 1});
  p.add(Stream::vector, compute(200'000), {}, s);
  const Run r = run(p);
  const std::int64_t load = 200'000 + ns(12) + ns(42);
  EXPECT_EQ(r.at(Stream::tensor, 1).issued, load);
  EXPECT_EQ(r.start(Stream::tensor, 1), load - ns(19));
}

// ---- Triggers.

machine::Work transfer(nki::machine::Direction d, bool software) {
  return machine::transfer_work(nki::arch::trn2, machine::trn2_params,
                                {.direction = d,
                                 .software = software,
                                 .cast = false,
                                 .partitions = 128,
                                 .runs_pp = 1,
                                 .run_bytes = 512,
                                 .run_bytes_dst = 512});
}
const machine::Work load = transfer(machine::Direction::hbm_to_sbuf, false);
const machine::Work software_load = transfer(machine::Direction::hbm_to_sbuf, true);

TEST(Trigger, OccupiesItsSequencerFor570NsAndTheNextOneFollows48NsLater) {
  for (const Stream s : {Stream::sync, Stream::scalar}) {
    MachineProgram p;
    const std::uint32_t a = p.semaphore(), b = p.semaphore();
    p.add(s, load, {}, a).add(s, load, {}, b);
    const Run r = run(p);
    EXPECT_EQ(r.start(s, 0), entry[static_cast<std::size_t>(s)]);
    EXPECT_EQ(r.end(s, 0), r.start(s, 0) + ns(570));
    EXPECT_EQ(r.start(s, 1), r.start(s, 0) + ns(618));
  }
}

TEST(Trigger, DelaysTheComputeInstructionBehindIt) {
  MachineProgram p;
  const std::uint32_t a = p.semaphore();
  p.add(Stream::scalar, compute(1000)).add(Stream::scalar, load, {}, a).add(Stream::scalar, compute(1000));
  const Run r = run(p);
  EXPECT_EQ(r.start(Stream::scalar, 1), entry[2] + ns(20));  // the sequencer is free while the copy runs
  EXPECT_EQ(r.start(Stream::scalar, 2), entry[2] + ns(20) + ns(618));
  EXPECT_EQ(stalled(r.result.streams[2], Stall::trigger), ns(638) - 1000);
}

TEST(Trigger, OnGpsimdTheFirstTakes1289NsAndTheNextOnesFollowEvery582Ns) {
  MachineProgram p;
  for (int i = 0; i < 3; ++i) p.add(Stream::gpsimd, software_load, {}, p.semaphore());
  const Run r = run(p);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(r.start(Stream::gpsimd, i), ns(1289) + static_cast<std::int64_t>(i) * ns(582));
}

TEST(Trigger, OnGpsimdItComes1183NsAfterAWait) {
  const auto start_after = [](std::int64_t seen) {
    MachineProgram p;
    const std::uint32_t s = p.semaphore();
    p.add(Stream::vector, compute(seen - ns(12)), {}, s);
    p.add(Stream::gpsimd, software_load, {}, p.semaphore()).add(Stream::gpsimd, software_load, {s, 1}, p.semaphore());
    return run(p).start(Stream::gpsimd, 1);
  };
  const std::int64_t unhindered = ns(1289) + ns(582);
  EXPECT_EQ(start_after(unhindered - ns(1183)), unhindered);
  EXPECT_EQ(start_after(unhindered - ns(1183) + 1), unhindered + 1);
  EXPECT_EQ(start_after(ns(5000)), ns(5000) + ns(1183));
}

TEST(Body, EndsWithTheFinalWaitForTheLastStore) {
  MachineProgram p;
  p.add(Stream::sync, transfer(machine::Direction::sbuf_to_hbm, false), {}, p.semaphore());
  const Run r = run(p);
  EXPECT_EQ(r.arrival(Queue::sync, 0), 148'800 + 8 * 2823 + 15 * 1140 + 57'600);
  EXPECT_EQ(r.result.body, r.arrival(Queue::sync, 0) + ns(40));
}

// ---- Dependences, from recorded programs.

/// x [rows, columns] in HBM, copied through `slots` tiles, one pass for each 128 rows.
nki::ir::Program rotation(std::int64_t slots, std::int64_t passes) {
  Builder nc(&nki::arch::trn2);
  const auto x = nki::argument(nc, nki::ir::BufferKind::input, "x", DType::f32, {128 * passes, 512});
  for (Index i : nki::nl::affine_range(nc, passes)) {
    const auto tile = nki::sbuf(nc, DType::f32, nki::shape(128_c, 512), {.name = "tile", .bufs = slots});
    const auto copy = nki::sbuf(nc, DType::f32, nki::shape(128_c, 512), {.name = "copy"});
    nki::nisa::dma_copy(tile, x(nki::ds(i * 128, 128), nki::all), Engine::sync);
    nki::nisa::tensor_copy(copy, tile);
  }
  return nc.finish();
}

TEST(ReadAfterWrite, ACopyStartsWhenItsLoadCanBeSeen) {
  const Run r = run(rotation(3, 1));
  EXPECT_EQ(r.start(Stream::vector, 0), r.arrival(Queue::sync, 0) + ns(23));
}

TEST(ReadAfterWrite, AnEngineWaitsForItsOwnResults) {
  const Run r = run(psum_copies(64, 1, Engine::vector));
  EXPECT_EQ(r.start(Stream::vector, 1), r.end(Stream::vector, 0) + ns(12) + ns(23));
}

TEST(WriteAfterRead, ALoadWaitsForTheReaderOfItsSlot) {
  for (const std::size_t slots : {1u, 2u, 3u}) {
    const Run r = run(rotation(static_cast<std::int64_t>(slots), 6));
    for (std::size_t i = 0; i < 6; ++i) {
      const std::int64_t unhindered = i == 0 ? 0 : r.start(Stream::sync, i - 1) + ns(618);
      // An EVENT_SEMAPHORE is not needed: that the copy is over implies that its load is.
      const std::int64_t free = i < slots ? 0 : r.end(Stream::vector, i - slots) + ns(12) + ns(17);
      EXPECT_EQ(r.start(Stream::sync, i), std::max(unhindered, free)) << slots << " slots, pass " << i;
    }
    EXPECT_EQ(r.row(Stream::sync).size(), 6u);
    // With one slot every load waits.
    if (slots == 1) EXPECT_GT(r.start(Stream::sync, 1), r.start(Stream::sync, 0) + ns(618));
  }
}

/// Two matmuls into PSUM tiles of so many slots, each evacuated.
Run evacuations(std::int64_t slots) {
  Builder nc(&nki::arch::trn2);
  const auto a = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 128), {.name = "a"});
  const auto b = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 512), {.name = "b"});
  nki::nisa::memset(a, 0);
  nki::nisa::memset(b, 0);
  for (Index i : nki::nl::affine_range(nc, 3)) {
    static_cast<void>(i);
    const auto sum = nki::psum<nki::f32>(nc, nki::shape(128_c, 512_c), {.name = "sum", .bufs = slots});
    const auto out = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 512), {.name = "out", .bufs = 3});
    nki::nisa::nc_matmul(sum, a, b);
    nki::nisa::tensor_copy(out, sum, Engine::scalar);
  }
  return run(nc.finish());
}

TEST(WriteAfterRead, AMatmulWaitsForTheCopyOutOfItsBank) {
  const Run one = evacuations(1);
  for (std::size_t i = 1; i < 3; ++i)
    EXPECT_EQ(one.at(Stream::tensor, i).issued, one.end(Stream::scalar, i - 1) + ns(10) + ns(42));
  const Run two = evacuations(2);
  EXPECT_EQ(two.start(Stream::tensor, 1), two.end(Stream::tensor, 0));  // back to back
  EXPECT_EQ(two.at(Stream::tensor, 2).issued, two.end(Stream::scalar, 0) + ns(10) + ns(42));
  const Run three = evacuations(3);
  EXPECT_EQ(three.start(Stream::tensor, 2), three.end(Stream::tensor, 1));
}

TEST(ByteRanges, AMatmulStartsWhenItsChunkOfThePanelIsThere) {
  Builder nc(&nki::arch::trn2);
  const auto x = nki::argument(nc, nki::ir::BufferKind::input, "x", DType::bf16, {512, 512});
  const auto weights = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 128), {.name = "weights"});
  nki::nisa::memset(weights, 0);
  const auto panel = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 4_c, 512_c), {.name = "panel"});
  for (Index c : nki::nl::affine_range(nc, 4))
    nki::nisa::dma_copy(panel(nki::all, c, nki::all), x(nki::ds(c * 128, 128), nki::all), Engine::sync);
  const auto sum = nki::psum<nki::f32>(nc, nki::shape(128_c, 512_c));
  for (Index c : nki::nl::affine_range(nc, 4)) nki::nisa::nc_matmul(sum, weights, panel(nki::all, c, nki::all));
  const Run r = run(nc.finish());
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(r.at(Stream::tensor, c).issued, r.arrival(Queue::sync, c) + ns(42)) << c;
    if (c > 0) EXPECT_GT(r.arrival(Queue::sync, c), r.start(Stream::tensor, c - 1));
  }
}

TEST(ByteRanges, DisjointColumnsOfOneTileAreIndependent) {
  // The second load fills other columns than those that the long copy reads, or the same ones.
  const auto second_load = [](std::int64_t from) {
    Builder nc(&nki::arch::trn2);
    const auto x = nki::argument(nc, nki::ir::BufferKind::input, "x", DType::f32, {128, 1024});
    const auto tile = nki::sbuf(nc, DType::f32, nki::shape(128_c, 1024), {.name = "tile"});
    const auto copy = nki::sbuf(nc, DType::f32, nki::shape(128_c, 512), {.name = "copy"});
    nki::nisa::dma_copy(tile(nki::all, nki::ds(0, 512)), x(nki::all, nki::ds(0, 512)), Engine::sync);
    nki::nisa::tensor_copy(copy, tile(nki::all, nki::ds(0, 512)));
    nki::nisa::dma_copy(tile(nki::all, nki::ds(from, 512)), x(nki::all, nki::ds(from, 512)), Engine::sync);
    return run(nc.finish());
  };
  EXPECT_EQ(second_load(512).start(Stream::sync, 1), ns(618));
  const Run r = second_load(0);
  EXPECT_EQ(r.start(Stream::sync, 1), r.end(Stream::vector, 0) + ns(12) + ns(17));
}

/// The waits of each instruction of a stream, in order; events belong to the instruction behind them.
std::vector<int> waits_of(const nki::ir::Program& p, Stream s) {
  const machine::Program m = machine::lower(p, nki::arch::trn2, machine::trn2_params);
  std::vector<int> out;
  int waits = 0;
  for (const machine::Instr& i : m.streams[static_cast<std::size_t>(s)]) {
    if (i.wait_semaphore != machine::no_id) ++waits;
    if (m.works[i.work].kind == Kind::event) continue;
    out.push_back(waits);
    waits = 0;
  }
  return out;
}

/// Two operands, filled by vector and by `second`, multiplied twice; the sum and then an operand copied by scalar.
nki::ir::Program two_operands(Engine second) {
  Builder nc(&nki::arch::trn2);
  const auto a = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 128), {.name = "a"});
  const auto b = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 128), {.name = "b"});
  nki::nisa::memset(a, 0);
  nki::nisa::memset(b, 0, second);
  const auto sum = nki::psum<nki::f32>(nc, nki::shape(128_c, 128_c), {.name = "sum"});
  nki::nisa::nc_matmul(sum, a, b);
  nki::nisa::nc_matmul(sum, a, b);
  const auto out = nki::sbuf(nc, DType::bf16, nki::shape(128_c, 128), {.name = "out"});
  nki::nisa::tensor_copy(out, sum, Engine::scalar);
  nki::nisa::tensor_copy(out, a, Engine::scalar);
  return nc.finish();
}

TEST(Waits, ThoseThatAnotherOneImpliesAreLeftOut) {
  // The later of two fills of one engine stands for both; two engines take two waits, and so an event.
  EXPECT_EQ(waits_of(two_operands(Engine::vector), Stream::tensor), (std::vector{1, 0}));
  EXPECT_EQ(waits_of(two_operands(Engine::gpsimd), Stream::tensor), (std::vector{2, 0}));
  // That the array is done implies that its operands were there.
  EXPECT_EQ(waits_of(two_operands(Engine::gpsimd), Stream::scalar), (std::vector{1, 0}));
}

TEST(Waits, ATransferIsWaitedForOnceByEachStream) {
  Builder nc(&nki::arch::trn2);
  const auto x = nki::argument(nc, nki::ir::BufferKind::input, "x", DType::f32, {128, 512});
  const auto a = nki::sbuf(nc, DType::f32, nki::shape(128_c, 512), {.name = "a"});
  const auto out = nki::sbuf(nc, DType::f32, nki::shape(128_c, 512), {.name = "out"});
  nki::nisa::dma_copy(a, x);
  for (int i = 0; i < 3; ++i) nki::nisa::tensor_copy(out(nki::all, nki::ds(i * 8, 8)), a(nki::all, nki::ds(0, 8)));
  nki::nisa::tensor_copy(out(nki::all, nki::ds(64, 8)), a(nki::all, nki::ds(0, 8)), Engine::scalar);
  const nki::ir::Program p = nc.finish();
  EXPECT_EQ(waits_of(p, Stream::vector), (std::vector{1, 0, 0}));
  EXPECT_EQ(waits_of(p, Stream::scalar), (std::vector{1}));
}

// ---- What cannot run.

TEST(Deadlock, NamesTheStreamsAndWhatTheyWaitFor) {
  MachineProgram p;
  const std::uint32_t a = p.semaphore(), b = p.semaphore();
  p.add(Stream::vector, compute(1000)).add(Stream::vector, compute(1), {b, 1}, a);
  p.add(Stream::scalar, compute(1), {a, 1}, b);
  p.add(Stream::gpsimd, compute(1));
  try {
    sim::simulate(p.program(), nki::arch::trn2, machine::trn2_params);
    FAIL() << "the streams wait for each other";
  } catch (const nki::Error& e) {
    EXPECT_EQ(e.violation().error_class, nki::ErrorClass::deadlock);
    EXPECT_EQ(e.id(), "NKI-E901");
    EXPECT_THAT(e.what(), ::testing::HasSubstr("vector waits for step 1 of semaphore 1, which has come to 0"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("scalar waits for step 1 of semaphore 0, which has come to 0"));
    EXPECT_THAT(e.what(), ::testing::Not(::testing::HasSubstr("gpsimd")));
  }
}

TEST(Deadlock, OneStepTooManyIsOne) {
  const auto steps = [](std::uint32_t value) {
    MachineProgram p;
    const std::uint32_t s = p.semaphore();
    p.add(Stream::vector, compute(1000), {}, s).add(Stream::vector, compute(1000), {}, s);
    p.add(Stream::sync, load, {s, value}, p.semaphore());
    return sim::simulate(p.program(), nki::arch::trn2, machine::trn2_params).dma_transfers;
  };
  EXPECT_EQ(steps(2), 1);
  EXPECT_THROW(steps(3), nki::Error);
}

// ---- Accounts.

TEST(Stalls, HaveTheirCauses) {
  const Run r = run(rotation(1, 6));
  const sim::StreamResult& vector = r.result.streams[1];
  // All that vector does not work it waits for loads; its last bar ends with the body.
  EXPECT_EQ(stalled(vector, Stall::load), stalled(vector));
  EXPECT_EQ(vector.busy + stalled(vector), r.result.body - ns(83));
  EXPECT_EQ(stalled(r.result.streams[4], Stall::slot), stalled(r.result.streams[4]));
  EXPECT_GT(stalled(r.result.streams[4], Stall::slot), 0);
}

TEST(Stalls, OfTensorAddUpToItsIdleTime) {
  const Run r = evacuations(1);
  const sim::StreamResult& tensor = r.result.streams[0];
  EXPECT_EQ(tensor.busy, 3 * 51'200);
  const std::int64_t idle = r.end(Stream::tensor, 2) - tensor.busy;
  EXPECT_EQ(stalled(tensor, Stall::operand) + stalled(tensor, Stall::slot) + stalled(tensor, Stall::weights), idle);
  EXPECT_EQ(stalled(tensor, Stall::clock), 3 * 25'600);  // what the warm clock would have saved
  EXPECT_EQ(r.result.array_work, 3 * 51'200);
}

TEST(Accounts, HoldForRandomPrograms) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const nki::ir::Program p = nki::testing::random_program(seed, {.longest_loop = 20, .most_instructions = 800});
    const Run with_timeline = run(p);
    const sim::Result r = sim::simulate(p, nki::arch::trn2);
    ASSERT_EQ(r, with_timeline.result) << "seed " << seed;  // looking changes nothing
    const machine::Program m = machine::lower(p, nki::arch::trn2, machine::trn2_params);
    std::int64_t transfers = 0, read = 0, written = 0, work = 0;
    for (std::size_t s = 0; s < machine::stream_count; ++s) {
      const sim::StreamResult& stream = r.streams[s];
      EXPECT_EQ(stream.instructions, static_cast<std::int64_t>(m.streams[s].size()));
      EXPECT_LE(stream.busy, r.body) << "seed " << seed << ", stream " << s;
      EXPECT_LE(stream.end, r.body);
      // The clock's share lies within the busy time; the rest is idle.
      EXPECT_LE(stream.busy + stalled(stream) - stalled(stream, Stall::clock), r.body)
          << "seed " << seed << ", stream " << s;
      EXPECT_LE(stalled(stream, Stall::clock), stream.busy);
      for (const std::int64_t stall : stream.stalls) EXPECT_GE(stall, 0);
      for (const machine::Instr& i : m.streams[s]) {
        const machine::Work& w = m.works[i.work];
        transfers += w.kind == Kind::dma ? 1 : 0;
        read += w.read_bytes;
        written += w.write_bytes;
        work += w.stream_work;
      }
    }
    EXPECT_EQ(r.dma_transfers, transfers);
    EXPECT_EQ(r.read_bytes, read);
    EXPECT_EQ(r.write_bytes, written);
    EXPECT_EQ(r.array_work, work);
    EXPECT_LE(r.dma_busy, 16 * r.body);
    // Bars of one row start in their order, and a result is never used before it is there.
    std::array<std::int64_t, 8> last{};
    last.fill(-1'000'000);
    for (const sim::Event& e : with_timeline.timeline.events) {
      const auto row = static_cast<std::size_t>(e.row);
      if (e.row <= sim::Event::Row::sync) {
        EXPECT_LE(last[row], e.start) << "seed " << seed;
        last[row] = e.start;
      }
      EXPECT_LE(e.start, e.end);
      EXPECT_LE(e.end, r.body + ns(206));
      if (e.producer >= 0 && e.waited > 0)
        EXPECT_LT(with_timeline.timeline.events[static_cast<std::size_t>(e.producer)].end, std::max(e.issued, e.start));
    }
  }
}

TEST(Accounts, SeparateEnginesGiveTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const nki::ir::Program p = nki::testing::random_program(seed, {.longest_loop = 12, .most_instructions = 300});
    EXPECT_EQ(sim::simulate(p, nki::arch::trn2, {.separate_engines = true}), sim::simulate(p, nki::arch::trn2))
        << "seed " << seed;
  }
}

TEST(Deadline, GivesUpOnlyWhereTheBodyIsLonger) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const nki::ir::Program p = nki::testing::random_program(seed, {.longest_loop = 20, .most_instructions = 800});
    const sim::Result whole = sim::simulate(p, nki::arch::trn2);
    sim::Options o{.array_work = whole.array_work, .dma_bytes = whole.read_bytes + whole.write_bytes};
    o.deadline = whole.body;
    EXPECT_EQ(sim::simulate(p, nki::arch::trn2, o), whole) << "seed " << seed;
    for (const std::int64_t part : {1, 2, 3}) {
      o.deadline = whole.body * part / 4;
      const sim::Result r = sim::simulate(p, nki::arch::trn2, o);
      if (r.complete) {
        EXPECT_EQ(r, whole) << "seed " << seed;
        continue;
      }
      EXPECT_GT(r.body, o.deadline) << "seed " << seed;
      EXPECT_LE(r.body, whole.body) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sim_test
