#pragma once

#include <nki/builder.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace nki::inline v0_1 {

/// The shape of a tile to be declared: `shape(128_c, kt, 512_c)`. Extents known at compile time stay in the type.
template <std::int64_t... E>
struct Shape {
  std::array<std::int64_t, sizeof...(E)> extents;
};

namespace detail {

template <class T>
inline constexpr std::int64_t extent_of = dyn;
template <std::int64_t N>
inline constexpr std::int64_t extent_of<Const<N>> = N;

template <std::int64_t... E>
struct ExtentList {};
template <class List, std::int64_t N>
struct Append;
template <std::int64_t... E, std::int64_t N>
struct Append<ExtentList<E...>, N> {
  using type = ExtentList<E..., N>;
};

}  // namespace detail

template <class... Extents>
Shape<detail::extent_of<Extents>...> shape(Extents... e) {
  return {{static_cast<std::int64_t>(e)...}};
}

/// A dtype that is known only at run time.
struct AnyDType {};

namespace detail {

template <class Argument>
inline constexpr std::int64_t slice_size = dyn;
template <std::int64_t N>
inline constexpr std::int64_t slice_size<Slice<N>> = N;

/// The first slice that is longer than its dimension, where both are numbers; N where none is.
template <std::size_t N>
constexpr std::size_t first_outside(const std::array<std::int64_t, N>& sizes,
                                    const std::array<std::int64_t, N>& extents) {
  std::size_t i = 0;
  while (i < N && (sizes[i] == dyn || extents[i] == dyn || sizes[i] <= extents[i])) ++i;
  return i;
}

/// What the type of a shape tells: `dyn`, which is within every limit, where that is nothing.
template <std::int64_t... E>
struct StaticShape {
  static constexpr std::array<std::int64_t, sizeof...(E)> extents{E...};
  static constexpr std::int64_t partitions = [] {
    for (const std::int64_t e : extents) return e;
    return dyn;
  }();
  static constexpr std::int64_t smallest = [] {
    std::int64_t least = 1;
    for (const std::int64_t e : extents)
      if (e != dyn && e < least) least = e;
    return least;
  }();
  template <class T>
  static constexpr std::int64_t bytes_pp = [] {
    std::int64_t n = bytes(dtype_of<T>);
    for (std::size_t i = 1; i < extents.size(); ++i) {
      if (extents[i] == dyn) return dyn;
      n *= extents[i];
    }
    return n;
  }();
};

}  // namespace detail

/// A tensor, or a view of one: HBM argument, SBUF tile or PSUM tile. `E` are the extents, `dyn` where only known at run
/// time. The first extent of an on-chip tile is the partition extent.
template <ir::Space S, class T, std::int64_t... E>
class Tensor {
 public:
  static constexpr ir::Space space = S;
  static constexpr int rank = static_cast<int>(sizeof...(E));
  static constexpr std::array<std::int64_t, sizeof...(E)> static_extents{E...};
  template <int I>
  static constexpr std::int64_t static_extent = static_extents[I];
  using value_type = T;

  /// The whole of a buffer.
  Tensor(Builder& nc, ir::BufferId buffer) : nc_(&nc) {
    view_.buffer = buffer;
    view_.rank = rank;
    const ir::Buffer& b = nc.program().buffers[buffer];
    for (std::size_t i = 0; i < sizeof...(E); ++i)
      view_.dims[i] = {nc.pool().constant(0), nc.pool().constant(b.shape[i]), 1, static_cast<std::uint8_t>(i), false};
  }
  Tensor(Builder& nc, const ir::View& view) : nc_(&nc), view_(view) {}

  Builder& builder() const { return *nc_; }
  const ir::View& view() const { return view_; }
  DType dtype() const { return nc_->program().buffers[view_.buffer].dtype; }
  /// The extent of dimension `i`, as a number or an index.
  Index extent(int i) const { return Index(nc_->pool(), dim(i).count); }
  /// The extent of dimension `i` of a tensor whose extents are numbers.
  std::int64_t dim_size(int i) const { return nc_->pool().range(dim(i).count).hi; }

  /// Split dimension `I` into [outer, inner] (NKI: reshape_dim): `x(ds(k, n * 128), all).reshape_dim<0>(n, 128_c)`.
  /// The caller sees to outer * inner being the extent.
  template <int I, class Inner>
  auto reshape_dim(const Index& outer, Inner inner) const {
    static_assert(I >= 0 && I < rank && rank < 5, NKI_E230);
    static_assert(S == ir::Space::hbm || I > 0, NKI_E230);
    const auto n = static_cast<std::int64_t>(inner);
    ir::View v = view_;
    const int at = position(I);
    if (v.rank == ir::max_rank)
      nc_->fail(NKI_E230, "6 dimensions, those of an integer index included", "1..5",
                "slice with nki::ds(i, 1) fewer times", {});
    if (n < 1 || n * v.dims[static_cast<std::size_t>(at)].step > std::numeric_limits<std::int32_t>::max())
      nc_->fail(NKI_E233, "a step of " + std::to_string(n), "1..2147483647", "", {});
    for (int i = v.rank; i > at; --i) v.dims[static_cast<std::size_t>(i)] = v.dims[static_cast<std::size_t>(i - 1)];
    ++v.rank;
    ir::Dim& o = v.dims[static_cast<std::size_t>(at)];
    ir::Dim& i = v.dims[static_cast<std::size_t>(at + 1)];
    o.count = outer.id(nc_->pool());
    o.step = static_cast<std::int32_t>(i.step * n);
    i.start = nc_->pool().constant(0);
    i.count = nc_->pool().constant(n);
    return split_type<I, detail::extent_of<Inner>>(v, std::make_index_sequence<sizeof...(E) + 1>{});
  }

