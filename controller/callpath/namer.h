// Looks up the names of locations, on a thread of its own and by the files of their modules: the
// process may have unloaded them, or be gone. Reading the debug information of one file can take
// seconds.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/callpath/places.h"
#include "controller/callpath/recording.h"
#include "unwind/symbolizer.h"

namespace causalctl::callpath {

// Returns the frames of the code at an offset of the file that the symbolizer knows.
std::vector<SourceFrame> frames_in_file(unwind::Symbolizer& symbolizer, Address offset);

// Looks up the locations of a recording that have no frames, in files of the modules' names and
// build-ids on this machine: of a log whose writer was killed, or whose target was on a machine
// with other files. What is not found stays as it is.
void name_from_files(Recording& recording);

class Namer {
 public:
  explicit Namer(Pid target);
  ~Namer();  // does not answer what is left
  Namer(const Namer&) = delete;
  Namer& operator=(const Namer&) = delete;

  struct Question {
    LocationId id = 0;
    std::uint32_t module = 0;
    const unwind::ModuleFile* file = nullptr;  // must live as long as this object
    Address start = 0;                         // where a module without a file is mapped
    Address offset = 0;                        // within the code of the location
  };
  struct Answer {
    LocationId id = 0;
    std::vector<SourceFrame> frames;  // empty: nothing is known
  };

  void ask(Question question);
  std::vector<Answer> answers();  // since the last call
  std::size_t open_questions();

 private:
  void work();
  std::vector<SourceFrame> look_up(const Question& question);
  unwind::Symbolizer* symbolizer_of(const Question& question);

  Pid target_;
  // Both are used by the thread alone.
  std::unordered_map<std::uint32_t, std::unique_ptr<unwind::Symbolizer>> by_module_;
  std::unique_ptr<unwind::Symbolizer> live_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Question> questions_;  // guarded by mutex_
  std::vector<Answer> answers_;      // guarded by mutex_
  std::size_t open_ = 0;             // guarded by mutex_
  bool stop_ = false;                // guarded by mutex_
  std::thread thread_;               // last: it uses all of the above
};

}  // namespace causalctl::callpath
