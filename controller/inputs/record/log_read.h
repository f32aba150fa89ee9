// Reads logs of input sizes (docs/inputs-format.md). Pure.
#pragma once

#include <vector>

#include "controller/base/json_lines.h"
#include "controller/base/warning.h"
#include "controller/inputs/record/recording.h"

namespace causalctl::inputs {

struct ReadLog {
  std::vector<Recording> runs;
  std::vector<Warning> warnings;  // "inputs.jsonl:17: the line is cut off; it is ignored"
};

// Reads logs of any number of runs, whose lines may be mixed. A line that is cut off gives a
// warning. A line that is not of a log, that names what no line before it has, or whose numbers
// contradict each other, throws an Error with file and line; so does a run that is read twice. A
// run without its end is kept.
ReadLog parse_logs(const std::vector<LogText>& logs);

}  // namespace causalctl::inputs
