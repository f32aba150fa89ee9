// Sums a profile by what the reader asks for, as dcpiprof does (DCPI §3.1, Figure 1). Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "controller/base/interval.h"
#include "controller/base/types.h"
#include "controller/continuous/record/counts.h"

namespace causalctl::continuous {

enum class By : std::uint8_t { function, line, image, label };

// A function of an image, and which offsets are its. Without a name it is a place.
struct FunctionAt {
  std::string name;
  Address begin = 0, end = 0;
};
using FunctionNames = std::function<FunctionAt(const Image& image, Address offset)>;

struct Row {
  std::string name;   // of the function, or what else it is summed by
  std::string image;  // its path; empty where rows are not of one image
  Count count = {};
  Interval share = {};  // of all time, with 95 % confidence (Wilson)
};

struct Rows {
  Count all = {};
  std::vector<Row> rows = {};  // the largest first
};

// As many independent samples of equal weight would tell as much as those that were counted.
double samples_worth(const Profile& profile, const std::string& event);

// Sums what was counted of the event. Of lines, `names` names these in place of functions.
Rows rows_of(const Profile& profile, const std::string& event, By by, const FunctionNames& names);

// Where the kernel has interrupts off no sample is taken: it comes in the function that lets them
// in again. Returns a sentence that says so if 5 % of the samples, or more, are in such functions;
// otherwise an empty text. Takes rows by function, or by line. Pure.
std::string about_interrupts(const Rows& rows);

}  // namespace causalctl::continuous
