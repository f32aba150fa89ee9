#include "controller/progress/loaded_later.h"

#include <fmt/format.h>
#include <gelf.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/procfs.h"
#include "controller/progress/image.h"
#include "unwind/modules/loaded_files.h"

namespace causalctl::progress {
namespace {

constexpr Nanoseconds kWaitForLibrary = 3 * kSecond;

struct Linked {
  std::string name;  // DT_SONAME, or that of its file
  std::vector<std::string> needed;
};

Linked linked(const std::string& path, const std::string& readable) {
  Linked result{std::string(base_name(path)), {}};
  const ElfFile file(readable);
  Elf_Scn* section = nullptr;
  while (file.get() != nullptr && (section = elf_nextscn(file.get(), section)) != nullptr) {
    GElf_Shdr header{};
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_DYNAMIC) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr || header.sh_entsize == 0) continue;
    const auto count = static_cast<int>(data->d_size / header.sh_entsize);
    for (int i = 0; i < count; ++i) {
      GElf_Dyn entry{};
      if (gelf_getdyn(data, i, &entry) == nullptr || entry.d_tag == DT_NULL) break;
      if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME) continue;
      const char* text = elf_strptr(file.get(), header.sh_link, entry.d_un.d_val);
      if (text == nullptr) continue;
      if (entry.d_tag == DT_SONAME) {
        result.name = text;
      } else {
        result.needed.emplace_back(base_name(text));
      }
    }
  }
  return result;
}

// The loader is needed by nobody where only the kernel knows of it.
bool is_loader(std::string_view name) { return name.starts_with("ld-") || name.starts_with("ld."); }

// Returns the paths of the executable and of all files that it needs.
std::set<std::string> there_from_the_start(Pid target) {
  std::set<std::string> paths;
  const auto maps = procfs::maps(target);
  if (!maps) return paths;
  std::string main;
  for (const auto& file : unwind::LoadedFiles(target).read(*maps)) {
    if (file.main) main = file.path;
  }
  std::vector<std::pair<std::string, Linked>> files;  // by path
  for (const Image& image : mapped_images(target)) {
    files.emplace_back(image.path, linked(image.path, image.readable));
  }
  std::vector<std::string> wanted;
  const auto take = [&](const std::string& path, const Linked& file) {
    if (!paths.insert(path).second) return;
    wanted.insert(wanted.end(), file.needed.begin(), file.needed.end());
  };
  for (const auto& [path, file] : files) {
    if (path == main || is_loader(file.name)) take(path, file);
  }
  while (!wanted.empty()) {
    const std::string name = std::move(wanted.back());
    wanted.pop_back();
    for (const auto& [path, file] : files) {
      if (file.name == name || base_name(path) == name) take(path, file);
    }
  }
  return paths;
}

}  // namespace

bool is_in_loaded_later(const std::vector<Address>& addresses, Pid target) {
  std::set<std::string> files;
  for (const Address address : addresses) {
    if (const auto file = file_place(target, address)) files.insert(file->module);
  }
  if (files.empty()) return false;
  const auto from_the_start = there_from_the_start(target);
  return std::any_of(files.begin(), files.end(),
                     [&](const std::string& file) { return !from_the_start.contains(file); });
}

bool has_its_files(const Point& point, Pid target) {
  for (std::size_t i = 0; i < point.files.size(); ++i) {
    const FilePlace& was = point.files[i];
    if (was.module.empty()) continue;
    const auto is = file_place(target, point.places[i].address);
    if (!is || is->module != was.module || is->offset != was.offset) return false;
  }
  return true;
}

void throw_unloaded(const Point& point) {
  throw Error(fmt::format("progress point '{}': the file that has it was unloaded", point.name),
              "try again, or name a point in a file that stays loaded");
}

void wait_for_its_files(const Point& point, Pid target) {
  Patience patience(kWaitForLibrary);
  while (!has_its_files(point, target)) {
    if (procfs::has_ended(target)) throw TargetGone(fmt::format("process {} is gone", target));
    if (patience.over()) throw_unloaded(point);
    sleep_until(monotonic_now() + kMillisecond);
  }
}

Unloads::Unloads(Pid target, const std::vector<Address>& addresses) : target_(target) {
  watched_ = now(addresses);
}

std::vector<Unloads::Watched> Unloads::now(const std::vector<Address>& addresses) const {
  std::vector<Watched> found;
  const auto maps = procfs::maps(target_);
  if (!maps) return found;
  for (const Address address : addresses) {
    const auto map = std::find_if(maps->begin(), maps->end(), [&](const procfs::Map& each) {
      return address >= each.start && address < each.end;
    });
    if (map == maps->end()) continue;
    found.push_back(
        {address, map->device, map->inode, address - map->start + map->offset, map->path});
  }
  return found;
}

std::string Unloads::gone() {
  if (watched_.empty()) return {};
  std::vector<Address> addresses;
  for (const Watched& each : watched_) addresses.push_back(each.address);
  const auto present = now(addresses);
  if (present.empty() && procfs::has_ended(target_)) return {};
  for (const Watched& was : watched_) {
    const bool stands = std::any_of(present.begin(), present.end(), [&](const Watched& is) {
      return is.address == was.address && is.device == was.device && is.inode == was.inode &&
             is.offset == was.offset;
    });
    if (!stands) return was.path;
  }
  return {};
}

}  // namespace causalctl::progress
