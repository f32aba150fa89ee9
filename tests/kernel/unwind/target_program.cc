#include "tests/kernel/unwind/target_program.h"

#include <asm/perf_regs.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "unwind/modules/target_memory.h"

namespace causalctl::unwind {
namespace {
constexpr int kPatienceMs = 10'000;
}

TargetProgram::TargetProgram(const std::string& path) {
  int input[2];
  int output[2];
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) {
    throw std::runtime_error("pipe2");
  }
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(input[0], 0);
    dup2(output[1], 1);
    execl(path.c_str(), path.c_str(), nullptr);
    _exit(127);
  }
  close(input[0]);
  close(output[1]);
  to_ = Fd(input[1]);
  from_ = Fd(output[0]);
  for (std::string line = receive(); line != "ready"; line = receive()) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "mark") {
      MarkSeen mark;
      words >> mark.id >> std::hex >> mark.address >> std::dec >> mark.line;
      marks_.push_back(mark);
    } else if (kind == "entry") {
      std::string name;
      words >> name >> std::hex >> entries_[name];
    }
  }
}

TargetProgram::~TargetProgram() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

MarkSeen TargetProgram::mark(unsigned long id) const {
  for (const MarkSeen& each : marks_) {
    if (each.id == id) return each;
  }
  throw std::runtime_error("no mark " + std::to_string(id));
}

Address TargetProgram::entry(const std::string& name) const { return entries_.at(name); }

void TargetProgram::send(const std::string& line) {
  const std::string text = line + "\n";
  if (write(to_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("the target does not listen");
  }
}

std::string TargetProgram::receive() {
  for (;;) {
    const auto end = buffer_.find('\n');
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    pollfd waiting{from_.get(), POLLIN, 0};
    std::array<char, 4096> bytes;
    const ssize_t got =
        poll(&waiting, 1, kPatienceMs) == 1 ? read(from_.get(), bytes.data(), bytes.size()) : -1;
    if (got <= 0) throw std::runtime_error("the target says nothing");
    buffer_.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

Snapshot snapshot(Pid pid, std::size_t stack_bytes) {
  REQUIRE(ptrace(PTRACE_SEIZE, pid, 0, 0) == 0);
  REQUIRE(ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0);
  REQUIRE(waitpid(pid, nullptr, __WALL) == pid);
  user_regs_struct user{};
  REQUIRE(ptrace(PTRACE_GETREGS, pid, 0, &user) == 0);
  Snapshot result;
  auto& values = result.registers.values;
  values[PERF_REG_X86_AX] = user.rax;
  values[PERF_REG_X86_BX] = user.rbx;
  values[PERF_REG_X86_CX] = user.rcx;
  values[PERF_REG_X86_DX] = user.rdx;
  values[PERF_REG_X86_SI] = user.rsi;
  values[PERF_REG_X86_DI] = user.rdi;
  values[PERF_REG_X86_BP] = user.rbp;
  values[PERF_REG_X86_SP] = user.rsp;
  values[PERF_REG_X86_IP] = user.rip;
  values[PERF_REG_X86_R8] = user.r8;
  values[PERF_REG_X86_R9] = user.r9;
  values[PERF_REG_X86_R10] = user.r10;
  values[PERF_REG_X86_R11] = user.r11;
  values[PERF_REG_X86_R12] = user.r12;
  values[PERF_REG_X86_R13] = user.r13;
  values[PERF_REG_X86_R14] = user.r14;
  values[PERF_REG_X86_R15] = user.r15;
  result.stack.resize(stack_bytes);
  result.stack.resize(read_target_until_gap(pid, user.rsp, result.stack));
  REQUIRE_FALSE(result.stack.empty());
  REQUIRE(ptrace(PTRACE_DETACH, pid, 0, 0) == 0);
  return result;
}

std::string target_path(const std::string& name) {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "targets";
  return (std::filesystem::canonical(beside) / name).string();
}

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = (std::filesystem::temp_directory_path() / "causalctl-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = pattern;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void run_command(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

std::string stripped_copy(const TemporaryDirectory& directory, const std::string& options) {
  std::string copy = directory.path() + "/program";
  run_command("objcopy " + options + " " + target_path("symbols_dwarf5") + " " + copy);
  return copy;
}

}  // namespace causalctl::unwind
