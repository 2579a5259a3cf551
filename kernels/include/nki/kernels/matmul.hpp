#pragma once

#include <nki/kernel/spec.hpp>
#include <nki/nki.hpp>

#include <cstdint>
#include <vector>

namespace nki::inline v0_1::kernels {

/// out[m, n] = sum over k of lhs[m, k] * rhs[k, n].
///
/// rhs [K, N] and out [M, N] are row-major; lhs is [K, M] (layout lhsT) or [M, K] (layout lhs, transposed on the tensor
/// engine). Any M, N, K >= 1: ragged edges are smaller tiles.
struct Matmul {
  static constexpr const char* name = "matmul";
  static constexpr const char* formula = "out[m,n] = sum_k lhs[m,k] * rhs[k,n]";

  enum class Layout : std::int64_t { lhsT, lhs };
  enum class Keep : std::int64_t { none, lhs, rhs };
  enum class Evacuate : std::int64_t { vector, scalar, both };

  struct Problem {
    std::int64_t m = 0, n = 0, k = 0;
    Layout layout = Layout::lhsT;
    DType lhs = DType::bf16, rhs = DType::bf16, out = DType::bf16;
  };
  /// A block of the output is tiles_m x tiles_n PSUM tiles; its operands arrive in chunks of tiles_k contraction tiles.
  struct Params {
    std::int64_t tiles_m = 4;     ///< stationary tiles (128 rows of out) in a block
    std::int64_t tiles_n = 1;     ///< moving tiles (512 columns of out) in a block
    std::int64_t tiles_k = 4;     ///< contraction tiles (128) in one load
    std::int64_t bufs = 2;        ///< slots of the streamed operands and of the output
    std::int64_t psum_bufs = 2;   ///< slots of the accumulators
    Keep keep = Keep::none;       ///< the operand whose whole panel stays in SBUF while the other streams
    std::int64_t panel_bufs = 1;  ///< slots of that panel
    ir::Engine lhs_queue = ir::Engine::sync, rhs_queue = ir::Engine::sync, out_queue = ir::Engine::scalar;
    Evacuate evacuate = Evacuate::vector;  ///< who copies PSUM to SBUF
  };

  static constexpr std::int64_t tile_m = nl::tile_size.gemm_stationary_fmax;  // 128
  static constexpr std::int64_t tile_n = nl::tile_size.gemm_moving_fmax;      // 512
  static constexpr std::int64_t tile_k = nl::tile_size.pmax;                  // 128
  static constexpr std::int64_t turned_banks = 2;                             // PSUM banks of the transposes

