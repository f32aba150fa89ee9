#include "unwind/tables/build_id.h"

#include <elfutils/libdwelf.h>
#include <fmt/format.h>

namespace causalctl::unwind {

std::string build_id_of(Elf* elf) {
  std::string id;
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
  for (ssize_t i = 0; i < size; ++i) {
    id += fmt::format("{:02x}", static_cast<const unsigned char*>(bytes)[i]);
  }
  return id;
}

std::string debug_file_by_id(const std::string& directory, const std::string& build_id) {
  return fmt::format("{}/.build-id/{}/{}.debug", directory, build_id.substr(0, 2),
                     build_id.substr(2));
}

}  // namespace causalctl::unwind
