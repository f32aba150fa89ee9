#include "controller/callpath/namer.h"

#include <sys/resource.h>

#include <exception>

#include "controller/base/log.h"
#include "controller/base/thread.h"

namespace causalctl::callpath {

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
  std::optional<Address> address = question.start + question.offset;
  if (symbolizer != live_.get()) {
    const auto place = symbolizer->find_offset("", question.offset);
    address = place ? std::optional(place->address) : std::nullopt;
  }
  std::vector<SourceFrame> frames;
  if (!address) return frames;
  for (const unwind::Frame& frame : symbolizer->frames(*address)) {
    frames.push_back({frame.function, frame.file, frame.line});
  }
  return frames;
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
