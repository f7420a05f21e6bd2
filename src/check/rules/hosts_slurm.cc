// HO080 to HO099: Slurm configuration and batch scripts.
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

namespace weft::check {
namespace {

constexpr std::size_t kManyFeatures = 3;

bool asks_for_gpus(const config::AppConfig& app) {
  if (!is_batch_script(app)) return false;
  return std::any_of(app.limits.begin(), app.limits.end(), [](const config::AppConfig::Resource& limit) {
    return limit.name != "--gres" || contains(*limit.amount, "gpu");
  });
}

// Calls `see` for each slurm.conf that is more than a short include file.
template <class See>
void each_slurm(const CheckInput& input, See see) {
  for (const config::SettingsFile& file : input.config().settings) {
    if (file.kind == config::SettingsFile::Kind::slurm && file.find("clustername") != nullptr) see(file);
  }
}

const config::SettingsFile::Entry* gpu_nodes(const config::SettingsFile& file) {
  for (const config::SettingsFile::Entry& entry : file.entries) {
    if (entry.key == "nodename" && contains(to_lower(entry.value), "gres=gpu")) return &entry;
  }
  return nullptr;
}

SourceLocation top_of(const config::SettingsFile& file) {
  const config::SettingsFile::Entry* name = file.find("clustername");
  return name == nullptr ? SourceLocation{file.file, 1, 1} : name->place;
}

void check_batch_script_hosts(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* option = is_batch_script(app) ? batch_option(app, "--nodelist") : nullptr;
    if (option == nullptr) continue;
    findings.add(app, option->place, fmt::format("is pinned to hosts (`{}`)", **option));
  }
}

void check_batch_script_feature_count(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* option = is_batch_script(app) ? batch_option(app, "--constraint") : nullptr;
    if (option == nullptr) continue;
    const auto features = 1 + static_cast<std::size_t>(std::count(option->value.begin(), option->value.end(), '&'));
    if (features < kManyFeatures) continue;
    findings.add(app, option->place, fmt::format("requires nodes with {} features (`{}`)", features, **option));
  }
}

void check_batch_script_features_exist(const CheckInput& input, Report& report) {
  std::set<std::string> features;
  bool any = false;
  each_slurm(input, [&](const config::SettingsFile& file) {
    for (const config::SettingsFile::Entry& entry : file.entries) {
      if (entry.key != "nodename") continue;
      any = true;
      for (const std::string_view word : split_at_spaces(entry.value, kLineSpaces)) {
        const std::size_t equals = std::min(word.find('='), word.size() - 1);
        const std::string key = to_lower(word.substr(0, equals));
        if (key != "features" && key != "feature") continue;
        for (const std::string_view feature : split(word.substr(equals + 1), ',')) features.emplace(feature);
      }
    }
  });
  if (!any) return;
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* option = is_batch_script(app) ? batch_option(app, "--constraint") : nullptr;
    if (option == nullptr || option->value.find_first_of("|[]()*!") != std::string::npos) continue;
    const std::size_t equals = std::min(option->value.find('='), option->value.size() - 1);
    for (const std::string_view feature : split(std::string_view(**option).substr(equals + 1), '&')) {
      if (feature.empty() || features.count(std::string(feature)) > 0) continue;
      findings.add(app, option->place,
                   fmt::format("requires the feature `{}`, which no node of slurm.conf has", feature));
    }
  }
}

void check_gpu_task_binding(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!asks_for_gpus(app) || batch_option(app, "--gpu-bind") != nullptr ||
        batch_option(app, "--tres-bind") != nullptr) {
      continue;
    }
    // A launcher that starts one process for all GPUs of a node binds them itself.
    const bool elsewhere =
        std::any_of(app.commands.begin(), app.commands.end(), [](const config::Setting<std::string>& command) {
          return contains(*command, "--gpu-bind") || contains(*command, "torchrun") ||
                 contains(*command, "accelerate") || contains(*command, "deepspeed") ||
                 contains(*command, "--tres-bind");
        });
    const config::Setting<std::string>* tasks = batch_option(app, "--ntasks-per-node");
    if (elsewhere || tasks == nullptr || tasks->value == "--ntasks-per-node=1") continue;
    findings.add(app, app.commands.empty() ? tasks->place : app.commands.front().place,
                 "starts several tasks per node without binding each to its GPU");
  }
}

