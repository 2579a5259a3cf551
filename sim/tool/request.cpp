#include <sim/tool/failure.hpp>
#include <sim/tool/program_file.hpp>
#include <sim/tool/request.hpp>

#include <nki/dtype.hpp>
#include <nki/kernels/all.hpp>
#include <nki/kernels/cases.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace nki::tool {

const kernel::Registry& registry() {
  static const kernel::Registry all = [] {
    kernel::Registry r;
    kernels::register_all(r);
    return r;
  }();
  return all;
}

std::string example_call(std::string_view command, const kernel::Kernel& k) {
  std::string s = std::string(command) + " " + k.name() + " --shape ";
  for (std::size_t i = 0; i < k.sizes().size(); ++i) s += (i == 0 ? "" : ",") + std::string(k.sizes()[i].key) + "=512";
  return s + " --hw trn2";
}

// --- numbers and pairs ------------------------------------------------------------------------------------------------

std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most, const std::string& what,
                           const std::string& too_small, const std::string& too_large) {
  const std::string allowed = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const std::string got = what + "=" + std::string(text.substr(0, 80));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || (error == std::errc{} && end != text.data() + text.size())) {
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    usage("NKI-E603", "a value must be a whole number, written in digits only", got, allowed,
          text.empty()           ? "write a number after the '='"
          : text.front() == '+'  ? "leave out the '+'"
          : error == std::errc{} ? "leave out '" + std::string(rest.substr(0, 40)) + "' after the number"
                                 : "write " + what + "=512, for example");
  }
  const bool over = error == std::errc::result_out_of_range ? text.front() != '-' : value > most;
  if (error == std::errc::result_out_of_range || value < least || value > most) {
    const std::string& why = over ? too_large : too_small;
    usage("NKI-E603", "a value must lie within its limits", got, allowed,
          !why.empty() ? why
          : over       ? "the largest that makes sense is " + std::to_string(most)
                       : "the smallest that makes sense is " + std::to_string(least));
  }
  return value;
}

double parse_number(std::string_view text, double least, double most, const std::string& what) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = [](double x) {
    std::string s = std::to_string(x);
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
    return s;
  };
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < least ||
      value > most)
    usage("NKI-E603", "a value must be a number within its limits", what + "=" + std::string(text.substr(0, 80)),
          "a number from " + digits(least) + " to " + digits(most), "write the number alone, without a unit");
  return value;
}

std::vector<std::pair<std::string, std::string>> parse_pairs(const std::vector<std::string>& texts,
                                                             std::string_view flag, std::string_view example) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts)
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      const std::string part = text.substr(at, comma - at);
      at = comma + 1;
      const std::size_t equals = part.find('=');
      if (equals == std::string::npos || equals == 0)
        usage("NKI-E603", std::string(flag) + " takes key=value, several of them with commas between",
              "'" + part.substr(0, 80) + "'", {}, "write " + std::string(flag) + " " + std::string(example));
      std::string key = part.substr(0, equals);
      for (const auto& [other, value] : pairs)
        if (other == key)
          usage("NKI-E604", "a key is given once", std::string(flag) + " " + key + "=" + value + " and " + part, {},
                "keep one of them");
      pairs.emplace_back(std::move(key), part.substr(equals + 1));
    }
  return pairs;
}

const Arch& parse_hw(std::string_view text, std::string_view command) {
  if (const Arch* a = arch::find(text)) return *a;
  std::vector<std::string> names;
  for (const Arch* a : arch::all) names.emplace_back(a->name);
  unknown_name("target", text, names, std::string(command) + " ... --hw @");
}

// --- the parts of a request -------------------------------------------------------------------------------------------

