// Patterns of a runbook: POSIX extended regular expressions (IEEE Std 1003.1, chapter 9), matched line by line like
// grep -E. No back-references and only bounded repetition, which bounds matching time and memory for any console output
// or file.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weft::oob {

class RunbookPattern {
 public:
  [[nodiscard]] static Result<RunbookPattern> make(std::string_view pattern);
  RunbookPattern(RunbookPattern&&) noexcept;
  RunbookPattern& operator=(RunbookPattern&&) noexcept;
  ~RunbookPattern();

  [[nodiscard]] bool matches(const std::string& line) const;
  // Lines of a text that match. Carriage returns and bytes beyond 4 KiB of a line are ignored.
  [[nodiscard]] std::size_t count(std::string_view text) const;

  // Escapes a text to a pattern that matches exactly this text.
  [[nodiscard]] static std::string quote(std::string_view text);

 private:
  struct Compiled;
  explicit RunbookPattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace weft::oob
