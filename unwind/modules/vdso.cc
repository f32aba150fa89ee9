#include "unwind/modules/vdso.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "controller/base/procfs.h"
#include "controller/base/whole_file.h"
#include "unwind/modules/target_memory.h"

namespace causalctl::unwind {
namespace {

// The vdso maps one part, whose size only maps tell.
std::vector<std::byte> read_own_vdso() {
  const auto start = static_cast<Address>(::getauxval(AT_SYSINFO_EHDR));
  const auto maps = procfs::maps(::getpid()).value_or(std::vector<procfs::Map>());
  const auto map = std::find_if(maps.begin(), maps.end(), [&](const procfs::Map& each) {
    return start != 0 && each.start == start;
  });
  if (map == maps.end()) return {};
  std::vector<std::byte> bytes(std::min<std::size_t>(map->end - map->start, kLargestVdso));
  if (!read_target(::getpid(), start, bytes)) return {};
  return bytes;
}

const std::vector<std::byte>& own_vdso() {
  static const std::vector<std::byte> bytes = read_own_vdso();
  return bytes;
}

}  // namespace

std::vector<std::byte> vdso_bytes(Pid target, const MappedFile& file) {
  std::vector<std::byte> bytes(std::min<std::size_t>(file.end - file.start, kLargestVdso));
  if (target != 0 && !bytes.empty() && read_target(target, file.start, bytes)) return bytes;
  return own_vdso();
}

Fd vdso_file(const std::vector<std::byte>& bytes) {
  return memory_file("vdso", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace causalctl::unwind
