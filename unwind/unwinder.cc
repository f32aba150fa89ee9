// Unwinds with libunwind's remote interface over our own accessors.
//
// Registers and stack come from the sample. The unwind tables (.eh_frame) come from the mapped
// files, which are constant, so that a step usually needs no system call. All other memory is read
// from the target. Functions are found by binary search in .eh_frame_hdr through libunwind's
// dwarf_search_unwind_table, an exported function that its headers do not declare (perf and other
// users of libunwind do the same). For code without a table the caller is searched for on the stack
// (caller_search.h): of the callers that are possible, the first from which the chain is complete
// is taken, or else the likeliest. A return address outside of executable mappings ends a chain as
// incomplete.
//
// Compilers describe no restoring of registers, so that after `pop %rbp` the rule for RBP names the
// slot that was popped. It is below the stack pointer, where the copy has nothing and the target
// writes meanwhile; the register itself still has the value.
#include "unwind/unwinder.h"

#include <asm/perf_regs.h>
#include <fmt/format.h>
#include <libunwind.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "unwind/call_site.h"
#include "unwind/caller_search.h"
#include "unwind/elf_image.h"
#include "unwind/function_bounds.h"
#include "unwind/loaded_files.h"
#include "unwind/mapped_file.h"
#include "unwind/stack_holes.h"
#include "unwind/target_file.h"
#include "unwind/target_memory.h"

extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace causalctl::unwind {
namespace {

constexpr std::size_t kCachedFrames = 4096;  // the cached register rules, by instruction pointer

constexpr Address kPoppedBytes = 512;  // more than a function's saved registers take
constexpr int kMostAlternatives = 8;   // further callers that are tried for one sample

// Those that a function saves.
constexpr std::array kSavedRegisters = {UNW_X86_64_RBP, UNW_X86_64_RBX, UNW_X86_64_R12,
                                        UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15};

// libunwind numbers registers as DWARF does, and perf numbers them as the kernel does.
constexpr std::array<unsigned, UNW_X86_64_RIP + 1> kPerfRegister = {
    PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,  PERF_REG_X86_SI,
    PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,  PERF_REG_X86_R8,  PERF_REG_X86_R9,
    PERF_REG_X86_R10, PERF_REG_X86_R11, PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14,
    PERF_REG_X86_R15, PERF_REG_X86_IP};

// The constant parts of one mapped file, which is opened when first needed.
class Image {
 public:
  explicit Image(MappedFile file) : file_(std::move(file)) {}

  const MappedFile& file() const { return file_; }

  const ElfImage& elf(Pid target) {
    if (!opened_) open(target);
    opened_ = true;
    return elf_;
  }
  Address bias(Pid target) { return file_.bias ? *file_.bias : file_.start - elf(target).base(); }

  // Returns the last place at or before the address to which a call in this file leads, or 0.
  Address last_call_target(Pid target, Address address) {
    if (!call_targets_) {
      call_targets_.emplace();
      for (const ImageBytes& code : elf(target).code_segments()) {
        const auto found = call_targets(code.bytes, code.address + bias(target));
        call_targets_->insert(call_targets_->end(), found.begin(), found.end());
      }
    }
    const auto after = std::upper_bound(call_targets_->begin(), call_targets_->end(), address);
    return after == call_targets_->begin() ? 0 : *std::prev(after);
  }

 private:
  void open(Pid target) {
    if (file_.path == "[vdso]") {
      copy_.resize(std::min<std::size_t>(file_.end - file_.start, kLargestVdso));
      if (read_target(target, file_.start, copy_)) elf_ = ElfImage(copy_);
      return;
    }
    const OpenedFile opened = open_mapped_file(target, file_);
    struct stat status {};
    if (!opened.fd || ::fstat(opened.fd.get(), &status) != 0 || status.st_size <= 0) return;
    const auto size = static_cast<std::size_t>(status.st_size);
    void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.fd.get(), 0);
    if (bytes == MAP_FAILED) return;
    mapping_ = Mapping(bytes, size);
    elf_ = ElfImage(std::span(mapping_.data(), size));
  }

  MappedFile file_;
  bool opened_ = false;
  Mapping mapping_;
  std::vector<std::byte> copy_;
  ElfImage elf_;
  std::optional<std::vector<Address>> call_targets_;  // sorted
};

// The data that the accessors work on.
struct Source {
  explicit Source(Pid pid);
  ~Source() { unw_destroy_addr_space(space); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  bool load_maps();
  Image* image_at(Address address);
  bool read(Address address, std::span<std::byte> bytes);
  bool was_popped(Address address) const;
  std::optional<Address> popped(Address address) const;
  int find_table(Address ip, unw_dyn_info_t& table);

  Pid target;
  LoadedFiles loaded;
  unw_addr_space_t space = nullptr;
  std::vector<Image> images;             // sorted by address
  RangeMap<NoValue> executable;          // includes code outside of files
  const Registers* registers = nullptr;  // where the present chain begins
  unw_cursor_t* cursor = nullptr;        // of the present step
  Address stack_pointer = 0;             // of the present sample
  StackView stack;
  bool read_live = false;    // part of the stack was not in the copy
  bool table_found = false;  // by the latest look-up
};

Source& source_of(void* argument) { return *static_cast<Source*>(argument); }

int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info, int need_info,
                   void* argument) {
  Source& source = source_of(argument);
  unw_dyn_info_t table{};
  int found = source.find_table(ip, table);
  if (found == 0) {
    found = UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need_info, argument);
  }
  source.table_found = found == 0;
  return found;
}

