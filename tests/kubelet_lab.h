// A real node for tests of engine `kubernetes`: kubelet, containerd and runc, with a control plane (kube_fixture.h), in
// network, mount and process namespaces of their own. Its GPUs are stand-ins: eight names of /dev/full, offered by a
// device plugin (gpu_plugin.py). containerd runs the hooks of the lease gate, as docs/operate.md says.
//
// The programs are those of `make kubernetes`; a test without them is skipped (WEFT_NEEDS_KUBELET). Nothing stays on
// the machine: processes and mounts end with the namespaces, also if the test is killed, and the cgroups of a test that
// was killed are removed by the next one.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/test_places.h"
#include "base/text.h"
#include "kube/json_fields.h"
#include "kube_fixture.h"

namespace weft::testing_kube {

inline constexpr const char* kImage = "docker.io/weft/test:1";  // not "latest", which kubelets always pull
inline constexpr const char* kNodeAddress = "10.99.0.1";        // kubelets refuse the loopback address

// As in scripts/containerd.sh.
inline std::string containerd_folder() {
  return std::filesystem::path(kubernetes_folder()).parent_path().parent_path().string() + "/containerd-1.6.20";
}
inline bool has_containerd() { return has_program(containerd_folder() + "/usr/bin/containerd"); }
inline bool has_cgroup_v1() { return ::access("/sys/fs/cgroup/memory/cgroup.procs", W_OK) == 0; }

#define WEFT_NEEDS_KUBELET()                                                                 \
  do {                                                                                       \
    WEFT_NEEDS_ROOT();                                                                       \
    WEFT_NEEDS_KUBERNETES();                                                                 \
    WEFT_NEEDS(::weft::testing_kube::has_containerd(), "containerd of make kubernetes");     \
    WEFT_NEEDS(::weft::testing_kube::has_cgroup_v1(), "cgroup v1");                          \
    WEFT_NEEDS(::weft::testing_lab::Lab("probe").can_make_networks(), "network namespaces"); \
  } while (false)

// A network namespace for the calling thread and what it starts.
class PrivateNetwork {
 public:
  // False: it cannot be made.
  bool create(Lab& lab) {
    before_ = FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (before_.get() < 0 || ::unshare(CLONE_NEWNET) != 0) return false;
    own_ = FileDescriptor(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    bool made = lab.run({"ip", "link", "set", "lo", "up"}).code == 0 &&
                lab.run({"ip", "link", "add", "node0", "type", "veth", "peer", "name", "node1"}).code == 0 &&
                lab.run({"ip", "address", "add", std::string(kNodeAddress) + "/24", "dev", "node0"}).code == 0;
    for (const char* interface : {"node0", "node1"})
      made = made && lab.run({"ip", "link", "set", interface, "up"}).code == 0;
    leave();
    return made;
  }
  void enter() const { (void)::setns(own_.get(), CLONE_NEWNET); }
  void leave() const { (void)::setns(before_.get(), CLONE_NEWNET); }

 private:
  FileDescriptor before_;
  FileDescriptor own_;
};

// A cgroup of version 1 for all pods of a kubelet, with the same name in each hierarchy.
class PodCgroups {
 public:
  PodCgroups() : name_("weft-kubelet-" + std::to_string(::getpid())) { remove_left(); }
  PodCgroups(const PodCgroups&) = delete;
  PodCgroups& operator=(const PodCgroups&) = delete;
  ~PodCgroups() {
    // The kernel lets the last processes go after their namespace has ended.
    (void)Lab::wait(10, [&] { return remove(name_); });
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool create() const {
    for (const std::filesystem::path& hierarchy : hierarchies()) {
      if (::mkdir((hierarchy / name_).c_str(), 0755) != 0) return false;
      for (const char* file : {"cpuset.mems", "cpuset.cpus"}) {
        if (!std::filesystem::exists(hierarchy / file)) continue;
        std::ofstream(hierarchy / name_ / file) << Lab::contents(hierarchy / file);
      }
    }
    return true;
  }

 private:
  static std::vector<std::filesystem::path> hierarchies() {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/fs/cgroup")) {
      if (entry.is_directory() && !entry.is_symlink()) found.push_back(entry.path());
    }
    return found;
  }
  // False: a process is still in it.
  static bool remove_tree(const std::filesystem::path& cgroup) {
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(cgroup, gone)) {
      if (entry.is_directory() && !remove_tree(entry.path())) return false;
    }
    return ::rmdir(cgroup.c_str()) == 0 || errno == ENOENT;
  }
  static bool remove(const std::string& name) {
    bool removed = true;
    for (const std::filesystem::path& hierarchy : hierarchies()) removed = remove_tree(hierarchy / name) && removed;
    return removed;
  }
  // Of tests that were killed.
  static void remove_left() {
    constexpr std::string_view kPrefix = "weft-kubelet-";
    for (const auto& entry : std::filesystem::directory_iterator("/sys/fs/cgroup/memory")) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kPrefix)) continue;
      if (!std::filesystem::exists("/proc/" + name.substr(kPrefix.size()))) (void)remove(name);
    }
  }

  std::string name_;
};

