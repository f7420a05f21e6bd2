#include "access/token/token_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "lazy/crypto.h"

namespace weft::access {
namespace {

constexpr std::string_view kPrefix = "weft_";
constexpr std::size_t kNameSize = kPrefix.size() + 2 + kIdCharacters;  // weft_t_ID
constexpr std::size_t kTextSize = kNameSize + 1 + kSecretCharacters;

std::optional<TokenKind> find_kind(char letter) {
  for (const TokenKind kind : {TokenKind::fixed, TokenKind::access, TokenKind::refresh, TokenKind::session}) {
    if (static_cast<char>(kind) == letter) return kind;
  }
  return std::nullopt;
}

bool is_id_character(char c) { return (c >= 'a' && c <= 'z') || is_digit(c); }
bool is_secret_character(char c) { return is_letter_or_digit(c) || c == '-' || c == '_'; }

// 43 characters are 258 bits: the last two are zero in the only spelling.
bool ends_canonically(char last) { return std::string_view("AEIMQUYcgkosw048").find(last) != std::string_view::npos; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::optional<CredentialName> parse_credential_name(std::string_view text) {
  if (text.size() != kNameSize || !text.starts_with(kPrefix) || text[kPrefix.size() + 1] != '_') return std::nullopt;
  const std::optional<TokenKind> kind = find_kind(text[kPrefix.size()]);
  const std::string_view id = text.substr(kPrefix.size() + 2);
  if (!kind || !std::all_of(id.begin(), id.end(), is_id_character)) return std::nullopt;
  return CredentialName{*kind, std::string(id)};
}

std::optional<ParsedToken> parse_token(std::string_view text) {
  if (text.size() != kTextSize || text[kNameSize] != '_') return std::nullopt;
  const std::optional<CredentialName> name = parse_credential_name(text.substr(0, kNameSize));
  const std::string_view secret = text.substr(kNameSize + 1);
  if (!name || !std::all_of(secret.begin(), secret.end(), is_secret_character) || !ends_canonically(secret.back()))
    return std::nullopt;
  return ParsedToken{name->kind, name->id, oob::Secret(std::string(secret))};
}

oob::Secret format_token(const ParsedToken& token) {
  std::string text;
  text.reserve(kTextSize);
  text += credential_name(token.kind, token.id);
  text += '_';
  text += token.secret.reveal();
  return oob::Secret(std::move(text));
}

ParsedToken make_token(TokenKind kind, std::string id, const RandomFill& random) {
  return {kind, std::move(id), oob::Secret(make_secret_text(random))};
}

std::string credential_name(TokenKind kind, std::string_view id) {
  return fmt::format("{}{}_{}", kPrefix, static_cast<char>(kind), id);
}

SecretHash::SecretHash(const oob::Secret& secret) {
  const std::string& text = secret.reveal();
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         bytes_.data());  // NOLINT(*-reinterpret-cast)
}

std::optional<SecretHash> SecretHash::from_hex(std::string_view text) {
  SecretHash hash;
  if (text.size() != 2 * hash.bytes_.size()) return std::nullopt;
  for (std::size_t i = 0; i < hash.bytes_.size(); ++i) {
    const int high = hex_value(text[2 * i]);
    const int low = hex_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash.bytes_[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return hash;
}

std::string SecretHash::hex() const {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes_.size());
  for (const unsigned char byte : bytes_) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

bool SecretHash::matches(const SecretHash& other) const {
  return CRYPTO_memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0;
}

bool is_equal_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace weft::access
