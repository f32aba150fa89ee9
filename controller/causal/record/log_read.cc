// Reads experiment logs (docs/log-format.md). parse_log is pure; read_logs only adds the files.
//
// The reader tolerates a log that is merely incomplete, or newer in small things (a cut-off line,
// an unknown type or field). It refuses one where guessing would falsify results (a newer version,
// a field of the wrong type).
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "controller/base/error.h"
#include "controller/causal/record/log.h"
#include "controller/causal/record/log_fields.h"

namespace causalctl::causal {
namespace {

using namespace log_fields;

constexpr std::size_t kDeepestNesting = 64;
constexpr std::string_view kLineBegin = "{\"type\":";

constexpr WarningKind<std::string> kCutOff{"{}: the line is cut off; it is ignored"};
constexpr WarningKind<std::string> kGlued{
    "{}: the line begins with one that was cut off; that part is ignored"};
constexpr WarningKind<std::string, std::string> kUnknownType{
    "{}: lines of type \"{}\" are not known to this version; they are ignored"};
constexpr WarningKind<std::string> kHeadless{"run {}: its first line is missing"};
constexpr WarningKind<std::uint64_t> kRepeated{"{} experiments were given twice and count once"};

void check(const Experiment& experiment) {
  if (!(experiment.speedup >= 0 && experiment.speedup <= 1)) {
    throw BadField{"\"speedup\" is not between 0 and 1"};
  }
}

void check(const Pacing& pacing) {
  const bool good = pacing.paused_share > 0 && pacing.paused_share < 1 && pacing.low > 0 &&
                    pacing.low <= pacing.rate && pacing.rate <= pacing.high &&
                    pacing.absorbed_low <= pacing.absorbed &&
                    pacing.absorbed <= pacing.absorbed_high;
  if (!good) throw BadField{"\"held_back\", \"rate\" or \"absorbed\" is out of range"};
}

// Adds `item`, or puts it in the place of one with the same name that was read before.
template <typename Item, typename Name>
void keep(std::vector<Item>& all, Item item, Name name) {
  const auto same = std::find_if(all.begin(), all.end(), [&](const Item& other) {
    return std::invoke(name, other) == std::invoke(name, item);
  });
  if (same != all.end()) {
    *same = std::move(item);
  } else {
    all.push_back(std::move(item));
  }
}

class Reader {
 public:
  void read(const std::string& text, const std::string& name);
  ReadLog take();

 private:
  void read_line(std::string_view line, bool last);
  std::optional<Json> parse(std::string_view line, bool last);
  void dispatch(Json& line, std::string_view text);
  [[noreturn]] void refuse_line() const;
  Run& run_of(const Json& line);
  std::string where() const { return fmt::format("{}:{}", name_, line_); }

  ReadLog log_;
  std::map<std::string, std::size_t> index_;        // run id → log_.runs
  std::map<std::string, std::string> heads_;        // run id → its "run" line
  std::set<std::string, std::less<>> experiments_;  // the "experiment" lines that were read
  std::set<std::string> unknown_types_;
  std::uint64_t repeated_ = 0;
  FieldReader fields_;
  std::string name_;
  std::uint64_t line_ = 0;
};

void Reader::read(const std::string& text, const std::string& name) {
  name_ = name;
  line_ = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    const bool last = end == std::string::npos;
    std::string_view line(text.data() + begin, (last ? text.size() : end) - begin);
    ++line_;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) read_line(line, last);
    if (last) break;
    begin = end + 1;
  }
}

void Reader::refuse_line() const {
  throw Error(fmt::format("{}: not a line of an experiment log", where()),
              "causalctl report reads what attach and run wrote (docs/log-format.md)");
}

