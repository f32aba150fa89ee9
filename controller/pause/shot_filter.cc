#include "controller/pause/shot_filter.h"

#include <asm/ptrace.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/facility.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/perf/attrs.h"
#include "controller/perf/bpf_code.h"

namespace causalctl::pause {
namespace {

constexpr std::uint32_t kBitsPerByte = 8;

struct Offsets {         // all in bytes
  int sighand = 0;       // of the pointer in task_struct
  int trap_handler = 0;  // of SIGTRAP's sa_handler in sighand_struct
  int blocked = 0;       // of the signal mask in task_struct
  // of the int in task_struct; nullopt if the kernel has no seccomp
  std::optional<int> seccomp_mode;
  // Offset of the word in task_struct that says what to do at each system call, and the bit in it
  // that stands for "syscall user dispatch" (prctl(2)).
  std::optional<int> syscall_work;
  int dispatch_bit = 0;
  // Offsets in task_struct of the alternate stack, and of the fs register as of the last switch.
  int alternate_begin = 0;
  int alternate_size = 0;
  int control_block = 0;
};

// The value of the map. The program reads what we write, and we read what it writes.
struct SlotOfMap {
  std::uint64_t low, high;  // StackRange
  std::uint64_t stack_pointer, control_block;
};
struct Shared {
  std::uint64_t reasons;
  std::uint64_t unused[7];
  SlotOfMap slots[ShotFilter::kSlots];
};

// Reasons to suppress a shot, as bits of the word that the program writes.
constexpr int kHandler = 1;
constexpr int kSeccomp = 2;
constexpr int kDispatch = 4;

using Btf = std::unique_ptr<btf, decltype(&btf__free)>;

const btf_type* find_struct(const btf* types, const char* name) {
  const int id = btf__find_by_name_kind(types, name, BTF_KIND_STRUCT);
  return id < 0 ? nullptr : btf__type_by_id(types, static_cast<std::uint32_t>(id));
}

// Returns the offset in bytes from the struct's begin. A kernel may wrap members in unnamed
// structs.
std::optional<int> member_offset(const btf* types, const btf_type* type, std::string_view name) {
  const btf_member* members = btf_members(type);
  for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
    const auto offset = static_cast<int>(btf_member_bit_offset(type, i) / kBitsPerByte);
    const std::string_view member_name = btf__name_by_offset(types, members[i].name_off);
    if (member_name == name) return offset;
    const btf_type* inner = btf__type_by_id(types, members[i].type);
    if (!member_name.empty() || !btf_is_composite(inner)) continue;
    if (const auto within = member_offset(types, inner, name)) return offset + *within;
  }
  return std::nullopt;
}

std::optional<int> enumerator(const btf* types, const char* enumeration, std::string_view name) {
  const int id = btf__find_by_name_kind(types, enumeration, BTF_KIND_ENUM);
  if (id < 0) return std::nullopt;
  const btf_type* type = btf__type_by_id(types, static_cast<std::uint32_t>(id));
  const struct btf_enum* values = btf_enum(type);
  for (std::uint32_t i = 0; i < btf_vlen(type); ++i) {
    if (btf__name_by_offset(types, values[i].name_off) == name) return values[i].val;
  }
  return std::nullopt;
}

std::optional<int> nested_offset(const btf* types, const btf_type* outer, std::string_view member,
                                 const char* type, std::string_view inner) {
  const btf_type* nested = find_struct(types, type);
  const auto offset = member_offset(types, outer, member);
  if (nested == nullptr || !offset) return std::nullopt;
  const auto within = member_offset(types, nested, inner);
  return within ? std::optional(*offset + *within) : std::nullopt;
}

std::optional<Offsets> find_offsets() {
  const Btf types(btf__load_vmlinux_btf(), btf__free);
  if (!types || libbpf_get_error(types.get()) != 0) return std::nullopt;
  const btf_type* task = find_struct(types.get(), "task_struct");
  const btf_type* handlers = find_struct(types.get(), "sighand_struct");
  const btf_type* action = find_struct(types.get(), "k_sigaction");
  if (task == nullptr || handlers == nullptr || action == nullptr) return std::nullopt;
  const auto sighand = member_offset(types.get(), task, "sighand");
  const auto actions = member_offset(types.get(), handlers, "action");
  const auto blocked = member_offset(types.get(), task, "blocked");
  const auto alternate_begin = member_offset(types.get(), task, "sas_ss_sp");
  const auto alternate_size = member_offset(types.get(), task, "sas_ss_size");
  const auto control_block = nested_offset(types.get(), task, "thread", "thread_struct", "fsbase");
  if (!sighand || !actions || !blocked || !alternate_begin || !alternate_size || !control_block) {
    return std::nullopt;
  }
  Offsets offsets;
  offsets.alternate_begin = *alternate_begin;
  offsets.alternate_size = *alternate_size;
  offsets.control_block = *control_block;
  offsets.sighand = *sighand;
  // k_sigaction begins with a sigaction, which begins with sa_handler, on x86-64.
  offsets.trap_handler = *actions + (SIGTRAP - 1) * static_cast<int>(action->size);
  offsets.blocked = *blocked;
  offsets.seccomp_mode = nested_offset(types.get(), task, "seccomp", "seccomp", "mode");
  offsets.syscall_work =
      nested_offset(types.get(), task, "thread_info", "thread_info", "syscall_work");
  const auto bit =
      enumerator(types.get(), "syscall_work_bit", "SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH");
  if (!bit) offsets.syscall_work.reset();  // the kernel does not have it
  offsets.dispatch_bit = bit.value_or(0);
  return offsets;
}

const std::optional<Offsets>& kernel_offsets() {
  static const std::optional<Offsets> offsets = find_offsets();
  return offsets;
}

struct Registers {  // registers that keep their value across calls
  int slot, pointer, current;
};

// Adds the last part of filter_program().
void add_stack_check(perf::BpfCode& code, const Offsets& offsets, const Registers& in,
                     perf::BpfCode::Label end) {
  constexpr int begin = BPF_REG_6;
  constexpr int size = BPF_REG_0;
  constexpr int left = BPF_REG_1;
  constexpr int slots = offsetof(Shared, slots);
  const auto no_alternate = code.label();
  const auto outside = code.label();
  const auto compare = code.label();
  const auto suppressed = code.label();
  code.read_kernel(begin, in.current, offsets.alternate_begin);
  code.read_kernel(size, in.current, offsets.alternate_size);
  code.jump_if(BPF_JEQ | BPF_K, size, 0, 0, no_alternate);
  code.move(left, in.pointer);
  code.add(BPF_ALU64 | BPF_SUB | BPF_X, left, begin, 0, 0);
  code.jump_if(BPF_JLE | BPF_X, in.pointer, begin, 0, outside);
  code.jump_if(BPF_JLE | BPF_X, left, size, 0, compare);
  code.place(outside);
  code.move(left, size);
  code.place(compare);
  code.set(BPF_REG_0, 1);
  code.jump_if(BPF_JGE | BPF_K, left, 0, static_cast<std::int32_t>(pause_frame_bytes()), end);
  code.jump(suppressed);

  code.place(no_alternate);
  code.load(BPF_REG_1, in.slot, slots + static_cast<int>(offsetof(SlotOfMap, low)));
  code.load(BPF_REG_2, in.slot, slots + static_cast<int>(offsetof(SlotOfMap, high)));
  code.set(BPF_REG_0, 1);
  code.jump_if(BPF_JLT | BPF_X, in.pointer, BPF_REG_1, 0, suppressed);
  code.jump_if(BPF_JLT | BPF_X, in.pointer, BPF_REG_2, 0, end);

  code.place(suppressed);
  code.read_kernel(BPF_REG_0, in.current, offsets.control_block);
  code.store(in.slot, slots + static_cast<int>(offsetof(SlotOfMap, control_block)), BPF_REG_0);
  code.store(in.slot, slots + static_cast<int>(offsetof(SlotOfMap, stack_pointer)), in.pointer);
  code.set(BPF_REG_0, 0);
}

// Runs on the shot's event, in the interrupt that fires it:
//   reasons = 0
//   if (current->sighand->action[SIGTRAP - 1].sa.sa_handler != ours) reasons |= kHandler
//   if (current->seccomp.mode) reasons |= kSeccomp
//   if (current->thread_info.syscall_work & the bit of user dispatch) reasons |= kDispatch
//   if (reasons) { shared->reasons = reasons; return 0; }
//   if (current->blocked has SIGTRAP) return 0;
//   slot = &shared->slots[(event's period - kShotPeriod) % kSlots]
//   begin = current->sas_ss_sp, size = current->sas_ss_size
//   left = sp > begin && sp - begin <= size ? sp - begin : size  // of the alternate stack
//   if (size ? left >= frame : sp >= slot->low && sp < slot->high) return 1
//   slot->control_block = current->thread.fsbase; slot->stack_pointer = sp; return 0
std::vector<bpf_insn> filter_program(const Offsets& offsets, Address handler, int map) {
  constexpr int reasons = BPF_REG_6;
  constexpr int field = BPF_REG_7;
  constexpr int pointer = BPF_REG_8;
  constexpr int current = BPF_REG_9;
  constexpr int pointer_at = -16;  // on the stack of the program
  constexpr int slot_at = -24;
  perf::BpfCode code;
  code.load(BPF_REG_2, BPF_REG_1, offsetof(bpf_perf_event_data, regs) + offsetof(pt_regs, rsp));
  code.store(BPF_REG_10, pointer_at, BPF_REG_2);
  code.load(BPF_REG_2, BPF_REG_1, offsetof(bpf_perf_event_data, sample_period));
  code.add(BPF_ALU64 | BPF_SUB | BPF_K, BPF_REG_2, 0, 0, static_cast<std::int32_t>(kShotPeriod));
  code.add(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_2, 0, 0, ShotFilter::kSlots - 1);
  code.add(BPF_ALU64 | BPF_MUL | BPF_K, BPF_REG_2, 0, 0, sizeof(SlotOfMap));
  code.store(BPF_REG_10, slot_at, BPF_REG_2);
  code.call(BPF_FUNC_get_current_task);
  code.move(current, BPF_REG_0);
  code.set(reasons, 0);
  code.read_kernel(field, current, offsets.sighand);
  code.read_kernel(field, field, offsets.trap_handler);
  code.set_long(BPF_REG_1, handler);
  code.add(BPF_ALU64 | BPF_XOR | BPF_X, field, BPF_REG_1, 0, 0);
  code.flag_if_not_zero(field, reasons, kHandler);
  if (offsets.seccomp_mode) {
    code.read_kernel(field, current, *offsets.seccomp_mode);
    code.add(BPF_ALU | BPF_MOV | BPF_X, field, field, 0, 0);  // an int: the lower half
    code.flag_if_not_zero(field, reasons, kSeccomp);
  }
  if (offsets.syscall_work) {
    code.read_kernel(field, current, *offsets.syscall_work);
    code.add(BPF_ALU64 | BPF_AND | BPF_K, field, 0, 0, 1 << offsets.dispatch_bit);
    code.flag_if_not_zero(field, reasons, kDispatch);
  }
  const auto end = code.label();
  const auto may_be_shot = code.label();
  code.set_to_map_value(field, map);
  code.jump_if(BPF_JEQ | BPF_K, reasons, 0, 0, may_be_shot);
  code.store(field, offsetof(Shared, reasons), reasons);
  code.set(BPF_REG_0, 0);
  code.jump(end);

  code.place(may_be_shot);
  code.read_kernel(pointer, current, offsets.blocked);
  code.add(BPF_ALU64 | BPF_AND | BPF_K, pointer, 0, 0, 1 << (SIGTRAP - 1));
  code.set(BPF_REG_0, 0);
  code.jump_if(BPF_JNE | BPF_K, pointer, 0, 0, end);
  code.load(BPF_REG_1, BPF_REG_10, slot_at);
  code.add(BPF_ALU64 | BPF_ADD | BPF_X, field, BPF_REG_1, 0, 0);  // shared + offset of the slot
  code.load(pointer, BPF_REG_10, pointer_at);
  add_stack_check(code, offsets, {field, pointer, current}, end);
  code.place(end);
  return code.end();
}

constexpr Address kNobody = 2;  // no handler has this address

std::atomic<int> own_traps;

}  // namespace

