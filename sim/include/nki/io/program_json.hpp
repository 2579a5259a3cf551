#pragma once

#include <nki/check/structure.hpp>
#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/io/json.hpp>
#include <nki/ir/program.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

/// Programs as files: schema nki.program/1, see docs/schema/program.schema.json.
namespace nki::inline v0_1::io {

inline constexpr std::string_view program_schema = "nki.program/1";
inline constexpr std::string_view file_names =
    "NKI-E067: buffers and loops have names of letters, digits and _, no two the same";

/// The text of a program: a line for each of its parts, in a fixed order, so that equal files mean equal programs.
std::string save_program(const ir::Program& p);

/// Reads what `save_program` writes. Whatever the text holds, the result is a program that follows docs/ir.md, or an
/// nki::Error (damaged_file) that names the place in the text: NKI-E060..E067 for the file, NKI-E05x for the program.
/// It may still break the rules of the machine, which `check` knows. `name_for_messages` is the file's name.
ir::Program load_program(std::string_view text, std::string_view name_for_messages);

namespace detail {

inline constexpr const char* nan_text = "nan";

/// Numbers of attributes; a NaN with a payload is written as its bits.
inline void append_number(std::string& out, double x) {
  char digits[40];
  if (std::isfinite(x)) {
    std::string_view text(digits,
                          static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, x).ptr - digits));
    out += text;
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";
  } else if (std::isinf(x)) {
    out += x > 0 ? "\"inf\"" : "\"-inf\"";
  } else if (std::bit_cast<std::uint64_t>(x) ==
             std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN())) {
    append_quoted(out, nan_text);
  } else {
    out += "\"nan:";
    out.append(digits, std::to_chars(digits, digits + sizeof digits, std::bit_cast<std::uint64_t>(x), 16).ptr);
    out += '"';
  }
}

/// The value of an attribute as JSON.
inline void append_attribute(std::string& out, ir::AttrKind kind, std::int64_t value) {
  switch (kind) {
    case ir::AttrKind::boolean:
      out += value != 0 ? "true" : "false";
      break;
    case ir::AttrKind::integer:
      out += std::to_string(value);
      break;
    case ir::AttrKind::number:
      append_number(out, std::bit_cast<double>(value));
      break;
    case ir::AttrKind::accumulate:
      append_quoted(out, ir::name(static_cast<ir::Accumulate>(value)));
      break;
    case ir::AttrKind::dge_mode:
      append_quoted(out, ir::name(static_cast<ir::DgeMode>(value)));
      break;
  }
}

inline constexpr std::array<const char*, 8> expr_names{"constant", "index", "add", "mul",
                                                       "floordiv", "mod",   "min", "max"};

class ProgramWriter {
 public:
  explicit ProgramWriter(const ir::Program& p) : program_(&p) {
    out_.reserve(1024 + p.instrs.size() * 160 + p.nodes.size() * 24 + p.exprs.size() * 32 + p.views.size() * 96);
  }

  std::string run() && {
    const ir::Program& p = *program_;
    out_ = "{\n  \"schema\": \"" + std::string(program_schema) + "\"";
    member("kernel");
    append_quoted(out_, p.kernel);
    member("problem");
    append_quoted(out_, p.problem);
    member("params");
    append_quoted(out_, p.params);
    section("files", p.files, [&](const std::string& s) { append_quoted(out_, s); });
    section("scopes", p.scopes, [&](const std::string& s) { append_quoted(out_, s); });
    section("locs", p.locs, [&](const ir::SourceLoc& l) { numbers(l.file, l.line, l.column, l.scope); });
    section("buffers", p.buffers, [&](const ir::Buffer& b) { buffer(b); });
    section("exprs", p.exprs, [&](const ir::Expr& e) { expr(e); });
    section("loops", p.loops, [&](const ir::Loop& l) { loop(l); });
    section("views", p.views, [&](const ir::View& v) { view(v); });
    section("instrs", p.instrs, [&](const ir::Instr& i) { instr(i); });
    nodes();
    out_ += "\n}\n";
    return std::move(out_);
  }

