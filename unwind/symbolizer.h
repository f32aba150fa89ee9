// From addresses of a target to source: line, function, inline chain; and back.
//
// Built on libdwfl over the target's mappings: main executable and shared libraries, PIE or not,
// libraries loaded later (refresh), separate debug files by build-id and .gnu_debuglink, debuginfod
// where DEBUGINFOD_URLS is set; CAUSALCTL_DEBUG_PATH names more directories, separated by colons.
// Debug information is loaded lazily, module by module, at the first look-up in it. Files are
// read through /proc/PID/map_files or /proc/PID/root, so that mount namespaces and deleted
// executables work. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::unwind {

struct Frame {
  // Demangled, with arguments where it is C++. Without any symbol, its place in the file by the
  // unwind table: "memcached+0x1a2b0", which find_offset understands. Empty: unknown, or the
  // procedure linkage table, whose entries are part of the calls made through them.
  std::string function;
  std::string file;   // as the debug information names it; empty: no line information
  int line = 0;       // 0: unknown
  Address entry = 0;  // start of the function (for inlined: of the inlined range), 0 unknown
};

struct Module {
  std::string path;      // as in the target's maps, without " (deleted)"
  std::string build_id;  // hex, may be empty
  Address start = 0;     // lowest mapped address
  Address end = 0;
  bool main = false;  // the executable itself
};

struct Place {  // where a progress point can stand
  Address address = 0;
  std::string function;
  std::string file;
  int line = 0;
};

class Symbolizer {
 public:
  explicit Symbolizer(Pid target);  // reads only the mappings; throws TargetGone
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  void refresh();  // mappings changed

  std::vector<Module> modules();
  std::optional<Module> module_at(Address address);

  // Innermost first: inlined functions, then the function that holds them. Never empty for an
  // address in a known module (function may be empty there); empty elsewhere. For a return address
  // pass address - 1.
  std::vector<Frame> frames(Address address);
  bool has_lines(Address address);  // does the module at the address have line information?
  // [start, end) of the function at the address, by its symbol or the unwind table.
  std::optional<std::pair<Address, Address>> function_range(Address address);
  // Source files that have code in the module at the address.
  std::vector<std::string> files(Address address);
  // Lines ("file:line") into which calls of the function are inlined in the module at the address;
  // at most `count`. Reads all of its debug information: seconds, where it is large.
  std::vector<std::string> inlined_at(Address address, const std::string& function,
                                      std::size_t count);

  // Entry of functions of this name (plain, demangled with or without arguments, or mangled), in
  // modules whose path or file name matches `binary_glob` (empty: main executable first, and if it
  // has none, all others; "MAIN": the executable only). Entry is after nothing: the first
  // instruction. The unqualified name of a C++ function, and compilers' copies (foo.constprop.0),
  // serve only where nothing fits better.
  std::vector<Place> find_function(const std::string& name, const std::string& binary_glob);
  // First statement instruction(s) of FILE:LINE, one per inlined or cloned copy; FILE matches by
  // trailing path components. If the line has no code, empty.
  std::vector<Place> find_line(const std::string& file, int line);
  // Runtime address of a file offset (virtual address as in the ELF file's symbols) of a module.
  std::optional<Place> find_offset(const std::string& binary_glob, std::uint64_t offset);
  // Similar names, nearest first, for error messages. At most `count`.
  std::vector<std::string> similar_functions(const std::string& name, std::size_t count);
  std::vector<std::string> similar_lines(const std::string& file, int line, std::size_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::unwind
