#include <sim/tool/cli.hpp>
#include <sim/tool/text.hpp>

#include <nki/arch.hpp>
#include <nki/machine/params.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace nki::tool {

namespace {

constexpr const char* version_text = "0.1.0";

/// "-o,--output" -> "-o, --output"
std::string spelled(const std::string& name) {
  const auto comma = name.find(',');
  return comma == std::string::npos ? name : name.substr(0, comma) + ", " + name.substr(comma + 1);
}

/// "--seed -1" is a value and no flag.
bool negative_number(const std::string& s) {
  return s.size() > 1 && s[0] == '-' && ((s[1] >= '0' && s[1] <= '9') || s[1] == '.');
}

}  // namespace

Command::Argument& Command::add(std::string name, std::string placeholder, std::string help, Takes takes) {
  Argument& a = arguments_.emplace_back();
  a.name = std::move(name);
  a.placeholder = std::move(placeholder);
  a.help = std::move(help);
  a.takes = takes;
  return a;
}

Command& Command::flag(std::string name, bool& to, std::string help) {
  add(std::move(name), {}, std::move(help), Takes::nothing).to_flag = &to;
  return *this;
}

Command& Command::option(std::string name, std::string& to, std::string placeholder, std::string help) {
  add(std::move(name), std::move(placeholder), std::move(help), Takes::one).to_one = &to;
  return *this;
}

Command& Command::options(std::string name, std::vector<std::string>& to, std::string placeholder, std::string help) {
  add(std::move(name), std::move(placeholder), std::move(help), Takes::many).to_many = &to;
  return *this;
}

Command& Command::positional(std::string name, std::string& to, std::string help, bool required) {
  Argument& a = add(std::move(name), {}, std::move(help), Takes::one);
  a.positional = true;
  a.required = required;
  a.to_one = &to;
  return *this;
}

Command& Command::positionals(std::string name, std::vector<std::string>& to, std::string help) {
  Argument& a = add(std::move(name), {}, std::move(help), Takes::many);
  a.positional = true;
  a.to_many = &to;
  return *this;
}

Command& Command::target(TargetFlags& to, std::string values) {
  positional("TARGET", to.target, "a kernel, or a recorded program (*.json)");
  option("--hw", to.hw, "trn1|trn2|trn3", "the core");
  options("--shape", to.shape, "k=v,...", "sizes of the problem, such as m=512,n=512,k=512");
  option("--case", to.case_id, "ID", "a named problem instead of --shape; 'nki-sim list' shows them");
  options("--attr", to.attr, "k=v,...", "attributes, such as layout=lhs");
  options("--dtype", to.dtype, "T | operand=T,...", "element types, such as bf16");
  if (!values.empty()) options(std::move(values), to.param, "name=value,...", "values of tunables");
  return *this;
}

Command& Command::example(std::string call) {
  examples_.push_back(std::move(call));
  return *this;
}
Command& Command::on_signal(OnSignal what) {
  on_signal_ = what;
  return *this;
}
Command& Command::run(Run run) {
  run_ = std::move(run);
  return *this;
}

Command& Cli::command(std::string name, std::string summary) {
  return commands_.emplace_back(std::move(name), std::move(summary));
}

std::string Cli::help() const {
  std::string s = program_ + " " + version_text + ": " + summary_ + "\n\n";
  s += "Usage: " + program_ + " COMMAND TARGET [flags]\n\n" + bold("Commands") + "\n";
  Table t({"", ""});
  for (const Command& c : commands_) t.row({c.name_, c.summary_});
  s += t.text("  ");
  s += "\n" + bold("Everywhere") + "\n  --json      one JSON object on stdout, errors included\n";
  s += "  --help      what a command takes: " + program_ + " COMMAND --help\n  --version   versions\n";
  if (!examples_.empty()) s += "\n" + bold("Examples") + "\n";
  for (const std::string& e : examples_) s += "  " + e + "\n";
  s += "\nExit codes: 0 ok, 1 wrong result or failed gate, 2 usage, 3 illegal, 4 damaged file, 8 cannot write,\n"
       "9 deadlock, 70 internal, 130 interrupted.\n";
  return s;
}

