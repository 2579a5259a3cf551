#pragma once

#include <nki/error.hpp>
#include <nki/ir/expr.hpp>
#include <nki/ir/program.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Names and index arithmetic of emitted Python.
namespace nki::inline v0_1::emit::detail {

/// Words that Python or the emitted code claims.
inline bool is_reserved(std::string_view name) {
  constexpr std::string_view words[] = {
      "False", "None",     "True",   "and",   "as",     "assert", "async",    "await", "break",
      "class", "continue", "def",    "del",   "elif",   "else",   "except",   "float", "finally",
      "for",   "from",     "global", "if",    "import", "in",     "int",      "is",    "lambda",
      "len",   "max",      "min",    "nisa",  "nki",    "nl",     "nonlocal", "not",   "or",
      "pass",  "print",    "raise",  "range", "return", "try",    "while",    "with",  "yield"};
  return std::find(std::begin(words), std::end(words), name) != std::end(words);
}

inline void append(std::string& s, std::string_view text) {
  s += text;
}
inline void append(std::string& s, std::integral auto number) {
  s += std::to_string(number);
}
std::string cat(const auto&... parts) {
  std::string s;
  (append(s, parts), ...);
  return s;
}

inline std::string joined(const std::vector<std::string>& parts, std::string_view between = ", ") {
  std::string s;
  for (std::size_t i = 0; i < parts.size(); ++i) s += (i == 0 ? "" : std::string(between)) + parts[i];
  return s;
}
inline std::string tuple(const std::vector<std::string>& parts) {
  return "(" + joined(parts) + (parts.size() == 1 ? ",)" : ")");
}
inline bool has_blank(std::string_view s) {
  return s.find(' ') != std::string_view::npos;
}

/// Hands out identifiers that differ from each other and from the words of Python and the emitted code.
class PythonNames {
 public:
  std::string claim(std::string_view wanted, std::string_view fallback) {
    std::string base;
    for (char c : wanted.empty() ? fallback : wanted) {
      const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      base += good ? c : '_';
    }
    if (base[0] >= '0' && base[0] <= '9') base.insert(base.begin(), '_');
    if (is_reserved(base)) base += '_';
    const auto [known, is_new] = next_.try_emplace(base, 2);
    if (is_new) return base;
    while (true)
      if (std::string name = cat(base, "_", known->second++); next_.try_emplace(name, 2).second) return name;
  }

 private:
  std::map<std::string, int> next_;  // the number to try after a name
};

inline constexpr std::string_view rule_index_width = "NKI-E703: an index of an NKI kernel fits 32 bits";

/// What Python cannot say, at a line of the kernel.
[[noreturn]] inline void refuse(const ir::Program& p, ir::LocId loc, std::string_view rule, std::string got,
                                std::string hint) {
  const bool known = loc < p.locs.size() && p.locs[loc].file < p.files.size();
  throw Error({.id = std::string(rule.substr(0, 8)),
               .sentence = std::string(rule.substr(10)),
               .got = std::move(got),
               .allowed = {},
               .hint = std::move(hint),
               .file = known ? p.files[p.locs[loc].file] : std::string(),
               .line = known ? p.locs[loc].line : 0});
}

/// constant + sum of coefficient * atom. An atom is the index of a loop, or an expression that a sum cannot absorb:
/// floordiv, mod, min, max.
struct Sum {
  struct Term {
    ir::ExprId atom;
    std::int64_t coefficient;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::int64_t constant = 0;
  std::vector<Term> terms;

  bool is_constant() const { return terms.empty(); }
  bool is(std::int64_t value) const { return terms.empty() && constant == value; }
  friend bool operator==(const Sum&, const Sum&) = default;
};

/// Index expressions as Python. What the text needs more than once becomes a variable of the innermost loop it depends
/// on, so the text is made twice: while `count()` holds only to count, after `name()` for good.
class PythonIndex {
 public:
  PythonIndex(const ir::Program& p, PythonNames& names)
      : p_(p),
        ranges_(ir::expression_ranges(p)),
        home_(p.exprs.size(), ir::no_id),
        uses_(p.exprs.size(), 0),
        expr_name_(p.exprs.size()),
        stem_(p.exprs.size()) {
    for (const ir::Loop& l : p.loops) loop_name_.push_back(names.claim(l.name, "i"));
    find_homes();
  }

