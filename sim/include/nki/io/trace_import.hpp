#pragma once

#include <nki/arch.hpp>
#include <nki/error.hpp>
#include <nki/io/json.hpp>
#include <nki/ir/expr.hpp>
#include <nki/machine/cost.hpp>
#include <nki/machine/params.hpp>
#include <nki/machine/program.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Recordings of a device as machine programs: what the profiler wrote down about the instruction streams, without the
/// times, so that `sim` can be held against the times.
namespace nki::inline v0_1::io {

inline constexpr std::string_view foreign_trace =
    "NKI-E070: a trace holds the instructions of a kernel, as the profiler records them";
inline constexpr std::string_view unsatisfied_wait =
    "NKI-E071: a trace holds the instructions whose semaphores its waits name";
inline constexpr std::string_view unreadable_operands =
    "NKI-E072: an instruction of a trace has the operands of its opcode";

/// One recorded instruction of the body.
struct TraceRecord {
  machine::Stream stream = machine::Stream::sync;
  std::int64_t pc = 0;
  std::string opcode;
  double start_ns = 0;  ///< from the beginning of the body
  double duration_ns = 0;
};

/// What a recording says beside the streams.
struct TraceInfo {
  double t0_ns = 0;           ///< start of the body in the recording
  double body_ns = 0;         ///< first start to last end
  bool has_clock = false;     ///< whether the TensorE clock changed while it was recorded
  double clock_phase_ns = 0;  ///< of the grid of half windows, from t0: what sim::Options asks for
  /// Stream by stream, in the order of execution; `machine::Instr::site` is an index here. A LDWEIGHTS and its MATMUL
  /// are one machine instruction and two neighbours here, of which the site names the first.
  std::vector<TraceRecord> records;
  std::vector<std::string> unknown_opcodes;  ///< sorted; charged as `import_trace` says
};

/// Reads the body of a recorded trace: instructions that carry `instruction_type`, in the order of their pc.
///
/// Times:   recomputed from the recorded shapes and `c`; the recorded ones go to `info` only.
/// Waits:   a DMA is one step of its semaphore, so a wait for 16 k of its counts is a wait for step k.
/// Unknown: an opcode without a formula is named in `info` and costs the fixed part of its engine and one element per
///          cycle of its longest operand; on tensor and sync, the interval of an EVENT_SEMAPHORE.
/// Errors:  NKI-E060, E063..E066 (the file), E070..E072 (the trace), E901 (waits that wait for each other).
machine::Program import_trace(std::string_view json_text, std::string_view name, const Arch& a,
                              const machine::Params& c, TraceInfo* info = nullptr);

namespace detail {

/// Opcodes with a formula; `Work::op` is a place here, 0 for all others.
inline constexpr std::array<std::string_view, 13> trace_opcodes{"?",
                                                                "ACTIVATE",
                                                                "ACT_TABLE_LOAD",
                                                                "CAST",
                                                                "COPY",
                                                                "DMA_DIRECT2D",
                                                                "EVENT_SEMAPHORE",
                                                                "LDWEIGHTS",
                                                                "MATMUL",
                                                                "NOP",
                                                                "RECIPROCAL",
                                                                "TENSOR_REDUCE",
                                                                "TENSOR_SCALAR"};

/// What one operand of a recorded instruction walks in each partition.
struct TraceAccess {
  std::string_view dtype;
  std::uint64_t address = 0;
  std::int64_t elems = 0;  ///< 0: there is no such operand
  bool in_psum() const { return address >= 0x2000000 && address < 0x2400000; }
};

/// The text of a recorded instruction's operands.
class TraceOperands {
 public:
  struct Condition {
    std::uint64_t semaphore = 0;
    std::int64_t amount = 0;
  };

  TraceOperands() = default;
  /// `place` names the instruction in messages.
  TraceOperands(std::string_view text, const std::string& place) : text_(text), place_(&place) {}

