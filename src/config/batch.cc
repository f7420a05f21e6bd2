#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "config/host_readers.h"
#include "config/host_text.h"

namespace weft::config {
namespace {

using host_text::Command;
using host_text::Line;

// Short options of sbatch(1) with a value, and their long names.
struct ShortOption {
  char letter;
  std::string_view name;
};
constexpr ShortOption kShort[] = {
    {'A', "account"},      {'a', "array"},      {'B', "extra-node-info"},
    {'b', "begin"},        {'C', "constraint"}, {'c', "cpus-per-task"},
    {'D', "chdir"},        {'d', "dependency"}, {'e', "error"},
    {'F', "nodefile"},     {'G', "gpus"},       {'i', "input"},
    {'J', "job-name"},     {'L', "licenses"},   {'M', "clusters"},
    {'m', "distribution"}, {'N', "nodes"},      {'n', "ntasks"},
    {'o', "output"},       {'p', "partition"},  {'q', "qos"},
    {'S', "core-spec"},    {'t', "time"},       {'w', "nodelist"},
    {'x', "exclude"},
};

std::string_view long_name(char letter) {
  for (const ShortOption& option : kShort) {
    if (option.letter == letter) return option.name;
  }
  return {};
}

std::string file_name(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// Normalizes options to "--name=value" or "--name".
void read_options(const Command& words, const SourceLocation& place, AppConfig& app) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("--")) {
      std::string text = word;
      // "--nodes 4": sbatch uses the next word if there is no "=".
      if (word.find('=') == std::string::npos && i + 1 < words.size() && !words[i + 1].starts_with("-")) {
        text += "=" + words[++i];
      }
      app.options.push_back({std::move(text), place, "#SBATCH"});
    } else if (word.size() >= 2 && word[0] == '-') {
      const std::string_view name = long_name(word[1]);
      if (name.empty()) {
        app.options.push_back({word, place, "#SBATCH"});
        continue;
      }
      std::string value = word.substr(2);
      if (value.empty() && i + 1 < words.size()) value = words[++i];
      if (value.starts_with("=")) value.erase(0, 1);
      app.options.push_back({fmt::format("--{}={}", name, value), place, "#SBATCH"});
    }
  }
}

const Setting<std::string>* find_option(const AppConfig& app, std::string_view name) {
  for (auto it = app.options.rbegin(); it != app.options.rend(); ++it) {
    const std::string_view text = it->value;
    if (text.starts_with(name) && (text.size() == name.size() || text[name.size()] == '=')) return &*it;
  }
  return nullptr;
}

void add_variable(std::string_view name, std::string_view value, const SourceLocation& place, AppConfig& app) {
  app.environment.push_back(
      {std::string(name), {host_text::unquoted(trim(value, kLineSpaces)), place, "export " + std::string(name)}});
}

// "--export=ALL,NCCL_DEBUG=INFO"
void read_export_option(std::string_view list, const SourceLocation& place, AppConfig& app) {
  for (const std::string_view part : split(list, ',')) {
    const auto [name, value] = host_text::assignment(part);
    if (!name.empty()) add_variable(name, value, place, app);
  }
}

// Reads one command of the script: variables, and the line itself if it starts the job.
void read_command(const Command& command, const Line& line, AppConfig& app) {
  std::size_t first = 0;
  const bool exports = command[0] == "export" || command[0] == "declare" || command[0] == "env";
  if (exports) ++first;
  bool only_assignments = true;
  std::size_t next = first;
  for (; next < command.size(); ++next) {
    const auto [name, value] = host_text::assignment(command[next]);
    if (name.empty()) {
      if (exports && command[next].starts_with("-")) continue;  // declare -x, env -u
      only_assignments = false;
      break;
    }
    add_variable(name, value, line.place, app);
  }
  if (only_assignments) return;
  const std::string& program = command[next];
  const bool launches = program == "srun" || program == "mpirun" || program == "mpiexec" || program == "torchrun" ||
                        program == "python" || program == "python3" || program == "deepspeed" ||
                        program == "accelerate";
  if (!launches) return;
  app.commands.push_back({std::string(trim(line.text, kLineSpaces)), line.place, program});
  for (std::size_t i = next + 1; i < command.size(); ++i) {
    if (command[i].starts_with("--export="))
      read_export_option(std::string_view(command[i]).substr(9), line.place, app);
    // mpirun -x NAME=VALUE
    if (command[i] == "-x" && i + 1 < command.size()) read_export_option(command[i + 1], line.place, app);
  }
}

void read_constraints(AppConfig& app) {
  for (const Setting<std::string>& option : app.options) {
    for (const std::string_view name : {"--constraint=", "--nodelist=", "--exclude="}) {
      if ((*option).starts_with(name)) app.constraints.push_back({*option, option.place, std::string(name)});
    }
  }
  for (const char* name : {"--gres", "--gpus", "--gpus-per-node", "--gpus-per-task"}) {
    const Setting<std::string>* option = find_option(app, name);
    if (option == nullptr) continue;
    const std::size_t equals = option->value.find('=');
    if (equals == std::string::npos) continue;
    app.limits.push_back({name, {option->value.substr(equals + 1), option->place, option->value}});
  }
}

}  // namespace

void read_sbatch(const Sources& sources, FileId file, ConfigSet& set, Diagnostics& /*diagnostics*/) {
  AppConfig app;
  app.kind = "sbatch";
  app.place = {file, 1, 1};
  bool body = false;
  for (const Line& line : host_text::lines_of(sources.text(file), file)) {
    const std::string_view text = trim(line.text, kLineSpaces);
    if (text.starts_with("#SBATCH") && !body) {
      // sbatch stops reading options at the first command.
      read_options(host_text::quoted_words_of(text.substr(7)), line.place, app);
      continue;
    }
    if (text.empty() || text.front() == '#') continue;
    body = true;
    for (const Command& command : host_text::commands_of(text)) read_command(command, line, app);
  }
  const Setting<std::string>* name = find_option(app, "--job-name");
  app.name = name != nullptr ? name->value.substr(name->value.find('=') + 1) : file_name(sources.path(file));
  if (const Setting<std::string>* exported = find_option(app, "--export")) {
    AppConfig from_option;
    read_export_option(std::string_view(exported->value).substr(std::min<std::size_t>(9, exported->value.size())),
                       exported->place, from_option);
    app.environment.insert(app.environment.begin(), from_option.environment.begin(), from_option.environment.end());
  }
  read_constraints(app);
  set.apps.push_back(std::move(app));
}

void read_environment(const Sources& sources, FileId file, ConfigSet& set, Diagnostics& diagnostics) {
  AppConfig app;
  app.kind = "environment";
  app.name = file_name(sources.path(file));
  app.place = {file, 1, 1};
  app.more_environment = true;  // a file adds to an environment; it is never complete
  for (const Line& line : host_text::lines_of(sources, file, '#')) {
    std::string_view text = line.text;
    if (text.starts_with("export ")) text = trim(text.substr(7), kLineSpaces);
    const auto [name, value] = host_text::assignment(text);
    if (name.empty()) {
      diagnostics.warning(line.place, fmt::format("ignored {}: expected NAME=VALUE", in_backticks(text)));
      continue;
    }
    add_variable(name, value, line.place, app);
  }
  set.apps.push_back(std::move(app));
}

}  // namespace weft::config
