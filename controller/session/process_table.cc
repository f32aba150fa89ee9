#include "controller/session/process_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/base/procfs.h"

namespace causalctl::session {
namespace {

constexpr std::size_t kUsualProcText = 4096;
// /proc/PID/cgroup has a path of up to 4096 bytes for each of some ten hierarchies.
constexpr std::size_t kLongestProcText = std::size_t{1} << 20U;
constexpr unsigned long kKernelThreadFlag = 0x00200000;  // PF_KTHREAD of <linux/sched.h>

// Fields of /proc/PID/stat, counted from the state on, which is the third one in proc(5).
constexpr std::size_t kStateField = 0;
constexpr std::size_t kParentField = 1;
constexpr std::size_t kFlagsField = 6;
constexpr std::size_t kThreadsField = 17;
constexpr std::size_t kStartField = 19;

std::string_view next_field(std::string_view& text) {
  const auto field = text.substr(0, text.find_first_of(" \n"));
  text.remove_prefix(std::min(field.size() + 1, text.size()));
  return field;
}

}  // namespace

std::optional<ProcessRow> parse_row(std::string_view stat) {
  // The name stands in parentheses and may contain any text, even parentheses.
  const auto name_begin = stat.find(" (");
  const auto name_end = stat.rfind(") ");
  if (name_begin == stat.npos || name_end == stat.npos || name_end < name_begin) {
    return std::nullopt;
  }
  std::array<std::string_view, kStartField + 1> fields;
  std::string_view rest = stat.substr(name_end + 2);
  for (auto& field : fields) field = next_field(rest);
  const auto pid = parse_number<Pid>(stat.substr(0, name_begin));
  const auto parent = parse_number<Pid>(fields[kParentField]);
  const auto flags = parse_number<unsigned long>(fields[kFlagsField]);
  const auto threads = parse_number<long>(fields[kThreadsField]);
  const auto start = parse_number<std::uint64_t>(fields[kStartField]);
  if (!pid || !parent || !flags || !threads || !start) return std::nullopt;
  ProcessRow row;
  row.pid = *pid;
  row.parent = *parent;
  row.name = stat.substr(name_begin + 2, name_end - name_begin - 2);
  row.start_ticks = *start;
  const std::string_view state = fields[kStateField];
  row.has_ended = state == "X" || (state == "Z" && *threads <= 1);
  row.is_kernel_thread = (*flags & kKernelThreadFlag) != 0;
  return row;
}

bool parse_has_memory(std::string_view statm) { return !statm.empty() && !statm.starts_with("0 "); }

ProcFolder::ProcFolder() : folder_(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!folder_) throw Error::from_errno("open(/proc)", errno);
}

std::string_view ProcFolder::text_of(Pid pid, const char* file) {
  const std::string path = fmt::format("{}/{}", pid, file);
  const Fd opened(::openat(folder_.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return {};
  text_.resize(std::max(text_.size(), kUsualProcText));
  std::size_t size = 0;
  for (;;) {
    const ssize_t read = ::read(opened.get(), text_.data() + size, text_.size() - size);
    size += read > 0 ? static_cast<std::size_t>(read) : 0;
    // Short files, which are nearly all, come whole with one call.
    if (size < text_.size()) return std::string_view(text_).substr(0, size);
    if (size >= kLongestProcText) {
      throw Error(fmt::format("/proc/{} is longer than {} bytes", path, kLongestProcText),
                  "please report it, with the length of that file");
    }
    text_.resize(2 * size);
  }
}

std::optional<ProcessRow> ProcFolder::row(Pid pid) { return parse_row(text_of(pid, "stat")); }

std::vector<ProcessRow> ProcFolder::rows() {
  std::vector<ProcessRow> rows;
  for (const Pid pid : procfs::processes()) {
    if (auto found = row(pid)) rows.push_back(std::move(*found));
  }
  return rows;
}

bool ProcFolder::runs_program(Pid pid) {
  if (parse_has_memory(text_of(pid, "statm"))) return true;
  const auto found = row(pid);  // its first thread may have ended while others go on
  return found && found->runs_program();
}

std::vector<ProcEntry> proc_entries() {
  std::vector<ProcEntry> entries;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const Pid pid = parse_number<Pid>(entry->d_name).value_or(0);
    if (pid > 0) entries.push_back({pid, entry->d_ino});
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

}  // namespace causalctl::session
