// HO040 to HO049: placement of pods, their resource requests, and schedulers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/host_range.h"
#include "base/quantity.h"
#include "base/text.h"
#include "check/core/host_rule_tools.h"
#include "check/core/rule_tools.h"
#include "config/host_text.h"
#include "config/kube_objects.h"

namespace weft::check {
namespace {

constexpr std::size_t kManyConstraints = 4;

bool wants_gpu(const config::AppConfig& app) { return count_requested_gpus(app) > 0 && app.kind != "DaemonSet"; }

// Matches a taint "key=value:Effect" with tolerations in the same form.
bool tolerates(const config::AppConfig& app, std::string_view taint) {
  const std::string_view effect = taint.substr(std::min(taint.rfind(':'), taint.size()));
  const std::string_view pair = taint.substr(0, taint.size() - effect.size());
  const std::string_view key = pair.substr(0, pair.find('='));
  for (const config::Setting<std::string>& toleration : app.tolerations) {
    std::string_view text = *toleration;
    const std::size_t colon = text.rfind(':');
    if (colon != std::string_view::npos) {
      if (text.substr(colon) != effect) continue;
      text = text.substr(0, colon);
    }
    if (text == "*" || text == pair || text == key) return true;
  }
  return false;
}

bool tolerates_pool(const config::AppConfig& app, const model::PoolSpec& pool) {
  const std::vector<std::string>& taints = pool.taints.value;
  return std::all_of(taints.begin(), taints.end(), [&](const std::string& taint) {
    return taint.ends_with(":PreferNoSchedule") || tolerates(app, taint);
  });
}

void check_gpu_pod_tolerations(const CheckInput& input, Report& report) {
  if (!input.has_cluster()) return;
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_training(app) && !is_inference(app)) continue;
    if (app.kind == "TrainJob") continue;  // set by its runtime
    const model::PoolSpec* refused = nullptr;
    bool welcome = false;
    for (const model::PoolSpec& pool : input.spec().pools.value) {
      const model::PoolRole role = is_training(app) ? model::PoolRole::training : model::PoolRole::inference;
      if (pool.role.value != role) continue;
      if (tolerates_pool(app, pool)) {
        welcome = true;
      } else {
        refused = &pool;
      }
    }
    if (welcome || refused == nullptr) continue;
    findings.add(app, app.tolerations.empty() ? app.place : app.tolerations.front().place,
                 fmt::format("does not tolerate `{}` of pool `{}`: it is never scheduled there",
                             fmt::join(refused->taints.value, "`, `"), refused->name->text),
                 {related(refused->taints.place, "the pool's taints")});
  }
}

bool names_resource(const config::AppConfig& app, std::string_view name) {
  const auto is = [&](const config::AppConfig::Resource& entry) { return entry.name == name; };
  return std::any_of(app.limits.begin(), app.limits.end(), is) ||
         std::any_of(app.requests.begin(), app.requests.end(), is);
}

void check_gpu_pod_requests(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!wants_gpu(app) || is_batch_script(app)) continue;
    std::vector<std::string> missing;
    for (const char* name : {"cpu", "memory"}) {
      if (!names_resource(app, name)) missing.emplace_back(name);
    }
    if (missing.empty()) continue;
    findings.add(app, app.limits.empty() ? app.place : app.limits.front().amount.place,
                 fmt::format("requests GPUs but no {}", fmt::join(missing, " or ")));
  }
}

void check_gpu_pod_host_names(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!wants_gpu(app)) continue;
    for (const config::Setting<std::string>& constraint : app.constraints) {
      const bool host = (*constraint).starts_with("kubernetes.io/hostname") || (*constraint).starts_with("nodeName=") ||
                        (*constraint).starts_with("metadata.name");
      if (!host || contains(*constraint, " NotIn ")) continue;
      findings.add(app, constraint.place, fmt::format("is pinned to hosts by name ({})", *constraint));
    }
  }
}

void check_gpu_pod_node_constraints(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!wants_gpu(app) || app.constraints.size() < kManyConstraints) continue;
    findings.add(app, app.constraints.front().place,
                 fmt::format("must match {} node constraints at once", app.constraints.size()));
  }
}

