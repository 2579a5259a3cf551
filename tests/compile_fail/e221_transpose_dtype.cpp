// expect: NKI-E221: .*keeps its dtype

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto rows = sbuf<bf16>(nc, shape(128_c, 64_c));
#ifdef NKI_ILLEGAL
  const auto turned = psum<f32>(nc, shape(64_c, 128_c));
  nisa::nc_transpose(turned, rows);
#else
  const auto turned = psum<bf16>(nc, shape(64_c, 128_c));
  nisa::nc_transpose(turned, rows);
#endif
}
