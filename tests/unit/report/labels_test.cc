// Which functions and lines of a profile are one, and what they are called.
#include "controller/report/callpath/labels.h"

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "controller/report/callpath/render.h"

namespace causalctl::report::callpath {
namespace {

using Catch::Contains;
using Texts = std::vector<std::string>;

struct Place {
  const char* function;
  const char* file;
  const char* module;
  const char* home = "";  // the file, if empty
  std::uint32_t build = 0;
  int line = 1;
};

// Each place is called by the root, for so long as its number says.
Profile profile_of(const std::vector<Place>& places) {
  Profile profile;
  profile.columns = {{"cpu", "nanoseconds", "CPU time"}};
  profile.nodes.emplace_back();
  profile.own = {{0}};
  for (const Place& place : places) {
    Frame frame{place.function, place.file, place.line, place.module};
    frame.home = *place.home == 0 ? place.file : place.home;
    frame.module_number = place.build;
    frame.offset = 0x10 * profile.nodes.size();
    profile.nodes.push_back({0, static_cast<std::uint32_t>(profile.frames.size())});
    profile.own[0].push_back(profile.nodes.size());
    profile.frames.push_back(std::move(frame));
  }
  return profile;
}

Texts names_in(const Labels& labels) {
  Texts names;
  for (const Labels::Label& label : labels.all) names.push_back(label.name);
  return names;
}

Texts functions_of(const std::vector<Place>& places) {
  return names_in(by_function(profile_of(places)));
}

}  // namespace

TEST_CASE("static functions of one name are several", "[report][callpath][names]") {
  CHECK(functions_of(
            {{"hash", "/s1/u.c", "/p"}, {"hash", "/s2/u.c", "/p"}, {"f", "/s1/u.c", "/p"}}) ==
        Texts{"s1/u.c:hash", "s2/u.c:hash", "f"});
  CHECK(functions_of({{"hash", "/a.c", "/p"}, {"hash", "/b.c", "/p"}}) ==
        Texts{"a.c:hash", "b.c:hash"});
}

TEST_CASE("functions of one name in several modules are several", "[report][callpath][names]") {
  CHECK(functions_of({{"init", "", "/lib/a.so"}, {"init", "", "/lib/b.so"}, {"f", "", "/x"}}) ==
        Texts{"a.so:init", "b.so:init", "f"});
  CHECK(functions_of({{"work", "", "/v1/libx.so"}, {"work", "", "/v2/libx.so"}}) ==
        Texts{"v1/libx.so:work", "v2/libx.so:work"});
  CHECK(functions_of({{"[libx.so]", "", "/v1/libx.so"}, {"[libx.so]", "", "/v2/libx.so"}}) ==
        Texts{"[v1/libx.so]", "[v2/libx.so]"});
  CHECK(functions_of({{"libx.so+0x10", "", "/v1/libx.so"}, {"libx.so+0x10", "", "/v2/libx.so"}}) ==
        Texts{"v1/libx.so+0x10", "v2/libx.so+0x10"});
  // A function of a header, and two static ones, each in two modules.
  CHECK(functions_of({{"f", "/a.h", "/x/m"},
                      {"f", "/b.c", "/x/m"},
                      {"f", "/a.h", "/y/m"},
                      {"f", "/b.c", "/y/m"}}) ==
        Texts{"/x/m:/a.h:f", "/x/m:/b.c:f", "/y/m:/a.h:f", "/y/m:/b.c:f"});
}

TEST_CASE("a function with lines of several files is one", "[report][callpath][names]") {
  CHECK(functions_of({{"eval", "/ceval.c", "/p"}, {"eval", "/cases.h", "/p", "/ceval.c"}}) ==
        Texts{"eval"});
  const Profile profile =
      profile_of({{"eval", "/cases.h", "/p", "/ceval.c"}, {"eval", "/ceval.c", "/p"}});
  CHECK(file_of(by_function(profile).all[0], profile) == "/ceval.c");
}

TEST_CASE("a function whose source moved between two builds is one", "[report][callpath][names]") {
  CHECK(functions_of({{"f", "/old/u.c", "/p", "", 0}, {"f", "/new/u.c", "/p", "", 1}}) ==
        Texts{"f"});
  CHECK(functions_of({{"f", "/s1/u.c", "/p", "", 0},
                      {"f", "/s2/u.c", "/p", "", 0},
                      {"f", "/s1/u.c", "/p", "", 1}}) == Texts{"s1/u.c:f", "s2/u.c:f"});
}

TEST_CASE("where the log does not tell the file, the name decides", "[report][callpath][names]") {
  Profile profile = profile_of({{"hash", "/s1/u.c", "/p"}, {"hash", "/s2/u.c", "/p"}});
  for (Frame& frame : profile.frames) frame.home.clear();
  CHECK(names_in(by_function(profile)) == Texts{"hash"});
  CHECK(file_of(by_function(profile).all[0], profile) == "/s1/u.c");
}

TEST_CASE("a line is called by the shortest name of its file", "[report][callpath][names]") {
  const std::vector<Place> places = {
      {"hash", "/s1/u.c", "/p", "", 0, 3}, {"hash", "/s2/u.c", "/p", "", 0, 3},
      {"main", "/main.c", "/p", "", 0, 9}, {"[p]", "", "/p", "", 0, 0},
      {"f", "/a.h", "/x.so", "", 1, 7},    {"f", "/a.h", "/y.so", "", 2, 7}};
  CHECK(names_in(by_line(profile_of(places))) == Texts{"s1/u.c:3 hash", "s2/u.c:3 hash",
                                                       "main.c:9 main", "[p]+0x40", "a.h:7 x.so:f",
                                                       "a.h:7 y.so:f"});
  CHECK(names_in(by_line(profile_of(places), false))[3] == "[p]");
  // The same line of the same file, in two functions of one name.
  CHECK(names_in(by_line(profile_of(
            {{"f", "/body.inc", "/p", "/s1/u.c"}, {"f", "/body.inc", "/p", "/s2/u.c"}}))) ==
        Texts{"body.inc:1 s1/u.c:f", "body.inc:1 s2/u.c:f"});
}

TEST_CASE("every export tells functions of one name apart", "[report][callpath][names]") {
  const Profile profile = profile_of({{"hash", "/s1/u.c", "/p"}, {"hash", "/s2/u.c", "/p"}});
  const auto json = nlohmann::json::parse(render_json(profile));
  REQUIRE(json["functions"].size() == 2);
  CHECK(json["functions"][0]["name"] == "s2/u.c:hash");
  CHECK(json["functions"][0]["function"] == "hash");
  CHECK(json["functions"][0]["file"] == "/s2/u.c");
  CHECK_THAT(render_callgrind(profile), Contains("fl=(1) /s1/u.c\nfn=(1) s1/u.c:hash\n1 2\n") &&
                                            Contains("fl=(2) /s2/u.c\nfn=(2) s2/u.c:hash\n1 3\n"));
  CHECK(render_folded(profile) == "s1/u.c:hash 2\ns2/u.c:hash 3\n");
  for (const std::string& text :
       {render_speedscope(profile), render_firefox(profile), render_hatchet(profile),
        render_html(profile), render_text(profile, By::overview, false, 80)}) {
    CHECK_THAT(text, Contains("s1/u.c:hash") && Contains("s2/u.c:hash"));
  }
}

TEST_CASE("callgrind is told of which file each line is", "[report][callpath][names]") {
  const Profile profile =
      profile_of({{"eval", "/ceval.c", "/p"}, {"eval", "/cases.h", "/p", "/ceval.c", 0, 5}});
  CHECK_THAT(render_callgrind(profile),
             Contains("fl=(1) /ceval.c\nfn=(1) eval\nfi=(2) /cases.h\n5 3\nfi=(1)\n1 2\n"));
}

}  // namespace causalctl::report::callpath
