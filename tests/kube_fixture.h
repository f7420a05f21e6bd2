// A real Kubernetes control plane for tests: etcd, kube-apiserver and, if asked for, kube-controller-manager and
// kube-scheduler, in a temporary folder with private ports and certificates. The programs are those that
// `make kubernetes` built; a test without them is skipped (WEFT_NEEDS_KUBERNETES). No kubelet runs: pods get their
// state from the test.
//
// The tests of a process share a control plane (shared_cluster()), which starts once; each has a namespace and node
// names of its own (KubeSpace).
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/test_prerequisites.h"
#include "kube/client.h"
#include "kube/credentials.h"
#include "kube/curl_transport.h"
#include "kube/kubeconfig.h"
#include "lab.h"
#include "oob/durable/clock.h"
#include "ports.h"

namespace weft::testing_kube {

using testing_lab::find_ports;
using testing_lab::Lab;
using testing_lab::Words;

// As in scripts/kubernetes.sh.
inline std::string kubernetes_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nothing changes it
    return std::string(value != nullptr ? value : "");
  };
  std::string cache = variable("WEFT_CACHE");
  if (cache.empty()) {
    const std::string user_cache = variable("XDG_CACHE_HOME");
    cache = (user_cache.empty() ? variable("HOME") + "/.cache" : user_cache) + "/weft";
  }
  return cache + "/kubernetes-1.20.2/bin";
}

inline bool has_kubernetes() { return has_program(kubernetes_folder() + "/kube-apiserver"); }

#define WEFT_NEEDS_KUBERNETES()                                            \
  do {                                                                     \
    WEFT_NEEDS(::weft::testing_kube::has_kubernetes(), "make kubernetes"); \
    WEFT_NEEDS_PROGRAM("openssl");                                         \
  } while (false)

// A client with everything it needs, for one user of the cluster.
struct KubeUser {
  KubeUser(const kube::ClusterAccess& access, const kube::ClientOptions& options, std::uint64_t seed)
      : credentials(access, clock),
        transport(access, credentials, clock),
        client(transport, clock, RandomStream(seed, options.field_manager), options) {}
  oob::SystemClock clock;
  kube::AccessCredentials credentials;
  kube::CurlTransport transport;
  kube::Client client;
};

struct ClusterOptions {
  bool controllers = false;  // kube-controller-manager and kube-scheduler too
};

class KubeLab {
 public:
  explicit KubeLab(const std::string& name, ClusterOptions options = {}) : lab(name), options_(std::move(options)) {}

  // "": it is ready. Otherwise what went wrong, with the end of the logs.
  std::string start() {
    if (std::string problem = make_certificates(); !problem.empty()) return problem;
    etcd_url_ = "http://127.0.0.1:" + std::to_string(find_ports(1));
    const std::string peer = "http://127.0.0.1:" + std::to_string(find_ports(1));
    port_ = find_ports(1);
    lab.start({program("etcd"), "--name", "t", "--data-dir", file("etcd"), "--listen-client-urls", etcd_url_,
               "--advertise-client-urls", etcd_url_, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
               "--initial-cluster", "t=" + peer});
    write_kubeconfig("admin");
    write_kubeconfig("kube-controller-manager");
    write_kubeconfig("kube-scheduler");
    if (std::string problem = start_apiserver(); !problem.empty()) return problem;
    return options_.controllers ? start_controllers() : std::string();
  }

