#include "copy_kernel.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace nki::tune_test {
namespace {

using kernels::Matmul;
using tune::Space;

/// Every combination by an odometer of its own.
template <class Fn>
void for_each_combination(const kernel::Kernel& k, Fn&& fn) {
  kernel::Config c(k.tunables().size());
  const auto walk = [&](const auto& self, std::size_t t) -> void {
    if (t == c.size()) return fn(c);
    for (const std::int64_t v : k.tunables()[t].values) {
      c[t] = v;
      self(self, t + 1);
    }
  };
  walk(walk, 0);
}

TEST(Space, HoldsExactlyTheLegalCombinationsInOrder) {
  const kernel::Of<Matmul> k;
  for (const auto& [m, n, layout] :
       {std::tuple{300L, 700L, Matmul::Layout::lhs}, {2048L, 4096L, Matmul::Layout::lhsT}}) {
    const kernel::Problem p = matmul_problem(m, n, 384, layout);
    const Space s(k, p, arch::trn2);
    std::vector<std::int64_t> rejected(k.constraints().size());
    std::int64_t all = 0;
    tune::Index next = 0;
    for_each_combination(k, [&](const kernel::Config& c) {
      ++all;
      const int broken = k.broken_constraint(p, c, arch::trn2);
      if (broken >= 0) {
        ++rejected[static_cast<std::size_t>(broken)];
        EXPECT_EQ(s.find(c), tune::no_index);
        return;
      }
      ASSERT_LT(next, s.size());
      EXPECT_EQ(s.config(next), c);
      EXPECT_EQ(s.find(c), next);
      ++next;
    });
    EXPECT_EQ(next, s.size());
    EXPECT_EQ(s.cartesian(), all);
    ASSERT_EQ(s.rejections().size(), rejected.size());
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < rejected.size(); ++i) {
      EXPECT_EQ(s.rejections()[i].constraint, k.constraints()[i]);
      EXPECT_EQ(s.rejections()[i].rejected, rejected[i]);
      sum += rejected[i];
    }
    EXPECT_EQ(sum, s.rejected());
    EXPECT_EQ(s.rejected() + static_cast<std::int64_t>(s.size()), s.cartesian());
  }
}

TEST(Space, TheDefaultOfEveryTargetIsInIt) {
  const kernel::Of<Matmul> k;
  for (const Arch* a : arch::all)
    for (const auto layout : {Matmul::Layout::lhsT, Matmul::Layout::lhs}) {
      const kernel::Problem p = matmul_problem(640, 1100, 512, layout);
      const Space s(k, p, *a);
      ASSERT_NE(s.start(), tune::no_index) << a->name;
      EXPECT_EQ(s.config(s.start()), k.default_config(p, *a)) << a->name;
      EXPECT_FALSE(s.start_moved()) << a->name;
    }
}

TEST(Space, PinsLeaveOneValue) {
  const kernel::Of<Copy> k;
  const Space s(k, copy_problem(1024), arch::trn2, pins(k, {{"width", 2}, {"trouble", 0}}));
  EXPECT_EQ(s.cartesian(), 3 * 2);
  EXPECT_EQ(s.size(), 6U);
  for (tune::Index i = 0; i < s.size(); ++i) {
    EXPECT_EQ(s.config(i)[0], 2);
    EXPECT_EQ(s.config(i)[2], 0);
  }
  EXPECT_EQ(s.config(s.start()), (kernel::Config{2, 1, 0, 6}));
  EXPECT_FALSE(s.start_moved());
}

TEST(Space, ADefaultThatPinsMakeIllegalGivesWayToTheNearest) {
  const kernel::Of<Copy> k;
  const Space s(k, copy_problem(1024), arch::trn2, pins(k, {{"width", 4}}));  // one slot is not legal then
  ASSERT_NE(s.start(), tune::no_index);
  EXPECT_TRUE(s.start_moved());
  EXPECT_EQ(s.config(s.start()), (kernel::Config{4, 2, 0, 6}));
}

TEST(Space, AnEmptyOneNamesWhatRejects) {
  const kernel::Of<Copy> k;
  const Space s(k, copy_problem(128), arch::trn2, pins(k, {{"width", 4}}));
  EXPECT_TRUE(s.empty());
  EXPECT_EQ(s.start(), tune::no_index);
  try {
    s.require_legal();
    FAIL() << "nothing is legal";
  } catch (const Error& e) {
    EXPECT_EQ(e.violation().error_class, ErrorClass::illegal);
    const std::string text = e.what();
    EXPECT_NE(text.find("none of 18"), std::string::npos) << text;
    EXPECT_NE(text.find("'wide tiles have two slots or more' rejects 6"), std::string::npos) << text;
    EXPECT_NE(text.find("'no tile is wider than the tensor' rejects 12"), std::string::npos) << text;
  }
}

TEST(Space, NeighboursDifferInOneValueAndKnowEachOther) {
  const kernel::Of<Copy> k;
  const Space s(k, copy_problem(1024), arch::trn2);
  for (tune::Index i = 0; i < s.size(); ++i) {
    std::size_t by_distance = 0;
    for (tune::Index j = 0; j < s.size(); ++j) by_distance += s.distance(i, j) == 1 ? 1U : 0U;
    const std::vector<tune::Index> near = s.neighbours(i);
    EXPECT_EQ(near.size(), by_distance);
    for (const tune::Index j : near) {
      EXPECT_EQ(s.distance(i, j), 1);
      const std::vector<tune::Index> back = s.neighbours(j);
      EXPECT_NE(std::find(back.begin(), back.end(), i), back.end());
    }
  }
}

TEST(Space, EncodingsTellConfigurationsApart) {
  const kernel::Of<Copy> k;
  const Space s(k, copy_problem(1024), arch::trn2);
  const std::size_t width = s.encode(0).size();
  EXPECT_EQ(width, 1U + 1U + 3U + 2U);  // two ordered tunables, names of three and of two
  for (tune::Index i = 0; i < s.size(); ++i) {
    const std::vector<double> x = s.encode(i);
    ASSERT_EQ(x.size(), width);
    for (const double v : x) {
      EXPECT_GE(v, 0);
      EXPECT_LE(v, 1);
    }
    for (tune::Index j = 0; j < i; ++j) EXPECT_NE(s.encode(j), x);
  }
}

}  // namespace
}  // namespace nki::tune_test
