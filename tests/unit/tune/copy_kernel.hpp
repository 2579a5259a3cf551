#pragma once

#include <nki/arch.hpp>
#include <nki/kernel/spec.hpp>
#include <nki/kernels/matmul.hpp>
#include <nki/nki.hpp>
#include <nki/tune/objective.hpp>
#include <nki/tune/space.hpp>
#include <nki/tune/strategy.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

/// A small kernel with configurations that break a constraint, break a rule of the machine, or throw.
namespace nki::tune_test {

struct Copy {
  static constexpr const char* name = "copy";
  static constexpr const char* formula = "out[p,n] = in[p,n]";

  enum class Trouble : std::int64_t { none, rule, exception };
  struct Problem {
    std::int64_t n = 0;
    DType dtype = DType::f32;
  };
  struct Params {
    std::int64_t width = 1, bufs = 1;
    Trouble trouble = Trouble::none;
    ir::Engine queue = ir::Engine::sync;
  };

  static void describe(kernel::Of<Copy>& d) {
    d.size<&Problem::n>("n", "columns");
    d.dtype<&Problem::dtype>("in", {DType::f32, DType::bf16});
    d.tunable<&Params::width>("width", "columns (128) of a tile", {1, 2, 4})
        .tunable<&Params::bufs>("bufs", "slots", {1, 2, 3})
        .tunable<&Params::trouble>("trouble", "what goes wrong", {0, 1, 2}, {"none", "rule", "exception"})
        .tunable<&Params::queue>(
            "queue", "queue",
            {static_cast<std::int64_t>(ir::Engine::sync), static_cast<std::int64_t>(ir::Engine::gpsimd)},
            {"sync", "gpsimd"});
    d.require("wide tiles have two slots or more",
              [](const Problem&, const Params& p, const Arch&) { return p.width < 4 || p.bufs > 1; });
    d.require("no tile is wider than the tensor",
              [](const Problem& s, const Params& p, const Arch&) { return (p.width - 1) * 128 < s.n; });
  }
  static Params default_params(const Problem&, const Arch&) { return {}; }
  static std::vector<kernel::Argument> arguments(const Problem& s) {
    return {{"in", ir::BufferKind::input, s.dtype, {128, s.n}}, {"out", ir::BufferKind::output, s.dtype, {128, s.n}}};
  }
  static double flops(const Problem&) { return 0; }
  static kernel::Work least_work(const Problem& s) {
    const double bytes = 128.0 * static_cast<double>(s.n) * nki::bytes(s.dtype);
    return {0, bytes, bytes};
  }
  static kernel::Work work(const Problem& s, const Params&) { return least_work(s); }

  static void build(Builder& nc, const Problem& s, const Params& p) {
    if (p.trouble == Trouble::exception) throw std::runtime_error("this configuration throws");
    const auto in = argument(nc, ir::BufferKind::input, "in", s.dtype, {128, s.n});
    const auto out = argument(nc, ir::BufferKind::output, "out", s.dtype, {128, s.n});
    const std::int64_t slots = p.trouble == Trouble::rule ? 4000 : p.bufs;  // more than SBUF holds
    for (nl::Block b : nl::tiles(nc, s.n, p.width * 128)) {
      const auto t = sbuf(nc, s.dtype, shape(Const<128>{}, p.width * 128), {.name = "t", .bufs = slots});
      nisa::dma_copy(t(all, ds(0, b.size)), in(all, ds(b.start, b.size)), p.queue);
      nisa::dma_copy(out(all, ds(b.start, b.size)), t(all, ds(0, b.size)), ir::Engine::scalar);
    }
  }
};

inline kernel::Problem copy_problem(std::int64_t n) {
  return {{n}, {}, {DType::f32}};
}

inline kernel::Problem matmul_problem(std::int64_t m, std::int64_t n, std::int64_t k, kernels::Matmul::Layout layout,
                                      DType dtype = DType::bf16) {
  return {{m, n, k}, {static_cast<std::int64_t>(layout)}, {dtype, dtype, dtype}};
}

/// Pins from names, so that spaces in tests stay small.
inline tune::Pins pins(const kernel::Kernel& k, const std::vector<std::pair<const char*, std::int64_t>>& values) {
  tune::Pins out(k.tunables().size());
  for (const auto& [name, value] : values)
    for (std::size_t t = 0; t < out.size(); ++t)
      if (std::string_view(k.tunables()[t].name) == name) out[t] = value;
  return out;
}

/// The best configuration by trying each to the end.
struct BruteForce {
  tune::Index best = tune::no_index;
  double best_us = tune::no_time;
  std::int64_t evaluated = 0, rejected = 0, failed = 0;

  BruteForce(const tune::Space& space, const tune::Objective& objective) {
    for (tune::Index i = 0; i < space.size(); ++i) {
      const tune::Outcome o = objective.evaluate(i, tune::no_time);
      evaluated += o.status == tune::Status::evaluated ? 1 : 0;
      rejected += o.status == tune::Status::rejected ? 1 : 0;
      failed += o.status == tune::Status::failed ? 1 : 0;
      if (o.us < best_us) {
        best_us = o.us;
        best = i;
      }
    }
  }
};

}  // namespace nki::tune_test
