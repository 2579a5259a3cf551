#pragma once

#include <nki/arch.hpp>
#include <nki/ir/cursor.hpp>
#include <nki/ir/program.hpp>
#include <nki/machine/cells.hpp>
#include <nki/machine/fifo.hpp>
#include <nki/machine/params.hpp>
#include <nki/machine/passes.hpp>
#include <nki/machine/pricing.hpp>
#include <nki/machine/program.hpp>

#include <array>
#include <cstdint>
#include <vector>

/// From recorded instructions to streams: which bytes wait for which, and what each instruction costs.
namespace nki::inline v0_1::machine {

/// What a source of instructions came to.
enum class Step : std::uint8_t { more, iteration, end };

/// Lowers a program in its own order, a step at a time, into one queue per stream. Nothing is ever expanded whole: what
/// is kept is what later instructions can still depend on.
///
/// Waits that an earlier wait already implies are left out, by vector clocks over the streams; more than one wait costs
/// an EVENT_SEMAPHORE each. Semaphores: one per stream, stepped by each of its instructions, and one per DMA and slot.
class Lowering {
 public:
  Lowering(const ir::Program& p, const Arch& a, const Params& c)
      : program_(&p),
        cursor_(p),
        map_(p),
        passes_(p, cursor_, map_),
        pricing_(p, a, c),
        cells_(map_.total()),
        entries_(p.loops.size()),
        dma_site_(p.instrs.size(), no_id) {
    prepare_semaphores();
  }

  /// Runs the program up to and including its next instruction, or to the next pass through a loop whose passes may
  /// repeat each other.
  Step refill() {
    while (!ended_) {
      switch (cursor_.next()) {
        case ir::Cursor::Event::instr:
          emit(cursor_.id());
          return Step::more;
        case ir::Cursor::Event::loop_begin:
          ++entries_[cursor_.id()];
          break;
        case ir::Cursor::Event::iteration:
          if (passes_.may_repeat(cursor_.id())) return Step::iteration;
          break;
        case ir::Cursor::Event::end:
          ended_ = true;
          break;
        default:
          break;
      }
    }
    return Step::end;
  }

  // What the simulator reads.
  const Instr* front(int stream) const {
    const auto& q = queues_[static_cast<std::size_t>(stream)];
    return q.empty() ? nullptr : &q.front();
  }
  void pop(int stream) {
    auto& q = queues_[static_cast<std::size_t>(stream)];
    if (q.front().wait_semaphore != no_id) --pending_waits_[q.front().wait_semaphore];
    q.pop();
  }
  const Work& work(std::uint32_t id) const { return pricing_.works()[id]; }
  const std::vector<Work>& works() const { return pricing_.works(); }
  std::uint32_t semaphores() const { return static_cast<std::uint32_t>(knowledge_.size()); }
  /// Whether instructions of this stream trigger DMAs.
  bool triggers(int stream) const { return triggers_[static_cast<std::size_t>(stream)]; }

  /// The oldest step of a semaphore that a wait may still name.
  std::uint32_t oldest_needed(std::uint32_t semaphore) const {
    std::uint32_t oldest = knowledge_[semaphore].last() + 1;
    const auto take = [&](std::uint32_t value) {
      if (value < oldest) oldest = value;
    };
    if (semaphore < stream_count) {
      for (const Cell& c : cells_) {
        if (c.write_semaphore == semaphore && !known_to_all(semaphore, c.write_value)) take(c.write_value);
        if (c.read_value[semaphore] != 0 && !known_to_all(semaphore, c.read_value[semaphore]))
          take(c.read_value[semaphore]);
      }
    } else {
      // A DMA leaves its mark on its own operands only.
      const DmaSite& site = dma_sites_[dma_site_of_[semaphore - stream_count]];
      for (ir::BufferId b : {site.dst, site.src}) {
        const std::uint32_t cells =
            map_.tracked(b) ? map_.per_slot(b) * static_cast<std::uint32_t>(program_->buffers[b].slots) : 0;
        for (std::uint32_t i = map_.first(b); i < map_.first(b) + cells; ++i) {
          if (cells_[i].write_semaphore == semaphore) take(cells_[i].write_value);
          for (std::size_t q = 0; q < queue_count; ++q)
            if (cells_[i].dma_read_semaphore[q] == semaphore) take(cells_[i].dma_read_value[q]);
        }
      }
    }
    if (pending_waits_[semaphore] > 0)
      for (const auto& queue : queues_)
        for (std::size_t i = 0; i < queue.size(); ++i)
          if (queue[i].wait_semaphore == semaphore) take(queue[i].wait_value);
    return oldest;
  }

