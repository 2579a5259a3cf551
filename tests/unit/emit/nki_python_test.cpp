#include <nki/emit/nki_python.hpp>
#include <nki/kernels/matmul.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#ifndef NKI_TESTS_DIR
#define NKI_TESTS_DIR "tests"
#endif

namespace {

using nki::all;
using nki::Builder;
using nki::ds;
using nki::DType;
using nki::Index;
using nki::emit::nki_python;
using nki::emit::PythonOptions;
using nki::kernels::Matmul;
namespace ir = nki::ir;
namespace nisa = nki::nisa;
namespace nl = nki::nl;

ir::Program matmul(std::int64_t m, std::int64_t n, std::int64_t k, const Matmul::Params& params = {},
                   Matmul::Layout layout = Matmul::Layout::lhsT) {
  const nki::kernel::Of<Matmul> kernel;
  nki::kernel::Problem problem = kernel.default_problem();
  problem.sizes = {m, n, k};
  problem.attrs = {static_cast<std::int64_t>(layout)};
  return kernel.record(problem, kernel.config(params), nki::arch::trn2);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void has(std::string_view text, std::string_view part) {
  if (!contains(text, part)) ADD_FAILURE() << "there is no '" << part << "' in\n" << text;
}
void lacks(std::string_view text, std::string_view part) {
  if (contains(text, part)) ADD_FAILURE() << "there is '" << part << "' in\n" << text;
}

int count(std::string_view text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

/// The code alone: no header, no comments.
std::string code(const ir::Program& p) {
  const std::string text = nki_python(p, {.function = {}, .comments = false});
  return text.substr(text.find("@nki.jit"));
}

/// A program around one HBM input x, one output y and what `body` records.
template <class Body>
ir::Program program(const std::vector<std::int64_t>& shape, Body&& body) {
  Builder nc(&nki::arch::trn2);
  nc.set_kernel("test");
  const auto x = nki::argument(nc, ir::BufferKind::input, "x", DType::f32, {shape[0], shape[1]});
  const auto y = nki::argument(nc, ir::BufferKind::output, "y", DType::f32, {shape[0], shape[1]});
  body(nc, x, y);
  return nc.finish();
}

TEST(NkiPython, MatmulReadsAsTheGoldenFileSays) {
  Matmul::Params params;
  params.tiles_m = 2;
  params.tiles_k = 2;
  std::string text = nki_python(matmul(300, 1100, 391, params));
  // The kernel's line numbers change with every edit of the kernel.
  for (std::size_t at = text.find("matmul.hpp:"); at != std::string::npos; at = text.find("matmul.hpp:", at + 1)) {
    const std::size_t digits = at + std::string_view("matmul.hpp:").size();
    text.replace(digits, text.find_first_not_of("0123456789", digits) - digits, "LINE");
  }

  const std::string path = NKI_TESTS_DIR "/golden/matmul_lhsT.py.golden";
  if (std::getenv("NKI_ACCEPT") != nullptr) std::ofstream(path) << text;
  std::stringstream golden;
  golden << std::ifstream(path).rdbuf();
  EXPECT_EQ(text, golden.str()) << "if the change is meant, accept it with NKI_ACCEPT=1";
}

TEST(NkiPython, IsDeterministic) {
  EXPECT_EQ(nki_python(matmul(300, 1100, 391)), nki_python(matmul(300, 1100, 391)));
}

TEST(NkiPython, WritesEveryOpcode) {
  const ir::Program p = program({32, 32}, [](Builder& nc, const auto& x, const auto& y) {
    const auto a = nki::sbuf(nc, DType::f32, nki::shape(32, 32), {.name = "a"});
    const auto t = nki::psum(nc, DType::f32, nki::shape(32, 32), {.name = "t"});
    nisa::memset(a, 0.5);
    nisa::dma_copy(a, x);
    nisa::nc_transpose(t, a);
    nisa::nc_matmul(t, a, a, nisa::Accumulate::overwrite);
    nisa::tensor_copy(a, t);
    nisa::dma_copy(y, a);
  });
  const std::string text = code(p);
  for (const ir::OpInfo& op : ir::op_table) {
    const std::size_t at = text.find(std::string("nisa.") + op.name + "(");
    ASSERT_NE(at, std::string::npos) << op.name << " is not in the program of this test";
    const std::string call = text.substr(at, text.find('\n', at) - at);
    for (int i = 0; i < op.n_operands; ++i) has(call, std::string(op.operands[static_cast<std::size_t>(i)].name) + "=");
    for (int i = 0; i < op.n_attrs; ++i) has(call, std::string(op.attrs[static_cast<std::size_t>(i)].name) + "=");
  }
}

TEST(NkiPython, GuardsRaggedExtents) {
  Matmul::Params params;
  params.tiles_m = 2;
  params.tiles_n = 2;
  params.psum_bufs = 1;
  const std::string text = code(matmul(300, 1100, 391, params, Matmul::Layout::lhs));
  has(text, "m_size = min(256, 300 - m * 256)\n");
  has(text, "if m_rest > 0:\n");
  has(text, "if m_part_1 > 0 and n_part_1 > 0:\n");
}

TEST(NkiPython, ExactSizesNeedNoGuard) {
  const std::string text = code(matmul(512, 1024, 512));
  lacks(text, "if ");
  lacks(text, "min(");
}

TEST(NkiPython, SharesAGuardBetweenNeighbours) {
  const std::string text = code(program({200, 8}, [](Builder& nc, const auto& x, const auto& y) {
    for (nl::Block b : nl::tiles(nc, 200, 128, "b")) {
      const auto a = nki::sbuf(nc, DType::f32, nki::shape(128, 8), {.name = "a"});
      const Index rest = floordiv(b.size, 100);
      nisa::memset(a(ds(0, rest), all), 0);
      nisa::dma_copy(a(ds(0, rest), all), x(ds(0, rest), all));
      nisa::dma_copy(y(ds(b.start, b.size), all), a(ds(0, b.size), all));
    }
  }));
  EXPECT_EQ(count(text, "if "), 1) << text;
}

TEST(NkiPython, LeavesOutWhatNeverExists) {
  const std::string text = code(program({8, 8}, [](Builder& nc, const auto& x, const auto& y) {
    const auto unused = nki::sbuf(nc, DType::f32, nki::shape(8, 8), {.name = "unused"});
    for (Index i : nl::affine_range(nc, 4, "i")) nisa::memset(unused(ds(0, 8), ds(i, -1)), 0);
    nisa::dma_copy(y, x);
  }));
  lacks(text, "unused");
  lacks(text, "for ");
}

TEST(NkiPython, WritesFlatPrograms) {
  const std::string text = code(program({8, 8}, [](Builder& nc, const auto& x, const auto& y) {
    for (std::int64_t i = 0; i < 2; ++i) {
      const auto a = nki::sbuf(nc, DType::f32, nki::shape(8, 4), {.name = "a"});
      nisa::dma_copy(a, x(all, ds(4 * i, 4)));
      nisa::dma_copy(y(all, ds(4 * i, 4)), a);
    }
  }));
  lacks(text, "for ");
  has(text, "dma_copy(dst=a_2, src=x[:, 4:8],");
}

TEST(NkiPython, WritesLoopBoundsAndKinds) {
  const ir::Program p = program({8, 8}, [](Builder& nc, const auto& x, const auto& y) {
    for (Index i : nl::affine_range(nc, 4, "i"))
      for (Index j : nl::sequential_range(nc, i + 1, max(i * 2, 3), "j"))
        nisa::dma_copy(y(ds(i, 1), ds(j, 1)), x(ds(j, 1), ds(i, 1)));
  });
  const std::string text = nki_python(p);
  has(text, "for i in range(4): ");
  has(text, "for j in range(i + 1, max(3, i * 2)): ");
  EXPECT_EQ(count(text, "# sequential, nki_python_test.cpp:"), 1);
}

TEST(NkiPython, ParenthesisesArithmetic) {
  const std::string text = code(program({64, 64}, [](Builder& nc, const auto& x, const auto& y) {
    for (Index i : nl::affine_range(nc, 32, "i"))
      nisa::dma_copy(y(ds(i, 1), ds(mod(i * 3 + 1, 5), 1)), x(ds(floordiv(i + 1, 4) * 2, 1), ds(31 - i, 1)));
  }));
  has(text, "i_div_4 = (i + 1) // 4\n");
  has(text, "i_mod_5 = (i * 3 + 1) % 5\n");
  has(text, "x[i_div_4 * 2 : i_div_4 * 2 + 1, 31 - i : 32 - i]");
}

TEST(NkiPython, PutsWholeAndRestTogether) {
  const std::string text = code(matmul(128, 512, 391, {.tiles_m = 1, .tiles_k = 2}));
  has(text, "lhsT[k * 256 + k_whole * 128 : k * 256 + k_size, :]");
}

TEST(NkiPython, WritesViews) {
  const std::string text = code(program({64, 96}, [](Builder& nc, const auto& x, const auto& y) {
    const auto a = nki::sbuf(nc, DType::f32, nki::shape(64, 4, 24), {.name = "a"});
    nisa::dma_copy(a, x);                                 // whole
    nisa::dma_copy(a, x.template reshape_dim<1>(4, 24));  // one axis in two
    nisa::dma_copy(a(all, ds(0, 2), all), x(all, ds(48, 48)).template reshape_dim<1>(2, 24));
    nisa::tensor_copy(a.permute<0, 2, 1>(), a);                            // another order
    nisa::tensor_copy(a(ds(0, 32), 1, all), a(ds(32, 32), 2, all));        // dropped dimensions
    nisa::tensor_copy(a(all, all, ds(0, 12)), a(all, all, ds(1, 12, 2)));  // steps
    nisa::dma_copy(y(3, 5), x(63, 95));                                    // one element
    nisa::dma_copy(a(all, all, ds(0, 10)), x.template reshape_dim<1>(4, 24)(all, all, ds(3, 10)));  // gaps
    nisa::tensor_copy(a(ds(0, 32), all, all).template reshape_dim<2>(2, 12)(all, all, 1, ds(2, 5)),
                      a(ds(32, 32), all, ds(0, 5)));
    nisa::tensor_copy(a(all, 0, all).template reshape_dim<1>(6, 4)(all, all, ds(0, 2)), a(all, 1, ds(0, 12)));
  }));
  has(text, "(dst=a, src=x,");
  has(text, "src=x.reshape_dim(1, (4, 24)),");
  has(text, "dst=a[:, 0:2, :], src=x[:, 48:96].reshape_dim(1, (2, 24)),");
  has(text, "dst=a.permute((0, 2, 1)), src=a,");
  has(text, "dst=a[0:32, 1, :], src=a[32:64, 2, :],");
  has(text, "dst=a[:, :, 0:12], src=a[:, :, 1:24:2],");
  has(text, "dst=y[3:4, 5], src=x[63:64, 95],");
  has(text, "src=x.ap(pattern=[[96, 64], [24, 4], [1, 10]], offset=3),");
  has(text, "dst=a[0:32, :, 14:19], src=a[32:64, :, 0:5],");
  has(text, "dst=a.ap(pattern=[[96, 64], [4, 6], [1, 2]], offset=0),");
}

TEST(NkiPython, SaysWhoRunsADma) {
  const std::string text = code(program({8, 8}, [](Builder& nc, const auto& x, const auto& y) {
    const auto a = nki::sbuf(nc, DType::f32, nki::shape(8, 8), {.name = "a"});
    nisa::dma_copy(a, x, ir::Engine::scalar);
    nisa::dma_copy(y, a, ir::Engine::gpsimd);
  }));
  has(text, "(dst=a, src=x, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.scalar)");
  has(text, "(dst=y, src=a, dge_mode=nisa.dge_mode.swdge)");
}

TEST(NkiPython, SpellsAccumulate) {
  const std::string text = code(program({8, 8}, [](Builder& nc, const auto& x, const auto&) {
    const auto a = nki::sbuf(nc, DType::f32, nki::shape(8, 8), {.name = "a"});
    const auto t = nki::psum(nc, DType::f32, nki::shape(8, 8), {.name = "t"});
    nisa::dma_copy(a, x);
    nisa::nc_matmul(t, a, a, nisa::Accumulate::overwrite);
    nisa::nc_matmul(t, a, a, nisa::Accumulate::add);
    nisa::nc_matmul(t, a, a, nisa::Accumulate::auto_);
  }));
  const std::string call = "nisa.nc_matmul(dst=t, stationary=a, moving=a, accumulate=";
  has(text, call + "False)\n    " + call + "True)\n    " + call + "None)");
}

TEST(NkiPython, SpellsNumbersInTheTilesDtype) {
  struct Case {
    DType dtype;
    double value;
    const char* text;
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (const Case& c : {Case{DType::f32, 0, "0.0"}, Case{DType::f32, -0.0, "-0.0"}, Case{DType::bf16, 0.1, "0.1"},
                        Case{DType::f32, 1e30, "1e+30"}, Case{DType::f32, -inf, "float(\"-inf\")"},
                        Case{DType::f32, std::numeric_limits<double>::quiet_NaN(), "float(\"nan\")"},
                        Case{DType::i32, -3, "-3"}, Case{DType::u8, 255, "255"}, Case{DType::boolean, 1, "True"}}) {
    const std::string text = code(program({8, 8}, [&](Builder& nc, const auto&, const auto&) {
      nisa::memset(nki::sbuf(nc, c.dtype, nki::shape(8, 8), {.name = "a"}), c.value);
    }));
    has(text, std::string("value=") + c.text + ",");
  }
}

TEST(NkiPython, NamesAreFreeIdentifiers) {
  ir::Program p = program({8, 8}, [](Builder& nc, const auto& x, const auto& y) {
    for (Index i : nl::affine_range(nc, 2, "i")) {
      const auto a = nki::sbuf(nc, DType::f32, nki::shape(8, 4), {.name = "a"});
      const auto b = nki::sbuf(nc, DType::f32, nki::shape(8, 4), {.name = "b"});
      nisa::dma_copy(a, x(all, ds(i * 4, 4)));
      nisa::tensor_copy(b, a);
      nisa::dma_copy(y(all, ds(i * 4, 4)), b);
    }
  });
  // A recorded program may come from a file, where names are any text.
  p.kernel = "my kernel";
  p.buffers[0].name = "min";
  p.buffers[1].name = "nl";
  p.buffers[2].name = "2 tiles";
  p.buffers[3].name = "2 tiles";
  p.loops[0].name = "for";
  const std::string text = code(p);
  has(text, "def my_kernel(min_):");
  has(text, "nl_ = nl.ndarray(");
  has(text, "for for_ in range(2):");

  std::set<std::string> names{"my_kernel", "min_"};
  for (const std::string& line : lines(text)) {
    const std::size_t first = line.find_first_not_of(' '), end = line.find(" = nl.ndarray(");
    if (end == std::string::npos) continue;
    const std::string name = line.substr(first, end - first);
    EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos) << name;
    EXPECT_FALSE(name[0] >= '0' && name[0] <= '9') << name;
    EXPECT_FALSE(nki::emit::detail::is_reserved(name)) << name;
  }
  EXPECT_EQ(names.size(), 5u);
}

TEST(NkiPython, NamesOfSizesAvoidTakenNames) {
  const std::string text = code(program({200, 8}, [](Builder& nc, const auto& x, const auto& y) {
    for (nl::Block m : nl::tiles(nc, 200, 128, "m")) {
      const auto a = nki::sbuf(nc, DType::f32, nki::shape(128, 8), {.name = "m_size"});
      nisa::dma_copy(a(ds(0, m.size), all), x(ds(m.start, m.size), all));
      nisa::dma_copy(y(ds(m.start, m.size), all), a(ds(0, m.size), all));
    }
  }));
  has(text, "m_size_2 = min(128, 200 - m * 128)\n");
  has(text, "m_size = nl.ndarray(");
}

TEST(NkiPython, CommentsNameLinesSlotsAndScopes) {
  const ir::Program p = program({8, 8}, [](Builder& nc, const auto& x, const auto& y) {
    const auto a = nki::sbuf(nc, DType::f32, nki::shape(8, 8), {.name = "a", .bufs = 3});
    {
      const auto scope = nc.scope("load");
      nisa::dma_copy(a, x);
    }
    nisa::dma_copy(y, a);
  });
  const std::string text = nki_python(p);
  has(text, "# 3 slots, nki_python_test.cpp:");
  has(text, "    # -- load --\n");
  has(text, "    # --\n");
  lacks(code(p), "#");
}

TEST(NkiPython, TextOfAProgramStaysInItsComment) {
  ir::Program p = program({8, 8}, [](Builder&, const auto& x, const auto& y) { nisa::dma_copy(y, x); });
  p.problem = "m=1\nimport os";
  p.kernel = "a\n";
  p.files.assign(p.files.size(), "f\nimport os");
  for (const std::string& line : lines(nki_python(p))) EXPECT_NE(line, "import os");
}

TEST(NkiPython, LongHeadersWrap) {
  ir::Program p = program({8, 8}, [](Builder&, const auto& x, const auto& y) { nisa::dma_copy(y, x); });
  for (int i = 0; i < 40; ++i) p.params += "tunable_" + std::to_string(i) + "=1,";
  for (const std::string& line : lines(nki_python(p))) EXPECT_TRUE(line[0] != '#' || line.size() <= 96) << line;
}

TEST(NkiPython, TakesAFunctionName) {
  const ir::Program p = program({8, 8}, [](Builder&, const auto& x, const auto& y) { nisa::dma_copy(y, x); });
  has(nki_python(p, {.function = "other"}), "def other(x):");
}

TEST(NkiPython, RefusesDeviceLoops) {
  ir::Program p = program({8, 8}, [](Builder& nc, const auto& x, const auto& y) {
    for (Index i : nl::affine_range(nc, 2, "i")) nisa::dma_copy(y(ds(i, 1), all), x(ds(i, 1), all));
  });
  p.loops[0].kind = ir::LoopKind::while_loop;
  try {
    static_cast<void>(nki_python(p));
    FAIL();
  } catch (const nki::Error& e) {
    EXPECT_EQ(e.id(), "NKI-E701");
    has(e.what(), "loop 'i' of kind while_loop");
    has(e.what(), "nki_python_test.cpp:");
    has(e.what(), "hint: ");
  }
}

TEST(NkiPython, RefusesPartitionsThatAreNotConsecutive) {
  const auto refusal = [](auto&& edit) -> std::string {
    ir::Program p = program({8, 8}, [](Builder& nc, const auto& x, const auto&) {
      const auto a = nki::sbuf(nc, DType::f32, nki::shape(8, 8), {.name = "a"});
      nisa::dma_copy(a(ds(0, 4), ds(0, 8)), x(ds(0, 4), all));
    });
    edit(p.views[p.operand(p.instrs[0], 0)]);
    try {
      static_cast<void>(nki_python(p));
    } catch (const nki::Error& e) {
      return e.what();
    }
    return "nothing";
  };
  has(refusal([](ir::View& v) { v.dims[0].step = 2; }), "NKI-E702");
  has(refusal([](ir::View& v) { std::swap(v.dims[0], v.dims[1]); }), "NKI-E702");
  EXPECT_EQ(refusal([](ir::View&) {}), "nothing");
}

TEST(NkiPython, RefusesIndicesBeyond32Bits) {
  const std::int64_t rows = std::int64_t{1} << 32;
  const ir::Program p = program({rows, 8}, [&](Builder& nc, const auto& x, const auto& y) {
    for (Index i : nl::affine_range(nc, rows, "i")) nisa::dma_copy(y(ds(i, 1), all), x(ds(i, 1), all));
  });
  try {
    static_cast<void>(nki_python(p));
    FAIL();
  } catch (const nki::Error& e) {
    EXPECT_EQ(e.id(), "NKI-E703");
  }
}

}  // namespace