void put_unwind_info(unw_addr_space_t, unw_proc_info_t*, void*) {}  // libunwind frees its own data

int no_dynamic_info(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

int access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write,
                  void* argument) {
  if (write != 0) return -UNW_EINVAL;
  Source& source = source_of(argument);
  if (source.was_popped(address)) {
    const auto held = source.popped(address);
    if (!held) return -UNW_EINVAL;
    *value = *held;
    return 0;
  }
  unw_word_t word = 0;
  if (!source.read(address, std::as_writable_bytes(std::span(&word, 1)))) return -UNW_EINVAL;
  *value = word;
  return 0;
}

int access_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write,
                    void* argument) {
  if (write != 0 || number < 0 || number > UNW_X86_64_RIP) return -UNW_EINVAL;
  const unsigned perf_number = kPerfRegister[static_cast<std::size_t>(number)];
  *value = source_of(argument).registers->values[perf_number];
  return 0;
}

int no_float_register(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) {
  return -UNW_EINVAL;
}
int no_resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int no_name(unw_addr_space_t, unw_word_t, char*, std::size_t, unw_word_t*, void*) {
  return -UNW_ENOINFO;
}

unw_accessors_t accessors = {find_proc_info,  put_unwind_info,   no_dynamic_info, access_memory,
                             access_register, no_float_register, no_resume,       no_name};

Source::Source(Pid pid) : target(pid), loaded(pid) {
  if (!load_maps()) procfs::throw_unreadable(pid, "maps");
  space = unw_create_addr_space(&accessors, 0);
  if (space == nullptr) throw Error("unw_create_addr_space failed");
  unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
  unw_set_cache_size(space, kCachedFrames, 0);
}

bool Source::load_maps() {
  const auto maps = procfs::maps(target);
  if (!maps || maps->empty()) return false;
  std::vector<Image> fresh;
  for (MappedFile& file : loaded.read(*maps)) {
    const auto old = std::find_if(images.begin(), images.end(),
                                  [&](const Image& each) { return each.file() == file; });
    if (old != images.end()) {
      fresh.push_back(std::move(*old));
    } else {
      fresh.emplace_back(std::move(file));
    }
  }
  images = std::move(fresh);
  std::vector<RangeMap<NoValue>::Range> ranges;
  for (const procfs::Map& map : *maps) {
    if (map.executable) ranges.push_back({map.start, map.end, {}});
  }
  executable = RangeMap<NoValue>(std::move(ranges));
  return true;
}

Image* Source::image_at(Address address) {
  const auto after = std::upper_bound(
      images.begin(), images.end(), address,
      [](Address wanted, const Image& each) { return wanted < each.file().start; });
  if (after == images.begin()) return nullptr;
  Image& image = *std::prev(after);
  return address < image.file().end ? &image : nullptr;
}

bool Source::read(Address address, std::span<std::byte> bytes) {
  if (stack.read(address, bytes)) return true;
  if (Image* image = image_at(address)) {
    const auto constant = image->elf(target).constant_bytes(address - image->bias(target));
    if (constant.size() >= bytes.size()) {
      std::memcpy(bytes.data(), constant.data(), bytes.size());
      return true;
    }
  } else if (address >= stack_pointer) {
    read_live = true;
  }
  return read_target(target, address, bytes);
}

bool Source::was_popped(Address address) const {
  return address < stack_pointer && stack_pointer - address <= kPoppedBytes;
}

// Returns the value of the register whose rule names the address.
std::optional<Address> Source::popped(Address address) const {
  if (cursor == nullptr) return std::nullopt;
  for (const int number : kSavedRegisters) {
    unw_save_loc_t location{};
    if (unw_get_save_loc(cursor, number, &location) != 0) continue;
    if (location.type != UNW_SLT_MEMORY || location.u.addr != address) continue;
    return registers->values[kPerfRegister[static_cast<std::size_t>(number)]];
  }
  return std::nullopt;
}

int Source::find_table(Address ip, unw_dyn_info_t& table) {
  Image* image = image_at(ip);
  if (image == nullptr) return -UNW_ENOINFO;
  const auto found = image->elf(target).unwind_table();
  if (!found) return -UNW_ENOINFO;
  const Address bias = image->bias(target);
  table.start_ip = image->file().start;
  table.end_ip = image->file().end;
  table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  table.u.rti.segbase = found->header + bias;
  table.u.rti.table_data = found->entries + bias;
  table.u.rti.table_len = found->count;  // in words: an entry has 8 bytes
  return 0;
}

}  // namespace

