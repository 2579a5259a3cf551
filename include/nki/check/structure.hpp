#pragma once

#include <nki/check/rules.hpp>
#include <nki/check/text.hpp>
#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nki::inline v0_1::check::detail {

/// Reads a program that may hold anything, so that everything after it may rely on docs/ir.md: ids that exist, nesting,
/// fields within their values, arithmetic that cannot wrap. What it finds wrong is a damaged file, not a mistake of a
/// kernel's author.
class Structure {
 public:
  /// What the rest of the check wants to know about each expression.
  struct ExprFacts {
    std::int64_t magnitude = 0;  // never exceeded, whatever value the loops' indices take on the way
    std::uint32_t first_node = 0, end_node = ir::no_id;  // where all its indices have values
  };

  /// False if anything is wrong; `out` then says what.
  bool read(const ir::Program& p, std::vector<Violation>& out) {
    program_ = &p;
    out_ = &out;
    if (p.nodes.size() >= ir::no_id || p.exprs.size() >= ir::no_id) {
      fail(NKI_E055, std::to_string(p.nodes.size()) + " nodes", "fewer than 2^32");
      return false;
    }
    read_places();
    read_buffers();
    if (!ok_) return false;
    read_loops_and_nodes();
    if (!ok_) return false;
    read_exprs();
    if (!ok_) return false;
    read_views();
    read_instrs();
    if (!ok_) return false;
    read_uses();
    return ok_;
  }

  const std::vector<ir::Range>& ranges() const { return ranges_; }
  std::vector<ir::Range>& ranges() { return ranges_; }
  const std::vector<ir::Range>& loop_ranges() const { return loop_ranges_; }
  /// The node of a loop, or no_id for one that the program does not hold.
  std::uint32_t loop_node(ir::LoopId l) const { return loop_nodes_[l]; }
  /// The first node at which all indices of a view have values: just inside the innermost loop that it depends on.
  std::uint32_t first_node_of(ir::ViewId v) const { return views_[v].first_node; }

 private:
  struct Window {
    std::uint32_t first_node = 0, end_node = ir::no_id;
    void narrow(std::uint32_t first, std::uint32_t end) {
      if (first > first_node) first_node = first;
      if (end < end_node) end_node = end;
    }
  };

  [[gnu::cold]] void fail(std::string_view text, std::string got, std::string allowed, ir::LocId loc = 0) {
    ok_ = false;
    if (out_->size() >= 16) return;
    Violation v = violation(text, static_cast<std::string&&>(got), static_cast<std::string&&>(allowed),
                            "write the file again with this version", ErrorClass::damaged_file);
    if (loc < program_->locs.size() && program_->locs[loc].file < program_->files.size()) {
      v.file = program_->files[program_->locs[loc].file];
      v.line = program_->locs[loc].line;
    }
    out_->push_back(static_cast<Violation&&>(v));
  }
  template <class N>
  [[gnu::cold]] static std::string numbered(const char* what, N n) {
    return std::string(what) + " " + std::to_string(n);
  }
  [[gnu::cold]] static std::string below(std::size_t n) { return n == 0 ? "none" : "0.." + std::to_string(n - 1); }
  /// The id of something that must exist.
  bool exists(std::uint32_t id, std::size_t count, const char* what, ir::LocId loc = 0) {
    if (id < count) return true;
    fail(NKI_E050, numbered(what, id), below(count), loc);
    return false;
  }
  bool loc_exists(ir::LocId loc) { return exists(loc, program_->locs.size(), "source location"); }

  void read_places() {
    for (const ir::SourceLoc& l : program_->locs) {
      exists(l.file, program_->files.size(), "file");
      exists(l.scope, program_->scopes.size(), "scope");
    }
    for (const ir::AttrSet& s : program_->attr_sets)
      if (std::uint64_t{s.first} + s.count > program_->attr_pool.size())
        fail(NKI_E050, numbered("attribute", std::uint64_t{s.first} + s.count), below(program_->attr_pool.size()));
  }

