// HO080 to HO099: Slurm as configured, and the batch scripts given to it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/host_range.h"
#include "base/quantity.h"
#include "check/core/host_rule_tools.h"
#include "check/core/rule_tools.h"
#include "config/host_text.h"

namespace weft::check {
namespace {

using config::host_text::contains;
using config::host_text::lower;
using config::host_text::starts_with;

constexpr std::size_t kManyFeatures = 3;

bool asks_for_gpus(const config::AppConfig& app) {
  if (!is_batch_script(app)) return false;
  return std::any_of(app.limits.begin(), app.limits.end(), [](const config::AppConfig::Resource& limit) {
    return limit.name != "--gres" || contains(*limit.amount, "gpu");
  });
}

// Calls `see` for each slurm.conf that is more than an include of a few lines.
template <class See>
void each_slurm(const CheckInput& input, See see) {
  for (const config::SettingsFile& file : input.config().settings) {
    if (file.kind == config::SettingsFile::Kind::slurm && file.find("clustername") != nullptr) see(file);
  }
}

const config::SettingsFile::Entry* gpu_nodes(const config::SettingsFile& file) {
  for (const config::SettingsFile::Entry& entry : file.entries) {
    if (entry.key == "nodename" && contains(lower(entry.value), "gres=gpu")) return &entry;
  }
  return nullptr;
}

SourceLocation top_of(const config::SettingsFile& file) {
  const config::SettingsFile::Entry* name = file.find("clustername");
  return name == nullptr ? SourceLocation{file.file, 1, 1} : name->place;
}

void pinned_script(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* option = is_batch_script(app) ? batch_option(app, "--nodelist") : nullptr;
    if (option == nullptr) continue;
    findings.add(app, option->place, fmt::format("must run on named hosts (`{}`)", **option));
  }
}

void many_features(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* option = is_batch_script(app) ? batch_option(app, "--constraint") : nullptr;
    if (option == nullptr) continue;
    const auto features = 1 + static_cast<std::size_t>(std::count(option->value.begin(), option->value.end(), '&'));
    if (features < kManyFeatures) continue;
    findings.add(app, option->place, fmt::format("needs nodes with {} features at once (`{}`)", features, **option));
  }
}

void unknown_feature(const CheckInput& input, Report& report) {
  std::set<std::string> features;
  bool any = false;
  each_slurm(input, [&](const config::SettingsFile& file) {
    for (const config::SettingsFile::Entry& entry : file.entries) {
      if (entry.key != "nodename") continue;
      any = true;
      for (const std::string_view word : config::host_text::words_of(entry.value)) {
        const std::size_t equals = std::min(word.find('='), word.size() - 1);
        const std::string key = lower(word.substr(0, equals));
        if (key != "features" && key != "feature") continue;
        for (const std::string_view feature : config::host_text::split(word.substr(equals + 1), ','))
          features.emplace(feature);
      }
    }
  });
  if (!any) return;
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::Setting<std::string>* option = is_batch_script(app) ? batch_option(app, "--constraint") : nullptr;
    if (option == nullptr || option->value.find_first_of("|[]()*!") != std::string::npos) continue;
    const std::size_t equals = std::min(option->value.find('='), option->value.size() - 1);
    for (const std::string_view feature :
         config::host_text::split(std::string_view(**option).substr(equals + 1), '&')) {
      if (feature.empty() || features.count(std::string(feature)) > 0) continue;
      findings.add(app, option->place, fmt::format("needs the feature `{}`, which no node of slurm.conf has", feature));
    }
  }
}

void no_binding(const CheckInput& input, Report& report) {
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
                 "starts several tasks on a node without binding each to its GPU");
  }
}

void not_requeued(const CheckInput& input, Report& report) {
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
      findings.add(app, no->place, "is not started again when a node fails");
    } else if (off && batch_option(app, "--requeue") == nullptr) {
      findings.add(app, app.place, "is not started again when a node fails", {related(where, "JobRequeue=0")});
    }
  }
}

void select_type(const CheckInput& input, Report& report) {
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* type = file.find("selecttype");
    if (type == nullptr || type->value == "select/cons_tres" || gpu_nodes(file) == nullptr) return;
    report.add("slurm.conf", type->place, fmt::format("`{}` hands out whole nodes or no GPUs", type->value));
  });
}

