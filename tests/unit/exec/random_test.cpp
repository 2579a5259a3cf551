// Executor and interpreter on random programs: strided, folded and overlapping views, rotation, loops, accumulation
// into parts of tiles, undefined data.

#include "support.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace exec_test {
namespace {

class RandomProgram {
 public:
  /// `exact`: operands of nc_matmul hold small integers, so that every way to sum gives the same bits.
  RandomProgram(unsigned seed, bool exact) : random_(seed), exact_(exact) {
    inputs_ = {s_.input(dtype(), {20, 24, 9}), s_.input(dtype(), {20, 24, 9})};
    outputs_ = {s_.output(dtype(), {20, 24, 9}), s_.output(dtype(), {20, 24, 9})};
    for (int i = 0; i < 3; ++i) operands_.push_back(tile(ir::Space::sbuf, dtype()));
    for (int i = 0; i < 2; ++i) results_.push_back(tile(ir::Space::sbuf, dtype()));
    for (int i = 0; i < 2; ++i) sums_.push_back(tile(ir::Space::psum, one_in(4) ? DType::bf16 : DType::f32));
    // Most elements are defined from the start.
    for (const auto& group : {operands_, results_})
      for (ir::BufferId b : group)
        if (!one_in(4)) s_.copy(s_.whole(b), s_.whole(inputs_[0]));
    body(0);
    for (std::size_t i = 0; i < 2; ++i) s_.copy(s_.whole(outputs_[i]), s_.whole(results_[i]));
  }

  const ir::Program& program() const { return s_.program; }

  std::vector<HostTensor> inputs() {
    std::vector<HostTensor> list = make_arguments(s_.program, ir::BufferKind::input);
    for (HostTensor& t : list) {
      nki::exec::fill(t, [&](std::int64_t) { return static_cast<double>(below(7)) - 3.0; });
      if (!exact_)
        for (std::byte& b : t.data)
          if (one_in(3)) b = static_cast<std::byte>(random_());
    }
    return list;
  }

