#pragma once

#include <nki/arch.hpp>
#include <nki/ir/program.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// Addresses of tiles. Every pool has its slots for itself throughout the program: tiles whose lives do not overlap
/// share nothing, so that an address never causes a wait that the kernel did not ask for. A kernel that wants to reuse
/// storage rotates one pool, or declares the tile once around its uses.
namespace nki::inline v0_1 {

/// SBUF slots start at multiples of this many bytes of a partition, as those of the public kernel library do.
inline constexpr std::int64_t sbuf_alignment_bytes = 64;

struct Allocation {
  /// For each buffer, the byte in each partition at which slot 0 starts, in SBUF or in PSUM; -1 in HBM.
  std::vector<std::int64_t> address;
  /// For each buffer, bytes of a partition from one slot to the next; 0 in HBM.
  std::vector<std::int64_t> stride;
  std::int64_t sbuf_bytes_pp = 0;
  std::int64_t psum_banks = 0;

  std::int64_t slot_address(ir::BufferId b, std::int64_t slot) const { return address[b] + slot * stride[b]; }
};

/// What a program takes of each memory, and what the core has.
struct Capacity {
  std::int64_t sbuf_bytes_pp = 0, sbuf_limit_bytes_pp = 0;
  std::int64_t psum_banks = 0, psum_limit_banks = 0;

  bool fits() const { return sbuf_bytes_pp <= sbuf_limit_bytes_pp && psum_banks <= psum_limit_banks; }
};

/// The nodes between which a tile holds something: from its first `alloc` to its last use, or to the end of a loop that
/// uses it without allocating it, since its next iteration may use it again.
struct LiveRange {
  ir::BufferId buffer = 0;
  std::uint32_t first_node = 0, last_node = 0;
  ir::LocId first_loc = 0, last_loc = 0;  ///< of the declaration, and of the last use
  std::uint32_t first_line = 0, last_line = 0;
};

/// The program's tiles one after the other, in the order of their declaration. Throws nothing: what does not fit gets
/// addresses beyond the end, and `check::verify` reports it.
inline Allocation allocate(const ir::Program& p, const Arch& arch) {
  using ir::detail::add_far;
  using ir::detail::mul_far;
  const auto aligned = [](std::int64_t bytes, std::int64_t grain) { return mul_far(ir::ceildiv(bytes, grain), grain); };
  const auto bank_bytes = static_cast<std::int64_t>(arch.psum_bank_bytes_pp.value);
  Allocation out;
  out.address.resize(p.buffers.size(), -1);
  out.stride.resize(p.buffers.size(), 0);
  std::int64_t psum_bytes_pp = 0;
  for (std::size_t i = 0; i < p.buffers.size(); ++i) {
    const ir::Buffer& b = p.buffers[i];
    if (b.space == ir::Space::hbm) continue;
    const bool in_psum = b.space == ir::Space::psum;
    const std::int64_t grain = in_psum ? bank_bytes : sbuf_alignment_bytes;
    std::int64_t& used = in_psum ? psum_bytes_pp : out.sbuf_bytes_pp;
    out.address[i] = aligned(used, grain);
    out.stride[i] = aligned(b.bytes_pp(), grain);
    used = add_far(out.address[i], add_far(mul_far(out.stride[i], b.slots - 1), b.bytes_pp()));
  }
  out.psum_banks = ir::ceildiv(psum_bytes_pp, bank_bytes);
  return out;
}

inline Capacity capacity(const Allocation& a, const Arch& arch) {
  return {.sbuf_bytes_pp = a.sbuf_bytes_pp,
          .sbuf_limit_bytes_pp = static_cast<std::int64_t>(arch.sbuf_usable_bytes_pp.value),
          .psum_banks = a.psum_banks,
          .psum_limit_banks = static_cast<std::int64_t>(arch.psum_banks.value)};
}

/// Where each tile lives, in the order of the tiles' first `alloc` nodes. The program's structure must be sound
/// (`check::verify` says so).
inline std::vector<LiveRange> live_ranges(const ir::Program& p) {
  struct Pool {
    std::uint32_t range = ir::no_id;
    std::uint32_t depth = 0;  // loops around its outermost alloc
  };
  std::vector<LiveRange> out;
  out.reserve(p.buffers.size());
  std::vector<Pool> pools(p.buffers.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t n = 0; n < p.nodes.size(); ++n) {
    while (!open.empty() && p.nodes[open.back()].end <= n) open.pop_back();
    const ir::Node& node = p.nodes[n];
    if (node.kind == ir::Node::Kind::loop) {
      open.push_back(n);
    } else if (node.kind == ir::Node::Kind::alloc) {
      Pool& pool = pools[node.id];
      const auto depth = static_cast<std::uint32_t>(open.size());
      if (pool.range == ir::no_id) {
        const ir::LocId loc = p.buffers[node.id].loc;
        pool = {static_cast<std::uint32_t>(out.size()), depth};
        out.push_back({node.id, n, n, loc, loc, p.locs[loc].line, p.locs[loc].line});
      } else if (depth < pool.depth) {
        pool.depth = depth;
      }
    } else {
      const ir::Instr& in = p.instrs[node.id];
      for (int o = 0; o < in.n_operands; ++o) {
        const ir::ViewId v = p.operand(in, o);
        if (v == ir::no_id) continue;
        const Pool& pool = pools[p.views[v].buffer];
        if (pool.range == ir::no_id) continue;
        LiveRange& r = out[pool.range];
        const std::uint32_t last = pool.depth < open.size() ? p.nodes[open[pool.depth]].end - 1 : n;
        if (last > r.last_node) r.last_node = last;
        r.last_loc = in.loc;
        r.last_line = p.locs[in.loc].line;
      }
    }
  }
  return out;
}

}  // namespace nki::inline v0_1
