#include <nki/kernel/registry.hpp>
#include <nki/kernels/matmul.hpp>

namespace nki::inline v0_1::kernels {

void register_matmul(kernel::Registry& registry);

void register_matmul(kernel::Registry& registry) {
  registry.add<Matmul>();
}

}  // namespace nki::inline v0_1::kernels