  void read_buffers() {
    for (const ir::Buffer& b : program_->buffers) {
      loc_exists(b.loc);
      if (b.space > ir::Space::psum || b.kind > ir::BufferKind::tile ||
          static_cast<std::size_t>(b.dtype) >= dtype_count) {
        fail(NKI_E054, "an unknown space, kind or dtype of buffer " + quoted(b.name), "those of this version", b.loc);
        continue;
      }
      if (b.rank < 1 || b.rank > ir::max_rank) {
        fail(NKI_E054, numbered("rank", int{b.rank}) + " of buffer " + quoted(b.name), "1..5", b.loc);
        continue;
      }
      std::int64_t bytes = nki::bytes(b.dtype);
      for (std::size_t i = 0; i < b.rank; ++i) {
        if (b.shape[i] < 1)
          fail(NKI_E054, numbered("extent", b.shape[i]) + " of " + quoted(b.name), "1 or more", b.loc);
        bytes = ir::detail::mul_far(bytes, b.shape[i]);
      }
      const bool on_chip = b.space != ir::Space::hbm;
      if (b.slots < 1 || b.slots > 4096 || (!on_chip && b.slots != 1))
        fail(NKI_E054, std::to_string(b.slots) + " slots of buffer " + quoted(b.name), on_chip ? "1..4096" : "1",
             b.loc);
      if (on_chip && b.kind != ir::BufferKind::tile)
        fail(NKI_E054, "argument " + quoted(b.name) + " in " + ir::name(b.space), "hbm", b.loc);
      if (ir::detail::mul_far(bytes, b.slots) >= ir::detail::far)
        fail(NKI_E055, "the bytes of buffer " + quoted(b.name), "below 2^62", b.loc);
    }
  }

  void read_loops_and_nodes() {
    const ir::Program& p = *program_;
    for (const ir::Loop& l : p.loops) {
      loc_exists(l.loc);
      if (l.kind > ir::LoopKind::while_loop)
        fail(NKI_E054, "an unknown kind of loop " + quoted(l.name), "those of this version", l.loc);
      exists(l.lower, p.exprs.size(), "expression", l.loc);
      exists(l.upper, p.exprs.size(), "expression", l.loc);
    }
    loop_nodes_.assign(p.loops.size(), ir::no_id);
    std::vector<bool> placed(p.instrs.size(), false);
    std::vector<std::uint32_t> ends;
    const auto count = static_cast<std::uint32_t>(p.nodes.size());
    for (std::uint32_t n = 0; n < count; ++n) {
      while (!ends.empty() && ends.back() <= n) ends.pop_back();
      const ir::Node& node = p.nodes[n];
      const std::uint32_t end = ends.empty() ? count : ends.back();
      switch (node.kind) {
        case ir::Node::Kind::loop:
          if (!exists(node.id, p.loops.size(), "loop")) return;
          if (node.end <= n || node.end > end)
            return fail(NKI_E052, numbered("a loop up to node", node.end),
                        std::to_string(n + 1) + ".." + std::to_string(end));
          if (loop_nodes_[node.id] != ir::no_id)
            return fail(NKI_E052, numbered("a second place for loop", node.id), "one");
          loop_nodes_[node.id] = n;
          ends.push_back(node.end);
          break;
        case ir::Node::Kind::instr:
        case ir::Node::Kind::alloc:
          if (node.end != n + 1)
            return fail(NKI_E052, numbered("node", n) + numbered(" up to", node.end), std::to_string(n + 1));
          if (node.kind == ir::Node::Kind::alloc) {
            if (!exists(node.id, p.buffers.size(), "buffer")) return;
            const ir::Buffer& b = p.buffers[node.id];
            if (b.kind != ir::BufferKind::tile)
              return fail(NKI_E056, "an alloc of argument " + quoted(b.name), "tiles", b.loc);
          } else {
            if (!exists(node.id, p.instrs.size(), "instruction")) return;
            if (placed[node.id]) return fail(NKI_E052, numbered("a second place for instruction", node.id), "one");
            placed[node.id] = true;
          }
          break;
        default:
          return fail(NKI_E054, numbered("an unknown kind of node", n), "those of this version");
      }
    }
  }

