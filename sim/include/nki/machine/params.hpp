#pragma once

#include <nki/arch.hpp>

#include <cstdint>

/// The timing constants of the machine model, in nanoseconds unless the unit says otherwise, each with its source and
/// confidence. Clocks, sizes and peak rates are in nki::Arch; nothing about time stands anywhere else.
namespace nki::inline v0_1::machine {

inline constexpr const char* model_version = "0.1";

/// What recordings show: public profiles of attention kernels on trn2 (github allenkchau/trainium-kernel-fusion).
inline constexpr const char* recorded = "public trn2 profiles, attention s512";

struct Params {
  const char* name;
  bool calibrated;  ///< whether predictions have been compared with kernels measured on this generation

  // Semaphores: end of an instruction to the counter's change, and the change to the start of a waiting instruction.
  Figure signal_tensor, signal_vector, signal_scalar, signal_gpsimd;
  Figure wake_tensor, wake_vector, wake_scalar, wake_gpsimd, wake_sync, wake_event_tensor;
  Figure event_tensor, event_vector, event_scalar, event_gpsimd, event_sync;  // EVENT_SEMAPHORE start to next start
  Figure sequencer_step;  // start of an instruction to the earliest start of the next on the sequencer
  Figure final_wait;      // last completion to the end of the body

  // Vector and Scalar: fixed part by source space, overlap with the next instruction.
  Figure vector_fixed_sbuf, vector_fixed_psum, vector_overlap;
  Figure scalar_fixed, scalar_overlap;
  Figure gpsimd_start_cycles;
  Figure min_initiation_cycles;
  Figure vector_perf_modes;  // 1 where the 2x and 4x modes of 16-bit copies exist

  // TensorE.
  Figure load_after_stream, load_after_issue;  // LDWEIGHTS against the matmul before it
  Figure exposed_16bit_cold, exposed_16bit_warm;
  Figure exposed_f32_cold, exposed_f32_warm, exposed_f32_transpose_cold, exposed_f32_transpose_warm;
  Figure drain_cold, drain_warm;  // last column in to result complete
  Figure gap_f32_warm, gap_f32_transpose_warm, gap_16bit_warm;
  Figure issue_after_load, issue_after_event;  // LDWEIGHTS start to MATMUL start
  Figure clock_window_cycles;                  // cycles of the base clock in a half window
  Figure clock_threshold;                      // share of a half window's fast cycles that keeps the next one warm

  // DMA.
  Figure trigger_hardware, trigger_gap_hardware;  // occupancy of the triggering sequencer
  Figure software_first, software_after_wait, software_interval, software_occupancy;
  Figure packet_fixed, semaphore_packet, packet_bytes_max;
  Figure engine_ramp;  // first packet of engine e + 1 after that of e
  Figure latency_hardware_read, latency_hardware_write, latency_software_read, latency_software_write;
  Figure stall_hardware_read, stall_hardware_read_bytes, stall_software_read;
  Figure queue_gap_hardware_read, queue_gap_software_read, queue_gap_window;
  Figure visible_hardware_read, visible_hardware_write, visible_software_read, visible_software_write;
  Figure software_store_factor;
  Figure scalar_enter;  // the scalar stream starts this much after the sync stream

  Figure launch;  // runtime preamble and epilogue around the body

