#pragma once

#include <nki/dtype.hpp>
#include <nki/emit/python_index.hpp>
#include <nki/ir/expr.hpp>
#include <nki/ir/ops.hpp>
#include <nki/ir/program.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nki::inline v0_1::emit {

struct PythonOptions {
  std::string function;  ///< name of the Python function; empty: the kernel's name
  bool comments = true;  ///< kernel lines, slots and scopes
  int line_length = 96;  ///< columns of code; comments stand to the right of them
};

namespace detail {

// What NKI Python cannot say. The sentences follow the form of check/rules.hpp.
inline constexpr std::string_view rule_device_loop =
    "NKI-E701: NKI Python is written for affine and sequential loops, not for device loops";
inline constexpr std::string_view rule_partitions =
    "NKI-E702: an on-chip operand takes consecutive partitions, counted by its first dimension";

class PythonWriter {
 public:
  PythonWriter(const ir::Program& p, const PythonOptions& options)
      : p_(p),
        options_(options),
        function_(names_.claim(options.function.empty() ? p.kernel : options.function, "kernel")),
        buffer_name_(buffer_names()),
        index_(p, names_),
        is_live_(p.instrs.size(), true),
        is_used_(p.buffers.size(), false) {
    find_live();
  }

  std::string write() {
    index_.count();
    function();
    index_.name(names_);
    out_.clear();
    header();
    function();
    return std::move(out_);
  }

 private:
  // ---- what the program uses

  std::vector<std::string> buffer_names() {
    std::vector<std::string> out;
    for (const ir::Buffer& b : p_.buffers) out.push_back(names_.claim(b.name, "tile"));
    return out;
  }

  /// Leaves out the instructions that are empty whatever the indices, and the tiles that no other instruction touches.
  void find_live() {
    for (ir::InstrId i = 0; i < p_.instrs.size(); ++i) {
      for_each_count(p_.instrs[i], [&](ir::ExprId count) { is_live_[i] = is_live_[i] && index_.range(count).hi > 0; });
      if (!is_live_[i]) continue;
      for (int o = 0; o < p_.instrs[i].n_operands; ++o)
        if (const ir::ViewId v = p_.operand(p_.instrs[i], o); v != ir::no_id) is_used_[p_.views[v].buffer] = true;
      for_each_count(p_.instrs[i], [&](ir::ExprId count) { index_.add_extent(count); });
    }
  }

  void for_each_count(const ir::Instr& in, auto&& fn) const {
    for (int o = 0; o < in.n_operands; ++o) {
      const ir::ViewId id = p_.operand(in, o);
      if (id == ir::no_id) continue;
      for (std::size_t d = 0; d < p_.views[id].rank; ++d) fn(p_.views[id].dims[d].count);
    }
  }

  // ---- views

  static const ir::Dim& dim(const ir::View& v, int d) { return v.dims[static_cast<std::size_t>(d)]; }
  bool is_one(const ir::Dim& d) const { return index_.range(d.count) == ir::Range{1, 1}; }

  /// The dimensions of a view that walk an axis, outermost first.
  std::vector<int> walkers(const ir::View& v, int axis) const {
    std::vector<int> out;
    for (int d = 0; d < v.rank; ++d)
      if (dim(v, d).axis == axis && !dim(v, d).dropped) out.push_back(d);
    std::stable_sort(out.begin(), out.end(), [&](int a, int b) {
      if (is_one(dim(v, a)) != is_one(dim(v, b))) return is_one(dim(v, a));
      return dim(v, a).step > dim(v, b).step;
    });
    return out;
  }

  /// Whether the dimensions are what a slice of the axis, split with reshape_dim, gives.
  bool is_split(const ir::View& v, const std::vector<int>& dims) const {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const ir::Dim& outer = dim(v, dims[i]);
      if (!is_one(outer) && outer.step < 1) return false;
      if (i + 1 == dims.size()) break;
      const ir::Dim& inner = dim(v, dims[i + 1]);
      if (!index_.range(inner.count).is_point()) return false;
      if (!is_one(outer) && outer.step != inner.step * index_.range(inner.count).lo) return false;
    }
    return true;
  }

