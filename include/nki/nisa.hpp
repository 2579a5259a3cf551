#pragma once

#include <nki/builder.hpp>
#include <nki/tile.hpp>

#include <bit>
#include <cstdint>

/// The instructions, under nki.isa's names and parameter names. Limits whose numbers are known at compile time are
/// checked there; the same rules are applied while recording and again to the finished program.
namespace nki::inline v0_1::nisa {

using ir::Accumulate;
using ir::DgeMode;
using ir::Engine;

namespace detail {

template <class X>
inline constexpr bool is_tensor = false;
template <ir::Space S, class T, std::int64_t... E>
inline constexpr bool is_tensor<Tensor<S, T, E...>> = true;

template <class X>
concept AnyTensor = is_tensor<X>;

/// The elements per partition where all free extents are known, else `dyn`.
template <class X>
constexpr std::int64_t free_elems() {
  std::int64_t n = 1;
  for (int i = 1; i < X::rank; ++i) {
    if (X::static_extents[static_cast<std::size_t>(i)] == dyn) return dyn;
    n *= X::static_extents[static_cast<std::size_t>(i)];
  }
  return n;
}
template <class X>
constexpr std::int64_t partitions() {
  return X::static_extents[0];
}
template <class X>
inline constexpr bool has_dtype = !std::is_same_v<typename X::value_type, AnyDType>;

template <class A, class B>
constexpr bool both_known(std::int64_t a, std::int64_t b) {
  return a != dyn && b != dyn;
}

}  // namespace detail

/// Multiply the stationary tile, transposed, by the moving tile into PSUM.
///
/// Shapes:  stationary [K, M], moving [K, N], dst [M, N];  K, M <= 128, N <= 512.
/// Dtypes:  f32, bf16, f16, fp8 in; accumulates and writes f32.
/// Engine:  tensor.  Cost: max(N, min(64, M)) cycles of the array, four times that for f32.
/// Effect:  accumulate = auto_: the first write of a tile's instance overwrites, element by element; later ones add.
/// Errors:  NKI-E101, E102, E201..E207, E210, E211.
/// Source:  nki.isa.nc_matmul (NKI 0.6.0).
template <detail::AnyTensor Dst, detail::AnyTensor Stationary, detail::AnyTensor Moving>
void nc_matmul(const Dst& dst, const Stationary& stationary, const Moving& moving,
               Accumulate accumulate = Accumulate::auto_, Loc loc = Loc::here()) {
  static_assert(Dst::space == ir::Space::psum, NKI_E201);
  static_assert(Stationary::space == ir::Space::sbuf && Moving::space == ir::Space::sbuf, NKI_E202);
  constexpr std::int64_t stationary_partitions = detail::partitions<Stationary>();
  constexpr std::int64_t moving_partitions = detail::partitions<Moving>();
  constexpr std::int64_t stationary_free = detail::free_elems<Stationary>();
  constexpr std::int64_t moving_free = detail::free_elems<Moving>();
  if constexpr (stationary_partitions != dyn && moving_partitions != dyn)
    static_assert(stationary_partitions == moving_partitions, NKI_E204);
  if constexpr (stationary_free != dyn) static_assert(stationary_free <= 128, NKI_E205);
  // The loosest generation decides here; the target's own limit is applied to the program.
  if constexpr (moving_free != dyn) static_assert(moving_free <= 8192, NKI_E206);
  constexpr std::int64_t dst_partitions = detail::partitions<Dst>();
  constexpr std::int64_t dst_free = detail::free_elems<Dst>();
  if constexpr (dst_partitions != dyn && stationary_free != dyn && stationary_free <= 128)
    static_assert(dst_partitions == stationary_free, NKI_E207);
  if constexpr (dst_free != dyn && moving_free != dyn && moving_free <= 8192)
    static_assert(dst_free == moving_free, NKI_E207);
  dst.builder().record(ir::Opcode::nc_matmul, Engine::tensor, {dst.view(), stationary.view(), moving.view()},
                       {static_cast<std::int64_t>(accumulate)}, loc);
}

/// Transpose a tile: dst[f, p] = data[p, f].
///
/// Shapes:  tensor engine: data [P, F] in SBUF, dst [F, P] in PSUM, P, F <= 128; vector engine: P, F <= 32.
/// Dtypes:  dst has the dtype of data.
/// Engine:  tensor (unknown) or vector.  Cost: max(P, min(64, F)) cycles of the array; vector max(64, F) cycles.
/// Errors:  NKI-E101, E102, E220..E223.
/// Source:  nki.isa.nc_transpose (NKI 0.6.0).
template <detail::AnyTensor Dst, detail::AnyTensor Data>
void nc_transpose(const Dst& dst, const Data& data, Engine engine = Engine::unknown, Loc loc = Loc::here()) {
  if constexpr (detail::has_dtype<Dst> && detail::has_dtype<Data>)
    static_assert(std::is_same_v<typename Dst::value_type, typename Data::value_type>, NKI_E221);
  static_assert(Dst::space != ir::Space::hbm && Data::space != ir::Space::hbm, NKI_E220);
  constexpr std::int64_t data_partitions = detail::partitions<Data>(), data_free = detail::free_elems<Data>();
  constexpr std::int64_t dst_partitions = detail::partitions<Dst>(), dst_free = detail::free_elems<Dst>();
  if constexpr (data_free != dyn) static_assert(data_free <= 128, NKI_E222);
  if constexpr (dst_partitions != dyn && data_free != dyn && data_free <= 128)
    static_assert(dst_partitions == data_free, NKI_E223);
  if constexpr (dst_free != dyn && data_partitions != dyn) static_assert(dst_free == data_partitions, NKI_E223);
  if (engine == Engine::unknown) engine = Engine::tensor;
  dst.builder().record(ir::Opcode::nc_transpose, engine, {dst.view(), data.view()}, {}, loc);
}

/// Copy on chip; different dtypes go through f32 and round to nearest, ties to even.
///
/// Shapes:  dst and src have the same partitions and the same elements per partition.
/// Engine:  vector (unknown), scalar (NC-v3 and later) or gpsimd (SBUF only).  Cost: max(64, N) cycles.
/// Errors:  NKI-E101, E102, E220, E224.
/// Source:  nki.isa.tensor_copy (NKI 0.6.0).
template <detail::AnyTensor Dst, detail::AnyTensor Src>
void tensor_copy(const Dst& dst, const Src& src, Engine engine = Engine::unknown, Loc loc = Loc::here()) {
  static_assert(Dst::space != ir::Space::hbm && Src::space != ir::Space::hbm, NKI_E220);
  constexpr std::int64_t dst_partitions = detail::partitions<Dst>();
  constexpr std::int64_t src_partitions = detail::partitions<Src>();
  if constexpr (dst_partitions != dyn && src_partitions != dyn)
    static_assert(dst_partitions == src_partitions, NKI_E224);
  constexpr std::int64_t dst_free = detail::free_elems<Dst>();
  constexpr std::int64_t src_free = detail::free_elems<Src>();
  if constexpr (dst_free != dyn && src_free != dyn) static_assert(dst_free == src_free, NKI_E224);
  if (engine == Engine::unknown) engine = Engine::vector;
  dst.builder().record(ir::Opcode::tensor_copy, engine, {dst.view(), src.view()}, {}, loc);
}

/// Fill a tile with one value.
///
/// Engine:  vector (unknown) or gpsimd (SBUF only).  Cost: max(64, N) cycles; half for 0 in a 16-bit dtype.
/// Errors:  NKI-E101, E102, E220, E225.
/// Source:  nki.isa.memset (NKI 0.6.0).
template <detail::AnyTensor Dst>
void memset(const Dst& dst, double value, Engine engine = Engine::unknown, Loc loc = Loc::here()) {
  static_assert(Dst::space != ir::Space::hbm, NKI_E220);
  if (engine == Engine::unknown) engine = Engine::vector;
  dst.builder().record(ir::Opcode::memset, engine, {dst.view()}, {std::bit_cast<std::int64_t>(value)}, loc);
}

/// Copy between HBM and SBUF, or inside one of them.
///
/// Shapes:  the same number of elements on both sides, taken in order.
/// Dtypes:  equal on the hardware queues; the gpsimd queue converts through f32.
/// Engine:  the queue that triggers it: sync (unknown), scalar (descriptors in hardware, NC-v3 and later) or gpsimd
///          (descriptors in software).
/// Errors:  NKI-E120..E123.
/// Source:  nki.isa.dma_copy (NKI 0.6.0).
template <detail::AnyTensor Dst, detail::AnyTensor Src>
void dma_copy(const Dst& dst, const Src& src, Engine engine = Engine::unknown, Loc loc = Loc::here()) {
  static_assert(Dst::space != ir::Space::psum && Src::space != ir::Space::psum, NKI_E120);
  Builder& nc = dst.builder();
  if (engine == Engine::unknown)
    engine = nc.target() != nullptr && nc.target()->hardware_dge_queues.value == 0 ? Engine::gpsimd : Engine::sync;
  const DgeMode mode = engine == Engine::gpsimd ? DgeMode::swdge : DgeMode::hwdge;
  nc.record(ir::Opcode::dma_copy, engine, {dst.view(), src.view()}, {static_cast<std::int64_t>(mode)}, loc);
}

}  // namespace nki::inline v0_1::nisa
