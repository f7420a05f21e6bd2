// Kubernetes objects for networks, GPUs and storage, validated against the published schemas and against the behavior
// of CNI plugins, nv-ipam and `weft check`.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/host_range.h"
#include "base/json.h"
#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "kube_schema.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

using kube_schema::ValidationReport;
using testing_rendered::Edits;
using testing_rendered::load_example;
using testing_rendered::Rendering;

const std::vector<std::string> kTargets{"kubernetes/network", "kubernetes/gpu", "kubernetes/storage"};

struct Case {
  std::string name;
  std::string file;
  Edits edits;
  std::vector<std::string> options;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const Edits kTwoUnits{{"unit: 16", "unit: 8"}};
const std::vector<Case> kCases{
    {"Pod16", "pod16.yaml", {}, {}},
    {"Pod32", "pod32.yaml", {}, {}},
    {"SuperPod", "superpod-h100-4su.yaml", {}, {}},
    {"Nexus8", "nexus8.yaml", {}, {}},
    {"NvIpam", "pod16.yaml", {}, {"ipam=nv-ipam"}},
    {"HostLocal", "pod16.yaml", {}, {"ipam=host-local"}},
    {"Units", "pod16.yaml", kTwoUnits, {}},
    {"UnitsNvIpam", "pod16.yaml", kTwoUnits, {"ipam=nv-ipam"}},
    {"UnitsHostLocal", "pod16.yaml", kTwoUnits, {"ipam=host-local"}},
    {"SriovNetworks", "pod16.yaml", {}, {"attachments=sriovnetwork"}},
    {"InfiniBandNvIpam", "superpod-h100-4su.yaml", {}, {"ipam=nv-ipam"}},
    {"InfiniBandSriovNetworks", "superpod-h100-4su.yaml", {}, {"attachments=sriovnetwork"}},
    {"MigAndSlices", "pod16.yaml", {{"mig: {1g.10gb: 7}", "mig: {1g.10gb: 4, 3g.40gb: 1}\n    time_slices: 2"}}, {}},
    {"SeveralPods", "pod16.yaml", {{"spares: 1", "spares: 1\n    pods_per_node: 4"}}, {"ipam=nv-ipam"}},
    {"NoTenants",
     "pod32.yaml",
     {{"  - {name: team-alpha, quota: {gpus: 128, cpus: 2048, memory: 64TB, storage: 200TB, "
       "volume_claims: 50}}",
       "  []"}},
     {}},
    {"OddNames",
     "pod32.yaml",
     {{"name: team-alpha", "name: Team_Alpha."}, {"name: train,", "name: Train.A_,"}},
     {"attachments=sriovnetwork"}},
    {"Beegfs", "pod32.yaml", {{"kind: nvmeof", "kind: beegfs"}}, {}},
    {"Weka", "pod32.yaml", {{"kind: nvmeof", "kind: weka"}}, {}},
    {"Vast", "pod32.yaml", {{"kind: nvmeof", "kind: vast"}}, {}},
    {"Gpfs", "pod32.yaml", {{"kind: nvmeof", "kind: gpfs"}}, {}},
    {"Blackwell", "pod32.yaml", {{"server: hgx-h100", "server: dgx-b200"}}, {}},
    {"OtherVendor", "pod32.yaml", {{"server: hgx-h100", "server: mi300x-platform"}}, {}},
};

std::unique_ptr<Rendering> rendered(const Case& from) {
  auto rendering = load_example(from.file, from.edits);
  if (rendering == nullptr) return nullptr;
  for (const std::string& option : from.options) EXPECT_TRUE(rendering->options.set(option).ok());
  for (const std::string& target : kTargets) rendering->render(target);
  return rendering;
}

bool is_manifest(const std::string& path) { return path.ends_with(".yaml") && !path.ends_with(".values.yaml"); }

// A parsed file; keeps its text alive.
struct Parsed {
  Sources sources;
  Diagnostics diagnostics;
  std::vector<YamlNode> documents;
};

std::unique_ptr<Parsed> parse(const std::string& path, const std::string& text) {
  auto parsed = std::make_unique<Parsed>();
  const FileId file = parsed->sources.add(path, text);
  if (path.ends_with(".json") || path.ends_with(".conflist")) {
    if (auto root = parse_json(parsed->sources, file, parsed->diagnostics)) parsed->documents.push_back(*root);
  } else {
    parsed->documents = parse_yaml_stream(parsed->sources, file, parsed->diagnostics);
  }
  EXPECT_EQ(parsed->diagnostics.error_count() + parsed->diagnostics.warning_count(), 0U) << path;
  return parsed;
}

std::string text_at(const YamlNode& node, const std::vector<std::string>& path) {
  const YamlNode* at = &node;
  for (const std::string& key : path) {
    at = at->find(key);
    if (at == nullptr) return {};
  }
  return at->scalar;
}

using Objects = std::vector<YamlNode>;

Objects objects_of(const Rendering& rendering, const std::string& kind) {
  Objects found;
  for (const auto& [path, file] : rendering.sink.files) {
    if (!is_manifest(path)) continue;
    const auto parsed = parse(path, file.content);
    for (const YamlNode& document : parsed->documents) {
      if (text_at(document, {"kind"}) == kind) found.push_back(document);
    }
  }
  return found;
}

// Fields from the plugins' documentation: sriov-cni, ib-sriov-cni, tuning and rdma-cni, whereabouts, nv-ipam,
// host-local.
const std::map<std::string, std::set<std::string>> kPluginFields{
    {"sriov", {"type", "vlan", "ipam", "trust", "spoofchk", "link_state", "logLevel"}},
    {"ib-sriov", {"type", "ipam", "link_state", "pkey", "rdmaIsolation", "ibKubernetesEnabled"}},
    {"tuning", {"type", "mtu", "sysctl"}},
    {"rdma", {"type"}}};
const std::map<std::string, std::set<std::string>> kIpamFields{
    {"whereabouts", {"type", "range", "range_start", "range_end", "exclude", "routes"}},
    {"nv-ipam", {"type", "poolName", "poolType"}},
    {"host-local", {"type", "ranges", "routes"}}};

void expect_fields(const YamlNode& node, const std::map<std::string, std::set<std::string>>& known) {
  const auto type = known.find(text_at(node, {"type"}));
  ASSERT_NE(type, known.end()) << text_at(node, {"type"});
  for (const YamlEntry& entry : node.entries) {
    EXPECT_TRUE(type->second.contains(entry.key)) << type->first << ": " << entry.key;
  }
}

struct Range {
  Ipv4Prefix subnet;
  Ipv4 first;
  Ipv4 last;
};

// Checks a CNI configuration list like libcni and the plugins; returns the addresses it allocates, if it names them.
std::optional<Range> judge_cni(const YamlNode& config, const std::string& name) {
  EXPECT_EQ(text_at(config, {"cniVersion"}), "1.0.0");
  EXPECT_EQ(text_at(config, {"name"}), name);
  EXPECT_EQ(config.entries.size(), 3U);
  const YamlNode* plugins = config.find("plugins");
  if (plugins == nullptr || plugins->items.empty()) {
    ADD_FAILURE() << name << " has no plugins";
    return {};
  }
  for (const YamlNode& plugin : plugins->items) expect_fields(plugin, kPluginFields);
  const std::string maker = text_at(plugins->items.front(), {"type"});
  EXPECT_TRUE(maker == "sriov" || maker == "ib-sriov") << maker;
  EXPECT_EQ(text_at(plugins->items.back(), {"type"}), "rdma");
  const YamlNode* ipam = plugins->items.front().find("ipam");
  if (ipam == nullptr) return {};
  expect_fields(*ipam, kIpamFields);
  if (const YamlNode* routes = ipam->find("routes")) {
    for (const YamlNode& route : routes->items) {
      EXPECT_GT(parse_ipv4_prefix(text_at(route, {"dst"})).value_or(Ipv4Prefix{}).length, 0) << "a default route";
    }
  }
  const YamlNode* range = ipam;
  const bool local = text_at(*ipam, {"type"}) == "host-local";
  if (local) range = &ipam->find("ranges")->items.front().items.front();
  if (text_at(*ipam, {"type"}) == "nv-ipam") return {};
  return Range{parse_ipv4_prefix(text_at(*range, {local ? "subnet" : "range"})).value_or(Ipv4Prefix{}),
               parse_ipv4(text_at(*range, {local ? "rangeStart" : "range_start"})).value_or(Ipv4{}),
               parse_ipv4(text_at(*range, {local ? "rangeEnd" : "range_end"})).value_or(Ipv4{})};
}

std::set<std::uint32_t> server_addresses(const model::Cluster& cluster) {
  std::set<std::uint32_t> taken;
  for (const model::Port& port : cluster.ports()) taken.insert(port.address.bits);
  for (const model::Subnet& subnet : cluster.subnets()) taken.insert(subnet.gateway.bits);
  return taken;
}

void expect_free(const Range& range, const model::Cluster& cluster) {
  EXPECT_LE(range.first, range.last);
  EXPECT_TRUE(range.subnet.contains(range.first) && range.subnet.contains(range.last)) << to_text(range.first);
  const auto taken = server_addresses(cluster);
  const auto next = taken.lower_bound(range.first.bits);
  EXPECT_TRUE(next == taken.end() || *next > range.last.bits) << "pods share " << to_text(Ipv4{*next});
}

class KubeA : public ::testing::TestWithParam<Case> {};

TEST_P(KubeA, EveryDocumentFitsItsSchema) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  const auto rendering = rendered(GetParam());
  ASSERT_NE(rendering, nullptr);
  ValidationReport report;
  for (const auto& [path, file] : rendering->sink.files) {
    if (is_manifest(path)) report.add(kube_schema::validate_documents(path, file.content));
  }
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_TRUE(report.not_understood.empty());
  EXPECT_GT(report.documents, 0U);
  const std::set<std::string> names(report.objects.begin(), report.objects.end());
  EXPECT_EQ(names.size(), report.objects.size()) << "an object given twice";
  std::cout << report.documents << " documents valid, " << report.cel_rules << " CEL rules not evaluated\n";
}