void check_gpu_pod_gpu_count(const CheckInput& input, Report& report) {
  if (!input.has_cluster()) return;
  std::int64_t most = 0;
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    const model::ServerModel* server = server_of(input.cluster(), pool);
    if (is_gpu_pool(pool) && server != nullptr) most = std::max(most, server->gpus.value * pool.time_slices.value);
  }
  if (most == 0) return;
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* limit = app.limit("nvidia.com/gpu");
    if (limit == nullptr || !limit->known()) continue;
    const auto amount = parse_integer(**limit);
    if (!amount || *amount <= most) continue;
    findings.add(app, limit->place,
                 fmt::format("requests {} GPUs in one pod; the largest server has {}", *amount, most));
  }
}

void check_container_limit_range(const CheckInput& input, Report& report) {
  const AppsBySpace spaces =
      apps_by_space(input.config(), [](const config::AppConfig& app) { return count_requested_gpus(app) > 0; });
  AppFindings findings(report);
  for (const config::KubeObject& object : input.config().objects) {
    if (object.kind != "LimitRange" || spaces.count(object.space) == 0) continue;
    const YamlNode* limits = object.at("spec.limits");
    if (limits == nullptr) continue;
    for (const YamlNode& range : limits->items) {
      if (config::text_of(range.find("type")) != "Container" || range.find("max") == nullptr) continue;
      for (const YamlEntry& bound : range.find("max")->entries) {
        const auto most = parse_integer(config::text_of(&bound.value));
        if (!most || !contains(bound.key, "/")) continue;
        for (const config::AppConfig* app : spaces.at(object.space)) {
          const config::Setting<std::string>* asked = app->limit(bound.key);
          const auto amount = asked == nullptr ? Result<std::int64_t>(0) : parse_integer(asked->value);
          if (!amount || *amount <= *most) continue;
          findings.add(*app, asked->place,
                       fmt::format("requests {} of `{}`, but LimitRange `{}` allows {} per container", *amount,
                                   bound.key, object.name, *most),
                       {related(bound.value.place, "the limit")});
        }
      }
    }
  }
}

// Hosts with GPUs in slurm.conf, and the line that sets them.
std::map<std::string, SourceLocation> slurm_gpu_hosts(const config::ConfigSet& set) {
  std::map<std::string, SourceLocation> out;
  for (const config::SettingsFile& file : set.settings) {
    if (file.kind != config::SettingsFile::Kind::slurm) continue;
    for (const config::SettingsFile::Entry& entry : file.entries) {
      if (entry.key != "nodename" || !contains(to_lower(entry.value), "gres=gpu")) continue;
      const auto hosts = expand_hosts(entry.value.substr(0, entry.value.find(' ')));
      if (!hosts) continue;
      for (const std::string& host : *hosts) out.emplace(host, entry.place);
    }
  }
  return out;
}

const SourceLocation* slurm_line_for(const CheckInput& input, const std::map<std::string, SourceLocation>& hosts,
                                     const model::PoolSpec& pool) {
  for (const model::DeviceGroup& group : input.cluster().groups()) {
    if (group.kind != model::DeviceKind::server || group.name != pool.name->text) continue;
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto found =
          hosts.find(input.cluster().name_of(static_cast<model::DeviceId>(model::index_of(group.first) + i)));
      if (found != hosts.end()) return &found->second;
    }
  }
  return nullptr;
}

void check_gpu_owners(const CheckInput& input, Report& report) {
  if (!input.has_cluster()) return;
  const std::map<std::string, SourceLocation> hosts = slurm_gpu_hosts(input.config());
  if (hosts.empty()) return;
  AppFindings findings(report);
  for (const model::PoolSpec& pool : input.spec().pools.value) {
    if (!is_gpu_pool(pool) || pool.taints->empty()) continue;
    const SourceLocation* line = slurm_line_for(input, hosts, pool);
    if (line == nullptr) continue;
    for (const config::AppConfig& app : input.config().apps) {
      const bool by_slurm = app.scheduler.known() && contains(*app.scheduler, "slurm");
      if (!wants_gpu(app) || is_batch_script(app) || by_slurm || !tolerates_pool(app, pool)) continue;
      findings.add(
          app, app.scheduler.known() ? app.scheduler.place : app.place,
          fmt::format("is scheduled by Kubernetes on pool `{}`, whose GPUs Slurm allocates too", pool.name->text),
          {related(*line, "Slurm nodes")});
    }
  }
}

}  // namespace

