#include <autotune/tool/commands.hpp>
#include <sim/tool/common.hpp>

#include <nki/error.hpp>

#include <cstddef>
#include <utility>

namespace nki::tool {

Command& add_space_flags(Command& c, SpaceFlags& f) {
  return c.target(f.target, "")
      .options("--pin", f.pin, "name=value,...", "tunables that keep one value")
      .options("--default", f.start, "name=value,...",
               "the configuration to compare with, where it is not the kernel's own");
}

Task make_task(const SpaceFlags& f, const char* command) {
  if (f.target.target.ends_with(".json"))
    usage("NKI-E604", "a recorded program has its parameters in it; a search needs the kernel", f.target.target, {},
          std::string("name the kernel: ") + example_call(command, *registry().all().front()));
  Request r = resolve(f.target, Hw::required, command);
  const kernel::Kernel& k = *r.kernel;
  std::vector<std::optional<std::int64_t>> pins, values;
  set_tunables(k, f.pin, "--pin", pins);
  set_tunables(k, f.start, "--default", values);
  std::optional<kernel::Config> start;
  if (!f.start.empty()) {
    start = k.default_config(r.problem, *r.arch);
    for (std::size_t t = 0; t < values.size(); ++t) {
      if (values[t] && pins[t] && *values[t] != *pins[t])
        usage("NKI-E604", "a pinned tunable has one value, in the default too",
              std::string(k.tunables()[t].name) + "=" + k.tunables()[t].spell(*pins[t]) + " with --pin, " +
                  k.tunables()[t].spell(*values[t]) + " with --default",
              {}, "leave one out");
      if (values[t]) (*start)[t] = *values[t];
      if (pins[t]) (*start)[t] = *pins[t];
    }
    if (const int broken = k.broken_constraint(r.problem, *start, *r.arch); broken >= 0)
      throw Failure(
          {.id = "NKI-E607",
           .error_class = "illegal",
           .message = "a configuration must keep every constraint of its kernel: " +
                      k.constraints()[static_cast<std::size_t>(broken)],
           .got = "the default " + k.spell_config(*start) + " for " + k.spell_sizes(r.problem) + " on " + r.arch->name,
           .allowed = {},
           .hint = "give other values with --default; '" + std::string("nki-tune space") + "' shows them all",
           .file = {},
           .exit_code = exit_illegal});
  }
  tune::Space space(k, r.problem, *r.arch, pins, start);
  r.pins = std::move(pins);
  return {std::move(r), std::move(space)};
}

std::string spell_params(const tune::Space& s, tune::Index i) {
  return s.kernel().spell_config(s.config(i));
}

std::string spell_changes(const tune::Space& s, tune::Index i) {
  const kernel::Kernel& k = s.kernel();
  const kernel::Config own = k.default_config(s.problem(), s.arch()), c = s.config(i);
  std::string out;
  for (std::size_t t = 0; t < c.size(); ++t)
    if (c[t] != own[t])
      out += (out.empty() ? "" : ",") + std::string(k.tunables()[t].name) + "=" + k.tunables()[t].spell(c[t]);
  return out;
}

Json params_json(const tune::Space& s, tune::Index i) {
  return config_json(s.kernel(), s.config(i));
}

void describe_task(const Task& t, Json& out) {
  const Request& r = t.request;
  out.set("kernel", r.kernel_name());
  if (!r.case_id.empty()) out.set("case", r.case_id);
  out.set("shape", sizes_json(*r.kernel, r.problem)).set("attrs", attrs_json(*r.kernel, r.problem));
  out.set("dtype", dtypes_json(*r.kernel, r.problem)).set("hw", r.arch->name);
  Json pins = Json::object();
  for (std::size_t i = 0; i < r.pins.size(); ++i)
    if (r.pins[i]) {
      const kernel::TunableSpec& spec = r.kernel->tunables()[i];
      pins.set(spec.name, spec.labels.empty() ? Json(*r.pins[i]) : Json(spec.spell(*r.pins[i])));
    }
  out.set("pins", std::move(pins));
}

Json constraints_json(const tune::Space& s) {
  Json list = Json::array();
  for (const tune::Rejection& r : s.rejections())
    list.push(Json::object({{"name", r.constraint}, {"rejected", r.rejected}}));
  return list;
}

Fault no_legal_fault(const tune::Space& s) {
  try {
    s.require_legal();
  } catch (const Error& e) {
    return fault_of(e.violation());
  }
  return {};
}

}  // namespace nki::tool
