// Files of lines for programs that read no JSON or YAML: sysctl, fstab, chrony, shell. A word that comes from a user's
// file passes through here, so that nothing it holds can end its word or its line.
#pragma once

#include <string>
#include <string_view>

#include "model/cluster.h"

namespace weft::render {

// One word of a configuration line: what is not a letter, a digit or one of ._:/@%+,=-[] becomes '_'.
[[nodiscard]] std::string config_word(std::string_view text);

class LineFile {
 public:
  // Begins with what the file is, as comments.
  LineFile(const model::Cluster& cluster, std::string_view what, char comment = '#');
  // A shell script, with `set -eu`.
  static LineFile script(const model::Cluster& cluster, std::string_view what);

  LineFile& comment(std::string_view text);
  LineFile& line(std::string_view text);  // as it is: only for text made of config_word, shell_quote and literals
  LineFile& blank();
  LineFile& setting(std::string_view key, std::string_view value);  // "key = value"

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  LineFile() = default;
  std::string text_;
  char comment_ = '#';
};

}  // namespace weft::render
