// Names the functions of images: by their files, where these are as they were recorded, and
// otherwise by what the recorder has kept of them. Shell.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controller/continuous/analysis/image_file.h"
#include "controller/continuous/analysis/rows.h"
#include "controller/continuous/record/counts.h"
#include "controller/continuous/record/database.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::continuous {

// Returns "deflate.c:12" for the innermost frame; empty if its line is not known. Pure.
std::string line_text(const std::vector<unwind::Frame>& frames);

class FileNames {
 public:
  explicit FileNames(const Database& database) : database_(database) {}

  FunctionAt at(const Image& image, Address offset);

  // Returns the innermost line as "file.c:12", with the bytes of this offset alone; the function
  // where no line is known.
  FunctionAt line_at(const Image& image, Address offset);

  // What is at a place: functions that were inlined there, innermost first, then the one that has
  // the code. There are none where the place has no name.
  struct Code {
    Address address = 0;  // as `addr2line -e` takes it; the offset where it is not known
    std::vector<unwind::Frame> frames;
  };
  Code code(const Image& image, Address offset);

  // The same by link-time address.
  std::vector<unwind::Frame> frames(const Image& image, Address address);
  // Returns the link-time address at which the function begins that `point` names, as "deflate" or
  // "libz.so.1:deflate"; nullopt if the image has none, or several.
  std::optional<Address> entry(const Image& image, const std::string& point);

 private:
  struct Known {
    ImageFile image;                                 // which the symbolizer needs
    std::unique_ptr<unwind::Symbolizer> symbolizer;  // null: there is no such file here
    Names stored;
  };

  Known& known(const Image& image);
  static Code code_in_file(Known& known, Address offset);
  static std::optional<FunctionAt> in_file(Known& known, Address offset);

  const Database& database_;
  std::map<Image, Known> known_;
  std::deque<Image> opened_;  // those of `known_`, the first one first
};

}  // namespace causalctl::continuous