std::optional<ShotFilter> ShotFilter::load(Address handler, std::string& reason) {
  libbpf_set_print(nullptr);
  const auto& offsets = kernel_offsets();
  if (!offsets) {
    reason = "the kernel has no BTF (/sys/kernel/btf/vmlinux)";
    return std::nullopt;
  }
  try {
    ShotFilter filter;
    filter.shared_ = perf::BpfValue(sizeof(Shared));
    filter.program_ =
        perf::load_bpf_program(BPF_PROG_TYPE_PERF_EVENT, "causalctl_shot",
                               filter_program(*offsets, handler, filter.shared_.map()));
    return filter;
  } catch (const Error& error) {
    reason = error.what();
    return std::nullopt;
  }
}

ShotFilter::Obstacle ShotFilter::obstacle() const {
  const auto word = __atomic_load_n(&shared_.as<Shared>().reasons, __ATOMIC_ACQUIRE);
  if ((word & kSeccomp) != 0) return Obstacle::seccomp;
  if ((word & kDispatch) != 0) return Obstacle::dispatch;
  return word != 0 ? Obstacle::handler : Obstacle::none;
}

Nanoseconds ShotFilter::shot_period(unsigned slot) {
  return kShotPeriod + static_cast<Nanoseconds>(slot % kSlots);
}

