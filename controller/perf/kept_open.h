// Keeps open what trials have opened, until causalctl's own events are closed.
//
// The kernel takes some 50 ms, and on a busy machine seconds, to close a uprobe or the last event
// of a tracepoint, because it waits until no core can be in it any more. Whoever opens another one
// meanwhile waits for that, in the kernel. So a trial at the start closes nothing of that kind.
#pragma once

#include <functional>
#include <memory>
#include <utility>

namespace causalctl::perf {

void keep_open(std::shared_ptr<void> closable);
template <typename Closable>
void keep_open(Closable closable) {
  keep_open(std::shared_ptr<void>(std::make_shared<Closable>(std::move(closable))));
}

// Closes all of it, in a thread of its own that nobody waits for, and that has meanwhile what
// `hold` returns there, such as a priority. Call it when nothing is opened any more. What is not
// closed by then the kernel closes when causalctl ends.
void close_kept(std::function<std::shared_ptr<void>()> hold = {});

}  // namespace causalctl::perf
