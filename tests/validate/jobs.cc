#include "jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/test_places.h"
#include "cli/framework/run.h"

namespace weft::validation {
namespace {

namespace ps = workload::published_steps;

struct Server {
  const char* gpu;
  const char* id;
  std::int64_t gpus;
  const char* leaf;
  const char* network = "infiniband";
};
constexpr Server kServers[] = {
    {"a100-sxm", "dgx-a100", 8, "qm8700"},      {"h100-sxm", "dgx-h100", 8, "qm9700"},
    {"h200-sxm", "dgx-h200", 8, "qm9700"},      {"b200-sxm", "dgx-b200", 8, "qm9700"},
    {"gb200", "gb200-nvl72-tray", 4, "qm9700"}, {"mi300x", "mi300x-platform", 8, "sn5600", "ethernet"}};

const Server& server_of(const std::string& gpu) {
  for (const Server& server : kServers) {
    if (gpu == server.gpu) return server;
  }
  CHECK(false, "a server with the GPU of every published table");
  return kServers[0];
}

// The copper of out-of-band ports does not reach central leaves from the far racks of more servers.
constexpr std::int64_t kCentralServers = 256;

std::string cluster_text(const Server& server, std::int64_t servers) {
  return fmt::format(
      "weft: 1\nname: published\nprofile: converged\n{}pools:\n"
      "  - {{name: train, role: training, server: {}, count: {}}}\n"
      "fabrics:\n  backend: {{network: {}, leaf: {}, wiring: rail-optimized, oversubscription: 1:1}}\n"
      "  frontend: {{subnets: [10.20.0.0/16]}}\n",
      servers > kCentralServers ? "site: {row_length: 56, switches: row}\n" : "", server.id, servers, server.network,
      server.leaf);
}

// The built-in GPUs with changes to one of them.
std::string catalog_text(const std::string& gpu, const std::vector<std::string>& changes) {
  const Result<std::string> text = read_file(source_dir() + "/catalog/gpus.yaml");
  CHECK(text.ok(), "catalog/gpus.yaml is there");
  std::string result = text.value();
  const std::size_t item = result.find(fmt::format("  - id: {}\n", gpu));
  CHECK(item != std::string::npos, "the catalog has the GPU of every published table");
  for (const std::string& change : changes) {
    if (change.starts_with("power=")) {
      const std::size_t line = result.find("\n    tdp: ", item);
      CHECK(line != std::string::npos, "a GPU has a thermal design power");
      const std::size_t at = line + 1;
      result.insert(at, fmt::format("    power_limit: {}W\n", change.substr(6)));
      continue;
    }
    const bool memory = change.starts_with("memory=");
    const std::string key = memory ? "    memory: " : "    memory_bandwidth: ";
    const std::size_t at = result.find(key, item);
    CHECK(at != std::string::npos, "a GPU has memory");
    const std::string value = change.substr(change.find('=') + 1) + (memory ? "GB" : "TB/s");
    result.replace(at, result.find('\n', at) - at, key + value);
  }
  // MIG profiles are those of the original memory.
  const std::size_t mig = result.find("    mig:\n", item);
  std::size_t end = mig + 9;
  while (result.compare(end, 8, "      - ") == 0) end = result.find('\n', end) + 1;
  result.erase(mig, end - mig);
  return result;
}

// "positions=1" of a table is "learned_positions: true" of a job file.
std::string dimension(const std::string& word) {
  const std::size_t equals = word.find('=');
  std::string key = word.substr(0, equals);
  std::string value = word.substr(equals + 1);
  if (key == "positions") key = "learned_positions";
  if (key == "gated" || key == "tied" || key == "learned_positions") value = value == "1" ? "true" : "false";
  return fmt::format("{}: {}", key, value);
}

std::string model_of(const workload::PublishedStep& row) {
  const std::vector<std::string> words = ps::split(row.model, ' ');
  std::string text;
  if (workload::find_model(words.front()) != nullptr) text += fmt::format("  model: {}\n", words.front());
  text += fmt::format("  dimensions: {{layers: {}", row.plan.shape.layers);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].starts_with("layers=")) text += ", " + dimension(words[i]);
  }
  return text + "}\n";
}

