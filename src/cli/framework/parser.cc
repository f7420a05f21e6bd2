#include "cli/framework/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "base/diagnostic.h"
#include "base/utf8.h"
#include "cli/framework/default_cluster.h"
#include "cli/framework/suggestions.h"

namespace weft::cli {
namespace {

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-'; }
bool is_number(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) != 0;
}

// Used while the command is unknown: has the options of all commands. An option has the same meaning in every command
// (a test checks that), so this is enough to distinguish values from words. Building it takes a while: the last resort.
const Command& any_command() {
  static const Command any = [] {
    Command command;
    for (const Command& each : all_commands()) {
      for (const Option& option : each.options) {
        if (find_option(command, option.name) == nullptr) command.options.push_back(option);
      }
    }
    return command;
  }();
  return any;
}

// Has only the global options.
const Command& no_command() {
  static const Command none;
  return none;
}

// Whether the command has every option of this word: "--quiet", "--output=json", "-qo".
bool has_options(const Command& command, std::string_view word) {
  if (!is_option(word)) return false;
  if (word.starts_with("--")) return find_option(command, word.substr(2, word.find('=') - 2)) != nullptr;
  for (const char letter : word.substr(1)) {
    const Option* option = find_option(command, letter);
    if (option == nullptr) return false;
    if (!option->value.empty()) return true;  // the rest is its value
  }
  return true;
}

}  // namespace

std::string Arguments::value(std::string_view option) const {
  const std::vector<std::string>& all = values(option);
  return all.empty() ? std::string() : all.back();
}

const std::vector<std::string>& Arguments::values(std::string_view option) const {
  static const std::vector<std::string> none;
  CHECK(command_ != nullptr && find_option(*command_, option) != nullptr, "a command asks for an option it lacks");
  const auto found = values_.find(option);
  return found == values_.end() ? none : found->second;
}

std::string_view Arguments::server_option() const {
  CHECK(command_ != nullptr, "arguments belong to a command");
  if (command_->run_on_server == nullptr) return {};
  for (const std::string_view name : {"server", "context", "socket"}) {
    if (has(name)) return name;
  }
  return {};
}

class LineParser {
 public:
  LineParser(const std::vector<std::string>& words, const FindCluster& find_cluster)
      : words_(words), find_cluster_(find_cluster) {}

  ParsedLine parse() {
    note_early_exits();
    take_command();
    if (line_.problem.empty() && line_.command != nullptr) {
      line_.arguments.command_ = line_.command;
      scan(*line_.command);
      check_arguments();
    } else if (line_.problem.empty() && line_.command == nullptr) {
      const bool all_global = std::all_of(words_.begin(), words_.end(),
                                          [](const std::string& word) { return has_options(no_command(), word); });
      scan(all_global ? no_command() : any_command());  // finds options that no command has
    }
    return std::move(line_);
  }

 private:
  // --help and --version take effect at any position, even if the rest of the line is wrong.
  void note_early_exits() {
    for (const std::string& word : words_) {
      if (word == "--") return;
      line_.wants_help = line_.wants_help || word == "--help" || word == "-h";
      line_.wants_version = line_.wants_version || word == "--version" || word == "-V";
    }
  }

  void take_command() {
    const std::vector<std::size_t> places = plain_words();
    if (places.empty()) return;
    const std::string& first = words_[places[0]];
    const std::vector<const Command*> group = commands_of_group(first);
    if (group.empty()) {
      line_.command = find_command(first);
      if (line_.command == nullptr) return unknown_command(first);
      command_words_ = {places[0]};
      return;
    }
    if (places.size() == 1) return take_group_default(first, group, places[0]);
    const std::string& second = words_[places[1]];
    line_.command = find_command(first + " " + second);
    command_words_ = {places[0], places[1]};
    if (line_.command != nullptr) return;
    std::vector<std::string_view> candidates;
    candidates.reserve(group.size());
    for (const Command* command : group) candidates.push_back(command->last_word());
    fail(fmt::format("`{}` has no subcommand {}", first, in_backticks(second)));
    hint(did_you_mean(second, candidates));
    hint("available commands: " + listed({candidates.begin(), candidates.end()}));
  }

  void take_group_default(const std::string& name, const std::vector<const Command*>& group, std::size_t place) {
    for (const Command* command : group) {
      if (command->group_default) line_.command = command;
    }
    if (line_.command == nullptr) line_.group = name;
    command_words_ = {place};
  }

