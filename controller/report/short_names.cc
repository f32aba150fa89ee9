#include "controller/report/short_names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "controller/base/printable.h"

namespace causalctl::report {
namespace {

using Part = ShortNames::Part;

constexpr std::size_t kCore = 8;    // most code points of a word that must be kept
constexpr std::size_t kRounds = 8;  // in which names are told apart

// A name of which some code points are hidden. An ellipsis stands for each run of those.
class Cut {
 public:
  Cut(std::string_view name, const std::vector<Part>& kept);

  std::size_t columns() const { return columns_; }
  std::string text() const;
  void hide_arguments() { hide_between('(', ')'); }
  void hide_template_arguments() { hide_between('<', '>'); }
  // Hides code points, the first ones first, until the rest fits: what need not be kept of the
  // words that are, then scopes, then all else.
  void cut_to(std::size_t width);

  // What is shown, as the numbers of the code points; of an ellipsis that of the first one that it
  // stands for.
  std::vector<std::size_t> shown() const;
  std::string_view glyph(std::size_t at) const { return glyphs_[at]; }
  std::string_view look(std::size_t at) const { return hidden_[at] ? "…" : glyphs_[at]; }
  std::size_t size() const { return glyphs_.size(); }
  // The word around a code point, or the next one if it stands between words.
  Part word_at(std::size_t at, bool is_first_difference) const;

 private:
  bool is_word(std::size_t at) const;
  bool is(std::size_t at, char c) const { return glyphs_[at].size() == 1 && glyphs_[at][0] == c; }
  void hide(std::size_t at);
  void hide_between(char open, char close);
  std::size_t own_name() const;

  std::vector<std::string_view> glyphs_;
  std::vector<bool> hidden_;
  std::vector<bool> word_;  // is part of a word that is kept
  std::vector<bool> core_;  // must be kept
  std::size_t columns_ = 0;
};

Cut::Cut(std::string_view name, const std::vector<Part>& kept) {
  for (std::size_t begin = 0, end = 0; begin < name.size(); begin = end) {
    for (end = begin + 1; end < name.size() && is_continuation(name[end]);) ++end;
    glyphs_.push_back(name.substr(begin, end - begin));
  }
  hidden_.resize(glyphs_.size());
  word_.resize(glyphs_.size());
  core_.resize(glyphs_.size());
  columns_ = glyphs_.size();
  for (const Part& part : kept) {
    const std::size_t size = glyphs_.size();
    for (std::size_t i = part.begin; i < std::min(part.end, size); ++i) word_[i] = true;
    for (std::size_t i = part.core_begin; i < std::min(part.core_end, size); ++i) core_[i] = true;
  }
}

std::string Cut::text() const {
  std::string text;
  for (std::size_t i = 0; i < glyphs_.size(); ++i) {
    if (!hidden_[i]) {
      text += glyphs_[i];
    } else if (i == 0 || !hidden_[i - 1]) {
      text += "…";
    }
  }
  return text;
}

std::vector<std::size_t> Cut::shown() const {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < glyphs_.size(); ++i) {
    if (!hidden_[i] || i == 0 || !hidden_[i - 1]) shown.push_back(i);
  }
  return shown;
}

void Cut::hide(std::size_t at) {
  if (hidden_[at]) return;
  hidden_[at] = true;
  const bool before = at > 0 && hidden_[at - 1];
  const bool after = at + 1 < hidden_.size() && hidden_[at + 1];
  columns_ = columns_ + 1 - (before ? 1 : 0) - (after ? 1 : 0) - 1;
}

// Hides what stands between the outermost brackets, without words that are kept. A bracket that is
// not closed is the name of an operator.
void Cut::hide_between(char open, char close) {
  std::size_t depth = 0;
  std::vector<std::size_t> inside;
  for (std::size_t i = 0; i < glyphs_.size(); ++i) {
    if (hidden_[i]) continue;
    const bool arrow = is(i, '>') && i > 0 && is(i - 1, '-');
    if (is(i, open)) {
      if (depth++ == 0) continue;
    } else if (is(i, close) && depth > 0 && !arrow && --depth == 0) {
      for (const std::size_t each : inside) hide(each);
      inside.clear();
    }
    if (depth > 0 && !word_[i]) inside.push_back(i);
  }
}

// Returns where the function's own name begins: behind its scopes, and before its arguments.
std::size_t Cut::own_name() const {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < glyphs_.size(); ++i) {
    if (is(i, '(') && depth == 0) break;
    if (is(i, '<')) ++depth;
    if (is(i, '>') && depth > 0) --depth;
    if (depth == 0 && (is(i, ':') || is(i, ' '))) begin = i + 1;
  }
  return begin;
}

