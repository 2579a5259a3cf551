#include <autotune/tool/commands.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/timing.hpp>

#include <nki/machine/params.hpp>
#include <nki/tune/objective.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace nki::tool {

namespace {

/// Seconds that one try takes on this machine: some configurations all over the space, timed whole.
double seconds_per_try(const tune::SimulatedTime& objective) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t samples = 12;
  constexpr double enough_seconds = 0.5;
  const std::size_t n = objective.space().size(), step = std::max<std::size_t>(1, n / samples);
  const Clock::time_point begin = Clock::now();
  double seconds = 0;
  int tried = 0;
  for (tune::Index i = 0; i < n && seconds < enough_seconds; i += step, ++tried) {
    objective.evaluate(i, tune::no_time);
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return tried == 0 ? 0 : seconds / tried;
}

void run(const SpaceFlags& f, Call& call) {
  const Task task = make_task(f, "nki-tune space");
  const tune::Space& s = task.space;
  const kernel::Kernel& k = s.kernel();
  const tune::SimulatedTime objective(s);
  const sim::Bound bound = objective.bound();

  describe_task(task, call.out);
  Json parameters = Json::array();
  for (std::size_t t = 0; t < s.parameters().size(); ++t) {
    const kernel::TunableSpec& spec = k.tunables()[t];
    Json values = Json::array();
    for (const std::int64_t v : s.parameters()[t].values)
      values.push(spec.labels.empty() ? Json(v) : Json(spec.spell(v)));
    parameters.push(Json::object({{"name", spec.name}, {"values", values}, {"what", spec.what}}));
  }
  call.out.set("parameters", std::move(parameters)).set("constraints", constraints_json(s));
  call.out.set("cartesian", s.cartesian()).set("legal", s.size());

  std::string& text = call.text;
  text = bold(describe(task.request)) + "\n\n";
  Table parameter_table({"parameter", "values", ""});
  for (std::size_t t = 0; t < s.parameters().size(); ++t) {
    std::string values;
    for (const std::int64_t v : s.parameters()[t].values)
      values += (values.empty() ? "" : " ") + k.tunables()[t].spell(v);
    parameter_table.row({k.tunables()[t].name, values, k.tunables()[t].what});
  }
  text += parameter_table.text("  ") + "\n";
  text += "  " + grouped(static_cast<std::int64_t>(s.size())) + " of " + counted(s.cartesian(), "configuration") +
          " are legal.\n";
  Table rejection_table({"rejected", "because"});
  for (const tune::Rejection& r : s.rejections())
    if (r.rejected > 0) rejection_table.row({grouped(r.rejected), r.constraint});
  if (!rejection_table.empty()) text += rejection_table.text("  ");

  if (s.empty()) {
    call.out.set("default", Json())
        .set("bound_us", bound.us)
        .set("bound", name(bound.limit))
        .set("seconds_per_try", Json());
    call.fault = no_legal_fault(s);
    return;
  }
  progress("timing the default and a sample ...");
  const ir::Program p = objective.record(s.start());
  const check::Report report = check::verify(p, s.arch());
  const double per_try = seconds_per_try(objective);
  text += "\n";
  Table facts({"", "", ""});
  if (report.ok()) {
    const Timing t = time_program(p, s.arch(), {});
    call.out.set("default", Json::object({{"params", params_json(s, s.start())},
                                          {"latency_us", t.latency_us()},
                                          {"body_us", t.body_us},
                                          {"launch_us", t.launch_us},
                                          {"moved", s.start_moved()}}));
    facts.row({"default", microseconds(t.body_us), spell_params(s, s.start())});
    if (s.start_moved())
      facts.row({"", "", "(the kernel's own default is not in this space; this one is nearest to it)"});
  } else {
    call.out.set("default", Json::object({{"params", params_json(s, s.start())},
                                          {"latency_us", Json()},
                                          {"body_us", Json()},
                                          {"launch_us", Json()},
                                          {"moved", s.start_moved()}}));
    facts.row({"default", "illegal", report.violations.front().id + ": " + report.violations.front().sentence});
  }
  call.out.set("bound_us", bound.us).set("bound", name(bound.limit)).set("seconds_per_try", per_try);
  facts.row({"bound", microseconds(bound.us), std::string(name(bound.limit)) + "; no configuration is faster"});
  facts.row({"all of them", fixed(per_try * static_cast<double>(s.size()), 1) + " s",
             "on one thread, if none were ruled out by its bound"});
  text += facts.text("  ");
  text +=
      "\nTune it: nki-tune run " + k.name() +
      (task.request.case_id.empty() ? " --shape " + k.spell_sizes(s.problem()) : " --case " + task.request.case_id) +
      " --hw " + s.arch().name + "\n";
  if (const std::string note = calibration_note(s.arch()); !note.empty()) text += wrap("Times are " + note + ".");
}

}  // namespace

void add_tune_space(Cli& cli) {
  auto f = std::make_shared<SpaceFlags>();
  add_space_flags(cli.command("space", "show the configurations of a kernel: parameters, constraints, default, bound"),
                  *f)
      .example("nki-tune space matmul --case S01 --hw trn2")
      .example("nki-tune space matmul --shape m=512,n=512,k=512 --pin keep=none --hw trn2 --json")
      .run([f](Call& call) { run(*f, call); });
}

}  // namespace nki::tool
