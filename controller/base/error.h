// How things fail here.
//
// 1. The target, or one of its threads, went away: a result (std::optional, bool), never an error.
// 2. The system or the user: throw Error, built once, where the system call is wrapped. Its message
//    names the call, the object and the cause; its hint says what to do.
// 3. Our own bug: INVARIANT throws Bug, in release builds too, so that destructors detach.
//
// Only main catches. Destructors never throw.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace causalctl {

enum class ExitCode : int { ok = 0, failed = 1, usage = 2, target_gone = 3, bug = 70 };

class Error : public std::runtime_error {
 public:
  // `what` names the object and the cause; `hint` (may be empty) says what the user can do.
  explicit Error(const std::string& what, std::string hint = {}, ExitCode code = ExitCode::failed);

  // "WHAT: STRERROR(error_number)". error_number is also kept for callers that decide by it.
  static Error from_errno(std::string_view what, int error_number, std::string hint = {},
                          ExitCode code = ExitCode::failed);

  const std::string& hint() const { return hint_; }
  int error_number() const { return error_number_; }  // 0 where no system call failed
  ExitCode code() const { return code_; }

 private:
  std::string hint_;
  int error_number_ = 0;
  ExitCode code_;
};

// The command line, a SPEC or the configuration is wrong: exit code 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& what, std::string hint = {})
      : Error(what, std::move(hint), ExitCode::usage) {}
};

// The target ended before there was a result: exit code 3.
class TargetGone : public Error {
 public:
  explicit TargetGone(const std::string& what, std::string hint = {})
      : Error(what, std::move(hint), ExitCode::target_gone) {}
};

class Bug : public std::logic_error {
 public:
  Bug(const char* condition, const char* file, int line);
};

#define INVARIANT(condition) \
  ((condition) ? static_cast<void>(0) : throw ::causalctl::Bug(#condition, __FILE__, __LINE__))

}  // namespace causalctl