TEST_P(KubeA, NetworksUseResourcesOfPolicies) {
  const auto rendering = rendered(GetParam());
  ASSERT_NE(rendering, nullptr);
  std::set<std::string> provided;
  std::map<std::string, std::set<std::string>> functions;  // by nodes: physical functions
  for (const YamlNode& policy : objects_of(*rendering, "SriovNetworkNodePolicy")) {
    provided.insert("nvidia.com/" + text_at(policy, {"spec", "resourceName"}));
    for (const YamlNode& name : policy.find("spec")->find("nicSelector")->find("pfNames")->items) {
      EXPECT_TRUE(functions[text_at(policy, {"spec", "nodeSelector", "weft/pool"})].insert(name.scalar).second);
    }
  }
  std::size_t networks = 0;
  for (const YamlNode& nad : objects_of(*rendering, "NetworkAttachmentDefinition")) {
    ++networks;
    const auto resource = text_at(nad, {"metadata", "annotations", "k8s.v1.cni.cncf.io/resourceName"});
    EXPECT_TRUE(provided.contains(resource)) << resource;
  }
  for (const char* kind : {"SriovNetwork", "SriovIBNetwork"}) {
    for (const YamlNode& network : objects_of(*rendering, kind)) {
      ++networks;
      EXPECT_TRUE(provided.contains("nvidia.com/" + text_at(network, {"spec", "resourceName"})));
    }
  }
  EXPECT_GT(networks, 0U);
}

