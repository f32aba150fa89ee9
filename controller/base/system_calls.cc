#include "controller/base/system_calls.h"

#include <algorithm>
#include <iterator>

namespace causalctl {
namespace {

struct SystemCall {
  long number;
  std::string_view name;
};
// By number.
constexpr SystemCall kSystemCalls[] = {
#include "controller/base/syscall_names.inc"
};

}  // namespace

std::string_view name_of_call(long number) {
  const auto* found =
      std::lower_bound(std::begin(kSystemCalls), std::end(kSystemCalls), number,
                       [](const SystemCall& call, long wanted) { return call.number < wanted; });
  const bool is_known = found != std::end(kSystemCalls) && found->number == number;
  return is_known ? found->name : std::string_view();
}

}  // namespace causalctl
