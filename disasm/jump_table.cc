#include "disasm/jump_table.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "disasm/decoder.h"

namespace causalctl::disasm {
namespace {

constexpr std::size_t kMostStepsStraight = 400;  // backwards
constexpr std::size_t kMostStepsToBound = 64;
constexpr std::size_t kPlacesOfByte = 256;  // that an index of one byte can choose
constexpr int kMostCopies = 4;              // of one register to another

bool is_memory(const Operand& operand) { return operand.kind == Operand::Kind::memory; }
bool is_register(const Operand& operand) { return operand.kind == Operand::Kind::reg; }

bool is_load_or_copy(const Instruction& instruction) {
  const std::string_view name = operation(instruction);
  return instruction.operand_count == 2 && is_register(instruction.all_operands[0]) &&
         (name.starts_with("mov") || name == "cdqe");
}

}  // namespace

JumpTables::JumpTables(std::span<const Instruction> code, const Constants& constants)
    : code_(code), constants_(constants) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (jumps(code[i]) && code[i].target) jumps_to_.emplace_back(*code[i].target, i);
    if (operation(code[i]) != "lea") continue;
    const auto label = fixed_address(code[i], code[i].all_operands[1]);
    takes_labels_ |= label && *label != code.front().address && index_at(code, *label);
  }
  std::ranges::sort(jumps_to_);
}

std::map<std::size_t, ComputedJump> JumpTables::read_all() {
  std::map<std::size_t, ComputedJump> all;
  for (std::size_t i = 0; i < code_.size(); ++i) {
    if (jumps(code_[i]) && !code_[i].target) all.emplace(i, ComputedJump{});
  }
  std::vector<std::pair<Address, std::size_t>> more;
  do {
    more.clear();
    for (auto& [index, jump] : all) {
      if (jump.kind != Kind::unknown) continue;
      jump = read(index);
      if (steps_left_ == 0) jump = {};  // not all ways were followed
      for (const Address target : jump.targets) more.emplace_back(target, index);
    }
    jumps_to_.insert(jumps_to_.end(), more.begin(), more.end());
    std::ranges::sort(jumps_to_);
  } while (!more.empty());
  return all;
}

// Returns an instruction that control comes from.
std::optional<std::size_t> JumpTables::before(std::size_t index) const {
  const auto jump = std::ranges::lower_bound(jumps_to_, code_[index].address, {},
                                             [](const auto& each) { return each.first; });
  const bool is_led_to = jump != jumps_to_.end() && jump->first == code_[index].address;
  const bool is_behind = index > 0 && continues(code_[index - 1]);
  // What aligns the target of a jump mostly stands behind a jump itself.
  if (is_behind && !(is_led_to && is_padding(code_[index - 1]))) return index - 1;
  return is_led_to ? std::optional(jump->second) : std::nullopt;
}

// Returns all instructions that control may come from.
std::vector<std::size_t> JumpTables::all_before(std::size_t index) const {
  std::vector<std::size_t> found;
  if (index > 0 && continues(code_[index - 1])) found.push_back(index - 1);
  auto jump = std::ranges::lower_bound(jumps_to_, code_[index].address, {},
                                       [](const auto& each) { return each.first; });
  for (; jump != jumps_to_.end() && jump->first == code_[index].address; ++jump) {
    found.push_back(jump->second);
  }
  return found;
}

// Returns, for each way to the instruction, the last one on it that sets the register; in order.
std::vector<std::size_t> JumpTables::definitions(Register wanted, std::size_t before_index) const {
  std::vector<std::size_t> found;
  if (wanted >= kRip) return found;
  std::vector<bool> is_seen(code_.size());
  std::vector<std::size_t> open = all_before(before_index);
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (is_seen[at] || steps_left_ == 0) continue;
    is_seen[at] = true;
    --steps_left_;
    if (writes_register(code_[at], wanted)) {
      found.push_back(at);
      continue;
    }
    const auto more = all_before(at);
    open.insert(open.end(), more.begin(), more.end());
  }
  std::ranges::sort(found);
  return found;
}

// Returns the only one, or the one on the way that comes straight here.
std::optional<std::size_t> JumpTables::definition(Register wanted, std::size_t before_index) const {
  const auto all = definitions(wanted, before_index);
  if (all.size() < 2) return all.empty() ? std::nullopt : std::optional(all.front());
  auto at = before(before_index);
  for (std::size_t step = 0; at && step < kMostStepsStraight; ++step) {
    if (writes_register(code_[*at], wanted)) return at;
    at = before(*at);
  }
  return std::nullopt;
}

