#pragma once

#include <nki/arch.hpp>
#include <nki/check/rules.hpp>
#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

namespace nki::inline v0_1::check {

/// `must`: report what breaks a rule whatever the loops' indices (used while recording). `may`: report what can break
/// one for some indices as far as intervals tell; the whole-program check then looks at the iterations themselves.
enum class Certainty : std::uint8_t { must, may };

namespace detail {

// clang-format off
/// The rules that concern one instruction by itself.
enum class InstrRule : std::uint8_t {
  e101, e102, e105, e120, e121, e122, e123, e201, e202, e203, e204, e205, e206, e207, e210,
  e220, e221, e222, e223, e224, e225, e226, e230, e231, e233, e312
};
inline constexpr std::array<std::string_view, 26> instr_rule_texts{
  NKI_E101, NKI_E102, NKI_E105, NKI_E120, NKI_E121, NKI_E122, NKI_E123, NKI_E201, NKI_E202, NKI_E203, NKI_E204,
  NKI_E205, NKI_E206, NKI_E207, NKI_E210, NKI_E220, NKI_E221, NKI_E222, NKI_E223, NKI_E224, NKI_E225, NKI_E226,
  NKI_E230, NKI_E231, NKI_E233, NKI_E312};
// clang-format on
static_assert(static_cast<std::size_t>(InstrRule::e312) + 1 == instr_rule_texts.size());

/// One broken rule, without its text: `operand` where one is to blame, `at` a dimension, an axis or a case of the rule.
struct Finding {
  InstrRule rule{};
  std::uint8_t operand = 0;
  std::uint8_t at = 0;
  friend constexpr bool operator==(const Finding&, const Finding&) = default;
};

struct Findings {
  std::array<Finding, 24> list;
  std::uint32_t count = 0;
  const Finding* begin() const { return list.data(); }
  const Finding* end() const { return list.data() + count; }
  bool contains(const Finding& f) const {
    for (const Finding& g : *this)
      if (f == g) return true;
    return false;
  }
};

/// Whether rounding `v` to a dtype gives a value that stands for it: no overflow, no NaN or infinity where there is
/// none, and for integers no rounding at all.
constexpr bool is_value_of(DType dtype, double v) {
  const DTypeInfo& t = nki::info(dtype);
  if (t.packed > 1) return v == 0;
  if (!t.is_float) {
    if (!(v >= (t.is_signed ? -t.max_value - 1 : 0) && v <= t.max_value)) return false;
    return static_cast<double>(static_cast<std::int64_t>(v)) == v;
  }
  if (v != v) return t.has_nan;
  if (!t.is_signed && v <= 0) return false;
  const double magnitude = v < 0 ? -v : v;
  if (magnitude <= t.max_value) return true;
  constexpr std::uint64_t infinity = 0x7ff0'0000'0000'0000u;
  if (std::bit_cast<std::uint64_t>(magnitude) == infinity) return t.has_infinity;
  // Up to half a step beyond the largest value, rounding comes back to it.
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(t.max_value) >> 52;
  const auto half_step = (exponent - static_cast<std::uint64_t>(t.mantissa_bits) - 1) << 52;
  return magnitude < t.max_value + std::bit_cast<double>(half_step);
}

/// Whether an engine may start at a partition with that many partitions.
constexpr bool start_is_legal(std::int64_t start, std::int64_t count, std::int64_t partitions) {
  if (count > partitions / 2) return start == 0;
  return start % (count > partitions / 4 ? partitions / 2 : partitions / 4) == 0;
}

/// One instruction under its rules, with the intervals of its operands' expressions.
class InstructionCheck {
 public:
  template <class RangeOf>
  InstructionCheck(const ir::Program& p, const ir::Instr& in, RangeOf&& range_of, const Arch* target)
      : program_(&p), instr_(&in), target_(target), arch_(target != nullptr ? target : &arch::trn3) {
    for (std::uint8_t o = 0; o < in.n_operands; ++o) {
      Operand& x = operands_[o];
      const ir::ViewId id = p.operand(in, o);
      if (id == ir::no_id) continue;
      x.view = &p.views[id];
      x.buffer = &p.buffers[x.view->buffer];
      x.on_chip = x.buffer->space != ir::Space::hbm;
      const std::uint8_t rank = x.view->rank;
      if (rank < 1 || rank > ir::max_rank) continue;
      ir::Range elems{1, 1};
      std::uint32_t walked = 0;
      for (std::uint8_t d = 0; d < rank; ++d) {
        const ir::Dim& dim = x.view->dims[d];
        DimRange& r = x.dims[d];
        x.shared_axes |= walked & (1u << dim.axis);
        walked |= 1u << dim.axis;
        const ir::Range first = range_of(dim.start), count = range_of(dim.count);
        r = {first.lo, first.hi, count.lo < 1 ? 1 : count.lo, count.hi};
        if (count.lo < 1) always_exists_ = false;
        if (count.hi < 1) exists_ = false;
        if (d == 0 && x.on_chip) {
          x.partitions = {r.count_lo, r.count_hi};
        } else {
          elems = {ir::detail::mul_far(elems.lo, r.count_lo), ir::detail::mul_far(elems.hi, r.count_hi)};
        }
      }
      x.elems = elems;
    }
  }

