// Opens a file that the user named for output, such that nobody else can read what is written.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/ends.h"
#include "controller/base/fd.h"
#include "controller/base/types.h"

namespace causalctl {

// How long a file that the user named may take, also after a request to end.
inline constexpr Nanoseconds kSlowDisk = 10 * kSecond;

// Creates `path` with mode 0600 (less the umask), or opens it for appending. `path` may be a
// device. An existing file keeps its mode and its content. Throws Error, before anything is
// written, if the last component is
//   - a symbolic link;
//   - a file with a second name (a hard link), which may lie where others can read it;
//   - a file that belongs neither to us nor to the directory's owner: somebody may have planted it.
// `hint` is given with all other errors of open(2).
Fd open_output(const std::string& path, std::string_view hint);

// Writes all of it. Returns 0, or the errno of the failure.
int write_all(int fd, std::string_view text);

// A file that takes the place of `path`, or its name, only when it is complete. Until then it is a
// hidden file beside it (mode 0600), which the destructor removes, and base/ends.h at a signal.
class Replacement {
 public:
  // Throws Error if no file can be made there, or if open_output() refuses `path`.
  Replacement(const std::string& path, std::string_view hint);
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // A file that was there before keeps its mode and, where that is permitted, its owner. Throws
  // Error, upon which `path` is as it was.
  void complete(std::string_view text);

 private:
  int write(std::string_view text) const;

  std::string path_;
  std::string hint_;
  std::string temporary_;              // its path; empty once it has the name
  std::optional<struct stat> before_;  // of the file that it replaces
  Fd fd_;
  AtEnd removal_;
};

}  // namespace causalctl
