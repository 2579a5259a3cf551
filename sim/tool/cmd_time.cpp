#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/timing.hpp>

#include <nki/machine/params.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>

namespace nki::tool {

namespace {

struct Flags {
  TargetFlags target;
  std::string phases, clock, baseline, max_regress;
};

constexpr int phases_max = 4096;

PhaseSweep sweep_of(const Flags& f) {
  PhaseSweep s;
  if (!f.phases.empty() && !f.clock.empty())
    usage("NKI-E604", "the clock's phase is swept (--phases) or fixed (--clock)", "both", {}, "leave one out");
  if (!f.phases.empty()) s.phases = static_cast<int>(parse_integer(f.phases, 1, phases_max, "phases"));
  if (f.clock.empty() || f.clock == "sweep") return s;
  const std::string prefix = "phase=";
  if (!f.clock.starts_with(prefix))
    usage("NKI-E603", "--clock takes the phase of the TensorE clock in ns", "'" + f.clock + "'", "phase=NS, sweep",
          "write --clock phase=0");
  s.fixed_ns = parse_number(f.clock.substr(prefix.size()), 0, 1e9, "phase");
  return s;
}

/// The body's time in an earlier result of the same problem.
double baseline_us(const std::string& file, const Json& now) {
  const Json then = parse_json(read_file(file, "a result of 'nki-sim time --json'"), file);
  const Json* schema = then.find("schema");
  const Json* body = then.find("body_us");
  if (schema == nullptr || schema->as_string() != "nki.time/1" || body == nullptr || !body->is_number() ||
      !(body->as_double() > 0))
    throw Error({.id = "NKI-E612",
                 .sentence = "a baseline is a result of 'nki-sim time --json' that was ok",
                 .got = file + ": " + (schema == nullptr ? "no schema" : "schema '" + schema->as_string() + "'") +
                        (body == nullptr ? ", no body_us" : ""),
                 .allowed = "schema nki.time/1 with body_us",
                 .hint = "write it with: nki-sim time TARGET --hw H --json > " + file,
                 .file = {},
                 .error_class = ErrorClass::damaged_file});
  for (const char* key : {"kernel", "shape", "attrs", "dtype", "hw"}) {
    const Json* old_value = then.find(key);
    if (old_value != nullptr && dump(*old_value) != dump(*now.find(key)))
      usage("NKI-E604", "a baseline is a time of the same problem on the same target",
            std::string(key) + " " + dump(*old_value) + " in " + file + ", " + dump(*now.find(key)) + " here", {},
            "time the same problem, or write a new baseline");
  }
  return body->as_double();
}

void write_json(const Request& r, const ir::Program& p, const Timing& t, const Flags& f, Json& out) {
  describe(r, out);
  out.set("order", "program").set("model_version", machine::model_version);
  out.set("calibrated", machine::params_for(*r.arch).calibrated);
  out.set("body_us", t.body_us).set("launch_us", t.launch_us).set("latency_us", t.latency_us());
  const PhaseSweep s = sweep_of(f);
  if (s.fixed_ns)
    out.set("clock_phase", *s.fixed_ns);
  else
    out.set("clock_phase", "sweep");
  out.set("phases", t.phases);
  out.set("band", Json::object({{"lo", t.body_lo_us * (1 - band_margin)}, {"hi", t.body_hi_us * (1 + band_margin)}}));
  const auto bound = bound_of(r);
  out.set("bound_us", bound ? Json(bound->us) : Json()).set("bound", bound ? Json(name(bound->limit)) : Json());
  Json engines = Json::object(), stalls = Json::object();
  for (std::size_t e = 0; e < machine::stream_count; ++e) {
    engines.set(machine::stream_names[e],
                Json::object({{"busy_us", t.busy_us[e]}, {"utilization", t.stream_utilization[e]}}));
    Json causes = Json::object();
    for (std::size_t k = 0; k < sim::stall_count; ++k) causes.set(sim::stall_names[k], t.stalls_us[e][k]);
    stalls.set(machine::stream_names[e], std::move(causes));
  }
  engines.set("dma", Json::object({{"busy_us", t.dma_busy_us}, {"utilization", t.dma_utilization}}));
  out.set("engines", std::move(engines));
  out.set("instructions_static", p.instrs.size()).set("instructions_dynamic", t.instructions);
  out.set("dma_transfers", t.dma_transfers);
  out.set("dma_bytes_read", t.read_bytes).set("dma_bytes_written", t.write_bytes);
  out.set("stalls_us", std::move(stalls));
}

std::string write_text(const Request& r, const Timing& t) {
  std::string s = bold(describe(r)) + "\n";
  Table head({"", "", ""});
  const double lo = t.body_lo_us * (1 - band_margin), hi = t.body_hi_us * (1 + band_margin);
  head.row({"body", microseconds(t.body_us),
            "between " + microseconds(lo) + " and " + microseconds(hi) +
                (t.phases > 1 ? ", by the phase of the TensorE clock" : ", the model's resolution")});
  head.row({"launch", microseconds(t.launch_us), "before and after the body"});
  head.row({"latency", microseconds(t.latency_us()), "body and launch"});
  if (const auto b = bound_of(r)) {
    const std::string least = b->limit == sim::Limit::tensor ? "the array streams throughout"
                              : b->limit == sim::Limit::dma  ? "the DMA engines move bytes throughout"
                                                             : "loading the first tile and storing the last one";
    head.row({"bound", microseconds(b->us),
              std::string(name(b->limit)) + ": " + least + "; " + percent(b->us / t.body_us) + " of the body"});
    if (r.kernel->flops(r.problem) > 0)
      head.row({"speed", fixed(r.kernel->flops(r.problem) / t.body_us / 1e6, 1) + " Tflop/s", "of the body"});
  }
  head.row({"moved", byte_count(static_cast<double>(t.read_bytes)) + " read",
            byte_count(static_cast<double>(t.write_bytes)) + " written in " + counted(t.dma_transfers, "transfer")});
  s += head.text("  ") + "\n";

  Table engines({"engine", "busy us", "share", "waits us", "longest waits"});
  for (std::size_t e = 0; e < machine::stream_count; ++e) {
    std::vector<std::pair<double, std::size_t>> causes;
    double waits = 0;
    for (std::size_t k = 0; k < sim::stall_count; ++k) {
      if (t.stalls_us[e][k] > 0) causes.emplace_back(t.stalls_us[e][k], k);
      waits += t.stalls_us[e][k];
    }
    std::sort(causes.rbegin(), causes.rend());
    std::string longest;
    for (std::size_t i = 0; i < causes.size() && i < 2; ++i)
      longest +=
          (i == 0 ? "" : ", ") + std::string(sim::stall_names[causes[i].second]) + " " + fixed(causes[i].first, 1);
    engines.row(
        {machine::stream_names[e], fixed(t.busy_us[e], 1), percent(t.stream_utilization[e]), fixed(waits, 1), longest});
  }
  engines.row({"dma", fixed(t.dma_busy_us, 1), percent(t.dma_utilization), "", "mean of the engines"});
  s += engines.text("  ");
  const std::string note = calibration_note(*r.arch);
  s += "\n" + wrap("Predicted by timing model " + std::string(machine::model_version) +
                   ", instructions in the order of "
                   "the program" +
                   (note.empty() ? "." : "; " + note + "."));
  return s;
}

void run(const Flags& f, Call& call) {
  const PhaseSweep sweep = sweep_of(f);
  double max_regress = 0.03;
  if (!f.max_regress.empty()) {
    if (f.baseline.empty())
      usage("NKI-E602", "--max-regress compares with a baseline", "no --baseline", {},
            "add --baseline r.json, an earlier result of 'nki-sim time --json'");
    max_regress = parse_number(f.max_regress, 0, 1e6, "max-regress");
  }
  const Request r = resolve(f.target, Hw::required, "nki-sim time");
  const ir::Program p = recorded(r);
  verified(p, *r.arch);
  progress("simulating " + describe(r) + " ...");
  const Timing t = time_program(p, *r.arch, sweep);
  write_json(r, p, t, f, call.out);
  call.text = write_text(r, t);
  if (f.baseline.empty()) return;

  const double before = baseline_us(f.baseline, call.out);
  const double regress = t.body_us / before - 1;
  call.out.set("baseline_us", before).set("regress", regress).set("max_regress", max_regress);
  call.text += "\nBaseline " + microseconds(before) + ": " + fixed(std::abs(regress) * 100, 2) + " % " +
               (regress > 0 ? "slower" : "faster") + " now.\n";
  if (regress > max_regress)
    call.fault = Fault{.id = "NKI-E622",
                       .error_class = "gate",
                       .message = "the predicted body must not be slower than the baseline by more than --max-regress",
                       .got = fixed(regress, 6),
                       .allowed = "up to " + fixed(max_regress, 6),
                       .hint =
                           "'nki-sim why' says what the time is spent on; predicted times are deterministic, so "
                           "this is a change of the kernel or of the model",
                       .file = {},
                       .exit_code = exit_wrong};
}

}  // namespace

void add_time(Cli& cli) {
  auto f = std::make_shared<Flags>();
  cli.command("time", "predict the time on a core, and say what it is spent on")
      .target(f->target)
      .option("--phases", f->phases, "N", "phases of the TensorE clock in the sweep (16)")
      .option("--clock", f->clock, "phase=NS", "one phase instead of the sweep")
      .option("--baseline", f->baseline, "FILE", "an earlier JSON result to compare with")
      .option("--max-regress", f->max_regress, "X", "exit 1 if the body is slower by more than this share (0.03)")
      .example("nki-sim time matmul --case S01 --hw trn2")
      .example("nki-sim time matmul --shape m=1024,n=1024,k=1024 --dtype f32 --param tiles_k=2 --hw trn2 --json")
      .example("nki-sim time matmul --case S01 --hw trn2 --baseline r.json --max-regress 0.03")
      .run([f](Call& call) { run(*f, call); });
}

}  // namespace nki::tool