  const ir::Range& range(ir::ExprId id) const { return ranges_[id]; }
  const std::string& loop_name(ir::LoopId id) const { return loop_name_[id]; }
  /// The line that an error names.
  void set_location(ir::LocId loc) { loc_ = loc; }
  ir::LocId location() const { return loc_; }

  /// Takes note of an extent that may get a variable: an atom and a number, such as m_size - 128.
  void add_extent(ir::ExprId count) {
    const Sum s = sum(count);
    if (s.terms.size() != 1 || s.terms[0].coefficient != 1 || s.constant == 0) return;
    if (p_.exprs[s.terms[0].atom].op == ir::ExprOp::index || find_extent(s) != ir::no_id) return;
    home_[count] = home_[s.terms[0].atom];
    extents_.emplace_back(s, count);
  }

  void count() { counting_ = true; }
  void name(PythonNames& names) {
    counting_ = false;
    name_expressions(names);
  }

  Sum sum(ir::ExprId id) const {
    Sum s;
    add_to(s, id, 1);
    rejoin(s);
    return s;
  }

  Sum plus(Sum a, const Sum& b, std::int64_t factor = 1) const {
    a.constant += factor * b.constant;
    for (const Sum::Term& t : b.terms) add_term(a, t.atom, factor * t.coefficient);
    rejoin(a);
    return a;
  }

  std::string text(const Sum& s) {
    if (const ir::ExprId extent = find_extent(s); extent != ir::no_id) return atom(extent);
    return terms(s);
  }
  std::string text(ir::ExprId id) { return text(sum(id)); }

  /// The assignments at the head of a loop's body.
  std::vector<std::string> definitions(std::uint32_t node) {
    std::vector<std::string> out;
    if (counting_) return out;
    for (const bool extents : {false, true})  // extents are made of the others
      for (ir::ExprId e = 0; e < p_.exprs.size(); ++e)
        if (!expr_name_[e].empty() && home_[e] == node && (p_.exprs[e].op == ir::ExprOp::add) == extents)
          out.push_back(cat(expr_name_[e], " = ", spelled(e)));
    return out;
  }

 private:
  /// The innermost loop (as its node) that an expression depends on.
  void find_homes() {
    std::vector<std::uint32_t> node_of_loop(p_.loops.size(), ir::no_id);
    for (std::uint32_t n = 0; n < p_.nodes.size(); ++n)
      if (p_.nodes[n].kind == ir::Node::Kind::loop) node_of_loop[p_.nodes[n].id] = n;
    const auto inner = [](std::uint32_t a, std::uint32_t b) {
      return a == ir::no_id || (b != ir::no_id && b > a) ? b : a;
    };
    for (std::size_t i = 0; i < p_.exprs.size(); ++i) {
      const ir::Expr& e = p_.exprs[i];
      switch (e.op) {
        case ir::ExprOp::constant:
          break;
        case ir::ExprOp::index:
          home_[i] = node_of_loop[e.a];
          break;
        case ir::ExprOp::add:
        case ir::ExprOp::min:
        case ir::ExprOp::max:
          home_[i] = inner(home_[e.a], home_[e.b]);
          break;
        case ir::ExprOp::mul:
        case ir::ExprOp::floordiv:
        case ir::ExprOp::mod:
          home_[i] = home_[e.a];
          break;
      }
    }
  }

  ir::ExprId find_extent(const Sum& s) const {
    for (const auto& [extent, id] : extents_)
      if (extent == s) return id;
    return ir::no_id;
  }

