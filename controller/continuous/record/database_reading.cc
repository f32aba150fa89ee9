// What a reader asks of the database of continuous profiles.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/base/error.h"
#include "controller/continuous/record/blob.h"
#include "controller/continuous/record/database.h"
#include "controller/continuous/record/kept_file.h"

namespace causalctl::continuous {
namespace {

void bind_image(Statement& statement, const Image& image) {
  statement.bind(static_cast<std::int64_t>(image.kind))
      .bind(std::string_view(image.path))
      .bind(std::string_view(image.build_id));
}

}  // namespace

Names Database::names(const Image& image) const {
  Names names;
  if (!is_open()) return names;
  Statement rows(connection_, R"(
SELECT begin, size, text FROM name JOIN image ON image.id = image
WHERE kind = ? AND path = ? AND build_id = ?)");
  bind_image(rows, image);
  while (rows.step()) {
    names[static_cast<Address>(rows.number(0))] = {static_cast<std::uint64_t>(rows.number(1)),
                                                   rows.text(2)};
  }
  return names;
}

std::optional<std::int64_t> Database::last_epoch() const {
  Statement last(connection_, "SELECT max(id) FROM epoch HAVING max(id) IS NOT NULL");
  return last.step() ? std::optional(last.number(0)) : std::nullopt;
}

std::vector<std::string> Database::labels(std::int64_t epoch) const {
  std::vector<std::string> labels;
  Statement rows(connection_, R"(
SELECT label FROM profile WHERE epoch = ?1 UNION SELECT label FROM fresh WHERE epoch = ?1)");
  rows.bind(epoch);
  while (rows.step()) labels.push_back(rows.text(0));
  return labels;
}

std::string Database::paths(std::int64_t epoch) const {
  std::string logs;
  Statement rows(connection_, "SELECT log FROM path WHERE epoch = ? ORDER BY id");
  rows.bind(epoch);
  while (rows.step()) {
    const auto bytes = rows.bytes(0);
    logs += unpacked_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, kLargestLog);
  }
  return logs;
}

bool Database::has_kept(const Image& image) const {
  Statement rows(connection_, R"(
SELECT 1 FROM kept_file JOIN image ON image.id = image
WHERE kind = ? AND path = ? AND build_id = ?)");
  bind_image(rows, image);
  return rows.step();
}

std::uint64_t Database::kept_bytes() const {
  Statement sum(connection_, "SELECT coalesce(sum(length(bytes)), 0) FROM kept_file");
  sum.step();
  return static_cast<std::uint64_t>(sum.number(0));
}

std::string Database::kept(const Image& image) const {
  Statement rows(connection_, R"(
SELECT bytes FROM kept_file JOIN image ON image.id = image
WHERE kind = ? AND path = ? AND build_id = ?)");
  bind_image(rows, image);
  if (!rows.step()) return {};
  const auto bytes = rows.bytes(0);
  return unpacked_file({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                       kLargestKeptFile);
}

std::map<std::int64_t, Image> Database::images() const {
  std::map<std::int64_t, Image> images;
  Statement rows(connection_, "SELECT id, kind, path, build_id FROM image");
  while (rows.step()) {
    const auto kind = std::clamp<std::int64_t>(rows.number(1), 0,
                                               static_cast<std::int64_t>(ImageKind::anonymous));
    images[rows.number(0)] = {static_cast<ImageKind>(kind), rows.text(2), rows.text(3)};
  }
  return images;
}

Profile Database::profile(const std::vector<std::int64_t>& epochs,
                          std::vector<std::string>& damage) const {
  Profile profile;
  // Both tables as they are at one moment.
  const bool is_alone = sqlite3_get_autocommit(connection_.handle()) != 0;
  if (is_alone) connection_.execute("BEGIN");
  const auto images = this->images();
  for (const std::int64_t epoch : epochs) {
    Statement rows(connection_, R"(
SELECT image, event, label, counts, samples FROM profile WHERE epoch = ?1
UNION ALL SELECT image, event, label, counts, samples FROM fresh WHERE epoch = ?1)");
    rows.bind(epoch);
    while (rows.step()) {
      const auto image = images.find(rows.number(0));
      if (image == images.end()) throw Error(fmt::format("{}: an image is missing", file()));
      try {
        causalctl::continuous::add(profile[{image->second, rows.text(1), rows.text(2)}],
                                   decode(rows.bytes(3)));
      } catch (const Error& error) {
        damage.push_back(fmt::format("{} samples of {} in epoch {} are damaged: {}", rows.number(4),
                                     image->second.path, epoch, error.what()));
      }
    }
  }
  if (is_alone) connection_.execute("COMMIT");
  return profile;
}

std::uint64_t Database::bytes() const {
  Statement pages(connection_,
                  "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  pages.step();
  return static_cast<std::uint64_t>(pages.number(0));
}

std::uint64_t Database::epoch_bytes() const {
  Statement sum(connection_, R"(
SELECT (SELECT coalesce(sum(length(bytes)), 0) FROM kept_file) +
  (SELECT coalesce(sum(length(executions) + length(jumps)), 0) FROM exact))");
  sum.step();
  const std::uint64_t all = bytes();
  return all - std::min(all, static_cast<std::uint64_t>(sum.number(0)));
}

void Database::check() const {
  Statement result(connection_, "PRAGMA integrity_check");
  if (!result.step() || result.text(0) != "ok") {
    throw Error(fmt::format("{} is damaged: {}", file(), result.text(0)),
                "`sqlite3 FILE .recover` may save what is in it");
  }
  check_exact();
  std::vector<std::string> damage;
  for (const Epoch& epoch : epochs()) profile({epoch.id}, damage);
  if (damage.empty()) return;
  throw Error(
      fmt::format("{}: {} rows are damaged, such as: {}", file(), damage.size(), damage.front()),
      "reports are made without them");
}

}  // namespace causalctl::continuous
