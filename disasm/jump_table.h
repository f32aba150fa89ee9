// Finds where a computed jump leads, if it goes by a table of its function's places. Pure.
//
// Compilers make three kinds (gcc 12 and clang 14 to 19, all levels):
//
//   a table of differences     lea B, [rip + TABLE]; movsxd R, [B + I*4]; add R, B; jmp R
//   a table of pointers        jmp [TABLE + I*8], or lea B, [rip + TABLE] and jmp [B + I*8]
//   differences to a label     the first, with a base that is no table (computed goto)
//
// What the registers hold is followed backwards on all ways (reaching definitions). The number of
// places comes from the comparison of the index in front. Without one, the table ends with the
// first word that is no place of the function, or no pointer to code, at the latest where a mask or
// the size of the index ends it.
// Where the register may hold several constants, all that are tables of places are taken: an edge
// too many does less harm than a missing one. A jump that no indexed memory takes part in is a call
// at the function's end (§6.1.1 of DCPI looks back in the same way).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "controller/base/types.h"
#include "disasm/instruction.h"

namespace causalctl::disasm {

// What does not change while a program runs: nullopt for an address that has no such word.
struct Constants {
  std::function<std::optional<std::int32_t>(Address)> number;
  std::function<std::optional<Address>(Address)> pointer;  // as the loader leaves it
  std::function<bool(Address)> is_code;
};

struct ComputedJump {
  enum class Kind { table, tail_call, unknown };
  Kind kind = Kind::unknown;
  std::vector<Address> targets = {};  // of a table, each once, in ascending order
};

// Reads the tables of one function.
class JumpTables {
 public:
  static constexpr std::size_t kMostPlaces = 4096;      // of one table
  static constexpr std::size_t kMostSteps = 5'000'000;  // for all jumps of a function

  // `code` are the function's instructions, in the order of their addresses. Both must stay.
  JumpTables(std::span<const Instruction> code, const Constants& constants);

  // Returns all computed jumps, by their index. Code that one table leads to may have the next, so
  // what is unknown is tried again once there are more.
  std::map<std::size_t, ComputedJump> read_all();

 private:
  using Kind = ComputedJump::Kind;

  struct Table {
    Address begin = 0;
    bool has_pointers = false;
    Address base = 0;       // is added to differences
    std::size_t entry = 0;  // the index of the instruction that reads it
    Register index = kNone;
  };
  // How many places a table has.
  struct Bound {
    std::size_t most = kMostPlaces;
    bool is_exact = false;  // it has them all: the index is compared with it
  };
  // The kind of a jump and, of a table, which it may be.
  struct Form {
    Kind kind = Kind::unknown;
    std::vector<Table> tables = {};
    std::vector<Address> labels = {};  // places that it may lead to besides
  };

  ComputedJump read(std::size_t index) const;
  std::optional<std::size_t> before(std::size_t index) const;
  std::vector<std::size_t> all_before(std::size_t index) const;
  std::vector<std::size_t> definitions(Register wanted, std::size_t before_index) const;
  std::optional<std::size_t> definition(Register wanted, std::size_t before_index) const;
  std::set<Address> constants(Register wanted, std::size_t before_index) const;
  std::set<Address> constants_of(std::size_t definition, int copies_left) const;
  std::vector<Table> tables_of(const Operand& memory, std::size_t index) const;
  Form form_of(const Operand& from, std::size_t at, int copies_left) const;
  Form form_of_definition(Register wanted, std::size_t at, int copies_left) const;
  Form form_of_sum(Register first, Register second, std::size_t index) const;
  Bound bound_of(const Table& table) const;
  std::optional<std::size_t> compared(std::size_t at, Register index, const Operand* memory) const;
  std::optional<Address> place(const Table& table, std::size_t number) const;
  std::vector<Address> targets_of(const Table& table) const;

  std::span<const Instruction> code_;
  const Constants& constants_;
  bool takes_labels_ = false;  // addresses of its own places
  mutable std::size_t steps_left_ = kMostSteps;
  std::vector<std::pair<Address, std::size_t>> jumps_to_;  // target, index of the jump; sorted
};

}  // namespace causalctl::disasm
