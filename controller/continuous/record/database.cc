#include "controller/continuous/record/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "controller/base/error.h"
#include "controller/continuous/record/blob.h"

namespace causalctl::continuous {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr const char* kEnding = ".db";
constexpr const char* kLock = ".lock";

// Text is UTF-8 where its source is. Times are in nanoseconds.
constexpr const char* kTables = R"(
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE epoch (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL, begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,
  recorded_ns INTEGER NOT NULL);
CREATE TABLE image (
  id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, path TEXT NOT NULL, build_id TEXT NOT NULL,
  UNIQUE (kind, path, build_id));
CREATE TABLE name (
  image INTEGER NOT NULL REFERENCES image, begin INTEGER NOT NULL, size INTEGER NOT NULL,
  text TEXT NOT NULL, PRIMARY KEY (image, begin)) WITHOUT ROWID;
CREATE TABLE profile (
  epoch INTEGER NOT NULL REFERENCES epoch, image INTEGER NOT NULL REFERENCES image,
  event TEXT NOT NULL, label TEXT NOT NULL, samples INTEGER NOT NULL, counts BLOB NOT NULL,
  PRIMARY KEY (epoch, image, event, label)) WITHOUT ROWID;
CREATE TABLE fresh (
  id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL REFERENCES epoch,
  image INTEGER NOT NULL REFERENCES image, event TEXT NOT NULL, label TEXT NOT NULL,
  samples INTEGER NOT NULL, counts BLOB NOT NULL);
CREATE INDEX fresh_by_key ON fresh (epoch, image, event, label);
CREATE TABLE request (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, text TEXT NOT NULL);
CREATE TABLE loss (
  epoch INTEGER NOT NULL REFERENCES epoch, kind TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (epoch, kind)) WITHOUT ROWID;
)";

Fd lock_of(const std::string& path) {
  Fd lock(::open((path + kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) {
    throw Error::from_errno(fmt::format("open({}.lock)", path), errno,
                            "does its folder exist, and may you write it?");
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) throw Error::from_errno(fmt::format("flock({}.lock)", path), errno);
  throw Error(fmt::format("another recorder writes {}", path),
              "end it, or record into another folder");
}

}  // namespace

Database Database::record(const std::string& folder, const Host& host) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(fmt::format("{}: {}", folder, error.message()), "name a folder that can be made");
  }
  const std::string path = fmt::format("{}/{}{}", folder, host.name, kEnding);
  Fd lock = lock_of(path);
  Database database(path, Connection::Mode::write);
  database.lock_ = std::move(lock);
  database.connection_.execute("PRAGMA auto_vacuum = INCREMENTAL");  // before the first table
  database.connection_.execute("PRAGMA journal_mode = WAL");
  database.connection_.execute("PRAGMA synchronous = NORMAL");
  Statement tables(database.connection_, "SELECT count(*) FROM sqlite_master");
  tables.step();
  if (tables.number(0) == 0) database.create(host);
  database.require_version();
  return database;
}

Database Database::beside(const std::string& file) {
  Database database(file, Connection::Mode::write);
  database.require_version();
  return database;
}

bool Database::is_recording(const std::string& file) {
  const Fd lock(::open((file + kLock).c_str(), O_RDWR | O_CLOEXEC));
  return lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

Database Database::read(const std::string& file) {
  Database database(file, Connection::Mode::read);
  database.require_version();
  return database;
}

std::vector<std::string> Database::files_in(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == kEnding) files.push_back(entry.path());
  }
  if (error) {
    throw Error(fmt::format("{}: {}", path, error.message()),
                "name the folder that `causalctl record --db` has written");
  }
  if (files.empty()) {
    throw Error(fmt::format("{} has no database of profiles", path),
                "name the folder that `causalctl record --db` has written");
  }
  std::sort(files.begin(), files.end());
  return files;
}

void Database::create(const Host& host) {
  connection_.in_transaction([&] {
    connection_.execute(kTables);
    const auto set = [this](std::string_view key, const auto& value) {
      Statement(connection_, "INSERT INTO meta VALUES (?, ?)").bind(key).bind(value).run();
    };
    set("version", kVersion);
    set("host", std::string_view(host.name));
    set("kernel", std::string_view(host.kernel));
    set("processor", std::string_view(host.processor));
    set("cores", static_cast<std::int64_t>(host.cores));
  });
}

void Database::require_version() const {
  Statement statement(connection_, "SELECT value FROM meta WHERE key = 'version'");
  const std::int64_t version = statement.step() ? statement.number(0) : 0;
  if (version == kVersion) return;
  throw Error(fmt::format("{} has version {}, and this causalctl knows version {}", file(), version,
                          kVersion),
              "use the causalctl that wrote it, or another folder");
}

