#include "unwind/modules/module_file.h"

#include <libelf.h>

#include <cerrno>
#include <utility>

#include "controller/base/regular_file.h"
#include "unwind/modules/load_segments.h"
#include "unwind/modules/target_file.h"
#include "unwind/modules/vdso.h"
#include "unwind/tables/build_id.h"
#include "unwind/tables/elf_image.h"

namespace causalctl::unwind {
namespace {

std::string build_id_of_file(int fd) {
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  if (elf == nullptr) return {};
  std::string id = build_id_of(elf);
  elf_end(elf);
  return id;
}

ModuleFile module_file(Fd fd, std::string path, int error) {
  ModuleFile module;
  module.path = std::move(path);
  if (!fd) {
    module.error = error;
    return module;
  }
  module.segments = load_segments(fd.get());
  module.build_id = build_id_of_file(fd.get());
  module.fd = std::move(fd);
  return module;
}

ModuleFile vdso_module(Pid target, const MappedFile& file) {
  Fd fd = vdso_file(vdso_bytes(target, file));
  const int error = errno;
  return module_file(std::move(fd), std::string(kVdso), error);
}

}  // namespace

std::optional<Address> ModuleFile::link_address(std::uint64_t offset) const {
  for (const LoadSegment& segment : segments) {
    // A mapping begins at the page in which its segment does.
    const std::uint64_t page = segment.offset - segment.offset % kPageBytes;
    if (segment.executable && offset >= page && offset < segment.offset + segment.file_size) {
      return segment.address + offset - segment.offset;
    }
  }
  return std::nullopt;
}

ModuleFile open_module_file(Pid target, const MappedFile& file) {
  if (file.path == kVdso) return vdso_module(target, file);
  OpenedFile opened = open_mapped_file(target, file);
  return module_file(std::move(opened.fd), opened.path.empty() ? file.path : opened.path,
                     opened.error);
}

ModuleFile open_module_file(const std::string& path) {
  if (path == kVdso) return vdso_module(0, {});
  Fd fd = open_regular(path);
  const int error = errno;
  return module_file(std::move(fd), path, error);
}

}  // namespace causalctl::unwind
