#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// Every rule once: its id, its sentence, its reason and its source. The compile-time form is a static_assert on the
/// same sentence, which is why the sentences are macros.
// clang-format off
#define NKI_E050 "NKI-E050: the parts of a program name each other by numbers that exist"
#define NKI_E051 "NKI-E051: an expression comes after its operands, and a loop's index after the loop's bounds"
#define NKI_E052 "NKI-E052: the nodes of a program nest, and each loop and instruction has one place among them"
#define NKI_E053 "NKI-E053: an expression uses only the indices of the loops around it"
#define NKI_E054 "NKI-E054: every field of a program holds one of its values"
#define NKI_E055 "NKI-E055: sizes and indices of a program stay below 2^62"
#define NKI_E056 "NKI-E056: a tile starts an instance before it is used; an argument has one already"
#define NKI_E057 "NKI-E057: an instruction has the operands and attributes of its operation"
#define NKI_E101 "NKI-E101: the partition extent (the first one) of an on-chip operand must be 1..128"
#define NKI_E102 "NKI-E102: an engine starts at partition 0, 32, 64 or 96, and where the count fits: 33..64 at 0 or 64, more at 0"
#define NKI_E103 "NKI-E103: a PSUM tile must fit one bank of 2 KiB per partition"
#define NKI_E104 "NKI-E104: the PSUM tiles alive at once must fit the 8 banks"
#define NKI_E105 "NKI-E105: an engine walks the partitions of an operand one by one"
#define NKI_E110 "NKI-E110: the SBUF tiles alive at once must fit the bytes of a partition"
#define NKI_E120 "NKI-E120: a DMA reaches HBM and SBUF, never PSUM"
#define NKI_E121 "NKI-E121: both sides of a DMA must have the same number of elements"
#define NKI_E122 "NKI-E122: the sync and scalar queues make descriptors in hardware, which needs NC-v3 or later and equal dtypes"
#define NKI_E123 "NKI-E123: a DMA is triggered from the sync, scalar or gpsimd queue"
#define NKI_E201 "NKI-E201: the destination of nc_matmul must be in PSUM"
#define NKI_E202 "NKI-E202: the stationary and moving operands of nc_matmul must be in SBUF"
#define NKI_E203 "NKI-E203: nc_matmul writes f32 (from NC-v4 also bf16)"
#define NKI_E204 "NKI-E204: stationary and moving must have the same partition extent (the contraction)"
#define NKI_E205 "NKI-E205: the stationary free extent must be 1..128"
#define NKI_E206 "NKI-E206: the moving free extent must be 1..512"
#define NKI_E207 "NKI-E207: the destination of nc_matmul must be [stationary free, moving free]"
#define NKI_E210 "NKI-E210: nc_matmul takes floating-point operands; f32 and tf32 go with f32 and tf32, f8e4m3 never with f8e4m3fn"
#define NKI_E211 "NKI-E211: nc_matmul adds only to what an earlier nc_matmul wrote"
#define NKI_E220 "NKI-E220: this engine cannot run this instruction on these operands"
#define NKI_E221 "NKI-E221: a transpose keeps its dtype"
#define NKI_E222 "NKI-E222: nc_transpose takes up to 128 x 128 on the tensor engine (SBUF to PSUM) and 32 x 32 on the vector engine"
#define NKI_E223 "NKI-E223: the destination of nc_transpose must be [data free, data partitions]"
#define NKI_E224 "NKI-E224: source and destination must have the same partitions and the same elements per partition"
#define NKI_E225 "NKI-E225: the value of memset must be a value of the tile's dtype"
#define NKI_E226 "NKI-E226: this dtype is not one this instruction takes"
#define NKI_E230 "NKI-E230: a tensor has 1 to 5 dimensions, and an index or slice is given for each"
#define NKI_E231 "NKI-E231: a slice must lie inside the tensor"
#define NKI_E232 "NKI-E232: an extent must be 1 or more"
#define NKI_E233 "NKI-E233: an access pattern counts to 65535 and steps within 16 bits, in elements"
#define NKI_E301 "NKI-E301: a recorded loop has no value to branch on; use a loop bound, min/max, or nl::static_range"
#define NKI_E302 "NKI-E302: a recorded loop must run to its end; break, return and goto leave it half recorded"
#define NKI_E303 "NKI-E303: a tile must be written before it is read"
#define NKI_E304 "NKI-E304: recording stops at the first exception; a builder that saw one records nothing more"
#define NKI_E305 "NKI-E305: floordiv and mod of an index take a positive number"
#define NKI_E306 "NKI-E306: an index or a tile belongs to the program that made it"
#define NKI_E307 "NKI-E307: an index expression holds at most 24 different terms"
#define NKI_E311 "NKI-E311: a tile is used only inside the loop body that allocated it"
#define NKI_E312 "NKI-E312: a kernel's input is only read, its output only written by DMA"
#define NKI_W501 "NKI-W501: a DMA is fast where its runs of contiguous bytes are 512 or longer"
#define NKI_W502 "NKI-W502: PSUM is read once; copy it to SBUF for the other readers"
#define NKI_W503 "NKI-W503: a load whose source is the same in each iteration belongs before the loop"
#define NKI_W504 "NKI-W504: a kernel writes each of its outputs"
// clang-format on

