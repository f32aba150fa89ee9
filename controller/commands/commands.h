// The subcommands. Each has one file with one function that adds it to the command line; what is to
// be done is stored in `selected` and called by main, which alone catches.
#pragma once

#include "controller/commands/command_line.h"

namespace causalctl::commands {

void add_ab(CLI::App& app, Command& selected);
void add_attach(CLI::App& app, Command& selected);
void add_run(CLI::App& app, Command& selected);
void add_doctor(CLI::App& app, Command& selected);
void add_points(CLI::App& app, Command& selected);
void add_report(CLI::App& app, Command& selected);

}  // namespace causalctl::commands
