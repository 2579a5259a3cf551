// Host speed of the executor, next to one Eigen f32 product of the same size in the same process.
//
// Every iteration runs the program once and the product once; `ratio` is the median over the iterations of Eigen's
// time by the executor's, so 1.0 means that running the program costs what the bare product costs. Give
// --benchmark_min_time=10 for some seven iterations or more.

#include <nki/arch.hpp>
#include <nki/exec/arguments.hpp>
#include <nki/exec/run.hpp>
#include <nki/exec/tensor.hpp>
#include <nki/kernels/matmul.hpp>
#include <nki/nki.hpp>

#include <Eigen/Core>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using nki::DType;
using nki::kernels::Matmul;

struct Setup {
  nki::ir::Program program;
  std::vector<nki::exec::HostTensor> inputs, outputs;
  double flops;

  Setup(const Matmul::Problem& problem, const Matmul::Params& params)
      : program(nki::record<Matmul>(nki::arch::trn2, problem, params)), flops(Matmul::flops(problem)) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
    inputs = nki::exec::make_arguments(program, nki::ir::BufferKind::input);
    outputs = nki::exec::make_arguments(program, nki::ir::BufferKind::output);
    for (nki::exec::HostTensor& t : inputs) nki::exec::fill(t, [&](std::int64_t) { return uniform(random); });
  }
  void run() {
    const nki::exec::Report report = nki::exec::run(program, inputs, outputs);
    benchmark::DoNotOptimize(report.instructions);
  }
};

double seconds(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void exec_against_eigen(benchmark::State& state, const Matmul::Problem& problem, const Matmul::Params& params) {
  Setup setup(problem, params);
  const Eigen::MatrixXf a = Eigen::MatrixXf::Random(problem.m, problem.k);
  const Eigen::MatrixXf b = Eigen::MatrixXf::Random(problem.k, problem.n);
  Eigen::MatrixXf c = Eigen::MatrixXf::Zero(problem.m, problem.n);
  std::vector<double> exec_seconds, eigen_seconds, ratios;
  for (auto _ : state) {
    exec_seconds.push_back(seconds([&] { setup.run(); }));
    eigen_seconds.push_back(seconds([&] { c.noalias() = a * b; }));
    benchmark::DoNotOptimize(c.data());
    ratios.push_back(eigen_seconds.back() / exec_seconds.back());
    state.SetIterationTime(exec_seconds.back());
  }
  state.counters["exec_gflops"] = setup.flops / median(exec_seconds) * 1e-9;
  state.counters["eigen_gflops"] = setup.flops / median(eigen_seconds) * 1e-9;
  state.counters["ratio"] = median(ratios);
}

void exec_alone(benchmark::State& state, const Matmul::Problem& problem, const Matmul::Params& params) {
  Setup setup(problem, params);
  for (auto _ : state) setup.run();
  state.counters["exec_gflops"] =
      benchmark::Counter(setup.flops * 1e-9 * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

constexpr Matmul::Problem cube(DType dtype, Matmul::Layout layout = Matmul::Layout::lhsT) {
  return {2048, 2048, 2048, layout, dtype, dtype, dtype};
}
constexpr Matmul::Params wide{.tiles_m = 4, .tiles_n = 2, .tiles_k = 4, .psum_bufs = 1};

BENCHMARK_CAPTURE(exec_against_eigen, matmul_2048_bf16_wide_blocks, cube(DType::bf16), wide)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exec_against_eigen, matmul_2048_bf16_default, cube(DType::bf16), Matmul::Params{})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exec_against_eigen, matmul_2048_f16_default, cube(DType::f16), Matmul::Params{})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exec_against_eigen, matmul_2048_f32_default, cube(DType::f32), Matmul::Params{})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exec_against_eigen, matmul_2048_bf16_lhs_transposed_on_chip, cube(DType::bf16, Matmul::Layout::lhs),
                  Matmul::Params{.psum_bufs = 1})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(exec_alone, matmul_2048x6144x4096_bf16_lhs_transposed_on_chip,
                  Matmul::Problem{2048, 6144, 4096, Matmul::Layout::lhs}, Matmul::Params{.psum_bufs = 1})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
