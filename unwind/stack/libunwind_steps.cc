#include "unwind/stack/libunwind_steps.h"

#include <asm/perf_regs.h>
#include <libunwind.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "controller/base/error.h"

extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace causalctl::unwind {
namespace {

constexpr std::size_t kCachedFrames = 4096;  // the cached register rules, by instruction pointer
constexpr Address kPoppedBytes = 512;        // more than a function's saved registers take

// Those that a function saves.
constexpr std::array kSavedRegisters = {UNW_X86_64_RBP, UNW_X86_64_RBX, UNW_X86_64_R12,
                                        UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15};

// libunwind numbers registers as DWARF does, and perf numbers them as the kernel does.
constexpr std::array<unsigned, UNW_X86_64_RIP + 1> kPerfRegister = {
    PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,  PERF_REG_X86_SI,
    PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,  PERF_REG_X86_R9,
    PERF_REG_X86_R10, PERF_REG_X86_R11, PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
    PERF_REG_X86_R15, PERF_REG_X86_IP};

}  // namespace

// The data that the accessors work on.
struct LibunwindSteps::State {
  TargetImages& images;
  Read read;
  unw_addr_space_t space = nullptr;
  const Registers* registers = nullptr;  // where the present chain begins
  unw_cursor_t* cursor = nullptr;        // of the present step

  bool was_popped(Address address) const {
    const Address sp = registers->values[PERF_REG_X86_SP];
    return address < sp && sp - address <= kPoppedBytes;
  }

  // Returns the value of the register whose rule names the address.
  std::optional<Address> popped(Address address) const {
    for (const int number : kSavedRegisters) {
      unw_save_loc_t location{};
      if (unw_get_save_loc(cursor, number, &location) != 0) continue;
      if (location.type != UNW_SLT_MEMORY || location.u.addr != address) continue;
      return registers->values[kPerfRegister[static_cast<std::size_t>(number)]];
    }
    return std::nullopt;
  }

  int find_table(Address ip, unw_dyn_info_t& table) const {
    Image* image = images.at(ip);
    if (image == nullptr) return -UNW_ENOINFO;
    const auto found = images.file(*image).elf().unwind_table();
    if (!found) return -UNW_ENOINFO;
    const Address bias = images.bias(*image);
    table.start_ip = image->place().start;
    table.end_ip = image->place().end;
    table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    table.u.rti.segbase = found->header + bias;
    table.u.rti.table_data = found->entries + bias;
    table.u.rti.table_len = found->count;  // in words: an entry has 8 bytes
    return 0;
  }

  static State& of(void* argument) { return *static_cast<State*>(argument); }

  static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info,
                            int need_info, void* argument) {
    unw_dyn_info_t table{};
    if (const int found = of(argument).find_table(ip, table); found != 0) return found;
    return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need_info, argument);
  }

  static int access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write,
                           void* argument) {
    if (write != 0) return -UNW_EINVAL;
    const State& state = of(argument);
    if (state.was_popped(address)) {
      const auto held = state.popped(address);
      if (!held) return -UNW_EINVAL;
      *value = *held;
      return 0;
    }
    unw_word_t word = 0;
    if (!state.read(address, std::as_writable_bytes(std::span(&word, 1)))) return -UNW_EINVAL;
    *value = word;
    return 0;
  }

  static int access_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write,
                             void* argument) {
    if (write != 0 || number < 0 || number > UNW_X86_64_RIP) return -UNW_EINVAL;
    const unsigned perf_number = kPerfRegister[static_cast<std::size_t>(number)];
    *value = of(argument).registers->values[perf_number];
    return 0;
  }

  static void put_unwind_info(unw_addr_space_t, unw_proc_info_t*, void*) {}  // it frees its own
  static int no_dynamic_info(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }
  static int no_float_register(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) {
    return -UNW_EINVAL;
  }
  static int no_resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
  static int no_name(unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) {
    return -UNW_ENOINFO;
  }
};

LibunwindSteps::LibunwindSteps(TargetImages& images, Read read)
    : state_(std::make_unique<State>(State{images, std::move(read)})) {}

LibunwindSteps::~LibunwindSteps() {
  if (state_->space != nullptr) unw_destroy_addr_space(state_->space);
}

// Its cache takes a megabyte, and most processes never need it.
void LibunwindSteps::make_space() {
  static unw_accessors_t accessors = {State::find_proc_info,  State::put_unwind_info,
                                      State::no_dynamic_info, State::access_memory,
                                      State::access_register, State::no_float_register,
                                      State::no_resume,       State::no_name};
  state_->space = unw_create_addr_space(&accessors, 0);
  if (state_->space == nullptr) throw Error("unw_create_addr_space failed");
  unw_set_caching_policy(state_->space, UNW_CACHE_GLOBAL);
  unw_set_cache_size(state_->space, kCachedFrames, 0);
}

void LibunwindSteps::mappings_changed() {
  if (state_->space != nullptr) unw_flush_cache(state_->space, 0, 0);
}

std::vector<LibunwindSteps::Step> LibunwindSteps::follow(const Registers& start,
                                                         std::size_t count) {
  if (state_->space == nullptr) make_space();
  std::vector<Step> steps;
  unw_cursor_t cursor;
  state_->registers = &start;
  state_->cursor = &cursor;
  if (unw_init_remote(&cursor, state_->space, state_.get()) != 0) return {Step()};
  while (steps.size() < count) {
    Step& step = steps.emplace_back();
    step.signal = unw_is_signal_frame(&cursor) > 0;
    const int moved = unw_step(&cursor);
    if (moved == 0) step.outcome = Outcome::outermost;
    unw_word_t ip = 0;
    unw_word_t sp = 0;
    unw_word_t bp = 0;
    if (moved <= 0 || unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 ||
        unw_get_reg(&cursor, UNW_REG_SP, &sp) != 0) {
      break;
    }
    if (unw_get_reg(&cursor, UNW_X86_64_RBP, &bp) != 0) bp = 0;
    step.outcome = ip == 0 ? Outcome::outermost : Outcome::caller;
    step.ip = ip;
    step.sp = sp;
    step.bp = bp;
    if (ip == 0) break;
  }
  return steps;
}

}  // namespace causalctl::unwind
