// What keeps the database of continuous profiles small, and what is asked of its recorder.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/continuous/record/blob.h"
#include "controller/continuous/record/database.h"

namespace causalctl::continuous {

// One row after the other, so that little is in memory at a time.
void Database::merge() {
  connection_.in_transaction([&] {
    Statement groups(connection_, "SELECT DISTINCT epoch, image, event, label FROM fresh");
    while (groups.step()) {
      const auto bind_key = [&groups](Statement& statement) -> Statement& {
        statement.bind(groups.number(0)).bind(groups.number(1));
        return statement.bind(std::string_view(groups.text(2)))
            .bind(std::string_view(groups.text(3)));
      };
      Counts sum;
      std::int64_t damaged = 0;
      Statement rows(connection_, R"(
SELECT counts, samples FROM fresh WHERE epoch = ?1 AND image = ?2 AND event = ?3 AND label = ?4
UNION ALL
SELECT counts, samples FROM profile
WHERE epoch = ?1 AND image = ?2 AND event = ?3 AND label = ?4)");
      bind_key(rows);
      while (rows.step()) {
        try {
          causalctl::continuous::add(sum, decode(rows.bytes(0)));
        } catch (const Error&) {  // nothing can be read from it any more
          damaged += rows.number(1);
        }
      }
      if (damaged > 0) add_loss(groups.number(0), "damaged", damaged);
      Statement merged(connection_, "INSERT OR REPLACE INTO profile VALUES (?, ?, ?, ?, ?, ?)");
      bind_key(merged).bind(static_cast<std::int64_t>(sum_of(sum).samples)).bind(encode(sum)).run();
    }
    connection_.execute("DELETE FROM fresh");
  });
  give_back();
}

// Pages that are free, to the file system. It does not wait for readers.
void Database::give_back() {
  connection_.execute("PRAGMA incremental_vacuum");
  connection_.execute("PRAGMA wal_checkpoint(PASSIVE)");
}

void Database::remove(std::int64_t epoch) {
  connection_.in_transaction([&] {
    for (const char* table : {"profile", "fresh", "loss", "visit", "path"}) {
      Statement(connection_, fmt::format("DELETE FROM {} WHERE epoch = ?", table))
          .bind(epoch)
          .run();
    }
    Statement(connection_, "DELETE FROM epoch WHERE id = ?").bind(epoch).run();
    connection_.execute(R"(
DELETE FROM kept_file WHERE image NOT IN (SELECT image FROM profile UNION SELECT image FROM fresh))");
  });
  give_back();
}

// With their names, but not those with exact counts. A recorder writes each name once, so that this
// is not for one that has begun.
void Database::remove_unused_images() {
  connection_.in_transaction([&] {
    connection_.execute(R"(
DELETE FROM name WHERE image NOT IN (SELECT image FROM profile UNION SELECT image FROM fresh);
DELETE FROM kept_file WHERE image NOT IN (SELECT image FROM profile UNION SELECT image FROM fresh);
DELETE FROM image WHERE id NOT IN (
  SELECT image FROM profile UNION SELECT image FROM fresh UNION SELECT image FROM exact);
)");
  });
}

std::uint64_t Database::remove_unused() {
  const std::uint64_t before = bytes();
  connection_.execute(R"(
DELETE FROM exact WHERE image NOT IN (
  SELECT image.id FROM image JOIN image AS used USING (build_id)
  WHERE used.id IN (SELECT image FROM profile UNION SELECT image FROM fresh)))");
  remove_unused_images();
  connection_.execute("VACUUM");
  connection_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  return before - std::min(before, bytes());
}

std::size_t Database::remove_old(std::int64_t oldest_ns, std::uint64_t most_bytes) {
  for (std::size_t removed = 0;; ++removed) {
    Statement oldest(connection_, R"(
SELECT id, min(end_ns, (SELECT min(begin_ns) FROM epoch AS later WHERE later.id > epoch.id))
FROM epoch WHERE id < (SELECT max(id) FROM epoch) ORDER BY id LIMIT 1)");
    if (!oldest.step()) return removed;
    const bool is_old = oldest.number(1) < oldest_ns;
    if (!is_old && (most_bytes == 0 || epoch_bytes() <= most_bytes)) return removed;
    const std::int64_t epoch = oldest.number(0);
    oldest.reset();
    remove(epoch);
  }
}

// A point that was not counted all the time has no visits of all of it. Of an epoch that was killed
// before its first drain nothing is known.
void Database::join(const Epoch& to, const Epoch& from) {
  const auto run = [&](const char* sql) {
    Statement(connection_, sql).bind(to.id).bind(from.id).run();
  };
  run("UPDATE fresh SET epoch = ?1 WHERE epoch = ?2");
  run(R"(
INSERT INTO fresh SELECT NULL, ?1, image, event, label, samples, counts FROM profile
WHERE epoch = ?2)");
  run("UPDATE path SET epoch = ?1 WHERE epoch = ?2");
  run(R"(
INSERT INTO loss SELECT ?1, kind, count FROM loss WHERE epoch = ?2
ON CONFLICT DO UPDATE SET count = count + excluded.count)");
  if (to.recorded_ns == 0) {
    run("UPDATE visit SET epoch = ?1 WHERE epoch = ?2");
  } else if (from.recorded_ns > 0) {
    run(R"(
DELETE FROM visit WHERE epoch = ?1 AND point NOT IN (SELECT point FROM visit WHERE epoch = ?2))");
    run(R"(
UPDATE visit SET count = count + (SELECT count FROM visit AS other
  WHERE other.epoch = ?2 AND other.point = visit.point) WHERE epoch = ?1)");
  }
  run(R"(
UPDATE epoch SET end_ns = max(end_ns, (SELECT end_ns FROM epoch WHERE id = ?2)),
  recorded_ns = recorded_ns + (SELECT recorded_ns FROM epoch WHERE id = ?2) WHERE id = ?1)");
  for (const char* table : {"profile", "loss", "visit"}) {
    Statement(connection_, fmt::format("DELETE FROM {} WHERE epoch = ?", table))
        .bind(from.id)
        .run();
  }
  Statement(connection_, "DELETE FROM epoch WHERE id = ?").bind(from.id).run();
}

std::size_t Database::roll_up(std::int64_t before_ns) {
  constexpr std::int64_t kDay = 86'400 * kSecond;
  std::size_t joined = 0;
  connection_.in_transaction([&] {
    std::optional<Epoch> day;
    const std::vector<Epoch> all = epochs();
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      const Epoch& epoch = all[i];
      const bool is_plain = epoch.name.empty() && epoch.end_ns < before_ns;
      if (is_plain && day && day->begin_ns / kDay == epoch.begin_ns / kDay) {
        join(*day, epoch);
        day->recorded_ns += epoch.recorded_ns;
        ++joined;
      } else {
        day = is_plain ? std::optional(epoch) : std::nullopt;
      }
    }
  });
  return joined;
}