std::string Cli::help(const Command& c) const {
  std::string s = program_ + " " + c.name_ + ": " + c.summary_ + "\n\nUsage: " + program_ + " " + c.name_;
  for (const Command::Argument& a : c.arguments_)
    if (a.positional) {
      const std::string shown = a.takes == Command::Takes::many ? a.name + "..." : a.name;
      s += " " + (a.required ? shown : "[" + shown + "]");
    }
  s += " [flags]\n\n";
  Table t({"", ""});
  for (const Command::Argument& a : c.arguments_)
    t.row({spelled(a.name) + (a.placeholder.empty() ? "" : " " + a.placeholder), a.help});
  t.row({"--json", "one JSON object on stdout, errors included"});
  s += t.text("  ");
  if (!c.examples_.empty()) s += "\n" + bold("Examples") + "\n";
  for (const std::string& e : c.examples_) s += "  " + e + "\n";
  return s;
}

void Cli::version(Call& call) const {
  call.out.set("name", program_).set("version", version_text).set("model_version", machine::model_version);
  Json hw = Json::array();
  std::string names;
  for (const Arch* a : arch::all) {
    hw.push(Json::object({{"name", a->name}, {"core", a->core}, {"calibrated", machine::params_for(*a).calibrated}}));
    names += std::string(names.empty() ? "" : ", ") + a->name + " (" + a->core +
             (machine::params_for(*a).calibrated ? ")" : ", uncalibrated)");
  }
  call.out.set("hw", std::move(hw));
  call.text = program_ + " " + version_text + ", timing model " + machine::model_version + "\ntargets: " + names + "\n";
}

