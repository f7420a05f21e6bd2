// Every key of a job file's `training` section has an effect: two of its values give different results, or one of them
// is refused with a finding.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/test_places.h"
#include "base/yaml.h"
#include "model/load.h"
#include "workload/life/play_life.h"
#include "workload/life/view.h"

namespace weft::workload {
namespace {

// "parallel.tensor" -> "4"
using Keys = std::map<std::string, std::string>;

// Keys with dots as nested mappings.
std::string flow_text(const Keys& keys) {
  std::map<std::string, Keys> groups;
  for (const auto& [path, value] : keys) {
    const std::size_t dot = path.find('.');
    groups[path.substr(0, dot)][dot == std::string::npos ? "" : path.substr(dot + 1)] = value;
  }
  std::string text;
  for (const auto& [name, inner] : groups) {
    const bool leaf = inner.size() == 1 && inner.begin()->first.empty();
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, leaf ? inner.begin()->second : flow_text(inner));
  }
  return "{" + text + "}";
}

struct Key {
  std::string path;
  model::ValueType type;
};

void collect(const model::Schema& schema, const std::string& prefix, std::vector<Key>& keys) {
  for (const model::Field& field : schema.fields()) {
    const std::string path = prefix + std::string(field.key);
    if (field.type.shape == model::ValueType::Shape::record) {
      collect(*field.type.record, path + ".", keys);
    } else {
      keys.push_back({path, field.type});
    }
  }
}

std::vector<std::string> values_of(const Key& key) {
  static const std::map<std::string, std::vector<std::string>> kTexts{{"model", {"llama-3.1-8b", "llama-2-13b"}},
                                                                      {"data.volume", {"datasets", "images"}},
                                                                      {"data.sample", {"1MB", "8GB"}},
                                                                      {"data.decode", {"1us", "100s"}},
                                                                      {"checkpoint.volume", {"checkpoints", "copies"}},
                                                                      {"checkpoint.second", {"checkpoints", "copies"}},
                                                                      {"checkpoint.interval", {"10m", "3h"}},
                                                                      {"checkpoint.size", {"1GB", "10TB"}}};
  if (const auto found = kTexts.find(key.path); found != kTexts.end()) return found->second;
  if (key.type.shape == model::ValueType::Shape::choice) return key.type.choices;
  if (key.type.shape == model::ValueType::Shape::boolean) return {"true", "false"};
  return {"0", "1", "2", "3", "4", "8", "16", "32", "64", "128", "512", "2048", "4096", "8192", "1000000"};
}

// Jobs that differ in the parts of the model that they use.
std::vector<Keys> jobs() {
  const Keys pipeline{{"model", "llama-3.1-8b"},  {"global_batch", "64"},        {"parallel.tensor", "2"},
                      {"parallel.pipeline", "4"}, {"parallel.interleave", "2"},  {"data.volume", "datasets"},
                      {"data.sample", "32kB"},    {"checkpoint.interval", "1h"}, {"checkpoint.volume", "checkpoints"}};
  Keys uneven = pipeline;
  uneven["dimensions.layers"] = "31";
  uneven["parallel.interleave"] = "1";
  uneven["parallel.context"] = "2";
  const Keys heavy_reads{{"model", "llama-3.1-8b"},  {"sharding", "parameters"}, {"framework", "compiled"},
                         {"data.sample", "8GB"},     {"data.samples", "1000"},   {"data.decode", "10s"},
                         {"data.volume", "datasets"}};
  const Keys mixture{{"model", "mixtral-8x7b"}, {"parallel.expert", "8"}, {"global_batch", "256"}};
  const Keys latent{
      {"model", "deepseek-v2"}, {"dimensions.layers", "4"}, {"parallel.expert", "8"}, {"global_batch", "64"}};
  const Keys wide{{"model", "deepseek-v2"}, {"dimensions.layers", "4"}, {"parallel.expert", "16"},
                  {"parallel.tensor", "2"}, {"global_batch", "64"},     {"experts.imbalance", "10"}};
  const Keys sharded{{"model", "llama-3.1-8b"},
                     {"sharding", "parameters"},
                     {"precision", "fp8"},
                     {"global_batch", "32"},
                     {"framework", "compiled"}};
  const Keys custom{{"dimensions.layers", "8"}, {"dimensions.hidden", "1024"}, {"dimensions.heads", "16"},
                    {"dimensions.ffn", "4096"}, {"dimensions.vocab", "32000"}, {"global_batch", "64"}};
  // Short steps that read many files.
  const Keys small{{"dimensions.layers", "2"}, {"dimensions.hidden", "256"}, {"dimensions.heads", "4"},
                   {"dimensions.ffn", "512"},  {"dimensions.vocab", "1000"}, {"sequence", "128"},
                   {"micro_batch", "256"},     {"global_batch", "65536"},    {"data.sample", "1kB"},
                   {"data.volume", "images"},  {"data.samples", "10000000"}};
  Keys in_order = small;
  in_order["data.shuffle"] = "false";
  Keys short_kernels = custom;
  short_kernels["sequence"] = "64";
  return {pipeline, uneven, heavy_reads, mixture, latent, wide, sharded, custom, small, in_order, short_kernels};
}

// pod32 with a second volume of each purpose, one of the two systems with files.
std::string cluster_text() {
  std::string text = read_file(source_dir() + "/examples/pod32.yaml").value();
  const auto edit = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  };
  const std::string datasets = "      - {name: datasets,";
  const std::string checkpoints = "      - {name: checkpoints,";
  edit(datasets, "      - {name: copies, purpose: checkpoint, size: 100TB}\n" + datasets);
  edit(checkpoints, "      - {name: images, purpose: dataset, size: 100TB}\n" + checkpoints);
  edit("  - name: archive\n    kind: nvmeof", "  - name: archive\n    kind: nfs");
  return text;
}

