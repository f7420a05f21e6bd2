#include "kube/kubeconfig.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/base64.h"
#include "kube/api_status.h"
#include "kube/credentials.h"
#include "oob/redfish/json.h"

namespace weft::kube {
namespace {

// The form that kubectl writes.
std::string config_with(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n" + cluster + "users:\n- name: u\n  user:\n" +
         user + "contexts:\n- name: x\n  context: {cluster: c, user: u, namespace: team}\ncurrent-context: x\n";
}
const std::string kServer = "    server: https://10.0.0.1:6443/\n";  // NOLINT(cert-err58-cpp)
const std::string kToken = "    token: S3CRET\n";                    // NOLINT(cert-err58-cpp)

TEST(Kubeconfig, ReadsServerTokenAndNamespace) {
  const Result<ClusterAccess> access = parse_kubeconfig("/etc/k/config", config_with(kServer, kToken));
  ASSERT_TRUE(access.ok()) << access.error().text();
  EXPECT_EQ(access->server, "https://10.0.0.1:6443");
  EXPECT_EQ(access->token.reveal(), "S3CRET");
  EXPECT_EQ(access->kube_namespace, "team");
  EXPECT_FALSE(access->insecure);
}

TEST(Kubeconfig, FilesAreRelativeToTheKubeconfig) {
  const Result<ClusterAccess> access = parse_kubeconfig(
      "/etc/k/config", config_with(kServer + "    certificate-authority: pki/ca.crt\n    tls-server-name: api\n",
                                   "    client-certificate: me.crt\n    client-key: /abs/me.key\n    tokenFile: t\n"));
  ASSERT_TRUE(access.ok()) << access.error().text();
  EXPECT_EQ(access->ca.file, "/etc/k/pki/ca.crt");
  EXPECT_EQ(access->client_certificate.file, "/etc/k/me.crt");
  EXPECT_EQ(access->client_key.file, "/abs/me.key");
  EXPECT_EQ(access->token_file, "/etc/k/t");
  EXPECT_EQ(access->tls_server_name, "api");
}

TEST(Kubeconfig, DataWinsOverFiles) {
  const Result<ClusterAccess> access = parse_kubeconfig(
      "c", config_with(kServer + "    certificate-authority: ca.crt\n    certificate-authority-data: " +
                           encode_base64("PEM") + "\n",
                       kToken));
  ASSERT_TRUE(access.ok()) << access.error().text();
  EXPECT_EQ(access->ca.file, "");
  EXPECT_EQ(access->ca.data.reveal(), "PEM");
}

TEST(Kubeconfig, ChoosesAContext) {
  const std::string text =
      "clusters: [{name: a, cluster: {server: 'https://a'}}, {name: b, cluster: {server: 'https://b'}}]\n"
      "users: [{name: u, user: {token: t}}]\n"
      "contexts: [{name: x, context: {cluster: a, user: u}}, {name: y, context: {cluster: b, user: u}}]\n"
      "current-context: x\n";
  const Result<ClusterAccess> current = parse_kubeconfig("c", text);
  ASSERT_TRUE(current.ok());
  EXPECT_EQ(current->server, "https://a");
  EXPECT_EQ(current->kube_namespace, "default");
  const Result<ClusterAccess> chosen = parse_kubeconfig("c", text, "y");
  ASSERT_TRUE(chosen.ok());
  EXPECT_EQ(chosen->server, "https://b");
  EXPECT_FALSE(parse_kubeconfig("c", text, "z").ok());
}

TEST(Kubeconfig, ReadsExecPlugins) {
  const std::string exec =
      "    exec:\n      apiVersion: client.authentication.k8s.io/v1beta1\n      command: bin/login\n"
      "      args: [get-token, --cluster, x]\n      env: [{name: A, value: b}]\n      installHint: install it\n"
      "      provideClusterInfo: true\n      interactiveMode: IfAvailable\n";
  const Result<ClusterAccess> access = parse_kubeconfig("/etc/k/config", config_with(kServer, exec));
  ASSERT_TRUE(access.ok()) << access.error().text();
  ASSERT_TRUE(access->exec.has_value());
  EXPECT_EQ(access->exec->command, (std::vector<std::string>{"/etc/k/bin/login", "get-token", "--cluster", "x"}));
  EXPECT_EQ(access->exec->environment.at(0).second, "b");
  EXPECT_TRUE(access->exec->provide_cluster_info);
  const Value info = exec_info(*access, *access->exec, "PEM");
  EXPECT_EQ(oob::raw_text(info, {"spec", "cluster", "server"}), "https://10.0.0.1:6443");
  EXPECT_EQ(oob::raw_text(info, {"spec", "cluster", "certificate-authority-data"}), "UEVN");
}

TEST(Kubeconfig, ErrorsHaveTheirPlaceAndNoSecret) {
  const auto error_of = [](const std::string& cluster, const std::string& user) {
    const Result<ClusterAccess> access = parse_kubeconfig("/c", config_with(cluster, user));
    return access.ok() ? std::string("none") : access.error().text();
  };
  EXPECT_EQ(error_of("    server: ftp://S3CRET\n", kToken), "/c:6:13: server must begin with https:// or http://");
  EXPECT_EQ(error_of("    server: https://user:S3CRET@h\n", kToken),
            "/c:6:13: server must be a host, a port and a path");
  EXPECT_EQ(error_of(kServer + "    certificate-authority-data: 'S3CRET!'\n", kToken),
            "/c:7:33: certificate-authority-data is not base64");
  EXPECT_EQ(error_of(kServer, "    username: a\n    password: S3CRET\n"),
            "/c:10:15: basic authentication is not supported (Kubernetes 1.19 removed it)");
  EXPECT_EQ(error_of(kServer, kToken + "    as: admin\n"), "/c:11:9: impersonation is not supported");
  EXPECT_EQ(error_of(kServer, "    auth-provider: {name: oidc}\n").substr(0, 8), "/c:10:20");
  EXPECT_EQ(error_of(kServer, "    token: [S3CRET]\n"), "/c:10:12: token must be text");
  EXPECT_EQ(error_of(kServer, "    client-certificate: a\n"),
            "/c:10:5: client-certificate and client-key must be given together");
  EXPECT_EQ(error_of(kServer + "    insecure-skip-tls-verify: true\n    certificate-authority: a\n", kToken),
            "/c:6:5: certificate-authority and insecure-skip-tls-verify exclude each other");
  EXPECT_EQ(error_of(kServer + "    insecure-skip-tls-verify: S3CRET\n", kToken),
            "/c:7:31: insecure-skip-tls-verify must be true or false");
  for (const char* text : {"", "x", "[]", "{}", "{current-context: x}", "a: 'S3CRET\n", "clusters: {S3CRET: \x01}\n"}) {
    const Result<ClusterAccess> access = parse_kubeconfig("/c", text);
    ASSERT_FALSE(access.ok()) << text;
    EXPECT_EQ(access.error().text().find("S3CRET"), std::string::npos) << access.error().text();
    EXPECT_EQ(access.error().where.substr(0, 2), "/c") << text;
  }
}

TEST(Kubeconfig, ExecPluginsThatCannotWorkAreRefused) {
  const auto ok = [](const std::string& exec) {
    return parse_kubeconfig("/c", config_with(kServer, "    exec: " + exec + "\n")).ok();
  };
  EXPECT_TRUE(ok("{apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Never}"));
  EXPECT_FALSE(ok("{apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}"));
  EXPECT_FALSE(ok("{apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"));
  EXPECT_FALSE(ok("{apiVersion: client.authentication.k8s.io/v1}"));
  EXPECT_FALSE(ok("{apiVersion: client.authentication.k8s.io/v1, command: x, args: y}"));
  EXPECT_FALSE(ok("{apiVersion: client.authentication.k8s.io/v1, command: x, env: [{name: A=B}]}"));
  EXPECT_FALSE(ok("[]"));
}

class KubeCredentials : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft_kube_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
  // A plug-in that counts its runs.
  ClusterAccess access_with_plugin(const std::string& script) {
    const std::string path = write("plugin", "#!/bin/sh\necho x >> \"$(dirname \"$0\")/runs\"\n" + script);
    ::chmod(path.c_str(), 0700);
    ClusterAccess access;
    access.server = "https://h";
    access.exec = ExecPlugin{};
    access.exec->api_version = "client.authentication.k8s.io/v1";
    access.exec->command = {path};
    access.exec->where = "config:9:3";
    return access;
  }
  std::size_t runs() {
    std::ifstream in(folder_ + "/runs");
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, 'x'));
  }
  static std::string credential(const std::string& status) {
    return "printf '%s' '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":" +
           status + "}'\n";
  }
  std::string folder_;
  oob::ManualClock clock_;
};

