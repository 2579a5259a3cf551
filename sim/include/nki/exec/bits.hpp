#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nki::inline v0_1::exec::detail {

/// A set of element positions at one bit each, with its size.
class Bits {
 public:
  void resize(std::int64_t n) {
    n_ = n;
    words_.assign(static_cast<std::size_t>((n + 63) / 64), 0);
    count_ = 0;
  }
  void clear() {
    if (count_ != 0) words_.assign(words_.size(), 0);
    count_ = 0;
  }
  bool none() const { return count_ == 0; }
  bool all() const { return count_ == n_; }
  std::int64_t size() const { return n_; }
  std::int64_t count() const { return count_; }

  bool test(std::int64_t i) const { return ((words_[static_cast<std::size_t>(i >> 6)] >> (i & 63)) & 1U) != 0; }
  void set(std::int64_t i) { add(static_cast<std::size_t>(i >> 6), std::uint64_t{1} << (i & 63)); }

  /// Puts the positions first .. first + n - 1 in.
  void set(std::int64_t first, std::int64_t n) {
    if (all()) return;
    for_words(first, n, [this](std::size_t word, std::uint64_t mask) { add(word, mask); });
  }
  /// How many of the positions first .. first + n - 1 are in.
  std::int64_t count(std::int64_t first, std::int64_t n) const {
    if (all()) return n;
    std::int64_t found = 0;
    for_words(first, n, [&](std::size_t word, std::uint64_t mask) { found += ones(words_[word] & mask); });
    return found;
  }

 private:
  // Without a processor that counts bits, the two usual answers must not cost a table.
  static std::int64_t ones(std::uint64_t w) { return w == 0 ? 0 : ~w == 0 ? 64 : std::popcount(w); }

  void add(std::size_t word, std::uint64_t mask) {
    count_ += ones(mask & ~words_[word]);
    words_[word] |= mask;
  }

  template <class F>
  static void for_words(std::int64_t first, std::int64_t n, F&& visit) {
    if (n <= 0) return;
    const std::int64_t last = first + n - 1;
    const std::int64_t from = first >> 6, to = last >> 6;
    const std::uint64_t head = ~std::uint64_t{0} << (first & 63), tail = ~std::uint64_t{0} >> (63 - (last & 63));
    if (from == to) return visit(static_cast<std::size_t>(from), head & tail);
    visit(static_cast<std::size_t>(from), head);
    for (std::int64_t w = from + 1; w < to; ++w) visit(static_cast<std::size_t>(w), ~std::uint64_t{0});
    visit(static_cast<std::size_t>(to), tail);
  }

  std::vector<std::uint64_t> words_;
  std::int64_t n_ = 0;
  std::int64_t count_ = 0;
};

}  // namespace nki::inline v0_1::exec::detail
