#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nki/alloc.hpp>
#include <nki/arch.hpp>
#include <nki/check/instruction.hpp>
#include <nki/check/rules.hpp>
#include <nki/check/search.hpp>
#include <nki/check/structure.hpp>
#include <nki/error.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>

namespace nki::inline v0_1::check {

/// What the rules say about a whole program.
struct Report {
  std::vector<Violation> violations;    ///< one for each rule and kernel line
  std::vector<Violation> warnings;      ///< NKI-W5xx: legal, but likely slow or forgotten
  Capacity capacity;
  std::vector<LiveRange> live_ranges;   ///< of the tiles

  bool ok() const { return violations.empty(); }
  void throw_if_failed() const {
    if (!ok()) throw Error(violations.front());
  }
};

namespace detail {

class Verifier {
 public:
  Verifier(const ir::Program& p, const Arch& arch, Structure& facts, Report& report)
      : program_(&p), arch_(&arch), facts_(&facts), report_(&report), tiles_(p.buffers.size()) {}

  void run() {
    const ir::Program& p = *program_;
    tile_shapes();
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
      while (!open_.empty() && open_.back().end <= n) open_.pop_back();
      const ir::Node& node = p.nodes[n];
      switch (node.kind) {
        case ir::Node::Kind::loop: open_loop(n); break;
        case ir::Node::Kind::alloc: tiles_[node.id].reset(open_.empty() ? ir::no_id : open_.back().end); break;
        case ir::Node::Kind::instr: {
          const ir::Instr& in = p.instrs[node.id];
          InstructionCheck check = checked(in);
          if (!check.exists()) break;
          for (const Finding& f : check.run(Certainty::may)) settle(check, in, n, f);
          contents(node.id, n, check.always_exists());
          if (in.op == ir::Opcode::dma_copy) transfer(in);
          break;
        }
      }
    }
    open_.clear();
    if (walk_needed_) walk();
    for (ir::BufferId b = 0; b < p.buffers.size(); ++b)
      if (p.buffers[b].kind == ir::BufferKind::output && !tiles_[b].written)
        warn(NKI_W504, "output " + quoted(p.buffers[b].name) + " that nothing writes",
             "store the result, or take the argument away", p.buffers[b].loc);
    storage();
    report_->live_ranges = live_ranges(p);
  }

 private:
  struct Open {
    std::uint32_t node, end;
    std::uint32_t unsure_end;  // of the innermost loop up to here that may run zero times; no_id without one
  };
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

  ir::Range range(ir::ExprId e) const { return facts_->ranges()[e]; }
  bool accumulates(const ir::Instr& in) const {
    return in.op == ir::Opcode::nc_matmul && accumulate(in) == ir::Accumulate::add;
  }
  ir::Accumulate accumulate(const ir::Instr& in) const { return static_cast<ir::Accumulate>(program_->attr(in, 0)); }
  /// Before NC-v4 only nc_matmul starts an accumulation.
  bool any_write_starts_accumulation() const { return arch_->generation >= 4; }

  // ---- Reporting: one violation for each rule and line.

  bool is_reported(std::string_view text, ir::LocId loc) const {
    for (const auto& [id, at] : reported_)
      if (at == loc && id == text.substr(0, 8)) return true;
    return false;
  }
  [[gnu::cold]] void add(std::vector<Violation>& list, std::string_view text, Violation v, ir::LocId loc) {
    reported_.push_back({text.substr(0, 8), loc});
    const ir::SourceLoc& at = program_->locs[loc];
    v.file = program_->files[at.file];
    v.line = at.line;
    list.push_back(static_cast<Violation&&>(v));
  }
  [[gnu::cold]] void fail(std::string_view text, std::string got, std::string allowed, std::string hint, ir::LocId loc) {
    if (!is_reported(text, loc))
      add(report_->violations, text, violation(text, static_cast<std::string&&>(got), static_cast<std::string&&>(allowed),
                                               static_cast<std::string&&>(hint)), loc);
  }
  [[gnu::cold]] void warn(std::string_view text, std::string got, std::string hint, ir::LocId loc) {
    if (!is_reported(text, loc))
      add(report_->warnings, text, violation(text, static_cast<std::string&&>(got), {}, static_cast<std::string&&>(hint)), loc);
  }
  /// "matmul.hpp:120", for places beside the one that a violation is about.
  [[gnu::cold]] std::string place(ir::LocId loc) const {
    const ir::SourceLoc& at = program_->locs[loc];
    const std::string& path = program_->files[at.file];
    return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(at.line);
  }
  /// " at m = 3, k = 0" for the loops around a node.
  template <class IndexOf>
  std::string iteration(std::uint32_t node, IndexOf&& index_of) const {
    std::string out;
    for (std::uint32_t n = 0; n < node; ++n) {
      const ir::Node& loop = program_->nodes[n];
      if (loop.kind != ir::Node::Kind::loop || loop.end <= node) continue;
      out += (out.empty() ? " at " : ", ") + program_->loops[loop.id].name + " = " + std::to_string(index_of(loop.id));
    }
    return out;
  }

