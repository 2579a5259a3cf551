#include <nki/arch.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

namespace {

using nki::Arch;
using nki::Confidence;
using nki::Figure;
namespace arch = nki::arch;

/// A law of the machine, stated for one core and checked for all of them.
template <class Law>
void for_each_arch(Law&& law) {
  for (const Arch* core : arch::all) {
    SCOPED_TRACE(core->name);
    law(*core);
  }
}

TEST(Arch, PeakBf16RateMatchesThePublishedTflops) {
  const struct {
    const Arch& core;
    double published_tflops;
  } cases[] = {{arch::trn1, 92}, {arch::trn2, 79}, {arch::trn3, 79}};
  for (const auto& [core, published_tflops] : cases) {
    // Every processing element multiplies and adds once a cycle.
    const double tflops = 2 * core.pe_rows.value * core.pe_cols.value * core.clock_tensor_ghz.value / 1000;
    EXPECT_NEAR(tflops, published_tflops, 0.01 * published_tflops) << core.name;
  }
}

TEST(Arch, MemorySizesMatchThePublishedTotals) {
  constexpr double mib = 1024.0 * 1024.0;
  const struct {
    const Arch& core;
    double sbuf_mib;
  } cases[] = {{arch::trn1, 24}, {arch::trn2, 28}, {arch::trn3, 32}};
  for (const auto& [core, sbuf_mib] : cases) {
    EXPECT_EQ(core.partitions.value * core.sbuf_bytes_pp.value, sbuf_mib * mib) << core.name;
    EXPECT_EQ(core.partitions.value * core.psum_banks.value * core.psum_bank_bytes_pp.value, 2 * mib) << core.name;
  }
}

TEST(Arch, SustainedDmaRateMatchesThePublishedRateOfACore) {
  const struct {
    const Arch& core;
    double published_bytes_per_ns;
  } cases[] = {{arch::trn1, 272}, {arch::trn2, 368}, {arch::trn3, 528}};
  for (const auto& [core, published_bytes_per_ns] : cases) {
    EXPECT_EQ(core.dma_engines.value * core.dma_engine_sustained_bytes_per_ns.value, published_bytes_per_ns)
        << core.name;
  }
}

TEST(Arch, ACycleOfEveryEngineIsWholeTicks) {
  for_each_arch([](const Arch& core) {
    for (const Figure& clock : {core.clock_tensor_ghz, core.clock_tensor_cold_ghz, core.clock_vector_ghz,
                                core.clock_scalar_ghz, core.clock_gpsimd_ghz}) {
      const double ticks = core.ticks_per_ns.value / clock.value;
      EXPECT_NEAR(ticks, std::round(ticks), 1e-9);
      EXPECT_EQ(static_cast<double>(nki::ticks_per_cycle(core, clock)), std::round(ticks));
    }
  });
}

TEST(Arch, TicksPerCycleAreThoseOfTheSimulator) {
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn1, arch::trn1.clock_tensor_ghz), 300);
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn1, arch::trn1.clock_vector_ghz), 750);
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn1, arch::trn1.clock_scalar_ghz), 600);
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn2, arch::trn2.clock_tensor_ghz), 50);
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn2, arch::trn2.clock_tensor_cold_ghz), 100);
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn2, arch::trn2.clock_vector_ghz), 125);
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn2, arch::trn2.clock_gpsimd_ghz), 100);
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn3, arch::trn3.clock_tensor_ghz), 50);
  EXPECT_EQ(nki::ticks_per_cycle(arch::trn3, arch::trn3.clock_vector_ghz), 100);
}

TEST(Arch, ColdTensorClockIsHalfFromGeneration3On) {
  EXPECT_EQ(arch::trn1.clock_tensor_cold_ghz.value, arch::trn1.clock_tensor_ghz.value);
  EXPECT_EQ(2 * arch::trn2.clock_tensor_cold_ghz.value, arch::trn2.clock_tensor_ghz.value);
  EXPECT_EQ(2 * arch::trn3.clock_tensor_cold_ghz.value, arch::trn3.clock_tensor_ghz.value);
}

