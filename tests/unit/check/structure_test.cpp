#include "random_programs.hpp"

#include <nki/check/structure.hpp>
#include <nki/check/verify.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace check_test;
using enum nki::DType;

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// A load, a product and a store in a loop: something of everything.
Maker sample() {
  Maker k;
  const auto x = k.input(bf16, {512, 64}), y = k.argument(ir::BufferKind::output, f32, {512, 64});
  const auto i = k.open(4);
  const auto start = k.mul(i, 128), zero = k.number(0), rows = k.number(128), cols = k.number(64);
  const auto t = k.sbuf(bf16, {128, 64});
  const auto c = k.psum(f32, {64, 64});
  const auto z = k.sbuf(f32, {64, 64});
  const auto in = k.view(x, {{start, rows, 1, 0, false}, {zero, cols, 1, 1, false}});
  const auto tv = k.whole(t), cv = k.whole(c), zv = k.whole(z);
  k.dma(tv, in);
  k.matmul(cv, tv, tv);
  k.copy(zv, cv);
  k.dma(k.view(y, {{k.mul(i, 64), cols, 1, 0, false}, {zero, cols, 1, 1, false}}), zv);
  k.close();
  return k;
}

struct Damage {
  const char* id;
  const char* got;  // a part of the text
  void (*damage)(ir::Program&);
};

