#include "controller/tracee/reference_walk.h"

#include <libunwind-ptrace.h>

#include <memory>

#include "controller/base/error.h"

namespace causalctl::tracee {

ReferenceWalk reference_walk(Tid tid, std::size_t depth) {
  ReferenceWalk walk;
  const auto destroy_space = [](unw_addr_space* space) { unw_destroy_addr_space(space); };
  const std::unique_ptr<unw_addr_space, decltype(destroy_space)> space(
      unw_create_addr_space(&_UPT_accessors, 0), destroy_space);
  const std::unique_ptr<void, decltype(&_UPT_destroy)> thread(_UPT_create(tid), &_UPT_destroy);
  if (!space || !thread) throw Error("libunwind-ptrace: no memory");
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, space.get(), thread.get()) != 0) return walk;
  while (walk.chain.size() < depth) {
    unw_word_t ip = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0) return walk;
    walk.complete = ip == 0;
    if (ip == 0) return walk;
    walk.chain.push_back(ip);
    const int step = unw_step(&cursor);
    walk.complete = step == 0;
    if (step <= 0) return walk;
  }
  return walk;
}

}  // namespace causalctl::tracee