  static void describe(kernel::Of<Matmul>& d) {
    using E = ir::Engine;
    const auto queue = [](E e) { return static_cast<std::int64_t>(e); };
    const std::vector<DType> floats{DType::bf16, DType::f16, DType::f32};
    d.size<&Problem::m>("m", "rows of out")
        .size<&Problem::n>("n", "columns of out")
        .size<&Problem::k>("k", "contraction");
    d.attr<&Problem::layout>("layout", "lhsT: lhs is [k, m]; lhs: lhs is [m, k]", {"lhsT", "lhs"});
    d.dtype<&Problem::lhs>("lhs", floats).dtype<&Problem::rhs>("rhs", floats).dtype<&Problem::out>("out", floats);
    d.tunable<&Params::tiles_m>("tiles_m", "stationary tiles (128 rows) in a block", {1, 2, 4})
        .tunable<&Params::tiles_n>("tiles_n", "moving tiles (512 columns) in a block", {1, 2, 4})
        .tunable<&Params::tiles_k>("tiles_k", "contraction tiles (128) in one load", {1, 2, 4, 8})
        .tunable<&Params::bufs>("bufs", "slots of the streamed operands", {2, 3})
        .tunable<&Params::psum_bufs>("psum_bufs", "slots of the accumulators", {1, 2})
        .tunable<&Params::keep>("keep", "operand whose panel stays in SBUF", {0, 1, 2}, {"none", "lhs", "rhs"})
        .tunable<&Params::panel_bufs>("panel_bufs", "slots of the kept panel", {1, 2})
        .tunable<&Params::lhs_queue>("lhs_queue", "queue that loads lhs",
                                     {queue(E::sync), queue(E::scalar), queue(E::gpsimd)}, {"sync", "scalar", "gpsimd"})
        .tunable<&Params::rhs_queue>("rhs_queue", "queue that loads rhs", {queue(E::sync), queue(E::gpsimd)},
                                     {"sync", "gpsimd"})
        .tunable<&Params::out_queue>("out_queue", "queue that stores out",
                                     {queue(E::sync), queue(E::scalar), queue(E::gpsimd)}, {"sync", "scalar", "gpsimd"})
        .tunable<&Params::evacuate>("evacuate", "engine that copies PSUM to SBUF", {0, 1, 2},
                                    {"vector", "scalar", "both"});
    d.require("accumulators and transposes fit 8 PSUM banks", [](const Problem& s, const Params& p, const Arch&) {
      const std::int64_t transposes = s.layout == Layout::lhs ? turned_banks : 0;
      return p.tiles_m * p.tiles_n * p.psum_bufs + transposes <= nl::tile_size.psum_num_banks;
    });
    d.require("the tiles fit SBUF", [](const Problem& s, const Params& p, const Arch& a) {
      return sbuf_bytes_pp(s, p) <= a.sbuf_usable_bytes_pp.as_int();
    });
    d.require("one block of rows is not larger than the matrix", [](const Problem& s, const Params& p, const Arch&) {
      return p.tiles_m == 1 || (p.tiles_m / 2) * tile_m < s.m;
    });
    d.require("one block of columns is not larger than the matrix", [](const Problem& s, const Params& p, const Arch&) {
      return p.tiles_n == 1 || (p.tiles_n / 2) * tile_n < s.n;
    });
    d.require("one load is not longer than the contraction", [](const Problem& s, const Params& p, const Arch&) {
      return p.tiles_k == 1 || (p.tiles_k / 2) * tile_k < s.k;
    });
    d.require("panel_bufs counts only with a kept panel",
              [](const Problem&, const Params& p, const Arch&) { return p.keep != Keep::none || p.panel_bufs == 1; });
    d.require("the target has these queues", [](const Problem&, const Params& p, const Arch& a) {
      return a.hardware_dge_queues.value > 0 ||
             (p.lhs_queue == E::gpsimd && p.rhs_queue == E::gpsimd && p.out_queue == E::gpsimd);
    });
    d.require("the scalar engine copies tiles from NC-v3 on", [](const Problem&, const Params& p, const Arch& a) {
      return p.evacuate == Evacuate::vector || a.generation >= 3;
    });
  }

  static Params default_params(const Problem& s, const Arch& a) {
    Params p;
    while (p.tiles_m > 1 && (p.tiles_m / 2) * tile_m >= s.m) p.tiles_m /= 2;
    while (p.tiles_k > 1 && (p.tiles_k / 2) * tile_k >= s.k) p.tiles_k /= 2;
    if (s.layout == Layout::lhs) p.psum_bufs = 1;  // two banks are left for the transposes
    if (a.hardware_dge_queues.value == 0) p.lhs_queue = p.rhs_queue = p.out_queue = ir::Engine::gpsimd;
    return p;
  }

  static std::vector<kernel::Argument> arguments(const Problem& s) {
    return {{s.layout == Layout::lhsT ? "lhsT" : "lhs", ir::BufferKind::input, s.lhs,
             s.layout == Layout::lhsT ? std::vector{s.k, s.m} : std::vector{s.m, s.k}},
            {"rhs", ir::BufferKind::input, s.rhs, {s.k, s.n}},
            {"out", ir::BufferKind::output, s.out, {s.m, s.n}}};
  }

  static double flops(const Problem& s) {
    return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  }

  static kernel::Work least_work(const Problem& s) {
    const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    return {passes(s) * m * n * k / static_cast<double>(tile_m * tile_k), m * k * bytes(s.lhs) + k * n * bytes(s.rhs),
            m * n * bytes(s.out)};
  }

