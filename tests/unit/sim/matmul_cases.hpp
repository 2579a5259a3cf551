#pragma once

#include <nki/arch.hpp>
#include <nki/dtype.hpp>
#include <nki/ir/program.hpp>
#include <nki/kernel/spec.hpp>
#include <nki/kernels/matmul.hpp>
#include <nki/testing/random_program.hpp>

#include <cstdint>
#include <string>

namespace sim_test {

struct MatmulCase {
  nki::ir::Program program;
  double clock_phase_ns = 0;
  std::string text;
};

/// A random product of up to `largest` blocks each way, some of them ragged, with a random legal configuration.
inline MatmulCase random_matmul(std::uint64_t seed, std::int64_t largest) {
  static const nki::kernel::Of<nki::kernels::Matmul> matmul;
  nki::testing::Random random(seed * 31 + 7);
  nki::kernel::Problem p = matmul.default_problem();
  p.sizes.clear();
  for (const std::int64_t grain : {128, 512, 128}) {  // m, n, k
    std::int64_t size = random.between(1, largest) * grain;
    if (random.one_in(4)) size -= random.below(grain);
    p.sizes.push_back(size);
  }
  p.attrs = {random.below(2)};
  if (random.one_in(5)) p.dtypes.assign(3, nki::DType::f32);
  nki::kernel::Config c;
  do {
    c.clear();
    for (const nki::kernel::TunableSpec& t : matmul.tunables()) c.push_back(random.any(t.values));
  } while (matmul.broken_constraint(p, c, nki::arch::trn2) >= 0);
  MatmulCase out;
  out.clock_phase_ns = static_cast<double>(random.below(3413));
  out.program = matmul.record(p, c, nki::arch::trn2);
  out.text = "seed " + std::to_string(seed) + ": " + matmul.spell_sizes(p) + " " + matmul.spell_attrs(p) + " " +
             name(p.dtypes[0]) + " " + matmul.spell_config(c);
  return out;
}

}  // namespace sim_test
