#include "controller/continuous/collect/image_table.h"

#include <algorithm>
#include <utility>

namespace causalctl::continuous {
namespace {

// Code is compiled again under the same name, so names are what is counted; beyond so many of a
// program, it is one.
constexpr Address kMostCompiled = 100'000;
constexpr std::size_t kMostPrograms = 1000;  // that make code; others are one
constexpr std::size_t kMostPaths = 20'000;   // beyond, they are found anew

Image image_of_compiled(const std::string& program) {
  return {ImageKind::compiled, "[jit] " + program, ""};
}

bool is_file(const std::string& path) { return path.starts_with('/'); }

}  // namespace

std::uint64_t ImageTable::add(const std::vector<perf::CountedPlace>& counted,
                              const ProcessMaps& maps, const std::string& label, Profile& profile) {
  std::uint64_t unknown = 0;
  for (const perf::CountedPlace& each : counted) {
    Place place;
    if (!find(each, maps, place)) {
      unknown += each.samples;
      continue;
    }
    profile[{std::move(place.image), "cpu", label}][place.offset] += {each.samples, each.time_ns};
  }
  build_id_of_.clear();  // another file may be mapped there later
  if (path_of_.size() > kMostPaths) path_of_.clear();
  return unknown;
}

bool ImageTable::needs_maps(const perf::CountedPlace& counted) const {
  if (counted.in_kernel) return false;
  return counted.build_id.empty() || !path_of_.contains(counted.build_id);
}

bool ImageTable::find(const perf::CountedPlace& counted, const ProcessMaps& maps, Place& place) {
  if (counted.in_kernel) {
    place = in_kernel(counted.address);
    return true;
  }
  if (!counted.build_id.empty()) {
    place = in_file(counted.build_id, counted.address, maps, counted);
    return true;
  }
  return in_memory(counted, maps, place);
}

ImageTable::Place ImageTable::in_kernel(Address address) {
  KernelCode::Place found = kernel_.at(address);
  if (!found.name.text.empty() &&
      kernel_names_[found.image].try_emplace(found.function, found.name).second) {
    fresh_names_[found.image][found.function] = std::move(found.name);
  }
  return {std::move(found.image), found.offset};
}

// Several paths may lead to the same file; the first one that was seen names it.
ImageTable::Place ImageTable::in_file(const std::string& build_id, Address offset,
                                      const ProcessMaps& maps, const perf::CountedPlace& counted) {
  auto known = path_of_.find(build_id);
  if (known == path_of_.end()) {
    const auto found = mapping_of(build_id, maps, counted);
    if (found.code == nullptr) return {{ImageKind::file, "[unknown file]", build_id}, offset};
    meet({ImageKind::file, found.code->path, build_id}, counted.process, found);
    known = path_of_.find(build_id);
  }
  return {{ImageKind::file, known->second, build_id}, offset};
}

// Where the process has executed another program, either may have had this file there.
ProcessMaps::Found ImageTable::mapping_of(const std::string& build_id, const ProcessMaps& maps,
                                          const perf::CountedPlace& counted) {
  const auto found = maps.find(counted.process, counted.latest);
  if (found.code == nullptr) return found;
  const auto earlier = maps.find_earlier(counted.process, counted.latest);
  const bool is_either = earlier.code != nullptr && earlier.code != found.code;
  const bool is_earlier = is_either && build_id_of(counted.process, found) != build_id &&
                          build_id_of(counted.process, earlier) == build_id;
  return is_earlier ? earlier : found;
}

void ImageTable::meet(const Image& image, Pid process, const ProcessMaps::Found& found) {
  const bool is_new = path_of_.emplace(image.build_id, image.path).second;
  if (is_new) new_files_.push_back({image, process, found.begin, *found.code});
}

const std::string& ImageTable::build_id_of(Pid process, const ProcessMaps::Found& found) {
  const auto [known, is_new] = build_id_of_.try_emplace({process, found.begin, found.code->inode});
  if (is_new) known->second = padded_build_id(sources_.build_id(process, found));
  return known->second;
}

bool ImageTable::in_memory(const perf::CountedPlace& counted, const ProcessMaps& maps,
                           Place& place) {
  const auto found = maps.find(counted.process, counted.address);
  const bool has_file = found.code != nullptr && is_file(found.code->path);
  if (has_file) {
    Image image{ImageKind::file, found.code->path, build_id_of(counted.process, found)};
    if (!image.build_id.empty()) meet(image, counted.process, found);
    place = {std::move(image), counted.address - found.begin + found.code->offset};
    return true;
  }
  const std::string name = sources_.compiled(counted.process, counted.address);
  if (!name.empty()) {
    place = compiled(maps.name(counted.process), name);
    return true;
  }
  if (found.code == nullptr) return false;
  if (found.code->path.starts_with('[')) {  // the vdso, and others that the kernel gives
    place = {{ImageKind::anonymous, found.code->path, ""}, counted.address - found.begin};
  } else {
    place = {{ImageKind::anonymous, "[anonymous] " + maps.name(counted.process), ""}, 0};
  }
  return true;
}

// The names that an earlier recorder has stored keep their offsets.
ImageTable::Compiled& ImageTable::compiled_of(const std::string& program, const Image& image) {
  const auto [known, is_new] = compiled_.try_emplace(program);
  Compiled& code = known->second;
  if (!is_new) return code;
  for (const auto& [offset, name] : sources_.names(image)) {
    code.offsets[name.text] = offset;
    code.next = std::max(code.next, offset + 1);
  }
  return code;
}

ImageTable::Place ImageTable::compiled(const std::string& of, const std::string& name) {
  const bool has_room = compiled_.contains(of) || compiled_.size() < kMostPrograms;
  const std::string program = has_room ? of : "[others]";
  Image image = image_of_compiled(program);
  Compiled& code = compiled_of(program, image);
  const auto known = code.offsets.find(name);
  if (known != code.offsets.end()) return {std::move(image), known->second};
  if (code.next >= kMostCompiled) return {std::move(image), kMostCompiled};
  const Address offset = code.next++;
  code.offsets[name] = offset;
  fresh_names_[image][offset] = {1, name};
  return {std::move(image), offset};
}

void ImageTable::tell_names_again() {
  fresh_names_ = kernel_names_;
  for (const auto& [program, code] : compiled_) {
    Names& names = fresh_names_[image_of_compiled(program)];
    for (const auto& [name, offset] : code.offsets) names[offset] = {1, name};
  }
}

std::map<Image, Names> ImageTable::take_names() { return std::exchange(fresh_names_, {}); }

}  // namespace causalctl::continuous
