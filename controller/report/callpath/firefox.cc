// The processed profile format of the Firefox Profiler, version 47 (docs-developer/ of
// github.com/firefox-devtools/profiler). Each column is a thread there, because a thread's samples
// have one weight. Paths have no time of their own; each stands where the sum of those before it
// ends.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 47;
constexpr int kLibraryResource = 1;
constexpr double kNanosecondsPerMs = 1e6;

class Strings {
 public:
  std::size_t number_of(const std::string& text) {
    const auto [entry, is_new] = numbers_.emplace(text, numbers_.size());
    if (is_new) all_.push_back(text);
    return entry->second;
  }
  Json take() { return std::move(all_); }

 private:
  std::map<std::string, std::size_t> numbers_;
  Json all_ = Json::array();
};

Json libraries(const Profile& profile) {
  Json libs = Json::array();
  for (std::size_t i = 0; i < profile.modules.size(); ++i) {
    const std::string name(base_name(profile.modules[i]));
    libs.push_back(
        {{"arch", "x86_64"},
         {"name", name},
         {"path", profile.modules[i]},
         {"debugName", name},
         {"debugPath", profile.modules[i]},
         {"breakpadId", ""},
         {"codeId", profile.build_ids[i].empty() ? Json() : Json(profile.build_ids[i])}});
  }
  return libs;
}

// Adds one row to each of the columns of a table.
void add_row(Json& table, const std::vector<std::pair<const char*, Json>>& row) {
  for (const auto& [key, value] : row) table[key].push_back(value);
  table["length"] = table.value("length", 0) + 1;
}

Json table_of(std::initializer_list<const char*> keys) {
  Json table = {{"length", 0}};
  for (const char* key : keys) table[key] = Json::array();
  return table;
}

// The tables of frames, functions and modules.
void add_frames(const Profile& profile, const Labels& functions, Strings& strings, Json& thread) {
  Json resources = table_of({"lib", "name", "host", "type"});
  std::map<std::string, std::size_t> resource_of;
  for (std::size_t i = 0; i < profile.modules.size(); ++i) {
    if (!resource_of.emplace(profile.modules[i], i).second) continue;
    resource_of[profile.modules[i]] = resources["length"].get<std::size_t>();
    add_row(resources, {{"lib", i},
                        {"name", strings.number_of(std::string(base_name(profile.modules[i])))},
                        {"host", nullptr},
                        {"type", kLibraryResource}});
  }
  Json funcs = table_of(
      {"isJS", "relevantForJS", "name", "resource", "fileName", "lineNumber", "columnNumber"});
  for (const auto& label : functions.all) {
    const Frame& frame = profile.frames[label.frame];
    const std::string& file = file_of(label, profile);
    const auto resource = resource_of.find(frame.module);
    add_row(funcs, {{"isJS", false},
                    {"relevantForJS", false},
                    {"name", strings.number_of(label.name)},
                    {"resource", resource == resource_of.end() ? Json(-1) : Json(resource->second)},
                    {"fileName", file.empty() ? Json() : Json(strings.number_of(file))},
                    {"lineNumber", nullptr},
                    {"columnNumber", nullptr}});
  }
  Json frames = table_of({"address", "inlineDepth", "category", "subcategory", "func",
                          "nativeSymbol", "innerWindowID", "implementation", "line", "column"});
  for (std::size_t i = 0; i < profile.frames.size(); ++i) {
    const Frame& frame = profile.frames[i];
    add_row(frames, {{"address", frame.is_group() ? Json(-1) : Json(frame.offset)},
                     {"inlineDepth", frame.inlined ? 1 : 0},
                     {"category", 0},
                     {"subcategory", 0},
                     {"func", functions.of_frame[i]},
                     {"nativeSymbol", nullptr},
                     {"innerWindowID", 0},
                     {"implementation", nullptr},
                     {"line", frame.line > 0 ? Json(frame.line) : Json()},
                     {"column", nullptr}});
  }
  thread["resourceTable"] = std::move(resources);
  thread["funcTable"] = std::move(funcs);
  thread["frameTable"] = std::move(frames);
}

void add_paths(const Profile& profile, std::size_t column, Json& thread) {
  Json stacks = table_of({"frame", "category", "subcategory", "prefix"});
  const bool is_time = profile.columns[column].unit == "nanoseconds";
  Json samples = table_of({"stack", "time", "weight"});
  samples["weightType"] = is_time ? "tracing-ms" : "samples";
  double sum = 0;
  for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
    const std::uint32_t parent = profile.nodes[node].parent;
    add_row(stacks, {{"frame", profile.nodes[node].frame},
                     {"category", 0},
                     {"subcategory", 0},
                     {"prefix", parent == 0 ? Json() : Json(parent - 1)}});
    const std::uint64_t own = profile.own[column][node];
    if (own == 0) continue;
    const double weight = static_cast<double>(own) / (is_time ? kNanosecondsPerMs : 1);
    add_row(samples,
            {{"stack", node - 1}, {"time", sum}, {"weight", is_time ? Json(weight) : Json(own)}});
    sum += weight;
  }
  thread["stackTable"] = std::move(stacks);
  thread["samples"] = std::move(samples);
}

Json thread_of(const Profile& profile, const Labels& functions, std::size_t column) {
  Json thread = {{"name", profile.columns[column].title},
                 {"processType", "default"},
                 {"processName", base_name(subject_of(profile))},
                 {"processStartupTime", 0},
                 {"processShutdownTime", nullptr},
                 {"registerTime", 0},
                 {"unregisterTime", nullptr},
                 {"pausedRanges", Json::array()},
                 {"isMainThread", column == 0},
                 {"pid", fmt::format("{}", profile.pid)},
                 {"tid", column}};
  Strings strings;
  add_frames(profile, functions, strings, thread);
  add_paths(profile, column, thread);
  thread["markers"] = table_of({"category", "data", "endTime", "name", "phase", "startTime"});
  thread["nativeSymbols"] = table_of({"libIndex", "address", "name", "functionSize"});
  thread["stringArray"] = strings.take();
  return thread;
}

}  // namespace

std::string render_firefox(const Profile& all) {
  const Profile profile = without_calls(all);
  const Labels functions = by_function(profile);
  Json json;
  json["meta"] = {
      {"interval", static_cast<double>(profile.period_ns) / kNanosecondsPerMs},
      {"startTime", static_cast<double>(profile.started_ns) / kNanosecondsPerMs},
      {"version", 27},  // of Firefox's own format, which the reader wants to see
      {"preprocessedProfileVersion", kVersion},
      {"processType", 0},
      {"product", base_name(subject_of(profile))},
      {"importedFrom", "causalctl"},
      {"stackwalk", 1},
      {"debug", false},
      {"symbolicated", true},
      {"categories", {{{"name", "Other"}, {"color", "grey"}, {"subcategories", {"Other"}}}}},
      {"markerSchema", Json::array()}};
  json["libs"] = libraries(profile);
  json["threads"] = Json::array();
  for (std::size_t column = 0; column < profile.columns.size(); ++column) {
    json["threads"].push_back(thread_of(profile, functions, column));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace causalctl::report::callpath
