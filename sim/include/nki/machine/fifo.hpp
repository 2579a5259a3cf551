#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nki::inline v0_1::machine {

/// A queue in a ring that grows by doubling; indices count from the first element ever pushed.
template <class T>
class Fifo {
 public:
  explicit Fifo(std::size_t capacity = 64) : ring_(capacity) {}

  bool empty() const { return head_ == tail_; }
  std::size_t size() const { return static_cast<std::size_t>(tail_ - head_); }
  const T& front() const { return ring_[head_ & (ring_.size() - 1)]; }
  T& front() { return ring_[head_ & (ring_.size() - 1)]; }
  T& back() { return ring_[(tail_ - 1) & (ring_.size() - 1)]; }
  /// The i-th from the front.
  const T& operator[](std::size_t i) const { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  T& at(std::size_t i) { return ring_[(head_ + i) & (ring_.size() - 1)]; }
  void pop() { ++head_; }
  void clear() { head_ = tail_ = 0; }
  void push(const T& x) {
    if (size() == ring_.size()) grow();
    ring_[tail_++ & (ring_.size() - 1)] = x;
  }

 private:
  void grow() {
    std::vector<T> bigger(ring_.size() * 2);
    const std::size_t n = size();
    for (std::size_t i = 0; i < n; ++i) bigger[i] = (*this)[i];
    ring_.swap(bigger);
    head_ = 0;
    tail_ = n;
  }

  std::vector<T> ring_;
  std::uint64_t head_ = 0, tail_ = 0;
};

/// Values by a number that only grows; old numbers are forgotten when the ring is full and nobody needs them any more.
template <class T>
class History {
 public:
  explicit History(std::size_t capacity = 16) : ring_(capacity) {}

  /// The largest number so far; numbers start at 1.
  std::uint32_t last() const { return last_; }
  T& operator[](std::uint32_t number) { return ring_[number & (ring_.size() - 1)]; }
  const T& operator[](std::uint32_t number) const { return ring_[number & (ring_.size() - 1)]; }
  /// Whether a number is still held.
  bool holds(std::uint32_t number) const { return number > 0 && number <= last_ && last_ - number < ring_.size(); }
  std::uint32_t oldest_held() const {
    return last_ < ring_.size() ? 1 : last_ - static_cast<std::uint32_t>(ring_.size()) + 1;
  }

  /// Makes room for one more push. `oldest()` tells the oldest number still needed; it is asked only where growing would
  /// cost more.
  template <class Oldest>
  void make_room(Oldest&& oldest) {
    if (last_ + 1 - kept_ < ring_.size()) return;
    if (ring_.size() < worth_asking) return grow();
    const std::uint32_t from = oldest();
    while (from <= last_ && (last_ + 1 - from) * 2 >= ring_.size()) grow();
    kept_ = from <= last_ ? from : last_ + 1;
  }
  void push(const T& x) { ring_[++last_ & (ring_.size() - 1)] = x; }

 private:
  static constexpr std::size_t worth_asking = 64;

  void grow() {
    std::vector<T> bigger(ring_.size() * 2);
    for (std::uint32_t back = 0; back < ring_.size() && back < last_; ++back)
      bigger[(last_ - back) & (bigger.size() - 1)] = ring_[(last_ - back) & (ring_.size() - 1)];
    ring_.swap(bigger);
  }

  std::vector<T> ring_;
  std::uint32_t last_ = 0, kept_ = 1;
};

}  // namespace nki::inline v0_1::machine
