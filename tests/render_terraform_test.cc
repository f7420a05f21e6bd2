// Terraform files checked against the rules of its JSON syntax and against the providers' documentation. Terraform
// itself is not available here: errors that it would report when parsing and planning are checked by this test.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <regex>
#include <set>

#include "base/json.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_rendered::load_example;
using testing_rendered::load_rendering;
using testing_rendered::Rendering;

using Names = std::set<std::string>;

const Names& top_level() {
  static const Names kKeys = {"terraform", "provider", "variable", "locals", "data", "resource", "output", "module"};
  return kKeys;
}

// Arguments that a user may set, from the documentation of hashicorp/helm 3 (resources/release) and of
// CiscoDevNet/intersight 1.0.77 (website/docs/r); arguments common to all resources are in kMeta.
const std::map<std::string, Names>& arguments() {
  static const Names kPolicy = {"name", "description", "organization", "tags", "moid", "profiles"};
  static const auto with = [](Names more) {
    more.insert(kPolicy.begin(), kPolicy.end());
    return more;
  };
  static const std::map<std::string, Names> kArguments = {
      {"helm_release",
       {"name", "chart", "repository", "version", "namespace", "create_namespace", "atomic", "timeout", "values", "set",
        "set_list", "set_sensitive", "wait", "lint", "skip_crds", "cleanup_on_fail", "max_history", "description"}},
      {"intersight_bios_policy", with({"numa_optimized",
                                       "intel_hyper_threading_tech",
                                       "cbs_cpu_smt_ctrl",
                                       "smt_mode",
                                       "sr_iov",
                                       "intel_vt_for_directed_io",
                                       "cbs_cmn_gnb_nb_iommu",
                                       "pcie_ari_support",
                                       "cbs_df_cmn_dram_nps",
                                       "cpu_power_management",
                                       "cpu_energy_performance",
                                       "cpu_performance",
                                       "intel_turbo_boost_tech",
                                       "processor_cstate",
                                       "processor_c1e",
                                       "processor_c6report",
                                       "package_cstate_limit",
                                       "cbs_cmn_cpu_global_cstate_ctrl",
                                       "cbs_cmn_determinism_slider",
                                       "cbs_cmn_gnb_smu_df_cstates",
                                       "snc"})},
      {"intersight_storage_storage_policy",
       with({"default_drive_mode", "drive_group", "global_hot_spares", "m2_virtual_drive", "raid0_drive",
             "secure_jbods", "unused_disks_state", "use_jbod_for_vd_creation"})},
      {"intersight_ntp_policy", with({"enabled", "ntp_servers", "timezone", "authenticated_ntp_servers"})},
      {"intersight_syslog_policy", with({"local_clients", "remote_clients"})},
      {"intersight_ipmioverlan_policy", with({"enabled", "encryption_key", "privilege"})},
      {"intersight_vnic_lan_connectivity_policy",
       with({"azure_qos_enabled", "iqn_allocation_type", "placement_mode", "static_iqn_name", "target_platform"})},
      {"intersight_vnic_eth_if",
       {"name", "order", "placement", "cdn", "lan_connectivity_policy", "eth_qos_policy", "eth_adapter_policy",
        "eth_network_policy", "fabric_eth_network_group_policy", "fabric_eth_network_control_policy", "mac_pool",
        "mac_address_type", "static_mac_address", "failover_enabled", "sriov_settings", "usnic_settings",
        "vmq_settings", "tags"}},
      {"intersight_vnic_eth_qos_policy", with({"burst", "cos", "mtu", "priority", "rate_limit", "trust_host_cos"})},
      {"intersight_vnic_eth_adapter_policy",
       with({"advanced_filter", "arfs_settings", "completion_queue_settings", "interrupt_settings", "roce_settings",
             "rss_settings", "rx_queue_settings", "tx_queue_settings", "tcp_offload_settings"})},
      {"intersight_vnic_eth_network_policy", with({"target_platform", "vlan_settings"})},
      {"intersight_fabric_eth_network_group_policy", with({"vlan_settings"})},
      {"intersight_fabric_eth_network_control_policy",
       with({"cdp_enabled", "forge_mac", "lldp_settings", "mac_registration_mode", "uplink_fail_action"})},
      {"intersight_macpool_pool", with({"assignment_order", "mac_blocks"})},
      {"intersight_server_profile_template", with({"policy_bucket", "target_platform", "action", "uuid_pool"})},
      {"intersight_server_profile",
       with({"policy_bucket", "target_platform", "action", "src_template", "server_assignment_mode",
             "server_pre_assign_by_serial", "server_pre_assign_by_slot", "assigned_server", "wait_for_completion"})},
  };
  return kArguments;
}

