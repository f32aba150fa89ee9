#include "controller/compare/kept_windows.h"

namespace causalctl::compare {

Window& KeptWindows::of(const config::Progress& progress, Pid pid, std::uint64_t seed) {
  if (would_arm(pid)) windows_.erase(pid);
  return windows_.try_emplace(pid, progress, pid, seed).first->second;
}

bool KeptWindows::would_arm(Pid pid) {
  const auto found = windows_.find(pid);
  return found == windows_.end() || !found->second.is_in_place();
}

void KeptWindows::collect() {
  for (auto& [pid, window] : windows_) window.collect();
}

}  // namespace causalctl::compare
