#include <catch2/catch.hpp>

#include "controller/progress/naming.h"

namespace causalctl::progress {

using Names = std::vector<std::string>;

TEST_CASE("the clause of nearest names", "[progress]") {
  CHECK(nearest_clause({"a", "b"}) == "; nearest: a, b");
  CHECK(nearest_clause({}).empty());
}

TEST_CASE("paths are shortened to what tells them apart", "[progress]") {
  CHECK(shortest_unique_suffixes({"/s/a/x.c", "/s/b/x.c"}) == Names{"a/x.c", "b/x.c"});
  CHECK(shortest_unique_suffixes({"/s/x.c", "/s/y.c"}) == Names{"x.c", "y.c"});
  // One path is the end of the other, so only its whole path names it.
  CHECK(shortest_unique_suffixes({"b/x.c", "/a/b/x.c"}) == Names{"b/x.c", "a/b/x.c"});
  CHECK(shortest_unique_suffixes({"/x.c", "/a/x.c"}) == Names{"/x.c", "a/x.c"});
  CHECK(shortest_unique_suffixes({"x.c"}) == Names{"x.c"});
}

TEST_CASE("which of several files a line is in", "[progress]") {
  using causalctl::unwind::Place;
  std::vector<Place> places{{1, "f", "/s/a/x.c", 7}, {2, "g", "/s/b/x.c", 7}};
  CHECK(files_meant(places, "x.c") == Names{"a/x.c", "b/x.c"});
  places.push_back({3, "h", "x.c", 7});
  places.push_back({4, "h", "x.c", 7});
  CHECK(files_meant(places, "x.c") == Names{"x.c"});
  CHECK(places.size() == 2);  // they are copies of one line
  places.clear();
  CHECK(files_meant(places, "x.c").empty());
}

TEST_CASE("names are quoted as a shell needs it", "[progress]") {
  CHECK(in_shell_quotes("ns::f") == "ns::f");
  CHECK(in_shell_quotes("libx.so.1:ns::f") == "libx.so.1:ns::f");
  CHECK(in_shell_quotes("a.c:7") == "a.c:7");
  CHECK(in_shell_quotes("f(int, g<2>)") == "'f(int, g<2>)'");
  CHECK(in_shell_quotes("main.(*T).Method") == "'main.(*T).Method'");
  CHECK(in_shell_quotes("it's") == "'it'\\''s'");
  CHECK(in_shell_quotes("") == "''");
}

}  // namespace causalctl::progress
