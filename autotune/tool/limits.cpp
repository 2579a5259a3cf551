#include <autotune/tool/limits.hpp>
#include <sim/tool/common.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace nki::tool {

namespace {

constexpr std::string_view budgets = "Nevals, Ns, Nm, gap=P%";
constexpr std::string_view requirements = "gap=P%, regret=P%";

std::vector<std::string> parts(const std::vector<std::string>& texts) {
  std::vector<std::string> out;
  for (const std::string& text : texts)
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      out.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
  return out;
}

[[noreturn]] void refuse(std::string_view flag, const std::string& part, std::string_view allowed,
                         std::string_view hint) {
  usage("NKI-E603", std::string(flag) + " takes a number with its unit", "'" + part.substr(0, 80) + "'",
        std::string(allowed), "write " + std::string(flag) + " " + std::string(hint));
}

/// The number at the beginning, and what follows it.
bool leading_number(std::string_view text, double& value, std::string_view& rest) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return false;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return true;
}

/// "1%", "0.01".
bool share(std::string_view text, double& value) {
  std::string_view rest;
  if (!leading_number(text, value, rest)) return false;
  if (rest == "%") value /= 100;
  return rest.empty() || rest == "%";
}

}  // namespace

tune::Budget parse_budget(const std::vector<std::string>& texts) {
  constexpr double evals_max = 1e12, seconds_max = 1e9;
  tune::Budget b;
  for (const std::string& part : parts(texts)) {
    double value = 0;
    std::string_view unit;
    bool twice = false;
    if (part.starts_with("gap=")) {
      if (!share(std::string_view(part).substr(4), value)) refuse("--budget", part, budgets, "gap=1%");
      twice = b.gap >= 0;
      b.gap = value;
    } else if (!leading_number(part, value, unit)) {
      refuse("--budget", part, budgets, "200evals");
    } else if (unit == "evals" || unit == "eval") {
      if (value < 1 || value > evals_max || value != std::floor(value)) refuse("--budget", part, budgets, "200evals");
      twice = b.evals > 0;
      b.evals = static_cast<std::int64_t>(value);
    } else if (unit == "s" || unit == "m") {
      if (unit == "m") value *= 60;
      if (!(value > 0) || value > seconds_max) refuse("--budget", part, budgets, "30s");
      twice = b.seconds > 0;
      b.seconds = value;
    } else {
      refuse("--budget", part, budgets, "200evals, 30s, 2m or gap=1%");
    }
    if (twice)
      usage("NKI-E604", "a budget has one limit of each kind", "'" + part + "' as a further one", {},
            "keep one of them");
  }
  return b;
}

Require parse_require(const std::vector<std::string>& texts) {
  Require r;
  for (const std::string& part : parts(texts)) {
    const std::size_t equals = part.find('=');
    double value = 0;
    if (equals == std::string::npos || !share(std::string_view(part).substr(equals + 1), value))
      refuse("--require", part, requirements, "gap=5%");
    const std::string key = part.substr(0, equals);
    if (key == "gap")
      r.gap = value;
    else if (key == "regret")
      r.regret = value;
    else
      unknown_name("requirement", key, {"gap", "regret"}, "--require @=5%");
  }
  return r;
}

}  // namespace nki::tool
