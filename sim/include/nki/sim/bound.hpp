#pragma once

#include <nki/arch.hpp>
#include <nki/kernel/spec.hpp>
#include <nki/machine/params.hpp>

#include <algorithm>
#include <cstdint>

namespace nki::inline v0_1::sim {

/// What a lower bound on a kernel's time is made of.
enum class Limit : std::uint8_t {
  tensor,  ///< the array streams at the warm clock throughout
  dma,     ///< the DMA engines move the bytes at their peak rate throughout
  latency  ///< loading the first tile and storing the last one take longer than the work between
};
constexpr const char* name(Limit l) {
  return l == Limit::tensor ? "tensor" : l == Limit::dma ? "dma" : "latency";
}

/// A time that no program with this work can beat.
struct Bound {
  double us = 0;
  Limit limit = Limit::latency;
  double tensor_us = 0;  ///< streaming alone
  double dma_us = 0;     ///< bytes at the peak rate alone
  double fixed_us = 0;   ///< what comes before and after the longer of the two
};

/// The bound of a body whose work is at least `least`. Two paths are added up and the longer one counts:
///   tensor:  first load (latency, one packet, visibility, wake), streaming, drain, evacuation, store;
///   dma:     latency of the first load, all bytes at the engines' peak rate, visibility of the last store.
/// The dma path leaves out what other transfers may hide, so that the sum stays a bound.
inline Bound bound(const kernel::Work& least, const Arch& a, const machine::Params& c) {
  const auto t = [&](const Figure& f) { return machine::ticks(a, f); };
  const bool hardware = a.hardware_dge_queues.value > 0;
  const auto faster = [&](std::int64_t by_hardware, std::int64_t by_software) {
    return hardware ? std::min(by_hardware, by_software) : by_software;
  };

  const std::int64_t packet = t(c.packet_fixed);
  const std::int64_t load_latency =
      faster(t(c.latency_hardware_read), t(c.software_first) + t(c.latency_software_read));
  const std::int64_t load = faster(t(c.latency_hardware_read) + t(c.visible_hardware_read),
                                   t(c.software_first) + t(c.latency_software_read) + t(c.visible_software_read)) +
                            packet;
  // Weights of 16 bits are in the array before the streaming that they belong to.
  const std::int64_t weights =
      std::min({t(c.exposed_16bit_cold), t(c.exposed_16bit_warm), t(c.exposed_f32_cold), t(c.exposed_f32_warm)});
  const std::int64_t into_array = t(c.wake_tensor) + weights;
  const std::int64_t drain = std::min(t(c.drain_cold), t(c.drain_warm)) + t(c.signal_tensor);
  const std::int64_t evacuation = std::min(t(c.wake_vector) + t(c.vector_fixed_psum) + t(c.signal_vector),
                                           t(c.wake_scalar) + t(c.scalar_fixed) + t(c.signal_scalar));
  const std::int64_t store_visible = faster(t(c.visible_hardware_write), t(c.visible_software_write));
  const std::int64_t store =
      faster(std::min(t(c.wake_sync), t(c.wake_scalar)) + t(c.latency_hardware_write) + t(c.visible_hardware_write),
             t(c.software_after_wait) + t(c.latency_software_write) + t(c.visible_software_write)) +
      packet;
  const std::int64_t end = t(c.final_wait);

  const double streaming = least.tensor_cycles * static_cast<double>(ticks_per_cycle(a, a.clock_tensor_ghz));
  const double transfer = (least.read_bytes + least.write_bytes) /
                          (a.dma_engines.value * a.dma_engine_peak_bytes_per_ns.value) * a.ticks_per_ns.value;
  const auto around_tensor = static_cast<double>(load + into_array + drain + evacuation + store + end);
  const auto around_dma = static_cast<double>(load_latency + store_visible + end);

  const double us = 1 / (a.ticks_per_ns.value * 1000);
  Bound b;
  b.tensor_us = streaming * us;
  b.dma_us = transfer * us;
  const bool by_dma = transfer + around_dma > streaming + around_tensor;
  const double work = by_dma ? transfer : streaming, around = by_dma ? around_dma : around_tensor;
  b.us = (work + around) * us;
  b.fixed_us = around * us;
  b.limit = work < around ? Limit::latency : by_dma ? Limit::dma : Limit::tensor;
  return b;
}

}  // namespace nki::inline v0_1::sim
