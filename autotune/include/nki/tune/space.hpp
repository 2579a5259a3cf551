#pragma once

#include <nki/arch.hpp>
#include <nki/error.hpp>
#include <nki/kernel/spec.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The configurations that a search may try.
namespace nki::inline v0_1::tune {

/// A place in the list of legal configurations.
using Index = std::size_t;
inline constexpr Index no_index = ~Index{0};

/// One for each tunable: its value, where the user fixed one.
using Pins = std::vector<std::optional<std::int64_t>>;

/// A tunable as the search sees it: the values left to it, in the order of the kernel.
struct Parameter {
  std::string name;
  std::vector<std::int64_t> values;
  bool named = false;  ///< values are names (queues, engines) without an order
};

/// How many configurations a constraint rejects that no constraint before it does.
struct Rejection {
  std::string constraint;
  std::int64_t rejected = 0;
};

/// The legal configurations of a kernel for one problem and target, numbered in the order of their values, the last
/// tunable running fastest.
///
/// Constraints are opaque predicates, so each combination of values is asked for once: 46,656 take 10 ms. What is kept
/// is one number for each legal configuration; none is ever generated again by trial.
class Space {
 public:
  /// `pins` may be empty. `start` is the configuration to compare with, by default the kernel's own with the pins in it;
  /// where that one is not legal, the legal configuration with the fewest other values takes its place.
  Space(const kernel::Kernel& k, kernel::Problem problem, const Arch& arch, Pins pins = {},
        std::optional<kernel::Config> start = {})
      : kernel_(&k), problem_(std::move(problem)), arch_(&arch) {
    const std::vector<kernel::TunableSpec>& tunables = k.tunables();
    for (std::size_t t = 0; t < tunables.size(); ++t) {
      Parameter p{tunables[t].name, tunables[t].values, !tunables[t].labels.empty()};
      if (t < pins.size() && pins[t]) p.values = {*pins[t]};
      parameters_.push_back(std::move(p));
    }
    for (const std::string& c : k.constraints()) rejections_.push_back({c, 0});
    count_combinations();
    enumerate();
    wanted_ = start ? *start : k.default_config(problem_, arch);
    for (std::size_t t = 0; t < parameters_.size(); ++t)
      if (t < pins.size() && pins[t]) wanted_[t] = *pins[t];
    start_ = find(wanted_);
    if (start_ == no_index) start_ = nearest(wanted_);
  }