// A line that a killed run left cut off may stand alone, or cat may have glued the next log's first
// line to it.
std::optional<Json> Reader::parse(std::string_view line, bool last) {
  if (nesting(line) > kDeepestNesting) {
    throw Error(fmt::format("{}: lists nested more than {} deep", where(), kDeepestNesting),
                "causalctl report reads what attach and run wrote (docs/log-format.md)");
  }
  Json json = Json::parse(line, nullptr, false);
  if (json.is_object()) return json;
  const bool ours = line.substr(0, kLineBegin.size()) == kLineBegin.substr(0, line.size());
  if (!ours && !(last && line.front() == '{')) {
    refuse_line();
  }
  const std::size_t glued = line.rfind(kLineBegin);
  if (glued != 0 && glued != std::string_view::npos) {
    json = Json::parse(line.substr(glued), nullptr, false);
    if (json.is_object()) {
      log_.warnings.emplace_back(kGlued, where());
      return json;
    }
  }
  log_.warnings.emplace_back(kCutOff, where());
  return std::nullopt;
}

void Reader::read_line(std::string_view line, bool last) {
  std::optional<Json> json = parse(line, last);
  if (!json) return;
  try {
    dispatch(*json, line);
  } catch (const BadField& fault) {
    throw Error(fmt::format("{}: {}", where(), fault.text), "the log was changed or damaged");
  } catch (const Json::exception& fault) {
    throw Error(fmt::format("{}: {}", where(), fault.what()), "the log was changed or damaged");
  }
}

void Reader::dispatch(Json& line, std::string_view text) {
  to_rows(line);
  std::string type;
  get(line, "type", type);
  if (type.empty()) refuse_line();
  if (type == "run") {
    int version = 0;
    get(line, "version", version);
    if (version > kLogVersion) {
      throw Error(fmt::format("{}: log version {} is newer than {}, which this program reads",
                              where(), version, kLogVersion),
                  "use a newer causalctl to read it");
    }
    Run& run = run_of(line);
    if (const auto [head, is_new] = heads_.emplace(run.id, text); !is_new && head->second != text) {
      throw BadField{"another run has this id"};
    }
    fields_.read(line, run, Run::first_fields());
  } else if (type == "experiment") {
    if (!experiments_.emplace(text).second) {
      ++repeated_;
      return;
    }
    Experiment experiment;
    fields_.read(line, experiment);
    check(experiment);
    if (!line.contains("effective_ns")) {
      experiment.effective_ns = experiment.wall_ns - experiment.delay_ns;
    }
    run_of(line).experiments.push_back(std::move(experiment));
  } else if (type == "pacing") {
    Pacing pacing;
    fields_.read(line, pacing);
    check(pacing);
    keep(run_of(line).pacing, std::move(pacing), &Pacing::point);
  } else if (type == "samples") {
    UnitSamples samples;
    fields_.read(line, samples);
    keep(run_of(line).samples, std::move(samples),
         [](const UnitSamples& each) { return each.unit.name; });
  } else if (type == "end") {
    Run& run = run_of(line);
    fields_.read(line, run, Run::last_fields());
    run.ended = true;
  } else if (unknown_types_.insert(type).second) {
    log_.warnings.emplace_back(kUnknownType, where(), type);
  }
}

Run& Reader::run_of(const Json& line) {
  std::string id;
  get(line, "run", id);
  const auto [entry, is_new] = index_.emplace(id, log_.runs.size());
  if (is_new) log_.runs.emplace_back().id = id;
  return log_.runs[entry->second];
}

ReadLog Reader::take() {
  for (const Run& run : log_.runs) {
    if (!heads_.contains(run.id)) log_.warnings.emplace_back(kHeadless, run.id);
  }
  if (repeated_ > 0) log_.warnings.emplace_back(kRepeated, repeated_);
  return std::move(log_);
}

std::string read_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    throw Error::from_errno(fmt::format("open({})", path), errno,
                            "name experiment logs, as written by attach and run (--output)");
  }
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      throw Error::from_errno(fmt::format("read({})", path), errno);
    }
  }
}

}  // namespace

ReadLog read_logs(const std::vector<std::string>& paths) {
  Reader reader;
  for (const std::string& path : paths) reader.read(read_file(path), path);
  return reader.take();
}

ReadLog parse_log(const std::string& text, const std::string& name) {
  Reader reader;
  reader.read(text, name);
  return reader.take();
}

}  // namespace causalctl::causal
