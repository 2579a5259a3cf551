#pragma once

#include <nki/ir/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace nki::inline v0_1::ir {

namespace detail {

/// A 64-bit hash of a sequence of words, the same with every compiler and on every machine.
class WordHash {
 public:
  explicit constexpr WordHash(std::uint64_t tag) { add(tag); }
  constexpr WordHash& add(std::uint64_t word) {
    state_ = ((state_ << 23 | state_ >> 41) ^ scatter(word)) * 0x9E3779B97F4A7C15ull;
    return *this;
  }
  constexpr WordHash& add_signed(std::int64_t word) { return add(static_cast<std::uint64_t>(word)); }
  constexpr std::uint64_t value() const { return scatter(state_); }

 private:
  static constexpr std::uint64_t scatter(std::uint64_t x) {
    x = (x ^ x >> 32) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 29) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
  }
  std::uint64_t state_ = 0x243F6A8885A308D3ull;
};

}  // namespace detail

/// A number that equal programs share: it covers everything that docs/ir.md gives a meaning to and nothing else, so
/// that renamed or differently numbered expressions, views and loops do not change it. The same for every run, compiler
/// and machine; files may hold it.
inline std::uint64_t hash(const Program& p) {
  using detail::WordHash;
  // What an object means, by its id. Loops count in the order of the nodes.
  std::vector<std::uint64_t> loop(p.loops.size()), expr(p.exprs.size()), view(p.views.size()),
      attrs(p.attr_sets.size());
  for (std::size_t l = 0; l < loop.size(); ++l) loop[l] = no_id + std::uint64_t{l};
  std::uint64_t n_loops = 0;
  for (const Node& n : p.nodes)
    if (n.kind == Node::Kind::loop) loop[n.id] = n_loops++;
  for (std::size_t i = 0; i < expr.size(); ++i) {
    const Expr& e = p.exprs[i];
    WordHash h(static_cast<std::uint64_t>(e.op));
    switch (e.op) {
      case ExprOp::constant:
        h.add_signed(e.c);
        break;
      case ExprOp::index:
        h.add(loop[e.a]);
        break;
      case ExprOp::add:
      case ExprOp::min:
      case ExprOp::max:
        h.add(expr[e.a]).add(expr[e.b]);
        break;
      case ExprOp::mul:
      case ExprOp::floordiv:
      case ExprOp::mod:
        h.add(expr[e.a]).add_signed(e.c);
        break;
    }
    expr[i] = h.value();
  }
  for (std::size_t i = 0; i < view.size(); ++i) {
    const View& v = p.views[i];
    WordHash h(v.buffer);
    h.add(v.rank);
    for (std::size_t d = 0; d < v.rank; ++d) {
      const Dim& dim = v.dims[d];
      h.add(expr[dim.start])
          .add(expr[dim.count])
          .add_signed(dim.step)
          .add(std::uint64_t{dim.axis} << 1 | (dim.dropped ? 1u : 0u));
    }
    view[i] = h.value();
  }
  for (std::size_t i = 0; i < attrs.size(); ++i) {
    const AttrSet& s = p.attr_sets[i];
    WordHash h(s.count);
    for (std::uint32_t a = 0; a < s.count; ++a) h.add_signed(p.attr_pool[s.first + a]);
    attrs[i] = h.value();
  }

  WordHash h(1);  // the number of this formula
  h.add(p.buffers.size());
  for (const Buffer& b : p.buffers) {
    h.add(static_cast<std::uint64_t>(b.space))
        .add(static_cast<std::uint64_t>(b.dtype))
        .add(static_cast<std::uint64_t>(b.kind));
    h.add(b.rank).add_signed(b.slots);
    for (std::size_t i = 0; i < b.rank; ++i) h.add_signed(b.shape[i]);
  }
  h.add(p.nodes.size());
  for (std::size_t n = 0; n < p.nodes.size(); ++n) {
    const Node& node = p.nodes[n];
    h.add(static_cast<std::uint64_t>(node.kind));
    switch (node.kind) {
      case Node::Kind::alloc:
        h.add(node.id);
        break;
      case Node::Kind::loop: {
        const Loop& l = p.loops[node.id];
        h.add(static_cast<std::uint64_t>(l.kind)).add(expr[l.lower]).add(expr[l.upper]).add(node.end - n);
        break;
      }
      case Node::Kind::instr: {
        const Instr& i = p.instrs[node.id];
        h.add(static_cast<std::uint64_t>(i.op) << 16 | static_cast<std::uint64_t>(i.engine) << 8 | i.n_operands);
        for (int o = 0; o < i.n_operands; ++o) {
          const ViewId v = p.operand(i, o);
          h.add(v == no_id ? no_id : view[v]);
        }
        h.add(attrs[i.attrs]);
        break;
      }
    }
  }
  return h.value();
}

}  // namespace nki::inline v0_1::ir
