// HO060 to HO079: namespaces (network policies, quotas, limits, priorities, images) and storage classes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/quantity.h"
#include "base/text.h"
#include "check/core/host_rule_tools.h"
#include "config/host_text.h"
#include "config/kube_objects.h"

namespace weft::check {
namespace {

bool any_app(const config::AppConfig& app) { return !is_batch_script(app) && app.kind != "environment"; }
bool gpu_app(const config::AppConfig& app) { return any_app(app) && count_requested_gpus(app) > 0; }

// Namespaces with apps whose Namespace object was given: only for those does a missing object mean anything.
std::vector<std::pair<const config::KubeObject*, std::vector<const config::AppConfig*>>> known_spaces(
    const config::ConfigSet& set, bool (*wanted)(const config::AppConfig&)) {
  std::vector<std::pair<const config::KubeObject*, std::vector<const config::AppConfig*>>> out;
  const ObjectIndex objects(set);
  for (const auto& [space, apps] : apps_by_space(set, wanted)) {
    if (const config::KubeObject* object = objects.find("Namespace", "", space)) out.emplace_back(object, apps);
  }
  return out;
}

// Namespaces with an object of the kind that `good` accepts.
std::set<std::string_view> spaces_with(const config::ConfigSet& set, std::string_view kind,
                                       bool (*good)(const config::KubeObject&)) {
  std::set<std::string_view> out;
  for (const config::KubeObject& object : set.objects) {
    if (object.kind == kind && good(object)) out.insert(object.space);
  }
  return out;
}

bool denies_by_default(const config::KubeObject& policy) {
  const YamlNode* selector = policy.at("spec.podSelector");
  if (selector == nullptr || !selector->entries.empty()) return false;
  const YamlNode* ingress = policy.at("spec.ingress");
  if (ingress != nullptr && !ingress->items.empty()) return false;
  const YamlNode* types = policy.at("spec.policyTypes");
  if (types == nullptr) return true;  // ingress is implied
  return std::any_of(types->items.begin(), types->items.end(),
                     [](const YamlNode& type) { return type.scalar == "Ingress"; });
}

void check_default_deny_policy(const CheckInput& input, Report& report) {
  const std::set<std::string_view> denied = spaces_with(input.config(), "NetworkPolicy", denies_by_default);
  for (const auto& [space, apps] : known_spaces(input.config(), any_app)) {
    if (denied.count(space->name) > 0) continue;
    Finding& finding = report.add(space->name, space->place,
                                  fmt::format("namespace `{}` has no default-deny NetworkPolicy", space->name));
    finding.related.push_back(related(apps.front()->place, fmt::format("runs {}", describe(*apps.front()))));
  }
}

// The first backend or storage subnet that the policy lets pods reach and no exception covers.
const model::Subnet* find_uncovered_subnet(const CheckInput& input, const Ipv4Prefix& range, const YamlNode* except) {
  std::vector<Ipv4Prefix> exceptions;
  if (except != nullptr) {
    for (const YamlNode& item : except->items) {
      if (const auto prefix = config::subnet_of(config::text_of(&item))) exceptions.push_back(*prefix);
    }
  }
  for (const model::Subnet& subnet : input.cluster().subnets()) {
    const bool rdma = subnet.fabric == model::FabricKind::backend || subnet.fabric == model::FabricKind::storage;
    if (!rdma || !range.contains(subnet.prefix)) continue;
    const bool covered = std::any_of(exceptions.begin(), exceptions.end(),
                                     [&](const Ipv4Prefix& one) { return one.contains(subnet.prefix); });
    if (!covered) return &subnet;
  }
  return nullptr;
}

void check_rdma_egress_policy(const CheckInput& input, Report& report) {
  if (!input.has_cluster()) return;
  for (const config::KubeObject& object : input.config().objects) {
    if (object.kind != "NetworkPolicy") continue;
    const YamlNode* egress = object.at("spec.egress");
    if (egress == nullptr) continue;
    for (const YamlNode& rule : egress->items) {
      const YamlNode* peers = rule.find("to");
      if (peers == nullptr) continue;
      for (const YamlNode& peer : peers->items) {
        const YamlNode* cidr = config::node_at(&peer, "ipBlock.cidr");
        const auto range = config::subnet_of(config::text_of(cidr));
        if (!range || range->length > 8) continue;  // a narrow range is intended
        const model::Subnet* open = find_uncovered_subnet(input, *range, config::node_at(&peer, "ipBlock.except"));
        if (open == nullptr) continue;
        report.add(object.name, cidr->place,
                   fmt::format("NetworkPolicy `{}` allows egress to {}, which includes the {} subnet {}", object.name,
                               to_text(*range), model::to_text(open->fabric), to_text(open->prefix)));
      }
    }
  }
}

bool bounds_gpus(const config::KubeObject& quota) {
  const YamlNode* hard = quota.at("spec.hard");
  if (hard == nullptr) return false;
  return std::any_of(hard->entries.begin(), hard->entries.end(), [](const YamlEntry& entry) {
    return contains(entry.key, "nvidia.com/") || contains(entry.key, "amd.com/gpu");
  });
}

void check_namespace_gpu_quota(const CheckInput& input, Report& report) {
  const std::set<std::string_view> bounded = spaces_with(input.config(), "ResourceQuota", bounds_gpus);
  for (const auto& [space, apps] : known_spaces(input.config(), gpu_app)) {
    if (bounded.count(space->name) > 0) continue;
    Finding& finding = report.add(space->name, space->place,
                                  fmt::format("no ResourceQuota limits the GPUs of namespace `{}`", space->name));
    finding.related.push_back(related(apps.front()->place, fmt::format("runs {}", describe(*apps.front()))));
  }
}

void check_namespace_limit_range(const CheckInput& input, Report& report) {
  const std::set<std::string_view> bounded =
      spaces_with(input.config(), "LimitRange", [](const config::KubeObject&) { return true; });
  for (const auto& [space, apps] : known_spaces(input.config(), gpu_app)) {
    if (bounded.count(space->name) > 0) continue;
    report.add(space->name, space->place, fmt::format("namespace `{}` has no LimitRange", space->name));
  }
}

struct Class {
  const config::KubeObject* object = nullptr;
  config::Setting<std::int64_t> value;
};

std::map<std::string_view, Class> priority_classes(const config::ConfigSet& set) {
  std::map<std::string_view, Class> out;
  for (const config::KubeObject& object : set.objects) {
    if (object.kind == "PriorityClass")
      out[object.name] = {&object, config::integer_setting(object.at("value"), "value")};
  }
  return out;
}

void check_gpu_pod_priority(const CheckInput& input, Report& report) {
  const auto classes = priority_classes(input.config());
  if (classes.empty()) return;
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!gpu_app(app) || app.kind == "DaemonSet") continue;
    if (app.kind == "TrainJob") continue;  // set by its runtime
    if (!app.priority_class.known()) {
      findings.add(app, app.place, "has no priority class: any pod with a priority may preempt it");
    } else if (classes.count(*app.priority_class) == 0 && !(*app.priority_class).starts_with("system-")) {
      findings.add(
          app, app.priority_class.place,
          fmt::format("has priority class `{}`, which no file defines: its pods are rejected", *app.priority_class));
    }
  }
}

