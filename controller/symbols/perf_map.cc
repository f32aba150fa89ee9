#include "controller/symbols/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "controller/base/clock.h"
#include "controller/base/log.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"
#include "controller/base/procfs.h"
#include "controller/base/regular_file.h"
#include "controller/symbols/scope.h"

namespace causalctl::symbols {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMostFunctions = 1'000'000;
constexpr std::uint64_t kLargestFunction = 1ULL << 30;
constexpr std::uint64_t kEndOfUserSpace = 1ULL << 47;
constexpr std::uint64_t kLargestFile = 256ULL << 20;
constexpr std::size_t kPiece = 64 << 10;  // parsed within a millisecond or two
constexpr std::size_t kMostTold = 100'000;
constexpr Nanoseconds kLookEvery = kSecond;
constexpr Nanoseconds kClockSlack = 2 * kSecond;  // clocks are set, ticks are coarse
constexpr long kFuse = 0x65735546;                // FUSE_SUPER_MAGIC of statfs(2)

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_number<std::uint64_t>(text, 16);
}

// Returns the text up to the next blank, and takes both off `line`.
std::string_view word(std::string_view& line) {
  const auto blank = line.find(' ');
  const std::string_view first = line.substr(0, blank);
  line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
  return first;
}

// Returns the target's pid as it is in its own pid namespace, the last of the line "NSpid: …".
std::optional<Pid> own_pid(Pid target) {
  const auto status = procfs::read_text(fmt::format("/proc/{}/status", target));
  if (!status) return std::nullopt;
  constexpr std::string_view kKey = "\nNSpid:";
  const auto at = status->find(kKey);
  if (at == std::string::npos) return target;
  std::string_view line = std::string_view(*status).substr(at + kKey.size());
  line = line.substr(0, line.find('\n'));
  return parse_number<Pid>(line.substr(line.find_last_of(" \t") + 1));
}

Fd look_below(int directory, const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how)));
}

bool may_be_read(int fd, uid_t user) {
  struct stat status {};
  struct statfs system {};
  return ::fstat(fd, &status) == 0 && (status.st_uid == user || status.st_uid == 0) &&
         ::fstatfs(fd, &system) == 0 && static_cast<long>(system.f_type) != kFuse;
}

}  // namespace

void PerfMap::add(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view piece = text.substr(0, end);
    if (rest_.size() + piece.size() > kLongestLine) {
      skips_line_ = true;
      rest_.clear();
    }
    if (!skips_line_) rest_ += piece;
    if (end == std::string_view::npos) return;
    if (rest_.ends_with('\r')) rest_.pop_back();
    if (!skips_line_) add_line(rest_);
    rest_.clear();
    skips_line_ = false;
    text.remove_prefix(end + 1);
  }
}

void PerfMap::add_line(std::string_view line) {
  const auto start = hexadecimal(word(line));
  const auto size = hexadecimal(word(line));
  const bool good = start && size && *size > 0 && *size <= kLargestFunction &&
                    *start < kEndOfUserSpace && !line.empty();
  if (!good) return;
  insert({*start, *start + *size, printable(cut_to(std::string(line), kLongestName))});
}

// What the new function overlaps is gone, as a whole: its memory is used for something else.
void PerfMap::insert(Function function) {
  auto next = by_start_.lower_bound(function.start);
  if (next != by_start_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end > function.start) next = before;
  }
  while (next != by_start_.end() && next->second.start < function.end) next = by_start_.erase(next);
  if (by_start_.size() >= kMostFunctions) return;
  const Address start = function.start;
  by_start_.emplace_hint(next, start, std::move(function));
}

const PerfMap::Function* PerfMap::find(Address address) const {
  const auto next = by_start_.upper_bound(address);
  if (next == by_start_.begin()) return nullptr;
  const Function& function = std::prev(next)->second;
  return address < function.end ? &function : nullptr;
}

bool is_runtime_stub(std::string_view name) {
  constexpr std::array<std::string_view, 6> kStubs = {
      "Builtin:", "BytecodeHandler:", "Stub:", "Interpreter", "StubRoutines", "RuntimeStub - "};
  return std::any_of(kStubs.begin(), kStubs.end(),
                     [&](std::string_view stub) { return name.starts_with(stub); });
}

