// The Ansible tree, checked with Ansible: playbooks parse, the inventory matches the design, and tasks work on this
// machine, in check mode and in a temporary folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "base/json.h"
#include "base/test_prerequisites.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using testing_lab::Lab;
using testing_rendered::load_example;
using testing_rendered::Rendering;

// Ansible keeps files under HOME; those of a test are removed with it.
void quiet(Lab& lab) {
  lab.variable("HOME", lab.folder().string());
  lab.variable("ANSIBLE_NOCOLOR", "1");
  lab.variable("ANSIBLE_DEPRECATION_WARNINGS", "0");
  lab.variable("LC_ALL", "C.UTF-8");
}

std::unique_ptr<Rendering> rendered(const std::string& example) {
  auto rendering = load_example(example);
  if (rendering == nullptr) return nullptr;
  rendering->render("host");
  rendering->render("ansible");
  return rendering;
}

std::unique_ptr<Rendering> tree_of(Lab& lab, const std::string& example, const std::string& folder) {
  auto rendering = rendered(example);
  if (rendering != nullptr) rendering->write_to(lab.folder() / folder);
  return rendering;
}

std::vector<std::string> playbooks(const Rendering& rendering) {
  std::vector<std::string> names;
  for (const auto& [path, file] : rendering.sink.files) {
    if (path.starts_with("ansible/") && path.ends_with(".yml") && path.find('/', 8) == std::string::npos &&
        path != "ansible/inventory.yml") {
      names.push_back(path.substr(8));
    }
  }
  return names;
}

TEST(RenderAnsible, EveryPlaybookParses) {
  WEFT_NEEDS_PROGRAM("ansible-playbook");
  Lab lab("syntax");
  quiet(lab);
  const auto rendering = tree_of(lab, "pod16.yaml", "tree");
  ASSERT_NE(rendering, nullptr);
  const std::vector<std::string> names = playbooks(*rendering);
  for (const char* wanted :
       {"site.yml", "os-baseline.yml", "nics.yml", "storage-clients.yml", "slurm.yml", "kubernetes-nodes.yml",
        "switches.yml", "firmware-check.yml", "acceptance.yml", "node-drain.yml", "gpu-reset.yml",
        "fabric-failover.yml", "replace-node.yml", "rotate-munge-key.yml", "backup-oob-switches.yml"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), wanted), names.end()) << wanted;
  }
  // All in one run: starting Ansible takes most of the time.
  std::vector<std::string> words = {"ansible-playbook", "--syntax-check", "-i", "tree/ansible/inventory.yml"};
  for (const std::string& name : names) words.push_back("tree/ansible/" + name);
  const auto outcome = lab.run(words, 60, true);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  for (const std::string& name : names) {
    EXPECT_NE(outcome.out.find("playbook: tree/ansible/" + name), std::string::npos) << name;
  }
}

// Without Slurm the tree has no Slurm files, and the rest still parses.
TEST(RenderAnsible, PlaybooksFollowTheControlPlane) {
  WEFT_NEEDS_PROGRAM("ansible-playbook");
  Lab lab("kinds");
  quiet(lab);
  const auto rendering = tree_of(lab, "superpod-h100-4su.yaml", "tree");
  ASSERT_NE(rendering, nullptr);
  ASSERT_FALSE(rendering->plan->has_slurm());
  EXPECT_EQ(rendering->sink.content("ansible/slurm.yml"), "");
  EXPECT_EQ(rendering->sink.content("ansible/rotate-munge-key.yml"), "");
  const auto outcome = lab.run(
      {"ansible-playbook", "--syntax-check", "-i", "tree/ansible/inventory.yml", "tree/ansible/site.yml"}, 60, true);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
}

std::set<std::string> texts(const YamlNode* list) {
  std::set<std::string> out;
  for (const YamlNode& item : list == nullptr ? std::vector<YamlNode>() : list->items) out.insert(item.scalar);
  return out;
}

// Every host of a group, including its children.
std::set<std::string> hosts_of(const YamlNode& root, const std::string& group) {
  const YamlNode* node = root.find(group);
  if (node == nullptr) return {};
  std::set<std::string> out = texts(node->find("hosts"));
  for (const std::string& child : texts(node->find("children"))) out.merge(hosts_of(root, child));
  return out;
}

