#include "unwind/names/function_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "controller/base/brackets.h"
#include "unwind/names/demangle.h"

namespace causalctl::unwind {
namespace {

using Component = NameParts::Component;

constexpr int kDeepestType = 16;  // of Rust: "<<A as B>::C as D>::f"

// Namespaces that nobody writes. The first two are the same one, as demanglers and as gcc name it.
constexpr std::array<std::string_view, 2> kAnonymous = {"(anonymous namespace)::", "{anonymous}::"};
constexpr std::array<std::string_view, 4> kInline = {
    "::__cxx11::", "::__1::", "::_V2::", "::__ndk1::"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAliases = {{
    {"std::basic_string<char,std::char_traits<char>,std::allocator<char>>", "std::string"},
    {"std::basic_string_view<char,std::char_traits<char>>", "std::string_view"},
    {"std::basic_ostream<char,std::char_traits<char>>", "std::ostream"},
    {"std::basic_istream<char,std::char_traits<char>>", "std::istream"},
}};
// The mangling of C++ abbreviates these names, and that of D has others for its constructors.
constexpr std::array<std::string_view, 11> kAbbreviated = {
    "std",           "allocator", "basic_string",   "string",   "basic_istream", "istream",
    "basic_ostream", "ostream",   "basic_iostream", "iostream", "this"};

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size()) {
    text.replace(at, what.size(), with);
  }
}

std::string lower(std::string text) {
  for (char& each : text) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return text;
}

// Returns where the parameters begin, with their '('; npos if there are none. In "(anonymous
// namespace)::f" and "main.(*T).f" a name follows the parentheses, and "operator()" is a name.
std::size_t parameters_at(std::string_view name) {
  std::size_t open = name.npos;
  std::size_t behind = name.npos;  // what follows their ')'
  find_outside_brackets(name, 0, [&](std::size_t i) {
    if (open != name.npos && behind == name.npos) behind = i;
    if (name[i] == '(' && i > 0 && name[i - 1] != '!') {  // D: "f!(int)"
      open = i;
      behind = name.npos;
    }
    return false;
  });
  if (open == name.npos) return open;
  if (behind == name.npos) return name.ends_with(')') ? open : name.npos;
  return name[behind] == ' ' || name[behind] == '[' ? open : name.npos;
}

// "const char*" and "char const*" are one type: moves the const behind what it belongs to.
std::string with_const_behind(std::string text) {
  constexpr std::string_view kConst = "const ";
  for (std::size_t at = 0; (at = text.find(kConst, at)) != text.npos;) {
    const auto before = at == 0 ? text.npos : text.find_last_not_of(' ', at - 1);
    const bool leads =
        before != text.npos && std::string_view("(<,").find(text[before]) != std::string_view::npos;
    if (!leads) {
      at += kConst.size();
      continue;
    }
    std::string moved;
    for (; text.compare(at, kConst.size(), kConst) == 0; text.erase(at, kConst.size())) {
      moved += " const";
    }
    int depth = 0;
    std::size_t end = at;
    for (; end < text.size(); ++end) {
      if (depth == 0 && std::string_view("*&,)>").find(text[end]) != std::string_view::npos) break;
      if (text[end] == '<' || text[end] == '(') ++depth;
      if (text[end] == '>' || text[end] == ')') --depth;
    }
    text.insert(end, moved);
    ++at;  // in "(const const)" they would stand here again, behind nothing
  }
  return text;
}

// Leaves out blanks that separate no words, and what nobody writes.
std::string tidy(const std::string& untidy) {
  const std::string text = with_const_behind(untidy);
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 5, "[abi:") == 0) {
      const auto end = text.find(']', i);
      if (end == text.npos) break;
      i = end;
      continue;
    }
    if (text[i] == ' ') {
      const auto next = text.find_first_not_of(' ', i);
      if (kept.empty() || next == text.npos) continue;
      const bool words = (is_word(kept.back()) || kept.back() == '>') && is_word(text[next]);
      const bool angles = kept.back() == '<' && text[next] == '<';  // "operator< <int>"
      if (!words && !angles) continue;
      i = next - 1;
      kept += ' ';
      continue;
    }
    kept += text[i];
  }
  for (const auto name : kAnonymous) replace_all(kept, name, "");
  for (const auto name : kInline) replace_all(kept, name, "::");
  for (const auto& [whole, alias] : kAliases) replace_all(kept, whole, alias);
  return kept;
}

// Returns the position behind the bracket that closes the one at `open`.
std::size_t behind_bracket(std::string_view text, std::size_t open) {
  const auto close = find_outside_brackets(text, open, [&](std::size_t i) { return i > open + 1; });
  return std::min(close, text.size());
}

