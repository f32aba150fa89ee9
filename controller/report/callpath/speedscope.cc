// Speedscope's own format (https://www.speedscope.app/file-format-schema.json): a sampled profile
// for each column, whose samples are the paths with their weights.
#include <fmt/format.h>

#include <iterator>

#include "controller/report/callpath/json_text.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

std::string frames(const Profile& profile, const Labels& labels) {
  std::string text;
  for (const auto& label : labels.all) {
    const std::string& file = file_of(label, profile);
    fmt::format_to(std::back_inserter(text), "{}{{\"name\":{}", text.empty() ? "" : ",\n",
                   quoted(label.name));
    if (!file.empty()) text += ",\"file\":" + quoted(file);
    text += '}';
  }
  return text;
}

std::string profile_of(const Profile& profile, const LabelTree& tree, std::size_t column) {
  std::string samples;
  std::string weights;
  std::vector<std::uint32_t> path;
  for (std::uint32_t node = 1; node < tree.nodes.size(); ++node) {
    const std::uint64_t own = tree.own[column][node];
    if (own == 0) continue;
    path.clear();
    for (std::uint32_t at = node; at != 0; at = tree.nodes[at].parent) {
      path.push_back(tree.nodes[at].label);
    }
    fmt::format_to(std::back_inserter(samples), "{}[{}]", samples.empty() ? "" : ",\n",
                   fmt::join(path.rbegin(), path.rend(), ","));
    fmt::format_to(std::back_inserter(weights), "{}{}", weights.empty() ? "" : ",", own);
  }
  const Column& shown = profile.columns[column];
  return fmt::format(
      "{{\"type\":\"sampled\",\"name\":{},\"unit\":\"{}\",\"startValue\":0,\"endValue\":{},\n"
      "\"samples\":[{}],\n\"weights\":[{}]}}",
      quoted(shown.title),
      shown.unit == "nanoseconds" || shown.unit == "bytes" ? shown.unit : "none",
      tree.total[column][0], samples, weights);
}

}  // namespace

std::string render_speedscope(const Profile& all) {
  const Profile profile = without_calls(all);
  const Labels labels = by_function(profile);
  const LabelTree tree = merged(profile, labels);
  std::string profiles;
  for (std::size_t column = 0; column < profile.columns.size(); ++column) {
    profiles += (column == 0 ? "" : ",\n") + profile_of(profile, tree, column);
  }
  return fmt::format(
      "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
      "\"exporter\":\"causalctl\",\"name\":{},\"activeProfileIndex\":0,\n"
      "\"shared\":{{\"frames\":[{}]}},\n\"profiles\":[{}]}}\n",
      quoted(subject_of(profile)), frames(profile, labels), profiles);
}

}  // namespace causalctl::report::callpath
