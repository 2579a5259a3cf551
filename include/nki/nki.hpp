#pragma once

/// What the author of a kernel includes. Standard library only.
#include <nki/builder.hpp>
#include <nki/dtype.hpp>
#include <nki/error.hpp>
#include <nki/index.hpp>
#include <nki/nisa.hpp>
#include <nki/nl.hpp>
#include <nki/tile.hpp>
