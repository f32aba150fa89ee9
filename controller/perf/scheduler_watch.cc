#include "controller/perf/scheduler_watch.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/perf/attrs.h"
#include "controller/perf/bpf/leaving_record.h"
#include "controller/perf/bpf/scheduler.skel.h"
#include "controller/perf/bpf/scheduler_record.h"
#include "controller/perf/bpf_numbers.h"
#include "controller/perf/bpf_program.h"
#include "controller/perf/kernel_time.h"
#include "controller/perf/leaving_samples.h"
#include "controller/perf/signal_state.h"
#include "controller/perf/stack_copies.h"

namespace causalctl::perf {
namespace {

struct BtfFree {
  void operator()(btf* types) const { btf__free(types); }
};
using Btf = std::unique_ptr<btf, BtfFree>;

// Returns the offset of a variable among those that each core has, and its type.
std::optional<std::pair<std::int64_t, std::uint32_t>> core_variable(const btf* types,
                                                                    std::string_view name) {
  const int section = btf__find_by_name_kind(types, ".data..percpu", BTF_KIND_DATASEC);
  if (section < 0) return std::nullopt;
  const btf_type* all = btf__type_by_id(types, static_cast<std::uint32_t>(section));
  for (unsigned i = 0; i < btf_vlen(all); ++i) {
    const btf_var_secinfo& each = btf_var_secinfos(all)[i];
    const btf_type* variable = btf__type_by_id(types, each.type);
    if (name == btf__name_by_offset(types, variable->name_off)) {
      return std::pair(static_cast<std::int64_t>(each.offset), variable->type);
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> offset_of_member(const btf* types, std::uint32_t structure,
                                             std::string_view name) {
  const btf_type* type = btf__type_by_id(types, structure);
  if (type == nullptr || !btf_is_composite(type)) return std::nullopt;
  constexpr std::uint32_t kBits = 8;
  for (unsigned i = 0; i < btf_vlen(type); ++i) {
    if (name == btf__name_by_offset(types, btf_members(type)[i].name_off)) {
      return btf_member_bit_offset(type, i) / kBits;
    }
  }
  return std::nullopt;
}

// The count is a variable of its own; from Linux 6.2 to 6.14 it is a member of `pcpu_hot`.
std::optional<std::int64_t> offset_of_count(const btf* types) {
  if (const auto own = core_variable(types, "__preempt_count")) return own->first;
  const auto hot = core_variable(types, "pcpu_hot");
  if (!hot) return std::nullopt;
  const auto member = offset_of_member(types, hot->second, "preempt_count");
  return member ? std::optional(hot->first + *member) : std::nullopt;
}

std::int64_t from_queue_to_count() {
  const Btf types(btf__load_vmlinux_btf());
  if (!types) throw no_kernel_types();
  const auto queue = core_variable(types.get(), "runqueues");
  const auto count = offset_of_count(types.get());
  if (!queue || !count) throw Error("the kernel's count of interrupts was not found in its types");
  return *count - queue->first;
}

}  // namespace

struct SchedulerWatch::Impl {
  SchedulerBuffer& buffer(std::size_t core) const {
    return reinterpret_cast<SchedulerBuffer*>(buffers.data())[core];
  }

  std::shared_ptr<ProcessBits> processes = std::make_shared<ProcessBits>();
  BpfObject<scheduler_bpf> object;
  std::size_t cores = 0;
  Mapping buffers;
  StackMemory stacks;
  std::optional<LeavingSamples> leaving;
  unsigned stack_bytes = kLeavingStackBytes;
  std::uint64_t lost_told = 0;
};

namespace {

Tid tid_in(std::uint64_t rest) { return static_cast<Tid>(rest & ((1U << SCHEDULER_TID_BITS) - 1)); }

// `rest` is that of the record.
void translate(const SchedulerRecord& record, std::uint64_t rest, std::uint32_t core,
               SchedulerRecords& into) {
  const Nanoseconds time_ns = own_time(record.time_ns);
  const Tid tid = tid_in(rest), other = tid_in(rest >> SCHEDULER_TID_BITS);
  const auto has = [flags = rest >> 2 * SCHEDULER_TID_BITS](unsigned flag) {
    return (flags & flag) != 0;
  };
  constexpr unsigned kSlots = (1U << SCHEDULER_SLOT_BITS) - 1;
  const auto place =
      static_cast<std::uint16_t>(rest >> (2 * SCHEDULER_TID_BITS + SCHEDULER_FLAG_BITS) & kSlots);
  if (!has(SCHEDULER_WAKING)) {
    into.switches.push_back({time_ns, core, has(SCHEDULER_LEFT_IN_SET) ? tid : 0,
                             has(SCHEDULER_LEFT_BLOCKED), place,
                             has(SCHEDULER_CAME_IN_SET) ? other : 0});
  } else {
    const WakeContext context = has(SCHEDULER_IN_HARDIRQ)   ? WakeContext::hardirq
                                : has(SCHEDULER_IN_SOFTIRQ) ? WakeContext::softirq
                                                            : WakeContext::task;
    into.wakings.push_back({time_ns, tid, other, context});
  }
}

// Reads up to the first record that is still being written.
void read_core(SchedulerBuffer& buffer, std::uint32_t core, SchedulerRecords& into) {
  const std::uint64_t end = __atomic_load_n(&buffer.written, __ATOMIC_ACQUIRE);
  std::uint64_t next = buffer.read;
  for (; next != end; ++next) {
    const SchedulerRecord& record = buffer.records[next % SCHEDULER_RECORDS];
    const std::uint64_t rest = __atomic_load_n(&record.rest, __ATOMIC_ACQUIRE);
    if (rest >> (64 - SCHEDULER_ROUND_BITS) != scheduler_round(next)) break;
    translate(record, rest, core, into);
  }
  __atomic_store_n(&buffer.read, next, __ATOMIC_RELEASE);
}

}  // namespace

SchedulerWatch::SchedulerWatch(const Wanted& wanted) : impl_(std::make_unique<Impl>()) {
  if (namespace_of_numbers(getpid())) {
    throw Error("we are in a pid namespace, in which threads have other numbers",
                "run causalctl on the host, outside of the container");
  }
  auto& object = impl_->object;
  impl_->cores = all_cores();
  object->rodata->from_queue_to_count = from_queue_to_count();
  const std::size_t cores = impl_->cores;
  object->rodata->leaving_kernel_chain = wanted.kernel_chain ? 1 : 0;
  object->rodata->samples_wakers = wanted.leaving && wanted.wakers ? 1 : 0;
  set_signal_states(*object->rodata);
  set_map_size(object->maps.buffers, cores);
  if (wanted.leaving) {
    object->rodata->stack_pieces_of_core =
        size_stack_maps(object->maps.stack_rings, object->maps.stack_pieces);
  }
  bpf_program__set_autoload(object->progs.causalctl_wake, wanted.wakings);
  bpf_program__set_autoload(object->progs.causalctl_born, wanted.children);
  share_map(object->maps.watched_processes, impl_->processes->descriptor());
  object.load();
  impl_->buffers =
      memory_of_map(bpf_map__fd(object->maps.buffers), cores * sizeof(SchedulerBuffer));
  if (!wanted.leaving) return;
  impl_->stacks = memory_of_stacks(object->maps.stack_rings, object->maps.stack_pieces);
  impl_->leaving.emplace(impl_->stacks.copies(), std::span(object->bss->leaving_slots));
}

const std::shared_ptr<ProcessBits>& SchedulerWatch::processes() const { return impl_->processes; }

void SchedulerWatch::take_children() {
  __atomic_store_n(&impl_->object->bss->takes_children, 1U, __ATOMIC_RELAXED);
}

void SchedulerWatch::sample_leaving(unsigned stack_bytes) {
  INVARIANT(impl_->leaving);
  __atomic_store_n(&impl_->object->bss->leaving_bytes, stack_bytes, __ATOMIC_RELAXED);
  if (stack_bytes > 0) impl_->stack_bytes = stack_bytes;
}

void SchedulerWatch::adapt_leaving(unsigned most) { impl_->leaving->adapt(most); }

void SchedulerWatch::start() { impl_->object.attach(); }

SchedulerRecords SchedulerWatch::read() {
  SchedulerRecords records;
  std::uint64_t lost = __atomic_load_n(&impl_->object->bss->without_buffer, __ATOMIC_RELAXED);
  for (std::size_t core = 0; core < impl_->cores; ++core) {
    SchedulerBuffer& buffer = impl_->buffer(core);
    read_core(buffer, static_cast<std::uint32_t>(core), records);
    lost += __atomic_load_n(&buffer.lost, __ATOMIC_RELAXED);
  }
  records.lost = lost - std::exchange(impl_->lost_told, lost);
  // After the switches: a sample is written before the record of its switch.
  if (impl_->leaving) impl_->leaving->read(impl_->stack_bytes, records.samples);
  return records;
}

SchedulerWatch::~SchedulerWatch() = default;
SchedulerWatch::SchedulerWatch(SchedulerWatch&&) noexcept = default;
SchedulerWatch& SchedulerWatch::operator=(SchedulerWatch&&) noexcept = default;

}  // namespace causalctl::perf
