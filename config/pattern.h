// Patterns that users give. RE2 takes time that is linear in the text, whatever the pattern.
#pragma once

#include <re2/re2.h>

namespace causalctl::config {

// Bytes, because programs may write what is no UTF-8.
inline re2::RE2::Options pattern_options() {
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_log_errors(false);
  return options;
}

}  // namespace causalctl::config
