#pragma once

#include <nki/check/rules.hpp>
#include <nki/exec/arguments.hpp>
#include <nki/exec/bits.hpp>
#include <nki/exec/convert.hpp>
#include <nki/exec/move.hpp>
#include <nki/exec/product.hpp>
#include <nki/exec/region.hpp>
#include <nki/exec/report.hpp>
#include <nki/exec/tensor.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nki::inline v0_1::exec::detail {

/// Runs a program in order, one instruction at a time. What makes it fast: tiles lie compact in host memory, copies go
/// by stretches of consecutive elements, and the operands of nc_matmul keep their f32 form until they are overwritten.
class Executor {
 public:
  Executor(const ir::Program& p, std::span<const HostTensor> inputs, std::span<HostTensor> outputs, bool shadow)
      : program_(p), at_(p), shadow_(shadow), storage_(p.buffers.size()) {
    std::size_t input = 0, output = 0;
    for (std::size_t i = 0; i < p.buffers.size(); ++i) {
      const ir::Buffer& b = p.buffers[i];
      storage_[i].slots.resize(static_cast<std::size_t>(b.slots));
      switch (b.kind) {
        case ir::BufferKind::input:
          storage_[i].slots[0].data = inputs[input++].data.data();
          continue;
        case ir::BufferKind::output: {
          HostTensor& t = outputs[output++];
          poison(t);
          storage_[i].slots[0].data = storage_[i].slots[0].target = t.data.data();
          break;
        }
        case ir::BufferKind::tile:
          make_tile(storage_[i], b);
          break;
      }
      if (shadow_)
        for (Slot& s : storage_[i].slots) s.defined.resize(b.elems(0));
    }
    for (const ir::Instr& in : p.instrs) {
      if (in.op != ir::Opcode::nc_matmul) continue;
      const ir::BufferId dst = p.views[p.operand(in, 0)].buffer;
      for (Slot& s : storage_[dst].slots)
        if (s.summed.size() == 0) s.summed.resize(p.buffers[dst].elems(0));
    }
  }

  Report run() {
    for (;;) {
      switch (at_.next()) {
        case ir::Cursor::Event::instr:
          ++report_.instructions;
          execute(at_.id());
          break;
        case ir::Cursor::Event::alloc:
          start_instance(current_slot(at_.id()));
          break;
        case ir::Cursor::Event::end:
          count_unwritten();
          return std::move(report_);
        default:
          break;
      }
    }
  }

 private:
  struct Slot {
    const std::byte* data = nullptr;
    std::byte* target = nullptr;  // null for inputs, all of which is defined
    Bits defined;
    Bits summed;  // written by an nc_matmul
    ir::InstrId last_writer = ir::no_id;
    std::vector<Strips> strips;  // f32 forms of parts that nc_matmul has read as moving operand
  };
  struct Storage {
    std::unique_ptr<std::byte[]> memory;
    std::vector<Slot> slots;
  };
  struct Operand {
    Slot* slot = nullptr;
    const ir::Buffer* buffer = nullptr;
    Region region;
    int index = 0;

    DType dtype() const { return buffer->dtype; }
    int size() const { return bytes(buffer->dtype); }
    std::string spell() const {
      return "'" + buffer->name + "' " + spell_shape(region.count.data(), static_cast<std::size_t>(region.rank));
    }
  };

  void make_tile(Storage& s, const ir::Buffer& b) const {
    const auto slot_bytes = static_cast<std::size_t>(b.elems(0) * bytes(b.dtype));
    s.memory = std::make_unique_for_overwrite<std::byte[]>(slot_bytes * s.slots.size());
    // With a shadow, undefined elements get their value when they are read.
    if (!shadow_) std::memset(s.memory.get(), 0xFF, slot_bytes * s.slots.size());
    for (std::size_t i = 0; i < s.slots.size(); ++i)
      s.slots[i].data = s.slots[i].target = s.memory.get() + i * slot_bytes;
  }

  Slot& current_slot(ir::BufferId b) { return storage_[b].slots[static_cast<std::size_t>(at_.slot(b))]; }

  static void start_instance(Slot& s) {
    s.defined.clear();
    s.summed.clear();
    s.last_writer = ir::no_id;
    for (Strips& x : s.strips) x.valid = false;
  }

  void execute(ir::InstrId id) {
    instr_ = id;
    const ir::Instr& in = program_.instrs[id];
    std::array<Operand, 4> o;
    for (int i = 0; i < in.n_operands; ++i) {
      const ir::ViewId v = program_.operand(in, i);
      if (v == ir::no_id) continue;  // an optional operand
      const ir::BufferId b = program_.views[v].buffer;
      o[static_cast<std::size_t>(i)] = {&current_slot(b), &program_.buffers[b], resolve(program_, at_, in, v), i};
    }
    if (o[0].slot->target == nullptr) refuse_now(NKI_E312, "the input '" + o[0].buffer->name + "' as dst");
    switch (in.op) {
      case ir::Opcode::dma_copy:
        if (o[0].region.elements() != o[1].region.elements()) refuse_now(NKI_E121, spell(o[0], o[1]));
        copy(o[0], o[1]);
        break;
      case ir::Opcode::tensor_copy:
        if (o[0].region.count[0] != o[1].region.count[0] || o[0].region.elements() != o[1].region.elements())
          refuse_now(NKI_E224, spell(o[0], o[1]));
        copy(o[0], o[1]);
        break;
      case ir::Opcode::memset:
        memset(o[0], program_.attr_double(in, 0));
        break;
      case ir::Opcode::nc_transpose:
        transpose(o[0], o[1]);
        break;
      case ir::Opcode::nc_matmul:
        matmul(o[0], o[1], o[2], static_cast<ir::Accumulate>(program_.attr(in, 0)));
        break;
    }
    wrote(o[0]);
  }

