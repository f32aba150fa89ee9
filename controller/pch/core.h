// Precompiled for the core, whose files include what they use all the same (lint, which goes
// without, proves it): half of the time to build went into reading these.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>
