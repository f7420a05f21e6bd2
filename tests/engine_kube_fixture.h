// A `weft serve --engine kubernetes` as a user runs it, on a shared control plane (kube_fixture.h) with simulated
// kubelets, for the tests of engine kubernetes; kubelet_lab.h has a real one instead.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"
#include "base/test_places.h"
#include "base/text.h"
#include "kube_fixture.h"
#include "kubelet_sim.h"
#include "program.h"

namespace weft::testing_kube {

using nlohmann::json;

inline constexpr const char* kJob = "job: 1\nname: gang\nnodes: 2\ncommand: [train]\nrestart: {backoff: 100ms}\n";

class EngineKubeTest : public testing::Test {
 protected:
  void start_cluster(const char* name, bool controllers = false) {
    WEFT_NEEDS_KUBERNETES();
    ASSERT_EQ(space_.open(name, controllers), "");
    cluster_ = &space_.cluster();
    kubelets_ = std::make_unique<KubeletSim>(cluster_->admin().client, space());
    for (int i = 1; i <= 5; ++i) ASSERT_EQ(kubelets_->add_node(node(i), boot_), "");
    space_.folder().put("cluster.yaml", "weft: 1\nname: lab5\npools:\n  - {name: " + space_.prefix() +
                                            ", role: training, server: hgx-h100, count: 5, per_rack: 1}\n");
    space_.folder().put("job.yaml", kJob);
  }
  void TearDown() override { stop_server(SIGKILL); }

  // How weft serve reaches the cluster.
  [[nodiscard]] std::vector<std::string> admin_options() const {
    return {"--kubeconfig", cluster_->file("admin.kubeconfig"), "--namespace", space()};
  }
  [[nodiscard]] std::vector<std::string> serve_words(const std::vector<std::string>& access,
                                                     const std::string& state = "state") const {
    std::vector<std::string> words = {"serve",    file("cluster.yaml"), "--state", file(state), "--socket", file("s"),
                                      "--engine", "kubernetes",         "--image", "busybox",   "-v"};
    words.insert(words.end(), access.begin(), access.end());
    return words;
  }
  void start_server() { start_server(admin_options()); }
  void start_server(const std::vector<std::string>& access) { launch(serve_words(access)); }
  void launch(std::vector<std::string> words) {
    words.insert(words.begin(), weft_binary());
    server_ = ::fork();
    if (server_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing stays if the test is killed
    const int log = ::open(file("server.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    for (const auto& [name, value] : environment_) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(arguments.front(), arguments.data());
    ::_exit(127);
  }
  void stop_server(int signal) {
    if (server_ <= 0) return;
    ::kill(server_, signal);
    ::waitpid(server_, nullptr, 0);
    server_ = 0;
  }

  [[nodiscard]] std::string file(const std::string& name) const { return space_.file(name); }
  [[nodiscard]] const std::string& space() const { return space_.name(); }
  [[nodiscard]] std::string node(int number) const { return space_.prefix() + "00" + std::to_string(number); }
  [[nodiscard]] ProcessOutcome weft(std::vector<std::string> words) const {
    words.insert(words.begin(), weft_binary());
    ProcessRequest request;
    request.words = std::move(words);
    request.limit = milliseconds(120'000);
    request.environment = environment_;
    request.environment.emplace_back("WEFT_SOCKET", file("s"));
    const Result<ProcessOutcome> outcome = run_process(request);
    EXPECT_TRUE(outcome.ok()) << outcome.error().text();
    return outcome.ok() ? *outcome : ProcessOutcome{-1, "", ""};
  }
  [[nodiscard]] json view(const std::vector<std::string>& words, const char* section) const {
    const ProcessOutcome outcome = weft(words);
    const json parsed = json::parse(outcome.out, nullptr, false);
    return outcome.code == 0 && parsed.is_object() ? parsed.value(section, json::object()) : json::object();
  }
  [[nodiscard]] json job(const std::string& number) const { return view({"job", "show", number, "-o", "json"}, "job"); }
  std::string submit(const std::string& name = "job.yaml") {
    const ProcessOutcome outcome = weft({"job", "submit", "-q", file(name)});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return std::string(trim(outcome.out));
  }
  // The kubelets work meanwhile.
  [[nodiscard]] bool wait(const std::function<bool()>& done) {
    return Lab::wait(90, [&] {
      if (kubelets_ != nullptr) (void)kubelets_->step();
      return done();
    });
  }
  [[nodiscard]] bool wait_ready() {
    return wait([&] {
      const json facts = view({"status", "-o", "json"}, "server");
      return facts.contains("usable_nodes") && facts["usable_nodes"] == 5;
    });
  }
  [[nodiscard]] bool wait_state(const std::string& number, const std::string& state, int attempt) {
    return wait([&] {
      const json facts = job(number);
      return facts.value("state", "") == state && facts.value("attempt", 0) == attempt;
    });
  }
  // Pods of the engine: name and node.
  [[nodiscard]] std::set<std::pair<std::string, std::string>> pods() {
    std::set<std::pair<std::string, std::string>> found;
    const Result<kube::ObjectList> list = cluster_->admin().client.list(kube::kPods, {space(), "weft/engine=lab5", {}});
    EXPECT_TRUE(list.ok());
    if (!list.ok()) return found;
    for (const Value& pod : list->items)
      found.emplace(kube::raw_text(pod, {"metadata", "name"}), kube::raw_text(pod, {"spec", "nodeName"}));
    return found;
  }
  [[nodiscard]] std::string log() const { return testing_program::contents(file("server.log")); }

  testing_kube::KubeSpace space_;
  KubeLab* cluster_ = nullptr;
  std::unique_ptr<KubeletSim> kubelets_;
  pid_t server_ = 0;
  std::string boot_ = "boot";                                     // of the nodes
  std::vector<std::pair<std::string, std::string>> environment_;  // of weft
};

}  // namespace weft::testing_kube
