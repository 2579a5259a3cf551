// expect: NKI-E230: .*an index or slice is given for each
// expect-gnu: 1 == 2

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto tile = sbuf<bf16>(nc, shape(128_c, 64_c));
#ifdef NKI_ILLEGAL
  nisa::memset(tile(ds(0, 32)), 0);
#else
  nisa::memset(tile(all, ds(0, 32)), 0);
#endif
}
