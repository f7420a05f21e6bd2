#include "access/jose/token.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/jose/strict_json.h"
#include "base/base64.h"
#include "base/text.h"
#include "base/utf8.h"
#include "lazy/crypto.h"

namespace weft::access {
namespace {

constexpr std::size_t kMaxAudiences = 100;
constexpr std::size_t kMaxSubjectBytes = 255;  // OpenID Connect Core, section 2

Error wrong(std::string message) { return Error{ErrorCode::invalid_input, std::move(message), {}}; }
Error refuse(std::string message) { return Error{ErrorCode::refused, std::move(message), {}}; }

// A token with one of these would say itself how it is to be verified, or is not a signed token of the compact form.
constexpr std::string_view kRefusedHeaders[] = {"crit", "jku", "jwk", "x5u", "x5c", "b64", "zip", "enc"};

Result<std::string> normalize_type(const YamlNode& header) {
  const Result<std::optional<std::string>> type = find_text(header, "typ");
  if (!type.ok()) return type.error();
  std::string text = to_lower(type->value_or(""));
  constexpr std::string_view kPrefix = "application/";
  if (text.starts_with(kPrefix)) text.erase(0, kPrefix.size());
  return text;
}

Status read_header(std::string_view json, UnverifiedToken& token) {
  const Result<YamlNode> header = parse_strict_object(json, "the token's header", kMaxTokenBytes);
  if (!header.ok()) return header.error();
  for (const std::string_view name : kRefusedHeaders) {
    if (header->find(name) != nullptr) return refuse(fmt::format("the token's header has `{}`", name));
  }
  const Result<std::string> name = require_text(*header, "alg");
  if (!name.ok()) return name.error();
  const std::optional<Algorithm> algorithm = find_algorithm(*name);
  if (!algorithm) return refuse(fmt::format("the algorithm {} is never accepted", in_backticks(*name)));
  token.algorithm = *algorithm;
  Result<std::optional<std::string>> id = find_text(*header, "kid");
  if (!id.ok()) return id.error();
  token.key_id = std::move(id).value();
  if (token.key_id && (token.key_id->empty() || token.key_id->size() > kMaxKeyIdBytes)) {
    return wrong(fmt::format("`kid` has {} bytes; permitted are 1 to {}", token.key_id->size(), kMaxKeyIdBytes));
  }
  Result<std::string> type = normalize_type(*header);
  if (!type.ok()) return type.error();
  token.type = std::move(type).value();
  return {};
}

// Logout tokens, DPoP proofs and others are signed by the same keys (RFC 8725, section 3.11).
Status check_type(const UnverifiedToken& token, JwtKind kind) {
  if (token.type.empty() || token.type == "jwt") return {};
  if (kind == JwtKind::access_token && token.type == "at+jwt") return {};
  return refuse(fmt::format("a token of type {}", in_backticks(token.type)));
}

Status check_issuer(const YamlNode& claims, const TokenRules& rules) {
  const Result<std::string> issuer = require_text(claims, "iss");
  if (!issuer.ok()) return issuer.error();
  if (*issuer != rules.issuer || rules.issuer.empty()) {
    return refuse(fmt::format("the issuer is {}, not {}", in_backticks(*issuer), in_backticks(rules.issuer)));
  }
  return {};
}

Status check_audience(const YamlNode& claims, const TokenRules& rules) {
  const Result<std::vector<std::string>> audiences = find_texts(claims, "aud", kMaxAudiences);
  if (!audiences.ok()) return audiences.error();
  if (audiences->empty()) return wrong("`aud` is missing");
  if (rules.audience.empty() || std::find(audiences->begin(), audiences->end(), rules.audience) == audiences->end()) {
    return refuse(
        fmt::format("the audience is {}, not {}", in_backticks(join(*audiences, ", ")), in_backticks(rules.audience)));
  }
  const Result<std::optional<std::string>> party = find_text(claims, "azp");
  if (!party.ok()) return party.error();
  const bool several = audiences->size() > 1;
  if (!party->has_value()) {
    if (several) return refuse("the token has several audiences and no `azp`");
    return {};
  }
  if (!several && rules.kind != JwtKind::id_token) return {};
  if (std::find(rules.authorized_parties.begin(), rules.authorized_parties.end(), **party) ==
      rules.authorized_parties.end()) {
    return refuse(fmt::format("the token was issued to {}", in_backticks(**party)));
  }
  return {};
}

Result<std::int64_t> check_times(const YamlNode& claims, const TokenRules& rules, std::int64_t now_s,
                                 std::optional<std::int64_t>& issued_s) {
  const Result<std::optional<std::int64_t>> expires = find_date(claims, "exp");
  if (!expires.ok()) return expires.error();
  if (!expires->has_value()) return wrong("`exp` is missing");
  const Result<std::optional<std::int64_t>> begins = find_date(claims, "nbf");
  if (!begins.ok()) return begins.error();
  const Result<std::optional<std::int64_t>> issued = find_date(claims, "iat");
  if (!issued.ok()) return issued.error();
  const std::int64_t skew = rules.clock_skew_s;
  if (now_s >= **expires + skew) return refuse(fmt::format("the token expired {} s ago", now_s - **expires));
  if (begins->has_value() && now_s + skew < **begins) {
    return refuse(fmt::format("the token is not valid for another {} s", **begins - now_s));
  }
  if (!issued->has_value() && rules.kind == JwtKind::id_token) return wrong("`iat` is missing");
  if (issued->has_value() && now_s + skew < **issued) {
    return refuse(fmt::format("the token was issued {} s in the future; check the clocks", **issued - now_s));
  }
  issued_s = *issued;
  return **expires;
}

Status check_nonce(const YamlNode& claims, const TokenRules& rules) {
  if (!rules.nonce) return {};
  const Result<std::string> nonce = require_text(claims, "nonce");
  if (!nonce.ok()) return nonce.error();
  if (rules.nonce->empty() || nonce->size() != rules.nonce->size() ||
      CRYPTO_memcmp(nonce->data(), rules.nonce->data(), nonce->size()) != 0) {
    return refuse("the nonce is not that of this login");
  }
  return {};
}

// A name that can be shown, logged and compared: no controls, no direction marks, no spaces around it.
Status check_name(std::string_view name, std::string_view claim) {
  if (name.empty()) return wrong(fmt::format("{} is empty", in_backticks(claim)));
  if (name.size() > kMaxUserNameBytes) {
    return refuse(fmt::format("{} has {} bytes, more than {}", in_backticks(claim), name.size(), kMaxUserNameBytes));
  }
  for (std::size_t i = 0; i < name.size();) {
    const CodePoint point = decode_utf8(name, i);
    if (!point.valid || !is_printable(point.value)) {
      return refuse(
          fmt::format("{} has a character that is not permitted: {}", in_backticks(claim), in_backticks(name)));
    }
    i += point.size;
  }
  if (trim(name).size() != name.size()) return refuse(fmt::format("{} has spaces around it", in_backticks(claim)));
  return {};
}

Result<std::string> read_user(const YamlNode& claims, const TokenRules& rules) {
  Result<std::string> user = require_text(claims, rules.user_claim);
  if (!user.ok()) return user.error();
  if (const Status name = check_name(*user, rules.user_claim); !name.ok()) return name.error();
  // A user who may set an unverified address could set that of another user.
  if (rules.user_claim == "email") {
    const Result<std::optional<bool>> verified = find_truth(claims, "email_verified");
    if (!verified.ok()) return verified.error();
    if (!verified->value_or(true)) return refuse("the provider has not verified the user's `email`");
  }
  return user;
}

Result<std::vector<std::string>> read_groups(const YamlNode& claims, const TokenRules& rules) {
  if (rules.groups_claim.empty()) return std::vector<std::string>();
  Result<std::vector<std::string>> groups = find_texts(claims, rules.groups_claim, kMaxGroups);
  if (!groups.ok()) return groups.error();
  for (const std::string& group : *groups) {
    if (const Status name = check_name(group, rules.groups_claim); !name.ok()) return name.error();
  }
  return groups;
}

Result<Claims> read_claims(const YamlNode& document, const TokenRules& rules, std::int64_t now_s) {
  if (const Status issuer = check_issuer(document, rules); !issuer.ok()) return issuer.error();
  if (const Status audience = check_audience(document, rules); !audience.ok()) return audience.error();
  Claims claims;
  const Result<std::int64_t> expires = check_times(document, rules, now_s, claims.issued_s);
  if (!expires.ok()) return expires.error();
  if (const Status nonce = check_nonce(document, rules); !nonce.ok()) return nonce.error();
  // RFC 7800: such a token is only for a client that proves to have a key, and weft asks for no proof.
  if (document.find("cnf") != nullptr) return refuse("the token is bound to a key of its holder (`cnf`)");
  Result<std::string> subject = require_text(document, "sub");
  if (!subject.ok()) return subject.error();
  if (subject->size() > kMaxSubjectBytes) return refuse(fmt::format("`sub` has {} bytes", subject->size()));
  Result<std::string> user = read_user(document, rules);
  if (!user.ok()) return user.error();
  Result<std::vector<std::string>> groups = read_groups(document, rules);
  if (!groups.ok()) return groups.error();
  const Result<std::optional<std::string>> id = find_text(document, "jti");
  if (!id.ok()) return id.error();
  const Result<std::optional<std::string>> session = find_text(document, "sid");
  if (!session.ok()) return session.error();
  claims.issuer = rules.issuer;
  claims.subject = std::move(subject).value();
  claims.user = std::move(user).value();
  claims.groups = std::move(groups).value();
  claims.expires_s = *expires;
  claims.token_id = id->value_or("");
  claims.session_id = session->value_or("");
  return claims;
}

}  // namespace

Result<UnverifiedToken> parse_jwt(std::string_view text) {
  if (text.size() > kMaxTokenBytes) {
    return wrong(fmt::format("the token has {} bytes, more than {}", text.size(), kMaxTokenBytes));
  }
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.size() != 3) return wrong(fmt::format("the token has {} parts, not 3", parts.size()));
  const std::optional<std::string> header = decode_base64url(parts[0]);
  const std::optional<std::string> payload = decode_base64url(parts[1]);
  std::optional<std::string> signature = decode_base64url(parts[2]);
  if (!header || !payload || !signature) return wrong("a part of the token is not base64url");
  UnverifiedToken token;
  if (const Status status = read_header(*header, token); !status.ok()) return status.error();
  if (signature->empty()) return refuse("the token is not signed");
  Result<YamlNode> claims = parse_strict_object(*payload, "the token's claims", kMaxTokenBytes);
  if (!claims.ok()) return claims.error();
  token.claims = std::move(claims).value();
  token.signature = std::move(*signature);
  token.signed_part = text.substr(0, parts[0].size() + 1 + parts[1].size());
  return token;
}

Result<Claims> verify_token(std::string_view text, const KeySet& keys, const TokenRules& rules, std::int64_t now_s) {
  const Result<UnverifiedToken> token = parse_jwt(text);
  if (!token.ok()) return token.error();
  if (std::find(rules.algorithms.begin(), rules.algorithms.end(), token->algorithm) == rules.algorithms.end()) {
    return refuse(fmt::format("the algorithm {} is not one of those configured", to_text(token->algorithm)));
  }
  if (const Status type = check_type(*token, rules.kind); !type.ok()) return type.error();
  // Before the key is looked up: a token that would be refused anyway must not cause a refresh of the keys.
  Result<Claims> claims = read_claims(token->claims, rules, now_s);
  if (!claims.ok()) return claims;
  const Result<const WebKey*> key = keys.find(token->algorithm, token->key_id);
  if (!key.ok()) return key.error();
  const Status verified = (*key)->key.verify(token->algorithm, token->signed_part, token->signature);
  if (!verified.ok()) return verified.error();
  return claims;
}

}  // namespace weft::access