  static kernel::Work work(const Problem& s, const Params& p) {
    const std::int64_t k_tiles = ir::ceildiv(s.k, tile_k);
    const std::int64_t rounds_m = ir::ceildiv(s.m, p.tiles_m * tile_m), rounds_n = ir::ceildiv(s.n, p.tiles_n * tile_n);
    // One row of tiles streams all of n; a tile with few columns still takes min(64, rows) cycles.
    double columns = 0, transposed = 0;
    for (std::int64_t m0 = 0; m0 < s.m; m0 += tile_m) {
      const std::int64_t rows = s.m - m0 < tile_m ? s.m - m0 : tile_m, floor = rows < 64 ? rows : 64;
      const std::int64_t tail = s.n % tile_n;
      columns += static_cast<double>(s.n - tail + (tail == 0 ? 0 : tail > floor ? tail : floor));
      transposed += static_cast<double>(rows);
    }
    const double transposes = s.layout == Layout::lhs ? (s.lhs == DType::f32 ? 2.0 : 1.0) * transposed *
                                                            static_cast<double>(p.keep == Keep::lhs ? 1 : rounds_n)
                                                      : 0.0;
    const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    return {static_cast<double>(k_tiles) * (passes(s) * columns + transposes),
            m * k * bytes(s.lhs) * static_cast<double>(p.keep == Keep::lhs ? 1 : rounds_n) +
                k * n * bytes(s.rhs) * static_cast<double>(p.keep == Keep::rhs ? 1 : rounds_m),
            m * n * bytes(s.out)};
  }

  static std::int64_t sbuf_bytes_pp(const Problem& s, const Params& p) {
    const std::int64_t lhs_elems = p.tiles_m * tile_m, rhs_elems = p.tiles_n * tile_n,
                       k_tiles = ir::ceildiv(s.k, tile_k);
    const std::int64_t lhs_chunk = p.tiles_k * lhs_elems * bytes(s.lhs),
                       rhs_chunk = p.tiles_k * rhs_elems * bytes(s.rhs);
    const std::int64_t chunks = ir::ceildiv(k_tiles, p.tiles_k);
    std::int64_t total = p.tiles_m * p.bufs * rhs_elems * bytes(s.out);
    total += p.keep == Keep::lhs ? p.panel_bufs * chunks * lhs_chunk : p.bufs * lhs_chunk;
    total += p.keep == Keep::rhs ? p.panel_bufs * chunks * rhs_chunk : p.bufs * rhs_chunk;
    if (s.layout == Layout::lhs) total += p.bufs * lhs_chunk;  // the rows before their transposition
    return total;
  }

  static void build(Builder& nc, const Problem& s, const Params& p) {
    const std::vector<kernel::Argument> args = arguments(s);
    const Matrix lhs = argument(nc, args[0].kind, args[0].name.c_str(), s.lhs, {args[0].shape[0], args[0].shape[1]});
    const Matrix rhs = argument(nc, args[1].kind, "rhs", s.rhs, {s.k, s.n});
    const Matrix out = argument(nc, args[2].kind, "out", s.out, {s.m, s.n});
    const Blocks b{nc, s, p, lhs, rhs, out};
    const std::int64_t block_m = p.tiles_m * tile_m, block_n = p.tiles_n * tile_n;

    if (p.keep == Keep::lhs) {
      for (nl::Block m : nl::tiles(nc, s.m, block_m, "m")) {
        const Panel panel = b.declare("lhs_panel", s.lhs, b.chunks(), block_m, p.panel_bufs);
        for (nl::Block k : nl::tiles(nc, s.k, b.chunk(), "kl")) b.load_lhs(panel, k.number, m, k);
        for (nl::Block n : nl::tiles(nc, s.n, block_n, "n"))
          b.block(m, n, [&](const nl::Block& k) {
            const Panel rows = b.declare("rhs_tile", s.rhs, 1, block_n, p.bufs);
            b.load_rhs(rows, 0, n, k);
            return Operands{panel, rows, k.number, 0};
          });
      }
    } else if (p.keep == Keep::rhs) {
      for (nl::Block n : nl::tiles(nc, s.n, block_n, "n")) {
        const Panel panel = b.declare("rhs_panel", s.rhs, b.chunks(), block_n, p.panel_bufs);
        for (nl::Block k : nl::tiles(nc, s.k, b.chunk(), "kr")) b.load_rhs(panel, k.number, n, k);
        for (nl::Block m : nl::tiles(nc, s.m, block_m, "m"))
          b.block(m, n, [&](const nl::Block& k) {
            const Panel columns = b.declare("lhs_tile", s.lhs, 1, block_m, p.bufs);
            b.load_lhs(columns, 0, m, k);
            return Operands{columns, panel, 0, k.number};
          });
      }
    } else {
      for (nl::Block n : nl::tiles(nc, s.n, block_n, "n"))
        for (nl::Block m : nl::tiles(nc, s.m, block_m, "m"))
          b.block(m, n, [&](const nl::Block& k) {
            const Panel columns = b.declare("lhs_tile", s.lhs, 1, block_m, p.bufs);
            const Panel rows = b.declare("rhs_tile", s.rhs, 1, block_n, p.bufs);
            b.load_lhs(columns, 0, m, k);
            b.load_rhs(rows, 0, n, k);
            return Operands{columns, rows, 0, 0};
          });
    }
  }

