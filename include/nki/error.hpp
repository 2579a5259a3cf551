#pragma once

#include <nki/loc.hpp>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace nki::inline v0_1 {

/// What a mistake is about; programs turn it into the exit code that the contract names.
enum class ErrorClass : std::uint8_t {
  usage,         ///< unknown name, missing or bad value (exit 2)
  illegal,       ///< the program breaks a rule of the machine (exit 3)
  damaged_file,  ///< a damaged, newer or foreign file (exit 4)
  cannot_write,  ///< an output cannot be written (exit 8)
  deadlock,      ///< waits that nothing satisfies, or a hazard (exit 9)
  internal       ///< our own broken invariant (exit 70)
};

constexpr const char* name(ErrorClass c) {
  switch (c) {
    case ErrorClass::usage:
      return "usage";
    case ErrorClass::illegal:
      return "illegal";
    case ErrorClass::damaged_file:
      return "damaged_file";
    case ErrorClass::cannot_write:
      return "cannot_write";
    case ErrorClass::deadlock:
      return "deadlock";
    case ErrorClass::internal:
      return "internal";
  }
  return "internal";
}

/// The exit code of the programs' contract for a class of error.
constexpr int exit_code(ErrorClass c) {
  switch (c) {
    case ErrorClass::usage:
      return 2;
    case ErrorClass::illegal:
      return 3;
    case ErrorClass::damaged_file:
      return 4;
    case ErrorClass::cannot_write:
      return 8;
    case ErrorClass::deadlock:
      return 9;
    case ErrorClass::internal:
      return 70;
  }
  return 70;
}

/// One broken rule: its id and sentence, the value met and the value allowed, the kernel's line, and the way out.
struct Violation {
  std::string id;        ///< "NKI-E101"
  std::string sentence;  ///< the rule, as a sentence
  std::string got;       ///< the value met, with its object
  std::string allowed;   ///< the values allowed
  std::string hint;      ///< what to write instead
  std::string file;      ///< empty where no line is known
  std::uint32_t line = 0;
  ErrorClass error_class = ErrorClass::illegal;

  /// "NKI-E101: rule; got value" and, on lines of their own, the place and the hint.
  std::string text() const {
    std::string out = id + ": " + sentence;
    if (!got.empty()) out += "; got " + got;
    if (!allowed.empty()) out += " (allowed: " + allowed + ")";
    if (!file.empty()) out += "\n  at " + file + ":" + std::to_string(line);
    if (!hint.empty()) out += "\n  hint: " + hint;
    return out;
  }
};

/// A user's mistake, thrown at the earliest moment at which its numbers are known.
class Error : public std::exception {
 public:
  explicit Error(Violation v) : violation_(std::move(v)), text_(violation_.text()) {}

  const char* what() const noexcept override { return text_.c_str(); }
  const Violation& violation() const noexcept { return violation_; }
  const std::string& id() const noexcept { return violation_.id; }

 private:
  Violation violation_;
  std::string text_;
};

namespace detail {

[[noreturn]] inline void internal_error(const char* what, const char* file, int line) {
  throw Error({.id = "NKI-E999",
               .sentence = std::string("nki internal error: ") + what,
               .got = {},
               .allowed = {},
               .hint = "please report this with the program that caused it",
               .file = file,
               .line = static_cast<std::uint32_t>(line),
               .error_class = ErrorClass::internal});
}

}  // namespace detail

}  // namespace nki::inline v0_1

/// Guards our own invariants; a failure is our defect, never the user's.
#define NKI_ASSERT(condition, what)                                            \
  do {                                                                         \
    if (!(condition)) ::nki::detail::internal_error(what, __FILE__, __LINE__); \
  } while (false)
