#pragma once

#include <nki/machine/fifo.hpp>
#include <nki/machine/program.hpp>
#include <nki/sim/result.hpp>
#include <nki/sim/steady.hpp>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace nki::inline v0_1::sim {

/// Skips repeating loop passes of a simulation; the rules are those of steady.hpp. It is a part of the simulator, whose
/// whole state it reads and moves.
template <class Simulator>
class Skipper {
 public:
  explicit Skipper(Simulator& sim) : sim_(&sim) {}

  void log_streaming(std::int64_t begin, std::int64_t end) { log_.add(begin, end); }
  /// Machine instructions that were added instead of stepped through.
  std::int64_t skipped() const { return skipped_count_; }

  /// At the start of a pass: compare with the passes before it, and skip where they repeat.
  void at_iteration() {
    const std::uint32_t loop = sim_->source_->loop();
    if (passes_.size() <= loop) passes_.resize(loop + 1);
    PassHistory& p = passes_[loop];
    if (p.entry != sim_->source_->loop_entry()) {
      p.entry = sim_->source_->loop_entry();
      p.closed = false;
      p.snapshots.clear();
    }
    // Writing states may cost a few percent of stepping, no more: four words for every instruction.
    if (p.closed || sim_->source_->loop_upper() - sim_->source_->loop_index() < 3) return;
    if (sim_->source_->emitted() * 4 - words_written_ < p.price * p.doubt) return;
    for (std::size_t s = 0; s < machine::stream_count; ++s)
      if (!runs(s) && sim_->source_->front(static_cast<int>(s)) != nullptr) return;

    PassHistory::Snapshot now;
    now.index = sim_->source_->loop_index();
    write_state(now.words);
    p.price = static_cast<std::int64_t>(now.words.size());
    words_written_ += p.price;
    for (std::int64_t w : now.words) {
      now.hash = (now.hash ^ static_cast<std::uint64_t>(w)) * 0x9E3779B97F4A7C15ull;
      now.hash ^= now.hash >> 29;
    }
    for (std::size_t i = p.snapshots.size(); i-- > 0;) {
      const PassHistory::Snapshot& old = p.snapshots[i];
      if (old.hash != now.hash || old.words != now.words) continue;
      if (try_skip(old)) {
        p.closed = true;
        p.doubt = 1;
        p.snapshots.clear();
      }
      return;  // too short for a proof so far: keep the old state and wait
    }
    if (p.doubt < 16) ++p.doubt;
    now.now = present();
    now.streamed = sim_->streams_[0].streamed;
    now.switches = sim_->clock_.switches();
    now.result = sim_->result_;
    now.dma_busy = sim_->dma_.busy_ticks();
    now.emitted = sim_->source_->emitted();
    now.instructions = sim_->source_->instructions();
    now.instances = sim_->source_->instances();
    for (const auto& h : sim_->times_) now.seen.push_back(h.last());
    if (p.snapshots.size() == kept_states) p.snapshots.erase(p.snapshots.begin());
    p.snapshots.push_back(std::move(now));
  }

 private:
  bool runs(std::size_t s) const { return ((sim_->source_->loop_streams() >> s) & 1u) != 0; }

  std::int64_t present() const {
    std::int64_t now = 0;
    for (std::size_t s = 0; s < machine::stream_count; ++s)
      if (runs(s))
        for (std::int64_t t : {sim_->streams_[s].sequencer, sim_->streams_[s].data_path, sim_->streams_[s].streamed})
          if (t > now) now = t;
    return now;
  }
  /// Steps seen at or before this time make no stream of the loop wait any more.
  std::int64_t settled_before() const {
    std::int64_t least = Simulator::far;
    for (std::size_t s = 0; s < machine::stream_count; ++s)
      if (runs(s) && sim_->streams_[s].sequencer < least) least = sim_->streams_[s].sequencer;
    return least - sim_->software_after_wait_;
  }

  void write_state(std::vector<std::int64_t>& words) const {
    const std::int64_t now = present(), settled = settled_before();
    const auto out = [&](std::int64_t x) { words.push_back(x); };
    const auto relative = [&](std::int64_t t) { out(t == -Simulator::far ? -Simulator::far : t - now); };
    bool triggers = false;
    for (std::size_t s = 0; s < machine::stream_count; ++s) {
      if (!runs(s)) continue;
      const auto& e = sim_->streams_[s];
      relative(e.sequencer);
      relative(e.data_path == 0 ? -Simulator::far : e.data_path);
      relative(e.last_dma);
      relative(e.issued);
      relative(e.streaming);
      relative(e.streamed);
      out(e.after_event ? 1 : 0);
      relative(sim_->result_.streams[s].end);
      triggers = triggers || sim_->source_->triggers(static_cast<int>(s));
    }
    if (runs(0)) out((sim_->clock_.warm() ? 1 : 0) + (sim_->clock_.steady() ? 2 : 0));
    if (triggers) relative(sim_->result_.body);
    sim_->dma_.write_state(now, out, [&](std::uint32_t semaphore) { return sim_->source_->semaphore_code(semaphore); });
    sim_->source_->write_state(sim_->source_->loop_streams(), out, [&](std::uint32_t semaphore, std::uint32_t value) {
      const machine::History<std::int64_t>& h = sim_->times_[semaphore];
      if (value > h.last()) return out(static_cast<std::int64_t>(value) - h.last());
      if (!h.holds(value) || h[value] <= settled) return out(-Simulator::far);
      out(h[value] - now);
    });
  }

