#pragma once

#include <nki/alloc.hpp>
#include <nki/arch.hpp>
#include <nki/ir/program.hpp>
#include <nki/nki.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nki::inline v0_1::testing {

/// Random numbers that are the same everywhere (splitmix64; the standard's distributions are not).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  /// 0 .. n - 1
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n)); }
  /// low .. high
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  template <class List>
  auto any(const List& list) {
    return *(list.begin() + below(static_cast<std::int64_t>(list.size())));
  }
  template <class T>
  T any(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<std::int64_t>(list.size())));
  }

 private:
  std::uint64_t state_;
};

struct RandomOptions {
  const Arch* target = &arch::trn2;
  std::int64_t longest_loop = 40;         ///< trip counts are 0, 1, 2 and so on up to this
  std::int64_t most_instructions = 4000;  ///< of a run, about
  std::int64_t widest = 512;              ///< elements per partition of a tile, or of one block of it
};

namespace detail {

/// Records one program. Everything that is read has been written: each tile carries the rows and columns that are
/// defined for sure, and what a loop's body defines counts in that body only, since the loop may run zero times.
class RandomRecorder {
 public:
  RandomRecorder(std::uint64_t seed, const RandomOptions& options)
      : options_(options), random_(seed), nc_(options.target), left_(options.most_instructions) {}

  ir::Program run(std::uint64_t seed) && {
    nc_.set_kernel("random");
    nc_.set_params("seed=" + std::to_string(seed));
    declare_arguments();
    body(static_cast<int>(random_.between(1, 3)));
    for (std::size_t i = 0; i < tiles_.size(); ++i)
      if (tiles_[i].written && random_.one_in(2)) store();
    return nc_.finish();
  }

 private:
  template <ir::Space S, int Rank>
  struct TileOf;
  template <ir::Space S>
  struct TileOf<S, 2> {
    using type = Tensor<S, AnyDType, dyn, dyn>;
  };
  template <ir::Space S>
  struct TileOf<S, 3> {
    using type = Tensor<S, AnyDType, dyn, dyn, dyn>;
  };
  template <ir::Space S>
  using Plane = typename TileOf<S, 2>::type;

  /// A tile and what of it is defined: `rows` x `columns` from the corner.
  template <class T>
  struct Tile {
    T tensor;
    std::int64_t most_rows = 0, most_columns = 0;
    std::size_t depth = 0;  ///< loops around its declaration
    bool sums = false;      ///< PSUM: only nc_matmul writes it
    bool written = false;
    Index rows = 0, columns = 0;
  };
  template <ir::Space S>
  using Tiles = std::vector<Tile<Plane<S>>>;
  /// Several blocks of columns side by side, [rows, blocks, columns], of which [first, first + blocks) are defined.
  struct Panel {
    Tile<Sbuf<AnyDType, dyn, dyn, dyn>> tile;
    Index first = 0;
    std::int64_t blocks = 0;
  };
  /// Defined elements to be read.
  template <ir::Space S>
  struct Piece {
    Plane<S> view;
    Index rows, columns;
  };
  struct Span {
    Index start, count;
  };
  struct Open {
    Index index;
    bool affine;
    std::int64_t extent = 0, block = 0;  ///< of nl::tiles
    nl::Block part{};
  };

  static std::int64_t most(const Index& n) { return n.range().hi; }

  // ---- What there is.

  void declare_arguments() {
    const std::int64_t rows = rows_max * (options_.longest_loop + 2), columns = 2 * options_.widest;
    std::vector<DType> dtypes{DType::f32, DType::bf16, DType::f16};
    for (std::size_t i = 0; i < 3; ++i)
      inputs_.push_back(argument(nc_, ir::BufferKind::input, "x", dtypes[i], {rows, columns}));
    for (std::size_t i = 0; i < 4; ++i)
      outputs_.push_back(argument(nc_, ir::BufferKind::output, "y", random_.any(dtypes), {rows, columns}));
  }