  const kernel::Kernel& kernel() const { return *kernel_; }
  const kernel::Problem& problem() const { return problem_; }
  const Arch& arch() const { return *arch_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// In the order in which the kernel tries its constraints.
  const std::vector<Rejection>& rejections() const { return rejections_; }
  /// Combinations of all values, legal or not, and those that a constraint rejects.
  std::int64_t cartesian() const { return cartesian_; }
  std::int64_t rejected() const { return cartesian_ - static_cast<std::int64_t>(legal_.size()); }
  /// Legal configurations.
  std::size_t size() const { return legal_.size(); }
  bool empty() const { return legal_.empty(); }

  /// The configuration to compare with, and whether it had to give way to the constraints or the pins.
  Index start() const { return start_; }
  bool start_moved() const { return start_ != no_index && config(start_) != wanted_; }

  kernel::Config config(Index i) const { return decode(legal_[i]); }

  /// The number of a configuration, or no_index where it is not legal or has a value that is not in the space.
  Index find(const kernel::Config& c) const {
    std::uint64_t rank = 0;
    if (c.size() != parameters_.size()) return no_index;
    for (std::size_t t = 0; t < parameters_.size(); ++t) {
      const std::size_t at = position(t, c[t]);
      if (at == parameters_[t].values.size()) return no_index;
      rank = rank * parameters_[t].values.size() + at;
    }
    std::size_t lo = 0, hi = legal_.size();
    while (lo < hi) {
      const std::size_t middle = (lo + hi) / 2;
      if (legal_[middle] < rank)
        lo = middle + 1;
      else
        hi = middle;
    }
    return lo < legal_.size() && legal_[lo] == rank ? lo : no_index;
  }

  /// The legal configurations that differ in one value, in order.
  std::vector<Index> neighbours(Index i) const {
    std::vector<Index> out;
    kernel::Config c = config(i);
    for (std::size_t t = 0; t < parameters_.size(); ++t) {
      const std::int64_t own = c[t];
      for (const std::int64_t v : parameters_[t].values) {
        if (v == own) continue;
        c[t] = v;
        if (const Index n = find(c); n != no_index) out.push_back(n);
      }
      c[t] = own;
    }
    return out;
  }
  /// In how many values two configurations differ.
  int distance(Index a, Index b) const { return distance(config(a), config(b)); }
  static int distance(const kernel::Config& a, const kernel::Config& b) {
    int n = 0;
    for (std::size_t t = 0; t < a.size(); ++t) n += a[t] != b[t] ? 1 : 0;
    return n;
  }

  /// A configuration as a point for a model: an ordered tunable is its place among its values, from 0 to 1; a named one
  /// has a coordinate for each name. Tunables with one value have none.
  std::vector<double> encode(Index i) const {
    std::vector<double> out;
    const kernel::Config c = config(i);
    for (std::size_t t = 0; t < parameters_.size(); ++t) {
      const Parameter& p = parameters_[t];
      if (p.values.size() < 2) continue;
      const std::size_t at = position(t, c[t]);
      if (p.named) {
        for (std::size_t v = 0; v < p.values.size(); ++v) out.push_back(v == at ? 1.0 : 0.0);
      } else {
        out.push_back(static_cast<double>(at) / static_cast<double>(p.values.size() - 1));
      }
    }
    return out;
  }

  /// Throws where nothing is legal: which constraint rejects how many.
  void require_legal() const {
    if (!empty()) return;
    std::string rejecting;
    for (const Rejection& r : rejections_)
      if (r.rejected > 0)
        rejecting += (rejecting.empty() ? "" : ", ") + ("'" + r.constraint + "' rejects " + std::to_string(r.rejected));
    throw Error({.id = "NKI-E801",
                 .sentence = "a search needs a configuration that meets the kernel's constraints",
                 .got = "none of " + std::to_string(cartesian_) + ": " + rejecting,
                 .allowed = {},
                 .hint = "free the pinned values that these constraints name, or ask for another problem or target",
                 .file = {},
                 .line = 0,
                 .error_class = ErrorClass::illegal});
  }

  /// Combinations that are tried one by one; more need pins.
  static constexpr std::int64_t most_combinations = std::int64_t{1} << 26;

 private:
  void count_combinations() {
    cartesian_ = 1;
    for (const Parameter& p : parameters_) {
      const auto n = static_cast<std::int64_t>(p.values.size());
      if (cartesian_ > most_combinations / (n == 0 ? 1 : n))
        throw Error({.id = "NKI-E802",
                     .sentence = "a space has at most " + std::to_string(most_combinations) + " combinations of values",
                     .got = "more than that with '" + p.name + "'",
                     .allowed = {},
                     .hint = "pin some of the tunables: --pin " + p.name + "=" + std::to_string(p.values.front()),
                     .file = {},
                     .line = 0,
                     .error_class = ErrorClass::usage});
      cartesian_ *= n;
    }
  }

  void enumerate() {
    for (std::uint64_t rank = 0; rank < static_cast<std::uint64_t>(cartesian_); ++rank) {
      const int broken = kernel_->broken_constraint(problem_, decode(rank), *arch_);
      if (broken < 0)
        legal_.push_back(rank);
      else
        ++rejections_[static_cast<std::size_t>(broken)].rejected;
    }
  }

  kernel::Config decode(std::uint64_t rank) const {
    kernel::Config c(parameters_.size());
    for (std::size_t t = parameters_.size(); t-- > 0;) {
      const std::size_t n = parameters_[t].values.size();
      c[t] = parameters_[t].values[rank % n];
      rank /= n;
    }
    return c;
  }

  std::size_t position(std::size_t t, std::int64_t value) const {
    const std::vector<std::int64_t>& v = parameters_[t].values;
    std::size_t at = 0;
    while (at < v.size() && v[at] != value) ++at;
    return at;
  }

  Index nearest(const kernel::Config& c) const {
    Index best = no_index;
    int best_distance = std::numeric_limits<int>::max();
    for (Index i = 0; i < legal_.size(); ++i)
      if (const int d = distance(config(i), c); d < best_distance) {
        best = i;
        best_distance = d;
      }
    return best;
  }

  const kernel::Kernel* kernel_;
  kernel::Problem problem_;
  const Arch* arch_;
  std::vector<Parameter> parameters_;
  std::vector<Rejection> rejections_;
  std::int64_t cartesian_ = 0;
  std::vector<std::uint64_t> legal_;  ///< ascending ranks among all combinations
  kernel::Config wanted_;
  Index start_ = no_index;
};

}  // namespace nki::inline v0_1::tune
