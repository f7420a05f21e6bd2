// FE: the frontend fabric and the services on it.
#include <fmt/format.h>

#include "check/core/rule.h"
#include "check/core/rule_tools.h"

namespace weft::check {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

const model::FabricSpec& frontend(const CheckInput& input) { return input.spec().fabrics->frontend.value; }

void no_way_out(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = frontend(input);
  if (!input.cluster().fabric(model::FabricKind::frontend).present || fabric.external->links.value != 0) return;
  report.at(fabric.external->links, fabric.place, "frontend", "the frontend has no link to the site's network");
}

void one_way_out(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = frontend(input);
  if (!input.cluster().fabric(model::FabricKind::frontend).present || fabric.external->links.value != 1) return;
  report.at(fabric.external->links, fabric.place, "frontend", "one link carries everything between users and cluster");
}

void jumbo_to_site(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = frontend(input);
  if (fabric.mtu.value <= 1500 || fabric.external->links.value == 0) return;
  report.at(fabric.mtu, fabric.place, "frontend",
            fmt::format("frontend MTU is {} bytes while users and the site send 1500", fabric.mtu.value));
}

void short_timeout(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.timeout->count() >= 60 * kSecond) continue;
    report.at(service.timeout, service.place, service.name->text,
              fmt::format("requests of `{}` are cut after {}", service.name->text, to_text(service.timeout.value)));
  }
}

void round_robin(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.balancing.value != model::Balancing::round_robin) continue;
    report.at(service.balancing, service.place, service.name->text,
              fmt::format("`{}` spreads requests round-robin", service.name->text));
  }
}

void weak_probe(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.probe.value == model::Probe::http) continue;
    report.at(service.probe, service.place, service.name->text,
              fmt::format("`{}` counts as ready {}", service.name->text,
                          service.probe.value == model::Probe::tcp ? "as soon as its port is open" : "from the start"));
  }
}

void not_sticky(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.sticky.value) continue;
    report.at(service.sticky, service.place, service.name->text,
              fmt::format("sessions of `{}` may move to another replica", service.name->text));
  }
}

void cannot_scale(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.max_replicas.value > service.min_replicas.value) continue;
    report.at(service.max_replicas, service.place, service.name->text,
              fmt::format("`{}` cannot scale: {} replicas at least and at most", service.name->text,
                          service.min_replicas.value));
  }
}

std::int64_t room_for(const model::Cluster& cluster, const model::ServiceSpec& service, const model::PoolSpec& pool) {
  if (!service.mig.has_value()) {
    const std::int64_t each = std::max<std::int64_t>(1, service.gpus.value);
    return gpus_of(cluster, pool) * pool.time_slices.value / each;
  }
  for (const auto& [profile, count] : pool.mig.value) {
    if (profile == service.mig.value) return count.value * gpus_of(cluster, pool);
  }
  return 0;
}

void too_many_replicas(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    const model::PoolSpec* pool = find_pool(input.spec(), service.pool.value);
    if (pool == nullptr) continue;
    const std::int64_t room = room_for(input.cluster(), service, *pool);
    if (service.max_replicas.value <= room) continue;
    report.at(service.max_replicas, service.place, service.name->text,
              fmt::format("`{}` may grow to {} replicas; pool `{}` has room for {}", service.name->text,
                          service.max_replicas.value, pool->name->text, room));
  }
}

void on_training_pool(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    const model::PoolSpec* pool = find_pool(input.spec(), service.pool.value);
    if (pool == nullptr || pool->role.value != model::PoolRole::training) continue;
    report.at(service.pool, service.place, service.name->text,
              fmt::format("service `{}` runs in the training pool `{}`", service.name->text, pool->name->text));
  }
}

void preemptible_service(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    const model::PrioritySpec* priority = find_priority(input.spec(), service.priority);
    if (priority == nullptr || !priority->preemptible.value) continue;
    report.at(service.priority, service.place, service.name->text,
              fmt::format("service `{}` may be evicted: its class `{}` is preemptible", service.name->text,
                          priority->name->text));
  }
}

void late_scaling(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.target_percent.value <= 85) continue;
    report.at(service.target_percent, service.place, service.name->text,
              fmt::format("`{}` adds replicas only above {} % GPU utilisation", service.name->text,
                          service.target_percent.value));
  }
}

}  // namespace