 private:
  using Matrix = Hbm<AnyDType, 2>;
  using Panel = Sbuf<AnyDType, tile_k, dyn, dyn>;  // [k in tile, tile of k, m or n]

  static double passes(const Problem& s) { return s.lhs == DType::f32 ? 4.0 : 1.0; }

  struct Operands {
    Panel lhs, rhs;
    Index lhs_chunk, rhs_chunk;  // where this chunk lies in a kept panel
  };

  struct Blocks {
    Builder& nc;
    const Problem& s;
    const Params& p;
    const Matrix &lhs, &rhs, &out;

    std::int64_t chunk() const { return p.tiles_k * tile_k; }
    std::int64_t chunks() const { return ir::ceildiv(s.k, chunk()); }

    Panel declare(const char* tile_name, DType dtype, std::int64_t n_chunks, std::int64_t width,
                  std::int64_t bufs) const {
      return sbuf(nc, dtype, shape(Const<tile_k>{}, n_chunks * p.tiles_k, width), {.name = tile_name, .bufs = bufs});
    }

    /// One chunk of a [K, width] matrix: whole contraction tiles in one DMA, the ragged last one in another.
    void load(const Panel& to, const Index& chunk_number, const Matrix& from, const nl::Block& k,
              const nl::Block& columns, ir::Engine queue) const {
      const Index first = chunk_number * p.tiles_k, whole = floordiv(k.size, tile_k), rest = mod(k.size, tile_k);
      nisa::dma_copy(to(all, ds(first, whole), ds(0, columns.size)),
                     from(ds(k.start, whole * tile_k), ds(columns.start, columns.size))
                         .template reshape_dim<0>(whole, Const<tile_k>{})
                         .template permute<1, 0, 2>(),
                     queue);
      nisa::dma_copy(to(ds(0, rest), first + whole, ds(0, columns.size)),
                     from(ds(k.start + whole * tile_k, rest), ds(columns.start, columns.size)), queue);
    }
    void load_rhs(const Panel& to, const Index& chunk_number, const nl::Block& n, const nl::Block& k) const {
      load(to, chunk_number, rhs, k, n, p.rhs_queue);
    }
    void load_lhs(const Panel& to, const Index& chunk_number, const nl::Block& m, const nl::Block& k) const {
      if (s.layout == Layout::lhsT) return load(to, chunk_number, lhs, k, m, p.lhs_queue);

      // Rows of lhs, 128 to a tile, then each 128 x 128 piece through the array.
      const auto rows =
          sbuf(nc, s.lhs, shape(Const<tile_m>{}, p.tiles_m, chunk()), {.name = "lhs_rows", .bufs = p.bufs});
      const Index whole = floordiv(m.size, tile_m), rest = mod(m.size, tile_m);
      nisa::dma_copy(rows(all, ds(0, whole), ds(0, k.size)),
                     lhs(ds(m.start, whole * tile_m), ds(k.start, k.size))
                         .template reshape_dim<0>(whole, Const<tile_m>{})
                         .template permute<1, 0, 2>(),
                     p.lhs_queue);
      nisa::dma_copy(rows(ds(0, rest), whole, ds(0, k.size)),
                     lhs(ds(m.start + whole * tile_m, rest), ds(k.start, k.size)), p.lhs_queue);
      // Two banks in turn: one fills while the other is copied.
      const std::int64_t pools = p.tiles_k == 1 ? 1 : 2;
      std::vector<Psum<AnyDType, tile_k, dyn>> banks;
      for (std::int64_t i = 0; i < pools; ++i)
        banks.push_back(psum(nc, s.lhs, shape(Const<tile_k>{}, p.tiles_m * tile_m),
                             {.name = "turned", .bufs = turned_banks / pools}));
      for (std::int64_t t = 0; t < p.tiles_k; ++t) {
        const nl::Block kt = k.part(t * tile_k, tile_k);
        const auto& turned = banks[static_cast<std::size_t>(t % pools)];
        for (std::int64_t i = 0; i < p.tiles_m; ++i) {
          const nl::Block mt = m.part(i * tile_m, tile_m);
          nisa::nc_transpose(turned(ds(0, kt.size), ds(i * tile_m, mt.size)),
                             rows(ds(0, mt.size), i, ds(t * tile_k, kt.size)));
        }
        nisa::tensor_copy(to(ds(0, kt.size), chunk_number * p.tiles_k + t, ds(0, m.size)),
                          turned(ds(0, kt.size), ds(0, m.size)), evacuator(t));
      }
    }

