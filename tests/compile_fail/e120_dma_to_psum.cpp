// expect: NKI-E120: .*never PSUM

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto x = argument(nc, ir::BufferKind::input, "x", DType::bf16, {128, 64});
#ifdef NKI_ILLEGAL
  const auto tile = psum<bf16>(nc, shape(128_c, 64_c));
  nisa::dma_copy(tile, x);
#else
  const auto tile = sbuf<bf16>(nc, shape(128_c, 64_c));
  nisa::dma_copy(tile, x);
#endif
}