std::vector<Rule> frontend_rules() {  // NOLINT(readability-function-size): a table
  return {
      {"FE001",
       Severity::warning,
       RuleNeeds::design,
       "the frontend leads nowhere",
       "Users, image registries and identity services are outside; without external links nobody can submit a job.",
       "life of an AI job: submission, image pulls and monitoring run on the frontend",
       "set `fabrics.frontend.external.links`",
       {"pod16.yaml", "external: {links: 4}", "external: {links: 0}"},
       no_way_out},
      {"FE002",
       Severity::warning,
       RuleNeeds::design,
       "one external link",
       "It is a single point of failure for every user, and for image pulls of every pod.",
       "resiliency matrix: frontend; at least two links to separate switches",
       "set `fabrics.frontend.external.links` to an even number, two or more",
       {"pod16.yaml", "external: {links: 4}", "external: {links: 1}"},
       one_way_out},
      {"FE003",
       Severity::note,
       RuleNeeds::design,
       "jumbo frames on the frontend",
       "Paths to the site carry 1500 bytes. Where a firewall drops the ICMP message that says so, large requests hang "
       "while small ones pass.",
       "container networking architecture for AI workloads: frontend MTU 1500 by default, jumbo not required",
       "leave `fabrics.frontend.mtu` at 1500",
       {"pod16.yaml", "frontend: {leaf: sn4600c,", "frontend: {leaf: sn4600c, mtu: 9000,"},
       jumbo_to_site},
      {"FE004",
       Severity::warning,
       RuleNeeds::design,
       "inference requests time out too early",
       "A language model streams for 5 to 30 s and queues behind others; the usual 30 s of a web proxy cuts answers "
       "off under load, and clients then ask again.",
       "enterprise AI architecture, load balancing: 60 to 300 s",
       "set `timeout` to 60s or more",
       {"pod16.yaml", "timeout: 300s", "timeout: 30s"},
       short_timeout},
      {"FE005",
       Severity::warning,
       RuleNeeds::design,
       "inference is balanced round-robin",
       "Requests differ in length by orders of magnitude; round-robin piles them up on replicas that are still busy.",
       "enterprise AI architecture, load balancing: least connections, not round-robin",
       "set `balancing: least-connections`",
       {"pod16.yaml", "timeout: 300s,", "timeout: 300s, balancing: round-robin,"},
       round_robin},
      {"FE006",
       Severity::warning,
       RuleNeeds::design,
       "readiness does not ask the model",
       "The port opens long before weights are loaded; requests sent then fail or wait for minutes.",
       "enterprise AI architecture: readiness probes that call /health, not TCP",
       "set `probe: http`",
       {"pod16.yaml", "timeout: 300s,", "timeout: 300s, probe: tcp,"},
       weak_probe},
      {"FE007",
       Severity::note,
       RuleNeeds::design,
       "sessions are not sticky",
       "A chat that moves to another replica loses its cached context and pays for the whole prompt again.",
       "enterprise AI architecture, load balancing: stickiness for stateful chat",
       "set `sticky: true`, unless requests are independent",
       {"pod16.yaml", "timeout: 300s,", "timeout: 300s, sticky: false,"},
       not_sticky},
      {"FE008",
       Severity::warning,
       RuleNeeds::design,
       "a service cannot scale",
       "Inference load varies by the hour; a fixed number of replicas is too few at noon and idle at night.",
       "enterprise AI architecture: HPA on GPU utilisation or queue depth",
       "set `max_replicas` above `min_replicas`",
       {"pod16.yaml", "max_replicas: 56,", "max_replicas: 4,"},
       cannot_scale},
      {"FE009",
       Severity::warning,
       RuleNeeds::design,
       "a service may ask for more replicas than fit",
       "The autoscaler creates pods that stay pending, and alerts fire for a limit that was never there.",
       "enterprise AI architecture: maxReplicas bounded by the MIG slices there are",
       "lower `max_replicas` or enlarge the pool",
       {"pod16.yaml", "max_replicas: 56,", "max_replicas: 5000,"},
       too_many_replicas},
      {"FE010",
       Severity::error,
       RuleNeeds::design,
       "a service runs among training jobs",
       "Training fills nodes for days and saturates PCIe and storage; a service beside it misses its latency goals, "
       "and its pods break up gangs.",
       "common mistakes of enterprise teams: not separating inference and training pools",
       "give the service a pool with `role: inference`",
       {"pod16.yaml", "pool: infer, tenant: team-beta, mig: 1g.10gb,", "pool: train, tenant: team-beta, gpus: 1,"},
       on_training_pool},
      {"FE011",
       Severity::error,
       RuleNeeds::design,
       "a production service may be preempted",
       "A training job that needs its GPUs evicts it, in the middle of its users' sessions.",
       "enterprise AI architecture, priority classes: inference never preempted",
       "give the service a priority with `preemptible: false`",
       {"pod16.yaml", "     priority: inference-critical, timeout", "     priority: batch-low, timeout"},
       preemptible_service},
      {"FE012",
       Severity::note,
       RuleNeeds::design,
       "a service scales too late",
       "A replica takes a minute or more to load its weights; above 85 % the queue grows faster than replicas come.",
       "enterprise AI architecture: scale at 70 % GPU utilisation",
       "set `target_percent` to about 70",
       {"pod16.yaml", "timeout: 300s,", "timeout: 300s, target_percent: 95,"},
       late_scaling},
  };
}

}  // namespace weft::check
