// Writes the experiment log (docs/log-format.md): each struct becomes one line and one write(2).
//
// "type" comes first in every line (ordered_json keeps the order). A killed run can leave a line
// without its end, and the next line glued to it; by "type" a reader finds where that one begins.
#include "controller/causal/record/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "controller/base/error.h"
#include "controller/base/output_file.h"
#include "controller/causal/record/log_fields.h"

namespace causalctl::causal {
namespace {

using log_fields::Json;

constexpr const char* kAnother = "name another file with --output FILE";

// File names and symbols of the target need not be UTF-8; other bytes become U+FFFD.
std::string text(Json line) {
  log_fields::to_written(line);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Returns a line of type `type` with the fields of `object`, which belongs to `run`.
template <Described S>
std::string line_of(const char* type, const Run& run, const S& object) {
  Json line = {{"type", type}, {"run", run.id}};
  log_fields::put(line, object, S::fields());
  return text(std::move(line));
}

bool is_regular(int fd, off_t* size) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  *size = status.st_size;
  return true;
}

// Returns whether the last line has no end, as a killed run leaves it.
bool ends_inside_line(int fd) {
  off_t size = 0;
  if (!is_regular(fd, &size) || size == 0) return false;
  const Fd reader(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_RDONLY | O_CLOEXEC));
  char last = 0;
  if (!reader || ::pread(reader.get(), &last, 1, size - 1) != 1)
    return true;  // a blank line does no harm
  return last != '\n';
}

// Returns whether `text` begins with a line of a log, or with the part that a full disk left of
// one.
bool begins_as_log(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  static constexpr std::string_view kTypes[] = {"run", "experiment", "pacing", "samples", "end"};
  return std::any_of(std::begin(kTypes), std::end(kTypes), [&](std::string_view type) {
    const std::string begin = fmt::format("{{\"type\":\"{}\"", type);
    return text.substr(0, begin.size()) == std::string_view(begin).substr(0, text.size());
  });
}

void check_content(const std::string& path) {
  const Fd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!reader) throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
  std::string text(64, '\0');
  const ssize_t count = ::pread(reader.get(), text.data(), text.size(), 0);
  if (count < 0) throw Error::from_errno(fmt::format("read({})", path), errno, kAnother);
  text.resize(static_cast<std::size_t>(count));
  if (begins_as_log(text)) return;
  throw UsageError(fmt::format("{} is not an experiment log, so nothing is appended to it", path),
                   kAnother);
}

// Checks the directory of a file that does not exist yet.
void check_directory(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
  }
}

}  // namespace

void check_log(const std::string& path) {
  if (path == "-") {
    throw UsageError("the experiment log cannot go to standard output, where the report goes",
                     "name a file with --output FILE");
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT || path.empty()) {
      throw Error::from_errno(fmt::format("open({})", path), errno, kAnother);
    }
    return check_directory(path);
  }
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode) && !S_ISCHR(status.st_mode)) {
    throw Error(fmt::format("{} is {}, but an experiment log must be a file", path,
                            S_ISDIR(status.st_mode) ? "a directory" : "a pipe, socket or disk"),
                kAnother);
  }
  open_output(path, kAnother);  // the file exists, so none is created
  if (S_ISREG(status.st_mode) && status.st_size > 0) check_content(path);
}

LogWriter::LogWriter(const std::string& path) : path_(path) {
  check_log(path);
  fd_ = open_output(path, kAnother);
  if (ends_inside_line(fd_.get())) append("\n");
}

void LogWriter::run(const Run& run) {
  Json line = {{"type", "run"}, {"version", kLogVersion}};
  log_fields::put(line, run, Run::first_fields());
  append(text(std::move(line)));
}

void LogWriter::pacing(const Run& run) {
  for (const Pacing& pacing : run.pacing) append(line_of("pacing", run, pacing));
}

void LogWriter::experiment(const Run& run, const Experiment& experiment) {
  append(line_of("experiment", run, experiment));
}

void LogWriter::samples(const Run& run, const UnitSamples& samples) {
  append(line_of("samples", run, samples));
}

void LogWriter::end(const Run& run) {
  Json line = {{"type", "end"}};
  log_fields::put(line, run, Run::last_fields());
  append(text(std::move(line)));
}

void LogWriter::append(const std::string& line) {
  off_t end_before = 0;
  const bool regular = is_regular(fd_.get(), &end_before);
  std::size_t written = 0;
  int error = 0;
  while (written < line.size() && error == 0) {
    const ssize_t count = ::write(fd_.get(), line.data() + written, line.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (count == 0) {
      error = EIO;
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == 0) return;

  // Another run may append to the same file, so only bytes that are certainly ours are cut off.
  off_t end_now = 0;
  if (written > 0 && regular && is_regular(fd_.get(), &end_now) &&
      end_now == end_before + static_cast<off_t>(written)) {
    // If this fails too, the reader ignores the cut-off line.
    [[maybe_unused]] const int result = ::ftruncate(fd_.get(), end_before);
  }
  if (failed()) return;
  failed_ = true;
  throw Error::from_errno(fmt::format("write({})", path_), error,
                          "what was written before can still be read: causalctl report " + path_);
}

void write_or_end(Run& run, const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    run.reason = EndReason::log_failed;
    if (!run.log_failure.empty()) return;
    run.log_failure = error.what();
    run.warnings.emplace_back(error.what());
  }
}

}  // namespace causalctl::causal