  /// Machine instructions emitted so far, events included, and recorded instructions that they came from.
  std::int64_t emitted() const { return emitted_; }
  std::int64_t instructions() const { return instructions_; }

  // What exact skipping needs (sim/steady.hpp).

  /// The loop of the last `Step::iteration`, how often it has been entered, and its index.
  ir::LoopId loop() const { return cursor_.id(); }
  std::int64_t loop_entry() const { return entries_[loop()]; }
  std::int64_t loop_index() const { return cursor_.loop_index(loop()); }
  std::int64_t loop_upper() const { return cursor_.loop_upper(loop()); }
  StreamMask loop_streams() const { return passes_.streams(loop()); }
  std::int64_t uniform_until(std::int64_t from) const { return passes_.uniform_until(cursor_, loop(), from); }
  const std::vector<std::int64_t>& instances() const { return cursor_.instances(); }
  std::int32_t slots(std::size_t buffer) const { return program_->buffers[buffer].slots; }

  /// Goes on at another index of the loop, with the pools' counters moved.
  void jump(std::int64_t index, const std::vector<std::int64_t>& instances) { cursor_.jump(loop(), index, instances); }
  void add_skipped(std::int64_t emitted, std::int64_t instructions) {
    emitted_ += emitted;
    instructions_ += instructions;
  }