TEST(Arch, UsableSbufLiesWithinSbuf) {
  for_each_arch([](const Arch& core) { EXPECT_LT(core.sbuf_usable_bytes_pp.as_int(), core.sbuf_bytes_pp.as_int()); });
  EXPECT_EQ(arch::trn1.sbuf_usable_bytes_pp.as_int(), 196608 - 16384);
  EXPECT_EQ(arch::trn2.sbuf_usable_bytes_pp.as_int(), 229376 - 16384 - 8);
  EXPECT_EQ(arch::trn3.sbuf_usable_bytes_pp.as_int(), 262144 - 16384 - 8);
  EXPECT_EQ(arch::trn1.sbuf_usable_bytes_pp.confidence, Confidence::documented);
  EXPECT_EQ(arch::trn2.sbuf_usable_bytes_pp.confidence, Confidence::derived);
  EXPECT_EQ(arch::trn3.sbuf_usable_bytes_pp.confidence, Confidence::assumed);
}

TEST(Arch, ALongestMatmulResultFillsWholePsumBanks) {
  for_each_arch([](const Arch& core) {
    const std::int64_t bank = core.psum_bank_bytes_pp.as_int();
    const std::int64_t f32_bytes = core.matmul_moving_fmax.as_int() * nki::bytes(nki::DType::f32);
    const std::int64_t bf16_bytes = core.matmul_moving_fmax_bf16_dst.as_int() * nki::bytes(nki::DType::bf16);
    EXPECT_EQ(f32_bytes % bank, 0);
    EXPECT_LE(f32_bytes, bank * core.psum_banks.as_int());
    if (core.generation < 4) {
      EXPECT_EQ(f32_bytes, bank);
      EXPECT_EQ(bf16_bytes, 0) << "no bf16 destination before generation 4";
    } else {
      EXPECT_EQ(f32_bytes, bank * core.psum_banks.as_int());
      EXPECT_EQ(bf16_bytes, f32_bytes);
    }
  });
}

TEST(Arch, TheArrayHasARowPerPartitionAndAColumnPerStationaryElement) {
  for_each_arch([](const Arch& core) {
    EXPECT_EQ(core.pe_rows.value, core.partitions.value);
    EXPECT_EQ(core.pe_cols.value, core.matmul_stationary_fmax.value);
  });
}

TEST(Arch, SustainedDmaRateIsBelowThePeak) {
  for_each_arch([](const Arch& core) {
    EXPECT_LT(core.dma_engine_sustained_bytes_per_ns.value, core.dma_engine_peak_bytes_per_ns.value);
  });
}

TEST(Arch, AccessPatternFieldsAre16Bits) {
  for_each_arch([](const Arch& core) {
    EXPECT_EQ(core.ap_count_max.as_int(), 0xffff);
    EXPECT_EQ(core.ap_step_min.as_int(), INT16_MIN);
    EXPECT_EQ(core.ap_step_max.as_int(), INT16_MAX);
    EXPECT_EQ(core.psum_free_elems_max.as_int() * nki::bytes(nki::DType::f32),
              core.psum_banks.as_int() * core.psum_bank_bytes_pp.as_int());
  });
}

TEST(Arch, OnlyGeneration2LacksHardwareDescriptors) {
  for_each_arch([](const Arch& core) { EXPECT_EQ(core.hardware_dge_queues.as_int() == 0, core.generation == 2); });
}

TEST(Figures, EachHasAUnitASourceAndAValue) {
  // 0 says that a core lacks a feature, which only these may do.
  const std::set<std::string> optional_features = {"matmul_moving_fmax_bf16_dst", "hardware_dge_queues"};
  for_each_arch([&](const Arch& core) {
    nki::for_each_figure(core, [&](const char* name, const Figure& figure) {
      SCOPED_TRACE(name);
      EXPECT_FALSE(std::string_view(figure.unit).empty());
      EXPECT_FALSE(std::string_view(figure.source).empty());
      EXPECT_TRUE(std::isfinite(figure.value));
      EXPECT_TRUE(figure.value != 0 || optional_features.contains(name));
    });
  });
}

