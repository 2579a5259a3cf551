#pragma once

#include <nki/error.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace nki::inline v0_1::ir {

/// Index expressions are ids into a DAG whose operands always have smaller ids than their users.
using ExprId = std::uint32_t;
using LoopId = std::uint32_t;
inline constexpr std::uint32_t no_id = ~std::uint32_t{0};

enum class ExprOp : std::uint8_t {
  constant,  ///< c
  index,     ///< the index of loop a
  add,       ///< a + b
  mul,       ///< a * c
  floordiv,  ///< floor(a / c), c > 0
  mod,       ///< a - c * floor(a / c), c > 0
  min,       ///< min(a, b)
  max        ///< max(a, b)
};

struct Expr {
  ExprOp op = ExprOp::constant;
  std::uint32_t a = 0, b = 0;
  std::int64_t c = 0;
  friend constexpr bool operator==(const Expr&, const Expr&) = default;
};

/// An inclusive interval.
struct Range {
  std::int64_t lo = 0, hi = 0;
  constexpr bool is_point() const { return lo == hi; }
  friend constexpr bool operator==(const Range&, const Range&) = default;
};

constexpr std::int64_t floordiv(std::int64_t a, std::int64_t c) {
  const std::int64_t q = a / c;
  return q - ((a % c != 0 && (a < 0)) ? 1 : 0);
}
constexpr std::int64_t floormod(std::int64_t a, std::int64_t c) {
  return a - c * floordiv(a, c);
}
constexpr std::int64_t ceildiv(std::int64_t a, std::int64_t c) {
  return -floordiv(-a, c);
}

namespace detail {

/// Arithmetic that keeps to +-2^62, so that intervals of absurd sizes stay ordered instead of wrapping.
inline constexpr std::int64_t far = std::int64_t{1} << 62;
constexpr std::int64_t clamp_far(std::int64_t v) {
  return v > far ? far : v < -far ? -far : v;
}
constexpr std::int64_t add_far(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return a < 0 ? -far : far;
  return clamp_far(r);
}
constexpr std::int64_t mul_far(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return (a < 0) != (b < 0) ? -far : far;
  return clamp_far(r);
}

}  // namespace detail

/// The value of one expression, given the values of its operands and of the loops' indices.
constexpr std::int64_t evaluate(const Expr& e, const std::int64_t* values, const std::int64_t* loop_index) {
  switch (e.op) {
    case ExprOp::constant:
      return e.c;
    case ExprOp::index:
      return loop_index[e.a];
    case ExprOp::add:
      return values[e.a] + values[e.b];
    case ExprOp::mul:
      return values[e.a] * e.c;
    case ExprOp::floordiv:
      return floordiv(values[e.a], e.c);
    case ExprOp::mod:
      return floormod(values[e.a], e.c);
    case ExprOp::min:
      return values[e.a] < values[e.b] ? values[e.a] : values[e.b];
    case ExprOp::max:
      return values[e.a] > values[e.b] ? values[e.a] : values[e.b];
  }
  return 0;
}