  /// Reorder the dimensions (NKI: permute): `x.permute<1, 0, 2>()`. On chip, dimension 0 stays first.
  template <int... Order>
  auto permute() const {
    static_assert(sizeof...(Order) == sizeof...(E), NKI_E230);
    constexpr std::array<int, sizeof...(Order)> order{Order...};
    static_assert(S == ir::Space::hbm || order[0] == 0, NKI_E230);
    ir::View v{view_.buffer, 0, {}};
    for (int i : order) v.dims[v.rank++] = dim(i);
    for (std::uint8_t d = 0; d < view_.rank; ++d)
      if (view_.dims[d].dropped) v.dims[v.rank++] = view_.dims[d];
    return Tensor<S, T, static_extents[static_cast<std::size_t>(Order)]...>(*nc_, v);
  }

  /// A view: `nki::ds(start, size)`, an index (drops the dimension; on chip not dimension 0), or `nki::all` for each
  /// dimension. Views of views compose.
  template <class... Args>
  auto operator()(const Args&... args) const {
    static_assert(sizeof...(Args) == sizeof...(E), NKI_E230);  // one argument for each dimension
    if constexpr (sizeof...(Args) == sizeof...(E)) {
      constexpr std::array<std::int64_t, sizeof...(Args)> sizes{detail::slice_size<Args>...};
      constexpr std::size_t at = detail::first_outside(sizes, static_extents);
      if constexpr (at < sizeof...(Args)) static_assert(sizes[at] <= static_extents[at], NKI_E231);
      return slice(detail::ExtentList<>{}, std::integral_constant<int, 0>{}, ir::View{view_.buffer, 0, {}}, args...);
    } else {
      return *this;
    }
  }

 private:
  template <ir::Space, class, std::int64_t...>
  friend class Tensor;

  int position(int i) const {
    for (int d = 0;; ++d)
      if (!view_.dims[static_cast<std::size_t>(d)].dropped && i-- == 0) return d;
  }
  const ir::Dim& dim(int i) const { return view_.dims[static_cast<std::size_t>(position(i))]; }

  template <int I, std::int64_t Inner, std::size_t... N>
  auto split_type(const ir::View& v, std::index_sequence<N...>) const {
    return Tensor<S, T,
                  (N == I       ? dyn
                   : N == I + 1 ? Inner
                                : static_extents[N < static_cast<std::size_t>(I) ? N : (N == 0 ? 0 : N - 1)])...>(*nc_,
                                                                                                                  v);
  }

  // Dimensions are taken one by one; dropped ones of an earlier view are carried along.
  template <std::int64_t... Out, int I>
  Tensor<S, T, Out...> slice(detail::ExtentList<Out...>, std::integral_constant<int, I>, ir::View out) const {
    for (std::uint8_t d = 0; d < view_.rank; ++d)
      if (view_.dims[d].dropped) out.dims[out.rank++] = view_.dims[d];
    return Tensor<S, T, Out...>(*nc_, out);
  }
  template <std::int64_t... Out, int I, std::int64_t N, class... Rest>
  auto slice(detail::ExtentList<Out...>, std::integral_constant<int, I>, ir::View out, const Slice<N>& s,
             const Rest&... rest) const {
    take(out, I, s.start, s.size, s.step, false);
    return slice(detail::ExtentList<Out..., N>{}, std::integral_constant<int, I + 1>{}, out, rest...);
  }
  template <std::int64_t... Out, int I, class... Rest>
  auto slice(detail::ExtentList<Out...>, std::integral_constant<int, I>, ir::View out, const All&,
             const Rest&... rest) const {
    out.dims[out.rank++] = dim(I);
    return slice(detail::ExtentList<Out..., static_extents[I]>{}, std::integral_constant<int, I + 1>{}, out, rest...);
  }
  template <std::int64_t... Out, int I, class Position, class... Rest>
  requires std::is_convertible_v<Position, Index>
  auto slice(detail::ExtentList<Out...>, std::integral_constant<int, I>, ir::View out, const Position& at,
             const Rest&... rest) const {
    static_assert(S == ir::Space::hbm || I > 0, NKI_E230);  // on chip, dimension 0 is sliced, never dropped
    take(out, I, Index(at), Index(1), 1, true);
    return slice(detail::ExtentList<Out...>{}, std::integral_constant<int, I + 1>{}, out, rest...);
  }

