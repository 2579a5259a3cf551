#include "small_program.hpp"

#include <nki/ir/cursor.hpp>
#include <nki/ir/flatten.hpp>
#include <nki/ir/hash.hpp>
#include <nki/ir/print.hpp>
#include <nki/kernels/matmul.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

namespace ir = nki::ir;
using nki::kernels::Matmul;

/// What one step of a run shows: the instruction or alloc, with every number behind it.
std::vector<std::int64_t> step_of(const ir::Program& p, const ir::Cursor& c, ir::Cursor::Event event) {
  if (event == ir::Cursor::Event::alloc) return {-1, c.id(), c.instance(c.id()), c.slot(c.id())};
  const ir::Instr& in = p.instrs[c.id()];
  std::vector<std::int64_t> out{static_cast<std::int64_t>(in.op), static_cast<std::int64_t>(in.engine), in.n_operands,
                                in.loc};
  for (int a = 0; a < ir::info(in.op).n_attrs; ++a) out.push_back(p.attr(in, a));
  for (int o = 0; o < in.n_operands; ++o) {
    const ir::View& v = p.views[p.operand(in, o)];
    out.insert(out.end(), {v.buffer, c.slot(v.buffer), c.instance(v.buffer), v.rank});
    for (std::size_t d = 0; d < v.rank; ++d)
      out.insert(out.end(), {c.value(v.dims[d].start), c.value(v.dims[d].count), v.dims[d].step, v.dims[d].axis,
                             v.dims[d].dropped});
  }
  return out;
}

/// Runs both programs step by step; returns how many steps they took together.
std::size_t expect_same_run(const ir::Program& rolled, const ir::Program& flat) {
  ir::Cursor a(rolled), b(flat);
  const auto next = [](ir::Cursor& c) {
    ir::Cursor::Event e = c.next();
    while (e != ir::Cursor::Event::instr && e != ir::Cursor::Event::alloc && e != ir::Cursor::Event::end) e = c.next();
    return e;
  };
  for (std::size_t n = 0;; ++n) {
    const ir::Cursor::Event x = next(a), y = next(b);
    if (x != y) {
      ADD_FAILURE() << "one run ends before the other, at step " << n;
      return n;
    }
    if (x == ir::Cursor::Event::end) return n;
    if (step_of(rolled, a, x) != step_of(flat, b, y)) {
      ADD_FAILURE() << "step " << n << " differs";
      return n;
    }
  }
}

void expect_flat(const ir::Program& p) {
  const ir::Program flat = ir::flatten(p);
  EXPECT_TRUE(flat.loops.empty());
  for (const ir::Expr& e : flat.exprs) EXPECT_EQ(e.op, ir::ExprOp::constant);
  const std::size_t steps = expect_same_run(p, flat);
  EXPECT_EQ(steps, flat.nodes.size()) << "nothing in a flat program is empty";

  const ir::Program again = ir::flatten(flat);
  EXPECT_EQ(ir::hash(again), ir::hash(flat));
  EXPECT_EQ(ir::to_text(again), ir::to_text(flat));
  EXPECT_EQ(again.exprs, flat.exprs);
  EXPECT_EQ(again.views, flat.views);
  EXPECT_EQ(again.operand_pool, flat.operand_pool);
}

TEST(Flatten, RunsTheSameInstructionsInTheSameSlots) {
  expect_flat(small_program());
}

