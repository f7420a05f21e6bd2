#include "html/page.h"

#include "base/asset.h"
#include "base/base64.h"
#include "base/hash.h"
#include "html/svg.h"

namespace weft::html {
namespace {

std::string script_text(const PageFrame& frame) { return "\n" + std::string(frame.script); }

std::string bytes_of_hex(std::string_view hex) {
  const auto nibble = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>((nibble(hex[i]) << 4U) | nibble(hex[i + 1]));
  }
  return bytes;
}

std::string script_source(const PageFrame& frame) {
  if (frame.script.empty()) return {};
  return "script-src 'sha256-" + encode_base64(bytes_of_hex(sha256(script_text(frame)))) + "'; ";
}

}  // namespace

std::string page_head(const PageFrame& frame) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ";
  out += script_source(frame);
  out +=
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>";
  out += picture::xml_escape(frame.title);
  // Text has a contrast of at least 4.5 to its background in both themes (WCAG 2.1, 1.4.3).
  out += "</title>\n<style>\n";
  out += asset<"base/page.css">();
  out += frame.style;
  out += "</style>\n</head>\n<body>\n";
  return out;
}

std::string page_foot(const PageFrame& frame) {
  std::string out;
  if (!frame.script.empty()) out += "<script>" + script_text(frame) + "</script>\n";
  return out + "</body>\n</html>\n";
}

std::string json_in_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace weft::html
