// weft serve with the rendered role (target kubernetes/serve) on a real API server with RBAC, as the service account of
// a pod: what it needs, and what it says if a verb is missing.
#include "engine_kube_fixture.h"
#include "kube/access_review.h"
#include "kube/api_status.h"
#include "kube/json_fields.h"
#include "kube_apply.h"
#include "model/kube_permissions.h"

namespace weft {
namespace {

using nlohmann::json;
using testing::HasSubstr;

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
      for (const Value& document :
           testing_kube::read_documents(file("out/kubernetes/serve/" + std::string(name) + ".yaml"))) {
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
  void apply(const Value& document) {
    ASSERT_NO_FATAL_FAILURE(testing_kube::apply_document(*cluster_, document));
    const std::string kind = kube::raw_text(document, {"kind"});
    if (kind == "Role" || kind == "ClusterRole") roles_.emplace_back(*testing_kube::resource_of(document), document);
  }
  void write_account() {
    token_ = testing_kube::account_token(*cluster_, {"weft", "weft"});
    ASSERT_FALSE(token_.empty());
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
