#pragma once

#include <nki/kernel/spec.hpp>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace nki::inline v0_1::kernel {

/// The kernels that a program offers. Filled explicitly: no header registers anything by itself.
class Registry {
 public:
  template <class K>
  void add() {
    kernels_.push_back(std::make_unique<Of<K>>());
  }
  const Kernel* find(std::string_view name) const {
    for (const auto& k : kernels_)
      if (k->name() == name) return k.get();
    return nullptr;
  }
  const std::vector<std::unique_ptr<Kernel>>& all() const { return kernels_; }

 private:
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace nki::inline v0_1::kernel
