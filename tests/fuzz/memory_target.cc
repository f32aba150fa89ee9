#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "controller/base/error.h"
#include "controller/pause/stub_run.h"
#include "controller/tracee/inject/left_stub.h"
#include "controller/tracee/inject/slot.h"
#include "controller/tracee/inject/stub.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {
namespace {

// Takes an object off the front; zeros, where there are no bytes left.
template <typename Object>
Object take(Bytes& bytes) {
  Object object{};
  const std::size_t size = std::min(sizeof object, bytes.size());
  if (size > 0) std::memcpy(&object, bytes.data(), size);
  bytes = bytes.subspan(size);
  return object;
}

// The stub's code is not to be guessed: the bytes are what may be changed beside it.
void read_stub(Bytes bytes) {
  tracee::parse_stub(bytes);
  const auto image = tracee::stub_image(take<tracee::StubParameters>(bytes));
  const auto parameters = tracee::parse_stub(image);
  INVARIANT(parameters);
  procfs::Map code;
  code.start = take<Address>(bytes);
  code.end = take<Address>(bytes);
  procfs::Map data;
  data.start = take<Address>(bytes);
  data.end = take<Address>(bytes);
  data.writable = true;
  if (!tracee::is_laid_out(code, data, *parameters)) return;
  const Address scratch = parameters->slots_end;
  INVARIANT(code.end < scratch && scratch < data.end && data.end - scratch >= tracee::kPage);
}

// … of this process and these namespaces, or it would be read no further.
void read_owner(Bytes bytes) {
  auto owner = tracee::make_owner(getpid(), getpid(), getpid());
  owner.controller = take<tracee::ProcessMark>(bytes);
  owner.guardian = take<tracee::ProcessMark>(bytes);
  if (tracee::state_of(owner, getpid()) == tracee::OwnerState::at_work) {
    INVARIANT(tracee::who_lives(owner) > 0);
  }
  tracee::state_of(take<tracee::Owner>(bytes), getpid());
}

void read_slots(Bytes bytes) {
  Nanoseconds paid_ns = take<Nanoseconds>(bytes);
  const Nanoseconds now_ns = take<std::uint32_t>(bytes) * kSecond;
  if (!pause::is_plausible_total(paid_ns)) return;
  while (!bytes.empty()) {
    const auto run = pause::last_run(take<tracee::Slot>(bytes), paid_ns, now_ns);
    if (!run) continue;
    INVARIANT(run->start_ns <= run->end_ns && run->end_ns - run->start_ns >= 0);
    paid_ns = run->paid_total_ns;
    INVARIANT(pause::is_plausible_total(paid_ns));
  }
}

}  // namespace

void read_memory(Bytes bytes) {
  read_stub(bytes);
  read_owner(bytes);
  read_slots(bytes);
}

}  // namespace causalctl::fuzz