  /// Writes down, through `out`, everything that decides how lowering goes on, relative to the present: numbers of
  /// semaphores count back from the last one, slots come by age. What no later wait can name is written as dead.
  /// `time(semaphore, value)` writes when the simulator saw a step.
  template <class Out, class Time>
  void write_state(StreamMask streams, Out&& out, Time&& time) const {
    Clock least;  // what every stream of the loop knows
    for (std::size_t e = 0; e < stream_count; ++e) {
      least[e] = no_id;
      for (std::size_t s = 0; s < stream_count; ++s)
        if (((streams >> s) & 1u) != 0 && known_[s][e] < least[e]) least[e] = known_[s][e];
    }
    for (std::size_t s = 0; s < stream_count; ++s)
      if (((streams >> s) & 1u) != 0)
        for (std::size_t e = 0; e < stream_count; ++e)
          out(static_cast<std::int64_t>(knowledge_[e].last()) - known_[s][e]);
    const auto settled = [&](std::uint32_t semaphore, std::uint32_t value) {
      for (std::size_t s = 0; s < stream_count; ++s)
        if (((streams >> s) & 1u) != 0 &&
            !(semaphore >= stream_count && knowledge_[semaphore][value].observed[s] != 0) &&
            !implied(known_[s], semaphore, value))
          return false;
      return true;
    };
    // Cells share their writers and readers, so each is described once.
    std::array<Wait, 64> described;
    std::uint32_t n_described = 0;
    const auto write_reference = [&](std::uint32_t semaphore, std::uint32_t value) {
      if (semaphore == no_id || value == 0) return out(0);
      for (std::uint32_t i = 0; i < n_described; ++i)
        if (described[i].semaphore == semaphore && described[i].value == value)
          return out(-1 - static_cast<std::int64_t>(i));
      if (settled(semaphore, value)) return out(0);
      if (n_described < described.size()) described[n_described++] = {semaphore, value, Cause::operand};
      const Knowledge& k = knowledge_[semaphore][value];
      out((std::int64_t{1} + semaphore_code(semaphore)) << 32 | (knowledge_[semaphore].last() - value));
      for (std::size_t e = 0; e < stream_count; ++e) {
        const std::uint32_t last = knowledge_[e].last(), seen = k.observed[e] < least[e] ? least[e] : k.observed[e];
        const std::uint32_t known = k.known[e] < least[e] ? least[e] : k.known[e];
        out(static_cast<std::int64_t>(last - known) << 32 | (k.observed[e] == 0 ? no_id : last - seen));
      }
      out(k.partitions);
      time(semaphore, value);
    };
    for (ir::BufferId b = 0; b < program_->buffers.size(); ++b) {
      if (!map_.tracked(b)) continue;
      for (std::int32_t age = 0; age < program_->buffers[b].slots; ++age) {
        std::int64_t run = 0;  // equal neighbours, written as their number
        const Cell* before = nullptr;
        for (std::uint32_t i = 0; i < map_.per_slot(b); ++i) {
          const Cell& cell = cells_[map_.first(b) + map_.per_slot(b) * slot_of_age(b, age) + i];
          if (before != nullptr && *before == cell) {
            ++run;
            continue;
          }
          out(run);
          run = 0;
          before = &cell;
          write_reference(cell.write_semaphore, cell.write_value);
          for (std::uint32_t r = 0; r < stream_count; ++r)
            if (cell.read_value[r] != 0) {
              out(r);
              write_reference(r, cell.read_value[r]);
            }
          for (std::size_t q = 0; q < queue_count; ++q)
            if (cell.dma_read_semaphore[q] != no_id) {
              out(static_cast<std::int64_t>(stream_count + q));
              write_reference(cell.dma_read_semaphore[q], cell.dma_read_value[q]);
            }
        }
        out(run);
      }
    }
    for (std::size_t s = 0; s < stream_count; ++s) {
      if (((streams >> s) & 1u) == 0) continue;
      out(static_cast<std::int64_t>(queues_[s].size()));
      for (std::size_t i = 0; i < queues_[s].size(); ++i) {
        const Instr& in = queues_[s][i];
        out(static_cast<std::int64_t>(in.form));
        if (in.wait_semaphore != no_id) time(in.wait_semaphore, in.wait_value);
      }
    }
    for (std::uint32_t m = stream_count; m < knowledge_.size(); ++m) {
      const DmaSite& site = dma_sites_[dma_site_of_[m - stream_count]];
      const std::uint32_t by_age =
          site.first_semaphore + slot_of_age(site.slot_of, static_cast<std::int32_t>(m - site.first_semaphore));
      time(by_age, knowledge_[by_age].last());
    }
  }

  /// A name of a semaphore that does not depend on where the rotation stands: its DMA and the age of its slot.
  std::int64_t semaphore_code(std::uint32_t semaphore) const {
    if (semaphore == no_id) return -1;
    if (semaphore < stream_count) return semaphore;
    const DmaSite& site = dma_sites_[dma_site_of_[semaphore - stream_count]];
    const std::int64_t n = program_->buffers[site.slot_of].slots, slot = semaphore - site.first_semaphore;
    return site.first_semaphore + ir::floormod(cursor_.instance(site.slot_of) - slot, n);
  }

 private:
  using Clock = std::array<std::uint32_t, stream_count>;

  /// What is known once a semaphore has reached a value, and which streams have waited for it.
  struct Knowledge {
    Clock known{};
    Clock observed{};  ///< the stream's next own number at the time, or 0
    std::int32_t partitions = 0;
  };
  struct Cell {
    std::uint32_t write_semaphore = no_id, write_value = 0;
    Clock read_value{};  ///< last reader of each stream since the write, by its own semaphore
    std::array<std::uint32_t, queue_count> dma_read_semaphore{no_id, no_id, no_id};
    std::array<std::uint32_t, queue_count> dma_read_value{};
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  struct DmaSite {
    std::uint32_t first_semaphore = 0;  ///< one for each slot
    ir::BufferId slot_of = 0;           ///< of this buffer
    ir::BufferId dst = 0, src = 0;
  };
  struct Wait {
    std::uint32_t semaphore = 0, value = 0;
    Cause cause = Cause::operand;
  };

