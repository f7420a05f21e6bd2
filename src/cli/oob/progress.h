// Progress of a command that asks or changes many BMCs, on one line of a terminal's standard error.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>

#include "base/quantity.h"
#include "cli/framework/context.h"

namespace weft::cli {

// Overwritten in place, from two seconds on; cleared at the end. Where standard error is no terminal there is none, but
// with --verbose a line every ten seconds, and with WEFT_PROGRESS=lines one per change, for a program that reads it.
class OobProgress {
 public:
  explicit OobProgress(Context& context);
  OobProgress(const OobProgress&) = delete;
  OobProgress& operator=(const OobProgress&) = delete;
  ~OobProgress() { clear(); }
  // Safe to call from several threads.
  void show(const std::string& text);
  // Ends it.
  void clear();

 private:
  void draw();  // under the lock
  void tick();

  Context& context_;
  bool shown_;
  bool lines_;
  bool slow_lines_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::size_t drawn_ = 0;
  bool due_ = false;  // it has taken long enough
  bool ended_ = false;
  std::thread ticker_;  // nothing may change for a while: BMCs that do not answer
};

}  // namespace weft::cli
