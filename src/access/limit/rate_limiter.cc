#include "access/limit/rate_limiter.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/ip.h"
#include "lazy/crypto.h"

namespace weft::access {
namespace {

constexpr std::int64_t kMinuteNs = 60'000'000'000;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::size_t kShared = 256;
constexpr int kDropsPerRequest = 2;  // more than one is added, so that the list shrinks

}  // namespace

RateLimiter::RateLimiter(RateLimit limit, std::string_view seed, std::size_t max_keys)
    : seed_(seed), max_keys_(max_keys), shared_(kShared) {
  set_limit(limit);
}

void RateLimiter::set_limit(RateLimit limit) {
  CHECK(limit.per_minute > 0 && limit.per_minute <= kMinuteNs && limit.burst > 0, "a rate limit is positive");
  interval_ = Duration(kMinuteNs / limit.per_minute);
  capacity_ = Duration(multiply_divide(interval_.count(), limit.burst, 1));
}

RateLimiter::Digest RateLimiter::digest_of(std::string_view key) const {
  std::string text;
  text.reserve(seed_.size() + key.size());
  text.append(seed_).append(key);
  std::array<unsigned char, 32> bytes{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), bytes.data());  // NOLINT(*-reinterpret-cast)
  Digest digest;
  std::memcpy(digest.words.data(), bytes.data(), sizeof digest.words);
  return digest;
}

RateDecision RateLimiter::decide(Duration full_at, Duration now) const {
  // How far the bucket would be from full after this request.
  const Duration missing = std::max(full_at, now) - now + interval_;
  if (missing <= capacity_) return {};
  const std::int64_t wait = (missing - capacity_).count();
  return {false, std::max<std::int64_t>((wait + kSecondNs - 1) / kSecondNs, 1)};
}

const Duration& RateLimiter::shared_bucket(const Digest& digest) const {
  return shared_[static_cast<std::size_t>(digest.words[1] % kShared)];
}

// Least recently used buckets that are full.
void RateLimiter::drop_full(Duration now) {
  for (int i = 0; i < kDropsPerRequest && !recent_.empty(); ++i) {
    const auto oldest = buckets_.find(recent_.front());
    if (oldest->second.full_at > now) return;
    buckets_.erase(oldest);
    recent_.pop_front();
  }
}

RateDecision RateLimiter::peek(std::string_view key, Duration now) const {
  const Digest digest = digest_of(key);
  const auto found = buckets_.find(digest);
  if (found != buckets_.end()) return decide(found->second.full_at, now);
  return decide(shared_bucket(digest), now);
}

RateDecision RateLimiter::take(std::string_view key, Duration now) {
  drop_full(now);
  const Digest digest = digest_of(key);
  auto found = buckets_.find(digest);
  Duration& shared = shared_[static_cast<std::size_t>(digest.words[1] % kShared)];
  if (found == buckets_.end() && buckets_.size() >= max_keys_) {
    const RateDecision decision = decide(shared, now);
    if (decision.allowed) shared = std::max(shared, now) + interval_;
    return decision;
  }
  if (found == buckets_.end()) {
    recent_.push_back(digest);
    // What the key took from its shared bucket counts.
    found = buckets_.emplace(digest, Bucket{std::max(shared, now), std::prev(recent_.end())}).first;
  } else {
    recent_.splice(recent_.end(), recent_, found->second.recent);
  }
  const RateDecision decision = decide(found->second.full_at, now);
  if (decision.allowed) found->second.full_at = std::max(found->second.full_at, now) + interval_;
  return decision;
}

std::string source_key(std::string_view address) {
  if (address.find(':') == std::string_view::npos) return "4 " + std::string(address);
  const Result<Ipv6> parsed = parse_ipv6(address.substr(0, address.find('%')));
  if (!parsed.ok()) return "? " + std::string(address);
  const auto& groups = parsed->groups;
  const bool is_mapped =
      std::all_of(groups.begin(), groups.begin() + 5, [](std::uint16_t group) { return group == 0; }) &&
      groups[5] == 0xFFFF;
  if (is_mapped) return "4 " + to_text(Ipv4{(std::uint32_t{groups[6]} << 16U) | groups[7]});
  Ipv6 network = parsed.value();
  std::fill(network.groups.begin() + 4, network.groups.end(), std::uint16_t{0});
  return "6 " + to_text(network);
}

}  // namespace weft::access
