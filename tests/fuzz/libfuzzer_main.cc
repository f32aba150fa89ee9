// The entry points that libFuzzer calls. One program for all targets: `fuzzer --target=NAME …`;
// libFuzzer leaves options that begin with "--" alone.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace {
const causalctl::fuzz::Target* target = nullptr;
}

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (!argument.starts_with(kOption)) continue;
    target = causalctl::fuzz::find_target(argument.substr(kOption.size()));
  }
  if (target == nullptr) {
    std::fprintf(stderr, "usage: fuzzer --target=NAME; NAME is one of:");
    for (const auto& each : causalctl::fuzz::targets()) {
      std::fprintf(stderr, " %.*s", static_cast<int>(each.name.size()), each.name.data());
    }
    std::fprintf(stderr, "\n");
    std::exit(2);
  }
  // A fuzzed build-id must not make us ask the network.
  unsetenv("DEBUGINFOD_URLS");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
