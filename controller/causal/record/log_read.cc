// Reads experiment logs (docs/log-format.md). parse_logs is pure; read_logs only adds the files.
//
// The reader tolerates a log that is merely incomplete, or newer in small things (a cut-off line,
// an unknown type or field). It refuses one where guessing would falsify results (a newer version,
// a field of the wrong type).
#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "controller/base/json_fields.h"
#include "controller/base/json_lines.h"
#include "controller/causal/record/counting_row.h"
#include "controller/causal/record/log.h"

namespace causalctl::causal {
namespace {

using namespace json_fields;

constexpr const char* kHint = "name experiment logs, as written by attach and run (--output)";

constexpr WarningKind<std::string> kHeadless{"run {}: its first line is missing"};
constexpr WarningKind<std::uint64_t> kRepeated{"{} experiments were given twice and count once"};

// A unit's kind is a word in the log.
void kind_to_row(Json& line) {
  const auto kind = line.find("kind");
  if (kind != line.end() && kind->is_string()) *kind = *kind == "line";
}

void check(const Experiment& experiment) {
  if (!(experiment.speedup >= 0 && experiment.speedup <= 1)) {
    throw BadField{"\"speedup\" is not between 0 and 1"};
  }
}

void check(const Pacing& pacing) {
  if (pacing.paused_share == 0) return;  // not tested
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
  Reader()
      : lines_(kLogKind, [this](Json& line, std::string_view text, const std::string& type) {
          take_line(line, text, type);
        }) {}
  void read(const std::string& text, const std::string& name) { lines_.read(text, name); }
  ReadLog take();

 private:
  void take_line(Json& line, std::string_view text, const std::string& type);
  Run& run_of(const Json& line);

  ReadLog log_;
  std::map<std::string, std::size_t> index_;        // run id → log_.runs
  std::map<std::string, std::string> heads_;        // run id → its "run" line
  std::set<std::string, std::less<>> experiments_;  // the "experiment" lines that were read
  std::uint64_t repeated_ = 0;
  FieldReader fields_;
  JsonLines lines_;
};

void Reader::take_line(Json& line, std::string_view text, const std::string& type) {
  if (type == "run") {
    if (line.contains("kind")) throw BadField{"this run is not of a causal profile"};
    lines_.check_version(line, kLogVersion);
    json_fields::config_to_text(line);
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
    kind_to_row(line);
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
    kind_to_row(line);
    fields_.read(line, samples);
    keep(run_of(line).samples, std::move(samples),
         [](const UnitSamples& each) { return each.unit.name; });
  } else if (type == "end") {
    Run& run = run_of(line);
    fields_.read(line, run, Run::last_fields());
    if (line.contains("counting")) fields_.read(line, run, kCountingRow);
    run.ended = true;
  } else {
    lines_.ignore(type);
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
  log_.warnings = std::move(lines_.warnings());
  for (const Run& run : log_.runs) {
    if (!heads_.contains(run.id)) log_.warnings.emplace_back(kHeadless, run.id);
  }
  if (repeated_ > 0) log_.warnings.emplace_back(kRepeated, repeated_);
  return std::move(log_);
}

}  // namespace

ReadLog read_logs(const std::vector<std::string>& paths) {
  return parse_logs(read_files(paths, kHint));
}

ReadLog parse_logs(const std::vector<LogText>& logs) { return read_each<Reader>(logs); }

}  // namespace causalctl::causal
