// expect: NKI-E301: .*no value to branch on

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto tile = sbuf<bf16>(nc, shape(128_c, 64_c));
  for (Index i : nl::affine_range(nc, 4, "i")) {
#ifdef NKI_ILLEGAL
    if (i == 0) nisa::memset(tile(all, i), 0);
#else
    for (int part : {0, 1}) {
      if (part == 0) nisa::memset(tile(all, i * 2 + part), 0);
    }
#endif
  }
}
