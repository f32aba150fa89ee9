// Names the functions of images: by their files, where these are as they were recorded, and
// otherwise by what the recorder has stored. Shell.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "controller/continuous/analysis/rows.h"
#include "controller/continuous/record/counts.h"
#include "unwind/modules/module_file.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::continuous {

class FileNames {
 public:
  // Returns what is stored of an image.
  using Stored = std::function<Names(const Image&)>;
  explicit FileNames(Stored stored) : stored_(std::move(stored)) {}

  FunctionAt at(const Image& image, Address offset);

 private:
  struct Known {
    unwind::ModuleFile file;                         // which the symbolizer needs
    std::unique_ptr<unwind::Symbolizer> symbolizer;  // null: there is no such file here
    Names stored;
  };

  Known& known(const Image& image);
  static std::optional<FunctionAt> in_file(Known& known, Address offset);

  Stored stored_;
  std::map<Image, Known> known_;
};

}  // namespace causalctl::continuous
