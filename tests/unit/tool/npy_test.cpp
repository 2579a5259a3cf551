#include <sim/tool/failure.hpp>
#include <sim/tool/inputs.hpp>
#include <sim/tool/npy.hpp>

#include <nki/error.hpp>
#include <nki/exec/tensor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace nki;
using namespace nki::tool;

exec::HostTensor sample(DType t, std::vector<std::int64_t> shape) {
  exec::HostTensor x = exec::make_tensor("x", t, std::move(shape));
  fill_random(x, Dist::hostile, 3, 0);
  return x;
}

TEST(Npy, EveryDtypeComesBackBitForBit) {
  for (const DType t : {DType::f32, DType::f16, DType::bf16, DType::i8, DType::i32, DType::u16, DType::boolean}) {
    const exec::HostTensor x = sample(t, {5, 7});
    const auto files = npy_files(x);
    ASSERT_EQ(files.size(), t == DType::bf16 ? 2u : 1u);
    for (const auto& [suffix, bytes] : files) {
      const exec::HostTensor back = tensor_from_npy(parse_npy(bytes, "x.npy"), "x", t, "x.npy");
      EXPECT_EQ(back.data, x.data) << name(t) << suffix;
      EXPECT_EQ(back.shape, x.shape);
    }
  }
}

TEST(Npy, ShapesOfEveryRank) {
  for (const std::vector<std::int64_t>& shape :
       std::vector<std::vector<std::int64_t>>{{}, {3}, {0}, {2, 0, 3}, {1, 2, 3, 4, 5}}) {
    NpyArray a{'u', 1, shape, {}};
    a.data.assign(static_cast<std::size_t>(a.elements()), 'x');
    const NpyArray b = parse_npy(npy_text(a), "x.npy");
    EXPECT_EQ(b.shape, shape);
    EXPECT_EQ(b.data, a.data);
    EXPECT_EQ((npy_text(a).size() - a.data.size()) % 64, 0u);
  }
}

TEST(Npy, FloatsAreRoundedToTheDtype) {
  NpyArray a{'f', 8, {1}, std::string(8, '\0')};
  const double value = 1.0 + 1.0 / 256;  // half-way between two bf16 values: to even
  a.data.assign(reinterpret_cast<const char*>(&value), 8);
  EXPECT_EQ(exec::to_floats(tensor_from_npy(a, "x", DType::bf16, "x.npy"))[0], 1.0f);
}

TEST(Npy, AnotherElementTypeIsAUsageError) {
  const NpyArray a{'i', 4, {1}, std::string(4, '\0')};
  EXPECT_THROW(tensor_from_npy(a, "x", DType::f32, "x.npy"), Failure);
  EXPECT_THROW(tensor_from_npy(a, "x", DType::u32, "x.npy"), Failure);
}

TEST(Npy, DamagedFilesAreRefusedWithoutHarm) {
  const auto files = npy_files(sample(DType::f32, {4, 6}));
  const std::string& good = files[0].second;
  std::mt19937_64 random(1);
  for (std::size_t n = 0; n < good.size(); ++n) EXPECT_THROW(parse_npy(good.substr(0, n), "x.npy"), Error) << n;
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[random() % 128] = static_cast<char>(random() % 128);
    try {
      const NpyArray a = parse_npy(bad, "x.npy");
      EXPECT_EQ(a.data.size(), static_cast<std::size_t>(a.elements()) * static_cast<std::size_t>(a.item_bytes));
    } catch (const Error& e) {
      EXPECT_EQ(e.violation().error_class, ErrorClass::damaged_file);
    }
  }
}

TEST(Inputs, DependOnSeedArgumentAndPlaceOnly) {
  const auto values = [](std::vector<std::int64_t> shape, std::int64_t seed, int argument, Dist d) {
    exec::HostTensor x = exec::make_tensor("x", DType::f32, std::move(shape));
    fill_random(x, d, seed, argument);
    return exec::to_floats(x);
  };
  for (const Dist d : {Dist::normal, Dist::uniform, Dist::hostile}) {
    EXPECT_EQ(values({4, 8}, 5, 0, d), values({32}, 5, 0, d));
    EXPECT_NE(values({32}, 5, 0, d), values({32}, 6, 0, d));
    EXPECT_NE(values({32}, 5, 0, d), values({32}, 5, 1, d));
  }
  EXPECT_EQ(values({3}, 1, 0, Dist::constant), (std::vector<float>{1, 1, 1}));
}

TEST(Inputs, NormalOnesHaveMeanZeroAndVarianceOne) {
  exec::HostTensor x = exec::make_tensor("x", DType::f32, {100000});
  fill_random(x, Dist::normal, 0, 0);
  double sum = 0, squares = 0;
  for (const float v : exec::to_floats(x)) {
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
}

}  // namespace
