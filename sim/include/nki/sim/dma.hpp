#pragma once

#include <nki/arch.hpp>
#include <nki/machine/fifo.hpp>
#include <nki/machine/params.hpp>
#include <nki/machine/program.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace nki::inline v0_1::sim {

using machine::Queue;
using machine::queue_count;
using machine::ticks;

/// The DMA engines of a core. Each serves one packet at a time, takes turns between its queues at packet boundaries, and
/// keeps the order inside a queue. Engines with equal histories are kept as one class: engine e runs `engine_ramp` ticks
/// after engine e - 1 throughout, so one of them stands for all. Runs of packets that nothing can interrupt are served
/// in one step; the result is that of serving them one by one.
class DmaEngines {
 public:
  struct Completion {
    std::uint32_t semaphore;
    std::int64_t time;   ///< when the semaphore shows it
    std::int64_t first;  ///< start of the first packet
  };

  /// `separate`: keep every engine apart and serve single packets, as the test oracle does.
  DmaEngines(const Arch& a, const machine::Params& c, bool separate)
      : engines_(static_cast<int>(a.dma_engines.as_int())),
        ramp_(ticks(a, c.engine_ramp)),
        semaphore_packet_(ticks(a, c.semaphore_packet)),
        gap_hardware_(ticks(a, c.queue_gap_hardware_read)),
        gap_software_(ticks(a, c.queue_gap_software_read)),
        gap_window_(ticks(a, c.queue_gap_window)),
        separate_(separate) {
    std::int64_t visible = ticks(a, c.visible_hardware_read), latency = ticks(a, c.latency_hardware_read);
    for (const Figure* f : {&c.visible_hardware_write, &c.visible_software_read, &c.visible_software_write})
      if (ticks(a, *f) < visible) visible = ticks(a, *f);
    for (const Figure* f : {&c.latency_hardware_write, &c.latency_software_read, &c.latency_software_write})
      if (ticks(a, *f) < latency) latency = ticks(a, *f);
    reaction_ = visible + latency;
    for (int e = 0; e < engines_; e += separate ? 1 : engines_) {
      Class k;
      k.first = e;
      k.last = separate ? e : engines_ - 1;
      classes_.push_back(k);
    }
  }

  bool idle() const { return outstanding_ == 0; }
  std::int64_t busy_ticks() const { return busy_; }

  /// A transfer triggered at `time`.
  void submit(Queue queue, const machine::Work& w, std::uint32_t semaphore, std::int64_t time) {
    std::uint32_t id = 0;
    while (id < transfers_.size() && transfers_[id].engines_left != 0) ++id;
    if (id == transfers_.size()) transfers_.emplace_back();
    Transfer& t = transfers_[id];
    t = {semaphore, 0, 0, w.visible, far};
    const std::int64_t ready = time + w.latency;
    if (w.partitions > 0) {
      split(w.partitions / 8);
      split((w.partitions + 7) / 8);
    }
    for (Class& c : classes_) {
      std::int64_t parts = 1;  // partitions of an engine's share; HBM-only transfers give every engine one share
      if (w.partitions > 0) {
        parts = w.partitions - std::int64_t{8} * c.first;
        if (parts <= 0) continue;
        if (parts > 8) parts = 8;
      }
      Share s;
      s.transfer = id;
      s.ready = ready;
      s.packet = w.packet_ticks;
      s.read = machine::reads_hbm(w.direction);
      s.software = w.software;
      s.left = w.merge_bytes > 0 ? (parts * w.bytes_pp + w.merge_bytes - 1) / w.merge_bytes : parts * w.packets_pp;
      s.stall = w.stall_pp * parts < w.stall_max ? w.stall_pp * parts : w.stall_max;
      c.queues[static_cast<std::size_t>(queue)].push(s);
      t.engines_left += c.last - c.first + 1;
    }
    ++outstanding_;
  }

  /// Serves packets up to a time before which no transfer that is still to come can arrive, and appends what completes.
  void advance(std::vector<Completion>& out) {
    horizon_ = next_horizon();
    for (Class& c : classes_) serve(c, horizon_, out);
    if (!separate_) merge();
  }

