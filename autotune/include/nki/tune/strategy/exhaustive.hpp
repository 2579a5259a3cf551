#pragma once

#include <nki/tune/space.hpp>
#include <nki/tune/strategy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace nki::inline v0_1::tune {

/// Every configuration, the one to compare with first, then by their lower bounds. As soon as the next bound is no less
/// than the best time, nothing that is left can be better: the search ends with a proof.
///
/// Configurations of equal bound come in an order that depends on the seed: neighbours in the space tend to take equally
/// long, and spread over it a good one is met sooner, which ends the trial of bad ones sooner.
class Exhaustive final : public Strategy {
 public:
  /// `bounds_us`: for each configuration of the space, a time that it cannot beat (0 where nothing is known).
  Exhaustive(const Space& space, std::vector<double> bounds_us, std::uint64_t seed) : bounds_(std::move(bounds_us)) {
    struct Key {
      double bound;
      std::uint64_t hash;
      Index index;
    };
    std::vector<Key> keys;
    keys.reserve(space.size());
    const std::uint64_t stream = mix(seed);
    for (Index i = 0; i < space.size(); ++i)
      if (i != space.start()) keys.push_back({bounds_[i], mix(stream + i), i});
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
      return a.bound != b.bound ? a.bound < b.bound : a.hash != b.hash ? a.hash < b.hash : a.index < b.index;
    });
    order_.reserve(space.size());
    if (space.start() != no_index) order_.push_back(space.start());
    for (const Key& k : keys) order_.push_back(k.index);
  }

  const char* name() const override { return "exhaustive"; }

  std::vector<Candidate> ask(std::size_t n) override {
    std::vector<Candidate> out;
    // The first one alone: what follows is given up where it is certain to take longer than the best so far.
    if (next_ == 0) n = std::min<std::size_t>(n, 1);
    while (out.size() < n && !done()) out.push_back({order_[next_++]});
    return out;
  }
  void tell(const Candidate&, const Outcome& o) override {
    if (o.status == Status::evaluated && o.us < best_) best_ = o.us;
  }
  bool done() const override { return next_ >= order_.size() || (next_ > 0 && remaining_bound() >= best_); }

  double remaining_bound() const override {
    if (next_ >= order_.size()) return no_time;
    if (next_ > 0) return bounds_[order_[next_]];
    double least = no_time;  // the first one stands outside the order
    for (const double b : bounds_) least = std::min(least, b);
    return least;
  }
  std::int64_t pruned() const override { return done() ? static_cast<std::int64_t>(order_.size() - next_) : 0; }

 private:
  std::vector<double> bounds_;
  std::vector<Index> order_;
  std::size_t next_ = 0;
  double best_ = no_time;
};

}  // namespace nki::inline v0_1::tune
