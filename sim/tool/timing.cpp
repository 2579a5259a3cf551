#include <sim/tool/timing.hpp>

#include <nki/machine/params.hpp>
#include <nki/sim/simulate.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace nki::tool {

namespace {

std::vector<double> phases_of(const Arch& a, const machine::Params& c, const PhaseSweep& sweep) {
  if (sweep.fixed_ns) return {*sweep.fixed_ns};
  if (c.clock_threshold.value == 0) return {0};  // a clock that never switches has no phase
  const double window_ns = c.clock_window_cycles.value / a.clock_tensor_cold_ghz.value;
  std::vector<double> out;
  for (int i = 0; i < sweep.phases; ++i) out.push_back(window_ns * i / sweep.phases);
  return out;
}

/// One simulation for each phase, spread over the processor's threads; the order of the results is that of the phases.
std::vector<sim::Result> simulate_all(const ir::Program& p, const Arch& a, const std::vector<double>& phases) {
  std::vector<sim::Result> results(phases.size());
  std::vector<std::exception_ptr> errors(phases.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < phases.size(); i = next++) {
      try {
        results[i] = sim::simulate(p, a, {.clock_phase_ns = phases[i]});
      } catch (...) {
        errors[i] = std::current_exception();
        next = phases.size();
      }
    }
  };
  const std::size_t n = std::min<std::size_t>(phases.size(), std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < n; ++i) helpers.emplace_back(work);
  work();
  helpers.clear();
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
  return results;
}

}  // namespace

Timing time_program(const ir::Program& p, const Arch& a, const PhaseSweep& sweep) {
  const machine::Params& c = machine::params_for(a);
  const std::vector<sim::Result> results = simulate_all(p, a, phases_of(a, c, sweep));
  const auto n = static_cast<double>(results.size());
  const auto mean_us = [&](auto&& of) {
    std::int64_t sum = 0;
    for (const sim::Result& r : results) sum += of(r);
    return static_cast<double>(sum) / n / a.ticks_per_ns.value / 1000;
  };

  Timing t;
  t.phases = static_cast<int>(results.size());
  t.launch_us = c.launch.value / 1000;
  t.body_us = mean_us([](const sim::Result& r) { return r.body; });
  t.body_lo_us = t.body_hi_us = results.front().body_us();
  for (const sim::Result& r : results) {
    t.body_lo_us = std::min(t.body_lo_us, r.body_us());
    t.body_hi_us = std::max(t.body_hi_us, r.body_us());
  }
  const double body = t.body_us > 0 ? t.body_us : 1;
  for (std::size_t s = 0; s < machine::stream_count; ++s) {
    t.busy_us[s] = mean_us([&](const sim::Result& r) { return r.streams[s].busy; });
    t.stream_utilization[s] = t.busy_us[s] / body;
    for (std::size_t k = 0; k < sim::stall_count; ++k)
      t.stalls_us[s][k] = mean_us([&](const sim::Result& r) { return r.streams[s].stalls[k]; });
  }
  const sim::Result& first = results.front();
  t.dma_busy_us = mean_us([](const sim::Result& r) { return r.dma_busy; }) / static_cast<double>(first.dma_engines);
  t.dma_utilization = t.dma_busy_us / body;
  for (const sim::Result& r : results) t.clock_switches += static_cast<double>(r.clock_switches) / n;
  t.instructions = first.instructions;
  t.dma_transfers = first.dma_transfers;
  t.read_bytes = first.read_bytes;
  t.write_bytes = first.write_bytes;
  return t;
}

std::optional<sim::Bound> bound_of(const Request& r) {
  if (r.kernel == nullptr) return std::nullopt;
  return sim::bound(r.kernel->least_work(r.problem), *r.arch, machine::params_for(*r.arch));
}

std::string calibration_note(const Arch& a) {
  const machine::Params& c = machine::params_for(a);
  if (c.calibrated) return {};
  std::string s = std::string("uncalibrated: no prediction has been compared with a kernel measured on ") + a.name;
  if (&c != &machine::trn2_params) s += ", and its constants are those of trn2 at its own clocks and DMA rate";
  return s;
}

}  // namespace nki::tool
