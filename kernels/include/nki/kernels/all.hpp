#pragma once

#include <nki/kernel/registry.hpp>

namespace nki::inline v0_1::kernels {

/// Adds every shipped kernel to a registry. Each kernel has a registration unit of its own below kernels/src, so that a
/// program compiles none of them itself.
void register_all(kernel::Registry& registry);

}  // namespace nki::inline v0_1::kernels
