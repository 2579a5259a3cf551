#include <sim/tool/failure.hpp>
#include <sim/tool/files.hpp>
#include <sim/tool/program_file.hpp>

#include <nki/io/program_json.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace nki::tool {

ir::Program load_program_file(const std::string& path) {
  return io::load_program(read_file(path, "a recorded program"), path);
}

std::string program_text(const ir::Program& p) {
  return io::save_program(p);
}

namespace {

/// "m=1,n=2 layout=lhs": the words between spaces.
std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    if (space > at) out.push_back(text.substr(at, space - at));
    at = space + 1;
  }
  return out;
}

bool same_arguments(const ir::Program& p, const std::vector<kernel::Argument>& wanted) {
  std::size_t n = 0;
  for (const ir::Buffer& b : p.buffers) {
    if (b.kind == ir::BufferKind::tile) continue;
    if (n == wanted.size()) return false;
    const kernel::Argument& a = wanted[n++];
    if (a.name != b.name || a.kind != b.kind || a.dtype != b.dtype || a.shape.size() != b.rank) return false;
    for (std::size_t i = 0; i < b.rank; ++i)
      if (a.shape[i] != b.shape[i]) return false;
  }
  return n == wanted.size();
}

}  // namespace

void recognise(Request& r) {
  const ir::Program& p = *r.program;
  const kernel::Kernel* k = registry().find(p.kernel);
  if (k == nullptr) return;
  kernel::Problem problem = k->default_problem();
  std::vector<std::optional<std::int64_t>> values(k->tunables().size());
  try {
    const auto key = [](const auto& specs, const std::string& name, auto field) {
      for (std::size_t i = 0; i < specs.size(); ++i)
        if (specs[i].*field == name) return i;
      return specs.size();
    };
    std::size_t sizes = 0;
    for (const auto& [name, text] : parse_pairs(words(p.problem), "problem", "")) {
      if (const std::size_t i = key(k->sizes(), name, &kernel::SizeSpec::key); i < k->sizes().size()) {
        problem.sizes[i] = parse_integer(text, 1, size_max, name);
        ++sizes;
      } else if (const std::size_t a = key(k->attrs(), name, &kernel::AttrSpec::key); a < k->attrs().size()) {
        const auto& labels = k->attrs()[a].labels;
        const auto label = std::find(labels.begin(), labels.end(), text);
        if (label == labels.end()) return;
        problem.attrs[a] = label - labels.begin();
      }
    }
    if (sizes != k->sizes().size()) return;
    // An operand is an argument, or the layout's variant of it: "lhs" is the argument "lhsT" there.
    for (std::size_t i = 0; i < k->dtypes().size(); ++i)
      for (const ir::Buffer& b : p.buffers)
        if (b.kind != ir::BufferKind::tile &&
            (b.name == k->dtypes()[i].operand || b.name == std::string(k->dtypes()[i].operand) + "T"))
          problem.dtypes[i] = b.dtype;
    if (!same_arguments(p, k->arguments(problem))) return;
    if (!p.params.empty()) set_tunables(*k, {p.params}, "params", values);
  } catch (const std::exception&) {
    return;  // the texts are for reports only, so whatever they hold is no error
  }
  r.kernel = k;
  r.problem = std::move(problem);
  if (std::all_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); })) {
    kernel::Config c;
    for (const auto& v : values) c.push_back(*v);
    r.config = std::move(c);
  }
}

}  // namespace nki::tool
