#include "cli/sim/life_input.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/yaml.h"
#include "cli/sim/options.h"
#include "model/yaml_file.h"

namespace weft::cli {
namespace {

bool read_job_text(const std::string& path, std::string text, LifeInput& input) {
  input.job = read_training_job(path, std::move(text), *input.loaded);
  return input.job.has_value();
}

void read_life_figures(OptionReader& reader, workload::LifeOptions& options) {
  if (const auto count = reader.integer("iterations", 1, 10'000'000)) {
    options.iterations = static_cast<std::uint64_t>(*count);
  }
  const std::string memory = reader.arguments().value("memory");
  if (memory == "refuse") options.memory = workload::MemoryCheck::refuse;
  if (memory == "ignore") options.memory = workload::MemoryCheck::ignore;
  if (const auto share = reader.real("image-cached", 0, 1)) options.image_cached = *share;
}

}  // namespace

std::optional<model::JobSpec> read_training_job(const std::string& path, std::string text, model::Loaded& loaded) {
  const FileId file = loaded.sources.add(path, std::move(text));
  const std::optional<YamlNode> root = parse_yaml(loaded.sources, file, loaded.diagnostics);
  if (!root) return std::nullopt;
  std::optional<model::JobSpec> job = model::read_job(*root, loaded.diagnostics);
  if (!job || loaded.cluster == nullptr) return std::nullopt;
  if (!job->training.has_value()) {
    loaded.diagnostics.error(job->place, "the job has no `training` section",
                             "add `training: {model: llama-3.1-8b}`; `weft sim models` lists the models");
    return std::nullopt;
  }
  model::resolve(*job, *loaded.cluster, loaded.diagnostics);
  if (loaded.diagnostics.has_errors()) return std::nullopt;
  return job;
}

std::vector<Option> backend_run_options(const std::string& fidelity) {
  std::vector<Option> options = sim_run_options(fidelity);
  for (const std::vector<Option>& more : {sim_detail_options(), sim_fault_options()}) {
    options.insert(options.end(), more.begin(), more.end());
  }
  return options;
}

std::vector<Option> life_run_options() {
  std::vector<Option> options = backend_run_options("flow up to 4,096 GPUs, else analytic");
  options.push_back(
      {.name = "iterations", .value = "N", .help = "iterations for the tail of the step time", .fallback = "1000"});
  options.push_back({.name = "memory",
                     .value = "MODE",
                     .help = "what to do if GPU memory may not suffice",
                     .fallback = "warn",
                     .choices = choices_named({"warn", "refuse", "ignore"})});
  options.push_back({.name = "image-cached",
                     .value = "SHARE",
                     .help = "share of servers that already have the container image, 0 to 1",
                     .fallback = "0"});
  return options;
}

std::optional<Exit> open_life(Context& context, const std::string& cluster, const std::string& job, LifeInput& input) {
  input.loaded = context.open_cluster(cluster);
  if (input.loaded->cluster == nullptr) {
    (void)context.report(*input.loaded);
    return Exit::usage;
  }
  Result<std::string> text = model::read_yaml_file(job);
  if (!text.ok()) return context.failed(text.error());
  const bool usable = read_job_text(job, std::move(*text), input);
  if (!context.report(*input.loaded) || !usable) return Exit::usage;
  input.loaded->diagnostics = {};  // already printed
  return std::nullopt;
}

bool read_life_texts(const std::string& cluster_path, std::string cluster_text, const std::string& job_path,
                     std::string job_text, const std::vector<std::string>& catalogs, LifeInput& input) {
  input.loaded = model::load_cluster_text(cluster_path, std::move(cluster_text), catalogs);
  if (input.loaded->cluster == nullptr) return false;
  return read_job_text(job_path, std::move(job_text), input);
}

void read_life_options(OptionReader& reader, const model::Cluster& cluster, LifeRequest& request) {
  read_backend_options(reader, cluster, request);
  read_life_figures(reader, request.options);
}

void read_backend_options(OptionReader& reader, const model::Cluster& cluster, LifeRequest& request) {
  SimSetup setup;
  apply_cluster(cluster, model::FabricKind::backend, setup);
  read_sim_options(reader, netsim::Fidelity::flow, setup);
  workload::LifeOptions& options = request.options;
  request.fidelities = setup.fidelities;
  if (reader.arguments().value("fidelity").empty() && cluster.gpu_count() > 4'096) {
    request.fidelities = {netsim::Fidelity::analytic};
  }
  options.simulation = setup.options;
  options.routing = setup.routing;
  options.queue_pairs = setup.queue_pairs;
  options.seed = setup.options.seed;
  options.tcp = setup.options.classes.front().transport.kind == netsim::Transport::tcp;
  const auto given = [&](const char* option) { return !reader.arguments().values(option).empty(); };
  if (!given("fail") && !given("restore") && !given("errors") && !given("link-mtu") && !given("slow") &&
      !given("storm"))
    return;
  options.faults = [&arguments = reader.arguments()](netsim::Network& network,
                                                     netsim::SimOptions& simulation) -> Status {
    OptionReader faults(arguments);
    read_sim_faults(faults, network, simulation);
    if (faults.ok()) return {};
    return Error{ErrorCode::invalid_input, faults.problem(), {}};
  };
}

std::optional<workload::LifeResult> play_with_progress(Context& context, LifeInput& input,
                                                       const workload::LifeOptions& options) {
  workload::LifeOptions run = options;
  const bool show = context.io().err_is_terminal && !context.quiet();
  if (show) {
    run.progress = [&](const std::string& what) {
      context.io().write_err(fmt::format("\r\x1b[K{}: {} ...", to_text(options.fidelity), what));
    };
  }
  std::optional<workload::LifeResult> life =
      workload::play_life(*input.loaded->cluster, *input.job, run, input.loaded->diagnostics);
  if (show) context.io().write_err("\r\x1b[K");
  if (!life || input.loaded->diagnostics.warning_count() > 0) (void)context.report(*input.loaded);
  input.loaded->diagnostics = {};  // already printed
  return life;
}

}  // namespace weft::cli
