#include "controller/pause/shot_filter.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/pause/sigtrap_channel.h"
#include "controller/perf/attrs.h"

namespace causalctl::pause {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint32_t kBitsPerByte = 8;

struct Offsets {                    // in bytes
  int sighand = 0;                  // of the pointer in task_struct
  int trap_handler = 0;             // of SIGTRAP's sa_handler in sighand_struct
  int blocked = 0;                  // of the signal mask in task_struct
  std::optional<int> seccomp_mode;  // of the int in task_struct; none: a kernel without seccomp
  // Of the word in task_struct that says what is to be done at each system call, and the bit there
  // that says "syscall user dispatch" (prctl(2)).
  std::optional<int> syscall_work;
  int dispatch_bit = 0;
};

// Why a shot is held back, as bits of the word that the program writes.
constexpr int kHandler = 1;
constexpr int kSeccomp = 2;
constexpr int kDispatch = 4;

using Btf = std::unique_ptr<btf, decltype(&btf__free)>;

const btf_type* find_struct(const btf* types, const char* name) {
  const int id = btf__find_by_name_kind(types, name, BTF_KIND_STRUCT);
  return id < 0 ? nullptr : btf__type_by_id(types, static_cast<std::uint32_t>(id));
}

// In bytes from the struct's begin; a kernel may wrap members in structs without a name.
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
  if (!sighand || !actions || !blocked) return std::nullopt;
  Offsets offsets;
  offsets.sighand = *sighand;
  // k_sigaction begins with a sigaction, which begins with sa_handler, on x86-64.
  offsets.trap_handler = *actions + (SIGTRAP - 1) * static_cast<int>(action->size);
  offsets.blocked = *blocked;
  offsets.seccomp_mode = nested_offset(types.get(), task, "seccomp", "seccomp", "mode");
  offsets.syscall_work =
      nested_offset(types.get(), task, "thread_info", "thread_info", "syscall_work");
  const auto bit =
      enumerator(types.get(), "syscall_work_bit", "SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH");
  if (!bit) offsets.syscall_work.reset();  // a kernel without it
  offsets.dispatch_bit = bit.value_or(0);
  return offsets;
}

const std::optional<Offsets>& kernel_offsets() {
  static const std::optional<Offsets> offsets = find_offsets();
  return offsets;
}

