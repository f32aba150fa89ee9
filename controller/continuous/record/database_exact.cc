// Exact counts in the database of continuous profiles.
#include <fmt/format.h>

#include <utility>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/continuous/record/blob.h"
#include "controller/continuous/record/database.h"

namespace causalctl::continuous {
namespace {

constexpr const char* kHint = "import the file of callgrind again: causalctl db DIR import FILE";

ExactCounts decode_both(std::span<const std::byte> executions, std::span<const std::byte> jumps) {
  return {decode_executions(executions), decode_jumps(jumps)};
}

}  // namespace

void Database::add_exact(const std::map<Image, ExactCounts>& counts, const std::string& command,
                         std::int64_t now_ns) {
  try {
    connection_.in_transaction([&] {
      for (const auto& [image, each] : counts) {
        INVARIANT(!image.build_id.empty());
        Statement(connection_, R"(
DELETE FROM exact WHERE image IN (SELECT id FROM image WHERE build_id = ?))")
            .bind(std::string_view(image.build_id))
            .run();
      }
      for (const auto& [image, each] : counts) {
        const std::vector<std::byte> executions = encode(each.instructions);
        const std::vector<std::byte> jumps = encode(each.jumps);
        Statement(connection_, "INSERT INTO exact VALUES (?, ?, ?, ?, ?, ?)")
            .bind(id_of(image))
            .bind(std::string_view(command))
            .bind(now_ns)
            .bind(static_cast<std::int64_t>(sum_of(each.instructions)))
            .bind(executions)
            .bind(jumps)
            .run();
      }
    });
  } catch (...) {
    ids_.clear();  // some may not be written
    throw;
  }
}

std::vector<ExactImport> Database::exact_imports() const {
  std::vector<ExactImport> imports;
  Statement rows(connection_, R"(
SELECT path, build_id, command, imported_ns, instructions FROM exact JOIN image ON image.id = image
ORDER BY path, image.id)");
  while (rows.step()) {
    imports.push_back({{ImageKind::file, rows.text(0), rows.text(1)},
                       rows.text(2),
                       rows.number(3),
                       static_cast<std::uint64_t>(rows.number(4))});
  }
  return imports;
}

// Two files of one build in one import, as copies of a library, are summed.
std::optional<ExactCounts> Database::exact_counts(const std::string& build_id) const {
  if (build_id.empty()) return std::nullopt;
  std::optional<ExactCounts> counts;
  Statement rows(connection_, R"(
SELECT executions, jumps FROM exact JOIN image ON image.id = image WHERE build_id = ?)");
  rows.bind(std::string_view(build_id));
  while (rows.step()) {
    try {
      ExactCounts each = decode_both(rows.bytes(0), rows.bytes(1));
      if (!counts) {
        counts = std::move(each);
      } else {
        causalctl::continuous::add(*counts, each);
      }
    } catch (const Error& error) {
      throw Error(fmt::format("{}: exact counts of build {}: {}", file(), printable(build_id),
                              error.what()),
                  kHint);
    }
  }
  return counts;
}

void Database::check_exact() const {
  for (const ExactImport& import : exact_imports()) exact_counts(import.image.build_id);
}

}  // namespace causalctl::continuous