  bool has_room(ir::Space space, DType dtype, std::int64_t elems, std::int64_t slots) {
    if (space == ir::Space::psum) {
      if (elems * bytes(dtype) > nl::tile_size.psum_bank_fmax_bytes || banks_ + slots > nl::tile_size.psum_num_banks)
        return false;
      banks_ += slots;
    } else {
      const std::int64_t size = ir::ceildiv(elems * bytes(dtype), sbuf_alignment_bytes) * sbuf_alignment_bytes * slots;
      if (sbuf_bytes_ + size > options_.target->sbuf_usable_bytes_pp.as_int()) return false;
      sbuf_bytes_ += size;
    }
    return true;
  }

  template <ir::Space S>
  Tiles<S>& tiles() {
    if constexpr (S == ir::Space::sbuf)
      return tiles_;
    else
      return banks_of_;
  }

  /// A new tile of at least these extents; none where the memory is full.
  template <ir::Space S>
  std::optional<std::size_t> declare(DType dtype, std::int64_t rows, std::int64_t columns, bool sums) {
    if (random_.one_in(3)) rows = rows_max;
    if (sums && random_.one_in(2)) columns = nl::tile_size.psum_bank_fmax;
    const std::int64_t slots = random_.between(1, S == ir::Space::psum ? 2 : 4);
    if (!has_room(S, dtype, columns, slots)) return {};
    const auto s = shape(rows, columns);
    if constexpr (S == ir::Space::sbuf) {
      tiles_.push_back({sbuf(nc_, dtype, s, {.bufs = slots}), rows, columns, open_.size()});
    } else {
      banks_of_.push_back({psum(nc_, dtype, s, {.bufs = slots}), rows, columns, open_.size(), sums});
    }
    return tiles<S>().size() - 1;
  }

  /// Whether a tile from outside may be written here: iterations of affine loops leave nothing to each other.
  bool may_write(std::size_t depth) const {
    for (std::size_t i = depth; i < open_.size(); ++i)
      if (open_[i].affine) return false;
    return true;
  }

