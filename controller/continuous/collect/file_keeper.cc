#include "controller/continuous/collect/file_keeper.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/whole_file.h"
#include "controller/continuous/record/kept_file.h"

namespace causalctl::continuous {
namespace {

constexpr std::uint64_t kSamplesToKeep = 20;
constexpr std::size_t kMostWaiting = 20'000;
constexpr Nanoseconds kKeepAgain = 60 * kSecond;  // after a file could not be kept

}  // namespace

unwind::ModuleFile open_mapped(Pid process, Address begin, const MappedCode& code) {
  unwind::MappedFile file;
  file.path = code.path;
  file.device = code.device;
  file.inode = code.inode;
  file.start = file.first.start = begin;
  file.end = file.first.end = code.end;
  file.first_offset = code.offset;
  return unwind::open_module_file(process, file);
}

void FileKeeper::add(std::vector<NewFile> files) {
  for (NewFile& file : files) {
    if (waiting_.size() == kMostWaiting) waiting_.clear();
    const Image image = file.image;
    waiting_.try_emplace(image, Waiting{std::move(file)});
  }
}

void FileKeeper::count(const Profile& profile) {
  for (const auto& [key, counts] : profile) {
    const auto waiting = waiting_.find(key.image);
    if (waiting == waiting_.end()) continue;
    waiting->second.samples += sum_of(counts).samples;
    if (waiting->second.samples < kSamplesToKeep) continue;
    ready_.push_back(std::move(waiting->second.file));
    waiting_.erase(waiting);
  }
}

bool FileKeeper::keep_next(Database& database, std::uint64_t most_bytes) {
  if (ready_.empty() || monotonic_now() < again_ns_) return false;
  again_ns_ = monotonic_now() + kKeepAgain;  // if it throws
  const NewFile& next = ready_.front();
  if (!database.has_kept(next.image)) {
    const unwind::ModuleFile file = open_mapped(next.process, next.begin, next.code);
    const bool is_same = padded_build_id(file.build_id) == next.image.build_id;
    const std::string bytes =
        is_same ? without_debug_information(read_whole(file.fd, kLargestKeptFile).value_or(""))
                : std::string();
    if (!bytes.empty()) database.keep(next.image, bytes, most_bytes);
  }
  again_ns_ = 0;
  kept_.push_back(std::move(ready_.front()));
  ready_.pop_front();
  if (kept_.size() > kMostWaiting) kept_.pop_front();
  return true;
}

void FileKeeper::keep_again() {
  std::move(kept_.begin(), kept_.end(), std::back_inserter(ready_));
  kept_.clear();
}

}  // namespace causalctl::continuous
