#include "controller/continuous/counts/import.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/regular_file.h"
#include "controller/continuous/counts/callgrind_file.h"
#include "disasm/decoder.h"
#include "unwind/modules/module_file.h"
#include "unwind/tables/elf_image.h"

namespace causalctl::continuous {
namespace {

constexpr std::size_t kLongestInstruction = 15;

struct Object {
  std::string path;
  unwind::ModuleFile file;
  ExactCounts counts;
};

// Code of an object as it lay in memory.
struct Range {
  Address begin = 0, end = 0;
  Address bias = 0;  // address in memory less that of link time
  std::size_t object = 0;
};

const unwind::LoadSegment* segment_at(const unwind::ModuleFile& file, Address address) {
  const auto found = std::find_if(file.segments.begin(), file.segments.end(),
                                  [address](const unwind::LoadSegment& segment) {
                                    return segment.executable && address >= segment.address &&
                                           address - segment.address < segment.file_size;
                                  });
  return found == file.segments.end() ? nullptr : &*found;
}

bool fits(const unwind::ModuleFile& file, const Executions& instructions) {
  return std::all_of(instructions.begin(), instructions.end(),
                     [&file](const auto& each) { return segment_at(file, each.first) != nullptr; });
}

// Returns the instruction at a link-time address.
std::optional<disasm::Instruction> instruction_at(disasm::Decoder& decoder,
                                                  const unwind::ModuleFile& file, Address address) {
  const unwind::LoadSegment* segment = segment_at(file, address);
  if (segment == nullptr) return std::nullopt;
  std::array<std::byte, kLongestInstruction> code{};
  const Address offset = segment->offset + (address - segment->address);
  const ssize_t size = ::pread(file.fd.get(), code.data(), code.size(), static_cast<off_t>(offset));
  if (size <= 0) return std::nullopt;
  const auto bytes = std::span(code).first(static_cast<std::size_t>(size));
  return decoder.decode(bytes, address);
}

// Adds those calls that are jumps.
void add_jumps(disasm::Decoder& decoder, Object& object, const Jumps& calls) {
  for (const auto& [call, count] : calls) {
    const auto instruction = instruction_at(decoder, object.file, call.from);
    if (instruction && disasm::jumps(*instruction)) add(object.counts, {{}, {{call, count}}});
  }
}

// Adds where the object's code lay. It is in several places if it was loaded more than once.
void add_ranges(std::vector<Range>& ranges, disasm::Decoder& decoder, const Object& object,
                std::size_t number, const std::set<Jump>& calls) {
  std::set<Address> biases;
  for (const Jump& call : calls) {
    const auto caller = instruction_at(decoder, object.file, call.from);
    const auto target = caller ? caller->target : std::nullopt;  // if it says so itself
    if (!target || segment_at(object.file, *target) == nullptr) continue;
    if ((call.to - *target) % unwind::kPageBytes == 0) biases.insert(call.to - *target);
  }
  for (const Address bias : biases) {
    for (const auto& segment : object.file.segments) {
      if (!segment.executable) continue;
      const Address begin = segment.address + bias;
      ranges.push_back({begin, begin + segment.file_size, bias, number});
    }
  }
}

// Returns null if no object had code at the address, or more than one did.
const Range* range_at(const std::vector<Range>& ranges, Address address) {
  const Range* found = nullptr;
  for (const Range& range : ranges) {
    if (address < range.begin || address >= range.end) continue;
    if (found != nullptr) return nullptr;
    found = &range;
  }
  return found;
}

// Gives counts of code without an object to those that had it. Returns how many executions are
// left.
std::uint64_t place_others(const ExactCounts& others, const std::vector<Range>& ranges,
                           std::vector<Object>& objects) {
  std::uint64_t left = 0;
  for (const auto& [address, count] : others.instructions) {
    if (const Range* range = range_at(ranges, address)) {
      add(objects[range->object].counts, {{{address - range->bias, count}}, {}});
    } else {
      left += count;
    }
  }
  for (const auto& [jump, count] : others.jumps) {
    const Range* range = range_at(ranges, jump.from);
    if (range == nullptr || range != range_at(ranges, jump.to)) continue;
    add(objects[range->object].counts,
        {{}, {{{jump.from - range->bias, jump.to - range->bias}, count}}});
  }
  return left;
}

Nanoseconds nanoseconds_of(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

// Of a file's contents, or of its name, which a package manager gives to a file with older ones.
Nanoseconds changed_ns(const struct stat& status) {
  return std::max(nanoseconds_of(status.st_mtim), nanoseconds_of(status.st_ctim));
}

bool is_newer(const unwind::ModuleFile& file, const std::string& than) {
  struct stat object {};
  struct stat counts {};
  if (::fstat(file.fd.get(), &object) != 0 || ::stat(than.c_str(), &counts) != 0) return false;
  return S_ISREG(counts.st_mode) && changed_ns(object) > nanoseconds_of(counts.st_mtim);
}

class Importer {
 public:
  void add_file(const std::string& name);
  Imported end() { return std::move(imported_); }

 private:
  void add_object(const std::string& path, CallgrindObject& counted, const std::string& file);
  void warn(std::string text);

  disasm::Decoder decoder_;
  Imported imported_;
  // Of the file that is being read.
  std::vector<Object> objects_;
  std::vector<Range> ranges_;
};

void Importer::warn(std::string text) {
  auto& all = imported_.warnings;
  if (std::find(all.begin(), all.end(), text) == all.end()) all.push_back(std::move(text));
}

void Importer::add_object(const std::string& path, CallgrindObject& counted,
                          const std::string& file) {
  const std::uint64_t executed = sum_of(counted.counts.instructions);
  Object object{path, unwind::open_module_file(path), std::move(counted.counts)};
  std::string trouble;
  if (!object.file.fd) {
    trouble = fmt::format("it cannot be opened: {}", std::strerror(object.file.error));
  } else if (object.file.build_id.empty()) {
    trouble = "it has no build-id; link it with -Wl,--build-id";
  } else if (!fits(object.file, object.counts.instructions)) {
    trouble = "it has no code where the counts are: the file is not the one that ran";
  }
  if (!trouble.empty()) {
    imported_.left_out += executed;
    return warn(fmt::format("{}: its counts are left out, because {}", printable(path), trouble));
  }
  if (is_newer(object.file, file)) {
    warn(fmt::format("{} was changed after {} was written: if it is another build, count it anew",
                     printable(path), printable(file)));
  }
  add_jumps(decoder_, object, counted.calls);
  add_ranges(ranges_, decoder_, object, objects_.size(), counted.calls_elsewhere);
  objects_.push_back(std::move(object));
}

void Importer::add_file(const std::string& name) {
  CallgrindFile file;
  {
    const std::string text = read_input(name, kLargestCallgrindFile, callgrind_command());
    file = read_callgrind(text, name);
  }
  if (imported_.command.empty()) imported_.command = file.command;
  objects_.clear();
  ranges_.clear();
  bool has_jumps = false;
  for (auto& [path, counted] : file.objects) {
    imported_.instructions += sum_of(counted.counts.instructions);
    has_jumps = has_jumps || !counted.counts.jumps.empty();
    if (path != kNoObject && !counted.counts.instructions.empty()) add_object(path, counted, name);
  }
  if (!has_jumps) {
    warn(fmt::format("{} has no jumps: valgrind counts them with --collect-jumps=yes",
                     printable(name)));
  }
  const auto others = file.objects.find(std::string(kNoObject));
  if (others != file.objects.end()) {
    imported_.elsewhere += place_others(others->second.counts, ranges_, objects_);
  }
  for (Object& object : objects_) {
    const Image image{ImageKind::file, object.path, padded_build_id(object.file.build_id)};
    const auto [known, is_new] = imported_.images.try_emplace(image, std::move(object.counts));
    if (!is_new) add(known->second, object.counts);
  }
}

}  // namespace

Imported import_callgrind(const std::vector<std::string>& files) {
  Importer importer;
  for (const std::string& file : files) importer.add_file(file);
  return importer.end();
}

}  // namespace causalctl::continuous
