// Host lists as operators write them: "train[001-128]", "train[001-004,007],login1". Expansion keeps order and zero
// padding; folding returns the shortest range form. A list that would expand to more than `kMaxHosts` is rejected.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weft {

constexpr std::size_t kMaxHosts = 1'000'000;

// Brackets may occur anywhere and more than once ("r[1-2]n[01-04]"). Spaces around commas are allowed.
[[nodiscard]] Result<std::vector<std::string>> expand_hosts(std::string_view text);
// Folds names that differ only in their last number, of equal width; sorted naturally, duplicates dropped.
[[nodiscard]] std::string fold_hosts(std::vector<std::string> hosts);
// A folded list as words of a shell that expands braces (bash, zsh): "train{001..128} login{{01..04},07}".
[[nodiscard]] std::string as_shell_words(std::string_view folded);
// Natural order: digit runs compare as numbers ("n2" before "n10").
[[nodiscard]] bool natural_less(std::string_view a, std::string_view b);

}  // namespace weft