Component component_of(std::string_view text) {
  if (text.starts_with("(*") && text.ends_with(')')) {  // Go: "(*List[int])"
    Component inner = component_of(text.substr(2, text.size() - 3));
    return {"(*" + inner.name + ")", inner.arguments};
  }
  std::size_t at = 0;
  if (const std::size_t length = operator_length(text, 0); length > 0) {
    const bool blank = length + 1 < text.size() && text[length] == ' ';
    if (blank && text[length + 1] != '<') return {std::string(text), ""};  // "operator new"
    at = text.find('<', length);
    if (blank) return {std::string(text.substr(0, length)), std::string(text.substr(at))};
  } else {
    if (text.starts_with('{') || text.starts_with('(')) return {std::string(text), ""};
    at = text.find_first_of("<[(!");
    const bool in_operator =
        at != text.npos && text[at] == '!' && (at == 0 || !is_word(text[at - 1]));
    if (in_operator) at = text.npos;  // OCaml's
  }
  if (at == text.npos || at == 0) return {std::string(text), ""};
  Component component = {std::string(text.substr(0, at)), ""};
  if (text[at] == '!' && at + 1 < text.size() && text[at + 1] != '(') {  // D: "f!int" is "f!(int)"
    component.arguments = "!(" + std::string(text.substr(at + 1)) + ")";
  } else if (text[at] != '(') {
    const std::size_t open = text[at] == '!' ? at + 1 : at;
    const std::size_t end = open < text.size() ? behind_bracket(text, open) : text.size();
    component.arguments = text.substr(at, end - at);
  }
  return component;
}

void add_components(std::string_view name, std::vector<Component>& components, int depth);

void add_component(std::string_view text, std::vector<Component>& components, int depth) {
  if (text.empty()) return;
  if (text.front() == '<' && !components.empty()) {  // Rust: "gen::<u32>"
    components.back().arguments = text;
    return;
  }
  if (text.front() == '<' && text.back() == '>' && depth < kDeepestType) {
    // Rust: in "<w::Sq as w::Shape>::area" people know the function as Sq::area.
    std::string_view type = text.substr(1, text.size() - 2);
    const auto as = find_outside_brackets(
        type, 0, [&](std::size_t i) { return type.substr(i).starts_with(" as "); });
    type = type.substr(0, as);
    while (type.starts_with('&')) type.remove_prefix(1);
    if (type.starts_with("mut ")) type.remove_prefix(4);
    add_components(type, components, depth + 1);
    if (!components.empty()) return;
  }
  Component component = component_of(text);
  // D: "twice!(int).twice"
  const bool again = !components.empty() && components.back().arguments.starts_with('!') &&
                     components.back().name == component.name;
  if (!again) components.push_back(std::move(component));
}

// Components are separated by "::" or, where there is none, as in D, Go and OCaml, by '.'.
void add_components(std::string_view name, std::vector<Component>& components, int depth) {
  const auto colons_at = [&](std::size_t i) { return name.substr(i, 2) == "::"; };
  const bool colons = find_outside_brackets(name, 0, colons_at) != name.npos;
  std::size_t begin = 0;
  find_outside_brackets(name, 0, [&](std::size_t i) {
    if (i < begin || (colons ? !colons_at(i) : name[i] != '.')) return false;
    add_component(name.substr(begin, i - begin), components, depth);
    begin = i + (colons ? 2 : 1);
    return false;
  });
  add_component(name.substr(std::min(begin, name.size())), components, depth);
}

NameParts parts_of(std::string_view name) {
  if (name.starts_with("::")) name.remove_prefix(2);
  NameParts parts;
  if (const auto at = parameters_at(name); at != name.npos) {
    parts.parameters = tidy(std::string(name.substr(at, name.find(" [clone", at) - at)));
    if (parts.parameters.starts_with("(void)")) parts.parameters.erase(1, 4);
  }
  add_components(tidy(without_arguments(name)), parts.components, 0);
  return parts;
}

// Compares as people write types: with the last arguments of a template, the defaults, left out.
bool same_but_for_defaults(std::string_view wanted, std::string_view text) {
  std::size_t j = 0;
  for (const char each : wanted) {
    if (each == '>' && j < text.size() && text[j] == ',') {
      for (int depth = 0; j < text.size() && (depth > 0 || text[j] != '>'); ++j) {
        if (text[j] == '<' || text[j] == '(') ++depth;
        if (text[j] == '>' || text[j] == ')') --depth;
      }
    }
    if (j >= text.size() || text[j] != each) return false;
    ++j;
  }
  return j == text.size();
}

// Returns "[int]" for "[go.shape.int_0]", as Go's compiler calls one body for several types.
std::string without_shape(std::string text) {
  constexpr std::string_view kShape = "go.shape.";
  for (std::size_t at = 0; (at = text.find(kShape, at)) != text.npos;) {
    text.erase(at, kShape.size());
    at = std::min(text.find_first_of(",]", at), text.size());
    auto number = at;
    while (number > 0 && std::isdigit(static_cast<unsigned char>(text[number - 1])) != 0) --number;
    if (number == at || number == 0 || text[number - 1] != '_') continue;
    text.erase(number - 1, at - number + 1);
    at = number - 1;
  }
  return text;
}

