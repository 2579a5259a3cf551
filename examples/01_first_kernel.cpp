// A kernel of one's own: out = a^T b for one block, written once, then checked, run, timed and emitted.

#include <nki/check/verify.hpp>
#include <nki/emit/nki_python.hpp>
#include <nki/exec/run.hpp>
#include <nki/nki.hpp>
#include <nki/sim/simulate.hpp>

#include <iostream>

using namespace nki::literals;

int main() {
  const std::int64_t k_size = 300, m_size = 64, n_size = 200;  // k is ragged: two tiles of 128 and one of 44

  nki::Builder nc(&nki::arch::trn2);
  nc.set_kernel("block_product");
  const auto a = nki::argument(nc, nki::ir::BufferKind::input, "a", nki::DType::bf16, {k_size, m_size});
  const auto b = nki::argument(nc, nki::ir::BufferKind::input, "b", nki::DType::bf16, {k_size, n_size});
  const auto out = nki::argument(nc, nki::ir::BufferKind::output, "out", nki::DType::f32, {m_size, n_size});

  const auto acc = nki::psum<nki::f32>(nc, nki::shape(m_size, n_size), {.name = "acc"});  // [m, n]
  for (nki::nl::Block k : nki::nl::tiles(nc, k_size, 128, "k")) {
    const auto at = nki::sbuf<nki::bf16>(nc, nki::shape(128_c, m_size), {.name = "at", .bufs = 2});  // [k, m]
    const auto bt = nki::sbuf<nki::bf16>(nc, nki::shape(128_c, n_size), {.name = "bt", .bufs = 2});  // [k, n]
    const auto rows = nki::ds(0, k.size);
    nki::nisa::dma_copy(at(rows, nki::all), a(nki::ds(k.start, k.size), nki::all));
    nki::nisa::dma_copy(bt(rows, nki::all), b(nki::ds(k.start, k.size), nki::all));
    nki::nisa::nc_matmul(acc, at(rows, nki::all), bt(rows, nki::all));
  }
  const auto y = nki::sbuf<nki::f32>(nc, nki::shape(m_size, n_size), {.name = "y"});
  nki::nisa::tensor_copy(y, acc);
  nki::nisa::dma_copy(out, y);
  const nki::ir::Program program = nc.finish();

  nki::check::verify(program, nki::arch::trn2).throw_if_failed();

  std::vector inputs{nki::exec::make_tensor("a", nki::DType::bf16, {k_size, m_size}),
                     nki::exec::make_tensor("b", nki::DType::bf16, {k_size, n_size})};
  std::vector outputs{nki::exec::make_tensor("out", nki::DType::f32, {m_size, n_size})};
  nki::exec::fill(inputs[0], [](std::int64_t i) { return i % 3 - 1; });
  nki::exec::fill(inputs[1], [](std::int64_t i) { return i % 5 - 2; });
  const nki::exec::Report report = nki::exec::run(program, inputs, outputs);

  std::cout << "out[0, 0] = " << nki::exec::to_floats(outputs[0])[0] << ", undefined reads: " << report.undefined_reads
            << "\npredicted on trn2 (uncalibrated): " << nki::sim::simulate(program, nki::arch::trn2).body_us()
            << " us\n\n"
            << nki::emit::nki_python(program);
  return report.undefined_reads == 0 ? 0 : 1;
}
