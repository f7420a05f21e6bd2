// Bytes as a JSON Web Key Set, and as the number of a key. Keys that are accepted can be used, and verify nothing that
// they have not signed.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "access/jose/key_set.h"
#include "base/check.h"

namespace weft::access {
namespace {

void check_key(const KeySet& set, const WebKey& key) {
  CHECK(key.id.size() <= kMaxKeyIdBytes, "a short name");
  CHECK(!key.algorithm || key_type_of(*key.algorithm) == key.key.type(), "an algorithm for this type");
  for (const Algorithm algorithm : kAlgorithms) {
    const std::string signature(key.key.type() == KeyType::p256   ? 64
                                : key.key.type() == KeyType::p384 ? 96
                                                                  : 256,
                                '\x55');
    CHECK(!key.key.verify(algorithm, "a.b", signature).ok(), "no key signed that");
    if (key.id.empty()) continue;
    const Result<const WebKey*> found = set.find(algorithm, key.id);
    CHECK(!found.ok() || *found == &key, "names are unique");
  }
}

}  // namespace
}  // namespace weft::access

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::access;
  if (size > 16384) return 0;
  const std::string text(data, data + size);
  const weft::Result<KeySet> set = parse_key_set(text);
  if (set.ok()) {
    CHECK(set->keys.size() + set->unusable.size() <= kMaxKeys, "limited");
    for (const WebKey& key : set->keys) check_key(*set, key);
    for (const UnusableKey& key : set->unusable) CHECK(!key.reason.empty(), "a reason");
  } else {
    CHECK(!set.error().message.empty(), "a refusal says why");
  }
  (void)PublicKey::from_point(KeyType::p256, std::string_view(text).substr(0, 32), "x");
  if (size == 64) {
    (void)PublicKey::from_point(KeyType::p256, std::string_view(text).substr(0, 32), std::string_view(text).substr(32));
  }
  return 0;
}
