#include "controller/tracee/inject/stub.h"

#include <csignal>
#include <cstring>

#include "controller/base/error.h"
#include "controller/tracee/inject/slot.h"
#include "controller/tracee/inject/slot_offsets.h"
#include "controller/tracee/process.h"

extern "C" {
extern const std::byte causalctl_stub_begin[];
extern const std::byte causalctl_stub_restorer[];
extern const std::byte causalctl_stub_parameters[];
extern const std::byte causalctl_stub_end[];
}

namespace causalctl::tracee {
namespace {

constexpr std::uint64_t kSaRestorer = 0x04000000;  // <asm/signal.h>, which clashes with <csignal>

static_assert(offsetof(Slot, owed_total_ns) == CAUSALCTL_SLOT_OWED_TOTAL);
static_assert(offsetof(Slot, armed_at_ns) == CAUSALCTL_SLOT_ARMED_AT);
static_assert(offsetof(Slot, stale_after_ns) == CAUSALCTL_SLOT_STALE_AFTER);
static_assert(offsetof(Slot, paid_total_ns) == CAUSALCTL_SLOT_PAID_TOTAL);
static_assert(offsetof(Slot, entered) == CAUSALCTL_SLOT_ENTERED);
static_assert(offsetof(Slot, left) == CAUSALCTL_SLOT_LEFT);
static_assert(offsetof(Slot, entered_at_ns) == CAUSALCTL_SLOT_ENTERED_AT);
static_assert(offsetof(Slot, left_at_ns) == CAUSALCTL_SLOT_LEFT_AT);
static_assert(sizeof(Slot) == CAUSALCTL_SLOT_SIZE);
static_assert(kSpins == CAUSALCTL_SLOT_SPINS);

}  // namespace

std::vector<std::byte> stub_image(const StubParameters& parameters) {
  std::vector<std::byte> image(causalctl_stub_begin, causalctl_stub_end);
  const auto offset = static_cast<std::size_t>(causalctl_stub_parameters - causalctl_stub_begin);
  INVARIANT(offset + sizeof parameters == image.size());
  std::memcpy(image.data() + offset, &parameters, sizeof parameters);
  return image;
}

std::optional<StubParameters> parse_stub(std::span<const std::byte> bytes) {
  const auto image = stub_image({});
  const std::size_t fixed = image.size() - sizeof(StubParameters);
  if (bytes.size() < image.size() || std::memcmp(bytes.data(), image.data(), fixed) != 0) {
    return std::nullopt;
  }
  StubParameters parameters;
  std::memcpy(&parameters, bytes.data() + fixed, sizeof parameters);
  return parameters;
}

std::optional<StubParameters> find_stub(Pid pid, Address code) {
  std::vector<std::byte> there(stub_image({}).size());
  return read_memory(pid, code, there) ? parse_stub(there) : std::nullopt;
}

std::uint64_t dropped_signals(std::uint64_t ignored, std::uint64_t caught) {
  std::uint64_t by_default = 0;
  for (const int signal : {SIGCHLD, SIGCONT, SIGURG, SIGWINCH}) {
    by_default |= std::uint64_t{1} << (signal - 1);
  }
  return (by_default | ignored) & ~caught;
}

KernelSigaction stub_action(Address code, std::uint64_t unblocked) {
  KernelSigaction action;
  action.handler = code;
  action.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | kSaRestorer;
  action.restorer = code + static_cast<Address>(causalctl_stub_restorer - causalctl_stub_begin);
  action.mask = ~unblocked;
  return action;
}

}  // namespace causalctl::tracee
