// The code of one file as control-flow graphs, function by function, whether it has symbols or not:
// a function is what an entry of the unwind table (FDE) describes. All addresses are those of link
// time. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "controller/base/types.h"
#include "disasm/decoder.h"
#include "disasm/graph.h"
#include "unwind/tables/elf_image.h"
#include "unwind/tables/function_bounds.h"
#include "unwind/tables/range_map.h"

namespace causalctl::continuous {

class FileCode {
 public:
  using Functions = unwind::RangeMap<unwind::NoValue>;
  using Function = Functions::Range;

  explicit FileCode(const unwind::ElfImage& image);  // whose file is borrowed

  // In the order of their addresses.
  const std::vector<Function>& functions() const { return functions_.ranges(); }
  const Function* function_at(Address address) const { return functions_.find(address); }
  // Decodes all functions when it is first called, because any of them may jump into this one.
  disasm::Graph graph(const Function& function);

 private:
  std::span<const std::byte> bytes(const Function& function) const;
  void read_relocations();
  void read_packed_relocations();
  void find_jumps_between();
  std::optional<Address> pointer(Address address) const;

  unwind::ElfImage image_;
  std::vector<unwind::ImageBytes> code_;
  Functions functions_;
  std::map<Address, Address> pointers_;          // that the loader writes, by where
  std::optional<std::vector<Address>> entered_;  // to which other functions jump; sorted
  disasm::Decoder decoder_;
};

}  // namespace causalctl::continuous
