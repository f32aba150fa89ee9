#include "controller/callpath/missing_callers.h"

#include <utility>

namespace causalctl::callpath {

void MissingCallers::update() {
  for (; asked_ < recording_.tree.size(); ++asked_) {
    const CallTree::Node& node = recording_.tree.node(static_cast<NodeId>(asked_));
    if (node.parent == kRoot) continue;
    const LocationId call = recording_.tree.node(node.parent).location;
    const bool is_new = pairs_.insert(pair_of(call, node.location)).second;
    if (is_new && recording_.locations[call].is_call) ask(call, node.location, false);
  }
  for (const Namer::TailAnswer& answer : namer_.tail_answers()) take(answer);
}

void MissingCallers::ask(LocationId call, LocationId callee, bool again) {
  const Location& from = recording_.locations[call];
  const Location& to = recording_.locations[callee];
  if (from.module == 0 || to.module == 0) return;  // of code in no file nothing is known
  const auto return_address = places_.address_of(call);
  const auto code = places_.address_of(callee);
  if (!return_address || !code) return;
  const Address within = to.is_call ? 1 : 0;
  namer_.ask({call, callee, *return_address, *code - within, &places_.path(from.module),
              &places_.path(to.module), from.offset, to.offset - within, places_.mappings(),
              again});
}

void MissingCallers::take(const Namer::TailAnswer& answer) {
  const Namer::TailQuestion& question = answer.question;
  if (question.mappings != places_.mappings()) {
    if (!question.again) ask(question.call, question.callee, true);
    return;
  }
  if (!answer.call) return;
  Tail tail{question.call, question.callee, answer.call->kind, {}};
  for (const Address jump : answer.call->jumps) tail.jumps.push_back(places_.at(jump, false));
  recording_.tails.push_back(std::move(tail));
}

}  // namespace causalctl::callpath
