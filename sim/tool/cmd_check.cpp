#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>

#include <nki/check/verify.hpp>

#include <cstddef>
#include <memory>

namespace nki::tool {

check::Report verified(const ir::Program& p, const Arch& a, bool must_be_legal) {
  check::Report report = check::verify(p, a);
  if (must_be_legal) report.throw_if_failed();
  return report;
}

namespace {

Json violation_json(const Violation& v) {
  return Json::object({{"id", v.id},
                       {"message", v.sentence},
                       {"got", v.got},
                       {"allowed", v.allowed},
                       {"file", v.file},
                       {"line", v.line},
                       {"hint", v.hint}});
}

void run(const TargetFlags& f, Call& call) {
  const Request r = resolve(f, Hw::required, "nki-sim check");
  const ir::Program p = recorded(r);
  const check::Report report = verified(p, *r.arch, false);

  describe(r, call.out);
  Json violations = Json::array(), warnings = Json::array(), ranges = Json::array();
  for (const Violation& v : report.violations) violations.push(violation_json(v));
  for (const Violation& v : report.warnings) warnings.push(violation_json(v));
  for (const LiveRange& l : report.live_ranges) {
    const ir::Buffer& b = p.buffers[l.buffer];
    const ir::SourceLoc& at = p.locs[l.first_loc];
    ranges.push(Json::object({{"tile", b.name},
                              {"space", name(b.space)},
                              {"dtype", name(b.dtype)},
                              {"slots", b.slots},
                              {"bytes_per_partition", b.bytes_pp()},
                              {"first_node", l.first_node},
                              {"last_node", l.last_node},
                              {"file", p.files[at.file]},
                              {"line", l.first_line},
                              {"last_line", l.last_line}}));
  }
  const Capacity& c = report.capacity;
  call.out.set("violations", std::move(violations)).set("warnings", std::move(warnings));
  call.out.set("capacity", Json::object({{"sbuf_bytes_per_partition", c.sbuf_bytes_pp},
                                         {"limit", c.sbuf_limit_bytes_pp},
                                         {"psum_banks", c.psum_banks},
                                         {"psum_banks_limit", c.psum_limit_banks}}));
  call.out.set("live_ranges", std::move(ranges));

  std::string& s = call.text;
  s = bold(describe(r)) + "\n";
  s += "  SBUF " + grouped(c.sbuf_bytes_pp) + " of " + grouped(c.sbuf_limit_bytes_pp) + " bytes per partition, PSUM " +
       std::to_string(c.psum_banks) + " of " + std::to_string(c.psum_limit_banks) + " banks\n\n";
  Table t({"tile", "space", "dtype", "slots", "bytes each", "bytes", "declared at"});
  for (const LiveRange& l : report.live_ranges) {
    const ir::Buffer& b = p.buffers[l.buffer];
    const std::string& file = p.files[p.locs[l.first_loc].file];
    t.row({b.name, name(b.space), name(b.dtype), std::to_string(b.slots), grouped(b.bytes_pp()),
           grouped(b.bytes_pp() * b.slots),
           file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(l.first_line)});
  }
  if (!t.empty()) s += t.text("  ") + "\n";
  for (const Violation& v : report.violations) s += v.text() + "\n";
  for (const Violation& v : report.warnings) s += "warning: " + v.text() + "\n";
  s += (report.ok() ? "Legal on " + std::string(r.arch->name)
                    : counted(static_cast<std::int64_t>(report.violations.size()), "violation")) +
       (report.warnings.empty() ? "" : ", " + counted(static_cast<std::int64_t>(report.warnings.size()), "warning")) +
       ".\n";
  if (!report.ok()) {
    call.fault = fault_of(report.violations.front());
    call.fault->exit_code = exit_illegal;
  }
}

}  // namespace

void add_check(Cli& cli) {
  auto f = std::make_shared<TargetFlags>();
  cli.command("check", "say whether a program is legal on a core, what it holds on chip, and what is likely slow")
      .target(*f)
      .example("nki-sim check matmul --case S01 --hw trn2")
      .example("nki-sim check matmul --shape m=512,n=512,k=512 --param tiles_m=2,bufs=3 --hw trn1")
      .run([f](Call& call) { run(*f, call); });
}

}  // namespace nki::tool
