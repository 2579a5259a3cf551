#pragma once

#include <nki/check/rules.hpp>
#include <nki/exec/report.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nki::inline v0_1::exec::detail {

/// A view with its numbers: the positions of its elements in the storage of one slot, in row-major order of the
/// dimensions. The box bounds them by partition (axis 0) and by place inside a partition.
struct Region {
  struct Box {
    std::int64_t first_partition = 0, last_partition = 0, first_free = 0, last_free = 0;
    bool meets(const Box& o) const {
      return first_partition <= o.last_partition && o.first_partition <= last_partition && first_free <= o.last_free &&
             o.first_free <= last_free;
    }
  };

  std::int64_t offset = 0;
  int rank = 0;
  std::array<std::int64_t, ir::max_rank> count{}, stride{};
  Box box;

  /// n consecutive elements.
  static Region row(std::int64_t n) {
    Region r;
    r.rank = 1;
    r.count[0] = n;
    r.stride[0] = 1;
    return r;
  }

  std::int64_t elements(int from = 0) const {
    std::int64_t n = 1;
    for (int d = from; d < rank; ++d) n *= count[static_cast<std::size_t>(d)];
    return n;
  }

  /// The same positions in the same order with as few dimensions as possible, dimensions before `from` kept.
  Region merged(int from = 0) const {
    Region r = *this;
    r.rank = from;
    for (int d = from; d < rank; ++d) {
      const std::int64_t c = count[static_cast<std::size_t>(d)], s = stride[static_cast<std::size_t>(d)];
      if (c == 1) continue;
      if (r.rank > from && r.stride[static_cast<std::size_t>(r.rank - 1)] == c * s) {
        r.count[static_cast<std::size_t>(r.rank - 1)] *= c;
        r.stride[static_cast<std::size_t>(r.rank - 1)] = s;
        continue;
      }
      r.count[static_cast<std::size_t>(r.rank)] = c;
      r.stride[static_cast<std::size_t>(r.rank)] = s;
      ++r.rank;
    }
    return r;
  }

  /// Whether dimension `from` and those after it are consecutive elements.
  bool is_row(int from) const {
    const Region r = merged(from);
    return r.rank == from || (r.rank == from + 1 && r.stride[static_cast<std::size_t>(from)] == 1);
  }

  friend bool operator==(const Region& a, const Region& b) {
    if (a.offset != b.offset || a.rank != b.rank) return false;
    for (std::size_t d = 0; d < static_cast<std::size_t>(a.rank); ++d)
      if (a.count[d] != b.count[d] || a.stride[d] != b.stride[d]) return false;
    return true;
  }
};

/// The region of a view at the cursor's place. A view that leaves its buffer is refused (NKI-E231).
inline Region resolve(const ir::Program& p, const ir::Cursor& at, const ir::Instr& in, ir::ViewId id) {
  const ir::View& v = p.views[id];
  const ir::Buffer& b = p.buffers[v.buffer];
  Region r;
  std::array<std::int64_t, ir::max_rank> low{}, high{};
  r.rank = v.rank;
  for (std::size_t d = 0; d < v.rank; ++d) {
    const ir::Dim& dim = v.dims[d];
    const std::int64_t start = at.value(dim.start), count = at.value(dim.count), span = dim.step * (count - 1);
    const std::int64_t axis_stride = b.axis_stride(dim.axis);
    r.offset += start * axis_stride;
    r.count[d] = count;
    r.stride[d] = dim.step * axis_stride;
    low[dim.axis] += start + (span < 0 ? span : 0);
    high[dim.axis] += start + (span > 0 ? span : 0);
  }
  for (std::size_t a = 0; a < b.rank; ++a) {
    if (low[a] < 0 || high[a] >= b.shape[a])
      refuse_instruction(NKI_E231,
                         "positions " + std::to_string(low[a]) + ".." + std::to_string(high[a]) + " of dimension " +
                             std::to_string(a) + " of '" + b.name + "', which has " + std::to_string(b.shape[a]),
                         p, in);
    if (a > 0) {
      r.box.first_free += low[a] * b.axis_stride(static_cast<int>(a));
      r.box.last_free += high[a] * b.axis_stride(static_cast<int>(a));
    }
  }
  r.box.first_partition = low[0];
  r.box.last_partition = high[0];
  return r;
}

/// Walks a region in stretches of evenly spaced positions.
class Walker {
 public:
  explicit Walker(const Region& r) : r_(r.merged()), at_(r_.offset) {
    if (r_.rank > 0) {
      length_ = r_.count[last()];
      stride_ = r_.stride[last()];
    }
    left_ = length_;
  }

  bool done() const { return left_ == 0; }
  std::int64_t at() const { return at_; }
  std::int64_t stride() const { return stride_; }
  /// Positions left in this stretch.
  std::int64_t left() const { return left_; }

  /// Goes on by n <= left() positions; at the end of a stretch, to the next one.
  void advance(std::int64_t n) {
    at_ += n * stride_;
    left_ -= n;
    if (left_ > 0) return;
    at_ -= length_ * stride_;
    for (int d = r_.rank - 2; d >= 0; --d) {
      const auto i = static_cast<std::size_t>(d);
      at_ += r_.stride[i];
      if (++index_[i] < r_.count[i]) {
        left_ = length_;
        return;
      }
      at_ -= r_.count[i] * r_.stride[i];
      index_[i] = 0;
    }
  }

 private:
  std::size_t last() const { return static_cast<std::size_t>(r_.rank - 1); }

  Region r_;
  std::array<std::int64_t, ir::max_rank> index_{};
  std::int64_t at_, length_ = 1, stride_ = 1, left_ = 0;
};

/// Calls `visit(first, n, stride)` for each stretch of a region.
template <class F>
void for_stretches(const Region& r, F&& visit) {
  for (Walker w(r); !w.done(); w.advance(w.left())) visit(w.at(), w.left(), w.stride());
}

/// The distances of the elements of dimensions `from`.. to the first one, in order.
inline std::vector<std::int64_t> distances(const Region& r, int from) {
  Region tail;
  tail.rank = r.rank - from;
  for (int d = from; d < r.rank; ++d) {
    tail.count[static_cast<std::size_t>(d - from)] = r.count[static_cast<std::size_t>(d)];
    tail.stride[static_cast<std::size_t>(d - from)] = r.stride[static_cast<std::size_t>(d)];
  }
  std::vector<std::int64_t> list;
  list.reserve(static_cast<std::size_t>(tail.elements()));
  for_stretches(tail, [&](std::int64_t first, std::int64_t n, std::int64_t stride) {
    for (std::int64_t i = 0; i < n; ++i) list.push_back(first + i * stride);
  });
  return list;
}

}  // namespace nki::inline v0_1::exec::detail
