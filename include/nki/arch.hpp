#pragma once

#include <nki/dtype.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace nki::inline v0_1 {

/// How far a figure can be trusted.
enum class Confidence : std::uint8_t {
  documented,  ///< stated by the vendor
  derived,     ///< follows from documented or measured figures, or from a public constant of the vendor's libraries
  measured,    ///< read from public recordings of a device
  assumed      ///< our choice; nothing public confirms it
};

/// Lower-case name of a confidence, for reports and generated documentation.
constexpr const char* name(Confidence confidence) {
  switch (confidence) {
    case Confidence::documented:
      return "documented";
    case Confidence::derived:
      return "derived";
    case Confidence::measured:
      return "measured";
    case Confidence::assumed:
      return "assumed";
  }
  return "assumed";
}

/// One number about the hardware. A value of 0 means that the core lacks the feature.
///
/// It does not convert to a number by itself: `.value` or `.as_int()` shows the reader where a figure enters.
struct Figure {
  double value;
  const char* unit;
  const char* source;
  Confidence confidence;

  /// The value of a figure that is a count; asking a fractional figure is a programming error.
  constexpr std::int64_t as_int() const {
    const auto whole = static_cast<std::int64_t>(value);
    assert(static_cast<double>(whole) == value);
    return whole;
  }
};

/// The numbers of one NeuronCore generation.
///
/// `_pp` is per partition, `_ghz` cycles per ns. Limits are inclusive. Adding a figure means adding it here, to
/// `detail::figure_fields` and to each core.
struct Arch {
  const char* name;  ///< instance family: "trn1"
  const char* core;  ///< core version: "NC-v2"
  int generation;    ///< as NKI counts: 2, 3, 4

  // On-chip memory.
  Figure partitions;
  Figure sbuf_bytes_pp;
  Figure sbuf_usable_bytes_pp;  ///< what is left to a kernel after the compiler's reservation
  Figure psum_banks;
  Figure psum_bank_bytes_pp;

  // TensorE.
  Figure pe_rows;
  Figure pe_cols;
  Figure matmul_stationary_fmax;
  Figure matmul_moving_fmax;           ///< with an f32 destination
  Figure matmul_moving_fmax_bf16_dst;  ///< 0: only f32 destinations

  // VectorE.
  Figure vector_transpose_max;  ///< rows and columns of one transpose

  // Clocks.
  Figure clock_tensor_ghz;
  Figure clock_tensor_cold_ghz;  ///< before the array has been busy for a few us
  Figure clock_vector_ghz;
  Figure clock_scalar_ghz;
  Figure clock_gpsimd_ghz;
  Figure ticks_per_ns;  ///< resolution of simulated time; see `ticks_per_cycle`

  // DMA and HBM.
  Figure dma_engines;  ///< per core
  Figure dma_queues_per_engine;
  Figure dma_engine_peak_bytes_per_ns;
  Figure dma_engine_sustained_bytes_per_ns;
  Figure hardware_dge_queues;  ///< hardware descriptor generators per core; 0: software descriptors only
  Figure hbm_bytes_per_ns_chip;
  Figure cores_per_chip;

  // Access patterns and synchronisation.
  Figure ap_count_max;  ///< count of one pattern dimension
  Figure ap_step_min;
  Figure ap_step_max;
  Figure ap_free_dims_max;  ///< free dimensions that the address generators walk
  Figure view_rank_max;     ///< dimensions of a tensor view, the partition included
  Figure sbuf_free_elems_max;
  Figure psum_free_elems_max;
  Figure semaphore_max;  ///< semaphores of one core
};

