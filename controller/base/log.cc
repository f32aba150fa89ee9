#include "controller/base/log.h"

#include <atomic>
#include <cstdio>

#include "controller/base/printable.h"

namespace causalctl::log {
namespace {
Level current_level = Level::normal;
std::atomic<bool> line_open = false;  // atomic, because the symbolizing thread writes messages, too
}  // namespace

void set_level(Level level) { current_level = level; }
Level level() { return current_level; }

void set_line_open(bool open) { line_open = open; }

void write(Level at_least, std::string_view text) {
  if (current_level < at_least) return;
  const bool replaces = line_open.exchange(false);
  to_stderr(fmt::format("{}causalctl: {}\n", replaces ? "\r\x1b[K" : "", printable_lines(text)));
}

// A reader that has gone is no reason to end. fmt::print would throw then, even from destructors.
void to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace causalctl::log
