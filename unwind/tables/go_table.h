// Reads the table that Go's linker puts into each program for the runtime's own tracebacks
// (.gopclntab): functions with their bounds, names, files and lines. `-ldflags='-s -w'` and strip
// leave it in place. Pure; every access is checked, because the file may be damaged.
//
// The layouts are those of Go 1.2, 1.16, 1.18 and 1.20, which differ by their magic number. Source:
// Go's src/debug/gosym/pclntab.go and src/runtime/symtab.go.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "unwind/tables/elf_image.h"
#include "unwind/tables/range_map.h"

namespace causalctl::unwind {

struct GoFunction {
  Address low = 0;
  Address high = 0;
  std::string name;  // "main.(*Server).handle"
};

struct GoLine {
  std::string file;
  int line = 0;
};

class GoTable {
 public:
  GoTable() = default;
  explicit GoTable(const ElfImage& image);  // borrows the bytes of the file

  bool valid() const { return !by_address_.ranges().empty(); }

  // All addresses are those of link time.
  std::optional<GoFunction> function_at(Address address) const;
  std::optional<GoLine> line_at(Address address) const;
  // Returns how many bytes the function has below its return address when it is there; nullopt
  // where that is not known.
  std::optional<std::int32_t> stack_at(Address address) const;
  std::vector<GoFunction> functions() const;
  std::vector<std::string> files() const;
  // Returns where the line begins, once for each function that has code of it. `file` is matched by
  // trailing path components.
  struct Match {
    Address address = 0;
    std::string file;
  };
  std::vector<Match> find_line(const std::string& file, int line) const;

 private:
  using Bytes = std::span<const std::byte>;
  using Range = RangeMap<std::uint64_t>::Range;

  bool read_header(Bytes table, const ElfImage& image, Address address);
  void index_functions();
  std::string name_of(std::uint64_t function) const;  // by its offset in functions_
  std::string file_of(std::uint64_t function, std::int32_t number) const;
  std::optional<std::uint32_t> field(std::uint64_t function, unsigned number) const;
  template <typename Use>
  void for_each_value(const Range& function, unsigned number, Use use) const;
  std::int32_t value_at(const Range& function, unsigned number, Address address) const;

  unsigned entry_bytes_ = 0;  // of an address in the table of functions
  bool by_unit_ = false;      // files are numbered by compilation unit
  Address text_ = 0;          // what the addresses are relative to
  unsigned quantum_ = 1;
  std::uint64_t count_ = 0;
  Bytes functions_, names_, units_, files_, values_;
  std::uint64_t list_ = 0;              // where in functions_ the list of functions begins
  RangeMap<std::uint64_t> by_address_;  // to offsets in functions_
};

}  // namespace causalctl::unwind
