#include "random_programs.hpp"

#include <nki/check/search.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace check_test;
using Answer = check::detail::Search::Answer;

struct Nest {
  Maker k;
  std::vector<ir::LoopId> loops;
  std::vector<ir::Range> ranges, loop_ranges;

  void finish() {
    ranges = ir::expression_ranges(k.p);
    for (ir::LoopId l = 0; l < k.p.loops.size(); ++l) {
      loops.push_back(l);
      const ir::Range lower = ranges[k.p.loops[l].lower], upper = ranges[k.p.loops[l].upper];
      loop_ranges.push_back({lower.lo, upper.hi - 1 < lower.lo ? lower.lo : upper.hi - 1});
    }
  }
};

TEST(Search, FindsTheOneIterationOfMany) {
  Nest n;
  const auto i = n.k.open(1'000'000), j = n.k.open(1000);
  const auto sum = n.k.add(n.k.mul(i, 1000), j);
  n.k.close();
  n.k.close();
  n.finish();
  const std::vector<ir::Range> before = n.ranges;
  check::detail::Search search(n.k.p, n.ranges, n.loop_ranges);
  for (const std::int64_t wanted : {0LL, 123'456'789LL, 999'999'999LL, 1'000'000'000LL}) {
    search.depend_on(sum);
    const Answer answer = search.run([&] { return n.ranges[sum].lo <= wanted && wanted <= n.ranges[sum].hi; });
    EXPECT_EQ(answer, wanted < 1'000'000'000 ? Answer::found : Answer::never);
    if (answer == Answer::found) {
      EXPECT_EQ(search.loop(0), (ir::Range{wanted / 1000, wanted / 1000}));
      EXPECT_EQ(search.loop(1), (ir::Range{wanted % 1000, wanted % 1000}));
    }
    search.restore();
    EXPECT_EQ(n.ranges, before);
  }
}

TEST(Search, VisitsOnlyIterationsOfATriangle) {
  // for i in 0..10, for j in i..min(i + 2, 9): j - i is 0 or 1, and j is 8 at most.
  Nest n;
  const auto i = n.k.open(10);
  const auto upper = n.k.min(n.k.add(i, n.k.number(2)), n.k.number(9));
  const auto j = n.k.open(i, upper);
  const auto difference = n.k.add(j, n.k.mul(i, -1));
  n.k.close();
  n.k.close();
  n.finish();
  check::detail::Search search(n.k.p, n.ranges, n.loop_ranges);
  const auto can_be = [&](ir::ExprId e, std::int64_t v) {
    search.depend_on(e);
    const Answer answer = search.run([&] { return n.ranges[e].lo <= v && v <= n.ranges[e].hi; });
    search.restore();
    return answer == Answer::found;
  };
  EXPECT_FALSE(can_be(difference, -1));
  EXPECT_TRUE(can_be(difference, 0));
  EXPECT_TRUE(can_be(difference, 1));
  EXPECT_FALSE(can_be(difference, 2));
  EXPECT_TRUE(can_be(j, 8));
  EXPECT_FALSE(can_be(j, 9));
}

TEST(Search, GivesUpRatherThanHang) {
  Nest n;
  const auto i = n.k.open(std::int64_t{1} << 60);
  n.k.close();
  n.finish();
  check::detail::Search search(n.k.p, n.ranges, n.loop_ranges);
  search.depend_on(i);
  // Open for every box, and false for every iteration.
  EXPECT_EQ(search.run([&] { return !n.ranges[i].is_point(); }), Answer::undecided);
}

/// The values of an expression in all iterations of some loops, outermost first.
class Values {
 public:
  Values(const ir::Program& p, std::vector<ir::LoopId> loops, ir::ExprId e)
      : p_(p), loops_(std::move(loops)), e_(e), index_(p.loops.size(), 0), values_(p.exprs.size(), 0) {
    visit(0);
  }
  std::set<std::int64_t> seen;

 private:
  void visit(std::size_t depth) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = ir::evaluate(p_.exprs[i], values_.data(), index_.data());
    if (depth == loops_.size()) {
      seen.insert(values_[e_]);
      return;
    }
    const ir::LoopId l = loops_[depth];
    const std::int64_t lower = values_[p_.loops[l].lower], upper = values_[p_.loops[l].upper];
    for (std::int64_t i = lower; i < upper; ++i) {
      index_[l] = i;
      visit(depth + 1);
    }
  }
  const ir::Program& p_;
  std::vector<ir::LoopId> loops_;
  ir::ExprId e_;
  std::vector<std::int64_t> index_, values_;
};

TEST(Search, AgreesWithAWalkThroughEveryIteration) {
  int found = 0, never = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const ir::Program p = RandomProgram(seed).make();
    std::vector<ir::Range> ranges = ir::expression_ranges(p), loop_ranges;
    for (const ir::Loop& l : p.loops) {
      const std::int64_t low = ranges[l.lower].lo, high = ranges[l.upper].hi - 1;
      loop_ranges.push_back({low, high < low ? low : high});
    }
    check::detail::Search search(p, ranges, loop_ranges);
    for (std::uint32_t node = 0; node < p.nodes.size(); ++node) {
      if (p.nodes[node].kind != ir::Node::Kind::instr) continue;
      const ir::ExprId e = p.views[p.operand(p.instrs[p.nodes[node].id], 0)].dims[1].count;
      std::vector<ir::LoopId> loops;
      for (std::uint32_t l = 0; l < node; ++l)
        if (p.nodes[l].kind == ir::Node::Kind::loop && p.nodes[l].end > node) loops.push_back(p.nodes[l].id);
      const Values values(p, loops, e);
      for (std::int64_t wanted = ranges[e].lo; wanted <= ranges[e].hi;
           wanted += 1 + (ranges[e].hi - ranges[e].lo) / 8) {
        for (const ir::LoopId l : loops) search.depend_on_loop(l);
        search.depend_on(e);
        const Answer answer = search.run([&] { return ranges[e].lo <= wanted && wanted <= ranges[e].hi; });
        search.restore();
        ASSERT_EQ(answer == Answer::found, values.seen.count(wanted) != 0) << wanted;
        (answer == Answer::found ? found : never) += 1;
      }
    }
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(never, 1000);
}

}  // namespace
