// Tests of the manifest validator: valid manifests pass, and any single change is found.
#include "kube_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/test_prerequisites.h"
#include "rendered.h"

namespace weft::kube_schema {
namespace {

std::string example(const std::string& name) {
  const auto text = read_file(testing_rendered::source_path("examples/running/" + name));
  EXPECT_TRUE(text.ok()) << name;
  return text.value_or("");
}

const std::vector<std::string> kExamples{"attachments.yaml", "frontend.yaml", "inference.yaml", "nic-template.yaml",
                                         "policies.yaml",    "sriov.yaml",    "storage.yaml",   "train-job.yaml"};

TEST(KubeSchema, ExamplesPass) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  ValidationReport whole;
  for (const std::string& name : kExamples) whole.add(validate_documents(name, example(name)));
  EXPECT_TRUE(whole.ok()) << whole.text();
  EXPECT_TRUE(whole.not_understood.empty());
  EXPECT_EQ(whole.documents, whole.objects.size());
  EXPECT_GE(whole.documents, 40U);
  EXPECT_GT(whole.cel_rules, 0U);
  std::cout << whole.documents << " documents, " << whole.cel_rules << " CEL rules not evaluated\n";
}

struct Mutant {
  std::string file;
  std::string from;
  std::string to;
  std::string path;     // of the error, its end
  std::string message;  // a part of it
};

const std::vector<Mutant> kMutants{
    {"attachments.yaml", "  config: |", "  configuration: |", "spec.configuration", "unknown field"},
    {"attachments.yaml", "kind: NetworkAttachmentDefinition", "kind: NetworkAttachment", "kind", "no schema"},
    {"attachments.yaml", "  name: roce-1", "  name: roce_1", "metadata.name", "not a name"},
    {"attachments.yaml", "  name: roce-1", "  nam: roce-1", "metadata.nam", "unknown field"},
    {"attachments.yaml", "  namespace: team-alpha\n", "", "metadata.namespace", "missing"},
    {"attachments.yaml", "k8s.v1.cni.cncf.io/resourceName", "k8s.v1/cni/resourceName", "annotations", "qualified"},
    {"sriov.yaml", "  resourceName: roce_1\n", "", "spec", "required field missing: resourceName"},
    {"sriov.yaml", "  numVfs: 4", "  numVfs: four", "spec.numVfs", "string where"},
    {"inference.yaml", "maxReplicas: ", "maxReplicas: 99999999999 #", "spec.maxReplicas", "32-bit"},
    {"sriov.yaml", "  mtu: 9000", "  mtu: 0", "spec.mtu", "below"},
    {"sriov.yaml", "deviceType: netdevice", "deviceType: netdev", "spec.deviceType", "choices"},
    {"sriov.yaml", "isRdma: true", "isRdma: \"true\"", "spec.isRdma", "string where"},
    {"sriov.yaml", "pfNames: [ens1np0]", "pfNames: ens1np0", "spec.nicSelector.pfNames", "string where"},
    {"sriov.yaml", "weft.example/pool: train", "weft.example/pool: on", "nodeSelector.weft.example/pool", "boolean"},
    {"sriov.yaml", "weft.example/pool: train", "weft.example/pool: a b", "spec.nodeSelector", "label value"},
    {"nic-template.yaml", "pfc: \"0,0,0,1,0,0,0,0\"", "pfc: \"0,0,0,1\"", "qos.pfc", "match"},
    {"nic-template.yaml", "linkType: Ethernet", "linkType: ethernet", "linkType", "choices"},
    {"nic-template.yaml", "maxReadRequest: 4096", "maxReadRequests: 4096", "maxReadRequests", "unknown field"},
    {"nic-template.yaml", "0000:18:00.0", "18:00.0", "nicSelector.pciAddresses[0]", "match"},
    {"storage.yaml", "volumeBindingMode: WaitForFirstConsumer", "volumeBindingMode: Wait", "volumeBindingMode",
     "one of"},
    {"storage.yaml", "  name: scratch-nvme\n", "  name: scratch-nvme\n  namespace: a\n", "namespace", "no namespace"},
    {"storage.yaml", "tls: \"true\"", "tls: true", "parameters.tls", "boolean where"},
    {"storage.yaml", "storage: 100T", "storage: 100TB", "requests.storage", "quantity"},
    {"storage.yaml", "accessModes: [ReadOnlyMany]", "accessModes: [ROX]", "spec.accessModes", "one of"},
    {"storage.yaml", "provisioner: csi.flash", "provisoner: csi.flash", "", "required field missing: provisioner"},
    {"frontend.yaml", "holdTimeSeconds: 9", "holdTimeSeconds: 1", "holdTimeSeconds", "below"},
    {"frontend.yaml", "peerASN: 64512", "peerASN: 99999999999", "peerASN", "above"},
    {"frontend.yaml", "peers:\n", "peers: []\n      others:\n", "others", "unknown field"},
};

TEST(KubeSchema, FindsASingleChange) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  for (const Mutant& mutant : kMutants) {
    std::string text = example(mutant.file);
    const std::size_t at = text.find(mutant.from);
    ASSERT_NE(at, std::string::npos) << mutant.file << ": " << mutant.from;
    text.replace(at, mutant.from.size(), mutant.to);
    const ValidationReport report = validate_documents(mutant.file, text);
    bool found = false;
    for (const ValidationError& error : report.errors) {
      found = found || (error.path.ends_with(mutant.path) && error.message.find(mutant.message) != std::string::npos &&
                        error.place.starts_with(mutant.file + ":"));
    }
    EXPECT_TRUE(found) << mutant.to << "\n" << report.text();
  }
}

