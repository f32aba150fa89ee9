#include "controller/report/page/page.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "controller/callpath/analysis/present.h"
#include "controller/report/callpath/head.h"
#include "controller/report/callpath/render.h"
#include "controller/report/continuous/calc_model.h"
#include "controller/report/inputs/render.h"
#include "controller/report/page/assets.h"
#include "tests/support/golden.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::report {
namespace {

using Catch::Contains;
using nlohmann::json;

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin);
  REQUIRE(from != std::string::npos);
  const std::size_t until = text.find(end, from + begin.size());
  REQUIRE(until != std::string::npos);
  return text.substr(from + begin.size(), until - from - begin.size());
}

std::string data_of(const std::string& html) {
  return between(html, "<script type=\"application/json\" id=\"data\">", "</script>");
}

callpath::Profile small_profile() {
  return causalctl::callpath::present(std::array{causalctl::callpath::small_recording()});
}

// A loop of one block.
continuous::Calc small_calc(const std::string& name) {
  continuous::Calc calc;
  calc.host = calc.function = calc.image = name;
  calc.epochs = {{1, name, name, name, 1}};
  continuous::CalcPart part;
  part.instructions = {{16, name, name, name, 1, 1.0, {1, 0.5, 1}, "d"}};
  part.blocks = {{0, 1, 1.0, {1, 0.5, 1}, 0}};
  part.edges = {{0, 0, 1}};
  calc.parts = {part};
  calc.warnings = {name};
  return calc;
}

// One routine, without a size.
inputs::Profile small_inputs(const std::string& name) {
  inputs::Profile profile;
  profile.command = profile.host = name;
  profile.notes = profile.warnings = {name};
  inputs::Routine routine;
  routine.name = routine.module = routine.file = routine.disagreement = name;
  routine.threads = {{name, 1, name, 1, {}}};
  profile.routines = {routine};
  return profile;
}

struct HtmlPage {
  std::string html;
  std::string folder;  // of its assets, besides those of the shell
};
std::vector<HtmlPage> small_pages() {
  return {{callpath::render_html(small_profile()), "callpath/"},
          {continuous::render_html(small_calc("loop")), "continuous/"},
          {inputs::render_html(small_inputs("loop")), "inputs/"}};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

}  // namespace

TEST_CASE("text in a page is escaped", "[report][page]") {
  CHECK(page::escaped("a<b>&\"c\"'d'") == "a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;");
  CHECK(page::escaped("operator<<(std::ostream&) — ü") ==
        "operator&lt;&lt;(std::ostream&amp;) — ü");
}

TEST_CASE("a page has its head and its data", "[report][callpath][page]") {
  callpath::Profile profile = small_profile();
  profile.started_ns = 1'764'190'000'000'000'000;
  profile.notes = {"The kernel's rings were full; records lost: 7."};
  profile.warnings = {"<b>&\x01"};
  const std::string html = callpath::render_html(profile);
  test::check_golden(between(html, "<header>", "</header>") + "\n" + data_of(html) + "\n",
                     "callpath/page.txt");
}

TEST_CASE("the data of a page has what the other formats have", "[report][callpath][page]") {
  const callpath::Profile profile = small_profile();
  const json data = json::parse(data_of(callpath::render_html(profile)));
  const json report = json::parse(callpath::render_json(profile));
  REQUIRE(data["columns"].size() == report["columns"].size());
  std::map<std::string, json> functions;
  for (const json& function : report["functions"]) functions[function["name"]] = function;
  const json& table = data["functions"];
  REQUIRE(table["name"].size() == functions.size());
  const std::size_t samples = *callpath::samples_column(profile);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const json& function = functions.at(table["name"][i]);
    for (std::size_t column = 0; column < data["columns"].size(); ++column) {
      CHECK(table["own"][column][i] == function["own"][column]);
      CHECK(table["total"][column][i] == function["total"][column]);
    }
    CHECK(table["own_interval"][samples][i][0].get<double>() ==
          Approx(function["own_share"]["low"].get<double>()).margin(1e-4));
    CHECK(table["total_interval"][samples][i][1].get<double>() ==
          Approx(function["total_share"]["high"].get<double>()).margin(1e-4));
  }
  std::uint64_t own = 0;
  for (const json& value : data["nodes"]["own"][0]) own += value.get<std::uint64_t>();
  CHECK(own == report["columns"][0]["total"]);
  CHECK(data["nodes"]["up"][0] == 0);
}

