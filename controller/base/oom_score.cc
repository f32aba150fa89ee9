#include "controller/base/oom_score.h"

#include <fcntl.h>
#include <unistd.h>

#include <iterator>
#include <optional>
#include <string>

#include "controller/base/fd.h"
#include "controller/base/procfs.h"

namespace causalctl {
namespace {

constexpr const char* kOomScore = "/proc/self/oom_score_adj";
constexpr long kFirst = 1000;  // OOM_SCORE_ADJ_MAX

std::optional<long> score_before;

bool set_oom_score(long score) {
  const Fd file(::open(kOomScore, O_WRONLY | O_CLOEXEC));
  const auto text = std::to_string(score);
  return file && ::write(file.get(), text.data(), text.size()) == std::ssize(text);
}

}  // namespace

void be_first_to_be_ended() {
  const auto now = procfs::read_number(kOomScore);
  if (now && *now != kFirst && set_oom_score(kFirst)) score_before = now;
}

void be_ended_as_before() {
  if (score_before) (void)set_oom_score(*score_before);
}

}  // namespace causalctl