bool fit_names(const std::string& wanted, const std::string& name) {
  if (name == "(*" + wanted + ")") return true;                                    // Go's receivers
  if (name.ends_with("/" + wanted) || name.ends_with("__" + wanted)) return true;  // Go, OCaml
  return wanted.starts_with("{closure") && name == "{{closure}}";
}

Fit compare(const Component& wanted, const Component& component) {
  Fit fit = Fit::same;
  if (wanted.name != component.name) {
    if (!fit_names(wanted.name, component.name)) return Fit::none;
    fit = Fit::shortened;
  }
  if (wanted.arguments == component.arguments || wanted.arguments == "[...]") return fit;
  if (wanted.arguments.empty()) return Fit::shortened;
  if (wanted.arguments == without_shape(component.arguments)) return fit;
  return same_but_for_defaults(wanted.arguments, component.arguments) ? Fit::shortened : Fit::none;
}

// A C function's parameters are not known.
bool fit_parameters(const std::string& wanted, const std::string& parameters) {
  if (wanted.empty() || wanted == parameters) return true;
  if (parameters.empty()) return wanted == "()";
  if (same_but_for_defaults(wanted, parameters)) return true;
  const auto end = parameters.rfind(')');
  return wanted.ends_with(')') && end != parameters.npos &&
         same_but_for_defaults(wanted, std::string_view(parameters).substr(0, end + 1));
}

Fit fit_parts(const NameParts& wanted, const NameParts& candidate) {
  const auto& these = wanted.components;
  const auto& those = candidate.components;
  if (these.empty() || these.size() > those.size()) return Fit::none;
  if (!fit_parameters(wanted.parameters, candidate.parameters)) return Fit::none;
  if (compare(these.back(), those.back()) == Fit::none) return Fit::none;
  Fit fit = these.size() == those.size() ? Fit::same : Fit::shortened;
  std::size_t left = these.size();  // components of the wanted name that have found no place yet
  for (std::size_t i = those.size(); left > 0 && i-- > 0;) {
    const Fit one = compare(these[left - 1], those[i]);
    fit = std::max(fit, one == Fit::none ? Fit::abridged : one);
    if (one != Fit::none) --left;
  }
  return left == 0 ? fit : Fit::none;
}

std::string longest_word(std::string_view text) {
  std::string_view longest;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end - i > longest.size()) longest = text.substr(i, end - i);
    i = end;
  }
  return std::string(longest);
}

std::string common_word(const NameParts& parts) {
  for (auto each = parts.components.rbegin(); each != parts.components.rend(); ++each) {
    const std::string& name = each->name;
    if (operator_length(name, 0) > 0 || name.starts_with('{') || name.starts_with('<')) continue;
    std::string word = longest_word(name);
    const bool abbreviated =
        std::find(kAbbreviated.begin(), kAbbreviated.end(), word) != kAbbreviated.end();
    if (!word.empty() && !abbreviated) return word;
  }
  return "";
}

}  // namespace

std::string without_arguments(std::string_view name) {
  name = name.substr(0, parameters_at(name));
  // The names of templates begin with their return type: "void f<int>".
  if (!name.ends_with('>')) return std::string(name);
  std::size_t blank = name.npos;
  find_outside_brackets(name, 0, [&](std::size_t i) {
    if (operator_length(name, i) > 0) return true;
    if (name[i] == ' ') blank = i;
    return false;
  });
  return std::string(name.substr(blank == name.npos ? 0 : blank + 1));
}

std::string simple_name(std::string_view demangled) {
  const NameParts parts = parts_of(demangled);
  return parts.components.empty() ? std::string(demangled) : parts.components.back().name;
}

std::string without_stamp(const std::string& name) {
  const auto end = name.find_last_not_of("0123456789");
  const bool stamped = end != name.npos && end + 1 < name.size() && end > 0 && name[end] == '_';
  return stamped ? name.substr(0, end) : name;
}

WrittenName::WrittenName(const std::string& text)
    : text_(text),
      parts_(parts_of(text)),
      in_lower_case_(parts_of(lower(text))),
      word_(common_word(parts_)),
      word_in_lower_case_(lower(word_)) {}

bool WrittenName::may_fit(std::string_view symbol) const {
  if (word_.empty() || symbol == text_ || symbol.find(word_) != symbol.npos) return true;
  return is_fortran(symbol) && symbol.find(word_in_lower_case_) != symbol.npos;
}

Fit WrittenName::fit(const std::string& symbol, const std::string& display) const {
  if (text_ == symbol || text_ == display || text_ == without_arguments(display)) return Fit::exact;
  const NameParts candidate = parts_of(display);
  const Fit fit = fit_parts(is_fortran(symbol) ? in_lower_case_ : parts_, candidate);
  if (fit != Fit::none || !is_caml(symbol) || candidate.components.empty()) return fit;
  NameParts unstamped = candidate;
  unstamped.components.back().name = without_stamp(unstamped.components.back().name);
  return std::max(Fit::shortened, fit_parts(parts_, unstamped));
}

}  // namespace causalctl::unwind
