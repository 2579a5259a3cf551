#pragma once

#include <nki/arch.hpp>
#include <nki/check/instruction.hpp>
#include <nki/check/rules.hpp>
#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/index.hpp>
#include <nki/ir/program.hpp>
#include <nki/loc.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nki::inline v0_1 {

/// Options of a tile: its name in dumps, timelines and emitted code, and how many slots its pool rotates.
struct TileOptions {
  const char* name = "";
  std::int64_t bufs = 1;
};

namespace detail {

/// Violations carry the rule's text, "NKI-Ennn: sentence", split here.
inline Violation broken(std::string_view rule_text, std::string got, std::string allowed, std::string hint, Loc loc) {
  return {.id = std::string(rule_text.substr(0, 8)),
          .sentence = std::string(rule_text.substr(10)),
          .got = std::move(got),
          .allowed = std::move(allowed),
          .hint = std::move(hint),
          .file = loc.file,
          .line = loc.line};
}

/// An open-addressing set of ids, for interning rows of a vector.
class IdSet {
 public:
  IdSet() : slots_(64, ir::no_id) {}
  template <class Equal, class Add>
  std::uint32_t find_or_add(std::uint64_t hash, Equal&& equal, Add&& add) {
    std::uint64_t at = hash & (slots_.size() - 1);
    while (slots_[at].id != ir::no_id) {
      if (slots_[at].hash == hash && equal(slots_[at].id)) return slots_[at].id;
      at = (at + 1) & (slots_.size() - 1);
    }
    const std::uint32_t id = add();
    slots_[at] = {hash, id};
    if (++count_ * 2 > slots_.size()) grow();
    return id;
  }

 private:
  struct Slot {
    Slot() = default;
    Slot(std::uint32_t i) : id(i) {}  // NOLINT
    Slot(std::uint64_t h, std::uint32_t i) : hash(h), id(i) {}
    std::uint64_t hash = 0;
    std::uint32_t id = ir::no_id;
  };
  void grow() {
    std::vector<Slot> bigger(slots_.size() * 4, ir::no_id);
    for (const Slot& s : slots_) {
      if (s.id == ir::no_id) continue;
      std::uint64_t at = s.hash & (bigger.size() - 1);
      while (bigger[at].id != ir::no_id) at = (at + 1) & (bigger.size() - 1);
      bigger[at] = s;
    }
    slots_.swap(bigger);
  }
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

constexpr std::uint64_t hash_step(std::uint64_t h, std::uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15ull;
  return h ^ (h >> 32);
}

}  // namespace detail

/// Records a kernel: instructions, loops and tiles become one `ir::Program`.
class Builder {
 public:
  /// A builder with a target applies its limits while recording; without one, those of the most able generation.
  explicit Builder(const Arch* target = nullptr) : pool_(program_.exprs), target_(target) {
    program_.buffers.reserve(16);
    program_.exprs.reserve(64);
    program_.loops.reserve(8);
    program_.views.reserve(32);
    program_.operand_pool.reserve(64);
    program_.instrs.reserve(32);
    program_.nodes.reserve(64);
    program_.locs.reserve(64);
    program_.files.emplace_back("");
    program_.scopes.emplace_back("");
    program_.locs.push_back({});
    program_.attr_sets.push_back({0, 0});
  }
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  ir::ExprPool& pool() { return pool_; }
  const ir::Program& program() const { return program_; }
  const Arch* target() const { return target_; }

  /// Names the instructions recorded while the returned guard lives ("softmax", "load"); scopes nest with '/'.
  class Scope {
   public:
    Scope(Builder& nc, std::uint32_t outer) : nc_(&nc), outer_(outer) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { nc_->scope_ = outer_; }

   private:
    Builder* nc_;
    std::uint32_t outer_;
  };
  [[nodiscard]] Scope scope(std::string_view name) {
    const std::uint32_t outer = scope_;
    std::string full = program_.scopes[outer];
    if (!full.empty()) full += '/';
    full += name;
    scope_ = intern_string(program_.scopes, full);
    return Scope(*this, outer);
  }

