#pragma once

#include <nki/tune/search.hpp>

#include <string>
#include <vector>

/// The limits of a search as they are written on the command line.
namespace nki::tool {

/// "200evals", "30s", "2m", "gap=1%", several of them with commas between or in several strings.
tune::Budget parse_budget(const std::vector<std::string>& texts);

/// What must be reached, or the command ends with exit 5.
struct Require {
  double gap = -1;     ///< the best's body may exceed the bound by this share; negative: not asked for
  double regret = -1;  ///< ... and the best of the space by this share
};
/// "gap=5%", "regret=0", with commas between.
Require parse_require(const std::vector<std::string>& texts);

}  // namespace nki::tool
