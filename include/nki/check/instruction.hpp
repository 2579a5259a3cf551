#pragma once

#include <nki/arch.hpp>
#include <nki/check/instruction_check.hpp>
#include <nki/check/instruction_text.hpp>
#include <nki/error.hpp>
#include <nki/ir/program.hpp>

namespace nki::inline v0_1::check {

namespace detail {

/// Whether one of the loops being recorded is known to run zero times: what it holds never happens.
template <class RangeOf>
bool inside_a_loop_that_never_runs(const ir::Program& p, RangeOf&& range_of) {
  for (const ir::Node& n : p.nodes)
    if (n.kind == ir::Node::Kind::loop && n.end == 0)
      if (range_of(p.loops[n.id].lower).lo >= range_of(p.loops[n.id].upper).hi) return true;
  return false;
}

}  // namespace detail

/// The rules that concern one instruction, each stated once; limits come from `target`.
///
/// Without a target the limits are those of the loosest generation, and the rules about what a generation's engines and
/// queues can do do not apply. `range_of(ExprId)` gives an expression's interval; `report(Violation)` gets what is
/// broken, whose file and line the caller fills in. An instruction with an operand that is empty whatever the indices,
/// or inside a loop being recorded that never runs, breaks no rule. Nothing is allocated unless a rule is broken.
template <class RangeOf, class Report>
void instruction_rules(const ir::Program& p, const ir::Instr& in, RangeOf&& range_of, const Arch* target,
                       Certainty certainty, Report&& report) {
  detail::InstructionCheck check(p, in, range_of, target);
  const detail::Findings& found = check.run(certainty);
  if (found.count == 0 || detail::inside_a_loop_that_never_runs(p, range_of)) return;
  for (const detail::Finding& f : found) report(check.describe(f));
}

}  // namespace nki::inline v0_1::check
