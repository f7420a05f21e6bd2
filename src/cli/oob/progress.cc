#include "cli/oob/progress.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>

namespace weft::cli {
namespace {

constexpr std::chrono::seconds kFirst{2};
constexpr std::chrono::seconds kLine{10};  // between two lines of --verbose

}  // namespace

OobProgress::OobProgress(Context& context)
    : context_(context),
      shown_(context.io().err_is_terminal && !context.quiet()),
      lines_(!shown_ && context.io().environment("WEFT_PROGRESS") == "lines"),
      slow_lines_(!shown_ && !lines_ && context.verbose()) {
  if (!shown_ && !slow_lines_) return;
  try {
    ticker_ = std::thread([this] { tick(); });
  } catch (const std::system_error&) {
    // Without another thread there is no progress to be seen, and no harm.
  }
}

void OobProgress::show(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (ended_ || text == text_) return;
  text_ = text;
  if (lines_) context_.note(text);
  if (shown_ && due_) draw();
}

void OobProgress::draw() {
  const std::size_t spaces = drawn_ > text_.size() ? drawn_ - text_.size() : 0;
  context_.io().write_err(fmt::format("\r{}{}", text_, std::string(spaces, ' ')));
  drawn_ = text_.size();
}

void OobProgress::tick() {
  std::unique_lock lock(mutex_);
  std::string last;
  for (auto pause = kFirst; !changed_.wait_for(lock, pause, [this] { return ended_; }); pause = kLine) {
    due_ = true;
    if (text_.empty() || text_ == last) continue;
    last = text_;
    if (shown_) {
      draw();
    } else {
      context_.detail(text_);
    }
  }
}

void OobProgress::clear() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  if (ticker_.joinable()) ticker_.join();
  if (drawn_ > 0) context_.io().write_err(fmt::format("\r{}\r", std::string(drawn_, ' ')));
  drawn_ = 0;
}

}  // namespace weft::cli