  Sum start_on(const ir::View& v, int axis) const {
    Sum s;
    for (int d = 0; d < v.rank; ++d)
      if (dim(v, d).axis == axis) s = index_.plus(std::move(s), index_.sum(dim(v, d).start));
    return s;
  }

  std::string slice(const Sum& start, const Sum& count, std::int64_t step, std::int64_t extent) {
    if (start.is(0) && count.is(extent) && step == 1) return ":";
    Sum end = index_.plus(start, count, step);
    end.constant += 1 - step;
    const std::string from = index_.text(start), to = index_.text(end),
                      colon = has_blank(from) || has_blank(to) ? " : " : ":";
    return from + colon + to + (step == 1 ? "" : colon + std::to_string(step));
  }

  /// An operand: the tensor with what is taken of each axis, then the methods that make the view's dimensions of it.
  std::vector<std::string> view(ir::ViewId id) {
    const ir::View& v = p_.views[id];
    const ir::Buffer& b = p_.buffers[v.buffer];
    const bool on_chip = b.space != ir::Space::hbm;
    if (on_chip) require_partitions(v, b);

    std::vector<std::vector<int>> dims_of_axis;
    bool has_dims = false;
    for (int axis = 0; axis < b.rank; ++axis) {
      dims_of_axis.push_back(walkers(v, axis));
      has_dims = has_dims || !dims_of_axis.back().empty();
      if (!is_split(v, dims_of_axis.back())) return {buffer_name_[v.buffer], pattern(v, b)};
    }

    constexpr int kept = -1;  // a dimension of one element that the view does not count
    std::vector<std::string> subscripts, splits;
    std::vector<int> order;  // the view's dimensions, as subscripts and splits leave them
    bool is_whole = true;
    for (int axis = 0; axis < b.rank; ++axis) {
      const std::vector<int>& dims = dims_of_axis[static_cast<std::size_t>(axis)];
      const std::int64_t extent = b.shape[static_cast<std::size_t>(axis)];
      const Sum start = start_on(v, axis);
      if (dims.empty()) {
        // Dimension 0 stays where an index on it would stay (on chip) or would leave no dimension at all.
        const bool keep = axis == 0 && (on_chip || !has_dims);
        subscripts.push_back(keep ? slice(start, Sum{1, {}}, 1, extent) : index_.text(start));
        if (keep) order.push_back(kept);
        is_whole = is_whole && subscripts.back() == ":";
        continue;
      }
      Sum count{1, {}};
      std::vector<std::string> counts;
      for (int d : dims) {
        const Sum n = index_.sum(dim(v, d).count);
        if (n.is_constant()) {  // all but the outermost are
          for (Sum::Term& t : count.terms) t.coefficient *= n.constant;
          count.constant *= n.constant;
        } else {
          count = n;
        }
        if (dims.size() > 1) counts.push_back(index_.text(n));
      }
      subscripts.push_back(slice(start, count, count.is(1) ? 1 : dim(v, dims.back()).step, extent));
      is_whole = is_whole && subscripts.back() == ":";
      if (dims.size() > 1) splits.push_back(cat(".reshape_dim(", order.size(), ", ", tuple(counts), ")"));
      order.insert(order.end(), dims.begin(), dims.end());
    }

    std::vector<int> wanted;
    if (order.front() == kept) wanted.push_back(kept);
    for (int d = 0; d < v.rank; ++d)
      if (!dim(v, d).dropped) wanted.push_back(d);
    std::vector<std::string> positions;
    for (int d : wanted) positions.push_back(std::to_string(std::find(order.begin(), order.end(), d) - order.begin()));

    std::vector<std::string> parts{buffer_name_[v.buffer] + (is_whole ? "" : "[" + joined(subscripts) + "]")};
    parts.insert(parts.end(), splits.begin(), splits.end());
    if (wanted != order) parts.push_back(cat(".permute(", tuple(positions), ")"));
    return parts;
  }