  /// Gives a variable to what the text needs more than once.
  void name_expressions(PythonNames& names) {
    for (const auto& [extent, id] : extents_) {
      if (uses_[id] > 1) expr_name_[id] = "?";
      for (const Sum::Term& t : extent.terms) uses_[t.atom] += uses_[id] > 1 ? 1 : uses_[id];
    }
    for (std::size_t n = p_.exprs.size(); n-- > 0;) {
      const ir::Expr& e = p_.exprs[n];
      const bool two = e.op == ir::ExprOp::min || e.op == ir::ExprOp::max;
      if (uses_[n] == 0 || !(two || e.op == ir::ExprOp::floordiv || e.op == ir::ExprOp::mod)) continue;
      if (uses_[n] > 1) expr_name_[n] = "?";
      const auto pass_on = [&](ir::ExprId operand) {
        for (const Sum::Term& t : sum(operand).terms) uses_[t.atom] += uses_[n] > 1 ? 1 : uses_[n];
      };
      pass_on(e.a);
      if (two) pass_on(e.b);
    }
    for (ir::ExprId n = 0; n < p_.exprs.size(); ++n)
      if (!expr_name_[n].empty()) expr_name_[n] = names.claim(describe(n), "value");
  }

  /// "m_size" for min(512, 2048 - m * 512), "m_part_1" for min(128, m_size - 128), "k_whole" and "k_rest" for
  /// k_size // 128 and k_size % 128. Sets the stem, from which the names of expressions over this one are made.
  std::string describe(ir::ExprId id) {
    const ir::Expr& e = p_.exprs[id];
    const std::string& loop = loop_name_[p_.nodes[home_[id]].id];
    stem_[id] = loop;
    if (e.op == ir::ExprOp::add) return part(id, sum(id), ranges_[id].hi);
    Sum x = sum(e.a);
    if (e.op == ir::ExprOp::floordiv || e.op == ir::ExprOp::mod) {
      const bool div = e.op == ir::ExprOp::floordiv;
      if (x.constant == 0 && is_of_name(x)) return (stem_[id] = stem_[x.terms[0].atom]) + (div ? "_whole" : "_rest");
      return stem_[id] = cat(loop, div ? "_div_" : "_mod_", e.c);
    }
    Sum y = sum(e.b);
    if (y.is_constant()) std::swap(x, y);
    if (e.op == ir::ExprOp::min && x.is_constant() && x.constant > 0)
      return is_of_name(y) ? part(id, y, x.constant) : loop + "_size";
    return stem_[id] = loop + (e.op == ir::ExprOp::min ? "_min" : "_max");
  }
  bool is_of_name(const Sum& s) const {
    return s.terms.size() == 1 && s.terms[0].coefficient == 1 && !expr_name_[s.terms[0].atom].empty();
  }
  /// A part of at most `length` from an offset on.
  std::string part(ir::ExprId id, const Sum& s, std::int64_t length) {
    const std::string& whole = stem_[s.terms[0].atom];
    stem_[id] = s.constant <= 0 && length > 0 && s.constant % length == 0 ? cat(whole, "_part_", -s.constant / length)
                                                                          : cat(whole, "_part");
    return stem_[id];
  }

