#pragma once

#include <nki/alloc.hpp>
#include <nki/check/rules.hpp>
#include <nki/check/text.hpp>
#include <nki/error.hpp>
#include <nki/ir/program.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nki::inline v0_1::check {

/// What the rules say about a whole program.
struct Report {
  std::vector<Violation> violations;  ///< one for each rule and kernel line, the first 200
  std::vector<Violation> warnings;    ///< NKI-W5xx: legal, but likely slow or forgotten
  Capacity capacity;
  std::vector<LiveRange> live_ranges;  ///< of the tiles

  bool ok() const { return violations.empty(); }
  void throw_if_failed() const {
    if (!ok()) throw Error(violations.front());
  }
};

namespace detail {

/// Fills a report: one violation for each rule and line, and no more than anybody reads.
class Reporter {
 public:
  Reporter(const ir::Program& p, Report& report) : program_(&p), report_(&report) {}

  /// True where another violation of a rule at a line would be left out.
  bool is_known(std::string_view text, ir::LocId loc) const { return is_listed(failed_, text, loc); }
  void add(std::string_view text, Violation v, ir::LocId loc) {
    append(failed_, report_->violations, text, static_cast<Violation&&>(v), loc);
  }
  [[gnu::cold]] void fail(std::string_view text, std::string got, std::string allowed, std::string hint,
                          ir::LocId loc) {
    if (!is_listed(failed_, text, loc))
      add(text,
          violation(text, static_cast<std::string&&>(got), static_cast<std::string&&>(allowed),
                    static_cast<std::string&&>(hint)),
          loc);
  }
  [[gnu::cold]] void warn(std::string_view text, std::string got, std::string hint, ir::LocId loc) {
    if (!is_listed(warned_, text, loc))
      append(warned_, report_->warnings, text,
             violation(text, static_cast<std::string&&>(got), {}, static_cast<std::string&&>(hint)), loc);
  }

  /// "matmul.hpp:120", for places beside the one that a violation is about.
  [[gnu::cold]] std::string place(ir::LocId loc) const {
    const ir::SourceLoc& at = program_->locs[loc];
    const std::string& path = program_->files[at.file];
    return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(at.line);
  }
  /// " at m = 3, k = 0" for the loops around a node.
  template <class IndexOf>
  std::string iteration(std::uint32_t node, IndexOf&& index_of) const {
    std::string out;
    for (std::uint32_t n = 0; n < node; ++n) {
      const ir::Node& loop = program_->nodes[n];
      if (loop.kind != ir::Node::Kind::loop || loop.end <= node) continue;
      out += (out.empty() ? " at " : ", ") + program_->loops[loop.id].name + " = " + std::to_string(index_of(loop.id));
    }
    return out;
  }

 private:
  struct Entry {
    std::string_view id;
    ir::LocId loc;
  };
  static constexpr std::size_t most = 200;

  static bool is_listed(const std::vector<Entry>& list, std::string_view text, ir::LocId loc) {
    if (list.size() >= most) return true;
    for (const Entry& e : list)
      if (e.loc == loc && e.id == text.substr(0, 8)) return true;
    return false;
  }
  [[gnu::cold]] void append(std::vector<Entry>& list, std::vector<Violation>& out, std::string_view text, Violation v,
                            ir::LocId loc) {
    list.push_back({text.substr(0, 8), loc});
    const ir::SourceLoc& at = program_->locs[loc];
    v.file = program_->files[at.file];
    v.line = at.line;
    out.push_back(static_cast<Violation&&>(v));
  }

  const ir::Program* program_;
  Report* report_;
  std::vector<Entry> failed_, warned_;
};

}  // namespace detail

}  // namespace nki::inline v0_1::check
