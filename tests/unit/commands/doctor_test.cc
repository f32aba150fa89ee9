#include <catch2/catch.hpp>

#include "controller/commands/doctor_checks.h"

namespace causalctl::commands {

TEST_CASE("kernel versions", "[progress][doctor]") {
  CHECK(parse_kernel_version("6.18.44-fc-v445") == KernelVersion{6, 18});
  CHECK(parse_kernel_version("5.13") == kSigtrapKernel);
  CHECK(parse_kernel_version("5.9.1") < kSigtrapKernel);
  CHECK(parse_kernel_version("5.130.0") > kSigtrapKernel);
  CHECK(parse_kernel_version("7") == KernelVersion{7, 0});
  CHECK(parse_kernel_version("x") == KernelVersion{0, 0});
  CHECK(parse_kernel_version("") == KernelVersion{0, 0});
}

TEST_CASE("the doctor's table", "[progress][doctor]") {
  CHECK(render_checks({{"a", Verdict::ok, "fine", "", false},
                       {"long name", Verdict::limited, "so so", "do this", false},
                       {"c", Verdict::missing, "none", "", true}}) ==
        "ok       a          fine\n"
        "limited  long name  so so\n"
        "                    -> do this\n"
        "missing  c          none\n");
}

TEST_CASE("only a required thing that is missing makes a profile impossible",
          "[progress][doctor]") {
  CHECK(profile_possible({}));
  CHECK(profile_possible({{"a", Verdict::missing, "", "", false}}));
  CHECK(profile_possible({{"a", Verdict::limited, "", "", true}}));
  CHECK_FALSE(
      profile_possible({{"b", Verdict::ok, "", "", true}, {"a", Verdict::missing, "", "", true}}));
}

TEST_CASE("what a try has shown, and what follows from it", "[progress][doctor]") {
  const Check seen = check_trial({Facility::wake_up, Outcome::seen, "it came", "", 0});
  CHECK(seen.name == "sched:sched_waking");
  CHECK(seen.verdict == Verdict::ok);
  CHECK(seen.finding == "it came");
  CHECK(seen.remedy.empty());
  const Check never =
      check_trial({Facility::wake_up, Outcome::never_fired, "opened, but no record came", "", 0});
  CHECK(never.verdict == Verdict::limited);
  CHECK(never.finding == "opened, but no record came: wake-ups are guessed: less exact");
  CHECK(never.remedy == "nothing to do on this machine");
  for (const Facility facility : {Facility::sample, Facility::clock}) {
    const Check none = check_trial({facility, Outcome::never_fired, "opened, but", "", 0});
    CHECK(none.verdict == Verdict::missing);
    CHECK(none.finding == "opened, but: there is no profile without");
    CHECK_FALSE(profile_possible({none}));
  }
  for (const Facility facility : {Facility::switch_record, Facility::wake_up, Facility::scheduler,
                                  Facility::sigtrap, Facility::bpf}) {
    for (const Outcome outcome : {Outcome::never_fired, Outcome::refused}) {
      const Check check = check_trial({facility, outcome, "why", "", 0});
      CHECK(check.verdict == Verdict::limited);
      CHECK_FALSE(check.remedy.empty());
      CHECK(profile_possible({check}));
    }
  }
}

TEST_CASE("one way of counting is enough", "[progress][doctor]") {
  const Trial hit{Facility::breakpoint, Outcome::seen, "10 of 10 hits recorded, 14.0 µs each", "",
                  14'000};
  const Trial dead{Facility::breakpoint, Outcome::never_fired, "opened, but never fired", "", 0};
  const auto all = check_counting({hit, 4, hit, true});
  REQUIRE(all.size() == 3);
  CHECK(all[0].verdict == Verdict::ok);
  CHECK(all[0].finding == "10 of 10 hits recorded, 14.0 µs each, 4 registers free");
  CHECK(all[1].verdict == Verdict::ok);
  CHECK(all[2].finding == "counted by breakpoints, uprobes, tracepoints of system calls");

  CHECK(check_counting({hit, 3, hit, true})[0].verdict == Verdict::limited);

  const auto uprobes = check_counting({dead, 4, hit, true});
  CHECK(uprobes[0].verdict == Verdict::limited);
  CHECK(uprobes[0].finding ==
        "opened, but never fired: this (virtual) machine does not pass debug registers");
  CHECK(uprobes[0].remedy == "nothing to do: points are counted by uprobes");
  CHECK(uprobes[2].finding == "counted by uprobes, tracepoints of system calls");
  CHECK(profile_possible(uprobes));

  const auto breakpoints = check_counting({hit, 4, dead, false});
  CHECK(breakpoints[1].verdict == Verdict::missing);
  CHECK(breakpoints[1].remedy == "nothing to do: points are counted by breakpoints");
  CHECK(breakpoints[2].finding == "counted by breakpoints");
  CHECK(profile_possible(breakpoints));

  const auto calls = check_counting({dead, 4, dead, true});
  CHECK(calls[2].verdict == Verdict::limited);
  CHECK(calls[2].remedy == "points can be system calls only: --progress syscall:NAME");
  CHECK(profile_possible(calls));

  CHECK_FALSE(profile_possible(check_counting({dead, 4, dead, false})));
}

TEST_CASE("what to do about what cannot be opened", "[progress][doctor]") {
  const auto remedy = [](Facility facility) {
    return check_trial({facility, Outcome::refused, "why", "", 0}).remedy;
  };
  CHECK(remedy(Facility::sample) == kRunAsRoot);
  CHECK(remedy(Facility::clock) == kRunAsRoot);
  CHECK(remedy(Facility::switch_record) == kRunAsRoot);
  CHECK(remedy(Facility::wake_up) == "run as root, or with CAP_PERFMON and CAP_DAC_READ_SEARCH");
  CHECK(remedy(Facility::scheduler) == "run as root, or with CAP_BPF and CAP_PERFMON");
  const Trial hinted{Facility::scheduler, Outcome::refused, "why", "run causalctl outside", 0};
  CHECK(check_trial(hinted).remedy == "run causalctl outside");
  CHECK(remedy(Facility::sigtrap) == "Linux 5.19 or newer");
  CHECK(remedy(Facility::bpf) == "Linux 6.11 or newer, and root or CAP_BPF and CAP_PERFMON");

  const Trial hit{Facility::breakpoint, Outcome::seen, "all counted", "", 14'000};
  Trial refused{Facility::breakpoint, Outcome::refused, "no register is free", "", 0};
  const auto few = check_counting({hit, 3, hit, true});
  CHECK(few[0].remedy == "close other debuggers; further points are uprobes, which need root");
  const auto no_breakpoint = check_counting({refused, 0, hit, true});
  CHECK(no_breakpoint[0].verdict == Verdict::missing);
  CHECK(no_breakpoint[0].finding == "no register is free");
  CHECK(no_breakpoint[0].remedy ==
        "close other debuggers; without breakpoints points are counted by uprobes");
  const auto no_uprobe = check_counting({hit, 4, refused, true});
  CHECK(no_uprobe[1].verdict == Verdict::missing);
  CHECK(no_uprobe[1].remedy == kRunAsRoot);
  refused.hint = "mount tracefs";
  CHECK(check_counting({hit, 4, refused, true})[1].remedy == "mount tracefs");
  // If nothing works, there is no advice about breakpoints that never fire.
  const Trial dead{Facility::breakpoint, Outcome::never_fired, "never fired", "", 0};
  CHECK(check_counting({dead, 4, dead, true})[0].remedy.empty());
  CHECK(check_counting({dead, 4, dead, true})[1].remedy.empty());
}

TEST_CASE("a limit of samples below the default rate", "[progress][doctor]") {
  CHECK(check_sample_rate(1000).verdict == Verdict::ok);
  const Check low = check_sample_rate(999);
  CHECK(low.verdict == Verdict::limited);
  CHECK(low.finding ==
        "perf_event_max_sample_rate 999: fewer than a sample a millisecond, the rest is lost");
  CHECK(low.remedy.starts_with(
      "sysctl kernel.perf_cpu_time_max_percent=0 kernel.perf_event_max_sample_rate=100000"));
}

TEST_CASE("where the samples of half a second fall", "[progress][doctor]") {
  std::string option = "before";
  const Check idle = check_activity({}, option);
  CHECK(idle.verdict == Verdict::limited);
  CHECK(idle.finding == "it does not run now: no sample in half a second");
  CHECK(option.empty());

  const Check own = check_activity({200, 100, {{"libc.so.6", 100}}}, option);
  CHECK(own.verdict == Verdict::ok);
  CHECK(own.finding == "50 % of 200 samples are in the executable or what it calls");
  CHECK(option.empty());

  const Check launcher = check_activity({200,
                                         120,
                                         {{"libc.so.6", 30}, {"libpython3.so", 50}},
                                         114,
                                         {{"libc.so.6", 4}, {"libpython3.so", 110}}},
                                        option);
  CHECK(launcher.verdict == Verdict::limited);
  CHECK(launcher.finding ==
        "60 % of 200 samples are in the executable or what it calls, nearly all from one place in "
        "it: 80 % are in libpython3.so");
  CHECK(launcher.remedy ==
        "a profile of the executable has one unit only: --scope-binary 'libpython3.so' has others");
  CHECK(option.empty());
  CHECK(check_activity({200, 200, {}, 170, {{"libc.so.6", 170}}}, option).verdict == Verdict::ok);

  const Check part =
      check_activity({200, 20, {{"libc.so.6", 20}, {"libpython3.11.so.1.0", 160}}}, option);
  CHECK(part.verdict == Verdict::limited);
  CHECK(part.finding ==
        "10 % of 200 samples are in the executable or what it calls, 80 % in "
        "libpython3.11.so.1.0, 10 % in libc.so.6");
  CHECK(part.remedy == "choose the code to profile with --scope-binary 'libpython3.11.so.1.0'");
  CHECK(option.empty());

  const Check none = check_activity({200, 1, {{"libx.so", 199}}}, option);
  CHECK(profile_possible({none}));
  CHECK(option == "--scope-binary 'libx.so'");

  const Check jit = check_activity({200, 0, {{"", 150}, {"libjvm.so", 50}}}, option);
  CHECK_FALSE(profile_possible({jit}));
  CHECK(jit.finding ==
        "0 % of 200 samples are in the executable or what it calls, 75 % in code in no file "
        "(compiled at run time), 25 % in libjvm.so");
  CHECK(option.empty());
}

}  // namespace causalctl::commands
