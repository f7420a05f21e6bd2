// HO050 to HO059: inference services as deployed: replicas, probes, disruption, scaling, ingress.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/quantity.h"
#include "base/text.h"
#include "check/core/host_rule_tools.h"
#include "config/host_text.h"
#include "config/kube_objects.h"

namespace weft::check {
namespace {

constexpr std::int64_t kShortestTimeout = 60;  // seconds; a long response streams for 5 to 30

// The objects of one kind by namespace.
std::map<std::string_view, std::vector<const config::KubeObject*>> objects_by_space(const config::ConfigSet& set,
                                                                                    std::string_view kind) {
  std::map<std::string_view, std::vector<const config::KubeObject*>> out;
  for (const config::KubeObject& object : set.objects) {
    if (object.kind == kind) out[object.space].push_back(&object);
  }
  return out;
}

using ObjectsBySpace = std::map<std::string_view, std::vector<const config::KubeObject*>>;

const std::vector<const config::KubeObject*>& in_space(const ObjectsBySpace& objects, std::string_view space) {
  static const std::vector<const config::KubeObject*> kNothing;
  const auto found = objects.find(space);
  return found == objects.end() ? kNothing : found->second;
}

const config::KubeObject* budget_of(const ObjectsBySpace& budgets, const config::AppConfig& app) {
  for (const config::KubeObject* budget : in_space(budgets, app.space)) {
    if (selects(budget->at("spec.selector"), app)) return budget;
  }
  return nullptr;
}

const config::KubeObject* scaler_of(const ObjectsBySpace& scalers, const config::AppConfig& app) {
  for (const config::KubeObject* scaler : in_space(scalers, app.space)) {
    const YamlNode* target = scaler->at("spec.scaleTargetRef");
    const YamlNode* kind = config::node_at(target, "kind");
    if (config::text_of(config::node_at(target, "name")) == app.name &&
        (kind == nullptr || config::text_of(kind) == app.kind))
      return scaler;
  }
  return nullptr;
}

// Whether the input has any of the objects that belong to services: a single Deployment proves nothing.
bool has_any(const config::ConfigSet& set, std::initializer_list<std::string_view> kinds) {
  return std::any_of(set.objects.begin(), set.objects.end(), [&](const config::KubeObject& object) {
    return std::find(kinds.begin(), kinds.end(), object.kind) != kinds.end();
  });
}

bool shows_services(const config::ConfigSet& set) {
  return has_any(
      set, {"Service", "PodDisruptionBudget", "HorizontalPodAutoscaler", "Ingress", "Route", "HTTPRoute", "Namespace"});
}

// Minimum number of replicas, and the line that sets it.
config::Setting<std::int64_t> fewest_replicas(const ObjectsBySpace& scalers, const config::AppConfig& app) {
  if (const config::KubeObject* scaler = scaler_of(scalers, app)) {
    for (const char* path : {"spec.minReplicas", "spec.minReplicaCount"}) {
      config::Setting<std::int64_t> least = config::integer_setting(scaler->at(path), path);
      if (least.known()) return least;
    }
    config::Setting<std::int64_t> fallback = config::vendor_default(std::int64_t{1}, "minReplicas is 1 unless set");
    fallback.place = scaler->place;
    return fallback;
  }
  return app.replicas;
}

void check_disruption_budget(const CheckInput& input, Report& report) {
  if (!shows_services(input.config())) return;
  const ObjectsBySpace budgets = objects_by_space(input.config(), "PodDisruptionBudget");
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_inference(app) || budget_of(budgets, app) != nullptr) continue;
    findings.add(app, app.place, "has no PodDisruptionBudget: draining nodes may stop all its replicas at once");
  }
}

void check_disruption_budget_drain(const CheckInput& input, Report& report) {
  const ObjectsBySpace budgets = objects_by_space(input.config(), "PodDisruptionBudget");
  const ObjectsBySpace scalers = objects_by_space(input.config(), "HorizontalPodAutoscaler");
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    const config::KubeObject* budget = is_inference(app) ? budget_of(budgets, app) : nullptr;
    if (budget == nullptr) continue;
    const config::Setting<std::int64_t> least =
        config::integer_setting(budget->at("spec.minAvailable"), "minAvailable");
    const config::Setting<std::int64_t> replicas = fewest_replicas(scalers, app);
    const YamlNode* share = budget->at("spec.minAvailable");
    const bool all = config::text_of(share) == "100%" || config::text_of(budget->at("spec.maxUnavailable")) == "0";
    if (!replicas.known() || *replicas < 2) continue;
    if (!all && (!least.known() || *least < *replicas)) continue;
    findings.add(app, least.known() ? least.place : budget->place,
                 fmt::format("cannot lose a replica under `{}`: with {} replicas no node can be drained", budget->name,
                             *replicas),
                 {related(replicas.place, "its replicas")});
  }
}

