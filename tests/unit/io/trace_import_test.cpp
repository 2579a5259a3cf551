#include <nki/io/trace_import.hpp>
#include <nki/sim/simulate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace io = nki::io;
namespace machine = nki::machine;
namespace sim = nki::sim;

constexpr const nki::Arch& trn2 = nki::arch::trn2;
constexpr const machine::Params& params = machine::trn2_params;

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
std::string small_trace() {
  return contents(std::string(NKI_TESTS_DIR) + "/data/trace_small.json");
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos)
    ADD_FAILURE() << from << " is not in the text";
  else
    text.replace(at, from.size(), to);
  return text;
}

struct Replay {
  machine::Program program;
  io::TraceInfo info;
  sim::Result result;
  std::vector<double> start_ns;  ///< simulated, by record
  double body_ns = 0;

  double body_error() const { return (body_ns - info.body_ns) / info.body_ns; }
  /// Simulated start of a recorded instruction.
  double start_of(machine::Stream stream, std::int64_t pc) const {
    for (std::size_t i = 0; i < info.records.size(); ++i)
      if (info.records[i].stream == stream && info.records[i].pc == pc) return start_ns[i];
    ADD_FAILURE() << "no pc " << pc;
    return 0;
  }
};

Replay replay(std::string_view text) {
  Replay r;
  r.program = io::import_trace(text, "t.json", trn2, params, &r.info);
  sim::Timeline timeline;
  r.result = sim::simulate(r.program, trn2, params, {.clock_phase_ns = r.info.clock_phase_ns, .timeline = &timeline});
  const double per_ns = static_cast<double>(r.result.ticks_per_ns);
  r.body_ns = static_cast<double>(r.result.body) / per_ns;
  r.start_ns.assign(r.info.records.size(), std::nan(""));
  double streamed = 0;
  for (const sim::Event& e : timeline.events) {
    if (e.row >= sim::Event::Row::dma_sync || e.site >= r.start_ns.size()) continue;
    const double start = static_cast<double>(e.issued) / per_ns;
    r.start_ns[e.site] = start;
    if (e.kind != machine::Kind::matmul) continue;
    // The MATMUL follows its LDWEIGHTS at once, a little later behind an EVENT_SEMAPHORE, and the MATMUL before it.
    if (e.site + 1 < r.start_ns.size() && r.info.records[e.site + 1].opcode == "MATMUL") {
      const bool event = e.site > 0 && r.info.records[e.site - 1].opcode == "EVENT_SEMAPHORE";
      r.start_ns[e.site + 1] =
          std::max(start + (event ? params.issue_after_event : params.issue_after_load).value, streamed);
    }
    streamed = static_cast<double>(e.end) / per_ns;
  }
  return r;
}

/// The error of importing `text`.
nki::Violation error_of(std::string_view text) {
  try {
    io::import_trace(text, "t.json", trn2, params);
  } catch (const nki::Error& e) {
    return e.violation();
  }
  ADD_FAILURE() << "no error";
  return {};
}
void expect_error(std::string_view text, std::string_view id, std::string_view part,
                  nki::ErrorClass error_class = nki::ErrorClass::damaged_file) {
  const nki::Violation v = error_of(text);
  EXPECT_EQ(v.id, id) << v.text();
  EXPECT_EQ(v.error_class, error_class) << v.text();
  EXPECT_NE(v.text().find(part), std::string::npos) << v.text();
}

TEST(TraceImport, ReadsTheBodyOnly) {
  io::TraceInfo info;
  const machine::Program p = io::import_trace(small_trace(), "t.json", trn2, params, &info);
  EXPECT_EQ(info.t0_ns, 1000);
  EXPECT_EQ(info.body_ns, 6036);
  ASSERT_EQ(info.records.size(), 12u);
  const auto size = [&](machine::Stream s) { return p.streams[static_cast<std::size_t>(s)].size(); };
  EXPECT_EQ(size(machine::Stream::tensor), 2u) << "two pairs of LDWEIGHTS and MATMUL";
  EXPECT_EQ(size(machine::Stream::vector), 2u);
  EXPECT_EQ(size(machine::Stream::scalar), 3u);
  EXPECT_EQ(size(machine::Stream::gpsimd), 2u);
  EXPECT_EQ(size(machine::Stream::sync), 1u);
  EXPECT_EQ(p.semaphores, 5u);
  EXPECT_EQ(info.records[1].opcode, "MATMUL");
  EXPECT_EQ(info.records[1].pc, 6);
  EXPECT_EQ(info.records[1].start_ns, 2190);
  EXPECT_EQ(info.records[1].duration_ns, 292);
  EXPECT_EQ(info.unknown_opcodes, std::vector<std::string>{"IOTA"});
}

