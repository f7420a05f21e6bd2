// Random choices of a simulation, recorded so that a run can be replayed and shrunk without its seed. Each consumer
// draws from its own named stream: a draw added in one place does not shift the others. 0 is always the harmless
// choice, and a replay that runs out of recorded choices continues with 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"

namespace weft::world {

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed, "choices") {}
  // Replays what another run recorded.
  explicit Choices(std::map<std::string, std::vector<std::uint32_t>, std::less<>> recorded);

  // Uniform in [0, bound).
  std::uint32_t choose(std::string_view stream, std::uint32_t bound);
  // True with `per_mille` thousandths.
  bool chance(std::string_view stream, std::uint32_t per_mille);

  [[nodiscard]] const std::map<std::string, std::vector<std::uint32_t>, std::less<>>& recorded() const { return used_; }
  // What a replay takes its choices from.
  [[nodiscard]] const std::map<std::string, std::vector<std::uint32_t>, std::less<>>& given() const { return given_; }
  [[nodiscard]] std::uint64_t draws() const { return draws_; }
  // A scenario file: one line per stream.
  [[nodiscard]] std::string to_text() const;
  static Result<Choices> parse(std::string_view text);

 private:
  RandomStream random_;
  bool replay_ = false;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> given_;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> used_;
  std::map<std::string, RandomStream, std::less<>> streams_;
  std::uint64_t draws_ = 0;
};

}  // namespace weft::world
