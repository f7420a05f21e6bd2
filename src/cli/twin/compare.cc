// weft twin compare: variants of an operation side by side, with the same incidents.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/twin/shell_words.h"
#include "cli/twin/variants.h"

namespace weft::cli {
namespace {

Exit run_twin_compare(Context& context) {
  VariantReader reader(context);
  const std::vector<std::string>& variants = context.arguments().values("variant");
  if (variants.size() < 2) {
    return context.usage_error("at least two variants are needed",
                               {"for example: --variant 'now: --spares 4' --variant 'more: --spares 8'"});
  }
  for (const std::string& text : variants) {
    const std::size_t colon = text.find(':');
    VariantLine line;
    line.name = trim(std::string_view(text).substr(0, colon));
    if (colon == std::string::npos || line.name.empty()) {
      return context.usage_error(fmt::format("--variant `{}` has no name", text),
                                 {"give NAME: and options of `weft twin run`, as 'more spares: --spares 8'"});
    }
    Result<std::vector<std::string>> words = split_shell_words(std::string_view(text).substr(colon + 1));
    if (!words.ok()) return context.usage_error(fmt::format("variant `{}`: {}", line.name, words.error().message));
    line.words = std::move(*words);
    if (const std::optional<Exit> exit = reader.read(line)) return *exit;
  }
  return reader.run(twin::compare_document);
}

}  // namespace

Command twin_compare_command() {
  Command command;
  command.name = "twin compare";
  command.summary = "Compare variants of a cluster's operation by simulation";
  command.usage = "[CLUSTER] --variant 'NAME: OPTIONS' --variant 'NAME: OPTIONS' [OPTIONS]";
  command.description = {
      "Runs each variant with the same seeds, so that all meet the same faults, and prints the mean of each measure "
      "with its 95 % confidence interval, and the paired difference to the first variant. A difference whose interval "
      "contains 0 is not distinguishable from chance: more --seeds narrow the interval.",
      "A variant is a name and options of `weft twin run`, quoted as for a shell, which replace those of the command "
      "line; --cluster FILE is another cluster file, whose faults are its own."};
  command.examples = {
      {"weft twin compare cluster.yaml --variant 'now: --spares 2' --variant 'more: --spares 8' --seeds 20",
       "What six more spares change"},
      {"weft twin compare cluster.yaml --variant 'sessions:' --variant 'people: --no-repair'",
       "What automatic repair changes"},
      {"weft twin compare cluster.yaml --variant 'now:' --variant 'new: --cluster new.yaml' -o json", "Two designs"}};
  command.arguments = twin_arguments();
  command.options = {{.name = "variant",
                      .value = "NAME:OPTIONS",
                      .help = "a variant with its options; the first one is what others are compared with",
                      .repeatable = true}};
  for (const Option& option : variant_options()) command.options.push_back(option);
  command.run = run_twin_compare;
  return command;
}

}  // namespace weft::cli
