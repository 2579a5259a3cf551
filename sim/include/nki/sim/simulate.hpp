#pragma once

#include <nki/arch.hpp>
#include <nki/error.hpp>
#include <nki/ir/program.hpp>
#include <nki/machine/lower.hpp>
#include <nki/machine/params.hpp>
#include <nki/machine/program.hpp>
#include <nki/sim/clock.hpp>
#include <nki/sim/dma.hpp>
#include <nki/sim/result.hpp>
#include <nki/sim/skip.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

/// The timing engine: five in-order streams, semaphores, the array with its clock, and the DMA engines, in integer ticks.
namespace nki::inline v0_1::sim {

struct Options {
  double clock_phase_ns = 0;        ///< phase of the TensorE clock's grid, from the start of the body
  bool separate_engines = false;    ///< the slow oracle: every DMA engine and packet by itself
  bool skip = true;                 ///< add repeating passes of loops at once; the result is the same
  std::int64_t* skipped = nullptr;  ///< if given, the machine instructions that were not stepped through
  Timeline* timeline = nullptr;
  /// Give up where the body is certain to end after this many ticks, 0: never. Certain is what has been issued and,
  /// behind it, the rest of `array_work` at the warm clock and of `dma_bytes` at the peak rate, both of the whole program.
  std::int64_t deadline = 0;
  std::int64_t array_work = 0;  ///< ticks of the cold clock
  std::int64_t dma_bytes = 0;   ///< read and written
};

/// Streams that are already written out.
class ProgramSource {
 public:
  explicit ProgramSource(const machine::Program& p) : program_(&p) {
    for (std::size_t s = 0; s < machine::stream_count; ++s)
      for (const machine::Instr& i : p.streams[s])
        if (p.works[i.work].kind == machine::Kind::dma) triggers_[s] = true;
  }
  const machine::Instr* front(int s) const {
    const auto& list = program_->streams[static_cast<std::size_t>(s)];
    return at_[static_cast<std::size_t>(s)] < list.size() ? &list[at_[static_cast<std::size_t>(s)]] : nullptr;
  }
  void pop(int s) { ++at_[static_cast<std::size_t>(s)]; }
  machine::Step refill() { return machine::Step::end; }
  const machine::Work& work(std::uint32_t id) const { return program_->works[id]; }
  std::uint32_t semaphores() const { return program_->semaphores; }
  bool triggers(int s) const { return triggers_[static_cast<std::size_t>(s)]; }
  /// Any later instruction may name any step.
  std::uint32_t oldest_needed(std::uint32_t) const { return 1; }

 private:
  const machine::Program* program_;
  std::array<std::size_t, machine::stream_count> at_{};
  std::array<bool, machine::stream_count> triggers_{};
};

/// Runs the streams of a source. A source gives `front`, `pop`, `refill`, `work`, `semaphores`, `triggers` and
/// `oldest_needed`; see ProgramSource and machine::Lowering.
template <class Source>
class Simulator {
 public:
  Simulator(Source& source, const Arch& a, const machine::Params& c, const Options& o)
      : source_(&source),
        timeline_(o.timeline),
        skip_(o.skip && o.timeline == nullptr),
        skipped_(o.skipped),
        deadline_(o.deadline),
        array_work_(o.array_work),
        dma_bytes_(o.dma_bytes),
        dma_ticks_per_byte_(a.ticks_per_ns.value / (a.dma_engines.value * a.dma_engine_peak_bytes_per_ns.value)),
        clock_(a, c, machine::ticks(a, o.clock_phase_ns)),
        dma_(a, c, o.separate_engines),
        times_(source.semaphores(), machine::History<std::int64_t>(source.semaphores() > 1024 ? 2 : 16)) {
    for (std::size_t m = 0; m < times_.size() && m < machine::stream_count; ++m)
      times_[m] = machine::History<std::int64_t>(1024);
    const auto t = [&](const Figure& f) { return machine::ticks(a, f); };
    signal_ = {t(c.signal_tensor), t(c.signal_vector), t(c.signal_scalar), t(c.signal_gpsimd), 0};
    wake_ = {t(c.wake_tensor), t(c.wake_vector), t(c.wake_scalar), t(c.wake_gpsimd), t(c.wake_sync)};
    wake_event_ = wake_;
    wake_event_[0] = t(c.wake_event_tensor);
    event_ = {t(c.event_tensor), t(c.event_vector), t(c.event_scalar), t(c.event_gpsimd), t(c.event_sync)};
    step_ = t(c.sequencer_step);
    load_after_stream_ = t(c.load_after_stream);
    load_after_issue_ = t(c.load_after_issue);
    issue_after_load_ = t(c.issue_after_load);
    issue_after_event_ = t(c.issue_after_event);
    drain_cold_ = t(c.drain_cold);
    drain_warm_ = t(c.drain_warm);
    trigger_ = t(c.trigger_hardware);
    trigger_gap_ = t(c.trigger_gap_hardware);
    software_first_ = t(c.software_first);
    software_after_wait_ = t(c.software_after_wait);
    software_interval_ = t(c.software_interval);
    software_occupancy_ = t(c.software_occupancy);
    final_wait_ = t(c.final_wait);
    streams_[static_cast<std::size_t>(machine::Stream::scalar)].sequencer = t(c.scalar_enter);
    result_.ticks_per_ns = a.ticks_per_ns.as_int();
    result_.dma_engines = a.dma_engines.as_int();
  }

