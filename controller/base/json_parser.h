// Reads JSON text. Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "controller/base/json_fields.h"

namespace simdjson::dom {
class parser;
}

namespace causalctl {

// Reads like Json::parse(), in a fraction of the time, with the library simdjson. What that refuses
// (a number larger than 64 bits, a byte order mark, what is not JSON) goes to Json::parse().
class JsonParser {
 public:
  JsonParser();
  ~JsonParser();

  // Returns a discarded value (is_discarded()) if the text is not JSON. REQUIRES: lists and objects
  // nest few levels deep, since values are made and freed by recursion.
  json_fields::Json parse(std::string_view text);

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;  // keeps its buffers from text to text
};

}  // namespace causalctl
