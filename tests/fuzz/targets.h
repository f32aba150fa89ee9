// Entry points for hostile input: each takes any bytes and gives them to the parsers that would
// read them. A target returns normally whatever the bytes are; errors that the parser is documented
// to throw are caught there. Everything else that leaves it, and every report of a sanitizer, is a
// finding.
//
// libfuzzer_main.cc feeds them mutated bytes (scripts/fuzz); replay_test.cc the files of corpus/,
// in every build.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace causalctl::fuzz {

using Bytes = std::span<const std::byte>;

struct Target {
  std::string_view name;  // also of its folder below corpus/
  void (*run)(Bytes bytes);
};

std::span<const Target> targets();
const Target* find_target(std::string_view name);  // nullptr: there is none

inline std::string as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_callgrind(Bytes bytes);     // what callgrind writes
void read_callpath_log(Bytes bytes);  // logs of call paths: reader, filters, every format
void read_elf(Bytes bytes);           // an executable: symbols, lines, inlining, unwind table, USDT
void read_go_table(Bytes bytes);      // .gopclntab
void read_inputs_log(Bytes bytes);    // logs of input sizes: reader, fits, every format
void read_log(Bytes bytes);       // experiment logs: reader, estimate, every format of the report
void read_memory(Bytes bytes);    // what the target may have written where our stub is
void read_options(Bytes bytes);   // command lines of attach, run and ab, one argument a line
void read_perf_map(Bytes bytes);  // names of code compiled at run time
void read_proc(Bytes bytes);      // the texts of /proc and tracefs
void read_records(Bytes bytes);   // what the kernel writes into a perf ring
void read_spec(Bytes bytes);      // progress points, units, scopes, names
void read_symbol(Bytes bytes);    // demangling, and names that are written for symbols
void read_unwind(Bytes bytes);    // unwind tables
void read_toml(Bytes bytes);      // configuration

}  // namespace causalctl::fuzz