  /// Storage of a pool. On-chip tiles start an instance where they are declared; arguments live in HBM throughout.
  ir::BufferId add_buffer(ir::Space space, ir::BufferKind kind, DType dtype, const std::int64_t* shape, int rank,
                          const TileOptions& options, Loc loc) {
    require_recording(loc);
    if (rank < 1 || rank > ir::max_rank)
      fail(NKI_E230, std::to_string(rank) + " dimensions", "1..5", "reshape it", loc);
    ir::Buffer b;
    b.space = space;
    b.kind = kind;
    b.dtype = dtype;
    b.rank = static_cast<std::uint8_t>(rank);
    b.slots = static_cast<std::int32_t>(options.bufs);
    for (int i = 0; i < rank; ++i) {
      b.shape[static_cast<std::size_t>(i)] = shape[i];
      if (shape[i] < 1)
        fail(NKI_E232, "extent " + std::to_string(shape[i]) + " in dimension " + std::to_string(i), "1 or more",
             "round a ragged extent up where the tile is declared, and slice it where it is used", loc);
    }
    if (options.bufs < 1 || options.bufs > 4096)
      fail(NKI_E232, std::to_string(options.bufs) + " slots (bufs)", "1..4096", "bufs = 1 keeps one copy", loc);
    if (space != ir::Space::hbm) {
      if (shape[0] > nl::tile_size.pmax)
        fail(NKI_E101, std::to_string(shape[0]) + " partitions", "1..128",
             "move part of the first extent into the free dimensions, or loop over it", loc);
      if (space == ir::Space::psum && b.bytes_pp() > nl::tile_size.psum_bank_fmax_bytes)
        fail(NKI_E103,
             std::to_string(b.elems(1)) + " elements of " + std::to_string(nki::bytes(dtype)) + " bytes per partition",
             std::to_string(nl::tile_size.psum_bank_fmax_bytes) + " bytes", "declare several tiles, one per bank", loc);
    }
    const auto id = static_cast<ir::BufferId>(program_.buffers.size());
    b.name = options.name[0] != '\0' ? unique_name(options.name)
                                     : unique_name(std::string(ir::name(space)) + "_" + std::to_string(id));
    b.loc = intern_loc(loc);
    program_.buffers.push_back(std::move(b));
    buffer_scope_.push_back(open_loop_id());
    if (kind == ir::BufferKind::tile) program_.nodes.push_back({ir::Node::Kind::alloc, id, node_count() + 1});
    return id;
  }

  /// `size` positions of a dimension from `start`, `step` apart.
  ir::Dim slice(const ir::Dim& d, const Index& start, const Index& size, std::int64_t step, bool dropped) {
    if (step < 1 || step * d.step > 32767)
      fail(NKI_E233, "a step of " + std::to_string(step), "1..32767", "take every position, or copy the tensor first",
           {});
    ir::Dim out = d;
    out.step = static_cast<std::int32_t>(d.step * step);
    out.count = size.id(pool_);
    out.dropped = dropped;
    out.start = pool_.add(d.start, (d.step == 1 ? start : start * d.step).id(pool_));
    return out;
  }

  ir::ViewId intern_view(const ir::View& v) {
    std::uint64_t h = detail::hash_step(v.buffer, v.rank);
    for (std::size_t i = 0; i < v.rank; ++i) {
      const ir::Dim& d = v.dims[i];
      h = detail::hash_step(h, (std::uint64_t{d.start} << 32) | d.count);
      h = detail::hash_step(h, (static_cast<std::uint64_t>(static_cast<std::uint32_t>(d.step)) << 16) |
                                   (std::uint64_t{d.axis} << 1) | (d.dropped ? 1u : 0u));
    }
    return view_ids_.find_or_add(
        h, [&](std::uint32_t id) { return program_.views[id] == v; },
        [&] {
          program_.views.push_back(v);
          return static_cast<std::uint32_t>(program_.views.size() - 1);
        });
  }

