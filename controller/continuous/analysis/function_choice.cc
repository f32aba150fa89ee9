#include "controller/continuous/analysis/function_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "controller/base/base_name.h"
#include "controller/base/error.h"
#include "controller/base/printable_list.h"
#include "unwind/names/function_name.h"

namespace causalctl::continuous {
namespace {

using FunctionKey = std::pair<Image, std::string>;
using Functions = std::map<FunctionKey, Counts>;

constexpr std::size_t kMostSuggested = 5;

Functions functions_of(const Profile& profile, const std::string& event,
                       const FunctionNames& names) {
  Functions functions;
  for (const auto& [key, counts] : profile) {
    if (key.event != event) continue;
    FunctionAt function;
    Counts* places = nullptr;
    for (const auto& [offset, count] : counts) {
      if (places == nullptr || offset < function.begin || offset >= function.end) {
        function = names(key.image, offset);
        places = &functions[{key.image, function.name}];
      }
      (*places)[offset] += count;
    }
  }
  return functions;
}

std::string with_file(const FunctionKey& key) {
  return fmt::format("{}:{}", base_name(key.first.path), key.second);
}

constexpr int kFarthest = 1 + static_cast<int>(unwind::Fit::none);

// 0 is the nearest; kFarthest does not fit.
int distance(const FunctionKey& key, const std::string& written, const unwind::WrittenName& name) {
  if (key.second == written || with_file(key) == written) return 0;
  const std::string file = std::string(base_name(key.first.path)) + ":";
  const bool names_file = written.starts_with(file) && !written.starts_with(file + ":");
  if (names_file) {
    const unwind::WrittenName rest(written.substr(file.size()));
    return 1 + static_cast<int>(rest.fit("", key.second));
  }
  return 1 + static_cast<int>(name.fit("", key.second));
}

[[noreturn]] void refuse(const std::string& written, const Functions& functions) {
  std::vector<std::pair<Nanoseconds, std::string>> largest;
  for (const auto& [key, places] : functions) {
    largest.emplace_back(sum_of(places).time_ns, key.second);
  }
  std::sort(largest.rbegin(), largest.rend());
  std::vector<std::string> listed;
  for (std::size_t i = 0; i < std::min(kMostSuggested, largest.size()); ++i) {
    listed.push_back(largest[i].second);
  }
  throw UsageError(fmt::format("{}: no function of that name has samples here", printable(written)),
                   listed.empty()
                       ? "these epochs have no samples"
                       : fmt::format("causalctl prof DIR lists those that have; most: {}",
                                     printable_list(listed)));
}

}  // namespace

ChosenFunction choose_function(const Profile& profile, const std::string& event,
                               const std::string& written, const FunctionNames& names) {
  Functions functions = functions_of(profile, event, names);
  const unwind::WrittenName name(written);
  int nearest = kFarthest;
  for (const auto& [key, places] : functions) {
    nearest = std::min(nearest, distance(key, written, name));
  }
  std::vector<FunctionKey> chosen;
  for (const auto& [key, places] : functions) {
    if (distance(key, written, name) == nearest) chosen.push_back(key);
  }
  if (nearest >= kFarthest || chosen.empty()) refuse(written, functions);
  if (chosen.size() > 1) {
    std::vector<std::string> listed;
    for (const FunctionKey& key : chosen) listed.push_back(with_file(key));
    throw UsageError(fmt::format("{} means {} functions: {}", printable(written), chosen.size(),
                                 printable_list(listed)),
                     "write FILE:FUNCTION, or the whole name");
  }
  return {chosen.front().first, chosen.front().second, std::move(functions.at(chosen.front()))};
}

}  // namespace causalctl::continuous