 private:
  void member(const char* name) {
    out_ += ",\n  \"";
    out_ += name;
    out_ += "\": ";
  }
  template <class List, class Fn>
  void section(const char* name, const List& list, Fn&& fn) {
    member(name);
    out_ += '[';
    bool first = true;
    for (const auto& x : list) {
      out_ += first ? "\n    " : ",\n    ";
      first = false;
      fn(x);
    }
    out_ += first ? "]" : "\n  ]";
  }
  template <class N>
  void number(N n) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, n).ptr);
  }
  template <class... N>
  void numbers(N... n) {
    const char* before = "[";
    ((out_ += before, before = ", ", number(n)), ...);
    out_ += ']';
  }
  void text(const char* key, std::string_view value) {
    out_ += key;
    append_quoted(out_, value);
  }
  template <class N>
  void text(const char* key, N value) {
    out_ += key;
    number(value);
  }

  void buffer(const ir::Buffer& b) {
    text("{\"name\": ", std::string_view(b.name));
    text(", \"space\": ", std::string_view(ir::name(b.space)));
    text(", \"dtype\": ", std::string_view(nki::name(b.dtype)));
    text(", \"kind\": ", std::string_view(ir::name(b.kind)));
    out_ += ", \"shape\": [";
    for (std::size_t i = 0; i < b.rank; ++i) {
      if (i != 0) out_ += ", ";
      number(b.shape[i]);
    }
    text("], \"slots\": ", b.slots);
    text(", \"loc\": ", b.loc);
    out_ += '}';
  }
  void expr(const ir::Expr& e) {
    text("[", std::string_view(expr_names[static_cast<std::size_t>(e.op)]));
    out_ += ", ";
    switch (e.op) {
      case ir::ExprOp::constant:
        number(e.c);
        break;
      case ir::ExprOp::index:
        number(e.a);
        break;
      case ir::ExprOp::add:
      case ir::ExprOp::min:
      case ir::ExprOp::max:
        number(e.a);
        text(", ", e.b);
        break;
      case ir::ExprOp::mul:
      case ir::ExprOp::floordiv:
      case ir::ExprOp::mod:
        number(e.a);
        text(", ", e.c);
        break;
    }
    out_ += ']';
  }
  void loop(const ir::Loop& l) {
    text("{\"name\": ", std::string_view(l.name));
    text(", \"lower\": ", l.lower);
    text(", \"upper\": ", l.upper);
    text(", \"kind\": ", std::string_view(ir::name(l.kind)));
    text(", \"loc\": ", l.loc);
    out_ += '}';
  }
  void view(const ir::View& v) {
    text("{\"buffer\": ", v.buffer);
    out_ += ", \"dims\": [";
    for (std::size_t i = 0; i < v.rank; ++i) {
      const ir::Dim& d = v.dims[i];
      if (i != 0) out_ += ", ";
      numbers(d.start, d.count, d.step, int{d.axis});
      if (d.dropped) out_.replace(out_.size() - 1, 1, ", \"dropped\"]");
    }
    out_ += "]}";
  }
  void instr(const ir::Instr& i) {
    const ir::OpInfo& op = ir::info(i.op);
    text("{\"op\": ", std::string_view(op.name));
    text(", \"engine\": ", std::string_view(ir::name(i.engine)));
    out_ += ", \"operands\": {";
    for (std::uint8_t o = 0; o < i.n_operands; ++o) {
      if (o != 0) out_ += ", ";
      append_quoted(out_, op.operands[o].name);
      out_ += ": ";
      const ir::ViewId v = program_->operand(i, o);
      if (v == ir::no_id)
        out_ += "null";
      else
        number(v);
    }
    out_ += "}, \"attrs\": {";
    for (std::uint8_t a = 0; a < op.n_attrs; ++a) {
      if (a != 0) out_ += ", ";
      append_quoted(out_, op.attrs[a].name);
      out_ += ": ";
      append_attribute(out_, op.attrs[a].kind, program_->attr(i, a));
    }
    text("}, \"loc\": ", i.loc);
    out_ += '}';
  }
  /// Loops end with a record of their own, so that a file nests no deeper than its records.
  void nodes() {
    member("nodes");
    out_ += '[';
    std::vector<std::uint32_t> ends;
    bool first = true;
    const auto line = [&](const char* kind) {
      out_ += first ? "\n" : ",\n";
      first = false;
      out_.append(4 + 2 * (ends.size() < 40 ? ends.size() : 40), ' ');
      out_ += "[\"";
      out_ += kind;
      out_ += '"';
    };
    const auto n_nodes = static_cast<std::uint32_t>(program_->nodes.size());
    for (std::uint32_t n = 0; n <= n_nodes; ++n) {
      while (!ends.empty() && ends.back() <= n) {
        ends.pop_back();
        line("end");
        out_ += ']';
      }
      if (n == n_nodes) break;
      const ir::Node& node = program_->nodes[n];
      line(node.kind == ir::Node::Kind::loop ? "loop" : node.kind == ir::Node::Kind::alloc ? "alloc" : "instr");
      text(", ", node.id);
      out_ += ']';
      if (node.kind == ir::Node::Kind::loop) ends.push_back(node.end);
    }
    out_ += first ? "]" : "\n  ]";
  }

  const ir::Program* program_;
  std::string out_;
};