  /// False where an operand is empty whatever the indices: such an instruction breaks no rule.
  bool exists() const { return exists_; }
  /// True where no operand is ever empty, as far as intervals tell.
  bool always_exists() const { return always_exists_; }

  const Findings& run(Certainty certainty) {
    may_ = certainty == Certainty::may;
    found_.count = 0;
    if (!exists_) return found_;
    for (std::uint8_t o = 0; o < instr_->n_operands; ++o)
      if (present(o) && (operands_[o].view->rank < 1 || operands_[o].view->rank > ir::max_rank)) {
        add(InstrRule::e230, o);
        return found_;
      }
    const ir::OpInfo& op = ir::info(instr_->op);
    if (!ir::has(op.engines, instr_->engine))
      add(instr_->op == ir::Opcode::dma_copy ? InstrRule::e123 : InstrRule::e220, 0, engine_case);
    else if (target_ != nullptr && !generation_has_it())
      add(InstrRule::e220, 0, generation_case);
    switch (instr_->op) {
      case ir::Opcode::dma_copy:
        dma_copy();
        break;
      case ir::Opcode::nc_matmul:
        nc_matmul();
        break;
      case ir::Opcode::nc_transpose:
        nc_transpose();
        break;
      case ir::Opcode::tensor_copy:
        tensor_copy();
        break;
      case ir::Opcode::memset:
        memset();
        break;
    }
    for (std::uint8_t o = 0; o < instr_->n_operands; ++o)
      if (present(o)) operand_rules(o);
    return found_;
  }

  /// The text of what `run` found; see instruction_text.hpp.
  Violation describe(const Finding& f) const;

  /// Whether a rule that was found broken may be broken with other intervals. Most often that is E231, where looking at
  /// the one axis is enough.
  template <class RangeOf>
  static bool still_may(const ir::Program& p, const ir::Instr& in, const Finding& f, RangeOf&& range_of,
                        const Arch* target) {
    if (f.rule != InstrRule::e231) return InstructionCheck(p, in, range_of, target).run(Certainty::may).contains(f);
    for (int o = 0; o < in.n_operands; ++o) {
      const ir::View& v = p.views[p.operand(in, o)];
      for (std::uint8_t d = 0; d < v.rank; ++d)
        if (range_of(v.dims[d].count).hi < 1) return false;
    }
    const ir::View& v = p.views[p.operand(in, f.operand)];
    Ends e;
    for (std::uint8_t d = 0; d < v.rank; ++d)
      if (v.dims[d].axis == f.at) {
        const ir::Range first = range_of(v.dims[d].start);
        e.widen(first.lo, first.hi, range_of(v.dims[d].count).hi, v.dims[d].step);
      }
    return !e.inside(p.buffers[v.buffer].shape[f.at]);
  }

