#include "random_programs.hpp"

#include <nki/check/verify.hpp>
#include <nki/ir/cursor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace check_test;

using Broken = std::set<std::pair<std::string, std::uint32_t>>;  // rule and line

/// Every iteration, with the value of every expression.
struct Oracle {
  Broken rules;                          // of single instructions
  Broken contents;                       // reads and accumulation without a write before
  std::vector<std::int64_t> executions;  // of each instruction

  Oracle(const ir::Program& p, const Arch& core) : executions(p.instrs.size(), 0) {
    std::vector<bool> written(p.buffers.size()), multiplied(p.buffers.size());
    ir::Cursor cursor(p);
    for (auto event = cursor.next(); event != ir::Cursor::Event::end; event = cursor.next()) {
      if (event == ir::Cursor::Event::alloc) written[cursor.id()] = multiplied[cursor.id()] = false;
      if (event != ir::Cursor::Event::instr) continue;
      const ir::Instr& in = p.instrs[cursor.id()];
      const std::uint32_t line = p.locs[in.loc].line;
      ++executions[cursor.id()];
      const auto point = [&](ir::ExprId e) { return ir::Range{cursor.value(e), cursor.value(e)}; };
      check::instruction_rules(p, in, point, &core, check::Certainty::may,
                               [&](const Violation& v) { rules.emplace(v.id, line); });
      const ir::OpInfo& op = ir::info(in.op);
      for (int o = 0; o < in.n_operands; ++o) {
        const ir::BufferId b = p.views[p.operand(in, o)].buffer;
        if (p.buffers[b].kind != ir::BufferKind::tile) continue;
        const ir::Access access = op.operands[static_cast<std::size_t>(o)].access;
        if (access == ir::Access::read && !written[b]) contents.emplace("NKI-E303", line);
        if (access == ir::Access::accumulate && p.attr(in, 0) == static_cast<std::int64_t>(ir::Accumulate::add) &&
            !(core.generation >= 4 ? written[b] : multiplied[b]))
          contents.emplace("NKI-E211", line);
      }
      for (int o = 0; o < in.n_operands; ++o) {
        const ir::BufferId b = p.views[p.operand(in, o)].buffer;
        if (op.operands[static_cast<std::size_t>(o)].access == ir::Access::read) continue;
        written[b] = true;
        if (in.op == ir::Opcode::nc_matmul) multiplied[b] = true;
      }
    }
  }
};

std::string spelled(const Broken& broken) {
  std::string out;
  for (const auto& [id, line] : broken) out += id + ":" + std::to_string(line) + " ";
  return out;
}

TEST(VerifyRandom, AgreesWithAWalkThroughEveryIteration) {
  int legal = 0, illegal = 0, late = 0;
  for (std::uint64_t seed = 1; seed <= 6000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ir::Program p = RandomProgram(seed).make();
    const Arch& core = *arch::all[seed % 3];
    Oracle oracle(p, core);
    Broken rules, contents;
    for (const Violation& v : check::verify(p, core).violations) {
      ASSERT_NE(v.error_class, nki::ErrorClass::damaged_file) << v.text();
      if (v.id == "NKI-E104" || v.id == "NKI-E110") continue;
      // A fill before an accumulation is judged by the order of the nodes; the walk here does not know it.
      if (v.id == "NKI-E211" && v.got.find("wrote (") != std::string::npos) {
        oracle.contents.erase({v.id, v.line});
        continue;
      }
      (v.id == "NKI-E303" || v.id == "NKI-E211" ? contents : rules).emplace(v.id, v.line);
    }
    ASSERT_EQ(spelled(rules), spelled(oracle.rules));
    ASSERT_EQ(spelled(contents), spelled(oracle.contents));
    (rules.empty() ? legal : illegal) += 1;

    // What is refused while recording is broken in every iteration.
    const std::vector<ir::Range> ranges = ir::expression_ranges(p);
    for (std::size_t i = 0; i < p.instrs.size(); ++i)
      check::instruction_rules(
          p, p.instrs[i], [&](ir::ExprId e) { return ranges[e]; }, &core, check::Certainty::must,
          [&](const Violation& v) {
            if (oracle.executions[i] == 0) return;
            EXPECT_TRUE(oracle.rules.count({v.id, p.locs[p.instrs[i].loc].line})) << v.text();
            ++late;
          });
  }
  // The programs are worth looking at.
  EXPECT_GT(legal, 300);
  EXPECT_GT(illegal, 300);
  EXPECT_GT(late, 300);
}

}  // namespace
