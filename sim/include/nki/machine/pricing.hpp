#pragma once

#include <nki/arch.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>
#include <nki/machine/cost.hpp>
#include <nki/machine/params.hpp>
#include <nki/machine/program.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace nki::inline v0_1::machine {

/// Costs of instructions, each shape priced once: two instructions of one opcode whose operands have the same layout and
/// counts share a row.
class Pricing {
 public:
  struct Priced {
    std::uint32_t work = 0;
    std::uint32_t passes = 1;
  };

  Pricing(const ir::Program& p, const Arch& a, const Params& c)
      : program_(&p), arch_(&a), params_(&c), forms_(p.views.size()), slots_(64) {
    const std::vector<ir::Range> ranges = ir::expression_ranges(p);
    for (ir::ViewId id = 0; id < p.views.size(); ++id) {
      const ir::View& v = p.views[id];
      const ir::Buffer& b = p.buffers[v.buffer];
      Form& f = forms_[id];
      f.layout = mix(static_cast<std::uint64_t>(b.space) << 8 | static_cast<std::uint64_t>(b.dtype), v.rank);
      f.begin = static_cast<std::uint32_t>(counts_.size());
      for (int d = 0; d < v.rank; ++d) {
        const ir::Dim& dim = v.dims[static_cast<std::size_t>(d)];
        f.layout = mix(f.layout, static_cast<std::uint64_t>(dim.step * b.axis_stride(dim.axis)));
        f.layout = mix(f.layout, std::uint64_t{dim.axis} << 1 | (dim.dropped ? 1u : 0u));
        if (ranges[dim.count].is_point())
          f.layout = mix(f.layout, static_cast<std::uint64_t>(ranges[dim.count].lo));
        else
          counts_.push_back(dim.count);
      }
      f.count = static_cast<std::uint32_t>(counts_.size()) - f.begin;
    }
  }

  const std::vector<Work>& works() const { return works_; }

  /// The cost of an instruction at the cursor.
  Priced price(const ir::Cursor& cursor, const ir::Instr& in) {
    std::uint64_t h = mix(static_cast<std::uint64_t>(in.op) << 8 | static_cast<std::uint64_t>(in.engine), in.attrs);
    for (int o = 0; o < in.n_operands; ++o) {
      const Form& f = forms_[program_->operand(in, o)];
      h = mix(h, f.layout);
      for (std::uint32_t i = 0; i < f.count; ++i)
        h = mix(h, static_cast<std::uint64_t>(cursor.value(counts_[f.begin + i])));
    }
    std::size_t at = h & (slots_.size() - 1);
    while (slots_[at].used && slots_[at].hash != h) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at].used) return slots_[at].priced;
    slots_[at] = {true, h, add(cursor, in)};
    const Priced out = slots_[at].priced;
    if (++used_ * 2 > slots_.size()) grow();
    return out;
  }

  /// The row of a cost that no recorded instruction has.
  std::uint32_t intern(const Work& w) {
    for (std::uint32_t i = 0; i < works_.size(); ++i)
      if (works_[i] == w) return i;
    works_.push_back(w);
    return static_cast<std::uint32_t>(works_.size() - 1);
  }

 private:
  struct Form {
    std::uint64_t layout = 0;  ///< of the strides and the constant counts
    std::uint32_t begin = 0, count = 0;
  };
  struct Slot {
    bool used = false;
    std::uint64_t hash = 0;
    Priced priced;
  };

  static constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15ull;
    return h ^ (h >> 32);
  }

  Priced add(const ir::Cursor& cursor, const ir::Instr& in) {
    std::array<Shape, 4> shapes;
    for (int o = 0; o < in.n_operands; ++o) {
      const ir::View& v = program_->views[program_->operand(in, o)];
      Shape& s = shapes[static_cast<std::size_t>(o)];
      s.view = &v;
      s.buffer = &program_->buffers[v.buffer];
      for (int d = 0; d < v.rank; ++d) s.counts[d] = cursor.value(v.dims[static_cast<std::size_t>(d)].count);
    }
    return {intern(work_of(*arch_, *params_, *program_, in, shapes.data())),
            static_cast<std::uint32_t>(passes_of(in, shapes.data()))};
  }
  void grow() {
    std::vector<Slot> bigger(slots_.size() * 4);
    for (const Slot& s : slots_) {
      if (!s.used) continue;
      std::size_t at = s.hash & (bigger.size() - 1);
      while (bigger[at].used) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = s;
    }
    slots_.swap(bigger);
  }

  const ir::Program* program_;
  const Arch* arch_;
  const Params* params_;
  std::vector<Form> forms_;
  std::vector<ir::ExprId> counts_;
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  std::vector<Work> works_;
};

}  // namespace nki::inline v0_1::machine
