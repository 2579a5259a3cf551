#pragma once

#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace nki::inline v0_1::machine {

/// Buffers cut into cells, so that dependences go by bytes: every axis is cut at the common divisor of all starts along
/// it, and then two accesses that share a cell overlap. Buffers whose accesses cannot depend on each other (inputs;
/// outputs whose writes never meet) are not tracked.
class CellMap {
 public:
  explicit CellMap(const ir::Program& p) : program_(&p), buffers_(p.buffers.size()), views_(p.views.size()) {
    cut();
    const std::vector<ir::Range> ranges = ir::expression_ranges(p);
    for (ir::ViewId v = 0; v < p.views.size(); ++v) prepare(v, ranges);
  }

  bool tracked(ir::BufferId b) const { return buffers_[b].tracked; }
  std::uint32_t first(ir::BufferId b) const { return buffers_[b].first; }
  std::uint32_t per_slot(ir::BufferId b) const { return buffers_[b].per_slot; }
  std::uint32_t total() const { return total_; }

  /// Calls fn(cell) for the cells that a view touches in the current instance of its buffer.
  template <class Fn>
  void for_each(const ir::Cursor& cursor, ir::ViewId id, Fn&& fn) const {
    const ir::View& v = program_->views[id];
    const BufferCells& b = buffers_[v.buffer];
    if (!b.tracked) return;
    const std::uint32_t base = b.first + b.per_slot * static_cast<std::uint32_t>(cursor.slot(v.buffer));
    const ViewCells& c = views_[id];
    if (c.fixed) {
      for (std::uint32_t i = 0; i < c.count; ++i) fn(base + list_[c.begin + i]);
    } else {
      walk(cursor, b, v, [&](std::uint32_t cell) { fn(base + cell); });
    }
  }

 private:
  struct BufferCells {
    bool tracked = false;
    std::uint32_t first = 0;
    std::uint32_t per_slot = 0;
    std::array<std::int64_t, ir::max_rank> grain{1, 1, 1, 1, 1};
    std::array<std::uint32_t, ir::max_rank> stride{};
  };
  struct ViewCells {
    bool fixed = false;  ///< the cells do not depend on the loops: they stand in `list_`
    std::uint32_t begin = 0, count = 0;
  };

  /// A number that divides every value of each expression.
  static std::vector<std::int64_t> divisors(const std::vector<ir::Expr>& exprs) {
    std::vector<std::int64_t> d(exprs.size());
    for (std::size_t e = 0; e < exprs.size(); ++e) {
      const ir::Expr& x = exprs[e];
      switch (x.op) {
        case ir::ExprOp::constant:
          d[e] = x.c;
          break;
        case ir::ExprOp::index:
          d[e] = 1;
          break;
        case ir::ExprOp::mul:
          d[e] = ir::detail::mul_far(d[x.a], x.c);
          break;
        case ir::ExprOp::add:
        case ir::ExprOp::min:
        case ir::ExprOp::max:
          d[e] = std::gcd(d[x.a], d[x.b]);
          break;
        case ir::ExprOp::mod:
          d[e] = std::gcd(d[x.a], x.c);
          break;
        case ir::ExprOp::floordiv:
          d[e] = 1;
          break;
      }
    }
    return d;
  }

  void cut() {
    const ir::Program& p = *program_;
    std::vector<std::uint8_t> read(p.buffers.size()), written(p.buffers.size());
    std::vector<std::array<std::int64_t, ir::max_rank>> grain(p.buffers.size());
    const std::vector<std::int64_t> divisor = divisors(p.exprs);
    for (const ir::Instr& in : p.instrs)
      for (int o = 0; o < in.n_operands; ++o)
        (ir::info(in.op).operands[static_cast<std::size_t>(o)].access == ir::Access::read
             ? read
             : written)[p.views[p.operand(in, o)].buffer] = 1;
    for (const ir::View& v : p.views) {
      std::array<std::int64_t, ir::max_rank> start{};
      for (int d = 0; d < v.rank; ++d) {
        const ir::Dim& dim = v.dims[static_cast<std::size_t>(d)];
        start[dim.axis] = std::gcd(start[dim.axis], divisor[dim.start]);
      }
      for (std::size_t x = 0; x < ir::max_rank; ++x) grain[v.buffer][x] = std::gcd(grain[v.buffer][x], start[x]);
    }
    for (ir::BufferId b = 0; b < p.buffers.size(); ++b) {
      const ir::Buffer& buffer = p.buffers[b];
      BufferCells& c = buffers_[b];
      std::array<std::int64_t, ir::max_rank> n{1, 1, 1, 1, 1};
      for (std::size_t x = 0; x < buffer.rank; ++x) {
        c.grain[x] = grain[b][x] == 0 ? buffer.shape[x] : grain[b][x];
        n[x] = ir::ceildiv(buffer.shape[x], c.grain[x]);
      }
      // A buffer cut too finely is cut coarser: then neighbours may wait for each other without need.
      const auto total = [&] { return n[0] * n[1] * n[2] * n[3] * n[4]; };
      while (total() > max_cells) {
        std::size_t longest = 0;
        for (std::size_t x = 1; x < buffer.rank; ++x)
          if (n[x] > n[longest]) longest = x;
        c.grain[longest] *= 2;
        n[longest] = ir::ceildiv(buffer.shape[longest], c.grain[longest]);
      }
      std::uint32_t stride = 1;
      for (int x = buffer.rank - 1; x >= 0; --x) {
        c.stride[static_cast<std::size_t>(x)] = stride;
        stride *= static_cast<std::uint32_t>(n[static_cast<std::size_t>(x)]);
      }
      c.per_slot = stride;
      c.tracked = written[b] != 0 && (read[b] != 0 || buffer.space != ir::Space::hbm || writes_meet(b));
      if (!c.tracked) continue;
      c.first = total_;
      total_ += c.per_slot * static_cast<std::uint32_t>(buffer.slots);
    }
  }