  /// Writes down everything that decides how serving goes on, relative to `now` (sim/steady.hpp).
  /// `code(semaphore)` gives the name of a semaphore that does not depend on the rotation.
  template <class Out, class Code>
  void write_state(std::int64_t now, Out&& out, Code&& code) const {
    out(outstanding_);
    out(static_cast<std::int64_t>(classes_.size()));
    for (const Class& c : classes_) {
      out(c.first);
      out(c.last);
      const bool rested = c.idle() && c.free < horizon_;
      out(rested ? dead : c.free - now);
      out(rested ? dead : static_cast<std::int64_t>(c.turn));
      for (std::size_t q = 0; q < queue_count; ++q) {
        const bool over = c.queues[q].empty()
                              ? c.end[q] <= horizon_ - gap_window_
                              : c.queues[q].front().started || c.end[q] <= c.queues[q].front().ready - gap_window_;
        out(over ? dead : c.end[q] - now);
        out(over ? dead : static_cast<std::int64_t>(c.ended_read[q]));
        out(static_cast<std::int64_t>(c.queues[q].size()));
        for (std::size_t i = 0; i < c.queues[q].size(); ++i) {
          const Share& s = c.queues[q][i];
          const Transfer& t = transfers_[s.transfer];
          out(code(t.semaphore));
          out(t.engines_left);
          out(t.last == 0 ? dead : t.last - now);
          out(t.visible);
          // A share whose packets have begun is ready whenever the engine is, unless it stalls.
          out(s.started && s.ready <= c.free ? dead : s.ready - now);
          out(s.left);
          out(s.packet);
          out(s.stall);
          out((s.started ? 1 : 0) + (s.read ? 2 : 0) + (s.software ? 4 : 0));
        }
      }
    }
  }
  /// Moves everything that lies ahead by `by` ticks, and counts `busy` as served in between.
  void shift(std::int64_t by, std::int64_t busy) {
    busy_ += busy;
    horizon_ += by;
    for (Class& c : classes_) {
      c.free += by;
      for (std::size_t q = 0; q < queue_count; ++q) {
        c.end[q] += by;
        for (std::size_t i = 0; i < c.queues[q].size(); ++i) c.queues[q].at(i).ready += by;
      }
    }
    for (Transfer& t : transfers_)
      if (t.last != 0) t.last += by;
  }

 private:
  static constexpr std::int64_t dead = -(std::int64_t{1} << 61);

  struct Share {
    std::uint32_t transfer = 0;
    std::int64_t ready = 0;   ///< earliest start of its next packet
    std::int64_t left = 0;    ///< data packets
    std::int64_t packet = 0;  ///< ticks of one
    std::int64_t stall = 0;   ///< after the first packet
    bool started = false, read = false, software = false;
    bool operator==(const Share&) const = default;
  };
  struct Class {
    int first = 0, last = 0;
    std::int64_t free = 0;               ///< times are those of engine 0; engine e runs e * ramp later
    std::size_t turn = queue_count - 1;  ///< the queue served last
    std::array<machine::Fifo<Share>, queue_count> queues{machine::Fifo<Share>(8), machine::Fifo<Share>(8),
                                                         machine::Fifo<Share>(8)};
    std::array<std::int64_t, queue_count> end{};  ///< of the last transfer of a queue
    std::array<bool, queue_count> ended_read{};

    bool idle() const {
      for (const auto& q : queues)
        if (!q.empty()) return false;
      return true;
    }
  };
  struct Transfer {
    std::uint32_t semaphore = 0;
    int engines_left = 0;
    std::int64_t last = 0;
    std::int64_t visible = 0;
    std::int64_t first = 0;
  };

  void split(int at) {
    for (std::size_t i = 0; i < classes_.size(); ++i)
      if (classes_[i].first < at && at <= classes_[i].last) {
        Class rest = classes_[i];
        rest.first = at;
        classes_[i].last = at - 1;
        classes_.insert(classes_.begin() + static_cast<std::ptrdiff_t>(i) + 1, rest);
        return;
      }
  }