    ir::Engine evacuator(std::int64_t i) const {
      if (p.evacuate == Evacuate::both) return i % 2 == 0 ? ir::Engine::vector : ir::Engine::scalar;
      return p.evacuate == Evacuate::scalar ? ir::Engine::scalar : ir::Engine::vector;
    }

    /// One block of the output: accumulate over k, evacuate PSUM, store.
    template <class Load>
    void block(const nl::Block& m, const nl::Block& n, Load&& load_chunk) const {
      std::vector<Psum<f32, tile_m, tile_n>> acc;
      for (std::int64_t i = 0; i < p.tiles_m * p.tiles_n; ++i)
        acc.push_back(psum<f32>(nc, shape(Const<tile_m>{}, Const<tile_n>{}), {.name = "acc", .bufs = p.psum_bufs}));

      for (nl::Block k : nl::tiles(nc, s.k, chunk(), "k")) {
        const Operands o = load_chunk(k);
        for (std::int64_t t = 0; t < p.tiles_k; ++t) {
          const nl::Block kt = k.part(t * tile_k, tile_k);
          for (std::int64_t i = 0; i < p.tiles_m; ++i)
            for (std::int64_t j = 0; j < p.tiles_n; ++j) {
              const nl::Block mt = m.part(i * tile_m, tile_m), nt = n.part(j * tile_n, tile_n);
              nisa::nc_matmul(acc[static_cast<std::size_t>(i * p.tiles_n + j)](ds(0, mt.size), ds(0, nt.size)),
                              o.lhs(ds(0, kt.size), o.lhs_chunk * p.tiles_k + t, ds(i * tile_m, mt.size)),
                              o.rhs(ds(0, kt.size), o.rhs_chunk * p.tiles_k + t, ds(j * tile_n, nt.size)));
            }
        }
      }

      for (std::int64_t i = 0; i < p.tiles_m; ++i) {
        const nl::Block mt = m.part(i * tile_m, tile_m);
        const auto y = sbuf(nc, s.out, shape(Const<tile_m>{}, p.tiles_n * tile_n), {.name = "y", .bufs = p.bufs});
        for (std::int64_t j = 0; j < p.tiles_n; ++j) {
          const nl::Block nt = n.part(j * tile_n, tile_n);
          nisa::tensor_copy(y(ds(0, mt.size), ds(j * tile_n, nt.size)),
                            acc[static_cast<std::size_t>(i * p.tiles_n + j)](ds(0, mt.size), ds(0, nt.size)),
                            evacuator(i * p.tiles_n + j));
        }
        nisa::dma_copy(out(ds(mt.start, mt.size), ds(n.start, n.size)), y(ds(0, mt.size), ds(0, n.size)), p.out_queue);
      }
    }
  };
};

}  // namespace nki::inline v0_1::kernels
