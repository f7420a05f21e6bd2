// Findings about an input file, collected so that one run reports all of them. Rendering quotes the source line with a
// caret, in the layout of modern compilers. Findings about *a cluster* (rather than a file) belong to check/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace weft {

enum class Severity { error, warning, note };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string message;  // one line, no period at the end, starts in lower case
  SourceLocation place;
  std::uint16_t length = 1;  // bytes to underline
  std::string hint;          // shown as "help: ..."; empty for none
};

class Diagnostics {
 public:
  // Stops recording errors beyond this limit (and notes that when rendered): a hostile file must not flood the
  // terminal.
  static constexpr std::size_t kMaxKept = 200;

  void error(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1);
  void warning(const SourceLocation& place, std::string message, std::string hint = {}, std::size_t length = 1);
  void add(Diagnostic diagnostic);

  [[nodiscard]] bool has_errors() const { return errors_ > 0; }
  [[nodiscard]] std::size_t error_count() const { return errors_; }
  [[nodiscard]] std::size_t warning_count() const { return warnings_; }
  // In reading order: by file, line, column; equal locations keep the order of discovery.
  [[nodiscard]] std::vector<Diagnostic> sorted() const;

 private:
  std::vector<Diagnostic> kept_;
  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

// cluster.yaml:7:12: error: unknown key `contt`
//    7 |     contt: 32
//      |     ^~~~~
//      = help: did you mean `count`?
[[nodiscard]] std::string format_diagnostic(const Diagnostic& diagnostic, const Sources& sources, bool color);
// The same with a code after the severity ("error[QO001]") and further lines ("= note: ...") before the help.
[[nodiscard]] std::string format_diagnostic(const Diagnostic& diagnostic, std::string_view code,
                                            const std::vector<std::string>& notes, const Sources& sources, bool color);
// Every diagnostic, then a line such as "2 errors, 1 warning".
[[nodiscard]] std::string render_all(const Diagnostics& diagnostics, const Sources& sources, bool color);

// The candidate nearest to `word` (Damerau-Levenshtein distance at most a third of its length, rounded, and at least
// 1; letter case does not count), or "".
[[nodiscard]] std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);
// The nearest candidate, else those that `word` is the beginning of (`h100`: `h100-sxm`, `h100-pcie`), unless they are
// too many to choose from.
[[nodiscard]] std::vector<std::string_view> near_words(std::string_view word,
                                                       const std::vector<std::string_view>& candidates);
// "did you mean `count`?" or "did you mean `h100-sxm` or `h100-pcie`?"; "" without near_words().
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace weft
