#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace nki::inline v0_1 {

/// Element types of tiles and HBM tensors: the dtypes of nki.language.
///
/// The canonical name of each is the enumerator, except `boolean`, which is written "bool".
/// Source: NKI reference, nki.language dtypes (AWS Neuron SDK 2.32).
enum class DType : std::uint8_t {
  f32,
  bf16,
  f16,
  tf32,
  f8e4m3,
  f8e4m3fn,
  f8e5m2,
  f8e8m0fnu,
  f8e4m3fn_x4,
  f8e5m2_x4,
  f4e2m1fn_x4,
  i8,
  i16,
  i32,
  u8,
  u16,
  u32,
  boolean
};

/// One row of `dtype_table`.
///
/// The `_x4` types store four values in one unit: `bytes` is the size of that unit, the tile's element, while the
/// number format, the specials and `max_value` describe each of the four values.
struct DTypeInfo {
  DType dtype;
  const char* name;      ///< canonical spelling, used in all output
  const char* nki_name;  ///< spelling in NKI source
  int bytes;             ///< storage of one tile element
  int packed;            ///< values in one tile element, 1 or 4
  int exponent_bits;     ///< 0 unless `is_float`
  int mantissa_bits;     ///< stored bits, without the hidden one; 0 unless `is_float`
  int bias;              ///< 0 unless `is_float`
  bool is_float;
  bool is_integer;  ///< false for `boolean`, which takes part in no arithmetic rule
  bool is_signed;
  bool has_infinity;
  bool has_nan;
  double max_value;  ///< largest finite value
};

// clang-format off
/// Properties of every dtype, in the order of the enumerators.
///
/// Formats: f8e4m3 is the IEEE-like variant of trn1 and trn2 (infinities, 240); f8e4m3fn is the OCP one (no infinity,
/// one NaN code, 448). f8e8m0fnu has neither sign nor mantissa. tf32 occupies 32 bits.
/// Source: NKI reference, nki.language dtypes (AWS Neuron SDK 2.32); OCP 8-bit floating point and microscaling formats.
inline constexpr auto dtype_table = [] {
  using enum DType;
  constexpr bool yes = true, no = false;
  return std::to_array<DTypeInfo>({
      // bytes, values packed in them, exponent and mantissa bits, bias; then: float, integer, signed, infinity, NaN
      {f32,         "f32",         "nl.float32",          4, 1, 8, 23, 127, yes, no,  yes, yes, yes, 0x1.fffffep127},
      {bf16,        "bf16",        "nl.bfloat16",         2, 1, 8,  7, 127, yes, no,  yes, yes, yes, 0x1.fep127},
      {f16,         "f16",         "nl.float16",          2, 1, 5, 10,  15, yes, no,  yes, yes, yes, 65504.0},
      {tf32,        "tf32",        "nl.tfloat32",         4, 1, 8, 10, 127, yes, no,  yes, yes, yes, 0x1.ffcp127},
      {f8e4m3,      "f8e4m3",      "nl.float8_e4m3",      1, 1, 4,  3,   7, yes, no,  yes, yes, yes, 240.0},
      {f8e4m3fn,    "f8e4m3fn",    "nl.float8_e4m3fn",    1, 1, 4,  3,   7, yes, no,  yes, no,  yes, 448.0},
      {f8e5m2,      "f8e5m2",      "nl.float8_e5m2",      1, 1, 5,  2,  15, yes, no,  yes, yes, yes, 57344.0},
      {f8e8m0fnu,   "f8e8m0fnu",   "nl.float8_e8m0fnu",   1, 1, 8,  0, 127, yes, no,  no,  no,  yes, 0x1p127},
      {f8e4m3fn_x4, "f8e4m3fn_x4", "nl.float8_e4m3fn_x4", 4, 4, 4,  3,   7, yes, no,  yes, no,  yes, 448.0},
      {f8e5m2_x4,   "f8e5m2_x4",   "nl.float8_e5m2_x4",   4, 4, 5,  2,  15, yes, no,  yes, yes, yes, 57344.0},
      {f4e2m1fn_x4, "f4e2m1fn_x4", "nl.float4_e2m1fn_x4", 2, 4, 2,  1,   1, yes, no,  yes, no,  no,  6.0},
      {i8,          "i8",          "nl.int8",             1, 1, 0,  0,   0, no,  yes, yes, no,  no,  127.0},
      {i16,         "i16",         "nl.int16",            2, 1, 0,  0,   0, no,  yes, yes, no,  no,  32767.0},
      {i32,         "i32",         "nl.int32",            4, 1, 0,  0,   0, no,  yes, yes, no,  no,  2147483647.0},
      {u8,          "u8",          "nl.uint8",            1, 1, 0,  0,   0, no,  yes, no,  no,  no,  255.0},
      {u16,         "u16",         "nl.uint16",           2, 1, 0,  0,   0, no,  yes, no,  no,  no,  65535.0},
      {u32,         "u32",         "nl.uint32",           4, 1, 0,  0,   0, no,  yes, no,  no,  no,  4294967295.0},
      {boolean,     "bool",        "nl.bool_",            1, 1, 0,  0,   0, no,  no,  no,  no,  no,  1.0},
  });
}();
// clang-format on

