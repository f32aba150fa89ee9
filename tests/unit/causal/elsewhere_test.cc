// Tests samples that no unit in scope got, and frames that are everybody's callers.
#include "controller/causal/analysis/elsewhere.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "controller/causal/analysis/estimate.h"
#include "tests/unit/causal/synthetic.h"

namespace causalctl::causal {
namespace {

using Catch::Matchers::Contains;

UnitSamples samples_of(const std::string& function, std::uint64_t count, std::uint64_t inherited,
                       bool is_line = false) {
  return {{is_line ? "python.c:15" : function, is_line, function, "", 0}, count, 0, inherited};
}

TEST_CASE("what starts a program is everybody's caller", "[causal][elsewhere]") {
  CHECK(is_everybodys_caller(samples_of("_start", 10, 0), 1000));
  CHECK(is_everybodys_caller(samples_of("__libc_start_main", 990, 990), 1000));
  CHECK(is_everybodys_caller(samples_of("main", 990, 990), 1000));
  CHECK(is_everybodys_caller(samples_of("main", 990, 990, true), 1000));
}

TEST_CASE("the run-time of a language starts its programs", "[causal][elsewhere]") {
  for (const char* name :
       {"std::rt::lang_start::{{closure}}", "std::rt::lang_start::h0123456789abcdef",
        "std::sys_common::backtrace::__rust_begin_short_backtrace<fn(), ()>", "runtime.main",
        "caml_main", "_d_run_main", "JavaMain"}) {
    INFO(name);
    CHECK(is_everybodys_caller(samples_of(name, 10, 10), 1000));
  }
  CHECK_FALSE(is_everybodys_caller(samples_of("shapes::clone", 10, 10), 1000));
  CHECK_FALSE(is_everybodys_caller(samples_of("main.main", 10, 10), 1000));
}

TEST_CASE("what starts a thread is everybody's caller", "[causal][elsewhere]") {
  for (const char* name :
       {"crosscall_amd64", "threadentry", "_cgo_wait_runtime_init_done", "runtime/cgo(.text)",
        "std::sys::unix::thread::Thread::new::thread_start",
        "<std::sys::thread::unix::Thread>::new::thread_start", "execute_native_thread_routine",
        "void* std::__1::__thread_proxy[abi:v15007]<std::__1::tuple<int> >(void*)",
        "boost::(anonymous namespace)::thread_proxy(void*)", "caml_thread_start",
        "rt.dmain2._d_run_main2(char[][], ulong, extern (C) int function(char[][])*).runAll()",
        "tbb::detail::r1::rml::private_worker::thread_routine(void*)", "JavaThread::run()"}) {
    INFO(name);
    CHECK(is_everybodys_caller(samples_of(name, 380, 380), 1000));
  }
  CHECK_FALSE(is_everybodys_caller(samples_of("crosscall_amd64_of_mine", 10, 10), 1000));
  CHECK_FALSE(is_everybodys_caller(samples_of("tbb::work", 10, 10), 1000));
}

TEST_CASE("an ordinary name starts a thread where nothing else is known of it",
          "[causal][elsewhere]") {
  CHECK(is_everybodys_caller(samples_of("start", 380, 380), 1000));  // musl's
  CHECK_FALSE(is_everybodys_caller(samples_of("start", 380, 379), 1000));
  UnitSamples own = samples_of("start", 380, 380);
  own.unit.file = "/src/mine.c";
  CHECK_FALSE(is_everybodys_caller(own, 1000));
}

TEST_CASE("code that only made one call, which has not returned, is everybody's caller",
          "[causal][elsewhere]") {
  UnitSamples launcher = samples_of("launch", 1000, 995, true);
  launcher.by_one_call = 980;
  CHECK(is_everybodys_caller(launcher, 1020));
  UnitSamples works = launcher;
  works.inherited = 980;  // it runs itself, too
  CHECK_FALSE(is_everybodys_caller(works, 1020));
  UnitSamples many_calls = launcher;  // as of a line that calls memcpy() again and again
  many_calls.by_one_call = 500;
  CHECK_FALSE(is_everybodys_caller(many_calls, 1020));
  CHECK_FALSE(is_everybodys_caller(launcher, 1100));  // other code has a tenth
}

TEST_CASE("a main that works, or shares the program with others, is not", "[causal][elsewhere]") {
  CHECK_FALSE(is_everybodys_caller(samples_of("main", 990, 989), 1000));
  CHECK_FALSE(is_everybodys_caller(samples_of("main", 900, 900), 1000));
  CHECK_FALSE(is_everybodys_caller(samples_of("work", 1000, 1000), 1000));
}

TEST_CASE("the pattern of a library fits its other versions", "[causal][elsewhere]") {
  CHECK(pattern_of("libpython3.11.so.1.0") == "libpython3.11*");
  CHECK(pattern_of("libc.so.6") == "libc*");
  CHECK(pattern_of("java") == "java");
}

Elsewhere python() {
  Elsewhere found;
  found.samples = found.charged = 1000;
  found.by_place = {{"libpython3.11.so.1.0", 900}, {"libc.so.6", 50}, {"[vdso]", 50}};
  return found;
}

TEST_CASE("the binaries that have the samples are named", "[causal][elsewhere]") {
  const std::string text = describe(python()).value();
  CHECK(text == "90 % of the samples are in libpython3.11.so.1.0: --scope-binary 'libpython3.11*'");
}

TEST_CASE("code compiled at run time is called that", "[causal][elsewhere]") {
  Elsewhere found = python();
  found.by_place = {{"", 990}};
  CHECK_THAT(describe(found).value(),
             Contains("99 % of the samples") && Contains("compiled at run time"));
}

TEST_CASE("half of the samples are enough, and some in a scope that was chosen",
          "[causal][elsewhere]") {
  Elsewhere found = python();
  found.had = 499;
  CHECK(describe(found).has_value());
  found.scope.binaries = {"MAIN", "libc*"};
  CHECK_FALSE(describe(found).has_value());
  found.scope = {};
  found.had = 500;
  CHECK_FALSE(describe(found).has_value());
}

TEST_CASE("a scope without any sample is said to be that", "[causal][elsewhere]") {
  Elsewhere found = python();
  found.charged = 0;
  found.scope.binaries = {"nosuch*"};
  CHECK_THAT(describe(found).value(),
             Contains("none of 1000 samples has a frame in scope (--scope-binary nosuch*)") &&
                 Contains("libpython3.11*"));
  found.unmatched_files = "no source file matches --scope-file 'x.c'";
  CHECK_THAT(describe(found).value(), Contains("; no source file matches --scope-file 'x.c'"));
}

TEST_CASE("samples that lack a table are told from a tenth on", "[causal][elsewhere]") {
  WithoutTables found;
  found.samples = 1000;
  found.cut_off = {{"libgmp.so.10.4.1", 100}, {"libz.so.1", 99}};
  found.nameless = {{"server", 600}};
  const auto texts = describe(found);
  REQUIRE(texts.size() == 2);
  CHECK_THAT(texts[0],
             Contains("10 % of the samples belong to nobody: they are in libgmp.so.10.4.1"));
  CHECK_THAT(texts[1],
             Contains("60 % of the samples are in code of server that has no function table: "));
  found.cut_off = {{"", 500}};
  CHECK_THAT(describe(found).front(), Contains("they are in code compiled at run time"));
  CHECK(describe(WithoutTables{}).empty());
}

TEST_CASE("files of a library are named by their directory", "[causal][elsewhere]") {
  Elsewhere found = python();
  found.by_place = {{"/usr/lib/go-1.19/src/sort/", 600}, {"/rustc/0123/library/", 300}};
  CHECK(describe(found).value() ==
        "60 % of the samples are in files of /usr/lib/go-1.19/src/sort/: --scope-file "
        "'/usr/lib/go-1.19/src/sort/*'; 30 % of the samples are in files of /rustc/0123/library/: "
        "--scope-file '/rustc/*'");
}

TEST_CASE("code in scope that has no names needs no option", "[causal][elsewhere]") {
  Elsewhere found = python();
  found.by_place = {{"caddy: code without symbols and unwind tables", 1000}};
  CHECK(describe(found).value() ==
        "100 % of the samples are in caddy: code without symbols and unwind tables");
}

TEST_CASE("a quote in a name is quoted for the shell", "[causal][elsewhere]") {
  Elsewhere found = python();
  found.by_place = {{"it's.so", 900}};
  CHECK_THAT(describe(found).value(), Contains("--scope-binary 'it'\\''s*'"));
}

Run python_run() {
  Run run;
  run.losses.samples_total = 1000;
  run.samples = {samples_of("main", 990, 990), samples_of("work", 10, 0)};
  run.elsewhere = {{"libpython3.11.so.1.0", 940, 10}, {"libc.so.6", 50, 0}};
  return run;
}

TEST_CASE("runs add up what they have elsewhere", "[causal][elsewhere]") {
  const Elsewhere sum = elsewhere_of({python_run(), python_run()});
  CHECK(sum.samples == 2000);
  CHECK(sum.charged == 2000);
  CHECK(sum.had == 20);
  const report::InScope told = in_scope(sum);
  CHECK(told.share == Approx(0.01));
  REQUIRE(told.elsewhere.size() == 1);
  CHECK(told.elsewhere[0].place == "libpython3.11.so.1.0");
  CHECK(told.elsewhere[0].share == Approx(0.94));
  CHECK(told.elsewhere[0].unclaimed == Approx(0.01));
  CHECK(told.elsewhere[0].option == "--scope-binary 'libpython3.11*'");
  CHECK_THAT(told.lead, Contains("94 % of the samples are in libpython3.11.so.1.0"));
}

TEST_CASE("a scope that has half of the samples, or was chosen, has no lead",
          "[causal][elsewhere]") {
  Run run = python_run();
  run.samples[1].count = 500;
  run.samples[0].count = 500;
  CHECK(in_scope(elsewhere_of({run})).lead.empty());
  run = python_run();
  run.elsewhere.clear();
  CHECK(in_scope(elsewhere_of({run})).lead.empty());
  run = python_run();
  run.losses.samples_total = 49;  // too few to tell
  run.samples = {samples_of("main", 49, 49)};
  CHECK(in_scope(elsewhere_of({run})).lead.empty());
}

TEST_CASE("samples that waited for debug information to the end tell nothing",
          "[causal][elsewhere]") {
  Run run = python_run();
  run.samples = {samples_of("work", 200, 0)};
  run.elsewhere = {{"libc.so.6", 90, 60}};
  run.losses.samples_unknown = 60;
  const Elsewhere sum = elsewhere_of({run});
  CHECK(sum.samples == 260);
  CHECK(in_scope(sum).lead.empty());
}

TEST_CASE("samples that no caller has are told, Go's runtime with its reason",
          "[causal][elsewhere]") {
  Run run = python_run();
  run.elsewhere = {{"/usr/lib/go-1.19/src/runtime/", 300, 200}, {"libc.so.6", 400, 99}};
  const auto texts = unclaimed_places(elsewhere_of({run}));
  REQUIRE(texts.size() == 1);
  CHECK(texts[0] ==
        "20 % of the samples are in files of /usr/lib/go-1.19/src/runtime/, and no caller of them "
        "is in scope: Go's runtime works for itself there, as when it collects garbage");
}

TEST_CASE("samples whose caller no table tells are not told of as unclaimed, too",
          "[causal][elsewhere]") {
  Run run = python_run();
  run.elsewhere = {{"libgmp.so.10.4.1", 500, 400, 250}};
  auto texts = unclaimed_places(elsewhere_of({run}));
  REQUIRE(texts.size() == 1);
  CHECK_THAT(texts[0], Contains("15 % of the samples are in libgmp.so.10.4.1, and no caller"));
  run.elsewhere = {{"libgmp.so.10.4.1", 500, 400, 330}};
  CHECK(unclaimed_places(elsewhere_of({run})).empty());
  run.elsewhere = {{"libgmp.so.10.4.1", 500, 110, 90}};  // too few for a sentence of their own
  texts = unclaimed_places(elsewhere_of({run, run}));
  REQUIRE(texts.size() == 1);
  CHECK_THAT(texts[0], Contains("11 % of the samples are in libgmp.so.10.4.1, and no caller"));
  CHECK(in_scope(elsewhere_of({run})).elsewhere[0].unclaimed == Approx(0.11));
}

TEST_CASE("what starts a thread is listed last", "[causal][elsewhere]") {
  Synthetic options;
  options.units = {{"start", [](double speedup) { return speedup / 2; }}, {"work"}};
  Run run = synthetic_run(options);
  for (UnitSamples& samples : run.samples) {
    if (samples.unit.name == "start") samples.unit.function = "crosscall_amd64";
  }
  for (Experiment& e : run.experiments) {
    if (e.unit.name == "start") e.unit.function = "crosscall_amd64";
  }
  const auto units = estimate({run}).progress.at(0).units;
  REQUIRE(units.size() == 2);
  CHECK(units[0].unit == "work");
  CHECK(units[1].verdict == report::Verdict::optimise);
  CHECK(units[1].everybodys_caller);
}

TEST_CASE("code compiled at run time is told although its callers have its samples",
          "[causal][elsewhere]") {
  Run run = python_run();
  run.samples = {samples_of("main", 990, 900), samples_of("work", 10, 0)};
  run.elsewhere = {{"", 900, 0}};
  const auto texts = unclaimed_places(elsewhere_of({run}));
  REQUIRE(texts.size() == 1);
  CHECK_THAT(texts[0], Contains("90 % of the samples are in code compiled at run time") &&
                           Contains("perf map") && Contains("its callers"));
  run.elsewhere = {{"", 90, 0}};
  CHECK(unclaimed_places(elsewhere_of({run})).empty());
}

TEST_CASE("the kernel's page for uprobes is a cost of counting", "[causal][elsewhere]") {
  Run run = python_run();
  run.samples = {samples_of("work", 950, 0)};
  run.losses.samples_unknown = 50;
  run.elsewhere = {{"[uprobes]", 50, 50}};
  const auto texts = unclaimed_places(elsewhere_of({run}));
  REQUIRE(texts.size() == 1);
  CHECK_THAT(texts[0], Contains("5 % of the samples") && Contains("a cost of counting"));
}

TEST_CASE("the lead and unclaimed places are among the warnings", "[causal][elsewhere]") {
  const auto warned = [](const Run& run, const std::string& text) {
    const report::Report report = estimate({run});
    return std::any_of(report.warnings.begin(), report.warnings.end(), [&](const auto& each) {
      return each.text().find(text) != std::string::npos;
    });
  };
  CHECK(warned(python_run(), "94 % of the samples are in libpython3.11.so.1.0"));
  Run half = python_run();
  half.samples = {samples_of("work", 700, 0)};
  half.losses.samples_unknown = 300;
  half.elsewhere = {{"libpython3.11.so.1.0", 300, 300}};
  CHECK(warned(half, "30 % of the samples are in libpython3.11.so.1.0, and no caller of them"));
}

}  // namespace
}  // namespace causalctl::causal
