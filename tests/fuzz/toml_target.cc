#include "config/load.h"
#include "controller/base/error.h"
#include "tests/fuzz/targets.h"

namespace causalctl::fuzz {
namespace {

// What is done with a configuration that was read, up to the start of a run.
template <typename Check>
void use(config::Config config, Check check) {
  try {
    check(config);
  } catch (const UsageError&) {
    return;
  }
  config::config_json(config);
}

}  // namespace

void read_toml(Bytes bytes) {
  config::Config config;
  try {
    config = config::parse(as_text(bytes), "fuzz.toml");
  } catch (const UsageError&) {
    return;
  }
  use(config, config::check);
  use(config, config::check_ab);
}

}  // namespace causalctl::fuzz
