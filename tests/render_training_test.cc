// Training jobs for Kubernetes: valid for the API server, complete, and with an init container whose script is run
// here, in a network namespace with the pod's interfaces.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/test_prerequisites.h"
#include "base/value.h"
#include "config/kube_objects.h"
#include "kube_schema.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_lab::Lab;
using testing_lab::Outcome;
using testing_rendered::load_example;
using testing_rendered::Rendering;

constexpr const char* kForms[] = {"pytorchjob", "trainjob", "indexed"};

std::string example_job() {
  const auto text = read_file(testing_rendered::source_path("examples/train.job.yaml"));
  EXPECT_TRUE(text.ok());
  return text.value_or("");
}

std::unique_ptr<Rendering> render_job(const std::string& job, const testing_rendered::Edits& edits = {}) {
  auto rendering = load_example("pod16.yaml", edits);
  if (rendering == nullptr) return nullptr;
  rendering->add_job(job);
  rendering->render("kubernetes/training");
  return rendering;
}

std::vector<YamlNode> documents(const Rendering& rendering, const std::string& form) {
  for (const auto& [path, file] : rendering.sink.files) {
    if (!path.ends_with("-" + form + ".yaml")) continue;
    Sources sources;
    Diagnostics diagnostics;
    auto out = parse_yaml_stream(sources, sources.add(path, file.content), diagnostics);
    EXPECT_EQ(diagnostics.error_count() + diagnostics.warning_count(), 0U);
    return out;
  }
  ADD_FAILURE() << form;
  return {};
}

const YamlNode* of_kind(const std::vector<YamlNode>& list, std::string_view kind) {
  for (const YamlNode& node : list) {
    if (config::text_of(node.find("kind")) == kind) return &node;
  }
  ADD_FAILURE() << kind;
  return nullptr;
}

const YamlNode* replicated_job(const std::vector<YamlNode>& list) {
  const YamlNode* jobs = config::node_at(of_kind(list, "TrainingRuntime"), "spec.template.spec.replicatedJobs");
  return jobs == nullptr || jobs->items.empty() ? nullptr : jobs->items[0].find("template");
}

// The pod template of a job kind.
const YamlNode* pod_of(const std::vector<YamlNode>& list, const std::string& form) {
  if (form == "pytorchjob")
    return config::node_at(of_kind(list, "PyTorchJob"), "spec.pytorchReplicaSpecs.Worker.template");
  if (form == "trainjob") return config::node_at(replicated_job(list), "spec.template");
  return config::node_at(of_kind(list, "Job"), "spec.template");
}

const YamlNode* container_of(const YamlNode* pod, const char* list = "spec.containers") {
  const YamlNode* containers = config::node_at(pod, list);
  return containers == nullptr || containers->items.empty() ? nullptr : &containers->items[0];
}

Value to_value(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::mapping) {
    Value out = Value::map();
    for (const YamlEntry& entry : node.entries) out.put(entry.key, to_value(entry.value));
    return out;
  }
  if (node.kind == YamlNode::Kind::sequence) {
    Value out = Value::list();
    for (const YamlNode& item : node.items) out.add(to_value(item));
    return out;
  }
  if (!node.quoted && (node.scalar == "true" || node.scalar == "false")) return Value(node.scalar == "true");
  const auto number = parse_integer(node.scalar);
  return !node.quoted && number.ok() ? Value(*number) : Value(node.scalar);
}

// TrainingRuntime has no schema here; its contents are those of a Job.
std::string runtime_as_job(const std::vector<YamlNode>& list) {
  Value job = to_value(*replicated_job(list));
  job["metadata"].set("name", "runtime").set("namespace", "default");
  job.set("apiVersion", "batch/v1").set("kind", "Job");
  return write_yaml(job);
}

