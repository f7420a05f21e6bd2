#include "oob/credentials/secret.h"

#include "lazy/crypto.h"

namespace weft::oob {

Secret& Secret::operator=(const Secret& other) {
  if (this == &other) return *this;
  wipe();
  text_ = other.text_;
  return *this;
}

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this == &other) return *this;
  wipe();
  text_ = std::move(other.text_);
  other.wipe();
  return *this;
}

void Secret::wipe() {
  OPENSSL_cleanse(text_.data(), text_.size());
  text_.clear();
}

}  // namespace weft::oob
