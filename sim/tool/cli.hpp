#pragma once

#include <sim/tool/failure.hpp>
#include <sim/tool/files.hpp>
#include <sim/tool/json.hpp>
#include <sim/tool/request.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Command lines: `PROGRAM COMMAND TARGET [flags]`. The library that reads them is included in cli.cpp only.
namespace nki::tool {

/// One run of a command.
struct Call {
  bool json = false;   ///< --json: one object on stdout and nothing else
  std::string schema;  ///< "nki.time/1"
  Json out;            ///< the object; `schema` and `ok` are in it already
  std::string text;    ///< what a person reads on stdout
  /// Set where the command did its work and the answer is no (a wrong result, a failed gate): `out` and `text` are
  /// written all the same, and the exit code is the fault's.
  std::optional<Fault> fault;
};

class Command {
 public:
  using Run = std::function<void(Call&)>;

  Command(std::string name, std::string summary) : name_(std::move(name)), summary_(std::move(summary)) {}

  /// Flags are spelled with their dashes: "--seed". The variables must outlive Cli::run.
  Command& flag(std::string name, bool& to, std::string help);
  Command& option(std::string name, std::string& to, std::string placeholder, std::string help);
  /// May be given several times.
  Command& options(std::string name, std::vector<std::string>& to, std::string placeholder, std::string help);
  /// Arguments without dashes, in order; missing ones that are required are named by the program.
  Command& positional(std::string name, std::string& to, std::string help, bool required = true);
  Command& positionals(std::string name, std::vector<std::string>& to, std::string help);
  /// TARGET --case --shape --attr --dtype --hw and, unless `values` is empty, --param under that name.
  Command& target(TargetFlags& to, std::string values = "--param");
  /// A line of --help: a call that works.
  Command& example(std::string call);
  /// What Ctrl-C does while it runs; by default it ends the program at once.
  Command& on_signal(OnSignal what);
  /// What it does. It gives nothing back: `Call::fault` or an exception says that it failed.
  Command& run(Run run);

  const std::string& name() const { return name_; }

 private:
  friend class Cli;
  enum class Takes : std::uint8_t { nothing, one, many };
  struct Argument {
    std::string name, placeholder, help;
    Takes takes = Takes::nothing;
    bool positional = false, required = false;
    bool* to_flag = nullptr;
    std::string* to_one = nullptr;
    std::vector<std::string>* to_many = nullptr;
  };
  Argument& add(std::string name, std::string placeholder, std::string help, Takes takes);

  std::string name_, summary_;
  std::vector<Argument> arguments_;
  std::vector<std::string> examples_;
  OnSignal on_signal_ = OnSignal::leave;
  Run run_;
};

class Cli {
 public:
  /// `program` is "nki-sim"; `summary` one sentence.
  /// A command's schema is `schema_prefix` + its name + "/1".
  Cli(std::string program, std::string summary, std::string schema_prefix)
      : program_(std::move(program)), summary_(std::move(summary)), schema_prefix_(std::move(schema_prefix)) {}

  Command& command(std::string name, std::string summary);
  /// A command of a later version: it answers "not in this version".
  void later(std::string name) { later_.push_back(std::move(name)); }
  void example(std::string call) { examples_.push_back(std::move(call)); }

  /// Reads the command line, runs a command, writes its text or its object to stdout and errors to stderr, and gives
  /// the exit code. Throws nothing.
  int run(int argc, char** argv);

 private:
  void dispatch(const std::vector<std::string>& arguments, Call& call);
  void start(Command& c, std::vector<std::string> arguments, Call& call);
  std::string help() const;
  std::string help(const Command& c) const;
  void version(Call& call) const;

  std::string program_, summary_, schema_prefix_;
  std::deque<Command> commands_;
  std::vector<std::string> later_, examples_;
};

}  // namespace nki::tool
