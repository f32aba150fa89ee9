#include "controller/callpath/namer.h"

#include <sys/resource.h>

#include <exception>

#include "controller/base/log.h"
#include "controller/base/thread.h"

namespace causalctl::callpath {
namespace {

std::vector<SourceFrame> source_frames(unwind::Symbolizer& symbolizer, Address address) {
  std::vector<SourceFrame> frames;
  for (const unwind::Frame& frame : symbolizer.frames(address)) {
    frames.push_back({frame.function, frame.file, frame.line});
  }
  return frames;
}

}  // namespace

std::vector<SourceFrame> frames_in_file(unwind::Symbolizer& symbolizer, Address offset) {
  const auto place = symbolizer.find_offset("", offset);
  return place ? source_frames(symbolizer, place->address) : std::vector<SourceFrame>();
}

void name_from_files(Recording& recording) {
  std::vector<std::vector<Location*>> nameless(recording.modules.size());
  for (Location& location : recording.locations) {
    if (location.frames.empty()) nameless.at(location.module).push_back(&location);
  }
  for (std::size_t i = 0; i < nameless.size(); ++i) {
    const Module& module = recording.modules[i];
    if (nameless[i].empty() || module.build_id.empty()) continue;
    try {
      const unwind::ModuleFile file = unwind::open_module_file(module.path);
      if (!file.fd || file.build_id != module.build_id) continue;
      unwind::Symbolizer symbolizer(file);
      for (Location* location : nameless[i]) {
        location->frames = frames_in_file(symbolizer, location->offset - location->is_call);
      }
    } catch (const std::exception& error) {
      log::verbose("{}: {}", module.path, error.what());
    }
  }
}

Namer::Namer(Pid target)
    : target_(target), thread_(start_thread("the names of functions", [this] { work(); })) {}

Namer::~Namer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Namer::ask(Question question) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back(question);
    ++open_;
  }
  wake_.notify_one();
}

std::vector<Namer::Answer> Namer::answers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

std::size_t Namer::open_questions() {
  const std::lock_guard lock(mutex_);
  return open_;
}

unwind::Symbolizer* Namer::symbolizer_of(const Question& question) {
  if (question.file == nullptr || !question.file->fd) {  // the vdso, which is only in memory
    if (!live_) live_ = std::make_unique<unwind::Symbolizer>(target_);
    return live_.get();
  }
  auto& known = by_module_[question.module];
  if (!known) known = std::make_unique<unwind::Symbolizer>(*question.file);
  return known.get();
}

std::vector<SourceFrame> Namer::look_up(const Question& question) {
  unwind::Symbolizer* symbolizer = symbolizer_of(question);
  if (symbolizer != live_.get()) return frames_in_file(*symbolizer, question.offset);
  return source_frames(*symbolizer, question.start + question.offset);
}

void Namer::work() {
  setpriority(PRIO_PROCESS, 0, 10);  // this thread only
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !questions_.empty(); });
    if (stop_) return;
    for (const Question& question : std::exchange(questions_, {})) {
      if (stop_) return;
      lock.unlock();
      Answer answer{question.id, {}};
      try {
        answer.frames = look_up(question);
      } catch (const std::exception& error) {  // a broken file must not end the recording
        log::verbose("debug information: {}", error.what());
      }
      lock.lock();
      answers_.push_back(std::move(answer));
      --open_;
    }
  }
}

}  // namespace causalctl::callpath
