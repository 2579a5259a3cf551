// Writes emitted programs for test_emitted.py: case_NN.py, and case_NN.json with the arguments, the outputs and what
// they mean.
//
//   nki_emit_cases DIRECTORY

#include <nki/emit/nki_python.hpp>
#include <nki/ir/flatten.hpp>
#include <nki/kernels/matmul.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using nki::DType;
using nki::Index;
using nki::kernels::Matmul;
namespace arch = nki::arch;
namespace ir = nki::ir;
namespace nisa = nki::nisa;
namespace nl = nki::nl;
using ir::Engine;

/// Every instruction, and every kind of view and index that the matmul kernel does not use.
ir::Program views() {
  using nki::all;
  using nki::ds;
  nki::Builder nc(&arch::trn2);
  nc.set_kernel("views");
  const auto in = ir::BufferKind::input, out = ir::BufferKind::output;
  const auto x = nki::argument(nc, in, "x", DType::f32, {64, 96});
  const auto turned = nki::argument(nc, out, "turned", DType::f32, {96, 64});
  const auto halves = nki::argument<3>(nc, out, "halves", DType::f32, {64, 2, 50});
  const auto corners = nki::argument<3>(nc, out, "corners", DType::f32, {64, 10, 4});
  const auto filled = nki::argument(nc, out, "filled", DType::i32, {4, 8});
  const auto gram = nki::argument(nc, out, "gram", DType::f32, {96, 48});
  const auto narrow = nki::argument(nc, out, "narrow", DType::f16, {96, 64});
  const auto cast = nki::argument(nc, out, "cast", DType::bf16, {64, 96});
  const auto copied = nki::argument(nc, out, "copied", DType::f32, {64, 96});

  const auto xt = nki::sbuf(nc, DType::f32, nki::shape(64, 96), {.name = "xt"});
  {
    const auto scope = nc.scope("load");
    nisa::dma_copy(xt, x);
    nisa::dma_copy(cast, xt, Engine::gpsimd);
  }
  {
    const auto scope = nc.scope("turn");
    for (Index i : nl::affine_range(nc, 2, "i"))
      for (Index j : nl::affine_range(nc, 3, "j")) {
        const auto block = nki::sbuf(nc, DType::f32, nki::shape(32, 32), {.name = "block", .bufs = 2});
        nisa::nc_transpose(block, xt(ds(i * 32, 32), ds(j * 32, 32)), Engine::vector);
        nisa::dma_copy(turned(ds(j * 32, 32), ds(i * 32, 32)), block, Engine::scalar);
      }
    const auto bank = nki::psum(nc, DType::f32, nki::shape(96, 64), {.name = "bank"});
    const auto half = nki::sbuf(nc, DType::f16, nki::shape(96, 64), {.name = "half"});
    nisa::nc_transpose(bank, xt);
    nisa::tensor_copy(half, bank);
    nisa::dma_copy(narrow, half);
  }
  const auto pair = nki::sbuf(nc, DType::f32, nki::shape(64, 2, 50), {.name = "pair"});
  nisa::memset(pair, 1.5);
  nisa::tensor_copy(pair(all, 0, ds(0, 48)), xt(all, ds(0, 48, 2)), Engine::gpsimd);
  nisa::tensor_copy(pair(all, 1, ds(0, 48)), xt(all, ds(1, 48, 2)), Engine::scalar);
  nisa::dma_copy(halves, pair);

  const auto corner = nki::sbuf(nc, DType::f32, nki::shape(64, 4, 10), {.name = "corner"});
  const auto swapped = nki::sbuf(nc, DType::f32, nki::shape(64, 10, 4), {.name = "swapped"});
  nisa::dma_copy(corner, x.reshape_dim<1>(4, 24)(all, all, ds(3, 10)));
  nisa::tensor_copy(swapped, corner.permute<0, 2, 1>());
  nisa::dma_copy(corners, swapped);

  const auto count = nki::sbuf(nc, DType::i32, nki::shape(4, 8), {.name = "count"});
  nisa::memset(count, -3);
  for (Index i : nl::sequential_range(nc, 4, "row"))
    for (Index j : nl::sequential_range(nc, i, Index(4), "column"))
      nisa::memset(count(ds(0, max(i, 1)), ds(j * 2, 1)), 7, Engine::gpsimd);
  nisa::dma_copy(filled, count);

  const auto sum = nki::psum(nc, DType::f32, nki::shape(96, 48), {.name = "sum"});
  const auto total = nki::sbuf(nc, DType::f32, nki::shape(96, 48), {.name = "total"});
  nisa::nc_matmul(sum, xt, xt(all, ds(0, 48)), nisa::Accumulate::overwrite);
  nisa::nc_matmul(sum, xt, xt(all, ds(0, 48)), nisa::Accumulate::add);
  nisa::nc_matmul(sum, xt, xt(all, ds(0, 48)));
  nisa::tensor_copy(total, sum);
  nisa::dma_copy(gram, total);

  for (Index i : nl::affine_range(nc, 6, "tile")) {
    const Index row = floordiv(i, 3) * 32, column = mod(i, 3) * 32;
    nisa::dma_copy(copied(ds(row, 32), ds(column, 32)), x(ds(row, 32), ds(column, 32)));
  }
  return nc.finish();
}