  /// Whether two writes to an HBM buffer that nothing reads may meet: then their order matters.
  bool writes_meet(ir::BufferId b) const {
    const ir::Program& p = *program_;
    ir::Program part;  // the loops around the writes, and the writes
    part.exprs = p.exprs;
    part.loops = p.loops;
    part.views = p.views;
    std::vector<std::uint8_t> keep(p.nodes.size());
    std::vector<std::uint32_t> open, instr(p.instrs.size());
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
      while (!open.empty() && p.nodes[open.back()].end <= n) open.pop_back();
      if (p.nodes[n].kind == ir::Node::Kind::loop) open.push_back(n);
      if (p.nodes[n].kind != ir::Node::Kind::instr) continue;
      const ir::Instr& in = p.instrs[p.nodes[n].id];
      if (p.views[p.operand(in, 0)].buffer != b) continue;
      instr[p.nodes[n].id] = static_cast<std::uint32_t>(part.instrs.size());
      part.instrs.push_back(in);
      part.instrs.back().n_operands = 1;
      part.instrs.back().first_operand = static_cast<std::uint32_t>(part.operand_pool.size());
      part.operand_pool.push_back(p.operand(in, 0));
      keep[n] = 1;
      for (std::uint32_t o : open) keep[o] = 1;
    }
    std::vector<std::uint32_t> place(p.nodes.size() + 1);
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) place[n + 1] = place[n] + keep[n];
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n)
      if (keep[n] != 0)
        part.nodes.push_back({p.nodes[n].kind,
                              p.nodes[n].kind == ir::Node::Kind::instr ? instr[p.nodes[n].id] : p.nodes[n].id,
                              place[p.nodes[n].end]});

    std::vector<std::uint8_t> seen(buffers_[b].per_slot);
    ir::Cursor cursor(part);
    for (int left = max_write_walk;; --left) {
      ir::Cursor::Event e = cursor.next();
      while (e != ir::Cursor::Event::instr && e != ir::Cursor::Event::end) e = cursor.next();
      if (e == ir::Cursor::Event::end) return false;
      if (left == 0) return true;
      bool twice = false;
      walk(cursor, buffers_[b], p.views[part.operand_pool[cursor.id()]], [&](std::uint32_t cell) {
        twice = twice || seen[cell] != 0;
        seen[cell] = 1;
      });
      if (twice) return true;
    }
  }

  void prepare(ir::ViewId id, const std::vector<ir::Range>& ranges) {
    const ir::View& v = program_->views[id];
    ViewCells& c = views_[id];
    if (!buffers_[v.buffer].tracked) return;
    for (int d = 0; d < v.rank; ++d) {
      const ir::Dim& dim = v.dims[static_cast<std::size_t>(d)];
      if (!ranges[dim.start].is_point() || !ranges[dim.count].is_point() || ranges[dim.count].lo <= 0) return;
    }
    c.fixed = true;
    c.begin = static_cast<std::uint32_t>(list_.size());
    struct Constants {
      const std::vector<ir::Range>* ranges;
      std::int64_t value(ir::ExprId e) const { return (*ranges)[e].lo; }
    };
    walk(Constants{&ranges}, buffers_[v.buffer], v, [&](std::uint32_t cell) { list_.push_back(cell); });
    c.count = static_cast<std::uint32_t>(list_.size()) - c.begin;
  }

  template <class Values, class Fn>
  static void walk(const Values& values, const BufferCells& b, const ir::View& v, Fn&& fn) {
    std::array<std::int64_t, ir::max_rank> lo{}, hi{};
    for (int d = 0; d < v.rank; ++d) {
      const ir::Dim& dim = v.dims[static_cast<std::size_t>(d)];
      const std::int64_t start = values.value(dim.start), count = values.value(dim.count);
      lo[dim.axis] += start;
      hi[dim.axis] += start + (count - 1) * dim.step;
    }
    for (std::size_t x = 0; x < ir::max_rank; ++x) {
      lo[x] /= b.grain[x];
      hi[x] /= b.grain[x];
    }
    std::array<std::int64_t, ir::max_rank> i = lo;
    for (i[0] = lo[0]; i[0] <= hi[0]; ++i[0])
      for (i[1] = lo[1]; i[1] <= hi[1]; ++i[1])
        for (i[2] = lo[2]; i[2] <= hi[2]; ++i[2])
          for (i[3] = lo[3]; i[3] <= hi[3]; ++i[3])
            for (i[4] = lo[4]; i[4] <= hi[4]; ++i[4])
              fn(static_cast<std::uint32_t>(i[0]) * b.stride[0] + static_cast<std::uint32_t>(i[1]) * b.stride[1] +
                 static_cast<std::uint32_t>(i[2]) * b.stride[2] + static_cast<std::uint32_t>(i[3]) * b.stride[3] +
                 static_cast<std::uint32_t>(i[4]) * b.stride[4]);
  }

  static constexpr std::int64_t max_cells = 65536;
  static constexpr int max_write_walk = 1 << 20;

  const ir::Program* program_;
  std::vector<BufferCells> buffers_;
  std::vector<ViewCells> views_;
  std::vector<std::uint32_t> list_;
  std::uint32_t total_ = 0;
};

}  // namespace nki::inline v0_1::machine