class JobKeysTest : public ::testing::Test {
 protected:
  // All figures of the job's timeline; empty if it is refused.
  static std::string outcome(const Keys& training) {
    Sources sources;
    Diagnostics diagnostics;
    const FileId file = sources.add(
        "job.yaml", fmt::format("job: 1\nname: keys\npool: train\nnodes: 4\ncommand: [train.py]\ntraining: {}\n",
                                flow_text(training)));
    const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
    if (!root) return {};
    std::optional<model::JobSpec> job = model::read_job(*root, diagnostics);
    if (!job) return {};
    model::resolve(*job, cluster(), diagnostics);
    if (diagnostics.has_errors()) return {};
    LifeOptions options;
    options.what_ifs = options.timeline = options.heat_maps = false;
    options.iterations = 1;
    options.memory = MemoryCheck::ignore;
    const std::optional<LifeResult> life = play_life(cluster(), *job, options, diagnostics);
    if (!life) return {};
    OutputStyle style;
    style.format = OutputFormat::json;
    return write(life_document(*life), style);
  }

 private:
  static const model::Cluster& cluster() {
    static const std::unique_ptr<model::Loaded> loaded = model::load_cluster_text("pod32.yaml", cluster_text(), {});
    return *loaded->cluster;
  }
};

bool has_effect(const Key& key, const std::function<std::string(const Keys&)>& outcome) {
  // A wrong number of replicas is refused, so only one value is left. Where layers and output layer divide, the default
  // split gives the same.
  const bool by_refusal = key.path == "parallel.data" || key.path == "parallel.account_for_loss";
  for (const Keys& job : jobs()) {
    std::set<std::string> seen;
    for (const std::string& value : values_of(key)) {
      Keys changed = job;
      changed[key.path] = value;
      std::string result = outcome(changed);
      if (!result.empty() || by_refusal) seen.insert(std::move(result));
      if (seen.size() > 1) return true;
    }
  }
  return false;
}

TEST_F(JobKeysTest, EveryKeyHasAnEffect) {
  for (const Keys& job : jobs()) EXPECT_FALSE(outcome(job).empty()) << flow_text(job);
  std::vector<Key> keys;
  collect(model::schema_of<model::TrainingSpec>(), "", keys);
  EXPECT_GT(keys.size(), 60U);
  for (const Key& key : keys)
    EXPECT_TRUE(has_effect(key, outcome)) << "no value of `" << key.path << "` changes anything";
}

}  // namespace
}  // namespace weft::workload
