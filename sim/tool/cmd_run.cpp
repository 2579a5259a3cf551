#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/inputs.hpp>
#include <sim/tool/npy.hpp>
#include <sim/tool/reference.hpp>

#include <nki/exec/run.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <memory>
#include <sys/stat.h>

namespace nki::tool {

namespace {

struct Flags {
  TargetFlags target;
  std::string seed, dist = "normal", output_dir;
  std::vector<std::string> inputs, dumps;
};

/// Memory that can be had without swapping, or a very large number where the system does not say.
double available_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  double kilobytes = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kilobytes) return kilobytes * 1024;
  return std::numeric_limits<double>::max();
}

void check_memory(const ir::Program& p) {
  double bytes = 0;
  for (const ir::Buffer& b : p.buffers)
    bytes += static_cast<double>(b.elems(0)) * nki::bytes(b.dtype) * static_cast<double>(b.slots) * 1.25;
  const double there = available_bytes();
  if (bytes > there)
    usage("NKI-E691", "a run holds all tensors and tiles in memory", byte_count(bytes) + " needed",
          byte_count(there) + " available", "take smaller sizes; values do not depend on how many tiles there are");
}

std::vector<exec::HostTensor> make_inputs(const Flags& f, const ir::Program& p, Dist dist, std::int64_t seed) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& text : f.inputs) {
    // Not a list: a file's name may hold commas.
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      usage("NKI-E603", "--input takes NAME=f.npy, once for each input", "'" + text + "'", {},
            "write --input lhs=lhs.npy");
    files.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::vector<std::string> names;
  for (const ir::Buffer& b : p.buffers)
    if (b.kind == ir::BufferKind::input) names.push_back(b.name);
  for (const auto& [input, file] : files) {
    bool known = false;
    for (const std::string& n : names) known = known || n == input;
    if (!known) unknown_name("input of " + p.kernel, input, names, "--input @=" + file);
  }
  std::vector<exec::HostTensor> tensors;
  for (const ir::Buffer& b : p.buffers) {
    if (b.kind != ir::BufferKind::input) continue;
    const std::string* file = nullptr;
    for (const auto& [input, path] : files)
      if (input == b.name) file = &path;
    if (file != nullptr) {
      tensors.push_back(tensor_from_npy(parse_npy(read_file(*file, "a .npy file"), *file), b.name, b.dtype, *file));
    } else {
      tensors.push_back(exec::make_tensor(b.name, b.dtype, {b.shape.begin(), b.shape.begin() + b.rank}));
      fill_random(tensors.back(), dist, seed, static_cast<int>(tensors.size()) - 1);
    }
  }
  return tensors;
}

Json index_json(std::int64_t flat, const std::vector<std::int64_t>& shape) {
  if (flat < 0) return {};
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  Json out = Json::array();
  for (std::int64_t i : index) out.push(i);
  return out;
}

void write_outputs(const std::string& folder, const std::vector<exec::HostTensor>& outputs, Call& call) {
  if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw Error({.id = "NKI-E611",
                 .sentence = "an output must be a file that can be written",
                 .got = folder + ": the folder cannot be made",
                 .allowed = {},
                 .hint = "make its parent folder first, or name another one",
                 .file = {},
                 .error_class = ErrorClass::cannot_write});
  Json files = Json::array();
  for (const exec::HostTensor& t : outputs)
    for (const auto& [suffix, bytes] : npy_files(t)) {
      const std::string path = folder + "/" + t.name + suffix + ".npy";
      write_file(path, bytes);
      files.push(path);
      call.text += "  wrote " + path + "\n";
    }
  call.out.set("files", std::move(files));
}

Fault wrong(std::string got, std::string allowed, std::string hint) {
  return {.id = "NKI-E621",
          .error_class = "wrong_result",
          .message = "a kernel must compute its formula on defined data",
          .got = std::move(got),
          .allowed = std::move(allowed),
          .hint = std::move(hint),
          .file = {},
          .exit_code = exit_wrong};
}

