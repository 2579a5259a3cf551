#pragma once

#include <autotune/tool/commands.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What is done with the best configuration of a search: run it, and write it down.
namespace nki::tool {

/// A run at full size with the device's numerics, against the reference in double precision.
struct Verification {
  bool passed = false;
  bool compared = false;  ///< false: the kernel has no reference, and only undefined data was looked for
  double rel_l2 = 0, tolerance = 0, bound_rel_l2 = 0, max_abs_err = 0;
  std::int64_t undefined_reads = 0, unwritten_elements = 0;
  double run_seconds = 0, reference_seconds = 0;
};
/// Nothing where Ctrl-C ends it.
std::optional<Verification> verify_winner(const Task& t, tune::Index i, std::int64_t seed);

/// Bytes of host memory that verify_winner holds at most, about.
double verification_bytes(const Task& t, tune::Index i);

/// Timeline, trace and NKI Python of a configuration, in a folder that is made if it is not there.
struct WrittenFile {
  std::string path, what;
};
std::vector<WrittenFile> write_winner(const Task& t, tune::Index i, const std::string& folder,
                                      const std::string& title);
void make_folder(const std::string& folder);

}  // namespace nki::tool
