#include "controller/report/text.h"

#include <catch2/catch.hpp>

#include "controller/base/printable.h"

namespace causalctl::report {

TEST_CASE("A length of time is in the unit in which it has three digits", "[report]") {
  CHECK(duration(999'400) == "999 µs");
  CHECK(duration(999'800) == "1 ms");
  CHECK(duration(999'400'000) == "999 ms");
  CHECK(duration(999'600'000) == "1.0 s");
  CHECK(duration(95 * kSecond) == "1 min 35 s");
}

TEST_CASE("names cannot command the terminal", "[report]") {
  CHECK(printable("plain é … 漢") == "plain é … 漢");
  CHECK(printable("\033[2Ja\tb\n\x7f") == "?[2Ja?b??");
  CHECK(printable("\xff\xc3") == "??");  // broken UTF-8
  CHECK(printable("\xc2\x9b"
                  "31m") == "??31m");  // C1 control sequence introducer
  CHECK(printable("\xe2\x82") == "??");
}

TEST_CASE("what is cut is cut between characters", "[report]") {
  CHECK(causalctl::cut_to("abc", 3) == "abc");
  CHECK(causalctl::cut_to("abc", 2) == "ab");
  CHECK(causalctl::cut_to("aé漢", 6) == "aé漢");
  CHECK(causalctl::cut_to("aé漢", 5) == "aé");
  CHECK(causalctl::cut_to("aé漢", 3) == "aé");
  CHECK(causalctl::cut_to("aé漢", 2) == "a");
  CHECK(causalctl::cut_to("漢", 2).empty());
  CHECK(causalctl::cut_to("abc", 0).empty());
}

TEST_CASE("columns and padding count code points", "[report]") {
  CHECK(columns("a…é") == 3);
  CHECK(padded("é", 3) == "é  ");
  CHECK(padded("abcd", 3) == "abcd");
  CHECK(right_aligned("é", 3) == "  é");
}

TEST_CASE("thousands", "[report]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(1034221) == "1,034,221");
}

}  // namespace causalctl::report
