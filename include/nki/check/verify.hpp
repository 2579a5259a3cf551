#pragma once

#include <nki/alloc.hpp>
#include <nki/arch.hpp>
#include <nki/check/contents.hpp>
#include <nki/check/instruction_check.hpp>
#include <nki/check/instruction_text.hpp>
#include <nki/check/report.hpp>
#include <nki/check/rules.hpp>
#include <nki/check/search.hpp>
#include <nki/check/structure.hpp>
#include <nki/check/text.hpp>
#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nki::inline v0_1::check {

namespace detail {

class Verifier {
 public:
  Verifier(const ir::Program& p, const Arch& arch, Structure& facts, Report& report)
      : program_(&p),
        arch_(&arch),
        facts_(&facts),
        report_(&report),
        reporter_(p, report),
        contents_(p, arch, facts.ranges(), reporter_) {}
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  void run() {
    const ir::Program& p = *program_;
    tile_shapes();
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
      while (!open_.empty() && open_.back().end <= n) open_.pop_back();
      const ir::Node& node = p.nodes[n];
      switch (node.kind) {
        case ir::Node::Kind::loop:
          open_loop(n);
          break;
        case ir::Node::Kind::alloc:
          contents_.alloc(node.id, open_.empty() ? ir::no_id : open_.back().end);
          break;
        case ir::Node::Kind::instr: {
          const ir::Instr& in = p.instrs[node.id];
          InstructionCheck check = checked(in);
          if (!check.exists()) break;
          for (const Finding& f : check.run(Certainty::may)) settle(check, in, n, f);
          contents_.run(node.id, n, check.always_exists(), open_.empty() ? ir::no_id : open_.back().unsure_end);
          if (in.op == ir::Opcode::dma_copy) transfer(in);
          break;
        }
      }
    }
    contents_.finish();
    storage();
    report_->live_ranges = live_ranges(p);
  }

 private:
  struct Open {
    std::uint32_t node, end;
    std::uint32_t unsure_end;  // of the innermost loop up to here that may run zero times; no_id without one
  };
  ir::Range range(ir::ExprId e) const { return facts_->ranges()[e]; }

  // ---- The rules of one instruction.

  InstructionCheck checked(const ir::Instr& in) const {
    return InstructionCheck(
        *program_, in, [this](ir::ExprId e) { return range(e); }, arch_);
  }

  /// A rule that intervals could not clear: look at the iterations themselves, first along the loops that decide the
  /// rule, then along all loops around the instruction, for whether the iteration happens at all.
  void settle(const InstructionCheck& check, const ir::Instr& in, std::uint32_t node, const Finding& f) {
    const std::string_view text = instr_rule_texts[static_cast<std::size_t>(f.rule)];
    if (reporter_.is_known(text, in.loc)) return;
    if (search_.empty()) search_.emplace_back(*program_, facts_->ranges(), facts_->loop_ranges());
    Search& search = search_.front();
    const auto still_there = [&] {
      return InstructionCheck::still_may(
          *program_, in, f, [this](ir::ExprId e) { return range(e); }, arch_);
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
        for_all_counts(*program_, in, [&](ir::ExprId c) {
          if (range(c).lo < 1) search.depend_on(c);
          return true;
        });
      answer = search.run(still_there);
      if (answer == Search::Answer::never) break;
    }
    if (answer != Search::Answer::never) {
      Violation v = checked(in).describe(f);
      const std::string at = reporter_.iteration(node, [&](ir::LoopId l) { return search.loop(l).lo; });
      search.restore();
      if (answer == Search::Answer::undecided)
        v.got += " for some index, as far as intervals tell: there are too many to look at each";
      else if (!checked(in).run(Certainty::must).contains(f))
        v.got += at;
      reporter_.add(text, static_cast<Violation&&>(v), in.loc);
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

  // ---- DMA that is slow or superfluous.

  void transfer(const ir::Instr& in) {
    const ir::Program& p = *program_;
    const ir::View &dst = p.views[p.operand(in, 0)], &src = p.views[p.operand(in, 1)];
    const std::int64_t to = run_elems(dst), from = run_elems(src);
    const bool in_dst = to < from;
    const std::int64_t shorter =
        ir::detail::mul_far(in_dst ? to : from, bytes(p.buffers[in_dst ? dst.buffer : src.buffer].dtype));
    if (shorter < fast_run_bytes && (in_dst ? to : from) < elems(src)) {
      const ir::Buffer& b = p.buffers[in_dst ? dst.buffer : src.buffer];
      reporter_.warn(NKI_W501,
                     "runs of " + std::to_string(shorter) + " bytes in " + (in_dst ? "dst " : "src ") + quoted(b.name),
                     "let the last dimension of both sides walk neighbours, and more of them", in.loc);
    }
    if (open_.empty() || p.buffers[src.buffer].kind != ir::BufferKind::input ||
        p.buffers[dst.buffer].space == ir::Space::hbm)
      return;
    const ir::Loop& l = p.loops[p.nodes[open_.back().node].id];
    const bool repeats = range(l.upper).hi - 1 > range(l.lower).lo;
    if (repeats && facts_->first_node_of(p.operand(in, 1)) <= open_.back().node)
      reporter_.warn(
          NKI_W503,
          "src " + quoted(p.buffers[src.buffer].name) + " of a load that does not use index " + quoted(l.name),
          "declare the tile and load it before the loop (" + reporter_.place(l.loc) + ")", in.loc);
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
        reporter_.fail(NKI_E101, std::to_string(b.shape[0]) + " partitions of tile " + quoted(b.name),
                       "1.." + std::to_string(partitions),
                       "move part of the first extent into the free dimensions, or loop over it", b.loc);
      if (b.space == ir::Space::psum && b.bytes_pp() > bank)
        reporter_.fail(NKI_E103,
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
  [[gnu::cold]] void overfull(std::string_view text, const Allocation& a, ir::Space space, std::int64_t unit,
                              std::int64_t used, std::int64_t limit, const char* what, const char* hint) {
    const auto total = [&](ir::BufferId b) {
      return ir::detail::mul_far(a.stride[b], program_->buffers[b].slots) / unit;
    };
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
      got += " (" + reporter_.place(b.loc) + ")";
    }
    if (all > n) got += ", and " + std::to_string(all - n) + " more";
    reporter_.fail(text, static_cast<std::string&&>(got), std::to_string(limit), hint,
                   program_->buffers[largest[0]].loc);
  }

  const ir::Program* program_;
  const Arch* arch_;
  Structure* facts_;
  Report* report_;
  Reporter reporter_;
  Contents contents_;
  std::vector<Open> open_;
  std::vector<Search> search_;  // none until intervals leave something open
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