// Emits the instructions of <linux/bpf.h>; jumps go to the end, and are patched there.
class Code {
 public:
  void add(int code, int to, int from, int offset, std::int32_t immediate) {
    bpf_insn each{};
    each.code = static_cast<std::uint8_t>(code);
    each.dst_reg = static_cast<unsigned>(to) & 0xfU;
    each.src_reg = static_cast<unsigned>(from) & 0xfU;
    each.off = static_cast<std::int16_t>(offset);
    each.imm = immediate;
    instructions_.push_back(each);
  }
  void move(int to, int from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void set(int to, std::int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  void call(int function) { add(BPF_JMP | BPF_CALL, 0, 0, 0, function); }
  void load(int to, int from, int offset) { add(BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  void store(int to, int offset, int from) { add(BPF_STX | BPF_MEM | BPF_DW, to, from, offset, 0); }
  void set_long(int to, std::uint64_t value) {
    add(BPF_LD | BPF_IMM | BPF_DW, to, 0, 0, static_cast<std::int32_t>(value));
    add(0, 0, 0, 0, static_cast<std::int32_t>(value >> 32));
  }
  void set_to_map(int to, int map) {
    add(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_VALUE, 0, map);
    add(0, 0, 0, 0, 0);
  }
  // to = the 8 bytes at from + offset in the kernel; uses r1 to r3 and the stack's first word.
  void read_kernel(int to, int from, int offset) {
    constexpr int stack = -8;
    move(BPF_REG_3, from);
    add(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_3, 0, 0, offset);
    move(BPF_REG_1, BPF_REG_10);
    add(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, stack);
    set(BPF_REG_2, sizeof(std::uint64_t));
    call(BPF_FUNC_probe_read_kernel);
    load(to, BPF_REG_10, stack);
  }
  void flag_if_not_zero(int value, int flags, std::int32_t bit) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1, 0);
    add(BPF_ALU64 | BPF_OR | BPF_K, flags, 0, 0, bit);
  }
  void jump_to_end(int condition, int left, int right, std::int32_t value) {
    to_end_.push_back(instructions_.size());
    add(condition, left, right, 0, value);
  }
  std::vector<bpf_insn> end() {  // r0 is the result
    for (const std::size_t each : to_end_) {
      instructions_[each].off = static_cast<std::int16_t>(instructions_.size() - each - 1);
    }
    add(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    return std::move(instructions_);
  }

 private:
  std::vector<bpf_insn> instructions_;
  std::vector<std::size_t> to_end_;
};

// On the shot's event, in the interrupt that fires it:
//   reasons = 0
//   if (current->sighand->action[SIGTRAP - 1].sa.sa_handler != ours) reasons |= kHandler
//   if (current->seccomp.mode) reasons |= kSeccomp
//   if (current->thread_info.syscall_work & the bit of user dispatch) reasons |= kDispatch
//   if (reasons) { *word = reasons; return 0; }
//   return current->blocked has SIGTRAP ? 0 : 1
std::vector<bpf_insn> filter_program(const Offsets& offsets, Address handler, int map) {
  constexpr int reasons = BPF_REG_6;
  constexpr int field = BPF_REG_7;
  constexpr int blocked = BPF_REG_8;
  constexpr int current = BPF_REG_9;
  Code code;
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
  code.read_kernel(blocked, current, offsets.blocked);
  code.add(BPF_ALU64 | BPF_AND | BPF_K, blocked, 0, 0, 1 << (SIGTRAP - 1));
  constexpr int these_four = 4;
  code.add(BPF_JMP | BPF_JNE | BPF_K, reasons, 0, these_four, 0);
  code.set(BPF_REG_0, 1);
  code.jump_to_end(BPF_JMP | BPF_JEQ | BPF_K, blocked, 0, 0);
  code.set(BPF_REG_0, 0);
  code.jump_to_end(BPF_JMP | BPF_JA, 0, 0, 0);
  code.set_to_map(field, map);
  code.store(field, 0, reasons);
  code.set(BPF_REG_0, 0);
  return code.end();
}

constexpr Address kNobody = 2;  // is a handler here

std::atomic<int> own_traps;

}  // namespace

std::optional<ShotFilter> ShotFilter::load(Address handler, std::string& reason) {
  libbpf_set_print(nullptr);
  const auto& offsets = kernel_offsets();
  if (!offsets) {
    reason = "the kernel has no BTF (/sys/kernel/btf/vmlinux)";
    return std::nullopt;
  }
  ShotFilter filter;
  bpf_map_create_opts map_options{};
  map_options.sz = sizeof map_options;
  map_options.map_flags = BPF_F_MMAPABLE;
  filter.map_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "causalctl", sizeof(std::uint32_t),
                                  sizeof(std::uint64_t), 1, &map_options));
  if (!filter.map_) {
    reason = fmt::format("bpf(BPF_MAP_CREATE): {}", std::strerror(errno));
    return std::nullopt;
  }
  void* word = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, filter.map_.get(), 0);
  if (word == MAP_FAILED) {
    reason = fmt::format("mmap of a BPF map: {}", std::strerror(errno));
    return std::nullopt;
  }
  filter.word_ = Mapping(word, kPage);
  const auto code = filter_program(*offsets, handler, filter.map_.get());
  filter.program_ = Fd(bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "causalctl_shot", "Dual MIT/GPL",
                                     code.data(), code.size(), nullptr));
  if (!filter.program_) {
    reason = fmt::format("bpf(BPF_PROG_LOAD): {}", std::strerror(errno));
    return std::nullopt;
  }
  return filter;
}

ShotFilter::Held ShotFilter::held() const {
  const auto word =
      __atomic_load_n(reinterpret_cast<const std::uint64_t*>(word_.data()), __ATOMIC_ACQUIRE);
  if ((word & kSeccomp) != 0) return Held::seccomp;
  if ((word & kDispatch) != 0) return Held::dispatch;
  return word != 0 ? Held::handler : Held::none;
}

// With a shot at ourselves, through a filter that nobody's handler passes. nullopt: it has not
// fired within our patience.
std::optional<bool> ShotFilter::holds_back() {
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
      while (filter->held() == Held::none && own_traps == 0 && monotonic_now() < deadline_ns)
        continue;
      deadline_ns = monotonic_now() + after_ns;
      while (own_traps == 0 && monotonic_now() < deadline_ns) continue;
      shot->disable();
      tripped = filter->held() != Held::none;
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
  constexpr int tries = 5;  // the machine may stall
  const auto result = [](Outcome outcome, std::string finding) {
    return Trial{Facility::bpf, outcome, std::move(finding), "", 0};
  };
  std::string reason;
  if (!load(kNobody, reason)) return result(Outcome::refused, reason);
  std::optional<bool> held;
  for (int i = 0; i < tries && !held; ++i) held = holds_back();
  if (!held || is_pretended_broken(Facility::bpf)) {
    return result(Outcome::never_fired, "a program was loaded, but never ran at its event");
  }
  if (*held) return result(Outcome::seen, "a program ran at an event and held its signal back");
  return result(Outcome::refused,
                "the kernel's BPF programs do not hold signals back (Linux 6.11 does)");
}

const Trial& ShotFilter::trial() {
  static const Trial trial = try_out();
  return trial;
}

std::optional<ShotFilter> ShotFilter::make(Address handler, std::string& reason) {
  auto filter = load(handler, reason);
  if (!filter || trial().is_seen()) return filter;
  reason = trial().finding;
  return std::nullopt;
}

}  // namespace causalctl::pause
