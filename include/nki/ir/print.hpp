#pragma once

#include <nki/dtype.hpp>
#include <nki/ir/program.hpp>

#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nki::inline v0_1::ir {

namespace detail {

class Printer {
 public:
  explicit Printer(const Program& p) : program_(&p) {
    // An expression is a graph, and written out it may be longer than memory: what gets long is named and listed.
    constexpr std::size_t longest = 160;
    exprs_.resize(p.exprs.size());
    for (ExprId e = 0; e < p.exprs.size(); ++e) {
      if (p.exprs[e].op == ExprOp::constant) continue;
      exprs_[e] = write(p.exprs[e]);
      if (exprs_[e].text.size() <= longest) continue;
      named_.push_back({e, static_cast<std::string&&>(exprs_[e].text)});
      exprs_[e] = {"e" + std::to_string(e), Level::atom};
    }
  }

  std::string run() && {
    const Program& p = *program_;
    out_ = "kernel " + (p.kernel.empty() ? std::string("-") : p.kernel) + "\n";
    if (!p.problem.empty()) out_ += "problem " + p.problem + "\n";
    if (!p.params.empty()) out_ += "params " + p.params + "\n";
    for (const Buffer& b : p.buffers) {
      out_ += name(b.kind);
      out_ += ' ';
      out_ += b.name;
      out_ += ": ";
      out_ += name(b.space);
      out_ += ' ';
      out_ += nki::name(b.dtype);
      for (std::size_t i = 0; i < b.rank; ++i) {
        out_ += i == 0 ? "[" : ", ";
        number(b.shape[i]);
      }
      out_ += ']';
      if (b.kind == BufferKind::tile) {
        out_ += " bufs=";
        number(b.slots);
      }
      place(b.loc);
    }
    for (const Named& n : named_) out_ += "e" + std::to_string(n.id) + " = " + n.text + "\n";

    std::vector<std::uint32_t> ends;
    for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
      while (!ends.empty() && ends.back() <= n) ends.pop_back();
      out_.append(ends.size() * 2, ' ');
      const Node& node = p.nodes[n];
      switch (node.kind) {
        case Node::Kind::alloc:
          out_ += "alloc ";
          out_ += p.buffers[node.id].name;
          place(p.buffers[node.id].loc);
          break;
        case Node::Kind::loop: {
          const Loop& l = p.loops[node.id];
          out_ += "for ";
          out_ += l.name;
          out_ += " in ";
          out_ += name(l.kind);
          out_ += '(';
          expression(l.lower);
          out_ += ", ";
          expression(l.upper);
          out_ += "):";
          place(l.loc);
          ends.push_back(node.end);
          break;
        }
        case Node::Kind::instr:
          instr(p.instrs[node.id]);
          break;
      }
    }
    return static_cast<std::string&&>(out_);
  }

 private:
  enum class Level : std::uint8_t { sum, product, atom };
  struct Text {
    std::string text;
    Level level = Level::atom;
  };
  struct Named {
    ExprId id;
    std::string text;
  };

  /// The text of an operand; what is not an atom gets parentheses where it stands in a product.
  std::string operand(ExprId e, bool in_product) const {
    if (program_->exprs[e].op == ExprOp::constant) return std::to_string(program_->exprs[e].c);
    const Text& t = exprs_[e];
    return in_product && t.level != Level::atom ? "(" + t.text + ")" : t.text;
  }
  Text write(const Expr& e) const {
    switch (e.op) {
      case ExprOp::constant:
        return {std::to_string(e.c), Level::atom};
      case ExprOp::index:
        return {program_->loops[e.a].name, Level::atom};
      case ExprOp::add: {
        const std::string a = operand(e.a, false), b = operand(e.b, false);
        if (b[0] == '-') return {a + " - " + b.substr(1), Level::sum};
        if (a[0] == '-') return {b + " - " + a.substr(1), Level::sum};
        return {a + " + " + b, Level::sum};
      }
      case ExprOp::mul:
        return {std::to_string(e.c) + "*" + operand(e.a, true), Level::product};
      case ExprOp::floordiv:
        return {operand(e.a, true) + "//" + std::to_string(e.c), Level::product};
      case ExprOp::mod:
        return {operand(e.a, true) + "%" + std::to_string(e.c), Level::product};
      case ExprOp::min:
        return {"min(" + operand(e.a, false) + ", " + operand(e.b, false) + ")", Level::atom};
      case ExprOp::max:
        return {"max(" + operand(e.a, false) + ", " + operand(e.b, false) + ")", Level::atom};
    }
    return {};
  }

