#include "cli/design/goal.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "base/human_format.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/design/design_request.h"
#include "cli/design/generated_file.h"
#include "cli/design/price_file.h"
#include "cli/framework/fault_file.h"
#include "cli/framework/option_reader.h"
#include "cli/framework/progress.h"
#include "cli/framework/seed_list.h"
#include "control/options.h"
#include "explore/build.h"
#include "explore/estimate.h"
#include "explore/page.h"
#include "explore/search.h"
#include "explore/view.h"
#include "model/yaml_file.h"
#include "workload/sweep/edit.h"
#include "workload/training/model_shape.h"

namespace weft::cli {
namespace {

constexpr std::string_view kSearch = "Search for a goal";
constexpr std::int64_t kDefaultSeeds = 3;

class GoalCommand {
 public:
  explicit GoalCommand(Context& context) : context_(context), reader_(context.arguments()) {}

  Exit run() {
    if (const std::optional<Exit> exit = read()) return *exit;
    Result<explore::SearchResult> result = search();
    if (!result.ok()) {
      if (result.error().code != ErrorCode::unavailable) return context_.failed(result.error());
      context_.note("interrupted: no result");
      return Exit::partial;
    }
    if (const std::optional<Exit> exit = write_designs(*result)) return *exit;
    add_notes(*result);
    if (context_.arguments().has("page")) {
      const std::string path = context_.arguments().value("page");
      if (const Status written = write_file(path, explore::search_page(*result)); !written.ok())
        return context_.failed(written.error());
      context_.note(fmt::format("wrote {}", path));
    }
    const OutputFormat format = context_.output_format();
    const bool people = format == OutputFormat::table || format == OutputFormat::wide;
    return context_.deliver(explore::search_document(*result, !people), result->met ? Exit::ok : Exit::findings);
  }

 private:
  std::optional<Exit> read() {
    const Arguments& arguments = context_.arguments();
    for (const char* size : {"gpus", "servers", "power"}) {
      if (!arguments.has(size)) continue;
      return context_.usage_error(
          fmt::format("--goal and --{} are mutually exclusive: the goal decides the size", size),
          {"limit the size with --max-power or --max-cost"});
    }
    const Result<explore::Goal> goal = explore::parse_goal(arguments.value("goal"));
    if (!goal.ok()) return context_.usage_error("--goal: " + goal.error().message);
    question_.goal = *goal;
    if (const std::optional<Exit> exit = read_choices()) return exit;
    if (const std::optional<Exit> exit = read_files()) return exit;
    if (const std::optional<Exit> exit = read_model()) return exit;
    read_numbers();
    if (!reader_.ok()) return context_.usage_error(reader_.problem(), {reader_.hint()});
    return std::nullopt;
  }

  // What the options of a design fix is not searched.
  std::optional<Exit> read_choices() {
    const Arguments& arguments = context_.arguments();
    if (const Status read = read_design_options(context_.command(), arguments, question_.request); !read.ok())
      return context_.usage_error(read.error().text());
    const design::DesignRequest& request = question_.request;
    if (request.inference_percent > 0)
      return context_.usage_error("--inference applies to a design of a given size, not to --goal");
    if (request.profile == model::Profile::split)
      return context_.usage_error("--profile split has no storage at the GPU servers: the goal needs its checkpoints");
    if (arguments.has("network")) question_.networks = {request.network};
    if (arguments.has("oversubscription")) question_.oversubscriptions = {request.oversubscription};
    if (arguments.has("data")) question_.data = {request.data};
    const std::string gpus = arguments.value("gpu");
    if (!arguments.has("gpu")) return std::nullopt;
    for (const std::string_view id : split(gpus, ',')) question_.gpus.emplace_back(trim(id));
    return std::nullopt;
  }

