#include "controller/base/json_parser.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>

using causalctl::JsonParser;
using causalctl::json_fields::Json;

namespace {

std::string nested(int levels) {
  return std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']');
}

}  // namespace

TEST_CASE("JSON is read as the library that keeps it does", "[json]") {
  JsonParser parser;
  for (const std::string& text : {
           std::string(R"({"type":"run","z":1,"a":[1,-2,0.5,true,false,null,"x"],"n":{}})"),
           std::string(R"({"a":1,"b":2,"a":3})"),
           std::string(R"([0,-0,9223372036854775807,-9223372036854775808,18446744073709551615])"),
           std::string("[18446744073709551616,-9223372036854775809]"),
           std::string("[1e5,1.7976931348623157e308,-0.0,0.1,5e-324]"),
           std::string("[1e400]"),
           std::string("[01]"),
           std::string("[NaN]"),
           std::string(R"(["\u0041\n\ud83d\ude00","µ",""])"),
           std::string(R"(["\ud83d"])"),  // half a character
           std::string("[\"\xff\"]"),
           std::string("\xef\xbb\xbf[1]"),
           std::string(" [ 1 , 2 ] \t"),
           std::string("[1] [2]"),
           std::string("[1"),
           std::string("{\"a\":}"),
           std::string("[1,]"),
           std::string(),
           std::string(" "),
           std::string("7"),
           std::string("\"text\""),
           std::string("[\"a\0b\"]", 7),
           nested(64),
           nested(64).substr(1),
       }) {
    INFO(text);
    const Json expected = Json::parse(text, nullptr, false);
    const Json read = parser.parse(text);
    CHECK(read.is_discarded() == expected.is_discarded());
    if (!expected.is_discarded()) CHECK(read.dump() == expected.dump());
  }
}

TEST_CASE("Numbers that are read keep their kinds", "[json]") {
  JsonParser parser;
  const Json numbers = parser.parse("[1,-1,18446744073709551615,1.0]");
  CHECK(numbers[0].is_number_unsigned());
  CHECK((numbers[1].is_number_integer() && !numbers[1].is_number_unsigned()));
  CHECK(numbers[2].is_number_unsigned());
  CHECK(numbers[3].is_number_float());
}

TEST_CASE("Keys keep their order", "[json]") {
  JsonParser parser;
  CHECK(parser.parse(R"({"z":1,"a":2,"m":3})").dump() == R"({"z":1,"a":2,"m":3})");
}