/// The interval of one expression, given the intervals of its operands and of the loops' indices.
constexpr Range bound(const Expr& e, const Range* ranges, const Range* loop_range) {
  using detail::add_far;
  using detail::mul_far;
  switch (e.op) {
    case ExprOp::constant:
      return {e.c, e.c};
    case ExprOp::index:
      return loop_range[e.a];
    case ExprOp::add:
      return {add_far(ranges[e.a].lo, ranges[e.b].lo), add_far(ranges[e.a].hi, ranges[e.b].hi)};
    case ExprOp::mul: {
      const auto x = mul_far(ranges[e.a].lo, e.c), y = mul_far(ranges[e.a].hi, e.c);
      return x < y ? Range{x, y} : Range{y, x};
    }
    case ExprOp::floordiv:
      return {floordiv(ranges[e.a].lo, e.c), floordiv(ranges[e.a].hi, e.c)};
    case ExprOp::mod:
      if (floordiv(ranges[e.a].lo, e.c) == floordiv(ranges[e.a].hi, e.c))
        return {floormod(ranges[e.a].lo, e.c), floormod(ranges[e.a].hi, e.c)};
      return {0, e.c - 1};
    case ExprOp::min: {
      const Range x = ranges[e.a], y = ranges[e.b];
      return {x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
    }
    case ExprOp::max: {
      const Range x = ranges[e.a], y = ranges[e.b];
      return {x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
    }
  }
  return {};
}

/// Interns expressions while a program is recorded: equal expressions get one id, constants fold, sums are kept in one
/// canonical form (constant + coefficient * atom, atoms in order of their ids), and `min`/`max` vanish where the loops'
/// bounds decide them.
class ExprPool {
 public:
  explicit ExprPool(std::vector<Expr>& exprs) : exprs_(&exprs) {
    slots_.assign(256, no_id);
    small_.fill(no_id);
    ranges_.reserve(64);
    for (const Expr& e : exprs) ranges_.push_back(bound(e, ranges_.data(), loop_ranges_.data()));
  }

  ExprId constant(std::int64_t c) {
    if (c < 0 || c >= static_cast<std::int64_t>(small_.size())) return intern({ExprOp::constant, 0, 0, c});
    ExprId& known = small_[static_cast<std::size_t>(c)];
    if (known == no_id) known = intern({ExprOp::constant, 0, 0, c});
    return known;
  }

  /// The index of a loop whose values lie in `range`.
  ExprId index(LoopId loop, Range range) {
    if (loop_ranges_.size() <= loop) loop_ranges_.resize(loop + 1);
    loop_ranges_[loop] = range;
    return intern({ExprOp::index, loop, 0, 0});
  }

  ExprId add(ExprId a, ExprId b) {
    if (ranges_[a] == Range{0, 0}) return b;
    if (ranges_[b] == Range{0, 0}) return a;
    if (ranges_[a].is_point() && ranges_[b].is_point()) return constant(detail::add_far(ranges_[a].lo, ranges_[b].lo));
    Sum sum;
    collect(a, 1, sum);
    collect(b, 1, sum);
    return build(sum);
  }
  ExprId mul(ExprId a, std::int64_t c) {
    if (c == 0) return constant(0);
    if (c == 1) return a;
    Sum sum;
    collect(a, c, sum);
    return build(sum);
  }
  ExprId floordiv(ExprId a, std::int64_t c) {
    if (c == 1) return a;
    if (ranges_[a].is_point()) return constant(ir::floordiv(ranges_[a].lo, c));
    const Range r = ranges_[a];
    if (ir::floordiv(r.lo, c) == ir::floordiv(r.hi, c)) return constant(ir::floordiv(r.lo, c));
    return intern({ExprOp::floordiv, a, 0, c});
  }
  ExprId mod(ExprId a, std::int64_t c) {
    if (c == 1) return constant(0);
    const Range r = ranges_[a];
    if (ir::floordiv(r.lo, c) == ir::floordiv(r.hi, c)) return add(a, constant(-c * ir::floordiv(r.lo, c)));
    return intern({ExprOp::mod, a, 0, c});
  }
  ExprId min(ExprId a, ExprId b) { return extremum(ExprOp::min, a, b); }
  ExprId max(ExprId a, ExprId b) { return extremum(ExprOp::max, a, b); }

  Range range(ExprId e) const { return ranges_[e]; }
  const Expr& expr(ExprId e) const { return (*exprs_)[e]; }
  bool is_constant(ExprId e) const { return ranges_[e].is_point(); }

  /// The interval of start + count, tight where count is a `min` that ends at an edge: x + min(a, b) is taken as
  /// min(x + a, x + b), in which x often cancels.
  Range end_range(ExprId start, ExprId count) {
    const Expr e = (*exprs_)[count];
    if (e.op == ExprOp::min) {
      const Range x = end_range(start, e.a), y = end_range(start, e.b);
      return {x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi};
    }
    if (e.op == ExprOp::max) {
      const Range x = end_range(start, e.a), y = end_range(start, e.b);
      return {x.lo > y.lo ? x.lo : y.lo, x.hi > y.hi ? x.hi : y.hi};
    }
    return ranges_[add(start, count)];
  }

 private:
  struct Term {
    ExprId atom;
    std::int64_t coefficient;
  };
  struct Sum {
    std::int64_t constant = 0;
    std::array<Term, 24> terms;  // `count` of them
    std::uint32_t count = 0;
  };

  void collect(ExprId id, std::int64_t factor, Sum& sum) const {
    const Expr& e = (*exprs_)[id];
    switch (e.op) {
      case ExprOp::constant:
        sum.constant += factor * e.c;
        return;
      case ExprOp::add:
        collect(e.a, factor, sum);
        collect(e.b, factor, sum);
        return;
      case ExprOp::mul:
        collect(e.a, factor * e.c, sum);
        return;
      default:
        break;
    }
    std::uint32_t at = 0;
    while (at < sum.count && sum.terms[at].atom < id) ++at;
    if (at < sum.count && sum.terms[at].atom == id) {
      sum.terms[at].coefficient += factor;
      if (sum.terms[at].coefficient == 0) {
        for (std::uint32_t i = at + 1; i < sum.count; ++i) sum.terms[i - 1] = sum.terms[i];
        --sum.count;
      }
      return;
    }
    if (sum.count == sum.terms.size())
      throw Error({.id = "NKI-E307",
                   .sentence = "an index expression holds at most 24 different terms",
                   .got = "more than 24 terms",
                   .allowed = "24",
                   .hint = "split the loop nest, or compute part of the index in an outer loop",
                   .file = {},
                   .line = 0});
    for (std::uint32_t i = sum.count; i > at; --i) sum.terms[i] = sum.terms[i - 1];
    sum.terms[at] = {id, factor};
    ++sum.count;
  }

  ExprId build(const Sum& sum) {
    ExprId out = no_id;
    for (std::uint32_t i = 0; i < sum.count; ++i) {
      const Term& t = sum.terms[i];
      const ExprId term = t.coefficient == 1 ? t.atom : intern({ExprOp::mul, t.atom, 0, t.coefficient});
      out = out == no_id ? term : intern({ExprOp::add, out, term, 0});
    }
    if (out == no_id) return constant(sum.constant);
    return sum.constant == 0 ? out : intern({ExprOp::add, out, constant(sum.constant), 0});
  }

  ExprId extremum(ExprOp op, ExprId a, ExprId b) {
    if (a == b) return a;
    const Range ra = ranges_[a], rb = ranges_[b];
    if (ra.hi <= rb.lo) return op == ExprOp::min ? a : b;
    if (rb.hi <= ra.lo) return op == ExprOp::min ? b : a;
    // The sign of a - b decides, and correlated terms cancel in it.
    const Range d = difference(a, b);
    if (d.hi <= 0) return op == ExprOp::min ? a : b;
    if (d.lo >= 0) return op == ExprOp::min ? b : a;
    if (a > b) {
      const ExprId t = a;
      a = b;
      b = t;
    }
    return intern({op, a, b, 0});
  }

  Range difference(ExprId a, ExprId b) const {
    Sum sum;
    collect(a, 1, sum);
    collect(b, -1, sum);
    Range r{sum.constant, sum.constant};
    for (std::uint32_t i = 0; i < sum.count; ++i) {
      const Range t = ranges_[sum.terms[i].atom];
      const auto x = detail::mul_far(t.lo, sum.terms[i].coefficient),
                 y = detail::mul_far(t.hi, sum.terms[i].coefficient);
      r.lo = detail::add_far(r.lo, x < y ? x : y);
      r.hi = detail::add_far(r.hi, x < y ? y : x);
    }
    return r;
  }

  static std::uint64_t mix(const Expr& e) {
    std::uint64_t h = static_cast<std::uint64_t>(e.op) * 0x9E3779B97F4A7C15ull;
    h = (h ^ e.a) * 0xBF58476D1CE4E5B9ull;
    h = (h ^ (h >> 29) ^ e.b) * 0x94D049BB133111EBull;
    h = (h ^ (h >> 31) ^ static_cast<std::uint64_t>(e.c)) * 0xD6E8FEB86659FD93ull;
    return h ^ (h >> 32);
  }

  ExprId intern(const Expr& e) {
    std::uint64_t at = mix(e) & (slots_.size() - 1);
    while (slots_[at] != no_id) {
      if ((*exprs_)[slots_[at]] == e) return slots_[at];
      at = (at + 1) & (slots_.size() - 1);
    }
    const auto id = static_cast<ExprId>(exprs_->size());
    exprs_->push_back(e);
    ranges_.push_back(bound(e, ranges_.data(), loop_ranges_.data()));
    slots_[at] = id;
    if (exprs_->size() * 2 > slots_.size()) grow();
    return id;
  }

  void grow() {
    std::vector<ExprId> bigger(slots_.size() * 4, no_id);
    for (ExprId id = 0; id < exprs_->size(); ++id) {
      std::uint64_t at = mix((*exprs_)[id]) & (bigger.size() - 1);
      while (bigger[at] != no_id) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = id;
    }
    slots_.swap(bigger);
  }

  std::vector<Expr>* exprs_;
  std::vector<Range> ranges_;
  std::vector<Range> loop_ranges_;
  std::vector<ExprId> slots_;
  std::array<ExprId, 16> small_;  // the ids of 0, 1, ...
};

}  // namespace nki::inline v0_1::ir
