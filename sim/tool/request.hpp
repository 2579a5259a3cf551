#pragma once

#include <sim/tool/json.hpp>

#include <nki/arch.hpp>
#include <nki/ir/program.hpp>
#include <nki/kernel/registry.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What the user asks about: a kernel with its problem, or a recorded program; a target; values of tunables.
namespace nki::tool {

/// The kernels of this build.
const kernel::Registry& registry();

/// The flags as typed. Each list flag may be given several times and holds "k=v,k=v".
struct TargetFlags {
  std::string target;                           ///< kernel name, or a file ending in .json
  std::string case_id;                          ///< --case
  std::vector<std::string> shape, attr, dtype;  ///< --shape, --attr, --dtype
  std::vector<std::string> param;               ///< --param, in nki-tune --pin
  std::string hw;                               ///< --hw
};

/// Whether a command may go on without --hw. What is recorded depends on the target's limits and defaults; commands
/// that say nothing about time or legality take trn2 then.
enum class Hw { required, trn2_by_default };

struct Request {
  const kernel::Kernel* kernel = nullptr;  ///< nullptr: a file with a program whose kernel this build does not know
  kernel::Problem problem;                 ///< meaningful where there is a kernel
  std::string case_id;
  const Arch* arch = &arch::trn2;
  bool arch_given = false;
  /// One for each tunable of the kernel: its value, where the user gave one.
  std::vector<std::optional<std::int64_t>> pins;
  std::string file;                      ///< the program file, or empty
  std::optional<ir::Program> program;    ///< of the file
  std::optional<kernel::Config> config;  ///< of the file, where its kernel is known

  const std::string& kernel_name() const { return program ? program->kernel : kernel->name(); }
};

/// Reads and checks the flags. `command` is what hints call it ("nki-sim time"). Throws a usage failure (exit 2), or
/// nki::Error for a damaged file (exit 4).
Request resolve(const TargetFlags& flags, Hw hw, std::string_view command);

/// The default configuration with the user's values in it. Throws a Failure of class illegal (exit 3) that names the
/// constraint and the nearest legal configuration.
kernel::Config configured(const Request& r);
/// The program of the file, or the kernel recorded with `configured`.
ir::Program recorded(const Request& r);
/// A configuration's program. Throws Failure (illegal) as `configured` does.
ir::Program recorded(const Request& r, const kernel::Config& c);

/// The fields `kernel, case, shape, attrs, dtype, hw, params` (and `program` for a file).
void describe(const Request& r, Json& out);
/// The same as one line of text.
std::string describe(const Request& r);
Json config_json(const kernel::Kernel& k, const kernel::Config& c);
Json sizes_json(const kernel::Kernel& k, const kernel::Problem& p);
Json attrs_json(const kernel::Kernel& k, const kernel::Problem& p);
Json dtypes_json(const kernel::Kernel& k, const kernel::Problem& p);
/// "bf16", or "lhs=bf16,rhs=f16,out=bf16" where they differ.
std::string spell_dtypes(const kernel::Kernel& k, const kernel::Problem& p);

// Parts of the above that other commands need.

/// A whole number without anything around it. Throws a usage failure that names `what`; the hints say what to do about a
/// number that is too small or too large.
std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most, const std::string& what,
                           const std::string& too_small = {}, const std::string& too_large = {});
/// A finite decimal number.
double parse_number(std::string_view text, double least, double most, const std::string& what);
/// "k=v,k=v" of all strings; a key that comes twice is refused. `flag` is how the user wrote it ("--shape").
std::vector<std::pair<std::string, std::string>> parse_pairs(const std::vector<std::string>& texts,
                                                             std::string_view flag, std::string_view example);
const Arch& parse_hw(std::string_view text, std::string_view command);
/// Sets values of tunables by number or by label. Throws a usage failure with what is allowed.
void set_tunables(const kernel::Kernel& k, const std::vector<std::string>& texts, std::string_view flag,
                  std::vector<std::optional<std::int64_t>>& values);
/// "nki-sim time matmul --shape m=512,n=512,k=512 --hw trn2": a right call, for hints.
std::string example_call(std::string_view command, const kernel::Kernel& k);

inline constexpr std::int64_t size_max = std::int64_t{1} << 31;

}  // namespace nki::tool
