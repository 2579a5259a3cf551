#pragma once

#include <nki/arch.hpp>
#include <nki/check/report.hpp>
#include <nki/check/rules.hpp>
#include <nki/check/text.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nki::inline v0_1::check::detail {

/// Whether all extents of all operands keep a law.
template <class Law>
bool for_all_counts(const ir::Program& p, const ir::Instr& in, Law&& law) {
  for (int o = 0; o < in.n_operands; ++o) {
    const ir::View& v = p.views[p.operand(in, o)];
    for (std::uint8_t d = 0; d < v.rank; ++d)
      if (!law(v.dims[d].count)) return false;
  }
  return true;
}

/// What tiles hold, tile by tile: reads of what nothing wrote (E303), accumulation on what nothing started (E211), PSUM
/// read twice (W502), outputs that nothing writes (W504). It is told of the nodes in their order; where that leaves
/// open whether a write comes before a read, `finish` runs through the iterations.
class Contents {
 public:
  Contents(const ir::Program& p, const Arch& arch, const std::vector<ir::Range>& ranges, Reporter& report)
      : program_(&p), arch_(&arch), ranges_(&ranges), report_(&report), tiles_(p.buffers.size()) {}

  /// A new instance, whose uses end at a node.
  void alloc(ir::BufferId b, std::uint32_t scope_end) { tiles_[b].reset(scope_end); }

  /// An instruction; `unsure_end` is the end of the innermost loop around it that may run zero times, or no_id.
  void run(ir::InstrId id, std::uint32_t node, bool always_exists, std::uint32_t unsure_end) {
    const ir::Program& p = *program_;
    const ir::Instr& in = p.instrs[id];
    const ir::OpInfo& op = ir::info(in.op);
    for (int o = 0; o < in.n_operands; ++o) {
      const ir::ViewId view = p.operand(in, o);
      const ir::Buffer& b = p.buffers[p.views[view].buffer];
      Tile& t = tiles_[p.views[view].buffer];
      if (b.kind != ir::BufferKind::tile) continue;
      if (op.operands[static_cast<std::size_t>(o)].access != ir::Access::read) {
        if (in.op == ir::Opcode::nc_matmul) accumulation(t, in, node);
        continue;
      }
      if (!t.written && !any_implied(t.writes, in, node)) walk_needed_ = true;
      if (b.space == ir::Space::psum) second_reader(t, id, view);
    }
    for (int o = 0; o < in.n_operands; ++o)
      if (op.operands[static_cast<std::size_t>(o)].access != ir::Access::read)
        add_write(p.views[p.operand(in, o)].buffer, {id, unsure_end}, always_exists);
  }

  void finish() {
    if (walk_needed_) walk();
    for (ir::BufferId b = 0; b < program_->buffers.size(); ++b) {
      const ir::Buffer& buffer = program_->buffers[b];
      if (buffer.kind == ir::BufferKind::output && !tiles_[b].written)
        report_->warn(NKI_W504, "output " + quoted(buffer.name) + " that nothing writes",
                      "store the result, or take the argument away", buffer.loc);
    }
  }

 private:
  /// An instruction that wrote, and the end of the innermost loop around it that may not run.
  struct Write {
    ir::InstrId instr = 0;
    std::uint32_t unsure_end = 0;
  };
  template <std::size_t N>
  struct Writes {
    std::array<Write, N> list;
    std::uint32_t count = 0;
    void add(Write w) {
      if (count < N) list[count++] = w;
    }
    const Write* begin() const { return list.data(); }
    const Write* end() const { return list.data() + count; }
  };
  /// What the nodes so far did to the current instance of a tile. The lists keep their first entries only: they are
  /// there to save a walk.
  struct Tile {
    std::uint32_t scope_end = ir::no_id;
    bool written = false, multiplied = false;  // surely, by anything and by nc_matmul
    Writes<6> writes, multiplies;              // those that may not happen
    Writes<4> fills;                           // of PSUM by other instructions, since the last nc_matmul
    Writes<4> readers;                         // of PSUM, since the last write

