// The frame of an HTML page that a command writes: one file, no network access. Its Content-Security-Policy forbids
// every load and every script but its own, which it allows by hash. What is inside the page is the caller's, escaped
// with picture::xml_escape().
#pragma once

#include <string>
#include <string_view>

namespace weft::html {

struct PageFrame {
  std::string_view title;
  std::string_view style;   // rules beside those that all pages share (assets/base/page.css)
  std::string_view script;  // JavaScript; may be empty
};

// From the doctype to the start of the body.
[[nodiscard]] std::string page_head(const PageFrame& frame);
// The script and the end of the page.
[[nodiscard]] std::string page_foot(const PageFrame& frame);
// JSON that can be the text of a <script> element: '<' occurs only inside strings, where an escape is allowed.
[[nodiscard]] std::string json_in_script(std::string_view json);

}  // namespace weft::html
