// Helpers shared by the rules for hosts, pods and jobs: training and inference apps, the fabric of an attachment,
// Kubernetes labels and selectors. Only rules/hosts*.cc include it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "check/core/rule.h"

namespace weft::check {

// The tables that make up host_rules().
[[nodiscard]] std::vector<Rule> host_network_rules();
[[nodiscard]] std::vector<Rule> host_job_rules();
[[nodiscard]] std::vector<Rule> host_placement_rules();
[[nodiscard]] std::vector<Rule> host_service_rules();
[[nodiscard]] std::vector<Rule> host_policy_rules();
[[nodiscard]] std::vector<Rule> host_slurm_rules();
[[nodiscard]] std::vector<Rule> host_file_rules();

// GPUs (or MIG slices) that a pod of the app requests; 0 if none.
[[nodiscard]] std::int64_t count_requested_gpus(const config::AppConfig& app);
// Pods of a distributed job: pods with GPUs, of a job kind, or with secondary networks.
[[nodiscard]] bool is_training(const config::AppConfig& app);
// Replicated pods with GPUs that serve requests.
[[nodiscard]] bool is_inference(const config::AppConfig& app);
[[nodiscard]] bool is_batch_script(const config::AppConfig& app);
// "PyTorchJob llm (Worker)"
[[nodiscard]] std::string describe(const config::AppConfig& app);

// The name without its prefix: "roce_1" of "nvidia.com/roce_1". Operators add different prefixes.
[[nodiscard]] std::string_view resource_part(std::string_view name);
// Resources of the kinds that SR-IOV and RDMA device plugins advertise.
[[nodiscard]] bool is_network_resource(std::string_view name);

// Resources, without prefix, that some object provides: SR-IOV operator policies, and device plugins configured by a
// NicClusterPolicy or a ConfigMap.
[[nodiscard]] std::set<std::string, std::less<>> provided_resources(const config::ConfigSet& set);
// A placeholder to be filled in before use: ${IMAGE_URI}, <image>, __CLAIM__. Kubernetes rejects all of these.
[[nodiscard]] bool is_placeholder(std::string_view name);

[[nodiscard]] const config::SriovPolicyConfig* find_policy(const config::ConfigSet& set, std::string_view resource);
// The fabric that contains the attachment's subnet; nullopt without a cluster or if no fabric contains it.
[[nodiscard]] std::optional<model::FabricKind> fabric_of(const CheckInput& input,
                                                         const config::AttachmentConfig& attachment);
// Whether the attachment carries collective traffic: decided by its subnet if there is a cluster, else by its name.
[[nodiscard]] bool is_backend(const CheckInput& input, const config::AttachmentConfig& attachment);
[[nodiscard]] const model::FabricSpec* fabric_spec(const CheckInput& input, model::FabricKind kind);

// Interfaces of a pod: eth0 and those of its networks (net1, net2, ... if unnamed).
[[nodiscard]] std::vector<std::string> interfaces_of(const config::AppConfig& app);

// Whether the selector's matchLabels match the labels of the app's pods. An empty selector matches all pods; one with
// matchExpressions is assumed to match.
[[nodiscard]] bool selects(const YamlNode* selector, const config::AppConfig& app);
// Attachments by name and namespace, each with its purpose.
class AttachmentIndex {
 public:
  struct Entry {
    const config::AttachmentConfig* attachment = nullptr;
    bool backend = false;
  };
  explicit AttachmentIndex(const CheckInput& input);
  // The attachment that `name` refers to in namespace `space`, else one of another namespace; null if no file defines
  // it.
  [[nodiscard]] const Entry* find(std::string_view name, std::string_view space) const;

 private:
  std::map<std::pair<std::string_view, std::string_view>, Entry> entries_;  // name and namespace
};

// Kubernetes objects by kind, namespace and name.
class ObjectIndex {
 public:
  explicit ObjectIndex(const config::ConfigSet& set);
  // Null if no file defines it. `space` is empty for cluster-scoped objects.
  [[nodiscard]] const config::KubeObject* find(std::string_view kind, std::string_view space,
                                               std::string_view name) const;

 private:
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, const config::KubeObject*> objects_;
};

// Apps by namespace; only those that `wanted` accepts.
using AppsBySpace = std::map<std::string_view, std::vector<const config::AppConfig*>>;
[[nodiscard]] AppsBySpace apps_by_space(const config::ConfigSet& set, bool (*wanted)(const config::AppConfig&));

// Findings about apps, with equal ones merged: a hundred pods in a dump produce one line. `body` follows the app's
// name: "has no ...".
class AppFindings {
 public:
  explicit AppFindings(Report& report) : report_(report) {}
  AppFindings(const AppFindings&) = delete;
  AppFindings& operator=(const AppFindings&) = delete;
  ~AppFindings();
  void add(const config::AppConfig& app, const SourceLocation& place, std::string body,
           std::vector<Finding::Related> related = {});

 private:
  struct Group {
    std::vector<const config::AppConfig*> apps;
    SourceLocation place;
    std::vector<Finding::Related> related;
  };
  Report& report_;
  std::map<std::string, Group> groups_;
};

// Whether a volume, claim or path is for datasets or for checkpoints, judged by the cluster file's volumes or by its
// name.
[[nodiscard]] bool sounds_like_dataset(const CheckInput& input, std::string_view name);
[[nodiscard]] bool sounds_like_checkpoint(const CheckInput& input, std::string_view name);

// An option of a batch script such as "--nodelist"; null if absent.
[[nodiscard]] const config::Setting<std::string>* batch_option(const config::AppConfig& app, std::string_view name);
[[nodiscard]] const config::SettingsFile* find_settings(const config::ConfigSet& set, config::SettingsFile::Kind kind);

[[nodiscard]] inline Finding::Related related(const SourceLocation& place, std::string text) {
  return {place, std::move(text)};
}

}  // namespace weft::check
