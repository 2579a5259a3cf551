#pragma once

#include <sim/tool/json.hpp>
#include <sim/tool/request.hpp>

#include <nki/arch.hpp>
#include <nki/ir/program.hpp>
#include <nki/sim/bound.hpp>
#include <nki/sim/result.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

/// Predicted times: the phase of the TensorE clock is free, so a prediction is a sweep of it.
namespace nki::tool {

struct PhaseSweep {
  int phases = 16;                 ///< evenly over one half window
  std::optional<double> fixed_ns;  ///< one phase only
};

/// Means over the phases, and the extremes of the body.
struct Timing {
  double body_us = 0, body_lo_us = 0, body_hi_us = 0;
  double launch_us = 0;
  std::array<double, machine::stream_count> busy_us{}, stream_utilization{};
  std::array<std::array<double, sim::stall_count>, machine::stream_count> stalls_us{};
  double dma_busy_us = 0, dma_utilization = 0;  ///< of an engine
  double clock_switches = 0;
  std::int64_t instructions = 0, dma_transfers = 0, read_bytes = 0, write_bytes = 0;
  int phases = 1;

  double latency_us() const { return body_us + launch_us; }
};

/// A prediction is off by at least the model's resolution; calibration will replace this share.
inline constexpr double band_margin = 0.01;

/// The program must be verified.
Timing time_program(const ir::Program& p, const Arch& a, const PhaseSweep& sweep);

/// The bound of the request's problem, whatever its configuration; nothing for a program of an unknown kernel.
std::optional<sim::Bound> bound_of(const Request& r);

/// "uncalibrated: ..." for targets whose predictions were not compared with measurements, or "".
std::string calibration_note(const Arch& a);

}  // namespace nki::tool