  Result run() {
    bool more = true;
    while (true) {
      // Every stream that may trigger a DMA must show what it waits for, before packets may be served.
      bool starved = true;
      while (more && starved) {
        for (int i = 0; i < refill_batch && more; ++i) {
          const machine::Step step = source_->refill();
          more = step != machine::Step::end;
          if constexpr (repeats)
            if (step == machine::Step::iteration && skip_) {
              issue_all();
              skipper_.at_iteration();
              break;
            }
        }
        issue_all();
        starved = false;
        for (int s = 0; s < machine::stream_count; ++s)
          if (source_->triggers(s) && source_->front(s) == nullptr) starved = true;
      }
      issue_all();
      if (deadline_ > 0 && give_up()) return result_;
      if (dma_.idle()) {
        if (more) continue;
        break;
      }
      completions_.clear();
      dma_.advance(completions_);
      for (const DmaEngines::Completion& c : completions_) {
        step(c.semaphore, c.time, timeline_ != nullptr ? finish_transfer(c) : -1);
        if (c.time + final_wait_ > result_.body) result_.body = c.time + final_wait_;
      }
    }
    for (int s = 0; s < machine::stream_count; ++s)
      if (source_->front(s) != nullptr) report_deadlock();
    for (std::size_t s = 0; s < machine::stream_count; ++s) {
      if (result_.streams[s].end > result_.body) result_.body = result_.streams[s].end;
      result_.instructions += result_.streams[s].instructions;
    }
    result_.dma_busy = dma_.busy_ticks();
    if (skipped_ != nullptr) *skipped_ = skipper_.skipped();
    result_.clock_switches = clock_.switches();
    return result_;
  }

 private:
  friend class Skipper<Simulator>;

  /// Whether the source has loops whose passes may repeat.
  static constexpr bool repeats = requires(Source & x) { x.loop_streams(); };

  struct StreamState {
    std::int64_t sequencer = 0;  ///< earliest start of the next instruction on the sequencer
    std::int64_t data_path = 0;  ///< earliest start of the next instruction on the data path
    // TensorE: starts of the last LDWEIGHTS' matmul and of its streaming, end of its streaming.
    std::int64_t issued = -far, streaming = -far, streamed = -far;
    bool after_event = false;
    std::int64_t last_dma = -far;
  };

  /// Whether the body cannot end by the deadline any more; then leaves the least time it can take as the result.
  bool give_up() {
    const std::int64_t rest = array_work_ > result_.array_work ? array_work_ - result_.array_work : 0;
    std::int64_t least = streams_[0].streamed + rest / clock_.speed();
    if (result_.body > least) least = result_.body;
    // No later DMA is triggered before the first of the streams that still trigger some gets to it.
    std::int64_t trigger = far;
    for (int s = 0; s < machine::stream_count; ++s)
      if (source_->triggers(s) && source_->front(s) != nullptr &&
          streams_[static_cast<std::size_t>(s)].sequencer < trigger)
        trigger = streams_[static_cast<std::size_t>(s)].sequencer;
    const std::int64_t bytes = dma_bytes_ - result_.read_bytes - result_.write_bytes;
    if (trigger < far && bytes > 0) {
      const std::int64_t moved = trigger + static_cast<std::int64_t>(static_cast<double>(bytes) * dma_ticks_per_byte_);
      if (moved > least) least = moved;
    }
    if (least <= deadline_) return false;
    result_.body = least;
    result_.complete = false;
    return true;
  }

