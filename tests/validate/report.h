// Output of the validation program: tables, as text or markdown, and missed thresholds.
#pragma once

#include <string>
#include <vector>

#include "base/document.h"

namespace weft::validation {

class Report {
 public:
  explicit Report(bool markdown) : markdown_(markdown) {}

  void print(const TableSection& table) const;
  // Rows behind a table of errors: not in markdown.
  void print_detail(const TableSection& table) const {
    if (!markdown_) print(table);
  }
  void say(const std::string& sentence) const;
  void heading(const std::string& title) const;
  // A threshold: the reached and the required value, in percent.
  void hold(const std::string& what, double reached, double bar);
  [[nodiscard]] const std::vector<std::string>& missed() const { return missed_; }

 private:
  bool markdown_;
  std::vector<std::string> missed_;
};

// "+1.2 %"
[[nodiscard]] Cell percent(double share, bool sign = true);

void counts(Report& report);
void steps(Report& report, const std::string& file);
void own_steps(Report& report);
void activations(Report& report);
void collectives(Report& report);
void checkpoints(Report& report);
void reliability(Report& report);

}  // namespace weft::validation