  static void add_term(Sum& s, ir::ExprId atom, std::int64_t factor) {
    for (std::size_t i = 0; i < s.terms.size(); ++i)
      if (s.terms[i].atom == atom) {
        s.terms[i].coefficient += factor;
        if (s.terms[i].coefficient == 0) s.terms.erase(s.terms.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      }
    s.terms.push_back({atom, factor});
  }

  void add_to(Sum& s, ir::ExprId id, std::int64_t factor) const {
    const ir::Expr& e = p_.exprs[id];
    if (ranges_[id].is_point()) {
      s.constant += factor * ranges_[id].lo;
    } else if (e.op == ir::ExprOp::add) {
      add_to(s, e.a, factor);
      add_to(s, e.b, factor);
    } else if (e.op == ir::ExprOp::mul) {
      add_to(s, e.a, factor * e.c);
    } else {
      add_term(s, id, factor);
    }
  }

  /// c * (x // c) + x % c is x.
  void rejoin(Sum& s) const {
    for (std::size_t i = 0; i < s.terms.size(); ++i) {
      const ir::Expr& whole = p_.exprs[s.terms[i].atom];
      if (whole.op != ir::ExprOp::floordiv) continue;
      for (std::size_t j = 0; j < s.terms.size(); ++j) {
        const ir::Expr& rest = p_.exprs[s.terms[j].atom];
        const std::int64_t factor = s.terms[j].coefficient;
        if (rest.op != ir::ExprOp::mod || rest.a != whole.a || rest.c != whole.c ||
            s.terms[i].coefficient != factor * whole.c)
          continue;
        s.terms.erase(s.terms.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
        s.terms.erase(s.terms.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
        add_to(s, rest.a, factor);
        return rejoin(s);
      }
    }
  }

  void require_32_bits(const Sum& s) const {
    ir::Range r{s.constant, s.constant};
    for (const Sum::Term& t : s.terms) {
      const auto x = ir::detail::mul_far(ranges_[t.atom].lo, t.coefficient);
      const auto y = ir::detail::mul_far(ranges_[t.atom].hi, t.coefficient);
      r.lo = ir::detail::add_far(r.lo, std::min(x, y));
      r.hi = ir::detail::add_far(r.hi, std::max(x, y));
    }
    constexpr std::int64_t lo = std::numeric_limits<std::int32_t>::min(), hi = std::numeric_limits<std::int32_t>::max();
    if (r.lo < lo || r.hi > hi)
      refuse(p_, loc_, rule_index_width, cat("an index that reaches ", r.hi > hi ? r.hi : r.lo),
             "split the tensor, so that each part has smaller indices");
  }

  std::string terms(const Sum& s) {
    require_32_bits(s);
    std::string added, taken;
    for (const Sum::Term& t : s.terms) {
      std::string factor = atom(t.atom);
      const std::int64_t c = t.coefficient < 0 ? -t.coefficient : t.coefficient;
      const bool is_call = factor.back() == ')';
      if (c != 1) factor = cat(has_blank(factor) && !is_call ? "(" + factor + ")" : factor, " * ", c);
      if (t.coefficient > 0)
        added += (added.empty() ? "" : " + ") + factor;
      else
        taken += " - " + factor;
    }
    if (added.empty()) return cat(s.constant, taken);
    if (s.constant > 0) added += cat(" + ", s.constant);
    if (s.constant < 0) taken += cat(" - ", -s.constant);
    return added + taken;
  }

  std::string atom(ir::ExprId id) {
    if (counting_) {
      ++uses_[id];
      return "x";
    }
    return expr_name_[id].empty() ? spelled(id) : expr_name_[id];
  }

  /// An atom, or an extent, in full.
  std::string spelled(ir::ExprId id) {
    const ir::Expr& e = p_.exprs[id];
    switch (e.op) {
      case ir::ExprOp::index:
        return loop_name_[e.a];
      case ir::ExprOp::floordiv:
      case ir::ExprOp::mod: {
        const std::string x = terms(sum(e.a));
        return cat(has_blank(x) ? "(" + x + ")" : x, e.op == ir::ExprOp::mod ? " % " : " // ", e.c);
      }
      case ir::ExprOp::min:
      case ir::ExprOp::max: {
        Sum a = sum(e.a), b = sum(e.b);
        if (b.is_constant()) std::swap(a, b);
        return cat(e.op == ir::ExprOp::min ? "min(" : "max(", terms(a), ", ", terms(b), ")");
      }
      case ir::ExprOp::constant:
      case ir::ExprOp::add:
      case ir::ExprOp::mul:
        break;
    }
    return terms(sum(id));
  }

  const ir::Program& p_;
  std::vector<ir::Range> ranges_;
  std::vector<std::uint32_t> home_;  // of an expression: the node of the innermost loop it depends on
  std::vector<std::uint32_t> uses_;
  std::vector<std::string> expr_name_, stem_, loop_name_;
  std::vector<std::pair<Sum, ir::ExprId>> extents_;
  ir::LocId loc_ = 0;
  bool counting_ = false;
};

}  // namespace nki::inline v0_1::emit::detail