// clang-format off
const Damage damages[] = {
    {"NKI-E050", "buffer 99", [](ir::Program& p) { p.views[0].buffer = 99; }},
    {"NKI-E050", "expression 999", [](ir::Program& p) { p.views[0].dims[1].count = 999; }},
    {"NKI-E050", "expression 999", [](ir::Program& p) { p.loops[0].upper = 999; }},
    {"NKI-E050", "view 4294967295", [](ir::Program& p) { p.operand_pool[0] = ir::no_id; }},
    {"NKI-E050", "operand 4294967295", [](ir::Program& p) { p.instrs[0].first_operand = ~0u; }},
    {"NKI-E050", "instruction 77", [](ir::Program& p) { p.nodes.back().id = 77; }},
    {"NKI-E050", "loop 1", [](ir::Program& p) { p.nodes[0].id = 1; }},
    {"NKI-E050", "buffer 5", [](ir::Program& p) { p.nodes[1].id = 5; }},
    {"NKI-E050", "source location 500", [](ir::Program& p) { p.instrs[1].loc = 500; }},
    {"NKI-E050", "source location 0", [](ir::Program& p) { p.locs.clear(); for (auto& b : p.buffers) b.loc = 0; }},
    {"NKI-E050", "file 9", [](ir::Program& p) { p.locs[1].file = 9; }},
    {"NKI-E050", "scope 9", [](ir::Program& p) { p.locs[1].scope = 9; }},
    {"NKI-E050", "attribute set 40", [](ir::Program& p) { p.instrs[0].attrs = 40; }},
    {"NKI-E050", "attribute 4294967297", [](ir::Program& p) { p.attr_sets[1].first = ~0u - 1; p.attr_sets[1].count = 3; }},
    {"NKI-E051", "index expression 2", [](ir::Program& p) { p.loops[0].upper = 2; }},
    {"NKI-E051", "expression 3", [](ir::Program& p) { p.exprs[3].a = 3; }},
    {"NKI-E051", "expression 3", [](ir::Program& p) { p.exprs[3] = {ir::ExprOp::add, 0, 4, 0}; }},
    {"NKI-E052", "a loop up to node 0", [](ir::Program& p) { p.nodes[0].end = 0; }},
    {"NKI-E052", "a loop up to node 99", [](ir::Program& p) { p.nodes[0].end = 99; }},
    {"NKI-E052", "node 1 up to 9", [](ir::Program& p) { p.nodes[1].end = 9; }},
    {"NKI-E052", "a second place for instruction 0", [](ir::Program& p) { p.nodes.back().id = 0; }},
    {"NKI-E052", "a second place for loop 0", [](ir::Program& p) { p.nodes[1] = {ir::Node::Kind::loop, 0, 2}; }},
    {"NKI-E053", "an operand of dma_copy on 't0'", [](ir::Program& p) { p.nodes[0].end = 2; }},
    {"NKI-E053", "a bound of loop 'i1'",
     [](ir::Program& p) {
       p.loops.push_back({"i1", 0, 2, ir::LoopKind::affine, 0});
       p.nodes.push_back({ir::Node::Kind::loop, 1, static_cast<std::uint32_t>(p.nodes.size()) + 1});
     }},
    {"NKI-E054", "buffer 't0'", [](ir::Program& p) { p.buffers[0].space = static_cast<ir::Space>(3); }},
    {"NKI-E054", "buffer 't0'", [](ir::Program& p) { p.buffers[0].dtype = static_cast<DType>(200); }},
    {"NKI-E054", "rank 0 of buffer 't0'", [](ir::Program& p) { p.buffers[0].rank = 0; }},
    {"NKI-E054", "rank 6 of buffer 't0'", [](ir::Program& p) { p.buffers[0].rank = 6; }},
    {"NKI-E054", "extent 0 of 't0'", [](ir::Program& p) { p.buffers[0].shape[1] = 0; }},
    {"NKI-E054", "0 slots", [](ir::Program& p) { p.buffers[2].slots = 0; }},
    {"NKI-E054", "2 slots", [](ir::Program& p) { p.buffers[0].slots = 2; }},
    {"NKI-E054", "argument 't2' in sbuf", [](ir::Program& p) { p.buffers[2].kind = ir::BufferKind::input; }},
    {"NKI-E054", "kind of loop", [](ir::Program& p) { p.loops[0].kind = static_cast<ir::LoopKind>(4); }},
    {"NKI-E054", "kind of node 1", [](ir::Program& p) { p.nodes[1].kind = static_cast<ir::Node::Kind>(3); }},
    {"NKI-E054", "operation of expression 3", [](ir::Program& p) { p.exprs[3].op = static_cast<ir::ExprOp>(8); }},
    {"NKI-E054", "a division by 0", [](ir::Program& p) { p.exprs[3].op = ir::ExprOp::floordiv; p.exprs[3].c = 0; }},
    {"NKI-E054", "a division by -4", [](ir::Program& p) { p.exprs[3].op = ir::ExprOp::mod; p.exprs[3].c = -4; }},
    {"NKI-E054", "rank 6 of a view", [](ir::Program& p) { p.views[0].rank = 6; }},
    {"NKI-E054", "axis 2 of 't2'", [](ir::Program& p) { p.views[1].dims[1].axis = 2; }},
    {"NKI-E054", "dimension 1 of a view of 't2' along axis 0", [](ir::Program& p) { p.views[1].dims[1].axis = 0; }},
    {"NKI-E054", "dropped dimension 1", [](ir::Program& p) { p.views[0].dims[1].dropped = true; }},
    {"NKI-E054", "operation or engine of instruction 0", [](ir::Program& p) { p.instrs[0].op = static_cast<ir::Opcode>(100); }},
    {"NKI-E054", "operation or engine of instruction 0", [](ir::Program& p) { p.instrs[0].engine = static_cast<ir::Engine>(7); }},
    {"NKI-E054", "accumulate 3 of nc_matmul", [](ir::Program& p) { p.attr_pool[p.attr_sets[p.instrs[1].attrs].first] = 3; }},
    {"NKI-E054", "dge_mode -1 of dma_copy", [](ir::Program& p) { p.attr_pool[p.attr_sets[p.instrs[0].attrs].first] = -1; }},
    {"NKI-E055", "the bytes of buffer 't0'", [](ir::Program& p) { p.buffers[0].shape = {huge / 4, 64}; }},
    {"NKI-E055", "expression 3", [](ir::Program& p) { p.exprs[3].c = huge / 2; }},
    {"NKI-E055", "expression 1", [](ir::Program& p) { p.exprs[1].c = -huge; }},
    {"NKI-E056", "an alloc of argument 't0'", [](ir::Program& p) { p.nodes[1].id = 0; }},
    {"NKI-E056", "dma_copy of 't2' before its alloc", [](ir::Program& p) { std::swap(p.nodes[1].id, p.nodes[2].id); p.nodes[2].id = 3; }},
    {"NKI-E057", "3 operands of dma_copy", [](ir::Program& p) { p.instrs[0].n_operands = 3; }},
    {"NKI-E057", "0 attributes of nc_matmul", [](ir::Program& p) { p.instrs[1].attrs = 0; }},
    {"NKI-E311", "tile 't2' after the end of its loop",
     [](ir::Program& p) {
       p.loops.push_back({"i1", 0, 1, ir::LoopKind::affine, 0});
       p.nodes.insert(p.nodes.begin() + 1, {ir::Node::Kind::loop, 1, 3});
       for (std::size_t n = 2; n < p.nodes.size(); ++n) p.nodes[n].end = static_cast<std::uint32_t>(n) + 1;
       ++p.nodes[0].end;
     }},
};

