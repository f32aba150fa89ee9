// Runs a variant of symbols_target (or a program with the same protocol) and kills it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "unwind/stack/registers.h"

namespace causalctl::unwind {

struct MarkSeen {
  unsigned long id = 0;
  Address address = 0;
  int line = 0;
};

class TargetProgram {
 public:
  // Returns when it is ready, and throws if it is not within ten seconds.
  explicit TargetProgram(const std::string& path);
  ~TargetProgram();
  TargetProgram(const TargetProgram&) = delete;
  TargetProgram& operator=(const TargetProgram&) = delete;

  Pid pid() const { return pid_; }
  const std::vector<MarkSeen>& marks() const { return marks_; }
  MarkSeen mark(unsigned long id) const;  // returns the first one with this id
  Address entry(const std::string& name) const;

  void send(const std::string& line);
  std::string receive();  // returns the next line; throws after ten seconds without one

 private:
  Pid pid_ = 0;
  Fd to_;
  Fd from_;
  std::string buffer_;
  std::vector<MarkSeen> marks_;
  std::map<std::string, Address> entries_;
};

struct Snapshot {
  Registers registers;
  std::vector<std::byte> stack;
};

// Returns registers and stack of the stopped process, as a perf sample would copy them: at most so
// many bytes, and none beyond the stack. The process continues afterwards.
Snapshot snapshot(Pid pid, std::size_t stack_bytes);

std::string target_path(const std::string& name);  // in tests/targets of the build directory

// A directory that is removed with its content.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void run_command(const std::string& command);  // runs in the shell; throws if it fails

// Makes a copy of symbols_dwarf5 by objcopy with these options, in a directory of its own.
std::string stripped_copy(const TemporaryDirectory& directory, const std::string& options);

}  // namespace causalctl::unwind
