// weft check over the output of weft render: no findings beyond the design's own, and every mutant that breaks the
// design is found: by a specific rule where one reads the file, otherwise by RN001.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "check/core/checker.h"
#include "render/core/manifest.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_rendered::load_example;
using testing_rendered::Rendering;

constexpr const char* kJob =
    "job: 1\nname: llm\nnodes: 4\nmin_nodes: 2\ncommand: [train.py]\nresume: /checkpoints/latest\n";

// A rendered tree in memory, and the check over it with some of its files changed.
class Tree {
 public:
  explicit Tree(const std::string& example, bool with_job) : rendering_(load_example(example)) {
    if (with_job) rendering_->add_job(kJob);
    for (const render::RenderTarget& target : render::all_targets()) {
      if (!target.applies(rendering_->input())) continue;
      render::MemorySink one;
      target.render(rendering_->input(), one);
      for (auto& [path, file] : one.files) {
        manifest_.files.push_back(render::manifest_entry(file, target.name));
        files_.emplace(path, std::move(file.content));
      }
      manifest_.targets.emplace_back(target.name);
    }
    if (with_job) files_.emplace("jobs/llm.job.yaml", kJob);
    render::finish(manifest_, rendering_->cluster());
  }

  [[nodiscard]] const std::map<std::string, std::string>& files() const { return files_; }
  [[nodiscard]] const model::Cluster& cluster() const { return rendering_->cluster(); }

  // Rules that fire ("RN001 path" where a file of the tree is concerned), with some files changed.
  using Edits = std::map<std::string, std::string>;
  [[nodiscard]] std::multiset<std::string> check(const Edits& edits, bool drift) const {
    Sources sources;
    config::ConfigSet config;
    config::ConfigSet::Tree tree;
    tree.folder = "out/";
    tree.manifest = sources.add("out/manifest.json", render::write_manifest(manifest_));
    for (const auto& [name, content] : files_) {
      const auto edit = edits.find(name);
      config::read_config_text("out/" + name, edit != edits.end() ? edit->second : content, sources, config,
                               config.problems, {}, &tree);
    }
    config.trees.push_back(std::move(tree));
    const check::CheckInput input(&rendering_->cluster(), config, sources, false);
    check::CheckOptions options;
    options.today = "2026-11-15";
    if (!drift) options.skip = {"RN"};
    std::multiset<std::string> found;
    for (const check::Finding& finding : check::run_checks(input, options).findings) {
      const bool drifted = finding.rule->id == "RN001";
      found.insert(std::string(finding.rule->id) + (drifted ? " " + sources.path(finding.place.file) : ""));
    }
    return found;
  }
  // Findings of the design alone.
  [[nodiscard]] std::multiset<std::string> design() const {
    const config::ConfigSet config;
    const Sources sources;
    const check::CheckInput input(&rendering_->cluster(), config, sources, false);
    check::CheckOptions options;
    options.today = "2026-11-15";
    std::multiset<std::string> found;
    for (const check::Finding& finding : check::run_checks(input, options).findings)
      found.insert(std::string(finding.rule->id));
    return found;
  }

 private:
  std::unique_ptr<Rendering> rendering_;
  std::map<std::string, std::string> files_;
  render::Manifest manifest_;
};

class RenderedExample : public ::testing::TestWithParam<const char*> {};

TEST_P(RenderedExample, AddsNothingToTheDesignsFindings) {
  const bool with_job = std::string(GetParam()) == "pod16.yaml";
  const Tree tree(GetParam(), with_job);
  EXPECT_EQ(tree.check({}, true), tree.design());
}

INSTANTIATE_TEST_SUITE_P(Examples, RenderedExample,
                         ::testing::Values("pod16.yaml", "pod32.yaml", "nexus8.yaml", "superpod-h100-4su.yaml"));

const Tree& pod16() {
  static const Tree tree("pod16.yaml", true);
  return tree;
}

