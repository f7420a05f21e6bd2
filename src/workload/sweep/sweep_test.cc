#include "workload/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/test_places.h"
#include "model/load.h"
#include "workload/sweep/edit.h"

namespace weft::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string example(const std::string& name) {
  const Result<std::string> text = read_file(source_dir() + "/examples/" + name);
  EXPECT_TRUE(text.ok());
  return text.value_or("");
}

SweepFiles files() { return {"pod16.yaml", example("pod16.yaml"), "train.job.yaml", example("train.job.yaml")}; }

std::vector<SweepAxis> axes(std::initializer_list<const char*> texts) {
  std::vector<SweepAxis> all;
  for (const char* text : texts) {
    Result<SweepAxis> axis = parse_sweep_axis(text);
    EXPECT_TRUE(axis.ok()) << text;
    if (axis.ok()) all.push_back(std::move(*axis));
  }
  return all;
}

std::string error_of(const SweepFiles& given, std::initializer_list<const char*> texts) {
  const Result<Sweep> sweep = Sweep::make(given, axes(texts));
  return sweep.ok() ? std::string() : sweep.error().text();
}

TEST(SweepAxis, Values) {
  const Result<SweepAxis> axis = parse_sweep_axis("cluster.fabrics.backend.oversubscription=1:1,2:1");
  ASSERT_TRUE(axis.ok());
  EXPECT_EQ(axis->key, "cluster.fabrics.backend.oversubscription");
  EXPECT_THAT(axis->values, ElementsAre("1:1", "2:1"));
  EXPECT_THAT(parse_sweep_axis("a=[1,2],\"x,y\",{b: [1, 2]}")->values, ElementsAre("[1,2]", "\"x,y\"", "{b: [1, 2]}"));
  for (const char* wrong : {"", "a", "=1", "a=", "a=1,,2", "a=[1", "a=1,1"}) {
    EXPECT_FALSE(parse_sweep_axis(wrong).ok()) << wrong;
  }
}

TEST(Sweep, CrossProductWithTheLastAxisFastest) {
  const Result<Sweep> sweep =
      Sweep::make(files(), axes({"job.training.parallel.tensor=1,2", "cluster.pools.train.count=8,12,16"}));
  ASSERT_TRUE(sweep.ok()) << sweep.error().text();
  EXPECT_EQ(sweep->size(), 6U);
  EXPECT_THAT(sweep->settings(4),
              ElementsAre(Pair("job.training.parallel.tensor", "2"), Pair("cluster.pools.train.count", "12")));
  std::set<std::string> ids;
  for (std::uint64_t i = 0; i < sweep->size(); ++i) ids.insert(sweep->id(i));
  EXPECT_EQ(ids.size(), 6U);
}

TEST(Sweep, PointsAreLoadableFiles) {
  const Result<Sweep> sweep = Sweep::make(
      files(), axes({"cluster.pools.train.count=8", "cluster.fabrics.backend.oversubscription=2:1", "job.nodes=4"}));
  ASSERT_TRUE(sweep.ok()) << sweep.error().text();
  const SweepPoint point = sweep->point(0);
  const auto loaded = model::load_cluster_text("point", point.cluster_text);
  ASSERT_TRUE(loaded->spec.has_value()) << render_all(loaded->diagnostics, loaded->sources, false);
  bool found = false;
  for (const model::PoolSpec& pool : loaded->spec->pools.value) {
    if (pool.name.value.text != "train") continue;
    found = true;
    EXPECT_EQ(pool.count.value, 8);
  }
  EXPECT_TRUE(found);
  EXPECT_THAT(point.job_text, HasSubstr("nodes: 4\n"));
  EXPECT_THAT(point.job_text, HasSubstr("\"500\""));  // quoted in the file: stays text
}

// Every example keeps its meaning.
TEST(Sweep, RewritingAFileKeepsItsMeaning) {
  for (const char* name : {"pod16.yaml", "pod32.yaml", "nexus8.yaml", "superpod-h100-4su.yaml", "train.job.yaml"}) {
    const Result<Value> first = read_value(name, example(name));
    ASSERT_TRUE(first.ok()) << name;
    const std::string written = write_yaml(*first);
    const Result<Value> second = read_value(name, written);
    ASSERT_TRUE(second.ok()) << name << second.error().text();
    EXPECT_EQ(write_json(*first), write_json(*second)) << name;
    if (std::string_view(name).find("job") != std::string_view::npos) continue;
    const auto before = model::load_cluster_text(name, example(name));
    const auto after = model::load_cluster_text(name, written);
    ASSERT_NE(before->cluster, nullptr) << name;
    ASSERT_NE(after->cluster, nullptr) << name << render_all(after->diagnostics, after->sources, false);
    EXPECT_EQ(before->diagnostics.warning_count(), after->diagnostics.warning_count());
  }
}

