#include "controller/callpath/engine/edges.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace causalctl::callpath {
namespace {

// A frame larger than this looks like the way to another stack.
constexpr Address kFarAway = 1U << 16U;

bool was_found(const unwind::UnwoundFrame& frame) {
  return frame.how != unwind::FrameHow::guess && frame.how != unwind::FrameHow::frame_pointer;
}

// Returns whether the canonical address and the return address of a frame are known for sure.
bool is_reliable(const unwind::Chain& chain, std::size_t index, Address sp, std::size_t copied) {
  const Address cfa = chain.frames[index].cfa;
  if (cfa <= sp || cfa - sp > copied) return false;
  if (index + 1 < chain.frames.size()) return was_found(chain.frames[index + 1]);
  return chain.complete();
}

// Of an interrupted frame, what called the frame below it is the instruction itself.
Address return_address_of(const unwind::Chain& chain, std::size_t index) {
  return index + 1 < chain.frames.size() ? chain.frames[index + 1].ip : 0;
}

}  // namespace

// Returns the runs of the reliable frames, the outermost run first.
std::vector<Edges::Run> Edges::runs_of(const unwind::Chain& chain, Address sp,
                                       std::size_t copied) const {
  std::vector<Run> runs;
  std::size_t index = 0;
  for (; index < chain.frames.size() && is_reliable(chain, index, sp, copied); ++index) {
    const Address cfa = chain.frames[index].cfa;
    const Address before = index == 0 ? sp : chain.frames[index - 1].cfa;
    if (runs.empty() || cfa <= before || cfa - before > kFarAway) {
      runs.push_back({index, index, index == 0 ? sp : cfa, false});
    }
    runs.back().outer = index;
  }
  const bool only_root_is_left = chain.complete() && index + 1 == chain.frames.size();
  if (!runs.empty() && only_root_is_left) runs.back().has_root = true;
  std::reverse(runs.begin(), runs.end());
  return runs;
}

// Takes out what was seen from `low` to `high`, and below on the stacks that are there. What was
// seen above on these stacks stays.
Edges::Stack Edges::take_out(Address low, Address high) {
  Stack taken;
  auto at = stacks_.lower_bound(low);
  while (at != stacks_.end() && at->second.low <= high) {
    Stack& stack = at->second;
    const auto first = std::find_if(stack.calls.begin(), stack.calls.end(),
                                    [&](const Call& call) { return call.cfa <= high; });
    // Stacks come with rising addresses, and the calls of each with falling ones.
    taken.calls.insert(taken.calls.begin(), first, stack.calls.end());
    if (first == stack.calls.begin()) {
      taken.has_root = taken.has_root || stack.has_root;
      at = stacks_.erase(at);
    } else {
      stack.calls.erase(first, stack.calls.end());
      stack.low = stack.calls.back().cfa;
      ++at;
    }
  }
  return taken;
}

void Edges::judge(const unwind::Chain& chain, const Run& run) {
  const Address high = chain.frames[run.outer].cfa;
  const Stack before = take_out(run.low, high);
  Stack now;
  now.low = run.low;
  now.has_root = run.has_root || before.has_root;
  if (run.has_root) is_new_[run.outer + 1] = !before.has_root;
  auto seen = before.calls.begin();
  for (std::size_t index = run.outer + 1; index-- > run.inner;) {
    const bool has_caller = index < run.outer;
    const Call call{chain.frames[index].cfa, return_address_of(chain, index),
                    has_caller ? chain.frames[index + 1].cfa : 0};
    while (seen != before.calls.end() && seen->cfa > call.cfa) ++seen;
    bool is_new = seen == before.calls.end() || seen->cfa != call.cfa ||
                  seen->return_address != call.return_address;
    if (!is_new && has_caller && seen->caller_cfa != 0) {
      is_new = seen->caller_cfa != call.caller_cfa || is_new_[index + 1];
    }
    is_new_[index] = is_new;
    now.calls.push_back(call);
  }
  stacks_[high] = std::move(now);
}

const std::vector<bool>& Edges::take(const unwind::Chain& chain, Address sp, std::size_t copied) {
  is_new_.assign(chain.frames.size(), false);
  if (chain.moves || sp == 0) return is_new_;
  for (const Run& run : runs_of(chain, sp, copied)) judge(chain, run);
  return is_new_;
}

}  // namespace causalctl::callpath