// CNI configurations in definitions and on nodes: known fields, addresses that no server has.
TEST_P(KubeA, PluginsCanReadTheConfigurations) {
  const auto rendering = rendered(GetParam());
  ASSERT_NE(rendering, nullptr);
  std::size_t judged = 0;
  for (const YamlNode& nad : objects_of(*rendering, "NetworkAttachmentDefinition")) {
    const std::string config = text_at(nad, {"spec", "config"});
    if (config.empty()) continue;
    const auto parsed = parse("config.json", config);
    ASSERT_EQ(parsed->documents.size(), 1U);
    const auto range = judge_cni(parsed->documents.front(), text_at(nad, {"metadata", "name"}));
    if (range.has_value()) expect_free(*range, rendering->cluster());
    ++judged;
  }
  for (const auto& [path, file] : rendering->sink.files) {
    if (!path.ends_with(".conflist")) continue;
    const std::string name = std::filesystem::path(path).stem().string();
    EXPECT_EQ(file.install, "/etc/cni/multus/net.d/" + name + ".conflist");
    const auto parsed = parse(path, file.content);
    ASSERT_EQ(parsed->documents.size(), 1U);
    const auto range = judge_cni(parsed->documents.front(), name);
    if (range.has_value()) expect_free(*range, rendering->cluster());
    ++judged;
  }
  for (const char* kind : {"SriovNetwork", "SriovIBNetwork"}) {
    for (const YamlNode& network : objects_of(*rendering, kind)) {
      const auto plugins = parse("plugins.json", "[" + text_at(network, {"spec", "metaPlugins"}) + "]");
      for (const YamlNode& plugin : plugins->documents.at(0).items) expect_fields(plugin, kPluginFields);
      expect_fields(parse("ipam.json", text_at(network, {"spec", "ipam"}))->documents.at(0), kIpamFields);
      ++judged;
    }
  }
  EXPECT_GT(judged, 0U);
}

