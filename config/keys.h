// The keys of the configuration file: path and what to do with the value.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/loader.h"

namespace causalctl::config {

struct Key {
  std::string path;  // "experiment.duration"
  std::function<void(Loader&, const toml::node&)> set;
};

void add_ab_keys(std::vector<Key>& keys);  // those of [ab]

}  // namespace causalctl::config
