#pragma once

#include <nki/dtype.hpp>
#include <nki/references/metrics.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// out[m, n] = sum over k of lhs[m, k] * rhs[k, n] in double precision, from inputs as they are stored, and how far an
/// f32 sum of the same products may be from it.
namespace nki::inline v0_1::references {

/// A row-major matrix in host memory; f32, bf16 or f16.
struct MatrixView {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t rows = 0, columns = 0;

  double at(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(detail::element(data + (row * columns + column) * bytes(dtype), dtype));
  }
};

using MatrixXd = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The double-precision product.
class Matmul {
 public:
  /// `lhs_is_transposed`: lhs is stored as [k, m] (layout lhsT), else as [m, k].
  Matmul(const MatrixView& lhs, bool lhs_is_transposed, const MatrixView& rhs)
      : lhs_(lhs), rhs_(rhs), transposed_(lhs_is_transposed) {}

  std::int64_t m() const { return transposed_ ? lhs_.columns : lhs_.rows; }
  std::int64_t n() const { return rhs_.columns; }
  std::int64_t k() const { return rhs_.rows; }
  bool products_are_exact() const { return lhs_.dtype != DType::f32 && rhs_.dtype != DType::f32; }

  /// Rows [first, first + count) of the product, or of the sum of absolute products.
  ///
  /// Cost: the contraction goes by chunks, so that memory is count * (k + n) + 256 n doubles whatever the sizes.
  MatrixXd rows(std::int64_t first, std::int64_t count, bool absolute = false) const {
    constexpr std::int64_t chunk = 256;
    MatrixXd out = MatrixXd::Zero(count, n());
    for (std::int64_t k0 = 0; k0 < k(); k0 += chunk) {
      const std::int64_t depth = std::min(chunk, k() - k0);
      MatrixXd a = transposed_ ? MatrixXd(block(lhs_, k0, depth, first, count).transpose())
                               : block(lhs_, first, count, k0, depth);
      MatrixXd b = block(rhs_, k0, depth, 0, n());
      if (absolute) {
        a = a.cwiseAbs().eval();
        b = b.cwiseAbs().eval();
      }
      out.noalias() += a * b;
    }
    return out;
  }

  /// The 2-norms of the rows of lhs, and of the columns of rhs.
  Eigen::VectorXd row_norms() const {
    Eigen::VectorXd squares = Eigen::VectorXd::Zero(m());
    for (std::int64_t r = 0; r < lhs_.rows; ++r)
      for (std::int64_t c = 0; c < lhs_.columns; ++c) {
        const double x = lhs_.at(r, c);
        squares[transposed_ ? c : r] += x * x;
      }
    return squares.cwiseSqrt();
  }
  Eigen::VectorXd column_norms() const {
    Eigen::VectorXd squares = Eigen::VectorXd::Zero(n());
    for (std::int64_t r = 0; r < rhs_.rows; ++r)
      for (std::int64_t c = 0; c < rhs_.columns; ++c) {
        const double x = rhs_.at(r, c);
        squares[c] += x * x;
      }
    return squares.cwiseSqrt();
  }

 private:
  static MatrixXd block(const MatrixView& from, std::int64_t row, std::int64_t rows, std::int64_t column,
                        std::int64_t columns) {
    MatrixXd to(rows, columns);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) to(r, c) = from.at(row + r, column + c);
    return to;
  }

  MatrixView lhs_, rhs_;
  bool transposed_;
};

/// How a result compares with the double-precision product.
struct MatmulErrors {
  double rel_l2 = 0;        ///< norm of the errors over norm of the product (Frobenius)
  double tolerance = 0;     ///< for rel_l2: what rounding explains
  double bound_rel_l2 = 0;  ///< for rel_l2: what rounding cannot exceed
  double max_abs_err = 0;
  std::int64_t max_ulp = 0;     ///< in steps of the result's dtype
  std::int64_t first_bad = -1;  ///< the first element outside its own bound, in row-major order; -1: none

  bool passed() const { return first_bad < 0 && rel_l2 <= tolerance; }
};

