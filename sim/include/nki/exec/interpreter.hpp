#pragma once

#include <nki/check/rules.hpp>
#include <nki/exec/arguments.hpp>
#include <nki/exec/convert.hpp>
#include <nki/exec/report.hpp>
#include <nki/exec/tensor.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// docs/ir.md as code, element by element: the oracle that everything faster is tested against. It shares the scalar
/// conversions and the report with the executor, and nothing else.
namespace nki::inline v0_1::exec {

namespace detail {

class Interpreter {
 public:
  Interpreter(const ir::Program& p, std::span<const HostTensor> inputs, std::span<HostTensor> outputs)
      : program_(p), at_(p), outputs_(outputs) {
    std::size_t input = 0, output = 0;
    for (const ir::Buffer& b : p.buffers) {
      // Every element of every slot starts undefined.
      const Slot fresh{std::vector<Element>(static_cast<std::size_t>(b.elems(0))), ir::no_id};
      buffers_.emplace_back(static_cast<std::size_t>(b.slots), fresh);
      if (b.kind == ir::BufferKind::input) {
        const std::byte* from = inputs[input++].data.data();
        for (Element& e : buffers_.back()[0].elements) {
          e = {load_code(from, bytes(b.dtype)), true, false};
          from += bytes(b.dtype);
        }
      }
      if (b.kind == ir::BufferKind::output) poison(outputs[output++]);
    }
  }

  Report run() {
    for (auto event = at_.next(); event != ir::Cursor::Event::end; event = at_.next()) {
      if (event == ir::Cursor::Event::alloc) {
        Slot& s = slot(at_.id());
        s = {std::vector<Element>(s.elements.size()), ir::no_id};
      }
      if (event == ir::Cursor::Event::instr) {
        ++report_.instructions;
        instr_ = at_.id();
        execute(program_.instrs[instr_]);
      }
    }
    deliver();
    return std::move(report_);
  }

 private:
  struct Element {
    std::uint32_t code = 0;
    bool defined = false;
    bool summed = false;  // written by an nc_matmul
  };
  struct Slot {
    std::vector<Element> elements;
    ir::InstrId last_writer = ir::no_id;
  };

  /// An operand: the elements it visits, in row-major order of the dimensions.
  struct Operand {
    Slot* slot = nullptr;
    DType dtype = DType::f32;
    bool is_input = false;
    std::vector<std::size_t> places;
    std::size_t partitions = 0;  // positions of the first dimension
    std::string name, buffer;

    std::size_t free() const { return places.size() / partitions; }
  };

  /// The slot of the instance that was started last.
  Slot& slot(ir::BufferId b) { return buffers_[b][static_cast<std::size_t>(at_.slot(b))]; }

  Operand operand(const ir::Instr& in, int index) {
    const ir::View& v = program_.views[program_.operand(in, index)];
    const ir::Buffer& b = program_.buffers[v.buffer];
    Operand o{&slot(v.buffer),
              b.dtype,
              b.kind == ir::BufferKind::input,
              {},
              static_cast<std::size_t>(at_.value(v.dims[0].count)),
              ir::info(in.op).operands[static_cast<std::size_t>(index)].name,
              b.name};
    std::int64_t position[ir::max_rank] = {};
    visit(in, v, b, 0, position, o.places);
    return o;
  }

  void visit(const ir::Instr& in, const ir::View& v, const ir::Buffer& b, std::size_t d, std::int64_t* position,
             std::vector<std::size_t>& places) {
    if (d == v.rank) {
      std::int64_t place = 0;
      for (std::size_t axis = 0; axis < b.rank; ++axis) {
        if (position[axis] < 0 || position[axis] >= b.shape[axis])
          refuse_instruction(NKI_E231, "a position outside '" + b.name + "'", program_, in);
        place = place * b.shape[axis] + position[axis];
      }
      places.push_back(static_cast<std::size_t>(place));
      return;
    }
    const ir::Dim& dim = v.dims[d];
    for (std::int64_t i = 0; i < at_.value(dim.count); ++i) {
      const std::int64_t step = at_.value(dim.start) + dim.step * i;
      position[dim.axis] += step;
      visit(in, v, b, d + 1, position, places);
      position[dim.axis] -= step;
    }
  }

  void execute(const ir::Instr& in) {
    const Operand dst = operand(in, 0);
    if (dst.is_input) refuse_instruction(NKI_E312, "an input as dst", program_, in);
    switch (in.op) {
      case ir::Opcode::dma_copy:
      case ir::Opcode::tensor_copy: {
        const Operand src = operand(in, 1);
        const bool is_dma = in.op == ir::Opcode::dma_copy;
        require(in, dst.places.size() == src.places.size(), is_dma ? NKI_E121 : NKI_E224);
        require(in, is_dma || dst.partitions == src.partitions, NKI_E224);
        const std::vector<std::uint32_t> codes = read(src);
        for (std::size_t i = 0; i < codes.size(); ++i)
          write(dst, i, dst.dtype == src.dtype ? codes[i] : code_of(value_of(codes[i], src.dtype), dst.dtype));
        break;
      }
      case ir::Opcode::memset:
        for (std::size_t i = 0; i < dst.places.size(); ++i)
          write(dst, i, code_of_number(program_.attr_double(in, 0), dst.dtype));
        break;
      case ir::Opcode::nc_transpose: {
        const Operand data = operand(in, 1);
        require(in, dst.dtype == data.dtype, NKI_E221);
        require(in, dst.partitions == data.free() && data.partitions == dst.free(), NKI_E223);
        const std::vector<std::uint32_t> codes = read(data);
        for (std::size_t f = 0; f < dst.partitions; ++f)
          for (std::size_t p = 0; p < data.partitions; ++p)
            write(dst, f * data.partitions + p, codes[p * dst.partitions + f]);
        break;
      }
      case ir::Opcode::nc_matmul:
        matmul(in, dst, operand(in, 1), operand(in, 2), static_cast<ir::Accumulate>(program_.attr(in, 0)));
        break;
    }
  }