  bool try_skip(const PassHistory::Snapshot& old) {
    const std::int64_t index = sim_->source_->loop_index(), passes = index - old.index;
    const std::int64_t by_period = present() - old.now;
    // The pass that begins now is still to run, at whatever index the skip leads to.
    const std::int64_t uniform = sim_->source_->uniform_until(old.index), last = sim_->source_->loop_upper() - 1;
    const std::int64_t room = (uniform < last ? uniform : last) - index;
    // Whole turns of every rotation, so that each slot keeps its place.
    const std::vector<std::int64_t>& instances = sim_->source_->instances();
    std::int64_t turn = 1;
    for (std::size_t b = 0; b < instances.size(); ++b)
      turn = std::lcm(turn, sim_->source_->slots(b) / std::gcd(static_cast<std::int64_t>(sim_->source_->slots(b)),
                                                               instances[b] - old.instances[b]));
    const std::int64_t periods = room / passes / turn * turn;
    if (periods <= 0) return true;
    ClockProof clock;
    std::vector<StreamLog::Span> pattern;
    if (runs(0)) {
      if (old.streamed == -Simulator::far || sim_->streams_[0].streamed - old.streamed != by_period ||
          !log_.covers(old.streamed))
        return false;
      if (sim_->clock_.switches() != old.switches) return false;
      pattern = log_.pattern(old.streamed, sim_->streams_[0].streamed);
      clock = prove_clock(sim_->clock_, PeriodicStream(pattern, by_period), old.streamed, sim_->streams_[0].streamed,
                          periods);
      if (!clock.stable) return false;
    }

    const std::int64_t by = by_period * periods, settled = settled_before();
    for (std::size_t m = 0; m < sim_->times_.size(); ++m) {
      machine::History<std::int64_t>& h = sim_->times_[m];
      for (std::uint32_t v = h.oldest_held(); v <= h.last() && h.last() > 0; ++v)
        if (v > old.seen[m] || h[v] > settled) h[v] += by;
    }
    bool triggers = false;
    for (std::size_t s = 0; s < machine::stream_count; ++s) {
      StreamResult& r = sim_->result_.streams[s];
      const StreamResult& o = old.result.streams[s];
      r.busy += (r.busy - o.busy) * periods;
      r.instructions += (r.instructions - o.instructions) * periods;
      for (std::size_t c = 0; c < stall_count; ++c) r.stalls[c] += (r.stalls[c] - o.stalls[c]) * periods;
      if (!runs(s)) continue;
      auto& e = sim_->streams_[s];
      e.sequencer += by;
      if (e.data_path != 0) e.data_path += by;
      for (std::int64_t* t : {&e.last_dma, &e.issued, &e.streaming, &e.streamed})
        if (*t != -Simulator::far) *t += by;
      r.end += by;
      triggers = triggers || sim_->source_->triggers(static_cast<int>(s));
    }
    if (triggers) sim_->result_.body += by;
    sim_->result_.dma_transfers += (sim_->result_.dma_transfers - old.result.dma_transfers) * periods;
    sim_->result_.read_bytes += (sim_->result_.read_bytes - old.result.read_bytes) * periods;
    sim_->result_.write_bytes += (sim_->result_.write_bytes - old.result.write_bytes) * periods;
    sim_->result_.array_work += (sim_->result_.array_work - old.result.array_work) * periods;
    sim_->dma_.shift(by, (sim_->dma_.busy_ticks() - old.dma_busy) * periods);
    if (runs(0)) {
      log_.repeat(pattern, sim_->streams_[0].streamed - by, by_period, periods);
      sim_->clock_.place(clock.window_end, clock.streamed);
    }
    std::vector<std::int64_t> moved = instances;
    for (std::size_t b = 0; b < moved.size(); ++b) moved[b] += (moved[b] - old.instances[b]) * periods;
    const std::int64_t emitted = (sim_->source_->emitted() - old.emitted) * periods;
    sim_->source_->add_skipped(emitted, (sim_->source_->instructions() - old.instructions) * periods);
    words_written_ += emitted * 4;
    skipped_count_ += emitted;
    sim_->source_->jump(index + passes * periods, moved);
    return true;
  }

  static constexpr std::size_t kept_states = 4;

  Simulator* sim_;
  std::int64_t skipped_count_ = 0;
  std::int64_t words_written_ = 0;
  std::vector<PassHistory> passes_;
  StreamLog log_;
};

}  // namespace nki::inline v0_1::sim