  void require_partitions(const ir::View& v, const ir::Buffer& b) const {
    const char* hint = "keep along a free axis what is not in consecutive partitions";
    int number = 0;
    for (int d = 0; d < v.rank; ++d) {
      const ir::Dim& x = dim(v, d);
      if (x.dropped) continue;
      if (x.axis == 0 && number > 0)
        refuse(p_, index_.location(), rule_partitions,
               cat("dimension ", number, " over the partitions of '", b.name, "'"), hint);
      if (x.axis == 0 && x.step != 1 && !is_one(x))
        refuse(p_, index_.location(), rule_partitions, cat("partitions of '", b.name, "' that are ", x.step, " apart"),
               hint);
      ++number;
    }
  }

  /// Any other pattern: steps and counts over the tensor's elements in row-major order.
  std::string pattern(const ir::View& v, const ir::Buffer& b) {
    std::vector<std::string> rows;
    Sum offset;
    bool has_partitions = b.space == ir::Space::hbm;
    for (int d = 0; d < v.rank; ++d) {
      const ir::Dim& x = dim(v, d);
      const std::int64_t stride = b.axis_stride(x.axis);
      offset = index_.plus(std::move(offset), index_.sum(x.start), stride);
      if (x.dropped) continue;
      if (x.axis == 0 && rows.empty()) has_partitions = true;
      rows.push_back(cat("[", index_.text(Sum{x.step * stride, {}}), ", ", index_.text(x.count), "]"));
    }
    if (!has_partitions) rows.insert(rows.begin(), cat("[", b.elems(1), ", 1]"));
    return cat(".ap(pattern=[", joined(rows), "], offset=", index_.text(offset), ")");
  }

  // ---- instructions

  static std::string number(double v, DType dtype) {
    if (dtype == DType::boolean && (v == 0 || v == 1)) return v == 0 ? "False" : "True";
    if (std::isnan(v)) return "float(\"nan\")";
    if (std::isinf(v)) return v > 0 ? "float(\"inf\")" : "float(\"-inf\")";
    if (nki::info(dtype).is_integer && v == std::trunc(v) && std::abs(v) < 0x1p53)
      return std::to_string(static_cast<std::int64_t>(v));
    char digits[32];
    std::string s(digits, std::to_chars(std::begin(digits), std::end(digits), v).ptr);
    return s.find_first_of(".e") == std::string::npos ? s + ".0" : s;
  }

  std::string attribute(const ir::Instr& in, int n) const {
    const ir::AttrInfo& a = ir::info(in.op).attrs[static_cast<std::size_t>(n)];
    const std::int64_t bits = p_.attr(in, n);
    switch (a.kind) {
      case ir::AttrKind::boolean:
        return cat(a.name, bits != 0 ? "=True" : "=False");
      case ir::AttrKind::integer:
        return cat(a.name, "=", bits);
      case ir::AttrKind::number:
        return cat(a.name, "=", number(p_.attr_double(in, n), p_.buffers[p_.views[p_.operand(in, 0)].buffer].dtype));
      case ir::AttrKind::accumulate:
        switch (static_cast<ir::Accumulate>(bits)) {
          case ir::Accumulate::overwrite:
            return cat(a.name, "=False");
          case ir::Accumulate::add:
            return cat(a.name, "=True");
          case ir::Accumulate::auto_:
            return cat(a.name, "=None");
        }
        break;
      case ir::AttrKind::dge_mode: {
        const auto mode = static_cast<ir::DgeMode>(bits);
        return mode == ir::DgeMode::unknown ? "" : cat(a.name, "=nisa.dge_mode.", ir::name(mode));
      }
    }
    return "";
  }

  /// `engine=` where NKI has a choice. A DMA says it for the hardware queues; software descriptors are GpSimd's.
  std::string engine(const ir::Instr& in) const {
    const ir::OpInfo& op = ir::info(in.op);
    if (in.engine == ir::Engine::unknown || (op.engines & (op.engines - 1)) == 0) return "";
    for (int n = 0; n < op.n_attrs; ++n)
      if (op.attrs[static_cast<std::size_t>(n)].kind == ir::AttrKind::dge_mode &&
          static_cast<ir::DgeMode>(p_.attr(in, n)) != ir::DgeMode::hwdge)
        return "";
    return cat("engine=nisa.engine.", ir::name(in.engine));
  }

