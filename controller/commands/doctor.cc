// `causalctl doctor [PID]`: what works on this machine and against that process, what does not, and
// how to enable it. What can be tried is tried, on this process. Of the target it reads in /proc,
// and takes samples for half a second; nothing is put into it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "controller/base/error.h"
#include "controller/base/oom_score.h"
#include "controller/base/own_proc.h"
#include "controller/base/printable.h"
#include "controller/base/procfs.h"
#include "controller/commands/commands.h"
#include "controller/commands/doctor_checks.h"
#include "controller/commands/options.h"
#include "controller/commands/output.h"

namespace causalctl::commands {

KernelVersion parse_kernel_version(const std::string& release) {
  KernelVersion version;
  const char* end = release.data() + release.size();
  const auto major = std::from_chars(release.data(), end, version.major);
  if (major.ec == std::errc{} && major.ptr != end && *major.ptr == '.') {
    std::from_chars(major.ptr + 1, end, version.minor);
  }
  return version;
}

std::string render_checks(const std::vector<Check>& checks) {
  std::size_t width = 0;
  for (const auto& check : checks) width = std::max(width, check.name.size());
  std::string text;
  for (const auto& check : checks) {
    const char* verdict = check.verdict == Verdict::ok        ? "ok"
                          : check.verdict == Verdict::limited ? "limited"
                                                              : "missing";
    text += fmt::format("{:<8} {:<{}}  {}\n", verdict, check.name, width, check.finding);
    if (!check.remedy.empty()) {
      text += fmt::format("{:<8} {:<{}}  -> {}\n", "", "", width, check.remedy);
    }
  }
  return printable_lines(text);  // since processes choose their own names
}

bool profile_possible(const std::vector<Check>& checks) {
  return std::none_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.required && check.verdict == Verdict::missing;
  });
}

namespace {

// Checks what the target does, if it could be profiled. Returns the option that a profile of it
// needs; empty for most targets.
std::string check_what_it_does(Pid target, std::vector<Check>& checks) {
  std::string option;
  try {
    checks.push_back(check_activity(sample_activity(target), option));
  } catch (const Error& error) {
    checks.push_back({"activity", Verdict::limited, error.what(), error.hint(), false});
  }
  return option;
}

}  // namespace

ExitCode run_doctor(std::optional<Pid> target) {
  be_first_to_be_ended();
  auto checks = check_machine();
  std::string option;
  if (target) {
    const auto more = check_target(*target);
    if (!more) {
      write_output("", fmt::format("{}missing  process {}: no such process\n",
                                   render_checks(checks), *target));
      return ExitCode::target_gone;
    }
    checks.insert(checks.end(), more->begin(), more->end());
    if (profile_possible(checks)) option = check_what_it_does(*target, checks);
  }
  const bool possible = profile_possible(checks);
  write_output(
      "", fmt::format("{}\na causal profile {} is {}possible{}\n", render_checks(checks),
                      target ? fmt::format("of process {}", *target) : "on this machine",
                      possible ? "" : "not ", option.empty() ? "" : " with " + printable(option)));
  return possible ? ExitCode::ok : ExitCode::failed;
}

void add_doctor(CLI::App& app, Command& selected) {
  CLI::App& sub = add_subcommand(
      app, "doctor", "what works here and with a process, what does not, and how to enable it");
  auto process = std::make_shared<std::string>();
  add_process(sub, *process, "a process that you want to profile");
  on_selected(sub, selected, [process] {
    if (const auto trouble = trouble_of_proc()) {  // most of what it tells is read there
      write_output("", render_checks({{"/proc", Verdict::missing, trouble->what, trouble->hint}}));
      return ExitCode::failed;
    }
    return run_doctor(process->empty() ? std::nullopt : std::optional(process_of(*process)));
  });
}

}  // namespace causalctl::commands
