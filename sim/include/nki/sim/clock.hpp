#pragma once

#include <nki/arch.hpp>
#include <nki/machine/params.hpp>

#include <cstdint>

namespace nki::inline v0_1::sim {

/// The clock of the systolic array. Time is cut into half windows of 4096 cycles of the base clock; the next one is warm
/// if and only if the array streamed at least 3/8 of its fast cycles in the one just ended, otherwise cold. The phase of
/// the grid is a free-running counter of the device, and so an input.
///
/// Source: the law explains all 149 half windows of ten public trn2 profiles.
/// Work is counted in ticks of the cold clock; the warm clock does `speed` of them a tick.
class TensorClock {
 public:
  TensorClock(const Arch& a, const machine::Params& c, std::int64_t phase)
      : speed_(ticks_per_cycle(a, a.clock_tensor_cold_ghz) / ticks_per_cycle(a, a.clock_tensor_ghz)),
        window_(c.clock_window_cycles.as_int() * ticks_per_cycle(a, a.clock_tensor_ghz) * speed_),
        threshold_(static_cast<std::int64_t>(c.clock_threshold.value * static_cast<double>(window_ * speed_))),
        warm_(threshold_ == 0),
        before_warm_(warm_) {
    end_ = phase % window_;
    if (end_ <= 0) end_ += window_;
  }

  std::int64_t window() const { return window_; }
  std::int64_t threshold() const { return threshold_; }
  std::int64_t speed() const { return speed_; }
  bool warm() const { return warm_; }
  /// End of the half window that streaming has come to, and the work streamed in it so far.
  std::int64_t window_end() const { return end_; }
  std::int64_t streamed() const { return streamed_; }

  /// Whether the half window before this one had the same state.
  bool steady() const { return warm_ == before_warm_; }

  /// The state at a time not before the half window ahead of the current one.
  bool warm_at(std::int64_t t) const {
    if (t < end_ - window_) return before_warm_;
    if (t < end_) return warm_;
    if (t < end_ + window_) return streamed_ >= threshold_;
    return threshold_ == 0;
  }

  /// Streams `work` from `start`, each part at the rate of its half window; returns the end.
  std::int64_t stream(std::int64_t start, std::int64_t work) {
    advance(start);
    std::int64_t t = start;
    while (true) {
      const std::int64_t rate = warm_ ? speed_ : 1;
      const std::int64_t need = (work + rate - 1) / rate;
      if (t + need <= end_) {
        streamed_ += work;
        return t + need;
      }
      const std::int64_t part = (end_ - t) * rate;
      streamed_ += part;
      work -= part;
      t = end_;
      next_window();
    }
  }

  /// Puts the grid where an exact skip of whole periods leads: same state, another place in the window.
  void place(std::int64_t window_end, std::int64_t streamed) {
    end_ = window_end;
    streamed_ = streamed;
    before_warm_ = warm_;
  }
  std::int64_t switches() const { return switches_; }

 private:
  void next_window() {
    const bool next = streamed_ >= threshold_;
    if (next != warm_) ++switches_;
    before_warm_ = warm_;
    warm_ = next;
    streamed_ = 0;
    end_ += window_;
  }
  void advance(std::int64_t t) {
    if (t < end_) return;
    next_window();
    if (t < end_) return;
    // From here on every window is idle.
    next_window();
    if (t >= end_) {
      end_ += (t - end_) / window_ * window_ + window_;
      before_warm_ = warm_;
    }
  }

  std::int64_t speed_, window_, threshold_;
  std::int64_t end_ = 0, streamed_ = 0, switches_ = 0;
  bool warm_, before_warm_;
};

}  // namespace nki::inline v0_1::sim