  void instruction(const ir::Instr& in) {
    const ir::OpInfo& op = ir::info(in.op);
    std::vector<std::vector<std::string>> args;  // each in pieces between which a line may end
    for (int o = 0; o < in.n_operands; ++o) {
      const ir::ViewId v = p_.operand(in, o);
      if (v == ir::no_id) continue;
      args.push_back(view(v));
      args.back()[0] = cat(op.operands[static_cast<std::size_t>(o)].name, "=", args.back()[0]);
    }
    for (int n = 0; n < op.n_attrs; ++n)
      if (std::string a = attribute(in, n); !a.empty()) args.push_back({std::move(a)});
    if (std::string e = engine(in); !e.empty()) args.push_back({std::move(e)});

    // Arguments fill the lines, the following ones below the first.
    std::string row = cat("nisa.", op.name, "(");
    const std::string margin(row.size(), ' ');
    std::string note = place(in.loc);
    const auto end_row = [&](std::string next) {
      while (row.back() == ' ') row.pop_back();
      line(row, std::exchange(note, ""));
      row = std::move(next);
    };
    const auto room = static_cast<std::size_t>(std::max(options_.line_length - 4 * indent_, 1));
    for (std::size_t i = 0; i < args.size(); ++i) {
      args[i].back() += i + 1 < args.size() ? ", " : ")";
      const std::string whole = joined(args[i], "");
      const std::size_t length = whole.back() == ' ' ? whole.size() - 1 : whole.size();
      if (row.size() > margin.size() && row.size() + length > room) end_row(margin);
      if (margin.size() + length <= room) {
        row += whole;
        continue;
      }
      for (std::size_t n = 0; n < args[i].size(); ++n) {
        if (n > 0 && row.size() + args[i][n].size() > room) end_row(margin + "    ");
        row += args[i][n];
      }
    }
    end_row("");
  }

  // ---- the text

  static std::string printable(std::string_view s) {
    std::string out;
    for (char c : s) out += c >= ' ' && c <= '~' ? c : '?';
    return out;
  }

  /// "matmul.hpp:31", or nothing where no line is known.
  std::string place(ir::LocId id) const {
    if (id >= p_.locs.size() || p_.locs[id].file >= p_.files.size()) return "";
    std::string_view file = p_.files[p_.locs[id].file];
    if (file.empty()) return "";
    if (const std::size_t slash = file.find_last_of("/\\"); slash != std::string_view::npos)
      file.remove_prefix(slash + 1);
    return cat(printable(file), ":", p_.locs[id].line);
  }

  void line(const std::string& code, const std::string& note = "") {
    if (std::exchange(wants_blank_, false)) out_ += '\n';
    const std::string indented = std::string(static_cast<std::size_t>(4 * indent_), ' ') + code;
    out_ += code.empty() ? code : indented;
    if (options_.comments && !note.empty()) {
      const auto column = static_cast<std::size_t>(options_.line_length) + 2;
      out_.append(indented.size() + 2 < column ? column - indented.size() : 2, ' ');
      out_ += "# " + note;
    }
    out_ += '\n';
  }

  /// A comment of the header, broken at commas and blanks.
  void remark(std::string label, std::string_view body) {
    const std::string clean = printable(body);
    label.resize(9, ' ');
    std::string row = "# " + label;
    const std::size_t margin = row.size();
    for (std::size_t at = 0; at < clean.size();) {
      std::size_t end = clean.find_first_of(", ", at);
      end = end == std::string::npos ? clean.size() : end + 1;
      if (row.size() > margin && row.size() + end - at > static_cast<std::size_t>(options_.line_length)) {
        line(row);
        row = "#" + std::string(margin - 1, ' ');
      }
      row += clean.substr(at, end - at);
      at = end;
    }
    line(row);
  }