/// Random loops around copies whose places and extents are random index expressions; extents may be 0 or less.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint64_t seed) : state_(seed * 2654435761u + 1), nc_(&arch::trn2) {}

  ir::Program record() {
    nc_.set_kernel("scatter");
    const auto x = nki::argument(nc_, ir::BufferKind::input, "x", DType::f32, {40, 40});
    const auto y = nki::argument(nc_, ir::BufferKind::output, "y", DType::f32, {40, 40});
    nisa::dma_copy(y, x);
    loops(x, y, 1 + pick(3));
    copies(x, y);
    return nc_.finish();
  }

 private:
  std::int64_t pick(std::int64_t n) {  // xorshift
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::int64_t>(state_ % static_cast<std::uint64_t>(n));
  }

  Index index() {
    Index e(pick(20) - 5);
    if (indices_.empty()) return e;
    const auto any = [&] {
      return indices_[static_cast<std::size_t>(pick(static_cast<std::int64_t>(indices_.size())))];
    };
    for (std::int64_t i = 1 + pick(4); i > 0; --i) switch (pick(7)) {
        case 0:
          e = e + any() * (1 + pick(9));
          break;
        case 1:
          e = e - any();
          break;
        case 2:
          e = floordiv(e, 2 + pick(3));
          break;
        case 3:
          e = mod(e, 3 + pick(12));
          break;
        case 4:
          e = min(e, Index(pick(12)));
          break;
        case 5:
          e = max(e, any() - 2);
          break;
        default:
          e = mod(e, 4) + floordiv(e, 4) * (3 + pick(2)) + any();
          break;
      }
    if (pick(2) == 0) indices_.push_back(e);  // later expressions share this one
    return e;
  }

  void copies(const nki::Hbm<>& x, const nki::Hbm<>& y) {
    using nki::all;
    using nki::ds;
    for (std::int64_t i = 1 + pick(3); i > 0; --i) {
      const Index rows = min(index(), 1 + pick(6)), columns = mod(index(), 6) - pick(3);
      const Index row = mod(index(), 20), column = mod(index(), 20), to_row = mod(index(), 20),
                  to_column = mod(index(), 20);
      switch (pick(5)) {
        case 0:
          nisa::dma_copy(y(ds(to_row, rows), ds(to_column, columns)), x(ds(row, rows), ds(column, columns)));
          break;
        case 1:
          nisa::dma_copy(y(ds(to_row, rows), ds(to_column, columns, 2)), x(ds(row, rows, 3), ds(column, columns)));
          break;
        case 2:
          nisa::dma_copy(y(to_row, ds(to_column, columns)), x(ds(row, columns), column));
          break;
        case 3:
          nisa::dma_copy(y(ds(to_row, rows * 2), ds(to_column, columns)).reshape_dim<0>(rows, 2),
                         x(ds(row, rows), ds(column, columns * 2)).reshape_dim<1>(columns, 2).permute<0, 2, 1>());
          break;
        default:
          nisa::dma_copy(y(ds(to_row, rows), ds(to_column, 4)),
                         x(ds(row, rows), ds(column, 8)).reshape_dim<1>(2, 4)(all, all, ds(pick(3), 2)));
          break;
      }
    }
  }

  void loops(const nki::Hbm<>& x, const nki::Hbm<>& y, std::int64_t depth) {
    const std::size_t known = indices_.size();
    const Index lower = pick(2) == 0 ? Index(0) : mod(index(), 3);
    const Index upper = pick(3) == 0 ? lower + mod(index(), 4) : Index(pick(5));
    for (Index i : nl::sequential_range(nc_, lower, upper, "i")) {
      indices_.push_back(i);
      if (pick(2) == 0) copies(x, y);
      if (depth > 1) loops(x, y, depth - 1);
      if (depth > 1 && pick(2) == 0) loops(x, y, depth - 1);
      copies(x, y);
      indices_.erase(indices_.begin() + static_cast<std::ptrdiff_t>(known), indices_.end());
    }
  }

  std::uint64_t state_;
  nki::Builder nc_;
  std::vector<Index> indices_;
};

std::string json_of(const ir::Program& p, const std::string& extra) {
  std::string s = "{\n  \"kernel\": \"" + p.kernel + "\",\n" + extra;
  for (const ir::BufferKind kind : {ir::BufferKind::input, ir::BufferKind::output}) {
    s += kind == ir::BufferKind::input ? "  \"inputs\": [" : "  \"outputs\": [";
    bool first = true;
    for (const ir::Buffer& b : p.buffers) {
      if (b.kind != kind) continue;
      s += std::string(first ? "" : ",") + "\n    {\"name\": \"" + b.name + "\", \"dtype\": \"" + nki_name(b.dtype) +
           "\", \"shape\": [";
      for (std::size_t i = 0; i < b.rank; ++i) s += (i == 0 ? "" : ", ") + std::to_string(b.shape[i]);
      s += "]}";
      first = false;
    }
    s += kind == ir::BufferKind::input ? "\n  ],\n" : "\n  ]\n";
  }
  return s + "}\n";
}

