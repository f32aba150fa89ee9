// One perf event: the only caller of perf_event_open(2) and of the ioctls on what it returns.
//
// A thread that is gone is a result; every other failure is an Error with a hint. Operations on the
// event of a thread that has ended meanwhile succeed and do nothing.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "controller/perf/hints.h"

namespace causalctl::perf {

// Call it in a child before exec: it restores the limit from before EventFd::open() raised it.
void restore_descriptor_limit();

class EventFd {
 public:
  EventFd() = default;

  // Opens `attr` on one thread (0 is the caller), on whatever processor it runs. Records go to the
  // ring of `output`, an event of the same thread, if given. `what` names the event in messages.
  // Returns nullopt if the thread is gone. The first EMFILE raises our soft RLIMIT_NOFILE to the
  // hard one.
  [[nodiscard]] static std::optional<EventFd> open(const perf_event_attr& attr, Tid tid,
                                                   std::string_view what,
                                                   const EventFd* output = nullptr);

  // Opens `attr` on one core, for all processes. Returns nullopt if the core is offline.
  [[nodiscard]] static std::optional<EventFd> open_on_core(const perf_event_attr& attr, int core,
                                                           std::string_view what);

  int get() const { return fd_.get(); }
  Fd release() { return std::move(fd_); }
  explicit operator bool() const { return static_cast<bool>(fd_); }
  std::uint64_t id() const { return id_; }  // PERF_SAMPLE_IDENTIFIER of its records
  const perf_event_attr& attr() const { return attr_; }

  void enable() const;
  void disable() const;               // synchronous: no record follows
  void refresh(int overflows) const;  // enables the event for this many more overflows
  void set_period(Nanoseconds period_ns) const;
  void set_program(int program) const;  // a BPF program, which runs at each overflow
  std::uint64_t read_count() const;     // works also for a thread that has ended
  bool thread_ended() const;            // POLLHUP

  // Maps 2^n data pages, or fewer (down to one) if the user may not lock that much memory.
  Mapping map_ring(unsigned pages) const;

 private:
  EventFd(Fd fd, const perf_event_attr& attr, std::string_view what);
  void control(unsigned long request, unsigned long argument, const char* name) const;
  [[noreturn]] void fail(Call call, const char* name, int error_number) const;

  Fd fd_;
  std::uint64_t id_ = 0;
  perf_event_attr attr_{};  // kept for hints
  std::string what_;
};

SystemFacts system_facts();  // of this machine, read now

}  // namespace causalctl::perf
