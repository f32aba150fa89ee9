// The options of `causalctl callpath` that say how it records, and what they mean.
#pragma once

#include <string>
#include <vector>

#include "controller/callpath/run.h"
#include "controller/commands/command_line.h"

namespace causalctl::commands {

struct RecordingOptions {
  std::string duration, period = "auto", threads = "all";
  std::vector<std::string> events, counts, epochs;
  std::string slowdown = "3";
  bool wakers = false;
};

// Adds the options, under the heading Recording.
void add_recording_options(CLI::App& app, RecordingOptions& options);

// Throws UsageError if an option has no meaning.
callpath::Settings settings_of(const RecordingOptions& options);

// Tries what the recording relies on, and leaves out what is not possible here. Throws Error if
// the recording itself is not.
void try_facilities(callpath::Settings& settings);

}  // namespace causalctl::commands