void check_inference_priority(const CheckInput& input, Report& report) {
  const auto classes = priority_classes(input.config());
  const Class* highest = nullptr;
  const config::AppConfig* trainer = nullptr;
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_training(app) || !app.priority_class.known()) continue;
    const auto found = classes.find(*app.priority_class);
    if (found == classes.end() || !found->second.value.known()) continue;
    if (highest != nullptr && *found->second.value <= *highest->value) continue;
    highest = &found->second;
    trainer = &app;
  }
  if (highest == nullptr) return;
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_inference(app) || !app.priority_class.known()) continue;
    const auto found = classes.find(*app.priority_class);
    if (found == classes.end() || !found->second.value.known()) continue;
    if (*found->second.value > *highest->value) continue;
    findings.add(app, found->second.value.place,
                 fmt::format("has priority {}, which is not above the {} of {}: training can preempt it",
                             *found->second.value, *highest->value, describe(*trainer)),
                 {related(highest->value.place, "priority of training")});
  }
}

// The tag or digest of an image reference; "" if there is none.
std::string_view version_of(std::string_view image) {
  if (const std::size_t at = image.find('@'); at != std::string_view::npos) return image.substr(at + 1);
  const std::size_t slash = image.find_last_of('/');
  const std::string_view name = image.substr(slash == std::string_view::npos ? 0 : slash + 1);
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
}

void check_image_versions(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    for (const config::Setting<std::string>& image : app.images) {
      const std::string_view version = version_of(*image);
      if (image.value.empty() || is_placeholder(*image) || (!version.empty() && version != "latest")) continue;
      findings.add(app, image.place, fmt::format("runs image `{}`, whose tag can change", *image));
    }
  }
}

bool is_kyverno(const config::KubeObject& object) {
  return (object.kind == "ClusterPolicy" || object.kind == "Policy") && object.api_group == "kyverno.io";
}

const YamlNode* verifying_rule(const config::KubeObject& policy) {
  const YamlNode* rules = policy.at("spec.rules");
  if (rules == nullptr) return nullptr;
  for (const YamlNode& rule : rules->items) {
    if (rule.find("verifyImages") != nullptr) return &rule;
  }
  return nullptr;
}

