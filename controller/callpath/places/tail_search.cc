#include "controller/callpath/places/tail_search.h"

#include <algorithm>
#include <deque>
#include <string_view>
#include <utility>

#include "controller/callpath/places/jumps.h"
#include "unwind/tables/call_site.h"

namespace causalctl::callpath {
namespace {

constexpr std::size_t kMostFunctions = 256;    // that are followed for one question
constexpr std::size_t kMostBytes = 4U << 20U;  // of code that is decoded for one question
constexpr std::size_t kMostKept = 100'000;     // functions whose jumps are remembered
constexpr std::size_t kMostSteps = 10'000;     // of the count of paths

bool is_thunk(std::string_view name) {
  return name.starts_with("non-virtual thunk to ") || name.starts_with("virtual thunk to ") ||
         name.starts_with("covariant return thunk to ");
}

}  // namespace

void TailSearch::forget() { functions_.clear(); }

// Returns whether the code that a jump of the function at `low` leads to is a part of it.
bool TailSearch::is_part(Address low, const CodeFunction& code, Address target, bool conditional) {
  if (target != code.low || !code.enters) return true;
  if (!conditional) return false;
  const std::string name = code_.name_of(code.low);
  return name.empty() || name == code_.name_of(low);
}

void TailSearch::take_jump(Function& function, Address low, Address jump, Address target,
                           bool conditional, std::vector<CodeFunction>& todo) {
  target = code_.resolve(target);
  const auto code = target == 0 ? std::nullopt : code_.function_at(target);
  if (!code || code->low == low || function.parts.contains(code->low)) return;
  if (is_part(low, *code, target, conditional)) {
    function.parts.insert(code->low);
    todo.push_back(*code);
    return;
  }
  const auto known = std::find_if(function.edges.begin(), function.edges.end(),
                                  [&](const Edge& each) { return each.to == code->low; });
  if (known != function.edges.end()) {
    known->jump = 0;
  } else {
    function.edges.push_back({jump, code->low});
  }
}

const TailSearch::Function& TailSearch::function(Address low) {
  const auto [entry, is_new] = functions_.try_emplace(low);
  Function& function = entry->second;
  if (!is_new) return function;
  std::vector<CodeFunction> todo;
  if (const auto code = code_.function_at(low)) todo.push_back(*code);
  while (!todo.empty()) {
    const CodeFunction code = todo.back();
    todo.pop_back();
    const auto bytes = code_.bytes(code.low);
    const std::size_t size = std::min<std::size_t>(bytes.size(), code.high - code.low);
    if (size > bytes_left_) {
      bytes_left_ = 0;
      functions_.erase(entry);
      static const Function kNothing;
      return kNothing;
    }
    bytes_left_ -= size;
    for (const OutwardJump& jump : jumps_out(bytes.first(size), code.low, decoder_)) {
      take_jump(function, low, jump.at, jump.target, jump.conditional, todo);
    }
  }
  return function;
}

// Returns whether the code at `callee`, the beginning of what a table describes, is the function at
// `low` or a part of it.
bool TailSearch::is_in(Address low, Address callee) {
  return low == callee || function(low).parts.contains(callee);
}

std::optional<std::set<Address>> TailSearch::leading(Address from, Address callee) {
  std::set<Address> reached{from};
  std::map<Address, std::vector<Address>> callers;
  std::deque<Address> todo{from};
  std::deque<Address> ends;
  while (!todo.empty()) {
    const Address low = todo.front();
    todo.pop_front();
    if (is_in(low, callee)) {
      ends.push_back(low);
      continue;
    }
    for (const Edge& edge : function(low).edges) {
      callers[edge.to].push_back(low);
      if (reached.insert(edge.to).second) todo.push_back(edge.to);
    }
    if (bytes_left_ == 0 || reached.size() > kMostFunctions) return std::nullopt;
  }
  std::set<Address> leading(ends.begin(), ends.end());
  while (!ends.empty()) {
    const Address low = ends.front();
    ends.pop_front();
    for (const Address caller : callers[low]) {
      if (leading.insert(caller).second) ends.push_back(caller);
    }
  }
  return leading;
}

// Leaves out what the source does not have: thunks, and parts of the function that follows.
TailCall TailSearch::described(Address from, Address callee, const Path& path) {
  TailCall call;
  Address low = from;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool last = i + 1 == path.size();
    const std::string name = code_.name_of(low);
    const std::string next = code_.name_of(last ? callee : path[i]->to);
    if (!is_thunk(name) && (name.empty() || name != next)) {
      call.jumps.push_back(path[i]->jump != 0 ? path[i]->jump : low);
    }
    low = path[i]->to;
  }
  return call;
}

std::optional<TailSearch::Path> TailSearch::only_path(Address from, Address callee,
                                                      const std::set<Address>& leading) {
  // A walk along all paths without loops: where it is, and which edge from there is next.
  std::vector<std::pair<Address, std::size_t>> walk{{from, 0}};
  Path path;
  std::optional<Path> only;
  for (std::size_t step = 0; !walk.empty(); ++step) {
    if (step > kMostSteps) return std::nullopt;
    const Address low = walk.back().first;
    const std::vector<Edge>& edges = function(low).edges;
    const bool arrived = is_in(low, callee);
    if (arrived && only) return std::nullopt;
    if (arrived) only = path;
    if (arrived || walk.back().second == edges.size()) {
      walk.pop_back();
      if (!path.empty()) path.pop_back();
      continue;
    }
    const Edge& edge = edges[walk.back().second++];
    const bool is_loop = std::any_of(walk.begin(), walk.end(),
                                     [&](const auto& each) { return each.first == edge.to; });
    if (is_loop || !leading.contains(edge.to)) continue;
    walk.emplace_back(edge.to, 0);
    path.push_back(&edge);
  }
  return only;
}

std::optional<TailCall> TailSearch::find(Address return_address, Address callee) {
  if (functions_.size() > kMostKept) forget();
  bytes_left_ = kMostBytes;
  const auto before = code_.bytes(return_address - unwind::kLongestCall);
  if (before.size() < unwind::kLongestCall) return std::nullopt;
  const auto site = unwind::call_before(before.first(unwind::kLongestCall), return_address);
  if (!site || !site->target) return std::nullopt;
  const Address target = code_.resolve(*site->target);
  const auto called = target == 0 ? std::nullopt : code_.function_at(target);
  const auto seen = code_.function_at(callee);
  if (!called || !seen || called->low == seen->low) return std::nullopt;

  const auto leading = this->leading(called->low, seen->low);
  if (!leading) return TailCall{TailKind::ambiguous, {}};
  if (leading->empty()) {
    const std::string name = code_.name_of(called->low);
    if (!name.empty() && name == code_.name_of(seen->low)) return std::nullopt;
    return TailCall{TailKind::unexplained, {}};
  }

  const auto path = only_path(called->low, seen->low, *leading);
  if (!path) return TailCall{TailKind::ambiguous, {}};
  TailCall call = described(called->low, seen->low, *path);
  return call.jumps.empty() ? std::nullopt : std::optional(std::move(call));
}

}  // namespace causalctl::callpath
