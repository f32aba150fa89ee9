#include "controller/base/json_parser.h"

#include <simdjson.h>

#include <string>

namespace causalctl {
namespace {

namespace dom = simdjson::dom;
using json_fields::Json;

Json value_of(const dom::element& element);

Json list_of(const dom::array& from) {
  Json list = Json::array();
  auto& values = list.get_ref<Json::array_t&>();
  values.reserve(from.size());
  for (const dom::element each : from) values.push_back(value_of(each));
  return list;
}

Json object_of(const dom::object& from) {
  Json object = Json::object();
  for (const dom::key_value_pair each : from) object[std::string(each.key)] = value_of(each.value);
  return object;
}

// Json::parse(), too, makes numbers without a sign unsigned.
Json number_of(std::int64_t number) {
  return number < 0 ? Json(number) : Json(static_cast<std::uint64_t>(number));
}

// The type tells which of its values the element has, so that none of them throws.
Json value_of(const dom::element& element) {
  switch (element.type()) {
    case dom::element_type::ARRAY:
      return list_of(element.get_array().value_unsafe());
    case dom::element_type::OBJECT:
      return object_of(element.get_object().value_unsafe());
    case dom::element_type::INT64:
      return number_of(element.get_int64().value_unsafe());
    case dom::element_type::UINT64:
      return Json(element.get_uint64().value_unsafe());
    case dom::element_type::DOUBLE:
      return Json(element.get_double().value_unsafe());
    case dom::element_type::STRING:
      return Json(std::string(element.get_string().value_unsafe()));
    case dom::element_type::BOOL:
      return Json(element.get_bool().value_unsafe());
    case dom::element_type::NULL_VALUE:
      break;
  }
  return Json(nullptr);
}

}  // namespace

JsonParser::JsonParser() : parser_(std::make_unique<dom::parser>()) {}
JsonParser::~JsonParser() = default;

Json JsonParser::parse(std::string_view text) {
  const simdjson::simdjson_result<dom::element> read = parser_->parse(text.data(), text.size());
  if (read.error() != simdjson::SUCCESS) return Json::parse(text, nullptr, false);
  return value_of(read.value_unsafe());
}

}  // namespace causalctl
