// Writes the experiment log (docs/log-format.md): each struct becomes one line and one write(2).
#include "controller/causal/record/log.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "controller/base/json_fields.h"
#include "controller/base/json_lines.h"
#include "controller/causal/record/counting_row.h"

namespace causalctl::causal {
namespace {

using json_fields::Json;

// A unit's kind is a word in the log.
void to_written(Json& line) {
  if (const auto kind = line.find("kind"); kind != line.end()) {
    *kind = line.contains("path") ? "path" : *kind == true ? "line" : "function";
    if (line.contains("file")) line.erase("module");  // the source file says more
  }
  json_fields::config_to_object(line);
}

std::string text(Json line) {
  to_written(line);
  return line_of(line);
}

// Returns a line of type `type` with the fields of `object`, which belongs to `run`.
template <Described S>
std::string typed(const char* type, const Run& run, const S& object) {
  Json line = {{"type", type}, {"run", run.id}};
  json_fields::put(line, object, S::fields());
  return text(std::move(line));
}

}  // namespace

void check_log(const std::string& path) { LineFile::check(path, kLogKind); }

LogWriter::LogWriter(const std::string& path) : file_(path, kLogKind) {}

void LogWriter::run(const Run& run) {
  Json line = {{"type", "run"}, {"version", kLogVersion}};
  json_fields::put(line, run, Run::first_fields());
  file_.append(text(std::move(line)));
}

void LogWriter::pacing(const Run& run) {
  for (const Pacing& pacing : run.pacing) file_.append(typed("pacing", run, pacing));
}

void LogWriter::experiment(const Run& run, const Experiment& experiment) {
  file_.append(typed("experiment", run, experiment));
}

void LogWriter::samples(const Run& run, const UnitSamples& samples) {
  file_.append(typed("samples", run, samples));
}

void LogWriter::end(const Run& run) {
  Json line = {{"type", "end"}};
  json_fields::put(line, run, Run::last_fields());
  json_fields::put(line, run, kCountingRow);
  file_.append(text(std::move(line)));
}

}  // namespace causalctl::causal
