#include "controller/continuous/analysis/image_file.h"

#include <fmt/format.h>

#include <string>

#include "controller/base/whole_file.h"

namespace causalctl::continuous {

ImageFile open_image(const Database& database, const Image& image) {
  ImageFile found{unwind::open_module_file(image.path), {}};
  const bool is_same = padded_build_id(found.file.build_id) == padded_build_id(image.build_id);
  if (found.file.fd && is_same) return found;
  found.file = {};
  const std::string kept = database.kept(image);
  if (kept.empty()) return found;
  found.copy = memory_file("causalctl", kept);
  found.file = unwind::open_module_file(fmt::format("/proc/self/fd/{}", found.copy.get()));
  return found;
}

}  // namespace causalctl::continuous
