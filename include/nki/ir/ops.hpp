#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// The one table of operations. Rules, costs, execution, emission, JSON, the catalog and the Python stand-in's
/// signatures all read it; a row names NKI's operands and parameters in NKI's order.
namespace nki::inline v0_1::ir {

/// The engines under NKI's numbers (nki.isa.engine, NKI 0.6).
enum class Engine : std::uint8_t { unknown = 0, tensor = 1, scalar = 2, gpsimd = 3, dma = 4, vector = 5, sync = 6 };
inline constexpr int engine_count = 7;

constexpr const char* name(Engine e) {
  constexpr const char* names[] = {"unknown", "tensor", "scalar", "gpsimd", "dma", "vector", "sync"};
  return names[static_cast<int>(e)];
}

using EngineMask = std::uint8_t;
constexpr EngineMask on(auto... e) {
  return static_cast<EngineMask>((0u | ... | (1u << static_cast<unsigned>(e))));
}
constexpr bool has(EngineMask m, Engine e) {
  return ((m >> static_cast<unsigned>(e)) & 1u) != 0;
}

enum class Opcode : std::uint8_t { dma_copy, nc_matmul, nc_transpose, tensor_copy, memset };
inline constexpr int opcode_count = 5;

enum class Access : std::uint8_t { read, write, accumulate };
enum class AttrKind : std::uint8_t { boolean, integer, number, accumulate, dge_mode };

/// How nc_matmul meets what its destination holds (NKI: accumulate=False, True, None).
enum class Accumulate : std::int64_t {
  overwrite = 0,
  add = 1,
  auto_ = 2  ///< the first write of an instance overwrites, element by element; later ones add
};
constexpr const char* name(Accumulate a) {
  return a == Accumulate::overwrite ? "overwrite" : a == Accumulate::add ? "add" : "auto";
}

/// Who makes the descriptors of a DMA (nki.isa.dge_mode).
enum class DgeMode : std::int64_t { unknown = 0, swdge = 1, hwdge = 2, none = 3 };
constexpr const char* name(DgeMode m) {
  constexpr const char* names[] = {"unknown", "swdge", "hwdge", "none"};
  return names[static_cast<int>(m)];
}

struct OperandInfo {
  const char* name = "";
  Access access = Access::read;
};
struct AttrInfo {
  const char* name = "";
  AttrKind kind = AttrKind::integer;
};

struct OpInfo {
  Opcode op;
  const char* name;    ///< NKI's name in nki.isa
  EngineMask engines;  ///< where it may run on the most able generation
  int min_generation;  ///< first NeuronCore version that has it
  std::uint8_t n_operands;
  std::array<OperandInfo, 4> operands;
  std::uint8_t n_attrs;
  std::array<AttrInfo, 4> attrs;
  const char* summary;
  const char* source;
};

inline constexpr std::array<OpInfo, opcode_count> op_table{{
    {Opcode::dma_copy,
     "dma_copy",
     on(Engine::sync, Engine::scalar, Engine::gpsimd),
     2,
     2,
     {{{"dst", Access::write}, {"src", Access::read}}},
     1,
     {{{"dge_mode", AttrKind::dge_mode}}},
     "Copy between HBM and SBUF, or inside one of them.",
     "nki.isa.dma_copy, NKI 0.6.0"},
    {Opcode::nc_matmul,
     "nc_matmul",
     on(Engine::tensor),
     2,
     3,
     {{{"dst", Access::accumulate}, {"stationary", Access::read}, {"moving", Access::read}}},
     1,
     {{{"accumulate", AttrKind::accumulate}}},
     "dst[m, n] (+)= sum over k of stationary[k, m] * moving[k, n].",
     "nki.isa.nc_matmul, NKI 0.6.0"},
    {Opcode::nc_transpose,
     "nc_transpose",
     on(Engine::tensor, Engine::vector),
     2,
     2,
     {{{"dst", Access::write}, {"data", Access::read}}},
     0,
     {},
     "dst[f, p] = data[p, f].",
     "nki.isa.nc_transpose, NKI 0.6.0"},
    {Opcode::tensor_copy,
     "tensor_copy",
     on(Engine::vector, Engine::scalar, Engine::gpsimd),
     2,
     2,
     {{{"dst", Access::write}, {"src", Access::read}}},
     0,
     {},
     "Copy on chip, converting to the dtype of dst.",
     "nki.isa.tensor_copy, NKI 0.6.0"},
    {Opcode::memset,
     "memset",
     on(Engine::vector, Engine::gpsimd),
     2,
     1,
     {{{"dst", Access::write}}},
     1,
     {{{"value", AttrKind::number}}},
     "Fill with one value.",
     "nki.isa.memset, NKI 0.6.0"},
}};

constexpr const OpInfo& info(Opcode op) {
  return op_table[static_cast<std::size_t>(op)];
}

constexpr const OpInfo* find_op(std::string_view name) {
  for (const OpInfo& i : op_table)
    if (name == i.name) return &i;
  return nullptr;
}

constexpr bool op_table_is_in_order() {
  for (std::size_t i = 0; i < op_table.size(); ++i)
    if (static_cast<std::size_t>(op_table[i].op) != i) return false;
  return true;
}
static_assert(op_table_is_in_order(), "NKI: a row of op_table stands in another place than its opcode");

}  // namespace nki::inline v0_1::ir