  /// The dimensions whose start or count decide a rule: calls fn(view, dimension, with_start).
  template <class Fn>
  void for_each_dim_of(const Finding& f, Fn&& fn) const {
    const auto counts = [&](std::uint8_t o) {
      if (present(o))
        for (std::uint8_t d = 0; d < operands_[o].view->rank; ++d) fn(*operands_[o].view, d, false);
    };
    switch (f.rule) {
      case InstrRule::e101:
      case InstrRule::e102:
      case InstrRule::e105:
        fn(*operands_[f.operand].view, std::uint8_t{0}, f.rule == InstrRule::e102);
        return;
      case InstrRule::e231:
        for (std::uint8_t d = 0; d < operands_[f.operand].view->rank; ++d)
          if (operands_[f.operand].view->dims[d].axis == f.at) fn(*operands_[f.operand].view, d, true);
        return;
      default:
        for (std::uint8_t o = 0; o < instr_->n_operands; ++o) counts(o);
    }
  }

 private:
  enum Case : std::uint8_t { engine_case, generation_case, space_case };
  enum DmaCase : std::uint8_t { no_hardware_case, dtype_case, mode_case };
  enum PatternCase : std::uint8_t { count_case = 0, step_case = 8, total_case = 16 };

  struct DimRange {
    std::int64_t first_lo, first_hi, count_lo, count_hi;  // counts from 1: below it the instruction does not exist
  };
  struct Operand {
    const ir::View* view = nullptr;
    const ir::Buffer* buffer = nullptr;
    bool on_chip = false;
    std::uint32_t shared_axes = 0;  // those that several dimensions walk
    ir::Range partitions{1, 1};     // 1 for HBM
    ir::Range elems{1, 1};          // per partition, or all of HBM's
    std::array<DimRange, ir::max_rank> dims;

    bool in(ir::Space s) const { return buffer->space == s; }
    ir::Range all() const {
      return {ir::detail::mul_far(partitions.lo, elems.lo), ir::detail::mul_far(partitions.hi, elems.hi)};
    }
  };
  /// Which dimensions of an operand make up a number.
  enum class Part : std::uint8_t { partitions, elems, all };

  bool present(std::uint8_t o) const { return operands_[o].view != nullptr; }
  void add(InstrRule rule, std::uint8_t operand = 0, std::uint8_t at = 0) {
    if (found_.count < found_.list.size()) found_.list[found_.count++] = {rule, operand, at};
  }
  bool exceeds(ir::Range r, std::int64_t limit) const { return (may_ ? r.hi : r.lo) > limit; }
  bool hardware_queue() const { return instr_->engine == ir::Engine::sync || instr_->engine == ir::Engine::scalar; }
  bool bf16_destination() const { return arch_->matmul_moving_fmax_bf16_dst.value > 0; }
  bool tensor_engine() const { return instr_->engine == ir::Engine::tensor; }

  static ir::Range value(const Operand& x, Part part) {
    return part == Part::partitions ? x.partitions : part == Part::elems ? x.elems : x.all();
  }

  /// A product of counts as a number times expressions, for equality of products whose values are not known.
  struct Product {
    std::int64_t number = 1;
    std::uint32_t n = 0;
    std::array<ir::ExprId, 2 * ir::max_rank> atoms;
  };
  Product product(const Operand& x, Part part) const {
    Product out;
    for (std::uint8_t d = 0; d < x.view->rank; ++d) {
      if (x.on_chip && part != Part::all && (d == 0) != (part == Part::partitions)) continue;
      if (x.dims[d].count_lo == x.dims[d].count_hi) {
        out.number = ir::detail::mul_far(out.number, x.dims[d].count_lo);
        continue;
      }
      ir::ExprId atom = x.view->dims[d].count;
      while (program_->exprs[atom].op == ir::ExprOp::mul) {
        out.number = ir::detail::mul_far(out.number, program_->exprs[atom].c);
        atom = program_->exprs[atom].a;
      }
      std::uint32_t at = out.n++;
      for (; at > 0 && out.atoms[at - 1] > atom; --at) out.atoms[at] = out.atoms[at - 1];
      out.atoms[at] = atom;
    }
    return out;
  }
  bool same_product(const Operand& a, Part of_a, const Operand& b, Part of_b) const {
    const Product x = product(a, of_a), y = product(b, of_b);
    if (x.number != y.number || x.n != y.n) return false;
    for (std::uint32_t i = 0; i < x.n; ++i)
      if (x.atoms[i] != y.atoms[i]) return false;
    return true;
  }
  bool differ(const Operand& a, Part of_a, const Operand& b, Part of_b) const {
    const ir::Range x = value(a, of_a), y = value(b, of_b);
    if (x.hi < y.lo || y.hi < x.lo) return true;
    if (!may_ || (x.is_point() && y.is_point())) return false;
    return !same_product(a, of_a, b, of_b);
  }

