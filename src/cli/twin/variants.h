// Variants of `weft twin run` on a command line: the options of the command, and for each variant those that differ.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/twin/input.h"
#include "twin/compare.h"

namespace weft::cli {

// What a variant changes: words of `weft twin run`, and --cluster FILE.
struct VariantLine {
  std::string name;
  std::vector<std::string> words;
  std::vector<std::string> point;  // of a sweep
  std::set<std::string> without;   // options of the command line that it does not have
};

class VariantReader {
 public:
  explicit VariantReader(Context& context) : context_(context) {}

  // Reads the input of one variant. Returns the exit code after reporting what is wrong, with its name.
  [[nodiscard]] std::optional<Exit> read(const VariantLine& line);
  // Runs what was read, and delivers the result in the form of `write`.
  [[nodiscard]] Exit run(const std::function<Document(const twin::Comparison&, bool all)>& write);

 private:
  [[nodiscard]] std::vector<std::string> command_line(const VariantLine& line, std::string& cluster) const;
  void add_notes(const VariantLine& line, const std::vector<std::string>& notes);
  // Those of a sweep only if they hold for every point.
  [[nodiscard]] std::vector<std::string> all_notes() const;
  Exit refuse(const VariantLine& line, const std::string& problem, const std::vector<std::string>& hints = {});

  Context& context_;
  std::vector<std::unique_ptr<TwinInput>> inputs_;  // what the plans refer to
  std::vector<twin::Variant> variants_;
  std::vector<std::pair<std::string, std::vector<std::string>>> notes_;  // of the plans, and whose
  std::set<std::string> messages_;                                       // of files, each printed once
};

// --seeds, --threads, those of `weft twin run` without --page, and those of the output.
[[nodiscard]] std::vector<Option> variant_options();

}  // namespace weft::cli
