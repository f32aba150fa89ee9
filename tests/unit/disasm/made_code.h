// Code made of instructions of one byte, by their places.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "disasm/graph.h"

namespace causalctl::disasm {

inline constexpr Address kFirst = 0x100;

// Puts one instruction behind the others with each call. Places count from 0.
class MadeCode {
 public:
  MadeCode& add() { return put(Flow::next, std::nullopt, "add"); }
  MadeCode& nop() { return put(Flow::next, std::nullopt, "nop"); }
  MadeCode& call() { return put(Flow::call, std::nullopt, "call"); }
  MadeCode& branch(std::size_t to) { return put(Flow::branch, kFirst + to, "jne"); }
  MadeCode& jump(std::size_t to) { return put(Flow::jump, kFirst + to, "jmp"); }
  MadeCode& computed() { return put(Flow::jump, std::nullopt, "jmp"); }
  MadeCode& ret() { return put(Flow::end, std::nullopt, "ret"); }

  Graph graph(const std::vector<Address>& entered = {}) const {
    const Constants none{[](Address) { return std::nullopt; }, [](Address) { return std::nullopt; },
                         [](Address) { return false; }};
    return graph_of(code_, entered, none);
  }

 private:
  MadeCode& put(Flow flow, std::optional<Address> target, const std::string& mnemonic) {
    Instruction& each = code_.emplace_back();
    each.address = kFirst + code_.size() - 1;
    each.size = 1;
    each.flow = flow;
    each.target = target;
    each.mnemonic = mnemonic;
    return *this;
  }

  std::vector<Instruction> code_;
};

}  // namespace causalctl::disasm
