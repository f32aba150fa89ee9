#include "controller/base/printable.h"

namespace causalctl {
namespace {

// Returns the length of the well-formed printable UTF-8 sequence at the start of `text`; 0 if none.
std::size_t sequence(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  if (first == 0xc2 && second < 0xa0) return 0;  // C1 control characters
  return length;
}

std::string cleaned(std::string_view text, bool keeps_lines) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = keeps_lines && text[0] == '\n' ? 1 : sequence(text);
    result.append(length > 0 ? text.substr(0, length) : "?");
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return cleaned(text, false); }
std::string printable_lines(std::string_view text) { return cleaned(text, true); }

std::string cut_to(std::string text, std::size_t size) {
  if (text.size() <= size) return text;
  while (size > 0 && is_continuation(text[size])) --size;
  text.resize(size);
  return text;
}

}  // namespace causalctl
