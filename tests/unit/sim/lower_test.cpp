#include "matmul_cases.hpp"
#include "programs.hpp"

#include <nki/arch.hpp>
#include <nki/ir/flatten.hpp>
#include <nki/machine/lower.hpp>
#include <nki/machine/params.hpp>
#include <nki/sim/simulate.hpp>
#include <nki/testing/random_program.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace sim_test {
namespace {

/// A program, its flat expansion, and the streams of both written out take the same time in every account.
void expect_one_result(const nki::ir::Program& p, const nki::Arch& a, double phase_ns) {
  const machine::Params& c = machine::params_for(a);
  const sim::Options o{.clock_phase_ns = phase_ns};
  const sim::Result rolled = sim::simulate(p, a, o);
  EXPECT_EQ(sim::simulate(machine::lower(p, a, c), a, c, o), rolled);
  const nki::ir::Program flat = nki::ir::flatten(p);
  EXPECT_EQ(sim::simulate(flat, a, o), rolled);
  EXPECT_EQ(sim::simulate(machine::lower(flat, a, c), a, c, o), rolled);
}

TEST(Lowering, RolledAndFlatRandomProgramsTakeTheSameTime) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_one_result(nki::testing::random_program(seed), nki::arch::trn2, static_cast<double>(seed * 977 % 3413));
    if (HasFailure()) return;
  }
}

TEST(Lowering, AlsoForCoresWithSoftwareDescriptorsOnly) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_one_result(nki::testing::random_program(seed, {.target = &nki::arch::trn1}), nki::arch::trn1, 0);
    if (HasFailure()) return;
  }
}

TEST(Lowering, RolledAndFlatMatmulsTakeTheSameTime) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const MatmulCase m = random_matmul(seed, 4);
    SCOPED_TRACE(m.text);
    expect_one_result(m.program, nki::arch::trn2, m.clock_phase_ns);
    if (HasFailure()) return;
  }
}

TEST(Lowering, WritesOutWhatTheSimulatorReads) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const nki::ir::Program p = nki::testing::random_program(seed, {.most_instructions = 1000});
    const machine::Program m = machine::lower(p, nki::arch::trn2, machine::trn2_params);
    for (const auto& stream : m.streams)
      for (const machine::Instr& i : stream) {
        ASSERT_LT(i.work, m.works.size());
        if (i.wait_semaphore != machine::no_id) {
          ASSERT_LT(i.wait_semaphore, m.semaphores);
        }
        if (i.signal != machine::no_id) {
          ASSERT_LT(i.signal, m.semaphores);
        }
        ASSERT_LT(i.site, p.instrs.size());
      }
  }
}

}  // namespace
}  // namespace sim_test
