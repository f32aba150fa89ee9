// Symbols are untrusted: some of a few hundred characters have names of gigabytes.
#include "unwind/names/demangle.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>

#include "unwind/names/function_name.h"

namespace causalctl::unwind {
namespace {

constexpr std::size_t kLongest = 65'536;  // of a name

// Returns a number in base 62 or 36, as the mangling of Rust, or of C++, writes it: "_", "0_",
// "1_".
std::string reference(std::size_t index, std::string_view digits) {
  if (index == 0) return "_";
  std::string text = "_";
  for (--index;; index /= digits.size()) {
    text.insert(0, 1, digits[index % digits.size()]);
    if (index < digits.size()) return text;
  }
}

constexpr std::string_view kOfCpp = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kOfRust =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// Each parameter is an A of the one before it, twice.
std::string doubling_cpp(std::size_t levels) {
  std::string symbol = "_Z1f1AIiiE";
  for (std::size_t i = 1; i < levels; ++i) {
    const std::string last = "S" + reference(i, kOfCpp);
    symbol += "S_I" + last + last + "E";
  }
  return symbol;
}

// The same with tuples; references count from behind "_R".
std::string doubling_rust(std::size_t levels) {
  std::string symbol = "INvC1a1f";
  std::size_t last = symbol.size();
  symbol += "TllE";
  for (std::size_t i = 1; i < levels; ++i) {
    const std::string twice =
        "TB" + reference(last, kOfRust) + "B" + reference(last, kOfRust) + "E";
    last = symbol.size();
    symbol += twice;
  }
  return "_R" + symbol + "E";
}

std::string distance(std::size_t back) {
  std::string text(1, static_cast<char>('a' + back % 26));
  for (back /= 26; back > 0; back /= 26) text.insert(0, 1, static_cast<char>('A' + back % 26));
  return "Q" + text;
}

// The same with associative arrays.
std::string doubling_d(std::size_t levels) {
  std::string symbol = "_D1a1fF";
  std::size_t last = symbol.size();
  symbol += "Hii";
  for (std::size_t i = 1; i < levels; ++i) {
    const std::size_t begin = symbol.size();
    symbol += "H" + distance(begin + 1 - last);
    symbol += distance(symbol.size() - last);
    last = begin;
  }
  return symbol + "Zv";
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST_CASE("a symbol that refers back has its name while that is short", "[unwind][demangle]") {
  CHECK(demangle(doubling_cpp(2)) == "f(A<int, int>, A<A<int, int>, A<int, int> >)");
  CHECK(demangle(doubling_rust(2)) == "a::f::<(i32, i32), ((i32, i32), (i32, i32))>");
  CHECK(demangle(doubling_d(2)) == "a.f(int[int], int[int][int[int]])");
  CHECK(demangle(doubling_cpp(10)).size() > 10'000);
  CHECK(demangle(doubling_d(8)).size() > 1'000);
}

TEST_CASE("a symbol whose name would be huge stays as it is", "[unwind][demangle]") {
  for (const std::size_t levels : {20, 40, 100}) {
    CAPTURE(levels);
    for (const std::string& symbol :
         {doubling_cpp(levels), doubling_rust(levels), doubling_d(levels)}) {
      const bool raw = demangle(symbol) == symbol;
      CHECK(raw);
      CHECK(simple_name(symbol).size() <= symbol.size());
    }
  }
}

TEST_CASE("symbols that nest deeply, or are megabytes long, end", "[unwind][demangle]") {
  constexpr std::size_t kMega = 1 << 20;
  for (const std::size_t count :
       {std::size_t{1'000}, std::size_t{8'000}, std::size_t{30'000}, kMega}) {
    CAPTURE(count);
    for (const std::string& symbol :
         {"_Z1f" + repeated("P", count) + "i", "_Z1fI" + repeated("N1aI", count / 4),
          "_RINvC1a1f" + repeated("R", count) + "lE", "_RINvC1a1f" + repeated("T", count) + "E",
          "_D1a1f" + repeated("P", count) + "v", "_D1a" + repeated("__T1f", count / 5) + "Z",
          "_D1a1fF" + repeated("DF", count / 2) + "Zv",
          "_RNvC1a" + std::to_string(count) + "u" + repeated("a", count),
          "__a_MOD_" + repeated("b", count), "camlA__" + repeated("$2b", count / 3),
          "camlA" + repeated("__B", count / 3)}) {
      CAPTURE(symbol.substr(0, 20));
      const std::string name = demangle(symbol);
      CHECK((name == symbol || name.size() <= std::max(kLongest, symbol.size())));
      CHECK(without_arguments(name).size() <= name.size());
      CHECK(simple_name(name).size() <= name.size());
      CHECK(WrittenName("main").fit(symbol, name) == Fit::none);
    }
  }
}

}  // namespace
}  // namespace causalctl::unwind
