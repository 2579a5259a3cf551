// expect: NKI-E207: .*stationary free, moving free
// expect-gnu: 256 == 512

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto stationary = sbuf<bf16>(nc, shape(128_c, 128_c));
  const auto moving = sbuf<bf16>(nc, shape(128_c, 512_c));
  const auto acc = psum<f32>(nc, shape(128_c, 512_c));
#ifdef NKI_ILLEGAL
  nisa::nc_matmul(acc(all, ds(0, 256_c)), stationary, moving);
#else
  nisa::nc_matmul(acc, stationary, moving);
#endif
}