TEST_CASE("an interval on a page holds the share beside it", "[report][callpath][page]") {
  callpath::Profile profile = small_profile();
  const std::size_t samples = *callpath::samples_column(profile);
  REQUIRE(samples != 0);
  for (std::uint64_t& time : profile.own[0]) time *= time % 7 + 1;  // not in step with the samples
  const json data = json::parse(data_of(callpath::render_html(profile)));
  const json& functions = data["functions"];
  for (std::size_t column = 0; column < data["columns"].size(); ++column) {
    const bool is_sampled = column == 0 || column == samples;
    CHECK(data["columns"][column]["sampled"] == is_sampled);
    for (const std::string name : {"own", "total"}) {
      const json& intervals = functions[name + "_interval"][column];
      REQUIRE(intervals.size() == (is_sampled ? functions["name"].size() : 0));
      for (std::size_t i = 0; i < intervals.size(); ++i) {
        const double share = functions[name][column][i].get<double>() /
                             data["columns"][column]["total"].get<double>();
        CHECK(intervals[i][0].get<double>() <= share);
        CHECK(intervals[i][1].get<double>() >= share);
      }
    }
  }
}

TEST_CASE("a page tells of calls if the log does", "[report][callpath][page]") {
  CHECK_FALSE(json::parse(data_of(callpath::render_html(small_profile()))).contains("calls"));
  callpath::Profile profile = small_profile();
  for (const char* name : {"new_min", "new_max"}) {
    profile.columns.push_back({name, "calls", name});
    profile.own.emplace_back(profile.nodes.size());
  }
  CHECK_FALSE(json::parse(data_of(callpath::render_html(profile))).contains("calls"));
  for (std::uint32_t node = 1; node < profile.nodes.size(); ++node) {
    if (profile.frames[profile.nodes[node].frame].function != "c") continue;
    profile.own.end()[-2][node] = 2;
    profile.own.back()[node] = 7;
  }
  const json data = json::parse(data_of(callpath::render_html(profile)));
  CHECK(data["calls"] == json::parse(R"({"at_least":2,"at_most":3})"));
}

TEST_CASE("a page can fold the functions of the kernel", "[report][callpath][page]") {
  callpath::Profile profile = small_profile();
  CHECK_FALSE(json::parse(data_of(callpath::render_html(profile))).contains("kernel"));
  // Two of the kernel's, one below the other, below the last node.
  const auto user = static_cast<std::uint32_t>(profile.nodes.size() - 1);
  const std::uint32_t caller = profile.nodes[user].frame;
  const std::string name = profile.frames[caller].function;
  callpath::Frame frame;
  frame.module = "[kernel]";
  frame.kernel = true;
  for (const char* function : {"[k] outer", "[k] inner"}) {
    frame.function = function;
    profile.nodes.push_back({static_cast<std::uint32_t>(profile.nodes.size() - 1),
                             static_cast<std::uint32_t>(profile.frames.size())});
    profile.frames.push_back(frame);
    for (auto& column : profile.own) column.push_back(1000);
  }
  profile.folds_kernel = true;
  const json data = json::parse(data_of(callpath::render_html(profile)));
  const json& kernel = data["kernel"];
  CHECK(kernel["folded"] == true);
  std::map<std::string, std::size_t> numbers;
  for (const json& each : data["functions"]["name"]) numbers[each] = numbers.size();
  std::vector<std::size_t> hidden = kernel["functions"];
  std::sort(hidden.begin(), hidden.end());
  std::vector<std::size_t> expected = {numbers.at("[k] outer"), numbers.at("[k] inner")};
  std::sort(expected.begin(), expected.end());
  CHECK(hidden == expected);
  for (std::size_t column = 0; column < data["columns"].size(); ++column) {
    const json& own = data["functions"]["own"][column];
    const json& folded = kernel["own"][column];
    for (const auto& [function, number] : numbers) {
      INFO(function);
      const bool is_hidden = std::find(hidden.begin(), hidden.end(), number) != hidden.end();
      const std::uint64_t given = function == name ? 2000 : 0;
      CHECK(folded[number] == (is_hidden ? 0 : own[number].get<std::uint64_t>() + given));
    }
  }
  CHECK(kernel["own_interval"].size() == data["columns"].size());
}

