// Sets the environment variable of base/facility.h for the lifetime of the object.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace causalctl {

class PretendBroken {
 public:
  explicit PretendBroken(const char* facilities) {
    if (const char* before = std::getenv(kName)) before_ = before;
    setenv(kName, facilities, 1);
  }
  ~PretendBroken() {
    if (before_) {
      setenv(kName, before_->c_str(), 1);
    } else {
      unsetenv(kName);
    }
  }
  PretendBroken(const PretendBroken&) = delete;
  PretendBroken& operator=(const PretendBroken&) = delete;

 private:
  static constexpr const char* kName = "CAUSALCTL_PRETEND_BROKEN";
  std::optional<std::string> before_;
};

}  // namespace causalctl
