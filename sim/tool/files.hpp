#pragma once

#include <string>
#include <string_view>

/// Files and signals.
namespace nki::tool {

/// Put a file in place whole, or leave what was there: written beside its place, flushed to disk, renamed. "-" is
/// stdout. Throws nki::Error (cannot_write, exit 8).
void write_file(const std::string& path, std::string_view bytes);

/// The whole of a file. Throws a usage failure if it is not there or cannot be read; `what` says what it should be
/// ("a recorded program"). Files beyond `max_bytes` are refused as damaged.
std::string read_file(const std::string& path, const std::string& what, std::size_t max_bytes = std::size_t{1} << 31);

/// Write to stdout or throw nki::Error (cannot_write).
void write_stdout(std::string_view bytes);

/// What Ctrl-C and SIGTERM do.
enum class OnSignal {
  leave,    ///< remove a half-written file, say so (in JSON too) and end with exit 130 at once
  remember  ///< only set `interrupted()`; a second signal acts as `leave`
};
/// `schema` is the schema of the JSON object that an interrupted command owes stdout, or "" for text.
void handle_signals(OnSignal what, const std::string& schema);
bool interrupted() noexcept;

}  // namespace nki::tool
