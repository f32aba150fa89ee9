#include "controller/report/page/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "controller/base/error.h"
#include "controller/base/printable.h"
#include "controller/report/page/assets.h"

namespace causalctl::report::page {
namespace {

const Asset& asset(std::string_view name) {
  const auto& all = all_assets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Asset& each) { return each.name == name; });
  INVARIANT(found != all.end());
  return *found;
}

std::vector<const Asset*> scripts_of(const Page& page) {
  std::vector<const Asset*> scripts = {&asset("page/page.js"), &asset("page/table.js")};
  for (const std::string_view name : page.scripts) scripts.push_back(&asset(name));
  return scripts;
}

std::vector<const Asset*> styles_of(const Page& page) {
  std::vector<const Asset*> styles = {&asset("page/page.css")};
  for (const std::string_view name : page.styles) styles.push_back(&asset(name));
  return styles;
}

std::string hashes(const std::vector<const Asset*>& assets) {
  std::string text;
  for (const Asset* each : assets) text += fmt::format(" 'sha256-{}'", each->sha256);
  return text;
}

std::string text_of(std::string_view text) { return escaped(printable(text)); }

std::string list(std::string_view css_class, const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  std::string html = fmt::format("<ul class=\"{}\">\n", css_class);
  for (const std::string& text : texts) html += fmt::format("<li>{}</li>\n", text_of(text));
  return html + "</ul>\n";
}

std::string header(const Page& page) {
  std::string html = fmt::format("<header>\n<h1>{}</h1>\n<dl>\n", text_of(page.heading));
  for (const auto& [name, value] : page.facts) {
    html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", text_of(name), text_of(value));
  }
  return html + "</dl>\n" + list("warnings", page.warnings) + list("notes", page.notes) +
         "</header>\n";
}

// JSON has a `<` in strings only.
std::string inert(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string render(const Page& page) {
  const std::vector<const Asset*> scripts = scripts_of(page), styles = styles_of(page);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; "
      "form-action 'none'; style-src{}; script-src{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n",
      hashes(styles), hashes(scripts), text_of(page.heading));
  for (const Asset* style : styles) html += fmt::format("<style>{}</style>\n", style->text);
  html += "</head>\n<body>\n" + header(page) + "<main>\n";
  html += asset(page.body).text;
  html +=
      "</main>\n<footer>\n<p>Made by causalctl. This file is complete: it loads "
      "nothing.</p>\n</footer>\n";
  html += "<script type=\"application/json\" id=\"data\">" + inert(page.data) + "</script>\n";
  for (const Asset* script : scripts) {
    html += fmt::format("<script>{}</script>\n", script->text);
  }
  return html + "</body>\n</html>\n";
}

}  // namespace causalctl::report::page
