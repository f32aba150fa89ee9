// The subcommands. Each has one file with one function that adds it to the command line and stores
// the work in `selected`. main calls that, and only main catches exceptions.
#pragma once

#include "controller/commands/command_line.h"

namespace causalctl::commands {

void add_ab(CLI::App& app, Command& selected);
void add_attach(CLI::App& app, Command& selected);
// `program`: the words after `--`.
void add_run(CLI::App& app, Command& selected, std::vector<std::string> program);
void add_calc(CLI::App& app, Command& selected);
void add_callpath(CLI::App& app, Command& selected, std::vector<std::string> program);
void add_db(CLI::App& app, Command& selected);
void add_diff(CLI::App& app, Command& selected);
void add_doctor(CLI::App& app, Command& selected);
void add_inputs(CLI::App& app, Command& selected, std::vector<std::string> program);
void add_points(CLI::App& app, Command& selected);
void add_prof(CLI::App& app, Command& selected);
void add_record(CLI::App& app, Command& selected, std::vector<std::string> program);
void add_report(CLI::App& app, Command& selected);
void add_stacks(CLI::App& app, Command& selected);
void add_stalls(CLI::App& app, Command& selected);
void add_stats(CLI::App& app, Command& selected);

}  // namespace causalctl::commands