void expect_valid(const Rendering& rendering) {
  for (const auto& [path, file] : rendering.sink.files) {
    kube_schema::ValidationReport report = kube_schema::validate_documents(path, file.content);
    std::erase_if(report.errors, [](const kube_schema::ValidationError& error) {
      return error.object.starts_with("TrainingRuntime ") && error.message.starts_with("no schema");
    });
    EXPECT_TRUE(report.ok()) << report.text();
    EXPECT_GE(report.documents, 2U) << path;
  }
  const auto report = kube_schema::validate_documents("runtime.yaml", runtime_as_job(documents(rendering, "trainjob")));
  EXPECT_TRUE(report.ok()) << report.text();
  EXPECT_EQ(report.documents, 1U);
}

TEST(RenderTraining, EveryFormIsValid) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  const auto rendering = render_job(example_job());
  ASSERT_NE(rendering, nullptr);
  EXPECT_EQ(rendering->sink.files.size(), 3U);
  expect_valid(*rendering);
}

TEST(RenderTraining, ValidWithQueuesAndOddTexts) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  const auto rendering = render_job(
      "job: 1\nname: odd\nnodes: 2\ngpus_per_node: 2\ncommand: [\"a b.py\", \"it's \\\"so\\\": {x}\", \"$(HOME) "
      "$HOME\", "
      "\"- no\"]\nmounts: [{volume: homes, path: /home}, {volume: datasets}]\nenvironment: {A: \"yes\", B: \"$(A)\", "
      "C: \"\"}\n",
      {{"kind: both, pool: infra, etcd_members: 3, allocator: slurm",
        "kind: kubernetes, pool: infra, etcd_members: 3, allocator: kubernetes"}});
  ASSERT_NE(rendering, nullptr);
  expect_valid(*rendering);
  const auto list = documents(*rendering, "indexed");
  const YamlNode* job = of_kind(list, "Job");
  EXPECT_EQ(config::text_of(config::node_at(job, "metadata.labels")->find("kueue.x-k8s.io/queue-name")), "team-alpha");
  const YamlNode* pod = pod_of(list, "indexed");
  EXPECT_EQ(
      config::text_of(config::node_at(pod, "metadata.annotations")->find("kueue.x-k8s.io/podset-preferred-topology")),
      "weft/unit");
  EXPECT_EQ(config::node_at(pod, "spec.schedulerName"), nullptr) << "Kubernetes' own places the pods";
  std::vector<std::string> words;
  for (const YamlNode& word : container_of(pod)->find("command")->items) words.push_back(word.scalar);
  ASSERT_GT(words.size(), 4U);
  const std::vector<std::string> last(words.end() - 4, words.end());
  // $$( is the Kubernetes escape for a literal $(.
  EXPECT_EQ(last, (std::vector<std::string>{"a b.py", "it's \"so\": {x}", "$$(HOME) $HOME", "- no"}));
}

std::map<std::string, std::string> pairs(const YamlNode* mapping) {
  std::map<std::string, std::string> out;
  if (mapping == nullptr) return out;
  for (const YamlEntry& entry : mapping->entries) out[entry.key] = entry.value.scalar;
  return out;
}

TEST(RenderTraining, PodsMatchTheDesign) {
  const auto rendering = render_job(example_job());
  ASSERT_NE(rendering, nullptr);
  // One virtual function per cable of a server on backend and storage.
  const model::Cluster& cluster = rendering->cluster();
  std::size_t rails = 0;
  for (const model::PortId id : cluster.ports_of(cluster.find_device("train001"))) {
    const model::FabricKind fabric = cluster.port(id).fabric;
    rails += fabric == model::FabricKind::backend || fabric == model::FabricKind::storage ? 1U : 0U;
  }
  for (const char* form : kForms) {
    const auto list = documents(*rendering, form);
    const YamlNode* pod = pod_of(list, form);
    ASSERT_NE(pod, nullptr) << form;
    Sources sources;
    Diagnostics diagnostics;
    const std::string json(
        config::text_of(config::node_at(pod, "metadata.annotations")->find("k8s.v1.cni.cncf.io/networks")));
    const auto networks = parse_yaml(sources, sources.add("networks", json), diagnostics);
    ASSERT_TRUE(networks.has_value());
    ASSERT_EQ(networks->items.size(), rails);
    for (std::size_t i = 0; i < rails; ++i)
      EXPECT_EQ(config::text_of(networks->items[i].find("interface")), "net" + std::to_string(i + 1));
    const YamlNode* container = container_of(pod);
    const auto limits = pairs(config::node_at(container, "resources.limits"));
    EXPECT_EQ(limits, pairs(config::node_at(container, "resources.requests"))) << "Guaranteed";
    EXPECT_EQ(limits.size(), rails + 3);
    EXPECT_EQ(limits.at("nvidia.com/gpu"), "8");
    EXPECT_LE(std::stoll(limits.at("cpu")), cluster.server_of(cluster.find_device("train001")).cores.value);
    std::set<std::string> volumes;
    for (const YamlNode& volume : config::node_at(pod, "spec.volumes")->items)
      volumes.insert(std::string(config::text_of(volume.find("name"))));
    for (const YamlNode* each : {container, container_of(pod, "spec.initContainers")}) {
      for (const YamlNode& mount : each->find("volumeMounts")->items)
        EXPECT_EQ(volumes.count(std::string(config::text_of(mount.find("name")))), 1U) << form;
    }
    EXPECT_EQ(pairs(config::node_at(pod, "spec.nodeSelector")).at("weft/pool"), "train");
    EXPECT_EQ(config::text_of(config::node_at(pod, "spec.schedulerName")), "slurm-bridge-scheduler");
  }
}

