// Target kubernetes/serve: documents against the published schemas, the role against what the engine uses, and the
// Deployment against what must not be done with a control plane that has one journal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/test_prerequisites.h"
#include "config/kube_objects.h"
#include "kube_schema.h"
#include "model/kube_permissions.h"
#include "rendered.h"

namespace weft {
namespace {

using testing::HasSubstr;
using testing_rendered::load_example;
using testing_rendered::Rendering;

std::string text_of(const Rendering& rendering) {
  std::string text;
  for (const auto& [path, file] : rendering.sink.files) text += file.content;
  return text;
}

TEST(RenderServe, EveryDocumentFitsItsSchema) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  for (const char* example : {"pod16.yaml", "pod32.yaml"}) {
    const auto rendering = load_example(example);
    rendering->render("kubernetes/serve");
    kube_schema::ValidationReport whole;
    for (const auto& [path, file] : rendering->sink.files)
      whole.add(kube_schema::validate_documents(path, file.content));
    EXPECT_TRUE(whole.ok()) << whole.text();
    EXPECT_TRUE(whole.not_understood.empty());
    // Two namespaces, service account, two roles, two bindings, two policies, claim, Deployment; of watch mode a
    // service account, two roles, two bindings.
    EXPECT_EQ(whole.documents, 20U) << example;
  }
}

// "ClusterRole  nodes list" for each verb of each rule of the files whose path contains this, or does not.
std::multiset<std::string> granted_verbs(const std::string& part, bool contains) {
  const auto rendering = load_example("pod16.yaml");
  rendering->render("kubernetes/serve");
  config::ConfigSet set;
  for (const auto& [path, file] : rendering->sink.files) {
    if ((path.find(part) != std::string::npos) == contains)
      config::read_config_text(path, file.content, rendering->loaded->sources, set, set.problems);
  }
  std::multiset<std::string> granted;
  for (const config::KubeObject& object : set.objects) {
    if (object.kind != "Role" && object.kind != "ClusterRole") continue;
    for (const YamlNode& rule : config::node_at(&object.tree, "rules")->items) {
      EXPECT_EQ(config::node_at(&rule, "apiGroups")->items.size(), 1U);
      EXPECT_EQ(config::node_at(&rule, "resources")->items.size(), 1U);
      for (const YamlNode& verb : config::node_at(&rule, "verbs")->items) {
        granted.insert(object.kind + " " + config::node_at(&rule, "apiGroups")->items[0].scalar + " " +
                       config::node_at(&rule, "resources")->items[0].scalar + " " + verb.scalar);
      }
    }
  }
  return granted;
}

// The verbs of all rules together are those of the table, each once.
TEST(RenderServe, TheRoleIsTheTable) {
  const std::multiset<std::string> granted = granted_verbs("/20-access", true);
  std::multiset<std::string> used;
  for (const model::KubePermission& each : model::kube_permissions()) {
    std::string resource(each.resource);
    if (!each.subresource.empty()) resource.append("/").append(each.subresource);
    used.insert((each.cluster_wide ? "ClusterRole " : "Role ") + std::string(each.group) + " " + resource + " " +
                std::string(each.verb));
  }
  EXPECT_EQ(granted, used);
  EXPECT_FALSE(granted.empty());
  for (const std::string& each : granted) EXPECT_THAT(each, testing::Not(HasSubstr("*")));
}

// What `weft serve --mode watch` asks for when it starts.
TEST(RenderServe, TheRolesOfWatchMode) {
  const std::multiset<std::string> read = {"ClusterRole  nodes list", "ClusterRole  nodes watch",
                                           "ClusterRole  pods list", "ClusterRole  pods watch"};
  EXPECT_EQ(granted_verbs("/watch/10-read", true), read);
  EXPECT_EQ(granted_verbs("/watch/20-quarantine", true),
            (std::multiset<std::string>{"ClusterRole  nodes get", "ClusterRole  nodes patch"}));
  EXPECT_EQ(granted_verbs("/watch/30-drain", true),
            (std::multiset<std::string>{"ClusterRole  pods get", "ClusterRole  pods/eviction create"}));
  EXPECT_EQ(granted_verbs("/leases/", true), (std::multiset<std::string>{"ClusterRole  pods list"}));
  EXPECT_EQ(model::kube_watch_permissions(true, model::WatchAccess::reads).size(), 4U);
  EXPECT_EQ(model::kube_watch_permissions(true, model::WatchAccess::taints).size(), 6U);
  EXPECT_EQ(model::kube_watch_permissions(true, model::WatchAccess::evicts).size(), 8U);
}

TEST(RenderServe, OneReplicaThatIsNeverDoubled) {
  const auto rendering = load_example("pod16.yaml");
  rendering->render("kubernetes/serve");
  const std::string text = text_of(*rendering);
  EXPECT_THAT(text, HasSubstr("replicas: 1\n"));
  EXPECT_THAT(text, HasSubstr("type: Recreate\n"));
  EXPECT_THAT(text, HasSubstr("runAsNonRoot: true\n"));
  EXPECT_THAT(text, HasSubstr("readOnlyRootFilesystem: true\n"));
  EXPECT_THAT(text, HasSubstr("claimName: weft-state\n"));
  for (const char* probe : {"startupProbe:", "readinessProbe:", "livenessProbe:"}) EXPECT_THAT(text, HasSubstr(probe));
}

// A cluster without Kubernetes has no such target.
TEST(RenderServe, NeedsKubernetes) {
  const auto rendering = testing_rendered::load_rendering(
      "weft: 1\nname: a\npools: [{name: t, role: training, server: hgx-h100, count: 2}]\ncontrol_plane: {kind: "
      "slurm}\n");
  rendering->render("kubernetes/serve");
  EXPECT_TRUE(rendering->sink.files.empty());
}

}  // namespace
}  // namespace weft
