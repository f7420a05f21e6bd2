#include <fmt/format.h>

#include "cli/framework/completion.h"

namespace weft::cli {
namespace {

constexpr std::string_view kStart = R"(#compdef weft
# zsh completion for weft, made by `weft completion zsh`
_weft() {
  local command='' waiting='' word i position=0
  local -a offers
)";

constexpr std::string_view kWalk = R"(  for ((i = 2; i < CURRENT; i++)); do
    word=${words[i]}
    if [[ -n $waiting ]]; then
      waiting=''
      continue
    fi
    case $word in
      (@OPTIONS@) waiting=$word ;;
      (-*) ;;
      (*)
        case $command in
          ('') command=$word ;;
@GROUPS@          (*) position=$((position + 1)) ;;
        esac
        ;;
    esac
  done
  if [[ -z $waiting && ${words[CURRENT]} == --*=* ]]; then
    waiting=${words[CURRENT]%%=*}
    compset -P '*='
  fi
)";

// Inside single quotes.
std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// 'name:what it means', as _describe reads it: a colon in the name would end it.
std::string described(const Choice& choice) {
  std::string name;
  for (const char c : choice.name) name += c == ':' ? std::string("\\:") : std::string(1, c);
  return shell_word(choice.help.empty() ? name : name + ":" + choice.help);
}

std::string offer(const std::string& tag, const Candidates& candidates) {
  std::string text;
  if (!candidates.words.empty()) {
    text += "offers=(";
    for (const Choice& choice : candidates.words) text += described(choice) + " ";
    text.back() = ')';
    text += fmt::format("; _describe -t {0} {0} offers; ", tag);
  }
  if (candidates.files) text += "_files; ";
  return text;
}

std::string walk() {
  std::vector<std::string> options;
  for (const Option& option : options_with_value()) {
    for (const std::string& spelling : spellings(option)) options.push_back(spelling);
  }
  std::string groups;
  for (const std::string& group : group_names()) {
    groups += fmt::format("          ({}) command+=\" $word\" ;;\n", group);
  }
  return replaced(replaced(kWalk, "@OPTIONS@", joined(options, "|")), "@GROUPS@", groups);
}

std::string values_of_options(const CompletionValues& values) {
  std::string text = "  case $waiting in\n";
  for (const Option& option : options_with_value()) {
    const std::string body = offer("values", candidates_for(option, values));
    if (!body.empty()) text += fmt::format("    ({}) {}return ;;\n", joined(spellings(option), "|"), body);
  }
  return text + "    (?*) return 1 ;;\n  esac\n";
}

std::string option_offers(const std::vector<Option>& options) {
  std::string text;
  for (const Option& option : options) {
    for (const std::string& spelling : spellings(option)) text += " " + described({spelling, option.help});
  }
  return text;
}

std::string names_of_options() {
  std::string text = "  if [[ ${words[CURRENT]} == -* ]]; then\n    offers=(" + option_offers(global_options()) + ")\n";
  text += "    case $command in\n";
  for (const Command& command : all_commands()) {
    if (command.options.empty()) continue;
    const std::string also = command.group_default ? std::string(command.group()) + "|" : std::string();
    text += fmt::format("      ({}'{}') offers+=({}) ;;\n", also, command.name, option_offers(command.options));
  }
  return text + "    esac\n    _describe -o -t options options offers\n    return\n  fi\n";
}

std::string arguments(const CompletionValues& values) {
  std::string text = "  case $command:$position in\n";
  text += fmt::format("    (:*) {};;\n", offer("commands", {first_words(), false}));
  for (const std::string& group : group_names()) {
    std::vector<Choice> words;
    for (const Command* command : commands_of_group(group)) {
      words.push_back({std::string(command->last_word()), command->summary});
    }
    text += fmt::format("    ({}:*) {};;\n", group, offer("commands", {words, false}));
  }
  for (const Command& command : all_commands()) {
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const std::string body = offer("arguments", candidates_for(command.arguments[i], values));
      const std::string position = command.arguments[i].repeatable ? "*" : std::to_string(i);
      if (!body.empty()) text += fmt::format("    ('{}':{}) {};;\n", command.name, position, body);
    }
  }
  return text + "  esac\n";
}

}  // namespace

// The file serves `source` as well as a folder of $fpath, where the whole of it is the function's body.
std::string zsh_completion(const CompletionValues& values) {
  return std::string(kStart) + walk() + values_of_options(values) + names_of_options() + arguments(values) +
         "}\n\nif [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then\n  _weft \"$@\"\nelse\n  compdef _weft "
         "weft\nfi\n";
}

}  // namespace weft::cli
