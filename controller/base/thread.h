// Starts a thread, or throws an Error that says which thread could not be started, and what to do.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "controller/base/error.h"

namespace causalctl {

// What to do where the kernel makes no further thread or process.
inline constexpr const char* kLimitHint =
    "a limit of processes (pids.max of the control group, ulimit -u) or of memory is reached: "
    "raise it, or run causalctl outside of it";

// `purpose` names the thread in the message. Throws Error if there are too many threads or no
// memory for a stack.
template <typename Function>
std::thread start_thread(std::string_view purpose, Function&& function) {
  try {
    return std::thread(std::forward<Function>(function));
  } catch (const std::system_error& error) {
    throw Error::from_errno(fmt::format("cannot start the thread for {}", purpose),
                            error.code().value(), kLimitHint);
  }
}

}  // namespace causalctl