  [[noreturn]] void refuse_now(std::string_view rule, std::string got) const {
    refuse_instruction(rule, std::move(got), program_, program_.instrs[instr_]);
  }
  static std::string spell(const Operand& a, const Operand& b) { return a.spell() + " and " + b.spell(); }

  // The shadow.

  /// Notes a read of `o`; undefined elements get the value that they read as.
  void read(const Operand& o) {
    const Slot& s = *o.slot;
    if (!shadow_ || s.target == nullptr || s.defined.all()) return;
    const std::int64_t undefined = o.region.elements() - count(s.defined, o.region);
    if (undefined == 0) return;
    note_undefined(o, undefined);
    give_undefined_values(o);
  }

  static void give_undefined_values(const Operand& o) {
    const Slot& s = *o.slot;
    const std::uint32_t code = undefined_code(o.dtype());
    for_stretches(o.region, [&](std::int64_t first, std::int64_t n, std::int64_t stride) {
      for (std::int64_t i = 0; i < n; ++i)
        if (const std::int64_t at = first + i * stride; !s.defined.test(at))
          store_code(s.target + at * o.size(), code, o.size());
    });
  }

  void note_undefined(const Operand& o, std::int64_t elements) {
    if (report_.undefined_reads == 0)
      report_.first_undefined_read = {
          site_of(program_, instr_),
          ir::info(program_.instrs[instr_].op).operands[static_cast<std::size_t>(o.index)].name, o.buffer->name,
          elements, site_of(program_, o.slot->last_writer)};
    report_.undefined_reads += elements;
  }

  /// Notes a write of all of `o`.
  void wrote(const Operand& o) {
    Slot& s = *o.slot;
    if (shadow_ && !s.defined.all()) mark(s.defined, o.region);
    s.last_writer = instr_;
    for (Strips& x : s.strips)
      if (x.valid && x.region.box.meets(o.region.box)) x.valid = false;
  }

  static void mark(Bits& bits, const Region& r) {
    for_stretches(r, [&](std::int64_t first, std::int64_t n, std::int64_t stride) {
      if (stride == 1) return bits.set(first, n);
      for (std::int64_t i = 0; i < n; ++i) bits.set(first + i * stride);
    });
  }
  static std::int64_t count(const Bits& bits, const Region& r) {
    std::int64_t found = 0;
    for_stretches(r, [&](std::int64_t first, std::int64_t n, std::int64_t stride) {
      if (stride == 1) {
        found += bits.count(first, n);
      } else {
        for (std::int64_t i = 0; i < n; ++i) found += bits.test(first + i * stride) ? 1 : 0;
      }
    });
    return found;
  }

  void count_unwritten() {
    if (!shadow_) return;
    for (std::size_t i = 0; i < storage_.size(); ++i) {
      const ir::Buffer& b = program_.buffers[i];
      const Bits& defined = storage_[i].slots[0].defined;
      if (b.kind != ir::BufferKind::output || defined.all()) continue;
      Unwritten u{b.name, defined.size() - defined.count(), 0};
      while (defined.test(u.first)) ++u.first;
      report_.unwritten_elements += u.elements;
      report_.unwritten.push_back(std::move(u));
    }
  }

  // The instructions. Each reads all of its operands before it writes.

  void copy(const Operand& dst, const Operand& src) {
    read(src);
    if (dst.slot != src.slot || !dst.region.box.meets(src.region.box)) {
      move_region(dst.slot->target, dst.dtype(), dst.region, src.slot->data, src.dtype(), src.region);
      return;
    }
    const Region dense = Region::row(src.region.elements());
    scratch_.resize(static_cast<std::size_t>(src.region.elements() * src.size()));
    move_region(scratch_.data(), src.dtype(), dense, src.slot->data, src.dtype(), src.region);
    move_region(dst.slot->target, dst.dtype(), dst.region, scratch_.data(), src.dtype(), dense);
  }

  void memset(const Operand& dst, double value) {
    const std::uint32_t code = code_of_number(value, dst.dtype());
    for_stretches(dst.region, [&](std::int64_t first, std::int64_t n, std::int64_t stride) {
      std::byte* const to = dst.slot->target + first * dst.size();
      if (stride == 1) return store_codes(to, code, dst.size(), n);
      for (std::int64_t i = 0; i < n; ++i) store_code(to + i * stride * dst.size(), code, dst.size());
    });
  }

