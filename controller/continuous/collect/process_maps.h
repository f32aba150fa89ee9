// Which files the processes of a recording have mapped, with code, by the records of the kernel.
//
// Samples are counted by address, without their times, so what was mapped at any time since the
// last drain is known until the next one: the mappings of a process that has ended or executed
// another program meanwhile, too. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"
#include "controller/perf/events.h"

namespace causalctl::continuous {

struct MappedCode {
  Address end = 0;
  std::uint64_t offset = 0;  // of its beginning in the file
  std::string path;          // empty if there is no file; "[vdso]" and so on
  std::uint64_t device = 0;  // its major number in the upper 32 bits
  std::uint64_t inode = 0;
};

class ProcessMaps {
 public:
  // Takes the mappings of a process as /proc tells them; records of the same ones may follow.
  void take(Pid process, const std::vector<procfs::Map>& maps);
  void take(const perf::Event& event);  // in the order of time
  void set_name(Pid process, std::string name) { processes_[process].name = std::move(name); }

  // Returns the mapping of code at the address, and where it begins; null if there was none.
  struct Found {
    const MappedCode* code = nullptr;
    Address begin = 0;
  };
  Found find(Pid process, Address address) const;
  // The same in the program that the process ran before an exec since the last forget_ended().
  Found find_earlier(Pid process, Address address) const;
  bool knows(Pid process) const { return processes_.contains(process); }
  const std::string& name(Pid process) const;  // of its program; empty if it is not known
  // Forgets processes that have ended, or of whose threads no event has told, and earlier programs.
  void forget_ended();
  std::size_t size() const { return processes_.size(); }

 private:
  using Code = std::map<Address, MappedCode>;  // by beginning
  struct Process {
    Code code;
    Code before;  // of an earlier program
    std::string name;
    std::size_t threads = 0;
    bool has_ended = false;
  };

  static void insert(Code& code, Address begin, MappedCode mapped);
  static Found find(const Code& code, Address address);
  void begin(const perf::ThreadStartEvent& start);
  void end(const perf::ThreadExitEvent& exit);
  Process* process_of(ThreadId thread);

  std::unordered_map<Pid, Process> processes_;
  std::unordered_map<std::uint32_t, Pid> process_of_;  // by serial of a thread
};

}  // namespace causalctl::continuous
