#include "controller/pause/stack_room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "controller/base/fd.h"

namespace causalctl::pause {
namespace {

constexpr std::uint64_t kRedZone = 128;
constexpr std::uint64_t kStub = 40;     // stub.S
constexpr std::uint64_t kMargin = 256;  // for alignment, and for a kernel that counts differently
constexpr std::uint64_t kOldFrame = 4096;         // if the kernel does not say, before Linux 5.14
constexpr std::uint64_t kLargestStack = 8 << 20;  // that the main thread is trusted to have

// struct procmap_query of <linux/fs.h>, Linux 6.11.
struct MapQuery {
  std::uint64_t size, flags, address;
  std::uint64_t start, end, vma_flags, page_size, offset, inode;
  std::uint32_t device_major, device_minor;
  std::uint32_t name_size, build_id_size;
  std::uint64_t name_address, build_id_address;
};
constexpr unsigned long kQueryMap = _IOWR('f', 17, MapQuery);

// It avoids reading thousands of lines for each of thousands of threads.
std::optional<procfs::Map> map_at(Pid pid, Address address) {
  const Fd file(::open(fmt::format("/proc/{}/maps", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 256> name{};
  MapQuery query{};
  query.size = sizeof query;
  query.address = address;
  query.name_size = name.size();
  query.name_address = reinterpret_cast<std::uint64_t>(name.data());
  if (::ioctl(file.get(), kQueryMap, &query) == 0) {
    procfs::Map map;
    map.start = query.start;
    map.end = query.end;
    map.path = name.data();
    return map;
  }
  const auto maps = procfs::maps(pid);
  if (!maps) return std::nullopt;
  for (const procfs::Map& map : *maps) {
    if (map.start <= address && address < map.end) return map;
  }
  return std::nullopt;
}

std::uint64_t stack_limit(Pid pid) {
  rlimit limit{};
  return prlimit(pid, RLIMIT_STACK, nullptr, &limit) == 0 ? limit.rlim_cur : 0;
}

}  // namespace

std::uint64_t pause_frame_bytes() {
  static const std::uint64_t frame = getauxval(AT_MINSIGSTKSZ);
  return (frame > 0 ? frame : kOldFrame) + kRedZone + kStub + kMargin;
}

std::optional<StackRange> stack_in(const procfs::Map& map, bool first_thread, Address within,
                                   std::uint64_t limit, std::uint64_t frame_bytes) {
  if (within < map.start || within >= map.end) return std::nullopt;
  StackRange range{map.start, within};
  if (first_thread) {
    if (map.path != "[stack]") return std::nullopt;
    const auto largest = std::min({limit, kLargestStack, map.end});
    range = {std::min(map.start, map.end - largest), map.end};
  } else if (map.path == "[heap]" || map.path == "[stack]") {
    return std::nullopt;  // it has a part of it, and nobody knows which
  }
  range.low += frame_bytes;
  if (range.low >= range.high) return std::nullopt;
  return range;
}

Address control_block(Tid tid) {
  void* head = nullptr;
  std::size_t size = 0;
  if (syscall(SYS_get_robust_list, tid, &head, &size) != 0) return 0;
  return reinterpret_cast<Address>(head);
}

std::optional<StackRange> own_stack(Pid pid, Tid tid, Address control_block) {
  const bool first_thread = pid == tid;
  Address within = control_block;
  if (first_thread) {
    const auto stat = procfs::thread_stat(pid, tid);
    within = stat ? procfs::parse_stack_begin(*stat) : 0;
  }
  if (within == 0) return std::nullopt;
  const auto map = map_at(pid, within);
  if (!map) return std::nullopt;
  return stack_in(*map, first_thread, within, first_thread ? stack_limit(pid) : 0,
                  pause_frame_bytes());
}

}  // namespace causalctl::pause
