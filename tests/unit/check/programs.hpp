#pragma once

#include <nki/arch.hpp>
#include <nki/check/instruction.hpp>
#include <nki/check/verify.hpp>
#include <nki/ir/program.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

/// Programs made field by field, so that tests reach what a Builder refuses to record.
namespace check_test {

namespace arch = nki::arch;
namespace check = nki::check;
namespace ir = nki::ir;
using nki::Arch;
using nki::DType;
using nki::Violation;

class Maker {
 public:
  ir::Program p;

  Maker() {
    p.kernel = "test";
    p.files = {"", "kernel.cpp"};
    p.scopes = {""};
    p.locs = {{}};
    p.attr_sets = {{0, 0}};
  }

  ir::ExprId expr(ir::ExprOp op, std::uint32_t a, std::uint32_t b = 0, std::int64_t c = 0) {
    p.exprs.push_back({op, a, b, c});
    return static_cast<ir::ExprId>(p.exprs.size() - 1);
  }
  ir::ExprId number(std::int64_t c) { return expr(ir::ExprOp::constant, 0, 0, c); }
  ir::ExprId add(ir::ExprId a, ir::ExprId b) { return expr(ir::ExprOp::add, a, b); }
  ir::ExprId mul(ir::ExprId a, std::int64_t c) { return expr(ir::ExprOp::mul, a, 0, c); }
  ir::ExprId min(ir::ExprId a, ir::ExprId b) { return expr(ir::ExprOp::min, a, b); }

  /// Opens a loop and returns its index; close() ends it.
  ir::ExprId open(ir::ExprId lower, ir::ExprId upper) {
    const auto id = static_cast<ir::LoopId>(p.loops.size());
    p.loops.push_back({"i" + std::to_string(id), lower, upper, ir::LoopKind::affine, line()});
    open_.push_back(p.nodes.size());
    p.nodes.push_back({ir::Node::Kind::loop, id, 0});
    return expr(ir::ExprOp::index, id);
  }
  ir::ExprId open(std::int64_t upper) {
    const ir::ExprId lower = number(0), end = number(upper);
    return open(lower, end);
  }
  void close() {
    p.nodes[open_.back()].end = node_count();
    open_.pop_back();
  }

  ir::BufferId tile(ir::Space space, DType dtype, std::vector<std::int64_t> shape, std::int32_t slots = 1) {
    const ir::BufferId b = buffer(space, ir::BufferKind::tile, dtype, shape, slots);
    p.nodes.push_back({ir::Node::Kind::alloc, b, node_count() + 1});
    return b;
  }
  ir::BufferId sbuf(DType dtype, std::vector<std::int64_t> shape) { return tile(ir::Space::sbuf, dtype, shape); }
  ir::BufferId psum(DType dtype, std::vector<std::int64_t> shape) { return tile(ir::Space::psum, dtype, shape); }
  ir::BufferId argument(ir::BufferKind kind, DType dtype, std::vector<std::int64_t> shape) {
    return buffer(ir::Space::hbm, kind, dtype, shape, 1);
  }
  ir::BufferId input(DType dtype, std::vector<std::int64_t> shape) {
    return argument(ir::BufferKind::input, dtype, shape);
  }

  ir::ViewId view(ir::BufferId b, std::vector<ir::Dim> dims) {
    ir::View v;
    v.buffer = b;
    v.rank = static_cast<std::uint8_t>(dims.size());
    std::copy(dims.begin(), dims.end(), v.dims.begin());
    p.views.push_back(v);
    return static_cast<ir::ViewId>(p.views.size() - 1);
  }
  struct Part {
    std::int64_t start, count;
    std::int32_t step = 1;
  };
  /// One dimension for each axis.
  ir::ViewId part(ir::BufferId b, std::vector<Part> parts) {
    std::vector<ir::Dim> dims;
    for (std::size_t i = 0; i < parts.size(); ++i)
      dims.push_back(
          {number(parts[i].start), number(parts[i].count), parts[i].step, static_cast<std::uint8_t>(i), false});
    return view(b, dims);
  }
  ir::ViewId whole(ir::BufferId b) {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < p.buffers[b].rank; ++i) parts.push_back({0, p.buffers[b].shape[i]});
    return part(b, parts);
  }

