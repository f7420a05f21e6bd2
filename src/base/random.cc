#include "base/random.h"

#include "base/check.h"

namespace weft {
namespace {

__extension__ using Uint128 = unsigned __int128;

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name) {
  std::uint64_t mixer = seed ^ hash64(name);
  for (std::uint64_t& word : state_) word = detail::splitmix64(mixer);
  // Not just `seed ^ hash64(name)`: splitting by the same name twice would then return to the original seed, and the
  // order of names would not matter.
  seed_ = detail::splitmix64(mixer);
}

RandomStream RandomStream::split(std::string_view name) const { return RandomStream(seed_, name); }

std::uint64_t RandomStream::next() { return detail::xoshiro256_starstar(state_); }

// Lemire, "Fast Random Integer Generation in an Interval" (2019): multiply, and reject the few low products that would
// bias the result.
std::uint64_t RandomStream::below(std::uint64_t bound) {
  CHECK(bound > 0, "below() needs a positive bound");
  Uint128 product = static_cast<Uint128>(next()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t rejected = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < rejected) product = static_cast<Uint128>(next()) * bound;
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

std::int64_t RandomStream::between(std::int64_t low, std::int64_t high) {
  CHECK(low <= high, "between() needs low <= high");
  const std::uint64_t size = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  const std::uint64_t offset = size == 0 ? next() : below(size);  // 0: all 2^64 values
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

double RandomStream::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

// Draws even if the result is certain, so that a probability of 0 or 1 does not shift later draws.
bool RandomStream::chance(double probability) { return uniform() < probability; }

std::uint64_t hash64(std::string_view text, std::uint64_t basis) {
  std::uint64_t hash = basis;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

}  // namespace weft