// Values that the documentation lists for a BIOS token.
const std::map<std::string, Names>& token_values() {
  static const std::map<std::string, Names> kValues = {
      {"numa_optimized", {"enabled", "disabled"}},
      {"intel_hyper_threading_tech", {"enabled", "disabled"}},
      {"cbs_cpu_smt_ctrl", {"Auto", "enabled", "disabled"}},
      {"sr_iov", {"enabled", "disabled"}},
      {"cbs_df_cmn_dram_nps", {"Auto", "NPS0", "NPS1", "NPS2", "NPS4"}},
      {"cpu_power_management", {"custom", "disabled", "energy-efficient", "performance"}},
      {"cpu_performance", {"custom", "enterprise", "high-throughput", "hpc"}},
      {"package_cstate_limit", {"Auto", "C0 C1 State", "C0/C1", "C2", "C6 Non Retention", "C6 Retention", "No Limit"}},
      {"cbs_cmn_determinism_slider", {"Auto", "Performance", "Power"}},
      {"processor_c6report", {"Auto", "enabled", "disabled"}},
  };
  return kValues;
}

const Names kMeta = {"for_each", "count", "depends_on", "lifecycle", "provider"};
const std::regex kIdentifier("[A-Za-z_][A-Za-z0-9_-]*");

// Terraform treats all files of a folder as one configuration.
struct Configuration {
  Sources sources;
  Diagnostics diagnostics;
  std::map<std::string, YamlNode> files;
  Names variables;
  Names locals;
  Names data;       // "type.name"
  Names resources;  // "type.name"
  Names providers;

  void read(const Rendering& rendering) {
    for (const auto& [path, file] : rendering.sink.files) {
      if (!path.ends_with(".tf.json")) continue;
      const auto root = parse_json(sources, sources.add(path, file.content), diagnostics);
      ASSERT_TRUE(root.has_value()) << path << render_all(diagnostics, sources, false);
      files.emplace(path, *root);
      for (const YamlEntry& block : root->entries) declare(path, block);
    }
  }
  void declare(const std::string& path, const YamlEntry& block) {
    EXPECT_TRUE(top_level().contains(block.key)) << path << ": " << block.key;
    const bool two = block.key == "resource" || block.key == "data";
    for (const YamlEntry& entry : block.value.entries) {
      EXPECT_TRUE(block.key == "terraform" || std::regex_match(entry.key, kIdentifier)) << path << ": " << entry.key;
      if (block.key == "variable") declare_once(variables, entry.key);
      if (block.key == "locals") declare_once(locals, entry.key);
      if (block.key == "provider") declare_once(providers, entry.key);
      for (const YamlEntry& named : two ? entry.value.entries : std::vector<YamlEntry>()) {
        EXPECT_TRUE(std::regex_match(named.key, kIdentifier)) << named.key;
        EXPECT_EQ(named.value.kind, YamlNode::Kind::mapping) << named.key;
        declare_once(block.key == "data" ? data : resources, entry.key + "." + named.key);
      }
    }
  }
  static void declare_once(Names& names, const std::string& name) {
    EXPECT_TRUE(names.insert(name).second) << name << " is declared twice";
  }
};

// Every text of a document.
void each_text(const YamlNode& node, const std::function<void(const std::string&)>& see) {
  if (node.kind == YamlNode::Kind::scalar) see(node.scalar);
  for (const YamlNode& item : node.items) each_text(item, see);
  for (const YamlEntry& entry : node.entries) each_text(entry.value, see);
}