  std::optional<Exit> read_files() {
    loaded_ = context_.open_catalog();
    if (!context_.report(*loaded_)) return Exit::usage;
    loaded_->diagnostics = Diagnostics();
    question_.catalog = loaded_->catalog;
    if (const std::optional<Exit> exit = check_gpus()) return exit;
    const Arguments& arguments = context_.arguments();
    if (arguments.has("prices")) {
      prices_ = read_price_file(*loaded_, arguments.value("prices"));
      if (!context_.report(*loaded_) || !prices_) return Exit::usage;
      loaded_->diagnostics = Diagnostics();
      question_.prices = &*prices_;
    }
    return read_fault_file(context_, *loaded_, question_.faults);
  }

  std::optional<Exit> check_gpus() {
    std::vector<std::string_view> known;
    for (const model::GpuModel& gpu : question_.catalog->gpus()) known.emplace_back(gpu.id->text);
    for (const std::string& id : question_.gpus) {
      if (std::find(known.begin(), known.end(), id) != known.end()) continue;
      const std::string hint = did_you_mean(id, known);
      return context_.usage_error(fmt::format("--gpu: the catalog has no {}", in_backticks(id)),
                                  {hint.empty() ? "`weft catalog list gpus` lists them" : hint});
    }
    if (!question_.request.server.empty()) {
      const model::ServerModel* server = question_.catalog->server(question_.request.server);
      if (server != nullptr && server->gpus.value > 0) question_.gpus = {server->gpu.value};
    }
    if (!question_.gpus.empty()) return std::nullopt;
    for (const std::string_view id : known) {
      const auto& servers = question_.catalog->servers();
      const bool has_server = std::any_of(servers.begin(), servers.end(), [&](const model::ServerModel& server) {
        return server.gpus.value > 0 && server.gpu.value == id;
      });
      if (has_server) question_.gpus.emplace_back(id);
    }
    return std::nullopt;
  }

  // A preset, or a job file whose training section says the rest.
  std::optional<Exit> read_model() {
    const std::string& name = question_.goal.model;
    std::error_code problem;
    if (workload::find_model(name) == nullptr && std::filesystem::exists(name, problem)) {
      const Result<std::string> text = model::read_yaml_file(name);
      if (!text.ok()) return context_.failed(text.error());
      Result<Value> job = workload::read_value(name, *text);
      if (!job.ok()) return context_.failed(job.error());
      question_.job = std::move(job).value();
      const Value* training = question_.job.is_map() ? question_.job.find("training") : nullptr;
      if (training == nullptr || !training->is_map()) {
        return context_.failed({ErrorCode::invalid_input, "the file is not a job file with a training section", name});
      }
    } else {
      question_.job = Value::map({{"job", 1}, {"name", job_name(name)}, {"training", Value::map({{"model", name}})}});
    }
    if (context_.arguments().has("precision")) {
      question_.job["training"].set("precision", context_.arguments().value("precision"));
    }
    const Result<workload::ModelShape> shape = explore::read_shape(question_);
    if (!shape.ok()) return context_.usage_error("--goal: " + shape.error().message);
    return std::nullopt;
  }

  // What is not valid in the name of a job becomes '-': the model's own error comes later.
  static std::string job_name(const std::string& name) {
    std::string text = "train-" + to_lower(name.substr(0, 40));
    for (char& c : text) {
      if (!is_letter_or_digit(c)) c = '-';
    }
    while (text.back() == '-') text.pop_back();
    return text;
  }

