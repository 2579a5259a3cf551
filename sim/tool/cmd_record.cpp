#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/program_file.hpp>

#include <nki/emit/nki_python.hpp>
#include <nki/ir/hash.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace nki::tool {

namespace {

struct Flags {
  TargetFlags target;
  std::string output;
};

std::string hex(std::uint64_t n) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string s;
  for (int shift = 60; shift >= 0; shift -= 4) s += digits[(n >> shift) & 15U];
  return s;
}

std::int64_t lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

/// A file or, where the output is stdout, the text itself: as a member of the JSON object, or as all that is printed.
void deliver(const Flags& f, const std::string& text, const char* member, Json as_json, const std::string& summary,
             Call& call) {
  const bool to_stdout = f.output.empty() || f.output == "-";
  if (!to_stdout) write_file(f.output, text);
  call.out.set("output", to_stdout ? Json("-") : Json(f.output)).set("bytes", text.size());
  if (to_stdout && call.json) call.out.set(member, std::move(as_json));
  call.text = to_stdout ? text : summary + "\nWritten to " + f.output + ".\n";
}

void record(const Flags& f, Call& call) {
  const Request r = resolve(f.target, Hw::trn2_by_default, "nki-sim record");
  const ir::Program p = recorded(r);
  describe(r, call.out);
  const std::string text = program_text(p);
  call.out.set("hash", hex(ir::hash(p)));
  call.out.set("instructions_static", p.instrs.size())
      .set("loops", p.loops.size())
      .set("tiles", std::count_if(p.buffers.begin(), p.buffers.end(),
                                  [](const ir::Buffer& b) { return b.kind == ir::BufferKind::tile; }));
  const bool embed = call.json && (f.output.empty() || f.output == "-");
  deliver(f, text, "recorded", embed ? parse_json(text, "the program") : Json(),
          bold(describe(r)) + ": " + counted(static_cast<std::int64_t>(p.instrs.size()), "instruction") + " in " +
              counted(static_cast<std::int64_t>(p.loops.size()), "loop") + ", hash " + hex(ir::hash(p)) + ".",
          call);
}

void emit(const Flags& f, Call& call) {
  const Request r = resolve(f.target, Hw::trn2_by_default, "nki-sim emit");
  const ir::Program p = recorded(r);
  verified(p, *r.arch);
  describe(r, call.out);
  const std::string text = emit::nki_python(p);
  call.out.set("language", "NKI 0.6 Python").set("lines", lines(text));
  deliver(f, text, "source", Json(text), bold(describe(r)) + ": " + counted(lines(text), "line") + " of NKI Python.",
          call);
}

}  // namespace

void add_record(Cli& cli) {
  auto f = std::make_shared<Flags>();
  cli.command("record", "run a kernel once and keep its program as a file")
      .target(f->target)
      .option("-o,--output", f->output, "FILE", "where to, '-' for stdout (default)")
      .example("nki-sim record matmul --shape m=512,n=512,k=512 --hw trn2 -o matmul.json")
      .example("nki-sim time matmul.json --hw trn2")
      .run([f](Call& call) { record(*f, call); });
}

void add_emit(Cli& cli) {
  auto f = std::make_shared<Flags>();
  cli.command("emit", "write a program as NKI Python source")
      .target(f->target)
      .option("-o,--output", f->output, "FILE", "where to, '-' for stdout (default)")
      .example("nki-sim emit matmul --shape m=512,n=512,k=512 --hw trn2 -o matmul.py")
      .run([f](Call& call) { emit(*f, call); });
}

}  // namespace nki::tool
