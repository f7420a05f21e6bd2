// Named random streams. One seed is split by name, so adding a consumer never changes the values that another one
// draws. Generator and distributions are implemented here because the standard library's distributions differ between
// implementations.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed, std::string_view name = {});

  // A stream that depends only on this one's seed and the name, not on previous draws.
  [[nodiscard]] RandomStream split(std::string_view name) const;

  std::uint64_t next();                                       // 64 uniform bits
  std::uint64_t below(std::uint64_t bound);                   // uniform in [0, bound), without modulo bias; bound > 0
  std::int64_t between(std::int64_t low, std::int64_t high);  // uniform in [low, high]
  double uniform();                                           // [0, 1), 53 bits
  bool chance(double probability);

 private:
  std::uint64_t seed_ = 0;
  std::uint64_t state_[4] = {};  // xoshiro256**
};

namespace detail {  // the published generators, separate so that tests can compare them with the published outputs

constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

constexpr std::uint64_t xoshiro256_starstar(std::uint64_t (&state)[4]) {
  const auto rotate_left = [](std::uint64_t x, unsigned k) { return (x << k) | (x >> (64U - k)); };
  const std::uint64_t result = rotate_left(state[1] * 5, 7) * 9;
  const std::uint64_t t = state[1] << 17U;
  state[2] ^= state[0];
  state[3] ^= state[1];
  state[1] ^= state[2];
  state[0] ^= state[3];
  state[2] ^= t;
  state[3] = rotate_left(state[3], 45);
  return result;
}

}  // namespace detail

// FNV-1a, 64 bits: for names and trace hashes. Not for input that an adversary controls.
[[nodiscard]] std::uint64_t hash64(std::string_view text, std::uint64_t basis = 14695981039346656037ULL);

}  // namespace weft