  void conditions(std::vector<Condition>& waits, std::vector<Condition>& updates) const {
    for (std::size_t i = 0; i + 1 < text_.size(); ++i) {
      if (text_[i + 1] != '[' || (text_[i] != 'S' && text_[i] != 'E')) continue;
      if (i > 0 && text_[i - 1] != ' ' && text_[i - 1] != '$') continue;
      Condition c;
      const std::size_t close = text_.find(']', i);
      if (text_[i] == 'E' || close == std::string_view::npos ||
          !parse(text_.substr(i + 2, close - i - 2), 10, c.semaphore))
        fail(text_.substr(i));
      std::string_view rest = text_.substr(close + 1);
      if (rest.substr(0, 2) == " (") {  // who else knows it by which name
        const std::size_t label = rest.find(')');
        if (label == std::string_view::npos) fail(text_.substr(i));
        rest.remove_prefix(label + 1);
      }
      rest = rest.substr(0, rest.find(' '));
      if (rest.substr(0, 2) == ">=" && parse(rest.substr(2), 10, c.amount) && c.amount >= 0) {
        waits.push_back(c);
      } else if (rest == "++@complete") {
        c.amount = 1;
        updates.push_back(c);
      } else {
        fail(text_.substr(i));
      }
    }
  }

  bool has(std::string_view field) const { return !value(field).empty(); }
  std::string_view value(std::string_view field) const {
    for (std::size_t at = text_.find(field); at != std::string_view::npos; at = text_.find(field, at + 1)) {
      const std::size_t end = at + field.size();
      if ((at == 0 || text_[at - 1] == ' ') && end < text_.size() && text_[end] == '=') {
        const std::string_view rest = text_.substr(end + 1);
        return rest.substr(0, rest.find(' '));
      }
    }
    return {};
  }
  std::int64_t integer(std::string_view field, std::int64_t least, std::int64_t most) const {
    std::int64_t n = 0;
    if (!parse(value(field), 10, n) || n < least || n > most) fail(field, value(field));
    return n;
  }
  std::uint64_t address(std::string_view field) const {
    std::uint64_t n = 0;
    const std::string_view hex = value(field);
    if (hex.substr(0, 2) != "0x" || !parse(hex.substr(2), 16, n)) fail(field, hex);
    return n;
  }
  /// [step, ...][count, ...], innermost first.
  std::vector<std::array<std::int64_t, 2>> pattern(std::string_view field) const {
    std::vector<std::array<std::int64_t, 2>> out;
    if (!parse_pattern(value(field), out)) fail(field, value(field));
    return out;
  }

  /// dtype@address[step, ...][count, ...]; nothing if there is no such field.
  TraceAccess access(std::string_view field) const {
    TraceAccess a;
    if (has(field) && !parse_access(value(field), a)) fail(field, value(field));
    return a;
  }
  /// The operand with the most elements, whatever its name.
  TraceAccess longest() const {
    TraceAccess out;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find(' ', at), text_.size()), equals = text_.find('=', at);
      TraceAccess a;
      if (equals < end && parse_access(text_.substr(equals + 1, end - equals - 1), a) && a.elems > out.elems) out = a;
      at = end + 1;
    }
    return out;
  }
  /// Columns of the stationary tile, from the "rows*columns" at the end; 0 where it is not given.
  std::int64_t columns() const {
    const std::string_view text = text_.substr(0, text_.find_last_not_of(' ') + 1);
    const std::size_t star = text.rfind('*');
    std::int64_t n = 0;
    if (star == std::string_view::npos || !parse(text.substr(star + 1), 10, n) || n < 0) return 0;
    return n;
  }

  [[noreturn]] void fail(std::string_view what, std::string_view got = {}) const {
    throw_damaged(unreadable_operands, "\"" + shown(what) + (got.empty() ? "" : "=" + shown(got)) + "\" of " + *place_,
                  {}, "import a trace of the supported profiler version");
  }

 private:
  static constexpr std::int64_t most_elems = std::int64_t{1} << 24;  // of one instruction; keeps times in 64 bits

