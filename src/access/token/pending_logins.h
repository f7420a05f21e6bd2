// Sign-ins that wait for the OIDC provider: browsers that were sent there, and CLIs that poll for a device code (RFC
// 8628). In memory only, bounded, and each works once. Used by one thread; times are milliseconds since 1970 UTC.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "access/secret/random.h"
#include "access/token/token_text.h"
#include "base/result.h"
#include "oob/credentials/secret.h"

namespace weft::access {

inline constexpr std::int64_t kBrowserLoginMs = std::int64_t{10} * 60 * 1000;
inline constexpr std::int64_t kDeviceLoginMs = std::int64_t{15} * 60 * 1000;
inline constexpr std::size_t kMaxPendingLogins = 1000;
inline constexpr std::size_t kMaxPendingPerSource = 100;  // no client can push out the sign-ins of all others

// Items by a secret key, of which only the hash is kept.
template <class Item>
class PendingItems {
 public:
  // If there are too many, expired ones make place, then the oldest. False: this source has too many.
  [[nodiscard]] bool add(const SecretHash& key, Item item, std::string_view source, std::int64_t expires_ms,
                         std::int64_t now_ms) {
    std::erase_if(entries_, [&](const auto& entry) { return now_ms >= entry.second.expires_ms; });
    std::size_t own = 0;
    auto oldest = entries_.begin();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second.source == source) ++own;
      if (entry->second.number < oldest->second.number) oldest = entry;
    }
    if (own >= kMaxPendingPerSource) return false;
    if (entries_.size() >= kMaxPendingLogins) entries_.erase(oldest);
    entries_.insert_or_assign(key.hex(), Entry{std::move(item), std::string(source), expires_ms, ++count_});
    return true;
  }
  // Whether add() would accept one of this source.
  [[nodiscard]] bool has_room(std::string_view source, std::int64_t now_ms) const {
    const auto own = std::count_if(entries_.begin(), entries_.end(), [&](const auto& entry) {
      return entry.second.source == source && now_ms < entry.second.expires_ms;
    });
    return static_cast<std::size_t>(own) < kMaxPendingPerSource;
  }
  // Nullptr if unknown or expired.
  [[nodiscard]] Item* find(const SecretHash& key, std::int64_t now_ms) {
    const auto found = entries_.find(key.hex());
    return found == entries_.end() || now_ms >= found->second.expires_ms ? nullptr : &found->second.item;
  }
  bool erase(const SecretHash& key) { return entries_.erase(key.hex()) > 0; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Item item;
    std::string source;
    std::int64_t expires_ms = 0;
    std::uint64_t number = 0;
  };
  std::map<std::string, Entry> entries_;
  std::uint64_t count_ = 0;
};

struct DevicePoll {
  enum class Kind : std::uint8_t {
    unknown,   // or expired, or finished: answer expired_token
    too_soon,  // answer slow_down; the interval has grown by 5 s (RFC 8628, section 3.5)
    ready      // ask the provider with `device_code`
  };
  Kind kind = Kind::unknown;
  oob::Secret device_code;
};

class PendingDeviceLogins {
 public:
  explicit PendingDeviceLogins(RandomFill random) : random_(std::move(random)) {}

  [[nodiscard]] bool has_room(std::string_view source, std::int64_t now_ms) const {
    return items_.has_room(source, now_ms);
  }
  // The handle that the CLI polls with. Expires with the device code, and after 15 minutes at the latest.
  [[nodiscard]] Result<oob::Secret> begin(oob::Secret device_code, std::int64_t interval_s, std::int64_t expires_in_s,
                                          std::string_view source, std::int64_t now_ms);
  [[nodiscard]] DevicePoll poll(std::string_view handle, std::int64_t now_ms);
  // The provider answered slow_down.
  void slow_down(std::string_view handle, std::int64_t now_ms);
  // Before the answer to a successful or final poll is used: true once. False: another poll was faster; drop it.
  [[nodiscard]] bool finish(std::string_view handle);
  [[nodiscard]] std::size_t size() const { return items_.size(); }

 private:
  struct Pending {
    oob::Secret device_code;
    std::int64_t interval_ms = 0;
    std::int64_t next_ms = 0;
  };
  RandomFill random_;
  PendingItems<Pending> items_;
};

}  // namespace weft::access