  /// Records one instruction and applies the rules that its numbers already decide.
  void record(ir::Opcode op, ir::Engine engine, std::initializer_list<ir::View> operands,
              std::initializer_list<std::int64_t> attrs, Loc loc) {
    require_recording(loc);
    ir::Instr in;
    in.op = op;
    in.engine = engine;
    in.n_operands = static_cast<std::uint8_t>(operands.size());
    in.first_operand = static_cast<std::uint32_t>(program_.operand_pool.size());
    for (const ir::View& v : operands) {
      program_.operand_pool.push_back(intern_view(v));
      const ir::LoopId home = buffer_scope_[v.buffer];
      if (home != ir::no_id && !is_open(home))
        fail(NKI_E311, "tile '" + program_.buffers[v.buffer].name + "' after the end of its loop", "inside the loop",
             "declare the tile outside the loop, before it", loc);
    }
    in.attrs = intern_attrs(attrs);
    in.loc = intern_loc(loc);
    check::instruction_rules(
        program_, in, [this](ir::ExprId e) { return pool_.range(e); }, target_, check::Certainty::must,
        [&](Violation v) {
          v.file = loc.file;
          v.line = loc.line;
          poisoned_ = true;
          throw Error(std::move(v));
        });
    const auto id = static_cast<ir::InstrId>(program_.instrs.size());
    program_.instrs.push_back(in);
    program_.nodes.push_back({ir::Node::Kind::instr, id, node_count() + 1});
  }

  /// Opens a loop and returns its index; `close_loop` ends it. nl::affine_range and its like do both.
  Index open_loop(const Index& lower, const Index& upper, ir::LoopKind kind, const char* name, Loc loc) {
    require_recording(loc);
    const auto id = static_cast<ir::LoopId>(program_.loops.size());
    ir::Loop l;
    l.lower = lower.id(pool_);
    l.upper = upper.id(pool_);
    l.kind = kind;
    l.name = name[0] != '\0' ? unique_name(name) : unique_name("i" + std::to_string(id));
    l.loc = intern_loc(loc);
    program_.loops.push_back(std::move(l));
    open_.push_back(node_count());
    program_.nodes.push_back({ir::Node::Kind::loop, id, 0});
    ir::Range r{pool_.range(program_.loops[id].lower).lo,
                ir::detail::add_far(pool_.range(program_.loops[id].upper).hi, -1)};
    if (r.hi < r.lo) r.hi = r.lo;  // a zero-trip loop is recorded all the same
    // The index is kept as an expression even where the loop runs once, so that its body reads as a loop body.
    return Index(pool_, pool_.index(id, r));
  }
  void close_loop(Loc loc) {
    if (open_.empty()) fail(NKI_E302, "the end of a loop that is not open", "", "leave the loop by its end only", loc);
    program_.nodes[open_.back()].end = node_count();
    open_.pop_back();
  }
  std::size_t loop_depth() const { return open_.size(); }
  /// An exception passed through a recorded loop, or a `break` left it: nothing recorded from here on may be trusted.
  void poison() { poisoned_ = true; }
  bool poisoned() const { return poisoned_; }

  /// Ends the recording and hands the program over.
  ir::Program finish(Loc loc = Loc::here()) {
    require_recording(loc);
    if (!open_.empty()) {
      const ir::Loop& l = program_.loops[program_.nodes[open_.back()].id];
      const ir::SourceLoc& at = program_.locs[l.loc];
      poisoned_ = true;
      throw Error({.id = std::string(NKI_E302).substr(0, 8),
                   .sentence = std::string(NKI_E302).substr(10),
                   .got = "loop '" + l.name + "' left before its end",
                   .allowed = {},
                   .hint = "end the loop earlier through its bound: nl::affine_range(nc, min(n, limit))",
                   .file = program_.files[at.file],
                   .line = at.line});
    }
    poisoned_ = true;
    return std::move(program_);
  }

  void set_kernel(std::string name) { program_.kernel = std::move(name); }
  void set_problem(std::string text) { program_.problem = std::move(text); }
  void set_params(std::string text) { program_.params = std::move(text); }