// Common mistakes, each in a file that some rule reads: found without comparing with the rendered tree.
struct Mistake {
  const char* path;
  const char* from;
  const char* to;
};
// A gateway in the wrong subnet is not included: no rule reads that, only RN001 finds it.
const Mistake kMistakes[] = {
    {"sonic/be-train-u001-leaf1/config_db.json", "\"26\": \"3\"", "\"26\": \"0\""},
    {"sonic/be-train-u001-leaf1/config_db.json", "\"pfc_enable\": \"3\"", "\"pfc_enable\": \"4\""},
    {"sonic/be-train-u001-leaf1/config_db.json", "\"mtu\": \"9216\"", "\"mtu\": \"1500\""},
    {"sonic/be-spine001/config_db.json", "\"ecn\": \"ecn_all\"", "\"ecn\": \"ecn_none\""},
    {"sonic/be-spine001/config_db.json", "\"speed\": \"400000\"", "\"speed\": \"100000\""},
    {"sonic/be-spine001/config_db.json", "\"POLL_INTERVAL\": \"400\"", "\"POLL_INTERVAL\": \"1000\""},
    {"nvue/sto-train-u001-leaf1/commands.nv", "switch-priority 4", "switch-priority 0"},
    {"nxos/oob-leaf001.cfg", "switchport access vlan 999", "switchport access vlan 1"},
    {"nxos/oob-leaf001.cfg", "deny ip any any log", "permit ip any any"},
    {"slurm/slurm.conf", "SelectType=select/cons_tres", "SelectType=select/linear"},
    {"slurm/slurm.conf", "Gres=gpu:h100:8", "Gres=gpu:h100:4"},
    {"slurm/cgroup.conf", "ConstrainDevices=yes", "ConstrainDevices=no"},
    {"slurm/llm.sbatch", "NCCL_IB_TC=106", "NCCL_IB_TC=0"},
    {"host/train/sysctl.d/90-weft.conf", "rp_filter = 2", "rp_filter = 1"},
};

TEST(RenderedMutants, RulesFindCommonMistakes) {
  for (const Mistake& mistake : kMistakes) {
    ASSERT_TRUE(pod16().files().contains(mistake.path)) << mistake.path;
    std::string text = pod16().files().at(mistake.path);
    const std::size_t at = text.find(mistake.from);
    ASSERT_NE(at, std::string::npos) << mistake.path << ": " << mistake.from;
    text.replace(at, std::string(mistake.from).size(), mistake.to);
    EXPECT_FALSE(pod16().check({{mistake.path, text}}, false).empty()) << mistake.path << ": " << mistake.to;
  }
}

bool is_comment(std::string_view path, std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos) return true;
  const char c = line[first];
  if (c == '#') return !line.substr(first).starts_with("#SBATCH") && !line.starts_with("#!");
  if (path.ends_with("frr.conf") && (c == '!' || line.substr(first) == "exit")) return true;
  return c == '!' && path.ends_with(".cfg");
}

// One line of a file changed: a digit, or the line removed.
std::string mutated(const std::string& text, std::size_t begin, std::size_t end, bool take_out) {
  std::string out = text;
  if (take_out) {
    out.erase(begin, end - begin + 1);
    return out;
  }
  const std::size_t digit = out.find_first_of("123456789", begin);
  if (digit == std::string::npos || digit >= end) return text;
  out[digit] = out[digit] == '9' ? '8' : static_cast<char>(out[digit] + 1);
  return out;
}

// Start and end of lines with content.
std::vector<std::pair<std::size_t, std::size_t>> telling_lines(const std::string& path, const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const bool layout = line.find_first_not_of(" \t{}[],-;") == std::string_view::npos;
    if (!layout && !is_comment(path, line)) lines.emplace_back(begin, end);
    begin = end + 1;
  }
  return lines;
}

// One arbitrary line of every file is changed: it is found in this file and in no other.
TEST(RenderedMutants, AnyChangedLineOfAnyFileIsFound) {
  RandomStream random(3, "mutants");
  std::size_t tried = 0;
  for (int round = 0; round < 6; ++round) {
    Tree::Edits edits;
    std::multiset<std::string> wanted;
    std::map<std::string, std::string> changed_lines;
    for (const auto& [path, text] : pod16().files()) {
      const auto lines = telling_lines(path, text);
      if (path.starts_with("jobs/") || lines.empty()) continue;
      const auto [begin, end] = lines[random.below(lines.size())];
      std::string changed = mutated(text, begin, end, random.below(2) == 0);
      if (changed == text) continue;
      wanted.insert("RN001 out/" + path);
      changed_lines["RN001 out/" + path] = text.substr(begin, end - begin);
      edits.emplace(path, std::move(changed));
      ++tried;
    }
    const auto found = pod16().check(edits, true);
    for (const std::string& one : wanted) EXPECT_TRUE(found.contains(one)) << one << ": " << changed_lines[one];
    for (const std::string& one : found) {
      if (one.starts_with("RN001")) {
        EXPECT_TRUE(wanted.contains(one)) << one;
      }
    }
  }
  std::cout << tried << " mutants of " << pod16().files().size() << " files\n";
  EXPECT_GT(tried, pod16().files().size());
}

}  // namespace
}  // namespace weft
