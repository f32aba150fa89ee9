#include "controller/session/status_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

#include "controller/base/clock.h"
#include "controller/base/log.h"
#include "controller/base/printable.h"
#include "controller/base/standard_error.h"

namespace causalctl::session {
namespace {

constexpr Nanoseconds kLinePeriod = 10 * kSecond;
constexpr Nanoseconds kRewritePeriod = 200 * kMillisecond;

std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

StatusLine::StatusLine(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

bool StatusLine::due() const {
  return !quiet_ && monotonic_now() - last_ns_ >= (terminal_ ? kRewritePeriod : kLinePeriod);
}

void StatusLine::show(std::string text) {
  if (!due()) return;
  last_ns_ = monotonic_now();
  text = printable(text);  // since the target chooses the names of units
  if (!terminal_) {
    standard_error::write_status(fmt::format("causalctl: {}\n", text));
    return;
  }
  standard_error::write_status(
      fmt::format("\r\x1b[K{}", cut_to(std::move(text), terminal_width() - 1)));
  log::set_line_open(true);
  shown_ = true;
}

void StatusLine::clear() {
  if (!shown_) return;
  standard_error::write_status("\r\x1b[K");
  log::set_line_open(false);
  shown_ = false;
}

}  // namespace causalctl::session
