// Simulated kubelets for tests of engine `kubernetes`: they register nodes, report them as ready with a boot id, and
// give the pods that are bound to them the states that a kubelet reports. No container runs: the test says how it ends.
// With run_processes() containers are processes of this machine, without isolation: hostPath volumes are at their own
// paths, and the name of rank 0 is replaced by the loopback address.
#pragma once

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/process.h"
#include "base/random.h"
#include "base/text.h"
#include "base/value.h"
#include "kube/client.h"
#include "kube/json_fields.h"
#include "kube/object.h"

namespace weft::testing_kube {

class KubeletSim {
 public:
  KubeletSim(kube::Client& client, std::string kube_namespace)
      : client_(client), kube_namespace_(std::move(kube_namespace)) {}

  // "": done. Also after a reboot, with another boot id.
  std::string add_node(const std::string& node, const std::string& boot) {
    const Result<kube::CreateOutcome> made =
        client_.create(kube::kNodes, Value::map({{"metadata", Value::map({{"name", Value(node)}})}}));
    if (!made.ok()) return made.error().text();
    nodes_[node] = boot;
    return report_node(node, "True");
  }
  // A node that another simulated kubelet has registered: its pods are of another namespace there.
  void adopt_node(const std::string& node, const std::string& boot) { nodes_[node] = boot; }
  // "True", "False", or "Unknown" as the node controller writes it for a silent kubelet.
  std::string report_node(const std::string& node, const std::string& ready) {
    Value info = Value::map();
    for (const char* field : {"machineID", "systemUUID", "kernelVersion", "osImage", "containerRuntimeVersion",
                              "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture"}) {
      info.set(field, Value("x"));
    }
    info.set("bootID", Value(nodes_.at(node)));
    const Value condition = Value::map({{"type", Value("Ready")}, {"status", Value(ready)}, {"reason", Value("Test")}});
    Value status = Value::map({{"nodeInfo", info}, {"conditions", Value::list({condition})}});
    if (log_port_ > 0) {
      status.set("addresses",
                 Value::list({Value::map({{"type", Value("InternalIP")}, {"address", Value("127.0.0.1")}})}));
      status["daemonEndpoints"].set("kubeletEndpoint", Value::map({{"Port", Value(log_port_)}}));
    }
    const Result<Value> patched = client_.patch(kube::kNodes, {"", node}, Value::map({{"status", status}}), "status");
    return patched.ok() ? std::string() : patched.error().text();
  }
  // How the containers of a pod end by themselves.
  void finish(const std::string& pod, int code) { ends_[pod] = code; }
  // A node whose kubelet does nothing any more.
  void silence(const std::string& node) { silent_.insert(node); }
  void revive(const std::string& node) { silent_.erase(node); }

  // Containers run as processes, init containers first. `boot` is then the kernel's own.
  void run_processes() { processes_ = true; }
  // Asked before the containers of a pod with processes start, and told when they have ended, as a container runtime
  // runs its hooks.
  using Gate = std::function<bool(const std::string& node, const std::string& pod, bool enters)>;
  void ask_gate(Gate gate) { gate_ = std::move(gate); }
  static std::string kernel_boot_id() {
    return std::string(trim(read_file("/proc/sys/kernel/random/boot_id").value_or("")));
  }
  // On the nodes, `path` is another directory than here.
  void map_volume(const std::string& path, const std::string& other) { volumes_[path] = other; }
  // The image has this program.
  void map_program(const std::string& name, const std::string& path) { programs_[name] = path; }
  // Kills a process of a pod, as a fault of the program.
  void kill_process(const std::string& pod) {
    for (const Running& one : running_[pod]) {
      if (!one.ended) ::kill(one.pid, SIGKILL);
    }
  }
  ~KubeletSim() {
    for (auto& [pod, all] : running_) {
      for (Running& one : all) {
        if (one.ended) continue;
        ::kill(one.pid, SIGKILL);
        ::waitpid(one.pid, nullptr, 0);
      }
    }
  }
  KubeletSim(const KubeletSim&) = delete;
  KubeletSim& operator=(const KubeletSim&) = delete;
  // Where the output of containers is served (kubelet_logs.py), for nodes that are reported from now on.
  void serve_logs(int port) { log_port_ = port; }
  // Where the output of processes is kept, as kubelet_logs.py reads it, once they have ended.
  void keep_output(const std::string& folder) { output_folder_ = folder; }

