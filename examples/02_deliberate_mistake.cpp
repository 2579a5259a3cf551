// A mistake and what it says: a copy by GpSimd, which cannot reach PSUM. The numbers of this one are known only while
// recording; where they are known to the compiler, the same sentence is a compile error.

#include <nki/nki.hpp>

#include <iostream>

int main() {
  nki::Builder nc(&nki::arch::trn2);
  const auto a = nki::argument(nc, nki::ir::BufferKind::input, "a", nki::DType::bf16, {128, 512});
  const auto at = nki::sbuf<nki::bf16>(nc, nki::shape(128, 512), {.name = "at"});
  const auto acc = nki::psum<nki::f32>(nc, nki::shape(128, 512), {.name = "acc"});
  const auto y = nki::sbuf<nki::f32>(nc, nki::shape(128, 512), {.name = "y"});
  nki::nisa::dma_copy(at, a);
  nki::nisa::nc_matmul(acc, at(nki::all, nki::ds(0, 128)), at);
  try {
    nki::nisa::tensor_copy(y, acc, nki::nisa::Engine::gpsimd);
  } catch (const nki::Error& e) {
    std::cout << e.what() << '\n';
    return 0;
  }
  std::cerr << "the mistake went unnoticed\n";
  return 1;
}