TEST_CASE("no name can leave the place in which it stands", "[report][callpath][page]") {
  const std::string hostile[] = {"</script><script>alert(1)</script>",
                                 "<img src=x onerror=alert(1)>",
                                 "<!--<script>",
                                 "\"'`${alert(1)}\\",
                                 "a\xff\xc3(\x01\x1b[31m\n\x7f",
                                 "\xe2\x80\xa8\xe2\x80\xa9",
                                 "]]>&lt;/script&gt;"};
  const auto check = [](const std::string& html, const std::string& harmless) {
    CHECK(json::parse(data_of(html)).is_object());
    CHECK_THAT(data_of(html), !Contains("<"));
    for (const char* tag : {"<script", "</script", "<img", "<!--"}) {
      CHECK(count(html, tag) == count(harmless, tag));
    }
    CHECK(std::all_of(html.begin(), html.end(), [](char c) {
      return static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t';
    }));
    // It is UTF-8, or this throws.
    CHECK_NOTHROW(json(html).dump());
  };
  const std::vector<HtmlPage> harmless = small_pages();
  for (const std::string& text : hostile) {
    callpath::Profile profile = small_profile();
    profile.program = profile.host = "/" + text;
    profile.notes = profile.warnings = {text};
    for (callpath::Column& column : profile.columns) column.title = text;
    for (callpath::Frame& frame : profile.frames) {
      frame.function = frame.file = frame.module = text + frame.function;
    }
    INFO(text);
    check(callpath::render_html(profile), harmless[0].html);
    check(continuous::render_html(small_calc(text)), harmless[1].html);
    check(inputs::render_html(small_inputs(text)), harmless[2].html);
  }
}

TEST_CASE("a page lets only its own scripts and styles count, and loads nothing",
          "[report][callpath][page]") {
  for (const auto& [html, folder] : small_pages()) {
    const std::string policy =
        between(html, "<meta http-equiv=\"Content-Security-Policy\" content=\"", "\">");
    CHECK_THAT(policy, Contains("default-src 'none'"));
    for (const page::Asset& asset : page::all_assets()) {
      if (asset.name.ends_with(".html")) continue;
      INFO(asset.name << " in a page of " << folder);
      const bool is_own = asset.name.starts_with("page/") || asset.name.starts_with(folder);
      const std::string element = asset.name.ends_with(".js") ? "script" : "style";
      const std::string whole =
          "<" + element + ">" + std::string(asset.text) + "</" + element + ">";
      CHECK((policy.find("'sha256-" + std::string(asset.sha256) + "'") != std::string::npos) ==
            is_own);
      CHECK((html.find(whole) != std::string::npos) == is_own);
    }
    const std::regex loads(R"(<(link|iframe|object|embed|base|form)\b|\bsrc=|@import|url\()",
                           std::regex::icase);
    CHECK_FALSE(std::regex_search(between(html, "<style>", "</style>"), loads));
    CHECK_FALSE(std::regex_search(between(html, "</style>", "<script"), loads));
  }
}

TEST_CASE("a page of nothing is a page", "[report][callpath][page]") {
  callpath::Profile profile;
  profile.program = "/srv/server";
  profile.columns = {{"samples", "samples", "Samples"}};
  profile.nodes = {{}};
  profile.own = {{0}};
  const std::string html = callpath::render_html(profile);
  CHECK(json::parse(data_of(html))["columns"][0]["total"] == 0);
}

}  // namespace causalctl::report