bool PerfMapFile::is_older_than_target(int file) {
  struct stat status {};
  const auto stat = procfs::read_text(fmt::format("/proc/{}/stat", target_));
  const auto began_ticks = stat ? procfs::parse_start_ticks(*stat) : 0;
  if (began_ticks == 0 || ::fstat(file, &status) != 0) return false;
  timespec since_boot{};
  ::clock_gettime(CLOCK_BOOTTIME, &since_boot);
  const Nanoseconds began_ns =
      static_cast<Nanoseconds>(began_ticks) * (kSecond / ::sysconf(_SC_CLK_TCK));
  const Nanoseconds age_ns = since_boot.tv_sec * kSecond + since_boot.tv_nsec - began_ns;
  const Nanoseconds written_ns = status.st_mtim.tv_sec * kSecond + status.st_mtim.tv_nsec;
  return written_ns < realtime_now() - age_ns - kClockSlack;
}

bool PerfMapFile::open() {
  const auto status = procfs::status(target_);
  const auto pid = own_pid(target_);
  if (!status || !pid) return false;
  const Fd root(
      ::open(fmt::format("/proc/{}/root", target_).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root) return false;
  const std::string path = fmt::format("tmp/perf-{}.map", *pid);
  const Fd place = look_below(root.get(), path);
  if (!place || !may_be_read(place.get(), status->uid)) return false;
  Fd file = open_regular(place);
  if (!file) return false;
  if (is_older_than_target(file.get())) {
    if (unused_.empty()) {
      unused_ = fmt::format("/{} is older than process {}, so its names are not used; remove it",
                            path, target_);
      log::note("warning: {}", unused_);
    }
    return false;
  }
  unused_.clear();
  file_ = std::move(file);
  return true;
}

bool PerfMapFile::read_on() {
  if (!file_ && !open()) return false;
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) return false;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (status.st_nlink == 0 || size < read_) {  // it was replaced, or written anew
    file_ = Fd();
    read_ = 0;
    map_ = PerfMap();
    if (!open()) return false;
  }
  if (read_ >= kLargestFile) return false;
  std::array<char, kPiece> piece{};
  const ssize_t count = ::pread(file_.get(), piece.data(), piece.size(), static_cast<off_t>(read_));
  if (count <= 0) return false;
  map_.add({piece.data(), static_cast<std::size_t>(count)});
  read_ += static_cast<std::uint64_t>(count);
  return true;
}

WithPerfMap::WithPerfMap(std::unique_ptr<LocationSource> others, Pid target,
                         const config::Scope& scope)
    : others_(std::move(others)), file_(target) {
  unwind::Module code;
  code.path = kCompiledCode;
  in_scope_ = scope.is_default() || module_in_scope(code, scope);
}

Location WithPerfMap::named(Address address) {
  Location location{.address = address, .module = {}};
  const PerfMap::Function* function = file_.map().find(address);
  if (told_.size() < kMostTold) told_[address] = function == nullptr ? "" : function->name;
  if (function == nullptr) return location;
  location.module = kCompiledCode;
  if (!in_scope_ || is_runtime_stub(function->name)) return location;
  unwind::Frame frame;
  frame.function = function->name;
  frame.entry = function->start;
  location.frames = {frame};
  return location;
}

void WithPerfMap::read_map() {
  const Nanoseconds now_ns = monotonic_now();
  if (!more_ && now_ns - looked_at_ns_ < kLookEvery) return;
  looked_at_ns_ = now_ns;
  more_ = file_.read_on();
  grown_ = grown_ || more_;
}

std::vector<Location> WithPerfMap::answers() {
  std::vector<Location> all = others_->answers();
  for (Location& location : all) {
    if (location.module.empty()) location = named(location.address);
  }
  if (told_.empty()) return all;  // the target has no such code
  read_map();
  if (more_ || !std::exchange(grown_, false)) return all;
  for (auto& [address, name] : told_) {
    const PerfMap::Function* function = file_.map().find(address);
    if (function != nullptr && function->name != name) all.push_back(named(address));
  }
  return all;
}

std::optional<Location> WithPerfMap::answer_now(Address address) {
  std::optional<Location> location = others_->answer_now(address);
  if (location && location->module.empty()) location = named(address);
  return location;
}

}  // namespace causalctl::symbols