void gres_types(const CheckInput& input, Report& report) {
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* nodes = gpu_nodes(file);
    const config::SettingsFile::Entry* types = file.find("grestypes");
    if (nodes == nullptr || (types != nullptr && contains(types->value, "gpu"))) return;
    Finding& finding = report.add("slurm.conf", types == nullptr ? nodes->place : types->place,
                                  "nodes have GPUs, but GresTypes does not know them");
    if (types != nullptr) finding.related.push_back(related(nodes->place, "nodes with Gres=gpu"));
  });
}

void no_topology(const CheckInput& input, Report& report) {
  if (input.has_cluster() && input.cluster().fabric(model::FabricKind::backend).leaves < 2) return;
  each_slurm(input, [&](const config::SettingsFile& file) {
    if (gpu_nodes(file) == nullptr) return;
    const config::SettingsFile::Entry* plugin = file.find("topologyplugin");
    if (plugin != nullptr && !contains(plugin->value, "default") && !contains(plugin->value, "none") &&
        !contains(plugin->value, "flat")) {
      return;
    }
    report.add("slurm.conf", plugin == nullptr ? top_of(file) : plugin->place,
               "Slurm does not know the fabric: jobs are spread over leaves as it happens");
  });
}

void no_tokens(const CheckInput& input, Report& report) {
  if (!input.has_cluster() || input.spec().security->slurm_rest.value != model::RestAuth::jwt) return;
  if (!input.spec().security->slurm_rest.place.known()) return;  // nobody said that there is a REST interface
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* types = file.find("authalttypes");
    if (types != nullptr && contains(types->value, "auth/jwt")) return;
    Finding& finding = report.add("slurm.conf", types == nullptr ? top_of(file) : types->place,
                                  "slurmrestd is to take tokens, but slurm.conf has no auth/jwt");
    finding.related.push_back(related(input.spec().security->slurm_rest.place, "slurm_rest: jwt"));
  });
}

void no_authentication(const CheckInput& input, Report& report) {
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* type = file.find("authtype");
    if (type == nullptr || type->value != "auth/none") return;
    report.add("slurm.conf", type->place, "Slurm believes every caller: AuthType is auth/none");
  });
}

void no_preemption(const CheckInput& input, Report& report) {
  if (!input.has_cluster() || input.spec().priorities->size() < 2) return;
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* type = file.find("preempttype");
    if (type != nullptr && type->value != "preempt/none") return;
    Finding& finding = report.add("slurm.conf", type == nullptr ? top_of(file) : type->place,
                                  "priorities are declared, but Slurm preempts nothing");
    finding.related.push_back(related(input.spec().priorities.place, "the priorities"));
  });
}

void limits_not_enforced(const CheckInput& input, Report& report) {
  each_slurm(input, [&](const config::SettingsFile& file) {
    const config::SettingsFile::Entry* storage = file.find("accountingstoragetype");
    const bool accounts = storage != nullptr && contains(storage->value, "slurmdbd");
    const bool quotas = input.has_cluster() && !input.spec().tenants->empty();
    if (!accounts && !quotas) return;
    const config::SettingsFile::Entry* enforce = file.find("accountingstorageenforce");
    const std::string value = enforce == nullptr ? std::string() : lower(enforce->value);
    if (contains(value, "limits") || contains(value, "safe") || value == "all" || value == "1") return;
    Finding& finding = report.add("slurm.conf", enforce == nullptr ? top_of(file) : enforce->place,
                                  "limits of accounts are kept but not enforced");
    if (quotas) finding.related.push_back(related(input.spec().tenants.place, "the tenants' quotas"));
  });
}

void devices_open(const CheckInput& input, Report& report) {
  for (const config::SettingsFile& file : input.config().settings) {
    if (file.kind != config::SettingsFile::Kind::cgroup) continue;
    const config::SettingsFile::Entry* entry = file.find("constraindevices");
    if (entry != nullptr && lower(entry->value) == "yes") continue;
    report.add("cgroup.conf", entry == nullptr ? SourceLocation{file.file, 1, 1} : entry->place,
               "jobs see every GPU of a node, not only their own");
  }
}

// "gpu:1g.10gb:56": instances of a GPU that is cut up (MIG), which are more than there are GPUs.
bool is_instance(std::string_view gres) {
  const std::size_t first = gres.find(':');
  const std::size_t last = gres.find_last_of(':');
  if (first == last) return false;
  const std::string_view type = gres.substr(first + 1, last - first - 1);
  return type.size() > 4 && type.front() >= '1' && type.front() <= '9' && starts_with(type.substr(1), "g.") &&
         contains(type, "gb");
}