TEST_P(KubeA, ChecksFindNothingMore) {
  const auto rendering = rendered(GetParam());
  ASSERT_NE(rendering, nullptr);
  testing_lab::Lab lab("kube_a");
  auto text = read_file(testing_rendered::source_path("examples/" + GetParam().file)).value_or("");
  for (const auto& [from, to] : GetParam().edits) text.replace(text.find(from), from.size(), to);
  const std::string cluster = (lab.folder() / "cluster.yaml").string();
  ASSERT_TRUE(write_file(cluster, text).ok());
  rendering->write_to(lab.folder() / "tree");
  const auto design = lab.run({weft_binary(), "check", cluster, "--output", "lines"});
  const auto both =
      lab.run({weft_binary(), "check", cluster, "--config", (lab.folder() / "tree").string(), "--output", "lines"}, 30);
  EXPECT_LE(design.code, 1);
  EXPECT_EQ(design.out, both.out);
}

INSTANTIATE_TEST_SUITE_P(Clusters, KubeA, ::testing::ValuesIn(kCases),
                         [](const auto& given) { return given.param.name; });

// Every host has the configuration of its own subnet in its folder, and no network is configured twice.
void judge_folders(const Rendering& rendering, bool own_ranges) {
  const auto index = parse("folders.json", rendering.sink.content("kubernetes/network/cni/folders.json"));
  ASSERT_EQ(index->documents.size(), 1U);
  std::map<std::string, std::vector<std::string>> folders_of;
  for (const YamlEntry& entry : index->documents.front().find("folders")->entries) {
    for (const std::string& host : expand_hosts(entry.value.scalar).value_or({})) folders_of[host].push_back(entry.key);
  }
  const render::PoolPlan& pool = *rendering.plan->pool("train");
  std::map<std::string, std::vector<Range>> ranges;  // by network
  for (std::uint32_t i = 0; i < pool.group->count; ++i) {
    const auto server = static_cast<model::DeviceId>(model::index_of(pool.group->first) + i);
    for (const model::PortId id : rendering.cluster().ports_of(server)) {
      const model::Port& port = rendering.cluster().port(id);
      if (port.fabric != model::FabricKind::backend && port.fabric != model::FabricKind::storage) continue;
      const std::string network =
          (port.fabric == model::FabricKind::backend ? "roce-" : "sto-") + std::to_string(port.rail + 1);
      std::vector<std::string> texts;
      for (const std::string& folder : folders_of[rendering.cluster().name_of(server)]) {
        const std::string path = "kubernetes/network/cni/" + folder + "/" + network + ".conflist";
        if (rendering.sink.files.contains(path)) texts.push_back(rendering.sink.content(path));
      }
      ASSERT_EQ(texts.size(), 1U) << rendering.cluster().name_of(server) << " " << network;
      const auto range = judge_cni(parse("a.conflist", texts.front())->documents.at(0), network);
      if (!range.has_value()) continue;
      EXPECT_TRUE(range->subnet.contains(port.address));
      for (const Range& other : ranges[network]) {
        EXPECT_TRUE(!own_ranges || other.last < range->first || range->last < other.first) << to_text(range->first);
      }
      if (own_ranges) ranges[network].push_back(*range);
    }
  }
}