class ProgramReader {
 public:
  ProgramReader(std::string_view text, std::string_view file) : text_(text), file_(file) {
    program_.attr_sets.push_back({0, 0});
  }

  ir::Program run() && {
    require_schema();
    std::array<bool, sections.size()> seen{};
    for_each_record(
        text_, file_,
        [&](std::string_view name) {
          for (std::size_t s = 0; s < sections.size(); ++s)
            if (name == sections[s].name) {
              seen[s] = true;
              section_ = &sections[s];
              return true;
            }
          return false;
        },
        [&](std::string_view, std::int64_t index, const Json& v) {
          if (section_->is_array && index < 0)
            v.require(Kind::array, "an array");
          else
            (this->*section_->read)(v);
          return true;
        });
    for (std::size_t s = 0; s < sections.size(); ++s)
      if (!seen[s]) damaged(missing_field, std::string("no $.") + sections[s].name);
    if (!open_.empty()) damaged(missing_field, "no [\"end\"] of the last loop in $.nodes");

    check::detail::Structure structure;
    std::vector<Violation> violations;
    if (!structure.read(program_, violations)) {
      Violation v = std::move(violations.front());
      v.got += (v.got.empty() ? "" : " in ") + std::string(file_);
      throw Error(std::move(v));
    }
    return std::move(program_);
  }

 private:
  using Kind = Json::Kind;
  struct Section {
    const char* name;
    bool is_array;
    void (ProgramReader::*read)(const Json&);
  };
  static const std::array<Section, 12> sections;

  [[noreturn]] void damaged(std::string_view rule, std::string got) const {
    throw_damaged(rule, std::move(got) + " in " + std::string(file_), {},
                  "write the file again; it may have been cut short or edited");
  }

  /// The schema decides how the rest is read, wherever it stands.
  void require_schema() const {
    std::string schema;
    for_each_record(
        text_, file_, [](std::string_view name) { return name == "schema"; },
        [&](std::string_view, std::int64_t, const Json& v) {
          schema = v.is(Kind::string) ? std::string(v.string()) : "?";
          return false;
        });
    if (schema == program_schema) return;
    constexpr std::size_t stem = program_schema.size() - 1;
    const std::string_view version = std::string_view(schema).substr(schema.size() < stem ? schema.size() : stem);
    const bool counts = !version.empty() && version.find_first_not_of("0123456789") == std::string_view::npos;
    const std::string got = (schema.empty() ? "no schema" : "\"" + shown(schema) + "\"") + " in " + std::string(file_);
    if (std::string_view(schema).substr(0, stem) == program_schema.substr(0, stem) && counts)
      throw_damaged(newer_schema, got, std::string(program_schema),
                    "write the file again with this version, or update the library");
    throw_damaged(foreign_schema, got, std::string(program_schema), "name a file that holds a recorded program");
  }

