// SQLite, as much of it as the database of profiles needs: a connection, and statements whose
// values are bound and read by type. The only caller of sqlite3.h.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace causalctl::continuous {

class Connection;

// One statement, prepared. Its values are bound by number from 1, and read by column from 0.
class Statement {
 public:
  // Throws Error if the database does not take it.
  Statement(const Connection& connection, std::string_view sql);

  Statement& bind(std::int64_t number);
  Statement& bind(std::string_view text);
  Statement& bind(std::span<const std::byte> bytes);  // which must stay until the statement is over
  // Goes to the next row. Returns false at the end. Throws Error.
  bool step();
  void run();    // of a statement without rows
  void reset();  // ends it, so that it reads no more

  std::int64_t number(int column) const;
  std::string text(int column) const;
  std::span<const std::byte> bytes(int column) const;  // until the next step()

 private:
  void check(int result) const;

  const Connection& connection_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_;
  int bound_ = 0;
};

class Connection {
 public:
  enum class Mode { write, read };
  // Opens the file, and makes it if it is to be written: for its owner alone (mode 0600), and not
  // through a link. Throws Error with the path and a hint.
  Connection(const std::string& path, Mode mode);

  const std::string& path() const { return path_; }
  void close() { handle_.reset(); }  // no statement may follow
  bool is_open() const { return handle_ != nullptr; }
  void wait_at_most(int milliseconds) const;  // for another process that writes; 5 s at first
  void execute(const char* sql) const;        // throws Error
  std::int64_t last_row() const { return sqlite3_last_insert_rowid(handle_.get()); }
  // Does `work` as a whole or, if it throws, not at all.
  void in_transaction(const std::function<void()>& work) const;
  // Throws Error: what SQLite says of the last call, which returned `result`.
  [[noreturn]] void fail(int result, std::string_view what) const;
  sqlite3* handle() const { return handle_.get(); }

 private:
  std::string path_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
};

}  // namespace causalctl::continuous