TEST(TraceImport, TheClockGridIsThatOfTheRecordedSwitches) {
  io::TraceInfo info;
  io::import_trace(small_trace(), "t.json", trn2, params, &info);
  EXPECT_TRUE(info.has_clock);
  // 11740 and 18567 ns, two half windows apart; t0 is 1000 and a half window 3413.33 ns.
  EXPECT_NEAR(info.clock_phase_ns, 500.17, 0.01);
  io::import_trace(replaced(small_trace(), "\"k\": 8", "\"k\": 4"), "t.json", trn2, params, &info);
  EXPECT_FALSE(info.has_clock);
  EXPECT_EQ(info.clock_phase_ns, 0);
}

TEST(TraceImport, RunsAtTheTimesThatTheFormulasGive) {
  using enum machine::Stream;
  const Replay r = replay(small_trace());
  const double packet = 4.7 + 512 / 27.2;
  const auto near = [&](machine::Stream s, std::int64_t pc, double ns) {
    EXPECT_NEAR(r.start_of(s, pc), ns, 0.1) << pc;
  };

  near(sync, 10, 0);
  // 8 packets per engine behind the latency, the stall for 4 KiB, the slowest engine, the semaphore.
  const double loaded = 1345 + 8 * packet + 400.0 * 4096 / 32768 + 15 * 9.5 + 420;
  near(tensor, 5, loaded + 42);
  near(tensor, 6, loaded + 42 + 2);
  // The first product streams 19 ns before its LDWEIGHTS, by the model's virtual start; the second one right behind it.
  const double first_end = loaded + 42 - 19 + 128 / 1.2;
  near(tensor, 7, loaded + 42 + 2 + 2);
  near(tensor, 8, first_end);
  const double product = first_end + 128 / 1.2 + 206 + 15;
  near(vector, 3, 0);
  near(vector, 4, product + 23);
  const double copied = product + 23 + 157.5 + 128 / 0.96 + 12;
  near(scalar, 1, 156);
  near(scalar, 2, copied + 22);
  near(scalar, 3, copied + 22 + 90);
  const double activated = copied + 22 + 90 + 158 + 136 + 128 / 1.2 + 10;
  near(gpsimd, 20, activated + 1183);
  const double stored = activated + 1183 + 633 + 8 * 1.2 * packet + 15 * 9.5 + 360;
  near(gpsimd, 21, stored + 23);
  EXPECT_NEAR(r.body_ns, stored + 23 + 17, 0.1);
  EXPECT_LT(std::abs(r.body_error()), 1e-3);
  for (std::size_t i = 0; i < r.start_ns.size(); ++i)
    EXPECT_NEAR(r.start_ns[i], r.info.records[i].start_ns, r.info.records[i].opcode == "IOTA" ? 101 : 1)
        << r.info.records[i].opcode;
}

TEST(TraceImport, UnknownOpcodesCostTheirEnginesDefault) {
  const std::string text = small_trace();
  const auto cost_of = [](const std::string& t, machine::Stream s, std::size_t at) {
    const machine::Program p = io::import_trace(t, "t.json", trn2, params);
    return p.works[p.streams[static_cast<std::size_t>(s)][at].work];
  };
  EXPECT_EQ(cost_of(text, machine::Stream::vector, 0).duration, machine::ticks(trn2, 152.5) + 64 * 125);
  EXPECT_EQ(cost_of(text, machine::Stream::vector, 0).overlap, machine::ticks(trn2, 83));
  EXPECT_EQ(cost_of(replaced(text, "ACTIVATE", "SOFTMAX"), machine::Stream::scalar, 2).duration,
            machine::ticks(trn2, 158) + 128 * 100);
  EXPECT_EQ(cost_of(replaced(text, "\"NOP\", \"operands\": \"S[7]", "\"FENCE\", \"operands\": \"S[7]"),
                    machine::Stream::gpsimd, 1)
                .duration,
            150 * 100);
  io::TraceInfo info;
  std::string many = replaced(replaced(text, "ACTIVATE", "SOFTMAX"), "\"COPY\"", "\"ABS\"");
  io::import_trace(many, "t.json", trn2, params, &info);
  EXPECT_EQ(info.unknown_opcodes, (std::vector<std::string>{"ABS", "IOTA", "SOFTMAX"}));
}