  // Instructions that so far only recordings hold.
  Figure vector_pointer;           // a scalar operand that is read through a pointer
  Figure vector_scalar_f32_elems;  // of a TENSOR_SCALAR on f32 within SBUF
  Figure vector_reciprocal_cycles;
  Figure activate_psum, activate_sbuf;  // ACTIVATE beyond a copy, by source space
  Figure table_load;                    // ACT_TABLE_LOAD
};

// clang-format off
inline constexpr Params trn2_params{
    .name = "trn2", .calibrated = false,
    .signal_tensor = {15, "ns", recorded, Confidence::measured},
    .signal_vector = {12, "ns", recorded, Confidence::measured},
    .signal_scalar = {10, "ns", recorded, Confidence::measured},
    .signal_gpsimd = {12, "ns", "as VectorE; no GpSimd data-path instruction was recorded", Confidence::assumed},
    .wake_tensor = {42, "ns", recorded, Confidence::measured},
    .wake_vector = {23, "ns", recorded, Confidence::measured},
    .wake_scalar = {22, "ns", recorded, Confidence::measured},
    .wake_gpsimd = {23, "ns", recorded, Confidence::measured},
    .wake_sync = {17, "ns", recorded, Confidence::measured},
    .wake_event_tensor = {28, "ns", recorded, Confidence::measured},
    .event_tensor = {77, "ns", recorded, Confidence::measured},
    .event_vector = {103, "ns", recorded, Confidence::measured},
    .event_scalar = {90, "ns", recorded, Confidence::measured},
    .event_gpsimd = {60, "ns", "between the recorded 19 ns duration and the other engines' intervals", Confidence::assumed},
    .event_sync = {60, "ns", "as GpSimd", Confidence::assumed},
    .sequencer_step = {20, "ns", "replay of the public trn2 profiles", Confidence::derived},
    .final_wait = {40, "ns", "GpSimd NOP: wake 23 + 17", Confidence::measured},
    .vector_fixed_sbuf = {152.5, "ns", recorded, Confidence::measured},
    .vector_fixed_psum = {157.5, "ns", recorded, Confidence::measured},
    .vector_overlap = {83, "ns", recorded, Confidence::measured},
    .scalar_fixed = {158, "ns", recorded, Confidence::measured},
    .scalar_overlap = {103, "ns", recorded, Confidence::measured},
    .gpsimd_start_cycles = {150, "GpSimd cycles", "nki.isa docstrings, SDK 2.26.1", Confidence::documented},
    .min_initiation_cycles = {64, "engine cycles", "nki.isa docstrings, SDK 2.26.1 (MIN_II)", Confidence::documented},
    .vector_perf_modes = {1, "flag", "trainium2_arch.rst: 16-bit copies 4x in SBUF, 2x with one side in PSUM", Confidence::documented},
    .load_after_stream = {3, "ns", recorded, Confidence::measured},
    .load_after_issue = {2, "ns", recorded, Confidence::measured},
    .exposed_16bit_cold = {-19, "ns", recorded, Confidence::measured},
    .exposed_16bit_warm = {-19, "ns", "as cold; a 16-bit matmul at the warm clock was never recorded", Confidence::assumed},
    .exposed_f32_cold = {161, "ns", recorded, Confidence::measured},
    .exposed_f32_warm = {104, "ns", recorded, Confidence::measured},
    .exposed_f32_transpose_cold = {60, "ns", recorded, Confidence::measured},
    .exposed_f32_transpose_warm = {58, "ns", recorded, Confidence::measured},
    .drain_cold = {206, "ns", recorded, Confidence::measured},
    .drain_warm = {162, "ns", recorded, Confidence::measured},
    .gap_f32_warm = {4.8, "ns", recorded, Confidence::measured},
    .gap_f32_transpose_warm = {2.5, "ns", recorded, Confidence::measured},
    .gap_16bit_warm = {0, "ns", "none assumed; a 16-bit matmul at the warm clock was never recorded", Confidence::assumed},
    .issue_after_load = {2, "ns", recorded, Confidence::measured},
    .issue_after_event = {30, "ns", recorded, Confidence::measured},
    .clock_window_cycles = {4096, "cycles of 1.2 GHz", recorded, Confidence::measured},
    .clock_threshold = {0.375, "share of 8192 fast cycles", recorded, Confidence::derived},
    .trigger_hardware = {570, "ns", recorded, Confidence::measured},
    .trigger_gap_hardware = {48, "ns", recorded, Confidence::measured},
    .software_first = {1289, "ns", recorded, Confidence::measured},
    .software_after_wait = {1183, "ns", recorded, Confidence::measured},
    .software_interval = {582, "ns", recorded, Confidence::measured},
    .software_occupancy = {45, "ns", recorded, Confidence::measured},
    .packet_fixed = {4.7, "ns", recorded, Confidence::measured},
    .semaphore_packet = {6, "ns", recorded, Confidence::measured},
    .packet_bytes_max = {4096, "bytes", "longest packet recorded; default packetisation of the runtime", Confidence::measured},
    .engine_ramp = {9.5, "ns per engine", "hardware 9.5, software 11 recorded; one constant here", Confidence::measured},
    .latency_hardware_read = {1345, "ns", recorded, Confidence::measured},
    .latency_hardware_write = {1240, "ns", recorded, Confidence::measured},
    .latency_software_read = {1000, "ns", "mean of 760..1490 recorded", Confidence::derived},
    .latency_software_write = {633, "ns", recorded, Confidence::measured},
    .stall_hardware_read = {400, "ns", "mean of the recorded first-packet stalls", Confidence::derived},
    .stall_hardware_read_bytes = {32768, "bytes per engine", "share that sees the whole stall", Confidence::derived},
    .stall_software_read = {170, "ns", "mean of the recorded first-packet stalls", Confidence::derived},
    .queue_gap_hardware_read = {660, "ns", "a read behind a read of its queue, mean recorded", Confidence::derived},
    .queue_gap_software_read = {150, "ns", "a read behind a read of its queue, compromise", Confidence::derived},
    .queue_gap_window = {400, "ns", "the gap is paid where the queue was busy this shortly before", Confidence::derived},
    .visible_hardware_read = {420, "ns", "350 after the last packet, and 70 for the slowest of 16 engines", Confidence::measured},
    .visible_hardware_write = {480, "ns", "420 after the last packet, and 60 for the slowest of 16 engines", Confidence::measured},
    .visible_software_read = {410, "ns", "350 after the last packet, and 60 for the slowest of 16 engines", Confidence::measured},
    .visible_software_write = {360, "ns", recorded, Confidence::measured},
    .software_store_factor = {1.2, "times (4.7 ns + bytes / 27.2 B/ns) per element", recorded, Confidence::derived},
    .scalar_enter = {156, "ns", recorded, Confidence::measured},
    .launch = {15000, "ns", "13 us before and 2 us after the body in the public trn2 profiles", Confidence::measured},
    .vector_pointer = {60, "ns", recorded, Confidence::measured},
    .vector_scalar_f32_elems = {2, "elements per cycle", recorded, Confidence::measured},
    .vector_reciprocal_cycles = {6, "cycles per element", "recorded for 4 elements only; the published 8 takes 8 ns more", Confidence::derived},
    .activate_psum = {101, "ns", recorded, Confidence::measured},
    .activate_sbuf = {136, "ns", recorded, Confidence::measured},
    .table_load = {1283, "ns", recorded, Confidence::measured},
};

/// trn1 has no hardware descriptor generation and no recorded DMA: its times are the trn2 constants at trn1's clocks.
inline constexpr Params trn1_params = [] {
  Params p = trn2_params;
  p.name = "trn1";
  p.calibrated = false;
  p.vector_perf_modes = {0, "flag", "the modes exist from NC-v3", Confidence::documented};
  p.clock_threshold = {0, "share", "no clock switching is documented for NC-v2", Confidence::assumed};
  return p;
}();
/// Nothing was recorded on trn3: its times are the trn2 constants at trn3's clocks and DMA rate.
inline constexpr Params trn3_params = [] {
  Params p = trn2_params;
  p.name = "trn3";
  p.calibrated = false;
  return p;
}();
// clang-format on

constexpr const Params& params_for(const Arch& a) {
  return a.generation == 2 ? trn1_params : a.generation == 3 ? trn2_params : trn3_params;
}

/// Calls fn(name, figure) for every constant, in the order above.
template <class Fn>
constexpr void for_each_constant(const Params& p, Fn&& fn) {
#define NKI_CONSTANT(x) fn(#x, p.x);
  // clang-format off
  NKI_CONSTANT(signal_tensor) NKI_CONSTANT(signal_vector) NKI_CONSTANT(signal_scalar) NKI_CONSTANT(signal_gpsimd)
  NKI_CONSTANT(wake_tensor) NKI_CONSTANT(wake_vector) NKI_CONSTANT(wake_scalar) NKI_CONSTANT(wake_gpsimd)
  NKI_CONSTANT(wake_sync) NKI_CONSTANT(wake_event_tensor) NKI_CONSTANT(event_tensor) NKI_CONSTANT(event_vector)
  NKI_CONSTANT(event_scalar) NKI_CONSTANT(event_gpsimd) NKI_CONSTANT(event_sync) NKI_CONSTANT(sequencer_step)
  NKI_CONSTANT(final_wait) NKI_CONSTANT(vector_fixed_sbuf) NKI_CONSTANT(vector_fixed_psum)
  NKI_CONSTANT(vector_overlap) NKI_CONSTANT(scalar_fixed) NKI_CONSTANT(scalar_overlap)
  NKI_CONSTANT(gpsimd_start_cycles) NKI_CONSTANT(min_initiation_cycles) NKI_CONSTANT(vector_perf_modes)
  NKI_CONSTANT(load_after_stream) NKI_CONSTANT(load_after_issue) NKI_CONSTANT(exposed_16bit_cold)
  NKI_CONSTANT(exposed_16bit_warm) NKI_CONSTANT(exposed_f32_cold) NKI_CONSTANT(exposed_f32_warm)
  NKI_CONSTANT(exposed_f32_transpose_cold) NKI_CONSTANT(exposed_f32_transpose_warm) NKI_CONSTANT(drain_cold)
  NKI_CONSTANT(drain_warm) NKI_CONSTANT(gap_f32_warm) NKI_CONSTANT(gap_f32_transpose_warm)
  NKI_CONSTANT(gap_16bit_warm) NKI_CONSTANT(issue_after_load) NKI_CONSTANT(issue_after_event)
  NKI_CONSTANT(clock_window_cycles) NKI_CONSTANT(clock_threshold) NKI_CONSTANT(trigger_hardware)
  NKI_CONSTANT(trigger_gap_hardware) NKI_CONSTANT(software_first) NKI_CONSTANT(software_after_wait)
  NKI_CONSTANT(software_interval) NKI_CONSTANT(software_occupancy) NKI_CONSTANT(packet_fixed)
  NKI_CONSTANT(semaphore_packet) NKI_CONSTANT(packet_bytes_max) NKI_CONSTANT(engine_ramp)
  NKI_CONSTANT(latency_hardware_read) NKI_CONSTANT(latency_hardware_write) NKI_CONSTANT(latency_software_read)
  NKI_CONSTANT(latency_software_write) NKI_CONSTANT(stall_hardware_read) NKI_CONSTANT(stall_hardware_read_bytes)
  NKI_CONSTANT(stall_software_read) NKI_CONSTANT(queue_gap_hardware_read) NKI_CONSTANT(queue_gap_software_read)
  NKI_CONSTANT(queue_gap_window) NKI_CONSTANT(visible_hardware_read) NKI_CONSTANT(visible_hardware_write)
  NKI_CONSTANT(visible_software_read) NKI_CONSTANT(visible_software_write) NKI_CONSTANT(software_store_factor)
  NKI_CONSTANT(scalar_enter) NKI_CONSTANT(launch) NKI_CONSTANT(vector_pointer) NKI_CONSTANT(vector_scalar_f32_elems)
  NKI_CONSTANT(vector_reciprocal_cycles) NKI_CONSTANT(activate_psum) NKI_CONSTANT(activate_sbuf)
  NKI_CONSTANT(table_load)
  // clang-format on
#undef NKI_CONSTANT
}

/// Integer ticks of the simulator: `arch.ticks_per_ns` to a nanosecond, so that every engine's cycle is a whole number.
constexpr std::int64_t ticks(const Arch& a, double ns) {
  const double t = ns * a.ticks_per_ns.value;
  return static_cast<std::int64_t>(t < 0 ? t - 0.5 : t + 0.5);
}
constexpr std::int64_t ticks(const Arch& a, const Figure& ns) {
  return ticks(a, ns.value);
}
constexpr double to_us(const Arch& a, std::int64_t t) {
  return static_cast<double>(t) / a.ticks_per_ns.value / 1000.0;
}

}  // namespace nki::inline v0_1::machine
