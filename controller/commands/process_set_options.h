// The words and options by which a command line names a set of processes, and what they mean.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/commands/command_line.h"
#include "controller/session/process_set.h"

namespace causalctl::commands {

struct SetWords {
  std::vector<std::string> processes;  // PIDs and names, each of one process
  std::string children, match, cgroup, service;
  bool with_children = false;  // --children is there; without a PID it is for the program after --
  bool all = false;
};

struct SetChoice {
  session::SetDescription description;
  std::vector<Pid> pids;   // the members at the moment, in ascending order
  std::string name;        // "process 4711", "--service nginx"
  std::string text;        // for a headline: the name and the size, "--service nginx (5 processes)"
  bool is_single = false;  // words name one process; nothing was checked but that
};

// Adds the options, under the heading Processes. SetWords::processes are the command's own
// argument. If the command can start a program, --children needs no PID.
void add_set_options(CLI::App& app, SetWords& words, bool starts_programs);

// Returns the ways in which the words name processes: "4711", "--match nginx". Pure.
std::vector<std::string> ways_of(const SetWords& words);
// Throws UsageError if there is not one way. Pure.
void check_ways(const std::vector<std::string>& ways);
// Return the name of a set, and the text for a headline, which has its size. Pure.
std::string name_of(const session::SetDescription& description);
std::string headline_of(const session::SetDescription& description, std::size_t processes);

// Throws Error, mostly UsageError or TargetGone, if the words name no set, no process is in it, or
// a process that is named by its PID is not there or may not be read.
SetChoice choose_set(const SetWords& words);
std::unique_ptr<session::BoundedSet> set_of(const SetChoice& choice);
// Returns the set of a program that was started, and of all below it.
SetChoice choose_program_with_children(const std::vector<std::string>& command, Pid pid);

}  // namespace causalctl::commands
