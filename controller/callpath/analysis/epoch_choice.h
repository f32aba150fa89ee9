// Tells which epochs of recordings a report is about. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/record/recording.h"
#include "controller/report/callpath/model.h"

namespace causalctl::callpath {

class ChosenEpochs {
 public:
  // `wanted` is what a user writes: "3", "3-5" (both included), or a part of a reason, such as
  // "dlopen of libz"; all epochs if it is empty. Of several runs it means the epochs of each.
  // Throws UsageError if there is none, with those that there are. `runs` is borrowed.
  ChosenEpochs(std::span<const Recording> runs, const std::string& wanted);

  bool has(std::size_t run, std::uint32_t epoch) const { return chosen_[run][epoch]; }
  bool all() const;
  // How long the chosen ones of a run lasted.
  Nanoseconds length_ns(std::size_t run) const;
  // How much of a run's time, from `begin_ns` to `end_ns`, belongs to them.
  Nanoseconds length_between(std::size_t run, Nanoseconds begin_ns, Nanoseconds end_ns) const;
  std::vector<report::callpath::Epoch> rows() const;

 private:
  Nanoseconds length_ns(std::size_t run, std::size_t epoch) const;

  std::span<const Recording> runs_;
  std::vector<std::vector<bool>> chosen_;  // by run and epoch
};

}  // namespace causalctl::callpath
