#include <autotune/tool/commands.hpp>

/// nki-tune: the fastest configuration of a kernel, with a proof, an explanation and a check of its result.
int main(int argc, char** argv) {
  using namespace nki::tool;
  Cli cli("nki-tune", "find the fastest configuration of a kernel for an AWS Trainium NeuronCore, without a device",
          "nki.tune_");
  add_tune_space(cli);
  add_tune_run(cli);
  for (const char* name : {"show", "best", "export", "import", "replay", "bench", "plan", "merge", "verify", "diff"})
    cli.later(name);
  cli.example("nki-tune space matmul --case S01 --hw trn2");
  cli.example("nki-tune run matmul --case S01 --hw trn2 --output-dir out");
  return cli.run(argc, argv);
}
