#include "config/settings.h"

#include <type_traits>
#include <utility>

#include "config/load.h"
#include "config/text.h"
#include "config/values.h"

namespace causalctl::config {
namespace {

using enum Heading;

constexpr Nanoseconds kHour = 3600 * kSecond;

// Returns what leads from a Config to one of its sections: at(&Config::ab, &Ab::a).
template <typename... Members>
auto at(Members... path) {
  return [=](auto& config) -> auto& { return (config.*....*path); };
}

// Returns the value that `member` has, or will have if it is an unset optional.
template <typename Value>
Value& held(Value& member) {
  return member;
}
template <typename Value>
Value& held(std::optional<Value>& member) {
  return member ? *member : member.emplace();
}

template <typename ThisKind, typename Member>
Json printed(const ThisKind& kind, const Member& member) {
  if constexpr (std::is_same_v<Member, typename ThisKind::Value>) {
    return kind.print(member);
  } else {
    return member ? kind.print(*member) : Json();
  }
}

// Adds the rows of a section of the file.
template <typename At>
class Section {
 public:
  Section(std::vector<Setting>& rows, std::string name, At where)
      : rows_(rows), name_(std::move(name)), at_(where) {}

  template <typename Struct, typename Member, typename ThisKind>
  const Section& add(const char* key, Member Struct::*member, ThisKind kind,
                     std::vector<Option> options = {}) const {
    using Value = typename ThisKind::Value;
    for (Option& option : options) {
      if (option.type.empty()) option.type = kind.type();
    }
    const auto read = [=, at = at_](const toml::node& node, Faults& faults, Config& into) {
      kind.read(node, faults, held<Value>(at(into).*member));
    };
    const auto give = [=, at = at_](const Texts& texts, std::string_view what, Config& into) {
      auto& value = held<Value>(at(into).*member);
      if constexpr (requires { kind.parse(texts, what, value); }) {
        kind.parse(texts, what, value);
      } else if constexpr (requires { kind.parse(texts.front(), what, value); }) {
        kind.parse(texts.front(), what, value);
      }
    };
    const auto print = [=, at = at_](const Config& from) {
      return printed(kind, at(from).*member);
    };
    rows_.push_back(
        {name_ + "." + key, std::move(options), ThisKind::kShape, kind.range(), read, give, print});
    return *this;
  }
  // The option of the row that was added last does this instead.
  const Section& giving(decltype(Setting::give) give) const {
    rows_.back().give = std::move(give);
    return *this;
  }

