// Folded stacks, the input of flamegraph.pl and inferno. A ';' in a name would end it, so it
// becomes a ':'.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "controller/base/printable.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {

std::string render_folded(const Profile& profile) {
  const Labels labels = by_function(profile);
  const LabelTree tree = merged(profile, labels);
  std::vector<std::string> names;
  for (const auto& label : labels.all) {
    names.push_back(printable(label.name));
    std::replace(names.back().begin(), names.back().end(), ';', ':');
  }
  std::string text;
  std::vector<std::uint32_t> path;
  for (std::uint32_t node = 1; node < tree.nodes.size(); ++node) {
    if (tree.own[0][node] == 0) continue;
    path.clear();
    for (std::uint32_t at = node; at != 0; at = tree.nodes[at].parent) path.push_back(at);
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
      text += names[tree.nodes[*at].label];
      text += at + 1 == path.rend() ? ' ' : ';';
    }
    fmt::format_to(std::back_inserter(text), "{}\n", tree.own[0][node]);
  }
  return text;
}

}  // namespace causalctl::report::callpath
