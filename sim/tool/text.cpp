#include <sim/tool/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace nki::tool {

namespace {

bool numeric(std::string_view cell) {
  bool digit = false;
  for (char c : cell) {
    if (c >= '0' && c <= '9')
      digit = true;
    else if (c != '.' && c != ',' && c != '-' && c != '+' && c != ' ' && c != '%' && c != 'e')
      return false;
  }
  return digit || cell.empty() || cell == "-";
}

// Cells are ASCII except for names out of files, whose continuation bytes take no column.
std::size_t columns(std::string_view s) {
  return static_cast<std::size_t>(std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

bool decorated() {
  static const bool yes = [] {
    const char* term = std::getenv("TERM");
    return isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr && term != nullptr &&
           std::string_view(term) != "dumb";
  }();
  return yes;
}

}  // namespace

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> width(headers_.size());
  std::vector<bool> right(headers_.size(), !rows_.empty());
  for (std::size_t c = 0; c < headers_.size(); ++c) width[c] = columns(headers_[c]);
  for (const auto& row : rows_)
    for (std::size_t c = 0; c < row.size() && c < width.size(); ++c) {
      width[c] = std::max(width[c], columns(row[c]));
      if (!numeric(row[c])) right[c] = false;
    }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells, bool head) {
    std::string s(indent);
    for (std::size_t c = 0; c < width.size(); ++c) {
      const std::string cell = c < cells.size() ? cells[c] : std::string();
      const std::string gap(width[c] - columns(cell), ' ');
      if (c > 0) s += "  ";
      s += right[c] ? gap + cell : cell + gap;
    }
    while (!s.empty() && s.back() == ' ') s.pop_back();
    out += (head ? bold(s) : s) + "\n";
  };
  if (std::any_of(headers_.begin(), headers_.end(), [](const std::string& h) { return !h.empty(); }))
    line(headers_, true);
  for (const auto& row : rows_) line(row, false);
  return out;
}

std::string fixed(double value, int decimals) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 400> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return buffer.data();
}

std::string microseconds(double us) {
  const double a = std::abs(us);
  return fixed(us, a >= 10000 ? 0 : a >= 1000 ? 1 : a >= 100 ? 2 : 3) + " us";
}

std::string byte_count(double bytes) {
  static constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
  std::size_t u = 0;
  while (std::abs(bytes) >= 1000 && u + 1 < units.size()) {
    bytes /= 1000;
    ++u;
  }
  return fixed(bytes, u == 0 ? 0 : bytes >= 100 ? 0 : 1) + " " + units[u];
}

std::string percent(double share) {
  return fixed(share * 100, 1) + " %";
}

std::string grouped(std::int64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (i > 0 && left % 3 == 0 && digits[i - 1] != '-') out += ',';
    out += digits[i];
  }
  return out;
}

std::string counted(std::int64_t n, std::string_view singular, std::string_view plural) {
  const std::string many = plural.empty() ? std::string(singular) + "s" : std::string(plural);
  return grouped(n) + " " + (n == 1 ? std::string(singular) : many);
}

std::string bold(std::string_view text) {
  return decorated() ? "\033[1m" + std::string(text) + "\033[0m" : std::string(text);
}

std::string wrap(std::string_view text, std::size_t width, std::string_view indent) {
  std::string out, line;
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > width) {
      out += std::string(indent) + line + "\n";
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out + std::string(indent) + line + "\n";
}

void progress(std::string_view line) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal) return;
  std::fputs(("\r\033[K" + std::string(line)).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace nki::tool
