#pragma once

#include "support.hpp"

#include <nki/kernels/matmul.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace exec_test {

using nki::kernels::Matmul;
using Layout = Matmul::Layout;
using Keep = Matmul::Keep;

struct Case {
  std::int64_t m, n, k;
  Layout layout = Layout::lhsT;
  DType lhs = DType::bf16, rhs = DType::bf16, out = DType::bf16;
  Matmul::Params params{};

  Matmul::Problem problem() const { return {m, n, k, layout, lhs, rhs, out}; }
  std::string spell() const {
    return std::to_string(m) + " " + std::to_string(n) + " " + std::to_string(k) + " " +
           (layout == Layout::lhs ? "lhs " : "lhsT ") + nki::name(lhs) + " " + nki::name(rhs) + " " + nki::name(out) +
           " tiles " + std::to_string(params.tiles_m) + " " + std::to_string(params.tiles_n) + " " +
           std::to_string(params.tiles_k) + " keep " + std::to_string(static_cast<int>(params.keep));
  }
};

inline const std::vector<Case>& cases() {
  using enum DType;
  static const std::vector<Case> list{
      {1, 1, 1},
      {2, 1, 127, Layout::lhs, f32, f32, f32},
      {1, 513, 128, Layout::lhsT, f32, f32, f32},
      {63, 2, 129, Layout::lhsT, bf16, f16, f32},
      {127, 197, 300, Layout::lhs, bf16, bf16, f32},
      {128, 512, 128},
      {128, 512, 512, Layout::lhs},
      {129, 513, 129, Layout::lhsT, bf16, bf16, bf16, {.tiles_m = 2, .tiles_n = 2, .tiles_k = 2}},
      {197, 300, 513, Layout::lhsT, f16, f16, f16, {.tiles_m = 1, .tiles_n = 1, .tiles_k = 1, .bufs = 3}},
      {197, 63, 1100, Layout::lhs, f16, bf16, f32, {.tiles_m = 2, .tiles_k = 8, .psum_bufs = 1}},
      {300, 129, 127, Layout::lhs, f32, f32, f32, {.tiles_m = 4, .tiles_k = 1, .psum_bufs = 1}},
      {513, 513, 63, Layout::lhsT, bf16, bf16, f32, {.tiles_m = 4, .tiles_n = 2, .tiles_k = 2, .psum_bufs = 1}},
      {300, 1100, 197, Layout::lhsT, bf16, bf16, f16, {.tiles_m = 1, .tiles_n = 4, .tiles_k = 2, .keep = Keep::lhs}},
      {513,
       300,
       300,
       Layout::lhs,
       bf16,
       bf16,
       bf16,
       {.tiles_m = 2, .tiles_n = 1, .tiles_k = 4, .psum_bufs = 1, .keep = Keep::lhs, .panel_bufs = 2}},
      {300,
       513,
       513,
       Layout::lhsT,
       bf16,
       bf16,
       bf16,
       {.tiles_m = 2, .tiles_n = 2, .tiles_k = 2, .psum_bufs = 2, .keep = Keep::rhs, .panel_bufs = 2}},
      {1100, 63, 129, Layout::lhs, f32, f32, f32, {.tiles_m = 4, .tiles_k = 2, .psum_bufs = 1, .keep = Keep::rhs}},
      {129, 1100, 300, Layout::lhsT, f32, f32, f32, {.tiles_m = 2, .tiles_n = 4, .tiles_k = 1, .psum_bufs = 1}},
      {256, 1024, 512, Layout::lhs, bf16, bf16, bf16, {.tiles_m = 2, .tiles_n = 2, .tiles_k = 2, .psum_bufs = 1}},
  };
  return list;
}

// Compiled once, in matmul_test.cpp.
ir::Program record(const Case& c);

inline std::vector<HostTensor> normal_inputs(const ir::Program& p, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<HostTensor> list = make_arguments(p, ir::BufferKind::input);
  for (HostTensor& t : list) nki::exec::fill(t, [&](std::int64_t) { return normal(random); });
  return list;
}

}  // namespace exec_test