void check_inference_readiness(const CheckInput& input, Report& report) {
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_inference(app)) continue;
    if (!app.readiness.known()) {
      findings.add(app, app.place, "has no readiness probe: requests arrive before the model is loaded");
    } else if (*app.readiness == "tcpSocket") {
      findings.add(app, app.readiness.place, "has a TCP readiness probe: requests arrive before the model is loaded");
    }
  }
}

void check_inference_replicas(const CheckInput& input, Report& report) {
  const ObjectsBySpace scalers = objects_by_space(input.config(), "HorizontalPodAutoscaler");
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_inference(app) || app.kind == "LeaderWorkerSet") continue;
    const config::Setting<std::int64_t> replicas = fewest_replicas(scalers, app);
    if (replicas.known() && *replicas > 1) continue;
    findings.add(app, replicas.place.known() ? replicas.place : app.place,
                 "may run as one replica: the failure of its node is an outage");
  }
}

void check_inference_autoscaler(const CheckInput& input, Report& report) {
  if (!shows_services(input.config())) return;
  const ObjectsBySpace scalers = objects_by_space(input.config(), "HorizontalPodAutoscaler");
  const ObjectsBySpace scaled = objects_by_space(input.config(), "ScaledObject");
  AppFindings findings(report);
  for (const config::AppConfig& app : input.config().apps) {
    if (!is_inference(app) || scaler_of(scalers, app) != nullptr || scaler_of(scaled, app) != nullptr) continue;
    findings.add(app, app.place, "does not scale with its load: no HorizontalPodAutoscaler targets it");
  }
}

// "300", "300s", "5m" in seconds.
std::optional<std::int64_t> seconds_of(std::string_view text) {
  if (const auto plain = parse_integer(text)) return *plain;
  if (const auto duration = parse_duration(text)) return duration->count() / 1'000'000'000;
  return std::nullopt;
}

void check_timeout(const config::KubeObject& object, const YamlNode* node, Report& report) {
  const auto seconds = seconds_of(config::text_of(node));
  if (!seconds || *seconds >= kShortestTimeout || *seconds == 0) return;  // 0 means never
  report.add(
      object.name, node->place,
      fmt::format("{} `{}` times out after {} s; long responses take longer", object.kind, object.name, *seconds));
}

void check_inference_route_timeout(const CheckInput& input, Report& report) {
  const AppsBySpace serving = apps_by_space(input.config(), is_inference);
  for (const config::KubeObject& object : input.config().objects) {
    if (serving.count(object.space) == 0) continue;
    const YamlNode* annotations = object.at("metadata.annotations");
    if (object.kind == "Ingress" || object.kind == "Route") {
      if (annotations == nullptr) continue;
      for (const YamlEntry& entry : annotations->entries) {
        const bool timeout = entry.key.ends_with("/proxy-read-timeout") || entry.key.ends_with("/proxy-send-timeout") ||
                             entry.key == "haproxy.router.openshift.io/timeout";
        if (timeout) check_timeout(object, &entry.value, report);
      }
    } else if (object.kind == "HTTPRoute" && object.at("spec.rules") != nullptr) {
      for (const YamlNode& rule : object.at("spec.rules")->items) {
        check_timeout(object, config::node_at(&rule, "timeouts.request"), report);
        check_timeout(object, config::node_at(&rule, "timeouts.backendRequest"), report);
      }
    }
  }
}

void check_inference_route_balancing(const CheckInput& input, Report& report) {
  const AppsBySpace serving = apps_by_space(input.config(), is_inference);
  for (const config::KubeObject& object : input.config().objects) {
    if (serving.count(object.space) == 0 || (object.kind != "Ingress" && object.kind != "Route")) continue;
    const YamlNode* annotations = object.at("metadata.annotations");
    if (annotations == nullptr) continue;
    for (const YamlEntry& entry : annotations->entries) {
      const bool balance = entry.key.ends_with("/load-balance") || entry.key == "haproxy.router.openshift.io/balance";
      const std::string value = to_lower(config::text_of(&entry.value));
      if (!balance || (value != "round_robin" && value != "roundrobin")) continue;
      report.add(object.name, entry.value.place,
                 fmt::format("{} `{}` balances requests round-robin, regardless of load", object.kind, object.name));
    }
  }
}