std::set<Address> JumpTables::constants_of(std::size_t definition, int copies_left) const {
  const Instruction& set = code_[definition];
  if (set.operand_count != 2) return {};
  const Operand& from = set.all_operands[1];
  std::optional<Address> own;
  if (operation(set) == "lea") own = fixed_address(set, from);
  if (!operation(set).starts_with("mov")) return own ? std::set{*own} : std::set<Address>{};
  if (from.kind == Operand::Kind::constant) return {static_cast<Address>(from.value)};
  if (!is_register(from) || copies_left == 0) return {};
  std::set<Address> all;
  for (const std::size_t each : definitions(from.reg, definition)) {
    all.merge(constants_of(each, copies_left - 1));
  }
  return all;
}

// Returns the constants that a register may hold. What is not one is another way here, which does
// not come as far as the jump, or a constant that was kept in the frame: if all are, those that the
// register holds anywhere.
std::set<Address> JumpTables::constants(Register wanted, std::size_t before_index) const {
  std::set<Address> all;
  for (const std::size_t each : definitions(wanted, before_index)) {
    all.merge(constants_of(each, kMostCopies));
  }
  if (!all.empty()) return all;
  for (std::size_t i = 0; i < code_.size(); ++i) {
    if (operation(code_[i]) != "lea" || !writes_register(code_[i], wanted)) continue;
    all.merge(constants_of(i, 0));
  }
  return all;
}

std::vector<JumpTables::Table> JumpTables::tables_of(const Operand& memory,
                                                     std::size_t index) const {
  std::vector<Table> tables;
  if (!is_memory(memory) || memory.index == kNone || memory.has_segment) return tables;
  if (memory.scale != 4 && memory.scale != 8) return tables;
  const auto bases = memory.base == kNone ? std::set<Address>{0} : constants(memory.base, index);
  for (const Address base : bases) {
    const Address begin = base + static_cast<Address>(memory.value);
    tables.push_back({begin, memory.scale == 8, base, index, memory.index});
  }
  return tables;
}

JumpTables::Form JumpTables::form_of_sum(Register first, Register second, std::size_t index) const {
  for (const auto& [difference, base] : {std::pair{first, second}, std::pair{second, first}}) {
    const auto at = definition(difference, index);
    if (!at || !is_load_or_copy(code_[*at])) continue;
    const Operand& memory = code_[*at].all_operands[1];
    if (!is_memory(memory) || memory.index == kNone || memory.scale != 4) continue;
    Form form{Kind::table, {}};
    for (Table table : tables_of(memory, *at)) {
      const auto added = base == memory.base ? std::set{table.base} : constants(base, index);
      for (const Address each : added) {
        table.base = each;
        form.tables.push_back(table);
      }
    }
    return form;
  }
  return {};
}

// Returns where a jump to `from`, a register or memory, leads as it is in front of the instruction.
JumpTables::Form JumpTables::form_of(const Operand& from, std::size_t at, int copies_left) const {
  if (is_memory(from)) {
    // A label that is kept for later, or a function.
    if (is_in_frame(from) && takes_labels_) return {};
    // A pointer to a function, or to a member function, whose table has no scale.
    if (from.index == kNone || from.scale == 1) return {Kind::tail_call};
    return from.scale == 8 ? Form{Kind::table, tables_of(from, at)} : Form{};
  }
  if (!is_register(from) || copies_left == 0) return {};
  const auto all = definitions(from.reg, at);
  if (all.empty()) return {Kind::tail_call};  // an argument
  Form form = form_of_definition(from.reg, all.front(), copies_left - 1);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Form other = form_of_definition(from.reg, all[i], copies_left - 1);
    if (other.kind != form.kind) return {};
    form.tables.insert(form.tables.end(), other.tables.begin(), other.tables.end());
    form.labels.insert(form.labels.end(), other.labels.begin(), other.labels.end());
  }
  return form;
}

// The same for a jump to what the instruction at `at` puts into the register.
JumpTables::Form JumpTables::form_of_definition(Register wanted, std::size_t at,
                                                int copies_left) const {
  const Instruction& set = code_[at];
  const std::string_view name = operation(set);
  // What has been called tells where to go on. glibc keeps pointers to functions in disguise.
  if (set.flow == Flow::call || name == "xor" || name == "ror") return {Kind::tail_call};
  if (set.operand_count != 2) return {};
  const Operand& from = set.all_operands[1];
  if (name == "add" && is_register(from)) return form_of_sum(wanted, from.reg, at);
  if (name == "lea") {
    if (from.index != kNone && from.scale == 1) return form_of_sum(from.base, from.index, at);
    const auto place = fixed_address(set, from);
    if (!place) return {};
    return is_within(code_, *place) ? Form{Kind::table, {}, {*place}} : Form{Kind::tail_call};
  }
  return is_load_or_copy(set) ? form_of(from, at, copies_left) : Form{};
}

