#include "base/base64.h"

#include <algorithm>
#include <cstdint>

namespace weft {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// `alphabet` only differs in its last two characters.
int value_of(char c, std::string_view alphabet) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == alphabet[62]) return 62;
  return c == alphabet[63] ? 63 : -1;
}

std::string encode(std::string_view bytes, std::string_view alphabet, bool padded) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = (bits << 8U) | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      if (i <= group.size()) {
        out += alphabet[(bits >> (18U - 6U * static_cast<unsigned>(i))) & 63U];
      } else if (padded) {
        out += '=';
      }
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  int digits = 0;   // of the group of four
  int padding = 0;  // '=' seen
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const int value = c == '=' ? 0 : value_of(c, kAlphabet);
    if (value < 0 || (padding > 0 && c != '=')) return std::nullopt;
    if (c == '=') ++padding;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    if (++digits < 4) continue;
    if (padding > 2) return std::nullopt;
    for (int i = 0; i < 3 - padding; ++i)
      out += static_cast<char>((bits >> (16U - 8U * static_cast<unsigned>(i))) & 0xFFU);
    digits = 0;
    bits = 0;
  }
  if (digits != 0) return std::nullopt;
  return out;
}

std::string encode_base64(std::string_view bytes) { return encode(bytes, kAlphabet, true); }

std::optional<std::string> decode_base64url(std::string_view text) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3 + 2);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::size_t size = std::min<std::size_t>(text.size() - at, 4);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < size ? value_of(text[at + i], kUrlAlphabet) : 0;
      if (value < 0) return std::nullopt;
      bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    }
    const std::uint32_t unused = size == 4 ? 0 : size == 3 ? 0xFFU : 0xFFFFU;
    if ((bits & unused) != 0) return std::nullopt;
    for (std::size_t i = 0; i + 1 < size; ++i)
      out += static_cast<char>((bits >> (16U - 8U * static_cast<unsigned>(i))) & 0xFFU);
  }
  return out;
}

std::string encode_base64url(std::string_view bytes) { return encode(bytes, kUrlAlphabet, false); }

}  // namespace weft
