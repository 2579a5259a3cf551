#pragma once

#include <nki/ir/ops.hpp>
#include <nki/ir/program.hpp>
#include <nki/machine/program.hpp>
#include <nki/sim/result.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

/// Words for what a timeline shows: the pictures of a timeline (HTML, SVG, Perfetto) all take them from here.
namespace nki::inline v0_1::emit {

namespace detail {

/// Text from pieces. Long chains of + cost more to compile and to run.
inline void add(std::string& s, std::initializer_list<std::string_view> pieces) {
  for (std::string_view x : pieces) s += x;
}
inline std::string concat(std::initializer_list<std::string_view> pieces) {
  std::string s;
  add(s, pieces);
  return s;
}
/// At most `most` bytes, whole characters, with an ellipsis where something is left out.
inline std::string shortened(std::string s, std::size_t most) {
  if (s.size() <= most) return s;
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(s[end]) & 0xC0u) == 0x80u) --end;
  s.resize(end);
  return s += "...";
}
/// Names longer than this are shortened, so that a page's size depends on the run and not on them.
inline constexpr std::size_t longest_name = 100;

/// A number in fixed notation, whatever the locale.
inline std::string fixed(double x, int decimals) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), x, std::chars_format::fixed, decimals).ptr;
  return {text.data(), end};
}
inline std::string microseconds(std::int64_t ticks, std::int64_t ticks_per_ns, int decimals = 3) {
  return fixed(static_cast<double>(ticks) / static_cast<double>(ticks_per_ns) / 1000.0, decimals);
}
/// 55936.1 as 55,936.1
inline std::string grouped(const std::string& number) {
  const std::size_t begin = number.empty() || number[0] != '-' ? 0 : 1, end = std::min(number.find('.'), number.size());
  std::string s;
  for (std::size_t i = 0; i < number.size(); ++i) {
    if (i > begin && i < end && (end - i) % 3 == 0) s += ',';
    s += number[i];
  }
  return s;
}
inline std::string with_commas(std::int64_t n) {
  return grouped(std::to_string(n));
}

/// Text for HTML and SVG, between tags and in quoted attributes. Control characters, which SVG forbids, become spaces.
inline std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return out;
}

/// The length of the UTF-8 character at `at`, or 0 where there is none.
inline std::size_t utf8_length(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) { return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned b = byte(0);
  if (b < 0x80) return 1;
  if (b >= 0xC2 && b < 0xE0) return follows(1) ? 2 : 0;
  if (b >= 0xE0 && b < 0xF0) {
    const bool long_form = b == 0xE0 && byte(1) < 0xA0, surrogate = b == 0xED && byte(1) >= 0xA0;
    return follows(1) && follows(2) && !long_form && !surrogate ? 3 : 0;
  }
  if (b >= 0xF0 && b < 0xF5) {
    const bool long_form = b == 0xF0 && byte(1) < 0x90, too_large = b == 0xF4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !long_form && !too_large ? 4 : 0;
  }
  return 0;
}

/// A JSON string with its quotes. It may also stand in a <script> of a page: no character of HTML's is left in it.
/// Bytes that are not UTF-8 become U+FFFD.
inline std::string json_string(std::string_view text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += text[i++];
    } else if (c < 0x20 || c == 0x7F || c == '<' || c == '>' || c == '&') {
      out += "\\u00";
      out += digits[c >> 4];
      out += digits[c & 15];
      ++i;
    } else if (const std::size_t n = utf8_length(text, i); n > 0) {
      out.append(text, i, n);
      i += n;
    } else {
      out += "\\ufffd";
      ++i;
    }
  }
  out += '"';
  return out;
}

}  // namespace detail

inline constexpr int row_count = 8;
/// The rows of a timeline, in the order of sim::Event::Row: five instruction streams and three DMA queues.
inline constexpr std::array<const char*, row_count> row_names{"tensor", "vector",   "scalar",     "gpsimd",
                                                              "sync",   "DMA sync", "DMA scalar", "DMA gpsimd"};
constexpr bool is_queue(sim::Event::Row r) {
  return r >= sim::Event::Row::dma_sync;
}

/// What a bar is about; colours and patterns stand for these.
enum class Look : std::uint8_t { matmul, transpose, compute, trigger, load, store, copy, other };
inline constexpr int look_count = 8;
inline constexpr std::array<const char*, look_count> look_names{"matrix multiply",
                                                                "transpose",
                                                                "vector, scalar or gpsimd operation",
                                                                "DMA trigger",
                                                                "load from HBM",
                                                                "store to HBM",
                                                                "copy inside HBM or SBUF",
                                                                "other instruction"};

/// Colours by Okabe and Ito, which people with any colour vision tell apart; patterns go with them.
inline constexpr std::array<const char*, look_count> look_colors{"#0072B2", "#56B4E9", "#009E73", "#F0E442",
                                                                 "#E69F00", "#D55E00", "#CC79A7", "#999999"};
/// A wait has the colour of what it waits for.
inline constexpr std::array<const char*, machine::cause_count> cause_colors{"#009E73", "#E69F00", "#CC79A7", "#D55E00",
                                                                            "#999999"};

/// Why an instruction waits, as the end of "waits for ...".
inline constexpr std::array<const char*, machine::cause_count> cause_names{"operand", "load", "slot", "store",
                                                                           "imported"};
