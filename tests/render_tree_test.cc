// End-to-end tests of weft render and weft diff: trees that are complete or absent and reproducible byte for byte,
// checked against the design by weft check, and the effect of a change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/hash.h"
#include "base/test_places.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_lab::Lab;
using testing_lab::Outcome;
using testing_lab::Words;
using testing_rendered::source_path;

class RenderTree : public ::testing::Test {
 protected:
  Outcome weft(Words words) {
    words.insert(words.begin(), weft_binary());
    return lab_.run(words, 120, true);
  }
  std::string example(const std::string& name) { return source_path("examples/" + name); }
  // A copy of an example with one text replaced.
  std::string edited(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = Lab::contents(example(name));
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    lab_.put("edited.yaml", text);
    return path("edited.yaml");
  }
  [[nodiscard]] std::string path(const std::string& name) const { return (lab_.folder() / name).string(); }
  static std::map<std::string, std::string> tree_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file())
        files[entry.path().lexically_relative(folder).generic_string()] = Lab::contents(entry.path());
    }
    return files;
  }

  Lab lab_{"render"};
};

TEST_F(RenderTree, IsReproducibleAndListsItsFiles) {
  const Words render = {"render", example("pod16.yaml"), "--job", example("train.job.yaml"), "-q"};
  for (const char* folder : {"a", "b"}) {
    Words words = render;
    words.insert(words.end(), {"-o", path(folder)});
    const Outcome made = weft(words);
    ASSERT_EQ(made.code, 0) << made.out;
  }
  const auto a = tree_of(path("a"));
  EXPECT_EQ(a, tree_of(path("b")));
  const Json manifest = Json::parse(a.at("manifest.json"));
  EXPECT_EQ(manifest["cluster"], "pod16");
  std::set<std::string> listed;
  for (const Json& file : manifest["files"]) {
    const std::string name = file["path"];
    ASSERT_TRUE(a.contains(name)) << name;
    EXPECT_EQ(file["sha256"], sha256(a.at(name))) << name;
    EXPECT_EQ(file["bytes"], a.at(name).size()) << name;
    EXPECT_THAT(std::string(file["mode"]), ::testing::MatchesRegex("0[0-7][0-7][0-7]")) << name;
    EXPECT_FALSE(std::string(file["consumer"]).empty()) << name;
    EXPECT_GE(file["order"], 1) << name;
    EXPECT_EQ(file["sources"].empty(), file["target"] == "jobs") << name << ": from what in the cluster file?";
    listed.insert(name);
  }
  EXPECT_EQ(listed.size() + 1, a.size());
}

// Secrets are referenced, never written.
TEST_F(RenderTree, HoldsNoSecrets) {
  ASSERT_EQ(weft({"render", example("pod16.yaml"), "-o", path("a"), "--job", example("train.job.yaml"), "-q"}).code, 0);
  for (const auto& [name, text] : tree_of(path("a"))) {
    EXPECT_THAT(text, Not(::testing::ContainsRegex("BEGIN [A-Z ]*PRIVATE KEY"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("\nkind: Secret\n"))) << name << ": secrets are made by generators, not rendered";
  }
}

TEST_F(RenderTree, KeepsFilesThatAreNotFromWeft) {
  const Words render = {"render", example("pod16.yaml"), "-o", path("a"), "-t", "slurm", "-q"};
  ASSERT_EQ(weft(render).code, 0);
  ASSERT_EQ(weft(render).code, 0) << "a tree as weft left it is replaced";
  lab_.put("a/notes.txt", "mine");
  Outcome refused = weft(render);
  EXPECT_EQ(refused.code, 4) << refused.out;
  EXPECT_THAT(refused.out, HasSubstr("notes.txt"));
  EXPECT_EQ(Lab::contents(path("a/notes.txt")), "mine");
  fs::remove(path("a/notes.txt"));
  lab_.put("a/slurm/slurm.conf", "changed\n");
  refused = weft(render);
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.out, HasSubstr("slurm/slurm.conf"));
  Words forced = render;
  forced.push_back("--force");
  EXPECT_EQ(weft(forced).code, 0);
  EXPECT_NE(Lab::contents(path("a/slurm/slurm.conf")), "changed\n");
}

TEST_F(RenderTree, RejectsInvalidInput) {
  EXPECT_EQ(weft({"render", example("pod16.yaml"), "-o", path("a"), "-t", "sonik"}).code, 2);
  EXPECT_EQ(weft({"render", example("pod16.yaml"), "-o", path("a"), "--set", "ipam=dhcp"}).code, 2);
  EXPECT_EQ(weft({"render", example("pod16.yaml")}).code, 2);
  EXPECT_EQ(weft({"render", example("pod16.yaml"), "-o", path("a"), "--job", path("none.yaml")}).code, 2);
  EXPECT_EQ(weft({"render", path("none.yaml"), "-o", path("a")}).code, 2);
  lab_.put("file", "x");
  EXPECT_NE(weft({"render", example("pod16.yaml"), "-o", path("file")}).code, 0);
  EXPECT_NE(weft({"render", example("pod16.yaml"), "-o", path("file/a")}).code, 0);
  EXPECT_EQ(Lab::contents(path("file")), "x");
  EXPECT_FALSE(fs::exists(path("a")));
  for (const auto& entry : fs::directory_iterator(lab_.folder())) {
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".weft-"))) << "left behind";
  }
}

TEST_F(RenderTree, DiffFindsNothingWhereNothingChanged) {
  ASSERT_EQ(weft({"render", example("pod16.yaml"), "-o", path("a"), "-q"}).code, 0);
  const Outcome same = weft({"diff", example("pod16.yaml"), path("a")});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("No difference."));
}