  template <class E>
  static E named(const Json& v, E first, E last) {
    const std::string_view word = v.string();
    for (auto i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
      using ir::name;
      using nki::name;
      if (word == name(static_cast<E>(i))) return static_cast<E>(i);
    }
    v.fail(wrong_type, "\"" + shown(word) + "\"", "a name of the schema");
  }
  static std::uint32_t id(const Json& v) { return v.integer<std::uint32_t>(); }

  void kernel(const Json& v) { program_.kernel = v.string(); }
  void problem(const Json& v) { program_.problem = v.string(); }
  void params(const Json& v) { program_.params = v.string(); }
  void file(const Json& v) { program_.files.emplace_back(v.string()); }
  void scope(const Json& v) { program_.scopes.emplace_back(v.string()); }
  void loc(const Json& v) {
    std::array<std::uint32_t, 4> n{};
    tuple(v, n.size(), [&](std::size_t i, const Json& x) { n[i] = id(x); });
    program_.locs.push_back({n[0], n[1], n[2], n[3]});
  }
  void buffer(const Json& v) {
    ir::Buffer b;
    b.name = unique(v.at("name"));
    b.space = named(v.at("space"), ir::Space::hbm, ir::Space::psum);
    b.dtype = named(v.at("dtype"), DType{}, static_cast<DType>(dtype_count - 1));
    b.kind = named(v.at("kind"), ir::BufferKind::input, ir::BufferKind::tile);
    const Json shape = v.at("shape");
    const std::int64_t rank = shape.size(Kind::array);
    if (rank < 1 || rank > ir::max_rank) shape.fail(out_of_range, std::to_string(rank) + " extents", "1..5");
    shape.for_each(Kind::array, [&](const Json& x) { b.shape[b.rank++] = x.integer<std::int64_t>(); });
    b.slots = v.at("slots").integer<std::int32_t>();
    b.loc = id(v.at("loc"));
    program_.buffers.push_back(std::move(b));
  }
  void expr(const Json& v) {
    ir::Expr e;
    std::size_t parts = 2;
    tuple(v, 0, [&](std::size_t i, const Json& x) {
      if (i == 0) {
        const std::string_view word = x.string();
        std::size_t op = 0;
        while (op < expr_names.size() && word != expr_names[op]) ++op;
        if (op == expr_names.size()) x.fail(wrong_type, "\"" + shown(word) + "\"", "an operation of the schema");
        e.op = static_cast<ir::ExprOp>(op);
        parts = e.op <= ir::ExprOp::index ? 2 : 3;
      } else if (i == 1) {
        if (e.op == ir::ExprOp::constant)
          e.c = x.integer<std::int64_t>();
        else
          e.a = id(x);
      } else if (e.op == ir::ExprOp::mul || e.op == ir::ExprOp::floordiv || e.op == ir::ExprOp::mod) {
        e.c = x.integer<std::int64_t>();
      } else {
        e.b = id(x);
      }
    });
    require_parts(v, parts);
    program_.exprs.push_back(e);
  }
  void loop(const Json& v) {
    ir::Loop l;
    l.name = unique(v.at("name"));
    l.lower = id(v.at("lower"));
    l.upper = id(v.at("upper"));
    l.kind = named(v.at("kind"), ir::LoopKind::affine, ir::LoopKind::while_loop);
    l.loc = id(v.at("loc"));
    program_.loops.push_back(std::move(l));
  }
  void view(const Json& v) {
    ir::View out;
    out.buffer = id(v.at("buffer"));
    const Json dims = v.at("dims");
    const std::int64_t rank = dims.size(Kind::array);
    if (rank < 1 || rank > ir::max_rank) dims.fail(out_of_range, std::to_string(rank) + " dimensions", "1..5");
    dims.for_each(Kind::array, [&](const Json& x) {
      ir::Dim& d = out.dims[out.rank++];
      tuple(x, 0, [&](std::size_t i, const Json& n) {
        if (i == 0)
          d.start = id(n);
        else if (i == 1)
          d.count = id(n);
        else if (i == 2)
          d.step = n.integer<std::int32_t>();
        else if (i == 3)
          d.axis = static_cast<std::uint8_t>(n.integer(0, ir::max_rank - 1));
        else if (n.string() == "dropped")
          d.dropped = true;
        else
          n.fail(wrong_type, "\"" + shown(n.string()) + "\"", "\"dropped\"");
      });
      require_parts(x, d.dropped ? 5 : 4);
    });
    program_.views.push_back(out);
  }
  void instr(const Json& v) {
    ir::Instr in;
    const Json name = v.at("op");
    const ir::OpInfo* op = ir::find_op(name.string());
    if (op == nullptr) name.fail(wrong_type, "\"" + shown(name.string()) + "\"", "an instruction of this version");
    in.op = op->op;
    in.engine = named(v.at("engine"), ir::Engine::unknown, static_cast<ir::Engine>(ir::engine_count - 1));
    in.n_operands = op->n_operands;
    in.first_operand = static_cast<std::uint32_t>(program_.operand_pool.size());
    const Json operands = v.at("operands"), attrs = v.at("attrs");
    for (std::uint8_t o = 0; o < op->n_operands; ++o) {
      const Json x = operands.at(op->operands[o].name);
      program_.operand_pool.push_back(x.is(Kind::null) ? ir::no_id : id(x));
    }
    require_members(operands, op->n_operands);
    std::array<std::int64_t, 4> values{};
    for (std::uint8_t a = 0; a < op->n_attrs; ++a)
      values[a] = attribute(attrs.at(op->attrs[a].name), op->attrs[a].kind);
    require_members(attrs, op->n_attrs);
    in.attrs = intern(values, op->n_attrs);
    in.loc = id(v.at("loc"));
    program_.instrs.push_back(in);
  }
  void node(const Json& v) {
    ir::Node n;
    std::size_t parts = 2;
    bool end = false;
    const auto here = static_cast<std::uint32_t>(program_.nodes.size());
    tuple(v, 0, [&](std::size_t i, const Json& x) {
      if (i == 1) n.id = id(x);
      if (i != 0) return;
      const std::string_view word = x.string();
      if (word == "end") {
        end = true;
        parts = 1;
        if (open_.empty()) x.fail(missing_field, "the end of no loop", {});
      } else if (word == "loop") {
        n.kind = ir::Node::Kind::loop;
      } else if (word == "alloc") {
        n.kind = ir::Node::Kind::alloc;
      } else if (word != "instr") {
        x.fail(wrong_type, "\"" + shown(word) + "\"", "instr, loop, alloc or end");
      }
    });
    require_parts(v, parts);
    if (end) {
      program_.nodes[open_.back()].end = here;
      open_.pop_back();
      return;
    }
    n.end = here + 1;
    if (n.kind == ir::Node::Kind::loop) open_.push_back(here);
    program_.nodes.push_back(n);
  }