Host Database::host() const {
  Host host;
  Statement statement(connection_, "SELECT key, value FROM meta");
  while (statement.step()) {
    const std::string key = statement.text(0);
    if (key == "host") host.name = statement.text(1);
    if (key == "kernel") host.kernel = statement.text(1);
    if (key == "processor") host.processor = statement.text(1);
    if (key == "cores") host.cores = static_cast<unsigned>(statement.number(1));
  }
  return host;
}

std::vector<Epoch> Database::epochs() const {
  std::vector<Epoch> epochs;
  Statement rows(connection_, R"(
SELECT id, name, begin_ns, end_ns, recorded_ns,
  (SELECT coalesce(sum(samples), 0) FROM profile WHERE epoch = epoch.id) +
  (SELECT coalesce(sum(samples), 0) FROM fresh WHERE epoch = epoch.id)
FROM epoch ORDER BY id)");
  while (rows.step()) {
    Epoch& epoch = epochs.emplace_back();
    epoch.id = rows.number(0);
    epoch.name = rows.text(1);
    epoch.begin_ns = rows.number(2);
    epoch.end_ns = rows.number(3);
    epoch.recorded_ns = rows.number(4);
    epoch.samples = static_cast<std::uint64_t>(rows.number(5));
    Statement losses(connection_, "SELECT kind, count FROM loss WHERE epoch = ?");
    losses.bind(epoch.id);
    while (losses.step()) {
      epoch.losses[losses.text(0)] = static_cast<std::uint64_t>(losses.number(1));
    }
  }
  return epochs;
}

std::int64_t Database::begin_epoch(const std::string& name, std::int64_t now_ns) {
  Statement(connection_, "INSERT INTO epoch VALUES (NULL, ?, ?, ?, 0)")
      .bind(std::string_view(name))
      .bind(now_ns)
      .bind(now_ns)
      .run();
  return connection_.last_row();
}

std::int64_t Database::id_of(const Image& image) {
  if (const auto known = ids_.find(image); known != ids_.end()) return known->second;
  const auto kind = static_cast<std::int64_t>(image.kind);
  Statement found(connection_, "SELECT id FROM image WHERE kind = ? AND path = ? AND build_id = ?");
  found.bind(kind).bind(std::string_view(image.path)).bind(std::string_view(image.build_id));
  std::int64_t id = 0;
  if (found.step()) {
    id = found.number(0);
  } else {
    Statement(connection_, "INSERT INTO image VALUES (NULL, ?, ?, ?)")
        .bind(kind)
        .bind(std::string_view(image.path))
        .bind(std::string_view(image.build_id))
        .run();
    id = connection_.last_row();
  }
  return ids_[image] = id;
}

void Database::add(std::int64_t epoch, const Drain& drain) {
  try {
    connection_.in_transaction([&] {
      for (const auto& [key, counts] : drain.profile) {
        Statement(connection_, "INSERT INTO fresh VALUES (NULL, ?, ?, ?, ?, ?, ?)")
            .bind(epoch)
            .bind(id_of(key.image))
            .bind(std::string_view(key.event))
            .bind(std::string_view(key.label))
            .bind(static_cast<std::int64_t>(sum_of(counts).samples))
            .bind(encode(counts))
            .run();
      }
      for (const auto& [image, names] : drain.names) add_names(image, names);
      for (const auto& [kind, count] : drain.losses) {
        Statement(connection_, R"(
INSERT INTO loss VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count)")
            .bind(epoch)
            .bind(std::string_view(kind))
            .bind(static_cast<std::int64_t>(count))
            .run();
      }
      Statement(connection_, R"(
UPDATE epoch SET end_ns = ?, recorded_ns = recorded_ns + ? WHERE id = ?)")
          .bind(drain.end_ns)
          .bind(drain.recorded_ns)
          .bind(epoch)
          .run();
    });
  } catch (const Error&) {
    ids_.clear();  // some may not be written
    throw;
  }
}

void Database::add_names(const Image& image, const Names& names) {
  const std::int64_t id = id_of(image);
  for (const auto& [begin, name] : names) {
    Statement(connection_, "INSERT OR REPLACE INTO name VALUES (?, ?, ?, ?)")
        .bind(id)
        .bind(static_cast<std::int64_t>(begin))
        .bind(static_cast<std::int64_t>(name.size))
        .bind(std::string_view(name.text))
        .run();
  }
}

Names Database::names(const Image& image) const {
  Names names;
  Statement rows(connection_, R"(
SELECT begin, size, text FROM name JOIN image ON image.id = image
WHERE kind = ? AND path = ? AND build_id = ?)");
  rows.bind(static_cast<std::int64_t>(image.kind))
      .bind(std::string_view(image.path))
      .bind(std::string_view(image.build_id));
  while (rows.step()) {
    names[static_cast<Address>(rows.number(0))] = {static_cast<std::uint64_t>(rows.number(1)),
                                                   rows.text(2)};
  }
  return names;
}

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
      Statement rows(connection_, R"(
SELECT counts FROM fresh WHERE epoch = ?1 AND image = ?2 AND event = ?3 AND label = ?4
UNION ALL
SELECT counts FROM profile WHERE epoch = ?1 AND image = ?2 AND event = ?3 AND label = ?4)");
      bind_key(rows);
      while (rows.step()) causalctl::continuous::add(sum, decode(rows.bytes(0)));
      Statement merged(connection_, "INSERT OR REPLACE INTO profile VALUES (?, ?, ?, ?, ?, ?)");
      bind_key(merged).bind(static_cast<std::int64_t>(sum_of(sum).samples)).bind(encode(sum)).run();
    }
    connection_.execute("DELETE FROM fresh");
  });
  connection_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  connection_.execute("PRAGMA incremental_vacuum");
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