void ShotFilter::set_stack(unsigned slot, const std::optional<StackRange>& range) {
  SlotOfMap& each = shared_.as<Shared>().slots[slot % kSlots];
  const StackRange now = range.value_or(StackRange{});
  // In either order of the two stores, nothing passes that neither the old nor the new range has.
  __atomic_store_n(&each.high, Address{0}, __ATOMIC_SEQ_CST);
  __atomic_store_n(&each.low, now.low, __ATOMIC_SEQ_CST);
  __atomic_store_n(&each.high, now.high, __ATOMIC_SEQ_CST);
  __atomic_store_n(&each.stack_pointer, Address{0}, __ATOMIC_SEQ_CST);
}

std::optional<ShotFilter::Place> ShotFilter::take_suppressed_for_stack(unsigned slot) {
  SlotOfMap& each = shared_.as<Shared>().slots[slot % kSlots];
  Place place;
  place.stack_pointer = __atomic_exchange_n(&each.stack_pointer, Address{0}, __ATOMIC_ACQ_REL);
  if (place.stack_pointer == 0) return std::nullopt;
  place.control_block = __atomic_load_n(&each.control_block, __ATOMIC_ACQUIRE);
  return place;
}

// Fires a shot at ourselves through a filter that no handler passes. Returns nullopt if it did not
// fire within our patience.
std::optional<bool> ShotFilter::suppresses() {
  constexpr Nanoseconds patience_ns = 50 * kMillisecond;
  constexpr Nanoseconds after_ns = kMillisecond;
  struct sigaction action {};
  struct sigaction previous {};
  action.sa_handler = [](int) { ++own_traps; };
  if (sigaction(SIGTRAP, &action, &previous) != 0) return false;
  own_traps = 0;
  bool tripped = false;
  bool possible = false;
  try {
    std::string reason;
    const auto filter = load(kNobody, reason);
    const auto shot = perf::EventFd::open(perf::sigtrap_attr(0, kShotPeriod), 0, "pause event");
    if (filter && shot) {
      filter->attach(*shot);
      shot->refresh(1);
      Nanoseconds deadline_ns = monotonic_now() + patience_ns;
      while (filter->obstacle() == Obstacle::none && own_traps == 0 &&
             monotonic_now() < deadline_ns)
        continue;
      deadline_ns = monotonic_now() + after_ns;
      while (own_traps == 0 && monotonic_now() < deadline_ns) continue;
      shot->disable();
      tripped = filter->obstacle() != Obstacle::none;
      possible = true;
    }
  } catch (const Error&) {  // an old kernel refuses the program on such an event
    tripped = false;
  }
  sigaction(SIGTRAP, &previous, nullptr);
  if (possible && !tripped && own_traps == 0) return std::nullopt;
  return tripped && own_traps == 0;
}