  static std::int64_t attribute(const Json& v, ir::AttrKind kind) {
    switch (kind) {
      case ir::AttrKind::boolean:
        return v.truth() ? 1 : 0;
      case ir::AttrKind::integer:
        return v.integer<std::int64_t>();
      case ir::AttrKind::number:
        return std::bit_cast<std::int64_t>(number(v));
      case ir::AttrKind::accumulate:
        return static_cast<std::int64_t>(named(v, ir::Accumulate::overwrite, ir::Accumulate::auto_));
      case ir::AttrKind::dge_mode:
        return static_cast<std::int64_t>(named(v, ir::DgeMode::unknown, ir::DgeMode::none));
    }
    return 0;
  }
  static double number(const Json& v) {
    if (!v.is(Kind::string)) return v.number();
    const std::string_view word = v.string();
    if (word == nan_text) return std::numeric_limits<double>::quiet_NaN();
    if (word == "inf") return std::numeric_limits<double>::infinity();
    if (word == "-inf") return -std::numeric_limits<double>::infinity();
    std::uint64_t bits = 0;
    if (word.size() > 4 && word.substr(0, 4) == "nan:") {
      const char* last = word.data() + word.size();
      const auto [end, error] = std::from_chars(word.data() + 4, last, bits, 16);
      if (error == std::errc{} && end == last && std::isnan(std::bit_cast<double>(bits)))
        return std::bit_cast<double>(bits);
    }
    v.fail(wrong_type, "\"" + shown(word) + "\"", "a number, nan, inf or -inf");
  }

