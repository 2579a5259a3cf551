#include "small_program.hpp"

#include <nki/ir/flatten.hpp>
#include <nki/ir/hash.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

namespace ir = nki::ir;

/// The expressions that bounds and views reach.
std::vector<bool> used_exprs(const ir::Program& p) {
  std::vector<bool> used(p.exprs.size(), false);
  for (const ir::Loop& l : p.loops) used[l.lower] = used[l.upper] = true;
  for (const ir::View& v : p.views)
    for (std::size_t d = 0; d < v.rank; ++d) used[v.dims[d].start] = used[v.dims[d].count] = true;
  for (std::size_t i = p.exprs.size(); i-- > 0;) {
    const ir::Expr& e = p.exprs[i];
    if (!used[i] || e.op <= ir::ExprOp::index) continue;
    used[e.a] = true;
    if (e.op == ir::ExprOp::add || e.op == ir::ExprOp::min || e.op == ir::ExprOp::max) used[e.b] = true;
  }
  return used;
}

template <class E>
E other(E e) {
  return static_cast<E>(e == E{} ? 1 : 0);
}

/// Another id, which exists wherever there are two.
void another(std::uint32_t& id) {
  id = id == 0 ? 1 : 0;
}

/// fn(what, program) for every program that differs from `p` in one field that means something.
void for_each_mutant(const ir::Program& p, const std::function<void(const std::string&, const ir::Program&)>& fn) {
  const auto mutant = [&](const std::string& what, auto&& change) {
    ir::Program q = p;
    change(q);
    fn(what, q);
  };
  const auto numbered = [](const char* what, std::size_t i) { return std::string(what) + " " + std::to_string(i); };

  for (std::size_t b = 0; b < p.buffers.size(); ++b) {
    mutant(numbered("space of buffer", b), [&](auto& q) { q.buffers[b].space = other(q.buffers[b].space); });
    mutant(numbered("dtype of buffer", b), [&](auto& q) { q.buffers[b].dtype = nki::DType::bf16; });
    mutant(numbered("kind of buffer", b), [&](auto& q) { q.buffers[b].kind = other(q.buffers[b].kind); });
    mutant(numbered("rank of buffer", b), [&](auto& q) { --q.buffers[b].rank; });
    mutant(numbered("slots of buffer", b), [&](auto& q) { q.buffers[b].slots += 1; });
    for (std::size_t d = 0; d < p.buffers[b].rank; ++d)
      mutant(numbered("extent of buffer", b), [&](auto& q) { q.buffers[b].shape[d] += 1; });
  }
  mutant("one buffer more", [](auto& q) { q.buffers.push_back(q.buffers.back()); });

  const std::vector<bool> used = used_exprs(p);
  const auto first_index = static_cast<ir::ExprId>(
      std::find_if(p.exprs.begin(), p.exprs.end(), [](const ir::Expr& e) { return e.op == ir::ExprOp::index; }) -
      p.exprs.begin());
  for (std::size_t i = 0; i < p.exprs.size(); ++i) {
    if (!used[i]) continue;
    const ir::ExprId operand = p.exprs[i].a == first_index ? 0 : first_index;
    switch (p.exprs[i].op) {
      case ir::ExprOp::constant:
        mutant(numbered("constant", i), [&](auto& q) { q.exprs[i].c += 1; });
        break;
      case ir::ExprOp::index:
        mutant(numbered("loop of index", i), [&](auto& q) { another(q.exprs[i].a); });
        break;
      case ir::ExprOp::add:
      case ir::ExprOp::min:
      case ir::ExprOp::max:
        mutant(numbered("second operand of expression", i),
               [&](auto& q) { q.exprs[i].b = q.exprs[i].b == 0 ? first_index : 0; });
        mutant(numbered("operation of expression", i),
               [&](auto& q) { q.exprs[i].op = q.exprs[i].op == ir::ExprOp::add ? ir::ExprOp::min : ir::ExprOp::add; });
        mutant(numbered("operand of expression", i), [&](auto& q) { q.exprs[i].a = operand; });
        break;
      case ir::ExprOp::mul:
      case ir::ExprOp::floordiv:
      case ir::ExprOp::mod:
        mutant(numbered("number of expression", i), [&](auto& q) { q.exprs[i].c += 1; });
        mutant(numbered("operation of expression", i),
               [&](auto& q) { q.exprs[i].op = q.exprs[i].op == ir::ExprOp::mul ? ir::ExprOp::mod : ir::ExprOp::mul; });
        mutant(numbered("operand of expression", i), [&](auto& q) { q.exprs[i].a = operand; });
        break;
    }
  }
  for (std::size_t l = 0; l < p.loops.size(); ++l) {
    mutant(numbered("lower bound", l), [&](auto& q) { std::swap(q.loops[l].lower, q.loops[l].upper); });
    mutant(numbered("upper bound", l), [&](auto& q) { q.loops[l].upper = q.loops[l].lower; });
    mutant(numbered("kind of loop", l), [&](auto& q) { q.loops[l].kind = other(q.loops[l].kind); });
  }
  for (std::size_t v = 0; v < p.views.size(); ++v) {
    mutant(numbered("buffer of view", v), [&](auto& q) { another(q.views[v].buffer); });
    mutant(numbered("rank of view", v), [&](auto& q) { --q.views[v].rank; });
    for (std::size_t d = 0; d < p.views[v].rank; ++d) {
      const std::string at = std::to_string(v) + "." + std::to_string(d);
      mutant("start of view " + at,
             [&](auto& q) { q.views[v].dims[d].start = q.views[v].dims[d].start == 0 ? first_index : 0; });
      mutant("count of view " + at,
             [&](auto& q) { q.views[v].dims[d].count = q.views[v].dims[d].count == 0 ? first_index : 0; });
      mutant("step of view " + at, [&](auto& q) { q.views[v].dims[d].step += 1; });
      mutant("axis of view " + at, [&](auto& q) { q.views[v].dims[d].axis ^= 1; });
      mutant("dropped of view " + at, [&](auto& q) { q.views[v].dims[d].dropped = !q.views[v].dims[d].dropped; });
    }
  }
  for (std::size_t i = 0; i < p.instrs.size(); ++i) {
    mutant(numbered("opcode", i), [&](auto& q) { q.instrs[i].op = other(q.instrs[i].op); });
    mutant(numbered("engine", i), [&](auto& q) { q.instrs[i].engine = ir::Engine::unknown; });
    mutant(numbered("operands", i), [&](auto& q) { --q.instrs[i].n_operands; });
    for (std::uint32_t o = 0; o < p.instrs[i].n_operands; ++o) {
      mutant(numbered("operand", i), [&](auto& q) { another(q.operand_pool[q.instrs[i].first_operand + o]); });
      mutant(numbered("absent operand", i),
             [&](auto& q) { q.operand_pool[q.instrs[i].first_operand + o] = ir::no_id; });
    }
    mutant(numbered("attributes", i), [&](auto& q) { q.instrs[i].attrs = q.instrs[i].attrs == 1 ? 2 : 1; });
  }
  for (std::size_t a = 0; a < p.attr_pool.size(); ++a)
    mutant(numbered("attribute", a), [&](auto& q) { q.attr_pool[a] ^= 1; });
  for (std::size_t n = 0; n < p.nodes.size(); ++n) {
    mutant(numbered("id of node", n), [&](auto& q) { another(q.nodes[n].id); });
    if (p.nodes[n].kind == ir::Node::Kind::loop) mutant(numbered("end of loop", n), [&](auto& q) { --q.nodes[n].end; });
    if (p.nodes[n].kind == ir::Node::Kind::alloc)
      mutant(numbered("kind of node", n), [&](auto& q) { q.nodes[n].kind = ir::Node::Kind::instr; });
  }
  mutant("one node less", [](auto& q) { q.nodes.pop_back(); });
}

