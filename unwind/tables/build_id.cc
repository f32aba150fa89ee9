#include "unwind/tables/build_id.h"

#include <elfutils/libdwelf.h>
#include <fmt/format.h>

#include "controller/base/hexadecimal.h"

namespace causalctl::unwind {

std::string build_id_of(Elf* elf) {
  const void* bytes = nullptr;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes);
  if (size <= 0) return {};
  return hexadecimal({static_cast<const std::byte*>(bytes), static_cast<std::size_t>(size)});
}

std::string debug_file_by_id(const std::string& directory, const std::string& build_id) {
  return fmt::format("{}/.build-id/{}/{}.debug", directory, build_id.substr(0, 2),
                     build_id.substr(2));
}

}  // namespace causalctl::unwind
