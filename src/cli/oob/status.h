// Reads power states: shared by `weft oob status` and `weft oob power status`, with the progress of a sweep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cli/framework/context.h"
#include "oob/power/status_report.h"

namespace weft::cli {

// CLUSTER and HOSTS are the arguments from `first` on.
[[nodiscard]] Exit run_oob_status(Context& context, std::size_t first);
[[nodiscard]] Option oob_identity_option();
// Folded rows for people, one row per device for programs.
[[nodiscard]] oob::StatusRows oob_rows(OutputFormat format);

// One progress line on a terminal's standard error, overwritten in place; no output elsewhere, but with
// WEFT_PROGRESS=lines one line per change, for a program that reads it. Not thread-safe.
class OobProgress {
 public:
  explicit OobProgress(Context& context)
      : context_(context),
        shown_(context.io().err_is_terminal && !context.quiet()),
        lines_(!shown_ && context.io().environment("WEFT_PROGRESS") == "lines") {}
  OobProgress(const OobProgress&) = delete;
  OobProgress& operator=(const OobProgress&) = delete;
  ~OobProgress() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  Context& context_;
  bool shown_;
  bool lines_;
  std::string last_;
  std::size_t drawn_ = 0;
};

}  // namespace weft::cli