  bool generation_has_it() const {
    if (ir::info(instr_->op).min_generation > target_->generation) return false;
    return instr_->op != ir::Opcode::tensor_copy || instr_->engine != ir::Engine::scalar || target_->generation >= 3;
  }

  /// Compute engines reach on-chip memory only, and gpsimd only SBUF.
  void on_chip_spaces() {
    for (std::uint8_t o = 0; o < instr_->n_operands; ++o) {
      if (!present(o)) continue;
      const Operand& x = operands_[o];
      if (!x.on_chip || (instr_->engine == ir::Engine::gpsimd && x.in(ir::Space::psum)))
        add(InstrRule::e220, o, space_case);
    }
  }

  void dma_copy() {
    const Operand &dst = operands_[0], &src = operands_[1];
    for (std::uint8_t o = 0; o < 2; ++o)
      if (operands_[o].in(ir::Space::psum)) add(InstrRule::e120, o);
    const auto mode = static_cast<ir::DgeMode>(program_->attr(*instr_, 0));
    const bool same_dtype = dst.buffer->dtype == src.buffer->dtype;
    if (hardware_queue()) {
      if (target_ != nullptr && target_->hardware_dge_queues.value == 0) add(InstrRule::e122, 0, no_hardware_case);
      if (!same_dtype) add(InstrRule::e122, 0, dtype_case);
      if (mode != ir::DgeMode::hwdge && mode != ir::DgeMode::unknown) add(InstrRule::e122, 0, mode_case);
    } else if (mode == ir::DgeMode::hwdge) {
      add(InstrRule::e122, 0, mode_case);
    }
    conversion(dst, src);
    if (differ(dst, Part::all, src, Part::all)) add(InstrRule::e121);
  }

  void conversion(const Operand& dst, const Operand& src) {
    if (dst.buffer->dtype == src.buffer->dtype) return;
    for (std::uint8_t o = 0; o < 2; ++o)
      if (nki::info(operands_[o].buffer->dtype).packed > 1) add(InstrRule::e226, o);
  }

  bool multiplies(DType t) const {
    switch (t) {
      case DType::f32:
      case DType::tf32:
      case DType::bf16:
      case DType::f16:
      case DType::f8e4m3:
      case DType::f8e5m2:
        return true;
      case DType::f8e4m3fn:
        return target_ == nullptr || target_->generation >= 4;
      default:
        return false;
    }
  }

  void nc_matmul() {
    const Operand &dst = operands_[0], &stationary = operands_[1], &moving = operands_[2];
    if (!dst.in(ir::Space::psum)) add(InstrRule::e201, 0);
    for (std::uint8_t o = 1; o < 3; ++o)
      if (!operands_[o].in(ir::Space::sbuf)) add(InstrRule::e202, o);
    const DType out = dst.buffer->dtype, a = stationary.buffer->dtype, b = moving.buffer->dtype;
    if (out != DType::f32 && !(out == DType::bf16 && bf16_destination())) add(InstrRule::e203, 0);
    const auto wide = [](DType t) { return t == DType::f32 || t == DType::tf32; };
    if (!multiplies(a) || !multiplies(b) || wide(a) != wide(b) || (a == DType::f8e4m3 && b == DType::f8e4m3fn) ||
        (a == DType::f8e4m3fn && b == DType::f8e4m3))
      add(InstrRule::e210);
    if (!dst.on_chip || !stationary.on_chip || !moving.on_chip) return;
    if (differ(stationary, Part::partitions, moving, Part::partitions)) add(InstrRule::e204);
    if (exceeds(stationary.elems, arch_->matmul_stationary_fmax.as_int())) add(InstrRule::e205, 1);
    if (exceeds(moving.elems, moving_limit())) add(InstrRule::e206, 2);
    if (differ(dst, Part::partitions, stationary, Part::elems)) add(InstrRule::e207, 0, 0);
    if (differ(dst, Part::elems, moving, Part::elems)) add(InstrRule::e207, 0, 1);
  }
  std::int64_t moving_limit() const {
    return operands_[0].buffer->dtype == DType::bf16 && bf16_destination() ? arch_->matmul_moving_fmax_bf16_dst.as_int()
                                                                           : arch_->matmul_moving_fmax.as_int();
  }

