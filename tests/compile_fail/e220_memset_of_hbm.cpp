// expect: NKI-E220: .*cannot run

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto x = argument(nc, ir::BufferKind::output, "x", DType::bf16, {128, 64});
  const auto tile = sbuf<bf16>(nc, shape(128_c, 64_c));
#ifdef NKI_ILLEGAL
  nisa::memset(x, 0);
#else
  nisa::memset(tile, 0);
#endif
  nisa::dma_copy(x, tile);
}
