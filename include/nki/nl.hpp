#pragma once

#include <nki/builder.hpp>
#include <nki/index.hpp>
#include <nki/ir/program.hpp>

#include <cstdint>
#include <exception>

/// Loops of the kernel language. A recorded loop runs its body once, with an index that stands for all iterations; a
/// plain C++ `for`, or `static_range`, unrolls while recording.
namespace nki::inline v0_1::nl {

namespace detail {

/// The iterator of a recorded loop: one pass, closed by `++`. Leaving early (break, return, exception) is noticed.
template <class Value>
class RecordedRange {
 public:
  using Make = Value (*)(const RecordedRange&, Index);
  RecordedRange(Builder& nc, Index lower, Index upper, ir::LoopKind kind, const char* name, Loc loc, Make make,
                std::int64_t extent = 0, std::int64_t block = 0)
      : nc_(&nc),
        lower_(lower),
        upper_(upper),
        kind_(kind),
        name_(name),
        loc_(loc),
        make_(make),
        extent_(extent),
        block_(block) {}
  RecordedRange(const RecordedRange&) = delete;
  RecordedRange& operator=(const RecordedRange&) = delete;
  /// An exception in the body leaves the loop open: the builder then records nothing more.
  ~RecordedRange() {
    if (open_ && std::uncaught_exceptions() > exceptions_) nc_->poison();
  }

  struct End {};
  class Iterator {
   public:
    explicit Iterator(RecordedRange* r) : range_(r), value_(r->make_(*r, r->open())) {}
    const Value& operator*() const { return value_; }
    Iterator& operator++() {
      range_->close();
      return *this;
    }
    bool operator!=(End) const { return range_->open_; }

   private:
    RecordedRange* range_;
    Value value_;
  };
  Iterator begin() { return Iterator(this); }
  End end() { return {}; }

  std::int64_t extent() const { return extent_; }
  std::int64_t block() const { return block_; }

 private:
  Index open() {
    exceptions_ = std::uncaught_exceptions();
    depth_ = nc_->loop_depth();
    open_ = true;
    return nc_->open_loop(lower_, upper_, kind_, name_, loc_);
  }
  void close() {
    if (nc_->loop_depth() != depth_ + 1)
      nc_->fail(NKI_E302, "an inner loop left before its end", "", "end a loop earlier through its bound", loc_);
    nc_->close_loop(loc_);
    open_ = false;
  }

  Builder* nc_;
  Index lower_, upper_;
  ir::LoopKind kind_;
  const char* name_;
  Loc loc_;
  Make make_;
  std::int64_t extent_, block_;
  bool open_ = false;
  std::size_t depth_ = 0;
  int exceptions_ = 0;
};

inline Index plain(const RecordedRange<Index>&, Index i) {
  return i;
}

}  // namespace detail

/// `for (Index i : nl::affine_range(nc, n))`: iterations are independent of each other, but for PSUM accumulation.
/// Bounds may be indices; an upper bound at or below the lower one runs zero times.
inline detail::RecordedRange<Index> affine_range(Builder& nc, Index lower, Index upper, const char* name = "",
                                                 Loc loc = Loc::here()) {
  return {nc, lower, upper, ir::LoopKind::affine, name, loc, &detail::plain};
}
inline detail::RecordedRange<Index> affine_range(Builder& nc, Index upper, const char* name = "",
                                                 Loc loc = Loc::here()) {
  return {nc, Index(0), upper, ir::LoopKind::affine, name, loc, &detail::plain};
}
/// The same for iterations that carry state through tiles.
inline detail::RecordedRange<Index> sequential_range(Builder& nc, Index lower, Index upper, const char* name = "",
                                                     Loc loc = Loc::here()) {
  return {nc, lower, upper, ir::LoopKind::sequential, name, loc, &detail::plain};
}
inline detail::RecordedRange<Index> sequential_range(Builder& nc, Index upper, const char* name = "",
                                                     Loc loc = Loc::here()) {
  return {nc, Index(0), upper, ir::LoopKind::sequential, name, loc, &detail::plain};
}

/// A block of an extent: where it starts and how much of it lies inside. `size` may be 0 or less for a sub-block past
/// the edge; instructions on it do not exist.
struct Block {
  Index start;
  Index size;
  Index number;  ///< which block

  /// The part [offset, offset + length) of the block, cut off at its end.
  Block part(std::int64_t offset, std::int64_t length) const {
    return {start + offset, min(Index(length), size - offset), number};
  }
};

namespace detail {
inline Block make_block(const RecordedRange<Block>& r, Index i) {
  return {i * r.block(), min(Index(r.block()), r.extent() - i * r.block()), i};
}
}  // namespace detail

/// `for (nl::Block m : nl::tiles(nc, M, 512, "m"))`: the blocks of an extent, the last one ragged.
inline detail::RecordedRange<Block> tiles(Builder& nc, std::int64_t extent, std::int64_t block, const char* name = "",
                                          Loc loc = Loc::here()) {
  if (block < 1) nc.fail(NKI_E232, "blocks of " + std::to_string(block), "1 or more", "give a block size", loc);
  return {nc,     Index(0), Index(ir::ceildiv(extent, block)), ir::LoopKind::affine, name, loc, &detail::make_block,
          extent, block};
}

}  // namespace nki::inline v0_1::nl