namespace {

template <class Specs, class Name>
std::size_t find_spec(const Specs& specs, std::string_view key, Name name) {
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (name(specs[i]) == key) return i;
  return specs.size();
}

template <class Specs, class Name>
std::vector<std::string> names_of(const Specs& specs, Name name) {
  std::vector<std::string> out;
  for (const auto& s : specs) out.emplace_back(name(s));
  return out;
}

void set_sizes(const kernel::Kernel& k, const std::vector<std::string>& texts, kernel::Problem& p,
               std::string_view command) {
  const auto key_of = [](const kernel::SizeSpec& s) { return std::string_view(s.key); };
  std::string example;
  for (const kernel::SizeSpec& s : k.sizes()) example += (example.empty() ? "" : ",") + std::string(s.key) + "=512";
  std::vector<bool> given(k.sizes().size(), false);
  for (const auto& [key, text] : parse_pairs(texts, "--shape", example)) {
    const std::size_t i = find_spec(k.sizes(), key, key_of);
    if (i == k.sizes().size())
      unknown_name("size of " + k.name(), key, names_of(k.sizes(), key_of), "--shape " + example);
    const std::string axis = key + " (" + k.sizes()[i].what + ")";
    p.sizes[i] = parse_integer(
        text, 1, size_max, key, "with no element along " + axis + " there is nothing to compute; take 1 or more",
        "no tensor of one core is so long along " + axis + "; shard the problem and take one part");
    given[i] = true;
  }
  std::string missing;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (!given[i])
      missing += (missing.empty() ? "" : ", ") + std::string(k.sizes()[i].key) + " (" + k.sizes()[i].what + ")";
  if (!missing.empty())
    usage("NKI-E602", k.name() + " needs every size of its problem", "no " + missing, example,
          "write for example: " + example_call(command, k));
}

void set_attrs(const kernel::Kernel& k, const std::vector<std::string>& texts, kernel::Problem& p) {
  const auto key_of = [](const kernel::AttrSpec& s) { return std::string_view(s.key); };
  for (const auto& [key, text] : parse_pairs(texts, "--attr", "layout=lhs")) {
    const std::size_t i = find_spec(k.attrs(), key, key_of);
    if (i == k.attrs().size())
      unknown_name("attribute of " + k.name(), key, names_of(k.attrs(), key_of), "--attr @=...");
    const auto& labels = k.attrs()[i].labels;
    const auto label = std::find(labels.begin(), labels.end(), std::string_view(text));
    if (label == labels.end())
      unknown_name("value of the attribute " + key, text, {labels.begin(), labels.end()}, "--attr " + key + "=@");
    p.attrs[i] = label - labels.begin();
  }
}

DType dtype_named(const std::string& text) {
  if (const auto t = parse_dtype(text)) return *t;
  std::vector<std::string> names;
  for (const DTypeInfo& i : dtype_table) names.emplace_back(i.name);
  unknown_name("dtype", text, names, "--dtype @");
}

void set_dtype(const kernel::Kernel& k, std::size_t operand, DType t, kernel::Problem& p) {
  const kernel::DtypeSpec& spec = k.dtypes()[operand];
  if (std::find(spec.allowed.begin(), spec.allowed.end(), t) == spec.allowed.end()) {
    std::string allowed;
    for (DType d : spec.allowed) allowed += (allowed.empty() ? "" : ", ") + std::string(name(d));
    usage("NKI-E603", k.name() + " takes only some dtypes for the operand " + spec.operand,
          std::string(spec.operand) + "=" + name(t), allowed,
          "write --dtype " + std::string(name(spec.allowed.front())));
  }
  p.dtypes[operand] = t;
}

void set_dtypes(const kernel::Kernel& k, const std::vector<std::string>& texts, kernel::Problem& p) {
  const auto operand_of = [](const kernel::DtypeSpec& s) { return std::string_view(s.operand); };
  for (const std::string& text : texts) {
    if (text.find('=') == std::string::npos) {
      const DType t = dtype_named(text);
      for (std::size_t i = 0; i < k.dtypes().size(); ++i) set_dtype(k, i, t, p);
      continue;
    }
    for (const auto& [operand, type] : parse_pairs({text}, "--dtype", "lhs=bf16,rhs=bf16")) {
      const std::size_t i = find_spec(k.dtypes(), operand, operand_of);
      if (i == k.dtypes().size())
        unknown_name("operand of " + k.name(), operand, names_of(k.dtypes(), operand_of), "--dtype @=" + type);
      set_dtype(k, i, dtype_named(type), p);
    }
  }
}

/// Sizes that each make sense may still ask for more than exists.
void check_total(const kernel::Kernel& k, const kernel::Problem& p) {
  constexpr double most = 256.0 * 1024 * 1024 * 1024;
  double total = 0;
  for (const kernel::Argument& a : k.arguments(p)) {
    double n = bytes(a.dtype);
    for (std::int64_t extent : a.shape) n *= static_cast<double>(extent);
    total += n;
  }
  if (total > most)
    usage("NKI-E603", "the arguments of a kernel together must fit the HBM of a chip",
          k.spell_sizes(p) + ": " + std::to_string(static_cast<std::int64_t>(total / (1 << 30))) + " GiB",
          "up to 256 GiB", "take smaller sizes; one core works on one part of a sharded problem");
}

const kernel::Kernel& kernel_named(const std::string& word, std::string_view command) {
  if (const kernel::Kernel* k = registry().find(word)) return *k;
  std::vector<std::string> names;
  for (const auto& k : registry().all()) names.push_back(k->name());
  unknown_name("kernel", word, names,
               std::string(command) + " @ --shape k=v,... --hw trn2; or a program file that ends in .json");
}

void take_case(const std::string& id, Request& r) {
  const kernels::Case* c = kernels::find_case(id);
  std::vector<std::string> ids;
  for (const kernels::Case& x : kernels::cases)
    if (x.kernel == r.kernel->name()) ids.emplace_back(x.id);
  if (c == nullptr || c->kernel != r.kernel->name()) {
    if (c != nullptr)
      usage("NKI-E603", "a case belongs to one kernel", std::string(c->id) + " of " + std::string(c->kernel), {},
            "name that kernel, or take another case");
    unknown_name("case of " + r.kernel->name(), id, ids, "--case @");
  }
  r.case_id = c->id;
  set_sizes(*r.kernel, {std::string(c->sizes)}, r.problem, "");
  if (!c->attrs.empty()) set_attrs(*r.kernel, {std::string(c->attrs)}, r.problem);
  if (!c->dtype.empty()) set_dtypes(*r.kernel, {std::string(c->dtype)}, r.problem);
}

}  // namespace