  template <class Int>
  static bool parse(std::string_view digits, int base, Int& out) {
    const char* last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, out, base);
    return !digits.empty() && error == std::errc{} && end == last;
  }
  static bool parse_pattern(std::string_view text, std::vector<std::array<std::int64_t, 2>>& out) {
    const std::size_t middle = text.find("][");
    if (text.size() < 4 || text.front() != '[' || text.back() != ']' || middle == std::string_view::npos) return false;
    std::string_view steps = text.substr(1, middle - 1), counts = text.substr(middle + 2, text.size() - middle - 3);
    std::int64_t total = 1;
    while (true) {
      const std::size_t s = steps.find(','), c = counts.find(',');
      std::array<std::int64_t, 2> d{};
      if (!parse(steps.substr(0, s), 10, d[0]) || !parse(counts.substr(0, c), 10, d[1]) || d[1] < 1) return false;
      total = ir::detail::mul_far(total, d[1]);
      if (total > most_elems) return false;
      out.push_back(d);
      if ((s == std::string_view::npos) != (c == std::string_view::npos)) return false;
      if (s == std::string_view::npos) return true;
      steps.remove_prefix(s + 1);
      counts.remove_prefix(c + 1);
    }
  }
  static bool parse_access(std::string_view text, TraceAccess& out) {
    const std::size_t at = text.find('@');
    if (at != std::string_view::npos) {
      out.dtype = text.substr(0, at);
      text.remove_prefix(at + 1);
    }
    const std::size_t bracket = text.find('[');
    std::vector<std::array<std::int64_t, 2>> dims;
    if (text.substr(0, 2) != "0x" || bracket == std::string_view::npos ||
        !parse(text.substr(2, bracket - 2), 16, out.address) || !parse_pattern(text.substr(bracket), dims))
      return false;
    out.elems = 1;
    for (const auto& d : dims) out.elems *= d[1];
    return true;
  }

  std::string_view text_;
  const std::string* place_ = nullptr;
};

class TraceImport {
 public:
  TraceImport(std::string_view text, std::string_view name, const Arch& a, const machine::Params& c, TraceInfo& info)
      : text_(text), name_(name), arch_(&a), params_(&c), info_(&info) {}

  machine::Program run() && {
    read();
    std::stable_sort(records_.begin(), records_.end(), [](const Recorded& x, const Recorded& y) {
      return x.stream != y.stream ? x.stream < y.stream : x.pc < y.pc;
    });
    times();
    for (Recorded& r : records_) {
      r.place = std::string(machine::stream_names[static_cast<std::size_t>(r.stream)]) + " pc " + std::to_string(r.pc) +
                " " + shown(r.opcode) + " in " + std::string(name_);
      operands(r).conditions(r.waits, r.updates);
      if (r.opcode == "DMA_DIRECT2D") counts_of_dma(r);
      for (const Condition& u : r.updates) count(r, u);
      info_->records.push_back({r.stream, r.pc, r.opcode, r.start - info_->t0_ns, r.duration});
    }
    program_.name = std::string(name_);
    program_.ticks_per_ns = arch_->ticks_per_ns.as_int();
    for (std::size_t i = 0; i < records_.size(); ++i) {
      const bool pair = records_[i].opcode == "LDWEIGHTS" && i + 1 < records_.size() &&
                        records_[i].stream == records_[i + 1].stream && records_[i + 1].opcode == "MATMUL";
      emit(i, pair);
      i += pair ? 1 : 0;
    }
    program_.semaphores = static_cast<std::uint32_t>(semaphores_.size());
    std::sort(info_->unknown_opcodes.begin(), info_->unknown_opcodes.end());
    require_progress();
    return std::move(program_);
  }

 private:
  using Condition = TraceOperands::Condition;
  using Stream = machine::Stream;
  using Work = machine::Work;

  struct Recorded {
    Stream stream = Stream::sync;
    std::int64_t pc = 0;
    double start = 0, duration = 0;
    std::string opcode, text, place;
    bool transpose = false;
    std::vector<Condition> waits, updates;
  };
  struct Semaphore {
    std::uint32_t id = 0;
    std::int64_t increment = 0;  ///< of each of its updates
    std::int64_t steps = 0;      ///< updates in the whole trace
  };

  TraceOperands operands(const Recorded& r) const { return TraceOperands(r.text, r.place); }

