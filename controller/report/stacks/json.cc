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

// Names come from the target, and may be broken UTF-8.
std::string text_of_json(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

// Returns a document as an element of a list of one: its lines are indented by four more.
std::string as_element(const std::string& document) {
  std::string text = "    ";
  for (const char each : document) {
    text += each;
    if (each == '\n') text += "    ";
  }
  return text.substr(0, text.find_last_not_of(" \n") + 1);
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
  return text_of_json(json) + "\n";
}

// The processes are put in as texts: as JSON values, those of a whole machine would take ten times
// as much memory.
std::string render_json(const SetHead& head, const std::vector<std::string>& processes) {
  Json not_read = Json::array();
  for (const NotRead& each : head.not_read) {
    not_read.push_back(
        {{"pid", each.pid}, {"name", each.name}, {"ended", each.ended}, {"reason", each.reason}});
  }
  const Json rest = {{"version", 1},
                     {"set", head.text},
                     {"not_read", std::move(not_read)},
                     {"warnings", head.warnings}};
  std::string text = text_of_json(rest);
  text.resize(text.find_last_not_of("}\n") + 1);
  text += ",\n  \"processes\": [";
  for (std::size_t i = 0; i < processes.size(); ++i) {
    text += (i > 0 ? ",\n" : "\n") + as_element(processes[i]);
  }
  return text + (processes.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

}  // namespace causalctl::report::stacks