void set_tunables(const kernel::Kernel& k, const std::vector<std::string>& texts, std::string_view flag,
                  std::vector<std::optional<std::int64_t>>& values) {
  const auto name_of = [](const kernel::TunableSpec& s) { return std::string_view(s.name); };
  values.resize(k.tunables().size());
  for (const auto& [key, text] : parse_pairs(texts, flag, "tiles_k=2")) {
    const std::size_t i = find_spec(k.tunables(), key, name_of);
    if (i == k.tunables().size())
      unknown_name("tunable of " + k.name(), key, names_of(k.tunables(), name_of), std::string(flag) + " @=...");
    const kernel::TunableSpec& t = k.tunables()[i];
    std::vector<std::string> spelled;
    bool found = false;
    for (std::int64_t v : t.values) {
      spelled.push_back(t.spell(v));
      if (spelled.back() == text || std::to_string(v) == text) {
        values[i] = v;
        found = true;
      }
    }
    if (!found) unknown_name("value of the tunable " + key, text, spelled, std::string(flag) + " " + key + "=@");
  }
}

namespace {

/// The call as it was typed, with a target.
std::string retyped(const TargetFlags& f, std::string_view command) {
  if (registry().find(f.target) != nullptr && f.case_id.empty() && f.shape.empty())
    return example_call(command, *registry().find(f.target));
  std::string s = std::string(command) + " " + f.target;
  if (!f.case_id.empty()) s += " --case " + f.case_id;
  const auto add = [&](const char* flag, const std::vector<std::string>& values) {
    for (const std::string& v : values) s += std::string(" ") + flag + " " + v;
  };
  add("--shape", f.shape);
  add("--attr", f.attr);
  add("--dtype", f.dtype);
  add("--param", f.param);
  return s + " --hw trn2";
}

}  // namespace