  void issue_all() {
    bool any = true;
    while (any) {
      any = false;
      for (int s = 0; s < machine::stream_count; ++s)
        while (const machine::Instr* i = source_->front(s)) {
          if (!issue(static_cast<std::size_t>(s), *i)) break;
          source_->pop(s);
          any = true;
        }
    }
  }

  /// `event` is the bar of the timeline behind this step, or -1.
  void step(std::uint32_t semaphore, std::int64_t time, std::int64_t event) {
    machine::History<std::int64_t>& h = times_[semaphore];
    h.make_room([&] { return source_->oldest_needed(semaphore); });
    // A counter only grows: step n is seen when n updates have come.
    if (h.last() > 0 && h[h.last()] > time) time = h[h.last()];
    h.push(time);
    if (timeline_ != nullptr) last_event_[semaphore].push(event);
  }

  /// Issues an instruction if its wait is resolved.
  bool issue(std::size_t s, const machine::Instr& in) {
    std::int64_t wait = -far;
    if (in.wait_semaphore != machine::no_id) {
      const machine::History<std::int64_t>& h = times_[in.wait_semaphore];
      if (h.last() < in.wait_value) return false;
      wait = h[in.wait_value];
    }
    StreamState& e = streams_[s];
    StreamResult& r = result_.streams[s];
    const machine::Work& w = source_->work(in.work);
    ++r.instructions;
    switch (w.kind) {
      case machine::Kind::matmul: {
        std::int64_t load = e.sequencer;
        if (e.streaming + load_after_stream_ > load) load = e.streaming + load_after_stream_;
        if (e.issued + load_after_issue_ > load) load = e.issued + load_after_issue_;
        const std::int64_t free = e.streamed > load ? e.streamed : load;
        if (wait + wake_[0] > load) load = wait + wake_[0];
        const std::int64_t issued_at = load + (e.after_event ? issue_after_event_ : issue_after_load_);
        const std::int64_t issued = issued_at > e.streamed ? issued_at : e.streamed;
        const std::int64_t loaded = load + (clock_.warm_at(load) ? w.exposed_warm : w.exposed_cold);
        const std::int64_t begin = loaded > e.streamed ? loaded : e.streamed;
        std::int64_t end = clock_.stream(begin, w.stream_work);
        if (skip_) skipper_.log_streaming(begin, end);
        const std::int64_t busy = end - begin;
        const bool warm = clock_.warm_at(end);
        if (warm) end += w.gap_warm;
        const std::int64_t complete = end + (warm ? drain_warm_ : drain_cold_);
        const std::int64_t waited = load > free ? load - free : 0;
        // The array idles from its last column, or from the end of an event's wait, which is counted already.
        std::int64_t idle_from = e.streamed > 0 ? e.streamed : 0;
        if (e.after_event && e.sequencer - event_[0] > idle_from) idle_from = e.sequencer - event_[0];
        if (begin > idle_from) {
          const std::int64_t idle = begin - idle_from, for_wait = waited < idle ? waited : idle;
          r.stalls[static_cast<std::size_t>(in.cause)] += for_wait;
          r.stalls[static_cast<std::size_t>(Stall::weights)] += idle - for_wait;
        }
        r.stalls[static_cast<std::size_t>(Stall::clock)] +=
            busy - (w.stream_work + clock_.speed() - 1) / clock_.speed();
        r.busy += busy;
        result_.array_work += w.stream_work;
        e.issued = issued;
        e.streaming = begin;
        e.streamed = end;
        e.after_event = false;
        finish(s, in, w, {begin, end, load, waited}, complete);
        return true;
      }
      case machine::Kind::event:
      case machine::Kind::nop: {
        std::int64_t start = e.sequencer;
        const std::int64_t woken = wait + (w.kind == machine::Kind::event ? wake_event_[s] : wake_[s]);
        if (woken > start) start = woken;
        const std::int64_t waited = lose(e, r, in.cause, s == 0 ? e.streamed : e.data_path, start);
        e.sequencer = start + event_[s];
        if (s == 0) e.after_event = true;
        // On TensorE it comes after the matmul before it, whose start the sequencer's time leaves out.
        const std::int64_t shown = s == 0 && e.issued > start ? e.issued : start;
        finish(s, in, w, {shown, shown + w.duration, shown, waited}, start + w.duration);
        return true;
      }
      case machine::Kind::dma: {
        std::int64_t start = e.sequencer, woken = wait + wake_[s];
        if (s == static_cast<std::size_t>(machine::Stream::gpsimd)) {
          const std::int64_t next = e.last_dma == -far ? software_first_ : e.last_dma + software_interval_;
          if (next > start) start = next;
          woken = wait + software_after_wait_;
        }
        const std::int64_t waited = woken > start ? woken - start : 0;
        lose(e, r, in.cause, start > e.data_path ? start : e.data_path, start + waited);
        start += waited;
        std::int64_t end = start;
        if (s == static_cast<std::size_t>(machine::Stream::gpsimd)) {
          e.last_dma = start;
          end += software_occupancy_;
          e.sequencer = end;
          r.busy += software_occupancy_;
        } else {
          end += trigger_;
          e.sequencer = end + trigger_gap_;
          r.busy += trigger_;
        }
        dma_.submit(machine::queue_of(static_cast<machine::Stream>(s)), w, in.signal, start);
        ++result_.dma_transfers;
        result_.read_bytes += w.read_bytes;
        result_.write_bytes += w.write_bytes;
        if (end > r.end) r.end = end;
        if (timeline_ != nullptr) {
          const std::int64_t trigger =
              record({row(s), w.kind, in.site, start, end, start, waited, in.cause, producer(in)});
          const auto queue = static_cast<int>(machine::queue_of(static_cast<machine::Stream>(s)));
          transfers_[in.signal].push(record({static_cast<Event::Row>(static_cast<int>(Event::Row::dma_sync) + queue),
                                             w.kind, in.site, start + w.latency, 0, start, 0, in.cause, trigger}));
        }
        return true;
      }
      case machine::Kind::compute:
      case machine::Kind::table: {
        const std::int64_t free = e.data_path > e.sequencer ? e.data_path : e.sequencer;
        const std::int64_t woken = wait + wake_[s];
        const std::int64_t waited = woken > free ? woken - free : 0;
        const std::int64_t start = free + waited;
        const std::int64_t end = start + w.duration;
        r.stalls[static_cast<std::size_t>(in.cause)] += waited;
        if (e.data_path != 0 && e.sequencer > e.data_path)
          r.stalls[static_cast<std::size_t>(Stall::trigger)] += e.sequencer - e.data_path;
        r.busy += w.duration - w.overlap;
        e.data_path = end - w.overlap;
        e.sequencer = start + step_;
        finish(s, in, w, {start, end, start, waited}, end);
        return true;
      }
    }
    return true;
  }

