// Tables of call paths whose rows end with a name. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/model.h"
#include "controller/report/short_names.h"
#include "controller/report/text.h"

namespace causalctl::report::callpath {

inline constexpr std::size_t kNarrowestName = 12;

std::string value_words(std::uint64_t value, const std::string& unit);

// What a tree and tables show.
struct View {
  View(const Profile& shown, Labels by);

  const Profile& profile;
  Labels labels;
  LabelTree tree;
  Children children;
  ShortNames names;
  std::vector<std::size_t> widths;  // of the columns, as characters
};

class Table {
 public:
  Table(const View& view, Text& out);

  void head(std::string_view first, std::string_view second, std::string_view name);

  // What a row has before its name. `first` and `second` are the values of which the shares are
  // shown, the first one with its interval; `values` are those of the other columns; all by column
  // and row.
  std::string cells(const std::vector<std::vector<std::uint64_t>>& first,
                    const std::vector<std::vector<std::uint64_t>>& second,
                    const std::vector<std::vector<std::uint64_t>>& values, std::size_t row) const;
  std::string named(std::uint32_t label, std::size_t width) const;
  // Returns how many columns are left for a name after `used`.
  std::size_t room(std::size_t used) const;
  std::size_t width_before_names() const;
  std::string share_words(std::uint64_t value) const;  // of all

 private:
  // The interval of a share that is known from as many samples as there are.
  std::string interval_words(std::uint64_t value) const;

  const View& view_;
  const std::vector<std::vector<std::uint64_t>>& all_;
  std::optional<std::size_t> samples_;
  std::vector<std::size_t> values_;  // the columns that are shown as values
  Text& out_;
};

}  // namespace causalctl::report::callpath
