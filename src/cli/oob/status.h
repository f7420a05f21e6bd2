// Looking at power states: what `weft oob status` and `weft oob power status` share, and how far a sweep is.
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
// People get rows folded, programs one for each device.
[[nodiscard]] oob::StatusRows oob_rows(OutputFormat format);

// One line on a terminal's standard error that is written over and over; nothing elsewhere. One thread at a time.
class OobProgress {
 public:
  explicit OobProgress(Context& context)
      : context_(context), shown_(context.io().err_is_terminal && !context.quiet()) {}
  OobProgress(const OobProgress&) = delete;
  OobProgress& operator=(const OobProgress&) = delete;
  ~OobProgress() { clear(); }
  void show(const std::string& text);
  void clear();

 private:
  Context& context_;
  bool shown_;
  std::size_t drawn_ = 0;
};

}  // namespace weft::cli
