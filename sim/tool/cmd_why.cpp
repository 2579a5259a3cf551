#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>
#include <sim/tool/timing.hpp>

#include <nki/emit/event_names.hpp>
#include <nki/machine/params.hpp>
#include <nki/sim/simulate.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

namespace nki::tool {

namespace {

constexpr std::array<const char*, machine::stream_count> engine_names{"TensorE", "VectorE", "ScalarE", "GpSimdE",
                                                                      "the sync engine"};

struct Words {
  const char* loses;  ///< "It ... 12 us (3 %) ...", the amount between the two halves
  const char* to;
  const char* against;
  const char* what_helps;
};
// clang-format off
constexpr std::array<Words, sim::stall_count> words{{
    {"waits", "for the results of other engines", "waits for other engines",
     "let the engines work on different blocks: more slots for the tile between them, or an evacuation on another engine"},
    {"waits", "for data on its way from HBM", "late loads",
     "load earlier (more slots of the streamed tiles), less (keep an operand in SBUF) or in larger pieces, and spread the "
     "loads over the queues"},
    {"waits", "for slots of tiles that are still in use", "waits for slots",
     "give those tiles more slots, or free them earlier"},
    {"waits", "for stores that still read their tiles", "waits for stores",
     "give the stored tile more slots, or store from another queue"},
    {"waits", "for semaphores of the recording", "waits of the recording",
     "look at the producer of each wait in the timeline"},
    {"waits", "for weights that are not in the array yet", "loads of weights that nothing hides",
     "stream more columns for each load: wider moving tiles, or the same stationary tile used again"},
    {"loses", "because the array's clock is at half speed", "the cold clock",
     "keep the array busy: its clock stays at full speed only while it streams 3/8 of the time"},
    {"waits", "behind DMA triggers in its own instruction queue", "DMA triggers",
     "trigger fewer, larger DMAs, or trigger them from the sync queue"},
}};
// clang-format on

/// Time that one kernel line lost to one cause, and the line that it waited for.
struct Blame {
  machine::Cause cause;
  std::uint32_t site, producer;
  double us;
};

/// Waits of one stream, the longest first.
std::vector<Blame> blames(const sim::Timeline& t, std::size_t stream, const Arch& a) {
  std::map<std::tuple<std::uint8_t, std::uint32_t, std::uint32_t>, std::int64_t> ticks;
  for (const sim::Event& e : t.events) {
    if (static_cast<std::size_t>(e.row) != stream || e.waited <= 0) continue;
    const auto producer = static_cast<std::size_t>(e.producer);
    const std::uint32_t by = e.producer >= 0 && producer < t.events.size() ? t.events[producer].site : machine::no_id;
    ticks[{static_cast<std::uint8_t>(e.cause), e.site, by}] += e.waited;
  }
  std::vector<Blame> out;
  for (const auto& [key, n] : ticks)
    out.push_back(
        {static_cast<machine::Cause>(std::get<0>(key)), std::get<1>(key), std::get<2>(key), machine::to_us(a, n)});
  std::stable_sort(out.begin(), out.end(), [](const Blame& x, const Blame& y) { return x.us > y.us; });
  return out;
}

Json site_json(const emit::EventNames& names, std::uint32_t site) {
  if (!names.knows(site)) return {};
  const ir::SourceLoc* l = names.loc(site);
  return Json::object({{"operation", names.op(site, machine::Kind::compute)},
                       {"operands", names.operands(site)},
                       {"file", l == nullptr ? Json("") : Json(names.program().files[l->file])},
                       {"line", l == nullptr ? Json(0) : Json(l->line)}});
}

std::string site_text(const emit::EventNames& names, std::uint32_t site) {
  if (!names.knows(site)) return "an instruction";
  const std::string place = names.place(site);
  return names.op(site, machine::Kind::compute) + "(" + names.operands(site) + ")" +
         (place.empty() ? "" : " at " + place);
}

struct Trial {
  kernel::Config config;
  std::string change;
  double body_us = 0;
};

/// Every legal configuration that differs in one tunable, timed at one phase of the clock; those that help most.
std::vector<Trial> trials(const Request& r, const kernel::Config& from, double body_us, std::int64_t instructions) {
  // So much work is done at most, whatever the machine, so that the answer is the same everywhere.
  constexpr std::int64_t budget = 30'000'000;
  constexpr std::size_t shown = 3;
  constexpr double worth = 0.99;
  std::vector<Trial> out;
  std::int64_t spent = 0;
  const kernel::Kernel& k = *r.kernel;
  for (std::size_t i = 0; i < from.size(); ++i)
    for (std::int64_t v : k.tunables()[i].values) {
      if (v == from[i] || spent > budget) continue;
      kernel::Config c = from;
      c[i] = v;
      if (k.broken_constraint(r.problem, c, *r.arch) >= 0) continue;
      try {
        const ir::Program p = k.record(r.problem, c, *r.arch);
        if (!check::verify(p, *r.arch).ok()) continue;
        const double us = sim::simulate(p, *r.arch).body_us();
        if (us < body_us * worth)
          out.push_back({c, std::string(k.tunables()[i].name) + "=" + k.tunables()[i].spell(v), us});
      } catch (const Error&) {
        continue;  // a rule that no constraint states; this is no advice then
      }
      spent += std::max<std::int64_t>(instructions, 1);
    }
  std::stable_sort(out.begin(), out.end(), [](const Trial& a, const Trial& b) { return a.body_us < b.body_us; });
  if (out.size() > shown) out.resize(shown);
  return out;
}

/// The data path that works longest; the sync engine has none.
std::size_t busiest(const Timing& t) {
  std::size_t best = 0;
  for (std::size_t s = 0; s < static_cast<std::size_t>(machine::Stream::sync); ++s)
    if (t.busy_us[s] > t.busy_us[best]) best = s;
  return best;
}

void run(const TargetFlags& f, Call& call) {
  const Request r = resolve(f, Hw::required, "nki-sim why");
  const ir::Program p = recorded(r);
  verified(p, *r.arch);
  progress("simulating " + describe(r) + " ...");
  const Timing t = time_program(p, *r.arch, {});
  sim::Timeline timeline;
  const sim::Result result = sim::simulate(p, *r.arch, {.timeline = &timeline});
  const emit::EventNames names(p);
  const std::size_t engine = busiest(t);
  const auto bound = bound_of(r);

  std::vector<std::string> sentences;
  // What limits it, in one sentence.
  std::string first = "The body takes " + microseconds(t.body_us);
  if (bound)
    first += ", " + fixed(t.body_us / bound->us, 2) + " times the " + microseconds(bound->us) +
             " that no configuration of this problem can beat (" + name(bound->limit) + ")";
  sentences.push_back(first + ".");
  const bool dma_bound = t.dma_utilization > t.stream_utilization[engine];
  if (dma_bound)
    sentences.push_back(
        "The DMA engines are the busiest part: they move " +
        byte_count(static_cast<double>(t.read_bytes + t.write_bytes)) + " and work " + percent(t.dma_utilization) +
        " of the body, " + fixed(static_cast<double>(t.read_bytes + t.write_bytes) / (t.body_us * 1000), 1) +
        " of at most " + fixed(r.arch->dma_engines.value * r.arch->dma_engine_peak_bytes_per_ns.value, 1) +
        " bytes per ns.");
  sentences.push_back(std::string(dma_bound ? "Of the engines " : "") + engine_names[engine] +
                      " works longest: " + percent(t.stream_utilization[engine]) + " of the body.");

  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < sim::stall_count; ++c)
    if (t.stalls_us[engine][c] > 0) order.push_back(c);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return t.stalls_us[engine][a] > t.stalls_us[engine][b]; });

  const std::vector<Blame> waits = blames(timeline, engine, *r.arch);
  constexpr std::size_t lines_shown = 3;
  constexpr double worth_a_word = 0.01;
  Json causes = Json::array();
  std::vector<std::string> advice;
  for (const std::size_t c : order) {
    const double us = t.stalls_us[engine][c], share = us / t.body_us;
    Json lines = Json::array();
    std::string sentence =
        std::string("It ") + words[c].loses + " " + microseconds(us) + " (" + percent(share) + ") " + words[c].to;
    std::size_t n = 0;
    for (const Blame& b : waits) {
      if (static_cast<std::size_t>(b.cause) != c || c >= machine::cause_count || n == lines_shown) continue;
      lines.push(
          Json::object({{"us", b.us}, {"waiting", site_json(names, b.site)}, {"for", site_json(names, b.producer)}}));
      sentence += (n == 0 ? ": " : "; ") + site_text(names, b.site) +
                  (names.knows(b.producer) ? " for " + site_text(names, b.producer) : std::string()) + ", " +
                  microseconds(b.us);
      ++n;
    }
    causes.push(Json::object({{"cause", sim::stall_names[c]}, {"us", us}, {"share", share}, {"lines", lines}}));
    if (share < worth_a_word) continue;
    sentences.push_back(sentence + ".");
    advice.push_back("Against " + std::string(words[c].against) + ": " + words[c].what_helps + ".");
  }
  if (!waits.empty())
    sentences.push_back(
        "Times of lines are those at one phase of the clock" +
        (timeline.dropped > 0
             ? ", in the first " + grouped(static_cast<std::int64_t>(timeline.events.size())) + " events."
             : std::string(", the others are means.")));

  Json tried = Json::array();
  if (r.kernel != nullptr && (r.config || !r.program)) {
    progress("trying other values of the tunables ...");
    const double body_us = result.body_us();
    for (const Trial& x : trials(r, r.config ? *r.config : configured(r), body_us, result.instructions)) {
      const double gain = 1 - x.body_us / body_us;
      tried.push(Json::object({{"change", x.change},
                               {"params", config_json(*r.kernel, x.config)},
                               {"body_us", x.body_us},
                               {"gain", gain}}));
      advice.push_back("--param " + x.change + " takes " + microseconds(x.body_us) + ", " + percent(gain) +
                       " less (at one phase of the clock).");
    }
    if (tried.size() == 0)
      advice.push_back("No change of a single tunable gains 1 %; 'nki-tune run' changes several.");
    else
      advice.push_back("'nki-tune run' searches all tunables together.");
  }

  describe(r, call.out);
  Json said = Json::array(), helps = Json::array();
  for (const std::string& x : sentences) said.push(x);
  for (const std::string& x : advice) helps.push(x);
  call.out.set("model_version", machine::model_version).set("body_us", t.body_us);
  call.out.set("bound_us", bound ? Json(bound->us) : Json()).set("bound", bound ? Json(name(bound->limit)) : Json());
  call.out.set("busiest_engine", machine::stream_names[engine]).set("utilization", t.stream_utilization[engine]);
  call.out.set("dma_utilization", t.dma_utilization).set("causes", std::move(causes));
  call.out.set("sentences", std::move(said)).set("advice", std::move(helps)).set("trials", std::move(tried));

  call.text = bold(describe(r)) + "\n";
  for (const std::string& x : sentences) call.text += wrap(x);
  call.text += "\n" + bold("What to try") + "\n";
  for (const std::string& x : advice) {
    std::string lines = wrap(x, 98, "  ");
    lines[0] = '-';
    call.text += lines;
  }
  const std::string note = calibration_note(*r.arch);
  if (!note.empty()) call.text += "\n" + wrap(note + ".");
}

}  // namespace

void add_why(Cli& cli) {
  auto f = std::make_shared<TargetFlags>();
  cli.command("why", "say in sentences what limits a program's time, and what to try")
      .target(*f)
      .example("nki-sim why matmul --case S07 --hw trn2")
      .run([f](Call& call) { run(*f, call); });
}

}  // namespace nki::tool
