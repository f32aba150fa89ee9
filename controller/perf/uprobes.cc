#include "controller/perf/uprobes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "controller/perf/attrs.h"
#include "controller/perf/bpf_code.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/event.h"
#include "controller/perf/kernel_time.h"

namespace causalctl::perf {
namespace {

constexpr unsigned kRingBytes = 1 << 20;  // 32,768 hits

// It is newer than the headers of Debian 12 (include/uapi/linux/bpf.h, Linux 6.6).
constexpr int kTraceUprobeMulti = 48;
struct LinkOfUprobes {
  std::uint32_t program = 0;
  std::uint32_t target = 0;
  std::uint32_t attach_type = kTraceUprobeMulti;
  std::uint32_t flags = 0;
  std::uint64_t path = 0;
  std::uint64_t offsets = 0;
  std::uint64_t semaphore_offsets = 0;
  std::uint64_t cookies = 0;
  std::uint32_t count = 0;
  std::uint32_t uprobe_flags = 0;
  std::uint32_t pid = 0;
  std::uint32_t padding = 0;
};

// What the program shares with us: the only value of an array, which is mapped here.
struct Shared {
  std::uint64_t started = 0;
  std::uint64_t lost = 0;
  std::array<std::uint64_t, Uprobes::kMostCountedTags> counts{};
};

struct RingRecord {  // one hit in the ring
  std::uint64_t time_ns = 0;
  std::uint64_t tid = 0;
  std::uint64_t tag = 0;
};

// Does this at each hit:
//   if (!shared.started || process != target) return 0
//   tag = the place's cookie; if (tag >= kMostCountedTags) return 0
//   time = now; ++shared.counts[tag]
//   if (tag >= kMostTags) return 0
//   record = a place in the ring; if there is none: ++shared.lost
//   else: *record = {time, thread, tag}
// A program that returned 1 would have the uprobe removed.
std::vector<bpf_insn> program_for(Pid target, const std::optional<PidNamespace>& space, int shared,
                                  int ring) {
  constexpr int context = BPF_REG_6;
  constexpr int thread = BPF_REG_7;
  constexpr int process = BPF_REG_8;
  constexpr int tag = BPF_REG_9;
  constexpr int time_on_stack = -16;
  BpfCode code;
  const auto end = code.label();
  const auto has_room = code.label();
  code.move(context, BPF_REG_1);
  code.set_to_map_value(BPF_REG_1, shared);
  code.load(BPF_REG_1, BPF_REG_1, offsetof(Shared, started));
  code.jump_if(BPF_JEQ | BPF_K, BPF_REG_1, 0, 0, end);
  put_numbers(code, space, end);
  code.jump_if(BPF_JNE | BPF_K, process, 0, target, end);
  code.call(BPF_FUNC_ktime_get_ns);
  code.store(BPF_REG_10, time_on_stack, BPF_REG_0);
  code.move(BPF_REG_1, context);
  code.call(BPF_FUNC_get_attach_cookie);
  code.move(tag, BPF_REG_0);
  code.jump_if(BPF_JGE | BPF_K, tag, 0, Uprobes::kMostCountedTags, end);
  code.move(BPF_REG_1, tag);
  code.shift_left(BPF_REG_1, 3);
  code.set_to_map_value(BPF_REG_2, shared);
  code.add_to(BPF_REG_2, BPF_REG_1);
  code.set(BPF_REG_3, 1);
  code.atomic_add(BPF_REG_2, offsetof(Shared, counts), BPF_REG_3);
  code.jump_if(BPF_JGE | BPF_K, tag, 0, Uprobes::kMostTags, end);
  code.set_to_map(BPF_REG_1, ring);
  code.set(BPF_REG_2, sizeof(RingRecord));
  code.set(BPF_REG_3, 0);
  code.call(BPF_FUNC_ringbuf_reserve);
  code.jump_if(BPF_JNE | BPF_K, BPF_REG_0, 0, 0, has_room);
  code.set_to_map_value(BPF_REG_2, shared);
  code.set(BPF_REG_3, 1);
  code.atomic_add(BPF_REG_2, offsetof(Shared, lost), BPF_REG_3);
  code.jump(end);
  code.place(has_room);
  code.load(BPF_REG_1, BPF_REG_10, time_on_stack);
  code.store(BPF_REG_0, offsetof(RingRecord, time_ns), BPF_REG_1);
  code.store(BPF_REG_0, offsetof(RingRecord, tid), thread);
  code.store(BPF_REG_0, offsetof(RingRecord, tag), tag);
  code.move(BPF_REG_1, BPF_REG_0);
  code.set(BPF_REG_2, BPF_RB_NO_WAKEUP);
  code.call(BPF_FUNC_ringbuf_submit);
  code.place(end);
  code.set(BPF_REG_0, 0);
  return code.end();
}

}  // namespace

struct Uprobes::Impl {
  Impl(Pid target, Means means);
  ~Impl() { ring_buffer__free(reader); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Shared& shared() const { return value.as<Shared>(); }
  std::vector<Fd> link(const std::vector<UprobePlace>& places) const;
  Fd link_of_file(const std::string& path, const std::vector<UprobePlace>& places) const;
  std::vector<Fd> event(const UprobePlace& place) const;

  Pid target;
  Means means;
  BpfValue value;
  Fd ring, program;
  ring_buffer* reader = nullptr;
  std::vector<UprobeHit>* hits = nullptr;  // where read() wants them; null otherwise
  std::uint64_t lost_told = 0;
  std::vector<Fd> open;  // links, and the events on which they stand
};

Uprobes::Impl::Impl(Pid process, Means how) : target(process), means(how) {
  if (is_pretended_broken(Facility::bpf)) throw Error("CAUSALCTL_PRETEND_BROKEN has bpf");
  value = BpfValue(sizeof(Shared));
  ring = make_bpf_ring(kRingBytes);
  program =
      load_bpf_program(BPF_PROG_TYPE_KPROBE, "causalctl_hits",
                       program_for(target, namespace_of_numbers(target), value.map(), ring.get()),
                       means == Means::links ? kTraceUprobeMulti : 0);
  const auto take = [](void* self, void* data, std::size_t size) {
    if (size < sizeof(RingRecord)) return 0;
    const auto& record = *static_cast<const RingRecord*>(data);
    static_cast<Impl*>(self)->hits->push_back({static_cast<Tid>(record.tid),
                                               own_time(record.time_ns),
                                               static_cast<std::uint32_t>(record.tag)});
    return 0;
  };
  reader = ring_buffer__new(ring.get(), take, this, nullptr);
  if (reader == nullptr) throw Error::from_errno("mmap of a BPF ring", errno);
}

Fd Uprobes::Impl::link_of_file(const std::string& path,
                               const std::vector<UprobePlace>& places) const {
  std::vector<std::uint64_t> offsets, semaphores, cookies;
  bool any_semaphore = false;
  for (const UprobePlace& place : places) {
    offsets.push_back(place.offset);
    semaphores.push_back(place.semaphore_offset);
    cookies.push_back(place.tag);
    any_semaphore = any_semaphore || place.semaphore_offset != 0;
  }
  LinkOfUprobes link;
  link.program = static_cast<std::uint32_t>(program.get());
  link.path = reinterpret_cast<std::uint64_t>(path.c_str());
  link.offsets = reinterpret_cast<std::uint64_t>(offsets.data());
  if (any_semaphore) link.semaphore_offsets = reinterpret_cast<std::uint64_t>(semaphores.data());
  link.cookies = reinterpret_cast<std::uint64_t>(cookies.data());
  link.count = static_cast<std::uint32_t>(places.size());
  link.pid = static_cast<std::uint32_t>(target);
  Fd fd(static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof link)));
  if (!fd) throw Error::from_errno(fmt::format("bpf(BPF_LINK_CREATE, {})", path), errno);
  return fd;
}