  /// Counts a wait that ends at `start`, from when the sequencer and what it feeds are at rest.
  static std::int64_t lose(StreamState& e, StreamResult& r, machine::Cause cause, std::int64_t feeds,
                           std::int64_t start) {
    const std::int64_t rest = feeds > e.sequencer ? feeds : e.sequencer;
    if (start <= rest) return 0;
    r.stalls[static_cast<std::size_t>(cause)] += start - rest;
    if (e.data_path != 0) {  // explained up to here: the next instruction of the data path does not count it again
      r.stalls[static_cast<std::size_t>(Stall::trigger)] += rest - e.data_path;
      e.data_path = start;
    }
    return start - rest;
  }

  struct Span {
    std::int64_t start, end, issued, waited;
  };
  void finish(std::size_t s, const machine::Instr& in, const machine::Work& w, const Span& x, std::int64_t complete) {
    StreamResult& r = result_.streams[s];
    if (w.kind != machine::Kind::event && complete > r.end) r.end = complete;
    std::int64_t event = -1;
    if (timeline_ != nullptr)
      event = record({row(s), w.kind, in.site, x.start, x.end, x.issued, x.waited, in.cause, producer(in)});
    if (in.signal != machine::no_id) step(in.signal, complete + signal_[s], event);
  }

  static Event::Row row(std::size_t s) { return static_cast<Event::Row>(s); }
  /// The index of the event, or -1 where the timeline is full.
  std::int64_t record(const Event& e) {
    if (timeline_->events.size() >= timeline_->limit) {
      ++timeline_->dropped;
      return -1;
    }
    timeline_->events.push_back(e);
    return static_cast<std::int64_t>(timeline_->events.size()) - 1;
  }
  std::int64_t producer(const machine::Instr& in) {
    if (in.wait_semaphore == machine::no_id) return -1;
    const auto it = last_event_.find(in.wait_semaphore);
    if (it == last_event_.end() || it->second.size() < 1) return -1;
    const machine::Fifo<std::int64_t>& f = it->second;
    return in.wait_value <= f.size() ? f[in.wait_value - 1] : -1;
  }
  std::int64_t finish_transfer(const DmaEngines::Completion& c) {
    machine::Fifo<std::int64_t>& f = transfers_[c.semaphore];
    if (f.empty()) return -1;
    const std::int64_t at = f.front();
    f.pop();
    if (at >= 0) {
      Event& e = timeline_->events[static_cast<std::size_t>(at)];
      e.start = c.first;
      e.end = c.time;
    }
    return at;
  }