class KubeletLab {
 public:
  explicit KubeletLab(std::string node) : name_(std::move(node)), node_(std::make_unique<Lab>("kubelet")) {}
  KubeletLab(const KubeletLab&) = delete;
  KubeletLab& operator=(const KubeletLab&) = delete;
  ~KubeletLab() { node_.reset(); }  // before the cgroups

  // "": the node is ready. Otherwise what went wrong, with the end of the logs.
  std::string start() {
    if (!network_.create(*node_)) return "no network namespace could be made";
    network_.enter();
    std::string problem = cluster_.start();
    if (problem.empty() && !cgroups_.create()) problem = "the cgroups cannot be made";
    if (problem.empty()) problem = start_containerd();
    if (problem.empty()) problem = start_kubelet();
    network_.leave();
    return problem;
  }
  // The thread that talks to the cluster is in its network.
  void enter() const { network_.enter(); }
  void leave() const { network_.leave(); }

  [[nodiscard]] KubeLab& cluster() { return cluster_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Starts it, again after kill_kubelet(), and waits until the node is ready with its GPUs.
  std::string start_kubelet() {
    Words words = on_node({kubernetes_folder() + "/kubelet", "--config=" + file("kubelet.yaml"),
                           "--kubeconfig=" + cluster_.file("admin.kubeconfig"), "--container-runtime=remote",
                           "--container-runtime-endpoint=unix://" + socket(), "--root-dir=" + file("kubelet"),
                           "--cert-dir=" + file("kubelet/pki"), "--hostname-override=" + name_,
                           "--node-ip=" + std::string(kNodeAddress), "--v=2"});
    kubelet_ = node_->start(words);
    if (plugin_ == 0)
      plugin_ = node_->start(
          on_node({"python3", source_dir() + "/tests/gpu_plugin.py", "/var/lib/kubelet/device-plugins", "8"}));
    const bool ready = Lab::wait(60, [&] { return !node_->alive(kubelet_) || is_ready(); });
    return ready && node_->alive(kubelet_) ? std::string() : "the kubelet is not ready\n" + logs();
  }
  // Like a crash: its containers run on.
  void kill_kubelet() {
    ::kill(-kubelet_, SIGKILL);
    ::waitpid(kubelet_, nullptr, 0);
    kubelet_ = 0;
  }
  [[nodiscard]] bool has_kubelet() const { return kubelet_ != 0; }

  // Runs a program on the node.
  testing_lab::Outcome run(const Words& words) { return node_->run(on_node(words), 20, true); }
  // ctr, for the containers of the kubelet.
  testing_lab::Outcome ctr(const Words& words) {
    Words all = {containerd_folder() + "/usr/bin/ctr", "-a", socket(), "-n", "k8s.io"};
    all.insert(all.end(), words.begin(), words.end());
    return run(all);
  }
  // Ids of the containers that run, with sandboxes.
  [[nodiscard]] std::vector<std::string> running() {
    std::vector<std::string> found;
    for (const std::string_view line : split_lines(ctr({"tasks", "ls"}).out)) {
      const std::vector<std::string_view> columns = split_at_spaces(line);
      if (columns.size() == 3 && columns[2] == "RUNNING") found.emplace_back(columns[0]);
    }
    return found;
  }
  [[nodiscard]] std::string logs() const {
    std::string text = cluster_.logs();
    const auto add = [&](const std::string& name) {
      const std::string log = Lab::contents(file(name));
      text += "---- " + name + "\n" + log.substr(log.size() - std::min<std::size_t>(log.size(), 4000));
    };
    add("containerd.log");
    for (int i = 1; i < 40; ++i) {
      if (std::filesystem::exists(file("log" + std::to_string(i)))) add("log" + std::to_string(i));
    }
    return text;
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (node_->folder() / name).string(); }

 private:
  [[nodiscard]] std::string socket() const { return file("containerd.sock"); }
  [[nodiscard]] Words on_node(const Words& words) const {
    const std::string namespaces = "/proc/" + std::to_string(namespaces_) + "/ns/";
    Words all = {"nsenter", "--mount=" + namespaces + "mnt", "--pid=" + namespaces + "pid_for_children", "--"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }

  std::string start_containerd() {
    if (std::string problem = write_files(); !problem.empty()) return problem;
    namespaces_ = node_->start({"unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
                                "--mount-proc", "sh", source_dir() + "/tests/kubelet_node.sh", node_->folder().string(),
                                containerd_folder()});
    const bool ready = Lab::wait(30, [&] { return !node_->alive(namespaces_) || ctr({"version"}).code == 0; });
    if (!ready || !node_->alive(namespaces_)) return "containerd is not ready\n" + logs();
    const testing_lab::Outcome import = ctr({"images", "import", file("image.tar")});
    return import.code == 0 ? std::string() : "the image cannot be imported: " + import.out + logs();
  }

  std::string write_files() {
    const testing_lab::Outcome image = node_->run({"python3", source_dir() + "/tests/container_image.py",
                                                   containerd_folder() + "/bin/busybox", kImage, file("image.tar")},
                                                  20, true);
    if (image.code != 0) return "the image cannot be made: " + image.out;
    std::filesystem::create_directory(file("cni"));
    node_->put("cni/10-ptp.conflist",
               R"({"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": {"type": "host-local",
                   "dataDir": ")" +
                   file("addresses") + R"(", "ranges": [[{"subnet": "10.88.0.0/24"}]]}}]})");
    write_containerd_config();
    write_kubelet_config();
    return write_base_spec();
  }
  // As docs/operate.md says; but weft is where it was built, and pods of the namespace gpu-tools are ignored.
  std::string write_base_spec() {
    const testing_lab::Outcome spec = node_->run({containerd_folder() + "/usr/bin/ctr", "oci", "spec"});
    const testing_lab::Outcome hooks = node_->run({weft_binary(), "gate", "script", "containerd-hooks"});
    nlohmann::json base = nlohmann::json::parse(spec.out, nullptr, false);
    const nlohmann::json added =
        nlohmann::json::parse(replace_all(hooks.out, "/usr/bin/weft", weft_binary()), nullptr, false);
    if (!base.is_object() || !added.is_object()) return "no base_runtime_spec: " + spec.out + hooks.out;
    base.update(added);
    for (const char* word : {"--ignore-namespace", "gpu-tools"})
      base["hooks"]["createRuntime"][0]["args"].push_back(word);
    node_->put("base-spec.json", base.dump());
    return {};
  }
  void write_containerd_config() const {
    const std::string cri = "plugins.\"io.containerd.grpc.v1.cri\"";
    node_->put("containerd.toml", "version = 2\nroot = \"" + file("containerd") + "\"\nstate = \"" +
                                      file("containerd-state") + "\"\n[grpc]\n  address = \"" + socket() + "\"\n[" +
                                      cri + "]\n  sandbox_image = \"" + kImage +
                                      "\"\n  restrict_oom_score_adj = true\n[" + cri +
                                      ".containerd]\n  snapshotter = \"native\"\n[" + cri +
                                      ".containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n"
                                      "  base_runtime_spec = \"" +
                                      file("base-spec.json") + "\"\n[" + cri + ".cni]\n  bin_dir = \"" +
                                      containerd_folder() + "/usr/lib/cni\"\n  conf_dir = \"" + file("cni") + "\"\n");
  }
  void write_kubelet_config() const {
    node_->put("kubelet.yaml",
               "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
               "authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}\n"
               "authorization: {mode: AlwaysAllow}\n"
               "cgroupDriver: cgroupfs\ncgroupRoot: /" +
                   cgroups_.name() + "\nfailSwapOn: false\nmakeIPTablesUtilChains: false\naddress: " + kNodeAddress +
                   "\nport: " + std::to_string(find_ports(1)) + "\nhealthzPort: " + std::to_string(find_ports(1)) +
                   "\nreadOnlyPort: 0\nnodeStatusUpdateFrequency: 2s\nnodeLeaseDurationSeconds: 8\n"
                   "evictionHard: {memory.available: 1Mi, nodefs.available: 0%, imagefs.available: 0%}\n"
                   "imageGCHighThresholdPercent: 100\nresolvConf: ''\nvolumePluginDir: " +
                   file("volume-plugins") + "\n");
  }
  bool is_ready() {
    const Result<Value> node = cluster_.admin().client.get(kube::kNodes, {"", name_});
    if (!node.ok()) return false;
    bool ready = false;
    for (const Value& condition : kube::list(*node, {"status", "conditions"}))
      ready =
          ready || (kube::raw_text(condition, {"type"}) == "Ready" && kube::raw_text(condition, {"status"}) == "True");
    return ready && kube::raw_text(*node, {"status", "allocatable", "nvidia.com/gpu"}) == "8";
  }

  std::string name_;
  PodCgroups cgroups_;
  KubeLab cluster_{"kubelet_cluster", {true}};
  PrivateNetwork network_;
  std::unique_ptr<Lab> node_;
  pid_t namespaces_ = 0;
  pid_t kubelet_ = 0;
  pid_t plugin_ = 0;
};

}  // namespace weft::testing_kube
