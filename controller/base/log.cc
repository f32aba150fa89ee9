#include "controller/base/log.h"

#include <cstdio>

#include "controller/base/printable.h"

namespace causalctl::log {
namespace {
Level current_level = Level::normal;
}

void set_level(Level level) { current_level = level; }
Level level() { return current_level; }

void write(Level at_least, std::string_view text) {
  if (current_level < at_least) return;
  fmt::print(stderr, "causalctl: {}\n", printable_lines(text));
}

}  // namespace causalctl::log