  void prepare_semaphores() {
    const ir::Program& p = *program_;
    for (int i = 0; i < stream_count; ++i) knowledge_.emplace_back(stream_history);
    for (ir::InstrId i = 0; i < p.instrs.size(); ++i) {
      const ir::Instr& in = p.instrs[i];
      const auto stream = static_cast<std::size_t>(stream_of(in.engine));
      active_[stream] = true;
      if (in.op != ir::Opcode::dma_copy) continue;
      triggers_[stream] = true;
      const ir::BufferId dst = p.views[p.operand(in, 0)].buffer, src = p.views[p.operand(in, 1)].buffer;
      const ir::BufferId slot_of = p.buffers[dst].space != ir::Space::hbm ? dst : src;
      dma_site_[i] = static_cast<std::uint32_t>(dma_sites_.size());
      dma_sites_.push_back({static_cast<std::uint32_t>(stream_count + dma_site_of_.size()), slot_of, dst, src});
      dma_site_of_.resize(dma_site_of_.size() + static_cast<std::size_t>(p.buffers[slot_of].slots), dma_site_[i]);
    }
    // A flat program has a DMA for every transfer; each then steps its semaphore once.
    const std::size_t capacity = dma_site_of_.size() > 1024 ? 2 : 16;
    knowledge_.resize(stream_count + dma_site_of_.size(), History<Knowledge>(capacity));
    pending_waits_.resize(knowledge_.size());
  }

  std::uint32_t slot_of_age(ir::BufferId b, std::int32_t age) const {
    return static_cast<std::uint32_t>(ir::floormod(cursor_.instance(b) - age, program_->buffers[b].slots));
  }

  bool known_to_all(std::uint32_t semaphore, std::uint32_t value) const {
    for (std::size_t s = 0; s < stream_count; ++s)
      if (active_[s] && known_[s][semaphore] < value) return false;
    return true;
  }

  /// Whether `clock` implies that a semaphore has reached a value.
  bool implied(const Clock& clock, std::uint32_t semaphore, std::uint32_t value) const {
    if (semaphore < stream_count) return clock[semaphore] >= value;
    const Clock& observed = knowledge_[semaphore][value].observed;
    for (std::size_t e = 0; e < stream_count; ++e)
      if (observed[e] != 0 && clock[e] >= observed[e]) return true;
    return false;
  }

  void require(int stream, std::uint32_t semaphore, std::uint32_t value, Cause cause) {
    const auto s = static_cast<std::size_t>(stream);
    if (semaphore >= stream_count && knowledge_[semaphore][value].observed[s] != 0) return;
    if (implied(known_[s], semaphore, value)) return;
    for (std::size_t i = 0; i < n_waits_; ++i)
      if (waits_[i].semaphore == semaphore) {
        if (waits_[i].value < value) waits_[i].value = value;
        return;
      }
    if (n_waits_ == waits_.size()) waits_.resize(waits_.size() * 2);
    waits_[n_waits_++] = {semaphore, value, cause};
  }

  void push_knowledge(std::uint32_t semaphore, const Knowledge& k) {
    knowledge_[semaphore].make_room([&] { return oldest_needed(semaphore); });
    knowledge_[semaphore].push(k);
  }