  void unknown_command(const std::string& word) {
    fail("unknown command " + in_backticks(word));
    if (names_cluster_file(word)) {
      hint(fmt::format("to see what it describes: weft show {}", printable(word, 60)));
    } else {
      hint(suggest_command(word));
    }
    hint("`weft help` lists the commands");
  }

  // Positions of the first words that are neither options nor their values.
  [[nodiscard]] std::vector<std::size_t> plain_words() const {
    std::vector<std::size_t> places;
    std::vector<const Command*> group;
    bool options_over = false;
    for (std::size_t i = 0; i < words_.size() && places.size() < 2; ++i) {
      const std::string& word = words_[i];
      if (options_over || !is_option(word)) {
        places.push_back(i);
        if (places.size() > 1) break;
        group = commands_of_group(word);
        if (group.empty()) break;  // its command has one word
      } else if (word == "--") {
        options_over = true;
      } else if (takes_next(command_with(group, word), word)) {
        ++i;
      }
    }
    return places;
  }

  // One that has the options of the word, for takes_next(): of the group if possible.
  static const Command& command_with(const std::vector<const Command*>& group, std::string_view word) {
    if (has_options(no_command(), word)) return no_command();
    const auto found =
        std::find_if(group.begin(), group.end(), [&](const Command* command) { return has_options(*command, word); });
    return found == group.end() ? any_command() : **found;
  }

  // Whether the value of the option (or of the last of several letters) is the next word.
  static bool takes_next(const Command& command, std::string_view word) {
    if (word.starts_with("--")) {
      const Option* option = find_option(command, word.substr(2));
      return option != nullptr && !option->value.empty();
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
      const Option* option = find_option(command, word[i]);
      if (option == nullptr) return false;
      if (!option->value.empty()) return i + 1 == word.size();
    }
    return false;
  }

  void scan(const Command& command) {
    bool options_over = false;
    for (at_ = 0; at_ < words_.size() && line_.problem.empty(); ++at_) {
      const std::string& word = words_[at_];
      const bool names_command = std::find(command_words_.begin(), command_words_.end(), at_) != command_words_.end();
      if (names_command) continue;
      if (options_over || !is_option(word)) {
        line_.arguments.words_.push_back(word);
      } else if (word == "--") {
        options_over = true;
      } else if (word.starts_with("--")) {
        take_long(command, word);
      } else {
        take_letters(command, word);
      }
    }
  }

  void take_long(const Command& command, const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const Option* option = find_option(command, name);
    if (option == nullptr) {
      fail("unknown option " + in_backticks("--" + name));
      return hint(suggest_option(name, command));
    }
    if (option->value.empty()) {
      if (equals != std::string::npos) return fail(fmt::format("--{} takes no value", name));
      return store(*option, {});
    }
    if (equals != std::string::npos) return store(*option, word.substr(equals + 1));
    take_next(command, *option, "--" + name);
  }

  void take_letters(const Command& command, const std::string& word) {
    for (std::size_t i = 1; i < word.size() && line_.problem.empty(); ++i) {
      const Option* option = find_option(command, word[i]);
      const std::string shown = i == 1 && word.size() > 2 ? word : fmt::format("-{}", word[i]);
      if (option == nullptr) return unknown_letter(command, word[i], shown);
      if (option->value.empty()) {
        store(*option, {});
      } else if (i + 1 < word.size()) {
        return store(*option, word.substr(i + (word[i + 1] == '=' ? 2 : 1)));
      } else {
        return take_next(command, *option, fmt::format("-{}", word[i]));
      }
    }
  }

  void unknown_letter(const Command& command, char letter, const std::string& shown) {
    fail("unknown option " + in_backticks(shown));
    // -long for --long, and -o for -f: what other programs would accept.
    if (shown.size() > 2 && find_option(command, shown.substr(1)) != nullptr) {
      hint(fmt::format("did you mean `-{}`?", shown));
    } else if (letter == 'o' && find_option(command, "file") != nullptr) {
      hint("to write the result to a file: -f FILE");
    }
  }

  void take_next(const Command& command, const Option& option, const std::string& shown) {
    const bool there = at_ + 1 < words_.size();
    const std::string next = there ? words_[at_ + 1] : std::string();
    const std::string next_name = next.substr(0, next.find('='));
    const bool is_other = is_option(next) && !is_number(next) &&
                          (next == "--" || (next_name.starts_with("--") && find_option(command, next_name.substr(2))) ||
                           (next.size() == 2 && find_option(command, next[1]) != nullptr));
    if (!there || is_other) return fail(fmt::format("{} needs a value, {}", shown, option.value));
    ++at_;
    store(option, next);
  }

