#include "check/rules/isolation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/test_places.h"
#include "check/core/rule.h"
#include "check/reach/reachability.h"
#include "model/load.h"

namespace weft::check {
namespace {

std::string example(const std::string& name) { return source_dir() + "/examples/" + name; }

std::string text_of(const std::string& path) {
  const auto text = read_file(path);
  EXPECT_TRUE(text.ok()) << path;
  return text.ok() ? *text : std::string();
}

// A cluster file and a folder of configuration below examples/, with one file edited.
struct ExampleSet {
  std::unique_ptr<model::Loaded> loaded;
  config::ConfigSet set;
  Diagnostics diagnostics;

  explicit ExampleSet(const RuleExample& edit, bool apply) {
    const std::string file(edit.file);
    const std::size_t slash = file.find('/');
    const std::string folder = slash == std::string::npos ? "" : file.substr(0, slash);
    const std::string cluster = folder.empty() ? file : folder == "running-nexus" ? "nexus8.yaml" : "pod16.yaml";
    const auto edited = [&](const std::string& name) {
      std::string text = text_of(example(name));
      if (!apply || name != file) return text;
      if (edit.from.empty()) return text + std::string(edit.to);
      const std::size_t at = text.find(edit.from);
      EXPECT_NE(at, std::string::npos) << edit.from;
      EXPECT_EQ(text.find(edit.from, at + 1), std::string::npos) << "occurs twice: " << edit.from;
      return at == std::string::npos ? text : text.replace(at, edit.from.size(), edit.to);
    };
    loaded = model::load_cluster_text(cluster, edited(cluster));
    EXPECT_TRUE(loaded->cluster != nullptr) << render_all(loaded->diagnostics, loaded->sources, false);
    if (folder.empty()) return;
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(example(folder))) {
      names.push_back(folder + "/" + entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      config::read_config_text(name, edited(name), loaded->sources, set, diagnostics);
  }

  std::vector<Finding> run() const {
    const CheckInput input(loaded->cluster.get(), set, loaded->sources, false);
    Report report;
    static const std::vector<Rule> rules = isolation_rules();
    for (const Rule& rule : rules) {
      if (rule.needs != RuleNeeds::design && set.empty()) continue;
      report.begin(rule);
      rule.run(input, report);
    }
    return report.findings();
  }
};

std::string listing(const std::vector<Finding>& findings, const Sources& sources) {
  std::string out;
  for (const Finding& finding : findings) {
    out += std::string(finding.rule->id) + " " + finding.subject + " " + sources.describe(finding.place) + ": " +
           finding.message + "\n";
  }
  return out;
}

bool present(const RuleExample& edit) { return std::filesystem::exists(example(std::string(edit.file))); }

TEST(IsolationRules, TableIsComplete) {
  const std::vector<Rule> rules = isolation_rules();
  EXPECT_GE(rules.size(), 16U);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    EXPECT_TRUE(rules[i].id.starts_with("IS"));
    EXPECT_TRUE(i == 0 || rules[i - 1].id < rules[i].id);
    EXPECT_FALSE(rules[i].title.empty() || rules[i].reason.empty() || rules[i].source.empty() || rules[i].fix.empty());
    EXPECT_NE(rules[i].run, nullptr);
  }
}

TEST(IsolationRules, GoodFilesHaveNoFinding) {
  for (const char* file : {"pod16.yaml", "pod32.yaml", "nexus8.yaml", "running/sysctl.conf", "running-nexus/x"}) {
    const RuleExample none{file, "", ""};
    const std::string folder = std::filesystem::path(file).parent_path().string();
    ASSERT_TRUE(std::filesystem::exists(example(folder.empty() ? file : folder))) << file;
    const ExampleSet good(none, false);
    const auto findings = good.run();
    EXPECT_TRUE(findings.empty()) << file << "\n" << listing(findings, good.loaded->sources);
  }
}

TEST(IsolationRules, EachExampleTriggersOnlyItsRule) {
  for (const Rule& rule : isolation_rules()) {
    if (!present(rule.example)) {
      ADD_FAILURE() << rule.id << ": no file " << rule.example.file;
      continue;
    }
    const ExampleSet bad(rule.example, true);
    const auto findings = bad.run();
    ASSERT_FALSE(findings.empty()) << rule.id;
    for (const Finding& finding : findings) {
      EXPECT_EQ(finding.rule->id, rule.id) << listing(findings, bad.loaded->sources);
      EXPECT_TRUE(finding.place.known()) << rule.id;
      EXPECT_EQ(bad.loaded->sources.path(finding.place.file), std::string(rule.example.file)) << rule.id;
      EXPECT_FALSE(finding.subject.empty());
    }
    EXPECT_LE(findings.size(), 2U) << listing(findings, bad.loaded->sources);
  }
}

// Rules about paths show one: from a source to a destination, with the line in between.
TEST(IsolationRules, PathsAreShown) {
  int seen = 0;
  for (const Rule& rule : isolation_rules()) {
    const bool proven = rule.run == check_route_exchange || rule.run == check_bmc_access ||
                        rule.run == check_oob_route_to_frontend || rule.run == check_data_fabric_external_links ||
                        rule.run == check_host_forwarding || rule.run == check_pod_forwarding ||
                        rule.run == check_static_routes_between_fabrics || rule.run == check_vrf_route_imports ||
                        rule.run == check_interface_vrf || rule.run == check_bgp_between_fabrics ||
                        rule.run == check_management_vrf;
    if (!proven) continue;
    ++seen;
    const ExampleSet bad(rule.example, true);
    const auto findings = bad.run();
    ASSERT_FALSE(findings.empty()) << rule.id;
    EXPECT_GE(findings.front().related.size(), 3U) << rule.id;
    const auto& related = findings.front().related;
    const bool line = std::any_of(related.begin(), related.end(), [&](const Finding::Related& hop) {
      return hop.place.file == findings.front().place.file && hop.place.line == findings.front().place.line;
    });
    EXPECT_TRUE(line) << rule.id;
  }
  EXPECT_GE(seen, 11);  // each of the eleven predicates above belongs to a rule
}

}  // namespace
}  // namespace weft::check
