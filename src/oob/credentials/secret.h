// A password. It cannot be printed or formatted by accident, and its bytes are wiped on destruction.
#pragma once

#include <string>
#include <utility>

namespace weft::oob {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : text_(std::move(other.text_)) { other.wipe(); }
  Secret& operator=(const Secret& other);
  Secret& operator=(Secret&& other) noexcept;
  ~Secret() { wipe(); }

  // Only for the call that sends it; never for a message.
  [[nodiscard]] const std::string& reveal() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  void wipe();
  std::string text_;
};

}  // namespace weft::oob
