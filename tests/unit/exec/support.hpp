#pragma once

#include <nki/dtype.hpp>
#include <nki/exec/arguments.hpp>
#include <nki/exec/report.hpp>
#include <nki/exec/tensor.hpp>
#include <nki/index.hpp>
#include <nki/ir/expr.hpp>
#include <nki/ir/ops.hpp>
#include <nki/ir/program.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace exec_test {

using nki::DType;
using nki::Index;
using nki::exec::HostTensor;
using nki::exec::Report;
namespace ir = nki::ir;

// Compiled once, in run_test.cpp.
Report fast(const ir::Program& p, std::span<const HostTensor> inputs, std::span<HostTensor> outputs,
            bool shadow = true);
Report slow(const ir::Program& p, std::span<const HostTensor> inputs, std::span<HostTensor> outputs);

/// Whether nc_matmul rounds its products, so that executor and interpreter agree bit for bit.
#ifdef __FMA__
inline constexpr bool products_are_rounded = false;
#else
inline constexpr bool products_are_rounded = true;
#endif

/// A program written by hand, free of the rules that the builder applies.
class Sketch {
 public:
  ir::Program program;

  Sketch() : pool_(program.exprs) {
    program.files = {"", "sketch"};
    program.scopes = {""};
    program.locs.emplace_back();
    program.attr_sets.push_back({0, 0});
  }
  Sketch(const Sketch&) = delete;
  Sketch& operator=(const Sketch&) = delete;

  ir::BufferId buffer(ir::Space space, ir::BufferKind kind, DType dtype, std::initializer_list<std::int64_t> shape,
                      std::int32_t slots = 1) {
    ir::Buffer b;
    b.name = "b" + std::to_string(program.buffers.size());
    b.space = space;
    b.kind = kind;
    b.dtype = dtype;
    for (std::int64_t extent : shape) b.shape[b.rank++] = extent;
    b.slots = slots;
    program.buffers.push_back(b);
    return static_cast<ir::BufferId>(program.buffers.size() - 1);
  }
  ir::BufferId input(DType dtype, std::initializer_list<std::int64_t> shape) {
    return buffer(ir::Space::hbm, ir::BufferKind::input, dtype, shape);
  }
  ir::BufferId output(DType dtype, std::initializer_list<std::int64_t> shape) {
    return buffer(ir::Space::hbm, ir::BufferKind::output, dtype, shape);
  }
  /// A tile whose first instance starts here.
  ir::BufferId tile(ir::Space space, DType dtype, std::initializer_list<std::int64_t> shape, std::int32_t slots = 1) {
    const ir::BufferId b = buffer(space, ir::BufferKind::tile, dtype, shape, slots);
    alloc(b);
    return b;
  }
  void alloc(ir::BufferId b) { add_node(ir::Node::Kind::alloc, b); }

  ir::Dim dim(int axis, const Index& start, const Index& count, std::int32_t step = 1) {
    return {start.id(pool_), count.id(pool_), step, static_cast<std::uint8_t>(axis), false};
  }
  ir::View view(ir::BufferId b, const std::vector<ir::Dim>& dims) {
    ir::View v{b, 0, {}};
    for (const ir::Dim& d : dims) v.dims[v.rank++] = d;
    return v;
  }
  ir::View whole(ir::BufferId b) {
    std::vector<ir::Dim> dims;
    for (int a = 0; a < program.buffers[b].rank; ++a)
      dims.push_back(dim(a, 0, program.buffers[b].shape[static_cast<std::size_t>(a)]));
    return view(b, dims);
  }

  /// The source line of the n-th instruction (from 0) is n + 1.
  void instr(ir::Opcode op, const std::vector<ir::View>& operands, std::initializer_list<std::int64_t> attrs = {}) {
    ir::Instr in;
    in.op = op;
    in.engine = op == ir::Opcode::dma_copy    ? ir::Engine::gpsimd
                : op == ir::Opcode::nc_matmul ? ir::Engine::tensor
                                              : ir::Engine::vector;
    in.n_operands = static_cast<std::uint8_t>(operands.size());
    in.first_operand = static_cast<std::uint32_t>(program.operand_pool.size());
    for (const ir::View& v : operands) {
      program.operand_pool.push_back(static_cast<ir::ViewId>(program.views.size()));
      program.views.push_back(v);
    }
    in.attrs = static_cast<ir::AttrSetId>(program.attr_sets.size());
    program.attr_sets.push_back(
        {static_cast<std::uint32_t>(program.attr_pool.size()), static_cast<std::uint32_t>(attrs.size())});
    program.attr_pool.insert(program.attr_pool.end(), attrs.begin(), attrs.end());
    in.loc = static_cast<ir::LocId>(program.locs.size());
    program.locs.push_back({1, static_cast<std::uint32_t>(program.instrs.size() + 1), 0, 0});
    program.instrs.push_back(in);
    add_node(ir::Node::Kind::instr, static_cast<std::uint32_t>(program.instrs.size() - 1));
  }
  void copy(const ir::View& dst, const ir::View& src) { instr(ir::Opcode::dma_copy, {dst, src}, {0}); }
  void memset(const ir::View& dst, double value) {
    instr(ir::Opcode::memset, {dst}, {std::bit_cast<std::int64_t>(value)});
  }
  void matmul(const ir::View& dst, const ir::View& stationary, const ir::View& moving,
              ir::Accumulate accumulate = ir::Accumulate::auto_) {
    instr(ir::Opcode::nc_matmul, {dst, stationary, moving}, {static_cast<std::int64_t>(accumulate)});
  }