TEST(TraceImport, ADmaIsOneStepOfItsSemaphore) {
  // A second load through the same semaphore: its waiters ask for 32.
  const std::string load =
      R"({"timestamp": 1600, "duration": 570, "opcode": "DMA_DIRECT2D", "operands": " semaphore=3 sem_increment=16  src_elem_size=512 dst_elem_size=512 src_pattern=[512,1][128,1] dst_pattern=[262144,1][128,1] src_addr_imm=0x800500000000 dst_addr_imm=0x802000004200 compute_op=NONE ", "label": "Sync", "instruction_type": "REGULAR", "pc": 11})";
  const std::string begin = "\"instructions\": [\n";
  const std::string text = replaced(small_trace(), begin, begin + load + ",\n");
  const auto wait_for = [&](const char* condition) {
    const machine::Program p = io::import_trace(
        replaced(text, ">=16  transpose", std::string(condition) + "  transpose"), "t.json", trn2, params);
    return p.streams[0][0].wait_value;
  };
  EXPECT_EQ(wait_for(">=16"), 1u);
  EXPECT_EQ(wait_for(">=32"), 2u);
  EXPECT_EQ(wait_for(">=17"), 2u) << "the first engines of the second transfer";
  EXPECT_EQ(wait_for(">=1"), 1u);
  EXPECT_EQ(wait_for(">=0"), 0u);
  expect_error(replaced(text, ">=16  transpose", ">=33  transpose"), "NKI-E071",
               "S[3]>=33 of tensor pc 5 LDWEIGHTS in t.json, which comes to 32");
}

TEST(TraceImport, AWaitOfTheMatmulHoldsBackThePair) {
  // It goes to an event in front; the wait of the LDWEIGHTS stays with the pair.
  const std::string text = replaced(small_trace(), "S[5] (Tensor)++@complete acc_flags=3 src=bfloat16@0x6000",
                                    "S[3] (q)>=16 S[5] (Tensor)++@complete acc_flags=3 src=bfloat16@0x6000");
  const machine::Program one = io::import_trace(text, "t.json", trn2, params);
  ASSERT_EQ(one.streams[0].size(), 2u);
  EXPECT_EQ(one.streams[0][1].wait_value, 1u);
  const machine::Program two =
      io::import_trace(replaced(text, "\"  transpose_mode", "\"S[3] (q)>=16  transpose_mode"), "t.json", trn2, params);
  ASSERT_EQ(two.streams[0].size(), 3u);
  EXPECT_EQ(two.works[two.streams[0][1].work].kind, machine::Kind::event);
  EXPECT_EQ(two.streams[0][1].signal, machine::no_id);
  EXPECT_NE(two.streams[0][2].signal, machine::no_id);
}

TEST(TraceImport, OtherFilesAreForeign) {
  expect_error("", "NKI-E060", "t.json");
  expect_error("{}", "NKI-E070", "no $.instructions");
  expect_error("[]", "NKI-E064", "an object");
  expect_error(R"({"schema": "nki.program/1", "instructions": []})", "NKI-E070", "no instruction of a kernel");
  expect_error(R"({"instructions": {}})", "NKI-E064", "$.instructions");
  expect_error(replaced(small_trace(), "\"label\": \"Vector\"", "\"label\": \"Pool\""), "NKI-E070",
               "\"Pool\" at $.instructions[7].label");
}

TEST(TraceImport, DamagedFilesNameThePlace) {
  const std::string text = small_trace();
  for (std::size_t n = 0; n < text.size() - 3; n += 97) EXPECT_EQ(error_of(text.substr(0, n)).id, "NKI-E060") << n;
  const auto broken = [&](std::string_view from, std::string_view to, std::string_view id, std::string_view part) {
    SCOPED_TRACE(to);
    expect_error(replaced(text, from, to), id, part);
  };
  broken("\"pc\": 8, ", "", "NKI-E063", "no \"pc\" at $.instructions[2]");
  broken("\"pc\": 8", "\"pc\": \"8\"", "NKI-E064", "$.instructions[2].pc");
  broken("\"duration\": 313", "\"duration\": -1", "NKI-E065", "$.instructions[2].duration");
  broken("\"k\": 8", "\"k\": 800", "NKI-E065", "$.tensor_engine_clock[0].k");
  broken("src=bfloat16@0x6000[1,0,0][128,1,1]", "src=bfloat16@0x6000[1,0,0][128,1", "NKI-E072",
         "tensor pc 8 MATMUL in t.json");
  broken("src=bfloat16@0x6000[1,0,0][128,1,1]", "src=bfloat16@0x6000[1,0][128,1,1]", "NKI-E072", "src");
  broken("src=bfloat16@0x6000[1,0,0][128,1,1]", "src=bfloat16@0x6000[1,0,0][99999999,99999999,1]", "NKI-E072", "src");
  broken("src=bfloat16@0x6000[1,0,0][128,1,1]", "", "NKI-E072", "src");
  broken("src_elem_size=512", "src_elem_size=0", "NKI-E072", "src_elem_size=0");
  broken("dst_pattern=[262144,1][128,1]", "dst_pattern=[262144,1][129,1]", "NKI-E072", "dst_pattern");
  broken("semaphore=3", "semaphore=x", "NKI-E072", "semaphore=x");
  broken("S[5] (Tensor)>=2 S[6]", "$S[5]==2 S[6]", "NKI-E072", "S[5]==2");
  broken("S[5] (Tensor)>=2 S[6]", "S[5] (Tensor S[6]", "NKI-E072", "vector pc 4 COPY");
}

