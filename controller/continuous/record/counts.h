// What a continuous profile counts: time on a core by place in code.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "controller/base/types.h"

namespace causalctl::continuous {

// Samples of one place, and the time on a core that they stand for.
struct Count {
  std::uint64_t samples = 0;
  Nanoseconds time_ns = 0;

  Count& operator+=(const Count& other) {
    samples += other.samples;
    time_ns += other.time_ns;
    return *this;
  }
  bool operator==(const Count&) const = default;
};

using Counts = std::map<Address, Count>;  // by offset in an image

void add(Counts& to, const Counts& from);
Count sum_of(const Counts& counts);

// What has code.
enum class ImageKind : std::uint8_t {
  file,       // an offset is one in the file
  kernel,     // … is one from the beginning of its code, which is elsewhere after each boot
  module,     // of the kernel: … is one from where it was loaded
  compiled,   // code that programs have made, by name: … is what the recorder has given to a name
  anonymous,  // executable memory without a file or a name: … is 0
};

struct Image {
  ImageKind kind = ImageKind::file;
  std::string path;      // "[kernel]", "[anonymous]", "[compiled] node" where there is no file
  std::string build_id;  // in hexadecimal; empty if it has none

  auto operator<=>(const Image&) const = default;
};

// The functions of an image as far as the recorder has named them, by where they begin.
struct Name {
  std::uint64_t size = 0;  // 0: not known
  std::string text;

  bool operator==(const Name&) const = default;
};
using Names = std::map<Address, Name>;

// Returns the name of the function that has the offset, null if it is not known. Pure.
const Name* name_at(const Names& names, Address offset);

// Whose samples, of what event, with which label of the user's.
struct ProfileKey {
  Image image;
  std::string event = "cpu";
  std::string label = {};

  auto operator<=>(const ProfileKey&) const = default;
};
using Profile = std::map<ProfileKey, Counts>;

// Returns what has the label; all if it is empty. Pure.
Profile with_label(Profile profile, const std::string& label);

// Returns the build-id as the kernel tells it: with zeros up to 20 bytes, which some linkers' do
// not have. Empty if it is empty. Pure.
std::string padded_build_id(std::string build_id);

// What is missing, by kind.
using Losses = std::map<std::string, std::uint64_t>;

// Of progress points, by their SPEC.
using VisitCounts = std::map<std::string, std::uint64_t>;

// A span of time whose samples are kept together. They do not overlap.
struct Epoch {
  std::int64_t id = 0;
  std::string name;
  std::int64_t begin_ns = 0;    // since 1970, by the clock of the machine
  std::int64_t end_ns = 0;      // of the last drain in it
  Nanoseconds recorded_ns = 0;  // in it; less than its length where nothing recorded for a while
  std::uint64_t samples = 0;
  Losses losses = {};
  VisitCounts visits = {};

  bool operator==(const Epoch&) const = default;
};

}  // namespace causalctl::continuous
