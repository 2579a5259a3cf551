#pragma once

#include <nki/tune/space.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// How a search decides what to try next.
namespace nki::inline v0_1::tune {

inline constexpr double no_time = std::numeric_limits<double>::infinity();

/// What came of trying a configuration.
enum class Status : std::uint8_t {
  evaluated,     ///< it has a time
  pruned_bound,  ///< given up on the way: certain to take longer than the best so far
  rejected,      ///< illegal: a constraint or a rule of the machine
  failed         ///< recording or timing threw
};
constexpr const char* name(Status s) {
  switch (s) {
    case Status::evaluated:
      return "evaluated";
    case Status::pruned_bound:
      return "pruned_bound";
    case Status::rejected:
      return "rejected";
    case Status::failed:
      return "failed";
  }
  return "failed";
}

struct Candidate {
  Index index = no_index;
};

struct Outcome {
  Status status = Status::failed;
  double us = no_time;  ///< what is minimised; no_time unless evaluated
  double least_us = 0;  ///< pruned_bound: a time that it cannot beat
  std::string message;  ///< rejected, failed: why
};

/// Proposes configurations and learns what came of them. A strategy decides from its seed and from what it is told, and
/// from nothing else: neither time nor threads may enter. The tuner asks for batches of a fixed width and tells the
/// outcomes in the order of the proposals, so that a search is the same on any number of threads, and a journal that
/// holds the outcomes can be replayed into a new object.
class Strategy {
 public:
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy() = default;

  virtual const char* name() const = 0;
  /// Up to `n` configurations, none of them proposed before. None at all: `done`, or waiting for outcomes.
  virtual std::vector<Candidate> ask(std::size_t n) = 0;
  /// The outcome of a proposal, in the order of the proposals.
  virtual void tell(const Candidate& c, const Outcome& o) = 0;
  /// Whether there is nothing left that is worth a try.
  virtual bool done() const = 0;

  /// A time that no configuration beats that was never proposed; 0 where the strategy knows none, no_time where there is
  /// no such configuration.
  virtual double remaining_bound() const { return 0; }
  /// Configurations that `done` leaves out because their bounds show that they are no better than the best.
  virtual std::int64_t pruned() const { return 0; }
};

/// SplitMix64 (Steele, Lea, Flood 2014) as a hash of a counter: equal on every platform, unlike the distributions of
/// the standard library.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

}  // namespace nki::inline v0_1::tune
