// The file of an image: that at its path, if it is still the same build, and otherwise what the
// recorder has kept of it. Shell.
#pragma once

#include "controller/base/fd.h"
#include "controller/continuous/record/counts.h"
#include "controller/continuous/record/database.h"
#include "unwind/modules/module_file.h"

namespace causalctl::continuous {

struct ImageFile {
  unwind::ModuleFile file;  // its descriptor is not open if there is neither
  Fd copy;                  // of a kept file, in memory
};

// Throws Error if what was kept is damaged.
ImageFile open_image(const Database& database, const Image& image);

}  // namespace causalctl::continuous
