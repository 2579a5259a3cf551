#include <nki/dtype.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using nki::DType;

constexpr std::uint32_t code_count = 0x10000;
constexpr std::uint16_t sign_bit = 0x8000;

float float_of(std::uint32_t word) {
  return std::bit_cast<float>(word);
}
std::uint32_t word_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
bool is_quiet(float nan) {
  return (word_of(nan) & 0x0040'0000U) != 0;
}

/// One 16-bit format: the functions under test, and an independent decoder in double arithmetic.
struct Format {
  DType dtype;
  std::uint16_t (*bits)(float);
  float (*value)(std::uint16_t);

  int mantissa_bits() const { return nki::info(dtype).mantissa_bits; }
  int bias() const { return nki::info(dtype).bias; }
  int exponent_mask() const { return (1 << nki::info(dtype).exponent_bits) - 1; }
  int exponent_field(std::uint32_t code) const {
    return static_cast<int>((code & 0x7fffU) >> mantissa_bits()) & exponent_mask();
  }
  int mantissa_field(std::uint32_t code) const { return static_cast<int>(code) & ((1 << mantissa_bits()) - 1); }
  std::uint16_t infinity() const { return static_cast<std::uint16_t>(exponent_mask() << mantissa_bits()); }
  bool is_nan(std::uint32_t code) const { return (code & 0x7fffU) > infinity(); }

  /// The definition of the format, for finite codes; infinity's code gives the value that a further binade would have.
  double decode(std::uint32_t code) const {
    const int exponent = exponent_field(code);
    const double significand = mantissa_field(code) + (exponent == 0 ? 0.0 : std::ldexp(1.0, mantissa_bits()));
    const double magnitude = std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias() - mantissa_bits());
    return (code & sign_bit) != 0 ? -magnitude : magnitude;
  }

  /// Round to nearest, ties to even, from the two neighbours of |value|. Differences of neighbours are exact in double.
  std::uint16_t nearest(float exact) const {
    const std::uint16_t sign = std::signbit(exact) ? sign_bit : std::uint16_t{0};
    const double magnitude = std::fabs(static_cast<double>(exact));
    std::uint32_t below = 0;  // the largest code whose value is at most the magnitude: codes order like values
    for (std::uint32_t step = 0x4000; step != 0; step /= 2) {
      if (below + step <= infinity() && decode(below + step) <= magnitude) below += step;
    }
    if (below == infinity()) return sign | infinity();
    const double low = magnitude - decode(below);
    const double high = decode(below + 1) - magnitude;
    const bool up = high < low || (high == low && below % 2 == 1);
    return static_cast<std::uint16_t>(sign | (up ? below + 1 : below));
  }
};

const Format bf16_format{DType::bf16, nki::bf16_bits, nki::bf16_value};
const Format f16_format{DType::f16, nki::f16_bits, nki::f16_value};

class SixteenBit : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, SixteenBit, testing::Values(bf16_format, f16_format),
                         [](const auto& param) { return std::string(nki::name(param.param.dtype)); });

/// Millions of cases: count the failures and describe the first, rather than one assertion a case.
class Failures {
 public:
  void check(float input, std::uint16_t got, std::uint16_t want) {
    if (got == want) return;
    if (count_++ == 0) {
      std::ostringstream text;
      text << std::hexfloat << input << " (word 0x" << std::hex << word_of(input) << ") gave 0x" << got << ", not 0x"
           << want;
      first_ = text.str();
    }
  }
  std::size_t count() const { return count_; }
  const std::string& first() const { return first_; }

 private:
  std::size_t count_ = 0;
  std::string first_;
};

TEST_P(SixteenBit, EveryCodeHasTheValueOfTheFormat) {
  const Format format = GetParam();
  for (std::uint32_t code = 0; code < code_count; ++code) {
    const float value = format.value(static_cast<std::uint16_t>(code));
    EXPECT_EQ(std::signbit(value), (code & sign_bit) != 0) << code;
    if (format.is_nan(code)) {
      EXPECT_TRUE(std::isnan(value)) << code;
    } else if ((code & 0x7fffU) == format.infinity()) {
      EXPECT_TRUE(std::isinf(value)) << code;
    } else {
      EXPECT_EQ(static_cast<double>(value), format.decode(code)) << code;
    }
  }
}

