#include <nki/kernels/all.hpp>

namespace nki::inline v0_1::kernels {

void register_matmul(kernel::Registry& registry);

void register_all(kernel::Registry& registry) {
  register_matmul(registry);
}

}  // namespace nki::inline v0_1::kernels
