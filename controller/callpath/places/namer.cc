#include "controller/callpath/places/namer.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>

#include "controller/base/base_name.h"
#include "controller/base/log.h"
#include "controller/base/thread.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kMostTails = 8;  // processes whose tail calls can be searched at once

std::vector<SourceFrame> source_frames(unwind::Symbolizer& symbolizer, Address address) {
  std::vector<SourceFrame> frames;
  for (const unwind::Frame& frame : symbolizer.frames(address)) {
    frames.push_back({frame.function, frame.file, frame.line, frame.home});
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

Namer::Namer(ModuleFiles& files)
    : files_(files), thread_(start_thread("the names of functions", [this] { work(); })) {}

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
    work_.questions.push_back(question);
    ++open_;
  }
  wake_.notify_one();
}

void Namer::ask(const TailQuestion& question) {
  {
    const std::lock_guard lock(mutex_);
    work_.tails.push_back(question);
    ++open_;
  }
  wake_.notify_one();
}

std::vector<Namer::Answer> Namer::answers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

std::vector<Namer::TailAnswer> Namer::tail_answers() {
  const std::lock_guard lock(mutex_);
  return std::exchange(tail_answers_, {});
}

std::size_t Namer::open_questions() {
  const std::lock_guard lock(mutex_);
  return open_;
}

// Returns nullptr if the file cannot be had.
unwind::Symbolizer* Namer::symbolizer_of(std::uint32_t module) {
  auto known = by_module_.find(module);
  if (known == by_module_.end()) {
    ModuleFiles::File file = files_.get(module);
    if (!file->fd) return nullptr;
    if (by_module_.size() >= files_.most_open()) {
      by_module_.erase(std::min_element(
          by_module_.begin(), by_module_.end(),
          [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
    }
    auto symbolizer = std::make_unique<unwind::Symbolizer>(*file);
    known = by_module_.emplace(module, Known{std::move(file), std::move(symbolizer)}).first;
  }
  known->second.used = ++uses_;
  return known->second.symbolizer.get();
}

std::vector<SourceFrame> Namer::look_up(const Question& question) {
  unwind::Symbolizer* symbolizer = symbolizer_of(question.module);
  return symbolizer != nullptr ? frames_in_file(*symbolizer, question.offset)
                               : std::vector<SourceFrame>();
}

void Namer::answer(const Question& question) {
  Answer answer{question.id, {}};
  try {
    answer.frames = look_up(question);
  } catch (const std::exception& error) {  // a broken file must not end the recording
    log::verbose("debug information: {}", error.what());
  }
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
  --open_;
}

// Returns the name of the function at an offset of a file of the present question's process.
std::string Namer::function_at(const std::string& path, Address offset) {
  const auto module = modules_->find(path);
  if (module == modules_->end()) return {};
  unwind::Symbolizer* symbolizer = symbolizer_of(module->second);
  if (symbolizer == nullptr) return {};
  const auto frames = frames_in_file(*symbolizer, offset);
  if (frames.empty()) return {};
  // Without a symbol it is the place, which says nothing of what is a part of what.
  const std::string& name = frames.back().function;
  const bool is_place = name.starts_with(fmt::format("{}+0x", base_name(path)));
  return is_place ? std::string() : name;
}

// Throws TargetGone.
Namer::Tails& Namer::tails_of(const TailQuestion& question) {
  auto known = tails_.find(question.process);
  if (known == tails_.end()) {
    const auto name_of = [this](const std::string& path, Address offset) {
      return function_at(path, offset);
    };
    auto calls = std::make_unique<TailCalls>(question.process, name_of);
    if (tails_.size() >= kMostTails) {
      tails_.erase(std::min_element(tails_.begin(), tails_.end(), [](const auto& a, const auto& b) {
        return a.second.used < b.second.used;
      }));
    }
    known = tails_.emplace(question.process, Tails{std::move(calls), question.mappings}).first;
  }
  Tails& tails = known->second;
  if (question.mappings != tails.mappings) tails.calls->refresh();
  tails.mappings = question.mappings;
  tails.used = ++uses_;
  return tails;
}

std::optional<TailCall> Namer::find_tail(const TailQuestion& question) {
  modules_ = question.modules.get();
  TailCalls& calls = *tails_of(question).calls;
  const Address within = question.call_offset - 1;
  if (!calls.is_at(question.return_address - 1, *question.call_path, within) ||
      !calls.is_at(question.code, *question.callee_path, question.callee_offset)) {
    return std::nullopt;
  }
  return calls.find(question.return_address, question.code);
}

void Namer::answer(const TailQuestion& question) {
  TailAnswer answer{question, {}};
  try {
    answer.call = find_tail(question);
  } catch (const std::exception& error) {  // such as the end of the target
    log::verbose("tail calls: {}", error.what());
  }
  const std::lock_guard lock(mutex_);
  tail_answers_.push_back(std::move(answer));
  --open_;
}

void Namer::work() {
  setpriority(PRIO_PROCESS, 0, 10);  // this thread only
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !work_.questions.empty() || !work_.tails.empty(); });
    if (stop_) return;
    const Work work = std::exchange(work_, {});
    lock.unlock();
    // Those of tail calls first: they need what is mapped at present.
    for (const TailQuestion& question : work.tails) {
      if (stop_) return;
      answer(question);
    }
    for (const Question& question : work.questions) {
      if (stop_) return;
      answer(question);
    }
    lock.lock();
  }
}

}  // namespace causalctl::callpath