TEST_P(SixteenBit, EveryCodeSurvivesARoundTrip) {
  const Format format = GetParam();
  const std::uint16_t quiet = static_cast<std::uint16_t>(1U << (format.mantissa_bits() - 1));
  for (std::uint32_t code = 0; code < code_count; ++code) {
    const std::uint16_t back = format.bits(format.value(static_cast<std::uint16_t>(code)));
    if (format.is_nan(code)) {
      EXPECT_EQ(back, code | quiet) << "a NaN keeps sign and payload and becomes quiet";
    } else {
      EXPECT_EQ(back, code);
    }
  }
}

TEST_P(SixteenBit, ConversionIsToNearestEvenOverAllExponents) {
  const Format format = GetParam();
  const int dropped_bits = 23 - format.mantissa_bits();
  const std::uint32_t half = 1U << (dropped_bits - 1);
  const std::uint32_t tails[] = {0, 1, half / 2, half - 1, half, half + 1, half + half / 2, 2 * half - 1};
  Failures failures;
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (std::uint32_t kept = 0; kept < (1U << format.mantissa_bits()); ++kept) {
      for (const std::uint32_t tail : tails) {
        const std::uint32_t word = exponent << 23 | kept << dropped_bits | tail;
        for (const float value : {float_of(word), -float_of(word)}) {
          failures.check(value, format.bits(value), format.nearest(value));
        }
      }
    }
  }
  EXPECT_EQ(failures.count(), 0U) << failures.first();
}

TEST_P(SixteenBit, EveryTieGoesToTheEvenCodeAndItsNeighboursToTheNearest) {
  const Format format = GetParam();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Failures failures;
  // The last pair is the largest finite value and infinity, which takes the place of the next binade.
  for (std::uint32_t code = 0; code < format.infinity(); ++code) {
    const double middle = (format.decode(code) + format.decode(code + 1)) / 2;
    const float tie = static_cast<float>(middle);
    ASSERT_EQ(static_cast<double>(tie), middle) << "every tie is an f32 number";
    const std::uint16_t low = static_cast<std::uint16_t>(code);
    const std::uint16_t high = static_cast<std::uint16_t>(code + 1);
    const std::uint16_t even = code % 2 == 0 ? low : high;
    failures.check(tie, format.bits(tie), even);
    failures.check(-tie, format.bits(-tie), sign_bit | even);
    failures.check(std::nextafter(tie, 0.0F), format.bits(std::nextafter(tie, 0.0F)), low);
    failures.check(std::nextafter(tie, infinity), format.bits(std::nextafter(tie, infinity)), high);
  }
  EXPECT_EQ(failures.count(), 0U) << failures.first();
}

TEST_P(SixteenBit, ZerosAndInfinitiesKeepTheirSign) {
  const Format format = GetParam();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(format.bits(0.0F), 0);
  EXPECT_EQ(format.bits(-0.0F), sign_bit);
  EXPECT_EQ(format.bits(infinity), format.infinity());
  EXPECT_EQ(format.bits(-infinity), sign_bit | format.infinity());
  EXPECT_EQ(format.bits(std::numeric_limits<float>::max()), format.infinity());
  EXPECT_EQ(format.bits(std::numeric_limits<float>::lowest()), sign_bit | format.infinity());
}

