#pragma once

#include <nki/nki.hpp>

/// A program with every instruction, every operation of expressions, both usual kinds of loop, a ragged edge, an empty
/// instruction, a dropped dimension and a repeated axis, at lines that the test chooses.
inline nki::ir::Program small_program() {
  using namespace nki;
  const auto at = [](std::uint32_t line) { return Loc("small.cpp", line, 3); };
  Builder nc;
  nc.set_kernel("small");
  nc.set_problem("rows=300");
  nc.set_params("bufs=2");
  const auto x = argument(nc, ir::BufferKind::input, "x", DType::f32, {300, 64}, at(1));
  const auto w = argument(nc, ir::BufferKind::input, "w", DType::f32, {256, 64}, at(2));
  const auto y = argument(nc, ir::BufferKind::output, "y", DType::f32, {300, 64}, at(3));

  const auto weights = sbuf<f32>(nc, shape(Const<128>{}, 2, 64), {.name = "weights"}, at(4));
  nisa::dma_copy(weights(all, ds(0, 2), ds(0, 64)),
                 w(ds(0, 256), ds(0, 64)).reshape_dim<0>(2, Const<128>{}).permute<1, 0, 2>(), nisa::Engine::gpsimd,
                 at(5));
  for (Index m : nl::affine_range(nc, 0, 3, "m", at(6))) {
    const auto scope = nc.scope("rows");
    const Index size = min(Index(128), Index(300) - m * 128);
    const auto rows = sbuf<f32>(nc, shape(Const<128>{}, 64), {.name = "rows", .bufs = 2}, at(7));
    const auto turned = psum<f32>(nc, shape(Const<64>{}, 128), {.name = "turned", .bufs = 2}, at(8));
    const auto columns = sbuf<f32>(nc, shape(Const<64>{}, 128), {.name = "columns"}, at(9));
    const auto sum = psum<f32>(nc, shape(Const<128>{}, 64), {.name = "sum"}, at(10));
    nisa::memset(columns(ds(0, 64), ds(mod(m, 2) * 64, 64)), 0.5, nisa::Engine::unknown, at(11));
    nisa::dma_copy(rows(ds(0, size), ds(0, 64)), x(ds(m * 128, size), ds(0, 64)), nisa::Engine::sync, at(12));
    nisa::nc_transpose(turned(ds(0, 64), ds(0, size)), rows(ds(0, size), ds(0, 64)), nisa::Engine::unknown, at(13));
    nisa::tensor_copy(columns(ds(0, 64), ds(0, size)), turned(ds(0, 64), ds(0, size)), nisa::Engine::scalar, at(14));
    // Past the edge of the last block, where it does not exist.
    nisa::memset(rows(ds(0, size - 44), ds(0, 64)), -1, nisa::Engine::gpsimd, at(15));
    for (Index j : nl::sequential_range(nc, max(m - 1, Index(0)), 3, "j", at(16)))
      nisa::nc_matmul(sum(ds(0, size), ds(0, 64)), columns(ds(0, 64), ds(0, size)),
                      weights(ds(0, 64), floordiv(j, 2), ds(0, 64)), nisa::Accumulate::auto_, at(17));
    nisa::tensor_copy(rows(ds(0, size), ds(0, 64)), sum(ds(0, size), ds(0, 64)), nisa::Engine::unknown, at(18));
    nisa::dma_copy(y(ds(m * 128, size), ds(0, 64)), rows(ds(0, size), ds(0, 64)), nisa::Engine::scalar, at(19));
  }
  return nc.finish(at(20));
}
