#include "support.hpp"

#include <nki/exec/interpreter.hpp>
#include <nki/exec/run.hpp>
#include <nki/ir/flatten.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace exec_test {

Report fast(const ir::Program& p, std::span<const HostTensor> inputs, std::span<HostTensor> outputs, bool shadow) {
  return nki::exec::run(p, inputs, outputs, {.shadow = shadow});
}
Report slow(const ir::Program& p, std::span<const HostTensor> inputs, std::span<HostTensor> outputs) {
  return nki::exec::interpret(p, inputs, outputs);
}

namespace {

using enum ir::Space;
using ir::Accumulate;
using ir::Opcode;

constexpr float inf = std::numeric_limits<float>::infinity();

/// Inputs of a program, each element the value of `f(i)`.
template <class F>
std::vector<HostTensor> inputs_of(const ir::Program& p, F&& f) {
  std::vector<HostTensor> list = make_arguments(p, ir::BufferKind::input);
  for (HostTensor& t : list) nki::exec::fill(t, f);
  return list;
}
std::vector<HostTensor> counting(const ir::Program& p) {
  return inputs_of(p, [](std::int64_t i) { return static_cast<double>(i % 251) - 100.0; });
}

/// in -> tile -> out through one tile of another dtype.
ir::Program through(DType from, DType by, DType to, std::int64_t rows, std::int64_t columns) {
  Sketch s;
  const auto in = s.input(from, {rows, columns}), out = s.output(to, {rows, columns});
  const auto t = s.tile(sbuf, by, {rows, columns}), u = s.tile(sbuf, to, {rows, columns});
  s.copy(s.whole(t), s.whole(in));
  s.instr(Opcode::tensor_copy, {s.whole(u), s.whole(t)});
  s.copy(s.whole(out), s.whole(u));
  return s.program;
}

TEST(Copy, EqualDtypesKeepBits) {
  for (DType d : {DType::f32, DType::bf16, DType::f16, DType::i8, DType::u16, DType::i32, DType::boolean}) {
    const ir::Program p = through(d, d, d, 3, 50);
    std::vector<HostTensor> in = make_arguments(p, ir::BufferKind::input);
    for (std::size_t i = 0; i < in[0].data.size(); ++i) in[0].data[i] = static_cast<std::byte>(i * 37 + 11);
    const std::vector<HostTensor> out = expect_agreement(p, in);
    EXPECT_EQ(out[0].data, in[0].data) << nki::name(d);
  }
}

TEST(Copy, ConvertsBetweenAllDtypesLikeTheInterpreter) {
  constexpr DType all[] = {DType::f32, DType::bf16, DType::f16, DType::i8,  DType::i16,
                           DType::i32, DType::u8,   DType::u16, DType::u32, DType::boolean};
  constexpr double values[] = {0.0,
                               -0.0,
                               0.5,
                               1.5,
                               2.5,
                               -0.5,
                               -1.5,
                               1e-40,
                               6e-8,
                               65519.0,
                               65520.0,
                               -65536.0,
                               3.4e38,
                               2147483647.0,
                               -2147483648.0,
                               4294967295.0,
                               127.5,
                               -128.5,
                               255.5,
                               1.00390625,
                               1.01171875,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
  for (DType from : all)
    for (DType by : all)
      for (DType to : {DType::f32, DType::bf16, DType::f16, DType::i16, DType::u32}) {
        SCOPED_TRACE(std::string(nki::name(from)) + " " + nki::name(by) + " " + nki::name(to));
        const ir::Program p = through(from, by, to, 2, 37);
        expect_agreement(p, inputs_of(p, [&](std::int64_t i) { return values[i % std::ssize(values)]; }));
      }
}

TEST(Copy, RoundsToNearestTiesToEven) {
  const ir::Program p = through(DType::f32, DType::f32, DType::bf16, 1, 4);
  constexpr double values[] = {1.0 + 1.0 / 256, 1.0 + 3.0 / 256, 1.0 + 1.0 / 256 + 1.0 / 65536, -3.4e38};
  const std::vector<HostTensor> out = expect_agreement(p, inputs_of(p, [&](std::int64_t i) { return values[i]; }));
  EXPECT_EQ(nki::exec::to_floats(out[0]), (std::vector<float>{1.0F, 1.0F + 4.0F / 256, 1.0F + 2.0F / 256, -inf}));
}

TEST(Copy, IntegersRoundAndSaturate) {
  const ir::Program p = through(DType::f32, DType::f32, DType::i8, 1, 6);
  const float values[] = {2.5F, 3.5F, -300.0F, 300.0F, std::numeric_limits<float>::quiet_NaN(), -inf};
  const std::vector<HostTensor> out = expect_agreement(p, inputs_of(p, [&](std::int64_t i) { return values[i]; }));
  EXPECT_EQ(nki::exec::to_floats(out[0]), (std::vector<float>{2, 4, -128, 127, 0, -128}));
}

TEST(Copy, WalksViewsInRowMajorOrderOfTheirDimensions) {
  // out[j, i] = in[i, 1 + 2 j], and two dimensions on one axis: 3 a + b for a < 2, b < 3.
  Sketch s;
  const auto in = s.input(DType::f32, {4, 7}), out = s.output(DType::f32, {3, 4}), all = s.output(DType::f32, {6});
  s.copy(s.whole(out), s.view(in, {s.dim(1, 1, 3, 2), s.dim(0, 0, 4)}));
  s.copy(s.whole(all), s.view(in, {s.dim(1, 0, 2, 3), s.dim(1, 0, 3)}));
  const std::vector<HostTensor> got =
      expect_agreement(s.program, inputs_of(s.program, [](std::int64_t i) { return i; }));
  EXPECT_EQ(nki::exec::to_floats(got[0]), (std::vector<float>{1, 8, 15, 22, 3, 10, 17, 24, 5, 12, 19, 26}));
  EXPECT_EQ(nki::exec::to_floats(got[1]), (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Copy, StretchesOfDifferentLengthsMeet) {
  // [2, 6] into [4, 3] with gaps, converting and not.
  for (DType to : {DType::f32, DType::f16}) {
    Sketch s;
    const auto in = s.input(DType::f32, {2, 8}), out = s.output(to, {4, 5});
    s.copy(s.view(out, {s.dim(0, 0, 4), s.dim(1, 1, 3)}), s.view(in, {s.dim(0, 0, 2), s.dim(1, 2, 6)}));
    Report r;
    expect_agreement(s.program, counting(s.program), &r);
    EXPECT_EQ(r.unwritten_elements, 8);
    EXPECT_EQ(r.unwritten[0].first, 0);
  }
}

TEST(Copy, ReadsAllBeforeItWrites) {
  Sketch s;
  const auto in = s.input(DType::bf16, {2, 40}), out = s.output(DType::bf16, {2, 40});
  const auto t = s.tile(sbuf, DType::bf16, {2, 40});
  s.copy(s.whole(t), s.whole(in));
  s.instr(Opcode::tensor_copy,
          {s.view(t, {s.dim(0, 0, 2), s.dim(1, 1, 39)}), s.view(t, {s.dim(0, 0, 2), s.dim(1, 0, 39)})});
  s.instr(Opcode::nc_transpose,
          {s.view(t, {s.dim(0, 0, 2), s.dim(1, 0, 2)}), s.view(t, {s.dim(0, 0, 2), s.dim(1, 0, 2)})});
  s.copy(s.whole(out), s.whole(t));
  const std::vector<float> got =
      nki::exec::to_floats(expect_agreement(s.program, inputs_of(s.program, [](std::int64_t i) { return i; }))[0]);
  EXPECT_EQ(got[1], 40.0F);
  EXPECT_EQ(got[40], 0.0F);
  for (std::size_t i = 2; i < 40; ++i) EXPECT_EQ(got[i], static_cast<float>(i - 1));
}

TEST(Memset, WritesOneValueInEveryDtype) {
  for (DType d : {DType::f32, DType::bf16, DType::f16, DType::i8, DType::i32, DType::u16})
    for (double v : {0.0, 3.0, 16777217.0, 0.1}) {
      Sketch s;
      const auto out = s.output(d, {3, 9}), t = s.tile(sbuf, d, {3, 9});
      s.memset(s.whole(t), 7.0);
      s.memset(s.view(t, {s.dim(0, 1, 2), s.dim(1, 0, 5, 2)}), v);
      s.copy(s.whole(out), s.whole(t));
      const std::vector<HostTensor> got = expect_agreement(s.program, {});
      if (d == DType::i32) {
        EXPECT_EQ(got[0].as<std::int32_t>()[9], static_cast<std::int32_t>(std::nearbyint(v)));
      }
    }
}

TEST(Transpose, MovesBitsForEveryShapeAndSize) {
  for (DType d : {DType::f32, DType::bf16, DType::i8})
    for (std::int64_t rows : {1, 2, 17, 128})
      for (std::int64_t columns : {1, 3, 16, 100, 128}) {
        Sketch s;
        const auto in = s.input(d, {rows, columns}), out = s.output(d, {columns, rows});
        const auto t = s.tile(sbuf, d, {rows, columns}), u = s.tile(psum, d, {columns, rows});
        s.copy(s.whole(t), s.whole(in));
        s.instr(Opcode::nc_transpose, {s.whole(u), s.whole(t)});
        const auto y = s.tile(sbuf, d, {columns, rows});
        s.instr(Opcode::tensor_copy, {s.whole(y), s.whole(u)});
        s.copy(s.whole(out), s.whole(y));
        std::vector<HostTensor> list = make_arguments(s.program, ir::BufferKind::input);
        for (std::size_t i = 0; i < list[0].data.size(); ++i) list[0].data[i] = static_cast<std::byte>(i * 101);
        const std::vector<HostTensor> got = expect_agreement(s.program, list);
        const auto size = static_cast<std::int64_t>(nki::bytes(d));
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < columns; ++c)
            for (std::int64_t b = 0; b < size; ++b)
              ASSERT_EQ(got[0].data[static_cast<std::size_t>((c * rows + r) * size + b)],
                        list[0].data[static_cast<std::size_t>((r * columns + c) * size + b)]);
      }
}

TEST(Transpose, TakesStridedAndFoldedViews) {
  Sketch s;
  const auto in = s.input(DType::bf16, {5, 4, 6}), out = s.output(DType::bf16, {12, 9});
  const auto t = s.tile(sbuf, DType::bf16, {5, 4, 6}), u = s.tile(psum, DType::bf16, {12, 9});
  s.copy(s.whole(t), s.whole(in));
  s.memset(s.whole(u), 0.0);
  s.instr(Opcode::nc_transpose, {s.view(u, {s.dim(0, 0, 12), s.dim(1, 0, 5, 2)}),
                                 s.view(t, {s.dim(0, 0, 5), s.dim(1, 0, 4), s.dim(2, 1, 3, 2)})});
  s.copy(s.whole(out), s.whole(u));
  const std::vector<HostTensor> got =
      expect_agreement(s.program, inputs_of(s.program, [](std::int64_t i) { return i; }));
  // out[f, 2 p] = in[p, f / 3, 1 + 2 (f % 3)]
  EXPECT_EQ(nki::exec::to_floats(got[0])[4 * 9 + 2 * 3], static_cast<float>(3 * 24 + 1 * 6 + 3));
}

/// One matmul of ones per entry, on the columns [first, first + width) of a [2, 8] tile; each adds `depth`.
struct Part {
  std::int64_t first, width;
  Accumulate accumulate;
};
std::vector<float> sums(const std::vector<Part>& parts, Report* report = nullptr, bool before = false) {
  Sketch s;
  const auto out = s.output(DType::f32, {2, 8});
  const auto a = s.tile(sbuf, DType::bf16, {3, 2}), b = s.tile(sbuf, DType::bf16, {3, 8});
  const auto acc = s.tile(psum, DType::f32, {2, 8}), y = s.tile(sbuf, DType::f32, {2, 8});
  s.memset(s.whole(a), 1.0);
  s.memset(s.whole(b), 1.0);
  if (before) s.memset(s.whole(acc), 100.0);
  for (const Part& part : parts)
    s.matmul(s.view(acc, {s.dim(0, 0, 2), s.dim(1, part.first, part.width)}), s.whole(a),
             s.view(b, {s.dim(0, 0, 3), s.dim(1, 0, part.width)}), part.accumulate);
  s.instr(Opcode::tensor_copy, {s.whole(y), s.whole(acc)});
  s.copy(s.whole(out), s.whole(y));
  std::vector<float> row = nki::exec::to_floats(expect_agreement(s.program, {}, report)[0]);
  row.resize(8);
  return row;
}

TEST(Accumulate, AutoOverwritesFirstAndAddsLaterElementByElement) {
  using enum Accumulate;
  EXPECT_EQ(sums({{0, 8, auto_}}), (std::vector<float>(8, 3)));
  EXPECT_EQ(sums({{0, 8, auto_}, {0, 8, auto_}}), (std::vector<float>(8, 6)));
  EXPECT_EQ(sums({{0, 5, auto_}, {3, 5, auto_}}), (std::vector<float>{3, 3, 3, 6, 6, 3, 3, 3}));
  EXPECT_EQ(sums({{0, 5, auto_}, {3, 5, auto_}, {0, 8, overwrite}, {7, 1, add}}),
            (std::vector<float>{3, 3, 3, 3, 3, 3, 3, 6}));
}

TEST(Accumulate, AutoOverwritesWhatNoMatmulWrote) {
  EXPECT_EQ(sums({{0, 5, Accumulate::auto_}}, nullptr, true), (std::vector<float>{3, 3, 3, 3, 3, 100, 100, 100}));
}

TEST(Accumulate, AddOnWhatNoMatmulWroteIsAnUndefinedRead) {
  Report r;
  const std::vector<float> row = sums({{0, 4, Accumulate::auto_}, {2, 6, Accumulate::add}}, &r);
  EXPECT_EQ(row[3], 6.0F);
  EXPECT_TRUE(std::isnan(row[4]));
  EXPECT_EQ(r.undefined_reads, 2 * 4);
  EXPECT_EQ(r.first_undefined_read.operand, "dst");
}

TEST(Accumulate, ANewInstanceStartsAfresh) {
  Sketch s;
  const auto out = s.output(DType::f32, {3, 2, 4});
  const auto a = s.tile(sbuf, DType::f32, {3, 2}), b = s.tile(sbuf, DType::f32, {3, 4});
  s.memset(s.whole(a), 1.0);
  s.memset(s.whole(b), 1.0);
  const auto i = s.open(0, 3);
  const auto acc = s.tile(psum, DType::f32, {2, 4}, 2);
  const auto j = s.open(0, i + 1);
  static_cast<void>(j);
  s.matmul(s.whole(acc), s.whole(a), s.whole(b));
  s.close();
  s.copy(s.view(out, {s.dim(0, i, 1), s.dim(1, 0, 2), s.dim(2, 0, 4)}), s.whole(acc));
  s.close();
  const std::vector<HostTensor> got = expect_agreement(s.program, {});
  const std::vector<float> v = nki::exec::to_floats(got[0]);
  for (std::size_t e = 0; e < v.size(); ++e) EXPECT_EQ(v[e], 3.0F * static_cast<float>(e / 8 + 1));
}

TEST(Matmul, StripsFollowOverwrittenOperands) {
  // The moving tile is rewritten in part between two products; an untouched part may be reused.
  Sketch s;
  const auto in = s.input(DType::f32, {4, 40}), out = s.output(DType::f32, {3, 60});
  const auto a = s.tile(sbuf, DType::f32, {4, 3}), b = s.tile(sbuf, DType::f32, {4, 40});
  s.memset(s.whole(a), 1.0);
  s.copy(s.whole(b), s.whole(in));
  const auto product = [&](std::int64_t from, std::int64_t to) {
    const auto acc = s.tile(psum, DType::f32, {3, 10});
    s.matmul(s.whole(acc), s.whole(a), s.view(b, {s.dim(0, 0, 4), s.dim(1, from, 10)}));
    s.copy(s.view(out, {s.dim(0, 0, 3), s.dim(1, to, 10)}), s.whole(acc));
  };
  product(0, 0);
  product(20, 10);
  s.memset(s.view(b, {s.dim(0, 2, 1), s.dim(1, 25, 15)}), 1000.0);
  product(0, 20);
  product(20, 30);
  s.memset(s.view(a, {s.dim(0, 0, 4), s.dim(1, 1, 1)}), 2.0);
  product(0, 40);
  // One view as stationary and as moving operand.
  const auto acc = s.tile(psum, DType::f32, {3, 3});
  const ir::View part = s.view(b, {s.dim(0, 0, 4), s.dim(1, 0, 3)});
  s.matmul(s.whole(acc), part, part);
  s.copy(s.view(out, {s.dim(0, 0, 3), s.dim(1, 50, 3)}), s.whole(acc));
  s.memset(s.view(a, {s.dim(0, 0, 4), s.dim(1, 0, 3)}), 0.0);
  Report r;
  expect_agreement(s.program, inputs_of(s.program, [](std::int64_t i) { return i; }), &r);
  EXPECT_EQ(r.unwritten_elements, 3 * 7);
}

TEST(Matmul, TakesStridedOperandsAndDestinations) {
  Sketch s;
  const auto in = s.input(DType::bf16, {30, 4, 20}), out = s.output(DType::f32, {16, 3, 30});
  const auto t = s.tile(sbuf, DType::bf16, {30, 4, 20}), acc = s.tile(psum, DType::f32, {16, 3, 30});
  s.copy(s.whole(t), s.whole(in));
  s.memset(s.whole(acc), -1.0);
  for (int i = 0; i < 3; ++i)  // [8, 15] sums in every second row and column
    s.matmul(s.view(acc, {s.dim(0, 1, 8, 2), s.dim(1, 0, 3), s.dim(2, i, 5, 2)}),
             s.view(t, {s.dim(0, 2, 7, 3), s.dim(1, 1, 2, 2), s.dim(2, 0, 4, 5)}),
             s.view(t, {s.dim(0, 0, 7, 4), s.dim(2, 0, 3, 2), s.dim(2, 1, 5)}));
  s.copy(s.whole(out), s.whole(acc));
  expect_agreement(s.program, inputs_of(s.program, [](std::int64_t i) { return i % 7 - 3; }));
}

TEST(Matmul, OverlappingViewsReadAndAddTwice) {
  // Windows of a row, as convolutions read them: element [k, i, j] is at i + j. The sums of [3, 4] fold onto 6 places.
  Sketch s;
  const auto in = s.input(DType::f32, {2, 9}), out = s.output(DType::f32, {2, 12}),
             folded = s.output(DType::f32, {1, 9});
  const auto t = s.tile(sbuf, DType::f32, {2, 9}), acc = s.tile(psum, DType::f32, {2, 12});
  const auto row = s.tile(psum, DType::f32, {1, 9});
  s.copy(s.whole(t), s.whole(in));
  const ir::View windows = s.view(t, {s.dim(0, 0, 2), s.dim(1, 0, 4), s.dim(1, 2, 3)});
  s.matmul(s.whole(acc), s.view(t, {s.dim(0, 0, 2), s.dim(1, 0, 2)}), windows);
  s.copy(s.whole(out), s.whole(acc));
  s.memset(s.whole(row), 0);
  s.matmul(s.view(row, {s.dim(1, 0, 3), s.dim(1, 0, 4)}), s.view(t, {s.dim(0, 0, 2), s.dim(1, 0, 3)}),
           s.view(t, {s.dim(0, 0, 2), s.dim(1, 0, 4)}));
  s.copy(s.whole(folded), s.whole(row));
  const std::vector<HostTensor> got =
      expect_agreement(s.program, inputs_of(s.program, [](std::int64_t i) { return i; }));
  // Row 0 of t is 0..8, row 1 is 9..17: sums[m, n] = m n + (9 + m) (9 + n); place 2 takes [0, 2], [1, 1] and [2, 0].
  EXPECT_EQ(nki::exec::to_floats(got[1])[2], 99.0F + 101.0F + 99.0F);
}

TEST(Matmul, ReadsAllBeforeItWrites) {
  // No machine writes sums into an operand; the meaning is the same as everywhere.
  Sketch s;
  const auto in = s.input(DType::f32, {100, 100}), out = s.output(DType::f32, {100, 100});
  const auto t = s.tile(ir::Space::sbuf, DType::f32, {100, 100});
  s.copy(s.whole(t), s.whole(in));
  s.matmul(s.whole(t), s.whole(t), s.whole(t));
  s.copy(s.whole(out), s.whole(t));
  expect_agreement(s.program, inputs_of(s.program, [](std::int64_t i) { return i * 7 % 5 - 2; }));
}

TEST(Matmul, HostileValuesKeepTheirPlace) {
  const float values[] = {std::numeric_limits<float>::quiet_NaN(), inf, -inf, -0.0F, 1e-40F, 3e38F, -3e38F, 1.0F};
  for (DType d : {DType::f32, DType::bf16}) {
    Sketch s;
    const auto lhs = s.input(d, {8, 8}), rhs = s.input(d, {8, 13}), out = s.output(DType::f32, {8, 13});
    const auto a = s.tile(sbuf, d, {8, 8}), b = s.tile(sbuf, d, {8, 13}), acc = s.tile(psum, DType::f32, {8, 13});
    s.copy(s.whole(a), s.whole(lhs));
    s.copy(s.whole(b), s.whole(rhs));
    s.matmul(s.whole(acc), s.whole(a), s.whole(b));
    s.copy(s.whole(out), s.whole(acc));
    // Row m of the result sees one hostile value, in column m of the stationary tile; zeros elsewhere.
    std::vector<HostTensor> in = make_arguments(s.program, ir::BufferKind::input);
    nki::exec::fill(in[0], [&](std::int64_t i) { return i / 8 == i % 8 ? values[i % 8] : 0.0F; });
    nki::exec::fill(in[1], [](std::int64_t) { return 0.5F; });
    const std::vector<float> got = nki::exec::to_floats(expect_agreement(s.program, in)[0]);
    EXPECT_TRUE(std::isnan(got[0]));
    EXPECT_EQ(got[13], inf);
    EXPECT_EQ(got[26], -inf);
    EXPECT_EQ(got[39], 0.0F);
    EXPECT_EQ(got[52], d == DType::f32 ? 1e-40F * 0.5F : nki::bf16_value(nki::bf16_bits(1e-40F)) * 0.5F);
    EXPECT_EQ(got[7 * 13 + 12], 0.5F);
  }
}

TEST(Loops, RotationKeepsEarlierInstances) {
  for (std::int32_t slots = 1; slots <= 4; ++slots) {
    Sketch s;
    const auto in = s.input(DType::bf16, {7, 3, 5}), out = s.output(DType::bf16, {7, 3, 5});
    const auto i = s.open(0, 7);
    const auto t = s.tile(sbuf, DType::bf16, {3, 5}, slots);
    const auto part = [&](ir::BufferId b) { return s.view(b, {s.dim(0, i, 1), s.dim(1, 0, 3), s.dim(2, 0, 5)}); };
    s.copy(s.whole(t), part(in));
    s.copy(part(out), s.whole(t));
    s.close();
    const std::vector<HostTensor> list = counting(s.program);
    EXPECT_EQ(expect_agreement(s.program, list)[0].data, list[0].data);
    std::vector<HostTensor> flat = make_arguments(s.program, ir::BufferKind::output);
    fast(ir::flatten(s.program), list, flat);
    EXPECT_EQ(flat[0].data, list[0].data);
  }
}

TEST(Loops, ZeroTripsAndEmptyInstructionsDoNothing) {
  Sketch s;
  const auto in = s.input(DType::f32, {4, 10}), out = s.output(DType::f32, {4, 10});
  const auto i = s.open(3, 3);
  s.copy(s.view(out, {s.dim(0, i, 1), s.dim(1, 0, 10)}), s.view(in, {s.dim(0, i, 1), s.dim(1, 0, 10)}));
  s.close();
  const auto j = s.open(0, 6);
  // Row j, columns [0, 4 - j): rows 4 and 5 do not exist.
  const auto width = 4 - j;
  s.copy(s.view(out, {s.dim(0, j, 1), s.dim(1, 0, width)}), s.view(in, {s.dim(0, j, 1), s.dim(1, 0, width)}));
  s.close();
  Report r;
  expect_agreement(s.program, counting(s.program), &r);
  EXPECT_EQ(r.instructions, 4);
  EXPECT_EQ(r.unwritten_elements, 40 - (4 + 3 + 2 + 1));
  EXPECT_EQ(r.unwritten[0].first, 4);
}

TEST(Shadow, UnwrittenOutputsKeepThePoison) {
  Sketch s;
  s.output(DType::bf16, {2, 3});
  s.output(DType::i16, {2});
  Report r;
  const std::vector<HostTensor> out = expect_agreement(s.program, {}, &r);
  for (float v : nki::exec::to_floats(out[0])) EXPECT_TRUE(std::isnan(v));
  EXPECT_EQ(out[1].data[0], std::byte{0xA5});
  EXPECT_EQ(r.unwritten_elements, 8);
  ASSERT_EQ(r.unwritten.size(), 2U);
  EXPECT_EQ(r.unwritten[0].buffer, "b0");
  EXPECT_FALSE(r.clean());
}

TEST(Shadow, UndefinedElementsAreCountedAndReadAsNanOrFour) {
  Sketch s;
  const auto out = s.output(DType::f32, {2, 6}), ints = s.output(DType::i32, {2, 6});
  const auto t = s.tile(sbuf, DType::f16, {2, 6}), u = s.tile(sbuf, DType::i8, {2, 6});
  s.memset(s.view(t, {s.dim(0, 0, 2), s.dim(1, 0, 4)}), 2.0);
  s.copy(s.whole(out), s.whole(t));
  s.copy(s.whole(ints), s.whole(u));
  Report r;
  const std::vector<HostTensor> got = expect_agreement(s.program, {}, &r);
  EXPECT_EQ(r.undefined_reads, 2 * 2 + 2 * 6);
  EXPECT_TRUE(std::isnan(nki::exec::to_floats(got[0])[4]));
  EXPECT_EQ(nki::exec::to_floats(got[1])[0], 4.0F);
  EXPECT_EQ(r.first_undefined_read.read.operation, "dma_copy");
  EXPECT_EQ(r.first_undefined_read.read.line, 2U);
  EXPECT_EQ(r.first_undefined_read.buffer, "b2");
  EXPECT_EQ(r.first_undefined_read.elements, 4);
  EXPECT_EQ(r.first_undefined_read.last_write.line, 1U);
  EXPECT_EQ(r.unwritten_elements, 0);
  const std::string text = r.first_undefined_read.violation().text();
  EXPECT_EQ(text,
            "NKI-E303: a tile must be written before it is read; got 4 undefined elements of 'b2' read by dma_copy "
            "(src)\n  at sketch:2\n  hint: memset at sketch:1 wrote part of it last; compare the extents of the two");
}

TEST(Shadow, ANewInstanceIsUndefinedWhateverItsSlotHeld) {
  Sketch s;
  const auto out = s.output(DType::f32, {2, 2});
  const auto t = s.tile(sbuf, DType::f32, {2, 2});
  s.memset(s.whole(t), 1.0);
  s.alloc(t);
  s.memset(s.view(t, {s.dim(0, 0, 1), s.dim(1, 0, 2)}), 2.0);
  s.copy(s.whole(out), s.whole(t));
  Report r;
  const std::vector<HostTensor> got = expect_agreement(s.program, {}, &r);
  EXPECT_EQ(r.undefined_reads, 2);
  EXPECT_TRUE(std::isnan(nki::exec::to_floats(got[0])[2]));
}

TEST(Shadow, WithoutItValuesOfCleanProgramsAreTheSame) {
  const ir::Program p = through(DType::f32, DType::bf16, DType::f16, 7, 33);
  const std::vector<HostTensor> in = counting(p);
  std::vector<HostTensor> with = make_arguments(p, ir::BufferKind::output), without = with;
  fast(p, in, with);
  const Report r = fast(p, in, without, false);
  EXPECT_EQ(with[0].data, without[0].data);
  EXPECT_EQ(r.instructions, 3);
}

}  // namespace
}  // namespace exec_test