// Returns the number of places that the comparison at `at` leaves, if it is one of the index: in
// `index` or, before it is loaded, in `memory`.
std::optional<std::size_t> JumpTables::compared(std::size_t at, Register index,
                                                const Operand* memory) const {
  const Instruction& instruction = code_[at];
  if (operation(instruction) != "cmp" || instruction.operand_count != 2) return std::nullopt;
  const Operand& left = instruction.all_operands[0];
  const Operand& right = instruction.all_operands[1];
  const bool is_same_memory = memory != nullptr && is_memory(left) && left.base == memory->base &&
                              left.index == memory->index && left.value == memory->value;
  const bool is_index = is_register(left) ? left.reg == index : is_same_memory;
  if (!is_index || right.kind != Operand::Kind::constant || right.value < 0) return std::nullopt;
  const auto most = static_cast<std::size_t>(right.value);
  // The branch goes away above it, or comes here up to it.
  for (std::size_t i = at + 1; i < code_.size() && i <= at + 4; ++i) {
    if (code_[i].flow != Flow::branch) continue;
    const std::string_view name = operation(code_[i]);
    if (name == "ja" || name == "jbe" || name == "jg" || name == "jle") return most + 1;
    if (name == "jae" || name == "jb" || name == "jge" || name == "jl") return most;
    return std::nullopt;
  }
  return std::nullopt;
}

JumpTables::Bound JumpTables::bound_of(const Table& table) const {
  Register index = table.index;
  const Operand* memory = nullptr;
  auto at = before(table.entry);
  Bound bound;
  for (std::size_t step = 0; at && step < kMostStepsToBound; ++step) {
    const Instruction& instruction = code_[*at];
    if (const auto count = compared(*at, index, memory)) {
      return {std::min(*count, kMostPlaces), *count <= kMostPlaces};
    }
    if (memory == nullptr && writes_register(instruction, index)) {
      const Operand& last = instruction.all_operands[1];
      const bool is_mask = operation(instruction) == "and" && instruction.operand_count == 2 &&
                           last.kind == Operand::Kind::constant && last.value >= 0;
      if (is_mask) bound.most = std::min(bound.most, static_cast<std::size_t>(last.value) + 1);
      if (!is_load_or_copy(instruction) || last.kind == Operand::Kind::constant) break;
      if (last.size == 1) bound.most = std::min(bound.most, kPlacesOfByte);
      if (is_memory(last)) memory = &last;
      index = is_register(last) ? last.reg : kNone;
    }
    at = before(*at);
  }
  return bound;
}

std::optional<Address> JumpTables::place(const Table& table, std::size_t number) const {
  if (table.has_pointers) return constants_.pointer(table.begin + number * sizeof(Address));
  const auto difference = constants_.number(table.begin + number * sizeof(std::int32_t));
  if (!difference) return std::nullopt;
  return table.base + static_cast<Address>(std::int64_t{*difference});
}

// Returns where the words of the table lead, in their order; as many as the index may choose, or
// those of the function. Returns none if one of them leads to no instruction.
std::vector<Address> JumpTables::targets_of(const Table& table) const {
  const Bound bound = bound_of(table);
  std::vector<Address> targets;
  for (std::size_t i = 0; i < bound.most && steps_left_ > 0; ++i, --steps_left_) {
    const auto target = place(table, i);
    const bool is_own = target && is_within(code_, *target);
    const bool is_place = is_own && index_at(code_, *target);
    // Other code is a part of the function that runs rarely and lies elsewhere, or a function. What
    // looks like a difference to it behind the table's end may be one of another table.
    const bool may_be_elsewhere = bound.is_exact || table.has_pointers;
    const bool is_elsewhere = target && !is_own && may_be_elsewhere && constants_.is_code(*target);
    if (!is_place && !is_elsewhere && !bound.is_exact) break;
    if (!is_place && !is_elsewhere) return {};
    targets.push_back(*target);
  }
  return targets;
}

ComputedJump JumpTables::read(std::size_t index) const {
  if (code_[index].operand_count == 0) return {};
  const Form form = form_of(code_[index].all_operands[0], index, kMostCopies);
  if (form.kind != Kind::table) return {form.kind, {}};
  ComputedJump jump;
  for (const Address label : form.labels) {
    if (!index_at(code_, label)) return {};
    jump.kind = Kind::table;
    jump.targets.push_back(label);
  }
  for (const Table& table : form.tables) {
    const auto targets = targets_of(table);
    jump.targets.insert(jump.targets.end(), targets.begin(), targets.end());
    // Pointers to functions.
    const bool leaves = table.has_pointers && std::ranges::none_of(targets, [&](Address each) {
                          return is_within(code_, each);
                        });
    if (!targets.empty()) jump.kind = leaves ? Kind::tail_call : Kind::table;
  }
  if (jump.kind != Kind::table) jump.targets.clear();
  std::ranges::sort(jump.targets);
  jump.targets.erase(std::unique(jump.targets.begin(), jump.targets.end()), jump.targets.end());
  return jump;
}

}  // namespace causalctl::disasm