// The count in "gpu:h100:8", "gpu:8" or, of several types, "gpu:h100:4,gpu:a100:4"; nothing for anything else.
std::optional<std::int64_t> gpus_in(std::string_view gres) {
  std::optional<std::int64_t> all;
  for (const std::string_view one : config::host_text::split(gres, ',')) {
    if (!starts_with(one, "gpu:")) continue;
    if (is_instance(one)) return std::nullopt;
    std::string_view last = one.substr(one.find_last_of(':') + 1);
    last = last.substr(0, last.find('('));
    if (const auto count = parse_integer(last)) all = all.value_or(0) + std::clamp<std::int64_t>(*count, 0, 4096);
  }
  return all;
}

// Hosts of a NodeName line that are in the cluster with another number of GPUs, and those that are not in it at all.
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
    std::optional<std::int64_t> usual;  // NodeName=DEFAULT holds for the lines after it
    for (const config::SettingsFile::Entry& entry : file.entries) {
      if (entry.key != "nodename") continue;
      const auto words = config::host_text::words_of(entry.value);
      if (words.empty()) continue;
      std::optional<std::int64_t> gpus = usual;
      for (const std::string_view word : words) {
        if (starts_with(lower(word), "gres=")) gpus = gpus_in(word.substr(5));
      }
      if (lower(words.front()) == "default") {
        usual = gpus;
        continue;
      }
      if (!gpus) continue;
      const auto hosts = expand_hosts(std::string(words.front()));
      if (hosts) see(entry, *gpus, compare_nodes(input.cluster(), *hosts, *gpus));
    }
  });
}

void wrong_gpu_count(const CheckInput& input, Report& report) {
  each_gpu_line(input, [&](const config::SettingsFile::Entry& entry, std::int64_t gpus, const NodeMismatch& found) {
    if (found.other.empty()) return;
    const std::string hosts = fold_hosts(found.other);
    report.add(hosts, entry.place, fmt::format("Slurm offers {} GPUs on {}, which has {}", gpus, hosts, found.has));
  });
}

void unknown_hosts(const CheckInput& input, Report& report) {
  each_gpu_line(input, [&](const config::SettingsFile::Entry& entry, std::int64_t, const NodeMismatch& found) {
    if (found.absent.empty()) return;
    const std::string hosts = fold_hosts(found.absent);
    report.add(hosts, entry.place, fmt::format("Slurm offers {}, which the cluster does not have", hosts));
  });
}

}  // namespace

