#include <nki/arch.hpp>
#include <nki/machine/cost.hpp>
#include <nki/machine/params.hpp>
#include <nki/sim/dma.hpp>
#include <nki/testing/random_program.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using nki::machine::Direction;
using nki::machine::Queue;
using nki::machine::Transfer;
using nki::machine::Work;
using nki::sim::DmaEngines;
using nki::testing::Random;

const nki::Arch& trn2 = nki::arch::trn2;
const nki::machine::Params& params = nki::machine::trn2_params;

// Ticks, 120 to a ns.
constexpr std::int64_t ramp = 1140;                      // 9.5 ns from engine to engine
constexpr std::int64_t semaphore_packet = 720;           // 6 ns
constexpr std::int64_t hardware_write_visible = 57'600;  // 480 ns

/// A transfer of `runs` contiguous pieces per partition.
Work transfer(Direction direction, bool software, std::int32_t partitions, std::int64_t runs, std::int64_t bytes) {
  return nki::machine::transfer_work(trn2, params,
                                     {.direction = direction,
                                      .software = software,
                                      .cast = false,
                                      .partitions = partitions,
                                      .runs_pp = runs,
                                      .run_bytes = bytes,
                                      .run_bytes_dst = bytes});
}
Work hardware_read(std::int32_t partitions, std::int64_t runs, std::int64_t bytes) {
  return transfer(Direction::hbm_to_sbuf, false, partitions, runs, bytes);
}
Work hardware_write(std::int32_t partitions, std::int64_t runs, std::int64_t bytes) {
  return transfer(Direction::sbuf_to_hbm, false, partitions, runs, bytes);
}
/// Packets of known length, ready when they are triggered.
Work packets(std::int64_t n, std::int64_t ticks, std::int32_t partitions = 1) {
  Work w;
  w.kind = nki::machine::Kind::dma;
  w.direction = Direction::sbuf_to_hbm;
  w.partitions = partitions;
  w.packets_pp = n;
  w.packet_ticks = ticks;
  return w;
}

struct Submission {
  Queue queue;
  Work work;
  std::int64_t time = 0;
};

/// When each transfer is complete.
std::vector<DmaEngines::Completion> run(const std::vector<Submission>& list, bool separate) {
  DmaEngines dma(trn2, params, separate);
  for (std::size_t i = 0; i < list.size(); ++i)
    dma.submit(list[i].queue, list[i].work, static_cast<std::uint32_t>(i), list[i].time);
  std::vector<DmaEngines::Completion> done, out(list.size());
  while (!dma.idle()) dma.advance(done);
  EXPECT_EQ(done.size(), list.size());
  for (const DmaEngines::Completion& c : done) out[c.semaphore] = c;
  return out;
}
std::vector<std::int64_t> completion_times(const std::vector<Submission>& list) {
  std::vector<std::int64_t> times;
  for (const DmaEngines::Completion& c : run(list, false)) times.push_back(c.time);
  std::vector<std::int64_t> separate;
  for (const DmaEngines::Completion& c : run(list, true)) separate.push_back(c.time);
  EXPECT_EQ(times, separate);
  return times;
}
std::int64_t completion_time(const Work& w) {
  return completion_times({{Queue::sync, w}})[0];
}

// ---- One transfer. 16 engines take 8 partitions each; the last one runs 15 ramps after the first.

