#include <nki/arch.hpp>
#include <nki/machine/params.hpp>
#include <nki/sim/clock.hpp>
#include <nki/sim/steady.hpp>
#include <nki/testing/random_program.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using nki::machine::Params;
using nki::sim::PeriodicStream;
using nki::sim::StreamLog;
using nki::sim::TensorClock;
using nki::testing::Random;

const nki::Arch& trn2 = nki::arch::trn2;

TensorClock clock_of_trn2(std::int64_t phase = 0) {
  return TensorClock(trn2, nki::machine::trn2_params, phase);
}

// At 120 ticks per ns: a cycle of 1.2 GHz is 100 ticks, a half window 4096 of them. Work is counted in ticks of that
// clock, and the warm clock does two a tick.
constexpr std::int64_t window = 409'600;
constexpr std::int64_t threshold = 307'200;  // 3/8 of what the warm clock can do in a half window, 3/4 of the cold one

TEST(TensorClock, HasHalfWindowsOf4096ColdCycles) {
  const TensorClock c = clock_of_trn2();
  EXPECT_EQ(c.window(), window);
  EXPECT_EQ(c.threshold(), threshold);
  EXPECT_EQ(c.speed(), 2);
  EXPECT_FALSE(c.warm());
}

TEST(TensorClock, StartsCold) {
  TensorClock c = clock_of_trn2();
  EXPECT_EQ(c.stream(1000, 51'200), 1000 + 51'200);  // 512 columns: 426.67 ns
}

TEST(TensorClock, ThreeQuartersOfAColdHalfWindowWarmUpTheNext) {
  TensorClock c = clock_of_trn2();
  c.stream(window - threshold, threshold);
  EXPECT_EQ(c.stream(window, 51'200), window + 25'600);
  EXPECT_EQ(c.switches(), 1);
}

TEST(TensorClock, OneUnitOfWorkLessStaysCold) {
  TensorClock c = clock_of_trn2();
  c.stream(0, threshold - 1);
  EXPECT_EQ(c.stream(window, 51'200), window + 51'200);
  EXPECT_EQ(c.switches(), 0);
}

/// A clock whose half window from `window` on is warm and has seen no work.
TensorClock warmed_up() {
  TensorClock c = clock_of_trn2();
  c.stream(0, window);
  return c;
}

TEST(TensorClock, ThreeEighthsOfAWarmHalfWindowKeepTheNextWarm) {
  TensorClock c = warmed_up();
  EXPECT_EQ(c.stream(window, threshold), window + threshold / 2);  // 37.5 % of the time
  EXPECT_EQ(c.stream(2 * window, 1000), 2 * window + 500);
}

TEST(TensorClock, OneUnitOfWorkLessTurnsCold) {
  TensorClock c = warmed_up();
  c.stream(window, threshold - 1);
  EXPECT_EQ(c.stream(2 * window, 1000), 2 * window + 1000);
  EXPECT_EQ(c.switches(), 2);
}

TEST(TensorClock, WorkCountsInTheHalfWindowInWhichItIsDone) {
  TensorClock c = warmed_up();
  // Half of what the second warm half window needs is done before it begins.
  c.stream(window, threshold - 10);
  c.stream(2 * window - 5, 10);
  EXPECT_EQ(c.stream(2 * window, 1000), 2 * window + 500);  // 10 units were done in time
  TensorClock d = warmed_up();
  d.stream(window, threshold - 10);
  d.stream(2 * window - 4, 10);  // 8 of them, and 2 at the cold clock
  EXPECT_EQ(d.stream(2 * window + 2, 1000), 2 * window + 1002);
}

TEST(TensorClock, AMatmulThatSpansASwitchRunsEachPartAtItsRate) {
  TensorClock to_warm = clock_of_trn2();
  EXPECT_EQ(to_warm.stream(0, window + 1000), window + 500);
  TensorClock to_cold = warmed_up();
  EXPECT_EQ(to_cold.stream(2 * window - 100, 1000), 2 * window + 800);
  TensorClock odd = warmed_up();  // an odd unit of work takes a tick of its own
  EXPECT_EQ(odd.stream(window, 1001), window + 501);
}

TEST(TensorClock, TheStateIsKnownAheadOfStreaming) {
  TensorClock c = clock_of_trn2();
  c.stream(0, threshold - 1);
  EXPECT_FALSE(c.warm_at(window - 1));
  EXPECT_FALSE(c.warm_at(window));
  c.stream(threshold, 1);
  EXPECT_FALSE(c.warm_at(window - 1));
  EXPECT_TRUE(c.warm_at(window));
  EXPECT_TRUE(c.warm_at(2 * window - 1));
  EXPECT_FALSE(c.warm_at(2 * window));  // nothing streamed in between
  c.stream(window, 2);
  EXPECT_FALSE(c.warm_at(window - 1));  // a look back
}

TEST(TensorClock, ThePhaseMovesTheGridOnly) {
  Random random(1);
  for (int i = 0; i < 50; ++i) {
    const std::int64_t phase = random.below(window);
    TensorClock at_zero = clock_of_trn2(), shifted = clock_of_trn2(phase), wrapped = clock_of_trn2(phase + 3 * window);
    std::int64_t t = 0;
    for (int n = 0; n < 40; ++n) {
      const std::int64_t start = t + random.below(200'000), work = 1 + random.below(300'000);
      t = at_zero.stream(start, work);
      ASSERT_EQ(shifted.stream(start + phase, work), t + phase) << "phase " << phase;
      ASSERT_EQ(wrapped.stream(start + phase, work), t + phase);
    }
    EXPECT_EQ(shifted.switches(), at_zero.switches());
  }
}

TEST(TensorClock, TheFirstHalfWindowEndsAtThePhase) {
  TensorClock just = clock_of_trn2(threshold), late = clock_of_trn2(threshold - 1);
  // A burst from idle runs cold for 2.56 us at least, and up to a half window more.
  EXPECT_EQ(just.stream(0, 2 * window), threshold + (2 * window - threshold) / 2);
  EXPECT_EQ(late.stream(0, 2 * window), threshold - 1 + window + (window - threshold + 1 + 1) / 2);
}

TEST(TensorClock, AGapOfFiveEighthsOfAHalfWindowNeverCools) {
  const std::int64_t gap = window - threshold / 2;  // 2.13 us
  for (std::int64_t phase = 0; phase < window; phase += 1024) {
    TensorClock c = clock_of_trn2(phase);
    std::int64_t t = c.stream(0, 20 * window);
    const std::int64_t switches = c.switches();
    t = c.stream(t + gap, 20 * window);
    EXPECT_EQ(c.switches(), switches) << phase;
  }
}

TEST(TensorClock, AGapOfTenEighthsOfAHalfWindowAlwaysCools) {
  const std::int64_t gap = 2 * window - threshold;  // 4.27 us
  bool shorter_may_stay_warm = false;
  for (std::int64_t phase = 0; phase < window; phase += 512) {
    const auto cools_in = [&](std::int64_t of_gap) {
      TensorClock c = clock_of_trn2(phase);
      const std::int64_t t = c.stream(0, 20 * window), switches = c.switches();
      c.stream(t + of_gap, 20 * window);
      return c.switches() > switches;
    };
    EXPECT_TRUE(cools_in(gap + 1)) << phase;
    shorter_may_stay_warm = shorter_may_stay_warm || !cools_in(gap - 1024);
  }
  EXPECT_TRUE(shorter_may_stay_warm);
}

TEST(TensorClock, IdleHalfWindowsArePassedOverInOneStep) {
  TensorClock c = warmed_up();
  const std::int64_t far = (std::int64_t{1} << 40) * window;
  EXPECT_EQ(c.stream(far + 5, 1000), far + 1005);
  EXPECT_EQ(c.window_end(), far + window);
  EXPECT_EQ(c.switches(), 2);
}

TEST(TensorClock, Trn1HasOneClock) {
  TensorClock c(nki::arch::trn1, nki::machine::trn1_params, 0);
  EXPECT_TRUE(c.warm());
  EXPECT_EQ(c.speed(), 1);
  Random random(2);
  std::int64_t t = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t start = t + random.below(20'000'000), work = 1 + random.below(1'000'000);
    t = c.stream(start, work);
    ASSERT_EQ(t, start + work);
    ASSERT_TRUE(c.warm_at(t));
  }
  EXPECT_EQ(c.switches(), 0);
}

/// trn2 with half windows of so many cold cycles, so that ticks can be counted one by one.
Params small_windows(double cycles) {
  Params p = nki::machine::trn2_params;
  p.clock_window_cycles.value = cycles;
  return p;
}

/// The law, tick by tick.
class SteppedClock {
 public:
  SteppedClock(std::int64_t window_ticks, std::int64_t least_work, std::int64_t phase)
      : window_(window_ticks), least_(least_work), end_(phase == 0 ? window_ticks : phase) {}
  std::int64_t stream(std::int64_t start, std::int64_t work) {
    while (now_ < start) tick(0);
    while (work > 0) work -= tick(work);
    return now_;
  }
  std::int64_t switches() const { return switches_; }

 private:
  std::int64_t tick(std::int64_t work) {
    const std::int64_t done = std::min<std::int64_t>(work, warm_ ? 2 : 1);
    streamed_ += done;
    if (++now_ == end_) {
      const bool next = streamed_ >= least_;
      switches_ += next == warm_ ? 0 : 1;
      warm_ = next;
      streamed_ = 0;
      end_ += window_;
    }
    return done;
  }
  std::int64_t window_, least_, end_, now_ = 0, streamed_ = 0, switches_ = 0;
  bool warm_ = false;
};

TEST(TensorClock, AgreesWithTheLawTickByTick) {
  Random random(3);
  std::int64_t switches = 0;
  for (int i = 0; i < 300; ++i) {
    const Params p = small_windows(static_cast<double>(random.between(1, 4)));
    const std::int64_t ticks = p.clock_window_cycles.as_int() * 100, phase = random.below(ticks);
    TensorClock c(trn2, p, phase);
    SteppedClock law(ticks, ticks * 2 * 3 / 8, phase);
    const std::int64_t longest_gap = random.between(1, 2 * ticks);
    std::int64_t t = 0;
    for (int n = 0; n < 60; ++n) {
      const std::int64_t start = t + random.below(longest_gap), work = random.between(1, ticks);
      t = c.stream(start, work);
      ASSERT_EQ(t, law.stream(start, work)) << "case " << i << ", matmul " << n;
    }
    EXPECT_EQ(c.switches(), law.switches());
    switches += c.switches();
  }
  EXPECT_GT(switches, 2000);
}

// ---- What a skip asks about streaming.

std::vector<std::uint8_t> ticks_of(const std::vector<StreamLog::Span>& spans, std::int64_t length) {
  std::vector<std::uint8_t> busy(static_cast<std::size_t>(length));
  for (const StreamLog::Span& s : spans)
    for (std::int64_t t = s.begin; t < s.end; ++t) busy[static_cast<std::size_t>(t)] = 1;
  return busy;
}

/// Random streaming in [0, length).
std::vector<std::uint8_t> random_ticks(Random& random, std::int64_t length) {
  std::vector<std::uint8_t> busy(static_cast<std::size_t>(length));
  for (std::int64_t t = 0; t < length;) {
    const std::int64_t run = random.between(1, 9);
    const bool on = random.one_in(2);
    for (std::int64_t end = std::min(length, t + run); t < end; ++t) busy[static_cast<std::size_t>(t)] = on ? 1 : 0;
  }
  return busy;
}
std::vector<StreamLog::Span> spans_of(const std::vector<std::uint8_t>& busy) {
  std::vector<StreamLog::Span> out;
  for (std::size_t t = 0; t < busy.size(); ++t) {
    if (busy[t] == 0) continue;
    const auto at = static_cast<std::int64_t>(t);
    if (!out.empty() && out.back().end == at)
      ++out.back().end;
    else
      out.push_back({at, at + 1});
  }
  return out;
}

TEST(StreamLog, GivesBackWhatWasStreamedSince) {
  Random random(4);
  for (int i = 0; i < 200; ++i) {
    const std::vector<std::uint8_t> busy = random_ticks(random, 200);
    StreamLog log;
    for (const StreamLog::Span& s : spans_of(busy)) {
      const std::int64_t middle = random.between(s.begin, s.end);  // intervals that touch are one
      log.add(s.begin, middle);
      log.add(middle, s.end);
    }
    const std::int64_t from = random.below(200), to = random.between(from, 200);
    EXPECT_TRUE(log.covers(from));
    const std::vector<std::uint8_t> expected(busy.begin() + from, busy.begin() + to);
    EXPECT_EQ(ticks_of(log.pattern(from, to), to - from), expected);
  }
}

TEST(StreamLog, KnowsWhatItForgot) {
  StreamLog log;
  std::int64_t t = 0;
  for (; t < 1'000'000; t += 10) log.add(t, t + 5);
  EXPECT_FALSE(log.covers(0));
  EXPECT_TRUE(log.covers(t - 40'000));
  EXPECT_EQ(log.pattern(t - 40, t).size(), 4u);
}

TEST(StreamLog, RepeatsAPattern) {
  StreamLog log;
  log.add(0, 30);
  log.add(50, 70);
  const auto pattern = log.pattern(0, 100);
  log.repeat(pattern, 100, 100, 3);
  const auto whole = ticks_of(log.pattern(0, 400), 400);
  for (std::size_t t = 100; t < 400; ++t) EXPECT_EQ(whole[t], whole[t - 100]) << t;
  // Too many to write down: what is asked next must be later.
  log.repeat(pattern, 400, 100, 1'000'000);
  EXPECT_FALSE(log.covers(400));
  EXPECT_TRUE(log.covers(100'000'400));
}

TEST(PeriodicStream, CountsTheTicksOfEveryInterval) {
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    const std::int64_t period = random.between(1, 60);
    const std::vector<std::uint8_t> busy = random_ticks(random, period);
    const PeriodicStream p(spans_of(busy), period);
    EXPECT_EQ(p.total(), std::count(busy.begin(), busy.end(), 1));
    for (std::int64_t from = -period; from < period; ++from) {
      std::int64_t sum = 0;
      for (std::int64_t to = from; to < from + 3 * period; ++to) {
        ASSERT_EQ(p.busy(from, to), sum) << "period " << period << ", [" << from << ", " << to << ")";
        sum += busy[static_cast<std::size_t>((to + 2 * period) % period)];
      }
    }
  }
}

TEST(PeriodicStream, ExtremesAreThoseOfAllPlaces) {
  Random random(6);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t period = random.between(1, 60), length = random.between(1, 150);
    const PeriodicStream p(spans_of(random_ticks(random, period)), period);
    std::int64_t least = length, most = 0;
    for (std::int64_t from = 0; from < period; ++from) {
      least = std::min(least, p.busy(from, from + length));
      most = std::max(most, p.busy(from, from + length));
    }
    const auto [l, m] = p.extremes(length);
    EXPECT_EQ(l, least) << "case " << i;
    EXPECT_EQ(m, most) << "case " << i;
  }
}

TEST(ProveClock, LeadsWhereSteppingLeads) {
  Random random(7);
  int proved = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const Params params = small_windows(static_cast<double>(random.between(1, 3)));
    const std::int64_t w = params.clock_window_cycles.as_int() * 100, period = random.between(1, 3 * w);
    // Work of one period, as it falls at the rate of a steady clock; it ends with streaming.
    const bool warm = random.one_in(2);
    std::vector<StreamLog::Span> spans;
    std::int64_t t = 0;
    while (true) {
      const std::int64_t begin = t + (random.one_in(2) ? 0 : random.below(w / 2)),
                         end = begin + random.between(1, w / 4);
      if (end > period) break;
      spans.push_back({begin, end});
      t = end;
    }
    if (spans.empty()) continue;
    for (StreamLog::Span& s : spans) s.begin += period - t, s.end += period - t;
    const std::int64_t rate = warm ? 2 : 1;
    TensorClock c(trn2, params, random.below(w));
    std::int64_t from = 0;
    if (warm) from = c.stream(0, 10 * w);
    const auto run_period = [&](TensorClock& clock, std::int64_t at) {
      bool as_planned = true;
      for (const StreamLog::Span& s : spans)
        as_planned = clock.stream(at + s.begin, (s.end - s.begin) * rate) == at + s.end && as_planned;
      return as_planned;
    };
    bool as_planned = true;
    for (int n = static_cast<int>(4 * w / period) + 2; n > 0; --n, from += period)
      as_planned = run_period(c, from) && as_planned;
    if (!as_planned || c.warm() != warm) continue;
    const std::int64_t periods = random.between(1, 50);
    const auto proof = nki::sim::prove_clock(c, PeriodicStream(spans, period), from - period, from, periods);
    if (!proof.stable) {
      ++refused;
      continue;
    }
    ++proved;
    const std::int64_t switches = c.switches();
    for (std::int64_t n = 0; n < periods; ++n) ASSERT_TRUE(run_period(c, from + n * period)) << "case " << i;
    ASSERT_EQ(c.switches(), switches) << "case " << i;
    ASSERT_EQ(c.window_end(), proof.window_end) << "case " << i;
    ASSERT_EQ(c.streamed(), proof.streamed) << "case " << i;
  }
  EXPECT_GT(proved, 300);
  EXPECT_GT(refused, 30);
}

}  // namespace
