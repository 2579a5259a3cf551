#pragma once

#include <sim/tool/cli.hpp>
#include <sim/tool/json.hpp>
#include <sim/tool/request.hpp>

#include <nki/alloc.hpp>
#include <nki/check/verify.hpp>
#include <nki/ir/program.hpp>

/// The commands of nki-sim: one unit each adds them to a command line.
namespace nki::tool {

void add_check(Cli& cli);
void add_emit(Cli& cli);
void add_explain(Cli& cli);
void add_list(Cli& cli);
void add_record(Cli& cli);
void add_run(Cli& cli);
void add_time(Cli& cli);
void add_trace(Cli& cli);
void add_why(Cli& cli);

/// The whole program.
Cli make_nki_sim();

/// What the rules say about a request's program. Throws nki::Error with the first violation, if `must_be_legal`.
check::Report verified(const ir::Program& p, const Arch& a, bool must_be_legal = true);

}  // namespace nki::tool
