#pragma once

#include <nki/arch.hpp>
#include <nki/machine/params.hpp>

#include <fmt/format.h>

#include <string>

namespace nki::inline v0_1::emit {

namespace detail {

inline std::string cell(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

/// A number without an exponent where it is short enough to read.
inline std::string number(double v) {
  return v == 0 ? "0" : fmt::format("{:.10g}", v);
}

}  // namespace detail

/// The page on the machine model: what it holds, what it leaves out, and every number with its source. docs/model.md is
/// this text; a test compares them.
inline std::string model_markdown() {
  std::string out = R"(# The machine model

Generated from `include/nki/arch.hpp` and `sim/include/nki/machine/params.hpp`; do not edit. Re-accept with
`NKI_ACCEPT=1 ctest -R Model`.

Times predicted with this model are **uncalibrated**: no kernel has been compared with a device yet, and every program
says so beside its figures. The constants marked *measured* were read off public instruction-level profiles of four
attention kernels on trn2; everything else is published, derived or assumed, and marked.

## What is modelled

- Five in-order instruction streams (tensor, vector, scalar, gpsimd, sync). An instruction starts when its stream is free
  and its one wait is satisfied; further waits are EVENT_SEMAPHOREs before it. Program order is kept (`order=program`).
- Dependences by bytes: read after write, write after read, write after write, per slot of a rotating tile. Waits that an
  earlier wait implies are left out. Signals and wake-ups take the measured hops.
- TensorE: LDWEIGHTS one matmul ahead of MATMUL, weights exposed where nothing hides them, f32 as two passes of two
  cycles a column, the drain to PSUM, and the clock: half windows of 4096 base cycles, warm if and only if the array
  streamed at least 3/8 of the fast cycles of the half window before. The phase of that grid is unknown, so predictions
  are the mean over a sweep of phases with the spread, widened by 1 %, as band.
- VectorE and ScalarE: a fixed part by source memory and elements per partition, overlap with the next instruction, the
  documented 2x and 4x modes of 16-bit copies, half rate for innermost strides above 16 bytes.
- DMA: triggers that occupy their sequencer, descriptors of one contiguous run, packets of at most 4096 bytes, 16 engines
  of 8 partitions each, one packet at a time with round robin between the queues, first-packet stalls, the gap between
  queued reads, and visibility of the completion. Every packet is served; equal ones in closed form.

## What is not modelled

- Reordering of independent instructions by the device's compiler.
- A limit of HBM below the sum of the DMA engines, contention with other cores, refresh.
- PSUM bank conflicts, port conflicts of trn1, throttling by power under long load.
- Queue depths, instruction fetch, the limit on semaphores.
- DMA of trn1 and everything on trn3 beyond clocks and rates: their constants are those of trn2.

## Why it can be wrong on a device

A 16-bit matmul at the warm clock was never recorded: that it streams without a gap is an assumption, and the utilisation
of large matmuls rests on it. Partial tiles, fewer than 128 partitions, GpSimd data-path work and casting DMAs were not
recorded either.

## Cores

| figure | unit |)";
  for (const Arch* a : arch::all) out += fmt::format(" {} |", a->name);
  out += "\n|---|---|";
  for (std::size_t i = 0; i < std::size(arch::all); ++i) out += "---|";
  out += "\n";
  for_each_figure(*arch::all[0], [&](const char* name, const Figure& first) {
    out += fmt::format("| `{}` | {} |", name, detail::cell(first.unit));
    for (const Arch* a : arch::all)
      for_each_figure(*a, [&](const char* other, const Figure& f) {
        if (std::string_view(name) == other)
          out += fmt::format(" {} ({}) |", detail::number(f.value), nki::name(f.confidence));
      });
    out += "\n";
  });
  out += "\n## Timing constants of trn2\n\n| constant | value | unit | confidence | source |\n|---|---|---|---|---|\n";
  machine::for_each_constant(machine::trn2_params, [&](const char* name, const Figure& f) {
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", name, detail::number(f.value), detail::cell(f.unit),
                       nki::name(f.confidence), detail::cell(f.source));
  });
  for (const machine::Params* p : {&machine::trn1_params, &machine::trn3_params}) {
    out += fmt::format("\n{} uses the same constants, uncalibrated, with its own clocks and DMA rate", p->name);
    std::string changed;
    machine::for_each_constant(*p, [&](const char* name, const Figure& f) {
      machine::for_each_constant(machine::trn2_params, [&](const char* other, const Figure& g) {
        if (std::string_view(name) == other && f.value != g.value)
          changed +=
              fmt::format("{}`{}` = {} ({})", changed.empty() ? "" : ", ", name, detail::number(f.value), f.source);
      });
    });
    out += changed.empty() ? ".\n" : fmt::format(", except {}.\n", changed);
  }
  out += fmt::format("\nModel version {}.\n", machine::model_version);
  return out;
}

}  // namespace nki::inline v0_1::emit