namespace detail {

struct FigureField {
  const char* name;
  Figure Arch::*member;
};

inline constexpr FigureField figure_fields[] = {
    {"partitions", &Arch::partitions},
    {"sbuf_bytes_pp", &Arch::sbuf_bytes_pp},
    {"sbuf_usable_bytes_pp", &Arch::sbuf_usable_bytes_pp},
    {"psum_banks", &Arch::psum_banks},
    {"psum_bank_bytes_pp", &Arch::psum_bank_bytes_pp},
    {"pe_rows", &Arch::pe_rows},
    {"pe_cols", &Arch::pe_cols},
    {"matmul_stationary_fmax", &Arch::matmul_stationary_fmax},
    {"matmul_moving_fmax", &Arch::matmul_moving_fmax},
    {"matmul_moving_fmax_bf16_dst", &Arch::matmul_moving_fmax_bf16_dst},
    {"vector_transpose_max", &Arch::vector_transpose_max},
    {"clock_tensor_ghz", &Arch::clock_tensor_ghz},
    {"clock_tensor_cold_ghz", &Arch::clock_tensor_cold_ghz},
    {"clock_vector_ghz", &Arch::clock_vector_ghz},
    {"clock_scalar_ghz", &Arch::clock_scalar_ghz},
    {"clock_gpsimd_ghz", &Arch::clock_gpsimd_ghz},
    {"ticks_per_ns", &Arch::ticks_per_ns},
    {"dma_engines", &Arch::dma_engines},
    {"dma_queues_per_engine", &Arch::dma_queues_per_engine},
    {"dma_engine_peak_bytes_per_ns", &Arch::dma_engine_peak_bytes_per_ns},
    {"dma_engine_sustained_bytes_per_ns", &Arch::dma_engine_sustained_bytes_per_ns},
    {"hardware_dge_queues", &Arch::hardware_dge_queues},
    {"hbm_bytes_per_ns_chip", &Arch::hbm_bytes_per_ns_chip},
    {"cores_per_chip", &Arch::cores_per_chip},
    {"ap_count_max", &Arch::ap_count_max},
    {"ap_step_min", &Arch::ap_step_min},
    {"ap_step_max", &Arch::ap_step_max},
    {"ap_free_dims_max", &Arch::ap_free_dims_max},
    {"view_rank_max", &Arch::view_rank_max},
    {"sbuf_free_elems_max", &Arch::sbuf_free_elems_max},
    {"psum_free_elems_max", &Arch::psum_free_elems_max},
    {"semaphore_max", &Arch::semaphore_max},
};
static_assert(offsetof(Arch, partitions) + std::size(figure_fields) * sizeof(Figure) == sizeof(Arch),
              "figure_fields must name every figure of Arch");

// Names of the vendor's pages, all of release 2.32 of the AWS Neuron SDK unless said otherwise.
namespace pages {
inline constexpr const char* v2 = "Trainium/Inferentia2 architecture guide, Neuron SDK 2.32";
inline constexpr const char* v3 = "Trainium2 architecture guide, Neuron SDK 2.32";
inline constexpr const char* v4 = "Trainium3 architecture guide, Neuron SDK 2.32";
inline constexpr const char* nc_matmul = "NKI reference, nki.isa.nc_matmul, Neuron SDK 2.32";
inline constexpr const char* nc_transpose = "NKI reference, nki.isa.nc_transpose, Neuron SDK 2.32";
inline constexpr const char* access_patterns = "NKI access pattern guide, Neuron SDK 2.32";
inline constexpr const char* dma_overview = "NKI DMA overview, Neuron SDK 2.32";
inline constexpr const char* dma_bandwidth = "NKI DMA bandwidth guide, Neuron SDK 2.32";
inline constexpr const char* dge = "NKI descriptor generation engine guide, Neuron SDK 2.32";
inline constexpr const char* ticks = "chosen so that a cycle of every engine is a whole number of ticks";
inline constexpr const char* semaphores = "count not published; recorded trn2 kernels use numbers up to 43";
}  // namespace pages

// Clocks are published as multiples of 10 MHz, so whole MHz lose nothing.
inline constexpr std::int64_t mhz_per_ghz = 1000;
constexpr std::int64_t clock_mhz(const Figure& clock_ghz) {
  return static_cast<std::int64_t>(clock_ghz.value * static_cast<double>(mhz_per_ghz) + 0.5);
}

}  // namespace detail

