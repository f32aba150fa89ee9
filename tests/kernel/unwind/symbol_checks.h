// Checks what must hold of a symbols_target with line information, by Catch2's CHECK.
#pragma once

#include <string>
#include <vector>

#include "tests/kernel/unwind/target_program.h"
#include "unwind/names/symbolizer.h"

namespace causalctl::unwind {

void check_lines(Symbolizer& symbolizer, const TargetProgram& target);
void check_inline_chain(Symbolizer& symbolizer, const TargetProgram& target);
void check_find_line(Symbolizer& symbolizer, const TargetProgram& target);
void check_find_function(Symbolizer& symbolizer, const TargetProgram& target);

std::vector<Address> addresses(const std::vector<Place>& places);
std::vector<Address> addresses_of_marks(const TargetProgram& target, unsigned long id);

}  // namespace causalctl::unwind
