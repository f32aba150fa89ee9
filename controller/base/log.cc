#include "controller/base/log.h"

#include <atomic>

#include "controller/base/printable.h"
#include "controller/base/standard_error.h"

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

void to_stderr(std::string_view text) { standard_error::write(text); }

}  // namespace causalctl::log
