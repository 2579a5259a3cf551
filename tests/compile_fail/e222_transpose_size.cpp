// expect: NKI-E222: .*128 x 128
// expect-gnu: 256 <= 128

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto rows = sbuf<bf16>(nc, shape(128_c, 256_c));
  const auto turned = psum<bf16>(nc, shape(128_c, 128_c));
#ifdef NKI_ILLEGAL
  nisa::nc_transpose(turned, rows);
#else
  nisa::nc_transpose(turned, rows(all, ds(0, 128_c)));
#endif
}