TEST(Transfer, HardwareReadOf512BytesPerPartition) {
  const Work w = hardware_read(128, 1, 512);
  EXPECT_EQ(w.packet_ticks, 2823);  // 4.7 + 512 / 27.2 ns
  const auto done = run({{Queue::sync, w, 1000}}, false)[0];
  EXPECT_EQ(done.first, 1000 + 161'400);  // latency 1345 ns
  // 8 packets, the stall of 400 ns * 4096 / 32768 after the first one, visible 420 ns after the last one's end.
  EXPECT_EQ(done.time, 1000 + 161'400 + 8 * 2823 + 6000 + 15 * ramp + 50'400);  // 2145.7 ns
}

TEST(Transfer, AHardwareReadOf32KibPerEngineStallsFor400Ns) {
  const Work w = hardware_read(128, 2, 2048);
  EXPECT_EQ(w.packet_ticks, 9599);  // 4.7 + 2048 / 27.2 ns
  EXPECT_EQ(completion_time(w), 161'400 + 16 * 9599 + 48'000 + 15 * ramp + 50'400);
  EXPECT_EQ(completion_time(hardware_read(128, 4, 2048)), 161'400 + 32 * 9599 + 48'000 + 15 * ramp + 50'400);
}

TEST(Transfer, HardwareWriteOfTwice2048BytesPerPartition) {
  const std::int64_t time = completion_time(hardware_write(128, 2, 2048));
  EXPECT_EQ(time, 148'800 + 16 * 9599 + 15 * ramp + hardware_write_visible);  // latency 1240 ns, no stall
  EXPECT_EQ(time / 120, 3142);                                                // 3083..3180 were recorded
}

TEST(Transfer, SoftwareReadsMergeTheirRunsInto4096Bytes) {
  const Work w = transfer(Direction::hbm_to_sbuf, true, 128, 1, 2048);
  EXPECT_EQ(w.packet_ticks, 18'635);                                                  // 4.7 + 4096 / 27.2 ns
  EXPECT_EQ(completion_time(w), 120'000 + 4 * 18'635 + 20'400 + 15 * ramp + 49'200);  // 8 * 2048 bytes an engine
}

TEST(Transfer, SoftwareWritesOfSmallRunsAreSlower) {
  const Work w = transfer(Direction::sbuf_to_hbm, true, 128, 4, 512);
  EXPECT_EQ(w.packet_ticks, 27'099);  // 8 runs of 1.2 * (4.7 + 512 / 27.2) ns
  const std::int64_t time = completion_time(w);
  EXPECT_EQ(time, 75'960 + 4 * 27'099 + 15 * ramp + 43'200);
  EXPECT_EQ(time / 120, 2038);  // 2013 and 2024 were recorded
}

TEST(Transfer, ARunOfMoreThan4096BytesTakesSeveralPackets) {
  EXPECT_EQ(hardware_write(128, 1, 4096).packets_pp, 1);
  EXPECT_EQ(hardware_write(128, 1, 4098).packets_pp, 2);
  EXPECT_EQ(hardware_write(128, 1, 4098).packet_ticks, hardware_write(128, 1, 2049).packet_ticks);
}

TEST(Transfer, FewPartitionsUseFewEngines) {
  const auto busy = [](std::int32_t partitions) {
    DmaEngines dma(trn2, params, false);
    dma.submit(Queue::sync, packets(3, 1000, partitions), 0, 0);
    std::vector<DmaEngines::Completion> done;
    while (!dma.idle()) dma.advance(done);
    return dma.busy_ticks();
  };
  for (std::int32_t p = 1; p <= 128; ++p) {
    const std::int64_t engines = (p + 7) / 8;
    EXPECT_EQ(busy(p), p * 3 * 1000 + engines * semaphore_packet) << p;
    // The last engine has the rest, 1 to 8 partitions, and starts later.
    const std::int64_t rest = p - 8 * (engines - 1);
    const std::int64_t last = rest * 3000 + (engines - 1) * ramp;
    const std::int64_t before = engines == 1 ? 0 : 8 * 3000 + (engines - 2) * ramp;
    EXPECT_EQ(completion_time(packets(3, 1000, p)), std::max(last, before)) << p;
  }
}

TEST(Transfer, WithinHbmItIsSpreadOverAllEngines) {
  Work w = packets(3, 1000, 0);
  w.direction = Direction::hbm_to_hbm;
  EXPECT_EQ(completion_time(w), 3 * 1000 + 15 * ramp);
}

// ---- Several transfers.

TEST(DmaQueue, IsFirstInFirstOut) {
  const Work w = hardware_write(128, 2, 2048);
  const std::int64_t one = 16 * 9599 + semaphore_packet, around = 148'800 + 15 * ramp + hardware_write_visible;
  const auto times = completion_times({{Queue::sync, w}, {Queue::sync, w, 100}, {Queue::sync, w, 100}});
  for (std::int64_t i = 0; i < 3; ++i)  // back to back
    EXPECT_EQ(times[static_cast<std::size_t>(i)], around + i * one + 16 * 9599);
}

TEST(DmaQueue, AShortTransferBehindALongOneWaits) {
  const auto times = completion_times({{Queue::sync, packets(100, 1000)}, {Queue::sync, packets(1, 10), 0}});
  EXPECT_EQ(times[0], 100'000);
  EXPECT_EQ(times[1], 100'000 + semaphore_packet + 10);
}

TEST(DmaQueues, TakeTurnsAtPacketBoundaries) {
  const auto times = completion_times({{Queue::sync, packets(2, 1000)}, {Queue::scalar, packets(2, 300)}});
  // sync 0, scalar 1000, sync 1300, scalar 2300, end of sync 2600, end of scalar 3320.
  EXPECT_EQ(times, (std::vector<std::int64_t>{2600, 2600 + semaphore_packet}));
}

TEST(DmaQueues, ThreeTakeTurnsInTheirOrder) {
  const auto times = completion_times(
      {{Queue::gpsimd, packets(1, 50)}, {Queue::sync, packets(3, 1000)}, {Queue::scalar, packets(2, 300)}});
  // sync 0, scalar 1000, gpsimd 1300, sync 1350, scalar 2350, end of gpsimd 2650 + 720, sync 3370, end of scalar 4370,
  // end of sync 5090.
  EXPECT_EQ(times, (std::vector<std::int64_t>{2650, 5090, 4370}));
}

TEST(DmaQueues, ANewcomerWaitsForThePacketUnderWay) {
  const auto at = [](std::int64_t start) {
    return completion_times({{Queue::sync, packets(10, 1000)}, {Queue::scalar, packets(1, 10), start}})[1];
  };
  EXPECT_EQ(at(1999), 2010 + 1000);  // behind the packet of [1000, 2000); its end comes behind one more
  EXPECT_EQ(at(2000), 2010 + 1000);  // ready at the boundary is early enough, for the turn is sync's no more
  EXPECT_EQ(at(2001), 3010 + 1000);
}

TEST(DmaQueues, TurnsStartAnewAfterARest) {
  // scalar was served last, but after a rest it comes before gpsimd again.
  const auto times = completion_times(
      {{Queue::scalar, packets(1, 10)}, {Queue::scalar, packets(1, 10), 5000}, {Queue::gpsimd, packets(1, 10), 5000}});
  EXPECT_EQ(times[1], 5020);
  EXPECT_EQ(times[2], 5020 + semaphore_packet);
}

TEST(DmaQueue, AReadSoonBehindAReadPaysTheGap) {
  const Work w = hardware_read(128, 1, 512);
  const std::int64_t latency = 161'400, served = 8 * 2823 + 6000, end = latency + served + semaphore_packet;
  const std::int64_t around = 15 * ramp + 50'400;
  const auto second = [&](std::int64_t ready) {
    return completion_times({{Queue::sync, w}, {Queue::sync, w, ready - latency}})[1];
  };
  EXPECT_EQ(second(latency), end + 79'200 + served + around);  // 660 ns behind the end of the first
  EXPECT_EQ(second(end), end + 79'200 + served + around);
  EXPECT_EQ(second(end + 47'999), end + 79'200 + served + around);  // up to 400 ns later
  EXPECT_EQ(second(end + 48'000), end + 48'000 + served + around);
}

TEST(DmaQueue, OnlyReadsBehindReadsPayTheGap) {
  const Work read = hardware_read(128, 1, 512), write = hardware_write(128, 1, 512);
  const std::int64_t read_end = 161'400 + 8 * 2823 + 6000 + semaphore_packet;
  const std::int64_t write_end = 148'800 + 8 * 2823 + semaphore_packet;
  EXPECT_EQ(completion_times({{Queue::sync, read}, {Queue::sync, write}})[1],
            read_end + 8 * 2823 + 15 * ramp + hardware_write_visible);
  EXPECT_EQ(completion_times({{Queue::sync, write}, {Queue::sync, read}})[1],
            write_end + 8 * 2823 + 6000 + 15 * ramp + 50'400);
  const Work software = transfer(Direction::hbm_to_sbuf, true, 128, 1, 512);
  const std::int64_t served = 18'635 + 20'400;
  EXPECT_EQ(completion_times({{Queue::gpsimd, software}, {Queue::gpsimd, software}})[1],
            120'000 + served + semaphore_packet + 18'000 + served + 15 * ramp + 49'200);  // 150 ns
  EXPECT_EQ(completion_times({{Queue::sync, read}, {Queue::scalar, read, 200'000}})[1],
            361'400 + 8 * 2823 + 6000 + 15 * ramp + 50'400);  // of another queue
}

// ---- Classes of equal engines.

/// A random load on the queues: each transfer waits for an earlier one, or for none, as streams do.
struct Load {
  struct Entry {
    Queue queue;
    Work work;
    int after;           // the transfer it waits for, or -1
    std::int64_t delay;  // from there, or from the start
  };
  std::vector<Entry> entries;
};

Load random_load(std::uint64_t seed) {
  Random random(seed);
  Load load;
  const std::int64_t n = random.between(2, 60);
  const bool even = random.one_in(3);  // all partitions, all alike: one class throughout
  for (std::int64_t i = 0; i < n; ++i) {
    Load::Entry e;
    e.queue = random.any({Queue::sync, Queue::scalar, Queue::gpsimd});
    const bool software = e.queue == Queue::gpsimd;
    const Direction direction = random.any({Direction::hbm_to_sbuf, Direction::hbm_to_sbuf, Direction::sbuf_to_hbm,
                                            Direction::sbuf_to_sbuf, Direction::hbm_to_hbm});
    std::int32_t partitions = 128;
    if (!even && random.one_in(2)) partitions = static_cast<std::int32_t>(random.between(1, 128));
    if (direction == Direction::hbm_to_hbm) partitions = 0;
    const std::int64_t runs = random.between(1, 8), bytes = random.any({2, 64, 256, 512, 1024, 4096, 9000});
    e.work = transfer(direction, software, partitions, runs, bytes);
    e.after = i > 0 && !random.one_in(4) ? static_cast<int>(random.below(i)) : -1;
    e.delay = random.one_in(2) ? 0 : random.below(random.one_in(2) ? 1000 : 600'000);
    load.entries.push_back(e);
  }
  return load;
}

struct Served {
  std::vector<std::int64_t> times, firsts;
  std::int64_t busy = 0;
  friend bool operator==(const Served&, const Served&) = default;
};

Served serve(const Load& load, bool separate) {
  DmaEngines dma(trn2, params, separate);
  Served out;
  out.times.assign(load.entries.size(), -1);
  out.firsts.assign(load.entries.size(), -1);
  std::array<std::vector<std::size_t>, nki::machine::queue_count> order;
  for (std::size_t i = 0; i < load.entries.size(); ++i)
    order[static_cast<std::size_t>(load.entries[i].queue)].push_back(i);
  std::array<std::size_t, nki::machine::queue_count> next{};
  std::array<std::int64_t, nki::machine::queue_count> last{};
  std::vector<DmaEngines::Completion> done;
  while (true) {
    for (std::size_t q = 0; q < order.size(); ++q)
      for (; next[q] < order[q].size(); ++next[q]) {
        const Load::Entry& e = load.entries[order[q][next[q]]];
        std::int64_t time = last[q] + e.delay;
        if (e.after >= 0) {
          const std::int64_t seen = out.times[static_cast<std::size_t>(e.after)];
          if (seen < 0) break;
          time = std::max(time, seen + e.delay);
        }
        dma.submit(e.queue, e.work, static_cast<std::uint32_t>(order[q][next[q]]), time);
        last[q] = time;
      }
    if (dma.idle()) break;
    done.clear();
    dma.advance(done);
    for (const DmaEngines::Completion& c : done) {
      out.times[c.semaphore] = c.time;
      out.firsts[c.semaphore] = c.first;
    }
  }
  out.busy = dma.busy_ticks();
  return out;
}

TEST(DmaClasses, ServeLikeSeparateEngines) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Load load = random_load(seed);
    const Served classes = serve(load, false), separate = serve(load, true);
    ASSERT_EQ(classes.times, separate.times) << "seed " << seed;
    ASSERT_EQ(classes.firsts, separate.firsts) << "seed " << seed;
    ASSERT_EQ(classes.busy, separate.busy) << "seed " << seed;
    ASSERT_EQ(std::count(classes.times.begin(), classes.times.end(), -1), 0) << "seed " << seed;
  }
}

TEST(DmaQueue, KeepsItsOrderWhereverEveryEngineTakesPart) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Load load = random_load(seed);
    const Served served = serve(load, false);
    std::map<Queue, std::int64_t> first;
    for (std::size_t i = 0; i < load.entries.size(); ++i) {
      std::int64_t& before = first[load.entries[i].queue];
      EXPECT_LE(before, served.firsts[i]) << "seed " << seed << ", transfer " << i;
      if (load.entries[i].work.partitions == 128) before = served.firsts[i];
    }
  }
}

}  // namespace
