#include "unwind/modules/modules.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/base/procfs.h"
#include "controller/base/regular_file.h"
#include "unwind/modules/debug_file_search.h"
#include "unwind/modules/target_file.h"
#include "unwind/modules/vdso.h"

namespace causalctl::unwind {
namespace {

int open_vdso(LoadedModule& module, Elf** elf) {
  module.image = vdso_bytes(module.target, module.file);
  if (module.image.empty()) return -1;
  *elf = elf_memory(reinterpret_cast<char*>(module.image.data()), module.image.size());
  return -1;  // without a descriptor libdwfl takes *elf
}

// libdwfl calls it at the first look-up in a module, and owns what it returns.
int find_elf(Dwfl_Module*, void** user_data, const char*, Dwarf_Addr, char** file_name, Elf** elf) {
  *elf = nullptr;
  auto* module = static_cast<LoadedModule*>(*user_data);
  if (module == nullptr) return -1;
  const bool in_file = !module->host_path.empty();
  if (module->file.path == kVdso && !in_file) return open_vdso(*module, elf);
  if (in_file) {
    *file_name = ::strdup(module->file.path.c_str());
    return open_regular(module->host_path).release();
  }
  OpenedFile opened = open_mapped_file(module->target, module->file);
  if (!opened.fd) return -1;
  *file_name = ::strdup(opened.path.c_str());
  return opened.fd.release();
}

// debuginfod waits up to 90 s for each file by default, which is too long for a user at a terminal.
void bound_debuginfod() {
  if (::getenv("DEBUGINFOD_URLS") == nullptr) return;
  ::setenv("DEBUGINFOD_TIMEOUT", "5", 0);
  ::setenv("DEBUGINFOD_MAXTIME", "60", 0);
  // With retries a silent server would cost three times that.
  ::setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
}

// What this process has waited for answers of debuginfod that brought nothing.
std::atomic<Nanoseconds> waited_in_vain_ns{0};

// Returns whether the binary's own debug file is searched, not what that refers to (dwz).
bool is_own_file(Dwfl_Module* module, const char* link) {
  GElf_Addr bias = 0;
  GElf_Word checksum = 0;
  Elf* binary = dwfl_module_getelf(module, &bias);
  const char* own = binary != nullptr ? dwelf_elf_gnu_debuglink(binary, &checksum) : nullptr;
  return link == nullptr || (own != nullptr && std::strcmp(own, link) == 0);
}

std::vector<std::string> debug_directories(Pid target) {
  std::vector<std::string> directories = {"", ".debug", "/usr/lib/debug"};
  if (target != 0) directories.push_back(fmt::format("/proc/{}/root/usr/lib/debug", target));
  const char* more = ::getenv("CAUSALCTL_DEBUG_PATH");
  if (more == nullptr) return directories;
  for (std::string_view rest = more; !rest.empty();) {
    const auto end = std::min(rest.find(':'), rest.size());
    directories.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return directories;
}

// libdwfl asks debuginfod last. A server that has let one request time out would let all time out,
// and one that is slow to say that it has nothing would be slow for each library: neither is asked
// again in this process. For that libdebuginfod must find no URL.
int find_debuginfo(Dwfl_Module* module, void** user_data, const char* name, Dwarf_Addr base,
                   const char* file, const char* link, GElf_Word checksum, char** found) {
  const auto* loaded = static_cast<LoadedModule*>(*user_data);
  FoundDebugFile own;
  if (loaded != nullptr && file != nullptr && is_own_file(module, link)) {
    GElf_Addr bias = 0;
    own = find_debug_file(dwfl_module_getelf(module, &bias), loaded->file.path, file,
                          {link, checksum}, debug_directories(loaded->target));
    if (own.fd) *found = ::strdup(own.path.c_str());
    if (own.fd || own.rejected) return own.fd.release();
  }
  const char* urls = ::getenv("DEBUGINFOD_URLS");
  const char* timeout = ::getenv("DEBUGINFOD_TIMEOUT");
  const Nanoseconds begin_ns = monotonic_now();
  const int fd =
      dwfl_standard_find_debuginfo(module, user_data, name, base, file, link, checksum, found);
  if (fd < 0 && !own.other_build.empty()) tell_once(own.other_build);
  if (fd >= 0 || urls == nullptr || *urls == 0 || timeout == nullptr) return fd;
  const Nanoseconds timeout_ns = std::atoi(timeout) * kSecond;
  const Nanoseconds took_ns = monotonic_now() - begin_ns;
  waited_in_vain_ns += took_ns;
  const bool silent = 10 * took_ns >= 9 * timeout_ns;
  if (timeout_ns <= 0 || (!silent && waited_in_vain_ns < 2 * timeout_ns)) return fd;
  log::note("warning: the debuginfod server {}, and is not asked again in this run ({})",
            silent ? fmt::format("did not answer within {} s", timeout_ns / kSecond)
                   : fmt::format("took {} s to answer that it has no file of this program",
                                 waited_in_vain_ns / kSecond),
            urls);
  ::unsetenv("DEBUGINFOD_URLS");
  return fd;
}

[[noreturn]] void throw_unreadable(Pid target) {
  const std::string path = fmt::format("/proc/{}/maps", target);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && (errno == EACCES || errno == EPERM)) {
    throw Error::from_errno(fmt::format("open({})", path), errno,
                            "run as the target's user or as root (CAP_SYS_PTRACE)");
  }
  procfs::throw_unreadable(target, "maps");
}

}  // namespace

Modules::Modules(Pid target) : target_(target), followed_(target) {
  auto files = followed_.take(procfs::maps(target).value_or(std::vector<procfs::Map>()));
  if (files.empty()) throw_unreadable(target);
  begin_session();
  report(std::move(files), {});
}

Modules::Modules(const std::string& file, const std::string& name) : followed_(0) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    throw Error::from_errno(fmt::format("stat({})", file), errno);
  }
  MappedFile mapped;
  mapped.path = name.empty() ? file : name;
  mapped.start = 0x10000000;
  mapped.link_start = mapped.start;
  mapped.end = mapped.start + static_cast<Address>(status.st_size) + (1U << 20U);
  mapped.main = true;
  mapped.code = {{mapped.start, mapped.end}};
  begin_session();
  report({mapped}, file);
}

