#include <autotune/tool/winner.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/inputs.hpp>
#include <sim/tool/reference.hpp>
#include <sim/tool/timing.hpp>

#include <nki/emit/nki_python.hpp>
#include <nki/emit/perfetto.hpp>
#include <nki/emit/timeline_html.hpp>
#include <nki/error.hpp>
#include <nki/exec/run.hpp>
#include <nki/sim/simulate.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <utility>

namespace nki::tool {

namespace {

ir::Program record(const Task& t, tune::Index i) {
  return t.space.kernel().record(t.space.problem(), t.space.config(i), t.space.arch());
}

[[noreturn]] void cannot_make(const std::string& folder, int error) {
  throw Error({.id = "NKI-E611",
               .sentence = "an output must be a file that can be written",
               .got = folder + ": " + std::strerror(error),
               .allowed = {},
               .hint = "name a folder in a place where you may write",
               .file = {},
               .line = 0,
               .error_class = ErrorClass::cannot_write});
}

}  // namespace

double verification_bytes(const Task& t, tune::Index i) {
  double bytes = 0;
  for (const ir::Buffer& b : record(t, i).buffers)
    bytes += static_cast<double>(b.elems(0)) * nki::bytes(b.dtype) * static_cast<double>(b.slots);
  return bytes;
}

std::optional<Verification> verify_winner(const Task& t, tune::Index i, std::int64_t seed) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const ir::Program p = record(t, i);
  std::vector<exec::HostTensor> inputs, outputs;
  for (const ir::Buffer& b : p.buffers) {
    if (b.kind == ir::BufferKind::tile) continue;
    exec::HostTensor tensor = exec::make_tensor(b.name, b.dtype, {b.shape.begin(), b.shape.begin() + b.rank});
    if (b.kind == ir::BufferKind::input) {
      fill_random(tensor, Dist::normal, seed, static_cast<int>(inputs.size()));
      inputs.push_back(std::move(tensor));
    } else {
      outputs.push_back(std::move(tensor));
    }
  }
  if (interrupted()) return std::nullopt;
  Verification v;
  Clock::time_point begin = Clock::now();
  const exec::Report report = exec::run(p, inputs, outputs);
  v.run_seconds = since(begin);
  v.undefined_reads = report.undefined_reads;
  v.unwritten_elements = report.unwritten_elements;
  if (interrupted()) return std::nullopt;
  progress("computing the reference in double precision ...");
  begin = Clock::now();
  const std::optional<Comparison> c = compare_with_reference(t.request, inputs, outputs);
  v.reference_seconds = since(begin);
  v.passed = report.clean() && (!c || c->passed);
  v.compared = c.has_value();
  if (c) {
    v.rel_l2 = c->rel_l2;
    v.tolerance = c->tolerance;
    v.bound_rel_l2 = c->bound_rel_l2;
    v.max_abs_err = c->max_abs_err;
  }
  return v;
}

void make_folder(const std::string& folder) {
  for (std::size_t at = 1; at <= folder.size(); ++at) {
    at = std::min(folder.find('/', at), folder.size());
    const std::string part = folder.substr(0, at);
    if (mkdir(part.c_str(), 0777) == 0) continue;
    const int error = errno;
    struct stat there {};
    if (stat(part.c_str(), &there) != 0) cannot_make(part, error);
    if (!S_ISDIR(there.st_mode)) cannot_make(part, ENOTDIR);
  }
}

std::vector<WrittenFile> write_winner(const Task& t, tune::Index i, const std::string& folder,
                                      const std::string& title) {
  const ir::Program p = record(t, i);
  const Arch& a = t.space.arch();
  sim::Timeline timeline;
  const sim::Result r = sim::simulate(p, a, {.timeline = &timeline});
  emit::TimelineText text;
  text.title = title;
  text.subtitle = spell_params(t.space, i);
  text.hw = a.name;
  std::vector<WrittenFile> files;
  const auto put = [&](const char* name, const char* what, const std::string& bytes) {
    files.push_back({folder + "/" + name, what});
    write_file(files.back().path, bytes);
  };
  put("timeline.html", "every engine over time; open it in a browser", emit::timeline_html(p, r, timeline, text));
  put("trace.json", "the same for ui.perfetto.dev", emit::perfetto_json(p, r, timeline, text));
  put("kernel.py", "the winner as NKI Python", emit::nki_python(p));
  return files;
}

}  // namespace nki::tool