Profile Database::profile(const std::vector<std::int64_t>& epochs) const {
  Profile profile;
  connection_.execute("BEGIN");  // both tables as they are at one moment
  const auto images = this->images();
  for (const std::int64_t epoch : epochs) {
    Statement rows(connection_, R"(
SELECT image, event, label, counts FROM profile WHERE epoch = ?1
UNION ALL SELECT image, event, label, counts FROM fresh WHERE epoch = ?1)");
    rows.bind(epoch);
    while (rows.step()) {
      const auto image = images.find(rows.number(0));
      if (image == images.end()) throw Error(fmt::format("{}: an image is missing", file()));
      try {
        causalctl::continuous::add(profile[{image->second, rows.text(1), rows.text(2)}],
                                   decode(rows.bytes(3)));
      } catch (const Error& error) {
        throw Error(
            fmt::format("{}: {} in epoch {}: {}", file(), image->second.path, epoch, error.what()),
            "the file is damaged; other epochs may be whole (--epoch)");
      }
    }
  }
  connection_.execute("COMMIT");
  return profile;
}

std::uint64_t Database::bytes() const {
  Statement pages(connection_,
                  "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size");
  pages.step();
  return static_cast<std::uint64_t>(pages.number(0));
}

std::optional<std::int64_t> Database::oldest_but_last() const {
  Statement rows(connection_, "SELECT min(id), max(id) FROM epoch");
  if (!rows.step() || rows.number(0) == rows.number(1)) return std::nullopt;
  return rows.number(0);
}

void Database::remove(std::int64_t epoch) {
  connection_.in_transaction([&] {
    for (const char* table : {"profile", "fresh", "loss"}) {
      Statement(connection_, fmt::format("DELETE FROM {} WHERE epoch = ?", table))
          .bind(epoch)
          .run();
    }
    Statement(connection_, "DELETE FROM epoch WHERE id = ?").bind(epoch).run();
    // Images that nothing refers to any more, with their names.
    connection_.execute(R"(
DELETE FROM name WHERE image NOT IN (SELECT image FROM profile UNION SELECT image FROM fresh);
DELETE FROM image WHERE id NOT IN (SELECT image FROM profile UNION SELECT image FROM fresh);
)");
    ids_.clear();
  });
  connection_.execute("PRAGMA incremental_vacuum");
}

std::size_t Database::remove_old(std::int64_t oldest_ns, std::uint64_t most_bytes) {
  std::size_t removed = 0;
  while (const auto epoch = oldest_but_last()) {
    Statement end(connection_, "SELECT end_ns FROM epoch WHERE id = ?");
    end.bind(*epoch).step();
    const bool is_old = end.number(0) < oldest_ns;
    if (!is_old && (most_bytes == 0 || bytes() <= most_bytes)) break;
    remove(*epoch);
    ++removed;
  }
  if (removed > 0) connection_.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  return removed;
}

std::int64_t Database::ask(const Request& request) {
  Statement(connection_, "INSERT INTO request VALUES (NULL, ?, ?)")
      .bind(static_cast<std::int64_t>(request.kind))
      .bind(std::string_view(request.text))
      .run();
  return connection_.last_row();
}

std::optional<Request> Database::next_request() const {
  Statement rows(connection_, "SELECT id, kind, text FROM request ORDER BY id LIMIT 1");
  if (!rows.step()) return std::nullopt;
  const bool is_epoch = rows.number(1) == static_cast<std::int64_t>(Request::Kind::epoch);
  return Request{rows.number(0), is_epoch ? Request::Kind::epoch : Request::Kind::flush,
                 rows.text(2)};
}

void Database::finish(const Request& request) {
  Statement(connection_, "DELETE FROM request WHERE id = ?").bind(request.id).run();
}

bool Database::is_open(std::int64_t request) const {
  Statement rows(connection_, "SELECT 1 FROM request WHERE id = ?");
  rows.bind(request);
  return rows.step();
}

void Database::check() const {
  Statement result(connection_, "PRAGMA integrity_check");
  if (result.step() && result.text(0) == "ok") return;
  throw Error(fmt::format("{} is damaged: {}", file(), result.text(0)),
              "`sqlite3 FILE .recover` may save what is in it");
}

}  // namespace causalctl::continuous