// A different DSCP: every backend switch changes, out-of-band is not affected; spines come one at a time before leaves,
// each is drained first, and the servers of leaves are drained.
TEST_F(RenderTree, DiffReportsTheRiskAndASafeOrder) {
  ASSERT_EQ(weft({"render", example("pod16.yaml"), "-o", path("a"), "-q"}).code, 0);
  const std::string changed = edited("pod16.yaml", "dscp: 26", "dscp: 28");
  const Outcome diff = weft({"diff", changed, path("a"), "--output", "json"});
  ASSERT_EQ(diff.code, 1) << diff.out;
  const Json found = Json::parse(diff.out);
  std::vector<std::string> switches;
  for (const Json& step : found["steps"]) {
    if (step["stage"] != "backend") continue;
    switches.push_back(step["subject"]);
    EXPECT_EQ(step["risk"], "traffic");
    EXPECT_THAT(std::string(step["before"]), HasSubstr("TSA")) << step;
    EXPECT_THAT(std::string(step["after"]), HasSubstr("TSB")) << step;
    const bool leaf = std::string(step["subject"]).find("leaf") != std::string::npos;
    EXPECT_EQ(std::string(step["before"]).find("train[001-016]") != std::string::npos, leaf) << step;
  }
  EXPECT_THAT(switches,
              ElementsAre("be-spine001", "be-spine002", "be-spine003", "be-spine004", "be-train-u001-leaf1",
                          "be-train-u001-leaf2", "be-train-u001-leaf3", "be-train-u001-leaf4", "be-train-u001-leaf5",
                          "be-train-u001-leaf6", "be-train-u001-leaf7", "be-train-u001-leaf8"));
  for (const Json& change : found["changes"]) {
    EXPECT_THAT(std::string(change["file"]), Not(::testing::StartsWith("nxos/oob"))) << change;
  }
}

TEST_F(RenderTree, DiffAgainstTheRunningConfig) {
  ASSERT_EQ(weft({"render", example("pod16.yaml"), "-o", path("a"), "-t", "sonic", "-q"}).code, 0);
  Json running = Json::parse(Lab::contents(path("a/sonic/be-spine001/config_db.json")));
  const std::string port = running["PORT"].begin().key();
  running["PORT"][port]["mtu"] = "1500";
  running["CRM"]["Config"]["polling_interval"] = "300";  // a table that weft does not write
  lab_.put("spine.json", running.dump());
  const Outcome diff =
      weft({"diff", example("pod16.yaml"), "be-spine001=" + path("spine.json"), "-t", "sonic", "--output", "json"});
  ASSERT_EQ(diff.code, 1) << diff.out;
  const Json found = Json::parse(diff.out);
  ASSERT_EQ(found["changes"].size(), 1U) << diff.out;
  EXPECT_EQ(found["changes"][0]["where"], "PORT." + port + ".mtu");
  EXPECT_EQ(found["changes"][0]["before"], "1500");
  EXPECT_EQ(found["changes"][0]["after"], "9216");
  EXPECT_EQ(found["changes"][0]["risk"], "traffic");
  const Outcome by_name = weft({"diff", example("pod16.yaml"), path("spine.json"), "-t", "sonic"});
  EXPECT_EQ(by_name.code, 1) << by_name.out;
  EXPECT_THAT(by_name.out, HasSubstr("the link flaps"));
}

// An empty rendering is an error: neither "no difference" nor a tree.
TEST_F(RenderTree, TargetsThatRenderNothingAreAnError) {
  const Outcome none = weft({"render", example("nexus8.yaml"), "-o", path("a"), "-t", "sonic"});
  EXPECT_EQ(none.code, 2) << none.out;
  EXPECT_THAT(none.out, HasSubstr("`sonic`"));
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_EQ(weft({"render", example("nexus8.yaml"), "-o", path("a"), "-t", "nxos", "-t", "sonic"}).code, 2);
  EXPECT_FALSE(fs::exists(path("a")));
  ASSERT_EQ(weft({"render", example("nexus8.yaml"), "-o", path("a"), "-t", "nxos", "-t", "nvue", "-q"}).code, 0);
  const std::string leaf = "be-train-u001-leaf1=" + path("a/nxos/be-train-u001-leaf1.cfg");
  EXPECT_EQ(weft({"diff", example("nexus8.yaml"), leaf}).code, 0);
  EXPECT_EQ(weft({"diff", example("nexus8.yaml"), leaf, "-t", "nxos"}).code, 0);
  const Outcome other = weft({"diff", example("nexus8.yaml"), leaf, "-t", "nvue"});
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_THAT(other.out, HasSubstr("be-train-u001-leaf1"));
  EXPECT_THAT(other.out, HasSubstr("nxos"));
  EXPECT_THAT(other.out, Not(HasSubstr("No difference")));
  for (const std::string& against : {leaf, path("a")}) {
    const Outcome nothing = weft({"diff", example("nexus8.yaml"), against, "-t", "sonic"});
    EXPECT_EQ(nothing.code, 2) << nothing.out;
    EXPECT_THAT(nothing.out, HasSubstr("`sonic`"));
  }
  EXPECT_EQ(weft({"diff", example("nexus8.yaml"), "train001=" + path("a/nxos/be-train-u001-leaf1.cfg")}).code, 2);
  // A recognized file of a switch that the target does not cover.
  EXPECT_EQ(weft({"diff", example("nexus8.yaml"), path("a/nxos/be-train-u001-leaf1.cfg"), "-t", "nvue"}).code, 2);
}

}  // namespace
}  // namespace weft