// clang-format on

TEST(Structure, ASoundProgramPasses) {
  const check::Report r = check::verify(sample().p, arch::trn2);
  EXPECT_TRUE(r.ok()) << all_text(r.violations);
}

TEST(Structure, EachDamageIsNamed) {
  for (const Damage& d : damages) {
    SCOPED_TRACE(std::string(d.id) + " " + d.got);
    ir::Program p = sample().p;
    d.damage(p);
    const check::Report r = check::verify(p, arch::trn2);
    ASSERT_TRUE(has(r.violations, d.id)) << all_text(r.violations);
    EXPECT_NE(text_of(r.violations, d.id).find(d.got), std::string::npos) << all_text(r.violations);
    for (const Violation& v : r.violations)
      EXPECT_EQ(v.error_class, v.id == "NKI-E311" ? nki::ErrorClass::illegal : nki::ErrorClass::damaged_file);
    ASSERT_NE(check::find_rule(d.id), nullptr);
  }
}

TEST(Structure, UnusedPartsAreReadToo) {
  ir::Program p = sample().p;
  p.exprs.push_back({ir::ExprOp::min, 0, 1'000'000, 0});
  EXPECT_TRUE(has(check::verify(p, arch::trn2).violations, "NKI-E051"));
}

TEST(Structure, AnIndexOfALoopThatHasNoPlaceIsOfNoUse) {
  Maker k = sample();
  k.p.loops.push_back({"i1", 0, 1, ir::LoopKind::affine, 0});
  const auto lost = k.expr(ir::ExprOp::index, 1);
  EXPECT_TRUE(check::verify(k.p, arch::trn2).ok());
  k.p.views[0].dims[1].start = lost;
  EXPECT_TRUE(has(check::verify(k.p, arch::trn2).violations, "NKI-E053"));
}

TEST(Structure, ManyDamagesMakeAShortReport) {
  ir::Program p = sample().p;
  for (int i = 0; i < 1000; ++i) p.locs.push_back({7, 7, 7, 7});
  EXPECT_LE(check::verify(p, arch::trn2).violations.size(), 16U);
}