  void read() {
    bool any = false;
    for_each_record(
        text_, name_,
        [&](std::string_view section) {
          in_instructions_ = section == "instructions";
          any = any || in_instructions_;
          return in_instructions_ || section == "tensor_engine_clock";
        },
        [&](std::string_view, std::int64_t index, const Json& v) {
          if (index < 0)
            v.require(Json::Kind::array, "an array");
          else if (in_instructions_)
            instruction(v);
          else
            clock_state(v);
          return true;
        });
    if (records_.empty()) {
      throw_damaged(foreign_trace,
                    (any ? "no instruction of a kernel in " : "no $.instructions in ") + std::string(name_), {},
                    "name a trace of the profiler in JSON");
    }
  }
  void instruction(const Json& v) {
    // The runtime's own instructions around the kernel lack this key.
    if (!v.has("instruction_type")) return;
    Recorded r;
    const Json label = v.at("label");
    if (!stream_named(label.string(), r.stream))
      label.fail(foreign_trace, "\"" + shown(label.string()) + "\"",
                 "Tensor, TensorMatrix, Vector, Scalar, GpSimd, Sync");
    r.pc = v.at("pc").integer<std::int64_t>();
    r.start = time(v.at("timestamp"));
    r.duration = time(v.at("duration"));
    r.opcode = v.at("opcode").string();
    r.text = v.at("operands").string();
    r.transpose = v.at("instruction_type").string() == "TRANSPOSE";
    records_.push_back(std::move(r));
  }
  void clock_state(const Json& v) {
    clock_.push_back({time(v.at("timestamp")), v.at("k").integer(0, 64) * 64 / v.at("n").integer(1, 64)});
  }
  static bool stream_named(std::string_view label, Stream& out) {
    constexpr std::array<std::pair<std::string_view, Stream>, 6> labels{{{"Tensor", Stream::tensor},
                                                                         {"TensorMatrix", Stream::tensor},
                                                                         {"Vector", Stream::vector},
                                                                         {"Scalar", Stream::scalar},
                                                                         {"GpSimd", Stream::gpsimd},
                                                                         {"Sync", Stream::sync}}};
    for (const auto& [text, stream] : labels)
      if (text == label) {
        out = stream;
        return true;
      }
    return false;
  }
  static double time(const Json& v) {
    constexpr double longest = 1e15;
    const double t = v.number();
    if (!(t >= 0 && t <= longest)) v.fail(out_of_range, std::to_string(t), "0..1e15 ns");
    return t;
  }

  /// The frame of the body, and the grid on which the clock changed.
  void times() {
    double first = records_.front().start, last = 0;
    for (const Recorded& r : records_) {
      first = std::min(first, r.start);
      last = std::max(last, r.start + r.duration);
    }
    info_->t0_ns = first;
    info_->body_ns = last - first;
    const double window = params_->clock_window_cycles.value / arch_->clock_tensor_cold_ghz.value;
    std::int64_t state = 32;  // cold: half of the cycles, in 64ths
    double sum = 0, anchor = 0;
    std::int64_t n = 0;
    std::stable_sort(clock_.begin(), clock_.end(), [](const Clock& x, const Clock& y) { return x.start < y.start; });
    for (const Clock& k : clock_) {
      if (k.state == state) continue;
      state = k.state;
      if (n == 0) anchor = k.start;
      sum += std::remainder(k.start - anchor, window);
      ++n;
    }
    info_->has_clock = n > 0;
    if (n == 0) return;
    const double phase = std::fmod(anchor + sum / static_cast<double>(n) - first, window);
    info_->clock_phase_ns = phase < 0 ? phase + window : phase;
  }

  void counts_of_dma(Recorded& r) const {
    const TraceOperands o = operands(r);
    r.updates.push_back(
        {static_cast<std::uint64_t>(o.integer("semaphore", 0, 1 << 20)), o.integer("sem_increment", 1, 1 << 20)});
  }
  void count(const Recorded& r, const Condition& update) {
    const auto next = static_cast<std::uint32_t>(semaphores_.size());
    Semaphore& s = semaphores_.try_emplace(update.semaphore, Semaphore{next, update.amount, 0}).first->second;
    if (s.increment != update.amount)
      operands(r).fail("S[" + std::to_string(update.semaphore) + "]",
                       "counted by " + std::to_string(s.increment) + " and by " + std::to_string(update.amount));
    ++s.steps;
  }