TEST(TraceImport, WaitsThatNothingSatisfiesAreErrors) {
  expect_error(replaced(small_trace(), "S[4] (Scalar)>=1", "S[99] (Scalar)>=1"), "NKI-E071",
               "S[99]>=1 of gpsimd pc 20 DMA_DIRECT2D in t.json, which nothing counts");
  expect_error(replaced(small_trace(), "S[5] (Tensor)>=2", "S[5] (Tensor)>=3"), "NKI-E071", "which comes to 2");
}

TEST(TraceImport, WaitsForEachOtherAreADeadlock) {
  // The first LDWEIGHTS waits for the COPY that waits for its product.
  expect_error(replaced(small_trace(), "S[3] (qSyncDynamicHW)>=16", "S[6] (Vector)>=1"), "NKI-E901",
               "tensor pc 5 LDWEIGHTS in t.json waits for S[6]>=1, which has come to 0; vector pc 4 COPY",
               nki::ErrorClass::deadlock);
}

TEST(TraceImport, MutationsNeverCrash) {
  constexpr unsigned seed = 11;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::string whole = small_trace();
  for (int i = 0; i < 1000; ++i) {
    std::string text = whole;
    for (int n = 0; n <= i % 3; ++n) {
      const std::size_t at = random() % text.size();
      if (random() % 2 == 0)
        text[at] ^= static_cast<char>(1u << random() % 8);
      else if (const std::size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos)
        text.insert(digit, std::string(random() % 12, '9'));
    }
    try {
      const machine::Program p = io::import_trace(text, "t.json", trn2, params);
      EXPECT_GE(sim::simulate(p, trn2, params).body, 0);
    } catch (const nki::Error& e) {
      EXPECT_NE(e.violation().error_class, nki::ErrorClass::internal) << e.what();
    }
  }
}

/// Four attention kernels on trn2, recorded by others; too large to keep here.
TEST(TraceImport, RecordedTracesAreReproduced) {
  const char* data = std::getenv("NKI_SHARED");
  if (data == nullptr) {
    const char* ci = std::getenv("CI");
    ASSERT_FALSE(ci != nullptr && std::string_view(ci) == "true")
        << "NKI_SHARED must name the folder of the recorded traces";
    std::cout << "NKI_SHARED is not set: no recorded trace was replayed\n";
    return;
  }
  for (const char* name : {"attention_baseline_bf16_s512", "attention_baseline_fp32_s512", "attention_fused_bf16_s512",
                           "attention_fused_fp32_s512"}) {
    SCOPED_TRACE(name);
    const Replay r = replay(contents(std::string(data) + "/data/latency/traces/" + name + ".json"));
    EXPECT_TRUE(r.info.has_clock);
    EXPECT_TRUE(r.info.unknown_opcodes.empty());
    std::vector<double> errors;
    for (std::size_t i = 0; i < r.start_ns.size(); ++i) {
      const io::TraceRecord& x = r.info.records[i];
      ASSERT_FALSE(std::isnan(r.start_ns[i])) << x.opcode << " pc " << x.pc << " has no event";
      // Its sequencer runs ahead of the array, so this one may be recorded before products that precede it.
      if (x.stream == machine::Stream::tensor && x.opcode == "EVENT_SEMAPHORE") continue;
      errors.push_back(std::abs(r.start_ns[i] - x.start_ns) / r.info.body_ns);
    }
    std::sort(errors.begin(), errors.end());
    const double median = errors[errors.size() / 2], p90 = errors[errors.size() * 9 / 10];
    std::cout << name << ": body " << 100 * r.body_error() << " %, starts " << 100 * median << " % median, "
              << 100 * p90 << " % p90, " << 100 * errors.back() << " % at most\n";
    EXPECT_LT(std::abs(r.body_error()), 0.02);
    EXPECT_LT(median, 0.01);
    EXPECT_LT(p90, 0.02);
    EXPECT_LT(errors.back(), 0.03);
  }
}

}  // namespace
