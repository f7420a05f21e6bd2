// The Kubernetes targets for the frontend, scheduling, inference and policy: every document is validated against the
// published schemas, references between objects against each other, and network settings against the cluster.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "base/quantity.h"
#include "base/test_prerequisites.h"
#include "check/core/checker.h"
#include "config/kube_objects.h"
#include "kube_schema.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_rendered::Edits;
using testing_rendered::load_example;
using testing_rendered::Rendering;

const std::vector<std::string> kTargets{"kubernetes/frontend", "kubernetes/scheduling", "kubernetes/inference",
                                        "kubernetes/policy"};

struct Case {
  std::string name;
  std::string example;
  Edits edits;
  std::vector<std::string> options;
  std::size_t documents;  // counted by hand: nodes, tenants, services and the objects of each
};

const Edits kNoTenants{
    {"tenants:\n  - {name: team-alpha, quota: {gpus: 128, cpus: 2048, memory: 64TB, storage: 200TB, "
     "volume_claims: 50}}\n",
     ""}};
const Edits kNoServices{
    {"services:\n  - {name: chat, pool: infer, tenant: team-beta, mig: 1g.10gb, min_replicas: 4, "
     "max_replicas: 56, port: 8000,\n     priority: inference-critical, timeout: 300s, "
     "min_available: 2}\n",
     ""}};
const Edits kKubernetes{{"control_plane: {kind: both, pool: infra, etcd_members: 3, allocator: slurm,",
                         "control_plane: {kind: both, pool: infra, etcd_members: 3, allocator: kubernetes,"}};
// Services of every kind: without a tenant, whole GPUs, time slices, a name in another domain, no probe, round-robin.
const Edits kManyServices{
    {"\noperations:\n",
     "  - {name: big, pool: infer, gpus: 4, min_replicas: 1, max_replicas: 2, host: api.example.com, probe: tcp,\n"
     "     sticky: false, balancing: round-robin, timeout: 90500ms, image: \"ghcr.io/acme/server:1.2\"}\n"
     "  - {name: Embed_2, pool: embed, tenant: team-beta, gpus: 1, min_replicas: 2, max_replicas: 4, probe: none,\n"
     "     port: 9000, host: a.b.pod16.internal}\n\noperations:\n"}};

const std::vector<Case> kCases{
    {"pod16", "pod16.yaml", {}, {}, 66},
    {"pod16_bgp_v1", "pod16.yaml", {}, {"bgp=v1"}, 64},
    {"pod16_ingress", "pod16.yaml", {}, {"ingress=ingress"}, 64},
    {"pod16_route", "pod16.yaml", {}, {"ingress=route"}, 63},
    {"pod16_kubernetes", "pod16.yaml", kKubernetes, {}, 80},
    {"pod16_no_services", "pod16.yaml", kNoServices, {}, 57},
    {"pod16_many_services", "pod16.yaml", kManyServices, {}, 89},
    {"pod16_open", "pod16.yaml", {{"network_policy: deny", "network_policy: allow"}}, {}, 60},
    {"pod32", "pod32.yaml", {}, {}, 67},
    {"pod32_no_tenants", "pod32.yaml", kNoTenants, {}, 55},
    {"superpod", "superpod-h100-4su.yaml", {}, {}, 147},
    {"nexus8", "nexus8.yaml", {}, {}, 34},
};

// The rendered objects, parsed by the parser of `weft check`.
struct Objects {
  std::unique_ptr<Rendering> rendering;
  config::ConfigSet set;

  explicit Objects(const Case& wanted) : rendering(load_example(wanted.example, wanted.edits)) {
    if (rendering == nullptr) return;
    for (const std::string& option : wanted.options) EXPECT_TRUE(rendering->options.set(option).ok()) << option;
    for (const std::string& target : kTargets) rendering->render(target);
    for (const auto& [path, file] : rendering->sink.files) {
      config::read_config_text(path, file.content, rendering->loaded->sources, set, set.problems);
    }
  }
  [[nodiscard]] const model::Cluster& cluster() const { return rendering->cluster(); }
  [[nodiscard]] std::vector<const config::KubeObject*> all(std::string_view kind) const {
    std::vector<const config::KubeObject*> out;
    for (const config::KubeObject& object : set.objects) {
      if (object.kind == kind) out.push_back(&object);
    }
    return out;
  }
  [[nodiscard]] const config::KubeObject* one(std::string_view kind, std::string_view space,
                                              std::string_view name) const {
    for (const config::KubeObject* object : all(kind)) {
      if (object->space == space && object->name == name) return object;
    }
    return nullptr;
  }
};