  void read_exprs() {
    using ir::detail::add_far;
    using ir::detail::mul_far;
    const ir::Program& p = *program_;
    const std::size_t count = p.exprs.size();
    exprs_.resize(count);
    ranges_.resize(count);
    loop_ranges_.resize(p.loops.size());
    const auto magnitude = [](std::int64_t c) { return c < 0 ? mul_far(c, -1) : ir::detail::clamp_far(c); };
    for (std::uint32_t i = 0; i < count; ++i) {
      const ir::Expr& e = p.exprs[i];
      ExprFacts& f = exprs_[i];
      const bool binary = e.op == ir::ExprOp::add || e.op == ir::ExprOp::min || e.op == ir::ExprOp::max;
      if (e.op > ir::ExprOp::max)
        return fail(NKI_E054, numbered("an unknown operation of expression", i), "those of this version");
      if (e.op == ir::ExprOp::index) {
        if (!exists(e.a, p.loops.size(), "loop")) return;
        const ir::Loop& l = p.loops[e.a];
        if (l.lower >= i || l.upper >= i)
          return fail(NKI_E051, numbered("index expression", i) + " of loop " + quoted(l.name), "", l.loc);
        loop_ranges_[e.a] = index_range(l);
        const std::int64_t low = exprs_[l.lower].magnitude, high = exprs_[l.upper].magnitude;
        f.magnitude = add_far(low > high ? low : high, 1);
        const std::uint32_t n = loop_nodes_[e.a];
        f.first_node = n == ir::no_id ? ir::no_id : n + 1;
        f.end_node = n == ir::no_id ? 0 : p.nodes[n].end;
      } else if (e.op == ir::ExprOp::constant) {
        f.magnitude = magnitude(e.c);
      } else {
        if (e.a >= i || (binary && e.b >= i))
          return fail(NKI_E051, numbered("expression", i), "operands below " + std::to_string(i));
        if ((e.op == ir::ExprOp::floordiv || e.op == ir::ExprOp::mod) && e.c < 1)
          return fail(NKI_E054, numbered("a division by", e.c), "1 or more");
        const ExprFacts& a = exprs_[e.a];
        f = a;
        if (binary) {
          const ExprFacts& b = exprs_[e.b];
          if (b.first_node > f.first_node) f.first_node = b.first_node;
          if (b.end_node < f.end_node) f.end_node = b.end_node;
          f.magnitude = e.op == ir::ExprOp::add     ? add_far(a.magnitude, b.magnitude)
                        : b.magnitude > a.magnitude ? b.magnitude
                                                    : a.magnitude;
        } else if (e.op == ir::ExprOp::mul) {
          f.magnitude = mul_far(a.magnitude, magnitude(e.c));
        } else if (e.op == ir::ExprOp::mod && e.c - 1 > a.magnitude) {
          f.magnitude = e.c - 1;  // of a negative number
        }
      }
      if (f.magnitude >= ir::detail::far) return fail(NKI_E055, numbered("expression", i), "below 2^62");
      ranges_[i] = ir::bound(e, ranges_.data(), loop_ranges_.data());
    }
    for (std::size_t l = 0; l < p.loops.size(); ++l) loop_ranges_[l] = index_range(p.loops[l]);
  }
  ir::Range index_range(const ir::Loop& l) const {
    const ir::Range r{ranges_[l.lower].lo, ir::detail::add_far(ranges_[l.upper].hi, -1)};
    return r.hi < r.lo ? ir::Range{r.lo, r.lo} : r;  // a loop that never runs keeps an interval
  }

  void read_views() {
    const ir::Program& p = *program_;
    views_.resize(p.views.size());
    for (std::uint32_t i = 0; i < p.views.size(); ++i) {
      const ir::View& v = p.views[i];
      if (!exists(v.buffer, p.buffers.size(), "buffer")) continue;
      const ir::Buffer& b = p.buffers[v.buffer];
      if (v.rank < 1 || v.rank > ir::max_rank) {
        fail(NKI_E054, numbered("rank", int{v.rank}) + " of a view of " + quoted(b.name), "1..5", b.loc);
        continue;
      }
      const bool on_chip = b.space != ir::Space::hbm;
      for (std::size_t d = 0; d < v.rank; ++d) {
        const ir::Dim& dim = v.dims[d];
        if (!exists(dim.start, p.exprs.size(), "expression") || !exists(dim.count, p.exprs.size(), "expression")) break;
        if (dim.axis >= b.rank)
          fail(NKI_E054, numbered("axis", int{dim.axis}) + " of " + quoted(b.name), below(b.rank), b.loc);
        else if (on_chip && (dim.axis == 0) != (d == 0))
          fail(NKI_E054,
               numbered("dimension", d) + " of a view of " + quoted(b.name) + numbered(" along axis", int{dim.axis}),
               "the first dimension, and no other, along axis 0", b.loc);
        if (dim.dropped && (ranges_[dim.count] != ir::Range{1, 1} || (on_chip && d == 0)))
          fail(NKI_E054, numbered("dropped dimension", d) + " of a view of " + quoted(b.name), "of one position",
               b.loc);
        views_[i].narrow(exprs_[dim.start].first_node, exprs_[dim.start].end_node);
        views_[i].narrow(exprs_[dim.count].first_node, exprs_[dim.count].end_node);
      }
    }
  }

