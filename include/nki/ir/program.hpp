#pragma once

#include <nki/dtype.hpp>
#include <nki/ir/expr.hpp>
#include <nki/ir/ops.hpp>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

/// The program that a kernel records. Plain data: no virtual functions, no pointers, cheap to copy, hash and save.
/// Its meaning is docs/ir.md; every consumer reads this and never the C++.
namespace nki::inline v0_1::ir {

using BufferId = std::uint32_t;
using ViewId = std::uint32_t;
using InstrId = std::uint32_t;
using LocId = std::uint32_t;
using AttrSetId = std::uint32_t;

inline constexpr int max_rank = 5;

enum class Space : std::uint8_t { hbm, sbuf, psum };
enum class BufferKind : std::uint8_t { input, output, tile };
enum class LoopKind : std::uint8_t {
  affine,         ///< iterations are independent
  sequential,     ///< iterations may carry state through tiles
  register_loop,  ///< a device loop with a bound in a register
  while_loop      ///< a device loop with a condition in a register
};

constexpr const char* name(Space s) {
  return s == Space::hbm ? "hbm" : s == Space::sbuf ? "sbuf" : "psum";
}
constexpr const char* name(BufferKind k) {
  return k == BufferKind::input ? "input" : k == BufferKind::output ? "output" : "tile";
}
constexpr const char* name(LoopKind k) {
  switch (k) {
    case LoopKind::affine:
      return "affine";
    case LoopKind::sequential:
      return "sequential";
    case LoopKind::register_loop:
      return "register_loop";
    case LoopKind::while_loop:
      return "while_loop";
  }
  return "affine";
}

/// A pool of `slots` equal pieces of storage. Axis 0 of an on-chip buffer is the partition axis; the other axes lie in
/// each partition in row-major order. HBM buffers are row-major and have one slot.
struct Buffer {
  std::string name;
  Space space = Space::sbuf;
  DType dtype = DType::f32;
  BufferKind kind = BufferKind::tile;
  std::uint8_t rank = 0;
  std::array<std::int64_t, max_rank> shape{};
  std::int32_t slots = 1;
  LocId loc = 0;

  /// Elements in one partition (on chip) or in all (HBM, counted from axis 0).
  constexpr std::int64_t elems(int first_axis) const {
    std::int64_t n = 1;
    for (int i = first_axis; i < rank; ++i) n *= shape[static_cast<std::size_t>(i)];
    return n;
  }
  constexpr std::int64_t bytes_pp() const { return elems(1) * nki::bytes(dtype); }
  /// Elements between neighbours along an axis, in row-major order of the whole buffer.
  constexpr std::int64_t axis_stride(int axis) const { return elems(axis + 1); }
};

/// One dimension of a view: `count` positions start, start + step, ... along an axis of the buffer. Several dimensions
/// may walk the same axis; an axis that no_id walks stays at 0.
struct Dim {
  ExprId start = 0;
  ExprId count = 0;
  std::int32_t step = 1;
  std::uint8_t axis = 0;
  /// Dropped dimensions (an integer index) have count 1 and do not belong to the shape of the view.
  bool dropped = false;
  friend constexpr bool operator==(const Dim&, const Dim&) = default;
};

/// What one operand touches: the elements of a buffer's current instance, in row-major order of the dimensions.
struct View {
  BufferId buffer = 0;
  std::uint8_t rank = 0;  ///< dimensions, dropped ones included
  std::array<Dim, max_rank> dims{};
  friend constexpr bool operator==(const View&, const View&) = default;
};

/// One recorded instruction: its operands are `operand_pool[first_operand ...]`, in the order of its row in the table
/// of operations (`no_id` for an optional operand that is absent).
struct Instr {
  Opcode op = Opcode::memset;
  Engine engine = Engine::unknown;  ///< where it runs; for a DMA, the engine whose queue triggers it
  std::uint8_t n_operands = 0;
  std::uint32_t first_operand = 0;
  AttrSetId attrs = 0;
  LocId loc = 0;
};

/// `for index in range(lower, upper)`; upper <= lower runs zero times.
struct Loop {
  std::string name;
  ExprId lower = 0, upper = 0;
  LoopKind kind = LoopKind::affine;
  LocId loc = 0;
};

/// The program in pre-order. A loop owns the nodes (i, end); other nodes have end == i + 1. An `alloc` node starts the
/// next instance of its buffer.
struct Node {
  enum class Kind : std::uint8_t { instr, loop, alloc };
  Kind kind = Kind::instr;
  std::uint32_t id = 0;
  std::uint32_t end = 0;
};

struct SourceLoc {
  std::uint32_t file = 0;  ///< index into Program::files
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t scope = 0;  ///< index into Program::scopes; 0 is the empty scope
};

/// Values of the attributes of an instruction, in the order of its row; doubles as their bits.
struct AttrSet {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Program {
  std::string kernel;
  std::string problem;  ///< "m=2048,n=6144,k=4096 layout=lhs", for reports only
  std::string params;   ///< "tiles_m=4,...", for reports only
  std::vector<Buffer> buffers;
  std::vector<Expr> exprs;
  std::vector<Loop> loops;
  std::vector<View> views;
  std::vector<ViewId> operand_pool;
  std::vector<std::int64_t> attr_pool;
  std::vector<AttrSet> attr_sets;
  std::vector<Instr> instrs;
  std::vector<Node> nodes;
  std::vector<SourceLoc> locs;
  std::vector<std::string> files;
  std::vector<std::string> scopes;

  ViewId operand(const Instr& i, int n) const { return operand_pool[i.first_operand + static_cast<std::uint32_t>(n)]; }
  std::int64_t attr(const Instr& i, int n) const {
    return attr_pool[attr_sets[i.attrs].first + static_cast<std::uint32_t>(n)];
  }
  double attr_double(const Instr& i, int n) const { return std::bit_cast<double>(attr(i, n)); }
};

/// The interval of every expression of a program, from its loops' bounds alone.
inline std::vector<Range> expression_ranges(const Program& p) {
  std::vector<Range> ranges(p.exprs.size());
  std::vector<Range> loop_range(p.loops.size());
  std::vector<bool> known(p.loops.size(), false);
  for (std::size_t i = 0; i < p.exprs.size(); ++i) {
    const Expr& e = p.exprs[i];
    if (e.op == ExprOp::index && !known[e.a]) {
      const Loop& l = p.loops[e.a];
      loop_range[e.a] = {ranges[l.lower].lo, detail::add_far(ranges[l.upper].hi, -1)};
      if (loop_range[e.a].hi < loop_range[e.a].lo) loop_range[e.a].hi = loop_range[e.a].lo;  // a zero-trip loop
      known[e.a] = true;
    }
    ranges[i] = bound(e, ranges.data(), loop_range.data());
  }
  return ranges;
}

}  // namespace nki::inline v0_1::ir
