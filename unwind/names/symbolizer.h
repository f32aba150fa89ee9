// Leads from addresses of a target to its source (line, function, inline chain) and back.
//
// It uses libdwfl on the target's mappings: the main executable and shared libraries, PIE or not,
// libraries loaded later (refresh), separate debug files by build-id and .gnu_debuglink, and
// debuginfod if DEBUGINFOD_URLS is set. CAUSALCTL_DEBUG_PATH names more directories, separated by
// colons. Debug information is loaded lazily, for each module at the first look-up in it. Files are
// read through /proc/PID/map_files or /proc/PID/root, so mount namespaces and deleted executables
// work. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/procfs.h"
#include "controller/base/types.h"

namespace causalctl::unwind {

struct ModuleFile;

struct Frame {
  // Demangled, and with arguments in C++. Without any symbol it is the place in the file by the
  // unwind table, "memcached+0x1a2b0", which find_offset understands. Empty if unknown, or in the
  // procedure linkage table, whose entries belong to the calls made through them.
  std::string function;
  std::string file;   // as the debug information names it; empty without line information
  int line = 0;       // 0 if unknown
  Address entry = 0;  // start of the function, or of the inlined range; 0 if unknown
  int column = 0;     // of the innermost frame; 0 if unknown
  // The file that the function is declared in, which is not that of each of its lines (#include,
  // #line); empty without debug information.
  std::string home = {};
};

struct Module {
  std::string path;      // as in the maps of the target, without " (deleted)"
  std::string build_id;  // in hexadecimal; may be empty
  Address start = 0;     // lowest mapped address
  Address end = 0;
  bool main = false;  // the executable itself
};

struct Place {  // a place where a progress point can stand
  Address address = 0;
  std::string function;
  std::string file;
  int line = 0;
  std::string symbol = {};    // of a function, mangled, without clone suffix
  std::string declared = {};  // of a function: where its source is, "/src/f.c:12"; empty if unknown
  std::string version = {};   // of a symbol: "@@GLIBC_2.14"
  bool chosen = false;        // true of the version of an indirect function that is called
  bool local = false;         // true of a function whose symbol only its own file can use
  // Of a function, or that of a line: its compilation unit in the module, if it is declared in that
  // unit's own source file; otherwise 0.
  std::uint64_t unit = 0;
  // Of a line whose compiler does not mark the beginnings of statements: where else in the function
  // code of the line follows that of others. Each is a copy of the statement, or a part of it.
  std::vector<Address> returns = {};
};

// Calls of a function that were replaced by a copy of its body.
struct InlinedCalls {
  std::vector<std::string> calls;  // the lines that make them, "inl.c:8", each once
  // A line ("inl.c:4") that stands once in the function and once in each copy; empty if unknown.
  std::string line;
  bool complete = true;  // false if time did not suffice to read all debug information
  bool known = true;     // false if no debug information tells of such calls
  // The same of other functions that the written name means as well: the lines of their calls.
  std::vector<std::string> of_namesakes = {};
};

struct MissingDwo {
  std::string source;    // the unit, "d.c"
  std::string file;      // its file with debug information, "d.dwo"
  bool package = false;  // true if a package of .dwo files (.dwp) is beside the module
};

class Symbolizer {
 public:
  explicit Symbolizer(Pid target);  // reads only the mappings; throws TargetGone
  // Knows one file, which need not be mapped any more; find_offset("", …) gives its addresses.
  // REQUIRES: file.fd is open, and stays so.
  explicit Symbolizer(const ModuleFile& file);
  ~Symbolizer();
  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  void refresh();                               // call it when mappings have changed
  void refresh(std::vector<procfs::Map> maps);  // the same, with those that were read before
  // The same for one executable mapping, as a record tells of it (followed_files.h).
  void mapped(const procfs::Map& line);
  // The target runs another program: nothing is mapped until there are records of it.
  void unmap_all();

  std::vector<Module> modules();
  std::optional<Module> module_at(Address address);

  // Returns frames, innermost first: inlined functions, then the function that contains them. There
  // is at least one for an address in a known module (its function may be empty) and none
  // elsewhere. For a return address pass address - 1.
  std::vector<Frame> frames(Address address);
  bool has_lines(Address address);  // returns whether its module has line information
  // Returns [start, end) of the function at the address, by its symbol or the unwind table.
  std::optional<std::pair<Address, Address>> function_range(Address address);
  // Returns the source files that have code in the module at the address.
  std::vector<std::string> files(Address address);
  // Returns at most `count` lines ("file:line") into which calls of the function are inlined in the
  // module at the address. Reads all of its debug information, which takes seconds if it is large.
  std::vector<std::string> inlined_at(Address address, const std::string& function,
                                      std::size_t count);

  // Returns the entries of functions with this name (plain, demangled with or without arguments, or
  // mangled) in modules whose path or file name matches `binary_glob`. If the glob is empty, these
  // are the main executable and, if that has none, all others; "MAIN" is the executable only. An
  // entry is the first instruction, before any prologue. Compilers' copies (foo.constprop.0) are
  // entries, too. The unqualified name of a C++ function counts only if nothing fits better. Of an
  // indirect function (IFUNC) the entry is that of the version that this process calls; throws
  // UsageError if nothing has chosen one yet.
  std::vector<Place> find_function(const std::string& name, const std::string& binary_glob);
  // Returns the demangled names of other functions that begin at the address: aliases, and what the
  // linker has folded. Of an indirect function: other indirect ones with the same version.
  std::vector<std::string> other_names(const Place& function);
  // Returns whether a call or jump through the pointer that is stored at `slot`, which the loader
  // sets, enters the function. If it is not set yet, its relocation tells.
  bool slot_leads_to(Address slot, const Place& function);
  // Returns false if the function's own module calls it through a slot that leads to another one,
  // which takes its place.
  bool is_called_in_module(const Place& function);
  // Returns where calls of the function, which the user has written so, are inlined in its module,
  // as far as can be read until `until_ns` (CLOCK_MONOTONIC).
  InlinedCalls inlined_calls(const Place& function, const std::string& written,
                             Nanoseconds until_ns);
  // The same for a function that has no code of its own in the binary; "" is the executable. If
  // `declared` is not empty, only that of the function whose source is there ("/src/f.c:12").
  InlinedCalls inlined_calls(const std::string& binary, const std::string& written,
                             const std::string& declared, Nanoseconds until_ns);
  // Returns functions without debug information of a module that has some: its files were compiled
  // differently. Without those of C's start-up code.
  std::vector<std::string> undescribed_functions(Address in_module);
  // Returns the .dwo file that could not be read: that of the unit at the address, or with `any`
  // that of any unit of the module.
  std::optional<MissingDwo> missing_dwo(Address address, bool any);
  // Returns the first statement instruction(s) of FILE:LINE, one for each inlined or cloned copy,
  // or none if the line has no code. FILE is matched by trailing path components. `binary_glob` is
  // as for functions.
  std::vector<Place> find_line(const std::string& file, int line,
                               const std::string& binary_glob = "");
  // Returns the runtime address of an offset in a module (a virtual address as in the file's
  // symbols).
  std::optional<Place> find_offset(const std::string& binary_glob, std::uint64_t offset);
  // Returns at most `count` similar names, nearest first, for error messages.
  std::vector<std::string> similar_functions(const std::string& name, std::size_t count);
  std::vector<std::string> similar_lines(const std::string& file, int line, std::size_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace causalctl::unwind