  [[noreturn]] void fail(std::string_view rule_text, std::string got, std::string allowed, std::string hint, Loc loc) {
    poisoned_ = true;
    throw Error(detail::broken(rule_text, std::move(got), std::move(allowed), std::move(hint), loc));
  }

  /// The number of nodes so far.
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(program_.nodes.size()); }

 private:
  void require_recording(Loc loc) const {
    if (poisoned_)
      throw Error(
          detail::broken(NKI_E304, "a call after an error or after finish()", "", "record with a new Builder", loc));
  }
  ir::LoopId open_loop_id() const { return open_.empty() ? ir::no_id : program_.nodes[open_.back()].id; }
  bool is_open(ir::LoopId l) const {
    for (std::uint32_t n : open_)
      if (program_.nodes[n].id == l) return true;
    return false;
  }

  static std::uint32_t intern_string(std::vector<std::string>& list, std::string_view s) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] == s) return static_cast<std::uint32_t>(i);
    list.emplace_back(s);
    return static_cast<std::uint32_t>(list.size() - 1);
  }
  ir::LocId intern_loc(Loc loc) {
    if (loc.file != last_file_pointer_) {
      last_file_ = intern_string(program_.files, loc.file);
      last_file_pointer_ = loc.file;
    }
    const ir::SourceLoc s{last_file_, loc.line, loc.column, scope_};
    const std::uint64_t h =
        detail::hash_step(detail::hash_step(s.file, s.line), (std::uint64_t{s.column} << 32) | s.scope);
    return loc_ids_.find_or_add(
        h,
        [&](std::uint32_t id) {
          const ir::SourceLoc& o = program_.locs[id];
          return o.file == s.file && o.line == s.line && o.column == s.column && o.scope == s.scope;
        },
        [&] {
          program_.locs.push_back(s);
          return static_cast<std::uint32_t>(program_.locs.size() - 1);
        });
  }
  ir::AttrSetId intern_attrs(std::initializer_list<std::int64_t> attrs) {
    if (attrs.size() == 0) return 0;
    std::uint64_t h = attrs.size();
    for (std::int64_t a : attrs) h = detail::hash_step(h, static_cast<std::uint64_t>(a));
    return attr_ids_.find_or_add(
        h,
        [&](std::uint32_t id) {
          const ir::AttrSet s = program_.attr_sets[id];
          if (s.count != attrs.size()) return false;
          std::uint32_t i = s.first;
          for (std::int64_t a : attrs)
            if (program_.attr_pool[i++] != a) return false;
          return true;
        },
        [&] {
          program_.attr_sets.push_back(
              {static_cast<std::uint32_t>(program_.attr_pool.size()), static_cast<std::uint32_t>(attrs.size())});
          program_.attr_pool.insert(program_.attr_pool.end(), attrs.begin(), attrs.end());
          return static_cast<std::uint32_t>(program_.attr_sets.size() - 1);
        });
  }

  /// Names are Python identifiers and differ from each other, so that emitted code can use them.
  std::string unique_name(std::string_view wanted) {
    std::string base;
    for (char c : wanted)
      base += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ? c : '_';
    if (base.empty() || (base[0] >= '0' && base[0] <= '9')) base.insert(base.begin(), '_');
    std::string name = base;
    for (int n = 2; name_is_taken(name); ++n) name = base + "_" + std::to_string(n);
    return name;
  }
  bool name_is_taken(std::string_view name) const {
    for (const ir::Buffer& b : program_.buffers)
      if (b.name == name) return true;
    for (const ir::Loop& l : program_.loops)
      if (l.name == name) return true;
    return false;
  }

  ir::Program program_;
  ir::ExprPool pool_;
  const Arch* target_;
  std::vector<std::uint32_t> open_;       // nodes of the open loops
  std::vector<ir::LoopId> buffer_scope_;  // the loop that a buffer was declared in
  std::uint32_t scope_ = 0;
  const char* last_file_pointer_ = nullptr;
  std::uint32_t last_file_ = 0;
  bool poisoned_ = false;
  detail::IdSet view_ids_, loc_ids_, attr_ids_;
};

}  // namespace nki::inline v0_1
