// A file with code that a process has mapped, kept open. Its name may be deleted meanwhile, and the
// process may unload it; what it says of an address stays the same. The vdso is copied into one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "unwind/modules/mapped_file.h"

namespace causalctl::unwind {

struct ModuleFile {
  Fd fd;                 // not open if the file cannot be had
  std::string path;      // where its name leads here: debug files are looked for beside it
  std::string build_id;  // in hexadecimal; empty if it has none, or cannot be read
  std::vector<LoadSegment> segments;
  int error = 0;  // the errno with which it could not be opened; 0 if its name means another file

  // Returns the link-time address of a byte of the file, or nullopt if it is not loaded as code.
  std::optional<Address> link_address(std::uint64_t offset) const;
};

ModuleFile open_module_file(Pid target, const MappedFile& file);
// Opens a file that may be mapped nowhere.
ModuleFile open_module_file(const std::string& path);

}  // namespace causalctl::unwind