  void emit(std::size_t i, bool pair) {
    const Recorded& r = records_[i];
    std::vector<Condition> waits = r.waits, updates = r.updates;
    if (pair) {
      // What the MATMUL alone waits for holds back the whole pair, which one record stands for.
      waits.insert(waits.begin(), records_[i + 1].waits.begin(), records_[i + 1].waits.end());
      updates.insert(updates.end(), records_[i + 1].updates.begin(), records_[i + 1].updates.end());
    }
    if (updates.size() > 1) operands(r).fail("updates of semaphores", std::to_string(updates.size()));
    machine::Instr out;
    out.work = intern(work(r, pair ? &records_[i + 1] : nullptr));
    out.site = static_cast<std::uint32_t>(i);
    out.cause = machine::Cause::imported;
    if (!updates.empty()) out.signal = semaphores_.at(updates.front().semaphore).id;
    auto& stream = program_.streams[static_cast<std::size_t>(r.stream)];
    for (std::size_t w = 0; w < waits.size(); ++w) {
      machine::Instr event = out;
      resolve(r, waits[w], event);
      if (w + 1 == waits.size()) {
        out = event;
      } else {
        Work wait_only;
        wait_only.kind = machine::Kind::event;
        event.work = intern(wait_only);
        event.signal = machine::no_id;
        stream.push_back(event);
      }
    }
    stream.push_back(out);
  }
  void resolve(const Recorded& r, const Condition& wait, machine::Instr& out) const {
    if (wait.amount == 0) return;
    const auto it = semaphores_.find(wait.semaphore);
    const std::string text =
        "S[" + std::to_string(wait.semaphore) + "]>=" + std::to_string(wait.amount) + " of " + r.place;
    if (it == semaphores_.end())
      throw_damaged(unsatisfied_wait, text + ", which nothing counts", {}, "record the whole kernel");
    const Semaphore& s = it->second;
    const std::int64_t step = (wait.amount + s.increment - 1) / s.increment;
    if (step > s.steps)
      throw_damaged(unsatisfied_wait, text + ", which comes to " + std::to_string(s.steps * s.increment), {},
                    "record the whole kernel");
    out.wait_semaphore = s.id;
    out.wait_value = static_cast<std::uint32_t>(step);
  }

  std::uint32_t intern(const Work& w) {
    for (std::size_t i = program_.works.size(); i > 0; --i)
      if (program_.works[i - 1] == w) return static_cast<std::uint32_t>(i - 1);
    program_.works.push_back(w);
    return static_cast<std::uint32_t>(program_.works.size() - 1);
  }

  Work work(const Recorded& r, const Recorded* matmul) {
    const TraceOperands o = operands(r);
    Work w;
    std::string_view opcode = r.opcode;
    if (opcode == "EVENT_SEMAPHORE") {
      w.kind = machine::Kind::event;
    } else if (opcode == "NOP") {
      w.kind = machine::Kind::nop;
      w.duration = machine::ticks(*arch_, params_->final_wait.value - params_->wake_gpsimd.value);
    } else if (opcode == "DMA_DIRECT2D") {
      w = transfer(r, o);
    } else if (r.stream == Stream::tensor && (opcode == "LDWEIGHTS" || opcode == "MATMUL")) {
      w = product(r, matmul);
      if (matmul != nullptr) opcode = "MATMUL";
    } else if (!(r.stream == Stream::vector && vector(o, opcode, w)) &&
               !(r.stream == Stream::scalar && scalar(o, opcode, w))) {
      unknown(r);
      w = unknown_work(r.stream, o);
      opcode = trace_opcodes[0];
    }
    for (std::size_t i = 0; i < trace_opcodes.size(); ++i)
      if (trace_opcodes[i] == opcode) w.op = static_cast<std::uint8_t>(i);
    return w;
  }

  /// A load of weights and its product; a product alone streams through the weights that are there, a load alone
  /// streams nothing.
  Work product(const Recorded& r, const Recorded* matmul) const {
    const TraceOperands load = operands(r), move = matmul != nullptr ? operands(*matmul) : load;
    const bool loads = r.opcode == "LDWEIGHTS", moves = matmul != nullptr || !loads;
    const TraceAccess source = move.access("src");
    const bool f32 = move.has("fp32_mode") || source.dtype == "fp32";
    const std::int64_t floor = std::min(load.columns(), std::int64_t{64});
    const std::int64_t cycles = moves ? std::max(source.elems, floor) * (f32 ? 2 : 1) : 0;
    if (moves && source.elems == 0) move.fail("src");
    Work w = machine::detail::array_work(*arch_, *params_, cycles, f32, r.transpose);
    if (!loads) w.exposed_cold = w.exposed_warm = 0;
    return w;
  }