void Cli::start(Command& c, std::vector<std::string> arguments, Call& call) {
  const std::string called = program_ + " " + c.name_;
  const std::string see = "'" + called + " --help' shows what it takes";
  std::vector<std::string> flags{"--json", "--help"};
  for (const Command::Argument& a : c.arguments_)
    if (!a.positional)
      for (std::size_t at = 0; at < a.name.size();) {
        const std::size_t comma = std::min(a.name.find(',', at), a.name.size());
        flags.push_back(a.name.substr(at, comma - at));
        at = comma + 1;
      }
  const auto takes_value = [&](const std::string& flag) {
    return std::any_of(c.arguments_.begin(), c.arguments_.end(), [&](const Command::Argument& a) {
      const bool named = a.name == flag || a.name.starts_with(flag + ",") || a.name.ends_with("," + flag);
      return !a.positional && a.takes != Command::Takes::nothing && named;
    });
  };
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (takes_value(arguments[i]) && (i + 1 == arguments.size() || arguments[i + 1].starts_with("--")))
      usage("NKI-E602", "a flag that takes a value is followed by it", arguments[i] + " without a value", {}, see);
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
    if (negative_number(arguments[i + 1]) && arguments[i].starts_with("--") && takes_value(arguments[i])) {
      arguments[i] += "=" + arguments[i + 1];
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  bool json = false;
  app.add_flag("--json", json);
  std::vector<std::pair<CLI::Option*, const Command::Argument*>> single;
  for (Command::Argument& a : c.arguments_) {
    CLI::Option* o = nullptr;
    if (a.takes == Command::Takes::nothing) {
      app.add_flag(a.name, *a.to_flag);
    } else if (a.takes == Command::Takes::one) {
      o = app.add_option(a.name, *a.to_one);
      // Two values would be a contradiction; CLI11 alone would take the last one or give an obscure error.
      o->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      if (!a.positional) single.emplace_back(o, &a);
    } else {
      o = app.add_option(a.name, *a.to_many);
      // One value after each flag, so that `--param a=1 TARGET` leaves the TARGET alone.
      if (!a.positional) o->allow_extra_args(false);
    }
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& e) {
    usage("NKI-E603", "a command line must be readable", e.what(), {}, see);
  }
  for (const auto& [option, argument] : single)
    if (option->count() > 1)
      usage("NKI-E604", "a flag with one value is given once",
            argument->name + " " + std::to_string(option->count()) + " times", {}, "keep one of them");
  for (const std::string& extra : app.remaining()) {
    if (extra.size() > 1 && extra[0] == '-') {
      const std::string word = extra.substr(0, extra.find('='));
      unknown_name("flag of '" + called + "'", word, flags, see);
    }
    usage("NKI-E604", "'" + called + "' takes no further argument", "'" + extra + "'", {},
          "values belong to a flag, such as --shape m=512,n=512,k=512; " + see);
  }
  for (const Command::Argument& a : c.arguments_)
    if (a.positional && a.required && a.to_one->empty()) {
      std::string hint;
      for (const std::string& e : c.examples_) hint += (hint.empty() ? "write for example: " : " or: ") + e;
      usage("NKI-E602", "'" + called + "' needs a " + a.name + ": " + a.help, "none", {}, hint);
    }
  handle_signals(c.on_signal_, call.json ? call.schema : "");
  c.run_(call);
}

void Cli::dispatch(const std::vector<std::string>& arguments, Call& call) {
  std::size_t at = 0;
  bool wants_help = false;
  while (at < arguments.size() && arguments[at].starts_with("-")) {
    if (arguments[at] == "--version" || arguments[at] == "-V") {
      call.schema = schema_prefix_ + "version/1";
      return version(call);
    }
    if (arguments[at] == "--help" || arguments[at] == "-h")
      wants_help = true;
    else if (arguments[at] != "--json")
      unknown_name("flag of '" + program_ + "'", arguments[at], {"--json", "--help", "--version"},
                   "flags of a command come after its name: " + program_ + " COMMAND TARGET [flags]");
    ++at;
  }
  std::vector<std::string> names;
  for (const Command& c : commands_) names.push_back(c.name_);
  const auto show = [&](const std::string& text) {
    call.schema = schema_prefix_ + "help/1";
    call.out.set("text", text);
    call.text = text;
  };
  if (at < arguments.size() && arguments[at] == "help") {
    wants_help = true;
    ++at;
  }
  while (wants_help && at < arguments.size() && arguments[at] == "--json") ++at;
  if (at == arguments.size()) {
    if (!wants_help)
      usage("NKI-E602", "'" + program_ + "' needs a command", "none", {},
            (examples_.empty() ? "" : "write for example: " + examples_.front() + "; ") + "'" + program_ +
                " --help' shows all");
    return show(help());
  }
  const std::string& word = arguments[at];
  const auto c = std::find_if(commands_.begin(), commands_.end(), [&](const Command& x) { return x.name_ == word; });
  if (c == commands_.end()) {
    if (std::find(later_.begin(), later_.end(), word) != later_.end())
      usage("NKI-E608", "this command is not in this version", "'" + word + "' of " + program_ + " " + version_text, {},
            "'" + program_ + " --help' shows the commands of this version");
    unknown_name("command of " + program_, word, names, program_ + " @ --help");
  }
  call.schema = schema_prefix_ + c->name_ + "/1";
  std::vector<std::string> rest(arguments.begin() + static_cast<std::ptrdiff_t>(at) + 1, arguments.end());
  for (const std::string& r : rest) wants_help = wants_help || r == "--help" || r == "-h";
  if (wants_help) return show(help(*c));
  start(*c, std::move(rest), call);
}

int Cli::run(int argc, char** argv) {
  Call call;
  int code = exit_ok;
  try {
    const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    call.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
    call.schema = "nki.error/1";
    call.out = Json::object();
    try {
      dispatch(arguments, call);
    } catch (...) {
      call.fault = current_fault();
      call.out = Json::object();
      call.text.clear();
    }
    progress("");
    Json out = Json::object({{"schema", call.schema}, {"ok", !call.fault.has_value()}});
    if (call.fault) {
      code = call.fault->exit_code;
      out.set("error", call.fault->json());
    }
    for (std::size_t i = 0; i < call.out.size(); ++i) out.set(call.out.key(i), call.out.item(i));
    if (call.json)
      write_stdout(dump(out) + "\n");
    else if (!call.text.empty())
      write_stdout(call.text);
    if (call.fault) std::fprintf(stderr, "error: %s\n", call.fault->text().c_str());
  } catch (...) {
    // Only stdout itself, or memory, can fail here.
    const Fault f = current_fault();
    std::fprintf(stderr, "error: %s\n", f.text().c_str());
    code = f.exit_code;
  }
  return code;
}

}  // namespace nki::tool