// ---- Anything at all.

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  void mutate(ir::Program& p) {
    switch (random_() % 14) {
      case 0:
        buffer(one_of(p.buffers));
        break;
      case 1:
      case 2:
      case 3:
        expr(one_of(p.exprs));
        break;
      case 4:
        loop(one_of(p.loops));
        break;
      case 5:
      case 6:
        view(one_of(p.views));
        break;
      case 7:
        number(one_of(p.operand_pool));
        break;
      case 8:
        number(one_of(p.attr_pool));
        break;
      case 9: {
        ir::AttrSet& s = one_of(p.attr_sets);
        number(random_() % 2 == 0 ? s.first : s.count);
        break;
      }
      case 10:
        instr(one_of(p.instrs));
        break;
      case 11:
      case 12:
        node(one_of(p.nodes));
        break;
      default:
        loc(one_of(p.locs));
        break;
    }
    if (random_() % 16 == 0) resize(p);
  }

 private:
  template <class T>
  T& one_of(std::vector<T>& list) {
    if (list.empty()) list.emplace_back();
    return list[random_() % list.size()];
  }
  /// Mostly a number near to what was there, so that deeper checks are reached.
  template <class N>
  void number(N& n) {
    const std::int64_t choices[] = {0, 1, -1, huge, -huge - 1, huge / 2, 127, 65536};
    switch (random_() % 4) {
      case 0:
        n = static_cast<N>(choices[random_() % 8]);
        break;
      case 1:
        n = static_cast<N>(random_());
        break;
      case 2:
        n = static_cast<N>(random_() % 16);
        break;
      default:
        n = static_cast<N>(static_cast<std::uint64_t>(n) + random_() % 5 - 2);
        break;
    }
  }
  template <class E>
  void code(E& e) {
    e = static_cast<E>(random_() % 8 == 0 ? random_() : random_() % 9);
  }
  void buffer(ir::Buffer& b) {
    switch (random_() % 6) {
      case 0:
        code(b.space);
        break;
      case 1:
        code(b.dtype);
        break;
      case 2:
        code(b.kind);
        break;
      case 3:
        number(b.rank);
        break;
      case 4:
        number(b.slots);
        break;
      default:
        number(b.shape[random_() % ir::max_rank]);
        break;
    }
  }
  void expr(ir::Expr& e) {
    switch (random_() % 4) {
      case 0:
        code(e.op);
        break;
      case 1:
        number(e.a);
        break;
      case 2:
        number(e.b);
        break;
      default:
        number(e.c);
        break;
    }
  }
  void loop(ir::Loop& l) {
    switch (random_() % 4) {
      case 0:
        code(l.kind);
        break;
      case 1:
        number(l.lower);
        break;
      case 2:
        number(l.upper);
        break;
      default:
        number(l.loc);
        break;
    }
  }
  void view(ir::View& v) {
    ir::Dim& d = v.dims[random_() % ir::max_rank];
    switch (random_() % 7) {
      case 0:
        number(v.buffer);
        break;
      case 1:
        number(v.rank);
        break;
      case 2:
        number(d.start);
        break;
      case 3:
        number(d.count);
        break;
      case 4:
        number(d.step);
        break;
      case 5:
        number(d.axis);
        break;
      default:
        d.dropped = !d.dropped;
        break;
    }
  }
  void instr(ir::Instr& in) {
    switch (random_() % 6) {
      case 0:
        code(in.op);
        break;
      case 1:
        code(in.engine);
        break;
      case 2:
        number(in.n_operands);
        break;
      case 3:
        number(in.first_operand);
        break;
      case 4:
        number(in.attrs);
        break;
      default:
        number(in.loc);
        break;
    }
  }
  void node(ir::Node& n) {
    switch (random_() % 3) {
      case 0:
        code(n.kind);
        break;
      case 1:
        number(n.id);
        break;
      default:
        number(n.end);
        break;
    }
  }
  void loc(ir::SourceLoc& l) {
    switch (random_() % 3) {
      case 0:
        number(l.file);
        break;
      case 1:
        number(l.line);
        break;
      default:
        number(l.scope);
        break;
    }
  }
  template <class T>
  void cut(std::vector<T>& list) {
    list.resize(random_() % (list.size() + 2));
  }
  void resize(ir::Program& p) {
    switch (random_() % 11) {
      case 0:
        cut(p.buffers);
        break;
      case 1:
        cut(p.exprs);
        break;
      case 2:
        cut(p.loops);
        break;
      case 3:
        cut(p.views);
        break;
      case 4:
        cut(p.operand_pool);
        break;
      case 5:
        cut(p.attr_pool);
        break;
      case 6:
        cut(p.attr_sets);
        break;
      case 7:
        cut(p.instrs);
        break;
      case 8:
        cut(p.nodes);
        break;
      case 9:
        cut(p.locs);
        break;
      default:
        cut(p.files);
        break;
    }
  }

  std::mt19937_64 random_;
};

TEST(Structure, NothingCrashesOrHangsTheCheck) {
  int sound = 0;
  std::vector<ir::Program> originals{sample().p};
  for (std::uint64_t seed = 1; seed < 20; ++seed) originals.push_back(RandomProgram(seed).make());
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Mutator mutator(seed);
    ir::Program p = originals[seed % originals.size()];
    for (std::uint64_t n = 0; n < 1 + seed % 4; ++n) mutator.mutate(p);
    const check::Report r = check::verify(p, *arch::all[seed % 3]);
    for (const Violation& v : r.violations) ASSERT_FALSE(v.text().empty());
    sound += r.violations.empty() || r.violations.front().error_class == nki::ErrorClass::illegal ? 1 : 0;
  }
  EXPECT_GT(sound, 2000);  // enough to reach what lies behind the structure
}

}  // namespace
