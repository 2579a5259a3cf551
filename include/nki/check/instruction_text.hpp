#pragma once

#include <nki/arch.hpp>
#include <nki/check/instruction_check.hpp>
#include <nki/check/text.hpp>
#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/ir/program.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// What is said about an instruction that breaks a rule: the operand with its numbers, what is allowed, the way out.
namespace nki::inline v0_1::check::detail {

[[gnu::cold]] inline std::string InstructionCheck::operand_name(std::uint8_t o) const {
  return std::string(ir::info(instr_->op).operands[o].name) + " " + quoted(operands_[o].buffer->name);
}

[[gnu::cold]] inline std::string InstructionCheck::with_elems(std::uint8_t o) const {
  return operand_name(o) + " with " + spell(operands_[o].elems) + " elements per partition";
}

[[gnu::cold]] inline std::string InstructionCheck::with_partitions(std::uint8_t o) const {
  return operand_name(o) + " with " + spell(operands_[o].partitions) + " partitions";
}

[[gnu::cold]] inline std::string InstructionCheck::with_shape(std::uint8_t o) const {
  return operand_name(o) + " of [" + spell(operands_[o].partitions) + ", " + spell(operands_[o].elems) + "]";
}

[[gnu::cold]] inline std::string InstructionCheck::with_dtype(std::uint8_t o) const {
  return operand_name(o) + " of " + nki::name(operands_[o].buffer->dtype);
}

[[gnu::cold]] inline std::string InstructionCheck::with_space(std::uint8_t o) const {
  return operand_name(o) + " in " + ir::name(operands_[o].buffer->space);
}

[[gnu::cold]] inline std::string InstructionCheck::on_engine() const {
  return std::string(ir::info(instr_->op).name) + " on " + ir::name(instr_->engine);
}

[[gnu::cold]] inline Violation InstructionCheck::describe(const Finding& f) const {
  const std::string_view text = instr_rule_texts[static_cast<std::size_t>(f.rule)];
  const std::uint8_t o = f.operand;
  const Operand& x = operands_[o];
  const std::string one_to_partitions = "1.." + std::to_string(arch_->partitions.as_int());
  const auto say = [&](std::string got, std::string allowed, std::string hint) {
    return violation(text, static_cast<std::string&&>(got), static_cast<std::string&&>(allowed),
                     static_cast<std::string&&>(hint));
  };
  switch (f.rule) {
    case InstrRule::e101:
      return say(with_partitions(o), one_to_partitions,
                 "move part of the first extent into the free dimensions, or loop over it");
    case InstrRule::e102: {
      const std::int64_t n = arch_->partitions.as_int(), count = x.partitions.lo;
      return say(operand_name(o) + " at partition " + spell({x.dims[0].first_lo, x.dims[0].first_hi}) + " with " +
                     spell(x.partitions) + " partitions",
                 count > n / 2   ? "partition 0"
                 : count > n / 4 ? "partition 0 or " + std::to_string(n / 2)
                                 : "partition 0, " + std::to_string(n / 4) + ", " + std::to_string(n / 2) + " or " +
                                       std::to_string(3 * (n / 4)),
                 "cut the tile at multiples of 32 partitions; dma_copy alone reaches any partition");
    }
    case InstrRule::e105:
      return say(operand_name(o) + " with a step of " + std::to_string(x.view->dims[0].step) + " partitions", "1",
                 "gather the partitions with dma_copy first");
    case InstrRule::e120:
      return say(with_space(o), "hbm, sbuf",
                 o == 1 ? "copy it to an SBUF tile with tensor_copy first, then dma_copy that"
                        : "dma_copy to an SBUF tile, then tensor_copy that to PSUM");
    case InstrRule::e121:
      return say(operand_name(0) + " with " + spell(operands_[0].all()) + " elements, " + operand_name(1) + " with " +
                     spell(operands_[1].all()),
                 "equal numbers", "give both sides the same extents: nki::ds(start, size)");
    case InstrRule::e122:
      if (f.at == no_hardware_case)
        return say(std::string("queue ") + ir::name(instr_->engine) + " on " + target_->name, "queue gpsimd",
                   "pass nisa::Engine::gpsimd, or leave the engine out");
      if (f.at == dtype_case)
        return say(with_dtype(0) + ", " + with_dtype(1) + " on queue " + ir::name(instr_->engine),
                   "equal dtypes, or queue gpsimd", "pass nisa::Engine::gpsimd, or convert on chip with tensor_copy");
      return say(std::string("dge_mode ") + ir::name(static_cast<ir::DgeMode>(program_->attr(*instr_, 0))) +
                     " on queue " + ir::name(instr_->engine),
                 hardware_queue() ? "hwdge, unknown" : "swdge, none, unknown",
                 "take hwdge with the sync and scalar queues, swdge with gpsimd");
    case InstrRule::e123:
      return say(on_engine(), spell(ir::info(instr_->op).engines), "pass nisa::Engine::sync, or leave the engine out");
    case InstrRule::e201:
      return say(with_space(0), "psum", "declare the destination with nki::psum<f32>(nc, shape(...))");
    case InstrRule::e202:
      return say(with_space(o), "sbuf",
                 x.on_chip ? "copy it to an SBUF tile with tensor_copy first" : "load it with dma_copy first");
    case InstrRule::e203:
      return say(with_dtype(0), bf16_destination() ? "f32, bf16" : "f32",
                 "accumulate in f32 and convert with tensor_copy");
    case InstrRule::e204:
      return say(with_partitions(1) + ", " + with_partitions(2), "equal numbers",
                 "slice the first extent of both to the same contraction");
    case InstrRule::e205:
      return say(with_elems(1), "1.." + std::to_string(arch_->matmul_stationary_fmax.as_int()),
                 "loop over the stationary columns in steps of nl::tile_size.gemm_stationary_fmax");
    case InstrRule::e206:
      return say(with_elems(2), "1.." + std::to_string(moving_limit()),
                 "loop over the moving columns in steps of nl::tile_size.gemm_moving_fmax");
    case InstrRule::e207:
      return say(with_shape(0),
                 "[" + spell(operands_[1].elems) + ", " + spell(operands_[2].elems) + "] (free elements of " +
                     operand_name(1) + " and " + operand_name(2) + ")",
                 "slice the destination to [stationary free, moving free]");
    case InstrRule::e210:
      return say(with_dtype(1) + ", " + with_dtype(2),
                 target_ != nullptr && target_->generation < 4 ? "f32 or tf32 for both, or bf16, f16, f8e4m3, f8e5m2"
                                                               : "f32 or tf32 for both, or bf16, f16 and fp8",
                 "convert one of them with tensor_copy");
    case InstrRule::e220:
      if (f.at == engine_case)
        return say(on_engine(), spell(ir::info(instr_->op).engines), "leave the engine out to get one that can");
      if (f.at == generation_case)
        return say(on_engine() + " of " + target_->name,
                   instr_->op == ir::Opcode::tensor_copy
                       ? "NC-v3 or later"
                       : "NC-v" + std::to_string(ir::info(instr_->op).min_generation) + " or later",
                   "leave the engine out to get one that can");
      if (instr_->op == ir::Opcode::nc_transpose && tensor_engine())
        return say(
            on_engine() + ", " + with_space(o), o == 0 ? "psum" : "sbuf",
            o == 0 ? "declare the destination with nki::psum of the same dtype" : "copy or load it to SBUF first");
      return say(on_engine() + ", " + with_space(o), instr_->engine == ir::Engine::gpsimd ? "sbuf" : "sbuf, psum",
                 x.on_chip ? "take the vector or scalar engine" : "move it between HBM and SBUF with dma_copy");
    case InstrRule::e221:
      return say(with_dtype(0) + ", " + with_dtype(1), "equal dtypes",
                 "declare the destination with the dtype of data, and convert when copying it on");
    case InstrRule::e222:
      return say(with_shape(1) + " on " + ir::name(instr_->engine),
                 std::to_string(transpose_limit()) + " x " + std::to_string(transpose_limit()),
                 "transpose it in pieces");
    case InstrRule::e223:
      return say(with_shape(0), "[" + spell(operands_[1].elems) + ", " + spell(operands_[1].partitions) + "]",
                 "slice the destination to [data free, data partitions]");
    case InstrRule::e224:
      return say(with_shape(0) + ", " + with_shape(1), "equal shapes", "slice both sides to the same extents");
    case InstrRule::e225:
      return say(std::to_string(program_->attr_double(*instr_, 0)) + " for " + with_dtype(0),
                 nki::info(x.buffer->dtype).packed > 1
                     ? "0"
                     : "up to " + std::to_string(nki::info(x.buffer->dtype).max_value) +
                           (nki::info(x.buffer->dtype).is_float ? "" : ", whole"),
                 "give a value that the dtype holds, or a tile of another dtype");
    case InstrRule::e226:
      return say(with_dtype(0) + ", " + with_dtype(1), "equal dtypes where one is packed",
                 "copy packed data as it is; only the matrix instructions unpack it");
    case InstrRule::e230:
      return say(operand_name(o) + " with " + std::to_string(x.view->rank) + " dimensions",
                 "1.." + std::to_string(arch_->view_rank_max.as_int()), "take fewer dimensions at a time");
    case InstrRule::e231: {
      const Ends e = ends(x, f.at, true);
      return say(operand_name(o) + " at " + spell({e.low, e.high}) + " of axis " + std::to_string(f.at),
                 "0.." + std::to_string(x.buffer->shape[f.at] - 1),
                 "cut the slice at the edge: nki::ds(start, min(size, extent - start)); nl::tiles does it");
    }
    case InstrRule::e233: {
      const auto d = static_cast<std::uint8_t>(f.at & 7u);
      if (f.at == total_case)
        return say(with_elems(o), "1.." + std::to_string(elems_limit(x)), "take a part of the tile at a time");
      if (f.at >= step_case)
        return say(operand_name(o) + " with a step of " + std::to_string(step_elems(x, d)) + " elements in dimension " +
                       std::to_string(d),
                   std::to_string(arch_->ap_step_min.as_int()) + ".." + std::to_string(arch_->ap_step_max.as_int()),
                   "put the dimension with the longer step in a loop");
      return say(operand_name(o) + " with " + spell({x.dims[d].count_lo, x.dims[d].count_hi}) +
                     " positions in dimension " + std::to_string(d),
                 "1.." + std::to_string(arch_->ap_count_max.as_int()), "take a part of the dimension at a time");
    }
    case InstrRule::e312:
      return say(operand_name(o) +
                     (x.buffer->kind == ir::BufferKind::input ? ", an input, written by " : ", an output, read by ") +
                     ir::info(instr_->op).name,
                 x.buffer->kind == ir::BufferKind::input ? "reads" : "writes",
                 x.buffer->kind == ir::BufferKind::input ? "declare the argument as an output, or write another one"
                                                         : "keep what is read again in SBUF");
  }
  return {};
}

}  // namespace nki::inline v0_1::check::detail
