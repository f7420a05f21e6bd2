#include "world/sim/choices.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace weft::world {

Choices::Choices(std::map<std::string, std::vector<std::uint32_t>, std::less<>> recorded)
    : random_(0), replay_(true), given_(std::move(recorded)) {}

std::uint32_t Choices::choose(std::string_view stream, std::uint32_t bound) {
  ++draws_;
  auto used = used_.find(stream);
  if (used == used_.end()) used = used_.emplace(std::string(stream), std::vector<std::uint32_t>()).first;
  std::uint32_t value = 0;
  if (replay_) {
    const auto given = given_.find(stream);
    if (given != given_.end() && used->second.size() < given->second.size()) value = given->second[used->second.size()];
    value = bound > 0 && value >= bound ? bound - 1 : value;
  } else {
    auto source = streams_.find(stream);
    if (source == streams_.end()) source = streams_.emplace(std::string(stream), random_.split(stream)).first;
    value = static_cast<std::uint32_t>(source->second.below(bound));
  }
  used->second.push_back(value);
  return value;
}

bool Choices::chance(std::string_view stream, std::uint32_t per_mille) {
  return per_mille > 0 && choose(stream, 1000) >= 1000 - per_mille;
}

std::string Choices::to_text() const {
  std::string out;
  for (const auto& [name, values] : used_) {
    std::size_t end = values.size();
    while (end > 0 && values[end - 1] == 0) --end;  // a replay continues with 0
    if (end == 0) continue;
    out += name;
    out += ':';
    for (std::size_t i = 0; i < end; ++i) append_format(out, " {}", values[i]);
    out += '\n';
  }
  return out;
}

Result<Choices> Choices::parse(std::string_view text) {
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> recorded;
  std::size_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos)
      return Error{ErrorCode::invalid_input, fmt::format("line {}: no stream", number), {}};
    std::vector<std::uint32_t>& values = recorded[std::string(line.substr(0, colon))];
    for (const std::string_view word : split_at_spaces(line.substr(colon + 1))) {
      std::uint32_t value = 0;
      const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc() || stop != word.data() + word.size()) {
        return Error{ErrorCode::invalid_input, fmt::format("line {}: `{}` is not a choice", number, word), {}};
      }
      values.push_back(value);
    }
  }
  return Choices(std::move(recorded));
}

}  // namespace weft::world
