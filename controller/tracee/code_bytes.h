// The code that a profile must leave as it was: the text of the executable, and the pages of
// progress points in any file, where the kernel writes uprobes.
//
// A uprobe of another process, which may come and go meanwhile, changes it as one of ours would.
// The two are told apart by their places.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::tracee {

struct CodeBytes {
  std::string name;  // of its line in the digest
  Address begin = 0;
  std::vector<std::byte> bytes;
};

// Returns the first MiB of each mapping of the executable, and the pages of `places`. What cannot
// be read is left out: it has been unmapped since it was listed.
std::vector<CodeBytes> code_of(Pid pid, const std::vector<procfs::Map>& maps,
                               std::span<const Address> places);

// Returns the names of what uprobes alone have changed, none of them at `own`. Pure.
std::vector<std::string> changed_by_uprobes(const std::vector<CodeBytes>& before,
                                            const std::vector<CodeBytes>& after,
                                            std::span<const Address> own);

// Returns whether another process than these has perf events open, as far as may be seen.
bool perf_events_elsewhere(std::span<const Pid> ours);

}  // namespace causalctl::tracee