  /// A tile to write, other than `not_this`.
  template <ir::Space S>
  std::optional<std::size_t> destination(DType dtype, const Index& rows, const Index& columns, ir::BufferId not_this,
                                         bool sums = false, bool adds = false) {
    std::vector<std::size_t> found;
    const Tiles<S>& all = tiles<S>();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].tensor.dtype() == dtype && all[i].sums == sums && all[i].most_rows >= most(rows) &&
          all[i].most_columns >= most(columns) && all[i].tensor.view().buffer != not_this &&
          (adds || may_write(all[i].depth)))
        found.push_back(i);
    if (found.empty() || random_.one_in(2))
      if (const auto made = declare<S>(dtype, most(rows), most(columns), sums)) return made;
    if (found.empty()) return {};
    return random_.any(found);
  }

  template <class T>
  static auto corner(const T& tensor, const Index& rows, const Index& columns) {
    return tensor(ds(Index(0), rows), ds(Index(0), columns));
  }
  template <ir::Space S>
  void define(std::size_t i, const Index& rows, const Index& columns) {
    auto& t = tiles<S>()[i];
    t.written = true;
    t.rows = rows;
    t.columns = columns;
    spend();
  }
  void spend() { left_ -= passes_; }

  template <ir::Space S>
  std::optional<Piece<S>> piece() {
    std::vector<std::size_t> found;
    const Tiles<S>& all = tiles<S>();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].written) found.push_back(i);
    if constexpr (S == ir::Space::sbuf)
      if (!panels_.empty() && (found.empty() || random_.one_in(2))) return block_of(random_.any(panels_));
    if (found.empty()) return {};
    const auto& t = all[random_.any(found)];
    return Piece<S>{corner(t.tensor, t.rows, t.columns), t.rows, t.columns};
  }
  Piece<ir::Space::sbuf> block_of(const Panel& p) {
    Index at = random_.below(p.blocks);
    for (const Open& o : open_)
      if (most(o.index) < p.blocks && o.index.range().lo >= 0 && random_.one_in(2)) at = o.index;
    const auto& t = p.tile;
    return {t.tensor(ds(Index(0), t.rows), p.first + at, ds(Index(0), t.columns)), t.rows, t.columns};
  }

  /// Some of the columns of a piece, at most `longest`.
  template <ir::Space S>
  Piece<S> narrow(const Piece<S>& p, std::int64_t longest) {
    const std::int64_t have = most(p.columns);
    if (p.columns.is_number() && have >= 4 && random_.one_in(8)) {
      const Index n = have / 2 < longest ? have / 2 : longest;
      return {p.view(all, ds(Index(0), n, 2)), p.rows, n};
    }
    if (have <= longest && !random_.one_in(3)) return p;
    const std::int64_t most_here = have < longest ? have : longest;
    const std::int64_t length = random_.one_in(2) ? most_here : random_.between(1, most_here);
    const std::int64_t from = random_.one_in(2) ? 0 : random_.below(have);
    const Index n = min(Index(length), p.columns - from);
    return {p.view(all, ds(Index(from), n)), p.rows, n};
  }
  /// At most so many rows of a piece.
  template <ir::Space S>
  static Piece<S> shorten(const Piece<S>& p, std::int64_t longest) {
    if (most(p.rows) <= longest) return p;
    const Index n = min(Index(longest), p.rows);
    return {p.view(ds(Index(0), n), all), n, p.columns};
  }

  /// Positions along an axis of HBM: a ragged part of a block, or some that move with the loops.
  Span span(std::int64_t extent, std::int64_t longest) {
    for (const Open& o : open_) {
      if (o.block == 0 || o.extent > extent || !random_.one_in(2)) continue;
      const std::int64_t length = o.block < longest ? o.block : longest;
      std::int64_t from = random_.below(ir::ceildiv(o.block, length)) * length;
      if (most(o.part.size) <= from) from = 0;  // beyond the edge whatever the index
      return {o.part.start + from, o.part.part(from, length).size};
    }
    const std::int64_t n = random_.one_in(2) ? longest : random_.between(1, longest);
    Index start = 0;
    std::int64_t room = extent - n;
    for (const Open& o : open_) {
      const std::int64_t last = most(o.index);
      if (last == 0 || random_.one_in(4)) continue;
      const std::int64_t fits = room / last, step = random_.any({n, std::int64_t{32}, std::int64_t{1}});
      if (step > fits) continue;
      start += o.index * step;
      room -= last * step;
    }
    if (random_.one_in(3)) start += random_.below(room + 1);
    return {start, n};
  }

  /// Where a store goes in an output that no other store meets: it moves with every loop that asks for it.
  std::optional<std::array<Index, 2>> place(const Index& rows, const Index& columns) {
    std::array<std::int64_t, 2> step{most(rows), most(columns)};
    std::array<std::int64_t, 2> room{outputs_[0].dim_size(0) - step[0], outputs_[0].dim_size(1) - step[1]};
    std::array<Index, 2> start{};
    for (std::size_t i = open_.size(); i-- > 0;) {
      const Open& o = open_[i];
      if (!o.affine && random_.one_in(2)) continue;
      bool moved = false;
      for (std::size_t axis = 0; axis < 2 && !moved; ++axis) {
        const std::int64_t last = most(o.index);
        if (step[axis] * last > room[axis]) continue;
        start[axis] += o.index * step[axis];
        room[axis] -= step[axis] * last;
        step[axis] *= last + 1;
        moved = true;
      }
      if (!moved && o.affine) return {};
    }
    return start;
  }

  ir::Engine queue(DType from, DType to) {
    if (from != to || options_.target->hardware_dge_queues.value == 0) return ir::Engine::gpsimd;
    return random_.any({ir::Engine::sync, ir::Engine::scalar, ir::Engine::gpsimd});
  }
  DType dtype() { return random_.any({DType::f32, DType::bf16, DType::f16}); }

  // ---- What happens.

  void load() {
    const Matrix& x = random_.any(inputs_);
    const Span rows = span(x.dim_size(0), rows_max), columns = span(x.dim_size(1), options_.widest);
    const DType to = random_.one_in(6) ? dtype() : x.dtype();
    const auto dst = destination<ir::Space::sbuf>(to, rows.count, columns.count, ir::no_id);
    if (!dst) return;
    nisa::dma_copy(corner(tiles_[*dst].tensor, rows.count, columns.count),
                   x(ds(rows.start, rows.count), ds(columns.start, columns.count)), queue(x.dtype(), to));
    define<ir::Space::sbuf>(*dst, rows.count, columns.count);
  }

  void store() {
    const auto found = piece<ir::Space::sbuf>();
    if (!found) return;
    const Piece<ir::Space::sbuf> src = narrow(*found, options_.widest);
    // The first output is for stores that may meet; the others take one store each.
    bool meet = may_write(0);
    if (meet && next_output_ < outputs_.size() && random_.one_in(2)) meet = false;
    if (!meet && next_output_ == outputs_.size()) return;
    const auto start = place(src.rows, src.columns);
    if (!start) return;
    const Matrix& y = outputs_[meet ? 0 : next_output_++];
    nisa::dma_copy(y(ds((*start)[0], src.rows), ds((*start)[1], src.columns)), src.view,
                   queue(src.view.dtype(), y.dtype()));
    spend();
  }

  void fill() {
    const Index rows = random_.one_in(2) ? rows_max : random_.between(1, rows_max);
    const Index columns = random_.between(1, options_.widest);
    const double value = random_.any({0.0, 1.0, -0.5, 3.0});
    const DType to = dtype();
    if (random_.one_in(4)) {
      const auto dst = destination<ir::Space::psum>(to, rows, columns, ir::no_id);
      if (!dst) return;
      nisa::memset(corner(banks_of_[*dst].tensor, rows, columns), value);
      define<ir::Space::psum>(*dst, rows, columns);
      return;
    }
    const auto dst = destination<ir::Space::sbuf>(to, rows, columns, ir::no_id);
    if (!dst) return;
    const ir::Engine engine = random_.one_in(3) ? ir::Engine::gpsimd : ir::Engine::vector;
    nisa::memset(corner(tiles_[*dst].tensor, rows, columns), value, engine);
    define<ir::Space::sbuf>(*dst, rows, columns);
  }

  template <ir::Space From, ir::Space To>
  void copy() {
    const auto found = piece<From>();
    if (!found) return;
    const Piece<From> src = narrow(*found, options_.widest);
    const DType to = random_.one_in(2) ? src.view.dtype() : dtype();
    const auto dst = destination<To>(to, src.rows, src.columns, src.view.view().buffer);
    if (!dst) return;
    std::vector<ir::Engine> engines{ir::Engine::vector};
    if (options_.target->generation >= 3) engines.push_back(ir::Engine::scalar);
    if (From == ir::Space::sbuf && To == ir::Space::sbuf) engines.push_back(ir::Engine::gpsimd);
    nisa::tensor_copy(corner(tiles<To>()[*dst].tensor, src.rows, src.columns), src.view, random_.any(engines));
    define<To>(*dst, src.rows, src.columns);
  }

  template <ir::Space To>
  void transpose(const Piece<ir::Space::sbuf>& src, ir::Engine engine) {
    const auto dst = destination<To>(src.view.dtype(), src.columns, src.rows, src.view.view().buffer);
    if (!dst) return;
    nisa::nc_transpose(corner(tiles<To>()[*dst].tensor, src.columns, src.rows), src.view, engine);
    define<To>(*dst, src.columns, src.rows);
  }
  void transpose() {
    const auto src = piece<ir::Space::sbuf>();
    if (!src) return;
    if (random_.one_in(2)) {
      transpose<ir::Space::psum>(narrow(*src, nl::tile_size.pmax), ir::Engine::tensor);
    } else {
      const auto small = narrow(shorten(*src, vector_transpose_max), vector_transpose_max);
      if (random_.one_in(3))
        transpose<ir::Space::psum>(small, ir::Engine::vector);
      else
        transpose<ir::Space::sbuf>(small, ir::Engine::vector);
    }
  }

  void multiply() {
    auto a = piece<ir::Space::sbuf>(), b = piece<ir::Space::sbuf>();
    if (!a) return;
    // The contraction is one number, or one index, for both.
    const auto wide = [](DType t) { return t == DType::f32; };
    const bool same = a->rows.is_number() == b->rows.is_number() &&
                      (a->rows.is_number() || a->rows.id(nc_.pool()) == b->rows.id(nc_.pool()));
    if (!same || wide(a->view.dtype()) != wide(b->view.dtype())) b = a;
    // Without rows there is no product, and the sum would stay undefined.
    if (a->rows.range().lo < 1) return;
    const std::int64_t rows = most(a->rows) < most(b->rows) ? most(a->rows) : most(b->rows);
    const auto stationary = narrow(shorten(*a, rows), nl::tile_size.gemm_stationary_fmax);
    const auto moving = narrow(shorten(*b, rows), nl::tile_size.gemm_moving_fmax);
    const bool adds = random_.one_in(2);
    const auto dst =
        destination<ir::Space::psum>(DType::f32, stationary.columns, moving.columns, ir::no_id, true, adds);
    if (!dst) return;
    nisa::nc_matmul(corner(banks_of_[*dst].tensor, stationary.columns, moving.columns), stationary.view, moving.view,
                    adds ? ir::Accumulate::auto_ : ir::Accumulate::overwrite);
    define<ir::Space::psum>(*dst, stationary.columns, moving.columns);
  }

  /// A panel whose chunks arrive one by one, each used as soon as it is there; afterwards all of it can be read.
  void panel() {
    const std::int64_t chunks = random_.between(1, 4), per_chunk = random_.between(1, 3), blocks = chunks * per_chunk;
    const std::int64_t rows = random_.one_in(3) ? random_.between(1, rows_max) : rows_max;
    const std::int64_t most_columns = options_.widest / 4 > 0 ? options_.widest / 4 : 1;
    const Matrix& x = random_.any(inputs_);
    if (blocks * rows > x.dim_size(0) || passes_ * chunks * 4 > left_) return;
    const std::int64_t slots = random_.between(1, 3);
    if (!has_room(ir::Space::sbuf, x.dtype(), blocks * most_columns, slots)) return;
    const Span columns = span(x.dim_size(1), most_columns);
    Panel p{{sbuf(nc_, x.dtype(), shape(rows, blocks, most_columns), {.name = "panel", .bufs = slots}), rows,
             most_columns, open_.size()},
            0,
            per_chunk};
    p.tile.written = true;
    p.tile.rows = rows;
    p.tile.columns = columns.count;
    const ir::Engine by = queue(x.dtype(), x.dtype());
    const auto load_chunk = [&](const Index& chunk) {
      p.first = chunk * per_chunk;
      nisa::dma_copy(p.tile.tensor(all, ds(p.first, Index(per_chunk)), ds(Index(0), columns.count)),
                     x(ds(p.first * rows, Index(per_chunk * rows)), ds(columns.start, columns.count))
                         .template reshape_dim<0>(Index(per_chunk), rows)
                         .template permute<1, 0, 2>(),
                     by);
      spend();
    };
    if (random_.one_in(3)) {
      for (std::int64_t c = 0; c < chunks; ++c) load_chunk(c);
    } else {
      for (Index c : nl::affine_range(nc_, chunks)) {
        const Inside inside(*this, {c, true}, chunks);
        load_chunk(c);
        panels_.push_back(p);
        for (std::int64_t n = random_.below(3); n > 0; --n) step(0);
      }
    }
    p.first = 0;
    p.blocks = blocks;
    panels_.push_back(p);
  }

  /// While it lives, what is recorded belongs to a loop's body; at its end, what the body defined is forgotten.
  class Inside {
   public:
    Inside(RandomRecorder& r, const Open& loop, std::int64_t trips)
        : r_(&r), passes_(r.passes_), tiles_(r.tiles_), banks_(r.banks_of_), panels_(r.panels_.size()) {
      r.open_.push_back(loop);
      if (trips > 0) r.passes_ *= trips;
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() {
      r_->passes_ = passes_;
      r_->tiles_ = std::move(tiles_);
      r_->banks_of_ = std::move(banks_);
      r_->panels_.erase(r_->panels_.begin() + static_cast<std::ptrdiff_t>(panels_), r_->panels_.end());
      r_->open_.pop_back();
    }

   private:
    RandomRecorder* r_;
    std::int64_t passes_;
    Tiles<ir::Space::sbuf> tiles_;
    Tiles<ir::Space::psum> banks_;
    std::size_t panels_;
  };

  std::int64_t trips() {
    const std::int64_t affordable = left_ / (passes_ * instructions_per_pass);
    const std::int64_t longest = affordable < options_.longest_loop ? affordable : options_.longest_loop;
    if (longest < 3 || random_.one_in(6)) return random_.below(3);
    return random_.between(2, random_.one_in(3) && longest > 6 ? 6 : longest);
  }

  void loop(int levels) {
    const std::int64_t n = trips();
    switch (random_.below(6)) {
      case 0: {  // blocks of an extent, the last one ragged
        if (n == 0) return;
        const std::int64_t block = random_.between(1, rows_max) * (random_.one_in(4) ? 2 : 1);
        const std::int64_t extent = (n - 1) * block + random_.between(1, block);
        for (nl::Block b : nl::tiles(nc_, extent, block)) {
          const Inside inside(*this, {b.number, true, extent, block, b}, n);
          body(levels);
        }
        return;
      }
      case 1: {  // bounds that move with another loop
        Index upper = n;
        if (!open_.empty()) {
          const Index at = random_.any(open_).index;
          upper = min(Index(n), at + random_.below(3));
        }
        const Index lower = random_.one_in(2) ? 0 : random_.below(n + 1);
        for (Index i : nl::sequential_range(nc_, lower, upper)) {
          const Inside inside(*this, {i, false}, n);
          body(levels);
        }
        return;
      }
      case 2:
      case 3:
        for (Index i : nl::sequential_range(nc_, n)) {
          const Inside inside(*this, {i, false}, n);
          body(levels);
        }
        return;
      default:
        for (Index i : nl::affine_range(nc_, n)) {
          const Inside inside(*this, {i, true}, n);
          body(levels);
        }
    }
  }

  void step(int levels) {
    switch (random_.below(levels > 0 ? 16 : 13)) {
      case 0:
      case 1:
      case 2:
        load();
        break;
      case 3:
      case 4:
        store();
        break;
      case 5:
        fill();
        break;
      case 6:
        copy<ir::Space::sbuf, ir::Space::sbuf>();
        break;
      case 7:
        copy<ir::Space::psum, ir::Space::sbuf>();
        break;
      case 8:
        if (random_.one_in(2))
          copy<ir::Space::psum, ir::Space::psum>();
        else
          copy<ir::Space::sbuf, ir::Space::psum>();
        break;
      case 9:
        transpose();
        break;
      case 10:
      case 11:
        multiply();
        break;
      case 12:
        declare_for_later();
        break;
      case 13:
        panel();
        break;
      default:
        loop(levels - 1);
    }
  }

  /// A tile that only a loop further in may write.
  void declare_for_later() {
    const DType of = dtype();
    if (random_.one_in(2))
      declare<ir::Space::sbuf>(of, rows_max, options_.widest, false);
    else
      declare<ir::Space::psum>(DType::f32, rows_max, options_.widest < 512 ? options_.widest : 512, true);
  }

  void body(int levels) {
    if (!random_.one_in(4)) load();
    for (std::int64_t n = random_.between(2, 6); n > 0; --n) step(levels);
    if (open_.empty())
      for (std::int64_t n = random_.between(1, 2); n > 0; --n) loop(levels - 1);
    for (std::int64_t n = random_.between(0, 2); n > 0; --n) step(0);
  }

  using Matrix = Hbm<AnyDType, 2>;

  static constexpr std::int64_t rows_max = nl::tile_size.pmax;
  static constexpr std::int64_t vector_transpose_max = 32;
  static constexpr std::int64_t instructions_per_pass = 8;

  RandomOptions options_;
  Random random_;
  Builder nc_;
  std::vector<Matrix> inputs_, outputs_;
  std::size_t next_output_ = 1;
  Tiles<ir::Space::sbuf> tiles_;
  Tiles<ir::Space::psum> banks_of_;
  std::vector<Panel> panels_;
  std::vector<Open> open_;
  std::int64_t left_;        // instructions of a run that may still come
  std::int64_t passes_ = 1;  // of the body that is recorded
  std::int64_t sbuf_bytes_ = 0, banks_ = 0;
};

}  // namespace detail

/// A legal program, the same for a seed everywhere: nested loops, some of which run zero times or ragged, rotating tiles
/// declared at several depths, transfers on all queues, chunked panels, and all instructions on all their engines.
/// It reads nothing that it has not written, and its affine loops are independent.
inline ir::Program random_program(std::uint64_t seed, const RandomOptions& options = {}) {
  return detail::RandomRecorder(seed, options).run(seed);
}

}  // namespace nki::inline v0_1::testing
