#include "unwind/target_images.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/procfs.h"
#include "unwind/call_site.h"
#include "unwind/target_file.h"
#include "unwind/vdso.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kMostUnloaded = 64;  // files that are kept although they are not mapped

Nanoseconds nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

}  // namespace

ImageFile::ImageFile(Mapping mapping)
    : mapping_(std::move(mapping)), elf_(std::span(mapping_.data(), mapping_.size())) {}

ImageFile::ImageFile(std::vector<std::byte> copy) : copy_(std::move(copy)), elf_(copy_) {}

FrameTable& ImageFile::frames() {
  if (!frames_) frames_.emplace(elf_);
  return *frames_;
}

const GoTable& ImageFile::go() {
  if (!go_) go_ = GoTable(elf_);
  return *go_;
}

Address ImageFile::last_call_target(Address address) {
  if (!call_targets_) {
    call_targets_.emplace();
    for (const ImageBytes& code : elf_.code_segments()) {
      const auto found = call_targets(code.bytes, code.address);
      call_targets_->insert(call_targets_->end(), found.begin(), found.end());
    }
  }
  const auto after = std::upper_bound(call_targets_->begin(), call_targets_->end(), address);
  return after == call_targets_->begin() ? 0 : *std::prev(after);
}

TargetImages::TargetImages(Pid target) : target_(target), followed_(target) {
  if (!load()) procfs::throw_unreadable(target, "maps");
}

bool TargetImages::load() {
  auto maps = procfs::maps(target_);
  return maps && load(std::move(*maps));
}

bool TargetImages::load(std::vector<procfs::Map> maps) {
  if (maps.empty()) return false;
  return take(followed_.take(std::move(maps)));
}

bool TargetImages::mapped(const procfs::Map& line) {
  const bool changed = take(followed_.mapped(line));
  // The file is opened while it has its name.
  if (Image* image = at(line.start); changed && image != nullptr) file(*image);
  return changed;
}

bool TargetImages::take(std::vector<MappedFile> files) {
  bool changed = false;
  std::vector<Image> fresh;
  for (MappedFile& place : files) {
    const auto old = std::find_if(images_.begin(), images_.end(),
                                  [&](const Image& each) { return each.place() == place; });
    changed |= old == images_.end();
    fresh.push_back(old != images_.end() ? std::move(*old) : Image(std::move(place)));
  }
  changed |= fresh.size() != images_.size();
  images_ = std::move(fresh);
  std::vector<RangeMap<NoValue>::Range> ranges;
  for (const procfs::Map& map : followed_.maps()) {
    if (map.executable) ranges.push_back({map.start, map.end, {}});
  }
  const auto same = [](const auto& a, const auto& b) { return a.low == b.low && a.high == b.high; };
  changed |= !std::equal(ranges.begin(), ranges.end(), executable_.ranges().begin(),
                         executable_.ranges().end(), same);
  executable_ = RangeMap<NoValue>(std::move(ranges));
  if (files_.size() > images_.size() + kMostUnloaded) {
    std::erase_if(files_, [](const auto& each) { return each.second.use_count() == 1; });
  }
  return changed;
}

Image* TargetImages::at(Address address) {
  const auto after = std::upper_bound(
      images_.begin(), images_.end(), address,
      [](Address wanted, const Image& each) { return wanted < each.place().start; });
  if (after == images_.begin()) return nullptr;
  Image& image = *std::prev(after);
  return address < image.place().end ? &image : nullptr;
}

ImageFile& TargetImages::file(Image& image) {
  if (!image.file_) image.file_ = open(image.place_);
  return *image.file_;
}

Address TargetImages::bias(Image& image) {
  const MappedFile& place = image.place();
  return place.bias ? *place.bias : place.start - file(image).elf().base();
}

std::span<const std::byte> TargetImages::constant_bytes(Address address) {
  Image* image = at(address);
  if (image == nullptr) return {};
  return file(*image).elf().constant_bytes(address - bias(*image));
}

std::shared_ptr<ImageFile> TargetImages::open(const MappedFile& place) {
  if (place.path == kVdso) return std::make_shared<ImageFile>(vdso_bytes(target_, place));
  const OpenedFile opened = open_mapped_file(target_, place);
  struct stat status {};
  if (!opened.fd || ::fstat(opened.fd.get(), &status) != 0 || status.st_size <= 0) {
    return std::make_shared<ImageFile>();
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  const FileKey key{status.st_dev, status.st_ino, size, nanoseconds(status.st_mtim),
                    nanoseconds(status.st_ctim)};
  if (const auto known = files_.find(key); known != files_.end()) return known->second;
  void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, opened.fd.get(), 0);
  if (bytes == MAP_FAILED) return std::make_shared<ImageFile>();
  return files_.emplace(key, std::make_shared<ImageFile>(Mapping(bytes, size))).first->second;
}

bool TargetImages::read_constant(Address address, std::span<std::byte> bytes) {
  const auto constant = constant_bytes(address);
  if (constant.size() < bytes.size()) return false;
  std::memcpy(bytes.data(), constant.data(), bytes.size());
  return true;
}

}  // namespace causalctl::unwind
