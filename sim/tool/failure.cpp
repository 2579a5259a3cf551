#include <sim/tool/failure.hpp>

#include <algorithm>
#include <cstddef>
#include <new>
#include <numeric>

namespace nki::tool {

std::string Fault::text() const {
  Violation v{.id = id,
              .sentence = message,
              .got = got,
              .allowed = allowed,
              .hint = hint,
              .file = file,
              .line = line,
              .error_class = ErrorClass::usage};
  return v.text();
}

Json Fault::json() const {
  return Json::object({{"id", id},
                       {"class", error_class},
                       {"message", message},
                       {"got", got},
                       {"allowed", allowed},
                       {"file", file},
                       {"line", line},
                       {"hint", hint}});
}

Fault fault_of(const Violation& v) {
  return {.id = v.id,
          .error_class = name(v.error_class),
          .message = v.sentence,
          .got = v.got,
          .allowed = v.allowed,
          .hint = v.hint,
          .file = v.file,
          .line = v.line,
          .exit_code = exit_code(v.error_class)};
}

Fault current_fault() {
  Fault p;
  try {
    throw;
  } catch (const Failure& f) {
    p = f.fault();
  } catch (const Error& e) {
    p = fault_of(e.violation());
  } catch (const Interrupted& i) {
    p = {.id = "NKI-E690",
         .error_class = "interrupted",
         .message = "interrupted by a signal",
         .got = {},
         .allowed = {},
         .hint = i.saved.empty() ? std::string() : "the work so far is saved in " + i.saved,
         .file = {},
         .exit_code = exit_interrupted};
  } catch (const std::bad_alloc&) {
    p = {.id = "NKI-E691",
         .error_class = "usage",
         .message = "the problem must fit the memory of this machine",
         .got = "an allocation that failed",
         .allowed = {},
         .hint = "take smaller sizes; a run holds all tensors, and a timeline one record for each instruction",
         .file = {},
         .exit_code = exit_usage};
  } catch (const std::exception& e) {
    p = {.id = "NKI-E999",
         .error_class = "internal",
         .message = std::string("nki internal error: ") + e.what(),
         .got = {},
         .allowed = {},
         .hint = "please report this with the command that caused it",
         .file = {},
         .exit_code = exit_internal};
  } catch (...) {
    p = {.id = "NKI-E999",
         .error_class = "internal",
         .message = "nki internal error: an exception of unknown type",
         .got = {},
         .allowed = {},
         .hint = "please report this with the command that caused it",
         .file = {},
         .exit_code = exit_internal};
  }
  return p;
}

void usage(std::string id, std::string message, std::string got, std::string allowed, std::string hint) {
  throw Failure({.id = std::move(id),
                 .error_class = "usage",
                 .message = std::move(message),
                 .got = std::move(got),
                 .allowed = std::move(allowed),
                 .hint = std::move(hint),
                 .file = {},
                 .exit_code = exit_usage});
}

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Insertions, deletions, changes and swaps of neighbours, letters of any case alike.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  // A typed word of any length costs no more than a name would.
  constexpr std::size_t longest = 64;
  if (word.empty() || word.size() > longest) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(word.size() < 3 ? 1 : 2, word.size() / 3) + 1;
  for (const std::string& c : candidates) {
    std::size_t d = edit_distance(word, c);
    if (d >= std::max(word.size(), c.size())) continue;  // nothing in common
    // A beginning or an ending of a name is near whatever its length: "flash" for "flash_attention_fwd".
    if (word.size() >= 3 && c.size() > word.size() && (c.starts_with(word) || c.ends_with(word))) d = 1;
    if (d < best_distance) {
      best_distance = d;
      best = c;
    }
  }
  return best;
}

void unknown_name(std::string_view what, std::string_view word, const std::vector<std::string>& candidates,
                  std::string_view call) {
  constexpr std::size_t shown = 24;
  std::string allowed;
  for (std::size_t i = 0; i < candidates.size() && i < shown; ++i) allowed += (i == 0 ? "" : ", ") + candidates[i];
  if (candidates.size() > shown) allowed += ", ...";
  const std::string near = nearest(word, candidates);
  std::string hint, written(call);
  if (!near.empty()) hint = "did you mean '" + near + "'? ";
  if (!written.empty()) {
    const std::string& example = near.empty() && !candidates.empty() ? candidates.front() : near;
    if (const auto at = written.find('@'); at != std::string::npos) written.replace(at, 1, example);
    hint += (near.empty() ? "write for example: " : "write: ") + written;
  }
  usage("NKI-E601", "unknown " + std::string(what), "'" + std::string(word.substr(0, 200)) + "'", allowed, hint);
}

}  // namespace nki::tool
