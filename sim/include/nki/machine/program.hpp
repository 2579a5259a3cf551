#pragma once

#include <nki/ir/ops.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// The second level: what the five in-order instruction streams of a core execute. `lower` makes it from an
/// `ir::Program`, `trace_import` from a recording of a device; `sim` runs nothing else.
namespace nki::inline v0_1::machine {

inline constexpr std::uint32_t no_id = ~std::uint32_t{0};

/// The in-order instruction streams. `sync`, `scalar` and `gpsimd` also trigger DMAs, each through its own queue.
enum class Stream : std::uint8_t { tensor, vector, scalar, gpsimd, sync };
inline constexpr int stream_count = 5;
inline constexpr std::array<const char*, stream_count> stream_names{"tensor", "vector", "scalar", "gpsimd", "sync"};

/// Queues of the DMA engines, in the order in which an engine takes turns.
enum class Queue : std::uint8_t { sync, scalar, gpsimd };
inline constexpr int queue_count = 3;

constexpr Stream stream_of(ir::Engine e) {
  switch (e) {
    case ir::Engine::tensor:
      return Stream::tensor;
    case ir::Engine::vector:
      return Stream::vector;
    case ir::Engine::scalar:
      return Stream::scalar;
    case ir::Engine::gpsimd:
      return Stream::gpsimd;
    default:
      return Stream::sync;
  }
}
constexpr Queue queue_of(Stream s) {
  return s == Stream::sync ? Queue::sync : s == Stream::scalar ? Queue::scalar : Queue::gpsimd;
}

enum class Kind : std::uint8_t {
  matmul,   ///< LDWEIGHTS, then MATMUL: one record with two phases
  compute,  ///< an instruction of a data path
  table,    ///< a load of an activation table; occupies the data path whole
  dma,      ///< triggers a transfer
  event,    ///< EVENT_SEMAPHORE: only waits
  nop       ///< waits, then ends
};

enum class Direction : std::uint8_t { hbm_to_sbuf, sbuf_to_hbm, sbuf_to_sbuf, hbm_to_hbm };
constexpr bool reads_hbm(Direction d) {
  return d == Direction::hbm_to_sbuf || d == Direction::hbm_to_hbm;
}

/// What an instruction costs, interned: all instances of one shape share a row. Times are ticks of the simulator.
struct Work {
  Kind kind = Kind::compute;
  std::uint8_t op = 0;  ///< ir::Opcode, or the importer's table
  // compute, table
  std::int64_t duration = 0;  ///< start to end on an idle data path
  std::int64_t overlap = 0;   ///< how long before its end the next one may start
  // matmul
  std::int64_t stream_work = 0;   ///< array cycles, in ticks of the cold clock
  std::int64_t exposed_cold = 0;  ///< from LDWEIGHTS to streaming where nothing hides the load
  std::int64_t exposed_warm = 0;
  std::int64_t gap_warm = 0;  ///< after streaming at the warm clock
  // dma
  Direction direction = Direction::hbm_to_sbuf;
  bool software = false;          ///< descriptors made by GpSimd
  std::int32_t partitions = 0;    ///< of the SBUF side, 8 to an engine; 0: HBM only, spread over all engines
  std::int64_t bytes_pp = 0;      ///< bytes per partition (per engine where partitions == 0)
  std::int64_t packets_pp = 0;    ///< packets per partition (per engine where partitions == 0) ...
  std::int64_t merge_bytes = 0;   ///< ... or, where not 0, one packet for so many bytes of an engine's share
  std::int64_t packet_ticks = 0;  ///< start to start of its packets
  std::int64_t stall_pp = 0;      ///< pause after the first packet, for each partition of the share ...
  std::int64_t stall_max = 0;     ///< ... up to this
  std::int64_t latency = 0;       ///< trigger start to first packet of engine 0
  std::int64_t visible = 0;       ///< last packet to semaphore
  std::int64_t read_bytes = 0, write_bytes = 0;  ///< of HBM
  friend bool operator==(const Work&, const Work&) = default;
};

/// Why an instruction waits.
enum class Cause : std::uint8_t {
  operand,  ///< an engine has yet to write what is read
  load,     ///< a DMA has yet to write what is read
  slot,     ///< what is overwritten is still being read, or written
  store,    ///< what is overwritten is still being stored by a DMA
  imported  ///< a wait of an imported trace
};
inline constexpr int cause_count = 5;

/// One instruction of a stream: at most one wait before it, at most one semaphore stepped when it is complete.
struct Instr {
  std::uint32_t work = 0;
  std::uint32_t site = no_id;  ///< the recorded instruction (or trace record) behind it
  std::uint32_t wait_semaphore = no_id;
  std::uint32_t wait_value = 0;  ///< steps that must have happened; a DMA is one step here (16 on the device)
  std::uint32_t signal = no_id;
  Cause cause = Cause::operand;
  std::uint64_t form = 0;  ///< equal for the same instruction of different loop passes (lowering only)
};

/// Streams written out, as an importer or `lower` leaves them.
struct Program {
  std::string name;
  std::int64_t ticks_per_ns = 120;
  std::vector<Work> works;
  std::array<std::vector<Instr>, stream_count> streams;
  std::uint32_t semaphores = 0;
};

}  // namespace nki::inline v0_1::machine
