#include "controller/callpath/places/tail_calls.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "unwind/modules/target_memory.h"
#include "unwind/tables/call_site.h"
#include "unwind/tables/function_bounds.h"

namespace causalctl::callpath {
namespace {

// Sections of the procedure linkage table. Sources: System V ABI for x86-64, "Procedure Linkage
// Table"; GNU ld -z ibtplt.
constexpr std::array<std::string_view, 4> kLinkageTables = {".plt", ".plt.sec", ".plt.got",
                                                            ".iplt"};

bool in_linkage_table(const unwind::ElfImage& elf, Address address) {
  return std::any_of(kLinkageTables.begin(), kLinkageTables.end(), [&](std::string_view name) {
    const auto section = elf.section(name);
    return section && address - section->address < section->bytes.size();
  });
}

}  // namespace

TailCalls::TailCalls(Pid target, NameOf name_of)
    : name_of_(std::move(name_of)),
      images_(target),
      search_({[this](Address address) { return function_at(address); },
               [this](Address address) { return images_.constant_bytes(address); },
               [this](Address address) { return resolve(address); },
               [this](Address address) { return name(address); }}) {}

void TailCalls::refresh() {
  images_.load();
  tables_.clear();
  resolved_.clear();
  search_.forget();
}

bool TailCalls::is_at(Address address, const std::string& path, Address link_address) {
  unwind::Image* image = images_.at(address);
  return image != nullptr && image->place().path == path &&
         address - images_.bias(*image) == link_address;
}

std::optional<CodeFunction> TailCalls::function_at(Address address) {
  unwind::Image* image = images_.at(address);
  if (image == nullptr) return std::nullopt;
  unwind::ImageFile& file = images_.file(*image);
  const auto [table, is_new] = tables_.try_emplace(&file);
  if (is_new) table->second = file.elf().unwind_table();
  if (!table->second) return std::nullopt;
  const Address bias = images_.bias(*image);
  const auto found = unwind::described_function(file.elf(), *table->second, address - bias);
  if (!found || found->low >= found->high) return std::nullopt;
  // Where a function is entered, its return address is on top of the stack.
  const auto rule = file.frames().rule_at(found->low);
  const bool enters = !rule || rule->kind != unwind::FrameRule::Kind::simple ||
                      (rule->cfa == unwind::FrameRule::Cfa::sp && rule->cfa_offset == 8);
  return CodeFunction{found->low + bias, found->high + bias, enters};
}

Address TailCalls::resolve(Address address) {
  if (const auto known = resolved_.find(address); known != resolved_.end()) return known->second;
  const auto jump = unwind::jump_at(images_.constant_bytes(address), address);
  if (!jump || !jump->indirect) return address;
  unwind::Image* image = images_.at(address);
  if (!in_linkage_table(images_.file(*image).elf(), address - images_.bias(*image))) return address;
  Address value = 0;
  const bool is_read = unwind::read_target(images_.target(), jump->address,
                                           std::as_writable_bytes(std::span(&value, 1)));
  unwind::Image* there = is_read ? images_.at(value) : nullptr;
  // What was not called yet leads back into a linkage table.
  if (there == nullptr ||
      in_linkage_table(images_.file(*there).elf(), value - images_.bias(*there))) {
    return 0;
  }
  return resolved_[address] = value;
}

std::string TailCalls::name(Address address) {
  unwind::Image* image = images_.at(address);
  if (image == nullptr) return {};
  return name_of_(image->place().path, address - images_.bias(*image));
}

}  // namespace causalctl::callpath
