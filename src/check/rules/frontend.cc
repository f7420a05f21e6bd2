// FE: the frontend fabric and the services on it.
#include <fmt/format.h>

#include "check/core/rule.h"
#include "check/core/rule_tools.h"

namespace weft::check {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

const model::FabricSpec& frontend(const CheckInput& input) { return input.spec().fabrics->frontend.value; }

void check_external_links(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = frontend(input);
  if (!input.cluster().fabric(model::FabricKind::frontend).present || fabric.external->links.value != 0) return;
  report.at(fabric.external->links, fabric.place, "frontend", "the frontend has no link to the site's network");
}

void check_external_link_redundancy(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = frontend(input);
  if (!input.cluster().fabric(model::FabricKind::frontend).present || fabric.external->links.value != 1) return;
  report.at(fabric.external->links, fabric.place, "frontend",
            "one link carries all traffic between users and the cluster");
}

void check_frontend_mtu(const CheckInput& input, Report& report) {
  const model::FabricSpec& fabric = frontend(input);
  if (fabric.mtu.value <= 1500 || fabric.external->links.value == 0) return;
  report.at(fabric.mtu, fabric.place, "frontend",
            fmt::format("frontend MTU is {} bytes; users and the site network use 1500", fabric.mtu.value));
}

void check_inference_timeout(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.timeout->count() >= 60 * kSecond) continue;
    report.at(service.timeout, service.place, service.name->text,
              fmt::format("requests of `{}` time out after {}", service.name->text, to_text(service.timeout.value)));
  }
}

void check_inference_balancing(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.balancing.value != model::Balancing::round_robin) continue;
    report.at(service.balancing, service.place, service.name->text,
              fmt::format("`{}` balances requests round-robin", service.name->text));
  }
}

void check_readiness_probe(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.probe.value == model::Probe::http) continue;
    report.at(
        service.probe, service.place, service.name->text,
        fmt::format("`{}` is reported ready {}", service.name->text,
                    service.probe.value == model::Probe::tcp ? "as soon as its port is open" : "without a probe"));
  }
}

void check_session_affinity(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.sticky.value) continue;
    report.at(service.sticky, service.place, service.name->text,
              fmt::format("sessions of `{}` may move to another replica", service.name->text));
  }
}

void check_service_scaling(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.max_replicas.value > service.min_replicas.value) continue;
    report.at(service.max_replicas, service.place, service.name->text,
              fmt::format("`{}` cannot scale: minimum and maximum are both {} replicas", service.name->text,
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

void check_service_max_replicas(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    const model::PoolSpec* pool = find_pool(input.spec(), service.pool.value);
    if (pool == nullptr) continue;
    const std::int64_t room = room_for(input.cluster(), service, *pool);
    if (service.max_replicas.value <= room) continue;
    report.at(service.max_replicas, service.place, service.name->text,
              fmt::format("`{}` may scale to {} replicas; pool `{}` has capacity for {}", service.name->text,
                          service.max_replicas.value, pool->name->text, room));
  }
}

void check_service_pool(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    const model::PoolSpec* pool = find_pool(input.spec(), service.pool.value);
    if (pool == nullptr || pool->role.value != model::PoolRole::training) continue;
    report.at(service.pool, service.place, service.name->text,
              fmt::format("service `{}` runs in the training pool `{}`", service.name->text, pool->name->text));
  }
}

void check_service_preemption(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    const model::PrioritySpec* priority = find_priority(input.spec(), service.priority);
    if (priority == nullptr || !priority->preemptible.value) continue;
    report.at(service.priority, service.place, service.name->text,
              fmt::format("service `{}` may be evicted: its class `{}` is preemptible", service.name->text,
                          priority->name->text));
  }
}

void check_service_scaling_target(const CheckInput& input, Report& report) {
  for (const model::ServiceSpec& service : input.spec().services.value) {
    if (service.target_percent.value <= 85) continue;
    report.at(service.target_percent, service.place, service.name->text,
              fmt::format("`{}` adds replicas only above {} % GPU utilization", service.name->text,
                          service.target_percent.value));
  }
}

}  // namespace

