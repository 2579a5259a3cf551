// expect: NKI-E231: .*inside the tensor
// expect-gnu: 65 <= 64

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto tile = sbuf<bf16>(nc, shape(128_c, 64_c));
#ifdef NKI_ILLEGAL
  nisa::memset(tile(all, ds(0, 65_c)), 0);
#else
  nisa::memset(tile(all, ds(0, 64_c)), 0);
#endif
}