  /// Opens a loop and returns its index.
  Index open(const Index& lower, const Index& upper) {
    const auto id = static_cast<ir::LoopId>(program.loops.size());
    program.loops.push_back({"i" + std::to_string(id), lower.id(pool_), upper.id(pool_), ir::LoopKind::sequential, 0});
    open_.push_back(static_cast<std::uint32_t>(program.nodes.size()));
    add_node(ir::Node::Kind::loop, id);
    return {pool_, pool_.index(id, {lower.range().lo, std::max(lower.range().lo, upper.range().hi - 1)})};
  }
  void close() {
    program.nodes[open_.back()].end = static_cast<std::uint32_t>(program.nodes.size());
    open_.pop_back();
  }

 private:
  void add_node(ir::Node::Kind kind, std::uint32_t id) {
    program.nodes.push_back({kind, id, static_cast<std::uint32_t>(program.nodes.size() + 1)});
  }

  ir::ExprPool pool_;
  std::vector<std::uint32_t> open_;
};

using nki::exec::make_arguments;

/// Whether two tensors hold the same bits, any NaN counting as any other: which one an addition of two keeps is not
/// defined.
inline ::testing::AssertionResult same(const HostTensor& a, const HostTensor& b) {
  const int size = nki::bytes(a.dtype);
  for (std::int64_t i = 0; i < a.elements(); ++i) {
    const std::uint32_t x = nki::exec::detail::load_code(a.data.data() + i * size, size);
    const std::uint32_t y = nki::exec::detail::load_code(b.data.data() + i * size, size);
    const float u = nki::exec::detail::value_of(x, a.dtype), v = nki::exec::detail::value_of(y, a.dtype);
    if (x != y && !(std::isnan(u) && std::isnan(v)))
      return ::testing::AssertionFailure() << a.name << ", element " << i << ": " << u << " and " << v;
  }
  return ::testing::AssertionSuccess();
}

inline void expect_same(const nki::exec::Site& a, const nki::exec::Site& b) {
  EXPECT_EQ(a.operation, b.operation);
  EXPECT_EQ(a.file, b.file);
  EXPECT_EQ(a.line, b.line);
}
inline void expect_same(const Report& a, const Report& b) {
  EXPECT_EQ(a.instructions, b.instructions);
  EXPECT_EQ(a.undefined_reads, b.undefined_reads);
  EXPECT_EQ(a.unwritten_elements, b.unwritten_elements);
  EXPECT_EQ(a.first_undefined_read.buffer, b.first_undefined_read.buffer);
  EXPECT_EQ(a.first_undefined_read.operand, b.first_undefined_read.operand);
  EXPECT_EQ(a.first_undefined_read.elements, b.first_undefined_read.elements);
  expect_same(a.first_undefined_read.read, b.first_undefined_read.read);
  expect_same(a.first_undefined_read.last_write, b.first_undefined_read.last_write);
  ASSERT_EQ(a.unwritten.size(), b.unwritten.size());
  for (std::size_t i = 0; i < a.unwritten.size(); ++i) {
    EXPECT_EQ(a.unwritten[i].buffer, b.unwritten[i].buffer);
    EXPECT_EQ(a.unwritten[i].elements, b.unwritten[i].elements);
    EXPECT_EQ(a.unwritten[i].first, b.unwritten[i].first);
  }
}

/// The law of this module: executor and interpreter agree on values and report. Returns the outputs.
inline std::vector<HostTensor> expect_agreement(const ir::Program& p, const std::vector<HostTensor>& inputs,
                                                Report* report = nullptr) {
  std::vector<HostTensor> a = make_arguments(p, ir::BufferKind::output), b = a;
  const Report x = fast(p, inputs, a), y = slow(p, inputs, b);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same(a[i], b[i]));
  expect_same(x, y);
  if (report != nullptr) *report = x;
  return a;
}

}  // namespace exec_test