std::string options_of(const std::string& options) {
  std::string text;
  for (const auto& [word, line] : {std::pair("fp8", "precision: fp8"),
                                   {"selective", "recompute: selective"},
                                   {"full", "recompute: full"},
                                   {"no-flash", "attention_kernel: unfused"},
                                   {"cudnn", "attention_kernel: cudnn"},
                                   {"no-dropout", "dropout: false"},
                                   {"bf16-gradients", "fp32_gradients: false"},
                                   {"compiled", "framework: compiled"},
                                   {"eager", "framework: eager"},
                                   {"jax", "framework: jax"},
                                   {"fsdp", "sharding: parameters"},
                                   {"bf16-optimizer", "bf16_optimizer: true"},
                                   {"all-to-all", "experts: {dispatch: all-to-all}"}}) {
    if (ps::has(options, word)) text += fmt::format("  {}\n", line);
  }
  std::string overlap;
  if (ps::has(options, "no-tensor-overlap")) overlap += "tensor: false";
  if (ps::has(options, "no-data-overlap")) overlap += std::string(overlap.empty() ? "" : ", ") + "data: false";
  if (ps::has(options, "expert-overlap")) overlap += std::string(overlap.empty() ? "" : ", ") + "expert: true";
  if (!overlap.empty()) text += fmt::format("  overlap: {{{}}}\n", overlap);
  return text;
}

}  // namespace

std::string training_of(const workload::PublishedSteps& table, const workload::PublishedStep& row) {
  const workload::TrainingPlan& plan = row.plan;
  std::string parallel = fmt::format("tensor: {}, pipeline: {}, interleave: {}, context: {}, expert: {}", plan.tensor,
                                     plan.pipeline, plan.interleave, plan.context, plan.expert);
  if (plan.shape.mixture()) parallel += fmt::format(", expert_tensor: {}", plan.expert_tensor);
  if (ps::has(table.options, "no-sequence")) parallel += ", sequence: false";
  if (plan.replicate > 1) parallel += fmt::format(", replicate: {}", plan.replicate);
  return model_of(row) +
         fmt::format("  sequence: {}\n  global_batch: {}\n  micro_batch: {}\n  parallel: {{{}}}\n", plan.sequence,
                     plan.global_batch, plan.micro_batch, parallel) +
         options_of(table.options);
}

JobRunner::JobRunner()
    : folder_((std::filesystem::temp_directory_path() / fmt::format("weft_validate.{}", ::getpid())).string()) {
  std::filesystem::create_directories(folder_);
}

JobRunner::~JobRunner() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

JobRun JobRunner::run(const std::string& gpu, std::int64_t gpus, const std::string& training) {
  const std::string same = fmt::format("{}, {} GPUs\n{}", gpu, gpus, training);
  if (const auto found = known_.find(same); found != known_.end()) return found->second;
  const std::vector<std::string> words = ps::split(gpu, ' ');
  const Server& server = server_of(words.front());
  const std::int64_t per_node = std::min(gpus, server.gpus);
  const auto write = [&](const char* name, const std::string& text) {
    std::string path = folder_ + "/" + name;
    CHECK(write_file(path, text).ok(), "a file in the temporary folder");
    return path;
  };
  std::vector<std::string> command{
      "sim",
      "life",
      write("cluster.yaml", cluster_text(server, gpus / per_node)),
      write("job.yaml", fmt::format("job: 1\nname: published\npool: train\nnodes: {}\ngpus_per_node: {}\n"
                                    "command: [train.py]\ntraining:\n{}",
                                    gpus / per_node, per_node, training)),
      "--no-what-if",
      "-o",
      "json"};
  if (words.size() > 1) {
    command.emplace_back("--catalog");
    command.push_back(write("catalog.yaml", catalog_text(words.front(), {words.begin() + 1, words.end()})));
  }
  JobRun run;
  std::string output;
  cli::Io io;
  io.write_out = [&](std::string_view text) {
    output += text;
    return Status{};
  };
  io.write_err = [&](std::string_view text) { run.messages += text; };
  io.environment = [](const char*) { return std::string(); };
  io.today = [] { return std::string("2026-01-01"); };
  run.refused = cli::run_weft(command, io) != cli::Exit::ok;
  run.warned = run.messages.find("may be out of memory") != std::string::npos;
  if (run.refused) return known_[same] = run;
  const nlohmann::json life = nlohmann::json::parse(output);
  run.seconds = life["figures"]["step_s"].get<double>();
  for (const nlohmann::json& part : life["memory"]) {
    if (part["part"] == "total") run.memory = part["bytes"].get<double>();
  }
  return known_[same] = run;
}

}  // namespace weft::validation
