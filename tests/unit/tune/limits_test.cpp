#include <autotune/tool/limits.hpp>
#include <sim/tool/failure.hpp>

#include <gtest/gtest.h>

namespace nki::tool {
namespace {

TEST(Limits, BudgetsAreNumbersWithUnits) {
  const tune::Budget b = parse_budget({"200evals,30s", "gap=1%"});
  EXPECT_EQ(b.evals, 200);
  EXPECT_EQ(b.seconds, 30);
  EXPECT_DOUBLE_EQ(b.gap, 0.01);
  EXPECT_EQ(parse_budget({"2m"}).seconds, 120);
  EXPECT_EQ(parse_budget({"0.5s"}).seconds, 0.5);
  EXPECT_EQ(parse_budget({"1eval"}).evals, 1);
  EXPECT_EQ(parse_budget({"gap=0.02"}).gap, 0.02);
  EXPECT_EQ(parse_budget({"gap=0"}).gap, 0);
  EXPECT_FALSE(parse_budget({}).limited());
}

TEST(Limits, OtherBudgetsAreRefused) {
  for (const char* text : {"",
                           "5",
                           "evals",
                           "-3evals",
                           "0evals",
                           "1.5evals",
                           "1e99evals",
                           "30 s",
                           "30sec",
                           "0s",
                           "nans",
                           "infs",
                           "gap",
                           "gap=",
                           "gap=-1%",
                           "gap=1%%",
                           "gap=x",
                           "200evals,",
                           "200evals,300evals",
                           "1s,2m"})
    EXPECT_THROW(parse_budget({text}), Failure) << text;
}

TEST(Limits, Requirements) {
  const Require r = parse_require({"gap=5%,regret=0"});
  EXPECT_DOUBLE_EQ(r.gap, 0.05);
  EXPECT_EQ(r.regret, 0);
  EXPECT_LT(parse_require({}).gap, 0);
  for (const char* text : {"", "5%", "gap", "gap=", "speed=3"}) EXPECT_THROW(parse_require({text}), Failure) << text;
}

}  // namespace
}  // namespace nki::tool
