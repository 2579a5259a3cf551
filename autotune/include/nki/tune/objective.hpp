#pragma once

#include <nki/arch.hpp>
#include <nki/check/verify.hpp>
#include <nki/ir/program.hpp>
#include <nki/kernel/spec.hpp>
#include <nki/machine/params.hpp>
#include <nki/sim/bound.hpp>
#include <nki/sim/result.hpp>
#include <nki/sim/simulate.hpp>
#include <nki/tune/space.hpp>
#include <nki/tune/strategy.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <vector>

/// What a search minimises.
namespace nki::inline v0_1::tune {

class Objective {
 public:
  Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;
  virtual ~Objective() = default;

  /// Tries a configuration, from any thread; throws nothing. A time beyond `enough_us` need not be exact: the outcome
  /// may be pruned_bound instead.
  virtual Outcome evaluate(Index i, double enough_us) const = 0;
};

/// The phases of the TensorE clock's grid that a sweep tries, evenly over a half window. The phase is not known before
/// a run, so a prediction is a mean over them. A clock that never switches has one.
inline std::vector<double> clock_phases_ns(const Arch& a, int count) {
  const machine::Params& c = machine::params_for(a);
  if (c.clock_threshold.value == 0 || count < 2) return {0};
  const double window_ns = c.clock_window_cycles.value / a.clock_tensor_cold_ghz.value;
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(window_ns * i / count);
  return out;
}

/// The predicted time of the body: record, check, simulate at clock phase 0.
class SimulatedTime final : public Objective {
 public:
  explicit SimulatedTime(const Space& space) : space_(&space), params_(&machine::params_for(space.arch())) {}

  const Space& space() const { return *space_; }

  /// A time that no configuration beats.
  sim::Bound bound() const {
    return sim::bound(space_->kernel().least_work(space_->problem()), space_->arch(), *params_);
  }
  /// A time that this one does not beat: its own array cycles and bytes.
  sim::Bound bound(Index i) const {
    return sim::bound(space_->kernel().work(space_->problem(), space_->config(i), space_->arch()), space_->arch(),
                      *params_);
  }
  std::vector<double> bounds_us() const {
    std::vector<double> out(space_->size());
    for (Index i = 0; i < out.size(); ++i) out[i] = bound(i).us;
    return out;
  }

  ir::Program record(Index i) const {
    return space_->kernel().record(space_->problem(), space_->config(i), space_->arch());
  }

  Outcome evaluate(Index i, double enough_us) const override {
    Outcome o;
    try {
      const ir::Program p = record(i);
      const check::Report report = check::verify(p, space_->arch());
      if (!report.ok()) {
        o.status = Status::rejected;
        o.message = report.violations.front().text();
        return o;
      }
      sim::Options options;
      if (enough_us < no_time) {
        options.deadline = ticks(enough_us);
        const kernel::Work work = space_->kernel().work(space_->problem(), space_->config(i), space_->arch());
        // No more than the program's: both are rounded down.
        options.array_work = static_cast<std::int64_t>(work.tensor_cycles) *
                             ticks_per_cycle(space_->arch(), space_->arch().clock_tensor_cold_ghz);
        options.dma_bytes = static_cast<std::int64_t>(work.read_bytes + work.write_bytes);
      }
      const sim::Result r = sim::simulate(p, space_->arch(), options);
      o.status = r.complete ? Status::evaluated : Status::pruned_bound;
      (r.complete ? o.us : o.least_us) = r.body_us();
    } catch (const std::exception& e) {
      o.status = Status::failed;
      o.message = e.what();
    } catch (...) {
      o.status = Status::failed;
      o.message = "an exception of unknown type";
    }
    return o;
  }

  /// The whole result at one phase of the clock.
  sim::Result time(const ir::Program& p, double phase_ns) const {
    return sim::simulate(p, space_->arch(), {.clock_phase_ns = phase_ns});
  }

 private:
  std::int64_t ticks(double us) const {
    const double t = us * 1000 * space_->arch().ticks_per_ns.value;
    return t < 9e18 ? static_cast<std::int64_t>(t + 0.5) : std::numeric_limits<std::int64_t>::max();
  }
  const Space* space_;
  const machine::Params* params_;
};

}  // namespace nki::inline v0_1::tune
