// Converts the fields of one line of a log between JSON and the structs that describe them
// (base/fields.h), and checks what it reads. Pure.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/base/fields.h"
#include "controller/base/types.h"

namespace causalctl::json_fields {

using Json = nlohmann::ordered_json;

// Bounds of the times in a log, which are lengths or times since a start: of each one's absolute
// value, and of the sum over the whole log (146 years).
inline constexpr Nanoseconds kLongest = 10 * 366 * 24 * 3600 * kSecond;
inline constexpr Nanoseconds kLongestSum = INT64_MAX / 2;

// Thrown for a field of the wrong kind; the reader, which knows file and line, throws an Error for
// it.
struct BadField {
  std::string text;
};

void convert(const Json& value, std::string_view key, std::string& out);
void convert(const Json& value, std::string_view key, double& out);
void convert(const Json& value, std::string_view key, bool& out);

template <std::integral T>
void convert(const Json& value, std::string_view key, T& out) {
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<T>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
  if (!fits) throw BadField{fmt::format("\"{}\" is not a whole number in range", key)};
  out = value.get<T>();
}

void convert(const Json& value, std::string_view key, std::vector<std::string>& out);
void convert(const Json& value, std::string_view key, std::map<std::string, std::string>& out);

template <Named E>
void convert(const Json& value, std::string_view key, E& out) {
  std::string name;
  convert(value, key, name);
  out = value_of<E>(name);
}

// Sets `out` to the field's value. Leaves `out` alone and returns false if the field is absent.
template <typename T>
bool get(const Json& object, std::string_view key, T& out) {
  const auto found = object.find(std::string(key));
  if (found != object.end()) convert(*found, key, out);
  return found != object.end();
}

// Returns the items of a list of objects, none if the field is absent.
std::vector<Json> items(const Json& object, const char* key);

// Returns nullptr if the field is absent or is no object.
const Json* object_field(const Json& object, const char* key);

// The configuration is an object in a log, and text in a run: change the field "config" of a line,
// if it is there, from one to the other.
void config_to_object(Json& line);
void config_to_text(Json& line);

template <class T, template <class...> class Of>
inline constexpr bool kIs = false;
template <class... T, template <class...> class Of>
inline constexpr bool kIs<Of<T...>, Of> = true;

// Reads structs by their rows. Fields that are absent keep their values, unless a writer leaves
// them out where they are not set (kIfSet): these are so again. read() returns whether any field is
// there.
class FieldReader {
 public:
  template <Described S>
  bool read(const Json& object, S& out) {
    return read(object, out, S::fields());
  }
  template <class S, class Rows>
  bool read(const Json& object, S& out, const Rows& rows) {
    bool any = false;
    for_each_row(rows, [&](const auto& row) { any = read_row(object, out, row) || any; });
    return any;
  }

 private:
  template <class S, class... Rows>
  bool read_row(const Json& object, S& out, const Group<Rows...>& row) {
    const Json* group = object_field(object, row.key);
    return group != nullptr && read(*group, out, row.rows);
  }
  template <class S, class T>
  bool read_row(const Json& object, S& out, const Field<S, T>& row) {
    return read_value(object, out.*row.member, row.key, row.flags);
  }
  template <class T>
  bool read_value(const Json& object, T& out, const char* key, unsigned flags) {
    if constexpr (kIs<T, std::optional>) {
      typename T::value_type value{};
      if (object.value(key, Json(0)).is_null() || !read_value(object, value, key, flags)) {
        return false;
      }
      out = value;
    } else if constexpr (Described<T>) {
      const Json* inner = *key == '\0' ? &object : object_field(object, key);
      return inner != nullptr && read(*inner, out);
    } else if constexpr (requires { requires Described<typename T::value_type>; }) {
      out.clear();
      for (const Json& item : items(object, key)) read(item, out.emplace_back());
    } else {
      if (!get(object, key, out)) {
        if ((flags & kIfSet) != 0) out = T{};
        return false;
      }
      if constexpr (std::is_same_v<T, Nanoseconds>) check_time(out, key, flags);
    }
    return true;
  }
  // Throws BadField if the time exceeds kLongest, or if all lengths read together exceed
  // kLongestSum, so that no sum of times overflows.
  void check_time(Nanoseconds time_ns, std::string_view key, unsigned flags);

  Nanoseconds sum_ns_ = 0;
};

template <class T>
void put_value(Json& line, const T& value, const char* key, unsigned flags);

// Adds the fields of a struct to an object, in the order of its rows.
template <class S, class Rows>
void put(Json& line, const S& object, const Rows& rows) {
  for_each_row(rows, [&]<class Row>(const Row& row) {
    if constexpr (kIs<Row, Group>) {
      put(line[row.key], object, row.rows);
    } else {
      put_value(line, object.*row.member, row.key, row.flags);
    }
  });
}

template <class T>
void put_value(Json& line, const T& value, const char* key, unsigned flags) {
  if constexpr (kIs<T, std::optional>) {
    if (value) put_value(line, *value, key, flags);
  } else if constexpr (Described<T>) {
    put(*key == '\0' ? line : line[key], value, T::fields());
  } else if constexpr (requires { requires Described<typename T::value_type>; }) {
    if ((flags & kIfSet) == 0 || !value.empty()) line[key] = Json::array();
    for (const auto& item : value) put(line[key].emplace_back(), item, item.fields());
  } else if constexpr (Named<T>) {
    line[key] = name_of(value);
  } else if ((flags & kIfSet) == 0 || value != T{}) {
    line[key] = value;
  }
}

}  // namespace causalctl::json_fields
