#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/timing.hpp>

#include <nki/ir/print.hpp>
#include <nki/machine/params.hpp>

#include <cstddef>
#include <memory>

namespace nki::tool {

namespace {

std::string extents(const std::vector<std::int64_t>& shape) {
  std::string s;
  for (std::int64_t n : shape) s += (s.empty() ? "[" : ", ") + std::to_string(n);
  return s + "]";
}

Json work_json(const kernel::Work& w) {
  return Json::object(
      {{"tensor_cycles", w.tensor_cycles}, {"read_bytes", w.read_bytes}, {"write_bytes", w.write_bytes}});
}

void explain_kernel(const Request& r, const kernel::Config& c, Call& call) {
  const kernel::Kernel& k = *r.kernel;
  std::string& s = call.text;
  s += k.formula() + "\n\n";

  Json arguments = Json::array();
  Table args({"argument", "kind", "dtype", "shape", "size"});
  for (const kernel::Argument& a : k.arguments(r.problem)) {
    double size = nki::bytes(a.dtype);
    Json shape = Json::array();
    for (std::int64_t n : a.shape) {
      size *= static_cast<double>(n);
      shape.push(n);
    }
    args.row({a.name, name(a.kind), name(a.dtype), extents(a.shape), byte_count(size)});
    arguments.push(
        Json::object({{"name", a.name}, {"kind", name(a.kind)}, {"dtype", name(a.dtype)}, {"shape", shape}}));
  }
  s += args.text("  ") + "\n";

  Json tunables = Json::array();
  Table params({"tunable", "value", "of", "meaning"});
  for (std::size_t i = 0; i < k.tunables().size(); ++i) {
    const kernel::TunableSpec& t = k.tunables()[i];
    Json values = Json::array();
    std::string all;
    for (std::int64_t v : t.values) {
      values.push(t.labels.empty() ? Json(v) : Json(t.spell(v)));
      all += (all.empty() ? "" : ", ") + t.spell(v);
    }
    const std::string value = t.spell(c[i]);
    params.row({t.name, value, all, t.what});
    tunables.push(Json::object({{"name", t.name},
                                {"value", t.labels.empty() ? Json(c[i]) : Json(value)},
                                {"values", values},
                                {"what", t.what}}));
  }
  s += params.text("  ") + "\n";

  const kernel::Work least = k.least_work(r.problem), work = k.work(r.problem, c, *r.arch);
  call.out.set("formula", k.formula()).set("arguments", std::move(arguments)).set("tunables", std::move(tunables));
  call.out.set("flops", k.flops(r.problem)).set("work", work_json(work)).set("least_work", work_json(least));
  Table w({"work", "this configuration", "any configuration"});
  w.row({"tensor cycles", grouped(static_cast<std::int64_t>(work.tensor_cycles)),
         grouped(static_cast<std::int64_t>(least.tensor_cycles))});
  w.row({"read from HBM", byte_count(work.read_bytes), byte_count(least.read_bytes)});
  w.row({"written to HBM", byte_count(work.write_bytes), byte_count(least.write_bytes)});
  s += w.text("  ") + "\n";
}

void run(const TargetFlags& f, Call& call) {
  const Request r = resolve(f, Hw::trn2_by_default, "nki-sim explain");
  const ir::Program p = recorded(r);
  const check::Report report = verified(p, *r.arch, false);
  describe(r, call.out);
  call.text = bold(describe(r)) + "\n";
  const bool has_config = r.kernel != nullptr && (r.config || !r.program);
  if (has_config) explain_kernel(r, r.config ? *r.config : configured(r), call);

  const Capacity& c = report.capacity;
  Json tiles = Json::array();
  Table t({"tile", "space", "dtype", "shape", "slots", "bytes per partition", "line"});
  for (const ir::Buffer& b : p.buffers) {
    if (b.kind != ir::BufferKind::tile) continue;
    const ir::SourceLoc& at = p.locs[b.loc];
    const std::vector<std::int64_t> shape(b.shape.begin(), b.shape.begin() + b.rank);
    Json extents_json = Json::array();
    for (std::int64_t n : shape) extents_json.push(n);
    tiles.push(Json::object({{"name", b.name},
                             {"space", name(b.space)},
                             {"dtype", name(b.dtype)},
                             {"shape", extents_json},
                             {"slots", b.slots},
                             {"bytes_per_partition", b.bytes_pp() * b.slots},
                             {"file", p.files[at.file]},
                             {"line", at.line}}));
    t.row({b.name, name(b.space), name(b.dtype), extents(shape), std::to_string(b.slots),
           grouped(b.bytes_pp() * b.slots), std::to_string(at.line)});
  }
  std::string& s = call.text;
  s += t.text("  ");
  s += "  SBUF " + grouped(c.sbuf_bytes_pp) + " of " + grouped(c.sbuf_limit_bytes_pp) + " bytes per partition, PSUM " +
       std::to_string(c.psum_banks) + " of " + std::to_string(c.psum_limit_banks) + " banks\n\n";
  call.out.set("tiles", std::move(tiles));
  call.out.set("capacity", Json::object({{"sbuf_bytes_per_partition", c.sbuf_bytes_pp},
                                         {"limit", c.sbuf_limit_bytes_pp},
                                         {"psum_banks", c.psum_banks},
                                         {"psum_banks_limit", c.psum_limit_banks}}));
  if (const auto b = bound_of(r)) {
    call.out.set("bound_us", b->us).set("bound", name(b->limit));
    s += wrap("No configuration takes less than " + microseconds(b->us) + " on " + r.arch->name + " (" +
                  name(b->limit) + "): the array needs " + microseconds(b->tensor_us) + ", the DMA engines " +
                  microseconds(b->dma_us) + ", what comes before and after " + microseconds(b->fixed_us) + ".",
              100, "  ") +
         "\n";
  }
  const std::string text = ir::to_text(p);
  call.out.set("text", text).set("legal", report.ok());
  s += text;
  if (!report.ok())
    s += "\n" + counted(static_cast<std::int64_t>(report.violations.size()), "violation") +
         "; 'nki-sim check' lists them.\n";
}

}  // namespace

void add_explain(Cli& cli) {
  auto f = std::make_shared<TargetFlags>();
  cli.command("explain", "say what a configuration does: arguments, tunables, tiles, work, the program as text")
      .target(*f)
      .example("nki-sim explain matmul --shape m=512,n=512,k=512 --hw trn2")
      .run([f](Call& call) { run(*f, call); });
}

}  // namespace nki::tool
