// Finds the functions that tail calls have left out of a call chain (csprof §2.5.4). Pure.
//
// A function that ends by calling another one may jump there, so that it has no frame any more: the
// stack says that main calls c, while the code says that it calls a. What jumped is found by the
// call itself, if it is direct: from the function that it names, direct jumps must lead to the
// function of the next frame. Where exactly one chain of functions does, they are the missing ones.
// Nothing is guessed: where several do, or none, the chain stays as it is.
//
// A jump is a tail call only if it leads to the beginning of another function. Compilers move rare
// code of a function elsewhere (foo.cold) and split functions (foo.part.0); these count as parts of
// it: they have its name, or begin with a frame. Without names, code that is reached by a condition
// counts as a part, too. An entry of the procedure linkage table is where it leads. A thunk is no
// function of its own. A function whose jumps form a loop occurs once.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "controller/callpath/record/recording.h"
#include "disasm/decoder.h"

namespace causalctl::callpath {

struct CodeFunction {
  Address low = 0;
  Address high = 0;
  bool enters = true;  // false if it begins with a frame, as code that only jumps lead to
};

// What the search needs of a process.
struct TailCode {
  std::function<std::optional<CodeFunction>(Address)> function_at;
  // Returns the bytes from the address on, as long as they are constant.
  std::function<std::span<const std::byte>(Address)> bytes;
  // Returns where an entry of the procedure linkage table leads, the address itself if it is not in
  // one, and 0 if that is not known.
  std::function<Address(Address)> resolve;
  // Returns the name of the function that begins at the address, without suffixes of copies and
  // parts; empty if unknown.
  std::function<std::string(Address)> name_of;
};

struct TailCall {
  TailKind kind = TailKind::found;
  // Where each of the missing functions jumps on, outermost first; its beginning if it does at
  // several places.
  std::vector<Address> jumps;
  bool operator==(const TailCall&) const = default;
};

class TailSearch {
 public:
  explicit TailSearch(TailCode code) : code_(std::move(code)) {}

  // `callee` is an address within the code of the frame that the call seems to have called. Returns
  // nullopt if nothing is missing, or if that cannot be told: the call is no direct one, or no
  // table describes the functions.
  std::optional<TailCall> find(Address return_address, Address callee);
  void forget();  // call it when other code may be at the addresses

 private:
  struct Edge {
    Address jump = 0;  // 0 if several places jump there
    Address to = 0;    // the beginning of a function
  };
  struct Function {
    std::vector<Edge> edges;  // each target once
    std::set<Address> parts;  // beginnings of parts that lie elsewhere
  };
  using Path = std::vector<const Edge*>;

  const Function& function(Address low);
  void take_jump(Function& function, Address low, Address jump, Address target, bool conditional,
                 std::vector<CodeFunction>& todo);
  bool is_part(Address low, const CodeFunction& code, Address target, bool conditional);
  bool is_in(Address low, Address callee);
  // Returns the functions from which jumps lead to the callee, or nullopt if there are too many.
  std::optional<std::set<Address>> leading(Address from, Address callee);
  // Returns the only way along these functions, or nullopt if there are several.
  std::optional<Path> only_path(Address from, Address callee, const std::set<Address>& leading);
  TailCall described(Address from, Address callee, const Path& path);

  TailCode code_;
  disasm::Decoder decoder_;
  std::map<Address, Function> functions_;  // by beginning
  std::size_t bytes_left_ = 0;             // to decode for the present question
};

}  // namespace causalctl::callpath