/// Call `fn(name, figure)` for every figure of `arch`, in declaration order, with the member's name.
template <class Fn>
constexpr void for_each_figure(const Arch& arch, Fn&& fn) {
  for (const detail::FigureField& field : detail::figure_fields) fn(field.name, arch.*field.member);
}

/// Simulator ticks in one cycle of an engine; exact.
///
/// `clock_ghz` is one of the clocks of `arch`, e.g. `ticks_per_cycle(arch::trn2, arch::trn2.clock_vector_ghz) == 125`.
/// Times in ticks are integers, so that two states of a simulation can be compared for equality.
constexpr std::int64_t ticks_per_cycle(const Arch& arch, const Figure& clock_ghz) {
  const std::int64_t mhz = detail::clock_mhz(clock_ghz);
  const std::int64_t ticks_per_us = arch.ticks_per_ns.as_int() * detail::mhz_per_ghz;
  assert(ticks_per_us % mhz == 0);
  return ticks_per_us / mhz;
}

namespace arch {

/// NC-v2, the core of trn1 and inf2.
inline constexpr Arch trn1 = [] {
  using enum Confidence;
  namespace pages = detail::pages;
  return Arch{
      .name = "trn1",
      .core = "NC-v2",
      .generation = 2,
      .partitions = {128, "partitions", pages::v2, documented},
      .sbuf_bytes_pp = {196608, "bytes", pages::v2, documented},
      .sbuf_usable_bytes_pp = {180224, "bytes", "NKI direct allocation guide, Neuron SDK 2.26: 192 KiB - 16 KiB",
                               documented},
      .psum_banks = {8, "banks", pages::v2, documented},
      .psum_bank_bytes_pp = {2048, "bytes", pages::v2, documented},
      .pe_rows = {128, "rows", pages::v2, documented},
      .pe_cols = {128, "columns", pages::v2, documented},
      .matmul_stationary_fmax = {128, "elements", pages::nc_matmul, documented},
      .matmul_moving_fmax = {512, "elements", pages::nc_matmul, documented},
      .matmul_moving_fmax_bf16_dst = {0, "elements", pages::nc_matmul, documented},
      .vector_transpose_max = {32, "rows and columns", pages::nc_transpose, documented},
      .clock_tensor_ghz = {2.8, "GHz", pages::v2, documented},
      .clock_tensor_cold_ghz = {2.8, "GHz", "no slower clock is documented before NC-v3", assumed},
      .clock_vector_ghz = {1.12, "GHz", pages::v2, documented},
      .clock_scalar_ghz = {1.4, "GHz", pages::v2, documented},
      .clock_gpsimd_ghz = {1.4, "GHz", pages::v2, documented},
      .ticks_per_ns = {840, "ticks per ns", pages::ticks, derived},
      .dma_engines = {16, "engines", pages::dma_overview, documented},
      .dma_queues_per_engine = {16, "queues", pages::dma_overview, documented},
      .dma_engine_peak_bytes_per_ns = {27.2, "bytes per ns", pages::dma_overview, documented},
      .dma_engine_sustained_bytes_per_ns = {17, "bytes per ns", pages::dma_bandwidth, documented},
      .hardware_dge_queues = {0, "generators", pages::dge, documented},
      .hbm_bytes_per_ns_chip = {820, "bytes per ns", "Trainium hardware page, Neuron SDK 2.32 (printed as GiB/s there)",
                                documented},
      .cores_per_chip = {2, "cores", pages::v2, documented},
      .ap_count_max = {65535, "elements", "unsigned 16-bit field: Trainium/Inferentia2 architecture guide", documented},
      .ap_step_min = {-32768, "elements", "signed 16-bit field: Trainium/Inferentia2 architecture guide", documented},
      .ap_step_max = {32767, "elements", "signed 16-bit field: Trainium/Inferentia2 architecture guide", documented},
      .ap_free_dims_max = {4, "dimensions", pages::access_patterns, documented},
      .view_rank_max = {5, "dimensions", pages::access_patterns, documented},
      .sbuf_free_elems_max = {65536, "elements", pages::access_patterns, documented},
      .psum_free_elems_max = {4096, "elements", pages::access_patterns, documented},
      .semaphore_max = {256, "semaphores", pages::semaphores, assumed},
  };
}();

/// NC-v3, the core of trn2.
inline constexpr Arch trn2 = [] {
  using enum Confidence;
  namespace pages = detail::pages;
  Arch core = trn1;  // what NC-v3 shares with NC-v2; the guides of both say so
  core.name = "trn2";
  core.core = "NC-v3";
  core.generation = 3;
  core.partitions.source = pages::v3;
  core.sbuf_bytes_pp = {229376, "bytes", pages::v3, documented};
  core.sbuf_usable_bytes_pp = {212984, "bytes", "constant of the public nki-library: 229376 - 16384 - 8", derived};
  core.psum_banks.source = pages::v3;
  core.psum_bank_bytes_pp.source = pages::v3;
  core.pe_rows.source = pages::v3;
  core.pe_cols.source = pages::v3;
  core.clock_tensor_ghz = {2.4, "GHz", pages::v3, documented};
  core.clock_tensor_cold_ghz = {
      1.2, "GHz", "public profiles of trn2 attention kernels (allenkchau/trainium-kernel-fusion): clock 4 of 8",
      measured};
  core.clock_vector_ghz = {0.96, "GHz", pages::v3, documented};
  core.clock_scalar_ghz = {1.2, "GHz", pages::v3, documented};
  core.clock_gpsimd_ghz = {1.2, "GHz", pages::v3, documented};
  core.ticks_per_ns = {120, "ticks per ns", pages::ticks, derived};
  core.dma_engine_sustained_bytes_per_ns = {23, "bytes per ns", pages::dma_bandwidth, documented};
  core.hardware_dge_queues = {2, "generators", pages::dge, documented};
  core.hbm_bytes_per_ns_chip = {
      3000, "bytes per ns", "Trainium2 architecture guide, Neuron SDK 2.32; the hardware page says 2900", documented};
  core.cores_per_chip = {8, "cores", pages::v3, documented};
  return core;
}();

/// NC-v4, the core of trn3.
inline constexpr Arch trn3 = [] {
  using enum Confidence;
  namespace pages = detail::pages;
  Arch core = trn2;  // what NC-v4 shares with NC-v3
  core.name = "trn3";
  core.core = "NC-v4";
  core.generation = 4;
  core.partitions.source = pages::v4;
  core.sbuf_bytes_pp = {262144, "bytes", pages::v4, documented};
  core.sbuf_usable_bytes_pp = {245752, "bytes", "reservation of trn2 carried over: 262144 - 16384 - 8", assumed};
  core.psum_banks.source = pages::v4;
  core.psum_bank_bytes_pp.source = pages::v4;
  core.pe_rows.source = pages::v4;
  core.pe_cols.source = pages::v4;
  core.matmul_moving_fmax = {4096, "elements", pages::nc_matmul, documented};
  core.matmul_moving_fmax_bf16_dst = {8192, "elements", pages::nc_matmul, documented};
  core.clock_tensor_ghz = {2.4, "GHz", pages::v4, documented};
  core.clock_tensor_cold_ghz = {
      1.2, "GHz", "Neuron Explorer guide, SDK 2.32: about half utilisation after idle, read as half the clock",
      derived};
  core.clock_vector_ghz = {1.2, "GHz", pages::v4, documented};
  core.clock_scalar_ghz = {1.2, "GHz", pages::v4, documented};
  core.clock_gpsimd_ghz = {1.2, "GHz", pages::v4, documented};
  core.dma_engine_peak_bytes_per_ns = {38.4, "bytes per ns", pages::dma_overview, documented};
  core.dma_engine_sustained_bytes_per_ns = {33, "bytes per ns", pages::dma_bandwidth, documented};
  core.hardware_dge_queues = {2, "generators", "not restated for NC-v4; as NC-v3", assumed};
  core.hbm_bytes_per_ns_chip = {
      4700, "bytes per ns", "Trainium3 architecture guide, Neuron SDK 2.32; the hardware page says 4900", documented};
  core.cores_per_chip = {8, "cores", pages::v4, documented};
  return core;
}();

/// Every core, oldest first.
inline constexpr const Arch* all[] = {&trn1, &trn2, &trn3};

/// The core that `text` names in any case of letters, or nullptr.
///
/// Names: trn1, inf2, gen2, nc-v2; trn2, gen3, nc-v3; trn3, gen4, nc-v4.
constexpr const Arch* find(std::string_view text) {
  struct Alias {
    std::string_view spelling;
    const Arch* arch;
  };
  constexpr Alias aliases[] = {{"inf2", &trn1}, {"gen2", &trn1}, {"gen3", &trn2}, {"gen4", &trn3}};
  for (const Arch* candidate : all) {
    if (detail::equal_ignoring_case(text, candidate->name) || detail::equal_ignoring_case(text, candidate->core)) {
      return candidate;
    }
  }
  for (const Alias& alias : aliases) {
    if (detail::equal_ignoring_case(text, alias.spelling)) return alias.arch;
  }
  return nullptr;
}

}  // namespace arch

