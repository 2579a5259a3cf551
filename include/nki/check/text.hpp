#pragma once

#include <nki/check/rules.hpp>
#include <nki/error.hpp>
#include <nki/ir/expr.hpp>
#include <nki/ir/ops.hpp>

#include <string>
#include <string_view>

/// How violations are spelled.
namespace nki::inline v0_1::check::detail {

/// The violation of a rule of `rules.hpp`; its place is filled in by whoever knows it.
[[gnu::cold]] inline Violation violation(std::string_view rule_text, std::string got, std::string allowed,
                                         std::string hint, ErrorClass error_class = ErrorClass::illegal) {
  return {.id = std::string(rule_text.substr(0, 8)),
          .sentence = std::string(rule_text.substr(10)),
          .got = static_cast<std::string&&>(got),
          .allowed = static_cast<std::string&&>(allowed),
          .hint = static_cast<std::string&&>(hint),
          .file = {},
          .line = 0,
          .error_class = error_class};
}

/// "128", or "1..128" for a value that is not known better.
[[gnu::cold]] inline std::string spell(ir::Range r) {
  return r.is_point() ? std::to_string(r.lo) : std::to_string(r.lo) + ".." + std::to_string(r.hi);
}
[[gnu::cold]] inline std::string spell(ir::EngineMask mask) {
  std::string out;
  for (int e = 0; e < ir::engine_count; ++e)
    if (ir::has(mask, static_cast<ir::Engine>(e)))
      out += (out.empty() ? "" : ", ") + std::string(ir::name(static_cast<ir::Engine>(e)));
  return out;
}
[[gnu::cold]] inline std::string quoted(const std::string& name) {
  return "'" + name + "'";
}

}  // namespace nki::inline v0_1::check::detail