  bool vector(const TraceOperands& o, std::string_view opcode, Work& w) const {
    double per_cycle = 1;
    const TraceAccess src = o.access("src"), dst = o.access("dst");
    const bool psum = src.in_psum() || dst.in_psum(), f32 = src.dtype == "fp32" && dst.dtype == "fp32";
    if (opcode == "RECIPROCAL")
      per_cycle = 1 / params_->vector_reciprocal_cycles.value;
    else if (opcode == "TENSOR_SCALAR" && f32 && !psum)
      per_cycle = params_->vector_scalar_f32_elems.value;
    else if (opcode != "TENSOR_SCALAR" && opcode != "TENSOR_REDUCE" && opcode != "COPY" && opcode != "CAST")
      return false;
    double fixed = (psum ? params_->vector_fixed_psum : params_->vector_fixed_sbuf).value;
    if (o.value("imm_src").find("PTR") != std::string_view::npos) fixed += params_->vector_pointer.value;
    w = data_path(o, fixed, per_cycle * arch_->clock_vector_ghz.value, std::max(src.elems, dst.elems),
                  params_->vector_overlap);
    return true;
  }
  bool scalar(const TraceOperands& o, std::string_view opcode, Work& w) const {
    if (opcode == "ACT_TABLE_LOAD") {
      w.kind = machine::Kind::table;
      w.duration = machine::ticks(*arch_, params_->table_load);
      return true;
    }
    if (opcode != "ACTIVATE" && opcode != "COPY" && opcode != "CAST") return false;
    const TraceAccess src = o.access("src"), dst = o.access("dst");
    double fixed = params_->scalar_fixed.value;
    if (opcode == "ACTIVATE") fixed += (src.in_psum() ? params_->activate_psum : params_->activate_sbuf).value;
    w = data_path(o, fixed, arch_->clock_scalar_ghz.value, std::max(src.elems, dst.elems), params_->scalar_overlap);
    return true;
  }
  Work data_path(const TraceOperands& o, double fixed_ns, double elems_per_ns, std::int64_t elems,
                 const Figure& overlap) const {
    if (elems == 0) o.fail("src");
    Work w;
    w.duration = machine::ticks(*arch_, fixed_ns + static_cast<double>(elems) / elems_per_ns);
    w.overlap = machine::ticks(*arch_, overlap);
    return w;
  }

  void unknown(const Recorded& r) {
    auto& list = info_->unknown_opcodes;
    if (std::find(list.begin(), list.end(), r.opcode) == list.end()) list.push_back(r.opcode);
  }
  Work unknown_work(Stream stream, const TraceOperands& o) const {
    const TraceAccess x = o.longest();
    Work w;
    switch (stream) {
      case Stream::vector:
        w.duration = machine::ticks(*arch_, x.in_psum() ? params_->vector_fixed_psum : params_->vector_fixed_sbuf) +
                     x.elems * ticks_per_cycle(*arch_, arch_->clock_vector_ghz);
        w.overlap = machine::ticks(*arch_, params_->vector_overlap);
        break;
      case Stream::scalar:
        w.duration =
            machine::ticks(*arch_, params_->scalar_fixed) + x.elems * ticks_per_cycle(*arch_, arch_->clock_scalar_ghz);
        w.overlap = machine::ticks(*arch_, params_->scalar_overlap);
        break;
      case Stream::gpsimd:
        w = machine::detail::gpsimd_work(*arch_, *params_, x.elems);
        break;
      case Stream::tensor:
      case Stream::sync:
        w.kind = machine::Kind::event;
        break;
    }
    return w;
  }

