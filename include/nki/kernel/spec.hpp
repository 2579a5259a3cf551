#pragma once

#include <nki/arch.hpp>
#include <nki/builder.hpp>
#include <nki/dtype.hpp>
#include <nki/ir/program.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// What a kernel declares beside its body: sizes, attributes, dtypes, tunables, constraints and least work. Programs
/// and the tuner see every kernel through `kernel::Kernel`.
namespace nki::inline v0_1::kernel {

struct SizeSpec {
  const char* key;   ///< "m"
  const char* what;  ///< "rows of the output"
};
/// An attribute with named values; its value is the position of the name.
struct AttrSpec {
  const char* key;
  const char* what;
  std::vector<const char*> labels;
  std::int64_t fallback;  ///< the default's position
};
struct DtypeSpec {
  const char* operand;
  std::vector<DType> allowed;  ///< the first one is the default
};
/// A tunable: its legal values in order; named ones (queues, engines) have labels instead of numbers in reports.
struct TunableSpec {
  const char* name;
  const char* what;
  std::vector<std::int64_t> values;
  std::vector<const char*> labels;  ///< empty, or one for each value

  std::string spell(std::int64_t value) const {
    if (!labels.empty())
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] == value) return labels[i];
    return std::to_string(value);
  }
};

/// Values in the order of the specs.
struct Problem {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> attrs;
  std::vector<DType> dtypes;
  friend bool operator==(const Problem&, const Problem&) = default;
};
/// A value for each tunable, in order.
using Config = std::vector<std::int64_t>;

struct Argument {
  std::string name;
  ir::BufferKind kind = ir::BufferKind::input;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
};

/// Work that cannot be avoided: by any configuration, or by one.
struct Work {
  double tensor_cycles = 0;  ///< cycles in which the array streams, at the warm clock
  double read_bytes = 0;     ///< HBM to SBUF
  double write_bytes = 0;    ///< SBUF to HBM
};

/// A kernel as programs and the tuner see it.
class Kernel {
 public:
  virtual ~Kernel() = default;

  const std::string& name() const { return name_; }
  const std::string& formula() const { return formula_; }
  const std::vector<SizeSpec>& sizes() const { return sizes_; }
  const std::vector<AttrSpec>& attrs() const { return attrs_; }
  const std::vector<DtypeSpec>& dtypes() const { return dtypes_; }
  const std::vector<TunableSpec>& tunables() const { return tunables_; }
  /// Names of the constraints, in the order in which they are tried.
  const std::vector<std::string>& constraints() const { return constraints_; }

  virtual std::vector<Argument> arguments(const Problem&) const = 0;
  virtual Config default_config(const Problem&, const Arch&) const = 0;
  /// The first constraint that a configuration breaks, or -1.
  virtual int broken_constraint(const Problem&, const Config&, const Arch&) const = 0;
  /// Record the program. The values are taken as they are; `broken_constraint` says whether they make sense.
  virtual ir::Program record(const Problem&, const Config&, const Arch&) const = 0;
  virtual double flops(const Problem&) const = 0;
  /// The work of any configuration, and that of this one (never more than what it does).
  virtual Work least_work(const Problem&) const = 0;
  virtual Work work(const Problem&, const Config&, const Arch&) const = 0;

  /// "m=2048,n=6144,k=4096", "layout=lhs", "tiles_m=4,...".
  std::string spell_sizes(const Problem& p) const {
    std::string s;
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      s += (i == 0 ? "" : ",") + std::string(sizes_[i].key) + "=" + std::to_string(p.sizes[i]);
    return s;
  }
  std::string spell_attrs(const Problem& p) const {
    std::string s;
    for (std::size_t i = 0; i < attrs_.size(); ++i)
      s += (i == 0 ? "" : ",") + std::string(attrs_[i].key) + "=" +
           attrs_[i].labels[static_cast<std::size_t>(p.attrs[i])];
    return s;
  }
  std::string spell_config(const Config& c) const {
    std::string s;
    for (std::size_t i = 0; i < tunables_.size(); ++i)
      s += (i == 0 ? "" : ",") + std::string(tunables_[i].name) + "=" + tunables_[i].spell(c[i]);
    return s;
  }
  Problem default_problem() const {
    Problem p;
    p.sizes.assign(sizes_.size(), 0);
    for (const AttrSpec& a : attrs_) p.attrs.push_back(a.fallback);
    for (const DtypeSpec& d : dtypes_) p.dtypes.push_back(d.allowed.front());
    return p;
  }

 protected:
  std::string name_, formula_;
  std::vector<SizeSpec> sizes_;
  std::vector<AttrSpec> attrs_;
  std::vector<DtypeSpec> dtypes_;
  std::vector<TunableSpec> tunables_;
  std::vector<std::string> constraints_;
};