Modules::~Modules() {
  if (dwfl_ != nullptr) dwfl_end(dwfl_);
}

void Modules::begin_session() {
  bound_debuginfod();
  debug_path_ = fmt::format("{}", fmt::join(debug_directories(target_), ":"));
  debug_path_text_ = debug_path_.data();
  callbacks_.find_elf = find_elf;
  callbacks_.find_debuginfo = find_debuginfo;
  callbacks_.section_address = dwfl_offline_section_address;
  callbacks_.debuginfo_path = &debug_path_text_;
  dwfl_ = dwfl_begin(&callbacks_);
  if (dwfl_ == nullptr) throw Error(fmt::format("dwfl_begin: {}", dwfl_errmsg(-1)));
}

void Modules::refresh() {
  if (target_ == 0) return;
  if (auto maps = procfs::maps(target_)) refresh(std::move(*maps));
}

void Modules::refresh(std::vector<procfs::Map> maps) {
  if (auto files = followed_.take(std::move(maps)); !files.empty()) report(std::move(files), {});
}

void Modules::mapped(const procfs::Map& line) {
  if (auto files = followed_.mapped(line); !files.empty()) report(std::move(files), {});
}

void Modules::unmap_all() {
  followed_.unmap_all();
  report({}, {});
}

void Modules::report(std::vector<MappedFile> files, const std::string& host_path) {
  std::vector<std::unique_ptr<LoadedModule>> kept = std::move(modules_);
  modules_.clear();
  dwfl_report_begin(dwfl_);
  for (MappedFile& file : files) {
    const auto old = std::find_if(kept.begin(), kept.end(), [&](const auto& each) {
      return each != nullptr && each->file.path == file.path && each->file.inode == file.inode &&
             each->file.device == file.device && each->file.link_start == file.link_start &&
             each->file.start == file.start && each->file.end == file.end;
    });
    auto module = old != kept.end() ? std::move(*old) : std::make_unique<LoadedModule>();
    // libdwfl takes a module with the same name and range for the same one. The inode in the name
    // tells a file that was replaced and loaded again at the same place.
    const std::string name = fmt::format("{}#{:x}.{}", file.path, file.device, file.inode);
    module->dwfl = dwfl_report_module(dwfl_, name.c_str(), file.link_start, file.end);
    if (module->dwfl == nullptr) continue;
    if (module->serial == 0) module->serial = ++last_serial_;
    module->target = target_;
    module->host_path = host_path;
    module->file = std::move(file);
    void** user_data = nullptr;
    dwfl_module_info(module->dwfl, &user_data, nullptr, nullptr, nullptr, nullptr, nullptr,
                     nullptr);
    *user_data = module.get();
    modules_.push_back(std::move(module));
  }
  // Frees the modules that were not reported again. `kept`, which they borrow, must live until
  // then.
  if (dwfl_report_end(dwfl_, nullptr, nullptr) != 0) {
    throw Error(fmt::format("dwfl_report_end: {}", dwfl_errmsg(-1)));
  }
}

LoadedModule* Modules::at(Address address) const {
  const auto after = std::upper_bound(
      modules_.begin(), modules_.end(), address,
      [](Address wanted, const auto& module) { return wanted < module->file.start; });
  if (after == modules_.begin()) return nullptr;
  LoadedModule* module = std::prev(after)->get();
  return address < module->file.end ? module : nullptr;
}

}  // namespace causalctl::unwind
