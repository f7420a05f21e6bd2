// Pattern B: Slurm jobs with a Kubernetes namespace on their own nodes. A private Slurm, a real API server with its
// controllers and its scheduler, and simulated kubelets that run containers as processes; files stand for the GPUs.
// `weft namespace run` has only the role that weft prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "kube/timestamp.h"
#include "kube_fixture.h"
#include "kubelet_sim.h"
#include "oob/durable/clock.h"
#include "slurm_fixture.h"

namespace weft {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_lab::Lab;
using testing_program::contents;
namespace fs = std::filesystem;

class EngineKubeNamespace : public testing_slurm::SlurmFixture {
 protected:
  EngineKubeNamespace() : SlurmFixture(3) {}

  std::string more_conf() override { return "Epilog=" + file("epilog") + "\nEpilogMsgTime=10\n"; }

  void start_before_controller() override {
    const ProcessOutcome text = weft({"namespace", "script", "epilog"});
    ASSERT_EQ(text.code, 0) << text.err;
    lab_->put("epilog.sh", text.out);
    const std::string path = fs::path(weft_binary()).parent_path().string() + ":/usr/sbin:/usr/bin:/sbin:/bin";
    lab_->put("epilog", "#!/bin/sh\nexport PATH=" + path + " WEFT_DEVICE=" + file("dev") +
                            "/$SLURMD_NODENAME.gpu WEFT_EPILOG_SECONDS=600\nexec sh " + file("epilog.sh") + "\n");
    ::chmod(file("epilog").c_str(), 0755);
    for (int i = 0; i < nodes_; ++i) {
      for (int gpu = 0; gpu < 8; ++gpu) lab_->put("dev/" + node_name(i) + ".gpu" + std::to_string(gpu), "stand-in\n");
    }
  }

  void SetUp() override {
    WEFT_NEEDS_KUBERNETES();
    SlurmFixture::SetUp();
    if (lab_ == nullptr || IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(space_.open("namespace", true), "");
    kubelets_ = std::make_unique<testing_kube::KubeletSim>(admin(), "");
    kubelets_->run_processes();
    for (int i = 0; i < nodes_; ++i) add_node(node_name(i));
    grant_role();
    fs::permissions(lab_->folder(),
                    fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec | fs::perms::others_read);
  }
  void TearDown() override {
    if (lab_ != nullptr && HasFailure()) std::cerr << contents(file("run.log")) << slurm({"squeue", "-a"});
    stop_controller(SIGKILL);
    kubelets_.reset();
    if (space_.is_open()) {
      for (int i = 0; i < nodes_; ++i) (void)admin().remove(kube::kNodes, {"", node_name(i)});
    }
    SlurmFixture::TearDown();
  }

  kube::Client& admin() { return space_.cluster().admin().client; }

  void add_node(const std::string& node) {
    ASSERT_EQ(kubelets_->add_node(node, testing_kube::KubeletSim::kernel_boot_id()), "");
    const Value amounts = Value::map(
        {{"cpu", Value("64")}, {"memory", Value("900Gi")}, {"pods", Value("100")}, {"nvidia.com/gpu", Value("8")}});
    const Value status = Value::map({{"capacity", amounts}, {"allocatable", amounts}});
    ASSERT_TRUE(admin().patch(kube::kNodes, {"", node}, Value::map({{"status", status}}), "status").ok());
  }

  // The role that weft prints, for the user of a token.
  void grant_role() {
    const ProcessOutcome role = weft({"namespace", "script", "role"});
    ASSERT_EQ(role.code, 0) << role.err;
    constexpr kube::Resource kBindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding",
                                       false};
    const Result<kube::ApiResponse> applied = space_.cluster().admin().transport.send(
        {"PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/weft-namespace?fieldManager=test&force=true",
         role.out, "application/apply-patch+yaml"});
    ASSERT_TRUE(applied.ok() && applied->status / 100 == 2) << (applied.ok() ? applied->body : applied.error().text());
    const Value subject = Value::map(
        {{"apiGroup", Value("rbac.authorization.k8s.io")}, {"kind", Value("User")}, {"name", Value("weft-7")}});
    const Value binding = Value::map({{"metadata", Value::map({{"name", Value("weft-namespace")}})},
                                      {"roleRef", Value::map({{"apiGroup", Value("rbac.authorization.k8s.io")},
                                                              {"kind", Value("ClusterRole")},
                                                              {"name", Value("weft-namespace")}})},
                                      {"subjects", Value::list({subject})}});
    ASSERT_TRUE(admin().apply(kBindings, binding, true).ok());
    space_.put_kubeconfig("role.kubeconfig", "weft-token-7");
  }

