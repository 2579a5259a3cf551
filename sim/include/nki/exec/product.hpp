#pragma once

#include <nki/dtype.hpp>
#include <nki/exec/convert.hpp>
#include <nki/exec/move.hpp>
#include <nki/exec/region.hpp>

#include <xsimd/xsimd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

/// The f32 product behind nc_matmul. Both operands of that instruction already have the contraction outermost, so they
/// need no more than widening and cutting into strips. Those of the moving operand are kept: later products with the
/// same tile read them again.
namespace nki::inline v0_1::exec::detail {

using Vector = xsimd::batch<float>;
inline constexpr int lanes = static_cast<int>(Vector::size);

// Before AVX, x86 has no load that repeats one value across a vector, and the shuffle for it would cost a tenth of the
// time: there, stationary elements are stored as whole vectors.
inline constexpr bool stores_vectors = lanes == 4 && std::is_base_of_v<xsimd::sse2, xsimd::default_arch>;

// Twelve sums fill the sixteen registers of x86 together with one row and one column of factors.
inline constexpr int strip_rows = stores_vectors ? 2 : 6;
inline constexpr int strip_vectors = stores_vectors ? 6 : 2;
inline constexpr int strip_columns = strip_vectors * lanes;
inline constexpr int stationary_width = strip_rows * (stores_vectors ? lanes : 1);

/// The moving operand of an nc_matmul, [depth, extent], in f32 and cut into strips along its extent. The last strip is
/// filled up with zeros.
struct Strips {
  Region region;  ///< where it was read
  bool valid = false;
  std::int64_t depth = 0, extent = 0;
  std::vector<float, xsimd::aligned_allocator<float, 64>> values;
};

/// c[r, v] = or += the sum over k of a[k, r] * b[k, v], k in order, for one strip of each operand. Where the processor
/// has a fused multiply-add, products are not rounded.
template <int Vectors, int... R, int... V, int... S>
void strip_product(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t row_stride, bool add,
                   std::integer_sequence<int, R...>, std::integer_sequence<int, V...>,
                   std::integer_sequence<int, S...>) {
  // The sums are spread over many pages, where the processor does not look ahead by itself.
  (prefetch(c + R * row_stride), ...);
  Vector sum[] = {(static_cast<void>(S), Vector(0.0F))...};
  for (std::int64_t k = 0; k < depth; ++k) {
    if constexpr (stores_vectors) {
      const Vector factor[] = {Vector::load_aligned(a + R * lanes)...};
      const auto column = [&](auto v) {
        const Vector x = Vector::load_aligned(b + v * lanes);
        ((sum[R * Vectors + v] = xsimd::fma(factor[R], x, sum[R * Vectors + v])), ...);
      };
      (column(std::integral_constant<int, V>{}), ...);
    } else {
      const Vector factor[] = {Vector::load_aligned(b + V * lanes)...};
      const auto row = [&](auto r) {
        const Vector x(a[r]);
        ((sum[r * Vectors + V] = xsimd::fma(x, factor[V], sum[r * Vectors + V])), ...);
      };
      (row(std::integral_constant<int, R>{}), ...);
    }
    a += stationary_width;
    b += strip_columns;
  }
  const auto place = [=](int s) { return c + (s / Vectors) * row_stride + (s % Vectors) * lanes; };
  if (add) ((sum[S] = Vector::load_unaligned(place(S)) + sum[S]), ...);
  (sum[S].store_unaligned(place(S)), ...);
}

using StripProduct = void (*)(const float*, const float*, std::int64_t, float*, std::int64_t, bool);

/// The product for the first `Vectors` columns' worth of a strip.
template <int Vectors>
void strip_product_of(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t row_stride, bool add) {
  strip_product<Vectors>(a, b, depth, c, row_stride, add, std::make_integer_sequence<int, strip_rows>{},
                         std::make_integer_sequence<int, Vectors>{},
                         std::make_integer_sequence<int, strip_rows * Vectors>{});
}

template <int... V>
constexpr std::array<StripProduct, sizeof...(V)> strip_products_of(std::integer_sequence<int, V...>) {
  return {&strip_product_of<V + 1>...};
}
inline constexpr auto strip_products = strip_products_of(std::make_integer_sequence<int, strip_vectors>{});

/// The same for a part of a strip, through a copy.
inline void edge_product(StripProduct multiply, const float* a, const float* b, std::int64_t depth, float* c,
                         std::int64_t row_stride, std::int64_t rows, std::int64_t columns, bool add) {
  alignas(64) std::array<float, static_cast<std::size_t>(strip_rows * strip_columns)> sums;
  multiply(a, b, depth, sums.data(), strip_columns, false);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < columns; ++i) {
      const float s = sums[static_cast<std::size_t>(r * strip_columns + i)];
      float& target = c[r * row_stride + i];
      target = add ? target + s : s;
    }
}

/// Multiplies operands where they lie in storage.
class Multiplier {
 public:
  /// Cuts a moving operand into strips.
  void cut(Strips& to, const std::byte* storage, DType dtype, const Region& r) {
    to.region = r;
    to.valid = true;
    to.depth = r.count[0];
    to.extent = r.elements(1);
    const std::int64_t strips = (to.extent + strip_columns - 1) / strip_columns;
    to.values.resize(static_cast<std::size_t>(strips * strip_columns * to.depth));
    const std::vector<std::int64_t> places = r.is_row(1) ? std::vector<std::int64_t>{} : distances(r, 1);
    cut<strip_columns, strip_columns>(
        to.values.data(), {storage, dtype, r, places}, 0, to.extent,
        [](float* at, const float* from) { std::memcpy(at, from, sizeof(float) * strip_columns); });
  }

