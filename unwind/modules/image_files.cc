#include "unwind/modules/image_files.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/fd.h"
#include "unwind/modules/target_file.h"
#include "unwind/modules/vdso.h"

namespace causalctl::unwind {
namespace {

Nanoseconds nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

template <typename ContentsOf>
ContentsOf contents_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
          nanoseconds(status.st_mtim), nanoseconds(status.st_ctim)};
}

}  // namespace

// Returns what the file is by now, or nullopt if its name leads to another file, or nowhere.
std::optional<ImageFiles::Contents> ImageFiles::contents_by_name(Pid target,
                                                                 const std::string& path,
                                                                 const Contents& known) {
  struct stat status {};
  if (::stat(fmt::format("/proc/{}/root{}", target, path).c_str(), &status) != 0 &&
      ::stat(path.c_str(), &status) != 0) {
    return std::nullopt;
  }
  const auto now = contents_of<Contents>(status);
  if (now.device != known.device || now.inode != known.inode) return std::nullopt;
  return now;
}

std::shared_ptr<ImageFile> ImageFiles::of(Pid target, const MappedFile& place) {
  if (place.path == kVdso) return vdso(target, place);
  ++uses_;
  if (auto file = known(target, place)) return file;
  return open(target, place);
}

// Returns null if the file is not known, or was written anew.
std::shared_ptr<ImageFile> ImageFiles::known(Pid target, const MappedFile& place) {
  const auto before = by_mapping_.find({place.device, place.inode, place.path});
  if (before == by_mapping_.end()) return nullptr;
  const auto now = contents_by_name(target, place.path, before->second);
  if (now && *now != before->second) return nullptr;
  Kept& kept = files_.at(before->second);
  kept.used = uses_;
  return kept.file;
}

std::shared_ptr<ImageFile> ImageFiles::open(Pid target, const MappedFile& place) {
  const OpenedFile opened = open_mapped_file(target, place);
  struct stat status {};
  if (!opened.fd || ::fstat(opened.fd.get(), &status) != 0 || status.st_size <= 0) {
    return std::make_shared<ImageFile>();
  }
  const auto contents = contents_of<Contents>(status);
  auto found = files_.find(contents);
  if (found == files_.end()) {
    void* bytes = ::mmap(nullptr, contents.size, PROT_READ, MAP_PRIVATE, opened.fd.get(), 0);
    if (bytes == MAP_FAILED) return std::make_shared<ImageFile>();
    auto file = std::make_shared<ImageFile>(Mapping(bytes, contents.size));
    // Data that lies beside code. A file that is mapped here takes its space even once it is
    // removed.
    if (!file->elf().valid()) return std::make_shared<ImageFile>();
    drop_unused();
    found = files_.emplace(contents, Kept{std::move(file), 0}).first;
  }
  found->second.used = uses_;
  if (place.inode != 0) {
    by_mapping_.insert_or_assign({place.device, place.inode, place.path}, contents);
  }
  return found->second.file;
}

// The kernel gives all 64-bit processes the same.
std::shared_ptr<ImageFile> ImageFiles::vdso(Pid target, const MappedFile& place) {
  std::vector<std::byte> bytes = vdso_bytes(target, place);
  if (vdso_) {
    const auto shared = vdso_->elf().file();
    if (std::equal(bytes.begin(), bytes.end(), shared.begin(), shared.end())) return vdso_;
  }
  auto file = std::make_shared<ImageFile>(std::move(bytes));
  if (!vdso_) vdso_ = file;
  return file;
}

// Makes room for another file. Of those that no process has, the ones go that were used longest
// ago.
void ImageFiles::drop_unused() {
  std::vector<std::pair<std::uint64_t, Contents>> unused;
  for (const auto& [contents, kept] : files_) {
    if (kept.file.use_count() == 1) unused.emplace_back(kept.used, contents);
  }
  if (unused.size() < kMostUnused) return;
  std::sort(unused.begin(), unused.end());
  for (std::size_t i = 0; i + kMostUnused <= unused.size(); ++i) {
    const Contents& gone = unused[i].second;
    files_.erase(gone);
    std::erase_if(by_mapping_, [&](const auto& each) { return each.second == gone; });
  }
}

}  // namespace causalctl::unwind
