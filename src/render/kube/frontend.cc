// kubernetes/frontend: service addresses announced over BGP to both frontend leaves, the pool they are allocated from,
// and the ingress path for requests (kube/ingress.cc).
#include <fmt/format.h>

#include "render/core/targets.h"
#include "render/kube/ingress.h"
#include "render/kube/services.h"

namespace weft::render {
namespace {

using kube_services::add_manifest;
using kube_services::match_labels;
using kube_services::object;

constexpr std::string_view kFrontend = "frontend";  // name of every object here, and the value of both labels
constexpr std::string_view kAdvertise = "weft/advertise";
constexpr std::string_view kPasswordSecret = "frontend-bgp";
constexpr std::int64_t kHoldSeconds = 9;  // three keepalives: the minimum that most switches accept without BFD
constexpr std::int64_t kKeepaliveSeconds = 3;
constexpr std::int64_t kRetrySeconds = 5;
constexpr std::int64_t kRestartSeconds = 120;  // RFC 4724 restart time: longer than an agent upgrade

Value graceful_restart() { return Value::map({{"enabled", true}, {"restartTimeSeconds", kRestartSeconds}}); }

// Cilium 1.18 and before: everything in one object.
std::vector<Value> peering_policy(const RenderInput& input) {
  Value neighbors = Value::list();
  for (const RenderPlan::Peer& peer : input.plan.frontend_peers()) {
    neighbors.add(Value::map({{"peerAddress", to_text(peer.address) + "/32"},
                              {"peerASN", peer.asn},
                              {"authSecretRef", kPasswordSecret},
                              {"connectRetryTimeSeconds", kRetrySeconds},
                              {"holdTimeSeconds", kHoldSeconds},
                              {"keepAliveTimeSeconds", kKeepaliveSeconds},
                              {"gracefulRestart", graceful_restart()}}));
  }
  Value router = Value::map({{"localASN", input.cluster.spec().control_plane->asn.value},
                             {"exportPodCIDR", false},
                             {"serviceSelector", match_labels(kExposeLabel, kFrontend)},
                             {"serviceAdvertisements", Value::list({"LoadBalancerIP"})},
                             {"neighbors", std::move(neighbors)}});
  Value policy = object("cilium.io/v2alpha1", "CiliumBGPPeeringPolicy", std::string(kFrontend));
  policy["spec"] = Value::map(
      {{"nodeSelector", match_labels(kFabricLabel, kFrontend)}, {"virtualRouters", Value::list({std::move(router)})}});
  return {std::move(policy)};
}

Value cluster_config(const RenderInput& input) {
  Value peers = Value::list();
  for (const RenderPlan::Peer& peer : input.plan.frontend_peers()) {
    peers.add(Value::map({{"name", kube_services::label_name(input.cluster.name_of(peer.leaf))},
                          {"peerASN", peer.asn},
                          {"peerAddress", to_text(peer.address)},
                          {"peerConfigRef", Value::map({{"name", kFrontend}})}}));
  }
  Value instance = Value::map(
      {{"name", kFrontend}, {"localASN", input.cluster.spec().control_plane->asn.value}, {"peers", std::move(peers)}});
  Value config = object("cilium.io/v2", "CiliumBGPClusterConfig", std::string(kFrontend));
  config["spec"] = Value::map(
      {{"nodeSelector", match_labels(kFabricLabel, kFrontend)}, {"bgpInstances", Value::list({std::move(instance)})}});
  return config;
}

Value peer_config() {
  Value config = object("cilium.io/v2", "CiliumBGPPeerConfig", std::string(kFrontend));
  config["spec"] = Value::map({
      {"authSecretRef", kPasswordSecret},
      {"timers", Value::map({{"connectRetryTimeSeconds", kRetrySeconds},
                             {"holdTimeSeconds", kHoldSeconds},
                             {"keepAliveTimeSeconds", kKeepaliveSeconds}})},
      {"gracefulRestart", graceful_restart()},
      {"families",
       Value::list({Value::map(
           {{"afi", "ipv4"}, {"safi", "unicast"}, {"advertisements", match_labels(kAdvertise, kFrontend)}})})},
  });
  return config;
}

Value advertisement() {
  Value advertised = object("cilium.io/v2", "CiliumBGPAdvertisement", std::string(kFrontend));
  advertised["metadata"]["labels"].set(kAdvertise, kFrontend);
  advertised["spec"] =
      Value::map({{"advertisements",
                   Value::list({Value::map({{"advertisementType", "Service"},
                                            {"service", Value::map({{"addresses", Value::list({"LoadBalancerIP"})}})},
                                            {"selector", match_labels(kExposeLabel, kFrontend)}})})}});
  return advertised;
}

Value address_pool(const RenderInput& input) {
  const auto [first, last] = input.plan.service_addresses();
  Value pool = object("cilium.io/v2", "CiliumLoadBalancerIPPool", std::string(kFrontend));
  pool["spec"] =
      Value::map({{"blocks", Value::list({Value::map({{"start", to_text(first)}, {"stop", to_text(last)}})})},
                  {"serviceSelector", match_labels(kExposeLabel, kFrontend)}});
  return pool;
}

Value gateway_namespace() {
  Value space = object("v1", "Namespace", std::string(kGatewaySpace));
  Value& labels = space["metadata"]["labels"];
  labels.set("pod-security.kubernetes.io/enforce", "baseline");
  labels.set("pod-security.kubernetes.io/warn", "restricted");
  return space;
}

constexpr std::string_view kBgpNotes =
    "BGP from the nodes labeled weft/fabric=frontend to both frontend leaves, and the pool of service addresses.\n"
    "Cilium's resources have no BFD: a session ends 9 s after its leaf stops responding, or at once on link down;\nBFD "
    "on the leaves covers only their uplinks. The MD5 password is read from the Secret frontend-bgp (key password)\n"
    "in kube-system, which the secret store provides: the leaves have the same password.";

}  // namespace

bool applies_kube_frontend(const RenderInput& input) {
  return input.plan.has_kubernetes() && !input.plan.frontend_peers().empty();
}

void render_kube_frontend(const RenderInput& input, FileSink& sink) {
  const std::string folder = "kubernetes/frontend/";
  add_manifest(input, sink,
               {.path = folder + "10-namespace.yaml",
                .what = "Namespace of the gateway. Applied before the objects in it.",
                .consumer = "Kubernetes",
                .documents = {gateway_namespace()},
                .stage = Stage::hosts,
                .sources = {"services"}});
  std::vector<Value> bgp = input.options["bgp"] == "v1"
                               ? peering_policy(input)
                               : std::vector<Value>{cluster_config(input), peer_config(), advertisement()};
  bgp.push_back(address_pool(input));
  add_manifest(input, sink,
               {.path = folder + "20-bgp.yaml",
                .what = std::string(kBgpNotes),
                .consumer = "Cilium",
                .documents = std::move(bgp),
                .risk = Risk::reload,
                .sources = {"fabrics.frontend", "control_plane.asn"}});
  add_manifest(input, sink,
               {.path = folder + "30-entrance.yaml",
                .what = kube_ingress::entrance_notes(input),
                .consumer = "Gateway API",
                .documents = kube_ingress::entrance(input, sink),
                .sources = {"services", "site.domain"}});
  add_manifest(input, sink,
               {.path = folder + "40-routes.yaml",
                .what = kube_ingress::route_notes(input),
                .consumer = "Gateway API",
                .documents = kube_ingress::routes(input),
                .stage = Stage::workloads,
                .sources = {"services"}});
}

}  // namespace weft::render