TEST(Flatten, HoldsForMatmulsOfAllConfigurationsAndRaggedSizes) {
  constexpr unsigned seed = 20240611;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto one_of = [&](auto... values) {
    const std::int64_t list[]{static_cast<std::int64_t>(values)...};
    return list[random() % sizeof...(values)];
  };
  for (int i = 0; i < 150; ++i) {
    Matmul::Problem s;
    s.m = one_of(1, 31, 128, 129, 300, 512, 777);
    s.n = one_of(1, 100, 512, 513, 700, 1024, 1500);
    s.k = one_of(1, 127, 128, 257, 640, 1000);
    s.layout = static_cast<Matmul::Layout>(one_of(0, 1));
    if (one_of(0, 0, 1) == 1) s.lhs = s.rhs = nki::DType::f32;
    Matmul::Params c;
    c.tiles_m = one_of(1, 2, 4);
    c.tiles_n = one_of(1, 2, 4);
    c.tiles_k = one_of(1, 2, 4, 8);
    c.bufs = one_of(2, 3);
    c.psum_bufs = one_of(1, 2);
    c.keep = static_cast<Matmul::Keep>(one_of(0, 1, 2));
    c.panel_bufs = one_of(1, 2);
    c.evacuate = static_cast<Matmul::Evacuate>(one_of(0, 1, 2));
    SCOPED_TRACE("m=" + std::to_string(s.m) + " n=" + std::to_string(s.n) + " k=" + std::to_string(s.k) +
                 " tiles=" + std::to_string(c.tiles_m) + "," + std::to_string(c.tiles_n) + "," +
                 std::to_string(c.tiles_k) + " keep=" + std::to_string(static_cast<int>(c.keep)));
    expect_flat(nki::record<Matmul>(nki::arch::trn2, s, c));
    if (HasFailure()) return;
  }
}

TEST(Flatten, KeepsEverythingElse) {
  const ir::Program p = small_program(), flat = ir::flatten(p);
  EXPECT_EQ(flat.kernel, p.kernel);
  EXPECT_EQ(flat.problem, p.problem);
  EXPECT_EQ(flat.params, p.params);
  EXPECT_EQ(flat.files, p.files);
  EXPECT_EQ(flat.scopes, p.scopes);
  EXPECT_EQ(flat.buffers.size(), p.buffers.size());
  EXPECT_EQ(flat.locs.size(), p.locs.size());
}

TEST(Flatten, InternsViewsAndConstants) {
  const ir::Program flat = ir::flatten(small_program());
  for (std::size_t i = 0; i < flat.views.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(flat.views[i], flat.views[j]);
  for (std::size_t i = 0; i < flat.exprs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(flat.exprs[i], flat.exprs[j]);
}

TEST(Flatten, DropsEmptyInstructionsAndLoopsThatDoNotRun) {
  const auto count = [](const ir::Program& p, std::uint32_t line) {
    std::int64_t n = 0;
    for (const ir::Instr& i : p.instrs) n += p.locs[i.loc].line == line ? 1 : 0;
    return n;
  };
  const ir::Program flat = ir::flatten(small_program());
  EXPECT_EQ(count(flat, 12), 3);
  EXPECT_EQ(count(flat, 15), 2) << "empty in the last, ragged block";
  EXPECT_EQ(count(flat, 17), 3 + 3 + 2);

  nki::Builder nc;
  const auto t = nki::sbuf<nki::f32>(nc, nki::shape(nki::Const<128>{}, 4));
  for (nki::Index i : nki::nl::affine_range(nc, 5, 5)) nki::nisa::memset(t(nki::all, nki::ds(i, 1)), 0);
  const ir::Program none = ir::flatten(nc.finish());
  EXPECT_EQ(none.nodes.size(), 1u) << "the alloc alone";
  EXPECT_TRUE(none.instrs.empty());
  EXPECT_TRUE(none.views.empty());
}

TEST(Flatten, OfAnEmptyProgramIsEmpty) {
  EXPECT_TRUE(ir::flatten(ir::Program{}).nodes.empty());
}

TEST(Flatten, TakesAtMostAHundredBytesAnInstruction) {
  const ir::Program flat = ir::flatten(nki::record<Matmul>(nki::arch::trn2, {.m = 8192, .n = 8192, .k = 8192}));
  ASSERT_GT(flat.instrs.size(), 60'000u);
  const auto bytes = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  const std::size_t total =
      bytes(flat.nodes) + bytes(flat.instrs) + bytes(flat.operand_pool) + bytes(flat.views) + bytes(flat.exprs);
  EXPECT_LT(total, 100 * flat.instrs.size());
}

}  // namespace
