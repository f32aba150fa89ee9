#include "controller/base/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/number.h"
#include "controller/base/printable.h"

namespace causalctl::procfs {
namespace {

std::optional<std::string> read_once(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  std::array<char, 16384> part{};
  ssize_t size = 0;
  while ((size = read(file.get(), part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  return size < 0 ? std::nullopt : std::optional(std::move(text));
}

std::string command_line(Pid pid) {
  constexpr std::size_t longest = 60;
  std::string text = read_once(fmt::format("/proc/{}/cmdline", pid)).value_or("");
  text.resize(std::min(text.size(), longest));
  std::replace(text.begin(), text.end(), '\0', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

[[noreturn]] void refuse_several(const std::string& name, const std::vector<Pid>& found,
                                 std::string_view way_to_all) {
  constexpr std::size_t most_listed = 8;
  std::vector<std::string> listed;
  std::pair<std::uint64_t, Pid> busiest;
  for (const Pid pid : found) {
    const auto stat = read_once(fmt::format("/proc/{}/stat", pid));
    busiest = std::max(busiest, std::pair(stat ? parse_user_ticks(*stat) : 0, pid));
    if (listed.size() < most_listed) {
      listed.push_back(fmt::format("{} ({})", pid, printable(command_line(pid))));
    }
  }
  throw UsageError(
      fmt::format("several processes are called {}: {}{}", printable(name), fmt::join(listed, ", "),
                  found.size() > listed.size()
                      ? fmt::format(" and {} others", found.size() - listed.size())
                      : ""),
      fmt::format("give the PID of the one that is meant; {} has used the most CPU time{}",
                  busiest.second, way_to_all));
}

}  // namespace

std::optional<std::string> read_text(const std::string& path) {
  auto text = read_once(path);
  if (!text && errno != ENOENT && errno != ESRCH && errno != EACCES) text = read_once(path);
  return text;
}

std::optional<long> read_number(const std::string& path) {
  const auto text = read_text(path);
  return text ? parse_number<long>(std::string_view(*text).substr(0, text->find('\n')))
              : std::nullopt;
}

bool exists(Pid pid) { return kill(pid, 0) == 0 || errno == EPERM; }

void throw_unreadable(Pid pid, std::string_view file) {
  const int error = errno;
  if (has_ended(pid)) {
    throw TargetGone(fmt::format("process {} is gone", pid), "see `ps -e` for those that run");
  }
  throw Error::from_errno(fmt::format("process {}: /proc/{}/{} cannot be read", pid, pid, file),
                          error, "is /proc mounted with hidepid, or a limit of files reached?");
}

std::optional<Status> status(Pid pid) {
  const auto text = read_text(fmt::format("/proc/{}/status", pid));
  if (!text || text->empty()) return std::nullopt;
  return parse_status(*text);
}

bool has_ended(Pid pid) {
  const auto now = status(pid);
  if (!now) return !exists(pid);
  return now->state == 'X' || (now->state == 'Z' && now->threads <= 1);
}

std::optional<Status> thread_status(Pid pid, Tid tid) {
  const auto text = read_text(fmt::format("/proc/{}/task/{}/status", pid, tid));
  if (!text || text->empty()) return std::nullopt;
  const Status status = parse_status(*text);
  // A thread whose signal state has been freed counts 0 threads and shows empty sets, although its
  // state may have been read as R before that (task_sig() of fs/proc/array.c).
  return status.threads > 0 ? std::optional(status) : std::nullopt;
}

std::optional<Nanoseconds> cpu_time(Pid pid, Tid tid) {
  const auto text = read_text(fmt::format("/proc/{}/task/{}/schedstat", pid, tid));
  if (!text || text->empty()) return std::nullopt;
  return parse_number<Nanoseconds>(std::string_view(*text).substr(0, text->find(' '))).value_or(0);
}

std::optional<std::vector<Map>> maps(Pid pid) {
  auto text = read_text(fmt::format("/proc/{}/maps", pid));
  if (text && text->empty()) {            // the main thread ended before the others (pthread_exit)
    for (const Tid tid : threads(pid)) {  // of which some may be ending
      const auto of_thread = read_text(fmt::format("/proc/{}/task/{}/maps", pid, tid));
      if (of_thread && !of_thread->empty()) {
        text = of_thread;
        break;
      }
    }
  }
  if (!text) return std::nullopt;
  return parse_maps(*text);
}

std::vector<Pid> processes() {
  std::vector<Pid> pids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc"), closedir);
  while (const dirent* entry = directory ? readdir(directory.get()) : nullptr) {
    const Pid pid = parse_number<Pid>(entry->d_name).value_or(0);
    if (pid > 0) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

std::vector<Tid> threads(Pid pid) {
  std::vector<Tid> tids;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(
      opendir(fmt::format("/proc/{}/task", pid).c_str()), closedir);
  if (!directory) return tids;
  while (const dirent* entry = readdir(directory.get())) {
    const Tid tid = parse_number<Tid>(entry->d_name).value_or(0);
    if (tid > 0) tids.push_back(tid);
  }
  std::sort(tids.begin(), tids.end());
  return tids;
}

bool is_kernel_worker(Pid pid, Tid tid) {
  if (tid == pid) return false;
  const auto stat = thread_stat(pid, tid);
  return stat && is_kernel_worker(pid, *stat);
}

bool is_kernel_worker(Pid pid, std::string_view stat_of_thread) {
  if (!parse_is_kernel_worker(stat_of_thread, "")) return false;  // true of nearly all threads
  const auto first = read_text(fmt::format("/proc/{}/stat", pid));
  return parse_is_kernel_worker(stat_of_thread, first.value_or(""));
}

std::optional<std::string> thread_stat(Pid pid, Tid tid) {
  return read_text(fmt::format("/proc/{}/task/{}/stat", pid, tid));
}

std::uint64_t auxiliary(Pid pid, std::uint64_t type) {
  const auto auxv = read_text(fmt::format("/proc/{}/auxv", pid));
  return auxv ? parse_auxiliary(*auxv, type) : 0;
}

Address entry_point(Pid pid) { return auxiliary(pid, AT_ENTRY); }

bool has_children(Pid pid, Tid tid) {
  const auto children = read_text(fmt::format("/proc/{}/task/{}/children", pid, tid));
  return children && !children->empty();
}

std::vector<Pid> descendants(Pid ancestor) {
  std::multimap<Pid, Pid> children;
  for (const Pid pid : processes()) {
    const auto stat = read_text(fmt::format("/proc/{}/stat", pid));
    if (stat) children.emplace(parse_parent(*stat), pid);
  }
  std::vector<Pid> found;
  std::vector<Pid> to_visit = {ancestor};
  while (!to_visit.empty()) {
    const auto [first, last] = children.equal_range(to_visit.back());
    to_visit.pop_back();
    for (auto child = first; child != last; ++child) {
      found.push_back(child->second);
      to_visit.push_back(child->second);
    }
  }
  return found;
}

namespace {

// The kernel cuts a name. Of a longer one, a word of the command line tells the rest.
bool is_called(Pid pid, const std::string& name) {
  constexpr std::size_t kLongestComm = 15;
  if (base_name(executable(pid)) == name) return true;
  const auto comm = read_text(fmt::format("/proc/{}/comm", pid));
  if (comm != name.substr(0, kLongestComm) + "\n") return false;
  if (name.size() <= kLongestComm) return true;
  const std::vector<std::string> words = words_of(pid);
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return base_name(word) == name; });
}

}  // namespace

Pid find_process(const std::string& name, std::string_view way_to_all) {
  std::vector<Pid> found;
  for (const Pid pid : processes()) {
    if (pid != getpid() && is_called(pid, name) && !has_ended(pid)) found.push_back(pid);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    throw UsageError("no process is called " + printable(name),
                     "see `ps`, or give the PID; only run and callpath start a program, after --");
  }
  refuse_several(name, found, way_to_all);
}

std::vector<std::string> words_of(Pid pid) {
  const auto text = read_text(fmt::format("/proc/{}/cmdline", pid)).value_or("");
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size(); at += words.back().size() + 1) {
    words.emplace_back(text.c_str() + at);
  }
  return words;
}

std::string executable(Pid pid) {
  std::string path(PATH_MAX, '\0');
  const auto read_link = [&path](const std::string& link) {
    const auto length = readlink(link.c_str(), path.data(), path.size());
    return length > 0 ? static_cast<std::size_t>(length) : 0;
  };
  std::size_t length = read_link(fmt::format("/proc/{}/exe", pid));
  if (length == 0) {  // its first thread may have ended while others go on
    for (const Tid tid : threads(pid)) {
      length = read_link(fmt::format("/proc/{}/task/{}/exe", pid, tid));
      if (length > 0) break;
    }
  }
  path.resize(length);
  path.resize(without_deleted(path).size());
  return path;
}

bool in_other_namespace(Pid pid, const char* name) {
  std::error_code error;
  const auto ours = std::filesystem::read_symlink(fmt::format("/proc/self/ns/{}", name), error);
  if (error) return false;
  const auto theirs =
      std::filesystem::read_symlink(fmt::format("/proc/{}/ns/{}", pid, name), error);
  return !error && ours != theirs;
}

bool has_capability(int capability) {
  const auto own = status(getpid());
  return own && ((own->capabilities >> static_cast<unsigned>(capability)) & 1U) != 0;
}

}  // namespace causalctl::procfs