  // One round of all kubelets.
  std::string step() {
    for (const auto& [node, boot] : nodes_) {
      if (silent_.contains(node)) continue;
      const Result<kube::ObjectList> pods = client_.list(kube::kPods, {kube_namespace_, {}, "spec.nodeName=" + node});
      if (!pods.ok()) return pods.error().text();
      for (const Value& pod : pods->items) {
        if (std::string problem = update(pod); !problem.empty()) return problem;
      }
    }
    return {};
  }

 private:
  std::string update(const Value& pod) {
    const kube::ObjectMeta meta = kube::read_meta(pod).value_or({});
    const std::string phase = kube::raw_text(pod, {"status", "phase"});
    if (meta.deleting && processes_ && phase == "Running") {
      if (!stop_processes(pod, meta)) return {};  // they are given time to end
    } else if (meta.deleting) {
      if (phase == "Running") (void)set_state(pod, meta, {143});
    }
    if (meta.deleting) {
      const Result<kube::DeleteOutcome> removed = client_.remove(kube::kPods, meta.name, {0, meta.uid, {}, {}});
      return removed.ok() ? std::string() : removed.error().text();
    }
    if (phase == "Pending" && processes_) return start_processes(pod, meta);
    if (phase == "Pending") return set_state(pod, meta, {-1});
    if (phase == "Running" && processes_) return report_processes(pod, meta);
    const auto end = ends_.find(meta.name.name);
    if (phase == "Running" && end != ends_.end()) return set_state(pod, meta, {end->second});
    return {};
  }

