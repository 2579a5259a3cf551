#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>

#include <nki/dtype.hpp>
#include <nki/kernels/cases.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace nki::tool {

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string s;
  for (const std::string& w : words) s += (s.empty() ? "" : ", ") + w;
  return s;
}

Json kernel_json(const kernel::Kernel& k) {
  const kernel::Problem defaults = k.default_problem();
  Json sizes = Json::array(), attrs = Json::array(), dtypes = Json::array(), tunables = Json::array();
  Json constraints = Json::array(), cases = Json::array();
  for (const kernel::SizeSpec& s : k.sizes()) sizes.push(Json::object({{"key", s.key}, {"what", s.what}}));
  for (std::size_t i = 0; i < k.attrs().size(); ++i) {
    const kernel::AttrSpec& a = k.attrs()[i];
    Json values = Json::array();
    for (const char* l : a.labels) values.push(l);
    attrs.push(Json::object({{"key", a.key},
                             {"what", a.what},
                             {"values", values},
                             {"default", a.labels[static_cast<std::size_t>(a.fallback)]}}));
  }
  for (const kernel::DtypeSpec& d : k.dtypes()) {
    Json values = Json::array();
    for (DType t : d.allowed) values.push(name(t));
    dtypes.push(Json::object({{"operand", d.operand}, {"values", values}, {"default", name(d.allowed.front())}}));
  }
  for (const kernel::TunableSpec& t : k.tunables()) {
    Json values = Json::array();
    for (std::int64_t v : t.values) {
      if (t.labels.empty())
        values.push(v);
      else
        values.push(t.spell(v));
    }
    tunables.push(Json::object({{"name", t.name}, {"what", t.what}, {"values", values}}));
  }
  for (const std::string& c : k.constraints()) constraints.push(c);
  for (const kernels::Case& c : kernels::cases)
    if (c.kernel == k.name()) {
      Request r;
      TargetFlags f;
      f.target = k.name();
      f.case_id = c.id;
      r = resolve(f, Hw::trn2_by_default, "nki-sim list");
      cases.push(Json::object({{"id", c.id},
                               {"model", c.model},
                               {"source", kernels::cases_source},
                               {"shape", sizes_json(k, r.problem)},
                               {"attrs", attrs_json(k, r.problem)},
                               {"dtype", dtypes_json(k, r.problem)},
                               {"note", c.note}}));
    }
  return Json::object({{"name", k.name()},
                       {"formula", k.formula()},
                       {"sizes", sizes},
                       {"attrs", attrs},
                       {"dtypes", dtypes},
                       {"tunables", tunables},
                       {"constraints", constraints},
                       {"cases", cases}});
}

void kernel_text(const kernel::Kernel& k, std::string& s) {
  s += bold(k.name()) + "   " + k.formula() + "\n";
  Table t({"", "", ""});
  for (const kernel::SizeSpec& x : k.sizes()) t.row({"--shape " + std::string(x.key) + "=", x.what, ""});
  for (const kernel::AttrSpec& a : k.attrs())
    t.row({"--attr " + std::string(a.key) + "=", joined({a.labels.begin(), a.labels.end()}), a.what});
  for (const kernel::DtypeSpec& d : k.dtypes()) {
    std::vector<std::string> names;
    for (DType x : d.allowed) names.emplace_back(name(x));
    t.row({"--dtype " + std::string(d.operand) + "=", joined(names), ""});
  }
  for (const kernel::TunableSpec& x : k.tunables()) {
    std::vector<std::string> values;
    for (std::int64_t v : x.values) values.push_back(x.spell(v));
    t.row({"--param " + std::string(x.name) + "=", joined(values), x.what});
  }
  s += t.text("  ") + "\n";
  Table cases({"case", "problem", "model", "note"});
  for (const kernels::Case& c : kernels::cases)
    if (c.kernel == k.name())
      cases.row({std::string(c.id), std::string(c.sizes) + " " + std::string(c.attrs) + " " + std::string(c.dtype),
                 std::string(c.model), std::string(c.note)});
  if (!cases.empty()) s += cases.text("  ") + "\n";
}

void run(const std::string& only, Call& call) {
  std::vector<std::string> names;
  for (const auto& k : registry().all()) names.push_back(k->name());
  if (!only.empty() && registry().find(only) == nullptr) unknown_name("kernel", only, names, "nki-sim list @");
  Json kernels = Json::array(), hw = Json::array(), dtypes = Json::array();
  for (const auto& k : registry().all()) {
    if (!only.empty() && k->name() != only) continue;
    kernels.push(kernel_json(*k));
    kernel_text(*k, call.text);
  }
  for (const Arch* a : arch::all) hw.push(a->name);
  for (const DTypeInfo& d : dtype_table) dtypes.push(d.name);
  call.out.set("kernels", std::move(kernels)).set("hw", std::move(hw)).set("dtypes", std::move(dtypes));
  call.text += "Cases: " + std::string(nki::kernels::cases_source) +
               ". The first dtype and the first attribute are the "
               "defaults.\n";
}

}  // namespace

void add_list(Cli& cli) {
  auto only = std::make_shared<std::string>();
  cli.command("list", "show the kernels: sizes, attributes, dtypes, tunables, named problems")
      .positional("KERNEL", *only, "one kernel instead of all", false)
      .example("nki-sim list")
      .example("nki-sim list matmul --json")
      .run([only](Call& call) { run(*only, call); });
}

}  // namespace nki::tool