    void reset(std::uint32_t scope) {
      scope_end = scope;
      written = multiplied = false;
      writes.count = multiplies.count = fills.count = readers.count = 0;
    }
  };

  ir::Range range(ir::ExprId e) const { return (*ranges_)[e]; }
  bool accumulates(const ir::Instr& in) const {
    return in.op == ir::Opcode::nc_matmul && accumulate(in) == ir::Accumulate::add;
  }
  ir::Accumulate accumulate(const ir::Instr& in) const { return static_cast<ir::Accumulate>(program_->attr(in, 0)); }
  /// Before NC-v4 only nc_matmul starts an accumulation.
  bool any_write_starts_accumulation() const { return arch_->generation >= 4; }

  /// True if an earlier write happened wherever the instruction `in` at `node` happens.
  bool implied(const Write& w, const ir::Instr& in, std::uint32_t node) const {
    if (node >= w.unsure_end) return false;
    const ir::Instr& writer = program_->instrs[w.instr];
    return for_all_counts(*program_, writer, [&](ir::ExprId c) {
      return range(c).lo >= 1 || !for_all_counts(*program_, in, [&](ir::ExprId other) { return other != c; });
    });
  }
  template <std::size_t N>
  bool any_implied(const Writes<N>& writes, const ir::Instr& in, std::uint32_t node) const {
    for (const Write& w : writes)
      if (implied(w, in, node)) return true;
    return false;
  }

  void accumulation(const Tile& t, const ir::Instr& in, std::uint32_t node) {
    if (accumulates(in) && (any_write_starts_accumulation() ? !t.written && !any_implied(t.writes, in, node)
                                                            : !t.multiplied && !any_implied(t.multiplies, in, node)))
      walk_needed_ = true;
    if (accumulate(in) != ir::Accumulate::overwrite && !any_write_starts_accumulation()) started_by_a_fill(t, in, node);
  }

  void add_write(ir::BufferId b, Write w, bool always_exists) {
    Tile& t = tiles_[b];
    const bool multiplies = program_->instrs[w.instr].op == ir::Opcode::nc_matmul;
    // An output has no scope; that anything may write it is enough.
    if (program_->buffers[b].kind != ir::BufferKind::tile || (always_exists && t.scope_end <= w.unsure_end)) {
      t.written = true;
      t.multiplied = t.multiplied || multiplies;
    } else {
      t.writes.add(w);
      if (multiplies) t.multiplies.add(w);
    }
    t.readers.count = 0;
    if (multiplies)
      t.fills.count = 0;
    else if (program_->buffers[b].space == ir::Space::psum)
      t.fills.add(w);
  }

  void started_by_a_fill(const Tile& t, const ir::Instr& in, std::uint32_t node) {
    for (const Write& w : t.fills) {
      const ir::Instr& fill = program_->instrs[w.instr];
      if (!implied(w, in, node) || !overlap(program_->operand(fill, 0), program_->operand(in, 0))) continue;
      const ir::Buffer& b = program_->buffers[program_->views[program_->operand(in, 0)].buffer];
      report_->fail(NKI_E211,
                    std::string("accumulate=") + ir::name(accumulate(in)) + " on dst " + quoted(b.name) + ", which " +
                        ir::info(fill.op).name + " wrote (" + report_->place(fill.loc) + ")",
                    "what nc_matmul wrote",
                    std::string("leave that ") + ir::info(fill.op).name + " out, or pass nisa::Accumulate::overwrite",
                    in.loc);
    }
  }
  /// Whether two views of one buffer share elements, whatever the indices.
  bool overlap(ir::ViewId id_a, ir::ViewId id_b) const {
    if (id_a == id_b) return true;
    const ir::View &a = program_->views[id_a], &b = program_->views[id_b];
    for (std::uint8_t axis = 0; axis < program_->buffers[a.buffer].rank; ++axis) {
      const ir::Range x = surely_visited(a, axis), y = surely_visited(b, axis);
      if ((x.lo > y.lo ? x.lo : y.lo) > (x.hi < y.hi ? x.hi : y.hi)) return false;
    }
    return true;
  }
  ir::Range surely_visited(const ir::View& v, std::uint8_t axis) const {
    ir::Range out{0, 0};
    bool walked = false;
    for (std::uint8_t d = 0; d < v.rank; ++d) {
      const ir::Dim& dim = v.dims[d];
      if (dim.axis != axis) continue;
      if (walked || dim.step != 1) return {1, 0};
      out = {range(dim.start).hi, ir::detail::add_far(range(dim.start).lo, range(dim.count).lo - 1)};
      walked = true;
    }
    return out;
  }

