// expect: NKI-E232: .*1 or more
// expect-gnu: 0 >= 1

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
#ifdef NKI_ILLEGAL
  const auto tile = sbuf<bf16>(nc, shape(0_c, 64_c));
#else
  const auto tile = sbuf<bf16>(nc, shape(1_c, 64_c));
#endif
  nisa::memset(tile, 0);
}