std::vector<Rule> frontend_rules() {  // NOLINT(readability-function-size): a table
  return {
      {.id = "FE001",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the frontend has no external links",
       .reason = "Users, image registries and identity services are outside the cluster; without external links no "
                 "user can submit a job.",
       .source = "Life of an AI Job in Fabric: submission, image pulls and monitoring run on the frontend",
       .fix = "set `fabrics.frontend.external.links`",
       .example = {.file = "pod16.yaml", .from = "external: {links: 4}", .to = "external: {links: 0}"},
       .run = check_external_links},
      {.id = "FE002",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "one external link",
       .reason = "It is a single point of failure for every user, and for image pulls of every pod.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Resiliency Matrix: frontend; at least two links "
                 "to separate switches",
       .fix = "set `fabrics.frontend.external.links` to an even number, two or more",
       .example = {.file = "pod16.yaml", .from = "external: {links: 4}", .to = "external: {links: 1}"},
       .run = check_external_link_redundancy},
      {.id = "FE003",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "jumbo frames on the frontend",
       .reason = "Paths to the site carry 1500 bytes. If a firewall drops the ICMP \"fragmentation needed\" message, "
                 "large requests hang while small ones pass.",
       .source = "Container Networking Architecture for AI Workloads (Patel): frontend MTU 1500 by default, jumbo not "
                 "required",
       .fix = "leave `fabrics.frontend.mtu` at 1500",
       .example = {.file = "pod16.yaml",
                   .from = "frontend: {leaf: sn4600c,",
                   .to = "frontend: {leaf: sn4600c, mtu: 9000,"},
       .run = check_frontend_mtu},
      {.id = "FE004",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "inference requests time out too early",
       .reason = "A language model streams for 5 to 30 s and requests queue; the usual 30 s timeout of a web proxy "
                 "cuts responses off under load, and clients retry.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), load balancing: 60 to 300 s",
       .fix = "set `timeout` to 60s or more",
       .example = {.file = "pod16.yaml", .from = "timeout: 300s", .to = "timeout: 30s"},
       .run = check_inference_timeout},
      {.id = "FE005",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "inference is balanced round-robin",
       .reason =
           "Requests differ in length by orders of magnitude; round-robin queues them on replicas that are still busy.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), load balancing: least connections, not round-robin",
       .fix = "set `balancing: least-connections`",
       .example = {.file = "pod16.yaml", .from = "timeout: 300s,", .to = "timeout: 300s, balancing: round-robin,"},
       .run = check_inference_balancing},
      {.id = "FE006",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "the readiness probe does not check the model",
       .reason =
           "The port opens long before the weights are loaded; requests sent in that time fail or wait for minutes.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): readiness probes that call /health, not TCP",
       .fix = "set `probe: http`",
       .example = {.file = "pod16.yaml", .from = "timeout: 300s,", .to = "timeout: 300s, probe: tcp,"},
       .run = check_readiness_probe},
      {.id = "FE007",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "sessions are not sticky",
       .reason = "A chat session that moves to another replica loses its KV cache and recomputes the whole prompt.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), load balancing: stickiness for stateful chat",
       .fix = "set `sticky: true`, unless requests are independent",
       .example = {.file = "pod16.yaml", .from = "timeout: 300s,", .to = "timeout: 300s, sticky: false,"},
       .run = check_session_affinity},
      {.id = "FE008",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a service cannot scale",
       .reason = "Inference load varies by the hour; a fixed number of replicas is too small at peak times and idle at "
                 "night.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): HPA on GPU utilization or queue depth",
       .fix = "set `max_replicas` above `min_replicas`",
       .example = {.file = "pod16.yaml", .from = "max_replicas: 56,", .to = "max_replicas: 4,"},
       .run = check_service_scaling},
      {.id = "FE009",
       .severity = Severity::warning,
       .needs = RuleNeeds::design,
       .title = "a service may request more replicas than its pool can run",
       .reason = "The autoscaler creates pods that remain pending, and alerts fire for replicas that can never start.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): maxReplicas bounded by the available MIG slices",
       .fix = "lower `max_replicas` or enlarge the pool",
       .example = {.file = "pod16.yaml", .from = "max_replicas: 56,", .to = "max_replicas: 5000,"},
       .run = check_service_max_replicas},
      {.id = "FE010",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a service runs in a training pool",
       .reason = "Training occupies nodes for days and saturates PCIe and storage; a service on the same nodes misses "
                 "its latency targets, and its pods prevent gang scheduling.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), Most Common Mistakes: not separating inference "
                 "and training pools",
       .fix = "move the service to a pool with `role: inference`",
       .example = {.file = "pod16.yaml",
                   .from = "pool: infer, tenant: team-beta, mig: 1g.10gb,",
                   .to = "pool: train, tenant: team-beta, gpus: 1,"},
       .run = check_service_pool},
      {.id = "FE011",
       .severity = Severity::error,
       .needs = RuleNeeds::design,
       .title = "a production service may be preempted",
       .reason = "A training job that needs its GPUs evicts it and interrupts user sessions.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), priority classes: inference never preempted",
       .fix = "give the service a priority with `preemptible: false`",
       .example = {.file = "pod16.yaml",
                   .from = "     priority: inference-critical, timeout",
                   .to = "     priority: batch-low, timeout"},
       .run = check_service_preemption},
      {.id = "FE012",
       .severity = Severity::note,
       .needs = RuleNeeds::design,
       .title = "a service scales out too late",
       .reason = "A replica takes a minute or more to load its weights; above 85 % utilization the queue grows faster "
                 "than replicas start.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): scale at 70 % GPU utilization",
       .fix = "set `target_percent` to about 70",
       .example = {.file = "pod16.yaml", .from = "timeout: 300s,", .to = "timeout: 300s, target_percent: 95,"},
       .run = check_service_scaling_target},
  };
}

}  // namespace weft::check
