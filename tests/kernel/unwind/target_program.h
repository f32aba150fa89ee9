// Runs a symbols_target variant (or what speaks as it does) and kills it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl::unwind {

struct MarkSeen {
  unsigned long id = 0;
  Address address = 0;
  int line = 0;
};

class TargetProgram {
 public:
  // Returns when it is ready; throws when it is not within ten seconds.
  explicit TargetProgram(const std::string& path);
  ~TargetProgram();
  TargetProgram(const TargetProgram&) = delete;
  TargetProgram& operator=(const TargetProgram&) = delete;

  Pid pid() const { return pid_; }
  const std::vector<MarkSeen>& marks() const { return marks_; }
  MarkSeen mark(unsigned long id) const;  // the first of this id
  Address entry(const std::string& name) const;

  void send(const std::string& line);
  std::string receive();  // the next line; throws after ten seconds without one

 private:
  Pid pid_ = 0;
  Fd to_;
  Fd from_;
  std::string buffer_;
  std::vector<MarkSeen> marks_;
  std::map<std::string, Address> entries_;
};

std::string target_path(const std::string& name);  // tests/targets in the build directory

// A directory that is removed with all that is in it.
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

void run_command(const std::string& command);  // by the shell; throws unless it succeeds

// A copy of symbols_dwarf5 that objcopy made with these options, in a directory of its own.
std::string stripped_copy(const TemporaryDirectory& directory, const std::string& options);

}  // namespace causalctl::unwind
