// A terminal in raw mode for as long as this lives: keys go through as they are pressed. What it was before comes back
// on every way out, signals and our own crashes too (SIGKILL aside: `stty sane` helps then).
#pragma once

namespace weft::cli {

class RawTerminal {
 public:
  // One at a time in a process. ok() is false when `descriptor` is no terminal.
  explicit RawTerminal(int descriptor);
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
  ~RawTerminal();
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  bool ok_ = false;
};

}  // namespace weft::cli
