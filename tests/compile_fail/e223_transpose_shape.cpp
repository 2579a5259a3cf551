// expect: NKI-E223: .*data free, data partitions
// expect-gnu: 128 == 64

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto rows = sbuf<bf16>(nc, shape(128_c, 64_c));
#ifdef NKI_ILLEGAL
  const auto turned = psum<bf16>(nc, shape(128_c, 128_c));
#else
  const auto turned = psum<bf16>(nc, shape(64_c, 128_c));
#endif
  nisa::nc_transpose(turned, rows);  // illegal line
}
