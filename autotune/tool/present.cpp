#include <autotune/tool/present.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/timing.hpp>

#include <nki/machine/params.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace nki::tool {

namespace {

double launch_us(const Finding& o) {
  return machine::params_for(o.task->space.arch()).launch.value / 1000;
}

Json side_json(const Finding& o, const tune::Timed& t, const tune::Side* side) {
  const tune::Space& s = o.task->space;
  Json j = Json::object();
  j.set("params", params_json(s, t.index));
  j.set("latency_us", t.mean_us + launch_us(o)).set("body_us", t.mean_us).set("launch_us", launch_us(o));
  j.set("band", Json::object({{"lo", t.lo_us * (1 - band_margin)}, {"hi", t.hi_us * (1 + band_margin)}}));
  j.set("search_us", t.search_us).set("bound_us", o.tuned->bound.us);
  if (side == nullptr) return j;
  j.set("own_bound_us", side->bound_us).set("tensor_utilization", side->tensor_utilization);
  j.set("dma_bytes_read", t.result.read_bytes).set("dma_bytes_written", t.result.write_bytes);
  j.set("limit", side->limit);
  return j;
}

std::string spell(const tune::Space& s, std::size_t tunable, std::int64_t value) {
  return s.kernel().tunables()[tunable].spell(value);
}
std::string assignment(const tune::Space& s, std::size_t tunable, std::int64_t value) {
  return std::string(s.kernel().tunables()[tunable].name) + "=" + spell(s, tunable, value);
}
Json value_json(const tune::Space& s, std::size_t tunable, std::int64_t value) {
  return s.kernel().tunables()[tunable].labels.empty() ? Json(value) : Json(spell(s, tunable, value));
}

std::string signed_percent(double share) {
  return (share < 0 ? "-" : "+") + fixed(std::abs(share) * 100, 1) + " %";
}

Json counts_json(const tune::Counts& c) {
  return Json::object({{"evaluated", c.evaluated},
                       {"pruned_bound", c.pruned_bound},
                       {"rejected", c.rejected},
                       {"cached", c.cached},
                       {"failed", c.failed},
                       {"untried", c.untried},
                       {"given_up", c.given_up}});
}

std::string searched_words(const Finding& o) {
  const tune::Counts& c = o.tuned->found.counts;
  std::string s = grouped(c.evaluated) + " timed";
  if (c.given_up > 0) s += ", " + grouped(c.given_up) + " given up on the way";
  if (c.pruned_bound > c.given_up) s += ", " + grouped(c.pruned_bound - c.given_up) + " ruled out by bound";
  if (c.illegal > 0) s += ", " + grouped(c.illegal) + " refused by rules";
  if (c.failed > 0) s += ", " + grouped(c.failed) + " failed";
  if (c.untried > 0) s += ", " + grouped(c.untried) + " not tried";
  return s;
}

void side_by_side(const Finding& o, std::string& text) {
  const tune::Side &a = o.comparison->start, &b = o.comparison->best;
  const tune::Timed &x = a.timed, &y = b.timed;
  const auto mb = [](const tune::Timed& t) {
    return byte_count(static_cast<double>(t.result.read_bytes + t.result.write_bytes));
  };
  const auto band = [](const tune::Timed& t) {
    return fixed(t.lo_us * (1 - band_margin), 1) + " .. " + fixed(t.hi_us * (1 + band_margin), 1) + " us";
  };
  Table t({"", "default", "winner", ""});
  t.row({"body", microseconds(x.mean_us), microseconds(y.mean_us), signed_percent(y.mean_us / x.mean_us - 1)});
  t.row({"band", band(x), band(y), "by the phase of the TensorE clock, and the model's resolution"});
  t.row({"latency", microseconds(x.mean_us + launch_us(o)), microseconds(y.mean_us + launch_us(o)),
         "with " + microseconds(launch_us(o)) + " of launch"});
  t.row({"bound", microseconds(o.tuned->bound.us), microseconds(o.tuned->bound.us),
         std::string(name(o.tuned->bound.limit)) + "; no configuration is faster"});
  t.row({"above it", signed_percent(x.mean_us / o.tuned->bound.us - 1),
         signed_percent(y.mean_us / o.tuned->bound.us - 1), ""});
  t.row({"own bound", microseconds(a.bound_us), microseconds(b.bound_us),
         "for the cycles and bytes that it needs itself"});
  t.row({"TensorE", percent(a.tensor_utilization), percent(b.tensor_utilization), "of the body"});
  t.row({"moved", mb(x), mb(y), "between HBM and SBUF"});
  const tune::Space& s = o.task->space;
  const kernel::Config from = s.config(x.index), to = s.config(y.index);
  for (std::size_t i = 0; i < to.size(); ++i)
    t.row({s.kernel().tunables()[i].name, spell(s, i, from[i]), spell(s, i, to[i]), from[i] == to[i] ? "" : "<"});
  text += t.text("  ") + "\n";

  text += wrap("Default: " + a.limit, 110, "  ");
  text += wrap("Winner:  " + b.limit, 110, "  ");
  if (o.comparison->changes.empty()) {
    text += "  The default is the best there is.\n";
    return;
  }
  text += "\n  What each value is worth, found by setting it back alone:\n";
  Table worth({"", "", ""});
  for (const tune::Change& c : o.comparison->changes)
    worth.row({assignment(s, c.tunable, c.value), c.alone ? "saves " + fixed(c.saves * 100, 1) + " %" : "",
               "(" + spell(s, c.tunable, c.was) + ") " + c.why});
  text += worth.text("    ");
}

std::string small(double x) {
  return dump(Json(x)).substr(0, 12);
}

}  // namespace