using Labels = std::map<std::string, std::string>;

Labels labels_at(const YamlNode* node) {
  Labels out;
  if (node == nullptr) return out;
  for (const YamlEntry& entry : node->entries) out[entry.key] = entry.value.scalar;
  return out;
}

bool includes(const Labels& labels, const Labels& wanted) {
  return !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), [&](const auto& pair) {
    const auto found = labels.find(pair.first);
    return found != labels.end() && found->second == pair.second;
  });
}

const std::vector<YamlNode>& items_at(const YamlNode* node, std::string_view path) {
  static const std::vector<YamlNode> kNothing;
  const YamlNode* found = config::node_at(node, path);
  return found == nullptr ? kNothing : found->items;
}

std::string text_at(const YamlNode* node, std::string_view path) {
  return std::string(config::text_of(config::node_at(node, path)));
}

const Case& named(std::string_view name) {
  const auto found = std::find_if(kCases.begin(), kCases.end(), [&](const Case& c) { return c.name == name; });
  EXPECT_NE(found, kCases.end());
  return *found;
}

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class RenderKubeB : public testing::TestWithParam<Case> {};

TEST_P(RenderKubeB, EveryDocumentFitsItsSchema) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  const Objects objects(GetParam());
  kube_schema::ValidationReport whole;
  for (const auto& [path, file] : objects.rendering->sink.files)
    whole.add(kube_schema::validate_documents(path, file.content));
  // OpenShift publishes no schema for Route among those here: the only kind that may lack one.
  std::erase_if(whole.errors, [](const kube_schema::ValidationError& error) {
    return error.message.find("no schema") != std::string::npos && error.object.starts_with("Route ");
  });
  EXPECT_TRUE(whole.ok()) << whole.text();
  EXPECT_TRUE(whole.not_understood.empty());
  EXPECT_EQ(whole.documents, GetParam().documents);
  std::set<std::string> once(whole.objects.begin(), whole.objects.end());
  EXPECT_EQ(once.size(), whole.objects.size()) << "an object is rendered twice";
  std::cout << whole.documents << " documents, " << whole.cel_rules << " CEL rules not evaluated\n";
}

// Every namespace of an object is rendered, or is created by an operator.
TEST_P(RenderKubeB, NamespacesExist) {
  const Objects objects(GetParam());
  std::set<std::string> known{"monitoring", "openshift-ingress"};
  for (const config::KubeObject* space : objects.all("Namespace")) known.insert(space->name);
  ASSERT_FALSE(objects.set.objects.empty());
  for (const config::KubeObject& object : objects.set.objects) {
    EXPECT_TRUE(object.space.empty() || known.count(object.space) == 1) << object.kind << " " << object.name;
  }
}