namespace nl {

/// The tile limits that kernels use, as `nl::tile_size.pmax` and so on.
///
/// They hold on every generation; trn3 allows a longer moving tile, see `Arch::matmul_moving_fmax`.
/// Source: NKI reference, nki.language.tile_size (AWS Neuron SDK 2.32).
struct TileSize {
  int pmax = 128;                   ///< partitions of a tile
  int psum_bank_fmax = 512;         ///< f32 elements of one PSUM bank, per partition
  int psum_bank_fmax_bytes = 2048;  ///< bytes of one PSUM bank, per partition
  int gemm_stationary_fmax = 128;   ///< free elements of the stationary operand
  int gemm_moving_fmax = 512;       ///< free elements of the moving operand
  int bn_stats_fmax = 512;          ///< free elements of one bn_stats
  int psum_num_banks = 8;           ///< PSUM banks of a partition
};
inline constexpr TileSize tile_size{};

}  // namespace nl

namespace detail {

constexpr bool every_cycle_is_whole_ticks(const Arch& core) {
  for (const Figure& clock : {core.clock_tensor_ghz, core.clock_tensor_cold_ghz, core.clock_vector_ghz,
                              core.clock_scalar_ghz, core.clock_gpsimd_ghz}) {
    const std::int64_t mhz = clock_mhz(clock);
    if (static_cast<double>(mhz) / static_cast<double>(mhz_per_ghz) != clock.value) return false;
    if (core.ticks_per_ns.as_int() * mhz_per_ghz % mhz != 0) return false;
  }
  return true;
}

constexpr bool tile_size_fits(const Arch& core) {
  return nl::tile_size.pmax == core.partitions.as_int() &&
         nl::tile_size.psum_bank_fmax_bytes == core.psum_bank_bytes_pp.as_int() &&
         nl::tile_size.psum_bank_fmax * bytes(DType::f32) == nl::tile_size.psum_bank_fmax_bytes &&
         nl::tile_size.psum_num_banks == core.psum_banks.as_int() &&
         nl::tile_size.gemm_stationary_fmax == core.matmul_stationary_fmax.as_int() &&
         nl::tile_size.gemm_moving_fmax <= core.matmul_moving_fmax.as_int();
}

constexpr bool every_arch(bool (*law)(const Arch&)) {
  for (const Arch* core : arch::all) {
    if (!law(*core)) return false;
  }
  return true;
}
static_assert(every_arch(every_cycle_is_whole_ticks));
static_assert(every_arch(tile_size_fits));

}  // namespace detail

}  // namespace nki::inline v0_1