  void emit(ir::InstrId id) {
    const ir::Instr& in = program_->instrs[id];
    const Stream stream_id = stream_of(in.engine);
    const int stream = static_cast<int>(stream_id);
    const auto s = static_cast<std::size_t>(stream);
    const bool dma = in.op == ir::Opcode::dma_copy;
    const Pricing::Priced priced = pricing_.price(cursor_, in);
    const std::int32_t partitions = pricing_.works()[priced.work].partitions;
    const ir::OpInfo& op = ir::info(in.op);
    const auto each_operand = [&](auto&& fn) {
      for (int o = 0; o < in.n_operands; ++o)
        fn(program_->operand(in, o), op.operands[static_cast<std::size_t>(o)].access == ir::Access::read);
    };
    const auto each_cell = [&](ir::ViewId v, auto&& fn) {
      map_.for_each(cursor_, v, [&](std::uint32_t cell) { fn(cells_[cell]); });
    };

    // What this instruction must wait for.
    n_waits_ = 0;
    each_operand([&](ir::ViewId v, bool read) {
      each_cell(v, [&](const Cell& c) {
        // An engine's own writes and reads are in order, but what it reads must have left its pipeline; a DMA comes
        // later than the stream that triggers it.
        if (c.write_semaphore != no_id && (read || dma || c.write_semaphore != static_cast<std::uint32_t>(stream)))
          require(stream, c.write_semaphore, c.write_value,
                  !read                              ? Cause::slot
                  : c.write_semaphore < stream_count ? Cause::operand
                                                     : Cause::load);
        if (read) return;
        for (std::uint32_t r = 0; r < stream_count; ++r)
          if (c.read_value[r] != 0 && (dma || r != static_cast<std::uint32_t>(stream)))
            require(stream, r, c.read_value[r], Cause::slot);
        for (std::size_t q = 0; q < queue_count; ++q)
          if (c.dma_read_semaphore[q] != no_id)
            require(stream, c.dma_read_semaphore[q], c.dma_read_value[q], Cause::store);
      });
    });
    const auto queue = static_cast<std::size_t>(queue_of(stream_id));
    if (dma) {
      // Transfers of one queue end in order where each engine takes part in both: a reader with fewer partitions than
      // the reader before it waits for that one, so that the later one stands for both.
      each_cell(program_->operand(in, 1), [&](const Cell& c) {
        if (c.dma_read_semaphore[queue] != no_id &&
            knowledge_[c.dma_read_semaphore[queue]][c.dma_read_value[queue]].partitions > partitions)
          require(stream, c.dma_read_semaphore[queue], c.dma_read_value[queue], Cause::store);
      });
    }

    // A wait that another one implies is left out; the last one goes on the instruction, the others on events.
    for (std::size_t i = 0; i < n_waits_ && n_waits_ > 1;) {
      bool redundant = false;
      for (std::size_t j = 0; j < n_waits_ && !redundant; ++j)
        redundant = i != j && implied(knowledge_[waits_[j].semaphore][waits_[j].value].known, waits_[i].semaphore,
                                      waits_[i].value);
      if (redundant) {
        for (std::size_t k = i + 1; k < n_waits_; ++k) waits_[k - 1] = waits_[k];
        --n_waits_;
      } else {
        ++i;
      }
    }
    for (std::size_t i = 0; i < n_waits_; ++i) {
      Knowledge& k = knowledge_[waits_[i].semaphore][waits_[i].value];
      for (std::size_t e = 0; e < stream_count; ++e)
        if (known_[s][e] < k.known[e]) known_[s][e] = k.known[e];
      if (waits_[i].semaphore < stream_count) {
        if (known_[s][waits_[i].semaphore] < waits_[i].value) known_[s][waits_[i].semaphore] = waits_[i].value;
      } else {
        k.observed[s] = knowledge_[s].last() + 1;
      }
      if (i + 1 < n_waits_)
        push(s, {event_work(), id, waits_[i].semaphore, waits_[i].value, no_id, waits_[i].cause, 0});
    }
    Instr out{priced.work, id, no_id, 0, no_id, Cause::operand, 0};
    if (n_waits_ > 0) {
      const Wait& last = waits_[n_waits_ - 1];
      out.wait_semaphore = last.semaphore;
      out.wait_value = last.value;
      out.cause = last.cause;
    }
    for (std::uint32_t pass = 1; pass < priced.passes; ++pass) {
      push(s, out);
      out.wait_semaphore = no_id;
    }

    // What later instructions will find.
    Knowledge now{known_[s], {}, partitions};
    std::uint32_t semaphore = static_cast<std::uint32_t>(s);
    if (dma) {
      const DmaSite& site = dma_sites_[dma_site_[id]];
      semaphore = site.first_semaphore + static_cast<std::uint32_t>(cursor_.slot(site.slot_of));
    } else {
      now.known[s] = knowledge_[s].last() + 1;
    }
    push_knowledge(semaphore, now);
    const std::uint32_t value = knowledge_[semaphore].last();
    out.signal = semaphore;
    push(s, out);
    ++instructions_;
    each_operand([&](ir::ViewId v, bool read) {
      each_cell(v, [&](Cell& c) {
        if (!read) {
          c = Cell{};
          c.write_semaphore = semaphore;
          c.write_value = value;
        } else if (dma) {
          c.dma_read_semaphore[queue] = semaphore;
          c.dma_read_value[queue] = value;
        } else {
          c.read_value[s] = value;
        }
      });
    });
  }