  // ---- The rules of one instruction.

  InstructionCheck checked(const ir::Instr& in) const {
    return InstructionCheck(*program_, in, [this](ir::ExprId e) { return range(e); }, arch_);
  }

  /// A rule that intervals could not clear: look at the iterations themselves, first along the loops that decide the
  /// rule, then along all loops around the instruction, for whether the iteration happens at all.
  void settle(const InstructionCheck& check, const ir::Instr& in, std::uint32_t node, const Finding& f) {
    const std::string_view text = instr_rule_texts[static_cast<std::size_t>(f.rule)];
    if (is_reported(text, in.loc)) return;
    if (search_.empty()) search_.emplace_back(*program_, facts_->ranges(), facts_->loop_ranges());
    Search& search = search_.front();
    const auto still_there = [&] {
      return InstructionCheck::still_may(*program_, in, f, [this](ir::ExprId e) { return range(e); }, arch_);
    };

    // Each stage knows more than the one before: what decides the rule, what decides whether an operand is empty, and
    // whether the loops run at all. The earlier ones keep long loops that change nothing out of the search.
    Search::Answer answer = Search::Answer::found;
    for (int stage = 0; stage < 3; ++stage) {
      search.restore();
      if (stage == 2)
        for (const Open& o : open_) search.depend_on_loop(program_->nodes[o.node].id);
      check.for_each_dim_of(f, [&](const ir::View& v, std::uint8_t d, bool with_start) {
        if (with_start) search.depend_on(v.dims[d].start);
        search.depend_on(v.dims[d].count);
      });
      if (stage > 0)
        for_all_counts(in, [&](ir::ExprId c) {
          if (range(c).lo < 1) search.depend_on(c);
          return true;
        });
      answer = search.run(still_there);
      if (answer == Search::Answer::never) break;
    }
    if (answer != Search::Answer::never) {
      Violation v = checked(in).describe(f);
      const std::string at = iteration(node, [&](ir::LoopId l) { return search.loop(l).lo; });
      search.restore();
      if (answer == Search::Answer::undecided)
        v.got += " for some index, as far as intervals tell: there are too many to look at each";
      else if (!checked(in).run(Certainty::must).contains(f))
        v.got += at;
      add(report_->violations, text, static_cast<Violation&&>(v), in.loc);
    }
    search.restore();
  }

  void open_loop(std::uint32_t n) {
    const ir::Loop& l = program_->loops[program_->nodes[n].id];
    const bool runs = range(l.lower).hi < range(l.upper).lo;
    open_.push_back({n, program_->nodes[n].end,
                     !runs           ? program_->nodes[n].end
                     : open_.empty() ? ir::no_id
                                     : open_.back().unsure_end});
  }

  // ---- What tiles hold: reads of what nothing wrote, and accumulation on what nothing started.

  /// True if an earlier write happened wherever the instruction `in` at `node` happens.
  bool implied(const Write& w, const ir::Instr& in, std::uint32_t node) const {
    if (node >= w.unsure_end) return false;
    const ir::Instr& writer = program_->instrs[w.instr];
    return for_all_counts(writer, [&](ir::ExprId c) {
      return range(c).lo >= 1 || !for_all_counts(in, [&](ir::ExprId other) { return other != c; });
    });
  }
  template <class Law>
  bool for_all_counts(const ir::Instr& in, Law&& law) const {
    for (int o = 0; o < in.n_operands; ++o) {
      const ir::View& v = program_->views[program_->operand(in, o)];
      for (std::uint8_t d = 0; d < v.rank; ++d)
        if (!law(v.dims[d].count)) return false;
    }
    return true;
  }
  template <std::size_t N>
  bool any_implied(const Writes<N>& writes, const ir::Instr& in, std::uint32_t node) const {
    for (const Write& w : writes)
      if (implied(w, in, node)) return true;
    return false;
  }

  void contents(ir::InstrId id, std::uint32_t node, bool always_exists) {
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
        written(p.views[p.operand(in, o)].buffer, id, always_exists);
  }