  /// One run for each recorded element. Addresses tell the sides apart, because the distance between partitions occurs
  /// as a row of HBM, too; software descriptors name HBM by a table instead.
  Work transfer(const Recorded& r, const TraceOperands& o) const {
    constexpr std::int64_t largest = std::int64_t{1} << 24;
    const auto src_bytes = o.integer("src_elem_size", 1, largest), dst_bytes = o.integer("dst_elem_size", 1, largest);
    const auto src = o.pattern("src_pattern"), dst = o.pattern("dst_pattern");
    const bool from_sbuf = in_sbuf(o, "src_addr_imm"), to_sbuf = in_sbuf(o, "dst_addr_imm");
    std::int64_t elems = 1;
    for (const auto& d : src) elems *= d[1];
    machine::Transfer t;
    t.direction = to_sbuf ? (from_sbuf ? machine::Direction::sbuf_to_sbuf : machine::Direction::hbm_to_sbuf)
                          : (from_sbuf ? machine::Direction::sbuf_to_hbm : machine::Direction::hbm_to_hbm);
    t.software = r.stream == Stream::gpsimd;
    t.cast = src_bytes != dst_bytes || o.value("in_dtype") != o.value("out_dtype");
    t.run_bytes = src_bytes;
    t.run_bytes_dst = dst_bytes;
    if (from_sbuf || to_sbuf) {
      t.partitions = 1;
      for (const auto& d : to_sbuf ? dst : src)
        if (d[0] == partition_bytes) t.partitions = static_cast<std::int32_t>(d[1]);
      t.runs_pp = (elems + t.partitions - 1) / t.partitions;
    } else {
      const std::int64_t engines = arch_->dma_engines.as_int();
      t.runs_pp = (elems + engines - 1) / engines;
    }
    if (t.partitions > arch_->partitions.as_int()) o.fail("dst_pattern", o.value("dst_pattern"));
    Work w = machine::transfer_work(*arch_, *params_, t);
    if (!from_sbuf) w.read_bytes = elems * src_bytes;
    if (!to_sbuf) w.write_bytes = elems * dst_bytes;
    return w;
  }
  static bool in_sbuf(const TraceOperands& o, std::string_view field) {
    constexpr std::uint64_t first = 0x802000000000, last = 0x802100000000;
    if (!o.has(field)) return false;
    const std::uint64_t address = o.address(field);
    return address >= first && address < last;
  }

  /// Runs the streams without times: every wait must come true.
  void require_progress() const {
    std::array<std::size_t, machine::stream_count> at{};
    std::vector<std::uint32_t> count(program_.semaphores);
    for (bool any = true; any;) {
      any = false;
      for (std::size_t s = 0; s < machine::stream_count; ++s)
        for (; at[s] < program_.streams[s].size(); ++at[s], any = true) {
          const machine::Instr& in = program_.streams[s][at[s]];
          if (in.wait_semaphore != machine::no_id && count[in.wait_semaphore] < in.wait_value) break;
          if (in.signal != machine::no_id) ++count[in.signal];
        }
    }
    std::string text;
    for (std::size_t s = 0; s < machine::stream_count; ++s) {
      if (at[s] == program_.streams[s].size()) continue;
      const machine::Instr& in = program_.streams[s][at[s]];
      if (!text.empty()) text += "; ";
      for (const auto& [number, semaphore] : semaphores_)
        if (semaphore.id == in.wait_semaphore)
          text += records_[in.site].place + " waits for S[" + std::to_string(number) +
                  "]>=" + std::to_string(in.wait_value * semaphore.increment) + ", which has come to " +
                  std::to_string(count[semaphore.id] * semaphore.increment);
    }
    if (text.empty()) return;
    throw Error({.id = "NKI-E901",
                 .sentence = "every wait must be satisfied by an instruction that can run",
                 .got = std::move(text),
                 .allowed = {},
                 .hint = "look for two streams that wait for each other",
                 .file = {},
                 .line = 0,
                 .error_class = ErrorClass::deadlock});
  }

  static constexpr std::int64_t partition_bytes = 262144;  ///< between neighbouring partitions in DMA addresses

  struct Clock {
    double start;
    std::int64_t state;
  };

  std::string_view text_, name_;
  const Arch* arch_;
  const machine::Params* params_;
  TraceInfo* info_;
  bool in_instructions_ = false;
  std::vector<Recorded> records_;
  std::vector<Clock> clock_;
  std::map<std::uint64_t, Semaphore> semaphores_;
  machine::Program program_;
};

}  // namespace detail

inline machine::Program import_trace(std::string_view json_text, std::string_view name, const Arch& a,
                                     const machine::Params& c, TraceInfo* info) {
  TraceInfo own;
  TraceInfo& out = info != nullptr ? *info : own;
  out = {};
  return detail::TraceImport(json_text, name, a, c, out).run();
}

}  // namespace nki::inline v0_1::io
