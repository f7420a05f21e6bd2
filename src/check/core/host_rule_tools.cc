#include "check/core/host_rule_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/host_range.h"
#include "base/quantity.h"
#include "base/text.h"
#include "config/host_text.h"
#include "config/kube_objects.h"

namespace weft::check {

std::int64_t count_requested_gpus(const config::AppConfig& app) {
  std::int64_t sum = 0;
  for (const config::AppConfig::Resource& limit : app.limits) {
    const bool gpu =
        limit.name == "nvidia.com/gpu" || limit.name.starts_with("nvidia.com/mig-") || limit.name == "amd.com/gpu";
    if (!gpu || !limit.amount.known()) continue;
    const auto amount = parse_integer(*limit.amount);
    if (amount && *amount > 0 && *amount < 1'000'000) sum += *amount;
  }
  return sum;
}

bool is_batch_script(const config::AppConfig& app) { return app.kind == "sbatch"; }

bool is_training(const config::AppConfig& app) {
  static constexpr std::array kKinds = {"Job",    "PyTorchJob",      "MPIJob",
                                        "TFJob",  "JaxJob",          "PaddleJob",
                                        "JobSet", "TrainingRuntime", "ClusterTrainingRuntime"};
  if (app.kind == "TrainJob") return true;
  if (count_requested_gpus(app) == 0) return false;
  if (std::find(kKinds.begin(), kKinds.end(), app.kind) != kKinds.end()) return true;
  return app.kind == "Pod" && !app.networks.empty();
}

bool is_inference(const config::AppConfig& app) {
  const bool replicated = app.kind == "Deployment" || app.kind == "StatefulSet" || app.kind == "LeaderWorkerSet";
  return replicated && count_requested_gpus(app) > 0;
}

std::string describe(const config::AppConfig& app) {
  std::string text = fmt::format("{} `{}`", app.kind, app.name);
  if (!app.role.empty()) text += fmt::format(" ({})", app.role);
  return text;
}

std::string_view resource_part(std::string_view name) {
  const std::size_t slash = name.find_last_of('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

bool is_network_resource(std::string_view name) {
  // Fractions of a GPU: MIG instances, time slices (gpu.shared), memory and cores as allocated by HAMi.
  if (name == "nvidia.com/gpu") return false;
  for (const char* share : {"nvidia.com/mig-", "nvidia.com/gpu.", "nvidia.com/gpumem", "nvidia.com/gpucores"}) {
    if (name.starts_with(share)) return false;
  }
  for (const char* prefix : {"rdma/", "nvidia.com/", "openshift.io/", "mellanox.com/", "intel.com/sriov"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

AttachmentIndex::AttachmentIndex(const CheckInput& input) {
  for (const config::AttachmentConfig& attachment : input.config().attachments) {
    entries_[{attachment.name, attachment.space}] = {&attachment, is_backend(input, attachment)};
  }
}

const AttachmentIndex::Entry* AttachmentIndex::find(std::string_view name, std::string_view space) const {
  auto found = entries_.find({name, space});
  if (found == entries_.end()) found = entries_.lower_bound({name, {}});
  return found != entries_.end() && found->first.first == name ? &found->second : nullptr;
}

namespace {

// "resourceName": "rdma_shared_device_a" in the JSON of a device plugin, or resourceName: x in YAML.
void collect_resource_names(std::string_view text, std::set<std::string, std::less<>>& out) {
  constexpr std::string_view kKey = "resourceName";
  constexpr std::string_view kAround = " \t\r\n\"':";
  for (std::size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at)) {
    at += kKey.size();
    const std::size_t start = std::min(text.find_first_not_of(kAround, at), text.size());
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"',}", start), text.size());
    if (end > start) out.insert(std::string(resource_part(text.substr(start, end - start))));
  }
}

}  // namespace

std::set<std::string, std::less<>> provided_resources(const config::ConfigSet& set) {
  std::set<std::string, std::less<>> out;
  for (const config::SriovPolicyConfig& policy : set.sriov) {
    if (policy.resource.known()) out.insert(std::string(resource_part(*policy.resource)));
  }
  for (const config::KubeObject& object : set.objects) {
    if (object.kind == "NicClusterPolicy") {
      collect_resource_names(config::text_of(object.at("spec.rdmaSharedDevicePlugin.config")), out);
      collect_resource_names(config::text_of(object.at("spec.sriovDevicePlugin.config")), out);
    } else if (const YamlNode* data = object.kind == "ConfigMap" ? object.at("data") : nullptr) {
      for (const YamlEntry& entry : data->entries) collect_resource_names(config::text_of(&entry.value), out);
    }
  }
  return out;
}

bool is_placeholder(std::string_view name) {
  return name.find_first_of("$<>{}") != std::string_view::npos || name.starts_with("__");
}

const config::SriovPolicyConfig* find_policy(const config::ConfigSet& set, std::string_view resource) {
  for (const config::SriovPolicyConfig& policy : set.sriov) {
    if (policy.resource.known() && resource_part(*policy.resource) == resource_part(resource)) return &policy;
  }
  return nullptr;
}

std::optional<model::FabricKind> fabric_of(const CheckInput& input, const config::AttachmentConfig& attachment) {
  if (!input.has_cluster()) return std::nullopt;
  for (const config::Setting<Ipv4Prefix>& subnet : attachment.subnets) {
    for (const model::Subnet& known : input.cluster().subnets()) {
      if (known.prefix.overlaps(*subnet) && subnet.value.length > 0) return known.fabric;
    }
    // A pool for all units of a rail is in the rail's range, but outside the units that exist.
    for (const model::FabricKind kind :
         {model::FabricKind::backend, model::FabricKind::storage, model::FabricKind::frontend}) {
      const model::FabricSpec* spec = fabric_spec(input, kind);
      if (spec == nullptr || !spec->subnets.has_value()) continue;
      for (const Ipv4Prefix& range : spec->subnets.value) {
        if (range.contains(*subnet)) return kind;
      }
    }
  }
  return std::nullopt;
}

bool is_backend(const CheckInput& input, const config::AttachmentConfig& attachment) {
  const auto fabric = fabric_of(input, attachment);
  if (fabric == model::FabricKind::backend || fabric == model::FabricKind::storage)
    return fabric == model::FabricKind::backend;
  const std::string name = to_lower(attachment.name);
  return !contains(name, "sto") && (contains(name, "roce") || contains(name, "rdma") || contains(name, "rail") ||
                                    contains(name, "ib") || contains(name, "backend"));
}

const model::FabricSpec* fabric_spec(const CheckInput& input, model::FabricKind kind) {
  if (!input.has_cluster() || !input.cluster().fabric(kind).present) return nullptr;
  return input.cluster().find_fabric_spec(kind);
}

std::vector<std::string> interfaces_of(const config::AppConfig& app) {
  std::vector<std::string> names = {"eth0", "lo"};
  for (std::size_t i = 0; i < app.networks.size(); ++i) {
    const std::string& name = app.networks[i].interface;
    names.push_back(name.empty() ? fmt::format("net{}", i + 1) : name);
  }
  return names;
}

bool selects(const YamlNode* selector, const config::AppConfig& app) {
  const YamlNode* labels = config::node_at(selector, "matchLabels");
  if (labels == nullptr) return true;
  return std::all_of(labels->entries.begin(), labels->entries.end(), [&](const YamlEntry& entry) {
    return std::any_of(app.labels.begin(), app.labels.end(), [&](const config::AppConfig::Variable& label) {
      return label.name == entry.key && label.value.value == config::text_of(&entry.value);
    });
  });
}

ObjectIndex::ObjectIndex(const config::ConfigSet& set) {
  for (const config::KubeObject& object : set.objects) objects_[{object.kind, object.space, object.name}] = &object;
}

const config::KubeObject* ObjectIndex::find(std::string_view kind, std::string_view space,
                                            std::string_view name) const {
  const auto found = objects_.find({kind, space, name});
  return found == objects_.end() ? nullptr : found->second;
}

AppsBySpace apps_by_space(const config::ConfigSet& set, bool (*wanted)(const config::AppConfig&)) {
  AppsBySpace out;
  for (const config::AppConfig& app : set.apps) {
    if (!app.space.empty() && wanted(app)) out[app.space].push_back(&app);
  }
  return out;
}

void AppFindings::add(const config::AppConfig& app, const SourceLocation& place, std::string body,
                      std::vector<Finding::Related> related) {
  Group& group = groups_[std::move(body)];
  if (group.apps.empty()) {
    group.place = place;
    group.related = std::move(related);
  }
  group.apps.push_back(&app);
}

AppFindings::~AppFindings() {
  for (auto& [body, group] : groups_) {
    std::vector<std::string> names;
    for (const config::AppConfig* app : group.apps) names.push_back(app->name);
    const std::string subject = fold_hosts(names);
    const std::string who = group.apps.size() == 1 ? describe(*group.apps.front())
                                                   : fmt::format("{} `{}`", group.apps.front()->kind, subject);
    report_.add(subject, group.place, fmt::format("{} {}", who, body)).related = std::move(group.related);
  }
}

namespace {

bool is_volume_for(const CheckInput& input, std::string_view name, model::VolumePurpose purpose) {
  if (!input.has_cluster()) return false;
  for (const model::StorageSpec& system : input.spec().storage.value) {
    for (const model::VolumeSpec& volume : system.volumes.value) {
      if (volume.purpose.value == purpose && volume.name->text == name) return true;
    }
  }
  return false;
}

}  // namespace

bool sounds_like_checkpoint(const CheckInput& input, std::string_view name) {
  const std::string word = to_lower(name);
  return is_volume_for(input, name, model::VolumePurpose::checkpoint) || contains(word, "checkpoint") ||
         contains(word, "ckpt");
}

bool sounds_like_dataset(const CheckInput& input, std::string_view name) {
  if (sounds_like_checkpoint(input, name)) return false;
  const std::string word = to_lower(name);
  return is_volume_for(input, name, model::VolumePurpose::dataset) || contains(word, "dataset") ||
         contains(word, "training-data") || word == "/data" || word == "data";
}

const config::Setting<std::string>* batch_option(const config::AppConfig& app, std::string_view name) {
  for (auto it = app.options.rbegin(); it != app.options.rend(); ++it) {
    const std::string_view text = it->value;
    if (text.starts_with(name) && (text.size() == name.size() || text[name.size()] == '=')) return &*it;
  }
  return nullptr;
}

const config::SettingsFile* find_settings(const config::ConfigSet& set, config::SettingsFile::Kind kind) {
  for (const config::SettingsFile& file : set.settings) {
    if (file.kind == kind) return &file;
  }
  return nullptr;
}

}  // namespace weft::check
