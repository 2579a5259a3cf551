#pragma once

#include <nki/ir/program.hpp>

#include <cstdint>
#include <vector>

namespace nki::inline v0_1::ir {

/// Walks a program in its order of execution and keeps every expression's value and every pool's instance number
/// current. Instructions with an empty operand do not exist and are passed over.
class Cursor {
 public:
  enum class Event : std::uint8_t { instr, alloc, loop_begin, iteration, loop_end, end };

  explicit Cursor(const Program& p)
      : program_(&p),
        values_(p.exprs.size()),
        index_(p.loops.size(), 0),
        upper_(p.loops.size(), 0),
        instance_(p.buffers.size(), -1),
        dependents_(p.loops.size()) {
    const std::vector<Range> ranges = expression_ranges(p);
    std::vector<std::vector<LoopId>> uses(p.exprs.size());
    for (ExprId e = 0; e < p.exprs.size(); ++e) {
      const Expr& x = p.exprs[e];
      auto& u = uses[e];
      const auto take = [&](ExprId from) {
        for (LoopId l : uses[from])
          if (!contains(u, l)) u.push_back(l);
      };
      switch (x.op) {
        case ExprOp::constant:
          break;
        case ExprOp::index:
          u.push_back(x.a);
          break;
        case ExprOp::add:
        case ExprOp::min:
        case ExprOp::max:
          take(x.a), take(x.b);
          break;
        case ExprOp::mul:
        case ExprOp::floordiv:
        case ExprOp::mod:
          take(x.a);
          break;
      }
      for (LoopId l : u) dependents_[l].push_back(e);
      values_[e] = evaluate(x, values_.data(), index_.data());
    }
    maybe_empty_from_.reserve(p.instrs.size() + 1);
    maybe_empty_from_.push_back(0);
    for (const Instr& in : p.instrs) {
      for (int o = 0; o < in.n_operands; ++o) {
        const View& v = p.views[p.operand(in, o)];
        for (std::size_t d = 0; d < v.rank; ++d)
          if (ranges[v.dims[d].count].lo <= 0) maybe_empty_.push_back(v.dims[d].count);
      }
      maybe_empty_from_.push_back(static_cast<std::uint32_t>(maybe_empty_.size()));
    }
  }

  /// Moves to the next event. `loop_begin` comes once a loop, `iteration` before every pass through its body.
  Event next() {
    while (true) {
      if (pending_ != no_id) {  // enter or repeat the innermost loop
        const Open& top = open_.back();
        const Node& n = program_->nodes[top.node];
        pending_ = no_id;
        if (index_[n.id] < upper_[n.id]) {
          at_ = top.node + 1;
          node_ = top.node;
          return Event::iteration;
        }
        at_ = n.end;
        node_ = top.node;
        open_.pop_back();
        return Event::loop_end;
      }
      if (!open_.empty() && at_ == program_->nodes[open_.back().node].end) {
        const LoopId l = program_->nodes[open_.back().node].id;
        set_index(l, index_[l] + 1);
        pending_ = open_.back().node;
        continue;
      }
      if (at_ >= program_->nodes.size()) {
        node_ = static_cast<std::uint32_t>(program_->nodes.size());
        return Event::end;
      }
      node_ = at_;
      const Node& n = program_->nodes[at_];
      switch (n.kind) {
        case Node::Kind::instr:
          ++at_;
          if (!exists(n.id)) continue;
          return Event::instr;
        case Node::Kind::alloc:
          ++at_;
          ++instance_[n.id];
          return Event::alloc;
        case Node::Kind::loop: {
          const Loop& l = program_->loops[n.id];
          upper_[n.id] = values_[l.upper];
          set_index(n.id, values_[l.lower]);
          open_.push_back({at_});
          pending_ = at_;
          return Event::loop_begin;
        }
      }
    }
  }

  /// The node of the last event.
  std::uint32_t node() const { return node_; }
  /// The loop, instruction or buffer of the last event.
  std::uint32_t id() const { return program_->nodes[node_].id; }

  std::int64_t value(ExprId e) const { return values_[e]; }
  std::int64_t loop_index(LoopId l) const { return index_[l]; }
  std::int64_t loop_upper(LoopId l) const { return upper_[l]; }
  /// How often the buffer has been allocated, less one: -1 before the first time.
  std::int64_t instance(BufferId b) const { return instance_[b]; }
  std::int32_t slot(BufferId b) const {
    const auto n = program_->buffers[b].slots;
    return instance_[b] < 0 ? 0 : static_cast<std::int32_t>(instance_[b] % n);
  }
  std::size_t depth() const { return open_.size(); }

  /// Moves the index of an open loop (and the pools' counters, by `instances`) without running what lies between; the
  /// caller has proved that those iterations differ in nothing it looks at.
  void jump(LoopId l, std::int64_t new_index, const std::vector<std::int64_t>& instances) {
    set_index(l, new_index);
    instance_ = instances;
  }
  const std::vector<std::int64_t>& instances() const { return instance_; }
  const std::vector<ExprId>& dependents(LoopId l) const { return dependents_[l]; }

 private:
  struct Open {
    std::uint32_t node;
  };

  static bool contains(const std::vector<std::uint32_t>& list, std::uint32_t x) {
    for (std::uint32_t y : list)
      if (x == y) return true;
    return false;
  }

  void set_index(LoopId l, std::int64_t v) {
    index_[l] = v;
    for (ExprId e : dependents_[l]) values_[e] = evaluate(program_->exprs[e], values_.data(), index_.data());
  }
  bool exists(InstrId i) const {
    for (std::uint32_t k = maybe_empty_from_[i]; k < maybe_empty_from_[i + 1]; ++k)
      if (values_[maybe_empty_[k]] <= 0) return false;
    return true;
  }

  const Program* program_;
  std::vector<std::int64_t> values_;
  std::vector<std::int64_t> index_, upper_, instance_;
  std::vector<std::vector<ExprId>> dependents_;
  std::vector<ExprId> maybe_empty_;  // counts that can be 0 or less, instruction by instruction
  std::vector<std::uint32_t> maybe_empty_from_;
  std::vector<Open> open_;
  std::uint32_t at_ = 0;
  std::uint32_t node_ = 0;
  std::uint32_t pending_ = no_id;
};

}  // namespace nki::inline v0_1::ir
