#pragma once

#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>
#include <nki/machine/cells.hpp>
#include <nki/machine/program.hpp>

#include <cstdint>
#include <vector>

namespace nki::inline v0_1::machine {

using StreamMask = std::uint32_t;

/// Which passes through a loop's body can repeat each other: those whose index moves nothing that is ever waited for,
/// as long as no extent or trip count changes.
class LoopPasses {
 public:
  LoopPasses(const ir::Program& p, const ir::Cursor& cursor, const CellMap& cells)
      : program_(&p), loops_(p.loops.size()) {
    std::vector<std::vector<std::uint8_t>> depends(p.loops.size(), std::vector<std::uint8_t>(p.exprs.size()));
    for (ir::LoopId l = 0; l < p.loops.size(); ++l)
      for (ir::ExprId e : cursor.dependents(l)) depends[l][e] = 1;
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
      if (p.nodes[n].kind != ir::Node::Kind::loop) continue;
      const ir::LoopId l = p.nodes[n].id;
      Facts& f = loops_[l];
      f.node = n;
      f.may_repeat = true;
      for (std::uint32_t m = n + 1; m < p.nodes[n].end; ++m) {
        const ir::Node& node = p.nodes[m];
        if (node.kind == ir::Node::Kind::loop) {
          if (depends[l][p.loops[node.id].lower] != 0) vary(f, p.loops[node.id].lower);
          if (depends[l][p.loops[node.id].upper] != 0) vary(f, p.loops[node.id].upper);
        }
        if (node.kind != ir::Node::Kind::instr) continue;
        const ir::Instr& in = p.instrs[node.id];
        f.streams |= StreamMask{1} << static_cast<unsigned>(stream_of(in.engine));
        for (int o = 0; o < in.n_operands; ++o) {
          const ir::View& v = p.views[p.operand(in, o)];
          for (int d = 0; d < v.rank; ++d) {
            const ir::Dim& dim = v.dims[static_cast<std::size_t>(d)];
            if (depends[l][dim.count] != 0) vary(f, dim.count);
            if (depends[l][dim.start] != 0 && cells.tracked(v.buffer)) f.may_repeat = false;
          }
        }
      }
    }
  }

  bool may_repeat(ir::LoopId l) const { return loops_[l].may_repeat; }
  /// Streams with instructions in the body.
  StreamMask streams(ir::LoopId l) const { return loops_[l].streams; }

  /// The first index after `from` at which the body may do something else than at `from`.
  std::int64_t uniform_until(const ir::Cursor& cursor, ir::LoopId l, std::int64_t from) const {
    const std::int64_t upper = cursor.loop_upper(l);
    if (loops_[l].varying.empty()) return upper;
    for (std::int64_t tail = 0; tail < 2; ++tail)
      if (upper - tail > from && uniform(cursor, l, from, upper - tail)) return upper - tail;
    std::int64_t good = from + 1, bad = upper - 1;  // [from, good) is uniform, [from, bad) is not
    while (bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (uniform(cursor, l, from, middle) ? good : bad) = middle;
    }
    return good;
  }

 private:
  struct Facts {
    bool may_repeat = false;
    StreamMask streams = 0;
    std::uint32_t node = 0;
    std::vector<ir::ExprId> varying;  ///< counts and bounds inside that depend on the index
  };

  static void vary(Facts& f, ir::ExprId e) {
    for (ir::ExprId x : f.varying)
      if (x == e) return;
    f.varying.push_back(e);
  }

  /// Whether every varying count and bound has one value for all indices in [from, to), as far as intervals tell.
  bool uniform(const ir::Cursor& cursor, ir::LoopId l, std::int64_t from, std::int64_t to) const {
    const ir::Program& p = *program_;
    std::vector<ir::Range> ranges(p.exprs.size()), index(p.loops.size());
    std::vector<std::uint8_t> inside(p.loops.size());
    const std::uint32_t n = loops_[l].node;
    for (std::uint32_t m = n + 1; m < p.nodes[n].end; ++m)
      if (p.nodes[m].kind == ir::Node::Kind::loop) inside[p.nodes[m].id] = 1;
    for (ir::ExprId e = 0; e < p.exprs.size(); ++e) {
      const ir::Expr& x = p.exprs[e];
      if (x.op == ir::ExprOp::index) {
        if (x.a == l) {
          index[x.a] = {from, to - 1};
        } else if (inside[x.a] != 0) {
          index[x.a] = {ranges[p.loops[x.a].lower].lo, ranges[p.loops[x.a].upper].hi - 1};
          if (index[x.a].hi < index[x.a].lo) index[x.a].hi = index[x.a].lo;
        } else {
          index[x.a] = {cursor.loop_index(x.a), cursor.loop_index(x.a)};
        }
      }
      ranges[e] = ir::bound(x, ranges.data(), index.data());
    }
    for (ir::ExprId e : loops_[l].varying)
      if (!ranges[e].is_point()) return false;
    return true;
  }

  const ir::Program* program_;
  std::vector<Facts> loops_;
};

}  // namespace nki::inline v0_1::machine
