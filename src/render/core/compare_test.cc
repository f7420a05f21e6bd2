#include "render/core/compare.h"

#include <gtest/gtest.h>

namespace weft::render {
namespace {

std::string shown(const std::vector<Change>& changes) {
  std::string out;
  for (const Change& change : changes) {
    out += std::string(to_text(change.kind)) + " " + change.where;
    if (!change.before.empty() || !change.after.empty()) out += ": " + change.before + " -> " + change.after;
    out += " (" + std::string(to_text(change.risk)) + ")\n";
  }
  return out;
}

TEST(Compare, JsonIsComparedByKeyRegardlessOfLayout) {
  const char* before =
      R"({"PORT": {"Ethernet0": {"mtu": "9216", "description": "a"}}, "SYSLOG_SERVER": {"10.0.0.1": {}}})";
  const char* same =
      "{\"SYSLOG_SERVER\": {\"10.0.0.1\": {}},\n \"PORT\": {\"Ethernet0\": {\"description\": \"a\",\n\"mtu\": "
      "\"9216\"}}}";
  const char* after = R"({"PORT": {"Ethernet0": {"mtu": "9100", "description": "b"}, "Ethernet4": {"mtu": "9216"}}})";
  EXPECT_EQ(shown(compare_texts("sonic", "x/config_db.json", before, same, Risk::traffic)), "");
  EXPECT_EQ(shown(compare_texts("sonic", "x/config_db.json", before, after, Risk::traffic)),
            "changed PORT.Ethernet0.description: a -> b (none)\n"
            "changed PORT.Ethernet0.mtu: 9216 -> 9100 (traffic)\n"
            "added PORT.Ethernet4.mtu:  -> 9216 (traffic)\n"
            "removed SYSLOG_SERVER.10.0.0.1: {} ->  (none)\n");
}

TEST(Compare, RunningConfigIsComparedOnlyInRenderedTables) {
  const char* running =
      R"({"PORT": {"Ethernet0": {"mtu": "9100"}, "Ethernet8": {"mtu": "1500"}}, "COPP_TRAP": {"bgp": {"x": "y"}}})";
  const char* after = R"({"PORT": {"Ethernet0": {"mtu": "9216"}}})";
  EXPECT_EQ(shown(compare_texts("sonic", "config_db.json", running, after, Risk::traffic, {.running = true})),
            "changed PORT.Ethernet0.mtu: 9100 -> 9216 (traffic)\n"
            "removed PORT.Ethernet8.mtu: 1500 ->  (traffic)\n");
}

TEST(Compare, CommandsBelongToTheirSection) {
  const char* before =
      "! comment\nhostname a\ninterface Ethernet1/1\n  mtu 9216\n  no shutdown\ninterface Ethernet1/2\n  mtu 9216\n";
  const char* after =
      "hostname a\ninterface Ethernet1/2\n  mtu 9216\ninterface Ethernet1/1\n  no shutdown\n  mtu 1500\n";
  EXPECT_EQ(shown(compare_texts("nxos", "a.cfg", before, after, Risk::traffic)),
            "added interface Ethernet1/1 > mtu 1500 (traffic)\n"
            "removed interface Ethernet1/1 > mtu 9216 (traffic)\n");
}

TEST(Compare, KubernetesObjectsAreComparedByName) {
  const char* before =
      "kind: Service\nmetadata: {name: a, namespace: t}\nspec: {port: 1}\n---\nkind: Deployment\nmetadata: {name: b, "
      "namespace: t}\n"
      "spec: {replicas: 2, template: {spec: {containers: [{name: x, image: i1}, {name: y, image: i2}]}}}\n";
  const char* after =
      "kind: Deployment\nmetadata: {name: b, namespace: t}\nspec: {replicas: 3, template: {spec: {containers: [{name: "
      "y, image: i3}]}}}\n"
      "---\nkind: Service\nmetadata: {name: a, namespace: t}\nspec: {port: 1}\n";
  EXPECT_EQ(shown(compare_texts("kubernetes/inference", "a.yaml", before, after, Risk::none)),
            "changed Deployment t/b.spec.replicas: 2 -> 3 (none)\n"
            "removed Deployment t/b.spec.template.spec.containers[x].image: i1 ->  (reload)\n"
            "removed Deployment t/b.spec.template.spec.containers[x].name: x ->  (reload)\n"
            "changed Deployment t/b.spec.template.spec.containers[y].image: i2 -> i3 (reload)\n");
}

TEST(Compare, OtherTextIsComparedByLine) {
  EXPECT_EQ(shown(compare_texts("slurm", "slurm.conf", "A=1\nA=1\nB=2\n", "A=1\nSelectType=x\nB=2\n", Risk::reload)),
            "removed A=1 (reload)\nadded SelectType=x (traffic)\n");
}

// Arbitrary input never fails: a file that does not parse is compared as lines.
TEST(Compare, BrokenFilesAreComparedByLine) {
  EXPECT_EQ(shown(compare_texts("sonic", "config_db.json", "{broken\n", "{\"A\": 1}\n", Risk::none)),
            "added A:  -> 1 (none)\nremoved {broken (none)\n");
  EXPECT_EQ(shown(compare_texts("kubernetes/gpu", "a.yaml", "a: [\n", "a: 1\n", Risk::none)),
            "added a:  -> 1 (none)\nremoved a: [ (none)\n");
}

}  // namespace
}  // namespace weft::render
