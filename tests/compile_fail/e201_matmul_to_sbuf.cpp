// expect: NKI-E201: .*must be in PSUM

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto stationary = sbuf<bf16>(nc, shape(128_c, 128_c));
  const auto moving = sbuf<bf16>(nc, shape(128_c, 512_c));
  const auto acc = psum<f32>(nc, shape(128_c, 512_c));
#ifdef NKI_ILLEGAL
  const auto sums = sbuf<f32>(nc, shape(128_c, 512_c));
  nisa::nc_matmul(sums, stationary, moving);
#else
  nisa::nc_matmul(acc, stationary, moving);
#endif
}