void check_batch_job_requeue(const CheckInput& input, Report& report) {
  bool off = false;
  SourceLocation where;
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* entry = file.find("jobrequeue");
    if (entry == nullptr || entry->value != "0") return;
    off = true;
    where = entry->place;
  });
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!asks_for_gpus(app)) continue;
    if (const config::Setting<std::string>* no = batch_option(app, "--no-requeue")) {
      findings.add(app, no->place, "is not requeued when a node fails");
    } else if (off && batch_option(app, "--requeue") == nullptr) {
      findings.add(app, app.place, "is not requeued when a node fails", {related(where, "JobRequeue=0")});
    }
  }
}

void check_slurm_select_type(const CheckInput& input, Report& report) {
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* type = file.find("selecttype");
    if (type == nullptr || type->value == "select/cons_tres" || gpu_nodes(file) == nullptr) return;
    report.add("slurm.conf", type->place, fmt::format("`{}` allocates whole nodes or ignores GPUs", type->value));
  });
}

void check_slurm_gres_types(const CheckInput& input, Report& report) {
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* nodes = gpu_nodes(file);
    const config::SettingsFile::Entry* types = file.find("grestypes");
    if (nodes == nullptr || (types != nullptr && contains(types->value, "gpu"))) return;
    Finding& finding = report.add("slurm.conf", types == nullptr ? nodes->place : types->place,
                                  "nodes have GPUs, but GresTypes does not include gpu");
    if (types != nullptr) finding.related.push_back(related(nodes->place, "nodes with Gres=gpu"));
  });
}

void check_slurm_topology(const CheckInput& input, Report& report) {
  if (input.has_cluster() && input.cluster().fabric(model::FabricKind::backend).leaves < 2) return;
  each_slurm(input, [&](const config::SettingsFile& file) {
    if (gpu_nodes(file) == nullptr) return;
    const config::SettingsFile::Entry* plugin = file.find("topologyplugin");
    if (plugin != nullptr && !contains(plugin->value, "default") && !contains(plugin->value, "none") &&
        !contains(plugin->value, "flat")) {
      return;
    }
    report.add("slurm.conf", plugin == nullptr ? top_of(file) : plugin->place,
               "Slurm has no topology plugin: jobs are spread over leaves at random");
  });
}

void check_slurm_rest_tokens(const CheckInput& input, Report& report) {
  if (!input.has_cluster() || input.spec().security->slurm_rest.value != model::RestAuth::jwt) return;
  if (!input.spec().security->slurm_rest.place.known()) return;  // the cluster file does not mention the REST API
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* types = file.find("authalttypes");
    if (types != nullptr && contains(types->value, "auth/jwt")) return;
    Finding& finding = report.add("slurm.conf", types == nullptr ? top_of(file) : types->place,
                                  "slurmrestd is configured for tokens, but slurm.conf has no auth/jwt");
    finding.related.push_back(related(input.spec().security->slurm_rest.place, "slurm_rest: jwt"));
  });
}

void check_slurm_authentication(const CheckInput& input, Report& report) {
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* type = file.find("authtype");
    if (type == nullptr || type->value != "auth/none") return;
    report.add("slurm.conf", type->place, "AuthType is auth/none: Slurm accepts any caller as any user");
  });
}

void check_slurm_preemption(const CheckInput& input, Report& report) {
  if (!input.has_cluster() || input.spec().priorities->size() < 2) return;
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* type = file.find("preempttype");
    if (type != nullptr && type->value != "preempt/none") return;
    Finding& finding = report.add("slurm.conf", type == nullptr ? top_of(file) : type->place,
                                  "the cluster file declares priorities, but preemption is disabled in Slurm");
    finding.related.push_back(related(input.spec().priorities.place, "the priorities"));
  });
}

