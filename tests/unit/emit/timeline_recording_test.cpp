#include "timeline_support.hpp"

#include <nki/kernels/matmul.hpp>
#include <nki/sim/simulate.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace timeline_test {

Sample simulated(std::int64_t m, std::int64_t n, std::int64_t k, bool turned, nki::DType dtype, std::size_t limit) {
  const nki::kernel::Of<nki::kernels::Matmul> kernel;
  nki::kernel::Problem problem = kernel.default_problem();
  problem.sizes = {m, n, k};
  problem.attrs = {turned ? 1 : 0};
  for (nki::DType& d : problem.dtypes) d = dtype;
  Sample run;
  run.program = kernel.record(problem, kernel.default_config(problem, nki::arch::trn2), nki::arch::trn2);
  run.timeline.limit = limit;
  run.result = sim::simulate(run.program, nki::arch::trn2, {.timeline = &run.timeline});
  return run;
}

namespace {

TEST(Timeline, ProducersComeBeforeWhatTheyProduce) {
  for (const Sample& run :
       {simulated(512, 1024, 1024), simulated(500, 700, 900, true), simulated(130, 70, 300, true, nki::DType::f32)}) {
    const std::vector<Event>& events = run.timeline.events;
    ASSERT_FALSE(events.empty());
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& e = events[i];
      EXPECT_GE(e.end, e.start);
      EXPECT_GE(e.waited, 0);
      if (e.producer < 0) continue;
      ASSERT_LT(e.producer, static_cast<std::int64_t>(i));
      const Event& p = events[static_cast<std::size_t>(e.producer)];
      EXPECT_NE(p.kind, machine::Kind::event) << "an event semaphore produces nothing";
      if (is_queue(e.row)) {
        EXPECT_EQ(p.site, e.site) << "a transfer belongs to the instruction that triggered it";
        EXPECT_GE(e.start, p.start);
      } else {
        EXPECT_LE(p.end, e.issued) << "event " << i << " starts before what it waits for is complete";
        if (e.cause == machine::Cause::load || e.cause == machine::Cause::store) {
          EXPECT_TRUE(is_queue(p.row));
        }
      }
    }
  }
}

TEST(Timeline, LimitKeepsThePrefixUnchanged) {
  const Sample whole = simulated(500, 700, 900, true);
  for (std::size_t limit :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{17}, whole.timeline.events.size() - 1}) {
    const Sample part = simulated(500, 700, 900, true, nki::DType::bf16, limit);
    ASSERT_EQ(part.timeline.events.size(), limit);
    EXPECT_EQ(part.timeline.dropped, static_cast<std::int64_t>(whole.timeline.events.size() - limit));
    EXPECT_EQ(part.result, whole.result);
    for (std::size_t i = 0; i < limit; ++i) {
      const Event &a = part.timeline.events[i], &b = whole.timeline.events[i];
      EXPECT_TRUE(a.row == b.row && a.start == b.start && a.end == b.end && a.site == b.site &&
                  a.producer == b.producer)
          << i;
    }
  }
}

TEST(Timeline, EnginesKeptApartGiveTheSameTransfers) {
  Sample together = simulated(500, 700, 900, true);
  Timeline apart;
  sim::simulate(together.program, nki::arch::trn2, {.separate_engines = true, .timeline = &apart});
  EXPECT_EQ(spans_of(together.timeline), spans_of(apart));
}

TEST(Timeline, BusyAndStallsFitIntoTheStream) {
  for (const Sample& run : {simulated(512, 1024, 1024), simulated(500, 700, 900, true), simulated(300, 200, 1000)})
    for (std::size_t s : {std::size_t{0}, std::size_t{1}}) {  // streams that trigger nothing
      const sim::StreamResult& r = run.result.streams[s];
      std::int64_t sum = r.busy;
      for (std::size_t c = 0; c < sim::stall_count; ++c)
        if (c != static_cast<std::size_t>(sim::Stall::clock)) sum += r.stalls[c];
      EXPECT_LE(sum, r.end) << machine::stream_names[s];
      EXPECT_GE(sum, r.end * 9 / 10) << machine::stream_names[s]
                                     << ": what it does for a tenth of the time is not said";
    }
}

}  // namespace

}  // namespace timeline_test
