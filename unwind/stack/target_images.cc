#include "unwind/stack/target_images.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace causalctl::unwind {

TargetImages::TargetImages(Pid target) : TargetImages(target, std::make_shared<ImageFiles>(), {}) {
  if (!load()) procfs::throw_unreadable(target, "maps");
}

TargetImages::TargetImages(Pid target, std::shared_ptr<ImageFiles> shared,
                           std::vector<procfs::Map> maps)
    : target_(target), shared_(std::move(shared)), followed_(target, shared_, std::move(maps)) {}

bool TargetImages::load() {
  auto maps = procfs::maps(target_);
  return maps && load(std::move(*maps));
}

bool TargetImages::load(std::vector<procfs::Map> maps) {
  if (maps.empty()) return false;
  const bool changed = take(followed_.take(std::move(maps)));
  return std::exchange(is_old_, false) || changed;
}

void TargetImages::mapped(const procfs::Map& line) {
  followed_.note(line);
  is_old_ = true;
}

void TargetImages::unmap_all() {
  followed_.unmap_all();
  images_.clear();
  executable_ = {};
  is_old_ = is_other_program_ = true;
}

bool TargetImages::update() {
  if (!std::exchange(is_old_, false)) return false;
  const bool changed = take(followed_.files());
  return std::exchange(is_other_program_, false) || changed;
}

// Returns whether anything is different. What is as before keeps its file.
bool TargetImages::take(std::vector<MappedFile> files) {
  bool changed = files.size() != images_.size();
  std::vector<Image> fresh;
  for (MappedFile& place : files) {
    auto old = std::lower_bound(
        images_.begin(), images_.end(), place.start,
        [](const Image& each, Address start) { return each.place().start < start; });
    old = std::find_if(old, images_.end(), [&](const Image& each) {
      return each.place().start != place.start || each.place() == place;
    });
    const bool is_same = old != images_.end() && old->place() == place;
    changed |= !is_same;
    fresh.push_back(is_same ? std::move(*old) : Image(std::move(place)));
  }
  images_ = std::move(fresh);
  return take_executable() || changed;
}

bool TargetImages::take_executable() {
  std::vector<RangeMap<NoValue>::Range> ranges;
  for (const procfs::Map& map : followed_.maps()) {
    if (map.executable) ranges.push_back({map.start, map.end, {}});
  }
  const auto same = [](const auto& a, const auto& b) { return a.low == b.low && a.high == b.high; };
  const auto& before = executable_.ranges();
  if (std::equal(ranges.begin(), ranges.end(), before.begin(), before.end(), same)) return false;
  executable_ = RangeMap<NoValue>(std::move(ranges));
  return true;
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
  if (!image.file_) image.file_ = shared_->of(target_, image.place_);
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

bool TargetImages::read_constant(Address address, std::span<std::byte> bytes) {
  const auto constant = constant_bytes(address);
  if (constant.size() < bytes.size()) return false;
  std::memcpy(bytes.data(), constant.data(), bytes.size());
  return true;
}

}  // namespace causalctl::unwind