Request resolve(const TargetFlags& f, Hw hw, std::string_view command) {
  Request r;
  if (!f.hw.empty()) {
    r.arch = &parse_hw(f.hw, command);
    r.arch_given = true;
  }
  const bool is_file = f.target.ends_with(".json");
  if (!is_file) r.kernel = &kernel_named(f.target, command);
  if (hw == Hw::required && !r.arch_given)
    usage("NKI-E602", "time and legality depend on the core, so --hw must be given", "no --hw", "trn1, trn2, trn3",
          "add --hw trn2: " + retyped(f, command));
  if (is_file) {
    if (!f.shape.empty() || !f.case_id.empty() || !f.attr.empty() || !f.dtype.empty() || !f.param.empty())
      usage("NKI-E604", "a recorded program has its problem and its parameters in it",
            f.target + " with --shape, --case, --attr, --dtype or --param", {},
            "leave them out, or record the kernel again with other values");
    r.file = f.target;
    r.program = load_program_file(f.target);
    recognise(r);
    return r;
  }
  r.problem = r.kernel->default_problem();
  if (!f.case_id.empty()) {
    if (!f.shape.empty()) usage("NKI-E604", "the sizes come from --case or from --shape", "both", {}, "leave one out");
    take_case(f.case_id, r);
  } else {
    set_sizes(*r.kernel, f.shape, r.problem, command);
  }
  set_attrs(*r.kernel, f.attr, r.problem);
  set_dtypes(*r.kernel, f.dtype, r.problem);
  check_total(*r.kernel, r.problem);
  set_tunables(*r.kernel, f.param, "--param", r.pins);
  return r;
}

// --- configurations ---------------------------------------------------------------------------------------------------

namespace {

/// The legal configuration that changes fewest values, or an empty one; the user's own are kept, unless `any` may go.
kernel::Config nearest_legal(const Request& r, const kernel::Config& from, bool any) {
  const kernel::Kernel& k = *r.kernel;
  constexpr int most_changes = 3;
  int budget = 200000;  // a moment of search, then no hint
  kernel::Config c = from, found;
  const auto search = [&](const auto& self, std::size_t first, int changes) -> bool {
    if (changes == 0) {
      if (k.broken_constraint(r.problem, c, *r.arch) >= 0) return --budget < 0;
      found = c;
      return true;
    }
    for (std::size_t i = first; i < c.size(); ++i) {
      if (r.pins[i] && !any) continue;
      for (std::int64_t v : k.tunables()[i].values) {
        if (v == from[i]) continue;
        c[i] = v;
        const bool done = self(self, i + 1, changes - 1);
        c[i] = from[i];
        if (done) return true;
      }
    }
    return false;
  };
  for (int changes = 1; changes <= most_changes; ++changes)
    if (search(search, 0, changes)) break;
  return found;
}

}  // namespace

kernel::Config configured(const Request& r) {
  const kernel::Kernel& k = *r.kernel;
  kernel::Config c = k.default_config(r.problem, *r.arch);
  bool pinned = false;
  for (std::size_t i = 0; i < r.pins.size(); ++i)
    if (r.pins[i]) {
      c[i] = *r.pins[i];
      pinned = true;
    }
  const int broken = k.broken_constraint(r.problem, c, *r.arch);
  if (broken < 0) return c;
  kernel::Config legal = nearest_legal(r, c, false);
  const bool instead = legal.empty() && pinned;
  if (instead) legal = nearest_legal(r, c, true);
  std::string hint;
  for (std::size_t i = 0; i < legal.size(); ++i)
    if (legal[i] != c[i])
      hint += (hint.empty() ? "" : ",") + std::string(k.tunables()[i].name) + "=" + k.tunables()[i].spell(legal[i]);
  hint = legal.empty() ? std::string("'nki-tune space' shows what is legal for this problem")
                       : "with --param " + hint + (instead ? " instead" : " as well") + " it is legal";
  throw Failure({.id = "NKI-E607",
                 .error_class = "illegal",
                 .message = "a configuration must keep every constraint of its kernel: " +
                            k.constraints()[static_cast<std::size_t>(broken)],
                 .got = k.spell_config(c) + " for " + k.spell_sizes(r.problem) + " on " + r.arch->name,
                 .allowed = {},
                 .hint = hint,
                 .file = {},
                 .exit_code = exit_illegal});
}

