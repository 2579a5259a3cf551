#pragma once

#include <sim/tool/request.hpp>

#include <nki/ir/program.hpp>

#include <string>

/// Recorded programs as files.
namespace nki::tool {

/// Throws a usage failure (exit 2) where there is no such file, nki::Error (exit 4) for a damaged, newer or foreign one.
ir::Program load_program_file(const std::string& path);

/// The text of a program file.
std::string program_text(const ir::Program& p);

/// Find the kernel, problem and configuration that a loaded program says it was recorded from. They are taken only if
/// the program's arguments are those of that problem; otherwise the request stays without a kernel.
void recognise(Request& r);

}  // namespace nki::tool
