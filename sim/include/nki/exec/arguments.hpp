#pragma once

#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/exec/convert.hpp>
#include <nki/exec/report.hpp>
#include <nki/exec/tensor.hpp>
#include <nki/ir/program.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The rules for the arguments of a run.
// clang-format off
#define NKI_E401 "NKI-E401: a run takes one host tensor for each input and each output of the program, in their order"
#define NKI_E402 "NKI-E402: a host tensor must have the name of the argument in its place, or no name"
#define NKI_E403 "NKI-E403: a host tensor must have the dtype of its argument"
#define NKI_E404 "NKI-E404: a host tensor must have the shape of its argument"
#define NKI_E405 "NKI-E405: a host tensor must hold exactly the bytes of its shape"
#define NKI_E406 "NKI-E406: a program is run with f32, bf16, f16, integer and bool buffers only"
// clang-format on

namespace nki::inline v0_1::exec {

/// A host tensor of zeros for each of a program's inputs, or outputs, in their order.
inline std::vector<HostTensor> make_arguments(const ir::Program& p, ir::BufferKind kind) {
  std::vector<HostTensor> list;
  for (const ir::Buffer& b : p.buffers)
    if (b.kind == kind) list.push_back(make_tensor(b.name, b.dtype, {b.shape.begin(), b.shape.begin() + b.rank}));
  return list;
}

namespace detail {

inline std::string spell_shape(const std::int64_t* extents, std::size_t rank) {
  std::string s = "[";
  for (std::size_t i = 0; i < rank; ++i) s += (i == 0 ? "" : ", ") + std::to_string(extents[i]);
  return s + "]";
}

inline void check_argument(const ir::Program& p, const ir::Buffer& b, const HostTensor& t, const std::string& order) {
  const auto fail = [&](std::string_view rule, std::string got, std::string allowed, std::string hint) {
    refuse(rule, std::move(got), std::move(allowed), std::move(hint), p, b.loc, ErrorClass::usage);
  };
  if (!t.name.empty() && t.name != b.name)
    fail(NKI_E402, "'" + t.name + "' in the place of '" + b.name + "'", "'" + b.name + "'",
         "pass the tensors in the order " + order);
  if (t.dtype != b.dtype)
    fail(NKI_E403, std::string(name(t.dtype)) + " for '" + b.name + "'", name(b.dtype),
         "make the tensor with the argument's dtype; exec::fill rounds the values");
  const std::string wanted = spell_shape(b.shape.data(), b.rank), got = spell_shape(t.shape.data(), t.shape.size());
  if (got != wanted) {
    std::vector<std::int64_t> reversed(t.shape.rbegin(), t.shape.rend());
    const bool turned = spell_shape(reversed.data(), reversed.size()) == wanted;
    fail(NKI_E404, got + " for '" + b.name + "'", wanted,
         turned ? "the extents are in reverse order: transpose the data"
                : "record the program for this shape, or pass a tensor of the recorded one");
  }
  const std::int64_t size = t.elements() * bytes(t.dtype);
  if (static_cast<std::int64_t>(t.data.size()) != size)
    fail(NKI_E405, std::to_string(t.data.size()) + " bytes for '" + b.name + "'", std::to_string(size),
         "make the tensor with exec::make_tensor");
}

/// Matches host tensors with the program's arguments: inputs and outputs, each in the order of the buffers.
inline void check_arguments(const ir::Program& p, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
  std::size_t n_inputs = 0, n_outputs = 0;
  std::string order;
  for (const ir::Buffer& b : p.buffers) {
    if (!can_run(b.dtype))
      refuse(NKI_E406, std::string(name(b.dtype)) + " buffer '" + b.name + "'", {},
             "time and emit it, or run the kernel with another dtype", p, b.loc, ErrorClass::usage);
    if (b.kind == ir::BufferKind::tile) continue;
    ++(b.kind == ir::BufferKind::input ? n_inputs : n_outputs);
    order += (order.empty() ? "" : ", ") + b.name;
  }
  if (n_inputs != inputs.size() || n_outputs != outputs.size())
    refuse(NKI_E401, std::to_string(inputs.size()) + " inputs and " + std::to_string(outputs.size()) + " outputs",
           std::to_string(n_inputs) + " and " + std::to_string(n_outputs), "the arguments are " + order, p, 0,
           ErrorClass::usage);
  std::size_t input = 0, output = 0;
  for (const ir::Buffer& b : p.buffers) {
    if (b.kind == ir::BufferKind::input) check_argument(p, b, inputs[input++], order);
    if (b.kind == ir::BufferKind::output) check_argument(p, b, outputs[output++], order);
  }
}

/// Outputs start as NaN, or as bytes 0xA5, so that what a kernel forgets to write shows.
inline void poison(HostTensor& t) {
  if (!info(t.dtype).is_float) {
    std::memset(t.data.data(), 0xA5, t.data.size());
    return;
  }
  store_codes(t.data.data(), undefined_code(t.dtype), bytes(t.dtype), t.elements());
}

}  // namespace detail

}  // namespace nki::inline v0_1::exec