  void start_controller_process() {
    controller_process_ = ::fork();
    if (controller_process_ != 0) return;
    const int log = ::open(file("run.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    std::vector<std::string> words = {weft_binary(),
                                      "namespace",
                                      "run",
                                      "--state",
                                      file("names"),
                                      "--every",
                                      "300ms",
                                      "--slurm-conf",
                                      file("slurm.conf"),
                                      "--kubeconfig",
                                      space_.file("role.kubeconfig")};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int stop_controller(int signal) {
    if (controller_process_ <= 0) return -1;
    ::kill(controller_process_, signal);
    int status = 0;
    ::waitpid(controller_process_, &status, 0);
    controller_process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // A job of an unprivileged user that waits for its namespace, copies its kubeconfig to `NAME.config`, and runs until
  // `NAME.stop`.
  std::string submit_job(const std::string& name, std::vector<std::string> more, bool asks = true) {
    lab_->put(name + ".sh", "#!/bin/sh\nexport SLURM_CONF=" + file("slurm.conf") + "\n" + weft_binary() +
                                " namespace wait --wait 5m --state " + file("names") + " >" + file("out/" + name) +
                                " 2>&1\necho $? >" + file("out/" + name + ".code") + "\n. " + file("out/" + name) +
                                " && cp \"$KUBECONFIG\" " + file("out/" + name + ".config") + "\nwhile [ ! -e " +
                                file(name + ".stop") + " ]; do sleep 0.2; done\n");
    fs::create_directories(file("out"));
    fs::permissions(file("out"), fs::perms::all);
    std::vector<std::string> words = {"sbatch", "--parsable", "--uid=nobody", "--chdir=/tmp", "-o", "/dev/null"};
    if (asks) words.emplace_back("--comment=a training weft:namespace");
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(file(name + ".sh"));
    return std::string(trim(slurm(words)));
  }

  template <class Done>
  [[nodiscard]] bool wait_for(const Done& done) {
    return Lab::wait(300, [&] {
      beat();
      (void)kubelets_->step();
      return done();
    });
  }
  // As kubelets do: without it the nodes count as lost.
  void beat() {
    oob::SystemClock clock;
    for (int i = 0; i < nodes_; ++i) {
      const Value lease = Value::map(
          {{"metadata", Value::map({{"name", Value(node_name(i))}, {"namespace", Value("kube-node-lease")}})},
           {"spec", Value::map({{"holderIdentity", Value(node_name(i))},
                                {"leaseDurationSeconds", Value(40)},
                                {"renewTime", Value(kube::format_timestamp(clock.wall_ms()))}})}});
      (void)admin().apply(kube::kLeases, lease, true);
    }
  }

  std::vector<std::string> namespaces() {
    std::vector<std::string> names;
    const std::string instance(trim(contents(file("names/instance"))));
    const Result<kube::ObjectList> list = admin().list(kube::kNamespaces, {"", "weft/instance=" + instance, ""});
    EXPECT_TRUE(list.ok());
    if (!list.ok()) return {"unknown"};
    for (const Value& object : list->items) names.push_back(kube::raw_text(object, {"metadata", "name"}));
    return names;
  }
  std::vector<std::string> labeled_nodes() {
    std::vector<std::string> names;
    const Result<kube::ObjectList> list = admin().list(kube::kNodes, {});
    if (!list.ok()) return {"unknown"};
    for (const Value& node : list->items) {
      const Value* labels = kube::member(node, {"metadata", "labels"});
      if (labels != nullptr && contains(write_json_line(*labels), "slurm-job.weft/"))
        names.push_back(kube::raw_text(node, {"metadata", "name"}));
    }
    return names;
  }
  [[nodiscard]] bool has_config(const std::string& name) const { return fs::exists(file("out/" + name + ".config")); }
  std::unique_ptr<testing_kube::KubeUser> user_of(const std::string& name) {
    const Result<kube::ClusterAccess> access = kube::load_kubeconfig(file("out/" + name + ".config"));
    EXPECT_TRUE(access.ok()) << access.error().text();
    if (!access.ok()) return nullptr;
    space_name_ = access->kube_namespace;
    return space_.cluster().make_user(*access);
  }
  // A pod that holds the stand-in of a GPU of its node, whatever node that is.
  Value pod(const std::string& name, const std::string& kube_namespace, int gpus) const {
    Value limits = Value::map({{"cpu", Value("1")}, {"memory", Value("1Gi")}});
    if (gpus > 0) limits.set("nvidia.com/gpu", Value(std::to_string(gpus)));
    const Value container =
        Value::map({{"name", Value("main")},
                    {"image", Value("busybox")},
                    {"command", Value::list({Value("sh"), Value("-c"),
                                             Value("trap '' TERM; exec 3<" + file("dev/train001.gpu0") +
                                                   "; while [ ! -e " + file("pods.end") + " ]; do sleep 0.2; done")})},
                    {"resources", Value::map({{"limits", limits}, {"requests", limits}})}});
    return Value::map(
        {{"metadata", Value::map({{"name", Value(name)}, {"namespace", Value(kube_namespace)}})},
         {"spec", Value::map({{"restartPolicy", Value("Never")}, {"containers", Value::list({container})}})}});
  }
  std::string node_of(const std::string& pod_name) {
    const Result<Value> object = admin().get(kube::kPods, {space_name_, pod_name});
    return object.ok() ? kube::raw_text(*object, {"spec", "nodeName"}) : "";
  }
  std::string phase_of(const std::string& pod_name) {
    const Result<Value> object = admin().get(kube::kPods, {space_name_, pod_name});
    return object.ok() ? kube::raw_text(*object, {"status", "phase"}) : "gone";
  }
  std::string state_of(const std::string& job) {
    return std::string(trim(slurm({"squeue", "-h", "-t", "all", "-j", job, "-o", "%T"})));
  }

  testing_kube::KubeSpace space_;
  std::unique_ptr<testing_kube::KubeletSim> kubelets_;
  pid_t controller_process_ = 0;
  std::string space_name_;
};

TEST_F(EngineKubeNamespace, AJobHasItsOwnNamespaceOnItsNodes) {
  start_controller_process();
  const std::string other = submit_job("other", {"-N1", "--exclusive", "--gres=gpu:8", "--nodelist=train003"}, false);
  const std::string job = submit_job("a", {"-N2", "--exclusive", "--gres=gpu:8", "--nodelist=train[001-002]"});
  ASSERT_TRUE(wait_for([&] { return has_config("a"); })) << contents(file("out/a"));
  EXPECT_EQ(trim(contents(file("out/a.code"))), "0");
  ASSERT_EQ(namespaces().size(), 1U) << "the job without the comment has none";
  EXPECT_THAT(namespaces()[0], HasSubstr("slurm-" + job + "-"));
  EXPECT_THAT(labeled_nodes(), ElementsAre("train001", "train002"));
  struct stat status {};
  const std::string key = namespaces()[0].substr(6);
  ASSERT_EQ(::stat(file("names/jobs/" + key + "/kubeconfig").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_NE(status.st_uid, 0U) << "it is the user's";

  const std::unique_ptr<testing_kube::KubeUser> user = user_of("a");
  ASSERT_NE(user, nullptr);
  EXPECT_EQ(space_name_, namespaces()[0]);
  // Within the GPUs of the job, on its nodes: the taint of nodes that are Slurm's is tolerated.
  for (int i = 0; i < 3; ++i) {
    const Value taint =
        Value::map({{"key", Value("weft/lease")}, {"value", Value("not-kubernetes")}, {"effect", Value("NoSchedule")}});
    ASSERT_TRUE(admin()
                    .patch(kube::kNodes, {"", node_name(i)},
                           Value::map({{"spec", Value::map({{"taints", Value::list({taint})}})}}))
                    .ok());
  }
  ASSERT_TRUE(user->client.create(kube::kPods, pod("first", space_name_, 8)).ok());
  ASSERT_TRUE(user->client.create(kube::kPods, pod("second", space_name_, 8)).ok());
  const Result<kube::CreateOutcome> third = user->client.create(kube::kPods, pod("third", space_name_, 1));
  ASSERT_FALSE(third.ok());
  EXPECT_THAT(third.error().text(), HasSubstr("exceeded quota"));
  ASSERT_TRUE(wait_for([&] { return phase_of("first") == "Running" && phase_of("second") == "Running"; }));
  EXPECT_THAT(node_of("first"), AnyOf("train001", "train002"));
  EXPECT_THAT(node_of("second"), AnyOf("train001", "train002"));
  // A pod that asks for another node is refused, and so is another namespace.
  Value elsewhere = pod("elsewhere", space_name_, 0);
  elsewhere["spec"].set("nodeSelector", Value::map({{"slurm-job.weft/" + key, Value("other")}}));
  EXPECT_FALSE(user->client.create(kube::kPods, elsewhere).ok());
  const Result<kube::CreateOutcome> outside = user->client.create(kube::kPods, pod("outside", "default", 0));
  ASSERT_FALSE(outside.ok());
  EXPECT_THAT(outside.error().text(), HasSubstr("forbidden"));
  EXPECT_FALSE(user->client.remove(kube::kNamespaces, {"", space_name_}).ok());

  const ProcessOutcome list = weft({"namespace", "list", "--kubeconfig", space_.file("role.kubeconfig")});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("train[001-002]"));

  // The job ends; its pods ignore SIGTERM. The node stays Slurm's, not idle, until they are gone.
  lab_->put("a.stop", "");
  ASSERT_TRUE(wait_for(
      [&] { return namespaces().empty() || contents(file("run.log")).find("has ended") != std::string::npos; }));
  EXPECT_EQ(state_of(job), "COMPLETING") << "a process holds its GPU";
  lab_->put("pods.end", "");
  ASSERT_TRUE(wait_for([&] { return namespaces().empty(); }));
  ASSERT_TRUE(wait_for([&] { return state_of(job) == "COMPLETED"; })) << state_of(job);
  EXPECT_THAT(labeled_nodes(), IsEmpty());
  EXPECT_FALSE(fs::exists(file("names/jobs/" + key)));
  EXPECT_EQ(state_of(other), "RUNNING");
  EXPECT_EQ(stop_controller(SIGTERM), 0) << contents(file("run.log"));
}

// Jobs that are killed, queued again and killed while no controller runs; Slurm away: nothing is concluded from that.
TEST_F(EngineKubeNamespace, NothingOutlivesItsJob) {
  start_controller_process();
  lab_->put("pods.end", "");
  const std::string kept = submit_job("kept", {"-N1", "-n1", "--gres=gpu:1", "--mem=4000", "--nodelist=train001"});
  const std::string killed = submit_job("killed", {"-N1", "--exclusive", "--gres=gpu:8", "--nodelist=train002"});
  const std::string again = submit_job("again", {"-N1", "--exclusive", "--requeue", "--nodelist=train003"});
  ASSERT_TRUE(wait_for([&] { return has_config("kept") && has_config("killed") && has_config("again"); }));
  ASSERT_EQ(namespaces().size(), 3U);

  // Some of the GPUs of a node: no GPUs for pods, and no more than the CPUs and the memory of the job.
  const std::unique_ptr<testing_kube::KubeUser> user = user_of("kept");
  ASSERT_NE(user, nullptr);
  EXPECT_FALSE(user->client.create(kube::kPods, pod("gpu", space_name_, 1)).ok());
  Value plain = pod("plain", space_name_, 0);
  EXPECT_TRUE(user->client.create(kube::kPods, plain).ok());
  EXPECT_FALSE(user->client.create(kube::kPods, pod("more", space_name_, 0)).ok()) << "the job has one CPU";

  // slurmctld does not answer: everything stays. It saves its jobs only when it is terminated.
  ::kill(controller_, SIGTERM);
  ASSERT_TRUE(wait_for([&] { return !lab_->alive(controller_); }));
  ASSERT_TRUE(wait_for([&] { return contains(contents(file("run.log")), "Slurm: "); })) << contents(file("run.log"));
  EXPECT_EQ(namespaces().size(), 3U);
  start_controller();
  ASSERT_TRUE(wait_for([&] { return contains(contents(file("run.log")), "answer again"); }));
  EXPECT_EQ(namespaces().size(), 3U);

  // One is killed while nothing watches.
  ASSERT_EQ(stop_controller(SIGKILL), 128 + SIGKILL);
  slurm({"scancel", killed});
  ASSERT_TRUE(wait_for([&] { return state_of(killed) == "CANCELLED"; })) << state_of(killed);
  EXPECT_EQ(namespaces().size(), 3U);
  start_controller_process();
  ASSERT_TRUE(wait_for([&] { return namespaces().size() == 2; }));
  for (const std::string& name : namespaces()) EXPECT_FALSE(name.starts_with("slurm-" + killed + "-")) << name;

  // Queued again: another run, another namespace.
  std::string before;
  for (const std::string& name : namespaces()) {
    if (name.starts_with("slurm-" + again + "-")) before = name;
  }
  fs::remove(file("out/again.config"));
  slurm({"scontrol", "requeue", again});
  // Slurm would let it wait for two minutes. slurmd refuses credentials that were made in the second of the end or
  // before it.
  ASSERT_TRUE(wait_for([&] { return state_of(again) == "PENDING"; }));
  slurm({"scontrol", "update", "JobId=" + again, "StartTime=now+4seconds"});
  ASSERT_TRUE(wait_for([&] { return has_config("again"); })) << slurm({"scontrol", "show", "job", again});
  ASSERT_TRUE(wait_for([&] { return namespaces().size() == 2; }));
  for (const std::string& name : namespaces()) EXPECT_NE(name, before);

  slurm({"scancel", again});
  lab_->put("kept.stop", "");
  ASSERT_TRUE(wait_for([&] { return namespaces().empty(); }));
  ASSERT_TRUE(wait_for([&] { return labeled_nodes().empty(); }));
}

TEST_F(EngineKubeNamespace, AJobIsToldWhyItHasNone) {
  start_controller_process();
  ASSERT_TRUE(admin().remove(kube::kNodes, {"", "train002"}).ok());
  const std::string job = submit_job("a", {"-N2", "--exclusive", "--nodelist=train[001-002]"});
  ASSERT_TRUE(wait_for([&] { return fs::exists(file("out/a.code")); }));
  ASSERT_TRUE(wait_for([&] { return !contents(file("out/a.code")).empty(); }));
  EXPECT_EQ(trim(contents(file("out/a.code"))), "4");
  EXPECT_THAT(contents(file("out/a")), HasSubstr("Kubernetes has no node train002"));
  // Outside of a job.
  const ProcessOutcome outside = weft({"namespace", "wait", "--state", file("names")});
  EXPECT_EQ(outside.code, 2);
  EXPECT_THAT(outside.err, HasSubstr("$SLURM_JOB_ID is not set"));
  // A second one for the same directory.
  const ProcessOutcome second =
      weft({"namespace", "run", "--state", file("names"), "--kubeconfig", space_.file("role.kubeconfig"), "--once"});
  EXPECT_EQ(second.code, 4) << second.err;
  // Without the role: the missing verb is named.
  space_.put_kubeconfig("viewer.kubeconfig", "viewer-token");
  const ProcessOutcome small = weft({"namespace", "run", "--state", file("names2"), "--slurm-conf", file("slurm.conf"),
                                     "--kubeconfig", space_.file("viewer.kubeconfig"), "--once"});
  EXPECT_EQ(small.code, 4);
  EXPECT_THAT(small.err, HasSubstr("list"));
  EXPECT_THAT(small.err, HasSubstr("namespaces"));
  lab_->put("a.stop", "");
}

}  // namespace
}  // namespace weft