  [[noreturn]] void report_deadlock() const {
    std::string text;
    for (int s = 0; s < machine::stream_count; ++s)
      if (const machine::Instr* i = source_->front(s)) {
        if (!text.empty()) text += "; ";
        text += std::string(machine::stream_names[static_cast<std::size_t>(s)]) + " waits for step " +
                std::to_string(i->wait_value) + " of semaphore " + std::to_string(i->wait_semaphore) +
                ", which has come to " + std::to_string(times_[i->wait_semaphore].last());
      }
    throw Error({.id = "NKI-E901",
                 .sentence = "every wait must be satisfied by an instruction that can run",
                 .got = text,
                 .allowed = {},
                 .hint = "look for a wait whose signal comes later, or for two streams that wait for each other",
                 .file = {},
                 .line = 0,
                 .error_class = ErrorClass::deadlock});
  }

  static constexpr std::int64_t far = std::int64_t{1} << 60;
  static constexpr int refill_batch = 16;

  Source* source_;
  Timeline* timeline_;
  bool skip_;
  std::int64_t* skipped_;
  std::int64_t deadline_, array_work_, dma_bytes_;
  double dma_ticks_per_byte_;
  Skipper<Simulator> skipper_{*this};
  TensorClock clock_;
  DmaEngines dma_;
  std::vector<machine::History<std::int64_t>> times_;
  std::array<StreamState, machine::stream_count> streams_;
  Result result_;
  std::vector<DmaEngines::Completion> completions_;
  std::array<std::int64_t, machine::stream_count> signal_{}, wake_{}, wake_event_{}, event_{};
  std::int64_t step_ = 0, load_after_stream_ = 0, load_after_issue_ = 0, issue_after_load_ = 0, issue_after_event_ = 0;
  std::int64_t drain_cold_ = 0, drain_warm_ = 0, trigger_ = 0, trigger_gap_ = 0;
  std::int64_t software_first_ = 0, software_after_wait_ = 0, software_interval_ = 0, software_occupancy_ = 0;
  std::int64_t final_wait_ = 0;
  // With a timeline: the event behind every step of a semaphore, and the transfers under way.
  std::unordered_map<std::uint32_t, machine::Fifo<std::int64_t>> last_event_, transfers_;
};

/// Times written-out streams.
inline Result simulate(const machine::Program& p, const Arch& a, const machine::Params& c, const Options& o = {}) {
  ProgramSource source(p);
  return Simulator<ProgramSource>(source, a, c, o).run();
}
/// Lowers and times a recorded program.
inline Result simulate(const ir::Program& p, const Arch& a, const Options& o = {}) {
  const machine::Params& c = machine::params_for(a);
  machine::Lowering source(p, a, c);
  return Simulator<machine::Lowering>(source, a, c, o).run();
}

}  // namespace nki::inline v0_1::sim
