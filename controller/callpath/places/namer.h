// Looks up the names of locations, and the functions that tail calls have left out, on a thread of
// its own. Names are found by the files of the modules: the process may have unloaded them, or be
// gone. Reading the debug information of one file can take
// seconds.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/callpath/places/module_files.h"
#include "controller/callpath/places/process_places.h"
#include "controller/callpath/places/tail_calls.h"
#include "controller/callpath/record/recording.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::callpath {

// Returns the frames of the code at an offset of the file that the symbolizer knows.
std::vector<SourceFrame> frames_in_file(unwind::Symbolizer& symbolizer, Address offset);

// Looks up the locations of a recording that have no frames, in files of the modules' names and
// build-ids on this machine: of a log whose writer was killed, or whose target was on a machine
// with other files. What is not found stays as it is.
void name_from_files(Recording& recording);

class Namer {
 public:
  explicit Namer(ModuleFiles& files);  // which must outlive it
  ~Namer();                            // does not answer what is left
  Namer(const Namer&) = delete;
  Namer& operator=(const Namer&) = delete;

  struct Question {
    LocationId id = 0;
    std::uint32_t module = 0;
    Address offset = 0;  // within the code of the location
  };
  struct Answer {
    LocationId id = 0;
    std::vector<SourceFrame> frames;  // empty: nothing is known
  };

  // Where something below a call may be missing. Both addresses are those at run time.
  struct TailQuestion {
    LocationId call = 0;
    LocationId callee = 0;
    Pid process = 0;
    Address return_address = 0;
    Address code = 0;  // of the callee
    // Of the locations. The paths are those of their modules, and live as long as this object.
    const std::string* call_path = nullptr;
    const std::string* callee_path = nullptr;
    Address call_offset = 0;
    Address callee_offset = 0;
    std::shared_ptr<const ModulesByPath> modules;  // of the process; those of others may differ
    std::uint64_t mappings = 0;  // changes whenever what the process has mapped does
    bool again = false;          // mappings had changed when it was answered first
  };
  struct TailAnswer {
    TailQuestion question;
    std::optional<TailCall> call;  // nullopt: nothing is missing, as far as can be told
  };

  void ask(Question question);
  void ask(const TailQuestion& question);
  std::vector<Answer> answers();  // since the last call
  std::vector<TailAnswer> tail_answers();
  std::size_t open_questions();

 private:
  struct Work {
    std::vector<Question> questions;
    std::vector<TailQuestion> tails;
  };
  void work();
  void answer(const Question& question);
  void answer(const TailQuestion& question);
  std::optional<TailCall> find_tail(const TailQuestion& question);
  std::string function_at(const std::string& path, Address offset);
  std::vector<SourceFrame> look_up(const Question& question);
  unwind::Symbolizer* symbolizer_of(std::uint32_t module);

  struct Known {
    ModuleFiles::File file;  // which its symbolizer needs
    std::unique_ptr<unwind::Symbolizer> symbolizer;
    std::uint64_t used = 0;  // the number of the last use
  };

  struct Tails {  // of a process
    std::unique_ptr<TailCalls> calls;
    std::uint64_t mappings = 0;  // that it has read
    std::uint64_t used = 0;      // the number of the last use
  };
  Tails& tails_of(const TailQuestion& question);

  ModuleFiles& files_;
  // These are used by the thread alone.
  std::unordered_map<std::uint32_t, Known> by_module_;
  std::uint64_t uses_ = 0;
  const ModulesByPath* modules_ = nullptr;  // of the process of the present question
  std::map<Pid, Tails> tails_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Work work_;                             // guarded by mutex_
  std::vector<Answer> answers_;           // guarded by mutex_
  std::vector<TailAnswer> tail_answers_;  // guarded by mutex_
  std::size_t open_ = 0;                  // guarded by mutex_
  std::atomic<bool> stop_ = false;        // changed under mutex_
  std::thread thread_;                    // last: it uses all of the above
};

}  // namespace causalctl::callpath