  std::int64_t transpose_limit() const {
    return tensor_engine() ? arch_->pe_rows.as_int() : arch_->vector_transpose_max.as_int();
  }
  void nc_transpose() {
    const Operand &dst = operands_[0], &data = operands_[1];
    if (tensor_engine()) {
      if (!dst.in(ir::Space::psum)) add(InstrRule::e220, 0, space_case);
      if (!data.in(ir::Space::sbuf)) add(InstrRule::e220, 1, space_case);
    } else {
      on_chip_spaces();
    }
    if (dst.buffer->dtype != data.buffer->dtype) add(InstrRule::e221);
    if (!dst.on_chip || !data.on_chip) return;
    const std::int64_t limit = transpose_limit();
    if (exceeds(data.partitions, limit) || exceeds(data.elems, limit)) add(InstrRule::e222, 1);
    if (differ(dst, Part::partitions, data, Part::elems)) add(InstrRule::e223, 0, 0);
    if (differ(dst, Part::elems, data, Part::partitions)) add(InstrRule::e223, 0, 1);
  }

  void tensor_copy() {
    const Operand &dst = operands_[0], &src = operands_[1];
    on_chip_spaces();
    conversion(dst, src);
    if (!dst.on_chip || !src.on_chip) return;
    if (differ(dst, Part::partitions, src, Part::partitions)) add(InstrRule::e224, 0, 0);
    if (differ(dst, Part::elems, src, Part::elems)) add(InstrRule::e224, 0, 1);
  }

  void memset() {
    on_chip_spaces();
    if (!is_value_of(operands_[0].buffer->dtype, program_->attr_double(*instr_, 0))) add(InstrRule::e225, 0);
  }

  /// The lowest and the highest position that a view visits along an axis.
  struct Ends {
    std::int64_t low = 0, high = 0;
    bool lost = false;  ///< beyond 64 bits
    void widen(std::int64_t low_first, std::int64_t high_first, std::int64_t count, std::int32_t step) {
      std::int64_t span = 0;
      lost |= __builtin_mul_overflow(count - 1, std::int64_t{step}, &span);
      lost |= __builtin_add_overflow(low, low_first, &low);
      lost |= __builtin_add_overflow(high, high_first, &high);
      std::int64_t& far_end = step < 0 ? low : high;
      lost |= __builtin_add_overflow(far_end, span, &far_end);
    }
    bool inside(std::int64_t extent) const { return low >= 0 && high < extent && !lost; }
    void widen(const DimRange& r, std::int32_t step, bool may) {
      if (may)
        widen(r.first_lo, r.first_hi, r.count_hi, step);
      else
        widen(r.first_hi, r.first_lo, r.count_lo, step);
    }
  };
  bool slices(std::uint8_t o) {
    const Operand& x = operands_[o];
    std::uint32_t walked = 0;
    bool inside = true;
    for (std::uint8_t d = 0; d < x.view->rank; ++d) {
      const std::uint8_t axis = x.view->dims[d].axis;
      if (((x.shared_axes >> axis) & 1u) != 0) {
        if (((walked >> axis) & 1u) != 0) continue;
        walked |= 1u << axis;
        inside = fits(o, axis, ends(x, axis, may_)) && inside;
      } else {
        Ends e;
        e.widen(x.dims[d], x.view->dims[d].step, may_);
        if (!e.inside(x.buffer->shape[axis])) inside = fits(o, axis, e);
      }
    }
    return inside;
  }
  bool fits(std::uint8_t o, std::uint8_t axis, const Ends& e) {
    if (e.inside(operands_[o].buffer->shape[axis])) return true;
    add(InstrRule::e231, o, axis);
    return false;
  }
  static Ends ends(const Operand& x, std::uint8_t axis, bool may) {
    Ends e;
    for (std::uint8_t d = 0; d < x.view->rank; ++d)
      if (x.view->dims[d].axis == axis) e.widen(x.dims[d], x.view->dims[d].step, may);
    return e;
  }

