#include "controller/report/callpath/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace causalctl::report::callpath {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void make_utf8(Profile& profile) {
  const auto clean = [](std::string& text) {
    const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return c >= 0; });
    if (!ascii) text = nlohmann::json::parse(callpath::quoted(text)).get<std::string>();
  };
  clean(profile.program);
  clean(profile.set);
  clean(profile.host);
  for (auto& each : profile.chains.reasons) clean(each.text);
  for (auto& each : profile.epochs) clean(each.reason);
  for (auto& each : profile.programs) clean(each.name);
  for (auto* all : {&profile.modules, &profile.build_ids, &profile.notes, &profile.warnings}) {
    for (std::string& each : *all) clean(each);
  }
  for (auto& column : profile.columns) {
    for (auto* each : {&column.name, &column.unit, &column.title}) clean(*each);
  }
  for (auto& frame : profile.frames) {
    for (auto* each : {&frame.function, &frame.file, &frame.module}) clean(*each);
  }
  for (auto& count : profile.counts) {
    for (auto* each : {&count.function, &count.column, &count.missing}) clean(*each);
  }
}

}  // namespace causalctl::report::callpath
