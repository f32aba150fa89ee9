#include "config/load.h"
#include "config/text.h"
#include "controller/base/error.h"
#include "controller/base/paths.h"
#include "controller/causal/engine/unit_of.h"
#include "controller/progress/progress.h"
#include "controller/report/short_names.h"
#include "controller/report/text.h"
#include "controller/symbols/scope.h"
#include "tests/fuzz/targets.h"
#include "unwind/names/demangle.h"
#include "unwind/names/function_name.h"
#include "unwind/names/names.h"

namespace causalctl::fuzz {
namespace {

template <typename Parse>
void accepting_usage_errors(Parse parse) {
  try {
    parse();
  } catch (const UsageError&) {
  }
}

// Names of functions and files, as binaries hold them.
void read_name(const std::string& text) {
  unwind::split_clone(text);
  const std::string name = unwind::demangle(text);
  const std::string short_name = unwind::without_arguments(name);
  unwind::simple_name(name);
  unwind::WrittenName(text).fit(text, name);
  unwind::nearest(text, {name, short_name, "main", ""}, 3);
  path_ends_with(text, "b/c.c");
  path_ends_with("/a/b/c.c", text);
  normal_path(text, "/src");
  for (const std::size_t width : {0U, 1U, 7U, 40U}) {
    const std::string shown = report::shortened(report::printable(text), width);
    INVARIANT(report::columns(shown) <= width);
  }
  const std::string safe = report::printable(text);
  const report::ShortNames names({safe, safe + "a"});
  INVARIANT(names.fit(safe, 12) != names.fit(safe + "a", 12));
}

void read_scope(const std::string& text) {
  config::Scope scope;
  scope.binaries = {text};
  scope.files = {text};
  symbols::module_in_scope({.path = "/usr/lib/libssl.so.3", .build_id = ""}, scope);
  causal::unit_of({1, text, {{text, "/src/main.c", 7, 1}, {"main", text, 7, 1}}, true}, scope);
}

}  // namespace

void read_spec(Bytes bytes) {
  const std::string text = as_text(bytes);
  accepting_usage_errors([&] { progress::parse_spec(text); });
  accepting_usage_errors([&] { config::parse_latency(text, "--latency"); });
  accepting_usage_errors([&] {
    // What is accepted can be written and read again.
    const Nanoseconds time_ns = config::parse_duration(text, "--duration");
    INVARIANT(config::parse_duration(config::duration_text(time_ns), "") == time_ns);
  });
  accepting_usage_errors([&] { config::check_format(text, "--format"); });
  config::nearest(text, {"progress", "latency", "s"});
  read_name(text);
  read_scope(text);
}

}  // namespace causalctl::fuzz
