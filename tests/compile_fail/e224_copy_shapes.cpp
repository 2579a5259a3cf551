// expect: NKI-E224: .*same elements per partition
// expect-gnu: 64 == 128

#include <nki/nki.hpp>

using namespace nki;
using namespace nki::literals;

void kernel(Builder& nc) {
  const auto from = sbuf<bf16>(nc, shape(128_c, 128_c));
  const auto to = sbuf<f32>(nc, shape(128_c, 64_c));
#ifdef NKI_ILLEGAL
  nisa::tensor_copy(to, from);
#else
  nisa::tensor_copy(to, from(all, ds(64, 64_c)));
#endif
}