// Returns the link of the program, and the event, which must outlive it.
std::vector<Fd> Uprobes::Impl::event(const UprobePlace& place) const {
  auto event = EventFd::open(visit_attr(uprobe_attr(place)), target, "uprobe");
  if (!event) throw TargetGone(fmt::format("process {} is not there", target));
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.perf_event.bpf_cookie = place.tag;
  Fd link(bpf_link_create(program.get(), event->get(), BPF_PERF_EVENT, &options));
  if (!link) throw Error::from_errno("bpf(BPF_LINK_CREATE, perf event)", errno);
  std::vector<Fd> both;
  both.push_back(std::move(link));
  both.push_back(event->release());
  return both;
}

std::vector<Fd> Uprobes::Impl::link(const std::vector<UprobePlace>& places) const {
  std::vector<Fd> made;
  if (means == Means::links) {
    std::map<std::string, std::vector<UprobePlace>> by_file;
    for (const UprobePlace& place : places) by_file[place.path].push_back(place);
    for (const auto& [path, in_file] : by_file) made.push_back(link_of_file(path, in_file));
    return made;
  }
  for (const UprobePlace& place : places) {
    for (Fd& fd : event(place)) made.push_back(std::move(fd));
  }
  return made;
}

Uprobes::Uprobes(Pid target, Means means) : impl_(std::make_unique<Impl>(target, means)) {}
Uprobes::~Uprobes() = default;
Uprobes::Uprobes(Uprobes&&) noexcept = default;
Uprobes& Uprobes::operator=(Uprobes&&) noexcept = default;

void Uprobes::add(const std::vector<UprobePlace>& places) {
  for (Fd& fd : open(places)) impl_->open.push_back(std::move(fd));
}

std::vector<Fd> Uprobes::open(const std::vector<UprobePlace>& places) {
  for (const UprobePlace& place : places) INVARIANT(place.tag < kMostCountedTags);
  return impl_->link(places);
}

void Uprobes::start() { __atomic_store_n(&impl_->shared().started, 1, __ATOMIC_RELEASE); }

std::uint64_t Uprobes::read(std::vector<UprobeHit>& hits) {
  impl_->hits = &hits;
  (void)ring_buffer__consume(impl_->reader);  // fails only if our callback does
  const std::uint64_t lost = __atomic_load_n(&impl_->shared().lost, __ATOMIC_RELAXED);
  return lost - std::exchange(impl_->lost_told, lost);
}

std::uint64_t Uprobes::count(std::uint32_t tag) const {
  return __atomic_load_n(&impl_->shared().counts.at(tag), __ATOMIC_RELAXED);
}

}  // namespace causalctl::perf
