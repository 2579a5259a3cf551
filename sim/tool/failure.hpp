#pragma once

#include <sim/tool/json.hpp>

#include <nki/error.hpp>

#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// How the programs say no: one error object for text, JSON and exit code.
namespace nki::tool {

/// Exit codes of the contract that no nki::ErrorClass stands for.
inline constexpr int exit_ok = 0, exit_wrong = 1, exit_usage = 2, exit_illegal = 3, exit_damaged = 4, exit_require = 5,
                     exit_mismatch = 6, exit_incomplete = 7, exit_write = 8, exit_internal = 70, exit_interrupted = 130;

/// Everything that an error object holds. The fields that do not apply stay empty.
struct Fault {
  std::string id;           ///< "NKI-E601"
  std::string error_class;  ///< "usage", "illegal", ..., or what the exit code stands for: "wrong_result", "gate"
  std::string message;      ///< the rule, as a sentence
  std::string got;
  std::string allowed;
  std::string hint;
  std::string file;
  std::uint32_t line = 0;
  int exit_code = exit_usage;

  std::string text() const;  ///< without "error: "
  Json json() const;         ///< the contract's error object, all fields present
};

Fault fault_of(const Violation& v);

/// Ends a command with a fault. Core code throws nki::Error instead; the programs treat both alike.
class Failure : public std::exception {
 public:
  explicit Failure(Fault p) : fault_(std::move(p)), text_(fault_.text()) {}
  const char* what() const noexcept override { return text_.c_str(); }
  const Fault& fault() const noexcept { return fault_; }

 private:
  Fault fault_;
  std::string text_;
};

/// Thrown where work stops because of Ctrl-C, after everything is saved: exit 130.
struct Interrupted : std::exception {
  explicit Interrupted(std::string saved_to = {}) : saved(std::move(saved_to)) {}
  const char* what() const noexcept override { return "interrupted"; }
  std::string saved;  ///< where the work so far lies, if anywhere
};

/// The exception that is being handled, as a fault. Call it in a catch block. Anything that is no Error, Failure,
/// Interrupted or std::bad_alloc becomes an internal error that asks for a report.
Fault current_fault();

/// Mistakes in what the user typed (exit 2).
[[noreturn]] void usage(std::string id, std::string message, std::string got, std::string allowed = {},
                        std::string hint = {});

/// The candidate nearest to `word`, or "" where none is near.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "unknown kernel 'matmull'", with the candidates and the nearest right call. `call` shows how to write a candidate;
/// its '@' is replaced by the name: "nki-sim time @ --hw trn2".
[[noreturn]] void unknown_name(std::string_view what, std::string_view word, const std::vector<std::string>& candidates,
                               std::string_view call);

}  // namespace nki::tool