void run(const Flags& f, Call& call) {
  if (!f.dumps.empty())
    usage("NKI-E608", "this flag is not in this version", "--dump", {}, "outputs are written with --output-dir D");
  const std::int64_t seed =
      f.seed.empty() ? 0 : parse_integer(f.seed, 0, std::numeric_limits<std::int64_t>::max(), "seed");
  const Dist dist = parse_dist(f.dist);
  const Request r = resolve(f.target, Hw::trn2_by_default, "nki-sim run");
  const ir::Program p = recorded(r);
  verified(p, *r.arch);
  check_memory(p);
  progress("making inputs ...");
  const std::vector<exec::HostTensor> inputs = make_inputs(f, p, dist, seed);
  std::vector<exec::HostTensor> outputs;
  for (const ir::Buffer& b : p.buffers)
    if (b.kind == ir::BufferKind::output)
      outputs.push_back(exec::make_tensor(b.name, b.dtype, {b.shape.begin(), b.shape.begin() + b.rank}));

  progress("running " + describe(r) + " ...");
  const auto start = std::chrono::steady_clock::now();
  const exec::Report report = exec::run(p, inputs, outputs);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  progress("computing the reference in double precision ...");
  const std::optional<Comparison> c = compare_with_reference(r, inputs, outputs);
  const bool passed = report.clean() && (!c || c->passed);

  describe(r, call.out);
  call.out.set("passed", passed).set("seed", seed).set("dist", name(dist));
  const auto number = [&](double Comparison::*field) { return c ? Json((*c).*field) : Json(); };
  call.out.set("rel_l2", number(&Comparison::rel_l2)).set("tolerance", number(&Comparison::tolerance));
  call.out.set("bound_rel_l2", number(&Comparison::bound_rel_l2)).set("max_abs_err", number(&Comparison::max_abs_err));
  const bool countable = c && c->max_ulp < 0x1p53;
  call.out.set("max_ulp", countable ? Json(static_cast<std::int64_t>(c->max_ulp)) : number(&Comparison::max_ulp));
  Json list = Json::array();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Json shape = Json::array();
    for (std::int64_t extent : outputs[i].shape) shape.push(extent);
    std::int64_t bad = c && i < c->first_bad.size() ? c->first_bad[i] : -1;
    for (const exec::Unwritten& u : report.unwritten)
      if (u.buffer == outputs[i].name && (bad < 0 || u.first < bad)) bad = u.first;
    list.push(Json::object({{"name", outputs[i].name},
                            {"shape", shape},
                            {"dtype", name(outputs[i].dtype)},
                            {"first_bad", index_json(bad, outputs[i].shape)}}));
  }
  call.out.set("outputs", std::move(list));
  call.out.set("undefined_reads", report.undefined_reads).set("unwritten_elements", report.unwritten_elements);
  call.out.set("instructions", report.instructions).set("host_seconds", seconds);

  std::string& s = call.text;
  s = bold(describe(r)) + "\n";
  Table t({"", "", ""});
  t.row({"inputs", name(dist), "seed " + std::to_string(seed)});
  if (c) {
    const auto small = [](double x) {
      Json j(x);
      return dump(j).substr(0, 12);
    };
    t.row({"rel_l2", small(c->rel_l2), "tolerance " + small(c->tolerance) + ", bound " + small(c->bound_rel_l2)});
    t.row({"max_abs_err", small(c->max_abs_err), ""});
    t.row({"max_ulp", countable ? std::to_string(static_cast<std::int64_t>(c->max_ulp)) : "inf",
           "steps of the output's dtype"});
  } else {
    t.row({"reference", "none", "only undefined reads and unwritten elements were looked for"});
  }
  t.row({"undefined reads", grouped(report.undefined_reads), ""});
  t.row({"unwritten elements", grouped(report.unwritten_elements), ""});
  t.row({"host seconds", fixed(seconds, 3), counted(report.instructions, "instruction")});
  s += t.text("  ");
  if (!f.output_dir.empty()) write_outputs(f.output_dir, outputs, call);
  s += passed ? "PASSED\n" : "FAILED\n";
  if (passed) return;
  if (report.undefined_reads > 0) {
    call.fault = fault_of(report.first_undefined_read.violation());
    call.fault->error_class = "wrong_result";
    call.fault->exit_code = exit_wrong;
  } else if (report.unwritten_elements > 0) {
    const exec::Unwritten& u = report.unwritten.front();
    call.fault = wrong(counted(u.elements, "element") + " of '" + u.buffer + "' that nothing writes, the first at " +
                           std::to_string(u.first),
                       "none", "compare the extents of the stores with the output's shape");
  } else {
    call.fault = wrong("rel_l2 " + dump(Json(c->rel_l2)), "up to " + dump(Json(c->tolerance)),
                       "outputs[].first_bad is the first element outside its own bound");
  }
}

}  // namespace

void add_run(Cli& cli) {
  auto f = std::make_shared<Flags>();
  cli.command("run", "compute a kernel on this machine with the device's numerics, and compare with double precision")
      .target(f->target)
      .option("--seed", f->seed, "N", "of the random inputs (0)")
      .option("--dist", f->dist, "normal|uniform|hostile|const", "of the random inputs (normal)")
      .options("--input", f->inputs, "NAME=f.npy", "values of an input instead of random ones")
      .option("--output-dir", f->output_dir, "D", "write the outputs there as .npy; bf16 as float32 and as raw uint16")
      .options("--dump", f->dumps, "TAP=f.npy", "of a later version")
      .example("nki-sim run matmul --shape m=300,n=700,k=200 --seed 1")
      .example("nki-sim run matmul --case S12 --dist hostile --json")
      .example("nki-sim run matmul.json --input lhsT=a.npy --output-dir out")
      .run([f](Call& call) { run(*f, call); });
}

}  // namespace nki::tool