  /// fn(i, part) for the parts of an array; `size` of 0 leaves their number to `require_parts`.
  template <class Fn>
  static void tuple(const Json& v, std::size_t size, Fn&& fn) {
    if (size != 0) require_parts(v, size);
    std::size_t i = 0;
    v.for_each(Kind::array, [&](const Json& x) { fn(i++, x); });
  }
  static void require_parts(const Json& v, std::size_t size) {
    const auto got = static_cast<std::size_t>(v.size(Kind::array));
    if (got != size) v.fail(missing_field, std::to_string(got) + " parts", std::to_string(size));
  }
  static void require_members(const Json& v, std::size_t size) {
    const auto got = static_cast<std::size_t>(v.size(Kind::object));
    if (got != size) v.fail(missing_field, std::to_string(got) + " members", std::to_string(size));
  }
  /// Names end up in emitted code, so nothing but a name may pass.
  std::string unique(const Json& v) {
    const std::string name(v.string());
    bool plain = !name.empty() && (name[0] < '0' || name[0] > '9');
    for (const char c : name)
      plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
    if (!plain || !names_.insert(name).second)
      v.fail(file_names, (plain ? "a second \"" : "\"") + shown(name) + "\"", {});
    return name;
  }
  ir::AttrSetId intern(const std::array<std::int64_t, 4>& values, std::uint8_t count) {
    if (count == 0) return 0;
    std::string key;
    for (std::uint8_t a = 0; a < count; ++a) {
      const auto bits = std::bit_cast<std::array<char, 8>>(values[a]);
      key.append(bits.data(), bits.size());
    }
    const auto [it, added] =
        attr_sets_.try_emplace(std::move(key), static_cast<ir::AttrSetId>(program_.attr_sets.size()));
    if (added) {
      program_.attr_sets.push_back({static_cast<std::uint32_t>(program_.attr_pool.size()), count});
      program_.attr_pool.insert(program_.attr_pool.end(), values.begin(), values.begin() + count);
    }
    return it->second;
  }

  std::string_view text_, file_;
  ir::Program program_;
  const Section* section_ = nullptr;
  std::vector<std::uint32_t> open_;  ///< nodes of the open loops
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, ir::AttrSetId> attr_sets_;
};

inline const std::array<ProgramReader::Section, 12> ProgramReader::sections{{
    {"kernel", false, &ProgramReader::kernel},
    {"problem", false, &ProgramReader::problem},
    {"params", false, &ProgramReader::params},
    {"files", true, &ProgramReader::file},
    {"scopes", true, &ProgramReader::scope},
    {"locs", true, &ProgramReader::loc},
    {"buffers", true, &ProgramReader::buffer},
    {"exprs", true, &ProgramReader::expr},
    {"loops", true, &ProgramReader::loop},
    {"views", true, &ProgramReader::view},
    {"instrs", true, &ProgramReader::instr},
    {"nodes", true, &ProgramReader::node},
}};

}  // namespace detail

inline std::string save_program(const ir::Program& p) {
  return detail::ProgramWriter(p).run();
}

inline ir::Program load_program(std::string_view text, std::string_view name_for_messages) {
  return detail::ProgramReader(text, name_for_messages).run();
}

}  // namespace nki::inline v0_1::io
