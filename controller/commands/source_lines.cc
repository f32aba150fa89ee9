#include "controller/commands/source_lines.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "controller/base/regular_file.h"
#include "controller/base/whole_file.h"

namespace causalctl::commands {
namespace {

constexpr std::size_t kMostSource = 64U << 20U;
constexpr std::string_view kBlanks = " \t\r";

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  const Fd opened = open_regular(file);
  const auto text = opened ? read_whole(opened, kMostSource) : std::nullopt;
  if (!text) return lines;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    const std::size_t first = std::min(line.find_first_not_of(kBlanks), line.size());
    const std::size_t last = line.find_last_not_of(kBlanks);
    lines.emplace_back(first == line.size() ? "" : line.substr(first, last + 1 - first));
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::string SourceLines::at(const std::string& file, int line) {
  const auto [known, is_new] = files_.try_emplace(file);
  if (is_new) known->second = lines_of(file);
  const auto index = static_cast<std::size_t>(line) - 1;
  return line > 0 && index < known->second.size() ? known->second[index] : "";
}

}  // namespace causalctl::commands
