#include "render/core/line_file.h"

#include <fmt/format.h>

#include "render/core/target.h"

namespace weft::render {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._:/@%+,=-").find(c) != std::string_view::npos;
}

}  // namespace

std::string config_word(std::string_view text) {
  std::string out(text.empty() ? "_" : text);
  for (char& c : out) {
    if (!is_plain(c) && c != '[' && c != ']') c = '_';
  }
  return out;
}

LineFile::LineFile(const model::Cluster& cluster, std::string_view what, char comment_sign) : comment_(comment_sign) {
  comment(heading(cluster, what));
}

LineFile LineFile::script(const model::Cluster& cluster, std::string_view what) {
  LineFile file;
  file.text_ = "#!/bin/bash\n";
  file.comment(heading(cluster, what));
  file.line("set -eu").blank();
  return file;
}

LineFile& LineFile::comment(std::string_view text) {
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    text_ += comment_;
    if (end > start) text_ += ' ';
    text_.append(text.substr(start, end - start));
    text_ += '\n';
    start = end + 1;
  }
  return *this;
}

LineFile& LineFile::line(std::string_view text) {
  text_.append(text);
  text_ += '\n';
  return *this;
}

LineFile& LineFile::blank() { return line(""); }

LineFile& LineFile::setting(std::string_view key, std::string_view value) {
  return line(fmt::format("{} = {}", config_word(key), value));
}

}  // namespace weft::render
