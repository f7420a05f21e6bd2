// What a mistyped command line may have meant: arguments in the wrong order, a file of a similar name, another word for
// a choice. The distance between words is base/diagnostic.h's.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/framework/command.h"

namespace weft::cli {

struct Correction {
  std::string problem;  // "the cluster file must precede HOSTS"
  std::string line;     // the right form: "weft oob status cluster.yaml train001"
};

// A cluster file in the place of another argument: exchanged with it, or the other one was left out. `arguments` are
// those that the command wants, `words` those that were typed.
[[nodiscard]] std::optional<Correction> find_misplaced_cluster(const Command& command,
                                                               const std::vector<Argument>& arguments,
                                                               const std::vector<std::string>& words);
// The cluster file was left out before an argument that is not a file: `weft oob status train001`.
[[nodiscard]] std::optional<Correction> find_omitted_cluster(const Command& command,
                                                             const std::vector<Argument>& arguments,
                                                             const std::vector<std::string>& words);

// "did you mean `render`?", "did you mean `node drain`?" for `drain`, "`weft help simulate` lists..." for a heading of
// help.
[[nodiscard]] std::string suggest_command(std::string_view word);
// "did you mean `cycle` or `reset`?" by the choices' synonyms, else by spelling; "" if nothing is near.
[[nodiscard]] std::string suggest_choice(std::string_view word, const std::vector<Choice>& choices);
// "did you mean `--output`?"
[[nodiscard]] std::string suggest_option(std::string_view name, const Command& command);
// "did you mean `lab/cluster.yaml`?": a file in the same folder as a path that does not exist.
[[nodiscard]] std::string suggest_file(const std::string& path);

}  // namespace weft::cli