  void transpose(const Operand& dst, const Operand& data) {
    if (dst.dtype() != data.dtype()) refuse_now(NKI_E221, spell(dst, data));
    if (dst.region.count[0] != data.region.elements(1) || data.region.count[0] != dst.region.elements(1))
      refuse_now(NKI_E223, spell(dst, data));
    read(data);
    if (dst.slot != data.slot || !dst.region.box.meets(data.region.box)) {
      transpose_region(dst.slot->target, dst.region, data.slot->data, data.region, dst.size());
      return;
    }
    Region dense = Region::row(data.region.elements());
    scratch_.resize(static_cast<std::size_t>(data.region.elements() * data.size()));
    move_region(scratch_.data(), data.dtype(), dense, data.slot->data, data.dtype(), data.region);
    dense.rank = 2;
    dense.count = {data.region.count[0], data.region.elements(1)};
    dense.stride = {data.region.elements(1), 1};
    transpose_region(dst.slot->target, dst.region, scratch_.data(), dense, dst.size());
  }

  void matmul(const Operand& dst, const Operand& stationary, const Operand& moving, ir::Accumulate accumulate) {
    const Region& d = dst.region;
    const std::int64_t rows = stationary.region.elements(1), columns = moving.region.elements(1);
    if (stationary.region.count[0] != moving.region.count[0]) refuse_now(NKI_E204, spell(stationary, moving));
    if (d.count[0] != rows || d.elements(1) != columns)
      refuse_now(NKI_E207, dst.spell() + ", " + spell(stationary, moving));
    read(stationary);
    read(moving);

    if (strip_floats_ > strip_floats_limit) drop_strips();
    const Strips& right = strips(moving);

    Bits& summed = dst.slot->summed;
    const std::int64_t all = rows * columns, before = count(summed, d);
    if (accumulate == ir::Accumulate::add && before < all && shadow_) {
      note_undefined(dst, all - before);
      give_undefined_values(dst);
    }
    const bool adds = accumulate == ir::Accumulate::add || (accumulate == ir::Accumulate::auto_ && before > 0);
    const bool mixed = accumulate == ir::Accumulate::auto_ && before > 0 && before < all;
    // The stationary operand is read while sums are written.
    const bool direct = dst.dtype() == DType::f32 && dst.slot != stationary.slot && d.is_row(1) &&
                        (d.stride[0] >= columns || rows == 1);
    if (direct && !mixed) {
      multiplier_.multiply(stationary.slot->data, stationary.dtype(), stationary.region, right,
                           reinterpret_cast<float*>(dst.slot->target) + d.offset, d.stride[0], adds);
    } else {
      multiply_by_element(dst, stationary, right, accumulate);
    }
    mark(summed, d);
  }

  /// The product where the destination is no rectangle of consecutive f32 elements, or meets old sums in a part only.
  void multiply_by_element(const Operand& dst, const Operand& stationary, const Strips& right,
                           ir::Accumulate accumulate) {
    std::vector<float> sums(static_cast<std::size_t>(dst.region.elements()));
    multiplier_.multiply(stationary.slot->data, stationary.dtype(), stationary.region, right, sums.data(), right.extent,
                         false);
    Bits& summed = dst.slot->summed;
    const float* sum = sums.data();
    for_stretches(dst.region, [&](std::int64_t first, std::int64_t n, std::int64_t stride) {
      for (std::int64_t i = 0; i < n; ++i, ++sum) {
        const std::int64_t at = first + i * stride;
        std::byte* const place = dst.slot->target + at * dst.size();
        const bool adds = accumulate == ir::Accumulate::add || (accumulate == ir::Accumulate::auto_ && summed.test(at));
        const float old = adds ? value_of(load_code(place, dst.size()), dst.dtype()) : 0.0F;
        store_code(place, code_of(adds ? old + *sum : *sum, dst.dtype()), dst.size());
        summed.set(at);
      }
    });
  }

  /// The f32 form of a moving operand, made at its first use.
  const Strips& strips(const Operand& o) {
    Strips* free = nullptr;
    for (Strips& x : o.slot->strips) {
      if (!x.valid) {
        free = &x;
      } else if (x.region == o.region) {
        return x;
      }
    }
    if (free == nullptr) free = &o.slot->strips.emplace_back();
    const std::size_t had = free->values.size();
    multiplier_.cut(*free, o.slot->data, o.dtype(), o.region);
    if (free->values.size() > had) strip_floats_ += free->values.size() - had;
    return *free;
  }

  void drop_strips() {
    for (Storage& s : storage_)
      for (Slot& slot : s.slots) slot.strips.clear();
    strip_floats_ = 0;
  }

  // All of SBUF as f32 is 48 MiB; programs that read it through many overlapping views need an end.
  static constexpr std::size_t strip_floats_limit = std::size_t{1} << 26;

  const ir::Program& program_;
  ir::Cursor at_;
  bool shadow_;
  std::vector<Storage> storage_;
  Multiplier multiplier_;
  std::vector<std::byte> scratch_;
  std::size_t strip_floats_ = 0;
  ir::InstrId instr_ = ir::no_id;
  Report report_;
};

}  // namespace nki::inline v0_1::exec::detail