TEST(Sweep, IdsDependOnMeaningOnly) {
  SweepFiles commented = files();
  commented.job_text += "# a comment\n";
  SweepFiles changed = files();
  changed.job_text += "priority: high\n";
  const auto id = [](const SweepFiles& given, std::initializer_list<const char*> texts, std::string_view options = {}) {
    const Result<Sweep> sweep = Sweep::make(given, axes(texts), options);
    return sweep.ok() ? sweep->id(0) : sweep.error().text();
  };
  const std::string one = id(files(), {"job.nodes=4", "job.training.steps=10"});
  EXPECT_EQ(one.size(), 16U);
  EXPECT_EQ(id(commented, {"job.training.steps=10,20", "job.nodes=4"}), one);
  EXPECT_NE(id(changed, {"job.nodes=4", "job.training.steps=10"}), one);
  EXPECT_NE(id(files(), {"job.nodes=4", "job.training.steps=10"}, "packet"), one);
  EXPECT_NE(id(files(), {"job.nodes=4", "job.training.steps=11"}), one);
}

TEST(Sweep, ListItemsByNameOrIndex) {
  const Result<Value> root = read_value("x", "pools:\n  - {name: a, n: 1}\n  - {name: b, n: 2}\n");
  ASSERT_TRUE(root.ok());
  const auto changed = [&](std::vector<std::string> keys) {
    const Result<Path> path = find_path(*root, keys);
    return path.ok() ? write_json_line(with_value(*root, *path, Value(9))) : path.error().message;
  };
  EXPECT_EQ(changed({"pools", "b", "n"}), R"({"pools": [{"name": "a", "n": 1}, {"name": "b", "n": 9}]})");
  EXPECT_EQ(changed({"pools", "0", "m"}), R"({"pools": [{"name": "a", "n": 1, "m": 9}, {"name": "b", "n": 2}]})");
  EXPECT_EQ(changed({"x", "y"}), R"({"pools": [{"name": "a", "n": 1}, {"name": "b", "n": 2}], "x": {"y": 9}})");
  EXPECT_EQ(changed({"pools", "c", "n"}), "`pools.c`: the list has a, b");
  EXPECT_EQ(changed({"pools", "a", "n", "z"}), "`pools.a.n.z`: its parent is not a mapping");
}

TEST(Sweep, ErrorsNameTheProblem) {
  EXPECT_THAT(error_of(files(), {}), HasSubstr("nothing to sweep"));
  EXPECT_THAT(error_of(files(), {"nodes=1,2"}), HasSubstr("begins with `cluster.` or `job.`"));
  EXPECT_THAT(error_of(files(), {"job..nodes=1,2"}), HasSubstr("begins with"));
  EXPECT_THAT(error_of(files(), {"cluster.pools.trian.count=1"}),
              HasSubstr("cluster file, `pools.trian`: the list has"));
  EXPECT_THAT(error_of(files(), {"job.nodes=1", "job.nodes=2"}), HasSubstr("set the same part"));
  EXPECT_THAT(error_of(files(), {"job.training={steps: 1}", "job.training.steps=2"}), HasSubstr("set the same part"));
  EXPECT_THAT(error_of(files(), {"cluster.pools.0.count=1", "cluster.pools.train.count=2"}),
              HasSubstr("set the same part"));
  EXPECT_THAT(error_of({"c.yaml", "a: [", "j.yaml", ""}, {"job.a=1"}), HasSubstr("c.yaml:"));
  EXPECT_THAT(error_of(files(), {"job.nodes=*x"}), HasSubstr("job.nodes=*x"));
  std::string many = "job.nodes=0";
  for (int i = 1; i < 400; ++i) many += "," + std::to_string(i);
  std::string more = "job.max_restarts" + many.substr(many.find('='));
  EXPECT_THAT(error_of(files(), {many.c_str(), more.c_str()}), HasSubstr("more than 100000 points"));
}

}  // namespace
}  // namespace weft::workload
