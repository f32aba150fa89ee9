#include "controller/report/short_names.h"

#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <vector>

#include "controller/report/text.h"

namespace causalctl::report {
namespace {

using Catch::Contains;

// Functions of which all but their endings, or all but their arguments, is the same.
std::vector<std::string> much_alike() {
  std::vector<std::string> names = {
      "void process<OrderRequestHandlerForTheFrontendOfShopA>(std::map<std::string, long>*, long)",
      "void process<OrderRequestHandlerForTheFrontendOfShopB>(std::map<std::string, long>*, long)",
      "svc::Cache<std::pair<std::string, long> >::evict(long)",
      "svc::Cache<std::pair<std::string, int> >::evict(long)",
      "svc::Cache<std::pair<int, int> >::evict(long)",
      "s1/util.c:a_function_with_quite_a_long_name_of_its_own",
      "s2/util.c:a_function_with_quite_a_long_name_of_its_own",
      "bool operator<(svc::Key const&, svc::Key const&)",
      "bool operator<=(svc::Key const&, svc::Key const&)",
      "bool operator<(svc::Value const&, svc::Value const&)",
      "svc::Set<int>::operator()(int) const",
      "svc::Set<int>::operator()(int)",
      "main",
      "main::{lambda(int)#1}::operator()(int) const",
      "main::{lambda(int)#2}::operator()(int) const",
      "f()",
      "f(int)",
      "f(int, int)",
      "f(int, int, int)",
      "größe_des_äußeren_kreises(a)",
      "größe_des_äußeren_kreises(b)"};
  for (const char* key : {"int", "long", "std::string"}) {
    for (const char* value : {"int", "long", "std::string"}) {
      for (const char* more : {"int", "long"}) {
        names.push_back(std::string("std::_Rb_tree<") + key + ", std::pair<" + value + ", " + more +
                        ">, std::less<" + key + "> >::_M_emplace_unique(" + value + "&&)");
      }
    }
  }
  return names;
}

}  // namespace

TEST_CASE("long C++ names lose what says least", "[report]") {
  const std::string name =
      "std::unordered_map<std::basic_string<char>, int>::insert(std::pair<int, int> const&)";
  CHECK(shortened(name, 100) == name);
  CHECK(shortened(name, 60) == "std::unordered_map<std::basic_string<char>, int>::insert(…)");
  CHECK(shortened(name, 40) == "std::unordered_map<…>::insert(…)");
  CHECK(shortened(name, 12) == "…::insert(…)");
  CHECK(shortened("Pointer<A>::operator->", 16) == "…<…>::operator->");
  CHECK(shortened("ééééé", 3) == "…éé");
  CHECK(shortened("abc", 1) == "…");
  CHECK(shortened("abc", 0).empty());
  for (std::size_t width = 0; width < 90; ++width) {
    CHECK(columns(shortened(name, width)) <= width);
    CHECK(columns(shortened("operator<<(((", width)) <= width);
  }
}

TEST_CASE("names that differ in their arguments alone are told apart", "[report]") {
  const ShortNames names(much_alike());
  const std::string a = much_alike()[0];
  CHECK(names.fit(a, 200) == a);
  CHECK(names.fit(a, 60) == "void process<OrderRequestHandlerForTheFrontendOfShopA>(…)");
  CHECK(names.fit(a, 40) == "void process<…rForTheFrontendOfShopA>(…)");
  CHECK(names.fit(much_alike()[2], 40) == "svc::Cache<…long…>::evict(…)");
  CHECK(names.fit("main", 12) == "main");
  // What no other name looks like is cut as it would be alone.
  CHECK(names.fit("a name of another report", 7) == "…report");
}

TEST_CASE("however names are cut, no two of them look alike", "[report]") {
  const std::vector<std::string> all = much_alike();
  const ShortNames names(all);
  std::set<std::string> of_others;  // in any width
  for (const std::string& name : all) {
    std::set<std::string> looks;
    for (std::size_t width = 12; width < 120; ++width) {
      const std::string look = names.fit(name, width);
      looks.insert(look);
      if (columns(look) > width) CHECK(columns(look) <= 40);  // only what tells it apart
      if (columns(name) <= width) CHECK(look == name);
    }
    for (const std::string& look : looks) {
      INFO(name << " looks like another one: " << look);
      CHECK(of_others.insert(look).second);
    }
  }
}

TEST_CASE("names of which one begins like the other are told apart", "[report]") {
  const std::string path = "/a/very/long/path/to/a/library/that/is/called/libplugin.so:work";
  const ShortNames names({path, "/another" + path, "work", "work2", "(work)", "((work))"});
  std::set<std::string> looks;
  for (const auto& name : {path, "/another" + path, std::string("work"), std::string("work2"),
                           std::string("(work)"), std::string("((work))")}) {
    CHECK(looks.insert(names.fit(name, 16)).second);
  }
}

}  // namespace causalctl::report
