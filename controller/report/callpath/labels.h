// Merges frames of a profile that a format does not tell apart: by function, or by line. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/base_name.h"
#include "controller/report/callpath/model.h"
#include "controller/report/short_names.h"

namespace causalctl::report::callpath {

// Returns what the frame's function can be called, shortest first: "parse", "libj.so:parse",
// "json.c:parse", "src/json.c:parse". `home` is its file, or empty.
std::vector<std::string> names_of_function(const Frame& frame, std::string_view home);

// Each frame has one label.
struct Labels {
  struct Label {
    std::string name;         // differs from that of every other label
    std::uint32_t frame = 0;  // the first one with this label
  };
  std::vector<Label> all;
  std::vector<std::uint32_t> of_frame;
};

// A function is known by its name, its module, and the file that it is declared in, so that two
// static functions of one name are two. Each is called by the shortest name that tells it from the
// others: "init", "libz.so.1:init", "s1/u.c:init". A group of threads is "threads: NAME". A program
// and a process of a set are called by their names alone, unless something else has that name:
// "program: NAME".
Labels by_function(const Profile& profile);
// Names are "main.c:12 main", and "[libz.so.1]+0x1234" without line information, where places are
// told apart by their offset if `with_offsets`; otherwise all of a function is one, "[libz.so.1]".
Labels by_line(const Profile& profile, bool with_offsets = true);

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

// The names of the labels that are shown together: those with a part of any column that is worth
// showing.
ShortNames short_names(const Labels& labels, const LabelTree& tree);

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

// The file that the label's function is declared in, or that of a line of it; empty if neither is
// known.
const std::string& file_of(const Labels::Label& label, const Profile& profile);

}  // namespace causalctl::report::callpath
