#include <sim/tool/reference.hpp>

#include <nki/kernels/matmul.hpp>
#include <nki/references/matmul.hpp>

#include <cstddef>
#include <limits>

namespace nki::tool {

namespace {

references::MatrixView matrix(const exec::HostTensor& t) {
  return {t.data.data(), t.dtype, t.shape[0], t.shape[1]};
}

Comparison compare_matmul(const Request& r, std::span<const exec::HostTensor> in,
                          std::span<const exec::HostTensor> out) {
  std::size_t layout = 0;
  while (std::string_view(r.kernel->attrs()[layout].key) != "layout") ++layout;
  const bool transposed = r.problem.attrs[layout] == static_cast<std::int64_t>(kernels::Matmul::Layout::lhsT);
  const references::Matmul reference(matrix(in[0]), transposed, matrix(in[1]));
  const references::MatmulErrors e = references::compare(reference, matrix(out[0]));
  Comparison c;
  c.passed = e.passed();
  c.rel_l2 = e.rel_l2;
  c.tolerance = e.tolerance;
  c.bound_rel_l2 = e.bound_rel_l2;
  c.max_abs_err = e.max_abs_err;
  c.max_ulp = e.max_ulp == std::numeric_limits<std::int64_t>::max() ? std::numeric_limits<double>::infinity()
                                                                    : static_cast<double>(e.max_ulp);
  c.first_bad = {e.first_bad};
  return c;
}

}  // namespace

std::optional<Comparison> compare_with_reference(const Request& r, std::span<const exec::HostTensor> inputs,
                                                 std::span<const exec::HostTensor> outputs) {
  if (r.kernel == nullptr) return std::nullopt;
  if (r.kernel->name() == kernels::Matmul::name) return compare_matmul(r, inputs, outputs);
  return std::nullopt;
}

}  // namespace nki::tool