TEST_P(SixteenBit, NanStaysAQuietNanOfTheSameSign) {
  const Format format = GetParam();
  // A payload that lives only in the dropped bits must not turn into infinity.
  for (const std::uint32_t payload : {0x1U, 0x1fffU, 0x2000U, 0x3f'ffffU, 0x40'0000U, 0x40'0001U, 0x7f'ffffU}) {
    for (const std::uint32_t sign : {0U, 0x8000'0000U}) {
      const std::uint16_t code = format.bits(float_of(sign | 0x7f80'0000U | payload));
      EXPECT_TRUE(format.is_nan(code)) << std::hex << payload;
      EXPECT_EQ(code & sign_bit, sign >> 16) << std::hex << payload;
      EXPECT_TRUE(is_quiet(format.value(code))) << std::hex << payload;
    }
  }
}

TEST_P(SixteenBit, RelativeErrorIsAtMostTheUnitRoundoff) {
  const Format format = GetParam();
  const double bound = nki::unit_roundoff(format.dtype);
  double worst = 0;
  for (std::uint32_t mantissa = 0; mantissa < (1U << 23); mantissa += 5) {
    const double exact = static_cast<double>(float_of(0x3f80'0000U | mantissa));
    const double rounded = static_cast<double>(format.value(format.bits(static_cast<float>(exact))));
    worst = std::fmax(worst, std::fabs(rounded - exact) / exact);
  }
  EXPECT_LE(worst, bound);
  EXPECT_GT(worst, 0.9 * bound) << "the bound is tight";
}

#ifdef __FLT16_MAX__
TEST(F16, AgreesWithTheCompilersOwnHalf) {
  Failures narrowing;
  // A stride that is prime to 2^32 visits all exponents and low-bit patterns.
  for (std::uint64_t word = 0; word < (std::uint64_t{1} << 32); word += 4099) {
    const float value = float_of(static_cast<std::uint32_t>(word));
    if (std::isnan(value)) continue;  // payload rules differ
    narrowing.check(value, nki::f16_bits(value), std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)));
  }
  EXPECT_EQ(narrowing.count(), 0U) << narrowing.first();
  for (std::uint32_t code = 0; code < code_count; ++code) {
    const auto half = std::bit_cast<_Float16>(static_cast<std::uint16_t>(code));
    const float value = nki::f16_value(static_cast<std::uint16_t>(code));
    if (f16_format.is_nan(code)) {
      EXPECT_TRUE(std::isnan(value)) << code;
    } else {
      EXPECT_EQ(word_of(value), word_of(static_cast<float>(half))) << code;
    }
  }
}
#endif

TEST(StorageTypes, ConvertLikeTheRawForms) {
  for (const float value : {0.0F, -0.0F, 1.0F, -2.5F, 0.1F, 3.0e-6F, 1.0e6F, 3.0e38F}) {
    EXPECT_EQ(nki::to_bf16(value).bits, nki::bf16_bits(value));
    EXPECT_EQ(nki::bf16(value).bits, nki::bf16_bits(value));
    EXPECT_EQ(nki::to_f16(value).bits, nki::f16_bits(value));
    EXPECT_EQ(nki::f16(value).bits, nki::f16_bits(value));
  }
  for (const int number : {0x0000, 0x0001, 0x3c00, 0x3f80, 0x7bff, 0xc000}) {
    const auto code = static_cast<std::uint16_t>(number);
    EXPECT_EQ(nki::bf16::from_bits(code).bits, code);
    EXPECT_EQ(nki::to_float(nki::bf16::from_bits(code)), nki::bf16_value(code));
    EXPECT_EQ(static_cast<float>(nki::bf16::from_bits(code)), nki::bf16_value(code));
    EXPECT_EQ(nki::f16::from_bits(code).bits, code);
    EXPECT_EQ(nki::to_float(nki::f16::from_bits(code)), nki::f16_value(code));
    EXPECT_EQ(static_cast<float>(nki::f16::from_bits(code)), nki::f16_value(code));
  }
}

TEST(StorageTypes, CompareByValue) {
  EXPECT_EQ(nki::bf16(0.0F), nki::bf16(-0.0F));
  EXPECT_EQ(nki::f16(0.0F), nki::f16(-0.0F));
  EXPECT_NE(nki::bf16(1.0F), nki::bf16(2.0F));
  EXPECT_NE(nki::f16(1.0F), nki::f16(2.0F));
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(nki::bf16(nan), nki::bf16(nan));
  EXPECT_NE(nki::f16(nan), nki::f16(nan));
}

template <class T>
constexpr bool is_plain_sixteen_bits = sizeof(T) == 2 &&
                                       alignof(T) == 2 && std::is_trivial_v<T>&& std::is_standard_layout_v<T> &&
                                       !std::is_convertible_v<float, T> && !std::is_convertible_v<T, float>;
static_assert(is_plain_sixteen_bits<nki::bf16>);
static_assert(is_plain_sixteen_bits<nki::f16>);

static_assert(nki::to_float(nki::to_bf16(1.0F + 0x1p-8F)) == 1.0F, "conversions are usable in constant expressions");
static_assert(nki::to_float(nki::to_f16(0x1.8p-25F)) == 0x1p-24F, "conversions are usable in constant expressions");

static_assert(nki::dtype_of<float> == DType::f32);
static_assert(nki::dtype_of<nki::f32> == DType::f32);
static_assert(nki::dtype_of<nki::bf16> == DType::bf16);
static_assert(nki::dtype_of<const nki::f16> == DType::f16);
static_assert(nki::dtype_of<std::int8_t> == DType::i8);
static_assert(nki::dtype_of<std::int16_t> == DType::i16);
static_assert(nki::dtype_of<std::int32_t> == DType::i32);
static_assert(nki::dtype_of<std::uint8_t> == DType::u8);
static_assert(nki::dtype_of<std::uint16_t> == DType::u16);
static_assert(nki::dtype_of<std::uint32_t> == DType::u32);
static_assert(nki::dtype_of<bool> == DType::boolean);
static_assert(!nki::StorageType<double> && !nki::StorageType<std::int64_t> && !nki::StorageType<char>);

template <class T>
constexpr bool storage_matches_the_table = nki::bytes(nki::dtype_of<T>) == sizeof(T);
static_assert(storage_matches_the_table<float> && storage_matches_the_table<nki::bf16> &&
              storage_matches_the_table<nki::f16> && storage_matches_the_table<std::int32_t> &&
              storage_matches_the_table<std::uint8_t> && storage_matches_the_table<bool>);

TEST(DTypeTable, RowsStandInEnumeratorOrder) {
  for (std::size_t i = 0; i < nki::dtype_count; ++i) {
    EXPECT_EQ(&nki::info(static_cast<DType>(i)), &nki::dtype_table[i]);
    EXPECT_EQ(nki::dtype_table[i].dtype, static_cast<DType>(i));
  }
}

TEST(DTypeTable, EachTypeIsFloatOrIntegerOrBool) {
  for (const nki::DTypeInfo& row : nki::dtype_table) {
    const int kinds = int{row.is_float} + int{row.is_integer} + int{row.dtype == DType::boolean};
    EXPECT_EQ(kinds, 1) << row.name;
  }
}

TEST(DTypeTable, FieldsOfAFloatFillItsStorage) {
  for (const nki::DTypeInfo& row : nki::dtype_table) {
    if (!row.is_float || row.dtype == DType::tf32) continue;  // tf32 leaves 13 bits unused
    const int bits_of_value = int{row.is_signed} + row.exponent_bits + row.mantissa_bits;
    EXPECT_EQ(bits_of_value * row.packed, 8 * row.bytes) << row.name;
  }
}

TEST(DTypeTable, BiasCentresTheExponent) {
  for (const nki::DTypeInfo& row : nki::dtype_table) {
    if (row.is_float) {
      EXPECT_EQ(row.bias, (1 << (row.exponent_bits - 1)) - 1) << row.name;
    } else {
      EXPECT_EQ(row.exponent_bits + row.mantissa_bits + row.bias, 0) << row.name;
    }
  }
}

TEST(DTypeTable, MaxValueFollowsFromTheFormat) {
  for (const nki::DTypeInfo& row : nki::dtype_table) {
    if (row.is_integer) {
      EXPECT_EQ(row.max_value, std::ldexp(1.0, 8 * row.bytes - int{row.is_signed}) - 1) << row.name;
    } else if (row.is_float) {
      // Infinities take the whole last exponent. Without them a NaN takes the last code, and without a NaN nothing
      // does.
      const int last_exponent = (1 << row.exponent_bits) - (row.has_infinity ? 2 : 1);
      const int codes = (last_exponent + 1) << row.mantissa_bits;
      const int last_code = codes - (!row.has_infinity && row.has_nan ? 2 : 1);
      const int exponent = last_code >> row.mantissa_bits;
      const int significand = (1 << row.mantissa_bits) + (last_code & ((1 << row.mantissa_bits) - 1));
      EXPECT_EQ(row.max_value, std::ldexp(significand, exponent - row.bias - row.mantissa_bits)) << row.name;
    }
  }
}

TEST(DTypeTable, NamesAreUniqueInAnyCase) {
  std::set<std::string> names;
  for (const nki::DTypeInfo& row : nki::dtype_table) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(names.insert(row.nki_name).second) << row.nki_name;
    EXPECT_EQ(std::string(row.nki_name).rfind("nl.", 0), 0U) << row.nki_name;
  }
  for (const nki::detail::DTypeAlias& alias : nki::detail::dtype_aliases) {
    EXPECT_TRUE(names.insert(std::string(alias.spelling)).second) << alias.spelling;
  }
}

TEST(UnitRoundoff, IsHalfTheStepAfterOne) {
  EXPECT_EQ(nki::unit_roundoff(DType::f32), 0x1p-24);
  EXPECT_EQ(nki::unit_roundoff(DType::bf16), 0x1p-8);
  EXPECT_EQ(nki::unit_roundoff(DType::f16), 0x1p-11);
  EXPECT_EQ(nki::unit_roundoff(DType::tf32), 0x1p-11);
  EXPECT_EQ(nki::unit_roundoff(DType::f8e4m3), 0x1p-4);
  EXPECT_EQ(nki::unit_roundoff(DType::f8e5m2), 0x1p-3);
  EXPECT_EQ(nki::unit_roundoff(DType::i32), 0.0);
  EXPECT_EQ(nki::unit_roundoff(DType::f32), static_cast<double>(std::numeric_limits<float>::epsilon()) / 2);
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

TEST(ParseDType, AcceptsEveryNameInAnyCase) {
  for (const nki::DTypeInfo& row : nki::dtype_table) {
    const std::string nki_name = row.nki_name;
    for (const std::string& text : {std::string(row.name), nki_name, nki_name.substr(3)}) {
      EXPECT_EQ(nki::parse_dtype(text), row.dtype) << text;
      EXPECT_EQ(nki::parse_dtype(upper(text)), row.dtype) << text;
    }
  }
}

TEST(ParseDType, AcceptsTheUsualAliases) {
  const struct {
    DType dtype;
    std::vector<const char*> spellings;
  } cases[] = {
      {DType::f32, {"fp32", "float32", "float", "single"}},
      {DType::bf16, {"bfloat16", "BF16"}},
      {DType::f16, {"fp16", "float16", "half"}},
      {DType::tf32, {"tfloat32", "TF32"}},
      {DType::f8e4m3, {"fp8_e4m3", "float8_e4m3", "f8_e4m3", "fp8e4m3"}},
      {DType::f8e4m3fn, {"fp8_e4m3fn", "float8_e4m3fn", "f8_e4m3fn"}},
      {DType::f8e5m2, {"fp8_e5m2", "float8_e5m2", "f8_e5m2"}},
      {DType::f8e8m0fnu, {"float8_e8m0fnu"}},
      {DType::f8e4m3fn_x4, {"float8_e4m3fn_x4", "nl.float8_e4m3fn_x4"}},
      {DType::f4e2m1fn_x4, {"float4_e2m1fn_x4", "fp4_e2m1fn_x4"}},
      {DType::i8, {"int8"}},
      {DType::i16, {"int16"}},
      {DType::i32, {"int32"}},
      {DType::u8, {"uint8"}},
      {DType::u16, {"uint16"}},
      {DType::u32, {"uint32"}},
      {DType::boolean, {"bool", "bool_", "boolean"}},
  };
  for (const auto& expected : cases) {
    for (const char* text : expected.spellings) EXPECT_EQ(nki::parse_dtype(text), expected.dtype) << text;
  }
}

TEST(ParseDType, RefusesUnknownAndAmbiguousNames) {
  for (const char* text : {"", "nl.", "fp8", "float8", "int", "f64", "double", "int64", "bf", "bf16 ", " f32",
                           "nl.bf16", "f32f32", "e4m3"}) {
    EXPECT_FALSE(nki::parse_dtype(text).has_value()) << text;
  }
}

static_assert(nki::parse_dtype("bf16") == DType::bf16, "parsing is usable in constant expressions");

}  // namespace