TEST(RenderTraining, RendezvousNameResolvesToAPod) {
  const auto rendering = render_job(example_job());
  ASSERT_NE(rendering, nullptr);
  const auto list = documents(*rendering, "indexed");
  const YamlNode* job = of_kind(list, "Job");
  const YamlNode* service = of_kind(list, "Service");
  // Kubernetes documentation, Job, completion mode: pod host names are $(job-name)-$(index).
  const std::string expected = std::string(config::text_of(config::node_at(job, "metadata.name"))) + "-0." +
                               std::string(config::text_of(config::node_at(service, "metadata.name"))) + ":29500";
  const YamlNode* pod = pod_of(list, "indexed");
  EXPECT_EQ(config::text_of(config::node_at(pod, "spec.subdomain")),
            config::text_of(config::node_at(service, "metadata.name")));
  bool found = false;
  for (const YamlNode& word : container_of(pod)->find("command")->items)
    found = found || word.scalar == "--rdzv_endpoint=" + expected;
  EXPECT_TRUE(found) << expected;
  EXPECT_EQ(config::text_of(config::node_at(job, "spec.completions")), "8");
  EXPECT_EQ(config::text_of(config::node_at(job, "spec.activeDeadlineSeconds")), "172800");
  EXPECT_EQ(config::text_of(config::node_at(pod, "spec.restartPolicy")), "Never") << "podFailurePolicy needs it";
}

TEST(RenderTraining, OneFormOnRequest) {
  auto rendering = load_example("pod16.yaml");
  rendering->add_job(example_job());
  ASSERT_TRUE(rendering->options.set("job=indexed").ok());
  rendering->render("kubernetes/training");
  ASSERT_EQ(rendering->sink.files.size(), 1U);
  EXPECT_TRUE(rendering->sink.files.begin()->first.ends_with("-indexed.yaml"));
}

// ---- the script of the first container ----

struct Script {
  Lab lab{"ranks"};
  std::vector<std::string> environment;

  explicit Script(const std::string& index) {
    const auto rendering = render_job(example_job());
    const auto list = documents(*rendering, "indexed");
    lab.put("ranks.sh", std::string(config::text_of(of_kind(list, "ConfigMap")->find("data")->find("ranks.sh"))));
    environment = {"env", "WEFT_RANKS=" + (lab.folder() / "ranks").string(), "WEFT_INDEX=" + index, "WEFT_POD=pod7"};
    for (const YamlNode& variable : container_of(pod_of(list, "indexed"), "spec.initContainers")->find("env")->items) {
      if (variable.find("value") != nullptr)
        environment.push_back(variable.find("name")->scalar + "=" + variable.find("value")->scalar);
    }
  }
  Outcome run(std::vector<std::string> before = {}, const std::string& path = {}) {
    before.insert(before.end(), environment.begin(), environment.end());
    if (!path.empty()) before.push_back("PATH=" + path);
    before.push_back("/bin/sh");
    before.push_back((lab.folder() / "ranks.sh").string());
    return lab.run(before, 20, true);
  }
  [[nodiscard]] std::string ranks() const { return Lab::contents(lab.folder() / "ranks"); }
};

