#include <sim/tool/commands.hpp>
#include <sim/tool/common.hpp>

/// nki-sim: what a kernel is, whether it is legal and right, and how long it takes.
int main(int argc, char** argv) {
  return nki::tool::make_nki_sim().run(argc, argv);
}