void expect_references(const Configuration& configuration, const YamlNode& root, const std::string& path) {
  const std::regex reference(
      R"re(\b(var|local|data|each|path|helm_release|intersight_[a-z0-9_]+)\.([A-Za-z0-9_-]+)(?:\.([A-Za-z0-9_-]+))?)re");
  each_text(root, [&](const std::string& text) {
    if (text.find("${") == std::string::npos && !text.starts_with("helm_release.")) return;
    for (std::sregex_iterator at(text.begin(), text.end(), reference), end; at != end; ++at) {
      const std::string kind = (*at)[1];
      const std::string name = (*at)[2];
      if (kind == "each" || kind == "path") continue;
      if (kind == "var") {
        EXPECT_TRUE(configuration.variables.contains(name)) << path << ": " << text;
      } else if (kind == "local") {
        EXPECT_TRUE(configuration.locals.contains(name)) << path << ": " << text;
      } else if (kind == "data") {
        EXPECT_TRUE(configuration.data.contains(name + "." + (*at)[3].str())) << path << ": " << text;
      } else {
        EXPECT_TRUE(configuration.resources.contains(kind + "." + name)) << path << ": " << text;
      }
    }
  });
}

void expect_arguments(const YamlNode& root, const std::string& path) {
  const YamlNode* types = root.find("resource");
  if (types == nullptr) return;
  for (const YamlEntry& type : types->entries) {
    const auto known = arguments().find(type.key);
    ASSERT_NE(known, arguments().end()) << path << ": " << type.key;
    for (const YamlEntry& resource : type.value.entries) {
      for (const YamlEntry& argument : resource.value.entries) {
        EXPECT_TRUE(known->second.contains(argument.key) || kMeta.contains(argument.key))
            << type.key << "." << resource.key << ": " << argument.key;
        const auto values = token_values().find(argument.key);
        if (type.key == "intersight_bios_policy" && values != token_values().end()) {
          EXPECT_TRUE(values->second.contains(argument.value.scalar)) << argument.key << " = " << argument.value.scalar;
        }
      }
    }
  }
}

Configuration checked(const Rendering& rendering) {
  Configuration configuration;
  configuration.read(rendering);
  for (const auto& [path, root] : configuration.files) {
    expect_references(configuration, root, path);
    expect_arguments(root, path);
  }
  return configuration;
}

std::unique_ptr<Rendering> terraform_of(std::unique_ptr<Rendering> rendering) {
  if (rendering != nullptr) rendering->render("terraform");
  return rendering;
}

constexpr const char* kCisco = R"(weft: 1
name: ucs4
pools:
  - {name: blades, role: training, server: ucs-x210c-m7, count: 4, bios: {hyper_threading: true}}
  - {name: big-one, role: training, server: ucs-c885a-m8, count: 2}
  - {name: rack, role: cpu, server: ucs-c220-m7, count: 2}
  - {name: infra, role: infrastructure, server: control-1u, count: 3}
fabrics:
  backend: {leaf: nexus-9332d-gx2b}
  storage: {leaf: sn5600}
  frontend: {leaf: sn4600c, external: {links: 2}}
  oob: {leaf: nexus-9348gc-fx3, syslog: "log.example.com${file(\"/etc/passwd\")}"}
)";

TEST(RenderTerraform, ExamplesAreWellFormed) {
  for (const char* example : {"pod16.yaml", "superpod-h100-4su.yaml", "nexus8.yaml", "pod32.yaml"}) {
    const auto rendering = terraform_of(load_example(example));
    ASSERT_NE(rendering, nullptr);
    const Configuration configuration = checked(*rendering);
    EXPECT_TRUE(configuration.resources.contains("helm_release.gpu-operator")) << example;
    EXPECT_FALSE(configuration.providers.contains("intersight")) << example << ": nothing of Cisco's in it";
  }
}

