#pragma once

#include <nki/arch.hpp>
#include <nki/ir/program.hpp>
#include <nki/machine/params.hpp>
#include <nki/machine/program.hpp>

#include <cstdint>
#include <numeric>

/// What each instruction costs on the machine: one function per opcode, from the counts of its operands.
namespace nki::inline v0_1::machine {

/// An operand with its counts as numbers.
struct Shape {
  const ir::Buffer* buffer = nullptr;
  const ir::View* view = nullptr;
  std::int64_t counts[ir::max_rank]{};

  std::int64_t partitions() const { return counts[0]; }
  std::int64_t free_elems() const {
    std::int64_t n = 1;
    for (int d = 1; d < view->rank; ++d) n *= counts[d];
    return n;
  }
  bool on_chip() const { return buffer->space != ir::Space::hbm; }
  bool in_psum() const { return buffer->space == ir::Space::psum; }
  std::int64_t bytes(std::int64_t elems) const { return elems * nki::bytes(buffer->dtype); }

  /// Elements between neighbours of dimension d, in a partition (on chip) or in the buffer (HBM).
  std::int64_t stride(int d) const {
    const ir::Dim& dim = view->dims[static_cast<std::size_t>(d)];
    return dim.step * buffer->axis_stride(dim.axis);
  }
  /// The longest run of neighbouring elements at the inner end, in elements.
  std::int64_t run() const {
    std::int64_t n = 1;
    for (int d = view->rank - 1; d >= (on_chip() ? 1 : 0); --d) {
      if (counts[d] == 1) continue;
      if (stride(d) != n) break;
      n *= counts[d];
    }
    return n;
  }
  /// Bytes between neighbours of the innermost dimension that moves.
  std::int64_t inner_stride_bytes() const {
    for (int d = view->rank - 1; d >= 1; --d)
      if (counts[d] > 1) return bytes(stride(d));
    return bytes(1);
  }
};

namespace detail {

inline bool is_16bit_float(DType t) {
  return t == DType::bf16 || t == DType::f16;
}
/// Access with an innermost stride above 16 bytes runs at half rate (trainium_inferentia2_arch.rst).
inline std::int64_t stride_factor(const Shape& s) {
  return s.inner_stride_bytes() > 16 ? 2 : 1;
}

inline Work vector_work(const Arch& a, const Params& c, const Shape& dst, const Shape* src, std::int64_t elems,
                        std::int64_t speed) {
  Work w;
  const bool psum = dst.in_psum() || (src != nullptr && src->in_psum());
  std::int64_t slow = stride_factor(dst);
  if (src != nullptr && stride_factor(*src) > slow) slow = stride_factor(*src);
  const std::int64_t cycles = (elems * slow + speed - 1) / speed;
  w.duration =
      ticks(a, psum ? c.vector_fixed_psum : c.vector_fixed_sbuf) + cycles * ticks_per_cycle(a, a.clock_vector_ghz);
  w.overlap = ticks(a, c.vector_overlap);
  return w;
}

/// Speed-up of 16-bit copies on VectorE: 4x in SBUF (2x where not contiguous), 2x with one side in PSUM.
inline std::int64_t copy_speed(const Arch& a, const Params& c, const Shape& dst, const Shape& src) {
  if (a.generation < 3 || c.vector_perf_modes.value == 0) return 1;
  if (!is_16bit_float(dst.buffer->dtype) || !is_16bit_float(src.buffer->dtype)) return 1;
  const bool contiguous = dst.inner_stride_bytes() == dst.bytes(1) && src.inner_stride_bytes() == src.bytes(1);
  if (!dst.in_psum() && !src.in_psum()) return contiguous ? 4 : 2;
  return contiguous && dst.in_psum() != src.in_psum() ? 2 : 1;
}

inline Work scalar_work(const Arch& a, const Params& c, const Shape& dst, const Shape& src, std::int64_t elems) {
  Work w;
  const std::int64_t slow = stride_factor(dst) > stride_factor(src) ? stride_factor(dst) : stride_factor(src);
  w.duration = ticks(a, c.scalar_fixed) + elems * slow * ticks_per_cycle(a, a.clock_scalar_ghz);
  w.overlap = ticks(a, c.scalar_overlap);
  return w;
}

inline Work gpsimd_work(const Arch& a, const Params& c, std::int64_t elems) {
  Work w;
  w.duration = (c.gpsimd_start_cycles.as_int() + elems) * ticks_per_cycle(a, a.clock_gpsimd_ghz);
  return w;
}

inline Work array_work(const Arch& a, const Params& c, std::int64_t cycles, bool f32, bool transpose) {
  Work w;
  w.kind = Kind::matmul;
  w.stream_work = cycles * ticks_per_cycle(a, a.clock_tensor_cold_ghz);
  w.exposed_cold = ticks(a, !f32        ? c.exposed_16bit_cold
                            : transpose ? c.exposed_f32_transpose_cold
                                        : c.exposed_f32_cold);
  w.exposed_warm = ticks(a, !f32        ? c.exposed_16bit_warm
                            : transpose ? c.exposed_f32_transpose_warm
                                        : c.exposed_f32_warm);
  w.gap_warm = ticks(a, !f32 ? c.gap_16bit_warm : transpose ? c.gap_f32_transpose_warm : c.gap_f32_warm);
  return w;
}

/// One direction of HBM traffic, for the bound.
inline std::int64_t total_bytes(const Shape& s) {
  std::int64_t n = 1;
  for (int d = 0; d < s.view->rank; ++d) n *= s.counts[d];
  return s.bytes(n);
}

}  // namespace detail

/// A transfer as its descriptors see it: runs of contiguous bytes.
struct Transfer {
  Direction direction = Direction::hbm_to_sbuf;
  bool software = false;  ///< descriptors made by GpSimd
  bool cast = false;
  std::int32_t partitions = 0;  ///< of the SBUF side; 0: HBM only
  std::int64_t runs_pp = 0;     ///< runs per partition (per engine where partitions == 0)
  std::int64_t run_bytes = 0, run_bytes_dst = 0;
};

/// Descriptors of one run each, packets of at most 4096 bytes, 8 partitions to an engine.
/// Source: public trn2 profiles; elements are merged into 4096-byte packets by software descriptors, and small stores of
/// theirs are slower.
inline Work transfer_work(const Arch& a, const Params& c, const Transfer& t) {
  Work w;
  w.kind = Kind::dma;
  w.software = t.software;
  w.direction = t.direction;
  w.partitions = t.partitions;
  w.bytes_pp = t.runs_pp * t.run_bytes;
  const bool read = reads_hbm(t.direction);
  const auto per_packet = [&](std::int64_t bytes) {
    return ticks(a, c.packet_fixed.value + static_cast<double>(bytes) / a.dma_engine_peak_bytes_per_ns.value);
  };
  const std::int64_t limit = c.packet_bytes_max.as_int();
  if (t.software && !t.cast) {
    const std::int64_t share = w.bytes_pp * (w.partitions == 0 ? 1 : w.partitions < 8 ? w.partitions : 8);
    const std::int64_t packet = share < limit ? share : limit;
    w.merge_bytes = limit;
    w.packet_ticks = per_packet(packet);
    if (t.direction == Direction::sbuf_to_hbm) {
      const double element =
          c.software_store_factor.value *
          (c.packet_fixed.value + static_cast<double>(t.run_bytes) / a.dma_engine_peak_bytes_per_ns.value);
      const std::int64_t elements = ticks(a, element * static_cast<double>(packet) / static_cast<double>(t.run_bytes));
      if (elements > w.packet_ticks) w.packet_ticks = elements;
    }
  } else {
    const std::int64_t larger = t.run_bytes > t.run_bytes_dst ? t.run_bytes : t.run_bytes_dst;
    const std::int64_t pieces = (larger + limit - 1) / limit;
    w.packets_pp = t.runs_pp * pieces;
    w.packet_ticks = per_packet((larger + pieces - 1) / pieces);
    if (t.software && t.direction == Direction::sbuf_to_hbm)
      w.packet_ticks =
          ticks(a, c.software_store_factor.value * static_cast<double>(w.packet_ticks) / a.ticks_per_ns.value);
  }
  if (read && t.software) w.stall_pp = w.stall_max = ticks(a, c.stall_software_read);
  if (read && !t.software) {
    w.stall_max = ticks(a, c.stall_hardware_read);
    w.stall_pp =
        ticks(a, c.stall_hardware_read.value * static_cast<double>(w.bytes_pp) / c.stall_hardware_read_bytes.value);
  }
  w.latency = ticks(a, t.software ? (read ? c.latency_software_read : c.latency_software_write)
                                  : (read ? c.latency_hardware_read : c.latency_hardware_write));
  w.visible = ticks(a, t.software ? (read ? c.visible_software_read : c.visible_software_write)
                                  : (read ? c.visible_hardware_read : c.visible_hardware_write));
  return w;
}

/// A `dma_copy`: what both sides walk in one go is a run.
inline Work dma_work(const Arch& a, const Params& c, const Shape& dst, const Shape& src, bool software) {
  Transfer t;
  t.software = software;
  t.direction = dst.on_chip() ? (src.on_chip() ? Direction::sbuf_to_sbuf : Direction::hbm_to_sbuf)
                              : (src.on_chip() ? Direction::sbuf_to_hbm : Direction::hbm_to_hbm);
  t.cast = dst.buffer->dtype != src.buffer->dtype;
  const Shape& side = dst.on_chip() ? dst : src;
  const std::int64_t run = std::gcd(dst.run(), src.run());
  t.run_bytes = src.bytes(run);
  t.run_bytes_dst = dst.bytes(run);
  if (side.on_chip()) {
    t.partitions = static_cast<std::int32_t>(side.partitions());
    t.runs_pp = side.free_elems() / run;
  } else {
    const auto engines = a.dma_engines.as_int();
    t.runs_pp = ((side.partitions() * side.free_elems()) / run + engines - 1) / engines;
  }
  Work w = transfer_work(a, c, t);
  if (!src.on_chip()) w.read_bytes = detail::total_bytes(src);
  if (!dst.on_chip()) w.write_bytes = detail::total_bytes(dst);
  return w;
}

/// The cost of an instruction whose operands have these counts. f32 products of `nc_matmul` run as two such passes.
inline Work work_of(const Arch& a, const Params& c, const ir::Program& p, const ir::Instr& in, const Shape* operands) {
  Work w;
  switch (in.op) {
    case ir::Opcode::dma_copy:
      w = dma_work(a, c, operands[0], operands[1], in.engine == ir::Engine::gpsimd);
      break;
    case ir::Opcode::nc_matmul: {
      // max(N, min(64, M)) cycles (nki.isa docstrings, SDK 2.26.1); a pass of f32 streams every column twice.
      const std::int64_t m = operands[1].free_elems(), n = operands[2].free_elems();
      const std::int64_t floor = m < 64 ? m : 64;
      const bool f32 = nki::bytes(operands[1].buffer->dtype) == 4 && operands[1].buffer->dtype != DType::tf32;
      w = detail::array_work(a, c, (n > floor ? n : floor) * (f32 ? 2 : 1), f32, false);
      break;
    }
    case ir::Opcode::nc_transpose: {
      const std::int64_t rows = operands[1].partitions(), f = operands[1].free_elems();
      if (in.engine == ir::Engine::tensor) {
        const bool f32 = nki::bytes(operands[1].buffer->dtype) == 4;
        const std::int64_t floor = f < 64 ? f : 64;
        w = detail::array_work(a, c, (rows > floor ? rows : floor) * (f32 ? 2 : 1), f32, true);
      } else {
        w = detail::vector_work(a, c, operands[0], &operands[1], f, 1);
      }
      break;
    }
    case ir::Opcode::tensor_copy: {
      const std::int64_t n = operands[0].free_elems();
      if (in.engine == ir::Engine::scalar) {
        w = detail::scalar_work(a, c, operands[0], operands[1], n);
      } else if (in.engine == ir::Engine::gpsimd) {
        w = detail::gpsimd_work(a, c, n);
      } else {
        w = detail::vector_work(a, c, operands[0], &operands[1], n, detail::copy_speed(a, c, operands[0], operands[1]));
      }
      break;
    }
    case ir::Opcode::memset: {
      const std::int64_t n = operands[0].free_elems();
      // Twice the speed for 0 in a 16-bit dtype (nki.isa docstrings, SDK 2.26.1).
      const bool zero = p.attr_double(in, 0) == 0 && detail::is_16bit_float(operands[0].buffer->dtype);
      w = in.engine == ir::Engine::gpsimd ? detail::gpsimd_work(a, c, n)
                                          : detail::vector_work(a, c, operands[0], nullptr, n, zero ? 2 : 1);
      break;
    }
  }
  w.op = static_cast<std::uint8_t>(in.op);
  return w;
}

/// Machine records of one instruction: f32 products run as two passes (LOW, HIGH).
inline int passes_of(const ir::Instr& in, const Shape* operands) {
  return in.op == ir::Opcode::nc_matmul && operands[1].buffer->dtype == DType::f32 ? 2 : 1;
}

}  // namespace nki::inline v0_1::machine
