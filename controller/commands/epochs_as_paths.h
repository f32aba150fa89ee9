// Epochs of a continuous profile as a recording of call paths, of which each path is one place in
// code: what is shown, exported and compared of these goes for epochs as well.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "controller/callpath/record/log.h"
#include "controller/continuous/record/database.h"
#include "controller/report/continuous/model.h"

namespace causalctl::commands {

// Epochs of one host.
struct ChosenHost {
  const continuous::Database& database;
  std::vector<continuous::Epoch> epochs;
};

// Opens the files of a folder, or the one that is named, to be read. Tells of those that cannot be;
// throws Error if that is all.
std::vector<continuous::Database> open_databases(const std::string& path);
// Returns the epochs that `text` means (epoch_choice.h), by host. Hosts that have none are left
// out. Throws UsageError if there are none at all.
std::vector<ChosenHost> choose_hosts(const std::vector<continuous::Database>& databases,
                                     const std::string& text);

// The same of a folder that has one host. Throws UsageError if it has several.
ChosenHost only_host(const std::vector<continuous::Database>& databases, const std::string& path,
                     const std::string& text);

// Returns one run for each host. An epoch is one of the run, and a part of its time, which goes on
// with the next epoch. If `label` is not empty, only what has that label; if `per` is not, the
// visits of that point are an event besides. Warnings are those of damaged rows, and of what was
// lost.
callpath::ReadLog as_paths(std::span<const ChosenHost> hosts, const std::string& label,
                           const std::string& per = "");

// Throws UsageError, which tells the labels that there are, if nothing has this one. Every profile
// has the empty one.
void require_label(const std::vector<ChosenHost>& hosts, const std::string& label);

// Returns how often the point was visited in these epochs. Throws UsageError, which tells the
// points that there are, if it was not counted in all of them.
std::uint64_t visits_of(const std::vector<continuous::Epoch>& epochs, const std::string& point);

// All that was recorded in the epochs, with this label (empty: all).
struct EpochContents {
  continuous::Profile profile;
  continuous::Losses losses;
  std::vector<std::string> damage;  // a sentence for each row that is damaged and left out
};
EpochContents recorded_in(const ChosenHost& host, const std::string& label);

// Of options that several commands have.
inline constexpr const char* kDatabaseHelp =
    "the folder that `causalctl record --db` writes, or one host's file in it";
inline constexpr const char* kEpochHelp =
    "last, all, today, a name, a number, or a span such as 2026-11-25T10:00..11:00 [last]";
inline constexpr const char* kLabelHelp = "only what was recorded with this label";

// Returns when they were, for a report. Times are local.
std::vector<report::continuous::EpochHead> heads_of(const std::vector<continuous::Epoch>& epochs);

// What epochs lost, and what is not known of them, a sentence each.
std::vector<std::string> warnings_of(const continuous::Losses& losses, std::uint64_t samples);

}  // namespace causalctl::commands
