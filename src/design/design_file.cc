#include "design/design_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/quoting.h"
#include "model/server_ports.h"

namespace weft::design {

namespace {

class FileText {
 public:
  template <class... Args>
  void line(int depth, fmt::format_string<Args...> format, Args&&... args) {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ');
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  void blank() { text_ += '\n'; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void write_head(const Plan& plan, FileText& out) {
  out.line(0, "# {}: {} {} GPUs in {} servers, {}. Written by `weft design`; yours to edit.", plan.request.name,
           plan.gpus(), *plan.gpu->name, plan.servers,
           plan.request.network == model::NetworkKind::infiniband ? "InfiniBand" : "RoCE v2");
  out.line(0, "# What is not stated has a documented default: `weft show --effective` writes all of them out.");
  out.line(0, "weft: 1");
  out.line(0, "name: {}", yaml_quote(plan.request.name));
  if (plan.request.profile == model::Profile::split) {
    out.line(0, "profile: split  # GPU servers on the backend only; head nodes on frontend and storage");
  }
  out.blank();
  out.line(0, "# Two power feeds; the strips of a rack carry it when one feed is lost.");
  out.line(0, "site:");
  out.line(1, "pdu: {}", kPdu);
  if (plan.service_racks > 0) {
    out.line(1, "service_racks: {}  # for switches and small pools: fewer would not carry their power",
             plan.service_racks);
  }
  if (plan.row_switches) {
    out.line(1, "row_length: {}", plan.row_length);
    out.line(1, "switches: row  # leaves at the ends of rows: the floor is too large for central ones");
  }
}

// Pools of GPU servers; `role` is training or inference.
void write_gpu_pool(const Plan& plan, std::string_view name, std::string_view role, std::int64_t count, FileText& out) {
  out.line(1, "- name: {}", name);
  out.line(2, "role: {}", role);
  out.line(2, "server: {}", plan.server->id->text);
  out.line(2, "count: {}", count);
  if (plan.per_rack > 0) {
    out.line(2, "per_rack: {}  # one NVLink domain", plan.per_rack);
    out.line(2, "pdus_per_rack: {}", plan.pdus_per_rack);
  }
  out.line(2, "labels: {{node-role.kubernetes.io/gpu-{}: \"\", accelerator: {}}}", role, plan.gpu->id->text);
  out.line(2, "taints: [\"nvidia.com/gpu={}:NoSchedule\"]", role);
}

void write_storage_pools(const Plan& plan, FileText& out) {
  const std::string& server = plan.storage_server->id->text;
  out.line(1, "# Data: {} read wanted, {} delivered.", rate_text(plan.target.read),
           rate_text(plan.storage_server->read->per_second * plan.data_servers));
  out.line(1, "- {{name: data, role: storage, server: {}, count: {}}}", server, plan.data_servers);
  out.line(1, "# Checkpoints, on arrays of their own: {} write wanted, {} delivered.", rate_text(plan.target.write),
           rate_text(plan.storage_server->write->per_second * plan.checkpoint_servers));
  out.line(1, "- {{name: ckpt, role: storage, server: {}, count: {}}}", server, plan.checkpoint_servers);
}

void write_service_pools(FileText& out) {
  out.line(1, "# Control plane: three servers in three racks, no two in one fault domain.");
  out.line(1, "- {{name: infra, role: infrastructure, server: {}, count: 3,", kControlServer);
  out.line(1, "   taints: [\"node-role.kubernetes.io/infra:NoSchedule\"]}}");
  out.line(1, "- {{name: login, role: login, server: {}, count: 2}}", kLoginServer);
}

void write_pools(const Plan& plan, FileText& out) {
  out.blank();
  out.line(0, "# Pools stand on the floor in this order, from the switches outwards.");
  out.line(0, "pools:");
  if (plan.training > 0) write_gpu_pool(plan, "train", "training", plan.training, out);
  // Login nodes mount storage: on a large floor its leaves must stand near them. On a small one they go first, which
  // leaves the GPU servers the lower half of a /24.
  if (!plan.row_switches) write_service_pools(out);
  write_storage_pools(plan, out);
  if (plan.inference > 0) {
    out.line(1, "# Apart from training, so that neither disturbs the other.");
    write_gpu_pool(plan, "infer", "inference", plan.inference, out);
    if (plan.mig_count > 0) {
      out.line(2, "mig: {{{}: {}}}  # isolated replicas on each GPU", plan.mig_profile, plan.mig_count);
    } else {
      out.line(2, "time_slices: 4  # {} has no MIG: shared in time, without memory isolation", plan.gpu->id->text);
    }
  }
  if (plan.heads > 0) {
    out.line(1, "# Head nodes: they mount storage and stage data for the GPU servers.");
    out.line(1, "- {{name: head, role: cpu, server: cpu-2u, count: {}}}", plan.heads);
  }
  if (plan.row_switches) write_service_pools(out);
  out.line(1, "# The only way to the BMCs.");
  out.line(1, "- {{name: jump, role: jump, server: jump-1u, count: 2}}");
}

// Eight /13 for the rails and as large blocks for the rest, where the default /16 would be too small.
bool needs_large_subnets(const Plan& plan) { return plan.servers > 2'000; }

void write_managers(const std::optional<Manager>& manager, std::string_view name, FileText& out) {
  if (!manager) return;
  const std::string breakout =
      manager->mode.best ? "" : fmt::format(", breakout: {}", model::to_text(manager->mode.breakout));
  out.line(2, "managers:  # of the subnet, and its standby");
  out.line(3, "- {{name: {}, server: {}, count: 2, ports: 1{}}}", name, manager->server, breakout);
}

void write_backend(const Plan& plan, FileText& out) {
  const model::PortGroup& ports = *model::port_group(*plan.server, model::PortUse::backend);
  const bool infiniband = plan.request.network == model::NetworkKind::infiniband;
  out.line(1, "# GPU to GPU: {} rails, one NIC each, {}.", *ports.count,
           infiniband ? "credits keep it lossless" : "never bonded, lossless by PFC and ECN on priority 3");
  out.line(1, "backend:");
  out.line(2, "network: {}", model::text_of(plan.request.network));
  out.line(2, "leaf: {}", plan.backend_leaf->id->text);
  if (plan.backend_breakout) out.line(2, "breakout: {}", model::to_text(*plan.backend_breakout));
  if (plan.backend_uplink) out.line(2, "uplink_speed: {}", to_text(*plan.backend_uplink));
  if (plan.request.planes > 1) out.line(2, "planes: {}", plan.request.planes);
  out.line(2, "oversubscription: {}", to_text(plan.request.oversubscription));
  write_managers(plan.backend_manager, "ufm", out);
  if (needs_large_subnets(plan)) {
    out.line(2, "subnets: [10.64.0.0/13, 10.72.0.0/13, 10.80.0.0/13, 10.88.0.0/13, 10.96.0.0/13, 10.104.0.0/13,");
    out.line(2, "          10.112.0.0/13, 10.120.0.0/13]");
  }
}

void write_fabrics(const Plan& plan, FileText& out) {
  out.blank();
  out.line(0, "# Four networks that share no switch. Rails are 10.60.0.0/16 up (backend), 10.70.0.0/16 up (storage).");
  out.line(0, "fabrics:");
  write_backend(plan, out);
  out.line(1, "# Datasets and checkpoints: two rails, multipath, a lossless class of its own.");
  out.line(1, "storage:");
  out.line(2, "network: {}", model::text_of(plan.storage_network));
  out.line(2, "leaf: {}", plan.storage_leaf->id->text);
  write_managers(plan.storage_manager, "ufm-storage", out);
  if (needs_large_subnets(plan)) out.line(2, "subnets: [10.32.0.0/13, 10.40.0.0/13]");
  out.line(1, "# Control plane and users; the only fabric with a default route.");
  out.line(1, "frontend:");
  out.line(2, "leaf: {}", plan.frontend_leaf->id->text);
  if (plan.frontend_leaf == plan.large_frontend) {
    out.line(2, "speed: 100G");
    out.line(2, "uplink_speed: 400G");
  }
  if (needs_large_subnets(plan)) {
    out.line(2, "subnets: [10.16.0.0/12]");
  } else {
    // A /24 only where each pool can grow in it: pools are spread over it.
    const bool small = plan.training <= 40 && plan.inference <= 16 && plan.heads <= 16;
    out.line(2, "subnets: [{}]", small ? "10.20.50.0/24" : "10.20.0.0/16");
  }
  out.line(1, "# BMCs and consoles, of another vendor than the three above.");
  out.line(1, "oob:");
  out.line(2, "leaf: {}", plan.oob_leaf->id->text);
  if (plan.oob_spine != nullptr) out.line(2, "spine: {}", plan.oob_spine->id->text);
  out.line(2, "syslog: jump001");
  out.line(2, "credentials: env:WEFT_BMC_CREDENTIALS  # a reference, never a secret");
}

// Whole tens of terabytes, at least one.
Bytes volume_size(Bytes wanted) {
  constexpr std::int64_t kUnit = 10'000'000'000'000;
  return Bytes(std::max<std::int64_t>(1, wanted.count() / kUnit) * kUnit);
}

void write_storage(const Plan& plan, FileText& out) {
  const Bytes data = *plan.storage_server->capacity * plan.data_servers;
  const Bytes checkpoints = *plan.storage_server->capacity * plan.checkpoint_servers;
  out.blank();
  out.line(0, "storage:");
  out.line(1, "- name: datasets");
  out.line(2, "kind: lustre");
  out.line(2, "pool: data");
  out.line(2, "metadata_servers: 2");
  out.line(2, "volumes:");
  out.line(3, "- {{name: training-data, purpose: dataset, size: {}, read_only: true, snapshots: 4h}}",
           to_text(volume_size(data / 2)));
  out.line(1, "- name: checkpoints");
  out.line(2, "kind: lustre");
  out.line(2, "pool: ckpt");
  out.line(2, "metadata_servers: 2");
  out.line(2, "volumes:  # two copies here, one on the other system");
  out.line(3, "- {{name: checkpoints, purpose: checkpoint, size: {}, replicas: 2, replicate_to: datasets}}",
           to_text(volume_size(std::min(data, checkpoints) / 4)));
}

void write_tenants(const Plan& plan, FileText& out) {
  const std::int64_t training = plan.training * *plan.server->gpus;
  const std::int64_t inference = plan.inference * *plan.server->gpus;
  out.blank();
  out.line(0, "# Teams and quotas. Priorities are the three defaults: inference (never preempted), training, batch.");
  out.line(0, "tenants:");
  if (training > 0) {
    const std::int64_t batch = std::max<std::int64_t>(1, training / 4);
    out.line(1, "- {{name: research, priority: ai-training-high, quota: {{gpus: {}, volume_claims: 20}}}}",
             std::max<std::int64_t>(1, training - batch));
    out.line(1, "- {{name: batch, priority: ai-batch-low, quota: {{gpus: {}, volume_claims: 10}}}}", batch);
  }
  if (inference == 0) return;
  if (plan.mig_count > 0) {
    const std::int64_t instances = inference * plan.mig_count;
    out.line(1, "- {{name: serving, priority: ai-inference-critical, quota: {{mig: {{{}: {}}}, volume_claims: 10}}}}",
             plan.mig_profile, instances);
    out.line(0, "services:");
    out.line(1, "- {{name: chat, pool: infer, tenant: serving, mig: {}, min_replicas: 2, max_replicas: {},",
             plan.mig_profile, std::min<std::int64_t>(instances, 14));
  } else {
    const std::int64_t slots = inference * 4;
    out.line(1, "- {{name: serving, priority: ai-inference-critical, quota: {{gpus: {}, volume_claims: 10}}}}", slots);
    out.line(0, "services:");
    out.line(1, "- {{name: chat, pool: infer, tenant: serving, gpus: 1, min_replicas: 2, max_replicas: {},",
             std::min<std::int64_t>(slots, 14));
  }
  out.line(1, "   priority: ai-inference-critical}}");
}

}  // namespace

std::string write_file_text(const Plan& plan) {
  FileText out;
  write_head(plan, out);
  write_pools(plan, out);
  write_fabrics(plan, out);
  write_storage(plan, out);
  out.blank();
  out.line(0, "control_plane: {{kind: kubernetes, pool: infra, etcd_members: 3}}");
  out.blank();
  // One server cannot be shared out: it is what its pool is.
  const std::int64_t inference = plan.servers > 1 ? plan.request.inference_percent : (plan.inference > 0 ? 100 : 0);
  out.line(
      0,
      "# The checkpoint is that of the largest published model for so many GPUs: put yours. Add `working_set`, what a");
  out.line(0, "# node reads again and again, to have it held against {} of local NVMe.",
           to_text(*plan.server->local_nvme));
  out.line(0, "workload: {{training_percent: {}, inference_percent: {}, data: {}, checkpoint: {}}}", 100 - inference,
           inference, model::text_of(plan.request.data), to_text(plan.checkpoint));
  write_tenants(plan, out);
  return out.take();
}

}  // namespace weft::design
