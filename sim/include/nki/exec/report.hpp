#pragma once

#include <nki/check/rules.hpp>
#include <nki/error.hpp>
#include <nki/ir/ops.hpp>
#include <nki/ir/program.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nki::inline v0_1::exec {

/// An instruction and the kernel line that recorded it.
struct Site {
  ir::InstrId instr = ir::no_id;  ///< `ir::no_id`: there is none
  std::string operation;          ///< "nc_matmul"
  std::string file;
  std::uint32_t line = 0;
};

/// One execution of an instruction that read undefined elements of one operand.
struct UndefinedRead {
  Site read;
  std::string operand;        ///< "stationary"
  std::string buffer;         ///< "lhs_tile"
  std::int64_t elements = 0;  ///< how many of the operand's elements were undefined
  Site last_write;            ///< the latest instruction that wrote this instance of the buffer, if any did

  /// The read as a broken rule (NKI-E303), for the text and the exit code of programs.
  Violation violation() const {
    Violation v;
    v.id = std::string(std::string_view(NKI_E303).substr(0, 8));
    v.sentence = std::string(std::string_view(NKI_E303).substr(10));
    v.got = std::to_string(elements) + " undefined elements of '" + buffer + "' read by " + read.operation + " (" +
            operand + ")";
    v.file = read.file;
    v.line = read.line;
    v.hint = last_write.instr == ir::no_id
                 ? "nothing has written this instance of '" + buffer + "'"
                 : last_write.operation + " at " + last_write.file + ":" + std::to_string(last_write.line) +
                       " wrote part of it last; compare the extents of the two";
    return v;
  }
};

/// An output with elements that nothing wrote.
struct Unwritten {
  std::string buffer;
  std::int64_t elements = 0;
  std::int64_t first = 0;  ///< the first such element, in row-major order
};

/// What a run met, beside the values.
struct Report {
  std::int64_t instructions = 0;        ///< executed; empty ones do not exist
  std::int64_t undefined_reads = 0;     ///< undefined elements read, counted per operand and execution
  std::int64_t unwritten_elements = 0;  ///< of all outputs
  UndefinedRead first_undefined_read;   ///< meaningful where undefined_reads > 0
  std::vector<Unwritten> unwritten;     ///< outputs with unwritten elements

  bool clean() const { return undefined_reads == 0 && unwritten_elements == 0; }
};

namespace detail {

inline Site site_of(const ir::Program& p, ir::InstrId id) {
  if (id == ir::no_id) return {};
  const ir::SourceLoc& at = p.locs[p.instrs[id].loc];
  return {id, ir::info(p.instrs[id].op).name, p.files[at.file], at.line};
}

[[noreturn]] inline void refuse(std::string_view rule, std::string got, std::string allowed, std::string hint,
                                const ir::Program& p, ir::LocId loc, ErrorClass error_class) {
  const ir::SourceLoc& at = p.locs[loc];
  throw Error({.id = std::string(rule.substr(0, 8)),
               .sentence = std::string(rule.substr(10)),
               .got = std::move(got),
               .allowed = std::move(allowed),
               .hint = std::move(hint),
               .file = p.files[at.file],
               .line = at.line,
               .error_class = error_class});
}

/// A rule that only an unchecked program can break while it runs.
[[noreturn]] inline void refuse_instruction(std::string_view rule, std::string got, const ir::Program& p,
                                            const ir::Instr& in) {
  refuse(rule, std::string(ir::info(in.op).name) + " with " + std::move(got), {}, "check the program before running it",
         p, in.loc, ErrorClass::illegal);
}

}  // namespace detail

}  // namespace nki::inline v0_1::exec
