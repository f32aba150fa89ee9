#include "controller/continuous/collect/kernel_code.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <span>

#include "controller/base/hexadecimal.h"
#include "controller/base/number.h"
#include "controller/base/procfs.h"
#include "controller/base/take_word.h"

namespace causalctl::continuous {
namespace {

std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

std::string read_build_id(const std::string& module) {
  const std::string path = module.empty()
                               ? "/sys/kernel/notes"
                               : fmt::format("/sys/module/{}/notes/.note.gnu.build-id", module);
  return build_id_in_notes(procfs::read_text(path).value_or(""));
}

}  // namespace

// A line is "NAME SIZE USES USERS STATE ADDRESS".
std::vector<KernelModule> parse_modules(std::string_view text) {
  std::vector<KernelModule> modules;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    KernelModule module;
    module.name = take_word(line);
    module.size = parse_number<std::uint64_t>(take_word(line)).value_or(0);
    for (int i = 0; i < 3; ++i) take_word(line);
    std::string_view address = take_word(line);
    if (address.starts_with("0x")) address.remove_prefix(2);
    module.begin = parse_number<Address>(address, 16).value_or(0);
    if (module.begin != 0 && module.size != 0) modules.push_back(std::move(module));
  }
  return modules;
}

std::string build_id_in_notes(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header{};
    std::memcpy(&header, notes.data(), sizeof header);
    const std::size_t name = sizeof header, data = name + aligned(header.n_namesz);
    const std::size_t end = data + aligned(header.n_descsz);
    if (end > notes.size() || end < data || data < name) return {};
    if (header.n_type == NT_GNU_BUILD_ID &&
        notes.substr(name, header.n_namesz) == std::string_view("GNU\0", 4)) {
      return hexadecimal(std::as_bytes(std::span(notes.substr(data, header.n_descsz))));
    }
    notes.remove_prefix(end);
  }
  return {};
}

KernelCode::Place KernelCode::at(Address address) const {
  Place place{kernel_, address - begin_};
  Address base = begin_;
  bool is_known = end_ == 0 || (address >= begin_ && address < end_);
  const auto after = modules_.upper_bound(address);
  if (after != modules_.begin()) {
    const auto& [begin, module] = *std::prev(after);
    if (address - begin < module.size) {
      place = {module.image, address - begin};
      base = begin;
      is_known = true;
    }
  }
  if (!is_known) return {{ImageKind::anonymous, "[code made by the kernel]", ""}};
  if (const auto function = symbols_.function_at(address)) {
    place.function = function->begin - base;
    place.name = {function->end - function->begin, std::string(function->name)};
  }
  return place;
}

KernelCode read_kernel_code() {
  return {symbols::read_kernel_symbols(),
          parse_modules(procfs::read_text("/proc/modules").value_or("")), read_build_id};
}

}  // namespace causalctl::continuous
