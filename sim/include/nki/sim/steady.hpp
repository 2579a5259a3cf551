#pragma once

#include <nki/machine/program.hpp>
#include <nki/sim/clock.hpp>
#include <nki/sim/result.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

/// Exact skipping of repeating loop passes. At the start of a pass the whole state of lowering and simulation is written
/// down relative to the present: numbers count back, slots come by age, times are differences, and what can no longer
/// matter is left out. Where a later pass of the same loop writes the same words, everything from there repeats, and
/// whole periods are added at once: times, counters and the loop's index move, nothing else does.
///
/// The clock of the array is no part of that state, since its grid is incommensurate with any loop. A skip therefore
/// needs a proof that no half window of the skipped time can switch: over one period of streaming, every alignment of a
/// half window stays on one side of the threshold.
namespace nki::inline v0_1::sim {

/// When the array streamed: intervals in order, touching ones joined.
class StreamLog {
 public:
  void add(std::int64_t begin, std::int64_t end) {
    if (end == begin) return;
    if (!spans_.empty() && spans_.back().end == begin) {
      spans_.back().end = end;
      return;
    }
    if (spans_.size() >= limit) {
      spans_.erase(spans_.begin(), spans_.begin() + limit / 2);
      since_ = spans_.front().begin;
    }
    spans_.push_back({begin, end});
  }
  /// Whether the log is whole from a time on.
  bool covers(std::int64_t from) const { return from >= since_; }

  /// The streaming in (from, to], as intervals from 0.
  struct Span {
    std::int64_t begin, end;
  };
  std::vector<Span> pattern(std::int64_t from, std::int64_t to) const {
    std::vector<Span> out;
    std::size_t i = spans_.size();
    while (i > 0 && spans_[i - 1].end > from) --i;
    for (; i < spans_.size() && spans_[i].begin < to; ++i) {
      const std::int64_t b = spans_[i].begin > from ? spans_[i].begin : from,
                         e = spans_[i].end < to ? spans_[i].end : to;
      if (e > b) out.push_back({b - from, e - from});
    }
    return out;
  }
  /// Repeats a pattern of one period, `times` times after `from`; forgets the past where that would be too long.
  void repeat(const std::vector<Span>& pattern, std::int64_t from, std::int64_t period, std::int64_t times) {
    if (static_cast<std::int64_t>(pattern.size()) * times > limit / 2) {
      spans_.clear();
      since_ = from + period * times;
      return;
    }
    for (std::int64_t n = 0; n < times; ++n)
      for (const Span& s : pattern) add(from + n * period + s.begin, from + n * period + s.end);
  }

 private:
  static constexpr std::int64_t limit = 1 << 14;
  std::vector<Span> spans_;
  std::int64_t since_ = -(std::int64_t{1} << 62);
};

/// A streaming pattern that repeats for ever.
class PeriodicStream {
 public:
  PeriodicStream(std::vector<StreamLog::Span> spans, std::int64_t period) : spans_(std::move(spans)), period_(period) {
    std::int64_t sum = 0;
    for (const StreamLog::Span& s : spans_) {
      before_.push_back(sum);
      sum += s.end - s.begin;
    }
    total_ = sum;
  }
  std::int64_t total() const { return total_; }

  /// Ticks of streaming in [from, to).
  std::int64_t busy(std::int64_t from, std::int64_t to) const { return until(to) - until(from); }

  /// The least and the most streaming in a window of this length, over all places where it can lie.
  std::array<std::int64_t, 2> extremes(std::int64_t window) const {
    std::int64_t least = window, most = 0;
    const auto look = [&](std::int64_t from) {
      const std::int64_t b = busy(from, from + window);
      if (b < least) least = b;
      if (b > most) most = b;
    };
    look(0);
    // The sum is linear between the places where an end of the window meets an end of an interval.
    for (const StreamLog::Span& s : spans_) {
      look(s.begin);
      look(s.end);
      look(s.begin - window);
      look(s.end - window);
    }
    return {least, most};
  }

 private:
  std::int64_t until(std::int64_t t) const {
    std::int64_t turns = t / period_, x = t % period_;
    if (x < 0) {
      x += period_;
      --turns;
    }
    std::size_t lo = 0, hi = spans_.size();  // the number of intervals that begin before x
    while (lo < hi) {
      const std::size_t middle = (lo + hi) / 2;
      if (spans_[middle].begin < x)
        lo = middle + 1;
      else
        hi = middle;
    }
    std::int64_t sum = turns * total_;
    if (lo > 0) {
      const StreamLog::Span& s = spans_[lo - 1];
      sum += before_[lo - 1] + (s.end < x ? s.end : x) - s.begin;
    }
    return sum;
  }

  std::vector<StreamLog::Span> spans_;
  std::vector<std::int64_t> before_;
  std::int64_t period_, total_ = 0;
};

/// Where a skip leads the clock of the array, if it may be made at all.
struct ClockProof {
  bool stable = false;
  std::int64_t window_end = 0, streamed = 0;
};

/// `from` and `to` are the ends of streaming at the two equal states, `periods` the repetitions to be added.
inline ClockProof prove_clock(const TensorClock& clock, const PeriodicStream& p, std::int64_t from, std::int64_t to,
                              std::int64_t periods) {
  ClockProof out;
  const std::int64_t period = to - from, w = clock.window(), rate = clock.warm() ? clock.speed() : 1;
  if (!clock.steady() || clock.window_end() - w < from)
    return out;  // the window under way must lie in the repeating part
  if (clock.threshold() > 0) {
    const auto [least, most] = p.extremes(w);
    if (clock.warm() ? least * rate < clock.threshold() : most * rate >= clock.threshold()) return out;
  }
  const std::int64_t end = to + period * periods;
  std::int64_t steps = (end - clock.window_end() + w - 1) / w;
  if (steps < 0) steps = 0;
  out.window_end = clock.window_end() + steps * w;
  const std::int64_t begin = out.window_end - w;
  out.streamed = p.busy(begin - from, end - from) * rate;
  out.stable = true;
  return out;
}

/// The states seen at the passes of one loop.
struct PassHistory {
  struct Snapshot {
    std::int64_t index = 0;
    std::uint64_t hash = 0;
    std::vector<std::int64_t> words;
    std::int64_t now = 0, streamed = 0, switches = 0;
    Result result;
    std::int64_t dma_busy = 0, emitted = 0, instructions = 0;
    std::vector<std::uint32_t> seen;  ///< steps of every semaphore
    std::vector<std::int64_t> instances;
  };
  std::int64_t entry = -1;
  bool closed = false;       ///< nothing more to gain in this entry of the loop
  std::int64_t price = 256;  ///< words of the last state written
  std::int64_t doubt = 1;    ///< grows with every state that matched nothing
  std::vector<Snapshot> snapshots;
};

}  // namespace nki::inline v0_1::sim