void check_slurm_account_limits(const CheckInput& input, Report& report) {
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* storage = file.find("accountingstoragetype");
    const bool accounts = storage != nullptr && contains(storage->value, "slurmdbd");
    const bool quotas = input.has_cluster() && !input.spec().tenants->empty();
    if (!accounts && !quotas) return;
    const config::SettingsFile::Entry* enforce = file.find("accountingstorageenforce");
    const std::string value = enforce == nullptr ? std::string() : to_lower(enforce->value);
    if (contains(value, "limits") || contains(value, "safe") || value == "all" || value == "1") return;
    Finding& finding = report.add("slurm.conf", enforce == nullptr ? top_of(file) : enforce->place,
                                  "account limits are stored but not enforced");
    if (quotas) finding.related.push_back(related(input.spec().tenants.place, "the tenants' quotas"));
  });
}

void check_slurm_device_cgroup(const CheckInput& input, Report& report) {
  for (const config::SettingsFile& file : input.config().settings) {
    if (file.kind != config::SettingsFile::Kind::cgroup) continue;
    const config::SettingsFile::Entry* entry = file.find("constraindevices");
    if (entry != nullptr && to_lower(entry->value) == "yes") continue;
    report.add("cgroup.conf", entry == nullptr ? SourceLocation{file.file, 1, 1} : entry->place,
               "jobs can access every GPU of a node, not only their own");
  }
}

// "gpu:1g.10gb:56": MIG instances, of which there are more than GPUs.
bool is_instance(std::string_view gres) {
  const std::size_t first = gres.find(':');
  const std::size_t last = gres.find_last_of(':');
  if (first == last) return false;
  const std::string_view type = gres.substr(first + 1, last - first - 1);
  return type.size() > 4 && type.front() >= '1' && type.front() <= '9' && type.substr(1).starts_with("g.") &&
         contains(type, "gb");
}

// The count in "gpu:h100:8", "gpu:8" or, with several types, "gpu:h100:4,gpu:a100:4"; nullopt for anything else.
std::optional<std::int64_t> gpus_in(std::string_view gres) {
  std::optional<std::int64_t> all;
  for (const std::string_view one : split(gres, ',')) {
    if (!one.starts_with("gpu:")) continue;
    if (is_instance(one)) return std::nullopt;
    std::string_view last = one.substr(one.find_last_of(':') + 1);
    last = last.substr(0, last.find('('));
    if (const auto count = parse_integer(last)) all = all.value_or(0) + std::clamp<std::int64_t>(*count, 0, 4096);
  }
  return all;
}

// Hosts of a NodeName line whose GPU count differs from the cluster's, and hosts that are not in the cluster.
struct NodeMismatch {
  std::vector<std::string> other;
  std::vector<std::string> absent;
  std::int64_t has = 0;
};

NodeMismatch compare_nodes(const model::Cluster& cluster, const std::vector<std::string>& hosts, std::int64_t gpus) {
  NodeMismatch out;
  for (const std::string& host : hosts) {
    const model::DeviceId id = cluster.find_device(host);
    if (id == model::kNone<model::DeviceId> || cluster.group_of(id).kind != model::DeviceKind::server) {
      out.absent.push_back(host);
    } else if (const std::int64_t has = cluster.server_of(id).gpus.value; has != gpus) {
      out.has = has;
      out.other.push_back(host);
    }
  }
  return out;
}

template <class See>
void each_gpu_line(const CheckInput& input, See see) {
  if (!input.has_cluster()) return;
  each_slurm(input, [&](const config::SettingsFile& file) {
    std::optional<std::int64_t> usual;  // NodeName=DEFAULT applies to the lines after it
    for (const config::SettingsFile::Entry& entry : file.entries) {
      if (entry.key != "nodename") continue;
      const auto words = split_at_spaces(entry.value, kLineSpaces);
      if (words.empty()) continue;
      std::optional<std::int64_t> gpus = usual;
      for (const std::string_view word : words) {
        if (to_lower(word).starts_with("gres=")) gpus = gpus_in(word.substr(5));
      }
      if (to_lower(words.front()) == "default") {
        usual = gpus;
        continue;
      }
      if (!gpus) continue;
      const auto hosts = expand_hosts(std::string(words.front()));
      if (hosts) see(entry, *gpus, compare_nodes(input.cluster(), *hosts, *gpus));
    }
  });
}

