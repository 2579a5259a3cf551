// expect: NKI-E206: .*moving free extent
// expect-gnu: 16384 <= 8192

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto stationary = sbuf<bf16>(nc, shape(128_c, 128_c));
  const auto moving = sbuf<bf16>(nc, shape(128_c, 512_c));
  const auto acc = psum<f32>(nc, shape(128_c, 512_c));
#ifdef NKI_ILLEGAL
  // 8192 is the limit of the most able core; the 512 of the others are applied while recording.
  const auto wide = sbuf<bf16>(nc, shape(128_c, 16384_c));
  nisa::nc_matmul(acc, stationary, wide);
#else
  nisa::nc_matmul(acc, stationary, moving);
#endif
}