/// Number of dtypes.
inline constexpr std::size_t dtype_count = dtype_table.size();

namespace detail {

constexpr bool dtype_table_follows_the_enumerators() {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (static_cast<std::size_t>(dtype_table[i].dtype) != i) return false;
  }
  return dtype_count == static_cast<std::size_t>(DType::boolean) + 1;
}
static_assert(dtype_table_follows_the_enumerators());

/// ASCII only, so that the result does not depend on the locale.
constexpr char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower_ascii(a[i]) != lower_ascii(b[i])) return false;
  }
  return true;
}

struct DTypeAlias {
  std::string_view spelling;
  DType dtype;
};

// Only spellings that name one format. "fp8" and "int" are left out because they do not.
inline constexpr DTypeAlias dtype_aliases[] = {
    {"fp32", DType::f32},
    {"float", DType::f32},
    {"single", DType::f32},
    {"fp16", DType::f16},
    {"half", DType::f16},
    {"f8_e4m3", DType::f8e4m3},
    {"fp8_e4m3", DType::f8e4m3},
    {"fp8e4m3", DType::f8e4m3},
    {"float8e4m3", DType::f8e4m3},
    {"f8_e4m3fn", DType::f8e4m3fn},
    {"fp8_e4m3fn", DType::f8e4m3fn},
    {"fp8e4m3fn", DType::f8e4m3fn},
    {"float8e4m3fn", DType::f8e4m3fn},
    {"f8_e5m2", DType::f8e5m2},
    {"fp8_e5m2", DType::f8e5m2},
    {"fp8e5m2", DType::f8e5m2},
    {"float8e5m2", DType::f8e5m2},
    {"f8_e8m0fnu", DType::f8e8m0fnu},
    {"fp8_e8m0fnu", DType::f8e8m0fnu},
    {"fp8e8m0fnu", DType::f8e8m0fnu},
    {"float8e8m0fnu", DType::f8e8m0fnu},
    {"f8_e4m3fn_x4", DType::f8e4m3fn_x4},
    {"fp8_e4m3fn_x4", DType::f8e4m3fn_x4},
    {"f8_e5m2_x4", DType::f8e5m2_x4},
    {"fp8_e5m2_x4", DType::f8e5m2_x4},
    {"f4_e2m1fn_x4", DType::f4e2m1fn_x4},
    {"fp4_e2m1fn_x4", DType::f4e2m1fn_x4},
    {"boolean", DType::boolean},
};

}  // namespace detail

/// The table row of `dtype`.
constexpr const DTypeInfo& info(DType dtype) {
  return dtype_table[static_cast<std::size_t>(dtype)];
}

/// Bytes of one tile element; an `_x4` element counts once and holds four values.
constexpr int bytes(DType dtype) {
  return info(dtype).bytes;
}

/// Canonical name, e.g. "bf16".
constexpr const char* name(DType dtype) {
  return info(dtype).name;
}

/// Name in NKI source, e.g. "nl.bfloat16".
constexpr const char* nki_name(DType dtype) {
  return info(dtype).nki_name;
}

