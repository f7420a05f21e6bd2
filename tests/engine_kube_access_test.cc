// weft serve with the rendered role (target kubernetes/serve) on a real API server with RBAC, as the service account of
// a pod: what it needs, and what it says if a verb is missing.
#include "base/yaml.h"
#include "cli/design/yaml_json.h"
#include "engine_kube_fixture.h"
#include "kube/access_review.h"
#include "kube/api_status.h"
#include "kube/json_fields.h"
#include "model/kube_permissions.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr kube::Resource kClusterRoles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false};
constexpr kube::Resource kClusterRoleBindings{"rbac.authorization.k8s.io", "v1", "clusterrolebindings",
                                              "ClusterRoleBinding", false};
constexpr kube::Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};
constexpr kube::Resource kClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"};
constexpr kube::Resource kDeployments{"apps", "v1", "deployments", "Deployment"};
constexpr const char* kJobSpace = "weft-jobs";

class EngineKubeAccess : public testing_kube::EngineKubeTest {
 protected:
  // Renders the manifests, applies them as they are, and gets a token of the service account in a folder as a pod has.
  void install() {
    start_cluster("access");
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string cluster = testing_program::contents(file("cluster.yaml"));
    space_.folder().put("cluster.yaml", cluster + "control_plane: {kind: kubernetes}\n");
    const ProcessOutcome rendered =
        weft({"render", file("cluster.yaml"), "-o", file("out"), "--target", "kubernetes/serve"});
    ASSERT_EQ(rendered.code, 0) << rendered.err;
    for (const char* name : {"10-namespaces", "20-access", "30-network", "40-serve"}) {
      for (const Value& document : read_documents(file("out/kubernetes/serve/" + std::string(name) + ".yaml"))) {
        apply(document);
      }
    }
    if (HasFatalFailure()) return;
    kubelets_ = std::make_unique<testing_kube::KubeletSim>(cluster_->admin().client, kJobSpace);
    for (int i = 1; i <= 5; ++i) kubelets_->adopt_node(node(i), "boot");
    write_account();
    environment_ = {{"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
                    {"KUBERNETES_SERVICE_PORT", std::to_string(cluster_->port())},
                    {"KUBECONFIG", ""}};
  }
  static std::vector<Value> read_documents(const std::string& path) {
    Sources sources;
    Diagnostics diagnostics;
    std::vector<Value> values;
    const FileId id = sources.add(path, testing_program::contents(path));
    for (const YamlNode& node : parse_yaml_stream(sources, id, diagnostics))
      values.push_back(kube::read_reply_json(cli::yaml_to_json(node, true)).value_or(Value()));
    EXPECT_FALSE(values.empty()) << path;
    return values;
  }
  void apply(const Value& document) {
    const std::string kind = kube::raw_text(document, {"kind"});
    for (const kube::Resource& resource :
         {kube::kNamespaces, kube::kServiceAccounts, kClusterRoles, kClusterRoleBindings, kube::kRoles,
          kube::kRoleBindings, kNetworkPolicies, kClaims, kDeployments}) {
      if (resource.kind != kind) continue;
      EXPECT_EQ(kube::raw_text(document, {"apiVersion"}), kube::api_version(resource));
      const Result<Value> applied = cluster_->admin().client.apply(resource, document, true);
      ASSERT_TRUE(applied.ok()) << applied.error().text();
      if (kind == "Role" || kind == "ClusterRole") roles_.emplace_back(resource, document);
      return;
    }
    FAIL() << "unexpected kind " << kind;
  }
  // TokenRequest: a token as the kubelet mounts it into the pod.
  void write_account() {
    const Value body = Value::map({{"apiVersion", Value("authentication.k8s.io/v1")},
                                   {"kind", Value("TokenRequest")},
                                   {"spec", Value::map({{"expirationSeconds", Value(3600)}})}});
    const Result<kube::ApiResponse> response =
        cluster_->admin().transport.send({"POST", "/api/v1/namespaces/weft/serviceaccounts/weft/token",
                                          write_json_line(body), "application/json", milliseconds(30'000)});
    ASSERT_TRUE(response.ok()) << response.error().text();
    const Value answer = kube::read_reply_json(response->body).value_or(Value());
    token_ = kube::raw_text(answer, {"status", "token"});
    ASSERT_FALSE(token_.empty()) << response->body;
    space_.folder().put("token", token_ + "\n");
    space_.folder().put("namespace", "weft");
    space_.folder().put("ca.crt", testing_program::contents(cluster_->file("ca.crt")));
  }
  [[nodiscard]] std::vector<std::string> account_options() const {
    return {"--service-account", space_.folder().folder().string(), "--namespace", kJobSpace};
  }
  // The rendered roles without one verb; nullptr: whole. Waits until the server answers by them.
  void grant_all_but(const model::KubePermission* left_out) {
    for (const auto& [resource, role] : roles_) {
      json changed = json::parse(write_json_line(role));
      for (json& rule : changed["rules"]) {
        if (left_out == nullptr) continue;
        std::string name(left_out->resource);
        if (!left_out->subresource.empty()) name.append("/").append(left_out->subresource);
        if (rule["resources"][0] != name || rule["apiGroups"][0] != left_out->group) continue;
        json verbs = json::array();
        for (const json& verb : rule["verbs"]) {
          if (verb != left_out->verb) verbs.push_back(verb);
        }
        rule["verbs"] = verbs;
      }
      json& rules = changed["rules"];
      rules.erase(std::remove_if(rules.begin(), rules.end(), [](const json& rule) { return rule["verbs"].empty(); }),
                  rules.end());
      const Result<Value> applied =
          cluster_->admin().client.apply(resource, kube::read_reply_json(changed.dump()).value_or(Value()), true);
      ASSERT_TRUE(applied.ok()) << applied.error().text();
    }
    const auto user = cluster_->make_user(cluster_->token_access(token_));
    for (const model::KubePermission& each : model::kube_permissions()) {
      ASSERT_TRUE(testing_lab::Lab::wait(30,
                                         [&] {
                                           const Result<kube::AccessAnswer> answer = kube::review_access(
                                               user->client, {std::string(each.verb), std::string(each.group),
                                                              std::string(each.resource), std::string(each.subresource),
                                                              each.cluster_wide ? "" : kJobSpace});
                                           return answer.ok() && answer->allowed != (&each == left_out);
                                         }))
          << each.verb << " " << each.resource;
    }
  }

  std::vector<std::pair<kube::Resource, Value>> roles_;
  std::string token_;
};

TEST_F(EngineKubeAccess, RunsAGangWithTheRenderedRole) {
  install();
  if (IsSkipped() || HasFatalFailure()) return;
  grant_all_but(nullptr);
  start_server(account_options());
  ASSERT_TRUE(wait_ready()) << log();
  EXPECT_THAT(log(), testing::Not(HasSubstr("cannot be checked")));
  const std::string number = submit();
  ASSERT_TRUE(wait_state(number, "running", 1)) << log() << cluster_->logs();
  // Stopped by its user and restarted: pods are deleted, listed and bound again.
  kubelets_->finish("weft-" + number + "-1-1", 3);
  ASSERT_TRUE(wait_state(number, "running", 2)) << log();
  EXPECT_EQ(weft({"job", "cancel", number}).code, 0);
  ASSERT_TRUE(wait([&] { return job(number).value("state", "") == "canceled"; })) << log();
}

TEST_F(EngineKubeAccess, NamesEveryVerbThatIsMissing) {
  install();
  if (IsSkipped() || HasFatalFailure()) return;
  for (const model::KubePermission& each : model::kube_permissions()) {
    ASSERT_NO_FATAL_FAILURE(grant_all_but(&each));
    const ProcessOutcome refused = weft(serve_words(account_options()));
    EXPECT_EQ(refused.code, 4) << refused.err;
    std::string resource(each.resource);
    if (!each.subresource.empty()) resource.append("/").append(each.subresource);
    EXPECT_THAT(refused.err, HasSubstr("missing verb `" + std::string(each.verb) + "` on `" + resource + "`"));
    EXPECT_THAT(refused.err, HasSubstr(each.cluster_wide ? "cluster-wide" : "in namespace `weft-jobs`"));
    EXPECT_THAT(refused.err, HasSubstr("--target kubernetes/serve"));
  }
  grant_all_but(nullptr);
}

}  // namespace
}  // namespace weft