TEST(RenderAnsible, TheInventoryIsTheDesign) {
  WEFT_NEEDS_PROGRAM("ansible-inventory");
  Lab lab("inventory");
  quiet(lab);
  const auto rendering = tree_of(lab, "pod16.yaml", "tree");
  ASSERT_NE(rendering, nullptr);
  const auto outcome = lab.run({"ansible-inventory", "-i", "tree/ansible/inventory.yml", "--list"}, 60);
  ASSERT_EQ(outcome.code, 0);
  Sources sources;
  Diagnostics diagnostics;
  const auto root = parse_json(sources, sources.add("list.json", outcome.out), diagnostics);
  ASSERT_TRUE(root.has_value()) << render_all(diagnostics, sources, false);

  const model::Cluster& cluster = rendering->cluster();
  std::set<std::string> servers;
  std::set<std::string> switches;
  std::map<std::string, std::set<std::string>> expected;
  for (const model::DeviceGroup& group : cluster.groups()) {
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const auto id = static_cast<model::DeviceId>(model::index_of(group.first) + i);
      const std::string& name = cluster.name_of(id);
      if (group.kind == model::DeviceKind::server && group.pool >= 0) servers.insert(name);
      if (group.kind == model::DeviceKind::network_switch) {
        switches.insert(name);
        expected["fabric_" + std::string(model::to_text(group.fabric))].insert(name);
        expected["tier_" + std::string(model::to_text(group.tier))].insert(name);
      }
      const bool racked = group.kind == model::DeviceKind::server || group.kind == model::DeviceKind::network_switch;
      if (group.kind == model::DeviceKind::server && group.pool >= 0) expected["pool_" + group.name].insert(name);
      if (racked && cluster.device(id).rack != model::kNone<model::RackId>) {
        std::string rack = "rack_" + cluster.rack(cluster.device(id).rack).name;
        std::replace(rack.begin(), rack.end(), '-', '_');
        expected[rack].insert(name);
      }
    }
  }
  EXPECT_EQ(hosts_of(*root, "servers"), servers);
  EXPECT_EQ(hosts_of(*root, "switches"), switches);
  EXPECT_EQ(hosts_of(*root, "controllers"), (std::set<std::string>{"infra001", "infra002", "infra003"}));
  EXPECT_EQ(hosts_of(*root, "unit_train_u001").size(), 16U);
  EXPECT_EQ(hosts_of(*root, "role_storage").size(), 12U);
  for (const auto& [group, hosts] : expected) EXPECT_EQ(hosts_of(*root, group), hosts) << group;

  const YamlNode* variables = root->find("_meta")->find("hostvars");
  ASSERT_NE(variables, nullptr);
  for (const std::string& name : servers) {
    const model::DeviceId id = cluster.find_device(name);
    const YamlNode* host = variables->find(name);
    ASSERT_NE(host, nullptr) << name;
    EXPECT_EQ(host->find("weft_bmc")->scalar, to_text(cluster.oob_address(id))) << name;
    for (const model::PortId port_id : cluster.ports_of(id)) {
      const model::Port& port = cluster.port(port_id);
      if (port.fabric != model::FabricKind::backend && port.fabric != model::FabricKind::storage) continue;
      const YamlNode* rail = host->find("weft_rails")->find(cluster.port_name(port_id));
      ASSERT_NE(rail, nullptr) << cluster.full_port_name(port_id);
      EXPECT_EQ(rail->scalar, to_text(port.address));
    }
  }
  // Servers without a frontend port, and switches, are reached through a host on the same network.
  EXPECT_EQ(variables->find("train001")->find("ansible_ssh_common_args"), nullptr);
  EXPECT_NE(variables->find("flash001")->find("ansible_ssh_common_args"), nullptr);
  EXPECT_NE(variables->find("be-spine001")->find("ansible_ssh_common_args"), nullptr);
  EXPECT_EQ(variables->find("be-spine001")->find("weft_system")->scalar, "sonic");
}

