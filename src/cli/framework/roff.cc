#include "cli/framework/roff.h"

#include <fmt/format.h>

#include <cctype>

#include "cli/framework/build_info.h"

namespace weft::cli {

std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '^') {
      out += "\\(ha";
    } else {
      if (c == '.' && out.empty()) out += "\\&";
      out += c;
    }
  }
  return out;
}

std::string roff_prose(std::string_view text) {
  std::string out;
  bool code = false;
  while (!text.empty()) {
    const std::size_t tick = text.find('`');
    out += roff(text.substr(0, tick));
    if (tick == std::string_view::npos) break;
    out += code ? "\\fR" : "\\fB";
    code = !code;
    text.remove_prefix(tick + 1);
  }
  return out;
}

std::string roff_title(std::string_view title, int section, std::string_view manual) {
  std::string upper;
  for (const char c : title) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return fmt::format(".TH {} {} \"\" \"weft {}\" \"{}\"\n", roff(upper), section, build_info().version, manual);
}

std::string roff_entries(const std::vector<Choice>& entries) {
  std::string out;
  for (const Choice& entry : entries) out += ".TP\n\\fB" + roff(entry.name) + "\\fR\n" + roff_prose(entry.help) + "\n";
  return out;
}

}  // namespace weft::cli