void check_cilium_bgp_resource(const CheckInput& input, Report& report) {
  for (const config::KubeObject& object : input.config().objects) {
    if (object.kind != "CiliumBGPPeeringPolicy") continue;
    report.add(object.name, object.place,
               fmt::format("CiliumBGPPeeringPolicy `{}` was removed in Cilium 1.19", object.name));
  }
}

}  // namespace

std::vector<Rule> host_service_rules() {  // NOLINT(readability-function-size): a table
  constexpr auto kConfig = RuleNeeds::config;
  return {
      {.id = "HO050",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "an inference service has no disruption budget",
       .reason = "A rolling upgrade of nodes can stop all replicas at once.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), frontend resiliency: PodDisruptionBudgets",
       .fix = "add a PodDisruptionBudget",
       .example = {.file = "running/inference.yaml",
                   .from = "  minAvailable: 2\n  selector:\n    matchLabels:\n      app: chat\n",
                   .to = "  minAvailable: 2\n  selector:\n    matchLabels:\n      app: talk\n"},
       .run = check_disruption_budget},
      {.id = "HO051",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "a disruption budget blocks every drain",
       .reason = "Nodes cannot be drained for repair or upgrade until pods are deleted manually.",
       .source = "Kubernetes: specifying a disruption budget, minAvailable equal to replicas",
       .fix = "allow at least one replica to be unavailable",
       .example = {.file = "running/inference.yaml", .from = "minAvailable: 2", .to = "minAvailable: 4"},
       .run = check_disruption_budget_drain},
      {.id = "HO052",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "the readiness probe does not check the model",
       .reason = "An open port does not mean that the weights are in GPU memory: users get errors for minutes after "
                 "each start.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026): probe /health, don't trust TCP-level readiness",
       .fix = "probe the server's health endpoint with httpGet",
       .example = {.file = "running/inference.yaml",
                   .from = "readinessProbe:\n            httpGet: {path: /health, port: 8000}",
                   .to = "readinessProbe:\n            tcpSocket: {port: 8000}"},
       .run = check_inference_readiness},
      {.id = "HO053",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "an inference service may have one replica",
       .reason = "The failure of one pod, node or GPU is an outage.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), resiliency matrix: multiple replicas",
       .fix = "run at least two replicas",
       .example = {.file = "running/inference.yaml", .from = "minReplicas: 4", .to = "minReplicas: 1"},
       .run = check_inference_replicas},
      {.id = "HO054",
       .severity = Severity::note,
       .needs = kConfig,
       .title = "an inference service does not scale with its load",
       .reason =
           "Inference load varies widely: a fixed number of replicas is too small at peak times and idle at night.",
       .source = "Building Enterprise AI Infrastructure (Pabba, 2026), horizontal pod autoscaler",
       .fix = "add a HorizontalPodAutoscaler",
       .example = {.file = "running/inference.yaml",
                   .from = "kind: Deployment, name: chat}",
                   .to = "kind: Deployment, name: talk}"},
       .run = check_inference_autoscaler},
      {.id = "HO055",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "the route to an inference service times out early",
       .reason = "A request keeps its connection open while tokens are streamed; when it is cut off, the client "
                 "retries and doubles the load.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), load balancing: 60 to 300 s, not the default 30 s",
       .fix = "set timeouts of 60 to 300 s",
       .example = {.file = "running/inference.yaml",
                   .from = "proxy-read-timeout: \"300\"",
                   .to = "proxy-read-timeout: \"30\""},
       .run = check_inference_route_timeout},
      {.id = "HO056",
       .severity = Severity::warning,
       .needs = kConfig,
       .title = "inference requests are balanced round-robin",
       .reason = "Requests differ in length by a factor of 100: with round-robin, long ones queue on one replica.",
       .source =
           "Building Enterprise AI Infrastructure (Pabba, 2026), load balancing: least-connection, not round-robin",
       .fix = "balance by load (ewma, leastconn)",
       .example = {.file = "running/inference.yaml", .from = "load-balance: ewma", .to = "load-balance: round_robin"},
       .run = check_inference_route_balancing},
      {.id = "HO057",
       .severity = Severity::error,
       .needs = kConfig,
       .title = "a BGP resource was removed from Cilium",
       .reason = "After the upgrade no node announces the service addresses, and the API server rejects the object.",
       .source = "Cilium 1.19 removes CiliumBGPPeeringPolicy",
       .fix = "use CiliumBGPClusterConfig, PeerConfig and Advertisement",
       .example = {.file = "running/frontend.yaml",
                   .from = "",
                   .to = "---\napiVersion: cilium.io/v2alpha1\nkind: CiliumBGPPeeringPolicy\nmetadata: {name: "
                         "old}\nspec: {virtualRouters: []}\n"},
       .run = check_cilium_bgp_resource},
  };
}

}  // namespace weft::check
