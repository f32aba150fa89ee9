// Counts the samples of a call path, and those of its callee that came on other paths. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "controller/causal/engine/path_matching.h"

namespace causalctl::causal {

// Of the callee's samples.
struct PathCounts {
  std::uint64_t in_callee = 0;  // on all paths
  std::uint64_t on_path = 0;
  std::uint64_t unknown_callers = 0;  // whose chain ends before it tells
};

class PathUnit {
 public:
  PathUnit(CallPath path, UnitId id) : path_(std::move(path)), id_(id), match_(path_) {}

  const CallPath& path() const { return path_; }
  UnitId id() const { return id_; }
  const PathCounts& counts() const { return counts_; }

  // Begins with the place that a sample is charged to. Returns false if the callee is not there.
  bool begin(const PathFrames& place);
  void add(const PathFrames& caller);  // the place that called the last one
  // Returns whether more callers may change what decide() returns.
  bool is_open() const;
  // `complete`: the places reach to where the thread began.
  OnPath decide(bool complete) const;
  void count(OnPath answer);

  // Returns the functions that call the callee most often, with their shares of its samples.
  std::string callers_text() const;

 private:
  CallPath path_;
  UnitId id_;
  // Of the present sample:
  PathMatch match_;
  bool is_caller_known_ = false;
  std::string caller_;  // of the callee
  PathCounts counts_;
  std::map<std::string, std::uint64_t> by_caller_;
};

}  // namespace causalctl::causal
