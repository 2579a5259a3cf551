// What the tensors of a run must be, and how a mismatch is said.

#include "support.hpp"

#include <nki/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace exec_test {
namespace {

std::string message(const ir::Program& p, const std::vector<HostTensor>& in, std::vector<HostTensor> out) {
  for (const bool is_fast : {true, false}) {
    try {
      is_fast ? fast(p, in, out) : slow(p, in, out);
      return "no error";
    } catch (const nki::Error& e) {
      if (!is_fast) return e.what();
    }
  }
  return "";
}
nki::ErrorClass error_class(const ir::Program& p, const std::vector<HostTensor>& in, std::vector<HostTensor> out) {
  try {
    fast(p, in, out);
  } catch (const nki::Error& e) {
    return e.violation().error_class;
  }
  return nki::ErrorClass::internal;
}

class Arguments : public ::testing::Test {
 protected:
  Arguments() {
    sketch_.input(DType::bf16, {2, 3});
    sketch_.output(DType::f32, {4});
    in_ = make_arguments(sketch_.program, ir::BufferKind::input);
    out_ = make_arguments(sketch_.program, ir::BufferKind::output);
  }
  const ir::Program& program() const { return sketch_.program; }

  Sketch sketch_;
  std::vector<HostTensor> in_, out_;
};

TEST_F(Arguments, FitByOrderAndAnEmptyNameFitsAll) {
  EXPECT_EQ(message(program(), in_, out_), "no error");
  in_[0].name.clear();
  EXPECT_EQ(message(program(), in_, out_), "no error");
}

TEST_F(Arguments, NumberNameDtypeShapeAndBytesMustFit) {
  EXPECT_EQ(message(program(), {}, out_),
            "NKI-E401: a run takes one host tensor for each input and each output of the program, in their order; got "
            "0 inputs and 1 outputs (allowed: 1 and 1)\n  hint: the arguments are b0, b1");
  std::vector<HostTensor> in = in_;
  in[0].name = "b1";
  EXPECT_EQ(message(program(), in, out_),
            "NKI-E402: a host tensor must have the name of the argument in its place, or no name; got 'b1' in the "
            "place of 'b0' (allowed: 'b0')\n  hint: pass the tensors in the order b0, b1");
  in = in_;
  in[0].dtype = DType::f16;
  EXPECT_EQ(message(program(), in, out_),
            "NKI-E403: a host tensor must have the dtype of its argument; got f16 for 'b0' (allowed: bf16)\n  hint: "
            "make the tensor with the argument's dtype; exec::fill rounds the values");
  in = in_;
  in[0].shape = {3, 2};
  EXPECT_EQ(message(program(), in, out_),
            "NKI-E404: a host tensor must have the shape of its argument; got [3, 2] for 'b0' (allowed: [2, 3])\n  "
            "hint: the extents are in reverse order: transpose the data");
  in[0].shape = {6};
  EXPECT_NE(message(program(), in, out_).find("record the program for this shape"), std::string::npos);
  std::vector<HostTensor> out = out_;
  out[0].data.pop_back();
  EXPECT_EQ(message(program(), in_, out),
            "NKI-E405: a host tensor must hold exactly the bytes of its shape; got 15 bytes for 'b1' (allowed: 16)\n  "
            "hint: make the tensor with exec::make_tensor");
  EXPECT_EQ(error_class(program(), in_, out), nki::ErrorClass::usage);
}

TEST_F(Arguments, DtypesWithoutArithmeticAreRefused) {
  sketch_.tile(ir::Space::sbuf, DType::f8e4m3, {2, 2});
  EXPECT_EQ(message(program(), in_, out_).substr(0, 8), "NKI-E406");
}

TEST_F(Arguments, UncheckedProgramsAreStoppedAtTheBrokenRule) {
  const auto expect = [&](const std::string& id, const auto& record) {
    Sketch s;
    const auto in = s.input(DType::bf16, {4, 6}), out = s.output(DType::bf16, {4, 6});
    record(s, in, out);
    const std::string text = message(s.program, make_arguments(s.program, ir::BufferKind::input),
                                     make_arguments(s.program, ir::BufferKind::output));
    EXPECT_EQ(text.substr(0, 8), id) << text;
    EXPECT_NE(text.find("sketch:1"), std::string::npos) << text;
    EXPECT_EQ(error_class(s.program, make_arguments(s.program, ir::BufferKind::input),
                          make_arguments(s.program, ir::BufferKind::output)),
              nki::ErrorClass::illegal);
  };
  const auto part = [](Sketch& s, ir::BufferId b, int rows, int columns) {
    return s.view(b, {s.dim(0, 0, rows), s.dim(1, 0, columns)});
  };
  expect("NKI-E231", [&](Sketch& s, auto in, auto out) { s.copy(s.whole(out), part(s, in, 4, 7)); });
  expect("NKI-E231", [&](Sketch& s, auto in, auto out) {
    s.copy(s.whole(out), s.view(in, {s.dim(0, -1, 4), s.dim(1, 0, 6)}));
  });
  expect("NKI-E121", [&](Sketch& s, auto in, auto out) { s.copy(s.whole(out), part(s, in, 4, 5)); });
  expect("NKI-E312", [&](Sketch& s, auto in, auto) { s.memset(s.whole(in), 0); });
  expect("NKI-E224", [&](Sketch& s, auto in, auto out) {
    s.instr(ir::Opcode::tensor_copy, {part(s, out, 2, 6), part(s, in, 4, 3)});
  });
  expect("NKI-E223", [&](Sketch& s, auto in, auto out) {
    s.instr(ir::Opcode::nc_transpose, {part(s, out, 4, 4), part(s, in, 4, 3)});
  });
  expect("NKI-E204",
         [&](Sketch& s, auto in, auto out) { s.matmul(part(s, out, 4, 4), part(s, in, 2, 4), part(s, in, 3, 4)); });
  expect("NKI-E207",
         [&](Sketch& s, auto in, auto out) { s.matmul(part(s, out, 4, 4), part(s, in, 2, 4), part(s, in, 2, 5)); });
}

TEST(HostTensors, ConvertFromAndToValues) {
  const std::vector<double> values{1.0, -2.5, 1.0 + 1.0 / 512};
  const HostTensor t = nki::exec::make_tensor<double>("x", DType::bf16, {3}, values);
  EXPECT_EQ(nki::exec::to_floats(t), (std::vector<float>{1.0F, -2.5F, 1.0F}));
  EXPECT_EQ(nki::exec::to_doubles(t), (std::vector<double>{1.0, -2.5, 1.0}));
  EXPECT_EQ(t.as<nki::bf16>()[1].bits, nki::bf16(-2.5F).bits);
  EXPECT_THROW(static_cast<void>(t.as<float>()), nki::Error);
  EXPECT_THROW(nki::exec::make_tensor<double>("x", DType::bf16, {4}, values), nki::Error);
}

TEST(Conversions, RowsAgreeWithElements) {
  namespace detail = nki::exec::detail;
  // Every 16-bit code, and f32 values on and around every rounding boundary.
  for (DType d : {DType::bf16, DType::f16}) {
    std::vector<std::uint16_t> codes(65536);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
    std::vector<float> values(codes.size());
    detail::widen(values.data(), reinterpret_cast<const std::byte*>(codes.data()), d, std::ssize(codes));
    for (std::size_t i = 0; i < codes.size(); ++i)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(detail::value_of(codes[i], d)));
    std::vector<float> near;
    for (float v : values)
      for (std::uint32_t offset : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U, 0x8001U})
        near.push_back(std::bit_cast<float>(std::bit_cast<std::uint32_t>(v) + offset));
    std::vector<std::uint16_t> back(near.size());
    detail::narrow(reinterpret_cast<std::byte*>(back.data()), near.data(), d, std::ssize(near));
    for (std::size_t i = 0; i < near.size(); ++i) ASSERT_EQ(back[i], detail::code_of(near[i], d));
  }
}

}  // namespace
}  // namespace exec_test