  void read_instrs() {
    const ir::Program& p = *program_;
    for (std::uint32_t i = 0; i < p.instrs.size(); ++i) {
      const ir::Instr& in = p.instrs[i];
      if (!loc_exists(in.loc)) continue;
      if (static_cast<int>(in.op) >= ir::opcode_count || static_cast<int>(in.engine) >= ir::engine_count) {
        fail(NKI_E054, numbered("an unknown operation or engine of instruction", i), "those of this version", in.loc);
        continue;
      }
      const ir::OpInfo& op = ir::info(in.op);
      if (in.n_operands != op.n_operands) {
        fail(NKI_E057, std::to_string(in.n_operands) + " operands of " + op.name, std::to_string(op.n_operands),
             in.loc);
        continue;
      }
      if (std::uint64_t{in.first_operand} + in.n_operands > p.operand_pool.size()) {
        fail(NKI_E050, numbered("operand", in.first_operand) + " of " + op.name, below(p.operand_pool.size()), in.loc);
        continue;
      }
      for (int o = 0; o < in.n_operands; ++o) exists(p.operand(in, o), p.views.size(), "view", in.loc);
      if (!exists(in.attrs, p.attr_sets.size(), "attribute set", in.loc)) continue;
      if (p.attr_sets[in.attrs].count != op.n_attrs) {
        fail(NKI_E057, std::to_string(p.attr_sets[in.attrs].count) + " attributes of " + op.name,
             std::to_string(op.n_attrs), in.loc);
        continue;
      }
      for (int a = 0; a < op.n_attrs; ++a) {
        const std::int64_t value = p.attr(in, a), last = last_value(op.attrs[static_cast<std::size_t>(a)].kind);
        if (last >= 0 && (value < 0 || value > last))
          fail(NKI_E054, numbered(op.attrs[static_cast<std::size_t>(a)].name, value) + " of " + op.name,
               "0.." + std::to_string(last), in.loc);
      }
    }
  }
  /// The last value of an enumerated attribute, -1 for a number.
  static std::int64_t last_value(ir::AttrKind kind) {
    switch (kind) {
      case ir::AttrKind::boolean:
        return 1;
      case ir::AttrKind::accumulate:
        return static_cast<std::int64_t>(ir::Accumulate::auto_);
      case ir::AttrKind::dge_mode:
        return static_cast<std::int64_t>(ir::DgeMode::none);
      case ir::AttrKind::integer:
      case ir::AttrKind::number:
        break;
    }
    return -1;
  }

  /// Expressions inside the loops of their indices, tiles after their allocs and inside the loops of these.
  void read_uses() {
    const ir::Program& p = *program_;
    std::vector<Window> tiles(p.buffers.size(), Window{ir::no_id, 0});
    std::vector<std::uint32_t> ends;
    const auto count = static_cast<std::uint32_t>(p.nodes.size());
    for (std::uint32_t n = 0; n < count; ++n) {
      while (!ends.empty() && ends.back() <= n) ends.pop_back();
      const ir::Node& node = p.nodes[n];
      switch (node.kind) {
        case ir::Node::Kind::alloc:
          tiles[node.id] = {n + 1, ends.empty() ? count : ends.back()};
          break;
        case ir::Node::Kind::loop: {
          const ir::Loop& l = p.loops[node.id];
          for (const ir::ExprId e : {l.lower, l.upper})
            if (n < exprs_[e].first_node || n >= exprs_[e].end_node)
              fail(NKI_E053, "a bound of loop " + quoted(l.name), "the indices of the loops around it", l.loc);
          ends.push_back(node.end);
          break;
        }
        case ir::Node::Kind::instr: {
          const ir::Instr& in = p.instrs[node.id];
          for (int o = 0; o < in.n_operands; ++o) {
            const ir::ViewId id = p.operand(in, o);
            const ir::Buffer& b = p.buffers[p.views[id].buffer];
            if (n < views_[id].first_node || n >= views_[id].end_node)
              fail(NKI_E053, "an operand of " + std::string(ir::info(in.op).name) + " on " + quoted(b.name),
                   "the indices of the loops around it", in.loc);
            if (b.kind != ir::BufferKind::tile) continue;
            const Window& tile = tiles[p.views[id].buffer];
            if (n < tile.first_node)
              fail(NKI_E056, std::string(ir::info(in.op).name) + " of " + quoted(b.name) + " before its alloc",
                   "after it", in.loc);
            else if (n >= tile.end_node)
              outside(b, in);
          }
          break;
        }
      }
    }
  }
  [[gnu::cold]] void outside(const ir::Buffer& b, const ir::Instr& in) {
    fail(NKI_E311, "tile " + quoted(b.name) + " after the end of its loop", "inside the loop", in.loc);
    out_->back().error_class = ErrorClass::illegal;
    out_->back().hint = "declare the tile outside the loop, before it";
  }

  const ir::Program* program_ = nullptr;
  std::vector<Violation>* out_ = nullptr;
  bool ok_ = true;
  std::vector<ExprFacts> exprs_;
  std::vector<ir::Range> ranges_, loop_ranges_;
  std::vector<std::uint32_t> loop_nodes_;
  std::vector<Window> views_;
};

}  // namespace nki::inline v0_1::check::detail
