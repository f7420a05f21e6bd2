#include <fmt/format.h>

#include "cli/framework/completion.h"

namespace weft::cli {
namespace {

constexpr std::string_view kStart = R"(# bash completion for weft, made by `weft completion bash`
_weft_offer() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$2")
}

_weft_files() {
  local -a files
  mapfile -t files < <(compgen -f -- "$1")
  COMPREPLY+=("${files[@]}")
  compopt -o filenames 2>/dev/null
}

_weft() {
  local cur=${COMP_WORDS[COMP_CWORD]} command='' waiting='' word i position=0
  [[ $cur == = ]] && cur=''
  COMPREPLY=()
)";

// COMP_WORDBREAKS has '=' in it: --output=json arrives as three words.
constexpr std::string_view kWalk = R"(  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ -n $waiting ]]; then
      [[ $word == = ]] || waiting=''
      continue
    fi
    case $word in
      @OPTIONS@) waiting=$word ;;
      -*) ;;
      *)
        case $command in
          '') command=$word ;;
@GROUPS@          *) position=$((position + 1)) ;;
        esac
        ;;
    esac
  done
)";

// The body of a case: offers the candidates and returns.
std::string offer(const Candidates& candidates) {
  std::string text;
  if (!candidates.words.empty()) {
    text += fmt::format("_weft_offer '{}' \"$cur\"; ", joined(names_of(candidates.words), " "));
  }
  if (candidates.files) text += "_weft_files \"$cur\"; ";
  return text;
}

std::string walk() {
  std::vector<std::string> options;
  for (const Option& option : options_with_value()) {
    for (const std::string& spelling : spellings(option)) options.push_back(spelling);
  }
  std::string groups;
  for (const std::string& group : group_names()) groups += fmt::format("          {}) command+=\" $word\" ;;\n", group);
  return replaced(replaced(kWalk, "@OPTIONS@", joined(options, " | ")), "@GROUPS@", groups);
}

std::string values_of_options(const CompletionValues& values) {
  std::string text = "  case $waiting in\n";
  for (const Option& option : options_with_value()) {
    const std::string body = offer(candidates_for(option, values));
    if (!body.empty()) text += fmt::format("    {}) {}return ;;\n", joined(spellings(option), " | "), body);
  }
  return text + "    ?*) return ;;\n  esac\n";
}

std::string option_words(const std::vector<Option>& options) {
  std::vector<std::string> words;
  for (const Option& option : options) {
    for (const std::string& spelling : spellings(option)) words.push_back(spelling);
  }
  return joined(words, " ");
}

std::string names_of_options() {
  std::string text = "  if [[ $cur == -* ]]; then\n    local options='" + option_words(global_options()) + "'\n";
  text += "    case $command in\n";
  for (const Command& command : all_commands()) {
    if (command.options.empty()) continue;
    const std::string also = command.group_default ? std::string(command.group()) + " | " : std::string();
    text += fmt::format("      {}'{}') options+=' {}' ;;\n", also, command.name, option_words(command.options));
  }
  return text + "    esac\n    _weft_offer \"$options\" \"$cur\"\n    return\n  fi\n";
}

std::string arguments(const CompletionValues& values) {
  std::string text = "  case $command:$position in\n";
  text += fmt::format("    :*) {};;\n", offer({first_words(), false}));
  for (const std::string& group : group_names()) {
    std::vector<Choice> words;
    for (const Command* command : commands_of_group(group)) words.push_back({std::string(command->last_word()), ""});
    text += fmt::format("    {}:*) {};;\n", group, offer({words, false}));
  }
  for (const Command& command : all_commands()) {
    for (std::size_t i = 0; i < command.arguments.size(); ++i) {
      const std::string body = offer(candidates_for(command.arguments[i], values));
      const std::string position = command.arguments[i].repeatable ? "*" : std::to_string(i);
      if (!body.empty()) text += fmt::format("    '{}':{}) {};;\n", command.name, position, body);
    }
  }
  return text + "  esac\n";
}

}  // namespace

std::string bash_completion(const CompletionValues& values) {
  return std::string(kStart) + walk() + values_of_options(values) + names_of_options() + arguments(values) +
         "}\n\ncomplete -F _weft weft\n";
}

}  // namespace weft::cli