  template <class N>
  void number(N n) {
    char digits[32];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
  }
  bool is_constant(ExprId e) const { return program_->exprs[e].op == ExprOp::constant; }
  void expression(ExprId e) {
    if (is_constant(e))
      number(program_->exprs[e].c);
    else
      out_ += exprs_[e].text;
  }

  /// `a:b` for a range of numbers, `ds(start, count)` for a dynamic or empty one, an index for a dropped dimension.
  void dimension(const Dim& d) {
    const std::int64_t start = program_->exprs[d.start].c, count = program_->exprs[d.count].c;
    if (d.dropped) {
      expression(d.start);
    } else if (is_constant(d.start) && is_constant(d.count) && count > 0 && d.step == 1) {
      number(start);
      out_ += ':';
      number(add_far(start, count));
    } else {
      out_ += "ds(";
      expression(d.start);
      out_ += ", ";
      expression(d.count);
      if (d.step != 1) {
        out_ += ", ";
        number(d.step);
      }
      out_ += ')';
    }
  }
  void view(ViewId id) {
    const View& v = program_->views[id];
    bool plain = true;  // every dimension walks the axis of its own number
    for (std::size_t d = 0; d < v.rank; ++d) plain = plain && v.dims[d].axis == d;
    out_ += program_->buffers[v.buffer].name;
    out_ += '[';
    for (std::size_t d = 0; d < v.rank; ++d) {
      if (d != 0) out_ += ", ";
      dimension(v.dims[d]);
      if (plain) continue;
      out_ += '@';
      number(int{v.dims[d].axis});
    }
    out_ += ']';
  }

  void attribute(AttrKind kind, std::int64_t value) {
    switch (kind) {
      case AttrKind::boolean:
        out_ += value != 0 ? "true" : "false";
        break;
      case AttrKind::integer:
        number(value);
        break;
      case AttrKind::number:
        number(std::bit_cast<double>(value));
        break;
      case AttrKind::accumulate:
        out_ += name(static_cast<Accumulate>(value));
        break;
      case AttrKind::dge_mode:
        out_ += name(static_cast<DgeMode>(value));
        break;
    }
  }
  void instr(const Instr& i) {
    const OpInfo& op = info(i.op);
    out_ += name(i.engine);
    out_ += '.';
    out_ += op.name;
    out_ += '(';
    bool first = true;
    const auto label = [&](const char* text) {
      if (!first) out_ += ", ";
      first = false;
      out_ += text;
      out_ += '=';
    };
    for (std::uint8_t o = 0; o < i.n_operands; ++o) {
      const ViewId v = program_->operand(i, o);
      if (v == no_id) continue;
      label(op.operands[o].name);
      view(v);
    }
    for (std::uint8_t a = 0; a < op.n_attrs; ++a) {
      label(op.attrs[a].name);
      attribute(op.attrs[a].kind, program_->attr(i, a));
    }
    out_ += ')';
    place(i.loc);
  }
  /// The source line, and the end of the printed one.
  void place(LocId loc) {
    const SourceLoc& l = program_->locs[loc];
    if (!program_->files[l.file].empty()) {
      out_ += "  # ";
      out_ += program_->files[l.file];
      out_ += ':';
      number(l.line);
      if (!program_->scopes[l.scope].empty()) {
        out_ += ' ';
        out_ += program_->scopes[l.scope];
      }
    }
    out_ += '\n';
  }

  const Program* program_;
  std::vector<Text> exprs_;
  std::vector<Named> named_;
  std::string out_;
};

}  // namespace detail

/// A program for reading: its buffers, then a line for each node, loops indented, with the kernel's lines behind `#`.
///
/// `a:b` is a range of numbers, `ds(start, count, step)` one that moves with the loops; `@axis` follows where the
/// dimensions of a view do not walk the axes in order. An `e7 = ...` line names an expression that is too long to
/// repeat.
inline std::string to_text(const Program& p) {
  return detail::Printer(p).run();
}

}  // namespace nki::inline v0_1::ir
