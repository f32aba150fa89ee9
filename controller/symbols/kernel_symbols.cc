#include "controller/symbols/kernel_symbols.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <tuple>

#include "controller/base/take_word.h"

namespace causalctl::symbols {
namespace {

constexpr Address kFirstOfKernel = 1ULL << 63;  // Documentation/arch/x86/x86_64/mm.rst of Linux
constexpr std::string_view kTypesOfCode = "tTwW";
// Beyond the last function there may be code that is not in the table, such as BPF programs that
// were loaded later.
constexpr Address kLongestLast = 4096;

// Of several names of one function the one with the least rank is told: an entry of 64-bit system
// calls, then global ones before those of one file and those that another may replace.
std::uint32_t rank_of(std::string_view name, char type) {
  if (name.starts_with("__x64_sys_")) return 0;
  if (name.starts_with("__ia32_")) return 4;
  return type == 'T' ? 1 : type == 't' ? 2 : 3;
}

}  // namespace

KernelSymbols KernelSymbols::parse(std::string_view text) {
  KernelSymbols symbols;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    symbols.add_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::stable_sort(symbols.functions_.begin(), symbols.functions_.end(),
                   [](const Function& a, const Function& b) {
                     return std::tie(a.start, a.rank) < std::tie(b.start, b.rank);
                   });
  const auto last = std::unique(symbols.functions_.begin(), symbols.functions_.end(),
                                [](const auto& a, const auto& b) { return a.start == b.start; });
  symbols.functions_.erase(last, symbols.functions_.end());
  return symbols;
}

void KernelSymbols::add_line(std::string_view line) {
  const std::string_view address = take_word(line);
  const std::string_view type = take_word(line);
  const std::string_view name = take_word(line);
  Function function;
  const auto [end, error] =
      std::from_chars(address.data(), address.data() + address.size(), function.start, 16);
  if (error != std::errc() || end != address.data() + address.size()) return;
  if (function.start < kFirstOfKernel || name.empty()) return;
  if (type.size() != 1 || kTypesOfCode.find(type.front()) == std::string_view::npos) return;
  if (name == "_stext") text_begin_ = function.start;
  if (name == "_etext") text_end_ = function.start;
  function.name = static_cast<std::uint32_t>(names_.size());
  function.size = static_cast<std::uint32_t>(name.size());
  function.rank = rank_of(name, type.front());
  names_ += name;
  functions_.push_back(function);
}

std::string_view KernelSymbols::find(Address address) const {
  const auto function = function_at(address);
  return function ? function->name : std::string_view();
}

std::optional<KernelSymbols::At> KernelSymbols::function_at(Address address) const {
  const auto next = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](Address each, const Function& function) { return each < function.start; });
  if (next == functions_.begin()) return std::nullopt;
  const Function& function = *std::prev(next);
  const Address end = next == functions_.end() ? function.start + kLongestLast : next->start;
  if (address >= end) return std::nullopt;
  return At{function.start, end, name_of(function)};
}

std::string_view KernelSymbols::name_of(const Function& function) const {
  return std::string_view(names_).substr(function.name, function.size);
}

bool is_kernel_entry(std::string_view name) {
  constexpr std::string_view kCalls[] = {"do_syscall_64", "x64_sys_call", "do_int80_emulation",
                                         "ret_from_fork_asm"};
  return name.starts_with("entry_") || name.starts_with("asm_") ||
         std::find(std::begin(kCalls), std::end(kCalls), name) != std::end(kCalls);
}

KernelSymbols read_kernel_symbols() {
  std::ifstream file("/proc/kallsyms");
  std::ostringstream text;
  text << file.rdbuf();
  return KernelSymbols::parse(std::move(text).str());
}

}  // namespace causalctl::symbols