// The action set by the rule or by the whole policy. Kyverno's default is Audit.
const YamlNode* action_of(const config::KubeObject& policy, const YamlNode& rule) {
  for (const YamlNode& image : rule.find("verifyImages")->items) {
    if (const YamlNode* action = image.find("failureAction")) return action;
  }
  return policy.at("spec.validationFailureAction");
}

void check_image_signatures(const CheckInput& input, Report& report) {
  bool any = false;
  for (const config::KubeObject& object : input.config().objects) {
    const YamlNode* rule = is_kyverno(object) ? verifying_rule(object) : nullptr;
    if (rule == nullptr && object.kind != "ImageValidatingPolicy" && object.kind != "ClusterImagePolicy") continue;
    any = true;
    if (rule == nullptr) continue;
    const YamlNode* action = action_of(object, *rule);
    if (to_lower(config::text_of(action)) == "enforce") continue;
    report.add(object.name, action == nullptr ? object.place : action->place,
               fmt::format("policy `{}` only audits unsigned images", object.name));
  }
  if (any || !input.has_cluster() || !input.spec().control_plane->signed_images.value) return;
  // The cluster file requires signed images, but none of the given policies verifies signatures.
  for (const config::KubeObject& object : input.config().objects) {
    if (!is_kyverno(object)) continue;
    report.add(object.name, object.place, "no policy verifies image signatures");
    return;
  }
}

// Storage classes of datasets or checkpoints, with a claim that uses each.
std::map<std::string_view, const config::KubeObject*> find_data_classes(const CheckInput& input) {
  std::map<std::string_view, const config::KubeObject*> out;
  for (const config::KubeObject& object : input.config().objects) {
    if (object.kind != "PersistentVolumeClaim") continue;
    if (!sounds_like_dataset(input, object.name) && !sounds_like_checkpoint(input, object.name)) continue;
    out.emplace(config::text_of(object.at("spec.storageClassName")), &object);
  }
  return out;
}

void check_reclaim_policy(const CheckInput& input, Report& report) {
  const auto precious = find_data_classes(input);
  for (const config::KubeObject& object : input.config().objects) {
    const auto used = object.kind == "StorageClass" ? precious.find(object.name) : precious.end();
    if (used == precious.end()) continue;
    const YamlNode* policy = object.at("reclaimPolicy");
    if (policy != nullptr && config::text_of(policy) != "Delete") continue;
    Finding& finding = report.add(object.name, policy == nullptr ? object.place : policy->place,
                                  fmt::format("storage class `{}` deletes the data together with its claim{}",
                                              object.name, policy == nullptr ? " (the default)" : ""));
    finding.related.push_back(related(used->second->place, fmt::format("claim `{}` uses it", used->second->name)));
  }
}

void check_volume_binding_mode(const CheckInput& input, Report& report) {
  const auto precious = find_data_classes(input);
  for (const config::KubeObject& object : input.config().objects) {
    if (object.kind != "StorageClass" || precious.count(object.name) == 0) continue;
    const YamlNode* mode = object.at("volumeBindingMode");
    if (mode != nullptr && config::text_of(mode) == "WaitForFirstConsumer") continue;
    report.add(object.name, mode == nullptr ? object.place : mode->place,
               fmt::format("storage class `{}` binds volumes before the pod is scheduled", object.name));
  }
}

void check_claims_exist(const CheckInput& input, Report& report) {
  const ObjectIndex objects(input.config());
  std::set<std::string_view> spaces;
  for (const config::KubeObject& object : input.config().objects) {
    if (object.kind == "PersistentVolumeClaim") spaces.insert(object.space);
  }
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (spaces.count(app.space) == 0) continue;
    for (const config::AppConfig::Mount& mount : app.mounts) {
      if (mount.claim.empty() || is_placeholder(mount.claim)) continue;
      if (objects.find("PersistentVolumeClaim", app.space, mount.claim) != nullptr) continue;
      findings.add(app, mount.place, fmt::format("mounts claim `{}`, which no file defines", mount.claim));
    }
  }
}

}  // namespace

