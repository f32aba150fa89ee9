// Names code that the target compiles at run time, by the file that its run-time writes for perf:
// /tmp/perf-PID.map, with a line "START SIZE NAME" for each function, both numbers hexadecimal
// (tools/perf/Documentation/jit-interface.txt of Linux).
//
// The target's user writes the file, so that nothing in it is believed: lines that are not of that
// form are passed over, names are cut and made printable, and the file has limits. Where entries
// overlap, the last one is right, because memory of code is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "controller/symbols/async_symbolizer.h"

namespace causalctl::symbols {

// What code of a perf map has in place of a binary. It is in scope by default, as what the user
// wrote; the run-time's own stubs are not.
inline constexpr const char* kCompiledCode = "[jit]";

// The functions of a map. Pure.
class PerfMap {
 public:
  struct Function {
    Address start = 0;
    Address end = 0;
    std::string name;
  };

  // Takes the next piece of the file, which may end within a line.
  void add(std::string_view text);
  // Returns nullptr if no function is known at the address. The pointer is valid until add().
  const Function* find(Address address) const;
  std::size_t size() const { return by_start_.size(); }

 private:
  void add_line(std::string_view line);
  void insert(Function function);

  std::map<Address, Function> by_start_;  // they do not overlap
  std::string rest_;                      // of a line that is not complete
  bool skips_line_ = false;               // the line is too long
};

// Returns whether the name is that of a piece of the run-time itself, such as "Builtin:Call".
bool is_runtime_stub(std::string_view name);

// Reads the target's map piece by piece. It opens only a regular file of the target's user or of
// root, without following links, and none on FUSE, where a read may wait for the target. A map that
// was last written before the target began is of an earlier process with its number: a warning is
// given once, and it is not read.
class PerfMapFile {
 public:
  explicit PerfMapFile(Pid target) : target_(target) {}
  // Reads what has been added, at most a piece. Returns whether there may be more. A file that has
  // shrunk is read anew.
  bool read_on();
  const PerfMap& map() const { return map_; }
  const std::string& unused() const { return unused_; }  // why a file is not read; or empty

 private:
  bool open();
  bool is_older_than_target(int file);

  Pid target_;
  std::string unused_;
  Fd file_;
  std::uint64_t read_ = 0;
  PerfMap map_;
};

// Adds the names of a perf map to what another source knows of code in no file. An address that
// gets a name later, or another one, is answered again.
class WithPerfMap final : public LocationSource {
 public:
  WithPerfMap(std::unique_ptr<LocationSource> others, Pid target, const config::Scope& scope);

  void ask(Address address) override { others_->ask(address); }
  void ask_later(const std::function<void(unwind::Symbolizer&)>& job) override {
    others_->ask_later(job);
  }
  void take(const std::vector<procfs::Map>& maps) override { others_->take(maps); }
  void mapped(const perf::MapEvent& event) override { others_->mapped(event); }
  void unmap_all() override { others_->unmap_all(); }
  std::vector<Location> answers() override;
  std::optional<Location> answer_now(Address address) override;
  std::optional<LineInformation> lines() override {
    auto found = others_->lines();
    if (found) found->unused_map = file_.unused();
    return found;
  }

 private:
  void read_map();
  Location named(Address address);

  std::unique_ptr<LocationSource> others_;
  PerfMapFile file_;
  bool in_scope_;
  std::map<Address, std::string> told_;  // the name that was answered; empty: none
  Nanoseconds looked_at_ns_ = 0;
  bool more_ = false;   // the file has not been read to its end
  bool grown_ = false;  // since the last comparison with `told_`
};

}  // namespace causalctl::symbols