 private:
  std::vector<Setting>& rows_;
  std::string name_;
  At at_;
};

// csv is a format of ab only; check() and check_ab() refuse it where it does not fit.
void check_format_of_any(std::string_view format, std::string_view what) {
  if (format != "csv") check_format(format, what);
}

// A text of digits ("4711") is a process id, anything else is a command.
void give_side(const std::string& text, std::string_view option, AbSide& side) {
  side.pid.reset();
  side.match.clear();
  side.command.clear();
  if (text.find_first_not_of("0123456789") == std::string::npos) {
    ProcessId().parse(text, option, side.pid.emplace());
  } else {
    side.command = split_words(text, option);
  }
}

void add_target(std::vector<Setting>& rows) {
  Section(rows, "target", at(&Config::target))
      .add("pid", &Target::pid, ProcessId())
      .add("match", &Target::match, Text())
      .add("command", &Target::command, Words())
      .add("env", &Target::environment, Variables())
      .add("directory", &Target::directory, Text());
}

void add_progress(std::vector<Setting>& rows) {
  const char* counting =
      "how code points are counted [auto: by breakpoints where they were seen to fire, otherwise "
      "by uprobes]";
  Section(rows, "progress", at(&Config::progress))
      .add("throughput", &Progress::throughput, Strings(),
           {{points, 1, "--progress",
             "a place in the code; each visit is one unit of work: file.c:210, function, "
             "binary:function, binary+0xOFFSET, usdt:provider:name, syscall:sendto, "
             "sampled:file.c:210 (repeatable)",
             "SPEC"},
            {ab_measured, 1, "--progress", "progress point, as of attach; the first one decides",
             "SPEC"}})
      .add("latency", &Progress::latency, LatencyPoints(),
           {{points, 2, "--latency", "latency from one SPEC to another (repeatable)"},
            {ab_measured, 2, "--latency", "latency from one SPEC to another"}})
      .add("end_to_end", &Progress::end_to_end, Flag(),
           {{points_of_run, 1, "--end-to-end",
             "one run of the program is one unit of work; repeats the run"}})
      .add("count_by", &Progress::count_by, Choice<CountBy>("a way of counting"),
           {{points, 3, "--count-by", counting}, {ab_measured, 3, "--count-by", counting}});
}

void add_scope(std::vector<Setting>& rows) {
  Section(rows, "scope", at(&Config::scope))
      .add("binary", &Scope::binaries, Strings(),
           {{scope, 2, "--scope-binary",
             "only code of these binaries; MAIN is the executable, and the default (repeatable)",
             "GLOB"}})
      .add("file", &Scope::files, Strings(),
           {{scope, 1, "--scope-file",
             "only code of these source files; default: all but libraries' files (repeatable)",
             "GLOB"}})
      .add("unit", &Scope::unit, Choice<Unit>("a unit"),
           {{scope, 3, "--unit",
             "what is sped up [auto: lines where there is line information, else functions]"}});
}

void add_experiment(std::vector<Setting>& rows) {
  Section(rows, "experiment", at(&Config::experiment))
      .add("duration", &Experiment::duration_ns, Time(kMillisecond, kHour),
           {{experiments, 2, "--experiment", "length of one experiment [500ms]"}})
      .add("cooloff", &Experiment::cooloff_ns, Time(0, kHour / 60),
           {{experiments, 3, "--cooloff", "rest between two experiments [10ms]"}})
      .add(
          "min_visits", &Experiment::min_visits, Whole(1, 1'000'000'000),
          {{experiments, 4, "--min-visits", "experiments grow until they have so many visits [5]"}})
      .add("speedups", &Experiment::speedups_percent, Speedups())
      .add("baseline_share", &Experiment::baseline_share, Percent(0.05, 0.95))
      .add("pace_test", &Experiment::pace_test, Flag(true, false),
           {{points, 4, "--closed-loop",
             "requests wait for answers (a closed loop): their pace is not tested"}})
      .add("seed", &Experiment::seed, Seed(),
           {{experiments, 8, "--seed", "makes the plan repeatable; default: random, recorded"}})
      .add("fixed", &Experiment::fixed_unit, Text(),
           {{scope, 4, "--fixed", "only this unit: FILE:LINE, FUNCTION or 'CALLEE < CALLER'",
             "UNIT"}})
      .add("speedup", &Experiment::fixed_speedup_percent, WholePercent(),
           {{scope, 5, "--speedup", "with --fixed: only this speedup against its baseline"}});
}

void add_sampling_and_pause(std::vector<Setting>& rows) {
  Section(rows, "sampling", at(&Config::sampling))
      .add("period", &Sampling::period_ns, TimeOrAuto(50 * kMicrosecond, kSecond),
           {{experiments, 5, "--period",
             "CPU time between two samples [auto: by its measured cost]"}})
      .add("peers", &Sampling::peers, Flag());
  Section(rows, "pause", at(&Config::pause))
      .add("channel", &Pause::channel,
           Choice<std::string>("a pause channel", {"auto", "sigtrap", "ptrace"}),
           {{experiments, 9, "--pause-channel", "how threads are paused [auto]"}})
      .add("cost", &Pause::cost_ns, TimeOrAuto(kMicrosecond, 10 * kMillisecond),
           {{experiments, 10, "--pause-cost",
             "what a pause costs its thread, besides the pause itself [auto: measured, which "
             "takes a tenth of the duration, 10s at most]"}})
      .add("longest", &Pause::longest_ns, Time(kMillisecond, kSecond))
      .add("threshold", &Pause::threshold_ns, TimeOrAuto(100 * kMicrosecond, kSecond));
}

void add_budget_and_output(std::vector<Setting>& rows) {
  Section(rows, "budget", at(&Config::budget))
      .add("duration", &Budget::duration_ns, Time(100 * kMillisecond, 30 * 24 * kHour),
           {{experiments, 1, "--duration",
             "length of the profile; default: until Ctrl-C or the target's end"}})
      .add("max_slowdown", &Budget::max_slowdown_percent, Percent(0.1, 10'000),
           {{experiments, 6, "--max-slowdown",
             "end early, cleanly, when the target is slowed down by more"}})
      .add("until_certain", &Budget::until_certain, Flag(false),
           {{experiments, 7, "--until-certain",
             "end early when the hottest units are decided: their effect known, or known to be "
             "none"}});
  Section(rows, "output", at(&Config::output))
      .add("log", &Output::log, Text(),
           {{output, 1, "-o,--output", "experiment log, appended to [profile.jsonl]", "FILE"}})
      .add("format", &Output::format, Text(check_format_of_any),
           {{output, 2, "--format", "what to print at the end [text]", "text|json|coz",
             check_format},
            {ab_output, 1, "--format", "of the report [text]", "text|json|csv", check_ab_format}});
}

// Adds the keys of a side. `named` is its option, --a or --b. The keys for both sides, which stand
// in [ab] itself, have no option for the whole side. The other options set the keys of both A and
// B, so they override what the file says of either side.
void add_side(std::vector<Setting>& rows, const char* section, AbSide Ab::*own,
              const std::vector<Option>& named) {
  const auto option = [&](int line, const char* name, const char* help, const char* type = "") {
    std::vector<Option> options;
    if (!named.empty()) options.push_back({ab_sides, line, name, help, type});
    return options;
  };
  const Section side(rows, section, at(&Config::ab, own));
  if (!named.empty()) {
    side.add("command", &AbSide::command, Words(), named)
        .giving([own](const Texts& texts, std::string_view what, Config& into) {
          give_side(texts.front(), what, into.ab.*own);
        })
        .add("pid", &AbSide::pid, ProcessId())
        .add("match", &AbSide::match, Text());
  }
  side.add("env", &AbSide::environment, Variables())
      .add("directory", &AbSide::directory, Text())
      .add("ready", &AbSide::ready, Text(check_pattern),
           option(4, "--ready",
                  "words of its output by which a side is ready; a group in it is the pid to "
                  "measure",
                  "PATTERN"))
      .add("ready_port", &AbSide::ready_port, Whole(1, 65535),
           option(4, "--ready-port", "a side is ready when it accepts connections there", "PORT"))
      .add("ready_delay", &AbSide::ready_delay_ns, Time(0, kHour),
           option(4, "--ready-delay", "a side is ready after this time"))
      .add("load", &AbSide::load, Words(),
           option(3, "--load", "run against each side; CAUSALCTL_AB_SIDE and _PID tell which"))
      .add("cpus", &AbSide::cpus, Cpus(), option(4, "--cpus", "the sides run on these CPUs only"))
      .add("load_cpus", &AbSide::load_cpus, Cpus(),
           option(4, "--load-cpus", "the load runs on these CPUs only"))
      .add("nice", &AbSide::nice, Number<int>(-20, 19),
           option(4, "--nice", "niceness of the sides"));
}

void add_ab(std::vector<Setting>& rows) {
  add_side(rows, "ab.a", &Ab::a,
           {{ab_sides, 1, "--a", "side A: a command, split as by a shell, or a running process",
             "COMMAND|PID"}});
  add_side(rows, "ab.b", &Ab::b, {{ab_sides, 2, "--b", "side B", "COMMAND|PID"}});
  add_side(rows, "ab", &Ab::both, {});
  constexpr std::int64_t kMostPairs = 1'000'000;
  Section(rows, "ab", at(&Config::ab))
      .add("rounds", &Ab::rounds, Whole(2, kMostPairs),
           {{ab_enough, 1, "--rounds", "pairs of runs; with --until-certain the most [20; 200]"}})
      .add("null_rounds", &Ab::null_rounds, Whole(0, kMostPairs),
           {{ab_enough, 2, "--null-rounds", "pairs of A against A, first [a quarter, at least 8]"}})
      .add("warm_up", &Ab::warm_up_ns, Time(0, kHour),
           {{ab_measured, 5, "--warm-up", "before it, not measured [0s]"}})
      .add("measure", &Ab::measure_ns, Time(10 * kMillisecond, kHour),
           {{ab_measured, 4, "--measure",
             "length of a measurement [until the load ends; 1s without load]"}})
      .add("time_limit", &Ab::time_limit_ns, Time(10 * kMillisecond, kHour),
           {{ab_measured, 6, "--time-limit", "of one run [5m]"}})
      .add("grace", &Ab::grace_ns, Time(0, kHour),
           {{ab_measured, 7, "--grace", "from SIGTERM to SIGKILL [5s]"}})
      .add("seed", &Ab::seed, Number<std::uint64_t>(0, INT64_MAX),
           {{ab_enough, 6, "--seed", "makes the order repeatable; default: random, recorded"}})
      .add("until_certain", &Ab::until_certain, Flag(),
           {{ab_enough, 3, "--until-certain",
             "end as soon as the result is certain, by intervals that hold at every look"}})
      .add("resolution", &Ab::resolution_percent, Percent(0.01, 50),
           {{ab_enough, 4, "--resolution", "--until-certain: less does not matter [1]"}})
      .add("allow_failures", &Ab::allow_failures_percent, Percent(0, 90),
           {{ab_enough, 7, "--allow-failures",
             "as many runs of a side may fail, and are made again [0]"}})
      .add("fail_if_slower", &Ab::fail_if_slower_percent, Percent(0.01, 1000),
           {{ab_enough, 5, "--fail-if-slower",
             "exit status 1 when B is certainly slower, and by this much"}});
  Section(rows, "ab.predict", at(&Config::ab, &Ab::predict))
      .add("log", &Predict::log, Text(),
           {{ab_prediction, 1, "--predict-log", "log of a causal profile of A", "FILE"}})
      .add("unit", &Predict::unit, Text(),
           {{ab_prediction, 2, "--predict-unit", "what is faster in B", "UNIT"}})
      .add("speedup", &Predict::speedup_percent, Percent(0.1, 100),
           {{ab_prediction, 3, "--predict-speedup", "by how much"}});
}

void add_callpath(std::vector<Setting>& rows) {
  Section(rows, "callpath", at(&Config::callpath))
      .add("duration", &Callpath::duration_ns, Time(kMillisecond, 30 * 24 * kHour),
           {{recording, 1, "--duration",
             "how long it records, as in 90s or 5m [until Ctrl-C or the target's end]"}})
      .add("period", &Callpath::period_ns, TimeOrAuto(100 * kMicrosecond, kSecond),
           {{recording, 2, "--period",
             "CPU time of a thread from one of its samples to the next [auto: 1ms]"}})
      .add("event", &Callpath::events, Strings(),
           {{recording, 3, "--event",
             "what is recorded: time on a core, time spent waiting [both], and events by path: "
             "page faults, a system call, calls of a function, cycles (repeatable)",
             kEventForms}})
      .add("count", &Callpath::counts, Strings(),
           {{recording, 4, "--count",
             "count all calls of a function, exactly if they are not too many; with their paths "
             "(repeatable)",
             "FUNCTION"}})
      .add("wakers", &Callpath::wakers, Flag(),
           {{recording, 5, "--wakers",
             "record, and show at the end, who ended the time in which threads were blocked, also "
             "one process of a set that of another"}})
      .add("max_event_cost", &Callpath::max_event_cost_percent, Percent(0.01, 1000),
           {{recording, 6, "--max-event-cost",
             "what uprobes of --event and --count may cost a thread; dearer ones are recorded in "
             "bursts [3]"}})
      .add("threads", &Callpath::threads, Choice<Grouping>("a way to tell threads apart"),
           {{recording, 7, "--threads", "which threads are told apart [all are one group]"}})
      .add("epoch", &Callpath::epochs, Strings(),
           {{recording, 8, "--epoch",
             "when an epoch begins, by which a report tells times apart: regularly, when libraries "
             "are loaded or unloaded, at a visit of a point (repeatable) [one]",
             "every TIME|dlopen|on SPEC"}})
      .add("log", &Callpath::log, Text(),
           {{recording_output, 1, "-o,--output",
             "the log, to which the recording is appended [callpath.jsonl]", "FILE"}});
}

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = [] {
    std::vector<Setting> rows;
    add_target(rows);
    add_progress(rows);
    add_scope(rows);
    add_experiment(rows);
    add_sampling_and_pause(rows);
    add_budget_and_output(rows);
    add_ab(rows);
    add_callpath(rows);
    return rows;
  }();
  return all;
}

}  // namespace causalctl::config
