// Puts a terminal into raw mode during its lifetime: keys are passed through as pressed. The former mode is restored on
// every exit, including signals and crashes (except SIGKILL: use `stty sane`).
#pragma once

namespace weft::cli {

class RawTerminal {
 public:
  // One instance per process. ok() is false if `descriptor` is not a terminal.
  explicit RawTerminal(int descriptor);
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal();
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool ok_ = false;
};

}  // namespace weft::cli