std::vector<Rule> host_slurm_rules() {  // NOLINT(readability-function-size): a table
  constexpr auto kConfig = RuleNeeds::config;
  return {
      {"HO080",
       Severity::warning,
       kConfig,
       "a batch script is pinned to hosts",
       "It waits for these hosts while others are free, and does not survive the loss of one.",
       "Slurm sbatch(1), --nodelist",
       "remove `--nodelist`",
       {"running/train.sbatch", "#SBATCH --requeue", "#SBATCH --nodelist=train[001-008]\n#SBATCH --requeue"},
       pinned_script},
      {"HO081",
       Severity::note,
       kConfig,
       "a batch script needs many features",
       "Each feature shrinks the set of nodes; free GPUs that almost fit stay idle.",
       "Slurm sbatch(1), --constraint",
       "keep the feature that matters",
       {"running/train.sbatch", "--constraint=h100", "--constraint=h100&nvme&rail8"},
       many_features},
      {"HO082",
       Severity::error,
       kConfig,
       "a batch script needs a feature that no node has",
       "The job is refused, or waits for ever.",
       "Slurm slurm.conf(5), Features",
       "correct the feature",
       {"running/train.sbatch", "--constraint=h100", "--constraint=h200"},
       unknown_feature},
      {"HO083",
       Severity::note,
       kConfig,
       "tasks are not bound to GPUs",
       "Unbound, a rank may drive a GPU whose NIC hangs off the other socket, and every byte crosses between them.",
       "Slurm sbatch(1), --gpu-bind",
       "add `--gpu-bind=closest`",
       {"running/train.sbatch", "srun --gpu-bind=closest ", "srun "},
       no_binding},
      {"HO084",
       Severity::warning,
       kConfig,
       "a batch job is not started again after a failure",
       "At scale a node fails every few hours: the job ends and waits for a person.",
       "Slurm sbatch(1), --requeue; enterprise stack guide, training job resiliency",
       "add `--requeue` and resume from a checkpoint",
       {"running/train.sbatch", "#SBATCH --requeue", "#SBATCH --no-requeue"},
       not_requeued},
      {"HO085",
       Severity::error,
       kConfig,
       "Slurm does not schedule GPUs",
       "Only select/cons_tres counts GPUs; the others give away whole nodes or ignore GPUs.",
       "Slurm generic resource scheduling: cons_tres",
       "set `SelectType=select/cons_tres`",
       {"running/slurm.conf", "SelectType=select/cons_tres", "SelectType=select/linear"},
       select_type},
      {"HO086",
       Severity::error,
       kConfig,
       "Slurm does not know the resource gpu",
       "Nodes with an unknown resource are set to drain.",
       "Slurm slurm.conf(5), GresTypes",
       "set `GresTypes=gpu`",
       {"running/slurm.conf", "GresTypes=gpu\n", ""},
       gres_types},
      {"HO087",
       Severity::warning,
       kConfig,
       "Slurm does not know the topology",
       "Ranks of one job end up under many leaves, and collectives cross the spines that need not.",
       "Slurm topology guide; nebius/soperator #2585",
       "set `TopologyPlugin=topology/tree` or `topology/block`",
       {"running/slurm.conf", "TopologyPlugin=topology/tree", "TopologyPlugin=topology/default"},
       no_topology},
      {"HO088",
       Severity::error,
       kConfig,
       "the REST interface has no tokens to check",
       "Without auth/jwt slurmrestd falls back to whoever runs it.",
       "four-fabric hardening guide, Slurm: AuthAltTypes=auth/jwt",
       "set `AuthAltTypes=auth/jwt` and its key",
       {"running/slurm.conf", "AuthAltTypes=auth/jwt\n", ""},
       no_tokens},
      {"HO089",
       Severity::error,
       kConfig,
       "Slurm authenticates nobody",
       "Anyone who reaches the controller submits jobs as any user, root included.",
       "Slurm slurm.conf(5), AuthType",
       "set `AuthType=auth/munge` or `auth/slurm`",
       {"running/slurm.conf", "AuthType=auth/munge", "AuthType=auth/none"},
       no_authentication},
      {"HO090",
       Severity::warning,
       kConfig,
       "Slurm preempts nothing",
       "Urgent work waits behind batch jobs of days, whatever its priority.",
       "Slurm preemption",
       "set `PreemptType`",
       {"running/slurm.conf", "PreemptType=preempt/partition_prio", "PreemptType=preempt/none"},
       no_preemption},
      {"HO091",
       Severity::warning,
       kConfig,
       "account limits are not enforced",
       "Quotas in the database are advice: one team takes all GPUs.",
       "Slurm slurm.conf(5), AccountingStorageEnforce",
       "set `AccountingStorageEnforce=associations,limits,qos`",
       {"running/slurm.conf", "AccountingStorageEnforce=associations,limits,qos",
        "AccountingStorageEnforce=associations"},
       limits_not_enforced},
      {"HO092",
       Severity::error,
       kConfig,
       "jobs see GPUs that are not theirs",
       "Two jobs on a node pick the same GPU 0, and tenants read each other's memory.",
       "Slurm cgroup.conf(5), ConstrainDevices",
       "set `ConstrainDevices=yes`",
       {"running/cgroup.conf", "ConstrainDevices=yes", "ConstrainDevices=no"},
       devices_open},
      {"HO093",
       Severity::error,
       kConfig,
       "Slurm counts other GPUs than the server has",
       "With more than there are, nodes are set invalid; with fewer, the rest idles.",
       "Slurm slurm.conf(5), Gres; NVIDIA/aicr #1858",
       "set the server's number of GPUs",
       {"running/slurm.conf", "Gres=gpu:h100:8", "Gres=gpu:h100:4"},
       wrong_gpu_count},
      {"HO094",
       Severity::error,
       kConfig,
       "Slurm offers hosts that the cluster does not have",
       "Jobs are placed on names that do not resolve; the controller waits for nodes that never answer.",
       "Slurm slurm.conf(5), NodeName",
       "correct the host range",
       {"running/slurm.conf", "NodeName=train[001-016]", "NodeName=train[001-020]"},
       unknown_hosts},
  };
}

}  // namespace weft::check