  struct Running {
    pid_t pid = 0;
    bool ended = false;
    int code = 0;
    std::string container;
  };
  [[nodiscard]] std::string output_file(const std::string& pod, const std::string& container) const {
    return output_folder_ + "/" + pod + "." + container;
  }
  // Each line with its time in front, as containerd keeps them.
  void publish_output(const std::string& pod, const std::string& container) const {
    if (output_folder_.empty()) return;
    std::string text;
    const std::string raw = read_file(output_file(pod, container) + ".raw").value_or("");
    for (const std::string_view line : split_lines(raw)) text += "2025-10-09T08:53:20Z " + std::string(line) + "\n";
    (void)write_file(output_file(pod, container), text);
  }
  static Value state_of(int code) {
    Value state = Value::map();
    if (code < 0) {
      state.set("running", Value::map({{"startedAt", Value("2025-10-09T08:53:20Z")}}));
    } else {
      state.set("terminated",
                Value::map({{"exitCode", Value(code)}, {"reason", Value(code == 0 ? "Completed" : "Error")}}));
    }
    return state;
  }
  static const Value* find_variable(const Value& container, std::string_view name) {
    for (const Value& variable : kube::list(container, {"env"})) {
      if (kube::raw_text(variable, {"name"}) == name) return &variable;
    }
    return nullptr;
  }
  // Kubernetes API reference, Container v1: "$(VAR_NAME)" is the value of a variable, "$$" is a dollar sign.
  static std::string expand(std::string_view word, const Value& container) {
    std::string out;
    while (!word.empty()) {
      const std::size_t end = word.starts_with("$(") ? word.find(')') : std::string_view::npos;
      const Value* variable =
          end == std::string_view::npos ? nullptr : find_variable(container, word.substr(2, end - 2));
      const std::size_t length = variable != nullptr ? end + 1 : word.starts_with("$$") ? 2 : 1;
      out += variable != nullptr ? kube::raw_text(*variable, {"value"}) : std::string(1, word.front());
      word.remove_prefix(length);
    }
    return out;
  }
  std::vector<std::string> words_of(const Value& container) {
    std::vector<std::string> words;
    for (const Value& word : kube::list(container, {"command"})) {
      words.push_back(expand(word.text(), container));
      for (const auto& [path, other] : volumes_) words.back() = replace_all(words.back(), path, other);
    }
    if (!words.empty() && programs_.contains(words.front())) words.front() = programs_.at(words.front());
    return words;
  }
  // Files of ConfigMaps, in directories of this machine that take the place of those in the container.
  std::string mount_files(const Value& pod) {
    for (const Value& volume : kube::list(pod, {"spec", "volumes"})) {
      const std::string map = kube::raw_text(volume, {"configMap", "name"});
      if (map.empty()) continue;
      const Result<Value> object =
          client_.get(kube::kConfigMaps, {kube::raw_text(pod, {"metadata", "namespace"}), map});
      if (!object.ok()) return object.error().text();  // tried again, as a kubelet does
      const std::string folder = output_folder_ + "/files-" + map;
      std::error_code problem;
      std::filesystem::create_directories(folder, problem);
      const Value* data = kube::member(*object, {"data"});
      for (const auto& [name, content] : data == nullptr ? Value::Map() : data->entries())
        (void)write_file(folder + "/" + name, content.text());
      for (const Value& container : kube::list(pod, {"spec", "containers"})) {
        for (const Value& mount : kube::list(container, {"volumeMounts"}))
          volumes_[kube::raw_text(mount, {"mountPath"}) + "/"] = folder + "/";
      }
    }
    return {};
  }
  // The gate, then the tasks.
  std::string start_processes(const Value& pod, const kube::ObjectMeta& meta) {
    if (gate_ && !gate_(kube::raw_text(pod, {"spec", "nodeName"}), meta.name.name, true)) return {};  // tried again
    if (std::string problem = mount_files(pod); !problem.empty()) return problem;
    for (const Value& container : kube::list(pod, {"spec", "initContainers"})) {
      ProcessRequest request;
      request.words = words_of(container);
      request.limit = milliseconds(60'000);
      const Result<ProcessOutcome> outcome = run_process(request);
      const int code = outcome.ok() ? outcome->code : 127;
      if (code != 0) return reject(pod, meta, container, code);
    }
    for (const Value& container : kube::list(pod, {"spec", "containers"}))
      running_[meta.name.name].push_back(
          {start_process(meta.name.name, container), false, 0, kube::raw_text(container, {"name"})});
    return set_state(pod, meta, {-1});
  }
  std::string reject(const Value& pod, const kube::ObjectMeta& meta, const Value& gate, int code) {
    Value waiting = Value::list();
    for (const Value& container : kube::list(pod, {"spec", "containers"})) {
      waiting.add(
          Value::map({{"name", Value(kube::raw_text(container, {"name"}))},
                      {"image", Value("x")},
                      {"imageID", Value("")},
                      {"ready", Value(false)},
                      {"restartCount", Value(0)},
                      {"state", Value::map({{"waiting", Value::map({{"reason", Value("PodInitializing")}})}})}}));
    }
    const Value init = Value::map({{"name", Value(kube::raw_text(gate, {"name"}))},
                                   {"image", Value("x")},
                                   {"imageID", Value("")},
                                   {"ready", Value(false)},
                                   {"restartCount", Value(0)},
                                   {"state", state_of(code)}});
    const Value status = Value::map({{"phase", Value("Failed")},
                                     {"initContainerStatuses", Value::list({init})},
                                     {"containerStatuses", std::move(waiting)}});
    const Result<Value> patched = client_.patch(kube::kPods, meta.name, Value::map({{"status", status}}), "status");
    return patched.ok() ? std::string() : patched.error().text();
  }
  pid_t start_process(const std::string& pod, const Value& container) {
    std::vector<std::string> words = words_of(container);
    const std::string attempt = pod.substr(0, pod.rfind('-'));
    std::vector<std::string> variables{"PATH=/usr/bin:/bin"};
    for (const Value& variable : kube::list(container, {"env"})) {
      const std::string name = kube::raw_text(variable, {"name"});
      std::string value = replace_all(kube::raw_text(variable, {"value"}), "$$", "$");
      if (name == "MASTER_ADDR") value = "127.0.0.1";
      // Below the ports of tests/ports.h and those of outgoing connections.
      if (name == "MASTER_PORT") value = std::to_string(10'000 + hash64(kube_namespace_ + attempt) % 10'000);
      variables.push_back(name + "=" + value);
    }
    const std::string raw = output_file(pod, kube::raw_text(container, {"name"})) + ".raw";
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::vector<char*> arguments;
    std::vector<char*> environment;
    for (std::string& word : words) arguments.push_back(word.data());
    for (std::string& variable : variables) environment.push_back(variable.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int standard : {0, 1, 2}) ::dup2(nowhere, standard);
    const int output = output_folder_.empty() ? -1 : ::open(raw.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (const int standard : {1, 2}) (void)(output >= 0 && ::dup2(output, standard));
    ::execvpe(arguments.front(), arguments.data(), environment.data());
    ::_exit(127);
  }
  bool poll_processes(const std::string& pod) {
    bool all_ended = true;
    for (Running& one : running_[pod]) {
      int status = 0;
      if (!one.ended && ::waitpid(one.pid, &status, WNOHANG) == one.pid) {
        one.ended = true;
        one.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        publish_output(pod, one.container);
      }
      all_ended = all_ended && one.ended;
    }
    return all_ended;
  }
  std::string report_processes(const Value& pod, const kube::ObjectMeta& meta) {
    if (!poll_processes(meta.name.name)) return {};
    if (gate_) (void)gate_(kube::raw_text(pod, {"spec", "nodeName"}), meta.name.name, false);
    std::vector<int> codes;
    for (const Running& one : running_[meta.name.name]) codes.push_back(one.code);
    return set_state(pod, meta, codes);
  }
  bool stop_processes(const Value& pod, const kube::ObjectMeta& meta) {
    for (const Running& one : running_[meta.name.name]) {
      if (!one.ended) ::kill(one.pid, SIGTERM);
    }
    if (!poll_processes(meta.name.name)) return false;
    (void)report_processes(pod, meta);
    return true;
  }

  // One code per container, or one for all; below 0: running.
  std::string set_state(const Value& pod, const kube::ObjectMeta& meta, const std::vector<int>& codes) {
    int code = codes.front();
    for (const int one : codes) code = code == 0 ? one : code;
    Value statuses = Value::list();
    std::size_t index = 0;
    for (const Value& container : kube::list(pod, {"spec", "containers"})) {
      const Value state = state_of(codes.size() > 1 ? codes.at(index) : codes.front());
      ++index;
      statuses.add(Value::map({{"name", Value(kube::raw_text(container, {"name"}))},
                               {"image", Value("x")},
                               {"imageID", Value("")},
                               {"ready", Value(code < 0)},
                               {"restartCount", Value(0)},
                               {"state", state}}));
    }
    const char* phase = code < 0 ? "Running" : code == 0 ? "Succeeded" : "Failed";
    const Value status = Value::map({{"phase", Value(phase)}, {"containerStatuses", std::move(statuses)}});
    const Result<Value> patched = client_.patch(kube::kPods, meta.name, Value::map({{"status", status}}), "status");
    return patched.ok() ? std::string() : patched.error().text();
  }

  kube::Client& client_;
  std::string kube_namespace_;
  std::map<std::string, std::string> nodes_;  // name to boot id
  std::map<std::string, int> ends_;
  std::set<std::string> silent_;
  bool processes_ = false;
  Gate gate_;
  std::map<std::string, std::vector<Running>> running_;
  int log_port_ = 0;
  std::string output_folder_;
  std::map<std::string, std::string> volumes_;
  std::map<std::string, std::string> programs_;
};

}  // namespace weft::testing_kube