Trial ShotFilter::try_out() {
  constexpr int tries = 5;  // several, because the machine may stall
  const auto result = [](Outcome outcome, std::string finding) {
    return Trial{Facility::bpf, outcome, std::move(finding), "", 0};
  };
  std::string reason;
  if (!load(kNobody, reason)) return result(Outcome::refused, reason);
  std::optional<bool> suppressed;
  for (int i = 0; i < tries && !suppressed; ++i) suppressed = suppresses();
  if (!suppressed || is_pretended_broken(Facility::bpf)) {
    return result(Outcome::never_fired, "a program was loaded, but never ran at its event");
  }
  if (*suppressed)
    return result(Outcome::seen, "a program ran at an event and held its signal back");
  return result(Outcome::refused,
                "the kernel's BPF programs do not hold signals back (Linux 6.11 does)");
}

const Trial& ShotFilter::trial() {
  static const Trial trial = try_out();
  return trial;
}

std::optional<ShotFilter> ShotFilter::make(Address handler, std::string& reason) {
  if (is_pretended_broken(Facility::bpf)) {
    reason = "BPF programs are pretended not to work";
    return std::nullopt;
  }
  auto filter = load(handler, reason);
  if (!filter || trial().is_seen()) return filter;
  reason = trial().finding;
  return std::nullopt;
}

}  // namespace causalctl::pause
