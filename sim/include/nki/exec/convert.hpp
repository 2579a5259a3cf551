#pragma once

#include <nki/dtype.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#ifdef __FAST_MATH__
#error "nki: exec defines rounding, NaN and infinity exactly; compile without -ffast-math"
#endif

/// Elements as codes (their bits) and as f32 values, one at a time and in rows.
namespace nki::inline v0_1::exec {

/// Whether programs with buffers of this dtype can be run: f32, bf16, f16, the integers and bool.
constexpr bool can_run(DType dtype) {
  const DTypeInfo& i = info(dtype);
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16 || i.is_integer || dtype == DType::boolean;
}

namespace detail {

/// What an undefined element reads as: NaN, integers 4, bool true. The vendor's simulator fills fresh memory so.
constexpr std::uint32_t undefined_code(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 0x7fc0'0000U;
    case DType::bf16:
      return 0x7fc0U;
    case DType::f16:
      return 0x7e00U;
    case DType::boolean:
      return 1U;
    default:
      return 4U;
  }
}

inline std::uint32_t load_code(const std::byte* from, int bytes) {
  std::uint32_t code = 0;
  if (bytes == 1) {
    code = std::to_integer<std::uint32_t>(*from);
  } else if (bytes == 2) {
    std::uint16_t half = 0;
    std::memcpy(&half, from, 2);
    code = half;
  } else {
    std::memcpy(&code, from, 4);
  }
  return code;
}

inline void store_code(std::byte* to, std::uint32_t code, int bytes) {
  if (bytes == 1) {
    *to = static_cast<std::byte>(code);
  } else if (bytes == 2) {
    const auto half = static_cast<std::uint16_t>(code);
    std::memcpy(to, &half, 2);
  } else {
    std::memcpy(to, &code, 4);
  }
}

/// The same code in n consecutive elements.
inline void store_codes(std::byte* to, std::uint32_t code, int bytes, std::int64_t n) {
  if (n <= 0) return;
  store_code(to, code, bytes);
  const auto total = static_cast<std::size_t>(n * bytes);
  for (auto done = static_cast<std::size_t>(bytes); done < total; done *= 2)
    std::memcpy(to + done, to, done < total - done ? done : total - done);
}

template <class T>
std::uint32_t saturated_code(double value) {
  using Limits = std::numeric_limits<T>;
  T result = 0;
  if (value >= static_cast<double>(Limits::max())) {
    result = Limits::max();
  } else if (value <= static_cast<double>(Limits::min())) {
    result = Limits::min();
  } else if (value == value) {
    result = static_cast<T>(std::nearbyint(value));
  }
  return static_cast<std::uint32_t>(static_cast<std::make_unsigned_t<T>>(result));
}

/// Integers round to nearest, ties to even, and saturate (NKI 0.6.0 release notes); what a NaN becomes is not
/// published and is 0 here.
inline std::uint32_t integer_code(double value, DType dtype) {
  switch (dtype) {
    case DType::i8:
      return saturated_code<std::int8_t>(value);
    case DType::i16:
      return saturated_code<std::int16_t>(value);
    case DType::i32:
      return saturated_code<std::int32_t>(value);
    case DType::u8:
      return saturated_code<std::uint8_t>(value);
    case DType::u16:
      return saturated_code<std::uint16_t>(value);
    case DType::u32:
      return saturated_code<std::uint32_t>(value);
    default:
      return value != 0.0 ? 1U : 0U;
  }
}

/// The value of an element in f32: exact but for 32-bit integers, which round.
inline float value_of(std::uint32_t code, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::bit_cast<float>(code);
    case DType::bf16:
      return bf16_value(static_cast<std::uint16_t>(code));
    case DType::f16:
      return f16_value(static_cast<std::uint16_t>(code));
    case DType::i8:
      return static_cast<float>(static_cast<std::int8_t>(code));
    case DType::i16:
      return static_cast<float>(static_cast<std::int16_t>(code));
    case DType::i32:
      return static_cast<float>(static_cast<std::int32_t>(code));
    case DType::boolean:
      return code != 0 ? 1.0F : 0.0F;
    default:
      return static_cast<float>(code);
  }
}