TEST(KubeNetwork, UnitsHaveSeparateConfigurations) {
  const auto rendering = rendered({"", "pod16.yaml", kTwoUnits, {}});
  ASSERT_NE(rendering, nullptr);
  for (const YamlNode& nad : objects_of(*rendering, "NetworkAttachmentDefinition")) {
    const bool backend = text_at(nad, {"metadata", "name"}).starts_with("roce-");
    EXPECT_TRUE(!backend || nad.find("spec") == nullptr) << "one range cannot serve two units";
  }
  judge_folders(*rendering, false);
}

// Units of 64 servers, storage network slices of another size: no host uses the addresses of another slice.
TEST(KubeNetwork, StorageSlicesMayDifferFromUnits) {
  const auto rendering = testing_rendered::load_rendering(
      "weft: 1\nname: large\nsite: {switches: row, row_length: 24, rack_power: 60kW}\npools:\n"
      "  - {name: train, server: hgx-h100, count: 400, per_rack: 4}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
      "  - {name: store, role: storage, server: storage-400g-2u, count: 20, per_rack: 16}\n"
      "fabrics:\n  backend: {leaf: sn5600}\n  storage: {leaf: sn5600, oversubscription: 2:1}\n"
      "  frontend: {leaf: sn5400, subnets: [10.20.0.0/16]}\n  oob: {spine: nexus-9364c-gx}\n");
  ASSERT_NE(rendering, nullptr);
  rendering->render("kubernetes/network");
  judge_folders(*rendering, false);
  EXPECT_FALSE(rendering->sink.content("kubernetes/network/cni/sto-train-u001/sto-1.conflist").empty());
  EXPECT_LT(rendering->sink.files.size(), 120U);
}

TEST(KubeNetwork, HostLocalAssignsEachHostItsOwnRange) {
  const auto rendering = rendered({"", "pod16.yaml", kTwoUnits, {"ipam=host-local"}});
  ASSERT_NE(rendering, nullptr);
  judge_folders(*rendering, true);
}

// nv-ipam's controller (pkg/ipam-controller/allocator): blocks from the first address on, fully excluded ones skipped;
// the node then allocates the addresses of its block that are not excluded.
TEST(KubeNetwork, BlocksOfNvIpamAreWholeForEveryNode) {
  for (const char* pods : {"spares: 1", "spares: 1\n    pods_per_node: 3", "spares: 1\n    pods_per_node: 8"}) {
    const auto rendering = rendered({"", "pod16.yaml", {{"spares: 1", pods}}, {"ipam=nv-ipam"}});
    ASSERT_NE(rendering, nullptr);
    std::set<std::string> names;
    for (const YamlNode& pool : objects_of(*rendering, "IPPool")) {
      names.insert(text_at(pool, {"metadata", "name"}));
      const auto subnet = parse_ipv4_prefix(text_at(pool, {"spec", "subnet"})).value_or(Ipv4Prefix{});
      const auto block =
          static_cast<std::uint32_t>(parse_integer(text_at(pool, {"spec", "perNodeBlockSize"})).value_or(0));
      const YamlNode& out = pool.find("spec")->find("exclusions")->items.at(0);
      const Ipv4 last_excluded = parse_ipv4(text_at(out, {"endIP"})).value_or(Ipv4{});
      EXPECT_EQ(text_at(pool, {"spec", "defaultGateway"}), "false");
      const bool backend = text_at(pool, {"metadata", "name"}).starts_with("be-");
      const std::uint32_t nodes = backend ? 16 : 1;
      ASSERT_GT(block, 0U);
      std::uint32_t whole = 0;
      for (std::uint64_t first = 1; first + block < subnet.size(); first += block) {
        const Ipv4 start = subnet.at(first);
        const Ipv4 end = subnet.at(first + block - 1);
        if (end <= last_excluded) continue;
        EXPECT_GT(start, last_excluded) << "a node with a part of a block";
        expect_free({subnet, start, end}, rendering->cluster());
        ++whole;
      }
      EXPECT_GE(whole, nodes) << text_at(pool, {"metadata", "name"});
    }
    for (const YamlNode& nad : objects_of(*rendering, "NetworkAttachmentDefinition")) {
      const auto config = parse("a.json", text_at(nad, {"spec", "config"}));
      const std::string pool = text_at(config->documents.at(0).find("plugins")->items.at(0), {"ipam", "poolName"});
      EXPECT_TRUE(names.contains(pool)) << pool;
    }
  }
}

