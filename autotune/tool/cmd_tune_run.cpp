#include <autotune/tool/commands.hpp>
#include <autotune/tool/limits.hpp>
#include <autotune/tool/present.hpp>
#include <autotune/tool/winner.hpp>
#include <sim/tool/common.hpp>

#include <nki/tune/report.hpp>
#include <nki/tune/strategy/exhaustive.hpp>
#include <nki/tune/tuner.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace nki::tool {

namespace {

struct Flags {
  SpaceFlags space;
  std::vector<std::string> budget, require;
  std::string strategy = "auto", seed, threads, verify = "auto", output_dir;
  bool quiet = false;
  // Of a later version; they are here so that the answer says so.
  std::string journal, warm_from;
  bool resume = false, fresh = false;
};

/// Above so many operations a run on this machine takes more than about a minute.
constexpr double auto_verify_flops = 4e11, auto_verify_bytes = 2e9;

void refuse_later(const Flags& f) {
  const char* flag = !f.journal.empty()     ? "--journal"
                     : f.resume             ? "--resume"
                     : f.fresh              ? "--fresh"
                     : !f.warm_from.empty() ? "--warm-from"
                                            : nullptr;
  if (flag != nullptr)
    usage("NKI-E608", "this flag is not in this version", flag, {},
          "a search of this version keeps nothing between runs; leave it out");
}

/// The strategy to use for a name.
std::string strategy_named(const std::string& word) {
  if (word == "auto" || word == "exhaustive") return "exhaustive";
  for (const char* later : {"bnb", "gp", "rf", "ga", "sa", "random"})
    if (word == later)
      usage("NKI-E608", "this strategy is not in this version", "'" + word + "'", "auto, exhaustive",
            "leave --strategy out: spaces of this version's kernels are searched whole");
  unknown_name("strategy", word, {"auto", "exhaustive"}, "--strategy @");
}

std::string clock_words(double seconds) {
  const auto s = static_cast<long long>(seconds + 0.5);
  char text[32];
  std::snprintf(text, sizeof text, "%02lld:%02lld", s / 60, s % 60);
  return text;
}

/// One line that says how far the search is.
std::string progress_words(const std::string& what, const tune::Progress& p, double bound_us) {
  const tune::Counts& c = p.counts;
  const auto legal = static_cast<std::int64_t>(p.legal);
  const std::int64_t settled = legal - c.untried;
  constexpr std::int64_t width = 10;
  const auto filled = static_cast<std::size_t>(legal > 0 ? settled * width / legal : width);
  std::string s = what + "  [" + std::string(filled, '#') + std::string(static_cast<std::size_t>(width) - filled, '.') +
                  "] " + grouped(settled) + "/" + grouped(legal) + "  pruned " + grouped(c.pruned_bound);
  if (c.failed > 0) s += "  failed " + grouped(c.failed);
  if (p.best_us < tune::no_time) {
    s += "  best " + microseconds(p.best_us);
    s += " (";
    if (p.start_us < tune::no_time) s += fixed((p.best_us / p.start_us - 1) * 100, 1) + " % vs default, ";
    s += "<= " + fixed((p.best_us / bound_us - 1) * 100, 1) + " % above bound)";
  }
  if (settled > 0 && settled < legal)
    s += "  eta <= " + clock_words(p.seconds / static_cast<double>(settled) * static_cast<double>(legal - settled));
  return s;
}

/// At most ten lines a second on a terminal; elsewhere one every ten seconds.
class ProgressLine {
 public:
  ProgressLine(std::string what, double bound_us, bool quiet)
      : what_(std::move(what)), bound_us_(bound_us), quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0) {}
  void operator()(const tune::Progress& p) {
    if (quiet_) return;
    const Clock::time_point now = Clock::now();
    if (now - shown_ < (terminal_ ? std::chrono::milliseconds(100) : std::chrono::seconds(10))) return;
    shown_ = now;
    const std::string line = progress_words(what_, p, bound_us_);
    if (terminal_)
      progress(line);
    else
      std::fprintf(stderr, "%s\n", line.c_str());
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  double bound_us_;
  bool quiet_, terminal_;
  Clock::time_point shown_ = Clock::now();
};

void run(const Flags& f, Call& call) {
  refuse_later(f);
  const tune::Budget budget = parse_budget(f.budget);
  const Require require = parse_require(f.require);
  const std::int64_t seed =
      f.seed.empty() ? 0 : parse_integer(f.seed, 0, std::numeric_limits<std::int64_t>::max(), "seed");
  constexpr std::int64_t threads_max = 1024;
  const int threads = f.threads.empty() ? static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))
                                        : static_cast<int>(parse_integer(f.threads, 1, threads_max, "threads"));
  const std::string strategy_name = strategy_named(f.strategy);
  if (f.verify != "auto" && f.verify != "on" && f.verify != "off")
    unknown_name("value of --verify", f.verify, {"auto", "on", "off"}, "--verify @");

  const Task task = make_task(f.space, "nki-tune run");
  const tune::Space& space = task.space;
  if (!f.output_dir.empty()) make_folder(f.output_dir);  // a folder that cannot be made should not cost a search
  if (space.empty()) {
    describe_task(task, call.out);
    call.out.set("cartesian", space.cartesian()).set("legal", 0).set("constraints", constraints_json(space));
    call.fault = no_legal_fault(space);
    return;
  }

  const tune::SimulatedTime objective(space);
  const double bound_us = objective.bound().us;
  tune::Exhaustive strategy(space, objective.bounds_us(), static_cast<std::uint64_t>(seed));
  if (!f.quiet)
    std::fprintf(stderr, "%s: seed %lld, %s, %s legal configurations, bound %s\n", describe(task.request).c_str(),
                 static_cast<long long>(seed), strategy.name(),
                 grouped(static_cast<std::int64_t>(space.size())).c_str(), microseconds(bound_us).c_str());
  ProgressLine line(
      space.kernel().name() + " " +
          (task.request.case_id.empty() ? space.kernel().spell_sizes(space.problem()) : task.request.case_id) + " " +
          spell_dtypes(space.kernel(), space.problem()) + " " + space.arch().name,
      bound_us, f.quiet);
  tune::TuneOptions options;
  options.search.budget = budget;
  options.search.threads = threads;
  options.search.stop = [] { return interrupted(); };
  options.search.progress = [&](const tune::Progress& p) { line(p); };
  options.search_ended = [&] {
    if (!f.quiet) progress("timing the finalists at every phase of the clock ...");
  };
  const tune::Tuned tuned = tune::tune(space, strategy, objective, options);
  if (!f.quiet) progress("");

  Finding o;
  o.task = &task;
  o.tuned = &tuned;
  o.strategy = strategy_name;
  o.seed = static_cast<std::uint64_t>(seed);
  o.threads = threads;
  const bool has_best = tuned.best.index != tune::no_index;
  if (has_best && tuned.start.index != tune::no_index) o.comparison = tune::compare(objective, tuned);

  if (f.verify == "off") {
    o.why_not_verified = "--verify off";
  } else if (has_best && tuned.found.interrupted) {
    o.why_not_verified = "interrupted";
  } else if (has_best && f.verify == "auto" &&
             (space.kernel().flops(space.problem()) > auto_verify_flops ||
              verification_bytes(task, tuned.best.index) > auto_verify_bytes)) {
    o.why_not_verified = "at this size it takes more than a minute or 2 GB; --verify on does it";
  } else if (has_best) {
    if (!f.quiet) progress("running the winner at full size ...");
    o.verified = verify_winner(task, tuned.best.index, seed);
    if (!o.verified) o.why_not_verified = "interrupted";
  }

  describe_task(task, call.out);
  write_json(o, call.out);
  call.text = write_text(o);

  const auto fail = [&](std::string id, const char* error_class, std::string message, std::string got,
                        std::string allowed, std::string hint, int code) {
    call.fault = Fault{.id = std::move(id),
                       .error_class = error_class,
                       .message = std::move(message),
                       .got = std::move(got),
                       .allowed = std::move(allowed),
                       .hint = std::move(hint),
                       .file = {},
                       .exit_code = code};
  };
  if (!has_best && !tuned.found.interrupted && tuned.found.counts.tried() > 0) {
    std::string first;
    if (!tuned.found.refused.empty()) first = tuned.found.refused.front().outcome.message;
    fail("NKI-E803", "illegal", "a search needs a configuration that can be recorded, checked and timed",
         "none of the " + grouped(tuned.found.counts.tried()) + " that were tried; the first: " + first, {},
         "the kernel's constraints should rule such configurations out; 'nki-sim check' says more about one",
         exit_illegal);
  } else if (tuned.found.interrupted || o.why_not_verified == "interrupted") {
    fail("NKI-E690", "interrupted", "interrupted by a signal", has_best ? "the best so far" : "nothing yet", {},
         "run it again with --budget for a search that ends by itself", exit_interrupted);
  } else if (o.verified && !o.verified->passed) {
    fail("NKI-E621", "wrong_result", "a kernel must compute its formula on defined data",
         o.verified->compared ? "rel_l2 " + dump(Json(o.verified->rel_l2)) : "undefined data",
         o.verified->compared ? "up to " + dump(Json(o.verified->tolerance)) : "",
         "nki-sim run " + target_words(task) + " --param " + spell_params(space, tuned.best.index), exit_wrong);
  } else if (has_best && ((require.gap >= 0 && tuned.gap > require.gap) ||
                          (require.regret >= 0 && tuned.found.regret > require.regret))) {
    fail("NKI-E623", "require", "the best must reach what --require asks for",
         "gap " + dump(Json(tuned.gap)) + ", regret " + dump(Json(tuned.found.regret)),
         (require.gap >= 0 ? "gap up to " + dump(Json(require.gap)) : "") +
             (require.gap >= 0 && require.regret >= 0 ? ", " : "") +
             (require.regret >= 0 ? "regret up to " + dump(Json(require.regret)) : ""),
         tuned.found.certificate == tune::Certificate::optimum
             ? "this is the best of the space; only another kernel or a larger space can be better"
             : "give the search a larger --budget",
         exit_require);
  }

  if (!f.output_dir.empty() && has_best) {
    if (!f.quiet) progress("writing the timeline, the trace and the kernel ...");
    std::vector<WrittenFile> files = write_winner(task, tuned.best.index, f.output_dir, describe(task.request));
    files.push_back({f.output_dir + "/result.json", "all of this as JSON"});
    Json list = Json::array();
    Table table({"", ""});
    for (const WrittenFile& file : files) {
      list.push(file.path);
      table.row({file.path, file.what});
    }
    call.out.set("files", std::move(list));
    Json result = Json::object({{"schema", call.schema}, {"ok", !call.fault.has_value()}});
    if (call.fault) result.set("error", call.fault->json());
    for (std::size_t i = 0; i < call.out.size(); ++i) result.set(call.out.key(i), call.out.item(i));
    write_file(files.back().path, dump(result, 2) + "\n");
    call.text += "\n" + table.text("  ");
  }
  if (has_best && !call.fault) {
    const std::string target = target_words(task), changes = spell_changes(space, tuned.best.index);
    call.text += "\nNext: nki-sim why " + target + (changes.empty() ? "" : " --param " + changes) + "\n";
    if (o.comparison && !o.comparison->changes.empty()) {
      const tune::Change& c = o.comparison->changes.front();
      const kernel::TunableSpec& spec = space.kernel().tunables()[c.tunable];
      call.text += "      nki-tune run " + target + " --pin " + spec.name + "=" + spec.spell(c.was) + "\n";
    }
  }
}

}  // namespace

