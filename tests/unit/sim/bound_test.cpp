#include <nki/arch.hpp>
#include <nki/kernel/spec.hpp>
#include <nki/kernels/matmul.hpp>
#include <nki/machine/params.hpp>
#include <nki/sim/bound.hpp>
#include <nki/sim/simulate.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace {

using namespace nki;

sim::Bound bound(const kernel::Work& w, const Arch& a) {
  return sim::bound(w, a, machine::params_for(a));
}

TEST(Bound, NoSimulatedBodyIsShorter) {
  const kernel::Of<kernels::Matmul> k;
  std::mt19937_64 random(20240611);
  const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  int timed = 0;
  for (int i = 0; i < 400; ++i) {
    const Arch& a = *arch::all[random() % 3];
    kernel::Problem p = k.default_problem();
    for (std::int64_t& size : p.sizes) size = 1 + static_cast<std::int64_t>(random() % (random() % 2 == 0 ? 130 : 900));
    p.attrs[0] = static_cast<std::int64_t>(random() % 2);
    p.dtypes.assign(3, pick(k.dtypes()[0].allowed));
    kernel::Config c;
    for (const kernel::TunableSpec& t : k.tunables()) c.push_back(pick(t.values));
    if (k.broken_constraint(p, c, a) >= 0) c = k.default_config(p, a);
    const sim::Bound b = bound(k.least_work(p), a);
    const sim::Bound of_configuration = bound(k.work(p, c, a), a);
    const double body = sim::simulate(k.record(p, c, a), a).body_us();
    EXPECT_LE(b.us, body) << a.name << " " << k.spell_sizes(p) << " " << k.spell_config(c);
    EXPECT_LE(of_configuration.us, body) << a.name << " " << k.spell_sizes(p) << " " << k.spell_config(c);
    EXPECT_LE(b.us, of_configuration.us);
    ++timed;
  }
  EXPECT_EQ(timed, 400);
}

TEST(Bound, NamesWhatLimits) {
  EXPECT_EQ(bound({.tensor_cycles = 1e6, .read_bytes = 1, .write_bytes = 1}, arch::trn2).limit, sim::Limit::tensor);
  EXPECT_EQ(bound({.tensor_cycles = 1, .read_bytes = 1e9, .write_bytes = 1}, arch::trn2).limit, sim::Limit::dma);
  EXPECT_EQ(bound({.tensor_cycles = 64, .read_bytes = 64, .write_bytes = 64}, arch::trn2).limit, sim::Limit::latency);
  EXPECT_STREQ(name(sim::Limit::dma), "dma");
}

TEST(Bound, ConsistsOfTheLongerPathAndWhatSurroundsIt) {
  const sim::Bound b = bound({.tensor_cycles = 2.4e6, .read_bytes = 0, .write_bytes = 0}, arch::trn2);
  EXPECT_NEAR(b.tensor_us, 1000.0, 1e-9);  // 2.4 cycles per ns
  EXPECT_NEAR(b.us, b.tensor_us + b.fixed_us, 1e-9);
  // Load 1345 + 4.7 + 420, into the array 42 - 19, drain 162 + 15, evacuation 22 + 158 + 10, store 17 + 1240 + 480 + 4.7,
  // end 40.
  EXPECT_NEAR(b.fixed_us, 3.9414, 0.0001);
  const sim::Bound d = bound({.tensor_cycles = 0, .read_bytes = 4.352e8, .write_bytes = 0}, arch::trn2);
  EXPECT_NEAR(d.dma_us, 1000.0, 1e-9);  // 16 engines, 27.2 bytes per ns each
  EXPECT_NEAR(d.fixed_us, 1.345 + 0.36 + 0.04, 1e-9);
}

TEST(Bound, SoftwareDescriptorsStartLater) {
  const kernel::Work w{.tensor_cycles = 64, .read_bytes = 64, .write_bytes = 64};
  EXPECT_GT(bound(w, arch::trn1).fixed_us, bound(w, arch::trn2).fixed_us);
}

TEST(Bound, GrowsWithTheWork) {
  const kernel::Work w{.tensor_cycles = 1e5, .read_bytes = 1e6, .write_bytes = 1e6};
  for (const Arch* a : arch::all) {
    const double us = bound(w, *a).us;
    EXPECT_GE(bound({2e5, 1e6, 1e6}, *a).us, us);
    EXPECT_GE(bound({1e5, 9e7, 1e6}, *a).us, us);
    EXPECT_GE(bound({1e5, 1e6, 9e7}, *a).us, us);
  }
}

}  // namespace
