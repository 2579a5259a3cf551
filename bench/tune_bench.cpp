#include <nki/kernels/matmul.hpp>
#include <nki/tune/objective.hpp>
#include <nki/tune/search.hpp>
#include <nki/tune/space.hpp>
#include <nki/tune/strategy/exhaustive.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>

/// Host speed of the tuner. Items are candidates.
namespace {

using namespace nki;  // NOLINT(google-build-using-namespace): a program, not a header

kernel::Problem square(std::int64_t n) {
  return {{n, n, n}, {0}, {DType::bf16, DType::bf16, DType::bf16}};
}
/// Case S01: m=2048, n=6144, k=4096, lhs in rows.
kernel::Problem s01() {
  return {{2048, 6144, 4096}, {1}, {DType::bf16, DType::bf16, DType::bf16}};
}

/// Asking every constraint for every combination of values. Items are combinations.
void enumerate(benchmark::State& state) {
  const kernel::Of<kernels::Matmul> k;
  std::int64_t n = 0;
  for (auto _ : state) {
    const tune::Space space(k, s01(), arch::trn2);
    benchmark::DoNotOptimize(space.size());
    n += space.cartesian();
  }
  state.SetItemsProcessed(n);
}
BENCHMARK(enumerate)->Unit(benchmark::kMillisecond);

/// Candidates all over the space, each recorded, checked and timed to its end.
void candidates(benchmark::State& state, const kernel::Problem& problem) {
  const kernel::Of<kernels::Matmul> k;
  const tune::Space space(k, problem, arch::trn2);
  const tune::SimulatedTime objective(space);
  constexpr tune::Index step = 7919;  // a prime: the sequence visits every configuration
  tune::Index i = 0;
  for (auto _ : state) {
    const tune::Outcome o = objective.evaluate(i, tune::no_time);
    if (o.status != tune::Status::evaluated) state.SkipWithError(o.message.c_str());
    i = (i + step) % space.size();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(candidates, 1024, square(1024))->Unit(benchmark::kMicrosecond)->MinTime(2);
BENCHMARK_CAPTURE(candidates, 4096, square(4096))->Unit(benchmark::kMicrosecond)->MinTime(4);
BENCHMARK_CAPTURE(candidates, S01, s01())->Unit(benchmark::kMicrosecond)->MinTime(4);

/// A whole search with its proof. Items are the legal configurations that it settles.
void search(benchmark::State& state, const kernel::Problem& problem) {
  const kernel::Of<kernels::Matmul> k;
  const tune::Space space(k, problem, arch::trn2);
  const tune::SimulatedTime objective(space);
  for (auto _ : state) {
    tune::Exhaustive strategy(space, objective.bounds_us(), 0);
    tune::SearchOptions options;
    options.bound_us = objective.bound().us;
    const tune::Found f = tune::search(space, strategy, objective, options);
    if (f.certificate != tune::Certificate::optimum) state.SkipWithError("no proof");
    state.counters["tried"] = static_cast<double>(f.counts.tried());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(space.size()));
}
BENCHMARK_CAPTURE(search, 1024, square(1024))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search, S01, s01())->Unit(benchmark::kMillisecond);

}  // namespace