  void header() {
    line("# Written by nki from a recorded kernel: change the kernel, not this file.");
    line("#");
    remark("kernel", p_.kernel.empty() ? function_ : p_.kernel);
    if (!p_.problem.empty()) remark("problem", p_.problem);
    if (!p_.params.empty()) remark("params", p_.params);
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) {
      const ir::Buffer& b = p_.buffers[i];
      if (b.kind != ir::BufferKind::tile)
        remark(ir::name(b.kind), cat(buffer_name_[i], " ", nki::name(b.dtype), " ", shape(b)));
    }
    line("");
    line("import nki");
    line("import nki.isa as nisa");
    line("import nki.language as nl");
    line("");
    line("");
  }

  std::string shape(const ir::Buffer& b) {
    std::vector<std::string> extents;
    index_.set_location(b.loc);
    for (std::size_t i = 0; i < b.rank; ++i) extents.push_back(index_.text(Sum{b.shape[i], {}}));
    return tuple(extents);
  }

  std::string allocation(ir::BufferId id) {
    const ir::Buffer& b = p_.buffers[id];
    const char* memory = b.space == ir::Space::psum       ? "psum"
                         : b.space == ir::Space::sbuf     ? "sbuf"
                         : b.kind == ir::BufferKind::tile ? "hbm"
                                                          : "shared_hbm";
    return cat(buffer_name_[id], " = nl.ndarray(", shape(b), ", dtype=", nki_name(b.dtype), ", buffer=nl.", memory,
               ")");
  }

  void function() {
    std::vector<std::string> inputs, outputs;
    for (std::size_t i = 0; i < p_.buffers.size(); ++i) {
      if (p_.buffers[i].kind == ir::BufferKind::input) inputs.push_back(buffer_name_[i]);
      if (p_.buffers[i].kind == ir::BufferKind::output) outputs.push_back(buffer_name_[i]);
    }
    scope_ = 0;
    line("@nki.jit");
    line(cat("def ", function_, "(", joined(inputs), "):"));
    ++indent_;
    // The program is for these shapes alone.
    for (ir::BufferId i = 0; i < p_.buffers.size(); ++i) {
      const ir::Buffer& b = p_.buffers[i];
      if (b.kind != ir::BufferKind::input) continue;
      std::vector<std::string> tests;
      for (std::size_t d = 0; d < b.rank; ++d) tests.push_back(cat(buffer_name_[i], ".shape[", d, "] == ", b.shape[d]));
      line("assert " + joined(tests, " and "));
    }
    for (ir::BufferId i = 0; i < p_.buffers.size(); ++i)
      if (p_.buffers[i].kind == ir::BufferKind::output) line(allocation(i), place(p_.buffers[i].loc));
    wants_blank_ = !inputs.empty() || !outputs.empty();
    block(0, static_cast<std::uint32_t>(p_.nodes.size()));
    wants_blank_ = false;
    line(outputs.empty() ? "return" : "return " + joined(outputs));
    --indent_;
  }

  /// The scope of what comes next, as a banner where it changes.
  void enter(ir::LocId loc, std::vector<ir::ExprId>& guard) {
    index_.set_location(loc);
    const std::uint32_t scope = loc < p_.locs.size() ? p_.locs[loc].scope : 0;
    if (scope == scope_ || scope >= p_.scopes.size()) return;
    scope_ = scope;
    leave(guard);
    if (!options_.comments) return;
    const std::string name = printable(p_.scopes[scope]);
    line(name.empty() ? "# --" : cat("# -- ", name, " --"));
  }
  void leave(std::vector<ir::ExprId>& guard) {
    if (!guard.empty()) --indent_;
    guard.clear();
  }

  void block(std::uint32_t first, std::uint32_t end) {
    std::vector<ir::ExprId> guard;  // the open `if`
    bool after_instr = false;
    for (std::uint32_t at = first; at < end; at = std::max(p_.nodes[at].end, at + 1)) {
      const ir::Node& n = p_.nodes[at];
      switch (n.kind) {
        case ir::Node::Kind::alloc: {
          const ir::Buffer& b = p_.buffers[n.id];
          if (!is_used_[n.id]) break;
          enter(b.loc, guard);
          leave(guard);
          const std::string where = place(b.loc);
          std::string note = b.slots > 1 ? cat(b.slots, " slots") : "";
          if (!where.empty()) note += (note.empty() ? "" : ", ") + where;
          line(allocation(n.id), note);
          after_instr = false;
          break;
        }
        case ir::Node::Kind::loop:
          wants_blank_ = wants_blank_ || after_instr;
          loop(at, guard);
          after_instr = false;
          break;
        case ir::Node::Kind::instr:
          if (!is_live_[n.id]) break;
          guarded(p_.instrs[n.id], guard);
          after_instr = true;
          break;
      }
    }
    leave(guard);
  }

  /// An instruction under the extents that may be 0 or less.
  void guarded(const ir::Instr& in, std::vector<ir::ExprId>& guard) {
    enter(in.loc, guard);
    std::vector<ir::ExprId> needed;
    for_each_count(in, [&](ir::ExprId c) {
      if (index_.range(c).lo <= 0 && std::find(needed.begin(), needed.end(), c) == needed.end()) needed.push_back(c);
    });
    std::sort(needed.begin(), needed.end());
    if (needed != guard) {
      leave(guard);
      std::vector<std::string> tests;
      for (ir::ExprId c : needed) tests.push_back(index_.text(c) + " > 0");
      if (!tests.empty()) {
        line(cat("if ", joined(tests, " and "), ":"));
        ++indent_;
      }
      guard = std::move(needed);
    }
    instruction(in);
  }

  void loop(std::uint32_t at, std::vector<ir::ExprId>& guard) {
    const ir::Node& n = p_.nodes[at];
    const ir::Loop& l = p_.loops[n.id];
    std::string body = std::exchange(out_, "");
    const std::uint32_t outer_scope = scope_;
    const bool outer_blank = std::exchange(wants_blank_, false);

    // The body first: where nothing in it exists, there is no loop either.
    index_.set_location(l.loc);
    scope_ = l.loc < p_.locs.size() ? p_.locs[l.loc].scope : 0;
    if (l.kind != ir::LoopKind::affine && l.kind != ir::LoopKind::sequential)
      refuse(p_, index_.location(), rule_device_loop, cat("loop '", l.name, "' of kind ", ir::name(l.kind)),
             "use nl::affine_range or nl::sequential_range with bounds known while recording");
    const int outer_indent = std::exchange(indent_, indent_ + (guard.empty() ? 1 : 0));
    block(at + 1, n.end);
    indent_ = outer_indent;
    std::swap(body, out_);
    const std::uint32_t inner_scope = std::exchange(scope_, outer_scope);
    wants_blank_ = outer_blank;
    if (body.empty()) return;

    enter(l.loc, guard);
    leave(guard);
    const Sum lower = index_.sum(l.lower);
    std::string note = l.kind == ir::LoopKind::sequential ? "sequential" : "";
    if (const std::string where = place(l.loc); !where.empty()) note += (note.empty() ? "" : ", ") + where;
    line(cat("for ", index_.loop_name(n.id), " in range(", lower.is(0) ? "" : index_.text(lower) + ", ",
             index_.text(l.upper), "):"),
         note);
    ++indent_;
    for (const std::string& definition : index_.definitions(at)) line(definition);
    --indent_;
    out_ += body;
    scope_ = inner_scope;
    wants_blank_ = true;
  }

  const ir::Program& p_;
  const PythonOptions& options_;
  PythonNames names_;
  std::string function_;
  std::vector<std::string> buffer_name_;
  PythonIndex index_;
  std::vector<bool> is_live_, is_used_;
  std::string out_;
  int indent_ = 0;
  std::uint32_t scope_ = 0;
  bool wants_blank_ = false;
};

}  // namespace detail

/// Write a program as NKI 0.6 source: one `@nki.jit` function that takes the inputs in order and returns the outputs.
///
/// Loops stay loops, tiles are declared where their instance starts, ragged extents become sizes and `if` guards; a
/// trailing comment names the kernel line. docs/emit.md says what maps to what.
/// Errors:  NKI-E701 device loop, E702 partitions not consecutive, E703 index beyond 32 bits.
/// Source:  NKI 0.6.0 reference (language guide, nki.isa, nki.language.NkiTensor).
inline std::string nki_python(const ir::Program& program, const PythonOptions& options = {}) {
  return detail::PythonWriter(program, options).write();
}

}  // namespace nki::inline v0_1::emit
