#include "controller/callpath/kernel_part.h"

#include <algorithm>
#include <utility>

namespace causalctl::callpath {
namespace {

constexpr std::string_view kScheduler = "__schedule";

// From user code into the kernel (arch/x86/entry of Linux): system calls, interrupts, exceptions.
bool is_entry(std::string_view name) {
  constexpr std::string_view kCalls[] = {"do_syscall_64", "x64_sys_call", "do_int80_emulation",
                                         "ret_from_fork_asm"};
  return name.starts_with("entry_") || name.starts_with("asm_") ||
         std::find(std::begin(kCalls), std::end(kCalls), name) != std::end(kCalls);
}

Slice folded(const Slice& slice, const std::vector<NodeId>& user) {
  Slice result;
  for (const auto& [node, value] : slice) result[user[node]] += value;
  return result;
}

// Returns for each node the nearest one above it that is not the kernel's, or itself.
std::vector<NodeId> user_nodes(const Recording& recording) {
  std::vector<NodeId> user(recording.tree.size(), kRoot);
  for (NodeId id = 1; id < user.size(); ++id) {
    const CallTree::Node& node = recording.tree.node(id);
    const Location& location = recording.locations.at(node.location);
    const bool is_kernel = recording.modules.at(location.module).path == kKernel;
    user[id] = is_kernel ? user[node.parent] : id;
  }
  return user;
}

}  // namespace

std::span<const std::string_view> telling_part(std::span<const std::string_view> names,
                                               bool leaves) {
  while (!names.empty() && (names.back().empty() || is_entry(names.back()))) {
    names = names.first(names.size() - 1);
  }
  if (!leaves) return names;
  const auto scheduler = std::find(names.begin(), names.end(), kScheduler);
  return scheduler == names.end()
             ? names
             : names.subspan(static_cast<std::size_t>(scheduler - names.begin()));
}

std::span<const LocationId> KernelPart::of(const perf::SampleEvent& sample) {
  names_.clear();
  path_.clear();
  for (std::size_t i = 0; i < sample.kernel.size(); ++i) {
    // A return address may be the first byte behind the function.
    names_.push_back(symbols_.find(sample.kernel[i] - (i > 0 ? 1 : 0)));
  }
  for (const std::string_view name :
       telling_part(names_, sample.reason == perf::SampleReason::leaving)) {
    if (name.empty()) continue;
    const auto [known, is_new] = known_.try_emplace(name);
    if (is_new) known->second = places_.in_kernel(std::string(name));
    path_.push_back(known->second);
  }
  std::reverse(path_.begin(), path_.end());
  return path_;
}

bool has_kernel_part(const Recording& recording) {
  return std::any_of(recording.modules.begin(), recording.modules.end(),
                     [](const Module& module) { return module.path == kKernel; });
}

void fold_kernel(Recording& recording) {
  if (!has_kernel_part(recording)) return;
  const std::vector<NodeId> user = user_nodes(recording);
  for (auto& [key, slice] : recording.slices) slice = folded(slice, user);
  for (Part& part : recording.parts) {
    for (auto& [key, slice] : part.slices) slice = folded(slice, user);
  }
  for (auto& [group, sums] : recording.wakers) {
    std::remove_reference_t<decltype(sums)> all;
    for (const auto& [pair, value] : sums) all[{user[pair.first], user[pair.second]}] += value;
    sums = std::move(all);
  }
}

}  // namespace causalctl::callpath