  void matmul(const ir::Instr& in, const Operand& dst, const Operand& stationary, const Operand& moving,
              ir::Accumulate accumulate) {
    const std::size_t depth = stationary.partitions, rows = stationary.free(), columns = moving.free();
    require(in, depth == moving.partitions, NKI_E204);
    require(in, dst.partitions == rows && dst.free() == columns, NKI_E207);
    const std::vector<float> a = values(stationary), b = values(moving);
    if (accumulate == ir::Accumulate::add) read_sums(dst);
    for (std::size_t m = 0; m < rows; ++m)
      for (std::size_t n = 0; n < columns; ++n) {
        float sum = 0.0F;
        for (std::size_t k = 0; k < depth; ++k) sum += a[k * rows + m] * b[k * columns + n];
        const std::size_t i = m * columns + n;
        Element& e = dst.slot->elements[dst.places[i]];
        const bool adds = accumulate == ir::Accumulate::add || (accumulate == ir::Accumulate::auto_ && e.summed);
        if (adds) sum = value_of(code(e, dst.dtype), dst.dtype) + sum;
        write(dst, i, code_of(sum, dst.dtype));
        e.summed = true;
      }
  }

  void require(const ir::Instr& in, bool holds, std::string_view rule) const {
    if (!holds) refuse_instruction(rule, "operands that do not fit each other", program_, in);
  }

  static std::uint32_t code(const Element& e, DType dtype) { return e.defined ? e.code : undefined_code(dtype); }

  std::vector<std::uint32_t> read(const Operand& o) {
    std::vector<std::uint32_t> codes;
    std::int64_t undefined = 0;
    for (std::size_t place : o.places) {
      const Element& e = o.slot->elements[place];
      undefined += e.defined ? 0 : 1;
      codes.push_back(code(e, o.dtype));
    }
    note_undefined(o, undefined);
    return codes;
  }

  std::vector<float> values(const Operand& o) {
    std::vector<float> list;
    for (std::uint32_t c : read(o)) list.push_back(value_of(c, o.dtype));
    return list;
  }

  /// accumulate=add reads what an earlier nc_matmul has written, and nothing else.
  void read_sums(const Operand& dst) {
    std::int64_t undefined = 0;
    for (std::size_t place : dst.places) undefined += dst.slot->elements[place].summed ? 0 : 1;
    note_undefined(dst, undefined);
  }

  void note_undefined(const Operand& o, std::int64_t elements) {
    if (elements == 0) return;
    if (report_.undefined_reads == 0)
      report_.first_undefined_read = {site_of(program_, instr_), o.name, o.buffer, elements,
                                      site_of(program_, o.slot->last_writer)};
    report_.undefined_reads += elements;
  }

  /// Writing defines.
  void write(const Operand& o, std::size_t i, std::uint32_t new_code) {
    Element& e = o.slot->elements[o.places[i]];
    e.code = new_code;
    e.defined = true;
    o.slot->last_writer = instr_;
  }

  /// Outputs to the host, where unwritten elements keep the value they start with.
  void deliver() {
    std::size_t output = 0;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const ir::Buffer& b = program_.buffers[i];
      if (b.kind != ir::BufferKind::output) continue;
      std::byte* to = outputs_[output++].data.data();
      Unwritten u{b.name, 0, 0};
      std::int64_t place = 0;
      for (const Element& e : buffers_[i][0].elements) {
        if (e.defined) store_code(to, e.code, bytes(b.dtype));
        if (!e.defined && u.elements++ == 0) u.first = place;
        to += bytes(b.dtype);
        ++place;
      }
      report_.unwritten_elements += u.elements;
      if (u.elements > 0) report_.unwritten.push_back(u);
    }
  }

  const ir::Program& program_;
  ir::Cursor at_;
  std::span<HostTensor> outputs_;
  std::vector<std::vector<Slot>> buffers_;
  ir::InstrId instr_ = ir::no_id;
  Report report_;
};

}  // namespace detail

/// Run a program on host memory exactly as docs/ir.md words it, thousands of times slower than `run`.
///
/// Arguments, effects and errors are those of `run`.
inline Report interpret(const ir::Program& program, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
  detail::check_arguments(program, inputs, outputs);
  return detail::Interpreter(program, inputs, outputs).run();
}

}  // namespace nki::inline v0_1::exec
