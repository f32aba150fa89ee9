// Merges frames of a profile that a format does not tell apart: by function, or by line. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/report/callpath/model.h"

namespace causalctl::report::callpath {

// Each frame has one label.
struct Labels {
  struct Label {
    std::string name;         // differs from that of every other label
    std::uint32_t frame = 0;  // the first one with this label
  };
  std::vector<Label> all;
  std::vector<std::uint32_t> of_frame;
};

// Functions of one name in several modules get the module's name: "init (libz.so.1)". A
// group of threads is "threads: NAME".
Labels by_function(const Profile& profile);
// Names are "main.c:12 main", and "[libz.so.1]+0x1234" without line information.
Labels by_line(const Profile& profile);

// The tree of the profile, in which children with equal labels are one.
struct LabelTree {
  struct Node {
    std::uint32_t parent = 0;
    std::uint32_t label = 0;  // means nothing for the root
    bool tail = false;        // whether some of its frames were found by the code (Frame::tail)
  };
  std::vector<Node> nodes;                      // a parent comes before its children
  std::vector<std::vector<std::uint64_t>> own;  // by column and node
  std::vector<std::vector<std::uint64_t>> total;
};
LabelTree merged(const Profile& profile, const Labels& labels);

// The nodes below each node, those with the largest total of the first column first.
class Children {
 public:
  explicit Children(const LabelTree& tree);
  const std::uint32_t* begin(std::uint32_t node) const { return &list_[first_[node]]; }
  const std::uint32_t* end(std::uint32_t node) const { return &list_[first_[node + 1]]; }
  std::size_t size(std::uint32_t node) const { return first_[node + 1] - first_[node]; }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> list_;
};

// What each label has by itself, and with all that it calls. A path on which it occurs several
// times (recursion) counts once.
struct LabelValues {
  std::vector<std::vector<std::uint64_t>> own;  // by column and label
  std::vector<std::vector<std::uint64_t>> total;
};
LabelValues values_of(const LabelTree& tree, const Children& children, const Labels& labels);

// The last component of a path.
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace causalctl::report::callpath