namespace nki::inline v0_1::check {

struct Rule {
  std::string_view id;        ///< "NKI-E101"
  std::string_view sentence;  ///< the rule
  std::string_view reason;    ///< why the machine, or the library, has it
  std::string_view source;    ///< where it is published
};

namespace detail {
constexpr Rule rule(std::string_view text, std::string_view reason, std::string_view source) {
  return {text.substr(0, 8), text.substr(10), reason, source};
}
}  // namespace detail

inline constexpr std::string_view machine_source = "Neuron SDK 2.32, NKI 0.6.0";

// clang-format off
inline constexpr std::array rules{
    detail::rule(NKI_E050, "Whoever reads a program follows these numbers.", "docs/ir.md"),
    detail::rule(NKI_E051, "One pass in the order of their ids gives every expression its value.", "docs/ir.md"),
    detail::rule(NKI_E052, "The nodes are the program in pre-order.", "docs/ir.md"),
    detail::rule(NKI_E053, "Elsewhere an index has no value.", "docs/ir.md"),
    detail::rule(NKI_E054, "A value that no enumeration or range holds has no meaning.", "docs/ir.md"),
    detail::rule(NKI_E055, "Index arithmetic is 64 bits wide and must not wrap.", "docs/ir.md"),
    detail::rule(NKI_E056, "A view means the instance started last.", "docs/ir.md"),
    detail::rule(NKI_E057, "The table of operations says what each instruction has.", "docs/ir.md"),
    detail::rule(NKI_E101, "SBUF and PSUM have 128 partitions.", "trainium2_arch.rst"),
    detail::rule(NKI_E102, "Engines reach partitions in quadrants of 32.", "trainium_inferentia2_arch.rst"),
    detail::rule(NKI_E103, "A matmul writes within one bank.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E104, "A partition has 16 KiB of PSUM in 8 banks.", "trainium2_arch.rst"),
    detail::rule(NKI_E105, "The partitions of an operand are a first one and a count.", "nki-aps.rst"),
    detail::rule(NKI_E110, "SBUF is 192, 224 or 256 KiB per partition, less what the compiler keeps.", "trainium2_arch.rst"),
    detail::rule(NKI_E120, "PSUM operands of dma_copy were removed in NKI 0.3.0.", "nki.isa.dma_copy"),
    detail::rule(NKI_E121, "Elements are copied in order, one to one.", "nki.isa.dma_copy"),
    detail::rule(NKI_E122, "Hardware descriptor generation exists from NC-v3 and does not cast.", "nki-dge.rst"),
    detail::rule(NKI_E123, "Only these engines can trigger descriptors.", "nki-dge.rst"),
    detail::rule(NKI_E201, "TensorE writes PSUM only.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E202, "TensorE reads SBUF only.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E203, "PSUM accumulates in f32.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E204, "The contraction runs over the partitions of both.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E205, "The array has 128 columns.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E206, "One bank holds 512 f32 values per partition (NC-v4: up to 8 banks).", "nki.isa.nc_matmul"),
    detail::rule(NKI_E207, "One row per stationary column, one column per moving column.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E210, "Other pairs have no data path.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E211, "Adding to never-written PSUM, or to what another instruction wrote, is undefined before NC-v4.", "nki.isa.nc_matmul"),
    detail::rule(NKI_E220, "Each engine has its own instructions and memories; GpSimdE never reaches PSUM.", "trainium2_arch.rst"),
    detail::rule(NKI_E221, "A transpose moves bits.", "nki.isa.nc_transpose"),
    detail::rule(NKI_E222, "The array is 128 x 128; the vector engine transposes 32 x 32 blocks.", "nki.isa.nc_transpose"),
    detail::rule(NKI_E223, "Rows become columns.", "nki.isa.nc_transpose"),
    detail::rule(NKI_E224, "Engines walk both operands in step.", "nki.isa.tensor_copy"),
    detail::rule(NKI_E225, "memset is strict about types since NKI 0.3.", "nki.isa.memset"),
    detail::rule(NKI_E226, "The instruction has no conversion for it.", "nki.isa"),
    detail::rule(NKI_E230, "Views have at most five dimensions.", "nki-aps.rst"),
    detail::rule(NKI_E231, "Memory beyond a tensor belongs to somebody else.", "nki-aps.rst"),
    detail::rule(NKI_E232, "Storage of no size cannot be addressed.", "nki.language.ndarray"),
    detail::rule(NKI_E233, "Counts are 16-bit unsigned, steps 16-bit signed.", "nki-aps.rst"),
    detail::rule(NKI_E301, "A recorded loop's body runs once while recording, for all iterations.", "docs/ir.md"),
    detail::rule(NKI_E302, "A recorded loop's body is read once and stands for all iterations.", "docs/ir.md"),
    detail::rule(NKI_E303, "The device would return leftovers.", "docs/ir.md"),
    detail::rule(NKI_E304, "A half-recorded program must not look like a whole one.", "docs/ir.md"),
    detail::rule(NKI_E305, "Division by zero or below has no one meaning.", "docs/ir.md"),
    detail::rule(NKI_E306, "Ids of one program mean nothing in another.", "docs/ir.md"),
    detail::rule(NKI_E307, "Sums are kept in one canonical form of bounded size.", "docs/ir.md"),
    detail::rule(NKI_E311, "The slot may already hold another instance.", "docs/ir.md"),
    detail::rule(NKI_E312, "Arguments belong to the caller.", "docs/ir.md"),
    detail::rule(NKI_W501, "Each run is a descriptor of its own, and a short one takes as long as a longer one.", "nki-dma-bandwidth-guide.rst"),
    detail::rule(NKI_W502, "PSUM has few banks, and each reader keeps one busy.", "nki_perf_guide.rst"),
    detail::rule(NKI_W503, "The same bytes travel again.", "docs/ir.md"),
    detail::rule(NKI_W504, "The caller would read leftovers.", "docs/ir.md"),
};
// clang-format on

/// The row of a rule, by its id ("NKI-E101").
constexpr const Rule* find_rule(std::string_view id) {
  for (const Rule& r : rules)
    if (r.id == id) return &r;
  return nullptr;
}

}  // namespace nki::inline v0_1::check
