// expect: NKI-E103: .*2 KiB
// expect-gnu: 4096 <= 2048

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
#ifdef NKI_ILLEGAL
  const auto tile = psum<f32>(nc, shape(128_c, 1024_c));
#else
  const auto tile = psum<f32>(nc, shape(128_c, 512_c));
#endif
  nisa::memset(tile, 0);
}
