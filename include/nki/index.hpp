#pragma once

#include <nki/check/rules.hpp>
#include <nki/ir/expr.hpp>

#include <cstdint>

namespace nki::inline v0_1 {

/// An extent that is not known at compile time.
inline constexpr std::int64_t dyn = -1;

/// A number that is known at compile time: `128_c`.
template <std::int64_t N>
struct Const {
  static constexpr std::int64_t value = N;
  constexpr operator std::int64_t() const { return N; }  // NOLINT: reads as the number it is
};

namespace detail {
template <char... Digits>
constexpr std::int64_t parse_digits() {
  std::int64_t v = 0;
  ((v = Digits == '\'' ? v : v * 10 + (Digits - '0')), ...);
  return v;
}
template <class>
inline constexpr bool always_false = false;
}  // namespace detail

inline namespace literals {
template <char... Digits>
constexpr Const<detail::parse_digits<Digits...>()> operator""_c() {
  return {};
}
}  // namespace literals

/// A quasi-affine index: a number, or an expression over the indices of the recorded loops. Closed under +, -, * by a
/// number, floordiv and mod by a number, min and max. It has no truth value: a recorded loop runs its body once while
/// recording, so there is nothing to branch on (compile error NKI-E301).
class Index {
 public:
  constexpr Index() = default;
  constexpr Index(std::int64_t v) : value_(v) {}  // NOLINT: numbers are indices
  constexpr Index(int v) : value_(v) {}           // NOLINT
  template <std::int64_t N>
  constexpr Index(Const<N>) : value_(N) {}  // NOLINT
  Index(ir::ExprPool& pool, ir::ExprId id) {
    if (pool.is_constant(id)) {
      value_ = pool.range(id).lo;
    } else {
      pool_ = &pool;
      id_ = id;
    }
  }

  bool is_number() const { return pool_ == nullptr; }
  /// The number; only for `is_number()`.
  std::int64_t number() const { return value_; }
  /// The values that it can take.
  ir::Range range() const { return pool_ == nullptr ? ir::Range{value_, value_} : pool_->range(id_); }
  ir::ExprId id(ir::ExprPool& pool) const { return pool_ == nullptr ? pool.constant(value_) : id_; }

  friend Index operator+(const Index& a, const Index& b) {
    if (a.is_number() && b.is_number()) return Index(a.value_ + b.value_);
    ir::ExprPool& p = *(a.pool_ != nullptr ? a.pool_ : b.pool_);
    return Index(p, p.add(a.id(p), b.id(p)));
  }
  friend Index operator*(const Index& a, std::int64_t c) {
    if (a.is_number()) return Index(a.value_ * c);
    return Index(*a.pool_, a.pool_->mul(a.id_, c));
  }
  friend Index operator*(std::int64_t c, const Index& a) { return a * c; }
  friend Index operator-(const Index& a) { return a * -1; }
  friend Index operator-(const Index& a, const Index& b) { return a + b * -1; }
  Index& operator+=(const Index& b) { return *this = *this + b; }

  friend Index floordiv(const Index& a, std::int64_t c) {
    require_positive(c);
    if (a.is_number()) return Index(ir::floordiv(a.value_, c));
    return Index(*a.pool_, a.pool_->floordiv(a.id_, c));
  }
  friend Index mod(const Index& a, std::int64_t c) {
    require_positive(c);
    if (a.is_number()) return Index(ir::floormod(a.value_, c));
    return Index(*a.pool_, a.pool_->mod(a.id_, c));
  }
  friend Index min(const Index& a, const Index& b) {
    if (a.is_number() && b.is_number()) return a.value_ < b.value_ ? a : b;
    ir::ExprPool& p = *(a.pool_ != nullptr ? a.pool_ : b.pool_);
    return Index(p, p.min(a.id(p), b.id(p)));
  }
  friend Index max(const Index& a, const Index& b) {
    if (a.is_number() && b.is_number()) return a.value_ > b.value_ ? a : b;
    ir::ExprPool& p = *(a.pool_ != nullptr ? a.pool_ : b.pool_);
    return Index(p, p.max(a.id(p), b.id(p)));
  }

  template <class T>
  friend bool operator==(const Index&, const T&) {
    static_assert(detail::always_false<T>, NKI_E301);
    return false;
  }
  template <class T>
  friend bool operator<(const Index&, const T&) {
    static_assert(detail::always_false<T>, NKI_E301);
    return false;
  }
  template <class T>
  friend bool operator<=(const Index&, const T&) {
    static_assert(detail::always_false<T>, NKI_E301);
    return false;
  }
  template <class T>
  friend bool operator>(const Index&, const T&) {
    static_assert(detail::always_false<T>, NKI_E301);
    return false;
  }
  template <class T>
  friend bool operator>=(const Index&, const T&) {
    static_assert(detail::always_false<T>, NKI_E301);
    return false;
  }
  template <class T = bool>
  explicit operator bool() const {
    static_assert(detail::always_false<T>, NKI_E301);
    return false;
  }

 private:
  static void require_positive(std::int64_t c) {
    if (c <= 0)
      throw Error({.id = std::string(NKI_E305).substr(0, 8),
                   .sentence = std::string(NKI_E305).substr(10),
                   .got = std::to_string(c),
                   .allowed = "1 or more",
                   .hint = "swap the sign of the index instead",
                   .file = {},
                   .line = 0});
  }

  ir::ExprPool* pool_ = nullptr;
  std::int64_t value_ = 0;
  ir::ExprId id_ = 0;
};

/// A slice of `size` positions from `start`, `step` apart (NKI's nl.ds). `N` is the size where it is known at compile
/// time, else `dyn`.
template <std::int64_t N = dyn>
struct Slice {
  Index start;
  Index size;
  std::int64_t step = 1;
};

template <std::int64_t N>
Slice<N> ds(Index start, Const<N>) {
  return {start, Index(N), 1};
}
inline Slice<dyn> ds(Index start, Index size, std::int64_t step = 1) {
  return {start, size, step};
}

/// Every position of an axis (Python's `:`).
struct All {};
inline constexpr All all{};

}  // namespace nki::inline v0_1
