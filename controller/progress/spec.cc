// Parses the text of a SPEC. Pure. The forms are in docs/progress-points.md.
//
// A C++ name contains colons of its own, so only a *single* ':' outside of brackets separates. The
// text after the last ':' decides: a number makes it FILE:LINE, a name BINARY:FUNCTION, or
// FILE:FUNCTION where no binary has such a name.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include "controller/base/brackets.h"
#include "controller/base/edit_distance.h"
#include "controller/base/error.h"
#include "controller/base/number.h"
#include "controller/progress/progress.h"

namespace causalctl::progress {
namespace {

constexpr const char* kForms =
    "a progress point is one of\n"
    "  file.c:210             a line of the source\n"
    "  function               a function of the executable (ns::f, f(int))\n"
    "  binary:function        a function of a library (libssl*:SSL_read)\n"
    "  file.c:function        a function of a source file\n"
    "  binary+0xOFFSET        an instruction, by its address in the ELF file\n"
    "  usdt:provider:name     a SystemTap/USDT probe\n"
    "  syscall:sendto         the entry of a system call\n"
    "  sampled:file.c:210     samples in a line";

[[noreturn]] void reject(const std::string& text, std::string_view why) {
  const auto meant = spelled_right(text);
  throw UsageError(fmt::format("progress point '{}': {}{}", text, why,
                               meant ? fmt::format("; did you mean {}?", *meant) : ""),
                   kForms);
}

constexpr std::size_t kMostTypos = 2;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Parses FILE:LINE. Returns nullopt if the text after the last ':' is no number.
std::optional<LineSpec> parse_line(const std::string& text, std::string_view rest) {
  const auto colon = rest.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto digits = rest.substr(colon + 1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return std::nullopt;
  const auto file = rest.substr(0, colon);
  if (file.empty() || file.back() == ':' || file.back() == '/') reject(text, "no file is named");
  const auto line = parse_number<int>(digits, 10);
  if (!line || *line < 1) reject(text, "the line is not a number from 1 on");
  return LineSpec{std::string(file), *line};
}

std::optional<OffsetSpec> parse_offset(const std::string& text) {
  const auto plus = text.rfind("+0x");
  if (plus == std::string::npos) return std::nullopt;
  if (plus == 0) reject(text, "no binary is named");
  auto spec = offset_spec(text);
  if (!spec) reject(text, "the offset is not a hexadecimal number of 64 bits");
  return spec;
}

UsdtSpec parse_usdt(const std::string& text, std::string_view rest) {
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos) reject(text, "a probe is named usdt:provider:name");
  UsdtSpec spec{std::string(rest.substr(0, colon)), std::string(rest.substr(colon + 1))};
  if (spec.provider.empty() || spec.name.empty() || spec.name.find(':') != std::string::npos) {
    reject(text, "a probe is named usdt:provider:name");
  }
  return spec;
}

SyscallSpec parse_syscall(const std::string& text, std::string_view rest) {
  const bool word = !rest.empty() && std::all_of(rest.begin(), rest.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
  // Only one word is accepted, because the name becomes part of a path in tracefs.
  if (!word) reject(text, "a system call is named syscall:NAME");
  return SyscallSpec{std::string(rest)};
}

FunctionSpec parse_function(const std::string& text) {
  const auto colon = single_colon(text);
  FunctionSpec spec;
  if (colon == std::string::npos) {
    spec.name = text;
  } else {
    spec = {text.substr(0, colon), text.substr(colon + 1)};
    if (spec.binary.empty()) reject(text, "no binary is named before the ':'");
  }
  if (spec.name.empty()) reject(text, "no function is named");
  if (colon == std::string::npos && text.starts_with("0x")) {
    reject(text, fmt::format("an offset needs its binary: BINARY+{}", text));
  }
  if (is_digit(spec.name[0])) {
    reject(text, colon == std::string::npos ? "no function's name begins with a digit"
                                            : "neither a line nor a function follows the ':'");
  }
  if (single_colon(spec.name) != std::string::npos) reject(text, "a ':' too many");
  return spec;
}

}  // namespace

std::optional<OffsetSpec> offset_spec(const std::string& text) {
  const auto plus = text.rfind("+0x");
  if (plus == std::string::npos || plus == 0) return std::nullopt;
  const auto offset = parse_number<std::uint64_t>(std::string_view(text).substr(plus + 3), 16);
  return offset ? std::optional(OffsetSpec{text.substr(0, plus), *offset}) : std::nullopt;
}

std::optional<std::string> spelled_right(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string_view word = std::string_view(text).substr(0, colon);
  for (const std::string_view right : {"usdt", "syscall", "sampled"}) {
    const std::size_t distance = edit_distance(word, right, kMostTypos);
    const bool near = distance > 0 && distance <= kMostTypos && 2 * distance < right.size();
    if (near) return std::string(right) + text.substr(colon);
  }
  return std::nullopt;
}

Spec parse_spec(const std::string& text) {
  const std::string_view whole = text;
  if (text.empty()) reject(text, "is empty");
  if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; })) {
    reject(text, "holds control characters");
  }
  if (whole.starts_with("usdt:")) return parse_usdt(text, whole.substr(5));
  if (whole.starts_with("syscall:")) return parse_syscall(text, whole.substr(8));
  if (whole.starts_with("sampled:")) {
    const auto line = parse_line(text, whole.substr(8));
    if (!line) reject(text, "samples are counted in a line: sampled:FILE:LINE");
    return SampledSpec{line->file, line->line};
  }
  if (auto line = parse_line(text, whole)) return *line;
  if (auto offset = parse_offset(text)) return *offset;
  return parse_function(text);
}

}  // namespace causalctl::progress