  void store(const Option& option, const std::string& value) {
    line_.wants_help = line_.wants_help || option.name == "help";
    line_.wants_version = line_.wants_version || option.name == "version";
    if (!option.choices.empty()) check_choice("--" + option.name, value, option.choices);
    const bool meant_file = option.name == "output" && value.find_first_of("./") != std::string::npos;
    if (!line_.problem.empty() && meant_file) line_.hints = {"to write the result to a file: -f FILE"};
    line_.arguments.values_[option.name].push_back(value);
  }

  void check_choice(const std::string& what, const std::string& value, const std::vector<Choice>& choices) {
    const std::vector<std::string> names = names_of(choices);
    if (std::find(names.begin(), names.end(), value) != names.end()) return;
    const std::string_view relation = names.size() == 1 ? "not" : "not one of";
    fail(fmt::format("{}: {} is {} {}", what, in_backticks(value), relation, listed(names)));
    hint(suggest_choice(value, choices));
  }

  void check_arguments() {
    if (!line_.problem.empty()) return;
    std::vector<Argument> wanted = line_.command->arguments;
    if (!line_.arguments.server_option().empty())
      std::erase_if(wanted, [](const Argument& argument) { return argument.local; });
    const std::vector<std::string>& given = line_.arguments.words_;
    if (!cluster_replaced(wanted)) {
      if (const auto correction = find_misplaced_cluster(*line_.command, wanted, given))
        return fail(correction->problem, correction->line);
      insert_cluster(wanted);
      if (const auto correction = find_omitted_cluster(*line_.command, wanted, given)) {
        fail(correction->problem, correction->line);
        return hint(std::string(kClusterHint));
      }
    }
    for (std::size_t i = 0; i < wanted.size() && line_.problem.empty(); ++i) {
      if (i < given.size()) {
        if (!wanted[i].choices.empty() && !wanted[i].open) check_choice(wanted[i].name, given[i], wanted[i].choices);
      } else if (wanted[i].required) {
        fail("missing " + wanted[i].name);
        hint(usage_of(*line_.command));
        if (wanted[i].from_default) hint(std::string(kClusterHint));
      }
    }
    const bool more_allowed = !wanted.empty() && wanted.back().repeatable;
    if (line_.problem.empty() && given.size() > wanted.size() && !more_allowed) {
      fail("unexpected argument " + in_backticks(given[wanted.size()]));
      hint(usage_of(*line_.command));
    }
  }

  // Puts the default cluster file where the command wants one and the word there, if any, is something else: `weft oob
  // status train007`.
  void insert_cluster(const std::vector<Argument>& wanted) {
    const auto cluster =
        std::find_if(wanted.begin(), wanted.end(), [](const Argument& argument) { return argument.from_default; });
    if (cluster == wanted.end() || !find_cluster_) return;
    std::vector<std::string>& given = line_.arguments.words_;
    const auto place = static_cast<std::size_t>(cluster - wanted.begin());
    const auto needed = static_cast<std::size_t>(
        std::count_if(wanted.begin(), wanted.end(), [](const Argument& argument) { return argument.required; }));
    if (given.size() < place) return;
    if (given.size() > place && given.size() >= needed && names_cluster_file(given[place])) return;
    const std::string path = find_cluster_();
    if (path.empty()) return;
    given.insert(given.begin() + static_cast<std::ptrdiff_t>(place), path);
    line_.default_cluster = true;
  }

  // Whether an option replaces the cluster file.
  [[nodiscard]] bool cluster_replaced(const std::vector<Argument>& wanted) const {
    return std::any_of(wanted.begin(), wanted.end(), [this](const Argument& argument) {
      return std::any_of(argument.replaced_by.begin(), argument.replaced_by.end(),
                         [this](const std::string& option) { return line_.arguments.has(option); });
    });
  }

  void fail(std::string problem, std::string right_line = {}) {
    line_.problem = std::move(problem);
    hint(std::move(right_line));
  }
  void hint(std::string text) {
    if (!text.empty()) line_.hints.push_back(std::move(text));
  }

  const std::vector<std::string>& words_;
  const FindCluster& find_cluster_;
  std::vector<std::size_t> command_words_;  // positions of the words that name the command
  std::size_t at_ = 0;
  ParsedLine line_;
};

ParsedLine parse_line(const std::vector<std::string>& words, const FindCluster& find_cluster) {
  return LineParser(words, find_cluster).parse();
}

}  // namespace weft::cli
