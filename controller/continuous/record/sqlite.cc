#include "controller/continuous/record/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "controller/base/error.h"
#include "controller/base/fd.h"
#include "controller/base/printable.h"

namespace causalctl::continuous {
namespace {

constexpr int kPatienceMs = 5'000;  // for another process that writes

std::string hint_of(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return "there is no room on the disk";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "the file is damaged, or no database of causalctl; `sqlite3 FILE .recover` may save "
             "what is in it";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process writes it";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
      return "do its folder and the file exist, and may you write them?";
    default:
      return {};
  }
}

// SQLite makes a file that all may read, follows links, and waits for the other end of a FIFO.
void make_private(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (file) return;
  const int error_number = errno;
  throw Error::from_errno(fmt::format("open({})", printable(path)), error_number,
                          error_number == ELOOP
                              ? "it is a link; name the folder that has the file itself"
                              : "do its folder and the file exist, and may you write them?");
}

void require_regular(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const int error_number = errno;
    throw Error::from_errno(printable(path), error_number,
                            "name a file that `causalctl record --db` has written");
  }
  if (!S_ISREG(status.st_mode)) throw Error(printable(path) + " is no regular file");
}

}  // namespace

Statement::Statement(const Connection& connection, std::string_view sql)
    : connection_(connection), statement_(nullptr, sqlite3_finalize) {
  sqlite3_stmt* prepared = nullptr;
  const int result = sqlite3_prepare_v2(connection.handle(), sql.data(),
                                        static_cast<int>(sql.size()), &prepared, nullptr);
  statement_.reset(prepared);
  check(result);
}

void Statement::check(int result) const {
  if (result != SQLITE_OK) connection_.fail(result, "a statement");
}

Statement& Statement::bind(std::int64_t number) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, number));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  check(sqlite3_bind_text(statement_.get(), ++bound_, text.data(), static_cast<int>(text.size()),
                          SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind(std::span<const std::byte> bytes) {
  check(sqlite3_bind_blob(statement_.get(), ++bound_, bytes.data(), static_cast<int>(bytes.size()),
                          SQLITE_STATIC));
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result != SQLITE_DONE) connection_.fail(result, "a statement");
  return false;
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

std::int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::string() : std::string(text, size);
}

std::span<const std::byte> Statement::bytes(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return {data, data == nullptr ? 0 : size};
}

Connection::Connection(const std::string& path, Mode mode)
    : path_(path), handle_(nullptr, sqlite3_close) {
  if (mode == Mode::write) make_private(path);
  require_regular(path);
  const int flags = mode == Mode::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  sqlite3* opened = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  handle_.reset(opened);
  if (result != SQLITE_OK) fail(result, "sqlite3_open_v2");
  sqlite3_busy_timeout(opened, kPatienceMs);
  // What the file says of itself is not believed: somebody else may have written it.
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  execute("PRAGMA cell_size_check = ON");
}

void Connection::wait_at_most(int milliseconds) const {
  sqlite3_busy_timeout(handle_.get(), milliseconds);
}

void Connection::execute(const char* sql) const {
  const int result = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail(result, "a statement");
}

void Connection::in_transaction(const std::function<void()>& work) const {
  execute("BEGIN IMMEDIATE");
  try {
    work();
    execute("COMMIT");
  } catch (...) {
    // It fails where SQLite has rolled back by itself, as on a full disk.
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void Connection::fail(int result, std::string_view what) const {
  const char* reason = handle_ ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(result);
  throw Error(fmt::format("{}: {}: {}", printable(path_), what, reason), hint_of(result));
}

}  // namespace causalctl::continuous
