// Answers which functions tail calls have left out of chains of a live process (tail_search.h), by
// the files that it has mapped. What the procedure linkage table calls is read from its memory.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "controller/base/types.h"
#include "controller/callpath/places/tail_search.h"
#include "unwind/stack/target_images.h"
#include "unwind/tables/elf_image.h"

namespace causalctl::callpath {

class TailCalls {
 public:
  // A place in a mapped file. The path is that of the target's maps.
  using NameOf = std::function<std::string(const std::string& path, Address link_address)>;

  // `name_of` returns the name of the function at a place, or an empty one. Throws as TargetImages
  // does.
  TailCalls(Pid target, NameOf name_of);

  void refresh();  // call it when mappings have changed
  // Returns whether this place of this file is at the address.
  bool is_at(Address address, const std::string& path, Address link_address);
  // As TailSearch::find(). Both addresses are those at run time.
  std::optional<TailCall> find(Address return_address, Address callee) {
    return search_.find(return_address, callee);
  }

 private:
  std::optional<CodeFunction> function_at(Address address);
  Address resolve(Address address);
  std::string name(Address address);

  NameOf name_of_;
  unwind::TargetImages images_;
  // By file; they last as long as the mappings.
  std::map<const unwind::ImageFile*, std::optional<unwind::UnwindTable>> tables_;
  std::map<Address, Address> resolved_;  // entries of the linkage table
  TailSearch search_;
};

}  // namespace causalctl::callpath