  /// c[m, n] = or += the sum over k of stationary[k, m] * moving[k, n]; c has rows of consecutive elements, `row_stride`
  /// apart.
  ///
  /// The stationary operand is cut anew each time, a block at a time: that costs two hundredths of the product, and
  /// keeps the block in the second cache while it passes by the strips of the moving operand, each in the first one.
  void multiply(const std::byte* storage, DType dtype, const Region& stationary, const Strips& moving, float* c,
                std::int64_t row_stride, bool add) {
    constexpr std::int64_t block_floats = 24 * 1024;
    const std::int64_t depth = moving.depth, rows = stationary.elements(1), strip_floats = stationary_width * depth;
    const std::int64_t block = std::max<std::int64_t>(1, block_floats / strip_floats) * strip_rows;
    block_.resize(static_cast<std::size_t>(block / strip_rows * strip_floats));
    const std::vector<std::int64_t> places =
        stationary.is_row(1) ? std::vector<std::int64_t>{} : distances(stationary, 1);
    for (std::int64_t m0 = 0; m0 < rows; m0 += block) {
      const std::int64_t count = std::min(block, rows - m0);
      cut<strip_rows, stationary_width>(block_.data(), {storage, dtype, stationary, places}, m0, count,
                                        [](float* at, const float* from) {
                                          if constexpr (stores_vectors) {
                                            for (int i = 0; i < strip_rows; ++i)
                                              Vector(from[i]).store_aligned(at + i * lanes);
                                          } else {
                                            std::memcpy(at, from, sizeof(float) * strip_rows);
                                          }
                                        });
      multiply_block(count, moving, c + m0 * row_stride, row_stride, add);
    }
  }

 private:
  struct Source {
    const std::byte* storage;
    DType dtype;
    const Region& region;
    const std::vector<std::int64_t>& places;  // of a row's elements; empty where they are consecutive
  };

  /// Cuts `count` columns of a [depth, extent] operand, from column `first` on, into strips of `Strip` columns.
  ///
  /// A few rows at a time are widened first, so that both sides of the cut stay in the nearest cache.
  template <int Strip, int Width, class Store>
  void cut(float* to, const Source& s, std::int64_t first, std::int64_t count, Store store) {
    constexpr std::int64_t some_rows = 8;
    const std::int64_t depth = s.region.count[0], strips = (count + Strip - 1) / Strip, padded = strips * Strip;
    const int size = bytes(s.dtype);
    rows_.assign(static_cast<std::size_t>(some_rows * padded), 0.0F);
    for (std::int64_t k0 = 0; k0 < depth; k0 += some_rows) {
      const std::int64_t n = std::min(some_rows, depth - k0);
      for (std::int64_t k = 0; k < n; ++k) {
        float* row = rows_.data() + k * padded;
        const std::byte* from = s.storage + (s.region.offset + (k0 + k) * s.region.stride[0]) * size;
        if (s.places.empty()) {
          // The next rows lie far away: ask for them early.
          const std::byte* ahead = from + first * size + some_rows * s.region.stride[0] * size;
          if (k0 + k + some_rows < depth)
            for (std::int64_t i = 0; i < count * size; i += 64) prefetch(ahead + i);
          widen(row, from + first * size, s.dtype, count);
        } else {
          for (std::int64_t i = 0; i < count; ++i)
            row[i] = value_of(load_code(from + s.places[static_cast<std::size_t>(first + i)] * size, size), s.dtype);
        }
      }
      for (std::int64_t strip = 0; strip < strips; ++strip) {
        float* at = to + (strip * depth + k0) * Width;
        for (std::int64_t k = 0; k < n; ++k) store(at + k * Width, rows_.data() + k * padded + strip * Strip);
      }
    }
  }

  void multiply_block(std::int64_t block, const Strips& moving, float* c, std::int64_t row_stride, bool add) const {
    const std::int64_t depth = moving.depth;
    for (std::int64_t n = 0; n < moving.extent; n += strip_columns) {
      const std::int64_t columns = std::min<std::int64_t>(strip_columns, moving.extent - n);
      const StripProduct strip = strip_products[static_cast<std::size_t>((columns - 1) / lanes)];
      const float* b = moving.values.data() + n * depth;
      for (std::int64_t m = 0; m < block; m += strip_rows) {
        const std::int64_t rows = std::min<std::int64_t>(strip_rows, block - m);
        const float* a = block_.data() + m / strip_rows * stationary_width * depth;
        float* to = c + m * row_stride + n;
        if (rows == strip_rows && columns % lanes == 0) {
          strip(a, b, depth, to, row_stride, add);
        } else {
          edge_product(strip, a, b, depth, to, row_stride, rows, columns, add);
        }
      }
    }
  }

  using Floats = std::vector<float, xsimd::aligned_allocator<float, 64>>;
  std::vector<float> rows_;
  Floats block_;
};

}  // namespace nki::inline v0_1::exec::detail
