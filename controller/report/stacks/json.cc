// Renders stacks as JSON, in the structure of docs/stacks.md.
#include <nlohmann/json.hpp>

#include "controller/base/fields.h"
#include "controller/report/stacks/model.h"

namespace causalctl::report::stacks {
namespace {

using Json = nlohmann::ordered_json;

Json frame_json(const Frame& frame) {
  return {{"function", frame.function}, {"file", frame.file},     {"line", frame.line},
          {"module", frame.module},     {"offset", frame.offset}, {"inlined", frame.inlined}};
}

Json thread_json(const Thread& thread) {
  Json frames = Json::array();
  for (const Frame& frame : thread.frames) frames.push_back(frame_json(frame));
  return {{"tid", thread.tid},
          {"name", thread.name},
          {"state", name_of(thread.state)},
          {"waits_in", thread.waits_in},
          {"cpu_ns", thread.cpu_ns},
          {"taken", name_of(thread.taken)},
          {"held_ns", thread.held_ns},
          {"stopped_at_most_ns", thread.at_most_ns},
          {"complete", thread.complete},
          {"searched", thread.searched},
          {"remark", thread.remark},
          {"frames", std::move(frames)}};
}

}  // namespace

std::string render_json(const Process& process) {
  Json threads = Json::array();
  for (const Thread& thread : process.threads) threads.push_back(thread_json(thread));
  const Json json = {{"version", 1},
                     {"pid", process.pid},
                     {"name", process.name},
                     {"program", process.program},
                     {"taken_ns", process.taken_ns},
                     {"threads", std::move(threads)},
                     {"warnings", process.warnings}};
  // Names come from the target, and may be broken UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::stacks