TEST(RenderTerraform, CiscoServersHaveProfiles) {
  const auto rendering = terraform_of(load_rendering(kCisco));
  ASSERT_NE(rendering, nullptr);
  const Configuration configuration = checked(*rendering);
  EXPECT_TRUE(configuration.providers.contains("intersight"));
  for (const char* pool : {"blades", "big-one", "rack"}) {
    for (const char* type : {"intersight_bios_policy", "intersight_storage_storage_policy",
                             "intersight_server_profile_template", "intersight_server_profile"}) {
      EXPECT_TRUE(configuration.resources.contains(std::string(type) + ".pool-" + pool)) << type << " " << pool;
    }
  }
  const YamlNode& root = configuration.files.at("terraform/intersight.tf.json");
  // One profile per server, by name.
  Names names;
  for (const YamlEntry& entry : root.find("locals")->find("servers_blades")->entries) names.insert(entry.key);
  EXPECT_EQ(names, (Names{"blades001", "blades002", "blades003", "blades004"}));
  // The links of a blade end on its VICs, two per fabric; a C885A has no VIC at all.
  const YamlNode* vnics = root.find("resource")->find("intersight_vnic_eth_if");
  ASSERT_NE(vnics, nullptr);
  Names blades;
  for (const YamlEntry& entry : vnics->entries) {
    if (entry.key.starts_with("blades-")) blades.insert(entry.value.find("name")->scalar);
    EXPECT_FALSE(entry.key.starts_with("big-one-")) << entry.key;
  }
  EXPECT_EQ(blades, (Names{"be1", "be2", "fe1", "fe2"}));
  const YamlNode* bios = root.find("resource")->find("intersight_bios_policy");
  EXPECT_EQ(bios->find("pool-blades")->find("intel_hyper_threading_tech")->scalar, "enabled");
  EXPECT_EQ(bios->find("pool-rack")->find("intel_hyper_threading_tech")->scalar, "disabled");
}

// User text is a literal to Terraform, never an expression.
TEST(RenderTerraform, UserTextIsNoExpression) {
  const auto rendering = terraform_of(load_rendering(kCisco));
  ASSERT_NE(rendering, nullptr);
  const std::string text = rendering->sink.content("terraform/intersight.tf.json");
  EXPECT_NE(text.find("log.example.com$${file("), std::string::npos);
  EXPECT_EQ(text.find("log.example.com${file("), std::string::npos);
}

TEST(RenderTerraform, CredentialsAreSensitiveAndHaveNoDefault) {
  const auto rendering = terraform_of(load_rendering(kCisco));
  ASSERT_NE(rendering, nullptr);
  const Configuration configuration = checked(*rendering);
  const YamlNode* variables = configuration.files.at("terraform/variables.tf.json").find("variable");
  for (const char* name : {"intersight_api_key", "intersight_secret_key", "kubeconfig"}) {
    const YamlNode* variable = variables->find(name);
    ASSERT_NE(variable, nullptr) << name;
    EXPECT_EQ(variable->find("sensitive")->scalar, "true") << name;
    EXPECT_EQ(variable->find("default"), nullptr) << name;
  }
}

// Versions are exact, and every values file that a release names is in the tree.
TEST(RenderTerraform, ReleasesArePinned) {
  const auto rendering = terraform_of(load_example("pod32.yaml"));
  ASSERT_NE(rendering, nullptr);
  const Configuration configuration = checked(*rendering);
  const YamlNode* releases = configuration.files.at("terraform/helm.tf.json").find("resource")->find("helm_release");
  ASSERT_NE(releases, nullptr);
  Names names;
  const std::regex version(R"(v?\d+\.\d+\.\d+)");
  const std::regex own(R"re(path\.module\}/(values/[a-z-]+\.yaml))re");
  for (const YamlEntry& release : releases->entries) {
    names.insert(release.key);
    EXPECT_TRUE(std::regex_match(release.value.find("version")->scalar, version)) << release.key;
    each_text(*release.value.find("values"), [&](const std::string& text) {
      for (std::sregex_iterator at(text.begin(), text.end(), own), end; at != end; ++at) {
        EXPECT_TRUE(rendering->sink.files.contains("terraform/" + (*at)[1].str())) << text;
      }
    });
  }
  // pod32 leaves GPUs to Kubernetes, so jobs queue with Kueue; pod16 leaves them to Slurm.
  EXPECT_EQ(names,
            (Names{"cilium", "nfd", "gpu-operator", "network-operator", "kube-prometheus-stack", "kyverno", "kueue"}));
  const auto slurm = terraform_of(load_example("pod16.yaml"));
  EXPECT_EQ(slurm->sink.content("terraform/helm.tf.json").find("\"kueue\""), std::string::npos);
}

}  // namespace
}  // namespace weft
