#include "controller/tracee/code_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/number.h"
#include "controller/tracee/inject/stub.h"
#include "controller/tracee/process.h"

namespace causalctl::tracee {
namespace {

// Returns the length of a uprobe that `to` has at this place and `from` has not; 0 if there is
// none. The kernel writes an int3; over a nop of five bytes later a call of its own page.
std::size_t uprobe_at(std::span<const std::byte> from, std::span<const std::byte> to,
                      std::size_t at) {
  constexpr std::byte int3{0xcc};
  constexpr std::byte call{0xe8};
  constexpr std::array nop{std::byte{0x0f}, std::byte{0x1f}, std::byte{0x44}, std::byte{0},
                           std::byte{0}};
  if (to[at] == int3) return 1;
  const auto rest = from.subspan(at);
  const bool over_nop = rest.size() >= nop.size() && (rest[0] == nop[0] || rest[0] == int3) &&
                        std::equal(nop.begin() + 1, nop.end(), rest.begin() + 1);
  return to[at] == call && over_nop ? nop.size() : 0;
}

// Returns the places of the uprobes that make the difference; nullopt if something else does.
std::optional<std::vector<Address>> uprobes_between(const CodeBytes& before,
                                                    const CodeBytes& after) {
  if (before.begin != after.begin || before.bytes.size() != after.bytes.size()) return std::nullopt;
  std::vector<Address> places;
  for (std::size_t i = 0; i < before.bytes.size();) {
    if (before.bytes[i] == after.bytes[i]) {
      ++i;
      continue;
    }
    const std::size_t length =
        std::max(uprobe_at(before.bytes, after.bytes, i), uprobe_at(after.bytes, before.bytes, i));
    if (length == 0) return std::nullopt;
    places.push_back(before.begin + i);
    i += length;
  }
  return places;
}

bool has_perf_events(Pid pid) {
  std::error_code error;
  for (std::filesystem::directory_iterator each(fmt::format("/proc/{}/fd", pid), error), end;
       !error && each != end; each.increment(error)) {
    std::error_code closed;
    if (std::filesystem::read_symlink(each->path(), closed) == "anon_inode:[perf_event]") {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<CodeBytes> code_of(Pid pid, const std::vector<procfs::Map>& maps,
                               std::span<const Address> places) {
  std::vector<CodeBytes> all;
  const auto add = [&](std::string_view what, Address begin, Address end) {
    constexpr Address longest = 1 << 20;
    CodeBytes code{fmt::format("hash of {}", what), begin,
                   std::vector<std::byte>(std::min(end - begin, longest))};
    if (read_memory(pid, begin, code.bytes)) all.push_back(std::move(code));
  };
  const auto executable = procfs::executable(pid);
  for (const procfs::Map& map : maps) {
    if (!map.executable || map.inode == 0) continue;
    if (without_deleted(map.path) == executable) {
      add(fmt::format("text {} +{:#x}", map.path, map.offset), map.start, map.end);
    }
    for (const Address place : places) {
      if (place < map.start || place >= map.end) continue;
      const Address page = place / kPage * kPage;
      add(fmt::format("page {} +{:#x}", map.path, page - map.start + map.offset), page,
          page + kPage);
    }
  }
  return all;
}

std::vector<std::string> changed_by_uprobes(const std::vector<CodeBytes>& before,
                                            const std::vector<CodeBytes>& after,
                                            std::span<const Address> own) {
  std::vector<std::string> names;
  for (const CodeBytes& now : after) {
    const auto then = std::find_if(before.begin(), before.end(),
                                   [&](const CodeBytes& each) { return each.name == now.name; });
    if (then == before.end()) continue;
    const auto places = uprobes_between(*then, now);
    if (!places || places->empty()) continue;
    const bool ours =
        std::find_first_of(places->begin(), places->end(), own.begin(), own.end()) != places->end();
    if (!ours) names.push_back(now.name);
  }
  return names;
}

bool perf_events_elsewhere(std::span<const Pid> ours) {
  std::error_code error;
  for (std::filesystem::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    const auto pid = parse_number<Pid>(process->path().filename().string());
    if (!pid || std::find(ours.begin(), ours.end(), *pid) != ours.end()) continue;
    if (has_perf_events(*pid)) return true;
  }
  return false;
}

}  // namespace causalctl::tracee