  void accumulation(const Tile& t, const ir::Instr& in, std::uint32_t node) {
    if (accumulates(in) && (any_write_starts_accumulation() ? !t.written && !any_implied(t.writes, in, node)
                                                            : !t.multiplied && !any_implied(t.multiplies, in, node)))
      walk_needed_ = true;
    if (accumulate(in) != ir::Accumulate::overwrite && !any_write_starts_accumulation()) started_by_a_fill(t, in, node);
  }

  void written(ir::BufferId b, ir::InstrId id, bool always_exists) {
    Tile& t = tiles_[b];
    const bool multiplies = program_->instrs[id].op == ir::Opcode::nc_matmul;
    const Write w{id, open_.empty() ? ir::no_id : open_.back().unsure_end};
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
      fail(NKI_E211,
           std::string("accumulate=") + ir::name(accumulate(in)) + " on dst " + quoted(b.name) + ", which " +
               ir::info(fill.op).name + " wrote (" + place(fill.loc) + ")",
           "what nc_matmul wrote",
           std::string("leave that ") + ir::info(fill.op).name + " out, or pass nisa::Accumulate::overwrite", in.loc);
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
          warn(NKI_W502,
               quoted(program_->buffers[program_->views[view].buffer].name) + " read again after " + place(first.loc),
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
      const auto at = [&] { return iteration(cursor.node(), [&](ir::LoopId l) { return cursor.loop_index(l); }); };
      for (int o = 0; o < in.n_operands; ++o) {
        const ir::BufferId id = p.views[p.operand(in, o)].buffer;
        const ir::Buffer& b = p.buffers[id];
        const OperandName name{op.operands[static_cast<std::size_t>(o)].name, &b.name};
        if (b.kind != ir::BufferKind::tile) continue;
        if (op.operands[static_cast<std::size_t>(o)].access == ir::Access::read) {
          if ((state[id] & written) == 0)
            fail(NKI_E303,
                 name.spell() + " of " + op.name + at() + ", of which nothing is written since " + place(b.loc), {},
                 "write the tile first; each run of its declaration starts it anew", in.loc);
        } else if (accumulates(in) && (state[id] & (any_write_starts_accumulation() ? written : multiplied)) == 0) {
          fail(NKI_E211, "accumulate=add on " + name.spell() + at() + ", which no nc_matmul wrote since " + place(b.loc),
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

  // ---- DMA that is slow or superfluous.

  void transfer(const ir::Instr& in) {
    const ir::Program& p = *program_;
    const ir::View &dst = p.views[p.operand(in, 0)], &src = p.views[p.operand(in, 1)];
    const std::int64_t to = run_elems(dst), from = run_elems(src);
    const bool in_dst = to < from;
    const std::int64_t shorter = ir::detail::mul_far(in_dst ? to : from, bytes(p.buffers[in_dst ? dst.buffer : src.buffer].dtype));
    if (shorter < fast_run_bytes && (in_dst ? to : from) < elems(src)) {
      const ir::Buffer& b = p.buffers[in_dst ? dst.buffer : src.buffer];
      warn(NKI_W501, "runs of " + std::to_string(shorter) + " bytes in " + (in_dst ? "dst " : "src ") + quoted(b.name),
           "let the last dimension of both sides walk neighbours, and more of them", in.loc);
    }
    if (open_.empty() || p.buffers[src.buffer].kind != ir::BufferKind::input ||
        p.buffers[dst.buffer].space == ir::Space::hbm)
      return;
    const ir::Loop& l = p.loops[p.nodes[open_.back().node].id];
    const bool repeats = range(l.upper).hi - 1 > range(l.lower).lo;
    if (repeats && facts_->first_node_of(p.operand(in, 1)) <= open_.back().node)
      warn(NKI_W503, "src " + quoted(p.buffers[src.buffer].name) + " of a load that does not use index " + quoted(l.name),
           "declare the tile and load it before the loop (" + place(l.loc) + ")", in.loc);
  }
  static constexpr std::int64_t fast_run_bytes = 512;

  std::int64_t elems(const ir::View& v) const {
    std::int64_t n = 1;
    for (std::uint8_t d = 0; d < v.rank; ++d) n = ir::detail::mul_far(n, range(v.dims[d].count).hi);
    return n;
  }
  /// The longest run of neighbouring elements that the view visits one after the other, within a partition on chip.
  std::int64_t run_elems(const ir::View& v) const {
    const ir::Buffer& b = program_->buffers[v.buffer];
    std::int64_t run = 1;
    for (std::uint8_t d = v.rank; d-- > (b.space == ir::Space::hbm ? 0 : 1);) {
      const ir::Dim& dim = v.dims[d];
      const std::int64_t count = range(dim.count).hi;
      if (count == 1) continue;
      if (ir::detail::mul_far(b.axis_stride(dim.axis), dim.step) != run) break;
      run = ir::detail::mul_far(run, count);
    }
    return run;
  }

  // ---- Storage.

  void tile_shapes() {
    const auto partitions = static_cast<std::int64_t>(arch_->partitions.value);
    const auto bank = static_cast<std::int64_t>(arch_->psum_bank_bytes_pp.value);
    for (const ir::Buffer& b : program_->buffers) {
      if (b.space == ir::Space::hbm) continue;
      if (b.shape[0] > partitions)
        fail(NKI_E101, std::to_string(b.shape[0]) + " partitions of tile " + quoted(b.name),
             "1.." + std::to_string(partitions),
             "move part of the first extent into the free dimensions, or loop over it", b.loc);
      if (b.space == ir::Space::psum && b.bytes_pp() > bank)
        fail(NKI_E103,
             std::to_string(b.elems(1)) + " elements of " + std::to_string(bytes(b.dtype)) +
                 " bytes per partition of tile " + quoted(b.name),
             std::to_string(bank) + " bytes", "declare several tiles, one per bank", b.loc);
    }
  }

  void storage() {
    const Allocation a = allocate(*program_, *arch_);
    const Capacity c = nki::capacity(a, *arch_);
    report_->capacity = c;
    if (c.psum_banks > c.psum_limit_banks)
      overfull(NKI_E104, a, ir::Space::psum, static_cast<std::int64_t>(arch_->psum_bank_bytes_pp.value), c.psum_banks,
               c.psum_limit_banks, "banks", "use fewer or smaller PSUM tiles at a time, or fewer slots (bufs)");
    if (c.sbuf_bytes_pp > c.sbuf_limit_bytes_pp)
      overfull(NKI_E110, a, ir::Space::sbuf, 1, c.sbuf_bytes_pp, c.sbuf_limit_bytes_pp, "bytes per partition",
               "use smaller tiles or fewer slots (bufs)");
  }
  /// Lists the largest pools of a memory.
  [[gnu::cold]] void overfull(std::string_view text, const Allocation& a, ir::Space space, std::int64_t unit, std::int64_t used,
                std::int64_t limit, const char* what, const char* hint) {
    const auto total = [&](ir::BufferId b) { return ir::detail::mul_far(a.stride[b], program_->buffers[b].slots) / unit; };
    constexpr std::size_t listed = 5;
    std::array<ir::BufferId, listed> largest{};
    std::size_t n = 0, all = 0;
    for (ir::BufferId b = 0; b < program_->buffers.size(); ++b) {
      if (program_->buffers[b].space != space) continue;
      ++all;
      std::size_t at = n < listed ? n++ : listed;
      for (; at > 0 && total(largest[at - 1]) < total(b); --at)
        if (at < listed) largest[at] = largest[at - 1];
      if (at < listed) largest[at] = b;
    }
    std::string got = std::to_string(used) + " " + what + ":";
    for (std::size_t i = 0; i < n; ++i) {
      const ir::Buffer& b = program_->buffers[largest[i]];
      got += (i == 0 ? " " : ", ") + quoted(b.name) + " " + std::to_string(total(largest[i]));
      if (b.slots > 1) got += " in " + std::to_string(b.slots) + " slots";
      got += " (" + place(b.loc) + ")";
    }
    if (all > n) got += ", and " + std::to_string(all - n) + " more";
    fail(text, static_cast<std::string&&>(got), std::to_string(limit), hint, program_->buffers[largest[0]].loc);
  }

  const ir::Program* program_;
  const Arch* arch_;
  Structure* facts_;
  Report* report_;
  std::vector<Tile> tiles_;
  std::vector<Open> open_;
  std::vector<Search> search_;  // none until intervals leave something open
  struct Reported {
    std::string_view id;
    ir::LocId loc;
  };
  std::vector<Reported> reported_;
  bool walk_needed_ = false;
};

}  // namespace detail

/// Applies every rule to a finished program, whoever made it, for one core.
///
/// First whether it is a program at all (ids, nesting, values: NKI-E05x, of class `damaged_file`, and NKI-E311); only
/// then the rules of its instructions, exactly: a ragged loop is judged by the iterations that it has. Then what needs
/// the whole: NKI-E103, E104, E110, E211, E303, and the warnings. Never throws for a bad program and ends for any.
/// Reads of elements that nothing wrote are found here only where nothing wrote the tile at all; exec finds the rest.
inline Report verify(const ir::Program& p, const Arch& arch) {
  Report report;
  detail::Structure facts;
  if (facts.read(p, report.violations)) detail::Verifier(p, arch, facts, report).run();
  return report;
}

}  // namespace nki::inline v0_1::check