  void second_reader(Tile& t, ir::InstrId id, ir::ViewId view) {
    for (const Write& r : t.readers) {
      const ir::Instr& first = program_->instrs[r.instr];
      for (int o = 0; o < first.n_operands; ++o)
        if (program_->operand(first, o) == view)
          report_->warn(NKI_W502,
                        quoted(program_->buffers[program_->views[view].buffer].name) + " read again after " +
                            report_->place(first.loc),
                        "copy it to SBUF with tensor_copy and read that", program_->instrs[id].loc);
    }
    t.readers.add({id, 0});
  }

  /// Runs through the program, tile by tile, where the order of the nodes leaves open whether a read has a write before
  /// it. It gives up, without a violation, after so many steps.
  [[gnu::cold]] void walk() {
    const ir::Program& p = *program_;
    enum : std::uint8_t { written = 1, multiplied = 2 };
    std::vector<std::uint8_t> state(p.buffers.size(), 0);
    ir::Cursor cursor(p);
    for (int steps = 0; steps < 50'000; ++steps) {
      const ir::Cursor::Event event = cursor.next();
      if (event == ir::Cursor::Event::end) return;
      if (event == ir::Cursor::Event::alloc) state[cursor.id()] = 0;
      if (event != ir::Cursor::Event::instr) continue;
      const ir::Instr& in = p.instrs[cursor.id()];
      const ir::OpInfo& op = ir::info(in.op);
      const auto at = [&] {
        return report_->iteration(cursor.node(), [&](ir::LoopId l) { return cursor.loop_index(l); });
      };
      for (int o = 0; o < in.n_operands; ++o) {
        const ir::BufferId id = p.views[p.operand(in, o)].buffer;
        const ir::Buffer& b = p.buffers[id];
        const OperandName name{op.operands[static_cast<std::size_t>(o)].name, &b.name};
        if (b.kind != ir::BufferKind::tile) continue;
        if (op.operands[static_cast<std::size_t>(o)].access == ir::Access::read) {
          if ((state[id] & written) == 0)
            report_->fail(
                NKI_E303,
                name.spell() + " of " + op.name + at() + ", of which nothing is written since " + report_->place(b.loc),
                {}, "write the tile first; each run of its declaration starts it anew", in.loc);
        } else if (accumulates(in) && (state[id] & (any_write_starts_accumulation() ? written : multiplied)) == 0) {
          report_->fail(
              NKI_E211,
              "accumulate=add on " + name.spell() + at() + ", which no nc_matmul wrote since " + report_->place(b.loc),
              "after an nc_matmul", "pass nisa::Accumulate::auto_, which overwrites at first", in.loc);
        }
      }
      for (int o = 0; o < in.n_operands; ++o)
        if (op.operands[static_cast<std::size_t>(o)].access != ir::Access::read)
          state[p.views[p.operand(in, o)].buffer] |=
              static_cast<std::uint8_t>(in.op == ir::Opcode::nc_matmul ? written | multiplied : written);
    }
  }
  struct OperandName {
    const char* operand;
    const std::string* buffer;
    std::string spell() const { return std::string(operand) + " " + quoted(*buffer); }
  };

  const ir::Program* program_;
  const Arch* arch_;
  const std::vector<ir::Range>* ranges_;
  Reporter* report_;
  std::vector<Tile> tiles_;
  bool walk_needed_ = false;
};

}  // namespace nki::inline v0_1::check::detail
