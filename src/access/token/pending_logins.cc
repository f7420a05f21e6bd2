#include "access/token/pending_logins.h"

#include <algorithm>

namespace weft::access {
namespace {

constexpr std::int64_t kMinIntervalS = 1;
constexpr std::int64_t kMaxIntervalS = 60;
constexpr std::int64_t kSlowDownMs = 5000;

SecretHash key_of(std::string_view text) { return SecretHash(oob::Secret(std::string(text))); }

Error too_many() { return {ErrorCode::unavailable, "too many sign-ins are pending: try again in some minutes", {}}; }

}  // namespace

Result<oob::Secret> PendingDeviceLogins::begin(oob::Secret device_code, std::int64_t interval_s,
                                               std::int64_t expires_in_s, std::string_view source,
                                               std::int64_t now_ms) {
  oob::Secret handle(make_secret_text(random_));
  const std::int64_t interval_ms = std::clamp(interval_s, kMinIntervalS, kMaxIntervalS) * 1000;
  const std::int64_t life_ms = std::clamp<std::int64_t>(expires_in_s, 0, kDeviceLoginMs / 1000) * 1000;
  Pending pending{std::move(device_code), interval_ms, now_ms + interval_ms};
  if (!items_.add(SecretHash(handle), std::move(pending), source, now_ms + life_ms, now_ms)) return too_many();
  return handle;
}

DevicePoll PendingDeviceLogins::poll(std::string_view handle, std::int64_t now_ms) {
  Pending* pending = items_.find(key_of(handle), now_ms);
  if (pending == nullptr) return {};
  if (now_ms < pending->next_ms) {
    pending->interval_ms = std::min(pending->interval_ms + kSlowDownMs, kMaxIntervalS * 1000);
    return {DevicePoll::Kind::too_soon, {}};
  }
  pending->next_ms = now_ms + pending->interval_ms;
  return {DevicePoll::Kind::ready, pending->device_code};
}

void PendingDeviceLogins::slow_down(std::string_view handle, std::int64_t now_ms) {
  Pending* pending = items_.find(key_of(handle), now_ms);
  if (pending == nullptr) return;
  pending->interval_ms = std::min(pending->interval_ms + kSlowDownMs, kMaxIntervalS * 1000);
  pending->next_ms = now_ms + pending->interval_ms;
}

bool PendingDeviceLogins::finish(std::string_view handle) { return items_.erase(key_of(handle)); }

}  // namespace weft::access
