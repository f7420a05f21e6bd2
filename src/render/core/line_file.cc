#include "render/core/line_file.h"

#include <fmt/format.h>

#include "render/core/target.h"

namespace weft::render {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._:/@%+,=-").find(c) != std::string_view::npos;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

}  // namespace

std::string config_word(std::string_view text) {
  std::string out(text.empty() ? "_" : text);
  for (char& c : out) {
    if (!is_plain(c) && c != '[' && c != ']') c = '_';
  }
  return out;
}

std::string shell_word(std::string_view text) {
  std::string plain(text);
  bool quote = text.empty();
  for (char& c : plain) {
    if (is_control(c)) c = '_';
    quote = quote || !is_plain(c);
  }
  if (!quote) return plain;
  std::string out = "'";
  for (const char c : plain) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
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

LineFile& LineFile::command(std::initializer_list<std::string_view> words) {
  return command(std::vector<std::string>(words.begin(), words.end()));
}

LineFile& LineFile::command(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text_ += ' ';
    text_ += shell_word(words[i]);
  }
  text_ += '\n';
  return *this;
}

}  // namespace weft::render