/// The bound on one element's error: |error| <= gamma * s + u_out * |c| + eta, where s is the sum of absolute products.
///
/// k products, each rounded, and their sum in any order commit at most k roundings on each product's way into the sum,
/// so gamma = k u / (1 - k u) with u = 2^-24 (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1); a
/// further rounding to the result's dtype adds u_out of the sum. eta covers underflow: half of the smallest step of
/// f32 for each product, and of the result's dtype once. Overflow is not covered.
inline double matmul_element_bound(std::int64_t k, DType out, double absolute_sum, double value) {
  const double depth = static_cast<double>(k), u = unit_roundoff(DType::f32);
  const double gamma = depth * u / (1.0 - depth * u);
  const double u_out = out == DType::f32 ? 0.0 : unit_roundoff(out);
  const double eta = depth * 0x1p-150 + std::ldexp(1.0, -info(out).bias - info(out).mantissa_bits);
  return gamma * (1.0 + u_out) * absolute_sum + u_out * std::fabs(value) + eta;
}

/// What rounding makes of rel_l2 when its errors are independent, times a safety factor of 3:
///
///   3 sqrt(u_out^2 / 3 + condition^2 u^2 ((l + t) / 6 + p / 3)),   l = min(k, 128), t = ceil(k / 128)
///
/// A rounding of x is at most uniform in +-u |x|, so its square is u^2 x^2 / 3 on average. Sums of l products of random
/// sign grow like sqrt(j), which gives u^2 l / 6 relative to the tile's sum, and adding t of them u^2 t / 6: growth
/// with sqrt(k) up to one contraction tile and, slower, again for many of them. p = 1 where products are rounded (f32
/// inputs). u_out is 0 for f32, which is not rounded again. `condition` is |lhs| |rhs| / (sqrt(k) |product|) in
/// Frobenius norms, at least 1: more than 1 where the product cancels. Real roundings are smaller than uniform ones:
/// expect rel_l2 near a quarter of this.
inline double matmul_tolerance(std::int64_t k, bool products_are_exact, DType out, double condition = 1.0) {
  constexpr double safety = 3.0, tile = 128.0;
  const double depth = static_cast<double>(k), u = unit_roundoff(DType::f32);
  const double u_out = out == DType::f32 ? 0.0 : unit_roundoff(out);
  const double roundings =
      (std::min(depth, tile) + std::ceil(depth / tile)) / 6.0 + (products_are_exact ? 0.0 : 1.0 / 3.0);
  const double sum = std::max(condition, 1.0) * u;
  return safety * std::sqrt(u_out * u_out / 3.0 + sum * sum * roundings);
}

/// Compare a result with the product in double precision.
///
/// Shapes:    result [m, n], row-major; f32, bf16 or f16.
/// Bounds:    those of `matmul_element_bound`, where the sum of absolute products is bounded in turn by the norms of
///            the row and the column that it multiplies (Cauchy-Schwarz), which costs no second product.
/// Cost:      one product in double precision, 2 m n k operations; memory for 512 rows at a time.
inline MatmulErrors compare(const Matmul& reference, const MatrixView& result) {
  constexpr std::int64_t block = 512;
  const Eigen::VectorXd row_norms = reference.row_norms(), column_norms = reference.column_norms();
  const std::int64_t k = reference.k(), n = reference.n();
  Deviation deviation(result.dtype);
  MatmulErrors e;
  double bound = 0;
  for (std::int64_t first = 0; first < reference.m(); first += block) {
    const MatrixXd expected = reference.rows(first, std::min(block, reference.m() - first));
    for (std::int64_t r = 0; r < expected.rows(); ++r)
      for (std::int64_t c = 0; c < n; ++c) {
        const double value = expected(r, c);
        const auto got = static_cast<float>(result.at(first + r, c));
        bool good = deviation.add(value, got);
        if (good && std::isfinite(value) && std::isfinite(got)) {
          const double limit = matmul_element_bound(k, result.dtype, row_norms[first + r] * column_norms[c], value);
          good = std::fabs(static_cast<double>(got) - value) <= limit;
          bound += limit * limit;
        }
        if (!good && e.first_bad < 0) e.first_bad = (first + r) * n + c;
      }
  }
  const auto finite_norm = [](const Eigen::VectorXd& v) {
    double squares = 0;
    for (double x : v) squares += std::isfinite(x) ? x * x : 0.0;
    return std::sqrt(squares);
  };
  const double norm = deviation.norm();
  const double condition =
      norm == 0 ? 1.0 : finite_norm(row_norms) * finite_norm(column_norms) / (std::sqrt(static_cast<double>(k)) * norm);
  e.rel_l2 = deviation.rel_l2();
  e.max_abs_err = deviation.max_abs_err();
  e.max_ulp = deviation.max_ulp();
  e.bound_rel_l2 = norm == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(bound) / norm;
  e.tolerance = std::min(matmul_tolerance(k, reference.products_are_exact(), result.dtype, condition), e.bound_rel_l2);
  return e;
}

}  // namespace nki::inline v0_1::references
