#include "controller/continuous/record/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/continuous/record/blob.h"
#include "controller/continuous/record/kept_file.h"

namespace causalctl::continuous {
namespace {

constexpr std::int64_t kVersion = 3;
constexpr const char* kEnding = ".db";
// A recorder must not keep the kernel's records of births and mappings waiting.
constexpr int kRecorderPatienceMs = 300;

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
CREATE TABLE request (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, text TEXT NOT NULL,
  answer TEXT);
CREATE TABLE loss (
  epoch INTEGER NOT NULL REFERENCES epoch, kind TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (epoch, kind)) WITHOUT ROWID;
)";
// What version 1 has not.
constexpr const char* kToVersion2 = "ALTER TABLE request ADD COLUMN answer TEXT";
constexpr const char* kToVersion3 = "UPDATE meta SET value = 3 WHERE key = 'version'";

// `kind`: "TEMP " for tables of this connection alone.
std::string tables_of_version2(std::string_view kind) {
  return fmt::format(R"(
CREATE {0}TABLE IF NOT EXISTS visit (
  epoch INTEGER NOT NULL REFERENCES epoch, point TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (epoch, point)) WITHOUT ROWID;
CREATE {0}TABLE IF NOT EXISTS kept_file (
  image INTEGER PRIMARY KEY REFERENCES image, bytes BLOB NOT NULL);
CREATE {0}TABLE IF NOT EXISTS path (
  id INTEGER PRIMARY KEY, epoch INTEGER NOT NULL REFERENCES epoch, log BLOB NOT NULL);
)",
                     kind);
}

std::string tables_of_version3(std::string_view kind) {
  return fmt::format(R"(
CREATE {0}TABLE IF NOT EXISTS exact (
  image INTEGER PRIMARY KEY REFERENCES image, command TEXT NOT NULL, imported_ns INTEGER NOT NULL,
  instructions INTEGER NOT NULL, executions BLOB NOT NULL, jumps BLOB NOT NULL);
)",
                     kind);
}

constexpr const char* kCountOfTables = R"(
SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN
  ('meta', 'epoch', 'image', 'name', 'profile', 'fresh', 'request', 'loss'))";
constexpr std::int64_t kTablesOfAllVersions = 8;

// The whole file, by whoever has it open (fcntl(2), "Open file description locks").
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

Fd lock_of(const std::string& path, const std::string& name) {
  Fd file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!file) {
    const int error_number = errno;
    throw Error::from_errno(fmt::format("open({})", name), error_number,
                            "does its folder exist, and may you write it?");
  }
  struct flock lock = whole_file();
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) == 0) return file;
  const int error_number = errno;
  if (error_number != EAGAIN && error_number != EACCES) {
    throw Error::from_errno(fmt::format("fcntl({}, F_OFD_SETLK)", name), error_number);
  }
  throw Error(fmt::format("another recorder writes {}", printable(path)),
              "end it, or record into another folder");
}

// What is recorded tells what others run, so that it is for its owner.
void make_folder(const std::string& folder) {
  std::error_code error;
  const bool is_new = std::filesystem::create_directories(folder, error);
  if (is_new && !error) {
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  }
  if (error) {
    throw Error(fmt::format("{}: {}", folder, error.message()), "name a folder that can be made");
  }
}

}  // namespace

Database Database::record(const std::string& folder, const Host& host) {
  make_folder(folder);
  Database database = take(fmt::format("{}/{}{}", folder, host.name, kEnding), host);
  Statement(database.connection_, "INSERT OR REPLACE INTO meta VALUES ('clock_mhz', ?)")
      .bind(static_cast<std::int64_t>(host.clock_mhz))
      .run();
  return database;
}

Database Database::take(const std::string& path, const Host& host) {
  Fd lock = lock_of(path, path + kLock);
  Database database(path, Connection::Mode::write);
  database.lock_ = std::move(lock);
  Statement tables(database.connection_, "SELECT count(*) FROM sqlite_master");
  tables.step();
  const bool is_empty = tables.number(0) == 0;
  tables.reset();
  if (!is_empty) (void)database.version();  // nothing of another program's file is changed
  database.connection_.execute("PRAGMA auto_vacuum = INCREMENTAL");  // before the first table
  database.connection_.execute("PRAGMA journal_mode = WAL");
  database.connection_.execute("PRAGMA synchronous = NORMAL");
  database.connection_.execute("PRAGMA journal_size_limit = 4000000");
  database.connection_.in_transaction([&] {
    if (is_empty) database.create(host);
    const std::int64_t version = database.version();
    if (version == 1) database.connection_.execute(kToVersion2);
    if (version == 1 || version == 2) database.connection_.execute(kToVersion3);
    database.require_version();
    database.connection_.execute(tables_of_version2("").c_str());
    database.connection_.execute(tables_of_version3("").c_str());
  });
  database.connection_.execute("DELETE FROM request");  // of those who have given up
  database.remove_unused_images();
  database.connection_.wait_at_most(kRecorderPatienceMs);
  database.host_ = host;
  database.identities_ = database.found();
  if (database.identities_.front() == Identity{}) {
    throw Error(fmt::format("{} was removed at once", printable(path)), "try it again");
  }
  return database;
}