  void operand_rules(std::uint8_t o) {
    const Operand& x = operands_[o];
    const ir::Access access = ir::info(instr_->op).operands[o].access;
    if (x.buffer->kind == ir::BufferKind::input
            ? access != ir::Access::read
            : x.buffer->kind == ir::BufferKind::output && access == ir::Access::read)
      add(InstrRule::e312, o);
    const bool inside = slices(o);
    if (!x.on_chip) return;
    const std::int64_t partitions = arch_->partitions.as_int();
    if (exceeds(x.partitions, partitions)) add(InstrRule::e101, o);
    if (instr_->op == ir::Opcode::dma_copy) return;  // descriptors reach any byte

    if (!starts_well(x.dims[0], x.partitions, partitions)) add(InstrRule::e102, o);
    if (x.view->dims[0].step != 1 && exceeds(x.partitions, 1)) add(InstrRule::e105, o);
    // A view inside a small tile cannot take long steps.
    if (!inside || x.buffer->elems(1) > arch_->ap_step_max.as_int()) pattern(o);
    if (exceeds(x.elems, elems_limit(x))) add(InstrRule::e233, o, total_case);
  }
  void pattern(std::uint8_t o) {
    const Operand& x = operands_[o];
    for (std::uint8_t d = 1; d < x.view->rank; ++d) {
      const ir::Range count{x.dims[d].count_lo, x.dims[d].count_hi};
      if (!exceeds(count, 1)) continue;
      if (exceeds(count, arch_->ap_count_max.as_int()))
        add(InstrRule::e233, o, static_cast<std::uint8_t>(count_case + d));
      const std::int64_t step = step_elems(x, d);
      if (step < arch_->ap_step_min.as_int() || step > arch_->ap_step_max.as_int())
        add(InstrRule::e233, o, static_cast<std::uint8_t>(step_case + d));
    }
  }
  bool starts_well(const DimRange& r, ir::Range count, std::int64_t partitions) const {
    if (r.first_lo == r.first_hi) return start_is_legal(r.first_lo, may_ ? count.hi : count.lo, partitions);
    if (may_) return false;
    // Some start in the interval must suit the smallest count.
    const std::int64_t grain = count.lo > partitions / 2   ? partitions
                               : count.lo > partitions / 4 ? partitions / 2
                                                           : partitions / 4;
    return ir::floordiv(r.first_hi, grain) * grain >= r.first_lo;
  }
  static std::int64_t step_elems(const Operand& x, std::uint8_t d) {
    const ir::Dim& dim = x.view->dims[d];
    return ir::detail::mul_far(x.buffer->axis_stride(dim.axis), dim.step);
  }
  std::int64_t elems_limit(const Operand& x) const {
    return (x.in(ir::Space::psum) ? arch_->psum_free_elems_max : arch_->sbuf_free_elems_max).as_int();
  }

  std::string operand_name(std::uint8_t o) const;
  std::string with_elems(std::uint8_t o) const;
  std::string with_partitions(std::uint8_t o) const;
  std::string with_shape(std::uint8_t o) const;
  std::string with_dtype(std::uint8_t o) const;
  std::string with_space(std::uint8_t o) const;
  std::string on_engine() const;

  const ir::Program* program_;
  const ir::Instr* instr_;
  const Arch* target_;  // null: rules of engines and generations do not apply
  const Arch* arch_;    // whose limits hold
  bool exists_ = true, always_exists_ = true;
  bool may_ = false;
  Findings found_;
  std::array<Operand, std::tuple_size_v<decltype(ir::OpInfo::operands)>> operands_;
};

}  // namespace detail

}  // namespace nki::inline v0_1::check