 private:
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  T any_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(std::ssize(list)))];
  }
  DType dtype() { return any_of<DType>({DType::f32, DType::bf16, DType::f16, DType::bf16, DType::i8}); }
  ir::BufferId tile(ir::Space space, DType d) {
    return s_.tile(space, d, {20, 24, 9}, static_cast<std::int32_t>(1 + below(4)));
  }

  /// A dimension over `count` positions of an axis of `extent`, where the loops' indices may move it.
  ir::Dim dim(int axis, std::int64_t extent, std::int64_t most, const Index& count) {
    std::int32_t step = 1;
    if (one_in(3) && most > 1) step += static_cast<std::int32_t>(below((extent - 1) / (most - 1)));
    std::int64_t room = extent - 1 - (most - 1) * step;
    Index start = 0;
    for (const Index& i : indices_)
      if (room >= i.range().hi && i.range().hi > 0 && one_in(2)) {
        start += i;
        room -= i.range().hi;
      }
    return s_.dim(axis, start + below(room + 1), count, step);
  }

  /// How many positions of each axis an instruction visits; the last one can be ragged and come to nothing.
  struct Counts {
    std::array<std::int64_t, 3> most;
    Index last;
  };
  Counts counts(std::int64_t partitions, std::int64_t middle, std::int64_t last) {
    Index ragged = last;
    if (!indices_.empty() && one_in(2)) ragged = min(Index(last), below(last + 2) + 1 - indices_.back());
    return {{partitions, middle, last}, ragged};
  }
  Counts some() { return counts(1 + below(20), 1 + below(5), 1 + below(9)); }

  ir::View view(ir::BufferId b, const Counts& c) {
    return s_.view(b,
                   {dim(0, 20, c.most[0], c.most[0]), dim(1, 24, c.most[1], c.most[1]), dim(2, 9, c.most[2], c.last)});
  }

  void instruction() {
    switch (below(8)) {
      case 0:
        s_.memset(view(any_of(results_), some()), static_cast<double>(below(9)) - 4);
        break;
      case 1: {
        const Counts c = some();
        s_.copy(view(any_of(operands_), c), view(any_of(inputs_), c));
        break;
      }
      case 2: {
        const Counts c = some();
        s_.copy(view(any_of(outputs_), c), view(any_of(results_), c));
        break;
      }
      case 3: {  // the same buffer may stand on both sides, and the destination may be visited twice
        const Counts c = some();
        const ir::BufferId src = any_of(one_in(2) ? sums_ : results_);
        s_.instr(ir::Opcode::tensor_copy, {view(any_of(results_), c), view(src, c)});
        break;
      }
      case 4: {  // [12, 9] folded from and into two dimensions of one axis
        const ir::BufferId b = any_of(results_), from = any_of(results_);
        s_.copy(s_.view(b, {dim(0, 20, 12, 12), dim(2, 9, 9, 9)}),
                s_.view(from, {dim(0, 20, 12, 12), s_.dim(1, below(4), 3, 5), s_.dim(1, 0, 3)}));
        break;
      }
      case 5: {
        const std::int64_t p = 1 + below(9), f = 1 + below(9);
        const ir::BufferId data = any_of(results_);
        std::vector<ir::BufferId> fitting;
        for (ir::BufferId b : results_)
          if (s_.program.buffers[b].dtype == s_.program.buffers[data].dtype) fitting.push_back(b);
        const Index width = counts(1, 1, f).last;
        s_.instr(ir::Opcode::nc_transpose, {s_.view(any_of(fitting), {dim(0, 20, f, width), dim(2, 9, p, p)}),
                                            s_.view(data, {dim(0, 20, p, p), dim(1, 24, f, width)})});
        break;
      }
      default: {
        const std::int64_t k = 1 + below(20), m = 1 + below(20), a = 1 + below(4), n = 1 + below(9);
        const Index width = counts(1, 1, n).last;
        // Rows and columns of one stationary axis; the moving free dimensions may overlap.
        s_.matmul(s_.view(any_of(sums_), {dim(0, 20, m, m), dim(1, 24, a, a), dim(2, 9, n, width)}),
                  s_.view(any_of(operands_), {dim(0, 20, k, k), dim(1, 24, m, m)}),
                  s_.view(any_of(operands_), {dim(0, 20, k, k), dim(1, 24, a, a), dim(2, 9, n, width)}),
                  static_cast<ir::Accumulate>(one_in(4) ? below(3) : 2));
      }
    }
  }

  void body(int depth) {
    const std::int64_t n = 3 + below(6);
    for (std::int64_t i = 0; i < n; ++i) {
      if (depth < 3 && one_in(3)) {
        Index upper = below(5);
        if (!indices_.empty() && one_in(2)) upper = indices_.back() + below(3);
        indices_.push_back(s_.open(0, upper));
        body(depth + 1);
        indices_.pop_back();
        s_.close();
      } else if (one_in(5)) {
        s_.alloc(any_of(one_in(2) ? sums_ : any_of<std::vector<ir::BufferId>>({operands_, results_})));
      } else {
        instruction();
      }
    }
  }

  std::mt19937 random_;
  bool exact_;
  Sketch s_;
  std::vector<ir::BufferId> inputs_, outputs_, operands_, results_, sums_;
  std::vector<Index> indices_;
};

void expect_agreement_on_random_programs(unsigned first_seed, bool exact) {
  std::int64_t instructions = 0, undefined = 0;
  for (unsigned seed = first_seed; seed < first_seed + 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProgram p(seed, exact);
    Report r;
    expect_agreement(p.program(), p.inputs(), &r);
    if (::testing::Test::HasFailure()) return;
    instructions += r.instructions;
    undefined += r.undefined_reads;
  }
  // The programs do something, and meet what they are meant to meet.
  EXPECT_GT(instructions, 3000);
  EXPECT_GT(undefined, 1000);
}

TEST(RandomPrograms, SmallIntegersAgreeBitForBit) {
  expect_agreement_on_random_programs(1, true);
}

// Fused products round differently; those builds have the bound of accuracy_test.cpp instead.
TEST(RandomPrograms, AnyBitsAgreeBitForBitWhereProductsAreRounded) {
  if (products_are_rounded) expect_agreement_on_random_programs(1000, false);
}

}  // namespace
}  // namespace exec_test
