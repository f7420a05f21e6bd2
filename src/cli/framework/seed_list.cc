#include "cli/framework/seed_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/text.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kMaxSeeds = 10'000;

std::optional<std::uint64_t> parse_seed(std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return seed;
}

}  // namespace

std::optional<std::vector<std::uint64_t>> read_seed_list(OptionReader& reader, std::int64_t usual) {
  std::vector<std::uint64_t> seeds;
  const std::string text = reader.arguments().value("seeds");
  if (!contains(text, ",")) {
    const auto count = reader.integer("seeds", 1, kMaxSeeds).value_or(usual);
    const std::uint64_t first = reader.seed("seed").value_or(1);
    for (std::int64_t i = 0; i < count; ++i) seeds.push_back(first + static_cast<std::uint64_t>(i));
    return seeds;
  }
  for (const std::string_view part : split(text, ',')) {
    const std::optional<std::uint64_t> seed = parse_seed(trim(part));
    if (!seed || std::find(seeds.begin(), seeds.end(), *seed) != seeds.end()) {
      reader.bad("seeds", fmt::format("`{}` is {}", part, seed ? "given twice" : "not a seed"),
                 "give a count, or comma-separated seeds: 1,2,3");
      return std::nullopt;
    }
    seeds.push_back(*seed);
  }
  return seeds;
}

}  // namespace weft::cli
