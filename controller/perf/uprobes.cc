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
#include <optional>
#include <span>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "controller/perf/attrs.h"
#include "controller/perf/bpf/uprobe_hits.h"
#include "controller/perf/bpf/uprobe_hits.skel.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/event.h"
#include "controller/perf/kernel_time.h"
#include "controller/perf/stack_copies.h"

namespace causalctl::perf {
namespace {

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

static_assert(Uprobes::kMostTags == UPROBE_TAGS_RECORDED);
static_assert(Uprobes::kMostCountedTags == UPROBE_TAGS_COUNTED);

// Returns the link of the program, and the event, which must outlive it.
std::vector<Fd> linked(const bpf_program* program, EventFd event, std::uint32_t tag) {
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.perf_event.bpf_cookie = tag;
  Fd link(bpf_link_create(bpf_program__fd(program), event.get(), BPF_PERF_EVENT, &options));
  if (!link) throw Error::from_errno("bpf(BPF_LINK_CREATE, perf event)", errno);
  std::vector<Fd> both;
  both.push_back(std::move(link));
  both.push_back(event.release());
  return both;
}

}  // namespace

struct Uprobes::Impl {
  Impl(Pid target, Means means, const Copies& wanted, std::shared_ptr<ProcessBits> processes);
  ~Impl() { ring_buffer__free(reader); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::vector<Fd> link(const std::vector<UprobePlace>& places) const;
  Fd link_of_file(const std::string& path, const std::vector<UprobePlace>& places) const;
  std::vector<Fd> event(const UprobePlace& place) const;

  Pid target;
  Means means;
  std::shared_ptr<ProcessBits> processes;
  BpfObject<uprobe_hits_bpf> object;
  ring_buffer* reader = nullptr;
  std::vector<UprobeHit>* hits = nullptr;  // where read() wants them; null otherwise
  std::uint64_t lost_told = 0;
  StackMemory stacks;
  std::optional<StackCopies> copies;
  Mapping rows, of_cores;
  std::vector<Fd> open;  // links, and the events on which they stand
};

Uprobes::Impl::Impl(Pid process, Means how, const Copies& wanted,
                    std::shared_ptr<ProcessBits> watched)
    : target(process), means(how), processes(std::move(watched)) {
  if (is_pretended_broken(Facility::bpf)) throw Error("CAUSALCTL_PRETEND_BROKEN has bpf");
  set_namespace_of(*object->rodata, target != 0 ? target : getpid());
  INVARIANT(target != 0 || processes);
  if (!processes) {
    processes = std::make_shared<ProcessBits>();
    processes->sample(target);
  }
  share_map(object->maps.watched_processes, processes->descriptor());
  const bool copying = wanted.stack_bytes > 0;
  bpf_program__set_autoload(object->progs.causalctl_hits, means != Means::none);
  bpf_program__set_autoload(object->progs.causalctl_calls, !copying || wanted.of_calls);
  bpf_program__set_autoload(object->progs.causalctl_results, wanted.of_calls);
  bpf_program__set_autoload(object->progs.causalctl_faults, wanted.of_calls);
  if (means == Means::links) {
    bpf_program__set_expected_attach_type(object->progs.causalctl_hits,
                                          static_cast<bpf_attach_type>(kTraceUprobeMulti));
  }
  object->rodata->copying = copying ? 1 : 0;
  if (copying) {
    object->rodata->stack_pieces_of_core =
        size_stack_maps(object->maps.stack_rings, object->maps.stack_pieces, wanted.most_pieces);
    object->bss->stack_bytes = wanted.stack_bytes;
    set_map_size(object->maps.rows, kRows);
    set_map_size(object->maps.of_cores, kRows * all_cores());
  }
  object.load();
  if (copying) {
    stacks = memory_of_stacks(object->maps.stack_rings, object->maps.stack_pieces);
    copies.emplace(stacks.copies());
    rows = memory_of_map(bpf_map__fd(object->maps.rows), kRows * sizeof(UprobeRow));
    of_cores = memory_of_map(bpf_map__fd(object->maps.of_cores),
                             kRows * all_cores() * sizeof(std::uint64_t));
  }
  const auto take = [](void* self, void* data, std::size_t size) {
    if (size < sizeof(UprobeRecord)) return 0;
    const auto& record = *static_cast<const UprobeRecord*>(data);
    static_cast<Impl*>(self)->hits->push_back(
        {static_cast<Tid>(record.tid), own_time(record.time_ns), record.tag});
    return 0;
  };
  reader = ring_buffer__new(bpf_map__fd(object->maps.records), take, this, nullptr);
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
  link.program = static_cast<std::uint32_t>(bpf_program__fd(object->progs.causalctl_hits));
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

std::vector<Fd> Uprobes::Impl::event(const UprobePlace& place) const {
  auto event = EventFd::open(visit_attr(uprobe_attr(place)), target, "uprobe");
  if (!event) throw TargetGone(fmt::format("process {} is not there", target));
  return linked(object->progs.causalctl_hits, std::move(*event), place.tag);
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

Uprobes::Uprobes(Pid target, Means means, const Copies& copies,
                 std::shared_ptr<ProcessBits> processes)
    : impl_(std::make_unique<Impl>(target, means, copies, std::move(processes))) {}
Uprobes::~Uprobes() = default;
Uprobes::Uprobes(Uprobes&&) noexcept = default;
Uprobes& Uprobes::operator=(Uprobes&&) noexcept = default;

void Uprobes::add(const std::vector<UprobePlace>& places) { keep(open(places)); }

void Uprobes::keep(std::vector<Fd> opened) {
  for (Fd& fd : opened) impl_->open.push_back(std::move(fd));
}

std::vector<Fd> Uprobes::open(const std::vector<UprobePlace>& places) {
  INVARIANT(impl_->means != Means::none);
  for (const UprobePlace& place : places) INVARIANT(place.tag < kMostCountedTags);
  return impl_->link(places);
}

void Uprobes::add_call(std::uint64_t tracepoint, std::uint32_t tag) {
  keep(open_call(tracepoint, tag, false));
}

// The program runs whichever thread makes the call: the event is only what it is linked to.
std::vector<Fd> Uprobes::open_call(std::uint64_t tracepoint, std::uint32_t tag, bool with_result) {
  INVARIANT(tag < kMostCountedTags);
  auto event = EventFd::open(visit_attr(tracepoint_attr(tracepoint)), 0, "tracepoint");
  if (!event) throw Error("our own thread is gone");
  const auto& programs = impl_->object->progs;
  return linked(with_result ? programs.causalctl_results : programs.causalctl_calls,
                std::move(*event), tag);
}

std::vector<Fd> Uprobes::open_on_cores(const perf_event_attr& event, std::uint32_t tag,
                                       const std::string& what) {
  INVARIANT(tag < kMostCountedTags);
  std::vector<Fd> all;
  for (std::size_t core = 0; core < all_cores(); ++core) {
    auto opened = EventFd::open_on_core(visit_attr(event), static_cast<int>(core), what);
    if (!opened) continue;  // it is offline
    opened->enable();
    for (Fd& fd : linked(impl_->object->progs.causalctl_faults, std::move(*opened), tag)) {
      all.push_back(std::move(fd));
    }
  }
  return all;
}

void Uprobes::start() { __atomic_store_n(&impl_->object->bss->started, 1, __ATOMIC_RELEASE); }

std::uint64_t Uprobes::read(std::vector<UprobeHit>& hits) {
  impl_->hits = &hits;
  (void)ring_buffer__consume(impl_->reader);  // fails only if our callback does
  const std::uint64_t lost = __atomic_load_n(&impl_->object->bss->lost, __ATOMIC_RELAXED);
  return lost - std::exchange(impl_->lost_told, lost);
}

std::uint64_t Uprobes::count(std::uint32_t tag) const {
  return __atomic_load_n(&impl_->object->bss->counts[tag], __ATOMIC_RELAXED);
}

void Uprobes::set_use(std::uint32_t tag, const Use& use) {
  INVARIANT(impl_->copies && tag < kMostCountedTags && use.row.value_or(0) < kRows);
  auto& there = impl_->object->bss->uses[tag];
  __atomic_store_n(&there.copies_left, INT32_MAX, __ATOMIC_RELAXED);
  __atomic_store_n(&there.row, use.row ? *use.row + 1 : 0, __ATOMIC_RELAXED);
  __atomic_store_n(&there.copied_every, use.copied_every, __ATOMIC_RELAXED);
}

void Uprobes::allow_copies(std::uint32_t tag, std::uint32_t most) {
  INVARIANT(impl_->copies && tag < kMostCountedTags);
  __atomic_store_n(&impl_->object->bss->uses[tag].copies_left, static_cast<std::int32_t>(most),
                   __ATOMIC_RELAXED);
}

std::size_t Uprobes::cores() const {
  return span_of<std::uint64_t>(impl_->of_cores).size() / kRows;
}

std::uint64_t Uprobes::count_of_core(std::uint32_t row, std::size_t core) const {
  const auto all = span_of<std::uint64_t>(impl_->of_cores);
  return __atomic_load_n(&all[core * kRows + row], __ATOMIC_RELAXED);
}

std::span<const std::uint32_t> Uprobes::counts_of_threads(std::uint32_t row) const {
  return span_of<UprobeRow>(impl_->rows)[row].of_thread;
}

void Uprobes::read_copies(std::vector<SampleEvent>& into) {
  const std::size_t before = into.size();
  impl_->copies->read(impl_->object->bss->stack_bytes, into);
  for (SampleEvent& sample : std::span(into).subspan(before)) {
    sample.tag -= 1;  // 0 is none
    sample.reason = SampleReason::event;
    sample.callers = std::exchange(sample.kernel, {});
  }
}

}  // namespace causalctl::perf
