#pragma once

#include <nki/dtype.hpp>
#include <nki/exec/convert.hpp>
#include <nki/exec/region.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

/// Elements on their way from one region to another.
namespace nki::inline v0_1::exec::detail {

inline void prefetch([[maybe_unused]] const void* p) {
#ifdef __GNUC__
  __builtin_prefetch(p);
#endif
}

template <class Code>
void move_codes(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                std::int64_t n) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(Code));
  for (std::int64_t i = 0; i < n; ++i) {
    Code code;
    std::memcpy(&code, from + i * from_stride * size, sizeof(Code));
    std::memcpy(to + i * to_stride * size, &code, sizeof(Code));
  }
}

/// Copies the bits of n evenly spaced elements.
inline void move_bits(std::byte* to, std::int64_t to_stride, const std::byte* from, std::int64_t from_stride,
                      std::int64_t n, int size) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
  } else if (size == 1) {
    move_codes<std::uint8_t>(to, to_stride, from, from_stride, n);
  } else if (size == 2) {
    move_codes<std::uint16_t>(to, to_stride, from, from_stride, n);
  } else {
    move_codes<std::uint32_t>(to, to_stride, from, from_stride, n);
  }
}

/// Copies n evenly spaced elements, converting where the dtypes differ.
inline void move_stretch(std::byte* to, DType to_dtype, std::int64_t to_stride, const std::byte* from, DType from_dtype,
                         std::int64_t from_stride, std::int64_t n) {
  const int to_size = bytes(to_dtype), from_size = bytes(from_dtype);
  if (to_dtype == from_dtype) return move_bits(to, to_stride, from, from_stride, n, to_size);
  if (to_stride == 1 && from_stride == 1) return convert(to, to_dtype, from, from_dtype, n);
  constexpr std::int64_t step = 128;
  alignas(4) std::byte gathered[step * 4], converted[step * 4];
  for (std::int64_t i = 0; i < n; i += step) {
    const std::int64_t count = std::min(step, n - i);
    move_bits(gathered, 1, from + i * from_stride * from_size, from_stride, count, from_size);
    convert(converted, to_dtype, gathered, from_dtype, count);
    move_bits(to + i * to_stride * to_size, to_stride, converted, 1, count, to_size);
  }
}

/// Copies the elements of one region to the places of another of as many elements, in order.
inline void move_region(std::byte* to, DType to_dtype, const Region& to_region, const std::byte* from, DType from_dtype,
                        const Region& from_region) {
  const int to_size = bytes(to_dtype), from_size = bytes(from_dtype);
  Walker t(to_region), f(from_region), ahead = f;
  ahead.advance(ahead.left());
  while (!t.done()) {
    const std::int64_t n = std::min(t.left(), f.left());
    if (n == f.left() && !ahead.done()) {
      // The next stretch may lie far away: ask for it early.
      if (ahead.stride() == 1)
        for (std::int64_t i = 0; i < ahead.left() * from_size; i += 64) prefetch(from + ahead.at() * from_size + i);
      ahead.advance(ahead.left());
    }
    move_stretch(to + t.at() * to_size, to_dtype, t.stride(), from + f.at() * from_size, from_dtype, f.stride(), n);
    t.advance(n);
    f.advance(n);
  }
}

/// to[c, r] = from[r, c] for rows of consecutive elements, in blocks that stay in the nearest cache.
template <int Size>
void transpose_rows(std::byte* to, std::int64_t to_row, const std::byte* from, std::int64_t from_row, std::int64_t rows,
                    std::int64_t columns) {
  constexpr std::int64_t block = 16;
  for (std::int64_t r0 = 0; r0 < rows; r0 += block) {
    const std::int64_t r1 = std::min(r0 + block, rows);
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = r0; r < r1; ++r)
        std::memcpy(to + (c * to_row + r) * Size, from + (r * from_row + c) * Size, Size);
  }
}

/// dst[f, p] = data[p, f]: the first dimension of either region against the others, counted as one.
inline void transpose_region(std::byte* to, const Region& to_region, const std::byte* from, const Region& from_region,
                             int size) {
  const std::int64_t rows = from_region.count[0], columns = from_region.elements(1);
  const std::int64_t to_row = to_region.stride[0], from_row = from_region.stride[0];
  to += to_region.offset * size;
  from += from_region.offset * size;
  if (to_region.is_row(1) && from_region.is_row(1) && (to_row >= rows || columns == 1)) {
    const auto transpose = size == 1 ? transpose_rows<1> : size == 2 ? transpose_rows<2> : transpose_rows<4>;
    transpose(to, to_row, from, from_row, rows, columns);
    return;
  }
  const std::vector<std::int64_t> to_places = distances(to_region, 1), from_places = distances(from_region, 1);
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(to + (c * to_row + to_places[static_cast<std::size_t>(r)]) * size,
                  from + (r * from_row + from_places[static_cast<std::size_t>(c)]) * size,
                  static_cast<std::size_t>(size));
}

}  // namespace nki::inline v0_1::exec::detail
