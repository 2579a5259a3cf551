// expect: NKI-E101: .*1\.\.128
// expect-gnu: 256 <= 128

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
#ifdef NKI_ILLEGAL
  const auto tile = sbuf<bf16>(nc, shape(256_c, 64_c));
#else
  const auto tile = sbuf<bf16>(nc, shape(128_c, 64_c));
#endif
  nisa::memset(tile, 0);
}
