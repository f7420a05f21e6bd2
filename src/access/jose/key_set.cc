#include "access/jose/key_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "access/jose/strict_json.h"
#include "base/base64.h"
#include "base/utf8.h"

namespace weft::access {
namespace {

Error refuse(std::string message) { return Error{ErrorCode::refused, std::move(message), {}}; }

Result<std::string> require_bytes(const YamlNode& object, std::string_view name) {
  const Result<std::string> text = require_text(object, name);
  if (!text.ok()) return text.error();
  std::optional<std::string> bytes = decode_base64url(*text);
  if (!bytes) return refuse(fmt::format("{} is not base64url", in_backticks(name)));
  return std::move(*bytes);
}

Result<PublicKey> read_rsa(const YamlNode& object) {
  const Result<std::string> modulus = require_bytes(object, "n");
  if (!modulus.ok()) return modulus.error();
  const Result<std::string> exponent = require_bytes(object, "e");
  if (!exponent.ok()) return exponent.error();
  return PublicKey::from_rsa(*modulus, *exponent);
}

Result<PublicKey> read_point(const YamlNode& object) {
  const Result<std::string> curve = require_text(object, "crv");
  if (!curve.ok()) return curve.error();
  if (*curve != to_text(KeyType::p256) && *curve != to_text(KeyType::p384)) {
    return refuse(fmt::format("the curve {} is not supported", in_backticks(*curve)));
  }
  const Result<std::string> x = require_bytes(object, "x");
  if (!x.ok()) return x.error();
  const Result<std::string> y = require_bytes(object, "y");
  if (!y.ok()) return y.error();
  return PublicKey::from_point(*curve == to_text(KeyType::p256) ? KeyType::p256 : KeyType::p384, *x, *y);
}

// RFC 7517, sections 4.2 and 4.3.
Status check_use(const YamlNode& object) {
  const Result<std::optional<std::string>> use = find_text(object, "use");
  if (!use.ok()) return use.error();
  if (use->has_value() && *use != "sig") return refuse(fmt::format("its use is {}, not sig", in_backticks(**use)));
  const YamlNode* operations = object.find("key_ops");
  if (operations == nullptr) return {};
  if (operations->kind != YamlNode::Kind::sequence) return refuse("`key_ops` is not a list");
  const bool verifies = std::any_of(operations->items.begin(), operations->items.end(),
                                    [](const YamlNode& item) { return is_text(item) && item.scalar == "verify"; });
  if (!verifies) return refuse("its `key_ops` do not have verify");
  return {};
}

Result<WebKey> read_key(const YamlNode& object, const std::string& id) {
  const Result<std::string> type = require_text(object, "kty");
  if (!type.ok()) return type.error();
  if (*type != "RSA" && *type != "EC") return refuse(fmt::format("keys of type {} are not used", in_backticks(*type)));
  // Everyone who fetched the set could sign with it.
  if (object.find("d") != nullptr) return refuse("it is a private key");
  if (const Status use = check_use(object); !use.ok()) return use.error();
  const Result<std::optional<std::string>> name = find_text(object, "alg");
  if (!name.ok()) return name.error();
  std::optional<Algorithm> algorithm;
  if (name->has_value()) {
    algorithm = find_algorithm(**name);
    if (!algorithm) return refuse(fmt::format("the algorithm {} is not supported", in_backticks(**name)));
  }
  Result<PublicKey> key = *type == "RSA" ? read_rsa(object) : read_point(object);
  if (!key.ok()) return key.error();
  if (algorithm && key_type_of(*algorithm) != key->type()) {
    return refuse(fmt::format("{} is not for a key of type {}", to_text(*algorithm), to_text(key->type())));
  }
  return WebKey{id, algorithm, std::move(key).value()};
}

bool fits(const WebKey& key, Algorithm algorithm) {
  return key.key.type() == key_type_of(algorithm) && (!key.algorithm || *key.algorithm == algorithm);
}

}  // namespace

Result<const WebKey*> KeySet::find(Algorithm algorithm, const std::optional<std::string>& id) const {
  if (!id) {
    const WebKey* only = nullptr;
    for (const WebKey& key : keys) {
      if (!fits(key, algorithm)) continue;
      if (only != nullptr) return refuse("the token has no `kid`, and the provider has several keys");
      only = &key;
    }
    if (only == nullptr) {
      return Error{ErrorCode::not_found, fmt::format("the provider has no key for {}", to_text(algorithm)), {}};
    }
    return only;
  }
  for (const WebKey& key : keys) {
    if (key.id != *id) continue;
    if (fits(key, algorithm)) return &key;
    return refuse(fmt::format("the key {} is {}, not for {}", in_backticks(*id),
                              key.algorithm ? to_text(*key.algorithm) : to_text(key.key.type()), to_text(algorithm)));
  }
  for (const UnusableKey& key : unusable) {
    if (key.id == *id) return refuse(fmt::format("the key {} cannot be used: {}", in_backticks(*id), key.reason));
  }
  return Error{ErrorCode::not_found, fmt::format("the provider has no key {}", in_backticks(*id)), {}};
}

Result<KeySet> parse_key_set(std::string_view json) {
  const Result<YamlNode> document = parse_strict_object(json, "the key set", kMaxKeySetBytes);
  if (!document.ok()) return document.error();
  const YamlNode* list = document->find("keys");
  if (list == nullptr || list->kind != YamlNode::Kind::sequence) return refuse("the key set has no list `keys`");
  if (list->items.size() > kMaxKeys) {
    return refuse(fmt::format("the key set has {} keys, more than {}", list->items.size(), kMaxKeys));
  }
  KeySet set;
  for (const YamlNode& item : list->items) {
    if (item.kind != YamlNode::Kind::mapping) return refuse("the key set has a key that is not an object");
    const Result<std::optional<std::string>> given = find_text(item, "kid");
    if (!given.ok()) return refuse("the key set has a `kid` that is not text");
    const std::string id = given->value_or("");
    if (id.size() > kMaxKeyIdBytes) {
      return refuse(fmt::format("the key set has a `kid` of {} bytes, more than {}", id.size(), kMaxKeyIdBytes));
    }
    const auto is_same = [&](const auto& other) { return !id.empty() && other.id == id; };
    if (std::any_of(set.keys.begin(), set.keys.end(), is_same) ||
        std::any_of(set.unusable.begin(), set.unusable.end(), is_same)) {
      return refuse(fmt::format("the key set has two keys with the `kid` {}", in_backticks(id)));
    }
    Result<WebKey> key = read_key(item, id);
    if (key.ok()) {
      set.keys.push_back(std::move(key).value());
    } else {
      set.unusable.push_back({id, key.error().message});
    }
  }
  return set;
}

}  // namespace weft::access