// Files listed in the inventory are in the tree, with the modes that the host target sets.
TEST(RenderAnsible, ListedFilesExist) {
  const auto rendering = rendered("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  int listed = 0;
  for (const auto& [path, file] : rendering->sink.files) {
    if (!path.starts_with("ansible/group_vars/")) continue;
    const std::regex source(R"(src: (host/\S+))");
    for (std::sregex_iterator at(file.content.begin(), file.content.end(), source), end; at != end; ++at) {
      EXPECT_TRUE(rendering->sink.files.contains((*at)[1])) << path << ": " << (*at)[1];
      ++listed;
    }
  }
  EXPECT_GT(listed, 60);
}

// install-files.yml for real, into a temporary folder: folders, modes, and each command once after a change.
TEST(RenderAnsible, InstallingTwiceChangesOnce) {
  WEFT_NEEDS_PROGRAM("ansible-playbook");
  Lab lab("install");
  quiet(lab);
  const auto rendering = tree_of(lab, "pod16.yaml", "tree");
  ASSERT_NE(rendering, nullptr);
  const std::string there = (lab.folder() / "root").string();
  lab.put("play.yml", R"(
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    weft_tree: ")" + (lab.folder() / "tree").string() +
                          R"("
    weft_install:
      - {src: host/train/sysctl.d/90-weft.conf, dest: )" +
                          there + R"(/etc/sysctl.d/90-weft.conf, mode: "0640",
         owner: root, group: root, apply: "echo applied >> )" +
                          there + R"(/log"}
  tasks:
    - ansible.builtin.import_tasks: tree/ansible/tasks/install-files.yml
)");
  for (int round = 0; round < 2; ++round) {
    const auto outcome = lab.run({"ansible-playbook", "-i", "localhost,", "play.yml"}, 60, true);
    ASSERT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_EQ(outcome.out.find("changed=0") != std::string::npos, round == 1) << outcome.out;
  }
  EXPECT_EQ(Lab::contents(lab.folder() / "root/etc/sysctl.d/90-weft.conf"),
            rendering->sink.content("host/train/sysctl.d/90-weft.conf"));
  EXPECT_EQ(fs::status(lab.folder() / "root/etc/sysctl.d/90-weft.conf").permissions(), fs::perms(0640));
  EXPECT_EQ(Lab::contents(lab.folder() / "root/log"), "applied\n");
}

// nics.yml in check mode on this machine: expressions evaluate, and the rows that it would copy are only this host's.
TEST(RenderAnsible, NicsEvaluateInCheckMode) {
  WEFT_NEEDS_PROGRAM("ansible-playbook");
  Lab lab("nics");
  quiet(lab);
  const auto rendering = tree_of(lab, "pod16.yaml", "tree");
  ASSERT_NE(rendering, nullptr);
  // Loops over files and ports are kept short: each iteration starts a program.
  const auto outcome =
      lab.run({"ansible-playbook", "--check", "--diff", "-c", "local", "-i", "tree/ansible/inventory.yml", "-e",
               R"({"ansible_become": false, "weft_packages": false, "node": "train002",
                                    "weft_rails": {"be1": "10.60.0.3"}, "weft_common_files": {"naming": []},
                                    "weft_files": {"qos": []}})",
               "tree/ansible/nics.yml"},
              60, true);
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_NE(outcome.out.find("+train002\tbe1\tbe-train-u001-leaf1\t"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("+train001\t"), std::string::npos);
  EXPECT_NE(outcome.out.find("10.60.0.3/26"), std::string::npos) << "its own addresses";
}

// The tree contains no secret, and no task prints one: tasks that use a password hide their output.
TEST(RenderAnsible, SecretsAreLookedUp) {
  const auto rendering = rendered("pod16.yaml");
  ASSERT_NE(rendering, nullptr);
  int secrets = 0;
  for (const auto& [path, file] : rendering->sink.files) {
    if (!path.starts_with("ansible/")) continue;
    const std::regex secret(R"re(^\s*(password|token|secret)\s*:(.*)$)re", std::regex::multiline);
    for (std::sregex_iterator at(file.content.begin(), file.content.end(), secret), end; at != end; ++at) {
      EXPECT_NE((*at)[2].str().find("lookup('ansible.builtin.env'"), std::string::npos) << path << ": " << (*at)[0];
      EXPECT_NE(file.content.find("no_log: true"), std::string::npos) << path;
      ++secrets;
    }
  }
  EXPECT_GT(secrets, 0);
}

}  // namespace
}  // namespace weft