  void read_numbers() {
    const Arguments& arguments = context_.arguments();
    if (arguments.has("max-power")) {
      const Result<Power> power = parse_power(arguments.value("max-power"));
      if (power.ok() && power->count() > 0) {
        question_.limits.power = *power;
      } else {
        reader_.bad("max-power", "not a power above 0", "a power such as 5MW");
      }
    }
    if (arguments.has("max-cost")) {
      const Result<Money> cost = parse_money(arguments.value("max-cost"));
      if (cost.ok() && cost->count() > 0) {
        question_.limits.cost = *cost;
      } else {
        reader_.bad("max-cost", "not an amount above 0", "a number such as 250000000, in the currency of --prices");
      }
      if (!arguments.has("prices"))
        reader_.fail("--max-cost needs prices", "give --prices FILE (`weft schema prices`)");
    }
    question_.batch_tokens = reader_.integer("batch-tokens", 1'000, 10'000'000'000);
    question_.spares = reader_.integer("spares", 0, 100'000);
    question_.interval = reader_.time("interval");
    if (question_.interval && question_.interval->count() < 1'000'000'000)
      reader_.bad("interval", "at least one second", "a time such as 30m");
    question_.fault_scale = reader_.real("fault-rate", 0, 1000).value_or(1);
    const double days = reader_.real("days", 0.1, 3660).value_or(30);
    question_.simulated = milliseconds(std::llround(days * 86'400'000));
    if (const auto seeds = read_seed_list(reader_, kDefaultSeeds)) question_.seeds = *seeds;
    const auto threads = reader_.integer("threads", 1, 1'024);
    question_.threads = threads ? static_cast<unsigned>(*threads) : std::max(1U, std::thread::hardware_concurrency());
  }

  Result<explore::SearchResult> search() {
    const InterruptGuard guard;
    const bool shows = context_.io().err_is_terminal && !context_.quiet();
    explore::SearchHooks hooks;
    hooks.go_on = [] { return !InterruptGuard::interrupted(); };
    hooks.progress = [&](const std::string& stage, std::size_t done, std::size_t total) {
      if (shows) context_.io().write_err(fmt::format("\r\x1b[K{}: {} of {}", stage, done, total));
    };
    Result<explore::SearchResult> result = explore::search(question_, hooks);
    if (shows) context_.io().write_err("\r\x1b[K");
    return result;
  }

  // The cluster file and the job file of each design on the front.
  std::optional<Exit> write_designs(const explore::SearchResult& result) {
    if (!context_.arguments().has("designs")) return std::nullopt;
    const std::string folder = context_.arguments().value("designs");
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    if (problem) return context_.failed({ErrorCode::unavailable, problem.message(), folder});
    for (std::size_t i = 0; i < result.front.size(); ++i) {
      const explore::Candidate& candidate = result.candidates[result.front[i]];
      const std::string label = explore::SearchResult::label(i);
      const Result<explore::BuiltCandidate> built = explore::build_candidate(
          question_, candidate.choice, candidate.layout, question_.request.name + "-" + to_lower(label));
      if (!built.ok()) return context_.failed(built.error());
      const std::string base = (std::filesystem::path(folder) / label).string();
      const std::pair<std::string, std::string> files[] = {
          {base + ".cluster.yaml", with_checksum(with_schema(built->cluster_file, std::string(kInstalledSchema)))},
          {base + ".job.yaml", with_checksum(built->job_file)}};
      for (const auto& [path, text] : files) {
        if (const Status free = check_overwrite(path); !free.ok() && !context_.arguments().has("force"))
          return context_.failed(free.error());
        if (const Status written = write_file(path, text); !written.ok()) return context_.failed(written.error());
      }
    }
    return std::nullopt;
  }

  void add_notes(explore::SearchResult& result) const {
    const Arguments& arguments = context_.arguments();
    if (arguments.has("designs") && !result.front.empty()) {
      const std::string base = (std::filesystem::path(arguments.value("designs")) / "A").string();
      std::string more;
      if (arguments.has("faults")) more += " --faults " + arguments.value("faults");
      if (arguments.has("fault-rate")) more += " --fault-rate " + arguments.value("fault-rate");
      const Duration timeout = explore::start_timeout_for(result.candidates[result.front.front()].figures.job);
      if (timeout != control::ControllerOptions().start_timeout) more += " --start-timeout " + to_text(timeout);
      result.notes.push_back(fmt::format(
          "The files of each design are in {}. The same simulation by hand: weft twin run {}.cluster.yaml --job "
          "{}.job.yaml --seed {}{}",
          arguments.value("designs"), base, base, result.seeds.front(), more));
    }
    for (std::size_t i = 0; i < result.front.size(); ++i) {
      const twin::TwinJob& job = result.candidates[result.front[i]].figures.job;
      const Duration timeout = explore::start_timeout_for(job);
      if (timeout == control::ControllerOptions().start_timeout) continue;
      result.notes.push_back(fmt::format("{}: {} pass until all processes run: give weft serve --start-timeout {}",
                                         explore::SearchResult::label(i), format_duration(job.launch),
                                         to_text(timeout)));
    }
    result.notes.push_back(fmt::format(
        "Days are means of {} simulated with failures ({}), at most {} of operation each, extrapolated beyond; power "
        "is "
        "that of the site without cooling. Products in {}; {} per step{}.",
        plural(result.seeds.size(), "run"), result.fault_source.empty() ? "source not named" : result.fault_source,
        format_duration(question_.simulated), precision(), format_tokens(result.batch_tokens) + " tokens",
        question_.batch_tokens ? "" : ", as published runs of such models had; --batch-tokens sets it"));
    result.notes.emplace_back(
        "Steps are timed at fidelity analytic, in which hashing causes no congestion: `weft sim life --fidelity flow` "
        "on "
        "the files of a design tells how much it would.");
  }

  [[nodiscard]] std::string precision() const {
    const Value* training = question_.job.find("training");
    const Value* precision = training == nullptr ? nullptr : training->find("precision");
    return precision != nullptr && precision->is_text() ? precision->text() : "bf16";
  }

  static std::string format_tokens(std::int64_t tokens) { return explore::format_tokens(tokens); }

  Context& context_;
  OptionReader reader_;
  std::unique_ptr<model::Loaded> loaded_;
  std::optional<design::Prices> prices_;
  explore::Question question_;
};

}  // namespace

std::vector<Option> goal_options() {
  std::vector<Option> options = {
      {.name = "goal",
       .value = "GOAL",
       .help = "\"train MODEL on TOKENS tokens in TIME\"; MODEL is a preset (`weft sim models`) or a job file"},
      {.name = "max-power", .value = "POWER", .help = "power limit of the site, without cooling"},
      {.name = "max-cost", .value = "AMOUNT", .help = "cost limit, in the currency of --prices"},
      {.name = "prices",
       .value = "FILE",
       .help = "price file: cost becomes an objective (`weft schema prices`)",
       .hint = Hint::file},
      {.name = "precision",
       .value = "FORMAT",
       .help = "of matrix products [default: that of the job file; bf16]",
       .choices = choices_named(model::Codec<model::Precision>::names())},
      {.name = "batch-tokens",
       .value = "N",
       .help = "tokens per step [default: 4 Mi up to 100 billion parameters, else 16 Mi]"},
      {.name = "spares", .value = "N", .help = "spare servers [default: searched]"},
      {.name = "interval", .value = "TIME", .help = "time between checkpoints [default: searched]"},
      {.name = "faults",
       .value = "FILE",
       .help = "fault file (see `weft schema faults`) [default: built in]",
       .hint = Hint::file},
      {.name = "fault-rate", .value = "FACTOR", .help = "multiplies all failure rates", .fallback = "1"},
      {.name = "days",
       .value = "N",
       .help = "days to simulate at most; longer runs are extrapolated",
       .fallback = "30"},
      {.name = "seeds",
       .value = "N|LIST",
       .help = "number of seeds, from --seed on, or their comma-separated list",
       .fallback = std::to_string(kDefaultSeeds)},
      {.name = "seed", .value = "N", .help = "the first seed", .fallback = "1"},
      {.name = "threads",
       .value = "N",
       .help = "simulations in parallel; the result does not depend on it",
       .fallback = "all cores"},
      {.name = "page", .value = "FILE", .help = "write a self-contained web page", .hint = Hint::file},
      {.name = "designs",
       .value = "FOLDER",
       .help = "write the cluster file and the job file of each design on the front",
       .hint = Hint::file},
      output_option()};
  for (Option& option : options) option.section = kSearch;
  return options;
}

Exit run_goal(Context& context) { return GoalCommand(context).run(); }

}  // namespace weft::cli