/// The element nearest to an f32 value, ties to even.
inline std::uint32_t code_of(float value, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return std::bit_cast<std::uint32_t>(value);
    case DType::bf16:
      return bf16_bits(value);
    case DType::f16:
      return f16_bits(value);
    default:
      return integer_code(static_cast<double>(value), dtype);
  }
}

/// The element nearest to a number that a kernel wrote: floats pass f32, integers do not, so that all of i32 is kept.
inline std::uint32_t code_of_number(double value, DType dtype) {
  return info(dtype).is_float ? code_of(static_cast<float>(value), dtype) : integer_code(value, dtype);
}

// The fixed inner trip count is what lets g++ vectorise at -O2.
template <class To, class From, class Convert>
void each(To* __restrict to, const From* __restrict from, std::int64_t n, Convert convert) {
  constexpr std::int64_t step = 16;
  std::int64_t i = 0;
  for (; i + step <= n; i += step) {
    for (std::int64_t j = 0; j < step; ++j) to[i + j] = convert(from[i + j]);
  }
  for (; i < n; ++i) to[i] = convert(from[i]);
}

/// f16_value without branches: a multiplication by 2^112 moves the exponent, and subnormals come out normalised.
constexpr float widen_f16(std::uint16_t code) {
  const std::uint32_t magnitude = code & 0x7fffU, sign = (code & 0x8000U) << 16;
  const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112F);
  return std::bit_cast<float>(sign | scaled | (magnitude >= 0x7c00U ? 0x7f80'0000U : 0U));
}

inline const std::uint16_t* halves(const std::byte* p) {
  return reinterpret_cast<const std::uint16_t*>(p);
}
inline std::uint16_t* halves(std::byte* p) {
  return reinterpret_cast<std::uint16_t*>(p);
}

/// A row of elements as f32 values.
inline void widen(float* to, const std::byte* from, DType dtype, std::int64_t n) {
  switch (dtype) {
    case DType::f32:
      std::memcpy(to, from, static_cast<std::size_t>(n) * 4);
      return;
    case DType::bf16:
      each(to, halves(from), n, [](std::uint16_t c) { return bf16_value(c); });
      return;
    case DType::f16:
      each(to, halves(from), n, [](std::uint16_t c) { return widen_f16(c); });
      return;
    default: {
      const int size = bytes(dtype);
      for (std::int64_t i = 0; i < n; ++i) to[i] = value_of(load_code(from + i * size, size), dtype);
    }
  }
}

/// A row of f32 values as elements.
inline void narrow(std::byte* to, const float* from, DType dtype, std::int64_t n) {
  switch (dtype) {
    case DType::f32:
      std::memcpy(to, from, static_cast<std::size_t>(n) * 4);
      return;
    case DType::bf16:
      each(halves(to), from, n, [](float v) { return bf16_bits(v); });
      return;
    case DType::f16:
      each(halves(to), from, n, [](float v) { return f16_bits(v); });
      return;
    default: {
      const int size = bytes(dtype);
      for (std::int64_t i = 0; i < n; ++i) store_code(to + i * size, code_of(from[i], dtype), size);
    }
  }
}

/// A row of elements of one dtype as elements of another; equal dtypes keep their bits.
inline void convert(std::byte* to, DType to_dtype, const std::byte* from, DType from_dtype, std::int64_t n) {
  if (to_dtype == from_dtype) {
    std::memcpy(to, from, static_cast<std::size_t>(n * bytes(to_dtype)));
  } else if (to_dtype == DType::f32) {
    widen(reinterpret_cast<float*>(to), from, from_dtype, n);
  } else if (from_dtype == DType::f32) {
    narrow(to, reinterpret_cast<const float*>(from), to_dtype, n);
  } else {
    constexpr std::int64_t step = 256;
    float values[step];
    for (std::int64_t i = 0; i < n; i += step) {
      const std::int64_t count = n - i < step ? n - i : step;
      widen(values, from + i * bytes(from_dtype), from_dtype, count);
      narrow(to + i * bytes(to_dtype), values, to_dtype, count);
    }
  }
}

}  // namespace detail

}  // namespace nki::inline v0_1::exec