void add_tune_run(Cli& cli) {
  auto f = std::make_shared<Flags>();
  add_space_flags(
      cli.command("run", "find the fastest configuration of a kernel, prove it, explain it and check its result"),
      f->space)
      .options("--budget", f->budget, "200evals|30s|2m|gap=1%", "where to stop at the latest; several may be given")
      .option("--strategy", f->strategy, "auto|exhaustive", "how to search (auto)")
      .option("--seed", f->seed, "N", "of the search and of the inputs of the check (0)")
      .option("-j,--threads", f->threads, "N", "threads; the result does not depend on them (all)")
      .options("--require", f->require, "gap=5%,regret=0",
               "exit 5 if the winner is farther from the bound, or from the best")
      .option("--verify", f->verify, "auto|on|off",
              "run the winner at full size against double precision (auto: if it takes up to a minute)")
      .option("--output-dir", f->output_dir, "D", "write timeline, trace, NKI Python and the result there")
      .flag("-q,--quiet", f->quiet, "no progress on stderr")
      .option("--journal", f->journal, "FILE", "of a later version")
      .option("--warm-from", f->warm_from, "FILE", "of a later version")
      .flag("--resume", f->resume, "of a later version")
      .flag("--fresh", f->fresh, "of a later version")
      .example("nki-tune run matmul --case S01 --hw trn2 --output-dir out")
      .example("nki-tune run matmul --shape m=1024,n=1024,k=1024 --hw trn2 --budget 200evals --json")
      .example("nki-tune run matmul --case S01 --hw trn2 --pin lhs_queue=sync,rhs_queue=sync --require gap=10%")
      .on_signal(OnSignal::remember)
      .run([f](Call& call) { run(*f, call); });
}

}  // namespace nki::tool