  void take(ir::View& out, int i, const Index& start, const Index& size, std::int64_t step, bool dropped) const {
    out.dims[out.rank++] = nc_->slice(dim(i), start, size, step, dropped);
  }

  Builder* nc_;
  ir::View view_{};
};

/// An argument in HBM with a run-time shape: `Hbm<bf16>` has two dimensions, `Hbm<AnyDType, 3>` three and a run-time
/// dtype.
namespace detail {
template <class T, class Sequence>
struct HbmOf;
template <class T, std::size_t... I>
struct HbmOf<T, std::index_sequence<I...>> {
  using type = Tensor<ir::Space::hbm, T, (static_cast<void>(I), dyn)...>;
};
}  // namespace detail
template <class T = AnyDType, int Rank = 2>
using Hbm = typename detail::HbmOf<T, std::make_index_sequence<static_cast<std::size_t>(Rank)>>::type;
template <class T, std::int64_t... E>
using Sbuf = Tensor<ir::Space::sbuf, T, E...>;
template <class T, std::int64_t... E>
using Psum = Tensor<ir::Space::psum, T, E...>;

namespace detail {

template <ir::Space S, class T, std::int64_t... E>
Tensor<S, T, E...> declare_tile(Builder& nc, DType dtype, const Shape<E...>& s, const TileOptions& options, Loc loc) {
  static_assert(sizeof...(E) >= 1 && sizeof...(E) <= 5, NKI_E230);
  return Tensor<S, T, E...>(nc, nc.add_buffer(S, ir::BufferKind::tile, dtype, s.extents.data(),
                                              static_cast<int>(sizeof...(E)), options, loc));
}

}  // namespace detail

/// Declare an SBUF tile: a pool of `options.bufs` slots, whose next instance starts here each time the declaration
/// runs. Shape: [partitions <= 128, free...].  Errors: NKI-E101, E230, E232.  Source: nki.language.ndarray (NKI 0.6.0).
template <class T, std::int64_t... E>
Sbuf<T, E...> sbuf(Builder& nc, const Shape<E...>& s, const TileOptions& options = {}, Loc loc = Loc::here()) {
  static_assert(detail::StaticShape<E...>::partitions <= 128, NKI_E101);
  static_assert(detail::StaticShape<E...>::smallest >= 1, NKI_E232);
  return detail::declare_tile<ir::Space::sbuf, T>(nc, dtype_of<T>, s, options, loc);
}
/// The same with a run-time dtype.
template <std::int64_t... E>
Sbuf<AnyDType, E...> sbuf(Builder& nc, DType dtype, const Shape<E...>& s, const TileOptions& options = {},
                          Loc loc = Loc::here()) {
  static_assert(detail::StaticShape<E...>::partitions <= 128, NKI_E101);
  static_assert(detail::StaticShape<E...>::smallest >= 1, NKI_E232);
  return detail::declare_tile<ir::Space::sbuf, AnyDType>(nc, dtype, s, options, loc);
}
/// Declare a PSUM tile of at most one bank.  Errors: NKI-E101, E103, E230, E232.
template <class T, std::int64_t... E>
Psum<T, E...> psum(Builder& nc, const Shape<E...>& s, const TileOptions& options = {}, Loc loc = Loc::here()) {
  static_assert(detail::StaticShape<E...>::partitions <= 128, NKI_E101);
  static_assert(detail::StaticShape<E...>::smallest >= 1, NKI_E232);
  static_assert(detail::StaticShape<E...>::template bytes_pp<T> <= 2048, NKI_E103);
  return detail::declare_tile<ir::Space::psum, T>(nc, dtype_of<T>, s, options, loc);
}
template <std::int64_t... E>
Psum<AnyDType, E...> psum(Builder& nc, DType dtype, const Shape<E...>& s, const TileOptions& options = {},
                          Loc loc = Loc::here()) {
  static_assert(detail::StaticShape<E...>::partitions <= 128, NKI_E101);
  static_assert(detail::StaticShape<E...>::smallest >= 1, NKI_E232);
  return detail::declare_tile<ir::Space::psum, AnyDType>(nc, dtype, s, options, loc);
}

/// Declare an argument in HBM, in argument order.
template <int Rank = 2>
Hbm<AnyDType, Rank> argument(Builder& nc, ir::BufferKind kind, const char* name, DType dtype,
                             const std::array<std::int64_t, static_cast<std::size_t>(Rank)>& shape,
                             Loc loc = Loc::here()) {
  return Hbm<AnyDType, Rank>(nc, nc.add_buffer(ir::Space::hbm, kind, dtype, shape.data(), Rank, {.name = name}, loc));
}

}  // namespace nki::inline v0_1
