// A `weft serve` with engines slurm and kubernetes on the same nodes: a private Slurm (slurm_fixture.h), a shared
// Kubernetes control plane (kube_fixture.h) with simulated kubelets that run containers as processes, and a gate per
// node. Files stand for the GPUs. The simulated kubelets ask the gate where a container runtime would run
// `weft gate hook`; Slurm asks it in the Prolog that weft prints.
#pragma once

#include <string>
#include <vector>

#include "kube_fixture.h"
#include "kubelet_sim.h"
#include "slurm_fixture.h"

namespace weft::testing_slurm {

class TwoEngines : public SlurmFixture {
 protected:
  TwoEngines() : SlurmFixture(4) {}

  std::string more_conf() override {
    return "Prolog=" + file("prolog") + "\nEpilog=" + file("epilog") +
           "\nPrologFlags=Alloc\nSchedulerParameters=nohold_on_prolog_fail\n";
  }

  void SetUp() override {
    WEFT_NEEDS_KUBERNETES();
    SlurmFixture::SetUp();
    if (lab_ == nullptr || IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(space_.open("two_engines", false), "");
    kubelets_ = std::make_unique<testing_kube::KubeletSim>(space_.cluster().admin().client, space_.name());
    kubelets_->run_processes();
    kubelets_->ask_gate([this](const std::string& node, const std::string& pod, bool enters) {
      return weft_gate(node, {enters ? "check" : "leave", "--owner", "kubernetes", "--entry", pod}).code == 0;
    });
    remove_pods();
    for (int i = 0; i < nodes_; ++i)
      ASSERT_EQ(kubelets_->add_node(node_name(i), testing_kube::KubeletSim::kernel_boot_id()), "");
  }

  // The tests share the API server and the names of the nodes: a pod of one that failed would keep a node from the
  // next.
  void remove_pods() {
    kube::Client& client = space_.cluster().admin().client;
    for (int i = 0; i < nodes_; ++i) {
      const Result<kube::ObjectList> pods = client.list(kube::kPods, {"", "", "spec.nodeName=" + node_name(i)});
      ASSERT_TRUE(pods.ok()) << pods.error().text();
      for (const Value& pod : pods->items) {
        const kube::ObjectName name{kube::raw_text(pod, {"metadata", "namespace"}),
                                    kube::raw_text(pod, {"metadata", "name"})};
        ASSERT_TRUE(client.remove(kube::kPods, name, {0, {}, {}, {}}).ok());
      }
    }
  }

  void start_before_controller() override {
    for (const char* folder : {"gates", "use"}) fs::create_directories(file(folder));
    for (int i = 0; i < nodes_; ++i) {
      for (int gpu = 0; gpu < 8; ++gpu) lab_->put("dev/" + node_name(i) + ".gpu" + std::to_string(gpu), "stand-in\n");
    }
    const std::string path = fs::path(weft_binary()).parent_path().string() + ":/usr/sbin:/usr/bin:/sbin:/bin";
    for (const char* script : {"prolog", "epilog"}) {
      const ProcessOutcome text = weft({"gate", "script", script});
      ASSERT_EQ(text.code, 0) << text.err;
      lab_->put(std::string(script) + ".sh", text.out);
      put_script(script, "export WEFT_GATE=" + file("gates") + "/$SLURMD_NODENAME SLURM_CONF=" + file("slurm.conf") +
                             " PATH=" + path + "\nexec sh " + file(std::string(script) + ".sh") + "\n");
    }
    put_script("gate.sh", "node=$1\nshift\nexec " + weft_binary() + " gate \"$@\" --gate " + file("gates") +
                              "/$node --device \"" + file("dev") + "/$node.gpu*\" --slurmd-spool " + file("spool") +
                              "/$node\n");
  }

  void put_script(const std::string& name, const std::string& text) {
    lab_->put(name, "#!/bin/sh\n" + text);
    ::chmod(file(name).c_str(), 0755);
  }

  ProcessOutcome weft_gate(const std::string& node, std::vector<std::string> words) const {
    words.insert(words.begin(), "gate");
    words.insert(words.end(), {"--gate", file("gates/" + node)});
    return weft(words);
  }

  void start_both(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--engine", "kubernetes",     "--image",
                                      "busybox",  "--gate-command", file("gate.sh") + " {node}"};
    words.insert(words.end(), more.begin(), more.end());
    if (std::find(more.begin(), more.end(), "--kubeconfig") == more.end())
      words.insert(words.end(),
                   {"--kubeconfig", space_.cluster().file("admin.kubeconfig"), "--namespace", space_.name()});
    start_server(words);
  }

  // Waits; the kubelets work meanwhile.
  template <class Done>
  [[nodiscard]] bool wait_for(const Done& done) {
    return Lab::wait(300, [&] {
      (void)kubelets_->step();
      return done();
    });
  }
  [[nodiscard]] json lease(int node) const {
    const ProcessOutcome outcome = weft({"lease", "show", node_name(node), "-o", "json"});
    const json parsed = json::parse(outcome.out, nullptr, false);
    return outcome.code == 0 && parsed.is_object() ? parsed.value("lease", json::object()) : json::object();
  }
  [[nodiscard]] bool is_held(int node, const std::string& engine) const {
    const json facts = lease(node);
    return facts.value("owner", "") == engine && facts.value("state", "") == "held";
  }
  [[nodiscard]] bool are_held(const std::string& engine) const {
    for (int i = 0; i < nodes_; ++i) {
      if (!is_held(i, engine)) return false;
    }
    return true;
  }
  // A job that holds the GPU of a node for so long, or until the file `stop` exists.
  std::string hold(const std::string& engine, const std::string& seconds, const std::string& stop = "never") {
    lab_->put("hold.yaml", "job: 1\nname: hold\ntenant: team-a\nnodes: 1\ncommand: [/usr/bin/python3, " + source_dir() +
                               "/tests/hold_gpu.py, " + engine + ", " + lab_->folder().string() + ", \"" + seconds +
                               "\", " + file(stop) + "]\nrestart: {backoff: 100ms}\n");
    const ProcessOutcome outcome =
        weft({"job", "submit", "-q", "--directory", "/tmp", "--engine", engine, file("hold.yaml")});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return std::string(trim(outcome.out));
  }
  [[nodiscard]] std::string state_of(const std::string& number) const { return job(number).value("state", ""); }
  // Processes that use a node now, as hold_gpu.py notes them.
  [[nodiscard]] std::vector<std::string> users_of(int node) const {
    std::vector<std::string> found;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(file("use/" + node_name(node)), none))
      found.push_back(entry.path().filename());
    return found;
  }

  testing_kube::KubeSpace space_;
  std::unique_ptr<testing_kube::KubeletSim> kubelets_;
};

}  // namespace weft::testing_slurm
