// Data shared by all Slurm files, computed once: nodes and their resources, partitions, QoS, controllers. Internal to
// the target `slurm`; writes nothing itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "render/core/target.h"
#include "render/slurm/accounts.h"

namespace weft::render::slurm_render {

enum class Release { v22_05, v24_05 };

// Where the files are on the hosts that read them.
inline constexpr std::string_view kConfigFolder = "/etc/slurm";
inline constexpr std::string_view kStateFolder = "/var/spool/slurmctld";
inline constexpr std::string_view kScratch = "/scratch/slurm";  // on the node's own drives

// Nodes described by one NodeName line: same hardware, same features.
struct NodeSet {
  const PoolPlan* pool = nullptr;
  const model::ServerModel* server = nullptr;
  std::vector<std::string> features;
  std::vector<std::string> names;
  std::string hosts;  // folded
  bool spare = false;

  [[nodiscard]] bool has_gpus() const { return server->gpus.value > 0; }
  // A GPU split into MIG instances counts as that many devices, each with its profile as type.
  [[nodiscard]] bool has_mig() const { return has_gpus() && !pool->spec->mig->empty(); }
};

struct Tres {
  std::string type;  // "h100", "1g.10gb"
  std::int64_t count = 0;
};

struct Partition {
  const model::PartitionSpec* spec = nullptr;  // null for the default one of a file without partitions
  std::string name;
  std::vector<const PoolPlan*> pools;
  int tier = 1;
  bool preemptible = true;
};

struct Qos {
  std::string name;
  std::int64_t priority = 0;
  std::vector<std::string> preempts;
};

class SlurmModel {
 public:
  explicit SlurmModel(const RenderInput& input);

  [[nodiscard]] const RenderInput& input() const { return input_; }
  [[nodiscard]] const model::Spec& spec() const { return input_.cluster.spec(); }
  [[nodiscard]] Release release() const { return release_; }
  [[nodiscard]] std::string cluster_name() const;
  // Tenants are accounts, which need the database.
  [[nodiscard]] bool has_accounting() const { return !spec().tenants->empty(); }
  [[nodiscard]] bool has_tokens() const { return spec().security->slurm_rest.value == model::RestAuth::jwt; }
  [[nodiscard]] bool has_gpus() const;
  [[nodiscard]] bool has_shards() const;
  [[nodiscard]] bool has_scratch() const;  // every node has local drives
  [[nodiscard]] const std::vector<NodeSet>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<const PoolPlan*>& pools() const { return pools_; }
  [[nodiscard]] const std::vector<Partition>& partitions() const { return partitions_; }
  [[nodiscard]] const std::vector<Qos>& qos() const { return qos_; }
  // The hosts that run slurmctld and slurmdbd, in order: the primary and its backups.
  [[nodiscard]] const std::vector<model::DeviceId>& controllers() const { return controllers_; }
  // GPU types that jobs can request, without duplicates.
  [[nodiscard]] std::vector<std::string> gpu_types() const;
  // Time that a rank needs to write a checkpoint before it is killed, in seconds.
  [[nodiscard]] std::int64_t grace_seconds() const;

 private:
  void plan_nodes();
  void plan_partitions();
  void plan_qos();

  const RenderInput& input_;
  Release release_;
  std::vector<const PoolPlan*> pools_;
  std::vector<NodeSet> nodes_;
  std::vector<Partition> partitions_;
  std::vector<Qos> qos_;
  std::vector<model::DeviceId> controllers_;
};

// GPUs of one node, by type.
[[nodiscard]] std::vector<Tres> gpus_of(const NodeSet& nodes);
[[nodiscard]] std::int64_t shards_of(const NodeSet& nodes);  // of time-sliced GPUs; 0: not shared
[[nodiscard]] std::int64_t threads_per_core(const NodeSet& nodes);
[[nodiscard]] std::int64_t memory_mib(const model::ServerModel& server);    // as registered by a node
[[nodiscard]] std::int64_t reserved_mib(const model::ServerModel& server);  // of that, reserved for the system
// The address slurmd listens on: the frontend's, or for servers without one, that of storage or the backend.
[[nodiscard]] Ipv4 node_address(const RenderInput& input, model::DeviceId server);
// A label as a node feature: "zone-a" for zone=a.
[[nodiscard]] std::string feature_of(std::string_view key, std::string_view value);
[[nodiscard]] std::string feature_of(std::string_view constraint);  // "zone=a"
// "7-00:00:00"
[[nodiscard]] std::string time_text(Duration time);
[[nodiscard]] std::int64_t minutes_of(Duration time);

// Text for one line of a configuration file or after a "#": no control characters.
[[nodiscard]] std::string one_line(std::string_view text);
[[nodiscard]] bool is_variable_name(std::string_view name);
[[nodiscard]] std::string commented(std::string_view text, std::string_view sign = "# ");

// Lines "Key=Value" with sections between.
class SettingsText {
 public:
  SettingsText(const model::Cluster& cluster, std::string_view what) : text_(commented(heading(cluster, what))) {}
  void section(std::string_view remark) { text_ += "\n" + commented(remark); }
  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, std::int64_t value) { set(key, std::to_string(value)); }
  // "NodeName=a Key=Value Key=Value"; pairs without a value are omitted.
  void record(const std::vector<std::pair<std::string_view, std::string>>& pairs);
  void line(std::string_view text) { text_ += one_line(text) + "\n"; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

[[nodiscard]] SlurmAccountsSpec accounts_of(const SlurmModel& model);

void add_slurm_conf(const SlurmModel& model, FileSink& sink);
void add_gres_conf(const SlurmModel& model, FileSink& sink);
void add_topology_conf(const SlurmModel& model, FileSink& sink);
void add_hosts(const SlurmModel& model, FileSink& sink);
void add_services(const SlurmModel& model, FileSink& sink);
void add_accounts(const SlurmModel& model, FileSink& sink);
void add_scripts(const SlurmModel& model, FileSink& sink);
void add_batch_script(const SlurmModel& model, const model::JobSpec& job, FileSink& sink);

}  // namespace weft::render::slurm_render