TEST(Hash, ChangesWithEveryFieldThatMeansSomething) {
  const ir::Program p = small_program();
  std::map<std::uint64_t, std::string> seen{{ir::hash(p), "the program itself"}};
  std::size_t n = 0;
  for_each_mutant(p, [&](const std::string& what, const ir::Program& q) {
    ++n;
    const auto [it, added] = seen.try_emplace(ir::hash(q), what);
    // Two ways to the same program are two names of one mutant.
    EXPECT_TRUE(added || it->second != "the program itself") << what;
  });
  EXPECT_GT(n, 300u);
  EXPECT_GT(seen.size(), n * 9 / 10);
}

TEST(Hash, LeavesOutNamesLinesScopesAndDescriptions) {
  const ir::Program p = small_program();
  ir::Program q = p;
  q.kernel = "other";
  q.problem = q.params = "";
  for (ir::Buffer& b : q.buffers) {
    b.name += "_";
    b.loc = 0;
  }
  for (ir::Loop& l : q.loops) {
    l.name += "_";
    l.loc = 0;
  }
  for (ir::Instr& i : q.instrs) i.loc = 0;
  q.locs = {{}};
  q.files = q.scopes = {""};
  EXPECT_EQ(ir::hash(q), ir::hash(p));
}

TEST(Hash, LeavesOutHowPartsAreNumbered) {
  const ir::Program p = small_program();
  ir::Program q = p;
  // Expressions and views that nothing uses; loops in another order; operands and attributes at other places.
  q.exprs.insert(q.exprs.begin(), {ir::ExprOp::constant, 0, 0, 4711});
  for (ir::Expr& e : q.exprs)
    if (e.op != ir::ExprOp::constant && e.op != ir::ExprOp::index) ++e.a, ++e.b;
  const auto flip = [&](std::uint32_t loop) { return static_cast<std::uint32_t>(q.loops.size()) - 1 - loop; };
  for (ir::Expr& e : q.exprs)
    if (e.op == ir::ExprOp::index) e.a = flip(e.a);
  std::reverse(q.loops.begin(), q.loops.end());
  for (ir::Loop& l : q.loops) ++l.lower, ++l.upper;
  for (ir::Node& n : q.nodes)
    if (n.kind == ir::Node::Kind::loop) n.id = flip(n.id);
  for (ir::View& v : q.views)
    for (std::size_t d = 0; d < v.rank; ++d) ++v.dims[d].start, ++v.dims[d].count;
  std::reverse(q.views.begin(), q.views.end());
  for (ir::ViewId& v : q.operand_pool) v = static_cast<ir::ViewId>(q.views.size()) - 1 - v;
  q.operand_pool.insert(q.operand_pool.begin(), 3);
  for (ir::Instr& i : q.instrs) ++i.first_operand;
  q.attr_pool.insert(q.attr_pool.begin(), 17);
  for (ir::AttrSet& s : q.attr_sets) ++s.first;
  EXPECT_EQ(ir::hash(q), ir::hash(p));
}

TEST(Hash, LeavesOutWhatLiesBeyondTheRank) {
  ir::Program q = small_program();
  for (ir::Buffer& b : q.buffers)
    for (std::size_t d = b.rank; d < ir::max_rank; ++d) b.shape[d] = 99;
  for (ir::View& v : q.views)
    for (std::size_t d = v.rank; d < ir::max_rank; ++d) v.dims[d] = {1, 1, 7, 3, true};
  EXPECT_EQ(ir::hash(q), ir::hash(small_program()));
}

TEST(Hash, IsTheSameInEveryRunAndWithEveryCompiler) {
  EXPECT_EQ(ir::hash(ir::Program{}), 11750909819311419848u);
  EXPECT_EQ(ir::hash(small_program()), 2159254834238915968u);
  EXPECT_EQ(ir::hash(ir::flatten(small_program())), 13184434033107490807u);
}

}  // namespace