  /// Neighbours whose futures are the same become one class again.
  void merge() {
    for (std::size_t i = 0; i + 1 < classes_.size();) {
      if (same_future(classes_[i], classes_[i + 1])) {
        classes_[i].last = classes_[i + 1].last;
        classes_.erase(classes_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      } else {
        ++i;
      }
    }
  }
  bool same_future(const Class& a, const Class& b) const {
    // Nothing arrives before the horizon, so an idle engine's past is over.
    const bool rested = a.idle() && b.idle() && a.free < horizon_ && b.free < horizon_;
    if (!rested && (a.free != b.free || a.turn != b.turn)) return false;
    for (std::size_t q = 0; q < queue_count; ++q) {
      const bool over = a.queues[q].empty() && b.queues[q].empty() && a.end[q] <= horizon_ - gap_window_ &&
                        b.end[q] <= horizon_ - gap_window_;
      if (!over && (a.end[q] != b.end[q] || a.ended_read[q] != b.ended_read[q])) return false;
      if (a.queues[q].size() != b.queues[q].size()) return false;
      for (std::size_t i = 0; i < a.queues[q].size(); ++i)
        if (!(a.queues[q][i] == b.queues[q][i])) return false;
    }
    return true;
  }

  /// When the next packet of a queue could start, were the engine free.
  std::int64_t ready(const Class& c, std::size_t q) const {
    const Share& s = c.queues[q].front();
    if (s.started) return s.ready;
    const std::int64_t end = c.end[q];
    if (s.read && c.ended_read[q] && end > s.ready - gap_window_) {
      const std::int64_t after = end + (s.software ? gap_software_ : gap_hardware_);
      return after > s.ready ? after : s.ready;
    }
    return end > s.ready ? end : s.ready;
  }

  /// No completion can come before every share's remaining packets have run, and no new transfer before the fastest
  /// reaction to a completion.
  std::int64_t next_horizon() const {
    std::int64_t first = far;
    for (const Class& c : classes_)
      for (std::size_t q = 0; q < queue_count; ++q) {
        if (c.queues[q].empty()) continue;
        const std::int64_t r = ready(c, q);
        const std::int64_t t = (r > c.free ? r : c.free) + c.queues[q].front().left * c.queues[q].front().packet;
        if (t < first) first = t;
      }
    return first + reaction_;
  }

  void serve(Class& c, std::int64_t horizon, std::vector<Completion>& out) {
    while (true) {
      std::array<std::int64_t, queue_count> r{far, far, far};
      std::int64_t t = far;
      for (std::size_t q = 0; q < queue_count; ++q)
        if (!c.queues[q].empty()) {
          r[q] = ready(c, q);
          if (r[q] < t) t = r[q];
        }
      if (t == far) return;
      if (t < c.free) t = c.free;
      if (t >= horizon) return;
      if (t > c.free) c.turn = queue_count - 1;  // after a rest, turns start anew
      // The queues that are ready take turns; until `limit` no other one becomes ready.
      std::int64_t limit = horizon, round = 0, rounds = far;
      std::size_t pick = queue_count;
      int n_ready = 0;
      for (std::size_t i = 1; i <= queue_count; ++i) {
        const std::size_t q = (c.turn + i) % queue_count;
        if (r[q] <= t) {
          if (pick == queue_count) pick = q;
          ++n_ready;
          const Share& s = c.queues[q].front();
          round += s.packet;
          const std::int64_t steady = s.started || s.stall == 0 ? s.left : 0;
          if (steady < rounds) rounds = steady;
        } else if (r[q] < limit) {
          limit = r[q];
        }
      }
      if (!separate_ && rounds > 1) {
        // Whole rounds whose packets all start before `limit`: n * round + (start of the last packet) < limit - t.
        const std::int64_t span = limit - t;
        const std::int64_t last_start = n_ready == 1 ? 0 : round - c.queues[last_in_turn(c, r, t)].front().packet;
        const std::int64_t fit = span > last_start ? (span - last_start - 1) / round + 1 : 0;
        if (fit < rounds) rounds = fit;
        if (rounds > 1) {
          std::int64_t packet_start = t;
          for (std::size_t i = 1; i <= queue_count; ++i)
            if (const std::size_t q = (c.turn + i) % queue_count; r[q] <= t) {
              Share& s = c.queues[q].front();
              if (!s.started) begin(c, s, packet_start);
              packet_start += s.packet;
              s.left -= rounds;
              s.started = true;
              s.ready = t;
            }
          c.turn = last_in_turn(c, r, t);
          c.free = t + rounds * round;
          busy_ += rounds * round * (c.last - c.first + 1);
          continue;
        }
      }
      Share& s = c.queues[pick].front();
      c.turn = pick;
      const std::int64_t members = c.last - c.first + 1;
      if (s.left > 0) {
        if (!s.started) begin(c, s, t);
        --s.left;
        c.free = t + s.packet;
        s.ready = s.started ? t : c.free + s.stall;
        s.started = true;
        busy_ += s.packet * members;
        continue;
      }
      c.free = t + semaphore_packet_;
      busy_ += semaphore_packet_ * members;
      c.end[pick] = c.free;
      c.ended_read[pick] = s.read;
      Transfer& x = transfers_[s.transfer];
      const std::int64_t done = t + ramp_ * c.last;
      if (done > x.last) x.last = done;
      x.engines_left -= static_cast<int>(members);
      if (x.engines_left == 0) {
        out.push_back({x.semaphore, x.last + x.visible, x.first < x.last ? x.first : x.last});
        --outstanding_;
      }
      c.queues[pick].pop();
    }
  }

  void begin(const Class& c, const Share& s, std::int64_t t) {
    std::int64_t& first = transfers_[s.transfer].first;
    if (t + ramp_ * c.first < first) first = t + ramp_ * c.first;
  }

  /// The ready queue that comes last in this round.
  std::size_t last_in_turn(const Class& c, const std::array<std::int64_t, queue_count>& r, std::int64_t t) const {
    std::size_t last = c.turn;
    for (std::size_t i = 1; i <= queue_count; ++i)
      if (r[(c.turn + i) % queue_count] <= t) last = (c.turn + i) % queue_count;
    return last;
  }

  static constexpr std::int64_t far = std::int64_t{1} << 62;

  int engines_;
  std::int64_t ramp_, semaphore_packet_, gap_hardware_, gap_software_, gap_window_, reaction_ = 0;
  bool separate_;
  std::vector<Class> classes_;
  std::vector<Transfer> transfers_;
  int outstanding_ = 0;
  std::int64_t horizon_ = 0;
  std::int64_t busy_ = 0;
};

}  // namespace nki::inline v0_1::sim
