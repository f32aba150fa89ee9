#include "controller/perf/event.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/base/restrictions.h"

namespace causalctl::perf {
namespace {

std::atomic<rlim_t> limit_before = RLIM_INFINITY;  // the limit before we raised it, if we did

bool raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  limit_before = before;
  return true;
}

constexpr Tid kAnyThread = -1;
constexpr int kAnyCore = -1;

// Returns a descriptor, or -1 with errno.
int perf_event_open(perf_event_attr attr, Tid tid, int core, int group, unsigned long flags) {
  const auto open = [&] {
    return static_cast<int>(syscall(SYS_perf_event_open, &attr, tid, core, group, flags));
  };
  const int fd = open();
  return fd < 0 && errno == EMFILE && raise_descriptor_limit() ? open() : fd;
}

std::string what_to_do(int error_number, const perf_event_attr& attr) {
  if (error_number == EACCES || error_number == EPERM || error_number == ENOSYS) {
    if (auto text = restriction(GuardedCall::perf_event_open); !text.empty()) return text;
  }
  return hint_for(Call::open, error_number, attr, system_facts());
}

}  // namespace

void restore_descriptor_limit() {
  rlimit limit{};
  if (limit_before == RLIM_INFINITY || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit_before;
  (void)setrlimit(RLIMIT_NOFILE, &limit);  // never fails, because lowering it is always permitted
}

SystemFacts system_facts() {
  SystemFacts facts;
  const std::string kernel = "/proc/sys/kernel/";
  facts.paranoid = static_cast<int>(
      procfs::read_number(kernel + "perf_event_paranoid").value_or(facts.paranoid));
  facts.mlock_kb = procfs::read_number(kernel + "perf_event_mlock_kb").value_or(facts.mlock_kb);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) facts.descriptors = static_cast<long>(limit.rlim_cur);
  return facts;
}

std::optional<EventFd> EventFd::open(const perf_event_attr& attr, Tid tid, std::string_view what,
                                     const EventFd* output) {
  const int group = output == nullptr ? -1 : output->get();
  const unsigned long flags =
      PERF_FLAG_FD_CLOEXEC |
      (output == nullptr ? 0UL : PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP);
  const int fd = perf_event_open(attr, tid, kAnyCore, group, flags);
  if (fd >= 0) return EventFd(Fd(fd), attr, what);
  const int error_number = errno;
  // Once the thread has ended, its ring's event cannot be used as output: EINVAL or ENODEV.
  if (error_number == ESRCH || (output != nullptr && output->thread_ended())) return std::nullopt;
  throw Error::from_errno(fmt::format("perf_event_open({}, tid {})", what, tid), error_number,
                          what_to_do(error_number, attr));
}

std::optional<EventFd> EventFd::open_on_core(const perf_event_attr& attr, int core,
                                             std::string_view what) {
  const int fd = perf_event_open(attr, kAnyThread, core, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) return EventFd(Fd(fd), attr, what);
  const int error_number = errno;
  if (error_number == ENODEV) return std::nullopt;
  throw Error::from_errno(fmt::format("perf_event_open({}, core {})", what, core), error_number,
                          what_to_do(error_number, attr));
}

EventFd::EventFd(Fd fd, const perf_event_attr& attr, std::string_view what)
    : fd_(std::move(fd)), attr_(attr), what_(what) {
  control(PERF_EVENT_IOC_ID, reinterpret_cast<unsigned long>(&id_), "ID");
}

void EventFd::enable() const { control(PERF_EVENT_IOC_ENABLE, 0, "ENABLE"); }
void EventFd::disable() const { control(PERF_EVENT_IOC_DISABLE, 0, "DISABLE"); }

void EventFd::refresh(int overflows) const {
  control(PERF_EVENT_IOC_REFRESH, static_cast<unsigned long>(overflows), "REFRESH");
}

void EventFd::set_period(Nanoseconds period_ns) const {
  auto period = static_cast<std::uint64_t>(period_ns);
  control(PERF_EVENT_IOC_PERIOD, reinterpret_cast<unsigned long>(&period), "PERIOD");
}

void EventFd::set_program(int program) const {
  control(PERF_EVENT_IOC_SET_BPF, static_cast<unsigned long>(program), "SET_BPF");
}

std::uint64_t EventFd::read_count() const {
  std::uint64_t count = 0;
  const auto got = ::read(fd_.get(), &count, sizeof(count));
  if (got < 0) fail(Call::control, "read", errno);
  // 0 bytes mean that the kernel could never schedule the event.
  return got == sizeof(count) ? count : 0;
}

bool EventFd::thread_ended() const {
  pollfd entry{fd_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLHUP | POLLERR)) != 0;
}

Mapping EventFd::map_ring(unsigned pages) const {
  const auto page_size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (;; pages /= 2) {
    const std::size_t size = (pages + 1) * page_size;
    void* address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (address != MAP_FAILED) return Mapping(address, size);
    if ((errno != EPERM && errno != ENOMEM) || pages <= 1) fail(Call::map, "mmap", errno);
  }
}

void EventFd::control(unsigned long request, unsigned long argument, const char* name) const {
  if (ioctl(fd_.get(), request, argument) < 0) fail(Call::control, name, errno);
}

void EventFd::fail(Call call, const char* name, int error_number) const {
  throw Error::from_errno(fmt::format("perf event {}: {}", what_, name), error_number,
                          hint_for(call, error_number, attr_, system_facts()));
}

}  // namespace causalctl::perf
