#include "controller/callpath/analysis/interpreters.h"

#include <algorithm>
#include <cstdint>

#include "controller/base/interpreter.h"
#include "controller/base/number.h"

namespace causalctl::callpath {
namespace {

using report::callpath::Frame;
using report::callpath::Profile;

constexpr double kWorthTelling = 0.05;  // share of the column

// Returns what is said of an interpreter if enough of the column's sum is at its frames or below.
std::string remark_of(const std::string& module, const Profile& profile, std::size_t column,
                      std::uint64_t all) {
  InterpreterRemark remark(module);
  if (!remark.is_interpreter()) return "";
  std::vector<bool> is_below(profile.nodes.size());
  std::uint64_t sum = 0;
  for (std::size_t node = 1; node < profile.nodes.size(); ++node) {
    const Frame& frame = profile.frames[profile.nodes[node].frame];
    is_below[node] = is_below[profile.nodes[node].parent] || frame.module == module;
    if (!is_below[node]) continue;
    sum += profile.own[column][node];
    remark.see(frame.module, frame.function);
  }
  return share_of(sum, all) < kWorthTelling ? "" : remark.words();
}

}  // namespace

std::vector<std::string> words_of_interpreters(const Profile& profile) {
  std::vector<std::string> sentences;
  for (std::size_t column = 0; column < profile.columns.size(); ++column) {
    const std::uint64_t all = report::callpath::totals(profile, column)[0];
    if (all == 0) continue;
    for (const std::string& module : profile.modules) {
      std::string words = remark_of(module, profile, column, all);
      if (words.empty()) continue;
      if (std::find(sentences.begin(), sentences.end(), words) != sentences.end()) continue;
      sentences.push_back(std::move(words));
    }
    break;  // the first column that has anything
  }
  return sentences;
}

}  // namespace causalctl::callpath