std::string expected_ranks() {
  std::string out = "# rank pod local_rank interface address\n";
  for (int i = 0; i < 8; ++i) {
    const std::string n = std::to_string(i);
    const std::string net = std::to_string(i + 1);
    out += std::to_string(3 * 8 + i) + " pod7 " + n + " net" + net + " 10.64." + net + ".9\n";
  }
  return out;
}

TEST(RenderTraining, ScriptReadsTheAddressesOfRealInterfaces) {
  Script script("3");
  WEFT_NEEDS_PROGRAM("ip");
  WEFT_NEEDS(script.lab.can_make_networks(), "network namespaces");
  const std::string space = script.lab.space("ranks");
  ASSERT_NE(space, "");
  for (int i = 1; i <= 10; ++i) {
    const std::string net = "net" + std::to_string(i);
    const std::string peer = "far" + std::to_string(i);
    ASSERT_EQ(script.lab.run({"ip", "-n", space, "link", "add", net, "type", "veth", "peer", "name", peer}).code, 0);
    script.lab.run({"ip", "-n", space, "addr", "add", "10.64." + std::to_string(i) + ".9/24", "dev", net});
    script.lab.run({"ip", "-n", space, "link", "set", net, "up"});
  }
  const Outcome outcome = script.run({"ip", "netns", "exec", space});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_EQ(script.ranks(), expected_ranks());

  // An image without iproute2: Python queries the kernel.
  std::filesystem::create_directory(script.lab.folder() / "bin");
  for (const char* tool : {"sed", "head", "mv", "cat", "python3"})
    std::filesystem::create_symlink(std::string("/usr/bin/") + tool, script.lab.folder() / "bin" / tool);
  std::filesystem::remove(script.lab.folder() / "ranks");
  const Outcome python = script.run({"ip", "netns", "exec", space}, (script.lab.folder() / "bin").string());
  EXPECT_EQ(python.code, 0) << python.out;
  EXPECT_EQ(script.ranks(), expected_ranks());

  // A rail without an address, then a storage rail without one.
  for (const char* net : {"net5", "net10"}) {
    script.lab.run({"ip", "-n", space, "addr", "flush", "dev", net});
    std::filesystem::remove(script.lab.folder() / "ranks");
    const Outcome failed = script.run({"ip", "netns", "exec", space});
    EXPECT_NE(failed.code, 0);
    EXPECT_NE(failed.out.find(std::string(net) + " has no IPv4 address"), std::string::npos) << failed.out;
    EXPECT_EQ(script.ranks(), "") << "half a file is worse than none";
  }
}

TEST(RenderTraining, ScriptRejectsAnInvalidIndex) {
  Script script("x");
  EXPECT_NE(script.run().code, 0);
  EXPECT_EQ(script.ranks(), "");
}

TEST(RenderTraining, ShellsAndLintersAcceptTheScripts) {
  Script script("0");
  EXPECT_EQ(script.lab.run({"sh", "-n", "ranks.sh"}).code, 0);
  auto rendering = load_example("pod16.yaml");
  rendering->add_job(example_job());
  rendering->render("slurm");
  WEFT_NEEDS_PROGRAM("shellcheck");
  const Outcome ranks = script.lab.run({"shellcheck", "-s", "sh", "ranks.sh"}, 30, true);
  EXPECT_EQ(ranks.code, 0) << ranks.out;
  std::size_t scripts = 0;
  for (const auto& [path, file] : rendering->sink.files) {
    if (file.mode != "0755") continue;
    ++scripts;
    script.lab.put("script", file.content);
    const Outcome outcome = script.lab.run({"shellcheck", "script"}, 30, true);
    EXPECT_EQ(outcome.code, 0) << path << outcome.out;
  }
  EXPECT_GE(scripts, 9U);
}

}  // namespace
}  // namespace weft
