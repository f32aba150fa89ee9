// Renders call paths as a page (docs/callpath.md, "A page"): the shell of controller/report/page/
// around a flame graph and a table of functions, which the scripts in assets/ make of the data
// here.
//
// The data is one JSON object of columns rather than of rows, because a profile may have a hundred
// thousand nodes: `columns`, `modules`, `module_names` and `files` (the shortest names that tell
// them apart), `functions` (name, module, own and total by column, intervals of their shares),
// `places` (function, file, line) and `nodes` (up: the node's number less its parent's; place; own
// by column). Modules and files are numbers, -1 where there is none. `calls` (html.h) is there if
// the log tells of calls, `kernel` (kernel.js) if paths have functions of the kernel. What else
// there may be is told in colors.js.
#include "controller/report/callpath/html.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <iterator>
#include <map>
#include <set>

#include "controller/base/printable.h"
#include "controller/base/telling_names.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/json_text.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/program_table.h"
#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

// Numbers texts in the order in which they come; the empty one is -1.
class Texts {
 public:
  long number_of(const std::string& text) {
    if (text.empty()) return -1;
    const auto [entry, is_new] = numbers_.emplace(text, static_cast<long>(quoted_.size()));
    if (is_new) quoted_.push_back(quoted(printable(text)));
    return entry->second;
  }
  std::string json() const { return fmt::format("[{}]", fmt::join(quoted_, ",")); }
  // Of paths: the shortest names that tell them apart.
  std::string short_json() const {
    std::set<std::string> paths;
    for (const auto& [path, number] : numbers_) paths.insert(path);
    const ShortPaths names(paths);
    std::vector<std::string> list(quoted_.size());
    for (const auto& [path, number] : numbers_) {
      list[static_cast<std::size_t>(number)] = quoted(printable(names.of(path)));
    }
    return fmt::format("[{}]", fmt::join(list, ","));
  }

 private:
  std::map<std::string, long> numbers_;
  std::vector<std::string> quoted_;
};

template <class Values>
std::string numbers(const Values& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

std::string by_column(const std::vector<std::vector<std::uint64_t>>& columns) {
  std::string json;
  for (const auto& column : columns) json += (json.empty() ? "" : ",") + numbers(column);
  return "[" + json + "]";
}

// Whether the samples tell how exact the shares of a column are.
bool is_sampled(std::size_t column, std::optional<std::size_t> samples) {
  return samples && (column == 0 || column == *samples);
}

// The intervals of the shares of values, by column; none where a column is not sampled.
std::string intervals(const LabelTree& tree, std::optional<std::size_t> samples,
                      const std::vector<std::vector<std::uint64_t>>& values) {
  std::vector<std::string> columns;
  for (std::size_t column = 0; column < values.size(); ++column) {
    std::vector<std::string> rows;
    if (is_sampled(column, samples)) {
      for (const std::uint64_t value : values[column]) {
        const Interval share = sampled_share(value, tree.total[column][0], tree.total[*samples][0]);
        rows.push_back(fmt::format("[{:.4f},{:.4f}]", share.low, share.high));
      }
    }
    columns.push_back(numbers(rows));
  }
  return numbers(columns);
}

std::string columns_json(const Profile& profile, const LabelTree& tree) {
  const auto samples = samples_column(profile);
  std::string json;
  for (std::size_t i = 0; i < profile.columns.size(); ++i) {
    const Column& column = profile.columns[i];
    fmt::format_to(std::back_inserter(json),
                   "{}{{\"name\":{},\"unit\":{},\"title\":{},\"total\":{},\"sampled\":{}}}",
                   i == 0 ? "" : ",", quoted(column.name), quoted(column.unit),
                   quoted(column.title), tree.total[i][0], is_sampled(i, samples));
  }
  return "[" + json + "]";
}

std::string functions_json(const Profile& profile, const Labels& functions, Texts& modules) {
  const LabelTree tree = merged(profile, functions);
  const LabelValues values = values_of(tree, Children(tree), functions);
  std::vector<std::string> names;
  std::vector<long> module_numbers;
  for (const Labels::Label& label : functions.all) {
    names.push_back(quoted(printable(label.name)));
    module_numbers.push_back(modules.number_of(profile.frames[label.frame].module));
  }
  const auto samples = samples_column(profile);
  return fmt::format(
      "{{\"name\":{},\"module\":{},\"own\":{},\"total\":{},\"own_interval\":{},"
      "\"total_interval\":{}}}",
      numbers(names), numbers(module_numbers), by_column(values.own), by_column(values.total),
      intervals(tree, samples, values.own), intervals(tree, samples, values.total));
}

// What functions have themselves once those of the kernel have given it to the code above them.
std::vector<std::vector<std::uint64_t>> own_without_kernel(const Profile& profile,
                                                           const Labels& functions) {
  std::vector<std::vector<std::uint64_t>> own(profile.columns.size(),
                                              std::vector<std::uint64_t>(functions.all.size()));
  std::vector<std::size_t> user(profile.nodes.size());  // the nearest node that is not the kernel's
  for (std::size_t node = 1; node < user.size(); ++node) {
    const auto& [parent, frame] = profile.nodes[node];
    user[node] = profile.frames[frame].kernel ? user[parent] : node;
    if (user[node] == 0) continue;
    const std::uint32_t function = functions.of_frame[profile.nodes[user[node]].frame];
    for (std::size_t column = 0; column < own.size(); ++column) {
      own[column][function] += profile.own[column][node];
    }
  }
  return own;
}

// Of a profile with functions of the kernel; otherwise empty.
std::string kernel_json(const Profile& profile) {
  const Labels functions = by_function(profile);
  std::vector<std::size_t> numbers_of_kernel;
  for (std::size_t i = 0; i < functions.all.size(); ++i) {
    if (profile.frames[functions.all[i].frame].kernel) numbers_of_kernel.push_back(i);
  }
  if (numbers_of_kernel.empty()) return "";
  const auto own = own_without_kernel(profile, functions);
  return fmt::format(
      ",\n\"kernel\":{{\"functions\":{},\"own\":{},\"own_interval\":{},\"folded\":{}}}",
      numbers(numbers_of_kernel), by_column(own),
      intervals(merged(profile, functions), samples_column(profile), own), profile.folds_kernel);
}

std::string places_json(const Profile& profile, const Labels& places, const Labels& functions,
                        Texts& files) {
  std::vector<std::uint32_t> function;
  std::vector<long> file;
  std::vector<int> line;
  for (const Labels::Label& label : places.all) {
    const Frame& frame = profile.frames[label.frame];
    function.push_back(functions.of_frame[label.frame]);
    file.push_back(files.number_of(frame.file));
    line.push_back(frame.line);
  }
  return fmt::format("{{\"function\":{},\"file\":{},\"line\":{}}}", numbers(function),
                     numbers(file), numbers(line));
}

std::string nodes_json(const LabelTree& tree) {
  std::vector<std::size_t> up;
  std::vector<std::uint32_t> place;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    up.push_back(i - tree.nodes[i].parent);
    place.push_back(tree.nodes[i].label);
  }
  return fmt::format("{{\"up\":{},\"place\":{},\"own\":{}}}", numbers(up), numbers(place),
                     by_column(tree.own));
}

