#pragma once

#include <sim/tool/cli.hpp>
#include <sim/tool/json.hpp>
#include <sim/tool/request.hpp>

#include <nki/kernel/spec.hpp>
#include <nki/tune/space.hpp>

#include <optional>
#include <string>
#include <vector>

/// The commands of nki-tune: one unit each adds them to a command line.
namespace nki::tool {

void add_tune_space(Cli& cli);
void add_tune_run(Cli& cli);

/// What every command of nki-tune reads: the problem, the values that stay, and those to compare with.
struct SpaceFlags {
  TargetFlags target;
  std::vector<std::string> pin, start;  ///< --pin, --default
};
Command& add_space_flags(Command& c, SpaceFlags& f);

/// A problem and the configurations to choose from. The space may be empty.
struct Task {
  Request request;
  tune::Space space;
};
/// Throws a usage failure (exit 2), or Failure (illegal) where --default breaks a constraint.
Task make_task(const SpaceFlags& f, const char* command);

/// "name=value,..." as --param takes it back.
std::string spell_params(const tune::Space& s, tune::Index i);
/// The same without the values that the kernel's own default has; "" for that one.
std::string spell_changes(const tune::Space& s, tune::Index i);
/// The fields `kernel, case, shape, attrs, dtype, hw`, and `pins`.
void describe_task(const Task& t, Json& out);
Json params_json(const tune::Space& s, tune::Index i);
Json constraints_json(const tune::Space& s);
/// What the search starts from and the constraints that leave nothing, as the fault of exit 3.
Fault no_legal_fault(const tune::Space& s);

}  // namespace nki::tool
