// Line-based files for programs that read neither JSON nor YAML: sysctl, fstab, chrony, shell. User-supplied words are
// sanitized here so that they cannot end a word or a line.
#pragma once

#include <string>
#include <string_view>

#include "model/cluster.h"

namespace weft::render {

// One word of a configuration line: any character other than letters, digits and ._:/@%+,=-[] becomes '_'.
[[nodiscard]] std::string config_word(std::string_view text);

class LineFile {
 public:
  // Starts with a description of the file, as comments.
  LineFile(const model::Cluster& cluster, std::string_view what, char comment = '#');
  // A shell script, with `set -eu`.
  static LineFile script(const model::Cluster& cluster, std::string_view what);

  LineFile& comment(std::string_view text);
  LineFile& line(std::string_view text);  // verbatim: only for text made of config_word, shell_quote and literals
  LineFile& blank();
  LineFile& setting(std::string_view key, std::string_view value);  // "key = value"

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  LineFile() = default;
  std::string text_;
  char comment_ = '#';
};

}  // namespace weft::render
