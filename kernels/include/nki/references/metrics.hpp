#pragma once

#include <nki/dtype.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

/// How far results are from what they should be.
namespace nki::inline v0_1::references {

namespace detail {

/// The value of an f32, bf16 or f16 element.
inline float element(const std::byte* at, DType dtype) {
  if (dtype == DType::f32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  std::uint16_t code = 0;
  std::memcpy(&code, at, sizeof code);
  return dtype == DType::bf16 ? bf16_value(code) : f16_value(code);
}

/// The value of `dtype` nearest to `value`.
inline float rounded(float value, DType dtype) {
  if (dtype == DType::bf16) return bf16_value(bf16_bits(value));
  return dtype == DType::f16 ? f16_value(f16_bits(value)) : value;
}

/// The place of a value among all values of its dtype, in ascending order; both zeros share one.
inline std::int64_t rank(float value, DType dtype) {
  std::int64_t code = std::bit_cast<std::uint32_t>(std::fabs(value));
  if (dtype == DType::bf16) code = bf16_bits(std::fabs(value));
  if (dtype == DType::f16) code = f16_bits(std::fabs(value));
  return std::signbit(value) ? -code : code;
}

}  // namespace detail

/// Collects the deviation of results from reference values, element by element.
///
/// A result that is NaN or infinite counts as right where the reference, rounded to the results' dtype, is the same,
/// and then takes part in no norm. Any other pair with a NaN or an infinity is a mismatch and makes `rel_l2` infinite.
class Deviation {
 public:
  /// `dtype`: f32, bf16 or f16, that of the results.
  explicit Deviation(DType dtype) : dtype_(dtype) {}

  /// Returns whether the pair can be compared by distance.
  bool add(double expected, float result) {
    const float nearest = detail::rounded(static_cast<float>(expected), dtype_);
    if (!std::isfinite(nearest) || !std::isfinite(result)) {
      if (nearest == result || (std::isnan(nearest) && std::isnan(result))) return true;
      ++mismatches_;
      return false;
    }
    const double error = static_cast<double>(result) - expected;
    errors_ += error * error;
    norm_ += expected * expected;
    max_abs_err_ = std::max(max_abs_err_, std::fabs(error));
    if (result != nearest)
      max_ulp_ = std::max(max_ulp_, std::abs(detail::rank(result, dtype_) - detail::rank(nearest, dtype_)));
    return true;
  }

  /// The Frobenius norm of the errors over that of the reference; 0 without any error.
  double rel_l2() const {
    if (mismatches_ > 0) return std::numeric_limits<double>::infinity();
    return errors_ == 0 ? 0.0 : std::sqrt(errors_ / norm_);
  }
  double max_abs_err() const { return mismatches_ > 0 ? std::numeric_limits<double>::infinity() : max_abs_err_; }
  /// The largest distance between a result and the rounded reference, in steps of the results' dtype.
  std::int64_t max_ulp() const { return mismatches_ > 0 ? std::numeric_limits<std::int64_t>::max() : max_ulp_; }
  std::int64_t mismatches() const { return mismatches_; }
  /// The Frobenius norm of the reference.
  double norm() const { return std::sqrt(norm_); }

 private:
  DType dtype_;
  double errors_ = 0, norm_ = 0, max_abs_err_ = 0;
  std::int64_t max_ulp_ = 0, mismatches_ = 0;
};

}  // namespace nki::inline v0_1::references
