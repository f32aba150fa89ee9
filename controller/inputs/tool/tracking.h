// This file is part of the Valgrind tool of causalctl, a program of its own: it is linked with
// Valgrind, and so, other than the rest of causalctl, under the GNU General Public License, version
// 2 or later.
// SPDX-License-Identifier: GPL-2.0-or-later
//
// The core in Valgrind's memory.
#pragma once

#include <cstddef>

#include "controller/inputs/core/trms.h"
#include "controller/inputs/tool/inputs_tool.h"

namespace causalctl::inputs::tool {

struct ToolMemory {
  static void* allocate(std::size_t bytes) { return inputs_allocate(bytes); }
  static void release(void* pointer, std::size_t bytes) { inputs_release(pointer, bytes); }
};

using Tracker = core::Tracker<ToolMemory>;
using OneThread = core::Thread<ToolMemory>;

const Tracker& the_tracker();
void begin_result(const InputsOptions& options);  // result.cc

}  // namespace causalctl::inputs::tool