  // Starts it, again after kill_apiserver(), on the same port and data.
  std::string start_apiserver() {
    Words words = {program("kube-apiserver"), "--etcd-servers=" + etcd_url_, "--bind-address=127.0.0.1",
                   "--advertise-address=127.0.0.1", "--secure-port=" + std::to_string(port_),
                   "--cert-dir=" + file("certs"), "--tls-cert-file=" + file("server.crt"),
                   "--tls-private-key-file=" + file("server.key"), "--client-ca-file=" + file("ca.crt"),
                   "--token-auth-file=" + file("tokens.csv"), "--service-cluster-ip-range=10.0.0.0/24",
                   "--authorization-mode=Node,RBAC", "--service-account-issuer=https://127.0.0.1",
                   "--service-account-key-file=" + file("sa.pub"),
                   "--service-account-signing-key-file=" + file("sa.key"), "--endpoint-reconciler-type=none",
                   "--disable-admission-plugins=ServiceAccount",
                   "--enable-admission-plugins=PodNodeSelector,PodTolerationRestriction",
                   // Versions of ConfigMaps are watched from etcd, so that a test can let them expire.
                   "--watch-cache-sizes=configmaps#0", "--kubelet-client-certificate=" + file("admin.crt"),
                   "--kubelet-client-key=" + file("admin.key"), "--kubelet-preferred-address-types=InternalIP"};
    apiserver_ = lab.start(words);
    const bool ready = Lab::wait(60, [&] {
      if (!lab.alive(apiserver_)) return true;
      const Result<kube::ApiResponse> response =
          admin().transport.send({"GET", "/readyz", {}, {}, milliseconds(2'000)});
      // The namespace is made by a controller of the server, after it is ready.
      return response.ok() && response->status == 200 && admin().client.get(kube::kNamespaces, {"", "default"}).ok();
    });
    return ready && lab.alive(apiserver_) ? std::string() : "kube-apiserver is not ready\n" + logs();
  }
  // Like a crash: connections are reset without a word.
  void kill_apiserver() {
    ::kill(apiserver_, SIGKILL);
    ::waitpid(apiserver_, nullptr, 0);
  }
  // Removes the history of etcd: versions before now can no longer be watched or listed.
  std::string compact() {
    lab.variable("ETCDCTL_API", "3");
    const testing_lab::Outcome status =
        lab.run({program("etcdctl"), "--endpoints", etcd_url_, "endpoint", "status", "--write-out=json"});
    const std::size_t at = status.out.find("\"revision\":");
    if (at == std::string::npos) return "no revision: " + status.out;
    const std::string revision = std::to_string(std::strtoll(status.out.c_str() + at + 11, nullptr, 10));
    const testing_lab::Outcome done = lab.run({program("etcdctl"), "--endpoints", etcd_url_, "compact", revision});
    return done.code == 0 ? std::string() : "etcdctl compact: " + done.out;
  }

  // system:masters, by client certificate, through a kubeconfig.
  KubeUser& admin() {
    if (admin_ == nullptr) admin_ = make_user(access());
    return *admin_;
  }
  std::unique_ptr<KubeUser> make_user(const kube::ClusterAccess& access, const kube::ClientOptions& options = {}) {
    return std::make_unique<KubeUser>(access, options, ++seed_);
  }
  [[nodiscard]] kube::ClusterAccess access() const {
    return kube::load_kubeconfig(file("admin.kubeconfig")).value_or({});
  }
  // User `viewer`, who is in no group and may do nothing.
  [[nodiscard]] kube::ClusterAccess viewer_access() const { return token_access("viewer-token"); }
  [[nodiscard]] kube::ClusterAccess token_access(const std::string& token) const {
    kube::ClusterAccess access;
    access.server = server();
    access.ca.file = file("ca.crt");
    access.token = kube::Secret(token);
    return access;
  }
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] std::string server() const { return "https://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::string file(const std::string& name) const { return (lab.folder() / name).string(); }
  // The last lines of each daemon's log.
  [[nodiscard]] std::string logs() const {
    std::string text;
    for (int i = 1; i < 40; ++i) {
      const std::string log = Lab::contents(lab.folder() / ("log" + std::to_string(i)));
      if (!log.empty())
        text +=
            "---- log" + std::to_string(i) + "\n" + log.substr(log.size() - std::min<std::size_t>(log.size(), 1500));
    }
    return text;
  }

  Lab lab;

 private:
  static std::string program(const std::string& name) { return kubernetes_folder() + "/" + name; }

  // One CA; a certificate per component, with its user and group.
  std::string make_certificates() {
    // Users without a right, until a test binds a role to one.
    std::string tokens = "viewer-token,viewer,viewer\n";
    for (int i = 0; i < 10; ++i) {
      const std::string number = std::to_string(i);
      tokens += "weft-token-" + number + ",weft-" + number + ",weft-" + number + "\n";
    }
    lab.put("tokens.csv", tokens);
    lab.put("make.sh",
            "set -e\n"
            "key() { openssl ecparam -name prime256v1 -genkey -noout -out \"$1\"; }\n"
            "key ca.key\nkey sa.key\nopenssl ec -in sa.key -pubout -out sa.pub\n"
            "openssl req -x509 -new -key ca.key -days 2 -subj /CN=weft-test-ca -out ca.crt\n"
            "sign() {\n"
            "  key \"$1.key\"\n"
            "  openssl req -new -key \"$1.key\" -subj \"$2\" -out \"$1.csr\"\n"
            "  printf '%s\\n' \"$3\" > \"$1.ext\"\n"
            "  openssl x509 -req -in \"$1.csr\" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 "
            "-extfile \"$1.ext\" -out \"$1.crt\"\n"
            "}\n"
            "sign server /CN=kube-apiserver subjectAltName=IP:127.0.0.1,DNS:api.weft.test\n"
            "sign admin /O=system:masters/CN=admin extendedKeyUsage=clientAuth\n"
            "sign kube-controller-manager /O=system:masters/CN=system:kube-controller-manager "
            "extendedKeyUsage=clientAuth\n"
            "sign kube-scheduler /CN=system:kube-scheduler extendedKeyUsage=clientAuth\n");
    const testing_lab::Outcome made = lab.run({"sh", "make.sh"}, 20, true);
    return made.code == 0 ? std::string() : "certificates: " + made.out;
  }
  void write_kubeconfig(const std::string& user) const {
    lab.put(user + ".kubeconfig",
            "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
            "clusters: [{name: c, cluster: {server: '" +
                server() +
                "', certificate-authority: ca.crt}}]\n"
                "users: [{name: u, user: {client-certificate: " +
                user + ".crt, client-key: " + user +
                ".key}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n");
  }
  std::string start_controllers() {
    const auto start = [&](const std::string& name, const Words& more) {
      Words words = {program(name),
                     "--kubeconfig=" + file(name + ".kubeconfig"),
                     "--authentication-kubeconfig=" + file(name + ".kubeconfig"),
                     "--authorization-kubeconfig=" + file(name + ".kubeconfig"),
                     "--bind-address=127.0.0.1",
                     "--secure-port=" + std::to_string(find_ports(1)),
                     "--port=0",
                     "--cert-dir=" + file("certs-" + name),
                     "--leader-elect=false"};
      words.insert(words.end(), more.begin(), more.end());
      lab.start(words);
    };
    start("kube-controller-manager",
          {"--service-account-private-key-file=" + file("sa.key"), "--root-ca-file=" + file("ca.crt"),
           "--node-monitor-period=1s", "--node-monitor-grace-period=8s"});
    start("kube-scheduler", {});
    // The controllers work once the default service account is there.
    const bool ready = Lab::wait(60, [&] {
      return admin().client.get(kube::kServiceAccounts, {"default", "default"}).ok();
    });
    return ready ? std::string() : "the controllers do not work\n" + logs();
  }

  ClusterOptions options_;
  std::string etcd_url_;
  int port_ = 0;
  pid_t apiserver_ = 0;
  std::uint64_t seed_ = 0;
  std::unique_ptr<KubeUser> admin_;
};

// The control plane that the tests of this process share, with or without controllers; nullptr, and why, if it does not
// start. It ends with the process.
inline KubeLab* shared_cluster(bool controllers, std::string& problem) {
  struct Shared {
    std::unique_ptr<KubeLab> lab;
    std::string problem;
  };
  static std::array<Shared, 2> all;
  Shared& one = all.at(controllers ? 1 : 0);
  if (one.lab == nullptr) {
    one.lab = std::make_unique<KubeLab>(controllers ? "kube_full" : "kube", ClusterOptions{controllers});
    one.problem = one.lab->start();
  }
  problem = one.problem;
  return problem.empty() ? one.lab.get() : nullptr;
}

// What one test has of a shared control plane: a namespace, a prefix of node names, and a folder.
class KubeSpace {
 public:
  // "": it is there.
  std::string open(const std::string& test, bool controllers = false) {
    std::string problem;
    KubeLab* cluster = shared_cluster(controllers, problem);
    return cluster == nullptr ? problem : open_on(*cluster, test);
  }
  // On a control plane that is not the shared one.
  std::string open_on(KubeLab& cluster, const std::string& test) {
    static int count = 0;
    std::string problem;
    cluster_ = &cluster;
    // The user may have been left without a server by a test that failed.
    if (!cluster_->admin().client.get(kube::kNamespaces, {"", "default"}).ok()) {
      if (problem = cluster_->start_apiserver(); !problem.empty()) return problem;
    }
    folder_ = std::make_unique<Lab>(test);
    prefix_ = "t" + std::to_string(++count) + "n";
    name_ = "t" + std::to_string(count) + "-" + test;
    std::replace(name_.begin(), name_.end(), '_', '-');
    const Result<kube::CreateOutcome> made = cluster_->admin().client.create(
        kube::kNamespaces, Value::map({{"metadata", Value::map({{"name", Value(name_)}})}}));
    return made.ok() ? std::string() : made.error().text();
  }
  [[nodiscard]] KubeLab& cluster() const { return *cluster_; }
  [[nodiscard]] bool is_open() const { return cluster_ != nullptr && !name_.empty(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  [[nodiscard]] Lab& folder() const { return *folder_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_->folder() / name).string(); }
  // For the user of a token, in its folder.
  void put_kubeconfig(const std::string& name, const std::string& token) const {
    folder_->put(name, "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: c, cluster: {server: '" +
                           cluster_->server() + "', certificate-authority: " + cluster_->file("ca.crt") +
                           "}}]\nusers: [{name: u, user: {token: " + token +
                           "}}]\ncontexts: [{name: x, context: {cluster: c, user: u, namespace: " + name_ + "}}]\n");
  }

 private:
  KubeLab* cluster_ = nullptr;
  std::unique_ptr<Lab> folder_;
  std::string name_;
  std::string prefix_;
};

}  // namespace weft::testing_kube
