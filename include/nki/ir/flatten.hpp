#pragma once

#include <nki/error.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nki::inline v0_1::ir {

namespace detail {

class Flattening {
 public:
  explicit Flattening(const Program& p) : in_(&p), constants_(out_.exprs), memo_(p.views.size()), slots_(256, no_id) {}

  Program run() && {
    const Program& p = *in_;
    out_.kernel = p.kernel;
    out_.problem = p.problem;
    out_.params = p.params;
    out_.buffers = p.buffers;
    out_.attr_pool = p.attr_pool;
    out_.attr_sets = p.attr_sets;
    out_.locs = p.locs;
    out_.files = p.files;
    out_.scopes = p.scopes;
    reserve();
    Cursor cursor(p);
    while (true) {
      switch (cursor.next()) {
        case Cursor::Event::instr:
          instr(cursor);
          break;
        case Cursor::Event::alloc:
          node(Node::Kind::alloc, cursor.id());
          break;
        case Cursor::Event::end:
          return static_cast<Program&&>(out_);
        default:
          break;
      }
    }
  }

 private:
  /// A first walk counts, because vectors that grow to size hold up to three times of it on the way.
  void reserve() {
    const Program& p = *in_;
    std::size_t nodes = 0, instrs = 0, operands = 0;
    Cursor cursor(p);
    for (Cursor::Event e = cursor.next(); e != Cursor::Event::end; e = cursor.next()) {
      if (e == Cursor::Event::alloc) ++nodes;
      if (e != Cursor::Event::instr) continue;
      ++nodes;
      ++instrs;
      operands += p.instrs[cursor.id()].n_operands;
    }
    NKI_ASSERT(nodes < no_id && operands < no_id, "a flat program numbers its parts in 32 bits");
    out_.nodes.reserve(nodes);
    out_.instrs.reserve(instrs);
    out_.operand_pool.reserve(operands);
  }

  void node(Node::Kind kind, std::uint32_t id) {
    out_.nodes.push_back({kind, id, static_cast<std::uint32_t>(out_.nodes.size() + 1)});
  }

  void instr(const Cursor& cursor) {
    Instr i = in_->instrs[cursor.id()];
    const std::uint32_t first = i.first_operand;
    i.first_operand = static_cast<std::uint32_t>(out_.operand_pool.size());
    for (std::uint32_t o = 0; o < i.n_operands; ++o) {
      const ViewId v = in_->operand_pool[first + o];
      out_.operand_pool.push_back(v == no_id ? no_id : view(v, cursor));
    }
    node(Node::Kind::instr, static_cast<std::uint32_t>(out_.instrs.size()));
    out_.instrs.push_back(i);
  }

  /// What a view of the rolled program came to when it was last met: most operands do not change between two uses.
  struct Memo {
    std::array<std::int64_t, 2 * max_rank> values{};
    ViewId flat = no_id;
  };

  ViewId view(ViewId id, const Cursor& cursor) {
    const View& v = in_->views[id];
    Memo& memo = memo_[id];
    bool same = memo.flat != no_id;
    for (std::size_t d = 0; d < v.rank; ++d) {
      const std::int64_t start = cursor.value(v.dims[d].start), count = cursor.value(v.dims[d].count);
      same = same && memo.values[2 * d] == start && memo.values[2 * d + 1] == count;
      memo.values[2 * d] = start;
      memo.values[2 * d + 1] = count;
    }
    if (same) return memo.flat;
    View flat;
    flat.buffer = v.buffer;
    flat.rank = v.rank;
    for (std::size_t d = 0; d < v.rank; ++d) {
      flat.dims[d] = v.dims[d];
      flat.dims[d].start = constants_.constant(memo.values[2 * d]);
      flat.dims[d].count = constants_.constant(memo.values[2 * d + 1]);
    }
    memo.flat = intern(flat);
    return memo.flat;
  }

  static std::uint64_t mix(const View& v) {
    std::uint64_t h = v.buffer;
    for (std::size_t d = 0; d < v.rank; ++d) {
      const Dim& dim = v.dims[d];
      h = (h ^ (std::uint64_t{dim.start} << 32 | dim.count)) * 0x9E3779B97F4A7C15ull;
      h = (h ^ h >> 29 ^ static_cast<std::uint32_t>(dim.step) ^ std::uint64_t{dim.axis} << 32) * 0xD6E8FEB86659FD93ull;
    }
    return h ^ h >> 32;
  }
  ViewId intern(const View& v) {
    std::uint64_t at = mix(v) & (slots_.size() - 1);
    for (; slots_[at] != no_id; at = (at + 1) & (slots_.size() - 1))
      if (out_.views[slots_[at]] == v) return slots_[at];
    const auto id = static_cast<ViewId>(out_.views.size());
    out_.views.push_back(v);
    slots_[at] = id;
    if (out_.views.size() * 2 > slots_.size()) grow();
    return id;
  }
  void grow() {
    std::vector<ViewId> bigger(slots_.size() * 4, no_id);
    for (ViewId id = 0; id < out_.views.size(); ++id) {
      std::uint64_t at = mix(out_.views[id]) & (bigger.size() - 1);
      while (bigger[at] != no_id) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = id;
    }
    slots_.swap(bigger);
  }

  const Program* in_;
  Program out_;
  ExprPool constants_;
  std::vector<Memo> memo_;
  std::vector<ViewId> slots_;
};

}  // namespace detail

/// The flat expansion of a program: every instruction that exists, in order, with numbers for its operands, and the
/// allocs between them. It means what the program means, and a flat program is its own expansion.
///
/// Size:   40 bytes an instruction of three operands, and 88 bytes for each view that differs from all others.
/// Speed:  some millions of instructions per second.
inline Program flatten(const Program& p) {
  return detail::Flattening(p).run();
}

}  // namespace nki::inline v0_1::ir
