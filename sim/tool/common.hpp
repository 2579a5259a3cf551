#pragma once

/// What the commands of nki-sim and nki-tune share. A program is a `Cli` with commands; a command fills `Call::out`
/// (with --json) and `Call::text` (without), and throws nki::Error or Failure where it cannot go on.
#include <sim/tool/cli.hpp>
#include <sim/tool/failure.hpp>
#include <sim/tool/files.hpp>
#include <sim/tool/json.hpp>
#include <sim/tool/request.hpp>
#include <sim/tool/text.hpp>