/// Bound on the relative error of rounding a real number to the nearest value of `dtype`, in its normal range.
///
/// The value is 2^-(mantissa_bits + 1): 2^-24 for f32, 2^-8 for bf16, 2^-11 for f16 and tf32. It is half the distance
/// from 1 to the next value, the `u` of the error analysis literature; that distance itself is `2 * u`. It is 0 for
/// integers and bool, which are exact inside their range. How the hardware enters tf32 is not published; if it
/// truncates, the bound doubles.
constexpr double unit_roundoff(DType dtype) {
  if (!info(dtype).is_float) return 0.0;
  return 1.0 / static_cast<double>(std::uint64_t{1} << (info(dtype).mantissa_bits + 1));
}

/// The dtype that `text` names, or nothing.
///
/// Accepts, in any case of letters: the canonical name, the NKI name with or without "nl.", and the usual aliases
/// (fp32 float single, fp16 half, fp8_e4m3, fp8_e5m2, boolean, ...). Names that fit several formats, such as "fp8", are
/// refused.
constexpr std::optional<DType> parse_dtype(std::string_view text) {
  constexpr std::string_view nki_prefix = "nl.";
  for (const DTypeInfo& row : dtype_table) {
    const std::string_view in_nki = row.nki_name;
    if (detail::equal_ignoring_case(text, row.name) || detail::equal_ignoring_case(text, in_nki) ||
        detail::equal_ignoring_case(text, in_nki.substr(nki_prefix.size()))) {
      return row.dtype;
    }
  }
  for (const detail::DTypeAlias& alias : detail::dtype_aliases) {
    if (detail::equal_ignoring_case(text, alias.spelling)) return alias.dtype;
  }
  return std::nullopt;
}

/// The value of a bf16 code. Exact; a NaN keeps its sign and payload.
constexpr float bf16_value(std::uint16_t code) {
  return std::bit_cast<float>(std::uint32_t{code} << 16);
}

/// The bf16 code nearest to `value`, ties to the even code.
///
/// Beyond the largest finite value by half a step or more the result is infinite. Subnormal inputs and results are
/// honoured. A NaN stays a NaN of the same sign, made quiet, with the upper bits of its payload.
constexpr std::uint16_t bf16_bits(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  if ((word & 0x7fff'ffffU) > 0x7f80'0000U) return static_cast<std::uint16_t>((word >> 16) | 0x0040U);
  // A carry out of the mantissa moves on to the next binade, and out of the last binade to infinity.
  return static_cast<std::uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
}

/// The value of an f16 code. Exact; a NaN keeps its sign and payload.
constexpr float f16_value(std::uint16_t code) {
  const std::uint32_t sign = (std::uint32_t{code} & 0x8000U) << 16;
  const std::uint32_t magnitude = std::uint32_t{code} & 0x7fffU;
  if (magnitude < 0x0400U) {
    // A subnormal is a multiple of 2^-24, which f32 holds as a normal number.
    const float absolute = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(absolute));
  }
  const std::uint32_t rebias = magnitude < 0x7c00U ? 127U - 15U : 255U - 31U;
  return std::bit_cast<float>(sign | ((magnitude << 13) + (rebias << 23)));
}