Database Database::beside(const std::string& file) {
  Database database(file, Connection::Mode::write);
  database.require_version();
  return database;
}

bool Database::is_recording(const std::string& file) {
  const Fd opened(::open((file + kLock).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  struct flock lock = whole_file();
  return opened && ::fcntl(opened.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Database Database::read(const std::string& file) {
  Database database(file, Connection::Mode::read);
  database.connection_.execute("PRAGMA temp_store = MEMORY");
  database.connection_.execute("BEGIN");  // all that is read is of one moment
  const std::int64_t version = database.version();
  if (version != 1 && version != 2) database.require_version();
  // Tables that are not there are read as empty.
  if (version < 2) database.connection_.execute(tables_of_version2("TEMP ").c_str());
  if (version < 3) database.connection_.execute(tables_of_version3("TEMP ").c_str());
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

std::string Database::file_for(const std::string& path, const Host& host) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return path;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == kEnding) files.push_back(entry.path());
  }
  return files.size() == 1 ? files.front() : fmt::format("{}/{}{}", path, host.name, kEnding);
}

void Database::create(const Host& host) {
  connection_.execute(kTables);
  const auto set = [this](std::string_view key, const auto& value) {
    Statement(connection_, "INSERT INTO meta VALUES (?, ?)").bind(key).bind(value).run();
  };
  set("version", kVersion);
  set("host", std::string_view(host.name));
  set("kernel", std::string_view(host.kernel));
  set("processor", std::string_view(host.processor));
  set("cores", static_cast<std::int64_t>(host.cores));
  set("clock_mhz", static_cast<std::int64_t>(host.clock_mhz));
}

std::int64_t Database::version() const {
  Statement tables(connection_, kCountOfTables);
  if (tables.step() && tables.number(0) == kTablesOfAllVersions) {
    Statement statement(connection_, "SELECT value FROM meta WHERE key = 'version'");
    if (statement.step() && statement.number(0) > 0) return statement.number(0);
  }
  throw Error(fmt::format("{} is no database of causalctl", printable(file())),
              "it is empty, or another program's: move it away, or name another folder");
}

void Database::require_version() const {
  const std::int64_t version = this->version();
  if (version == kVersion) return;
  throw Error(fmt::format("{} has version {}, and this causalctl knows version {}",
                          printable(file()), version, kVersion),
              version < kVersion ? "causalctl record brings it to this version"
                                 : "use the causalctl that wrote it, or another folder");
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
    if (key == "clock_mhz") host.clock_mhz = static_cast<unsigned>(statement.number(1));
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
    Statement visits(connection_, "SELECT point, count FROM visit WHERE epoch = ?");
    visits.bind(epoch.id);
    while (visits.step()) {
      epoch.visits[visits.text(0)] = static_cast<std::uint64_t>(visits.number(1));
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
        add_loss(epoch, kind, static_cast<std::int64_t>(count));
      }
      add_visits(epoch, drain.visits);
      for (const std::string& log : drain.paths) {
        const std::string packed = packed_file(log);
        Statement(connection_, "INSERT INTO path VALUES (NULL, ?, ?)")
            .bind(epoch)
            .bind(std::as_bytes(std::span(packed)))
            .run();
      }
      Statement(connection_, R"(
UPDATE epoch SET end_ns = max(end_ns, ?), recorded_ns = recorded_ns + ? WHERE id = ?)")
          .bind(drain.end_ns)
          .bind(drain.recorded_ns)
          .bind(epoch)
          .run();
    });
  } catch (...) {
    ids_.clear();  // some may not be written
    throw;
  }
}

void Database::add_loss(std::int64_t epoch, std::string_view kind, std::int64_t count) {
  Statement(connection_, R"(
INSERT INTO loss VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count)")
      .bind(epoch)
      .bind(kind)
      .bind(count)
      .run();
}

void Database::keep(const Image& image, std::string_view file, std::uint64_t most_bytes) {
  const std::string packed = packed_file(file);
  if (most_bytes > 0 && packed.size() > most_bytes) return;
  connection_.in_transaction([&] {
    while (most_bytes > 0 && kept_bytes() + packed.size() > most_bytes) {
      connection_.execute(R"(
DELETE FROM kept_file WHERE image = (
  SELECT kept.image FROM kept_file AS kept
  LEFT JOIN (SELECT image, sum(samples) AS all_samples FROM profile GROUP BY image) AS counted
  ON counted.image = kept.image ORDER BY coalesce(all_samples, 0), kept.image LIMIT 1))");
    }
    Statement(connection_, "INSERT OR IGNORE INTO kept_file VALUES (?, ?)")
        .bind(id_of(image))
        .bind(std::as_bytes(std::span(packed)))
        .run();
  });
}

void Database::add_visits(std::int64_t epoch, const VisitCounts& visits) {
  for (const auto& [point, count] : visits) {
    Statement(connection_, R"(
INSERT INTO visit VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count)")
        .bind(epoch)
        .bind(std::string_view(point))
        .bind(static_cast<std::int64_t>(count))
        .run();
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

}  // namespace causalctl::continuous
