#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>

namespace nki::tool {

Cli make_nki_sim() {
  Cli cli("nki-sim", "check, run, time and explain kernels for AWS Trainium NeuronCores, without a device", "nki.");
  add_list(cli);
  add_check(cli);
  add_run(cli);
  add_time(cli);
  add_why(cli);
  add_trace(cli);
  add_explain(cli);
  add_emit(cli);
  add_record(cli);
  for (const char* name : {"accuracy", "calibrate", "catalog", "diff", "replay"}) cli.later(name);
  cli.example("nki-sim list");
  cli.example("nki-sim check matmul --case S01 --hw trn2");
  cli.example("nki-sim time matmul --case S01 --hw trn2");
  cli.example("nki-sim run matmul --shape m=300,n=700,k=200 --dtype bf16 --seed 1");
  cli.example("nki-sim why matmul --case S07 --hw trn2");
  return cli;
}

}  // namespace nki::tool