class Cases {
 public:
  explicit Cases(std::string directory) : directory_(std::move(directory)) {}

  void add(const ir::Program& p, const char* target, const std::string& what) {
    char name[32];
    std::snprintf(name, sizeof name, "/case_%03d", count_++);
    write(directory_ + name + ".py", nki::emit::nki_python(p));
    write(directory_ + name + ".json",
          json_of(p, "  \"target\": \"" + std::string(target) + "\",\n  \"what\": \"" + what + "\",\n"));
  }
  int count() const { return count_; }

 private:
  static void write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.flush();
    if (!file)
      throw nki::Error({.id = {},
                        .sentence = "cannot write " + path,
                        .got = {},
                        .allowed = {},
                        .hint = "give a directory that exists",
                        .file = {},
                        .line = 0,
                        .error_class = nki::ErrorClass::cannot_write});
  }
  std::string directory_;
  int count_ = 0;
};

void add_matmuls(Cases& cases) {
  constexpr std::int64_t sizes[][3] = {{1, 1, 1},      {128, 512, 128},  {129, 513, 129}, {300, 1100, 391},
                                       {197, 729, 64}, {512, 1024, 640}, {257, 31, 1031}};
  constexpr DType dtypes[][3] = {{DType::bf16, DType::bf16, DType::bf16},
                                 {DType::f16, DType::f16, DType::f16},
                                 {DType::f32, DType::f32, DType::f32},
                                 {DType::bf16, DType::f16, DType::f32},
                                 {DType::f32, DType::f32, DType::bf16}};
  constexpr std::int64_t tiles[][3] = {{4, 1, 4}, {1, 1, 1}, {2, 2, 2}, {1, 4, 8}, {1, 2, 4}, {4, 1, 8}};
  constexpr Engine queues[] = {Engine::sync, Engine::scalar, Engine::gpsimd};
  using Layout = Matmul::Layout;
  using Keep = Matmul::Keep;
  using Evacuate = Matmul::Evacuate;

  const nki::kernel::Of<Matmul> kernel;
  std::size_t turn = 0;
  for (const auto& size : sizes)
    for (const Layout layout : {Layout::lhsT, Layout::lhs})
      for (const Keep keep : {Keep::none, Keep::lhs, Keep::rhs}) {
        const nki::Arch& target = turn % 7 == 3 ? arch::trn1 : turn % 7 == 5 ? arch::trn3 : arch::trn2;
        nki::kernel::Problem problem = kernel.default_problem();
        const auto& dtype = dtypes[turn % std::size(dtypes)];
        problem.sizes.assign(std::begin(size), std::end(size));
        problem.attrs = {static_cast<std::int64_t>(layout)};
        problem.dtypes.assign(std::begin(dtype), std::end(dtype));

        Matmul::Params params;
        params.keep = keep;
        params.bufs = turn % 2 == 0 ? 2 : 3;
        params.psum_bufs = 1;
        params.panel_bufs = keep == Keep::none || turn % 2 == 0 ? 1 : 2;
        params.evacuate = target.generation < 3 ? Evacuate::vector : static_cast<Evacuate>(turn % 3);
        const auto queue = [&](std::size_t n) { return target.generation < 3 ? Engine::gpsimd : queues[n % 3]; };
        params.lhs_queue = queue(turn);
        params.rhs_queue = turn % 3 == 1 ? queue(0) : queue(2);
        params.out_queue = queue(turn / 3);

        // The first tile shape, from this turn's on, that the kernel accepts.
        for (std::size_t i = 0; i < std::size(tiles); ++i) {
          const auto& t = tiles[(turn + i) % std::size(tiles)];
          params.tiles_m = t[0], params.tiles_n = t[1], params.tiles_k = t[2];
          const nki::kernel::Config config = kernel.config(params);
          if (kernel.broken_constraint(problem, config, target) >= 0) continue;
          const ir::Program program = kernel.record(problem, config, target);
          cases.add(program, target.name, "matmul");
          if (turn % 4 == 0) cases.add(ir::flatten(program), target.name, "flat");
          break;
        }
        ++turn;
      }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
    return 2;
  }
  try {
    Cases cases(argv[1]);
    add_matmuls(cases);
    const ir::Program program = views();
    cases.add(program, "trn2", "views");
    cases.add(ir::flatten(program), "trn2", "flat");
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const ir::Program random = RandomProgram(seed).record();
      cases.add(random, "trn2", "random");
      cases.add(ir::flatten(random), "trn2", "flat");
    }
    std::printf("%d cases\n", cases.count());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
