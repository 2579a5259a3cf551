#include <nki/arch.hpp>
#include <nki/nki.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

// The rules of one instruction while it is recorded: the error names the kernel's line.

namespace {

using namespace nki;
using namespace nki::literals;

template <class Kernel>
std::string refusal(const Arch& target, Kernel&& kernel) {
  nki::Builder nc(&target);
  try {
    kernel(nc);
  } catch (const nki::Error& e) {
    return e.what();
  }
  return "recorded";
}

TEST(Recording, RefusesWhereTheNumbersAreKnownAndNamesTheLine) {
  unsigned line = 0;
  const std::string here = std::string(__FILE__) + ":";
  std::string text = refusal(arch::trn1, [&](Builder& nc) {
    const auto a = sbuf<bf16>(nc, shape(128_c, 128_c));
    const auto b = sbuf<bf16>(nc, shape(128_c, 513_c));
    const auto c = psum<f32>(nc, shape(128_c, 512));
    line = __LINE__ + 1;
    nisa::nc_matmul(c, a, b);
  });
  EXPECT_EQ(text,
            "NKI-E206: the moving free extent must be 1..512; got moving 'sbuf_1' with 513 elements per partition "
            "(allowed: 1..512)\n  at " +
                here + std::to_string(line) +
                "\n  hint: loop over the moving columns in steps of nl::tile_size.gemm_moving_fmax");

  text = refusal(arch::trn2, [&](Builder& nc) {
    const auto x = argument(nc, ir::BufferKind::input, "x", DType::bf16, {300, 64});
    for (Index i : nl::affine_range(nc, 2, "i")) {
      const auto t = sbuf<bf16>(nc, shape(128_c, 64_c), {.name = "rows"});
      line = __LINE__ + 1;
      nisa::dma_copy(t, x(ds(i * 64 + 200, 128), all));
    }
  });
  EXPECT_NE(text.find("NKI-E231"), std::string::npos) << text;
  EXPECT_NE(text.find("src 'x' at 200..391 of axis 0 (allowed: 0..299)"), std::string::npos) << text;
  EXPECT_NE(text.find(here + std::to_string(line)), std::string::npos) << text;

  text = refusal(arch::trn1, [&](Builder& nc) {
    const auto a = sbuf<f32>(nc, shape(64_c, 8_c), {.name = "a"}), b = sbuf<f32>(nc, shape(64_c, 8_c));
    line = __LINE__ + 1;
    nisa::tensor_copy(a, b, nisa::Engine::scalar);
  });
  EXPECT_NE(text.find("tensor_copy on scalar of trn1 (allowed: NC-v3 or later)"), std::string::npos) << text;
  EXPECT_NE(text.find(here + std::to_string(line)), std::string::npos) << text;
}

TEST(Recording, ALoopThatNeverRunsHoldsNothingIllegal) {
  for (const std::int64_t blocks : {0, 1}) {
    const std::string text = refusal(arch::trn2, [&](Builder& nc) {
      const auto x = argument(nc, ir::BufferKind::input, "x", DType::bf16, {100, 64});
      for (Index i : nl::affine_range(nc, blocks, "i")) {
        const auto t = sbuf<bf16>(nc, shape(128_c, 64_c));
        nisa::dma_copy(t, x(ds(i * 128, 128), all));
      }
    });
    EXPECT_EQ(text.substr(0, 8), blocks == 0 ? "recorded" : "NKI-E231");
  }
}

}  // namespace
