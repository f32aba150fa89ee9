// The rows that stand above the paths of a group of threads: its program or its process in a
// recording of a set, and the name of the group. A row is left out where it would be the only one
// of its kind, as in a recording of one process whose threads are not told apart. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "controller/callpath/analysis/epoch_choice.h"
#include "controller/callpath/analysis/expansion.h"
#include "controller/callpath/analysis/profile_tree.h"
#include "controller/callpath/record/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

inline bool is_of_set(const Recording& run) {
  return !run.processes.empty() || !run.programs.empty() || !run.set.empty();
}

// The program and the process of a group of threads, as reports name them: "postgres", and
// "postgres (process 4711)" or "postgres (others)". In a recording of one process they are those of
// the recording.
std::string program_of(const Recording& run, const Group& group);
std::string process_of(const Recording& run, const Group& group);

// Returns how many processes were recorded, each once; 1 in a recording of one process.
std::uint64_t processes_of(const Recording& run);
// Returns what a report calls the recording: "/bin/server (process 4711)", "/bin/make and 811 other
// processes".
std::string words_of(const Recording& run);

// Returns the programs of runs, those with the most CPU time first, and what they have in the
// chosen epochs; none unless a run is of a set.
std::vector<report::callpath::Program> programs_of(std::span<const Recording> runs,
                                                   const ChosenEpochs& epochs);

// The groups of a run that have values, and those whose wakers are known.
std::set<std::uint32_t> groups_with_values(const Recording& run);
std::set<std::uint32_t> groups_with_wakers(const Recording& run);

class GroupRows {
 public:
  using GroupsOf = std::set<std::uint32_t> (*)(const Recording&);

  // The rows of a report of these runs. With `by_process` each process has a row. Otherwise each
  // program has one if a run is of a set. Groups other than those of `groups_of` have no names.
  GroupRows(std::span<const Recording> runs, bool by_process,
            GroupsOf groups_of = groups_with_values);
  // The rows of a comparison. Programs have rows if one of them is in both, and so have groups of
  // threads.
  GroupRows(std::span<const Recording> before, std::span<const Recording> after);

  // Returns the node below which the paths of the group stand. REQUIRES: `run` is one of the runs
  // that the constructor was given, and is where it was then.
  std::uint32_t top(const Recording& run, std::uint32_t group, Frames& frames,
                    ProfileTree& tree) const;

  // Of a comparison: which rows are left out, a sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Row {
    std::string above;  // name of the program or process; empty if these have no rows
    std::string threads;
  };
  using Names = std::map<std::string, std::set<std::string>>;  // of threads, by the row above

  // Fills rows_, and returns the names in them.
  Names add_rows(std::span<const Recording> runs, GroupsOf groups_of);

  std::optional<report::callpath::Stands>
      above_;  // what the rows above stand for, if there are any
  std::unordered_map<const Recording*, std::map<std::uint32_t, Row>> rows_;  // by run and group
  std::set<std::string> with_threads_;  // rows below which groups of threads have rows
  std::vector<std::string> notes_;
};

}  // namespace causalctl::callpath
