#pragma once

#include <nki/ir/program.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nki::inline v0_1::check::detail {

/// Looks for an iteration with a property that intervals can refute: boxes of loop indices are cut in halves until the
/// property is refuted for the whole of a box or the box is one iteration. Where only the edges of a loop are in doubt,
/// that takes a number of steps like the logarithm of its length.
class Search {
 public:
  enum class Answer : std::uint8_t { never, found, undecided };

  /// `ranges` are the intervals of all expressions; a search narrows some of them and `restore` puts them back.
  Search(const ir::Program& p, std::vector<ir::Range>& ranges, const std::vector<ir::Range>& loop_ranges)
      : program_(&p), ranges_(&ranges), loops_(loop_ranges), marked_(p.exprs.size(), 0), listed_(p.loops.size(), 0) {}

  /// Adds an expression, and the loops that it depends on, to what the next search narrows.
  void depend_on(ir::ExprId e) {
    if (marked_[e] != 0 || (*ranges_)[e].is_point()) return;
    mark(e);
  }
  /// Adds a loop, for whether it runs at all.
  void depend_on_loop(ir::LoopId l) { list(l); }

  /// Looks for an iteration of the loops for which `holds()`, a function of the narrowed intervals, is true. It must
  /// answer true where the intervals leave it open. On `found`, they are those of the iteration until `restore`.
  template <class Holds>
  Answer run(Holds&& holds) {
    collect();
    if (axes_.size() > 64) return Answer::undecided;
    boxes_.clear();
    for (const ir::LoopId l : axes_) boxes_.push_back(loops_[l]);
    const std::size_t width = axes_.size();
    const std::int64_t price = static_cast<std::int64_t>(order_.size() + width) + 16;
    do {
      budget_ -= price;
      if (budget_ < 0) return Answer::undecided;
      const std::size_t top = boxes_.size() - width;
      for (std::size_t i = 0; i < width; ++i) loops_[axes_[i]] = boxes_[top + i];
      boxes_.resize(top);
      if (!narrow() || !holds()) continue;
      std::size_t widest = width;
      std::uint64_t most = 0;
      for (std::size_t i = 0; i < width; ++i) {
        const ir::Range r = loops_[axes_[i]];
        const std::uint64_t extent = static_cast<std::uint64_t>(r.hi) - static_cast<std::uint64_t>(r.lo);
        if (extent > most) {
          most = extent;
          widest = i;
        }
      }
      if (widest == width) return Answer::found;
      // The lower half is looked at first, so that the first such iteration is likely to be the one found.
      const ir::Range whole = loops_[axes_[widest]];
      const std::int64_t middle = whole.lo + static_cast<std::int64_t>(most / 2);
      for (const ir::Range half : {ir::Range{middle + 1, whole.hi}, ir::Range{whole.lo, middle}})
        for (std::size_t i = 0; i < width; ++i) boxes_.push_back(i == widest ? half : loops_[axes_[i]]);
    } while (!boxes_.empty());
    return Answer::never;
  }

  /// The index of a loop that the last search depended on.
  ir::Range loop(ir::LoopId l) const { return loops_[l]; }

  /// Undoes the last search and forgets what it depended on.
  void restore() {
    for (std::size_t i = 0; i < saved_.size(); ++i) (*ranges_)[order_[i]] = saved_[i];
    for (std::size_t i = 0; i < saved_loops_.size(); ++i) loops_[axes_[i]] = saved_loops_[i];
    for (const ir::ExprId e : order_) marked_[e] = 0;
    for (const ir::LoopId l : axes_) listed_[l] = 0;
    for (auto* list : {&order_, &axes_}) list->clear();
    saved_.clear();
    saved_loops_.clear();
    highest_ = 0;
  }

 private:
  void mark(ir::ExprId e) {
    marked_[e] = 1;
    if (e >= highest_) highest_ = e + 1;
  }
  void list(ir::LoopId l) {
    if (listed_[l] != 0) return;
    listed_[l] = 1;
    axes_.push_back(l);
    depend_on(program_->loops[l].lower);
    depend_on(program_->loops[l].upper);
  }

  /// The expressions to evaluate, in order. Operands have smaller ids than their users, and the bounds of a loop than
  /// its index.
  void collect() {
    for (ir::ExprId e = highest_; e-- > 0;) {
      if (marked_[e] == 0) continue;
      order_.push_back(e);
      const ir::Expr& x = program_->exprs[e];
      switch (x.op) {
        case ir::ExprOp::constant:
          break;
        case ir::ExprOp::index:
          list(x.a);
          break;
        case ir::ExprOp::add:
        case ir::ExprOp::min:
        case ir::ExprOp::max:
          depend_on(x.b);
          [[fallthrough]];
        case ir::ExprOp::mul:
        case ir::ExprOp::floordiv:
        case ir::ExprOp::mod:
          depend_on(x.a);
          break;
      }
    }
    budget_ -= highest_ / 8;
    for (std::size_t i = 0, j = order_.size(); i + 1 < j; ++i) {
      const ir::ExprId e = order_[i];
      order_[i] = order_[--j];
      order_[j] = e;
    }
    for (const ir::ExprId e : order_) saved_.push_back((*ranges_)[e]);
    for (const ir::LoopId l : axes_) saved_loops_.push_back(loops_[l]);
  }

  /// Evaluates the expressions in the box; false where no iteration of the loops lies in it.
  bool narrow() {
    for (const ir::ExprId e : order_) {
      const ir::Expr& x = program_->exprs[e];
      if (x.op == ir::ExprOp::index && !clip(x.a)) return false;
      (*ranges_)[e] = ir::bound(x, ranges_->data(), loops_.data());
    }
    for (const ir::LoopId l : axes_)
      if (!clip(l)) return false;
    return true;
  }
  bool clip(ir::LoopId l) {
    const std::int64_t lower = (*ranges_)[program_->loops[l].lower].lo, upper = (*ranges_)[program_->loops[l].upper].hi;
    ir::Range& r = loops_[l];
    if (r.lo < lower) r.lo = lower;
    if (r.hi >= upper) r.hi = upper - 1;
    return r.lo <= r.hi;
  }

  const ir::Program* program_;
  std::vector<ir::Range>* ranges_;
  std::vector<ir::Range> loops_;  // of all loops; those of axes_ narrowed to the box
  std::vector<std::uint8_t> marked_, listed_;
  std::vector<ir::ExprId> order_;
  std::vector<ir::LoopId> axes_;
  std::vector<ir::Range> boxes_;  // axes_.size() intervals a box, the next one last
  std::vector<ir::Range> saved_, saved_loops_;
  ir::ExprId highest_ = 0;
  std::int64_t budget_ = std::int64_t{1} << 24;
};

}  // namespace nki::inline v0_1::check::detail