TEST_F(KubeCredentials, ARotatedTokenIsReadWithinAMinuteAndAfterARejection) {
  ClusterAccess access;
  access.token_file = write("token", "one\n");
  AccessCredentials credentials(access, clock_);
  EXPECT_EQ(credentials.current()->token.reveal(), "one");
  write("token", "two\n");
  EXPECT_EQ(credentials.current()->token.reveal(), "one");
  (void)clock_.sleep(milliseconds(60'000));
  EXPECT_EQ(credentials.current()->token.reveal(), "two");
  write("token", "three");
  credentials.reject();
  EXPECT_EQ(credentials.current()->token.reveal(), "three");
  // A file that is being replaced does not stop the work.
  std::filesystem::remove(access.token_file);
  (void)clock_.sleep(milliseconds(60'000));
  EXPECT_EQ(credentials.current()->token.reveal(), "three");
  credentials.reject();
  EXPECT_FALSE(credentials.current().ok());
}

TEST_F(KubeCredentials, ATokenCannotAddAHeader) {
  ClusterAccess access;
  access.token_file = write("token", "one\r\nX-Remote-User: admin");
  EXPECT_FALSE(AccessCredentials(access, clock_).current().ok());
}

TEST_F(KubeCredentials, APluginRunsUntilItsCredentialExpires) {
  // ManualClock starts at 2025-10-09T08:53:20Z.
  const ClusterAccess access =
      access_with_plugin(credential(R"({"token":"t1","expirationTimestamp":"2025-10-09T08:58:20Z"})"));
  AccessCredentials credentials(access, clock_);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(credentials.current()->token.reveal(), "t1");
  EXPECT_EQ(runs(), 1U);
  (void)clock_.sleep(milliseconds(289'000));
  (void)credentials.current();
  EXPECT_EQ(runs(), 1U);
  (void)clock_.sleep(milliseconds(1'000));  // 10 s before it expires
  (void)credentials.current();
  EXPECT_EQ(runs(), 2U);
  credentials.reject();
  (void)credentials.current();
  EXPECT_EQ(runs(), 3U);
}

TEST_F(KubeCredentials, APluginIsToldAboutItsTask) {
  const ClusterAccess access = access_with_plugin(
      "printf '%s' \"$KUBERNETES_EXEC_INFO\" > \"$(dirname \"$0\")/info\"\n" + credential(R"({"token":"t"})"));
  ASSERT_TRUE(AccessCredentials(access, clock_).current().ok());
  std::ifstream in(folder_ + "/info");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const Result<Value> info = read_reply_json(text);
  ASSERT_TRUE(info.ok()) << text;
  EXPECT_EQ(oob::raw_text(*info, {"kind"}), "ExecCredential");
  EXPECT_EQ(oob::truth(*info, {"spec", "interactive"}), false);
}

TEST_F(KubeCredentials, AFailingPluginSaysWhereItComesFrom) {
  ClusterAccess access = access_with_plugin("echo no session >&2; exit 3\n");
  Result<Credentials> failed = AccessCredentials(access, clock_).current();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().where, "config:9:3");
  EXPECT_NE(failed.error().message.find("exit status 3: no session"), std::string::npos) << failed.error().message;
  access.exec->command = {"weft-no-such-plugin"};
  access.exec->install_hint = "install the plug-in";
  failed = AccessCredentials(access, clock_).current();
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().message.find("install the plug-in"), std::string::npos) << failed.error().message;
}

TEST_F(KubeCredentials, HostileOutputOfAPlugin) {
  const std::string version = "client.authentication.k8s.io/v1";
  for (
      const char* text :
      {"", "{}", "[]", "x", R"({"kind":"ExecCredential"})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1","status":{"token":"t"}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":5}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"clientCertificateData":"x"}})",
       R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"t","expirationTimestamp":"soon"}})"}) {
    EXPECT_FALSE(parse_exec_credential(text, version).ok()) << text;
  }
}

TEST_F(KubeCredentials, ServiceAccountOfAPod) {
  write("token", "sa-token");
  write("namespace", "jobs");
  const Result<ClusterAccess> access = in_cluster_access({"10.96.0.1", "443", folder_});
  ASSERT_TRUE(access.ok()) << access.error().text();
  EXPECT_EQ(access->server, "https://10.96.0.1:443");
  EXPECT_EQ(access->kube_namespace, "jobs");
  EXPECT_EQ(access->ca.file, folder_ + "/ca.crt");
  EXPECT_EQ(AccessCredentials(*access, clock_).current()->token.reveal(), "sa-token");
  EXPECT_EQ(in_cluster_access({"fd00::1", "443", folder_})->server, "https://[fd00::1]:443");
  const Result<ClusterAccess> outside = in_cluster_access({"", "", folder_});
  ASSERT_FALSE(outside.ok());
  EXPECT_EQ(outside.error().code, ErrorCode::not_found);
}

}  // namespace
}  // namespace weft::kube
