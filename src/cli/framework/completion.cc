#include "cli/framework/completion.h"

#include <algorithm>

#include "check/core/rule.h"
#include "cli/framework/catalog_view.h"
#include "model/load.h"

namespace weft::cli {
namespace {

Candidates from_hint(Hint hint, const CompletionValues& values) {
  switch (hint) {
    case Hint::none:
      break;
    case Hint::file:
      return {{}, true};
    case Hint::gpu:
      return {choices_named(values.gpus)};
    case Hint::server:
      return {choices_named(values.servers)};
    case Hint::network_switch:
      return {choices_named(values.switches)};
    case Hint::item:
      return {choices_named(values.items)};
    case Hint::rule:
      return {choices_named(values.rules)};
  }
  return {};
}

}  // namespace

CompletionValues completion_values() {
  CompletionValues values;
  for (const check::Rule& rule : check::all_rules()) values.rules.emplace_back(rule.id);
  const std::unique_ptr<model::Loaded> loaded = model::load_catalog({});
  if (loaded->catalog == nullptr) return values;
  const model::Catalog& catalog = *loaded->catalog;
  for (const model::GpuModel& gpu : catalog.gpus()) values.gpus.push_back(gpu.id.value.text);
  for (const model::ServerModel& server : catalog.servers()) {
    if (server.kind.value == model::ServerKind::gpu) values.servers.push_back(server.id.value.text);
  }
  for (const model::SwitchModel& model : catalog.switches()) values.switches.push_back(model.id.value.text);
  for (const std::string_view id : catalog_ids(catalog)) values.items.emplace_back(id);
  return values;
}

Candidates candidates_for(const Option& option, const CompletionValues& values) {
  Candidates candidates = from_hint(option.hint, values);
  candidates.words.insert(candidates.words.begin(), option.choices.begin(), option.choices.end());
  return candidates;
}

Candidates candidates_for(const Argument& argument, const CompletionValues& values) {
  Candidates candidates = from_hint(argument.hint, values);
  candidates.words.insert(candidates.words.begin(), argument.choices.begin(), argument.choices.end());
  return candidates;
}

std::vector<Option> options_with_value() {
  std::vector<Option> options;
  const auto add = [&](const Option& option) {
    const bool known =
        std::any_of(options.begin(), options.end(), [&](const Option& each) { return each.name == option.name; });
    if (!option.value.empty() && !known) options.push_back(option);
  };
  for (const Command& command : all_commands()) std::for_each(command.options.begin(), command.options.end(), add);
  std::for_each(global_options().begin(), global_options().end(), add);
  return options;
}

std::vector<Choice> first_words() {
  std::vector<Choice> words;
  for (const Command& command : all_commands()) {
    const std::string word(command.group().empty() ? command.name : command.group());
    if (words.empty() || words.back().name != word) words.push_back({word, command.summary});
  }
  return words;
}

std::vector<std::string> group_names() {
  std::vector<std::string> groups;
  for (const Command& command : all_commands()) {
    const std::string group(command.group());
    if (!group.empty() && std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

std::vector<std::string> spellings(const Option& option) {
  std::vector<std::string> all = {"--" + option.name};
  if (option.letter != 0) all.push_back(std::string{'-', option.letter});
  return all;
}

}  // namespace weft::cli