std::vector<Database::Identity> Database::found() const {
  std::vector<Identity> identities;
  for (const char* ending : {"", "-wal", "-shm", kLock}) {
    struct stat status {};
    const bool is_there = ::stat((file() + ending).c_str(), &status) == 0;
    identities.push_back(is_there ? Identity{status.st_dev, status.st_ino} : Identity{});
  }
  return identities;
}

bool Database::reopen() {
  const bool is_same = is_open() && found().front() == identities_.front();
  // What is in its log only is written into the file, in case it is the log that was removed. Where
  // the file itself was moved, its log was moved with it.
  if (is_same) {
    Statement checkpoint(connection_, "PRAGMA wal_checkpoint(FULL)");
    if (checkpoint.step() && checkpoint.number(0) != 0) {
      throw Error(fmt::format("{} is being read", printable(file())), "end what reads it");
    }
  }
  connection_.close();
  lock_ = Fd();
  ids_.clear();
  *this = record(std::filesystem::path(file()).parent_path(), host_);
  return is_same;
}

std::int64_t Database::ask(const Request& request) {
  Statement(connection_, "INSERT INTO request VALUES (NULL, ?, ?, NULL)")
      .bind(static_cast<std::int64_t>(request.kind))
      .bind(std::string_view(request.text))
      .run();
  return connection_.last_row();
}

std::optional<Request> Database::next_request() const {
  Statement rows(connection_, R"(
SELECT id, kind, text FROM request WHERE answer IS NULL ORDER BY id LIMIT 1)");
  if (!rows.step()) return std::nullopt;
  const bool is_epoch = rows.number(1) == static_cast<std::int64_t>(Request::Kind::epoch);
  return Request{rows.number(0), is_epoch ? Request::Kind::epoch : Request::Kind::flush,
                 rows.text(2)};
}

void Database::finish(const Request& request, const std::string& answer) {
  Statement(connection_, "UPDATE request SET answer = ? WHERE id = ?")
      .bind(std::string_view(answer))
      .bind(request.id)
      .run();
}

std::optional<std::string> Database::answer(std::int64_t request) const {
  Statement rows(connection_, "SELECT answer FROM request WHERE id = ? AND answer IS NOT NULL");
  rows.bind(request);
  return rows.step() ? std::optional(rows.text(0)) : std::nullopt;
}

void Database::withdraw(std::int64_t request) {
  Statement(connection_, "DELETE FROM request WHERE id = ?").bind(request).run();
}

}  // namespace causalctl::continuous
