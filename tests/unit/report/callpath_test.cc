#include <zlib.h>

#include <array>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>
#include <sstream>

#include "controller/base/proportion.h"
#include "controller/callpath/analysis/present.h"
#include "controller/report/callpath/json_text.h"
#include "controller/report/callpath/labels.h"
#include "controller/report/callpath/render.h"
#include "controller/report/text.h"
#include "tests/support/golden.h"
#include "tests/unit/callpath/recordings.h"

namespace causalctl::report::callpath {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using nlohmann::json;
using test::check_golden;

Profile small() {
  return causalctl::callpath::present(std::array{causalctl::callpath::small_recording()});
}

// With two groups of threads, one of which waits, and a name that a terminal would obey.
Profile grouped_threads() {
  causalctl::callpath::Recording r = causalctl::callpath::small_recording();
  r.groups = {{"main"}, {"worker\033[31m"}};
  r.add({0, 1, causalctl::callpath::Metric::blocked_ns}, 2, 1'500'000'000);
  r.add({0, 1, causalctl::callpath::Metric::waits}, 2, 12);
  r.warnings = {"the target used frames\nof its own"};
  r.losses.records_lost = 7;
  return causalctl::callpath::present(std::array{r});
}

Profile set(bool by_process = false) {
  return causalctl::callpath::present(std::array{causalctl::callpath::set_recording()}, "",
                                      by_process);
}

using Values = std::map<std::string, std::uint64_t>;

// What each function has of its own, in the first column: what all formats must agree on.
const Values kOwn = {{"c", 90'000'000}, {"[libz.so.1]", 10'000'000}};

Values without_zeros(Values values) {
  std::erase_if(values, [](const auto& each) { return each.second == 0; });
  return values;
}

std::string unpacked(const std::string& packed) {
  std::string bytes(1 << 20, '\0');
  z_stream stream{};
  REQUIRE(::inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  REQUIRE(::inflate(&stream, Z_FINISH) == Z_STREAM_END);
  bytes.resize(stream.total_out);
  ::inflateEnd(&stream);
  return bytes;
}

}  // namespace

TEST_CASE("Wilson's interval is in its place for few and for many", "[report][callpath]") {
  CHECK(share_with_interval(0, 0).high == 1);
  CHECK(share_with_interval(0, 10).low == 0);
  CHECK(share_with_interval(0, 10).high ==
        Approx(0.2775).margin(1e-4));  // Brown, Cai & DasGupta (2001)
  CHECK(share_with_interval(10, 10).high == 1);
  CHECK(share_with_interval(50, 100).low == Approx(0.4038).margin(1e-4));
  CHECK(share_with_interval(50, 100).high == Approx(0.5962).margin(1e-4));
}

TEST_CASE("a function that calls itself counts once", "[report][callpath]") {
  const Profile profile = small();
  const Labels labels = by_function(profile);
  const LabelTree tree = merged(profile, labels);
  const LabelValues values = values_of(tree, Children(tree), labels);
  for (std::size_t i = 0; i < labels.all.size(); ++i) {
    const std::string& name = labels.all[i].name;
    INFO(name);
    if (name == "main" || name == "c") CHECK(values.total[1][i] == 100);
    if (name == "a(int)" || name == "b(int)") CHECK(values.total[1][i] == 70);
    if (name == "c") CHECK(values.own[1][i] == 90);
  }
}

TEST_CASE("chains are not all complete if one is not", "[report][callpath]") {
  Profile profile = small();
  profile.chains = {99'999, 1, {}};
  CHECK_THAT(render_text(profile, By::overview, false, 100),
             Contains("Over 99.9 % of the call chains are complete; 1 is not."));
  profile.chains = {99'999, 0, {}};
  CHECK_THAT(render_text(profile, By::overview, false, 100),
             Contains("100.0 % of the call chains are complete."));
  profile.chains.searched = 1200;
  CHECK_THAT(render_text(profile, By::overview, false, 1000),
             Contains("complete. In 1,200 of the complete ones no unwind table tells a caller"));
}

TEST_CASE("columns have room for minutes", "[report][callpath]") {
  causalctl::callpath::Recording r = causalctl::callpath::small_recording();
  r.add({0, 0, causalctl::callpath::Metric::blocked_ns}, 2, 119'000'000'000);
  r.add({0, 0, causalctl::callpath::Metric::blocked_ns}, 3, 3'600'000'000'000);
  const auto text = render_text(causalctl::callpath::present(std::array{r}), By::line, false, 100);
  CHECK_THAT(text, Contains("  1 min 59 s") && Contains(" %   60 min 0 s"));
}

TEST_CASE("time without a known caller is no caller's", "[report][callpath]") {
  causalctl::callpath::Recording r = causalctl::callpath::small_recording();
  // 100 samples of c, of which half have no caller in their chain.
  r.add({0, 0, causalctl::callpath::Metric::cpu_ns},
        r.tree.path(std::vector<causalctl::callpath::LocationId>{4}), 90'000'000);
  const std::string text =
      render_text(causalctl::callpath::present(std::array{r}), By::function, false, 120);
  CHECK_THAT(text, Contains("called by b(int) 38.9 %, main 11.1 %, no known caller 50.0 %"));
}

TEST_CASE("text reports of call paths are as in the golden files", "[report][callpath]") {
  check_golden(render_text(small(), By::overview, false, 100), "callpath/overview.txt");
  check_golden(render_text(small(), By::overview, true, 100), "callpath/overview_color.txt");
  check_golden(render_text(small(), By::function, false, 100), "callpath/function.txt");
  check_golden(render_text(small(), By::line, false, 100), "callpath/line.txt");
  check_golden(render_text(small(), By::path, false, 100), "callpath/path.txt");
  check_golden(render_text(grouped_threads(), By::overview, false, 80), "callpath/groups.txt");
  causalctl::callpath::Recording nothing;
  nothing.executable = "/bin/x";
  check_golden(
      render_text(causalctl::callpath::present(std::array{nothing}), By::overview, false, 80),
      "callpath/empty.txt");
}

TEST_CASE("reports of a set are as in the golden files", "[report][callpath][set]") {
  check_golden(render_text(set(), By::overview, false, 100), "callpath/set.txt");
  check_golden(render_text(set(true), By::overview, false, 100), "callpath/set_process.txt");
  check_golden(render_json(set()), "callpath/set.json");
}

TEST_CASE("a table of programs has ten rows", "[report][callpath][set]") {
  Profile profile = set();
  for (int i = 0; i < 9; ++i) profile.programs.push_back({"p\033" + std::to_string(i), 1, 0, 0});
  const std::string text = render_text(profile, By::function, false, 80);
  CHECK_THAT(text,
             Contains("p\\x1b6\n… and 2 more: --format json\n") || Contains("6\n… and 2 more"));
  CHECK_THAT(text, !Contains("\033"));
  profile.programs.resize(1);
  CHECK_THAT(render_text(profile, By::function, false, 80), !Contains("processes   CPU time"));
}

TEST_CASE("a set is called by its first program and the number of the others",
          "[report][callpath][set]") {
  Profile profile = set();
  CHECK_THAT(render_text(profile, By::function, false, 80),
             StartsWith("2.0 s of make and 42 other processes: "));
  CHECK_THAT(render_html(profile),
             Contains("Call paths of make and 42 other processes") &&
                 Contains("cc1 80.0 % (2 processes), make 10.0 % (1 process)"));
  profile.processes = 2;
  CHECK_THAT(render_text(profile, By::function, false, 80),
             StartsWith("2.0 s of make and 1 other process: "));
  profile.program.clear();
  profile.set = "--match cc1";
  CHECK_THAT(render_text(profile, By::function, false, 80),
             StartsWith("2.0 s of --match cc1 (2 processes): "));
}

TEST_CASE("all formats have the programs and processes of a set", "[report][callpath][set]") {
  CHECK_THAT(render_folded(set()), Contains("make;main;a(int);b(int);c 10000000\n") &&
                                       Contains("cc1;main;a(int);b(int);c 40000000\n"));
  CHECK_THAT(render_folded(set(true)), Contains("as (others);main;c;[libz.so.1] 10000000\n"));
  for (const bool by_process : {false, true}) {
    const Profile profile = set(by_process);
    const std::string name = by_process ? "cc1 (process 101)" : "cc1";
    for (const auto render : {render_json, render_speedscope, render_firefox, render_hatchet,
                              render_html, render_callgrind}) {
      CHECK_THAT(render(profile), Contains(name));
    }
    const std::string pprof = unpacked(render_pprof(profile));
    CHECK_THAT(pprof, Contains(by_process ? "process" : "program") && Contains(name));
    CHECK_THAT(pprof, !Contains("threads"));
    Values own;
    const json report = json::parse(render_json(profile));
    for (const json& each : report.at("functions")) {
      own[each["name"]] = each["own"][0];
    }
    CHECK(without_zeros(own) == kOwn);
  }
}

TEST_CASE("a program with the name of a function is told from it", "[report][callpath][set]") {
  causalctl::callpath::Recording r = causalctl::callpath::set_recording();
  for (auto& process : r.processes) {
    if (process.program == "make") process.program = "main";
  }
  const std::string text = render_folded(causalctl::callpath::present(std::array{r}));
  CHECK_THAT(text, Contains("program: main;server:main;a(int)"));
}

TEST_CASE("events have trees of their own, or the one that was chosen has", "[report][callpath]") {
  Profile profile = small();
  profile.columns.push_back({"syscall:write:bytes", "bytes", "Bytes of write", true});
  profile.columns.push_back({"page-faults", "faults", "Page faults", true});
  profile.own.emplace_back(profile.nodes.size()).back() = 4096;
  profile.own.emplace_back(profile.nodes.size());
  check_golden(render_text(profile, By::overview, false, 90), "callpath/events.txt");
  profile = ranked_by(profile, 2);
  profile.first_only = true;
  check_golden(render_text(profile, By::function, false, 90), "callpath/metric.txt");
}

TEST_CASE("text reports fit their width and obey nobody", "[report][callpath]") {
  causalctl::callpath::Recording r = causalctl::callpath::small_recording();
  // A deep path that branches at each level.
  for (auto& location : r.locations) location.frames = {{std::string(90, 'f'), "", 0}};
  auto node = causalctl::callpath::kRoot;
  for (int i = 0; i < 300; ++i) {
    node = r.tree.child(node, static_cast<causalctl::callpath::LocationId>(i % 3));
    r.add({0, 0, causalctl::callpath::Metric::cpu_ns}, r.tree.child(node, 5), 10'000'000);
  }
  for (const By by : {By::overview, By::function, By::line, By::path}) {
    const std::string text =
        render_text(causalctl::callpath::present(std::array{r}), by, false, 80);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) CHECK(columns(line) <= 80);
  }
  CHECK_THAT(render_text(grouped_threads(), By::overview, false, 80), !Contains("\033"));
}

TEST_CASE("the JSON report has everything", "[report][callpath]") {
  const std::string text = render_json(grouped_threads());
  check_golden(text, "callpath/report.json");
  const json report = json::parse(text);
  CHECK(report["version"] == 3);
  CHECK(report["columns"].size() == 4);
  Values own;
  for (const json& each : report["functions"]) own[each["name"]] = each["own"][0];
  CHECK(without_zeros(own) == kOwn);
  CHECK(report["nodes"][0]["total"][0] == 100'000'000);
  CHECK(json::parse(render_json(Profile{}))["nodes"].empty());
}

TEST_CASE("folded stacks", "[report][callpath]") {
  CHECK(render_folded(small()) ==
        "main;a(int);b(int);c 50000000\n"
        "main;a(int);b(int);c;c 20000000\n"
        "main;c 20000000\n"
        "main;c;[libz.so.1] 10000000\n");
  CHECK_THAT(render_folded(grouped_threads()),
             Contains("threads: main;main;c;[libz.so.1] 10000000\n"));
}

TEST_CASE("speedscope's samples are the paths", "[report][callpath]") {
  const json file = json::parse(render_speedscope(small()));
  const json& profile = file["profiles"][0];
  CHECK(profile["unit"] == "nanoseconds");
  CHECK(profile["samples"].size() == profile["weights"].size());
  CHECK(profile["endValue"] == 100'000'000);
  Values own;
  for (std::size_t i = 0; i < profile["samples"].size(); ++i) {
    const std::size_t leaf = profile["samples"][i].back();
    own[file["shared"]["frames"][leaf]["name"]] += profile["weights"][i].get<std::uint64_t>();
  }
  CHECK(own == kOwn);
  CHECK(file["profiles"][1]["unit"] == "none");
}

TEST_CASE("Firefox's tables refer to each other", "[report][callpath]") {
  const json file = json::parse(render_firefox(small()));
  CHECK(file["meta"]["preprocessedProfileVersion"] == 47);
  const json& thread = file["threads"][0];
  for (const char* table : {"samples", "stackTable", "frameTable", "funcTable", "resourceTable"}) {
    for (const auto& [key, column] : thread[table].items()) {
      INFO(table << ' ' << key);
      if (column.is_array()) CHECK(column.size() == thread[table]["length"]);
    }
  }
  Values own;
  for (std::size_t i = 0; i < thread["samples"]["length"]; ++i) {
    const std::size_t stack = thread["samples"]["stack"][i];
    const std::size_t frame = thread["stackTable"]["frame"][stack];
    const std::size_t func = thread["frameTable"]["func"][frame];
    const std::size_t name = thread["funcTable"]["name"][func];
    own[thread["stringArray"][name]] += static_cast<std::uint64_t>(
        std::llround(thread["samples"]["weight"][i].get<double>() * 1e6));
  }
  CHECK(own == kOwn);
}

TEST_CASE("callgrind's file has costs, calls and inlined functions", "[report][callpath]") {
  check_golden(render_callgrind(small()), "callpath/callgrind.out");
}

TEST_CASE("hatchet's tree has metrics with and without children", "[report][callpath]") {
  const json trees = json::parse(render_hatchet(small()));
  REQUIRE(trees.size() == 1);
  CHECK(trees[0]["frame"]["name"] == "main");
  CHECK(trees[0]["metrics"]["cpu (inc)"] == 100'000'000);
  CHECK(trees[0]["metrics"]["cpu"] == 0);
  CHECK(trees[0]["children"].size() == 2);
  CHECK(json::parse(render_hatchet(Profile{})).empty());
}

TEST_CASE("no name breaks a format", "[report][callpath]") {
  Profile profile = small();
  const std::string cut = "quote\" back\\ \xd0";  // the rest of a letter is missing
  for (auto* text : {&profile.program, &profile.host, &profile.columns[0].name,
                     &profile.columns[0].title, &profile.modules[0], &profile.frames[0].file}) {
    *text = cut;
  }
  for (Frame& frame : profile.frames) frame.function += cut;
  profile.notes = profile.warnings = {cut};
  profile.epochs = {{.reason = cut}};
  make_utf8(profile);
  for (const auto render : {render_json, render_speedscope, render_firefox, render_hatchet}) {
    CHECK(json::accept(render(profile)));
  }
  for (const std::string& text :
       {render_folded(profile), render_callgrind(profile), unpacked(render_pprof(profile))}) {
    CHECK_THAT(text, Contains("quote\" back\\ \xef\xbf\xbd") && !Contains("\xd0"));
  }
}

TEST_CASE("pprof's locations have a line for each inlined function", "[report][callpath]") {
  const std::string bytes = unpacked(render_pprof(small()));
  std::vector<std::string> strings;
  std::size_t samples = 0;
  std::size_t two_lines = 0;
  std::uint64_t sum = 0;
  protozero::pbf_reader message(bytes);
  while (message.next()) {
    if (message.tag() == 6) {
      strings.push_back(message.get_string());
    } else if (message.tag() == 2) {
      ++samples;
      protozero::pbf_reader sample = message.get_message();
      REQUIRE(sample.next(2));
      sum += static_cast<std::uint64_t>(*sample.get_packed_int64().begin());
    } else if (message.tag() == 4) {
      protozero::pbf_reader location = message.get_message();
      std::size_t lines = 0;
      while (location.next()) {
        if (location.tag() == 4) ++lines;
        location.skip();
      }
      if (lines == 2) ++two_lines;
    } else {
      message.skip();
    }
  }
  CHECK(samples == 4);
  CHECK(sum == 100'000'000);
  CHECK(two_lines == 1);  // b in a
  REQUIRE_FALSE(strings.empty());
  CHECK(strings[0].empty());
  CHECK(std::find(strings.begin(), strings.end(), "abcd") != strings.end());  // the build-id
}

TEST_CASE("calls are told by caller and callee, and only where they are asked for",
          "[report][callpath]") {
  using causalctl::callpath::Metric;
  causalctl::callpath::Recording r = causalctl::callpath::small_recording();
  const std::string before = render_text(small(), By::overview, false, 80);
  const causalctl::callpath::NodeId a = r.tree.path(std::array<std::uint32_t, 2>{0, 2});
  r.add({0, 0, Metric::new_min}, a, 1234);
  r.add({0, 0, Metric::new_max}, a, 5678);
  r.add({0, 0, Metric::new_max}, r.tree.node(a).parent, 5);
  const Profile profile = causalctl::callpath::present(std::array{r});
  CHECK(render_text(profile, By::overview, false, 80) == before);
  const std::string text = render_text(profile, By::calls, false, 80);
  CHECK_THAT(text,
             Contains("       1,234       5,678  main → a(int)\n           0           5  main\n"));
  CHECK_THAT(text, !Contains("CPU time:"));
  CHECK_THAT(render_callgrind(profile), Contains("calls=1234 "));
  CHECK_THAT(render_text(small(), By::calls, false, 80), Contains("does not tell of calls"));
}

TEST_CASE("recursion is folded in text after some rounds", "[report][callpath]") {
  Profile profile = small();
  const auto text_of = [&](const std::vector<std::string>& path) {
    profile.frames.clear();
    profile.nodes = {{}};
    for (const std::string& function : path) {
      Frame frame;
      frame.function = function;
      profile.frames.push_back(frame);
      profile.nodes.push_back({static_cast<std::uint32_t>(profile.nodes.size() - 1),
                               static_cast<std::uint32_t>(profile.frames.size() - 1)});
    }
    for (auto& own : profile.own) {
      own.assign(profile.nodes.size(), 0);
      own.back() = 100;
    }
    return render_text(profile, By::overview, false, 100);
  };
  const auto count = [](const std::string& text, const std::string& word) {
    std::size_t found = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  std::vector<std::string> path = {"main"};
  for (int i = 0; i < 50; ++i) path.emplace_back("down");
  path.emplace_back("leaf");
  std::string text = text_of(path);
  CHECK_THAT(text, Contains("… 46 more calls of the same (recursion)"));
  CHECK(count(text, " down\n") == 4);  // the first one in the line of main
  path = {"main"};
  for (int i = 0; i < 40; ++i) path.emplace_back(i % 2 == 0 ? "even" : "odd");
  path.emplace_back("leaf");
  text = text_of(path);
  CHECK_THAT(text, Contains("… 32 more calls of the same (recursion)"));
  CHECK_THAT(text_of({"main", "c", "c", "c", "c", "leaf"}), !Contains("recursion"));
}

}  // namespace causalctl::report::callpath