ir::Program recorded(const Request& r) {
  return r.program ? *r.program : recorded(r, configured(r));
}
ir::Program recorded(const Request& r, const kernel::Config& c) {
  return r.kernel->record(r.problem, c, *r.arch);
}

// --- descriptions -----------------------------------------------------------------------------------------------------

Json sizes_json(const kernel::Kernel& k, const kernel::Problem& p) {
  Json o = Json::object();
  for (std::size_t i = 0; i < k.sizes().size(); ++i) o.set(k.sizes()[i].key, p.sizes[i]);
  return o;
}
Json attrs_json(const kernel::Kernel& k, const kernel::Problem& p) {
  Json o = Json::object();
  for (std::size_t i = 0; i < k.attrs().size(); ++i)
    o.set(k.attrs()[i].key, k.attrs()[i].labels[static_cast<std::size_t>(p.attrs[i])]);
  return o;
}
Json dtypes_json(const kernel::Kernel& k, const kernel::Problem& p) {
  Json o = Json::object();
  for (std::size_t i = 0; i < k.dtypes().size(); ++i) o.set(k.dtypes()[i].operand, name(p.dtypes[i]));
  return o;
}
Json config_json(const kernel::Kernel& k, const kernel::Config& c) {
  Json o = Json::object();
  for (std::size_t i = 0; i < k.tunables().size(); ++i) {
    const kernel::TunableSpec& t = k.tunables()[i];
    if (t.labels.empty())
      o.set(t.name, c[i]);
    else
      o.set(t.name, t.spell(c[i]));
  }
  return o;
}
std::string spell_dtypes(const kernel::Kernel& k, const kernel::Problem& p) {
  if (std::all_of(p.dtypes.begin(), p.dtypes.end(), [&](DType t) { return t == p.dtypes.front(); }))
    return p.dtypes.empty() ? "" : name(p.dtypes.front());
  std::string s;
  for (std::size_t i = 0; i < k.dtypes().size(); ++i)
    s += (i == 0 ? "" : ",") + std::string(k.dtypes()[i].operand) + "=" + name(p.dtypes[i]);
  return s;
}

void describe(const Request& r, Json& out) {
  out.set("kernel", r.kernel_name());
  if (!r.file.empty()) out.set("program", r.file);
  if (!r.case_id.empty()) out.set("case", r.case_id);
  if (r.kernel != nullptr) {
    out.set("shape", sizes_json(*r.kernel, r.problem));
    out.set("attrs", attrs_json(*r.kernel, r.problem));
    out.set("dtype", dtypes_json(*r.kernel, r.problem));
  } else {
    // The arguments say all that is known about the problem of a foreign kernel.
    Json shape = Json::object(), dtype = Json::object();
    for (const ir::Buffer& b : r.program->buffers) {
      if (b.kind == ir::BufferKind::tile) continue;
      Json extents = Json::array();
      for (std::size_t i = 0; i < b.rank; ++i) extents.push(b.shape[i]);
      shape.set(b.name, std::move(extents));
      dtype.set(b.name, name(b.dtype));
    }
    out.set("shape", std::move(shape)).set("attrs", Json::object()).set("dtype", std::move(dtype));
  }
  out.set("hw", r.arch->name);
  if (r.config)
    out.set("params", config_json(*r.kernel, *r.config));
  else if (r.program)
    out.set("params", Json::object());
  else
    out.set("params", config_json(*r.kernel, configured(r)));
}

std::string describe(const Request& r) {
  std::string s = r.kernel_name();
  if (!r.file.empty()) s += " (" + r.file + ")";
  if (!r.case_id.empty()) s += " " + r.case_id;
  if (r.kernel != nullptr) {
    const std::string attrs = r.kernel->spell_attrs(r.problem);
    s += ": " + r.kernel->spell_sizes(r.problem) + (attrs.empty() ? "" : " " + attrs) + " " +
         spell_dtypes(*r.kernel, r.problem);
  }
  return s + " on " + r.arch->name;
}

}  // namespace nki::tool
