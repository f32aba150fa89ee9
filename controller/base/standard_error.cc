#include "controller/base/standard_error.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>

#include "controller/base/aside.h"
#include "controller/base/output_file.h"
#include "controller/base/types.h"

namespace causalctl::standard_error {
namespace {

constexpr std::size_t kMostWaiting = std::size_t{256} << 10;  // bytes

struct Writer {
  const Pid process = getpid();  // a forked child has no thread of this one
  Aside aside;
  std::atomic<std::size_t> left_out = 0;  // messages, since one was written
};

// Never destroyed, as messages may come from any thread until the end.
Writer& writer() {
  static std::atomic<Writer*> current = nullptr;
  Writer* found = current;
  while (found == nullptr || found->process != getpid()) {
    auto* fresh = new Writer;
    if (current.compare_exchange_strong(found, fresh)) return *fresh;
    delete fresh;
  }
  return *found;
}

void give(Writer& to, std::string text) {
  if (const std::size_t count = to.left_out.exchange(0); count > 0) {
    text.insert(0, fmt::format("causalctl: {} messages were left out here, because standard error "
                               "took none\n",
                               count));
  }
  const std::size_t bytes = text.size();
  const bool waits = to.aside.jobs() > 0;
  // A reader that has gone is no reason to end.
  to.aside.give([text = std::move(text)] { (void)write_all(STDERR_FILENO, text); }, bytes);
  if (!waits) to.aside.wait(kAsidePatience);
}

}  // namespace

void write(std::string_view text) {
  Writer& to = writer();
  if (to.aside.bytes() > kMostWaiting) {
    ++to.left_out;
  } else {
    give(to, std::string(text));
  }
}

void write_status(std::string_view text) {
  Writer& to = writer();
  if (to.aside.jobs() == 0) give(to, std::string(text));
}

void flush() { writer().aside.wait(kForEver); }

}  // namespace causalctl::standard_error
