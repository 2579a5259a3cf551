#pragma once

#include <nki/exec/tensor.hpp>

#include <cstdint>
#include <string_view>

/// Random inputs for a run.
namespace nki::tool {

enum class Dist : std::uint8_t {
  normal,   ///< standard normal
  uniform,  ///< [-1, 1)
  hostile,  ///< zeros of both signs, tiny and subnormal values, exponents from 2^-20 to 2, neighbours that cancel
  constant  ///< 1
};
Dist parse_dist(std::string_view text);
const char* name(Dist d);

/// Values that depend on the seed, the argument's number and the element's place only. Integers are -8..7 (unsigned:
/// 0..15), bools random bits.
void fill_random(exec::HostTensor& t, Dist dist, std::int64_t seed, int argument);

}  // namespace nki::tool
