// An executable as a target has it mapped: everything that we ask of such a file. libdwfl wants a
// file, so the bytes go into a memfd. Only our code is instrumented: what happens inside elfutils
// shows where it crashes, or misuses memory that it has allocated.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/progress/boundary.h"
#include "controller/progress/image.h"
#include "controller/progress/usdt.h"
#include "disasm/decoder.h"
#include "tests/fuzz/targets.h"
#include "unwind/modules/modules.h"
#include "unwind/names/module_index.h"

namespace causalctl::fuzz {
namespace {

constexpr std::size_t kLargestFile = 1U << 20U;
constexpr Address kStep = 16;
constexpr int kMostLookups = 200;

Fd memory_file(Bytes bytes) {
  Fd fd(::memfd_create("fuzzed", MFD_CLOEXEC));
  INVARIANT(fd);
  INVARIANT(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return fd;
}

// Symbols, lines, inlining and bounds of functions.
void symbolize(const std::string& path) {
  unwind::Modules modules(path);
  if (modules.all().empty()) return;
  unwind::LoadedModule& module = *modules.all().front();
  unwind::ModuleIndex index(module);
  Address address = module.file.start;
  for (int i = 0; i < kMostLookups; ++i, address += kStep)
    INVARIANT(!index.frames(address).empty());
  for (const auto& found : index.find_function("work")) index.frames(found.address);
  for (const auto& found : index.find_line("seed.c", 20)) index.frames(found.address);
  index.similar_functions("wrok", 3);
  index.debug_info().near_lines("seed.c", 20, 3);
  index.debug_info().inlined_at("square", 3);
  index.debug_info().files();
  index.runtime_address(0x1000);
  index.build_id();
}

// USDT notes, segments, the unwind table's rows, and instructions.
void find_places(const std::string& path, Bytes bytes) {
  const progress::ElfFile file(path);
  progress::Image image{path, path, 0, progress::read_segments(file.get())};
  for (const auto& note : progress::read_usdt_notes(file.get())) {
    image.file_offset(note.pc);
    image.file_offset(note.semaphore);
  }
  disasm::Decoder decoder;
  for (const auto& segment : image.segments) {
    if (!segment.executable) continue;
    const Address address = segment.address + segment.file_size / 2;
    const auto row = progress::unwind_row_start(file.get(), address);
    const auto offset = image.file_offset(address);
    if (!row || !offset || *offset >= bytes.size()) continue;
    decoder.is_boundary(bytes.subspan(*offset), address, address + kStep);
  }
}

}  // namespace

void read_elf(Bytes bytes) {
  if (bytes.size() > kLargestFile) return;
  const Fd fd = memory_file(bytes);
  const std::string path = fmt::format("/proc/self/fd/{}", fd.get());
  symbolize(path);
  find_places(path, bytes);
}

}  // namespace causalctl::fuzz
