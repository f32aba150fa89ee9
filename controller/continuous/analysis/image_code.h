// The code of an image, function by function, with the samples of each. Shell.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "controller/continuous/analysis/image_file.h"
#include "controller/continuous/code/file_code.h"
#include "controller/continuous/record/counts.h"
#include "controller/continuous/record/database.h"

namespace causalctl::continuous {

class ImageCode {
 public:
  // Samples by link-time address, by the beginning of the function.
  using ByFunction = std::map<Address, Counts>;

  // Throws Error if the code is not there as it was recorded.
  ImageCode(const Database& database, const Image& image);

  // `places`: by offset in the image. What no entry of the unwind table describes is left out.
  ByFunction by_function(const Counts& places) const;
  // REQUIRES: a function begins at the address.
  const FileCode::Function& function(Address low) const { return *code_->function_at(low); }
  disasm::Graph graph(Address low) { return code_->graph(function(low)); }

 private:
  ImageFile image_;
  std::string bytes_;
  std::optional<FileCode> code_;
};

}  // namespace causalctl::continuous