// DSCP 34 of the storage class is ToS 138 with ECN capable (RFC 2474, RFC 3168); priority 4 is the fifth flag.
TEST(KubeNetwork, NicTemplatesCarryTheFabricsClasses) {
  const auto rendering = rendered({"", "pod16.yaml", {}, {}});
  ASSERT_NE(rendering, nullptr);
  std::set<std::pair<std::string, std::string>> selected;  // pool and NIC type: the operator accepts one template each
  bool storage = false;
  for (const YamlNode& nic : objects_of(*rendering, "NicConfigurationTemplate")) {
    EXPECT_TRUE(selected
                    .insert({text_at(nic, {"spec", "nodeSelector", "weft/pool"}),
                             text_at(nic, {"spec", "nicSelector", "nicType"})})
                    .second);
    if (text_at(nic, {"metadata", "name"}) != "storage-infer") continue;
    storage = true;
    const YamlNode* qos = nic.find("spec")->find("template")->find("roceOptimized")->find("qos");
    EXPECT_EQ(text_at(*qos, {"tos"}), "138");
    EXPECT_EQ(text_at(*qos, {"pfc"}), "0,0,0,0,1,0,0,0");
    EXPECT_EQ(text_at(*qos, {"trust"}), "dscp");
  }
  EXPECT_TRUE(storage);
}

TEST(KubeGpu, MigAndTimeSlicesFollowThePools) {
  const auto rendering = rendered({"", "pod16.yaml", {}, {}});
  ASSERT_NE(rendering, nullptr);
  std::map<std::string, YamlNode> maps;
  for (const YamlNode& map : objects_of(*rendering, "ConfigMap")) maps[text_at(map, {"metadata", "name"})] = map;
  const auto mig = parse("mig.yaml", text_at(maps.at("weft-mig-parted"), {"data", "config.yaml"}));
  const YamlNode& infer = mig->documents.at(0).find("mig-configs")->find("infer")->items.at(0);
  EXPECT_EQ(text_at(infer, {"devices"}), "all");
  EXPECT_EQ(text_at(infer, {"mig-enabled"}), "true");
  EXPECT_EQ(text_at(infer, {"mig-devices", "1g.10gb"}), "7");
  const auto slices = parse("slices.yaml", text_at(maps.at("weft-device-plugin"), {"data", "embed"}));
  const YamlNode* shared = slices->documents.at(0).find("sharing")->find("timeSlicing")->find("resources");
  EXPECT_EQ(text_at(shared->items.at(0), {"name"}), "nvidia.com/gpu");
  EXPECT_EQ(text_at(shared->items.at(0), {"replicas"}), "4");
  // Enterprise stack guide, step 6, and the XID of a failed GPU.
  const std::string table = text_at(maps.at("weft-dcgm-metrics"), {"data", "dcgm-metrics.csv"});
  for (const char* field :
       {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "DCGM_FI_DEV_POWER_USAGE",
        "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "DCGM_FI_DEV_XID_ERRORS"}) {
    EXPECT_NE(table.find(std::string("\n") + field + ", "), std::string::npos) << field;
  }
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 2) << line;
  }
}