std::vector<Rule> host_placement_rules() {  // NOLINT(readability-function-size): a table
  constexpr auto kConfig = RuleNeeds::config;
  return {
      {.id = "HO040",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a GPU pod does not tolerate its pool's taint",
       .reason = "The scheduler never places it; it remains pending while the pool is idle.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), node pools: taints and tolerations are not optional",
       .fix = "add the toleration",
       .example = {.file = "running/inference.yaml",
                   .from = "value: inference, effect",
                   .to = "value: serving, effect"},
       .run = check_gpu_pod_tolerations},
      {.id = "HO041",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a GPU pod requests no CPU or memory",
       .reason =
           "It shares cores with other pods on the node and is among the first to be killed when memory runs out.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): requests and limits for cpu, memory and GPUs",
       .fix = "set requests and limits for cpu and memory",
       .example = {.file = "running/inference.yaml", .from = "              memory: 32Gi\n", .to = ""},
       .run = check_gpu_pod_requests},
      {.id = "HO042",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a GPU pod is pinned to hosts by name",
       .reason = "When the host fails or is drained, the job cannot move, even if GPUs are free elsewhere.",
       .source = "common practice: label pools, not hosts",
       .fix = "select the pool by its label",
       .example = {.file = "running/train-job.yaml",
                   .from = "            weft.example/pool: train\n",
                   .to = "            kubernetes.io/hostname: train001\n"},
       .run = check_gpu_pod_host_names},
      {.id = "HO043",
       .severity = Severity::note,
       .needs = kConfig,
       .title = "a GPU pod must match many node constraints",
       .reason =
           "Each constraint reduces the set of eligible nodes; free GPUs on other nodes remain idle (fragmentation).",
       .source = "kubernetes-sigs/kueue #4329, #3887: admitted quota that cannot be placed",
       .fix = "remove the constraints that are not required",
       .example = {.file = "running/train-job.yaml",
                   .from = "            weft.example/pool: train\n",
                   .to = "            weft.example/pool: train\n            gpu-model: h100\n            gpu-memory: "
                         "80g\n            disk: nvme\n"},
       .run = check_gpu_pod_node_constraints},
      {.id = "HO044",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a pod requests more GPUs than a server has",
       .reason = "A pod runs on one server: this pod can never be scheduled.",
       .source = "Kubernetes: resources of a pod come from one node",
       .fix = "use several pods",
       .example = {.file = "running/inference.yaml",
                   .from = "              nvidia.com/mig-1g.10gb: \"1\"\n",
                   .to = "              nvidia.com/mig-1g.10gb: \"1\"\n              nvidia.com/gpu: \"64\"\n"},
       .run = check_gpu_pod_gpu_count},
      {.id = "HO045",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a container requests more than its namespace allows",
       .reason = "The API server rejects the pod; the job never starts and reports this only in its events.",
       .source = "Kubernetes LimitRange: max of a container",
       .fix = "request less, or raise the limit",
       .example = {.file = "running/policies.yaml",
                   .from = "max: {nvidia.com/gpu: \"8\"}",
                   .to = "max: {nvidia.com/gpu: \"4\"}"},
       .run = check_container_limit_range},
      {.id = "HO046",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "Kubernetes and Slurm allocate the same GPUs",
       .reason =
           "Neither scheduler sees the other's allocations: two jobs can get the same GPU, and both run out of memory.",
       .source = "Slinky slurm-bridge: one scheduler owns the nodes",
       .fix = "use one scheduler for these nodes, or give each its own nodes",
       .example = {.file = "running/train-job.yaml",
                   .from = "schedulerName: slurm-bridge-scheduler",
                   .to = "schedulerName: default-scheduler"},
       .run = check_gpu_owners},
  };
}

}  // namespace weft::check
