// Tells which files of the target can be unloaded: those that it has loaded by itself (dlopen).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/base/types.h"
#include "controller/progress/progress.h"

namespace causalctl::progress {

// Returns whether one of the addresses is in a file that is neither the executable, nor needed by
// it (DT_NEEDED), directly or through other files. A file that was preloaded counts as loaded
// later.
bool is_in_loaded_later(const std::vector<Address>& addresses, Pid target);

// Returns whether what was found at resolving is mapped, still or again.
bool has_its_files(const Point& point, Pid target);
// Waits for that, because some programs load and unload a library again and again. A uprobe in
// another file, which the program has mapped there meanwhile, could stand in the middle of an
// instruction. Throws Error after three seconds.
void wait_for_its_files(const Point& point, Pid target);
[[noreturn]] void throw_unloaded(const Point& point);

// Notices when other code is mapped where a breakpoint stands: the program has unloaded the file.
class Unloads {
 public:
  Unloads() = default;
  // REQUIRES: files are mapped at the addresses.
  Unloads(Pid target, const std::vector<Address>& addresses);

  // Returns the path of a file that does not stand any more where it stood, or an empty text.
  std::string gone();

 private:
  struct Watched {
    Address address = 0;
    std::uint64_t device = 0, inode = 0, offset = 0;
    std::string path;
  };

  std::vector<Watched> now(const std::vector<Address>& addresses) const;

  Pid target_ = 0;
  std::vector<Watched> watched_;
};

}  // namespace causalctl::progress
