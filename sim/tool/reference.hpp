#pragma once

#include <sim/tool/request.hpp>

#include <nki/exec/tensor.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

/// What a kernel should compute, in double precision on the inputs as they are stored.
namespace nki::tool {

struct Comparison {
  bool passed = false;
  double rel_l2 = 0, tolerance = 0, bound_rel_l2 = 0, max_abs_err = 0;
  double max_ulp = 0;                   ///< infinite where values cannot be compared
  std::vector<std::int64_t> first_bad;  ///< for each output, the first element out of bounds in row-major order, or -1
};

/// Nothing where the request's kernel has no reference.
std::optional<Comparison> compare_with_reference(const Request& r, std::span<const exec::HostTensor> inputs,
                                                 std::span<const exec::HostTensor> outputs);

}  // namespace nki::tool
