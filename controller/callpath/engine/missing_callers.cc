#include "controller/callpath/engine/missing_callers.h"

#include <utility>

namespace causalctl::callpath {

void MissingCallers::update() {
  for (; asked_ < recording_.tree.size(); ++asked_) {
    const CallTree::Node& node = recording_.tree.node(static_cast<NodeId>(asked_));
    if (node.parent == kRoot) continue;
    const LocationId call = recording_.tree.node(node.parent).location;
    const bool is_new = pairs_.insert(pair_of(call, node.location)).second;
    if (is_new && recording_.locations[call].is_call) ask(call, node.location);
  }
  for (const Namer::TailAnswer& answer : namer_.tail_answers()) take(answer);
}

// The chain was of one of those that were sampled just now.
void MissingCallers::ask(LocationId call, LocationId callee) {
  for (const Pid process : std::vector<Pid>(processes_.latest())) {
    if (ask(call, callee, process, false)) return;
  }
}

// Returns false if the process has not mapped both.
bool MissingCallers::ask(LocationId call, LocationId callee, Pid process, bool again) {
  const Location& from = recording_.locations[call];
  const Location& to = recording_.locations[callee];
  if (from.module == 0 || to.module == 0) return false;  // of code in no file nothing is known
  ProcessPlaces* places = processes_.places_of(process);
  if (places == nullptr) return false;
  const auto return_address = places->address_of(call);
  const auto code = places->address_of(callee);
  if (!return_address || !code) return false;
  const Address within = to.is_call ? 1 : 0;
  namer_.ask({call, callee, process, *return_address, *code - within, &places_.path(from.module),
              &places_.path(to.module), from.offset, to.offset - within, places->modules(),
              places->mappings(), again});
  return true;
}

void MissingCallers::take(const Namer::TailAnswer& answer) {
  const Namer::TailQuestion& question = answer.question;
  ProcessPlaces* places = processes_.places_of(question.process);
  if (places == nullptr) return;
  if (question.mappings != places->mappings()) {
    if (!question.again) ask(question.call, question.callee, question.process, true);
    return;
  }
  if (!answer.call) return;
  Tail tail{question.call, question.callee, answer.call->kind, {}};
  for (const Address jump : answer.call->jumps) tail.jumps.push_back(places->at(jump, false));
  recording_.tails.push_back(std::move(tail));
}

}  // namespace causalctl::callpath