/// Describes a kernel struct `K` with members `Problem` and `Params`; see kernels/include/nki/kernels/matmul.hpp for a
/// complete one. `K::describe(Of<K>&)` fills the tables, `K::build(nc, problem, params)` records.
template <class K>
class Of final : public Kernel {
 public:
  using P = typename K::Problem;
  using C = typename K::Params;

  Of() {
    name_ = K::name;
    formula_ = K::formula;
    K::describe(*this);
  }

  template <auto Member>
  Of& size(const char* key, const char* what) {
    sizes_.push_back({key, what});
    set_size_.push_back([](P& p, std::int64_t v) { p.*Member = v; });
    return *this;
  }
  template <auto Member>
  Of& attr(const char* key, const char* what, std::vector<const char*> labels, std::int64_t fallback = 0) {
    attrs_.push_back({key, what, std::move(labels), fallback});
    set_attr_.push_back(
        [](P& p, std::int64_t v) { p.*Member = static_cast<std::remove_reference_t<decltype(p.*Member)>>(v); });
    return *this;
  }
  template <auto Member>
  Of& dtype(const char* operand, std::vector<DType> allowed) {
    dtypes_.push_back({operand, std::move(allowed)});
    set_dtype_.push_back([](P& p, DType v) { p.*Member = v; });
    return *this;
  }
  template <auto Member>
  Of& tunable(const char* name, const char* what, std::vector<std::int64_t> values,
              std::vector<const char*> labels = {}) {
    tunables_.push_back({name, what, std::move(values), std::move(labels)});
    set_tunable_.push_back(
        [](C& c, std::int64_t v) { c.*Member = static_cast<std::remove_reference_t<decltype(c.*Member)>>(v); });
    get_tunable_.push_back([](const C& c) { return static_cast<std::int64_t>(c.*Member); });
    return *this;
  }
  Of& require(const char* name, bool (*holds)(const P&, const C&, const Arch&)) {
    constraints_.emplace_back(name);
    holds_.push_back(holds);
    return *this;
  }

  P typed(const Problem& p) const {
    P out{};
    for (std::size_t i = 0; i < set_size_.size(); ++i) set_size_[i](out, p.sizes[i]);
    for (std::size_t i = 0; i < set_attr_.size(); ++i) set_attr_[i](out, p.attrs[i]);
    for (std::size_t i = 0; i < set_dtype_.size(); ++i) set_dtype_[i](out, p.dtypes[i]);
    return out;
  }
  C typed(const Config& c) const {
    C out{};
    for (std::size_t i = 0; i < set_tunable_.size(); ++i) set_tunable_[i](out, c[i]);
    return out;
  }
  Config config(const C& c) const {
    Config out;
    for (const auto get : get_tunable_) out.push_back(get(c));
    return out;
  }

  std::vector<Argument> arguments(const Problem& p) const override { return K::arguments(typed(p)); }
  Config default_config(const Problem& p, const Arch& a) const override {
    return config(K::default_params(typed(p), a));
  }
  int broken_constraint(const Problem& p, const Config& c, const Arch& a) const override {
    const P tp = typed(p);
    const C tc = typed(c);
    for (std::size_t i = 0; i < holds_.size(); ++i)
      if (!holds_[i](tp, tc, a)) return static_cast<int>(i);
    return -1;
  }
  ir::Program record(const Problem& p, const Config& c, const Arch& a) const override {
    Builder nc(&a);
    nc.set_kernel(name_);
    const std::string attrs = spell_attrs(p);
    nc.set_problem(spell_sizes(p) + (attrs.empty() ? "" : " " + attrs));
    nc.set_params(spell_config(c));
    K::build(nc, typed(p), typed(c));
    return nc.finish();
  }
  double flops(const Problem& p) const override { return K::flops(typed(p)); }
  Work least_work(const Problem& p) const override { return K::least_work(typed(p)); }
  Work work(const Problem& p, const Config& c, const Arch&) const override { return K::work(typed(p), typed(c)); }

 private:
  std::vector<void (*)(P&, std::int64_t)> set_size_, set_attr_;
  std::vector<void (*)(P&, DType)> set_dtype_;
  std::vector<void (*)(C&, std::int64_t)> set_tunable_;
  std::vector<std::int64_t (*)(const C&)> get_tunable_;
  std::vector<bool (*)(const P&, const C&, const Arch&)> holds_;
};

}  // namespace nki::inline v0_1::kernel

namespace nki::inline v0_1 {

/// Record a kernel for a target: `nki::record<kernels::Matmul>(arch::trn2, {.m = 512, .n = 512, .k = 512})`.
template <class K>
ir::Program record(const Arch& target, const typename K::Problem& problem, const typename K::Params& params) {
  Builder nc(&target);
  nc.set_kernel(K::name);
  K::build(nc, problem, params);
  return nc.finish();
}
template <class K>
ir::Program record(const Arch& target, const typename K::Problem& problem) {
  return record<K>(target, problem, K::default_params(problem, target));
}

}  // namespace nki::inline v0_1