// Fields deep inside templates of jobs, from a CRD of 600 kB.
TEST(KubeSchema, ValidatesPodTemplates) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  const std::string text = example("train-job.yaml");
  for (const auto& [from, to] : testing_rendered::Edits{{"containers:", "container:"},
                                                        {"image:", "imag:"},
                                                        {"limits:", "limit:"},
                                                        {"restartPolicy: ", "restartPolicy: [] #"}}) {
    std::string edited = text;
    const std::size_t at = edited.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    edited.replace(at, from.size(), to);
    EXPECT_FALSE(validate_documents("train-job.yaml", edited).ok()) << to;
  }
}

TEST(KubeSchema, MapListsRejectDuplicateKeys) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: b}\nspec:\n  containers:\n"
      "    - {name: c, image: d, env: [{name: E, value: \"1\"}, {name: F, value: \"2\"}]}\n";
  EXPECT_TRUE(validate_documents("pod.yaml", pod).ok()) << validate_documents("pod.yaml", pod).text();
  std::string twice = pod;
  twice.replace(twice.find("name: F"), 7, "name: E");
  EXPECT_FALSE(validate_documents("pod.yaml", twice).ok());
  std::string number = pod;
  number.replace(number.find("\"1\""), 3, "1");
  EXPECT_FALSE(validate_documents("pod.yaml", number).ok());
}

TEST(KubeSchema, ReadsJson) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  const std::string good = R"({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"},
                               "data": {"x": "y"}})";
  EXPECT_TRUE(validate_documents("a.json", good).ok()) << validate_documents("a.json", good).text();
  std::string bad = good;
  bad.replace(bad.find("\"y\""), 3, "5");
  EXPECT_FALSE(validate_documents("a.json", bad).ok());
}

// Kinds that weft must not render by default, or only on request: they cannot be validated here.
TEST(KubeSchema, ReportsKindsWithoutSchema) {
  WEFT_NEEDS_DATA("schemas/kubernetes-openapi-v3");
  EXPECT_FALSE(has_schema("route.openshift.io/v1", "Route"));
  EXPECT_FALSE(has_schema("snapshot.storage.k8s.io/v1", "VolumeSnapshotClass"));
  EXPECT_FALSE(has_schema("helm.cattle.io/v1", "HelmChart"));
  EXPECT_FALSE(has_schema("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"));
  EXPECT_FALSE(has_schema("monitoring.coreos.com/v1", "Prometheus"));
  EXPECT_TRUE(has_schema("monitoring.coreos.com/v1", "ServiceMonitor"));
  EXPECT_TRUE(has_schema("networking.k8s.io/v1", "Ingress"));
}

TEST(KubeSchema, ValidatesNames) {
  EXPECT_TRUE(is_dns_label("a-1"));
  EXPECT_FALSE(is_dns_label("a.1"));
  EXPECT_TRUE(is_dns_subdomain("a.1"));
  EXPECT_FALSE(is_dns_subdomain("A"));
  EXPECT_FALSE(is_dns_subdomain("a..b"));
  EXPECT_FALSE(is_dns_1035_label("1a"));
  EXPECT_TRUE(is_qualified_name("nvidia.com/mig-1g.10gb"));
  EXPECT_FALSE(is_qualified_name("a/b/c"));
  EXPECT_TRUE(is_label_value(""));
  EXPECT_FALSE(is_label_value(std::string(64, 'a')));
}

}  // namespace
}  // namespace weft::kube_schema