// The chart copies its values into the policy: both must agree, or server-side apply reports a conflict.
TEST(KubeGpu, PolicyAgreesWithTheChartValues) {
  const auto rendering = rendered({"", "pod16.yaml", {}, {}});
  ASSERT_NE(rendering, nullptr);
  const auto values = parse("v.yaml", rendering->sink.content("kubernetes/gpu/02-gpu-operator.values.yaml"));
  const Objects policies = objects_of(*rendering, "ClusterPolicy");
  ASSERT_EQ(policies.size(), 1U);
  for (const YamlEntry& entry : policies[0].find("spec")->entries) {
    const YamlNode* value = values->documents.at(0).find(entry.key);
    ASSERT_NE(value, nullptr) << entry.key;
    EXPECT_EQ(value->entries.size(), entry.value.entries.size()) << entry.key;
    EXPECT_EQ(text_at(*value, {"enabled"}), text_at(entry.value, {"enabled"})) << entry.key;
    EXPECT_EQ(text_at(*value, {"config", "name"}), text_at(entry.value, {"config", "name"})) << entry.key;
  }
}

// The script, run with a kubectl mock that only records its arguments.
TEST(KubeGpu, LabelsSelectTheConfigurations) {
  const auto rendering = rendered({"", "pod16.yaml", {}, {}});
  ASSERT_NE(rendering, nullptr);
  testing_lab::Lab lab("kube_labels");
  rendering->write_to(lab.folder());
  ASSERT_TRUE(write_file((lab.folder() / "kubectl").string(), "#!/bin/sh\necho \"$@\"\n").ok());
  std::filesystem::permissions(lab.folder() / "kubectl", std::filesystem::perms(0755));
  lab.variable("PATH", lab.folder().string() + ":/usr/bin:/bin");
  const auto outcome = lab.run({"sh", (lab.folder() / "kubernetes/gpu/40-node-labels.sh").string()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out,
            "label nodes --overwrite --selector weft/pool=infer nvidia.com/mig.config=infer\n"
            "label nodes --overwrite --selector weft/pool=embed nvidia.com/device-plugin.config=embed\n");
}

// Claims of a namespace fit its quota, and those of all tenants the volume; datasets and checkpoints have separate
// classes.
TEST(KubeStorage, ClaimsFitQuotasAndVolumes) {
  const auto rendering = rendered({"", "pod16.yaml", {}, {}});
  ASSERT_NE(rendering, nullptr);
  std::map<std::string, std::int64_t> by_space;
  std::map<std::string, std::int64_t> by_volume;
  std::map<std::string, std::string> class_of;
  std::set<std::string> classes;
  for (const YamlNode& storage : objects_of(*rendering, "StorageClass")) {
    classes.insert(text_at(storage, {"metadata", "name"}));
    EXPECT_EQ(text_at(storage, {"reclaimPolicy"}), "Retain");
    EXPECT_EQ(text_at(storage, {"volumeBindingMode"}), "WaitForFirstConsumer");
  }
  for (const YamlNode& claim : objects_of(*rendering, "PersistentVolumeClaim")) {
    const std::string size = text_at(claim, {"spec", "resources", "requests", "storage"});
    ASSERT_TRUE(size.ends_with("T")) << size;
    const std::int64_t terabytes = parse_integer(size.substr(0, size.size() - 1)).value_or(0);
    by_space[text_at(claim, {"metadata", "namespace"})] += terabytes;
    by_volume[text_at(claim, {"metadata", "name"})] += terabytes;
    class_of[text_at(claim, {"metadata", "name"})] = text_at(claim, {"spec", "storageClassName"});
    EXPECT_TRUE(classes.contains(text_at(claim, {"spec", "storageClassName"})));
  }
  EXPECT_LE(by_space["team-alpha"], 200);
  EXPECT_LE(by_space["team-beta"], 50);
  EXPECT_LE(by_volume["datasets"], 300);
  EXPECT_LE(by_volume["checkpoints"], 100);
  EXPECT_GE(by_space["team-alpha"], 190);
  EXPECT_NE(class_of["datasets"], class_of["checkpoints"]);
}

}  // namespace
}  // namespace weft
