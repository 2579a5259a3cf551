#pragma once

#include <nki/machine/program.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nki::inline v0_1::sim {

/// Why a stream stands still, beyond the waits of `machine::Cause`.
enum class Stall : std::uint8_t {
  operand,   ///< waits for an engine's result
  load,      ///< waits for data on its way from HBM
  slot,      ///< waits for a tile's slot to be free
  store,     ///< waits for a store that still reads the tile
  imported,  ///< waits of an imported trace
  weights,   ///< a load of weights that nothing hides
  clock,     ///< the array runs at the cold clock
  trigger    ///< the sequencer is busy triggering DMAs
};
inline constexpr int stall_count = 8;
inline constexpr std::array<const char*, stall_count> stall_names{"operand",  "load",    "slot",  "store",
                                                                  "imported", "weights", "clock", "trigger"};

struct StreamResult {
  std::int64_t busy = 0;          ///< ticks in which its data path (TensorE: the array) works
  std::int64_t instructions = 0;  ///< of machine level
  std::int64_t end = 0;
  std::array<std::int64_t, stall_count> stalls{};
  friend bool operator==(const StreamResult&, const StreamResult&) = default;
};

/// Everything about a run, in ticks. Equal programs give equal results, whatever the options that only change how the
/// simulator gets there.
struct Result {
  std::int64_t ticks_per_ns = 120;
  std::int64_t body = 0;  ///< first instruction to the end of the last one and of every store
  std::array<StreamResult, machine::stream_count> streams;
  std::int64_t dma_busy = 0;  ///< summed over the engines
  std::int64_t dma_engines = 16;
  std::int64_t dma_transfers = 0;
  std::int64_t read_bytes = 0, write_bytes = 0;  ///< of HBM
  std::int64_t instructions = 0;                 ///< of machine level
  std::int64_t clock_switches = 0;
  std::int64_t array_work = 0;  ///< ticks of the cold clock
  bool complete = true;         ///< false: given up at Options::deadline, and the body takes `body` or longer
  friend bool operator==(const Result&, const Result&) = default;

  double body_us() const { return static_cast<double>(body) / static_cast<double>(ticks_per_ns) / 1000.0; }
};

/// One bar of a timeline, in ticks.
struct Event {
  enum class Row : std::uint8_t { tensor, vector, scalar, gpsimd, sync, dma_sync, dma_scalar, dma_gpsimd };
  Row row = Row::tensor;
  machine::Kind kind = machine::Kind::compute;
  std::uint32_t site = machine::no_id;
  std::int64_t start = 0, end = 0;
  std::int64_t issued = 0;  ///< matmul: start of LDWEIGHTS; dma: start of the trigger
  std::int64_t waited = 0;  ///< ticks lost to the wait before it
  machine::Cause cause = machine::Cause::operand;
  std::int64_t producer = -1;  ///< index of the event that the wait named, or -1
};

/// What a run may record beside its result.
struct Timeline {
  std::size_t limit = std::size_t{1} << 20;  ///< events kept; more are counted only
  std::vector<Event> events;
  std::int64_t dropped = 0;
};

}  // namespace nki::inline v0_1::sim