void check_slurm_gpu_count(const CheckInput& input, Report& report) {
  each_gpu_line(input, [&](const config::SettingsFile::Entry& entry, std::int64_t gpus, const NodeMismatch& found) {
    if (found.other.empty()) return;
    const std::string hosts = fold_hosts(found.other);
    report.add(hosts, entry.place, fmt::format("Slurm configures {} GPUs on {}, which has {}", gpus, hosts, found.has));
  });
}

void check_slurm_node_names(const CheckInput& input, Report& report) {
  each_gpu_line(input, [&](const config::SettingsFile::Entry& entry, std::int64_t, const NodeMismatch& found) {
    if (found.absent.empty()) return;
    const std::string hosts = fold_hosts(found.absent);
    report.add(hosts, entry.place, fmt::format("Slurm configures node {}, which is not in the cluster", hosts));
  });
}

}  // namespace

std::vector<Rule> host_slurm_rules() {  // NOLINT(readability-function-size): a table
  constexpr auto kConfig = RuleNeeds::config;
  return {
      {.id = "HO080",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a batch script is pinned to hosts",
       .reason = "It waits for these hosts while others are free, and cannot run when one of them fails.",
       .source = "Slurm sbatch(1), --nodelist",
       .fix = "remove `--nodelist`",
       .example = {.file = "running/train.sbatch",
                   .from = "#SBATCH --requeue",
                   .to = "#SBATCH --nodelist=train[001-008]\n#SBATCH --requeue"},
       .run = check_batch_script_hosts},
      {.id = "HO081",
       .severity = Severity::note,
       .needs = kConfig,
       .title = "a batch script requires many features",
       .reason = "Each feature reduces the set of eligible nodes; free GPUs on other nodes remain idle.",
       .source = "Slurm sbatch(1), --constraint",
       .fix = "remove the features that are not required",
       .example = {.file = "running/train.sbatch", .from = "--constraint=h100", .to = "--constraint=h100&nvme&rail8"},
       .run = check_batch_script_feature_count},
      {.id = "HO082",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a batch script requires a feature that no node has",
       .reason = "The job is rejected or remains pending.",
       .source = "Slurm slurm.conf(5), Features",
       .fix = "correct the feature",
       .example = {.file = "running/train.sbatch", .from = "--constraint=h100", .to = "--constraint=h200"},
       .run = check_batch_script_features_exist},
      {.id = "HO083",
       .severity = Severity::note,
       .needs = kConfig,
       .title = "tasks are not bound to GPUs",
       .reason = "Without binding, a rank may use a GPU whose NIC is on the other socket, and every byte crosses the "
                 "socket link.",
       .source = "Slurm sbatch(1), --gpu-bind",
       .fix = "add `--gpu-bind=closest`",
       .example = {.file = "running/train.sbatch", .from = "srun --gpu-bind=closest ", .to = "srun "},
       .run = check_gpu_task_binding},
      {.id = "HO084",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a batch job is not requeued after a failure",
       .reason = "At scale a node fails every few hours: the job ends and must be restarted manually.",
       .source =
           "Slurm sbatch(1), --requeue; Building Enterprise AI Infrastructure (Pabba, 2026), training job resiliency",
       .fix = "add `--requeue` and resume from a checkpoint",
       .example = {.file = "running/train.sbatch", .from = "#SBATCH --requeue", .to = "#SBATCH --no-requeue"},
       .run = check_batch_job_requeue},
      {.id = "HO085",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "Slurm does not schedule GPUs",
       .reason = "Only select/cons_tres accounts for GPUs; other plugins allocate whole nodes or ignore GPUs.",
       .source = "Slurm generic resource scheduling: cons_tres",
       .fix = "set `SelectType=select/cons_tres`",
       .example = {.file = "running/slurm.conf",
                   .from = "SelectType=select/cons_tres",
                   .to = "SelectType=select/linear"},
       .run = check_slurm_select_type},
      {.id = "HO086",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "GresTypes does not include gpu",
       .reason = "Nodes with an unknown generic resource are drained.",
       .source = "Slurm slurm.conf(5), GresTypes",
       .fix = "set `GresTypes=gpu`",
       .example = {.file = "running/slurm.conf", .from = "GresTypes=gpu\n", .to = ""},
       .run = check_slurm_gres_types},
      {.id = "HO087",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "Slurm has no topology plugin",
       .reason = "Ranks of one job are spread over many leaves, and collectives cross the spines unnecessarily.",
       .source = "Slurm topology guide; nebius/soperator #2585",
       .fix = "set `TopologyPlugin=topology/tree` or `topology/block`",
       .example = {.file = "running/slurm.conf",
                   .from = "TopologyPlugin=topology/tree",
                   .to = "TopologyPlugin=topology/default"},
       .run = check_slurm_topology},
      {.id = "HO088",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "the Slurm REST API cannot verify tokens",
       .reason = "Without auth/jwt, slurmrestd runs all requests as the user it was started by.",
       .source = "How to Build an AI Cluster That Won't Burn Down (Undercode), Slurm: AuthAltTypes=auth/jwt",
       .fix = "set `AuthAltTypes=auth/jwt` and its key",
       .example = {.file = "running/slurm.conf", .from = "AuthAltTypes=auth/jwt\n", .to = ""},
       .run = check_slurm_rest_tokens},
      {.id = "HO089",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "Slurm authentication is disabled",
       .reason = "Anyone who can reach the controller can submit jobs as any user, including root.",
       .source = "Slurm slurm.conf(5), AuthType",
       .fix = "set `AuthType=auth/munge` or `auth/slurm`",
       .example = {.file = "running/slurm.conf", .from = "AuthType=auth/munge", .to = "AuthType=auth/none"},
       .run = check_slurm_authentication},
      {.id = "HO090",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "Slurm preemption is disabled",
       .reason = "Urgent jobs wait behind batch jobs of days, regardless of priority.",
       .source = "Slurm preemption",
       .fix = "set `PreemptType`",
       .example = {.file = "running/slurm.conf",
                   .from = "PreemptType=preempt/partition_prio",
                   .to = "PreemptType=preempt/none"},
       .run = check_slurm_preemption},
      {.id = "HO091",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "account limits are not enforced",
       .reason = "Quotas in the database have no effect: one team can use all GPUs.",
       .source = "Slurm slurm.conf(5), AccountingStorageEnforce",
       .fix = "set `AccountingStorageEnforce=associations,limits,qos`",
       .example = {.file = "running/slurm.conf",
                   .from = "AccountingStorageEnforce=associations,limits,qos",
                   .to = "AccountingStorageEnforce=associations"},
       .run = check_slurm_account_limits},
      {.id = "HO092",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "jobs can access GPUs that are not allocated to them",
       .reason = "Two jobs on a node select the same GPU 0, and tenants can read each other's GPU memory.",
       .source = "Slurm cgroup.conf(5), ConstrainDevices",
       .fix = "set `ConstrainDevices=yes`",
       .example = {.file = "running/cgroup.conf", .from = "ConstrainDevices=yes", .to = "ConstrainDevices=no"},
       .run = check_slurm_device_cgroup},
      {.id = "HO093",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "Slurm configures a different number of GPUs than the server has",
       .reason = "If more are configured than exist, nodes are set invalid; if fewer, the rest are idle.",
       .source = "Slurm slurm.conf(5), Gres; NVIDIA/aicr #1858",
       .fix = "set the number of GPUs of the server",
       .example = {.file = "running/slurm.conf", .from = "Gres=gpu:h100:8", .to = "Gres=gpu:h100:4"},
       .run = check_slurm_gpu_count},
      {.id = "HO094",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "Slurm configures hosts that are not in the cluster",
       .reason = "Jobs are placed on names that do not resolve; the controller waits for nodes that never respond.",
       .source = "Slurm slurm.conf(5), NodeName",
       .fix = "correct the host range",
       .example = {.file = "running/slurm.conf", .from = "NodeName=train[001-016]", .to = "NodeName=train[001-020]"},
       .run = check_slurm_node_names},
  };
}

}  // namespace weft::check
