// Parses option values as quantities and choices. Keeps the first invalid one with the valid values: a command reads
// all options, then checks once for a problem.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "cli/framework/parser.h"

namespace weft::cli {

class OptionReader {
 public:
  explicit OptionReader(const Arguments& arguments) : arguments_(arguments) {}

  [[nodiscard]] const Arguments& arguments() const { return arguments_; }
  [[nodiscard]] bool ok() const { return problem_.empty(); }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }

  // Empty if the option was not given or is invalid.
  std::optional<std::int64_t> integer(std::string_view option, std::int64_t low, std::int64_t high);
  std::optional<std::uint64_t> seed(std::string_view option);  // any 64 bits
  // "0.2", "1/8", "20%", "1e-4"; within [low, high].
  std::optional<double> real(std::string_view option, double low, double high);
  std::optional<Bytes> bytes(std::string_view option, std::int64_t low, std::int64_t high);
  std::optional<Duration> time(std::string_view option);
  // Above zero, or also "0" where that has a meaning.
  std::optional<BitRate> rate(std::string_view option, bool or_zero = false);

  void bad(std::string_view option, std::string_view why, std::string hint = {});
  void fail(std::string problem, std::string hint = {});

 private:
  const Arguments& arguments_;
  std::string problem_;
  std::string hint_;
};

// "0.2", "1/8", "20%", "1e-4"; empty if it is not a finite number.
[[nodiscard]] std::optional<double> parse_share(std::string_view text);

}  // namespace weft::cli
