// A warning is a value: its kind, whose text has a place for each parameter, and the parameters. It
// becomes a sentence where a report is rendered, by text().
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace causalctl {

// A constant; the compiler checks that the text fits the types of the parameters, each of which is
// std::string, double or std::uint64_t.
template <class... Parameters>
struct WarningKind {
  fmt::format_string<const Parameters&...> text;
};

inline constexpr WarningKind<std::string> kTold{"{}"};  // in words, by a run or its log

class Warning {
 public:
  Warning(std::string told) : Warning(kTold, std::move(told)) {}  // NOLINT: a text is a warning
  template <class... Parameters>
  explicit Warning(const WarningKind<Parameters...>& kind,
                   std::type_identity_t<Parameters>... parameters)
      : kind_(&kind), text_(fmt::string_view(kind.text)) {
    (parameters_.emplace_back(std::move(parameters)), ...);
  }

  template <class... Parameters>
  bool is(const WarningKind<Parameters...>& kind) const {
    return kind_ == &kind;
  }
  bool operator==(const Warning& other) const {
    return kind_ == other.kind_ && parameters_ == other.parameters_;
  }
  std::string text() const;

 private:
  const void* kind_;
  fmt::string_view text_;
  std::vector<std::variant<std::string, double, std::uint64_t>> parameters_;
};

std::vector<std::string> texts_of(const std::vector<Warning>& warnings);

}  // namespace causalctl
