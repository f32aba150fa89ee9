// A folder of our own for files that nobody keeps, removed with what is in it.
#pragma once

#include <filesystem>
#include <string>

#include "controller/base/ends.h"

namespace causalctl {

class ScratchFolder {
 public:
  // `what` the folder is for is said in the message: "the logs of runs". Throws Error.
  explicit ScratchFolder(const std::string& what);
  ~ScratchFolder() { remove(); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const std::string& name) const { return path_ / name; }

 private:
  void remove() const;

  std::filesystem::path path_;
  AtEnd removal_{[this] { remove(); }};
};

}  // namespace causalctl