TEST_P(RenderKubeB, CheckFindsNothingMore) {
  const Objects objects(GetParam());
  const auto messages = [&](const config::ConfigSet& config, bool live) {
    const check::CheckInput input(&objects.cluster(), config, objects.rendering->loaded->sources, live);
    check::CheckOptions options;
    options.today = "2026-11-15";
    std::multiset<std::string> out;
    for (const check::Finding& finding : check::run_checks(input, options).findings) {
      out.insert(std::string(finding.rule->id) + " " + finding.message);
    }
    return out;
  };
  const std::multiset<std::string> design = messages(config::ConfigSet{}, false);
  // What a case sets on purpose: objects of an old release, weak probes, a single replica, open namespaces.
  static const std::map<std::string, std::set<std::string>> kWanted{
      {"pod16_bgp_v1", {"HO057"}}, {"pod16_many_services", {"HO052", "HO053"}}, {"pod16_open", {"HO060"}}};
  std::set<std::string> found;
  for (const std::string& message : messages(objects.set, true)) {
    if (design.count(message) > 0) continue;
    found.insert(message.substr(0, 5));
    SCOPED_TRACE(message);
    const auto wanted = kWanted.find(GetParam().name);
    EXPECT_TRUE(wanted != kWanted.end() && wanted->second.count(message.substr(0, 5)) > 0);
  }
  // The rules do read the rendered files: what is wrong on purpose is found.
  if (const auto wanted = kWanted.find(GetParam().name); wanted != kWanted.end()) {
    EXPECT_EQ(found, wanted->second);
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, RenderKubeB, testing::ValuesIn(kCases), [](const auto& one) { return one.param.name; });

// ---- what objects say of each other ----

void expect_service_stack(const Objects& objects, const config::KubeObject& route) {
  for (const YamlNode& rule : items_at(&route.tree, "spec.rules")) {
    for (const YamlNode& backend : items_at(&rule, "backendRefs")) {
      const config::KubeObject* service = objects.one("Service", route.space, text_at(&backend, "name"));
      ASSERT_NE(service, nullptr);
      ASSERT_EQ(items_at(&service->tree, "spec.ports").size(), 1U);
      const YamlNode& port = items_at(&service->tree, "spec.ports").front();
      EXPECT_EQ(text_at(&port, "port"), text_at(&backend, "port"));
      const Labels selector = labels_at(service->at("spec.selector"));
      const config::KubeObject* deployment = objects.one("Deployment", route.space, service->name);
      ASSERT_NE(deployment, nullptr);
      EXPECT_TRUE(includes(labels_at(deployment->at("spec.template.metadata.labels")), selector));
      EXPECT_EQ(labels_at(deployment->at("spec.selector.matchLabels")), selector);
      const YamlNode& container = items_at(&deployment->tree, "spec.template.spec.containers").front();
      EXPECT_EQ(text_at(&items_at(&container, "ports").front(), "name"), text_at(&port, "targetPort"));
    }
  }
}

TEST(RenderKubeBLinks, RoutesLeadToPods) {
  const Objects objects(named("pod16_many_services"));
  const auto routes = objects.all("HTTPRoute");
  ASSERT_EQ(routes.size(), 4U);  // three services and the redirect
  const config::KubeObject* gateway = objects.one("Gateway", "gateway", "frontend");
  ASSERT_NE(gateway, nullptr);
  std::map<std::string, std::string> listeners;
  for (const YamlNode& listener : items_at(&gateway->tree, "spec.listeners")) {
    listeners[text_at(&listener, "name")] = text_at(&listener, "hostname");
  }
  for (const config::KubeObject* route : routes) {
    const YamlNode& parent = items_at(&route->tree, "spec.parentRefs").front();
    ASSERT_EQ(listeners.count(text_at(&parent, "sectionName")), 1U);
    expect_service_stack(objects, *route);
    if (route->name == "to-https") continue;
    // A listener's "*.x" covers every name that ends in ".x"; a full name covers only itself.
    const std::string host = items_at(&route->tree, "spec.hostnames").front().scalar;
    const std::string& wanted = listeners[text_at(&parent, "sectionName")];
    EXPECT_TRUE(host == wanted || (wanted.starts_with("*.") && host.ends_with(wanted.substr(1)))) << host;
    const config::KubeObject* space = objects.one("Namespace", "", route->space);
    ASSERT_NE(space, nullptr);
    EXPECT_EQ(labels_at(space->at("metadata.labels"))["weft/expose"], "frontend");
  }
}

TEST(RenderKubeBLinks, TimeoutsAreThoseOfTheServices) {
  const Objects objects(named("pod16_many_services"));
  const auto timeout = [&](const char* space, const char* name) {
    const config::KubeObject* route = objects.one("HTTPRoute", space, name);
    return route == nullptr ? std::string()
                            : text_at(&items_at(&route->tree, "spec.rules").front(), "timeouts.request");
  };
  EXPECT_EQ(timeout("team-beta", "chat"), "300s");
  EXPECT_EQ(timeout("inference", "big"), "1m30s500ms");
}

TEST(RenderKubeBLinks, PodsFindNodes) {
  const Objects objects(named("pod16_many_services"));
  const auto nodes = objects.all("Node");
  EXPECT_EQ(nodes.size(), 24U);  // 16 + 4 + 1 + 3: the pools with kubelets
  ASSERT_FALSE(objects.all("Deployment").empty());
  for (const config::KubeObject* deployment : objects.all("Deployment")) {
    const Labels wanted = labels_at(deployment->at("spec.template.spec.nodeSelector"));
    std::size_t fit = 0;
    for (const config::KubeObject* node : nodes) {
      if (!includes(labels_at(node->at("metadata.labels")), wanted)) continue;
      ++fit;
      for (const YamlNode& taint : items_at(&node->tree, "spec.taints")) {
        const auto& tolerations = items_at(&deployment->tree, "spec.template.spec.tolerations");
        EXPECT_TRUE(std::any_of(tolerations.begin(), tolerations.end(), [&](const YamlNode& one) {
          return text_at(&one, "key") == text_at(&taint, "key") && text_at(&one, "value") == text_at(&taint, "value") &&
                 text_at(&one, "effect") == text_at(&taint, "effect");
        })) << deployment->name;
      }
    }
    EXPECT_EQ(fit, deployment->name == "embed-2" ? 1U : 4U) << deployment->name;
  }
}

// All replicas that fit on a server's GPUs also fit in its memory and cores.
TEST(RenderKubeBLinks, ReplicasFitTheServer) {
  const Objects objects(named("pod16"));
  const config::KubeObject* chat = objects.one("Deployment", "team-beta", "chat");
  ASSERT_NE(chat, nullptr);
  const YamlNode* limits =
      config::node_at(&items_at(&chat->tree, "spec.template.spec.containers").front(), "resources.limits");
  ASSERT_NE(limits, nullptr);
  const auto memory = parse_bytes(config::text_of(limits->find("memory")));
  ASSERT_TRUE(memory.ok());
  const render::PoolPlan* pool = objects.rendering->plan->pool("infer");
  ASSERT_NE(pool, nullptr);
  constexpr std::int64_t kReplicas = 8 * 7;  // 8 GPUs of 7 instances 1g.10gb
  EXPECT_LE(memory->count() * kReplicas, pool->server->memory->count());
  EXPECT_GE(memory->count() * kReplicas, pool->server->memory->count() / 2);
  EXPECT_EQ(config::text_of(limits->find("nvidia.com/mig-1g.10gb")), "1");
}

TEST(RenderKubeBLinks, ScalersQuerySeriesThatTheAdapterServes) {
  const Objects objects(named("pod16_many_services"));
  const config::KubeObject* adapter = objects.one("ConfigMap", "monitoring", "prometheus-adapter");
  ASSERT_NE(adapter, nullptr);
  // The dotted key is one key of the map.
  std::string config;
  for (const YamlEntry& entry : adapter->at("data")->entries) config += entry.value.scalar;
  for (const config::KubeObject* scaler : objects.all("HorizontalPodAutoscaler")) {
    const YamlNode& metric = items_at(&scaler->tree, "spec.metrics").front();
    EXPECT_NE(config.find("as: " + text_at(&metric, "pods.metric.name")), std::string::npos);
    const config::KubeObject* target =
        objects.one("Deployment", scaler->space, text_at(&scaler->tree, "spec.scaleTargetRef.name"));
    EXPECT_NE(target, nullptr);
    // DCGM: a whole GPU in percent, the engine of an instance as a fraction of 1.
    const std::string value = text_at(&metric, "pods.target.averageValue");
    EXPECT_EQ(value, scaler->name == "chat" ? "700m" : "70");
  }
}

// AMD's device plugin and exporter use different names.
TEST(RenderKubeBLinks, OtherGpusHaveOtherNames) {
  Case amd = named("pod16_many_services");
  amd.edits.push_back({"server: hgx-h100\n    count: 1\n", "server: mi300x-platform\n    count: 1\n"});
  amd.edits.push_back({"    time_slices: 4\n", ""});
  const Objects objects(amd);
  ASSERT_NE(objects.rendering, nullptr);
  const config::KubeObject* embed = objects.one("Deployment", "team-beta", "embed-2");
  ASSERT_NE(embed, nullptr);
  const YamlNode& container = items_at(&embed->tree, "spec.template.spec.containers").front();
  EXPECT_EQ(labels_at(config::node_at(&container, "resources.limits"))["amd.com/gpu"], "1");
  const config::KubeObject* quota = objects.one("ResourceQuota", "team-beta", "share");
  ASSERT_NE(quota, nullptr);
  EXPECT_EQ(labels_at(quota->at("spec.hard"))["requests.amd.com/gpu"], "16");
  const config::KubeObject* scaler = objects.one("HorizontalPodAutoscaler", "team-beta", "embed-2");
  ASSERT_NE(scaler, nullptr);
  EXPECT_EQ(text_at(&items_at(&scaler->tree, "spec.metrics").front(), "pods.metric.name"), "gpu_gfx_activity");
}

TEST(RenderKubeBLinks, NodePortsDiffer) {
  const Objects objects(named("pod16_many_services"));
  std::set<std::string> ports;
  for (const config::KubeObject* service : objects.all("Service")) {
    for (const YamlNode& port : items_at(&service->tree, "spec.ports")) {
      const std::string number = text_at(&port, "nodePort");
      EXPECT_TRUE(ports.insert(number).second);
      EXPECT_GE(std::stoi(number), 30000);
      EXPECT_LE(std::stoi(number), 32767);
    }
  }
  EXPECT_EQ(ports.size(), 3U);
}

// ---- what they say of the network ----

TEST(RenderKubeBNetwork, NodesPeerWithBothLeaves) {
  for (const char* name : {"pod16", "superpod"}) {
    const Objects objects(named(name));
    const auto configs = objects.all("CiliumBGPClusterConfig");
    ASSERT_EQ(configs.size(), 1U);
    const YamlNode& instance = items_at(&configs.front()->tree, "spec.bgpInstances").front();
    const auto& peers = items_at(&instance, "peers");
    ASSERT_EQ(peers.size(), 2U);
    std::set<std::string> addresses;
    for (const YamlNode& peer : peers) {
      const model::DeviceId leaf = objects.cluster().find_device(text_at(&peer, "name"));
      ASSERT_NE(leaf, model::kNone<model::DeviceId>);
      EXPECT_EQ(text_at(&peer, "peerASN"), std::to_string(objects.cluster().device(leaf).asn));
      addresses.insert(text_at(&peer, "peerAddress"));
    }
    EXPECT_EQ(addresses.size(), 2U);
    const Labels wanted = labels_at(configs.front()->at("spec.nodeSelector.matchLabels"));
    std::size_t announcing = 0;
    for (const config::KubeObject* node : objects.all("Node")) {
      announcing += includes(labels_at(node->at("metadata.labels")), wanted) ? 1U : 0U;
    }
    EXPECT_EQ(announcing, std::string_view(name) == "pod16" ? 3U : 2U);  // the infrastructure pool; the first two DGX
  }
}

TEST(RenderKubeBNetwork, ServiceAddressesAreUnique) {
  for (const char* name : {"pod16", "pod32", "superpod"}) {
    const Objects objects(named(name));
    const auto pools = objects.all("CiliumLoadBalancerIPPool");
    ASSERT_EQ(pools.size(), 1U);
    const YamlNode& block = items_at(&pools.front()->tree, "spec.blocks").front();
    const auto first = parse_ipv4(text_at(&block, "start"));
    const auto last = parse_ipv4(text_at(&block, "stop"));
    ASSERT_TRUE(first.ok() && last.ok());
    EXPECT_LT(*first, *last);
    for (const model::Port& port : objects.cluster().ports()) {
      EXPECT_FALSE(port.address >= *first && port.address <= *last) << to_text(port.address);
    }
    const config::KubeObject* gateway = objects.one("Gateway", "gateway", "frontend");
    const auto address = parse_ipv4(text_at(&items_at(&gateway->tree, "spec.addresses").front(), "value"));
    ASSERT_TRUE(address.ok());
    EXPECT_TRUE(*address >= *first && *address <= *last);
  }
}

// Whether an egress rule of the namespace's policies lets a pod reach the address.
bool reachable(const Objects& objects, const std::string& space, Ipv4 address) {
  for (const config::KubeObject* policy : objects.all("NetworkPolicy")) {
    if (policy->space != space) continue;
    for (const YamlNode& rule : items_at(&policy->tree, "spec.egress")) {
      for (const YamlNode& peer : items_at(&rule, "to")) {
        const auto range = parse_ipv4_prefix(text_at(&peer, "ipBlock.cidr"));
        if (!range.ok() || !range->contains(address)) continue;
        const auto& except = items_at(&peer, "ipBlock.except");
        if (std::none_of(except.begin(), except.end(), [&](const YamlNode& item) {
              const auto prefix = parse_ipv4_prefix(item.scalar);
              return prefix.ok() && prefix->contains(address);
            })) {
          return true;
        }
      }
    }
  }
  return false;
}

TEST(RenderKubeBNetwork, NoPodReachesTheFabrics) {
  for (const char* name : {"pod16", "pod16_open", "pod32"}) {
    const Objects objects(named(name));
    std::size_t looked = 0;
    for (const config::KubeObject* space : objects.all("Namespace")) {
      for (const model::Port& port : objects.cluster().ports()) {
        if (port.address == Ipv4{} || port.fabric == model::FabricKind::frontend) continue;
        EXPECT_FALSE(reachable(objects, space->name, port.address)) << space->name << " " << to_text(port.address);
        ++looked;
      }
      // Every namespace can reach the site and the frontend.
      EXPECT_TRUE(reachable(objects, space->name, *parse_ipv4("198.51.100.7")));
      EXPECT_TRUE(reachable(objects, space->name, objects.rendering->plan->service_address(0)));
    }
    EXPECT_GT(looked, 500U);
  }
}

// Where a Cilium rule limits paths, no other policy may open the same pods to other namespaces.
TEST(RenderKubeBNetwork, NoPolicyWidensTheLimitsOnPaths) {
  const Objects objects(named("pod16_many_services"));
  EXPECT_EQ(objects.all("CiliumNetworkPolicy").size(), 3U);
  for (const config::KubeObject* policy : objects.all("NetworkPolicy")) {
    for (const YamlNode& rule : items_at(&policy->tree, "spec.ingress")) {
      for (const YamlNode& peer : items_at(&rule, "from")) {
        EXPECT_EQ(peer.find("namespaceSelector"), nullptr) << policy->space;
        EXPECT_EQ(peer.find("ipBlock"), nullptr) << policy->space;
      }
    }
  }
}

// ---- queues ----

TEST(RenderKubeBQueues, QuotasAreThoseOfTheTenants) {
  const Objects objects(named("pod16_kubernetes"));
  const auto queues = objects.all("ClusterQueue");
  ASSERT_EQ(queues.size(), 2U);
  const std::map<std::string, std::pair<std::string, std::int64_t>> wanted{
      {"team-alpha", {"nvidia.com/gpu", 96}}, {"team-beta", {"nvidia.com/mig-1g.10gb", 56}}};
  for (const config::KubeObject* queue : queues) {
    const auto& [resource, amount] = wanted.at(std::string(queue->name));
    std::int64_t sum = 0;
    for (const YamlNode& group : items_at(&queue->tree, "spec.resourceGroups")) {
      const std::size_t covered = items_at(&group, "coveredResources").size();
      for (const YamlNode& flavor : items_at(&group, "flavors")) {
        EXPECT_NE(objects.one("ResourceFlavor", "", text_at(&flavor, "name")), nullptr);
        EXPECT_EQ(items_at(&flavor, "resources").size(), covered);
        for (const YamlNode& one : items_at(&flavor, "resources")) {
          if (text_at(&one, "name") == resource) sum += std::stoll(text_at(&one, "nominalQuota"));
        }
      }
    }
    EXPECT_EQ(sum, amount) << queue->name;
    for (const std::string& local_name : {std::string("default"), queue->name}) {
      const config::KubeObject* local = objects.one("LocalQueue", queue->name, local_name);
      ASSERT_NE(local, nullptr);
      EXPECT_EQ(text_at(&local->tree, "spec.clusterQueue"), queue->name);
    }
  }
}

// Kueue's topology-aware placement uses only nodes that have every label of the topology.
TEST(RenderKubeBQueues, NodesHaveTheLabelsOfTheirTopology) {
  for (const char* name : {"pod16_kubernetes", "pod32", "superpod"}) {
    const Objects objects(named(name));
    ASSERT_FALSE(objects.all("ResourceFlavor").empty());
    for (const config::KubeObject* flavor : objects.all("ResourceFlavor")) {
      const config::KubeObject* topology = objects.one("Topology", "", text_at(&flavor->tree, "spec.topologyName"));
      ASSERT_NE(topology, nullptr);
      std::size_t nodes = 0;
      for (const config::KubeObject* node : objects.all("Node")) {
        const Labels labels = labels_at(node->at("metadata.labels"));
        if (!includes(labels, labels_at(flavor->at("spec.nodeLabels")))) continue;
        ++nodes;
        for (const YamlNode& level : items_at(&topology->tree, "spec.levels")) {
          const std::string label = text_at(&level, "nodeLabel");
          EXPECT_TRUE(label == "kubernetes.io/hostname" || labels.count(label) == 1) << node->name << " " << label;
        }
      }
      EXPECT_GT(nodes, 0U);
    }
  }
}

// A limit without a default becomes every container's default: the zeros keep helper containers from getting GPUs.
TEST(RenderKubeBQueues, DefaultLimitsContainNoGpus) {
  const Objects objects(named("pod16"));
  ASSERT_FALSE(objects.all("LimitRange").empty());
  for (const config::KubeObject* range : objects.all("LimitRange")) {
    const YamlNode& limits = items_at(&range->tree, "spec.limits").front();
    EXPECT_FALSE(labels_at(limits.find("max")).empty()) << range->space;
    const Labels fallback = labels_at(limits.find("default"));
    const Labels request = labels_at(limits.find("defaultRequest"));
    for (const auto& [resource, amount] : labels_at(limits.find("max"))) {
      ASSERT_EQ(fallback.count(resource), 1U) << resource;
      EXPECT_EQ(fallback.at(resource), "0");
      EXPECT_EQ(request.at(resource), "0");
      EXPECT_GT(std::stoi(amount), 0);
    }
  }
}

// ---- bad input ----

// Two names that are equal after conversion to Kubernetes names: the first is rendered, the second is omitted
// everywhere.
TEST(RenderKubeBInput, ServicesDoNotMerge) {
  const Case twice{
      "twice",
      "pod16.yaml",
      {{"\noperations:\n",
        "  - {name: Chat, pool: embed, tenant: team-beta, gpus: 1, port: 9999, host: b.example.com}\n\noperations:\n"}},
      {},
      0};
  const Objects objects(twice);
  ASSERT_NE(objects.rendering, nullptr);
  ASSERT_EQ(objects.all("Deployment").size(), 1U);
  EXPECT_EQ(objects.all("CiliumNetworkPolicy").size(), 1U);
  EXPECT_EQ(objects.all("HTTPRoute").size(), 2U);
  const config::KubeObject* service = objects.one("Service", "team-beta", "chat");
  ASSERT_NE(service, nullptr);
  EXPECT_EQ(text_at(&items_at(&service->tree, "spec.ports").front(), "port"), "8000");
  ASSERT_EQ(objects.rendering->sink.notes.size(), 1U);
}

TEST(RenderKubeBInput, FreeTextStaysInItsPlace) {
  const Case hostile{
      "hostile",
      "pod16.yaml",
      {{"    spares: 1\n",
        "    spares: 1\n"
        "    labels: {good.example/key: fine, \"bad key\\n  evil: yes\": x, \"also\": \"a\\n---\\nkind: Pod\", "
        "\"on\": \"true\"}\n"
        "    overrides:\n      - {hosts: \"train[003-004]\", labels: {slot: \"no spaces please\", tray: \"7\"}}\n"},
       {"[\"nvidia.com/gpu=inference:NoSchedule\"]\n    mig",
        "[\"nvidia.com/gpu=inference:NoSchedule\", \"a b=\\\"c:NoSchedule\"]\n    mig"},
       {"  - name: team-alpha\n", "  - name: Team_Alpha.\n"}},
      {},
      1};
  const Objects objects(hostile);
  ASSERT_NE(objects.rendering, nullptr);
  EXPECT_TRUE(objects.all("Pod").empty());
  EXPECT_NE(objects.one("Namespace", "", "team-alpha"), nullptr);
  const config::KubeObject* node = objects.one("Node", "", "train003");
  ASSERT_NE(node, nullptr);
  const Labels labels = labels_at(node->at("metadata.labels"));
  EXPECT_EQ(labels.at("good.example/key"), "fine");
  EXPECT_EQ(labels.at("tray"), "7");
  EXPECT_EQ(labels.at("on"), "true");
  EXPECT_EQ(labels.count("slot"), 0U);
  EXPECT_EQ(labels.count("also"), 0U);
  EXPECT_GE(objects.rendering->sink.notes.size(), 4U);
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  for (const auto& [path, file] : objects.rendering->sink.files) {
    const auto report = kube_schema::validate_documents(path, file.content);
    EXPECT_TRUE(report.ok()) << report.text();
  }
}

}  // namespace
}  // namespace weft
