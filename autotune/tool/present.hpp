#pragma once

#include <autotune/tool/commands.hpp>
#include <autotune/tool/winner.hpp>
#include <sim/tool/json.hpp>

#include <nki/tune/report.hpp>
#include <nki/tune/tuner.hpp>

#include <cstdint>
#include <optional>
#include <string>

/// What a search found, for people and for scripts.
namespace nki::tool {

struct Finding {
  const Task* task = nullptr;
  const tune::Tuned* tuned = nullptr;
  std::optional<tune::Comparison> comparison;  ///< where both configurations can run
  std::optional<Verification> verified;
  std::string why_not_verified;
  std::string strategy;
  std::uint64_t seed = 0;
  int threads = 1;
};

/// The fields of `nki-tune run` after those of the task.
void write_json(const Finding& o, Json& out);
std::string write_text(const Finding& o);

/// "matmul --case S01 --hw trn2": the target of a further command.
std::string target_words(const Task& t);

}  // namespace nki::tool