TEST(Figures, EnumerationVisitsEachOnceInOrder) {
  for_each_arch([](const Arch& core) {
    std::set<std::string> names;
    const Figure* next = &core.partitions;
    nki::for_each_figure(core, [&](const char* name, const Figure& figure) {
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(&figure, next) << name;
      next = &figure + 1;
    });
    EXPECT_EQ(reinterpret_cast<const char*>(next), reinterpret_cast<const char*>(&core) + sizeof(Arch));
  });
}

TEST(Figures, NamesCarryTheUnit) {
  for_each_arch([](const Arch& core) {
    nki::for_each_figure(core, [](const char* name, const Figure& figure) {
      const std::string_view text = name;
      if (text.ends_with("_ghz")) {
        EXPECT_STREQ(figure.unit, "GHz") << name;
      }
      if (text.ends_with("_bytes_pp")) {
        EXPECT_STREQ(figure.unit, "bytes") << name;
      }
      if (text.find("_bytes_per_ns") != std::string_view::npos) {
        EXPECT_STREQ(figure.unit, "bytes per ns") << name;
      }
    });
  });
}

static_assert(!std::is_convertible_v<Figure, double> && !std::is_convertible_v<Figure, std::int64_t>);
static_assert(
    [] {
      int count = 0;
      nki::for_each_figure(arch::trn2, [&count](const char*, const Figure&) { ++count; });
      return count;
    }() > 30,
    "enumeration is usable in constant expressions");

TEST(Find, AcceptsInstanceGenerationAndCoreNamesInAnyCase) {
  for (const char* text : {"trn1", "inf2", "gen2", "nc-v2", "NC-v2", "TRN1"}) {
    EXPECT_EQ(arch::find(text), &arch::trn1) << text;
  }
  for (const char* text : {"trn2", "gen3", "nc-v3", "NC-V3", "Trn2"}) EXPECT_EQ(arch::find(text), &arch::trn2) << text;
  for (const char* text : {"trn3", "gen4", "nc-v4"}) EXPECT_EQ(arch::find(text), &arch::trn3) << text;
}

TEST(Find, RefusesOtherNames) {
  for (const char* text : {"", "trn", "trn4", "inf1", "gen1", "nc-v", "trn2 ", "v3"}) {
    EXPECT_EQ(arch::find(text), nullptr) << text;
  }
}

TEST(Find, ReturnsEveryCoreByItsOwnNames) {
  int generation = 2;
  for_each_arch([&](const Arch& core) {
    EXPECT_EQ(arch::find(core.name), &core);
    EXPECT_EQ(arch::find(core.core), &core);
    EXPECT_EQ(core.generation, generation++) << "oldest first";
  });
}

TEST(TileSize, HoldsOnEveryGeneration) {
  EXPECT_EQ(nki::nl::tile_size.pmax, 128);
  EXPECT_EQ(nki::nl::tile_size.psum_bank_fmax, 512);
  EXPECT_EQ(nki::nl::tile_size.psum_bank_fmax_bytes, 2048);
  EXPECT_EQ(nki::nl::tile_size.gemm_stationary_fmax, 128);
  EXPECT_EQ(nki::nl::tile_size.gemm_moving_fmax, 512);
  EXPECT_EQ(nki::nl::tile_size.bn_stats_fmax, 512);
  EXPECT_EQ(nki::nl::tile_size.psum_num_banks, 8);
  for_each_arch([](const Arch& core) {
    EXPECT_LE(nki::nl::tile_size.pmax, core.partitions.as_int());
    EXPECT_LE(nki::nl::tile_size.gemm_stationary_fmax, core.matmul_stationary_fmax.as_int());
    EXPECT_LE(nki::nl::tile_size.gemm_moving_fmax, core.matmul_moving_fmax.as_int());
    EXPECT_LE(nki::nl::tile_size.psum_num_banks, core.psum_banks.as_int());
    EXPECT_LE(nki::nl::tile_size.psum_bank_fmax_bytes, core.psum_bank_bytes_pp.as_int());
  });
}

}  // namespace