std::vector<Rule> host_policy_rules() {  // NOLINT(readability-function-size): a table
  constexpr auto kConfig = RuleNeeds::config;
  return {
      {.id = "HO060",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a namespace has no default-deny policy",
       .reason = "Without a policy that selects all pods, any pod of the cluster may connect to any other.",
       .source = "Container Networking Architecture for AI Workloads (Patel), security: default-deny NetworkPolicies",
       .fix = "add a NetworkPolicy with an empty podSelector and no ingress",
       .example =
           {.file = "running/policies.yaml",
            .from = "  name: default-deny\n  namespace: team-beta\nspec:\n  podSelector: {}",
            .to = "  name: default-deny\n  namespace: team-beta\nspec:\n  podSelector: {matchLabels: {app: chat}}"},
       .run = check_default_deny_policy},
      {.id = "HO061",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "an egress rule opens the RDMA subnets",
       .reason =
           "A frontend pod that reaches the rails can fill lossless queues or access storage without authentication.",
       .source =
           "Container Networking Architecture for AI Workloads (Patel), segmentation: block frontend to RDMA subnets",
       .fix = "list the rails under `except`",
       .example = {.file = "running/policies.yaml",
                   .from = "              - 10.71.0.0/16      # storage, rail 2\n",
                   .to = ""},
       .run = check_rdma_egress_policy},
      {.id = "HO062",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a namespace has no GPU quota",
       .reason = "One team's batch job can use every GPU of the cluster.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), ResourceQuotas for GPU multi-tenancy",
       .fix = "add a ResourceQuota with requests.nvidia.com/gpu",
       .example = {.file = "running/policies.yaml", .from = "    requests.nvidia.com/gpu: \"96\"\n", .to = ""},
       .run = check_namespace_gpu_quota},
      {.id = "HO063",
       .severity = Severity::note,
       .needs = kConfig,
       .title = "a namespace has no limits per container",
       .reason = "A container without requests gets none, and one pod may use the whole quota.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): LimitRange to prevent pods from grabbing too "
                 "many GPUs",
       .fix = "add a LimitRange",
       .example = {.file = "running/policies.yaml",
                   .from = "  name: bounds-beta\n  namespace: team-beta",
                   .to = "  name: bounds-beta\n  namespace: default"},
       .run = check_namespace_limit_range},
      {.id = "HO064",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a GPU pod has no valid priority class",
       .reason = "Without a valid class the intended priority order does not apply: batch jobs can displace production "
                 "services.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), priority classes",
       .fix = "name a PriorityClass that exists",
       .example = {.file = "running/train-job.yaml",
                   .from = "priorityClassName: training-high",
                   .to = "priorityClassName: training-hgih"},
       .run = check_gpu_pod_priority},
      {.id = "HO065",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "training preempts inference",
       .reason = "A training job that starts evicts a service in use.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): inference critical above training",
       .fix = "give inference the higher value",
       .example = {.file = "running/policies.yaml", .from = "value: 1000000", .to = "value: 400000"},
       .run = check_inference_priority},
      {.id = "HO066",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "an image has no fixed version",
       .reason = "Two ranks of a job may run different code, and a restarted job may run another version.",
       .source = "Kubernetes: avoid the :latest tag in production",
       .fix = "use a version tag, or better a digest",
       .example = {.file = "running/inference.yaml", .from = "vllm-openai:0.6.3", .to = "vllm-openai:latest"},
       .run = check_image_versions},
      {.id = "HO067",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "unsigned images are not rejected",
       .reason = "An attacker with push access to the registry can run code next to model weights and data.",
       .source = "Container Networking Architecture for AI Workloads (Patel), security: Kyverno verifyImages, enforce",
       .fix = "set the policy to Enforce",
       .example = {.file = "running/policies.yaml",
                   .from = "validationFailureAction: Enforce",
                   .to = "validationFailureAction: Audit"},
       .run = check_image_signatures},
      {.id = "HO068",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "deleting a claim deletes the data",
       .reason = "Deleting a namespace or a finished job's claim deletes its checkpoints.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), StorageClass for training: reclaimPolicy Retain",
       .fix = "set `reclaimPolicy: Retain`",
       .example = {.file = "running/storage.yaml",
                   .from = "reclaimPolicy: Retain                    # checkpoints outlive their claim",
                   .to = "reclaimPolicy: Delete"},
       .run = check_reclaim_policy},
      {.id = "HO069",
       .severity = Severity::note,
       .needs = kConfig,
       .title = "volumes are bound before the pod is scheduled",
       .reason = "A volume may be created where no GPU node can reach it.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): volumeBindingMode WaitForFirstConsumer",
       .fix = "set `volumeBindingMode: WaitForFirstConsumer`",
       .example = {.file = "running/storage.yaml",
                   .from = "tls: \"true\"}\nreclaimPolicy: Retain\nvolumeBindingMode: WaitForFirstConsumer",
                   .to = "tls: \"true\"}\nreclaimPolicy: Retain\nvolumeBindingMode: Immediate"},
       .run = check_volume_binding_mode},
      {.id = "HO070",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a pod mounts a claim that does not exist",
       .reason = "The pod remains pending, and its GPUs count against the quota.",
       .source = "Kubernetes: volumes",
       .fix = "correct the name",
       .example = {.file = "running/train-job.yaml", .from = "claimName: checkpoints", .to = "claimName: checkpoint"},
       .run = check_claims_exist},
  };
}

}  // namespace weft::check
