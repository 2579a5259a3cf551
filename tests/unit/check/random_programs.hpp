#pragma once

#include "programs.hpp"

#include <nki/ir/program.hpp>

#include <cstdint>
#include <random>
#include <vector>

namespace check_test {

/// Small programs of random loops, slices and instructions: well formed, and as often illegal as legal.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : random_(seed) {}

  ir::Program make() {
    for (int i = 0; i < 2; ++i)
      indices_.push_back(maker_.number(pick(0, 3)));  // so that there is something to use outside loops
    inputs_ = {maker_.input(nki::DType::f32, {pick(60, 140), pick(60, 140)}),
               maker_.input(nki::DType::f32, {pick(100, 3000)})};
    inputs_.push_back(maker_.argument(ir::BufferKind::output, nki::DType::f32, {pick(60, 140), pick(60, 140)}));
    tile();
    body(0);
    return maker_.p;
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool one_in(int n) { return pick(1, n) == 1; }

  void tile() {
    const bool in_psum = one_in(3);
    tiles_.push_back(maker_.tile(in_psum ? ir::Space::psum : ir::Space::sbuf, nki::DType::f32,
                                 {pick(32, 128), pick(16, in_psum ? 400 : 4000)},
                                 static_cast<std::int32_t>(pick(1, 2))));
  }
  ir::ExprId any_index() {
    return indices_[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(indices_.size()) - 1))];
  }

  /// Something like the start of a block.
  ir::ExprId start() {
    static constexpr std::int64_t grains[] = {0, 1, 7, 32, 64};
    ir::ExprId e = maker_.mul(any_index(), grains[pick(0, 4)]);
    if (one_in(3)) e = maker_.add(e, maker_.mul(any_index(), grains[pick(0, 4)]));
    if (one_in(4)) e = maker_.add(e, maker_.number(pick(-8, 8)));
    if (one_in(8)) e = maker_.expr(one_in(2) ? ir::ExprOp::floordiv : ir::ExprOp::mod, e, 0, pick(2, 70));
    return e;
  }
  /// Something like the rest of an extent behind that start.
  ir::ExprId count(ir::ExprId begin, std::int64_t extent) {
    if (one_in(3)) return maker_.number(pick(0, extent));
    const auto slack = one_in(6) ? pick(-1, 1) : 0;
    const auto left = maker_.add(maker_.number(extent + slack), maker_.mul(begin, -1));
    return maker_.min(maker_.number(pick(1, 64)), left);
  }
  ir::ViewId slice(ir::BufferId b) {
    std::vector<ir::Dim> dims;
    const ir::Buffer buffer = maker_.p.buffers[b];
    for (std::uint8_t axis = 0; axis < buffer.rank; ++axis) {
      const auto begin = one_in(2) ? maker_.number(0) : start();
      ir::ExprId n = count(begin, buffer.shape[axis]);
      if (!last_counts_.empty() && one_in(2))
        n = last_counts_[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(last_counts_.size()) - 1))];
      last_counts_.push_back(n);
      dims.push_back({begin, n, static_cast<std::int32_t>(one_in(8) ? pick(-2, 3) : 1), axis, false});
    }
    return maker_.view(b, dims);
  }
  ir::BufferId any(const std::vector<ir::BufferId>& list) {
    return list[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(list.size()) - 1))];
  }

  void instr() {
    last_counts_.clear();
    switch (pick(0, 4)) {
      case 0: {
        const auto dst = slice(any(tiles_));
        maker_.dma(dst, slice(any(inputs_)), one_in(2) ? ir::Engine::sync : ir::Engine::gpsimd);
        return;
      }
      case 1: {
        const auto dst = slice(any(tiles_));
        maker_.copy(dst, slice(any(tiles_)), one_in(4) ? ir::Engine::gpsimd : ir::Engine::vector);
        return;
      }
      case 2: {
        const auto dst = slice(any(tiles_)), stationary = slice(any(tiles_));
        maker_.matmul(dst, stationary, slice(any(tiles_)), static_cast<ir::Accumulate>(pick(0, 2)));
        return;
      }
      case 3: {
        const auto dst = slice(any(tiles_));
        maker_.transpose(dst, slice(any(tiles_)), one_in(2) ? ir::Engine::tensor : ir::Engine::vector);
        return;
      }
      default:
        maker_.memset(slice(any(tiles_)));
        return;
    }
  }
  void body(int depth) {
    const auto parts = pick(1, 3);
    for (std::int64_t i = 0; i < parts; ++i) {
      if (depth < 3 && one_in(2)) {
        const auto lower = one_in(3) ? any_index() : maker_.number(pick(0, 1));
        auto upper = maker_.add(lower, maker_.number(pick(0, 5)));
        if (one_in(4)) upper = maker_.min(upper, maker_.add(any_index(), maker_.number(pick(0, 2))));
        const std::size_t tiles = tiles_.size(), indices = indices_.size();
        indices_.push_back(maker_.open(lower, upper));
        if (one_in(2)) tile();
        body(depth + 1);
        maker_.close();
        tiles_.resize(tiles);
        indices_.resize(indices);
      } else {
        instr();
      }
    }
  }

  std::mt19937_64 random_;
  Maker maker_;
  std::vector<ir::ExprId> indices_, last_counts_;
  std::vector<ir::BufferId> tiles_, inputs_;
};

}  // namespace check_test