std::string target_words(const Task& t) {
  const Request& r = t.request;
  const kernel::Kernel& k = *r.kernel;
  std::string s = k.name();
  if (!r.case_id.empty()) return s + " --case " + r.case_id + " --hw " + r.arch->name;
  s += " --shape " + k.spell_sizes(r.problem);
  if (const std::string attrs = k.spell_attrs(r.problem); !attrs.empty()) s += " --attr " + attrs;
  return s + " --dtype " + spell_dtypes(k, r.problem) + " --hw " + r.arch->name;
}

void write_json(const Finding& o, Json& out) {
  const tune::Tuned& t = *o.tuned;
  const tune::Space& s = o.task->space;
  const bool has_best = t.best.index != tune::no_index, has_start = t.start.index != tune::no_index;
  const tune::Comparison* c = o.comparison ? &*o.comparison : nullptr;
  out.set("objective", std::string("simulated body at clock phase 0, model ") + machine::model_version);
  out.set("best", has_best ? side_json(o, t.best, c != nullptr ? &c->best : nullptr) : Json());
  if (has_start) {
    out.set("default", side_json(o, t.start, c != nullptr ? &c->start : nullptr));
  } else {
    out.set("default", Json::object({{"params", params_json(s, s.start())},
                                     {"latency_us", Json()},
                                     {"status", name(t.found.start.status)},
                                     {"message", t.found.start.message}}));
  }
  out.set("bound_us", t.bound.us).set("bound", name(t.bound.limit));
  out.set("gap", has_best ? Json(t.gap) : Json()).set("regret", has_best ? Json(t.found.regret) : Json());
  out.set("certificate", name(t.found.certificate)).set("stop_reason", t.found.stop_reason);
  out.set("seed", o.seed).set("strategy", o.strategy).set("threads", o.threads);
  out.set("cartesian", s.cartesian()).set("legal", s.size());
  out.set("counts", counts_json(t.found.counts)).set("constraints", constraints_json(s));
  Json changes = Json::array();
  if (c != nullptr)
    for (const tune::Change& x : c->changes)
      changes.push(Json::object({{"parameter", s.kernel().tunables()[x.tunable].name},
                                 {"value", value_json(s, x.tunable, x.value)},
                                 {"default", value_json(s, x.tunable, x.was)},
                                 {"saves", x.alone ? Json(x.saves) : Json()},
                                 {"why", x.why}}));
  out.set("changes", std::move(changes));
  Json refused = Json::array();
  for (const tune::Trial& x : t.found.refused)
    refused.push(Json::object(
        {{"params", params_json(s, x.index)}, {"status", name(x.outcome.status)}, {"message", x.outcome.message}}));
  out.set("refused", std::move(refused));
  if (o.verified) {
    const Verification& v = *o.verified;
    out.set("verified", Json::object({{"passed", v.passed},
                                      {"rel_l2", v.compared ? Json(v.rel_l2) : Json()},
                                      {"tolerance", v.compared ? Json(v.tolerance) : Json()},
                                      {"bound_rel_l2", v.compared ? Json(v.bound_rel_l2) : Json()},
                                      {"max_abs_err", v.compared ? Json(v.max_abs_err) : Json()},
                                      {"undefined_reads", v.undefined_reads},
                                      {"unwritten_elements", v.unwritten_elements}}));
  } else {
    out.set("verified", Json());
  }
  out.set("journal", Json());
  out.set("seconds", Json::object({{"search", t.found.seconds},
                                   {"run", o.verified ? Json(o.verified->run_seconds) : Json()},
                                   {"reference", o.verified ? Json(o.verified->reference_seconds) : Json()}}));
}

std::string write_text(const Finding& o) {
  const tune::Tuned& t = *o.tuned;
  const tune::Space& s = o.task->space;
  std::string text = bold(describe(o.task->request)) + "\n";
  Table head({"", ""});
  head.row(
      {"space", grouped(static_cast<std::int64_t>(s.size())) + " legal of " + counted(s.cartesian(), "configuration")});
  head.row({"search", o.strategy + ", seed " + std::to_string(o.seed) + ": " + searched_words(o) + "; " +
                          fixed(t.found.seconds, 1) + " s on " + counted(o.threads, "thread")});
  head.row({"stopped", t.found.stop_reason});
  text += head.text("  ") + "\n";
  if (o.comparison) {
    side_by_side(o, text);
  } else if (t.best.index != tune::no_index) {
    text += "  The default cannot run: " + t.found.start.message + "\n";
    text += "  best " + microseconds(t.best.mean_us) + ", " + signed_percent(t.gap) + " above the bound of " +
            microseconds(t.bound.us) + "\n";
  }
  if (t.best.index != tune::no_index) text += "\n  --param " + spell_params(s, t.best.index) + "\n";
  if (o.verified) {
    const Verification& v = *o.verified;
    text += std::string("\n  ") + (v.passed ? "verified" : "WRONG") +
            ": the winner at full size with the device's numerics";
    if (v.compared)
      text += ", rel_l2 " + small(v.rel_l2) + " against double precision (tolerance " + small(v.tolerance) +
              ", bound " + small(v.bound_rel_l2) + ")";
    else
      text += "; this kernel has no reference";
    if (v.undefined_reads > 0) text += "; " + counted(v.undefined_reads, "undefined read");
    if (v.unwritten_elements > 0) text += "; " + counted(v.unwritten_elements, "unwritten element");
    text += "\n  (" + fixed(v.run_seconds, 1) + " s to run it, " + fixed(v.reference_seconds, 1) +
            " s for the reference)\n";
  } else if (!o.why_not_verified.empty()) {
    text += "\n  not verified: " + o.why_not_verified + "\n";
  }
  if (const std::string note = calibration_note(s.arch()); !note.empty())
    text += wrap("Times are " + note + ".", 110, "  ");
  return text;
}

}  // namespace nki::tool