/// The f16 code nearest to `value`, ties to the even code.
///
/// From 65520 on the result is infinite. Below 2^-14 it is subnormal, up to 2^-25 zero of the same sign. A NaN stays a
/// NaN of the same sign, made quiet, with the upper bits of its payload.
constexpr std::uint16_t f16_bits(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (word >> 16) & 0x8000U;
  const std::uint32_t magnitude = word & 0x7fff'ffffU;
  std::uint32_t code = 0;
  if (magnitude > 0x7f80'0000U) {
    code = 0x7e00U | ((magnitude >> 13) & 0x03ffU);
  } else if (magnitude >= 0x4780'0000U) {  // 2^16
    code = 0x7c00U;
  } else if (magnitude >= 0x3880'0000U) {  // 2^-14, the smallest normal f16
    // The carry works as in bf16_bits.
    const std::uint32_t rebiased = magnitude - ((127U - 15U) << 23);
    code = (rebiased + 0x0fffU + ((rebiased >> 13) & 1U)) >> 13;
  } else if (magnitude >= 0x3300'0000U) {  // 2^-25, half of the smallest subnormal f16
    // Count steps of 2^-24: value = significand * 2^(exponent - 150) = significand * 2^-24 / 2^shift.
    const std::uint32_t significand = (magnitude & 0x007f'ffffU) | 0x0080'0000U;
    const std::uint32_t shift = 126U - (magnitude >> 23);
    const std::uint32_t half = std::uint32_t{1} << (shift - 1);
    const std::uint32_t remainder = significand & ((half << 1) - 1);
    code = significand >> shift;
    if (remainder > half || (remainder == half && (code & 1U) != 0)) ++code;
  }
  return static_cast<std::uint16_t>(sign | code);
}

/// Storage type of f32.
using f32 = float;

/// Storage type of bf16: 16 bits, trivially copyable, so that arrays of it can be read from files and mapped.
///
/// All arithmetic goes through float. Conversions are explicit, because each one into bf16 rounds; a number converts by
/// value, a code enters through `from_bits`. `==` compares values like float does: 0 equals -0, NaN equals nothing.
struct bf16 {
  std::uint16_t bits;

  bf16() = default;
  explicit constexpr bf16(float value) : bits(bf16_bits(value)) {}
  explicit constexpr operator float() const { return bf16_value(bits); }

  /// The element with this code.
  static constexpr bf16 from_bits(std::uint16_t code) {
    bf16 result(0.0F);
    result.bits = code;
    return result;
  }
  friend constexpr bool operator==(bf16 a, bf16 b) { return bf16_value(a.bits) == bf16_value(b.bits); }
};

/// Storage type of f16; the rules are those of `bf16`.
struct f16 {
  std::uint16_t bits;

  f16() = default;
  explicit constexpr f16(float value) : bits(f16_bits(value)) {}
  explicit constexpr operator float() const { return f16_value(bits); }

  /// The element with this code.
  static constexpr f16 from_bits(std::uint16_t code) {
    f16 result(0.0F);
    result.bits = code;
    return result;
  }
  friend constexpr bool operator==(f16 a, f16 b) { return f16_value(a.bits) == f16_value(b.bits); }
};

/// The value of an element. Exact; see `bf16_value`.
constexpr float to_float(bf16 element) {
  return bf16_value(element.bits);
}

/// The value of an element. Exact; see `f16_value`.
constexpr float to_float(f16 element) {
  return f16_value(element.bits);
}

/// `value` rounded to the nearest bf16, ties to even; see `bf16_bits`.
constexpr bf16 to_bf16(float value) {
  return bf16(value);
}

/// `value` rounded to the nearest f16, ties to even; see `f16_bits`.
constexpr f16 to_f16(float value) {
  return f16(value);
}

namespace detail {

// Left undefined for all other types.
template <class T>
struct StorageDType;
template <DType dtype>
using DTypeConstant = std::integral_constant<DType, dtype>;
// clang-format off
template <> struct StorageDType<f32> : DTypeConstant<DType::f32> {};
template <> struct StorageDType<bf16> : DTypeConstant<DType::bf16> {};
template <> struct StorageDType<f16> : DTypeConstant<DType::f16> {};
template <> struct StorageDType<std::int8_t> : DTypeConstant<DType::i8> {};
template <> struct StorageDType<std::int16_t> : DTypeConstant<DType::i16> {};
template <> struct StorageDType<std::int32_t> : DTypeConstant<DType::i32> {};
template <> struct StorageDType<std::uint8_t> : DTypeConstant<DType::u8> {};
template <> struct StorageDType<std::uint16_t> : DTypeConstant<DType::u16> {};
template <> struct StorageDType<std::uint32_t> : DTypeConstant<DType::u32> {};
template <> struct StorageDType<bool> : DTypeConstant<DType::boolean> {};
// clang-format on

}  // namespace detail

/// The C++ types that hold one element: f32, bf16, f16, int8_t to int32_t, uint8_t to uint32_t, bool.
template <class T>
concept StorageType = requires {
  detail::StorageDType<std::remove_cv_t<T>>::value;
};

/// The dtype that a storage type holds, e.g. `dtype_of<float> == DType::f32`.
template <StorageType T>
inline constexpr DType dtype_of = detail::StorageDType<std::remove_cv_t<T>>::value;

}  // namespace nki::inline v0_1
