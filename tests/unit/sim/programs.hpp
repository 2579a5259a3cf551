#pragma once

#include <nki/arch.hpp>
#include <nki/ir/program.hpp>
#include <nki/machine/params.hpp>
#include <nki/machine/program.hpp>
#include <nki/sim/result.hpp>
#include <nki/sim/simulate.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sim_test {

namespace machine = nki::machine;
namespace sim = nki::sim;
using machine::Stream;

/// Ticks of the simulator on trn2.
constexpr std::int64_t ns(double t) {
  return machine::ticks(nki::arch::trn2, t);
}

/// A step of a semaphore that an instruction waits for.
struct HandWait {
  std::uint32_t semaphore = machine::no_id, value = 0;
};

/// Writes streams by hand.
class MachineProgram {
 public:
  using Wait = HandWait;

  std::uint32_t semaphore() { return p_.semaphores++; }

  MachineProgram& add(Stream s, const machine::Work& w, Wait wait = {}, std::uint32_t signal = machine::no_id,
                      machine::Cause cause = machine::Cause::operand) {
    p_.works.push_back(w);
    machine::Instr i;
    i.work = static_cast<std::uint32_t>(p_.works.size() - 1);
    i.site = sites_++;
    i.wait_semaphore = wait.semaphore;
    i.wait_value = wait.value;
    i.signal = signal;
    i.cause = cause;
    p_.streams[static_cast<std::size_t>(s)].push_back(i);
    return *this;
  }
  const machine::Program& program() const { return p_; }

 private:
  machine::Program p_;
  std::uint32_t sites_ = 0;
};

inline machine::Work compute(std::int64_t duration, std::int64_t overlap = 0) {
  machine::Work w;
  w.duration = duration;
  w.overlap = overlap;
  return w;
}
inline machine::Work event() {
  machine::Work w;
  w.kind = machine::Kind::event;
  return w;
}

/// A run with its timeline. Bars are found by the stream (or queue) and their number in it.
struct Run {
  sim::Result result;
  sim::Timeline timeline;

  std::vector<sim::Event> row(sim::Event::Row r) const {
    std::vector<sim::Event> out;
    for (const sim::Event& e : timeline.events)
      if (e.row == r) out.push_back(e);
    return out;
  }
  std::vector<sim::Event> row(Stream s) const { return row(static_cast<sim::Event::Row>(static_cast<int>(s))); }
  sim::Event at(Stream s, std::size_t n) const { return row(s).at(n); }
  std::int64_t start(Stream s, std::size_t n) const { return at(s, n).start; }
  std::int64_t end(Stream s, std::size_t n) const { return at(s, n).end; }
  /// When a transfer can be seen to be complete.
  std::int64_t arrival(machine::Queue q, std::size_t n) const {
    return row(static_cast<sim::Event::Row>(static_cast<int>(sim::Event::Row::dma_sync) + static_cast<int>(q)))
        .at(n)
        .end;
  }
};

inline Run run(const machine::Program& p, sim::Options o = {}) {
  Run r;
  o.timeline = &r.timeline;
  r.result = sim::simulate(p, nki::arch::trn2, machine::trn2_params, o);
  return r;
}
inline Run run(const MachineProgram& p, const sim::Options& o = {}) {
  return run(p.program(), o);
}
inline Run run(const nki::ir::Program& p, sim::Options o = {}) {
  Run r;
  o.timeline = &r.timeline;
  r.result = sim::simulate(p, nki::arch::trn2, o);
  return r;
}

inline std::int64_t stalled(const sim::StreamResult& r) {
  std::int64_t sum = 0;
  for (const std::int64_t s : r.stalls) sum += s;
  return sum;
}
inline std::int64_t stalled(const sim::StreamResult& r, sim::Stall s) {
  return r.stalls[static_cast<std::size_t>(s)];
}

}  // namespace sim_test
