#include <sim/tool/failure.hpp>
#include <sim/tool/inputs.hpp>

#include <nki/dtype.hpp>

#include <cmath>
#include <numbers>

namespace nki::tool {

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014), used as a hash of a counter.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}
/// [0, 1) from the upper 53 bits.
double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

double normal(std::uint64_t bits) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit(bits)));
  return radius * std::cos(2.0 * std::numbers::pi * unit(mix(bits)));
}

double hostile(std::uint64_t bits, std::uint64_t before, const DTypeInfo& type) {
  const auto free = [&](std::uint64_t b) {
    const double sign = (b & 1U) != 0 ? -1.0 : 1.0;
    const int exponent = static_cast<int>((b >> 1) % 21) - 20;
    return sign * std::ldexp(1.0 + unit(mix(b)), exponent);
  };
  switch ((bits >> 40) % 16) {
    case 0:
      return 0.0;
    case 1:
      return -0.0;
    case 2:
      return (bits & 1U) != 0 ? -1.0 : 1.0;
    case 3:
      return std::ldexp(1.0 + unit(mix(bits)), -type.bias - static_cast<int>(bits % 3));  // around the subnormals
    case 4:
    case 5:
      return -free(before);  // close to the negative of what the element before may be
    default:
      return free(bits);
  }
}

}  // namespace

const char* name(Dist d) {
  switch (d) {
    case Dist::normal:
      return "normal";
    case Dist::uniform:
      return "uniform";
    case Dist::hostile:
      return "hostile";
    case Dist::constant:
      return "const";
  }
  return "normal";
}

Dist parse_dist(std::string_view text) {
  for (const Dist d : {Dist::normal, Dist::uniform, Dist::hostile, Dist::constant})
    if (text == name(d)) return d;
  unknown_name("distribution", text, {"normal", "uniform", "hostile", "const"}, "--dist @");
}

void fill_random(exec::HostTensor& t, Dist dist, std::int64_t seed, int argument) {
  const std::uint64_t stream = mix(mix(static_cast<std::uint64_t>(seed)) + static_cast<std::uint64_t>(argument));
  const DTypeInfo& type = info(t.dtype);
  const auto bits_of = [&](std::int64_t i) { return mix(stream + static_cast<std::uint64_t>(i)); };
  exec::fill(t, [&](std::int64_t i) -> double {
    if (dist == Dist::constant) return 1.0;
    const std::uint64_t bits = bits_of(i);
    if (!type.is_float) {
      if (t.dtype == DType::boolean) return static_cast<double>(bits >> 63);
      return static_cast<double>(bits >> 60) - (type.is_signed ? 8.0 : 0.0);
    }
    if (dist == Dist::uniform) return 2.0 * unit(bits) - 1.0;
    if (dist == Dist::hostile) return hostile(bits, i > 0 ? bits_of(i - 1) : bits, type);
    return normal(bits);
  });
}

}  // namespace nki::tool
