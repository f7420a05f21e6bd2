// Parser of metrics in text form: the Prometheus exposition format 0.0.4 and OpenMetrics 1.0. Yields one sample at a
// time as views into the text, without allocation. A damaged line is reported with its number, and parsing goes on with
// the next line; so a hostile exporter costs no more than its bytes.
//
// More lenient than OpenMetrics: blank lines, runs of spaces and a trailing comma in labels are allowed; types, units
// and the order of families are not checked, and duplicate labels are kept. Stricter than Prometheus: a last line
// without a line feed is damaged, because its number may have been cut off. Names in quotes (`{"a.b"}`, Prometheus 3)
// are not supported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sched/machine/moment.h"

namespace weft::health {

// They differ in the unit of timestamps (milliseconds, seconds), in exemplars and in the end (`# EOF`).
enum class ExpositionFormat : std::uint8_t { prometheus, openmetrics };

// By the Content-Type of the answer.
[[nodiscard]] ExpositionFormat exposition_format(std::string_view content_type);
// For a text without one: OpenMetrics, if its last line is `# EOF`.
[[nodiscard]] ExpositionFormat guess_exposition_format(std::string_view text);

struct MetricSample {
  std::string_view name;
  std::string_view labels;  // `{...}` as written, escapes included; empty: none
  double value = 0;
  std::optional<sched::Moment> at;  // saturates at the range of Moment
};

struct MetricLabel {
  std::string_view name;
  std::string_view raw;  // with escapes
  bool escaped = false;  // raw has a backslash
  // The value; `buffer` holds it if there was something to unescape. \\, \" and \n are escapes; any other backslash
  // stands for itself.
  [[nodiscard]] std::string_view value(std::string& buffer) const;
};

// Splits the labels of a sample. Any other text ends early.
class LabelReader {
 public:
  explicit LabelReader(std::string_view labels);
  [[nodiscard]] bool next(MetricLabel& label);

 private:
  std::string_view rest_;
};

// Appends `value` with its escapes, without quotes.
void append_escaped_label(std::string& out, std::string_view value);

class ExpositionReader {
 public:
  enum class Item : std::uint8_t {
    sample,
    damaged,  // see problem() and line()
    other,    // of next_if(): the next sample is not the expected one
    end
  };

  // `text` must outlive the reader and what it returns.
  explicit ExpositionReader(std::string_view text, ExpositionFormat format = ExpositionFormat::prometheus);

  [[nodiscard]] Item next();
  // The same if the next sample begins with exactly this name and these labels, which were parsed before: only its
  // value is parsed. Consumes nothing if it begins otherwise.
  [[nodiscard]] Item next_if(std::string_view name, std::string_view labels);
  // Skips the next sample, without looking at the rest of its line, if it has this name.
  [[nodiscard]] bool skip_if(std::string_view name);

  [[nodiscard]] const MetricSample& sample() const { return sample_; }
  [[nodiscard]] const char* problem() const { return problem_; }
  [[nodiscard]] std::size_t line() const { return item_line_; }  // of the last item, from 1
  [[nodiscard]] std::size_t damaged() const { return damaged_; }
  // At the end: whether the text was whole. OpenMetrics: `# EOF` was read; Prometheus: the last line has its line feed.
  [[nodiscard]] bool is_complete() const { return complete_; }

 private:
  [[nodiscard]] bool find_sample();
  void skip_comment();
  void skip_line(const char* from);
  [[nodiscard]] Item end_of_text();
  [[nodiscard]] Item fail(const char* problem, const char* from);
  [[nodiscard]] Item parse_rest(const char* from);
  [[nodiscard]] const char* parse_exemplar(const char* from);
  [[nodiscard]] const char* parse_labels(const char* from);
  [[nodiscard]] const char* parse_timestamp(const char* from, std::optional<sched::Moment>& at);

  const char* cursor_;  // the first byte of a line, or of its first token
  const char* end_;     // behind the last line feed: every scan stops at one
  std::string_view unfinished_;
  ExpositionFormat format_;
  bool whole_ = true;
  bool complete_ = false;
  bool ended_ = false;  // `# EOF`
  std::size_t line_ = 0;
  std::size_t item_line_ = 0;
  std::size_t damaged_ = 0;
  const char* problem_ = "";
  MetricSample sample_;
};

}  // namespace weft::health
