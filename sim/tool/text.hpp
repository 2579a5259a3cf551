#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Text for people: tables, numbers with units, emphasis where the terminal has it.
namespace nki::tool {

/// Columns that line up. A column is aligned to the right if every cell of it is a number.
class Table {
 public:
  explicit Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}
  Table& row(std::vector<std::string> cells) {
    rows_.push_back(std::move(cells));
    return *this;
  }
  bool empty() const { return rows_.empty(); }
  std::string text(std::string_view indent = "") const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
};

/// "1234.6": a fixed number of decimals.
std::string fixed(double value, int decimals);
/// "1234.57 us", with as many decimals as tell (5 significant digits).
std::string microseconds(double us);
/// "67.1 MB": decimal units.
std::string byte_count(double bytes);
/// "83.4 %".
std::string percent(double share);
/// "2,048": digits in groups of three.
std::string grouped(std::int64_t value);
/// "1 violation", "3 violations".
std::string counted(std::int64_t n, std::string_view singular, std::string_view plural = {});

/// Text in bold, where stdout is a terminal and NO_COLOR is not set; else as it is.
std::string bold(std::string_view text);
/// Lines of at most `width` columns, broken at spaces, each after `indent`.
std::string wrap(std::string_view text, std::size_t width = 100, std::string_view indent = "");

/// A line for the person who waits: shown on stderr if that is a terminal, replaced by the next one, "" removes it.
void progress(std::string_view line);

}  // namespace nki::tool