struct Unwinder::Impl : Source {
  explicit Impl(Pid pid)
      : Source(pid),
        holes(pid),
        code_and_stack{
            [this](Address address, std::span<std::byte> bytes) { return read(address, bytes); },
            [this](Address address) { return executable.find(address) != nullptr; },
            [this](Address address) {
              Image* image = image_at(address);
              return image == nullptr ? 0 : image->last_call_target(target, address);
            }} {}

  struct Chain {
    std::vector<Address> callers;
    bool complete = false;
  };

  Chain follow(const Registers& start, bool innermost, std::size_t depth);
  Chain search(const UnknownFrame& frame, const Registers& start, std::size_t depth);

  StackHoles holes;
  CodeAndStack code_and_stack;
  int alternatives = 0;  // that may still be tried
  bool complete = false;
  bool searched = false;
};

// Steps by the tables, and from a frame without one by a search.
Unwinder::Impl::Chain Unwinder::Impl::follow(const Registers& start, bool innermost,
                                             std::size_t depth) {
  Chain chain;
  registers = &start;
  cursor = nullptr;
  unw_cursor_t current;
  if (unw_init_remote(&current, space, static_cast<Source*>(this)) != 0) return chain;
  while (chain.callers.size() < depth) {
    unw_cursor_t before = current;
    cursor = &current;
    table_found = true;  // a rule from libunwind's cache needs no look-up
    const int step = unw_step(&current);
    if (!table_found && unw_is_signal_frame(&before) <= 0) {
      cursor = &before;
      UnknownFrame frame;
      frame.innermost = innermost && chain.callers.empty();
      unw_get_reg(&before, UNW_REG_IP, &frame.ip);
      unw_get_reg(&before, UNW_REG_SP, &frame.sp);
      if (unw_get_reg(&before, UNW_X86_64_RBP, &frame.bp) != 0) frame.bp = 0;
      Chain rest = search(frame, start, depth - chain.callers.size());
      chain.callers.insert(chain.callers.end(), rest.callers.begin(), rest.callers.end());
      chain.complete = rest.complete;
      break;
    }
    if (step == 0) chain.complete = true;
    if (step <= 0) break;
    unw_word_t ip = 0;
    if (unw_get_reg(&current, UNW_REG_IP, &ip) != 0) break;
    if (ip == 0) {
      chain.complete = true;
      break;
    }
    if (executable.find(ip) == nullptr) break;
    chain.callers.push_back(ip);
  }
  cursor = nullptr;
  return chain;
}

Unwinder::Impl::Chain Unwinder::Impl::search(const UnknownFrame& frame, const Registers& start,
                                             std::size_t depth) {
  searched = true;
  Chain best;
  for (const PossibleCaller& caller : possible_callers(frame, code_and_stack)) {
    const bool first = best.callers.empty() && caller.likely;
    if (!first && alternatives-- <= 0) break;
    Registers there = start;
    there.values[PERF_REG_X86_IP] = caller.return_address - 1;
    there.values[PERF_REG_X86_SP] = caller.sp;
    there.values[PERF_REG_X86_BP] = caller.bp;
    Chain chain = follow(there, false, depth - 1);
    if (!chain.complete && !first) continue;
    best.complete = chain.complete;
    best.callers.assign(1, caller.return_address);
    best.callers.insert(best.callers.end(), chain.callers.begin(), chain.callers.end());
    if (best.complete) return best;
  }
  if (best.callers.empty()) best.complete = is_outermost(frame, code_and_stack);
  return best;
}

Unwinder::Unwinder(Pid target) : impl_(std::make_unique<Impl>(target)) {}
Unwinder::~Unwinder() = default;

void Unwinder::refresh() {
  if (impl_->load_maps()) unw_flush_cache(impl_->space, 0, 0);
  impl_->holes.mappings_changed();
}

bool Unwinder::last_complete() const { return impl_->complete; }
bool Unwinder::last_from_copy() const { return !impl_->read_live; }
bool Unwinder::last_searched() const { return impl_->searched; }

std::vector<Address> Unwinder::unwind(const Registers& registers, std::span<const std::byte> stack,
                                      std::size_t depth) {
  if (depth == 0) return {};
  const Address sp = registers.values[PERF_REG_X86_SP];
  impl_->stack_pointer = sp;
  impl_->stack = StackView(sp, stack);
  impl_->read_live = false;
  impl_->searched = false;
  impl_->alternatives = kMostAlternatives;
  impl_->holes.mend(sp, stack);
  auto chain = impl_->follow(registers, true, depth - 1);
  impl_->complete = chain.complete;
  chain.callers.insert(chain.callers.begin(), registers.values[PERF_REG_X86_IP]);
  return std::move(chain.callers);
}

}  // namespace causalctl::unwind
