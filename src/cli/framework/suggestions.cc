#include "cli/framework/suggestions.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/diagnostic.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/framework/default_cluster.h"

namespace weft::cli {
namespace {

constexpr std::size_t kMaxWord = 60;       // columns of a word of the line that is repeated
constexpr std::size_t kMaxFiles = 10'000;  // of a folder that is searched

bool is_yaml_name(std::string_view word) { return word.ends_with(".yaml") || word.ends_with(".yml"); }

bool takes_file(const Argument& argument) { return argument.hint == Hint::file; }

std::string line_of(const Command& command, const std::vector<std::string>& words) {
  std::string line = "weft " + command.name;
  for (const std::string& word : words) line += " " + printable(word, kMaxWord);
  return line;
}

// Position of CLUSTER; none if the command takes no default cluster file.
std::optional<std::size_t> find_cluster_place(const std::vector<Argument>& arguments) {
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [](const Argument& argument) { return argument.from_default; });
  if (found == arguments.end()) return std::nullopt;
  return static_cast<std::size_t>(found - arguments.begin());
}

std::string question(const std::vector<std::string>& names) {
  std::vector<std::string> marked;
  marked.reserve(names.size());
  for (const std::string& name : names) marked.push_back(in_backticks(name));
  return names.empty() ? std::string() : fmt::format("did you mean {}?", listed(marked));
}

// The names of the regular files in a folder ("" for the current one), sorted.
std::vector<std::string> files_of(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::vector<std::string> files;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, problem), end;
       !problem && entry != end && files.size() < kMaxFiles; entry.increment(problem)) {
    std::error_code unreadable;
    if (entry->is_regular_file(unreadable)) files.push_back(entry->path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Files with the same ending and a similar name before it, else with another ending and a similar name: the ending
// alone makes no name similar.
std::vector<std::string> near_files(const std::string& name, const std::vector<std::string>& files) {
  const std::string ending = std::filesystem::path(name).extension().string();
  const auto stem_of = [&](std::string_view file) { return file.substr(0, file.size() - ending.size()); };
  std::vector<std::string_view> stems;
  std::vector<std::string_view> others;
  for (const std::string& file : files) (file.ends_with(ending) ? stems : others).push_back(file);
  for (std::string_view& stem : stems) stem = stem_of(stem);
  std::vector<std::string> near;
  for (const std::string_view stem : near_words(stem_of(name), stems)) near.push_back(std::string(stem) + ending);
  if (!near.empty()) return near;
  for (const std::string_view file : near_words(name, others)) near.emplace_back(file);
  return near;
}

}  // namespace

std::optional<Correction> find_misplaced_cluster(const Command& command, const std::vector<Argument>& arguments,
                                                 const std::vector<std::string>& words) {
  const std::optional<std::size_t> cluster = find_cluster_place(arguments);
  if (!cluster) return std::nullopt;
  for (std::size_t i = 0; i < std::min(words.size(), arguments.size()); ++i) {
    if (i == *cluster || takes_file(arguments[i]) || !is_yaml_name(words[i])) continue;
    std::vector<std::string> right = words;
    if (*cluster < words.size() && !names_cluster_file(words[*cluster])) {
      std::swap(right[i], right[*cluster]);
      return Correction{fmt::format("{} must {} {}", arguments[*cluster].name, i > *cluster ? "precede" : "follow",
                                    arguments[i].name),
                        line_of(command, right)};
    }
    if (words.size() == arguments.size() || !arguments[i].required) continue;
    right.insert(right.begin() + static_cast<std::ptrdiff_t>(i), arguments[i].name);
    return Correction{"missing " + arguments[i].name, line_of(command, right)};
  }
  return std::nullopt;
}

std::optional<Correction> find_omitted_cluster(const Command& command, const std::vector<Argument>& arguments,
                                               const std::vector<std::string>& words) {
  const std::optional<std::size_t> cluster = find_cluster_place(arguments);
  if (!cluster || *cluster >= words.size() || words.size() >= arguments.size()) return std::nullopt;
  if (takes_file(arguments[*cluster + 1]) || names_cluster_file(words[*cluster])) return std::nullopt;
  std::vector<std::string> right = words;
  right.insert(right.begin() + static_cast<std::ptrdiff_t>(*cluster), arguments[*cluster].name);
  return Correction{"missing " + arguments[*cluster].name, line_of(command, right)};
}

std::string suggest_command(std::string_view word) {
  for (const CommandSection& section : command_sections()) {
    const std::string title = to_lower(section.title);
    if (title == to_lower(word)) return fmt::format("`weft help {}` lists the commands for it", title);
  }
  std::vector<std::string> same;
  std::vector<std::string_view> first_words;
  std::vector<std::string_view> last_words;
  for (const Command& command : all_commands()) {
    const auto& synonyms = command.synonyms;
    if (std::find(synonyms.begin(), synonyms.end(), to_lower(word)) != synonyms.end()) same.push_back(command.name);
    first_words.push_back(command.group().empty() ? command.name : command.group());
    if (!command.group().empty()) last_words.push_back(command.last_word());
  }
  if (!same.empty()) return question(same);
  if (std::string hint = did_you_mean(word, first_words); !hint.empty()) return hint;
  const std::string_view near = nearest(word, last_words);  // `reach` is one of `trace`
  for (const Command& command : all_commands()) {
    if (!near.empty() && !command.group().empty() && command.last_word() == near) same.push_back(command.name);
  }
  return question(same);
}

std::string suggest_choice(std::string_view word, const std::vector<Choice>& choices) {
  std::vector<std::string> same;
  std::vector<std::string_view> names;
  names.reserve(choices.size());
  for (const Choice& choice : choices) {
    names.push_back(choice.name);
    const auto& synonyms = choice.synonyms;
    if (std::find(synonyms.begin(), synonyms.end(), to_lower(word)) != synonyms.end()) same.push_back(choice.name);
  }
  return same.empty() ? did_you_mean(word, names) : question(same);
}

std::string suggest_option(std::string_view name, const Command& command) {
  std::vector<std::pair<std::string_view, std::string_view>> spellings;  // and the option's name
  for (const std::vector<Option>* options : {&command.options, &global_options()}) {
    for (const Option& option : *options) {
      spellings.emplace_back(option.name, option.name);
      for (const std::string& synonym : option.synonyms) spellings.emplace_back(synonym, option.name);
    }
  }
  std::vector<std::string_view> known;
  known.reserve(spellings.size());
  for (const auto& [spelling, option] : spellings) known.push_back(spelling);
  std::vector<std::string> meant;
  for (const std::string_view near : near_words(name, known)) {
    const auto found = std::find(known.begin(), known.end(), near) - known.begin();
    std::string option = fmt::format("--{}", spellings[static_cast<std::size_t>(found)].second);
    if (std::find(meant.begin(), meant.end(), option) == meant.end()) meant.push_back(std::move(option));
  }
  return question(meant);
}

std::string suggest_file(const std::string& path) {
  const std::size_t start = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const std::string folder = path.substr(0, start);
  std::error_code problem;
  if (start == path.size() || std::filesystem::exists(path, problem)) return {};
  std::vector<std::string> meant;
  for (const std::string& near : near_files(path.substr(start), files_of(folder))) meant.push_back(folder + near);
  return question(meant);
}

}  // namespace weft::cli