inline constexpr std::array<const char*, machine::cause_count> cause_sentences{
    "the result of an engine", "data on its way from HBM", "a slot that is still in use",
    "a store that still reads the slot", "a semaphore of the imported trace"};

/// Names of events, from the program behind them. Sites that the program does not have (an imported trace's) get names
/// made of their kind and number.
class EventNames {
 public:
  explicit EventNames(const ir::Program& p) : program_(&p) {
    // Buffers that share a name are told apart by a number, as in the emitted Python.
    std::unordered_set<std::string> seen;
    for (const ir::Buffer& b : p.buffers) seen.insert(b.name);
    std::unordered_map<std::string, int> number;
    for (const ir::Buffer& b : p.buffers) {
      const std::string base = detail::shortened(b.name.empty() ? "buffer" : b.name, detail::longest_name);
      std::string name = base;
      for (int n = ++number[base]; n > 1 && (name == base || seen.count(name) != 0); ++n)
        name = detail::concat({base, "_", std::to_string(n)});
      seen.insert(name);
      buffers_.push_back(std::move(name));
    }
    for (const std::string& f : p.files)
      files_.push_back(detail::shortened(f.substr(f.find_last_of("/\\") + 1), detail::longest_name));
    for (const std::string& c : p.scopes) scopes_.push_back(detail::shortened(c, detail::longest_name));
  }

  const ir::Program& program() const { return *program_; }
  bool knows(std::uint32_t site) const { return site < program_->instrs.size(); }
  const std::string& buffer(ir::BufferId b) const { return buffers_[b]; }

  /// "nc_matmul", or "matmul 17" for site 17 of a program that is not there.
  std::string op(std::uint32_t site, machine::Kind kind) const {
    if (knows(site)) return ir::info(program_->instrs[site].op).name;
    constexpr const char* kinds[] = {"matmul", "compute", "table load", "dma", "event", "nop"};
    const char* name = kinds[static_cast<int>(kind)];
    return site == machine::no_id ? name : detail::concat({name, " ", std::to_string(site)});
  }
  std::string op(const sim::Event& e) const { return op(e.site, e.kind); }

  /// What it writes and what it reads: "acc <- lhs_tile, rhs_tile".
  std::string operands(std::uint32_t site) const {
    if (!knows(site)) return {};
    std::string written, read;
    const ir::Instr& in = program_->instrs[site];
    for (int o = 0; o < in.n_operands; ++o) {
      const ir::ViewId v = program_->operand(in, o);
      if (v == ir::no_id) continue;
      std::string& list = info(in, o).access == ir::Access::read ? read : written;
      if (!list.empty()) list += ", ";
      list += buffers_[program_->views[v].buffer];
    }
    return read.empty() ? written : detail::concat({written, " <- ", read});
  }

  /// The first buffer written, which tells most in the least room.
  std::string target(std::uint32_t site) const {
    if (!knows(site)) return {};
    const ir::Instr& in = program_->instrs[site];
    for (int o = 0; o < in.n_operands; ++o)
      if (const ir::ViewId v = program_->operand(in, o); v != ir::no_id && info(in, o).access != ir::Access::read)
        return buffers_[program_->views[v].buffer];
    return {};
  }

  const ir::SourceLoc* loc(std::uint32_t site) const {
    if (!knows(site) || program_->instrs[site].loc >= program_->locs.size()) return nullptr;
    const ir::SourceLoc& l = program_->locs[program_->instrs[site].loc];
    return l.file < files_.size() && !files_[l.file].empty() ? &l : nullptr;
  }
  /// "matmul.hpp:231", or nothing.
  std::string place(std::uint32_t site) const {
    const ir::SourceLoc* l = loc(site);
    return l == nullptr ? std::string() : detail::concat({files_[l->file], ":", std::to_string(l->line)});
  }
  std::string scope(std::uint32_t site) const {
    const ir::SourceLoc* l = loc(site);
    return l == nullptr || l->scope >= scopes_.size() ? std::string() : scopes_[l->scope];
  }

  Look look(std::uint32_t site, machine::Kind kind, sim::Event::Row row) const {
    if (kind == machine::Kind::dma) {
      if (!is_queue(row)) return Look::trigger;
      if (!knows(site)) return Look::copy;
      const ir::Instr& in = program_->instrs[site];
      const auto in_hbm = [&](int o) {
        return program_->buffers[program_->views[program_->operand(in, o)].buffer].space == ir::Space::hbm;
      };
      if (in.n_operands < 2 || in_hbm(0) == in_hbm(1)) return Look::copy;
      return in_hbm(0) ? Look::store : Look::load;
    }
    if (knows(site) && program_->instrs[site].op == ir::Opcode::nc_transpose) return Look::transpose;
    if (kind == machine::Kind::matmul) return Look::matmul;
    return kind == machine::Kind::compute ? Look::compute : Look::other;
  }
  Look look(const sim::Event& e) const { return look(e.site, e.kind, e.row); }

 private:
  static const ir::OperandInfo& info(const ir::Instr& in, int operand) {
    return ir::info(in.op).operands[static_cast<std::size_t>(operand)];
  }

  const ir::Program* program_;
  std::vector<std::string> buffers_, files_, scopes_;
};

}  // namespace nki::inline v0_1::emit