  void instr(ir::Opcode op, ir::Engine engine, std::vector<ir::ViewId> operands, std::vector<std::int64_t> attrs = {}) {
    ir::Instr in;
    in.op = op;
    in.engine = engine;
    in.n_operands = static_cast<std::uint8_t>(operands.size());
    in.first_operand = static_cast<std::uint32_t>(p.operand_pool.size());
    p.operand_pool.insert(p.operand_pool.end(), operands.begin(), operands.end());
    if (!attrs.empty()) {
      in.attrs = static_cast<ir::AttrSetId>(p.attr_sets.size());
      p.attr_sets.push_back({static_cast<std::uint32_t>(p.attr_pool.size()), static_cast<std::uint32_t>(attrs.size())});
      p.attr_pool.insert(p.attr_pool.end(), attrs.begin(), attrs.end());
    }
    in.loc = line();
    p.nodes.push_back({ir::Node::Kind::instr, static_cast<std::uint32_t>(p.instrs.size()), node_count() + 1});
    p.instrs.push_back(in);
  }
  void dma(ir::ViewId dst, ir::ViewId src, ir::Engine engine = ir::Engine::gpsimd,
           ir::DgeMode mode = ir::DgeMode::unknown) {
    instr(ir::Opcode::dma_copy, engine, {dst, src}, {static_cast<std::int64_t>(mode)});
  }
  void matmul(ir::ViewId dst, ir::ViewId stationary, ir::ViewId moving, ir::Accumulate a = ir::Accumulate::auto_) {
    instr(ir::Opcode::nc_matmul, ir::Engine::tensor, {dst, stationary, moving}, {static_cast<std::int64_t>(a)});
  }
  void transpose(ir::ViewId dst, ir::ViewId data, ir::Engine engine = ir::Engine::tensor) {
    instr(ir::Opcode::nc_transpose, engine, {dst, data});
  }
  void copy(ir::ViewId dst, ir::ViewId src, ir::Engine engine = ir::Engine::vector) {
    instr(ir::Opcode::tensor_copy, engine, {dst, src});
  }
  void memset(ir::ViewId dst, double value = 0, ir::Engine engine = ir::Engine::vector) {
    instr(ir::Opcode::memset, engine, {dst}, {std::bit_cast<std::int64_t>(value)});
  }
  /// Gives a tile contents, so that reads of it break no rule.
  void fill(ir::BufferId b) { memset(whole(b)); }

  std::uint32_t node_count() const { return static_cast<std::uint32_t>(p.nodes.size()); }
  /// The line of the part made last.
  std::uint32_t last_line() const { return p.locs.back().line; }

 private:
  ir::BufferId buffer(ir::Space space, ir::BufferKind kind, DType dtype, const std::vector<std::int64_t>& shape,
                      std::int32_t slots) {
    ir::Buffer b;
    b.name = "t" + std::to_string(p.buffers.size());
    b.space = space;
    b.kind = kind;
    b.dtype = dtype;
    b.rank = static_cast<std::uint8_t>(shape.size());
    std::copy(shape.begin(), shape.end(), b.shape.begin());
    b.slots = slots;
    b.loc = line();
    p.buffers.push_back(b);
    return static_cast<ir::BufferId>(p.buffers.size() - 1);
  }
  /// Each part has a line of its own.
  ir::LocId line() {
    p.locs.push_back({1, static_cast<std::uint32_t>(100 + p.locs.size()), 0, 0});
    return static_cast<ir::LocId>(p.locs.size() - 1);
  }
  std::vector<std::size_t> open_;
};

inline std::vector<std::string> ids(const std::vector<Violation>& list) {
  std::vector<std::string> out;
  for (const Violation& v : list) out.push_back(v.id);
  return out;
}
inline bool has(const std::vector<Violation>& list, const std::string& id) {
  return std::any_of(list.begin(), list.end(), [&](const Violation& v) { return v.id == id; });
}
/// The text of the first violation with an id.
inline std::string text_of(const std::vector<Violation>& list, const std::string& id) {
  for (const Violation& v : list)
    if (v.id == id) return v.text();
  return {};
}
inline std::string all_text(const std::vector<Violation>& list) {
  std::string out;
  for (const Violation& v : list) out += v.text() + "\n";
  return out;
}

}  // namespace check_test
