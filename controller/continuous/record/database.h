// The database of continuous profiles: one SQLite file for each host, in a folder that several
// hosts may share. docs/database-format.md describes its tables.
//
// A recorder writes what it has counted in a drain as rows of their own, as a whole or not at all,
// and now and then merges them into one row for each epoch, image, event and label. Readers see
// both, at any moment (SQLite's write-ahead log).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/base/fd.h"
#include "controller/base/types.h"
#include "controller/continuous/record/counts.h"
#include "controller/continuous/record/exact_counts.h"
#include "controller/continuous/record/sqlite.h"

namespace causalctl::continuous {

// What a recorder has counted since the drain before.
struct Drain {
  std::int64_t end_ns = 0;      // since 1970
  Nanoseconds recorded_ns = 0;  // how long it has recorded
  Profile profile = {};
  std::map<Image, Names> names = {};
  Losses losses = {};
  VisitCounts visits = {};
  std::vector<std::string> paths = {};  // logs of call paths
};

// What a command asks of the recorder: to begin an epoch of that name, or to merge what it has.
struct Request {
  enum class Kind : std::uint8_t { epoch, flush };
  std::int64_t id = 0;
  Kind kind = Kind::flush;
  std::string text = {};
};

struct Host {
  std::string name;    // as the file is called
  std::string kernel;  // uname -r
  std::string processor;
  unsigned cores = 0;
  unsigned clock_mhz = 0;  // cycles of a core in a microsecond; 0: not known
};

class Database {
 public:
  // Opens a host's file for a recorder, and makes it, and the folder, if they are not there. Throws
  // Error if another recorder has it, or if it is of another version.
  static Database record(const std::string& folder, const Host& host);
  // Does the same by the name of the file, whose folder is there.
  static Database take(const std::string& file, const Host& host);
  // Opens one beside its recorder, to ask() and to add exact counts. Throws Error, as for one that
  // is not there, or of an earlier version.
  static Database beside(const std::string& file);
  static bool is_recording(const std::string& file);  // a recorder has it open
  // Opens one to be read as it is at this moment, also of an earlier version. Throws Error, as for
  // one that is not there.
  static Database read(const std::string& file);
  // Returns the files of a folder, in order; of a file, itself. Throws Error if there is none.
  static std::vector<std::string> files_in(const std::string& path);
  // Returns where facts go that are of no host: a file itself; of a folder the only database, or
  // that of `host`, which may not be there yet.
  static std::string file_for(const std::string& path, const Host& host);

  // For a recorder. Returns whether its file, and those that SQLite and the lock have beside it,
  // are still those that it has open.
  bool is_in_place() const { return is_open() && identities_ == found(); }
  // Opens, or makes, what is there now. Returns whether it is the same database. If it throws, it
  // may be closed: then it has no names, and nothing else may be called until this has succeeded.
  bool reopen();
  bool is_open() const { return connection_.is_open(); }

  const std::string& file() const { return connection_.path(); }
  Host host() const;

  // The epochs, the oldest first. What is being recorded is in the last one.
  std::vector<Epoch> epochs() const;
  std::optional<std::int64_t> last_epoch() const;
  // Begins an epoch, which ends the one before. Returns its number. `name` may be empty.
  std::int64_t begin_epoch(const std::string& name, std::int64_t now_ns);

  void add(std::int64_t epoch, const Drain& drain);
  void merge();  // what drains have added since the last time
  // Returns the sum over these epochs, without rows that are damaged, which are told in `damage`.
  Profile profile(const std::vector<std::int64_t>& epochs, std::vector<std::string>& damage) const;
  Names names(const Image& image) const;
  std::vector<std::string> labels(std::int64_t epoch) const;

  // Logs of call paths of an epoch, one behind the other; empty if there are none. Throws Error if
  // they are damaged.
  std::string paths(std::int64_t epoch) const;

  // Files with code (kept_file.h). keep() replaces none that is there. All together take
  // `most_bytes` at most (0: any number): for a new one, those with the fewest samples are dropped.
  void keep(const Image& image, std::string_view file, std::uint64_t most_bytes);
  bool has_kept(const Image& image) const;
  std::string kept(const Image& image) const;  // empty if it is not there; throws if it is damaged

  // Exact counts by build. An import replaces those that were imported of the same builds before,
  // as a whole or not at all. REQUIRES: each image has a build-id.
  void add_exact(const std::map<Image, ExactCounts>& counts, const std::string& command,
                 std::int64_t now_ns);
  std::vector<ExactImport> exact_imports() const;  // by path
  // Returns what was imported of the build, whatever its path, or nullopt. Throws Error if it is
  // damaged.
  std::optional<ExactCounts> exact_counts(const std::string& build_id) const;

  // Removes names, kept files and exact counts of builds that no epoch has, and makes the file as
  // small as it can be. Returns by how many bytes. REQUIRES: take().
  std::uint64_t remove_unused();

  // Removes the oldest epochs but the last one: those that ended before `oldest_ns`, and as many as
  // it takes until epoch_bytes() is `most_bytes` at most (0: any number). Returns how many. An
  // epoch has ended when a later one begins, also if the clock was set back between.
  std::size_t remove_old(std::int64_t oldest_ns, std::uint64_t most_bytes);
  // Joins epochs without names that ended before `before_ns` and began on one day (UTC) to the
  // first of them, but the last epoch of all. Returns how many there are fewer. merge() joins their
  // rows.
  std::size_t roll_up(std::int64_t before_ns);
  std::uint64_t bytes() const;       // of the file
  std::uint64_t kept_bytes() const;  // of kept files in it
  // Of the file without kept files and exact counts.
  std::uint64_t epoch_bytes() const;
  // Requests are rows, to which the recorder adds its answer.
  std::int64_t ask(const Request& request);
  std::optional<Request> next_request() const;
  // `answer`: why it was not done; empty if it was.
  void finish(const Request& request, const std::string& answer);
  // Returns the answer, or nullopt as long as there is none.
  std::optional<std::string> answer(std::int64_t request) const;
  void withdraw(std::int64_t request);
  // Throws Error, with what is wrong, if the file is damaged.
  void check() const;

 private:
  static constexpr const char* kLock = ".lock";  // how the name of the lock's file ends

  Database(const std::string& path, Connection::Mode mode) : connection_(path, mode) {}

  void create(const Host& host);
  std::int64_t version() const;  // throws Error if it is another program's file
  void require_version() const;
  void add_names(const Image& image, const Names& names);
  void add_visits(std::int64_t epoch, const VisitCounts& visits);
  void add_loss(std::int64_t epoch, std::string_view kind, std::int64_t count);
  void give_back();
  std::int64_t id_of(const Image& image);
  std::map<std::int64_t, Image> images() const;
  void check_exact() const;
  void remove(std::int64_t epoch);
  void join(const Epoch& to, const Epoch& from);
  void remove_unused_images();

  using Identity = std::pair<std::uint64_t, std::uint64_t>;  // device and inode; 0: no such file
  std::vector<Identity> found() const;                       // at the paths of a recorder's files

  // Those of a recorder.
  Fd lock_;
  Host host_;
  std::vector<Identity> identities_;  // as found() when it was opened
  Connection connection_;
  std::map<Image, std::int64_t> ids_;  // of a recorder
};

}  // namespace causalctl::continuous
