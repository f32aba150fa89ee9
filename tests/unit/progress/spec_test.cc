#include <catch2/catch.hpp>
#include <string>

#include "controller/base/error.h"
#include "controller/progress/progress.h"

namespace causalctl::progress {

namespace {

template <typename T>
T parse(const std::string& text) {
  const auto spec = parse_spec(text);
  INFO(text << " parsed as form " << spec.index());
  REQUIRE(std::holds_alternative<T>(spec));
  return std::get<T>(spec);
}

std::string as_line(const std::string& text) {
  const auto spec = parse<LineSpec>(text);
  return spec.file + "|" + std::to_string(spec.line);
}

std::string as_function(const std::string& text) {
  const auto spec = parse<FunctionSpec>(text);
  return spec.binary + "|" + spec.name;
}

}  // namespace

TEST_CASE("FILE:LINE", "[progress]") {
  CHECK(as_line("file.cc:12") == "file.cc|12");
  CHECK(as_line("a/b.c:7") == "a/b.c|7");
  CHECK(as_line("/src/a b/c.c:1") == "/src/a b/c.c|1");
  CHECK(as_line("../x.h:2147483647") == "../x.h|2147483647");
  CHECK(as_line("C:/x.c:3") == "C:/x.c|3");
  CHECK(as_line("a+0x1f:3") == "a+0x1f|3");
}

TEST_CASE("what is nearly a prefix is told", "[progress]") {
  CHECK(spelled_right("syscal:write") == "syscall:write");
  CHECK(spelled_right("usd:a:b") == "usdt:a:b");
  CHECK(spelled_right("sample:x.c:3") == "sampled:x.c:3");
  CHECK_FALSE(spelled_right("syscall:write").has_value());
  CHECK_FALSE(spelled_right("libssl:SSL_read").has_value());
  CHECK_FALSE(spelled_right("main").has_value());
  CHECK_THROWS_WITH(parse_spec("usd:a:b"), Catch::Matchers::Contains("did you mean usdt:a:b?"));
}

TEST_CASE("an offset without its binary is not told of a ':'", "[progress]") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(parse_spec("0x1234"), Contains("BINARY+0x1234") && !Contains("':'"));
  CHECK_THROWS_WITH(parse_spec("12"), !Contains("':'"));
}

TEST_CASE("functions, with C++ names", "[progress]") {
  CHECK(as_function("main") == "|main");
  CHECK(as_function("ns::f") == "|ns::f");
  CHECK(as_function("a::b::c") == "|a::b::c");
  CHECK(as_function("::f") == "|::f");
  CHECK(as_function("libx.so:ns::f") == "libx.so|ns::f");
  CHECK(as_function("libx*:f") == "libx*|f");
  CHECK(as_function("/usr/lib/libx.so.1:f") == "/usr/lib/libx.so.1|f");
  CHECK(as_function("f<a::b>(int, c::d)") == "|f<a::b>(int, c::d)");
  CHECK(as_function("bin:f<a::b>(int)") == "bin|f<a::b>(int)");
  CHECK(as_function("(anonymous namespace)::f") == "|(anonymous namespace)::f");
  CHECK(as_function("bin:::f") == "bin|::f");
  CHECK(as_function("T::operator()") == "|T::operator()");
  CHECK(as_function("T::operator+") == "|T::operator+");
  CHECK(as_function("bin:T::operator<") == "bin|T::operator<");
  CHECK(as_function("_ZN2ns1fEv") == "|_ZN2ns1fEv");
  CHECK(as_function("f.constprop.0") == "|f.constprop.0");
  CHECK(as_function("usdt") == "|usdt");
}

TEST_CASE("binary+0xOFFSET", "[progress]") {
  CHECK(parse<OffsetSpec>("bin+0x1f").binary == "bin");
  CHECK(parse<OffsetSpec>("bin+0x1f").offset == 0x1f);
  CHECK(parse<OffsetSpec>("libstdc++.so.6+0xDEADbeef").binary == "libstdc++.so.6");
  CHECK(parse<OffsetSpec>("libstdc++.so.6+0xDEADbeef").offset == 0xdeadbeef);
  CHECK(parse<OffsetSpec>("a+0x1+0x2").binary == "a+0x1");
  CHECK(parse<OffsetSpec>("b+0xffffffffffffffff").offset == ~std::uint64_t{0});
}

TEST_CASE("probes, system calls and sampled lines", "[progress]") {
  CHECK(parse<UsdtSpec>("usdt:postgresql:transaction__commit").provider == "postgresql");
  CHECK(parse<UsdtSpec>("usdt:postgresql:transaction__commit").name == "transaction__commit");
  CHECK(parse<UsdtSpec>("usdt:p:12").name == "12");
  CHECK(parse<SyscallSpec>("syscall:sendto").name == "sendto");
  CHECK(parse<SyscallSpec>("syscall:rt_sigaction").name == "rt_sigaction");
  CHECK(parse<SampledSpec>("sampled:f.c:3").file == "f.c");
  CHECK(parse<SampledSpec>("sampled:f.c:3").line == 3);
}

TEST_CASE("what is no SPEC is refused, and all forms are listed", "[progress]") {
  const std::string nul("a\0b", 3);
  for (const auto& text : std::vector<std::string>{"",
                                                   ":",
                                                   ":12",
                                                   "f.c:0",
                                                   "f.c:",
                                                   "f.c:12x",
                                                   "f.c:99999999999",
                                                   "a:b:c",
                                                   "dir/:3",
                                                   "ns::12",
                                                   "+0x12",
                                                   "bin+0x",
                                                   "bin+0x12g",
                                                   "bin+0x11112222333344445",
                                                   "usdt:",
                                                   "usdt:p",
                                                   "usdt:p:",
                                                   "usdt::n",
                                                   "usdt:p:n:m",
                                                   "syscall:",
                                                   "syscall:../../id",
                                                   "syscall:a b",
                                                   "sampled:",
                                                   "sampled:f",
                                                   "sampled:f.c:0",
                                                   "12",
                                                   ":f",
                                                   "a\nb",
                                                   nul}) {
    CAPTURE(text);
    try {
      parse_spec(text);
      FAIL("accepted");
    } catch (const UsageError& error) {
      CHECK(error.code() == ExitCode::usage);
      for (const char* form :
           {"file.c:210", "binary:function", "file.c:function", "binary+0xOFFSET",
            "usdt:provider:name", "syscall:sendto", "sampled:file.c:210"}) {
        CHECK(error.hint().find(form) != std::string::npos);
      }
    }
  }
}

}  // namespace causalctl::progress
