#include "cli/twin/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/text.h"
#include "cli/framework/progress.h"
#include "cli/framework/seed_list.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kDefaultSeeds = 5;
constexpr std::size_t kMaxRuns = 100'000;

bool is_option(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }
std::string name_of(std::string_view word) { return std::string(word.substr(2, word.find('=') - 2)); }

// Takes --cluster FILE out of the words.
std::optional<std::string> take_cluster(std::vector<std::string>& words) {
  std::optional<std::string> cluster;
  for (auto word = words.begin(); word != words.end();) {
    if (word->starts_with("--cluster=")) {
      cluster = word->substr(10);
      word = words.erase(word);
    } else if (*word == "--cluster" && word + 1 != words.end()) {
      cluster = *(word + 1);
      word = words.erase(word, word + 2);
    } else {
      ++word;
    }
  }
  return cluster;
}

}  // namespace

// `weft twin run` with the options of this command that the variant does not set, and those of the variant.
std::vector<std::string> VariantReader::command_line(const VariantLine& line, std::string& cluster) const {
  const Arguments& arguments = context_.arguments();
  std::vector<std::string> words = line.words;
  const std::optional<std::string> own_cluster = take_cluster(words);
  std::set<std::string> own = line.without;
  for (const std::string& word : words) {
    if (is_option(word)) own.insert(name_of(word));
  }
  cluster = own_cluster.value_or(own.contains("plain") ? "" : arguments.word(0));
  std::vector<std::string> all = {"twin", "run"};
  if (!cluster.empty()) all.push_back(cluster);
  std::vector<Option> options = twin_input_options();
  options.push_back(catalog_option());
  for (const Option& option : options) {
    if (own.contains(option.name) || (own_cluster && option.name == "plain")) continue;
    for (const std::string& value : arguments.values(option.name)) {
      all.push_back("--" + option.name);
      if (!option.value.empty()) all.push_back(value);
    }
  }
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

Exit VariantReader::refuse(const VariantLine& line, const std::string& problem, const std::vector<std::string>& hints) {
  return context_.usage_error(fmt::format("variant `{}`: {}", line.name, problem), hints);
}

std::optional<Exit> VariantReader::read(const VariantLine& line) {
  for (const twin::Variant& other : variants_) {
    if (other.name == line.name) return refuse(line, "this name is given twice");
  }
  std::string cluster;
  const ParsedLine parsed = parse_line(command_line(line, cluster));
  if (!parsed.problem.empty()) return refuse(line, parsed.problem, parsed.hints);
  const std::size_t words = cluster.empty() ? 0 : 1;
  if (parsed.arguments.words().size() > words) {
    return refuse(line, fmt::format("`{}` is not an option", parsed.arguments.word(words)),
                  {"a variant consists of options; another cluster file is --cluster FILE"});
  }
  for (const char* option : {"seed", "page", "recording", "output", "file"}) {
    const auto is_it = [&](const std::string& word) { return is_option(word) && name_of(word) == option; };
    if (std::any_of(line.words.begin(), line.words.end(), is_it) ||
        (option[0] != 's' && parsed.arguments.has(option))) {
      return refuse(line, fmt::format("--{} is not an option of a variant", option));
    }
  }
  if (parsed.command == nullptr || parsed.wants_help || parsed.wants_version) {
    return refuse(line, "only options of `weft twin run` can be given");
  }
  std::string messages;
  Io io = context_.io();
  io.write_err = [&](std::string_view text) { messages += text; };
  io.err_is_terminal = false;
  Context context(io, *parsed.command, parsed.arguments);
  auto input = std::make_unique<TwinInput>();
  if (const std::optional<Exit> exit = open_twin(context, *input)) {
    context_.io().write_err(fmt::format("weft {}: variant `{}`:\n{}", context_.command().name, line.name, messages));
    return exit;
  }
  if (!messages.empty() && messages_.insert(messages).second) context_.io().write_err(messages);
  add_notes(line, input->plan.notes);
  variants_.push_back({line.name, input->plan, line.point});
  inputs_.push_back(std::move(input));
  return std::nullopt;
}

void VariantReader::add_notes(const VariantLine& line, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    const auto same = [&](const auto& each) { return each.first == note; };
    auto found = std::find_if(notes_.begin(), notes_.end(), same);
    if (found == notes_.end()) found = notes_.insert(found, {note, {}});
    found->second.push_back(line.name);
  }
}

std::vector<std::string> VariantReader::all_notes() const {
  std::vector<std::string> notes;
  for (const auto& [note, names] : notes_) {
    if (names.size() == variants_.size()) {
      notes.push_back(note);
    } else if (variants_.front().point.empty()) {
      notes.push_back(fmt::format("{}: {}", join(names, ", "), note));
    }
  }
  return notes;
}

Exit VariantReader::run(const std::function<Document(const twin::Comparison&, bool all)>& write) {
  OptionReader reader(context_.arguments());
  const std::optional<std::vector<std::uint64_t>> seeds = read_seed_list(reader, kDefaultSeeds);
  const auto threads = reader.integer("threads", 1, 1'024);
  if (!reader.ok() || !seeds) return context_.usage_error(reader.problem(), {reader.hint()});
  if (variants_.size() * seeds->size() > kMaxRuns) {
    return context_.usage_error(
        fmt::format("{} variants with {} seeds are more than {} runs", variants_.size(), seeds->size(), kMaxRuns));
  }
  const InterruptGuard guard;
  const bool shows = context_.io().err_is_terminal && !context_.quiet();
  twin::CompareHooks hooks;
  hooks.go_on = [] { return !InterruptGuard::interrupted(); };
  hooks.finished = [&](std::size_t done, std::size_t runs) {
    if (shows) context_.io().write_err(fmt::format("\r\x1b[K{} of {} runs", done, runs));
  };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  Result<twin::Comparison> comparison =
      twin::compare(variants_, *seeds, threads ? static_cast<unsigned>(*threads) : cores, hooks);
  if (shows) context_.io().write_err("\r\x1b[K");
  if (!comparison.ok()) {
    if (comparison.error().code != ErrorCode::unavailable) return context_.failed(comparison.error());
    context_.note("interrupted: no result");
    return Exit::partial;
  }
  comparison->notes = all_notes();
  const OutputFormat format = context_.output_format();
  const bool all = format == OutputFormat::json || format == OutputFormat::yaml || format == OutputFormat::ndjson;
  return context_.deliver(write(*comparison, all));
}

std::vector<Option> variant_options() {
  std::vector<Option> options = {{.name = "seeds",
                                  .value = "N|LIST",
                                  .help = "number of seeds, from --seed on, or their comma-separated list",
                                  .fallback = std::to_string(kDefaultSeeds)},
                                 {.name = "threads",
                                  .value = "N",
                                  .help = "runs in parallel; the result does not depend on it",
                                  .fallback = "all cores"}};
  for (const Option& option : twin_input_options()) {
    options.push_back(option);
    if (option.name == "seed") options.back().help = "the first seed";
  }
  for (const Option& option : {output_option(), file_option(), catalog_option()}) options.push_back(option);
  return options;
}

}  // namespace weft::cli
