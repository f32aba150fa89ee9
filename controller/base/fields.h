// A struct that is recorded describes its fields once: `static constexpr auto fields()` returns a
// tuple with a row for each of them. Log, reader, merge and JSON report go through these rows, so
// that a new field is one member and one row. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace causalctl {

// What a row says besides the key and the member. A time is an integer whose key ends in "_ns".
enum FieldFlag : unsigned {
  kSummed = 0,        // in a merge the values add up; a bool is true if one is
  kLargest = 1 << 0,  // in a merge the largest value stays
  kLogOnly = 1 << 1,  // no report shows it
  kIfSet = 1 << 2,    // it is written only where it differs from its default
  kMoment = 1 << 3,   // a time since a start, not a length: such times are not added up
  kDate = 1 << 4      // a time since 1970
};

// One field of S. A struct whose key is empty has its fields among those of S.
template <class S, class T>
struct Field {
  const char* key;
  T S::*member;
  unsigned flags;

  constexpr Field(const char* key_, T S::*member_, unsigned flags_ = kSummed)
      : key(key_), member(member_), flags(flags_) {}
  constexpr bool has(FieldFlag flag) const { return (flags & flag) != 0; }
};

// Fields of S that are written as an object of their own.
template <class... Rows>
struct Group {
  const char* key;
  std::tuple<Rows...> rows;

  constexpr explicit Group(const char* key_, Rows... rows_) : key(key_), rows(rows_...) {}
};

template <class S>
concept Described = requires {
  S::fields();
};

template <class Rows, class Visitor>
constexpr void for_each_row(const Rows& rows, Visitor&& visit) {
  std::apply([&](const auto&... row) { (visit(row), ...); }, rows);
}

// Adds `one` to `all`, each number as its row says; what is no number stays.
template <Described S>
void merge(S& all, const S& one) {
  for_each_row(S::fields(), [&]<class T>(const Field<S, T>& row) {
    T& sum = all.*row.member;
    const T& value = one.*row.member;
    if constexpr (Described<T>) {
      merge(sum, value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      const bool largest = row.has(kLargest) || std::is_same_v<T, bool>;
      sum = largest ? std::max(sum, value) : static_cast<T>(sum + value);
    }
  });
}

// What the sums of `now` have grown by since `before`; the other fields are those of `now`.
template <Described S>
S growth(S now, const S& before) {
  for_each_row(S::fields(), [&]<class T>(const Field<S, T>& row) {
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      if (row.flags == kSummed) now.*row.member -= before.*row.member;
    }
  });
  return now;
}

// An enumeration that is recorded lists the names of its values, in their order: names_of(E).
template <class E>
concept Named = requires(E value) {
  names_of(value);
};

template <Named E>
constexpr std::string_view name_of(E value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

// Returns E{} if no value has that name.
template <Named E>
constexpr E value_of(std::string_view name) {
  const auto names = names_of(E{});
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? E{} : static_cast<E>(found - names.begin());
}

}  // namespace causalctl
