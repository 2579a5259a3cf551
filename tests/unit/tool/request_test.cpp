#include <sim/tool/failure.hpp>
#include <sim/tool/request.hpp>

#include <nki/kernels/cases.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace nki;
using namespace nki::tool;

TargetFlags matmul(std::string shape = "m=64,n=64,k=64") {
  TargetFlags f;
  f.target = "matmul";
  f.shape = {std::move(shape)};
  return f;
}
Request resolved(const TargetFlags& f) {
  return resolve(f, Hw::trn2_by_default, "nki-sim time");
}

std::string refusal(const TargetFlags& f, Hw hw = Hw::trn2_by_default) {
  try {
    resolve(f, hw, "nki-sim time");
  } catch (const Failure& e) {
    EXPECT_EQ(e.fault().exit_code, exit_usage);
    return e.what();
  }
  return "accepted";
}

TEST(Request, TakesSizesInAnyOrderAndInSeveralFlags) {
  TargetFlags f = matmul("k=3,m=1");
  f.shape.push_back("n=2");
  EXPECT_EQ(resolved(f).problem.sizes, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(Request, SizesGoFromOneToTwoToThe31) {
  EXPECT_EQ(resolved(matmul("m=2147483648,n=1,k=1")).problem.sizes[0], std::int64_t{1} << 31);
  for (const char* bad : {"0", "-1", "2147483649", "1 ", " 1", "1.0", "1e3", "", "0x1", "99999999999999999999"})
    EXPECT_NE(refusal(matmul("n=1,k=1,m=" + std::string(bad))).find("m="), std::string::npos) << bad;
}

TEST(Request, NamesEveryMissingSize) {
  const std::string text = refusal(matmul("n=5"));
  EXPECT_NE(text.find("no m ("), std::string::npos) << text;
  EXPECT_NE(text.find("k ("), std::string::npos) << text;
}

TEST(Request, DtypesOfAllOperandsOrOfSome) {
  TargetFlags f = matmul();
  f.dtype = {"float32", "out=bfloat16"};
  EXPECT_EQ(resolved(f).problem.dtypes, (std::vector{DType::f32, DType::f32, DType::bf16}));
}

TEST(Request, EveryCaseIsAProblemOfItsKernel) {
  for (const kernels::Case& c : kernels::cases) {
    TargetFlags f;
    f.target = c.kernel;
    f.case_id = c.id;
    const Request r = resolved(f);
    EXPECT_EQ(r.kernel->spell_sizes(r.problem), c.sizes);
    EXPECT_EQ(r.kernel->broken_constraint(r.problem, configured(r), arch::trn2), -1) << c.id;
  }
}

TEST(Request, FlagsChangeACase) {
  TargetFlags f;
  f.target = "matmul";
  f.case_id = "S01";
  f.dtype = {"f32"};
  f.attr = {"layout=lhsT"};
  const Request r = resolved(f);
  EXPECT_EQ(r.problem.dtypes[0], DType::f32);
  EXPECT_EQ(r.kernel->spell_attrs(r.problem), "layout=lhsT");
}

TEST(Request, ValuesOfTunablesByNumberOrByLabel) {
  TargetFlags f = matmul();
  f.param = {"keep=lhs", "bufs=3"};
  const Request r = resolved(f);
  const kernel::Config c = configured(r);
  EXPECT_NE(r.kernel->spell_config(c).find("keep=lhs"), std::string::npos);
  EXPECT_NE(r.kernel->spell_config(c).find("bufs=3"), std::string::npos);
  f.param = {"bufs=4"};
  EXPECT_NE(refusal(f).find("2, 3"), std::string::npos);
  f.param = {"bufs=2,bufs=2"};
  EXPECT_NE(refusal(f).find("once"), std::string::npos);
}

TEST(Request, TheHintForAnIllegalConfigurationIsLegal) {
  TargetFlags f = matmul("m=4096,n=4096,k=4096");
  f.param = {"tiles_m=4,tiles_n=2,psum_bufs=2"};
  const Request r = resolved(f);
  try {
    configured(r);
    FAIL() << "8 tiles in 2 slots each fit no 8 banks";
  } catch (const Failure& e) {
    EXPECT_EQ(e.fault().exit_code, exit_illegal);
    const std::string& hint = e.fault().hint;
    const std::size_t at = hint.find("--param ") + 8;
    TargetFlags g = matmul("m=4096,n=4096,k=4096");
    g.param = {hint.substr(at, hint.find(' ', at) - at)};
    std::string kept;
    for (const char* p : {"tiles_m=4", "tiles_n=2", "psum_bufs=2"})
      if (g.param[0].find(std::string(p).substr(0, std::string(p).find('='))) == std::string::npos)
        g.param.push_back(p);
    EXPECT_NO_THROW(configured(resolved(g))) << hint;
  }
}

TEST(Request, TheTargetMustBeGivenWhereTimeIsAsked) {
  const std::string text = refusal(matmul(), Hw::required);
  EXPECT_NE(text.find("--hw trn2: nki-sim time matmul --shape m=64,n=64,k=64 --hw trn2"), std::string::npos) << text;
}

TEST(Nearest, FindsSwappedMissingAndSurplusLetters) {
  const std::vector<std::string> names{"matmul", "softmax", "flash_attention_fwd", "m", "n"};
  EXPECT_EQ(nearest("matmull", names), "matmul");
  EXPECT_EQ(nearest("mamtul", names), "matmul");
  EXPECT_EQ(nearest("MATMUL", names), "matmul");
  EXPECT_EQ(nearest("softmx", names), "softmax");
  EXPECT_EQ(nearest("flash_attention", names), "flash_attention_fwd");
  EXPECT_EQ(nearest("M", names), "m");
  EXPECT_EQ(nearest("x", names), "");
  EXPECT_EQ(nearest("conv2d", names), "");
  EXPECT_EQ(nearest("", names), "");
  EXPECT_EQ(nearest(std::string(100000, 'm'), names), "");
}

TEST(ParseNumber, TakesFiniteNumbersWithinLimits) {
  EXPECT_EQ(parse_number("0.25", 0, 1, "x"), 0.25);
  for (const char* bad : {"", "x", "nan", "inf", "1e999", "-0.1", "1.5", "0.5x"})
    EXPECT_THROW(parse_number(bad, 0, 1, "x"), Failure) << bad;
}

}  // namespace
