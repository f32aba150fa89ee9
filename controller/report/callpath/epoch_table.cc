#include "controller/report/callpath/epoch_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace causalctl::report::callpath {
namespace {

constexpr std::size_t kEpochs = 20;
constexpr std::size_t kEpochColumn = 10;

std::string in_seconds(Nanoseconds time_ns) {
  return fmt::format("{:.3f} s", static_cast<double>(time_ns) / kSecond);
}

}  // namespace

void write_epochs(const Profile& profile, Text& out) {
  if (profile.epochs.size() < 2) return;
  out.blank();
  out.line("{}", out.colored("epoch      start     length   CPU time  reason", kDim));
  for (std::size_t i = 0; i < std::min(kEpochs, profile.epochs.size()); ++i) {
    const Epoch& epoch = profile.epochs[i];
    std::string text = fmt::format("{:>5}", epoch.number);
    for (const std::string& value : {in_seconds(epoch.start_ns), in_seconds(epoch.length_ns),
                                     duration(static_cast<Nanoseconds>(epoch.cpu_ns))}) {
      text += " " + right_aligned(value, kEpochColumn);
    }
    out.line("{}  {}{}", text, printable(epoch.reason),
             profile.runs > 1 ? fmt::format(" (run {})", epoch.run + 1) : "");
  }
  if (profile.epochs.size() > kEpochs) {
    out.line("… {} more: --format json", profile.epochs.size() - kEpochs);
  }
}

}  // namespace causalctl::report::callpath