std::string data_json(const Profile& profile, const std::string& more) {
  const Labels functions = by_function(profile);
  const Labels places = by_line(profile);
  const LabelTree tree = merged(profile, places);
  Texts modules;
  Texts files;
  const std::string function_part = functions_json(profile, functions, modules);
  const std::string place_part = places_json(profile, places, functions, files);
  return fmt::format(
      "{{\"columns\":{},\n\"modules\":{},\n\"module_names\":{},\n\"files\":{},\n\"functions\":{},\n"
      "\"places\":{},\n\"nodes\":{}{}{}}}",
      columns_json(profile, tree), modules.json(), modules.short_json(), files.short_json(),
      function_part, place_part, nodes_json(tree),
      tells_of_calls(profile) ? calls_json(profile) : "", more);
}

std::vector<std::pair<std::string, std::string>> facts(const Profile& profile) {
  std::vector<std::pair<std::string, std::string>> list = {
      {profile.set.empty() ? "program" : "processes", subject_of(profile)}};
  if (const std::string programs = programs_words(profile); !programs.empty()) {
    list.emplace_back("programs", programs);
  }
  if (!profile.host.empty()) list.emplace_back("host", profile.host);
  if (profile.started_ns > 0) {
    list.emplace_back(
        "started",
        fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                    fmt::gmtime(static_cast<std::time_t>(profile.started_ns / kSecond))));
  }
  list.emplace_back("recorded", sampling_words(profile));
  for (const std::string& line : time_lines(profile)) list.emplace_back("time", line);
  if (const std::string chains = chain_words(profile); !chains.empty()) {
    list.emplace_back("completeness", chains);
  }
  for (const std::string& line : count_lines(profile)) {
    list.emplace_back("counted", printable(line));
  }
  return list;
}

}  // namespace

page::Page page_of(const Profile& all, const std::string& more) {
  const Profile profile = tells_of_calls(all) ? all : without_calls(all);
  page::Page page;
  page.heading = "Call paths of " + program_words(profile);
  page.facts = facts(profile);
  page.notes = profile.notes;
  page.warnings = profile.warnings;
  page.data = data_json(profile, more);
  page.body = "callpath/callpath.html";
  page.styles = {"callpath/callpath.css"};
  page.scripts = {"callpath/paths.js",   "callpath/calls.js", "callpath/kernel.js",
                  "callpath/colors.js",  "callpath/flame.js", "callpath/functions.js",
                  "callpath/callpath.js"};
  return page;
}

std::string render_html(const Profile& all) {
  return page::render(page_of(all, kernel_json(tells_of_calls(all) ? all : without_calls(all))));
}

}  // namespace causalctl::report::callpath
