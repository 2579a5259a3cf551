#pragma once

#include <cstdint>
#include <source_location>

namespace nki::inline v0_1 {

/// A line of kernel source. Every public call takes one as its defaulted last parameter.
struct Loc {
  const char* file = "";
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  constexpr Loc() = default;
  constexpr Loc(const char* file_name, std::uint32_t line_number, std::uint32_t column_number = 0)
      : file(file_name), line(line_number), column(column_number) {}
  constexpr Loc(const std::source_location& at)  // NOLINT: implicit on purpose, so that defaults read naturally
      : file(at.file_name()), line(at.line()), column(at.column()) {}
  /// The caller's line when used as a default argument.
  static constexpr Loc here(const std::source_location& at = std::source_location::current()) { return Loc(at); }
};

}  // namespace nki::inline v0_1
