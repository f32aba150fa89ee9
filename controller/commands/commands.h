// The subcommands. Each has one file with one function that adds it to the command line; what is to
// be done is stored in `selected` by CLI11's callback and called by main, which alone catches.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "controller/base/error.h"

namespace causalctl::commands {

using Command = std::function<ExitCode()>;

void add_ab(CLI::App& app, Command& selected);
void add_attach(CLI::App& app, Command& selected);
void add_run(CLI::App& app, Command& selected);
void add_doctor(CLI::App& app, Command& selected);
void add_points(CLI::App& app, Command& selected);
void add_report(CLI::App& app, Command& selected);

}  // namespace causalctl::commands