void Cut::cut_to(std::size_t width) {
  const auto hide_first = [&](const auto& may_be_hidden) {
    for (std::size_t i = 0; i < glyphs_.size() && columns_ > width; ++i) {
      if (may_be_hidden(i)) hide(i);
    }
  };
  const std::size_t own = own_name();
  const bool any_word = std::find(word_.begin(), word_.end(), true) != word_.end();
  if (any_word) {
    hide_first([&](std::size_t i) { return word_[i] && !core_[i]; });
    hide_first([&](std::size_t i) { return i < own && !word_[i]; });
  }
  hide_first([&](std::size_t i) { return !core_[i]; });
}

bool Cut::is_word(std::size_t at) const {
  const auto first = static_cast<unsigned char>(glyphs_[at].front());
  return std::isalnum(first) != 0 || first >= 0x80 ||
         std::string_view("_$./").find(static_cast<char>(first)) != std::string_view::npos;
}

Part Cut::word_at(std::size_t at, bool is_first_difference) const {
  Part part{at, at, at, at};
  while (part.end < glyphs_.size() && !is_word(part.end)) ++part.end;
  while (part.end < glyphs_.size() && is_word(part.end)) ++part.end;
  while (part.begin > 0 && part.begin < glyphs_.size() && is_word(at) && is_word(part.begin - 1)) {
    --part.begin;
  }
  if (is_first_difference || !is_word(at)) {
    part.core_end = std::min(part.end, at + kCore);
  } else {
    part.core_begin = std::max(part.begin, at + 1 > kCore ? at + 1 - kCore : 0);
    part.core_end = at + 1;
  }
  return part;
}

std::string fitted(std::string_view name, const std::vector<Part>& kept, std::size_t width) {
  Cut cut(name, kept);
  if (cut.columns() > width) cut.hide_arguments();
  if (cut.columns() > width) cut.hide_template_arguments();
  if (cut.columns() > width) cut.cut_to(width);
  return cut.text();
}

// A name, and what is left of it without arguments.
struct Bare {
  const std::string* name;
  Cut cut;
  std::vector<std::size_t> shown;

  explicit Bare(const std::string& full) : name(&full), cut(full, {}) {
    cut.hide_arguments();
    cut.hide_template_arguments();
    shown = cut.shown();
  }
  std::string_view at(std::size_t from_end) const {
    return cut.look(shown[shown.size() - 1 - from_end]);
  }
};

// Returns how many code points are the same at the end.
std::size_t common_end(const Bare& a, const Bare& b) {
  const std::size_t most = std::min(a.shown.size(), b.shown.size());
  std::size_t same = 0;
  while (same < most && a.at(same) == b.at(same)) ++same;
  return same;
}

bool looks_before(const Bare& a, const Bare& b) {
  const std::size_t same = common_end(a, b);
  if (same < a.shown.size() && same < b.shown.size()) return a.at(same) < b.at(same);
  if (a.shown.size() != b.shown.size()) return a.shown.size() < b.shown.size();
  return *a.name < *b.name;
}

}  // namespace

std::string shortened(std::string_view name, std::size_t width) {
  if (width == 0) return "";
  return fitted(name, {}, width);
}

ShortNames::ShortNames(std::vector<std::string> names, std::size_t narrowest) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::map<std::string, std::vector<const std::string*>> by_look;
  for (const std::string& name : names) by_look[fit(name, narrowest)].push_back(&name);
  for (std::size_t round = 0; round <= kRounds; ++round) {
    std::vector<const std::string*> changed;
    for (auto& [look, alike] : by_look) {
      if (alike.size() < 2) continue;
      if (round < kRounds) {
        tell_apart(alike);
      } else {
        for (const std::string* name : alike) kept_[*name] = {{0, name->size(), 0, name->size()}};
      }
      changed.insert(changed.end(), alike.begin(), alike.end());
      alike.clear();
    }
    for (const std::string* name : changed) by_look[fit(*name, narrowest)].push_back(name);
  }
}

// Keeps of each of the names where it differs from those that are most like it.
void ShortNames::tell_apart(const std::vector<const std::string*>& alike) {
  std::vector<Bare> all;
  for (const std::string* name : alike) all.emplace_back(*name);
  std::sort(all.begin(), all.end(), looks_before);
  const auto keep = [&](const Bare& bare, std::size_t at, bool is_first) {
    if (at >= bare.cut.size()) return;
    kept_[*bare.name].push_back(bare.cut.word_at(at, is_first));
  };
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const Bare& a = all[i];
    const Bare& b = all[i + 1];
    const std::size_t same = common_end(a, b);
    if (same < a.shown.size() || same < b.shown.size()) {
      for (const Bare* each : {&a, &b}) {
        if (same >= each->shown.size()) continue;
        keep(*each, each->shown[each->shown.size() - 1 - same], false);
      }
      continue;
    }
    std::size_t first = 0;
    while (first < a.cut.size() && first < b.cut.size() && a.cut.glyph(first) == b.cut.glyph(first))
      ++first;
    keep(a, first, true);
    keep(b, first, true);
  }
}

std::string ShortNames::fit(const std::string& name, std::size_t width) const {
  const auto kept = kept_.find(name);
  return kept == kept_.end() ? shortened(name, width) : fitted(name, kept->second, width);
}

}  // namespace causalctl::report