  void push(std::size_t s, Instr i) {
    // The same instruction of another pass has the same form: names and numbers count from the present.
    const auto mix = [](std::uint64_t h, std::uint64_t v) {
      h = (h ^ v) * 0x9E3779B97F4A7C15ull;
      return h ^ (h >> 32);
    };
    std::uint64_t h = mix(std::uint64_t{i.work} << 32 | i.site, static_cast<std::uint64_t>(i.cause));
    h = mix(h, static_cast<std::uint64_t>(semaphore_code(i.signal)));
    if (i.wait_semaphore != no_id) {
      h = mix(h, static_cast<std::uint64_t>(semaphore_code(i.wait_semaphore)));
      h = mix(h, knowledge_[i.wait_semaphore].last() - i.wait_value);
    }
    i.form = h;
    if (i.wait_semaphore != no_id) ++pending_waits_[i.wait_semaphore];
    queues_[s].push(i);
    ++emitted_;
  }
  std::uint32_t event_work() {
    if (event_work_ == no_id) {
      Work w;
      w.kind = Kind::event;
      event_work_ = pricing_.intern(w);
    }
    return event_work_;
  }

  static constexpr std::size_t stream_history = 1024;

  const ir::Program* program_;
  ir::Cursor cursor_;
  CellMap map_;
  LoopPasses passes_;
  Pricing pricing_;
  std::vector<Cell> cells_;
  std::vector<std::int64_t> entries_;
  std::vector<DmaSite> dma_sites_;
  std::vector<std::uint32_t> dma_site_;     // of an instruction
  std::vector<std::uint32_t> dma_site_of_;  // of a semaphore, counted from the streams' own
  std::vector<History<Knowledge>> knowledge_;
  std::vector<std::uint32_t> pending_waits_;  // in the queues, on each semaphore
  std::array<Clock, stream_count> known_{};
  std::array<Fifo<Instr>, stream_count> queues_;
  std::array<bool, stream_count> active_{}, triggers_{};
  std::vector<Wait> waits_ = std::vector<Wait>(8);
  std::size_t n_waits_ = 0;
  std::uint32_t event_work_ = no_id;
  std::int64_t emitted_ = 0, instructions_ = 0;
  bool ended_ = false;
};

/// The whole of a program's streams, for inspection, tests and timing without lowering.
inline Program lower(const ir::Program& p, const Arch& a, const Params& c) {
  Lowering l(p, a, c);
  Program out;
  out.name = p.kernel;
  out.ticks_per_ns = a.ticks_per_ns.as_int();
  const auto drain = [&] {
    for (int s = 0; s < stream_count; ++s)
      while (const Instr* i = l.front(s)) {
        out.streams[static_cast<std::size_t>(s)].push_back(*i);
        l.pop(s);
      }
  };
  while (l.refill() != Step::end) drain();
  out.works = l.works();
  out.semaphores = l.semaphores();
  return out;
}

}  // namespace nki::inline v0_1::machine
