// Unwinds with libunwind's remote interface over our own accessors.
//
// Registers and stack come from the sample. The unwind tables (.eh_frame) come from the mapped
// files, which are constant, so that a step usually needs no system call. All other memory is read
// from the target. Functions are found by binary search in .eh_frame_hdr through libunwind's
// dwarf_search_unwind_table, an exported function that its headers do not declare (perf and other
// users of libunwind do the same). For code without a table libunwind steps by frame pointers. A
// return address outside of executable mappings ends a chain as incomplete.
#include "unwind/unwinder.h"

#include <asm/perf_regs.h>
#include <fmt/format.h>
#include <libunwind.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/procfs.h"
#include "unwind/elf_image.h"
#include "unwind/function_bounds.h"
#include "unwind/loaded_files.h"
#include "unwind/mapped_file.h"
#include "unwind/target_file.h"
#include "unwind/target_memory.h"

extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*,
                                                  unw_proc_info_t*, int, void*);

namespace causalctl::unwind {
namespace {

constexpr std::size_t kCachedFrames = 4096;  // the cached register rules, by instruction pointer

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
  int find_table(Address ip, unw_dyn_info_t& table);

  Pid target;
  LoadedFiles loaded;
  unw_addr_space_t space = nullptr;
  std::vector<Image> images;             // sorted by address
  RangeMap<NoValue> executable;          // includes code outside of files
  const Registers* registers = nullptr;  // of the present sample
  StackView stack;
  bool complete = false;
};

Source& source_of(void* argument) { return *static_cast<Source*>(argument); }

int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info, int need_info,
                   void* argument) {
  unw_dyn_info_t table{};
  const int found = source_of(argument).find_table(ip, table);
  if (found != 0) return found;
  return UNW_OBJ(dwarf_search_unwind_table)(space, ip, &table, info, need_info, argument);
}

void put_unwind_info(unw_addr_space_t, unw_proc_info_t*, void*) {}  // libunwind frees its own data

int no_dynamic_info(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

int access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write,
                  void* argument) {
  if (write != 0) return -UNW_EINVAL;
  unw_word_t word = 0;
  if (!source_of(argument).read(address, std::as_writable_bytes(std::span(&word, 1)))) {
    return -UNW_EINVAL;
  }
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
  }
  return read_target(target, address, bytes);
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
  using Source::Source;
};

Unwinder::Unwinder(Pid target) : impl_(std::make_unique<Impl>(target)) {}
Unwinder::~Unwinder() = default;

void Unwinder::refresh() {
  if (impl_->load_maps()) unw_flush_cache(impl_->space, 0, 0);
}

bool Unwinder::last_complete() const { return impl_->complete; }

std::vector<Address> Unwinder::unwind(const Registers& registers, std::span<const std::byte> stack,
                                      std::size_t depth) {
  impl_->registers = &registers;
  impl_->stack = StackView(registers.values[PERF_REG_X86_SP], stack);
  impl_->complete = false;
  std::vector<Address> chain;
  if (depth == 0) return chain;
  chain.push_back(registers.values[PERF_REG_X86_IP]);
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, impl_->space, static_cast<Source*>(impl_.get())) != 0) return chain;
  while (chain.size() < depth) {
    const int step = unw_step(&cursor);
    if (step == 0) impl_->complete = true;
    if (step <= 0) break;
    unw_word_t ip = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0) break;
    if (ip == 0) {
      impl_->complete = true;
      break;
    }
    if (impl_->executable.find(ip) == nullptr) break;
    chain.push_back(ip);
  }
  return chain;
}

}  // namespace causalctl::unwind
