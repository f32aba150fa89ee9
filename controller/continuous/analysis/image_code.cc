#include "controller/continuous/analysis/image_code.h"

#include <fmt/format.h>

#include <span>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/base/whole_file.h"

namespace causalctl::continuous {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30U;  // of a file with code

}  // namespace

ImageCode::ImageCode(const Database& database, const Image& image) {
  const bool is_file = image.kind == ImageKind::file;
  if (is_file) image_ = open_image(database, image);
  auto text = image_.file.fd ? read_whole(image_.file.fd, kMostBytes) : std::nullopt;
  if (!text) {
    throw Error(fmt::format("{}: its code is not there as it was recorded", printable(image.path)),
                is_file
                    ? "the recorder keeps files in which time is spent, unless --no-files is given"
                    : "only the code of files is analysed");
  }
  bytes_ = std::move(*text);
  code_.emplace(unwind::ElfImage(std::as_bytes(std::span(bytes_))));
}

ImageCode::ByFunction ImageCode::by_function(const Counts& places) const {
  ByFunction functions;
  for (const auto& [offset, count] : places) {
    const auto link = image_.file.link_address(offset);
    const auto function = link ? code_->function_at(*link) : nullptr;
    if (function != nullptr) functions[function->low][*link] += count;
  }
  return functions;
}

}  // namespace causalctl::continuous
