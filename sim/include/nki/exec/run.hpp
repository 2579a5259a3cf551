#pragma once

#include <nki/exec/arguments.hpp>
#include <nki/exec/executor.hpp>
#include <nki/exec/report.hpp>
#include <nki/exec/tensor.hpp>
#include <nki/ir/program.hpp>

#include <span>

namespace nki::inline v0_1::exec {

struct Options {
  /// Keep one bit per element to find reads of undefined elements and unwritten outputs. Without it undefined elements
  /// read as whatever their slot held, and the report counts instructions only.
  bool shadow = true;
};

/// Run a program on host memory with the device's numerics; docs/ir.md says what it means.
///
/// Arguments: the host tensors are the program's inputs and outputs, each in the order of its arguments. Outputs are
///            overwritten: first with NaN (integers: bytes 0xA5), then by the program.
/// Dtypes:    f32, bf16, f16, integers and bool. Arithmetic in f32, rounded to nearest even where an element is
/// written. Effect:    reads of undefined elements are counted and do not stop the run: they read as NaN, integers
/// as 4. Numerics:  bit for bit those of `interpret`, but for nc_matmul on processors with fused multiply-add, whose
/// products
///            are not rounded.
/// Errors:    NKI-E401..E406 for the tensors; E121, E204, E207, E221, E223, E224, E231, E312 if the program breaks
/// them.
inline Report run(const ir::Program& program, std::span<const HostTensor> inputs, std::span<HostTensor> outputs,
                  const Options& options = {}) {
  detail::check_arguments(program, inputs, outputs);
  return detail::Executor(program, inputs, outputs, options.shadow).run();
}

}  // namespace nki::inline v0_1::exec
