#include "controller/report/callpath/program_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/report/short_names.h"

namespace causalctl::report::callpath {
namespace {

constexpr std::size_t kPrograms = 10;  // most rows
constexpr std::size_t kProgramColumn = 10;

std::uint64_t cpu_of_all(const Profile& profile) {
  std::uint64_t all = 0;
  for (const Program& program : profile.programs) all += program.cpu_ns;
  return all;
}

std::string time_words(std::uint64_t ns) {
  return ns == 0 ? "·" : duration(static_cast<Nanoseconds>(ns));
}

}  // namespace

void write_programs(const Profile& profile, Text& out) {
  if (profile.programs.size() < 2) return;
  const bool with_waits = std::any_of(profile.programs.begin(), profile.programs.end(),
                                      [](const Program& each) { return each.blocked_ns > 0; });
  const auto row = [&](const std::string& share, const std::string& processes,
                       const std::string& cpu, const std::string& blocked) {
    return right_aligned(share, kProgramColumn - 2) + right_aligned(processes, kProgramColumn + 1) +
           right_aligned(cpu, kProgramColumn + 1) +
           (with_waits ? right_aligned(blocked, kProgramColumn + 1) : "") + "  ";
  };
  out.blank();
  out.line("{}", out.colored(row("share", "processes", "CPU time", "blocked") + "program", kDim));
  const std::uint64_t all = cpu_of_all(profile);
  for (std::size_t i = 0; i < std::min(kPrograms, profile.programs.size()); ++i) {
    const Program& each = profile.programs[i];
    const std::string values =
        row(percent(share_of(each.cpu_ns, all)) + " %", grouped(each.processes),
            time_words(each.cpu_ns), time_words(each.blocked_ns));
    out.line("{}{}", values, shortened(printable(each.name), out.width() - columns(values)));
  }
  if (profile.programs.size() > kPrograms) {
    out.line("… and {} more: --format json", profile.programs.size() - kPrograms);
  }
}

std::string programs_words(const Profile& profile) {
  if (profile.programs.size() < 2) return "";
  const std::uint64_t all = cpu_of_all(profile);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(kPrograms, profile.programs.size()); ++i) {
    const Program& each = profile.programs[i];
    words.push_back(fmt::format("{} {} % ({} {})", printable(each.name),
                                percent(share_of(each.cpu_ns, all)), grouped(each.processes),
                                each.processes == 1 ? "process" : "processes"));
  }
  if (profile.programs.size() > kPrograms) {
    words.push_back(fmt::format("{} more", profile.programs.size() - kPrograms));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace causalctl::report::callpath
