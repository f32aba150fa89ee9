#include "controller/base/scratch_folder.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "controller/base/error.h"
#include "controller/base/temporary_folder.h"

namespace causalctl {

ScratchFolder::ScratchFolder(const std::string& what) {
  const std::string directory = temporary_folder();
  std::string pattern = directory + "/causalctl-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw Error::from_errno(fmt::format("no directory for {} can be made in {}", what, directory),
                            errno, "set TMPDIR to a directory in which you may write");
  }
  path_ = pattern;
}

void ScratchFolder::remove() const {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace causalctl
