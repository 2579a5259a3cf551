#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/timing.hpp>

#include <nki/emit/perfetto.hpp>
#include <nki/emit/timeline_html.hpp>
#include <nki/emit/timeline_svg.hpp>
#include <nki/machine/params.hpp>
#include <nki/sim/simulate.hpp>

#include <cstddef>
#include <fstream>
#include <memory>
#include <unordered_map>
#include <utility>

namespace nki::tool {

namespace {

struct Flags {
  TargetFlags target;
  std::string format, output, clock;
};

/// Lines of source files, each file read once.
class Sources {
 public:
  std::string line(std::string_view file, std::uint32_t number) {
    const auto [at, fresh] = files_.try_emplace(std::string(file));
    if (fresh) {
      std::ifstream in{std::string(file)};
      for (std::string text; std::getline(in, text);) at->second.push_back(text);
    }
    return number >= 1 && number <= at->second.size() ? at->second[number - 1] : std::string();
  }

 private:
  std::unordered_map<std::string, std::vector<std::string>> files_;
};

std::string format_of(const Flags& f) {
  const std::vector<std::string> formats{"html", "perfetto", "svg"};
  if (!f.format.empty()) {
    for (const std::string& x : formats)
      if (x == f.format) return x;
    unknown_name("format", f.format, formats, "--format @");
  }
  if (f.output.ends_with(".svg")) return "svg";
  if (f.output.ends_with(".json")) return "perfetto";
  return "html";
}

void run(const Flags& f, Call& call) {
  const std::string format = format_of(f);
  const std::string prefix = "phase=";
  if (!f.clock.empty() && !f.clock.starts_with(prefix))
    usage("NKI-E603", "--clock takes the phase of the TensorE clock in ns", "'" + f.clock + "'", "phase=NS",
          "write --clock phase=0");
  const double phase_ns = f.clock.empty() ? 0 : parse_number(f.clock.substr(prefix.size()), 0, 1e9, "phase");
  if (f.output.empty())
    usage("NKI-E602", "a timeline is written to a file", "no -o", {},
          "add -o timeline." + std::string(format == "perfetto" ? "json" : format) + ", or -o - for stdout");
  const bool to_stdout = f.output == "-";
  if (to_stdout && call.json)
    usage("NKI-E604", "with --json, stdout holds one JSON object", "-o -", {}, "write the timeline to a file: -o FILE");
  const Request r = resolve(f.target, Hw::required, "nki-sim trace");
  const ir::Program p = recorded(r);
  verified(p, *r.arch);
  progress("simulating " + describe(r) + " ...");
  sim::Timeline timeline;
  const sim::Result result = sim::simulate(p, *r.arch, {.clock_phase_ns = phase_ns, .timeline = &timeline});

  auto sources = std::make_shared<Sources>();
  emit::TimelineText text;
  text.title = describe(r);
  text.subtitle = p.params;
  text.hw = r.arch->name;
  const std::string note = calibration_note(*r.arch);
  if (!note.empty()) text.note = "Predicted, not measured; " + note + ".";
  // A program out of a file names any file it likes; only the lines of this build's kernels are shown.
  if (r.file.empty())
    text.source_line = [sources](std::string_view file, std::uint32_t line) { return sources->line(file, line); };
  progress("writing the timeline ...");
  const std::string bytes = format == "svg"    ? emit::timeline_svg(p, result, timeline, text)
                            : format == "html" ? emit::timeline_html(p, result, timeline, text)
                                               : emit::perfetto_json(p, result, timeline, text);
  write_file(f.output, bytes);

  describe(r, call.out);
  call.out.set("model_version", machine::model_version).set("format", format).set("output", f.output);
  call.out.set("bytes", bytes.size()).set("events", timeline.events.size()).set("events_dropped", timeline.dropped);
  call.out.set("body_us", result.body_us()).set("clock_phase", phase_ns);
  if (to_stdout) return;
  call.text = bold(describe(r)) + "\nbody " + microseconds(result.body_us()) + ", " +
              counted(static_cast<std::int64_t>(timeline.events.size()), "event") + "; written to " + f.output + " (" +
              byte_count(static_cast<double>(bytes.size())) + ").\n";
  if (timeline.dropped > 0) call.text += counted(timeline.dropped, "later event") + " left out.\n";
  if (format == "perfetto") call.text += "Open it at ui.perfetto.dev, or in chrome://tracing.\n";
}

}  // namespace

void add_trace(Cli& cli) {
  auto f = std::make_shared<Flags>();
  cli.command("trace", "draw the timeline: engines, DMA queues, waits and their causes")
      .target(f->target)
      .option("--format", f->format, "html|perfetto|svg", "what to write (by the file's ending, else html)")
      .option("-o,--output", f->output, "FILE", "where to, '-' for stdout")
      .option("--clock", f->clock, "phase=NS", "phase of the TensorE clock (0)")
      .example("nki-sim trace matmul --shape m=512,n=512,k=512 --hw trn2 -o timeline.html")
      .example("nki-sim trace matmul --shape m=512,n=512,k=512 --hw trn2 --format perfetto -o timeline.json")
      .run([f](Call& call) { run(*f, call); });
}

}  // namespace nki::tool
