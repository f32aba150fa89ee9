#include "controller/base/error.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace causalctl {

Error::Error(const std::string& what, std::string hint, ExitCode code)
    : std::runtime_error(what), hint_(std::move(hint)), code_(code) {}

Error Error::from_errno(std::string_view what, int error_number, std::string hint, ExitCode code) {
  Error error(fmt::format("{}: {}", what, std::generic_category().message(error_number)),
              std::move(hint), code);
  error.error_number_ = error_number;
  return error;
}

Bug::Bug(const char* condition, const char* file, int line)
    : std::logic_error(fmt::format("{}:{}: INVARIANT({}) failed", file, line, condition)) {}

}  // namespace causalctl
