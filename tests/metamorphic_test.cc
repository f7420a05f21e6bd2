// Pairs of simulations through the command line that differ in one thing, and the direction in which the answer may
// move: a lost link or a slower one never helps, more bytes take longer, more of what a job waits for does not hurt.
// No figure of weft's own is expected here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/test_places.h"
#include "program.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::Words;

enum class Move { slower, not_faster, not_slower, faster };

struct Edit {
  std::string from;
  std::string to;
};
// One side of a pair.
struct Side {
  std::vector<Edit> cluster;
  std::vector<Edit> job;
  Words options;
};

struct Pair {
  const char* name;
  const char* job;
  Side base;
  Side changed;
  Move move = Move::not_faster;
};

// Data parallel with sharded parameters: everything crosses the backend.
constexpr const char* kSharded =
    "job: 1\nname: sharded\npool: train\nnodes: 8\ncommand: [train.py]\ntraining:\n  model: llama-3.1-8b\n"
    "  sequence: 4096\n  global_batch: 64\n  micro_batch: 1\n  framework: compiled\n  sharding: parameters\n"
    "  steps: 1000\n  data: {volume: datasets}\n  checkpoint: {volume: checkpoints, interval: 30m}\n";
// Tensor parallel inside the servers, stages across them.
constexpr const char* kStages =
    "job: 1\nname: stages\npool: train\nnodes: 8\ncommand: [train.py]\ntraining:\n  model: llama-3.1-70b\n"
    "  sequence: 8192\n  global_batch: 128\n  micro_batch: 1\n  precision: bf16\n"
    "  parallel: {tensor: 8, pipeline: 4}\n  steps: 1000\n";
// Experts across servers.
constexpr const char* kExperts =
    "job: 1\nname: experts\npool: train\nnodes: 16\ncommand: [train.py]\ntraining:\n  model: mixtral-8x7b\n"
    "  sequence: 4096\n  global_batch: 128\n  micro_batch: 1\n  recompute: full\n  sharding: parameters\n"
    "  parallel: {expert: 8, pipeline: 1, tensor: 2}\n  steps: 1000\n";

// Experts over four servers.
constexpr const char* kWideExperts =
    "job: 1\nname: wide\npool: train\nnodes: 8\ncommand: [train.py]\ntraining:\n  model: deepseek-v2\n"
    "  dimensions: {layers: 8}\n  sequence: 4096\n  global_batch: 256\n  micro_batch: 1\n  precision: fp8\n"
    "  parallel: {expert: 32}\n  steps: 1000\n";

class MetamorphicTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("metamorphic"); }

  static std::string edited(std::string text, const std::vector<Edit>& edits) {
    for (const Edit& edit : edits) {
      const std::size_t at = text.find(edit.from);
      EXPECT_NE(at, std::string::npos) << edit.from;
      if (at != std::string::npos) text.replace(at, edit.from.size(), edit.to);
    }
    return text;
  }
  static std::string cluster(const std::vector<Edit>& edits) {
    return file("cluster.yaml", edited(contents(source_dir() + "/examples/pod32.yaml"), edits));
  }

  // Seconds per token of the job; nothing if these servers cannot run it.
  static std::optional<double> life(const char* job, const Side& side) {
    Words words{weft_binary(),  "sim", "life", cluster(side.cluster), file("job.yaml", edited(job, side.job)),
                "--no-what-if", "-o",  "json"};
    words.insert(words.end(), side.options.begin(), side.options.end());
    const Outcome outcome = run(words);
    if (outcome.code == 3) return std::nullopt;
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out, nullptr, false);
    if (json.is_discarded()) return std::nullopt;
    return json["figures"]["step_s"].get<double>() /
           (json["job"]["global_batch"].get<double>() * json["job"]["sequence_tokens"].get<double>());
  }

  // Microseconds of one collective.
  static std::optional<double> nccl(const Side& side) {
    Words words{weft_binary(), "sim", "nccl", cluster(side.cluster), "-o", "json"};
    words.insert(words.end(), side.options.begin(), side.options.end());
    const Outcome outcome = run(words);
    if (outcome.code == 3) return std::nullopt;
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out, nullptr, false);
    if (json.is_discarded()) return std::nullopt;
    return json["collective"].back()["time_us"].get<double>();
  }

  static void expect(const std::string& what, std::optional<double> base, std::optional<double> changed, Move move) {
    ASSERT_TRUE(base.has_value()) << what;
    if (!changed) {
      EXPECT_TRUE(move == Move::slower || move == Move::not_faster) << what << ": the job cannot run";
      return;
    }
    constexpr double kSame = 1e-9;
    const double ratio = *changed / *base;
    switch (move) {
      case Move::slower:
        EXPECT_GT(ratio, 1 + 1e-4) << what;
        break;
      case Move::not_faster:
        EXPECT_GE(ratio, 1 - kSame) << what;
        break;
      case Move::not_slower:
        EXPECT_LE(ratio, 1 + kSame) << what;
        break;
      case Move::faster:
        EXPECT_LT(ratio, 1 - 1e-4) << what;
        break;
    }
  }
};

const std::string kPort = "train001:gpu0>be-train-u001-leaf1";

struct Fault {
  const char* name;
  Words options;
  Move on_rings;  // of jobs and collectives that use all rails
};
std::vector<Fault> faults() {
  return {{"cable", {"--fail", "train001:gpu0"}, Move::slower},
          {"leaf", {"--fail", "be-train-u001-leaf1"}, Move::slower},
          {"spine", {"--fail", "be-spine001"}, Move::not_faster},
          {"two cables", {"--fail", "train001:gpu0", "--fail", "train002:gpu3"}, Move::slower},
          {"server", {"--fail", "train001"}, Move::slower},
          {"slow cable", {"--slow", kPort + "=100G"}, Move::slower},
          {"lossy cable", {"--errors", kPort + "=1e-2"}, Move::slower},
          {"a few lost packets", {"--errors", kPort + "=1e-6"}, Move::not_faster},
          {"MTU", {"--link-mtu", kPort + "=1500"}, Move::slower},
          {"flap", {"--fail", "train001:gpu0@1s", "--restore", "train001:gpu0@2s"}, Move::not_faster}};
}

TEST_F(MetamorphicTest, FaultsNeverSpeedUpAJob) {
  for (const char* fidelity : {"analytic", "flow"}) {
    for (const auto& [job, all_rails] : {std::pair(kSharded, true), {kStages, false}, {kExperts, false}}) {
      Side base;
      base.options = {"--fidelity", fidelity};
      const std::optional<double> before = life(job, base);
      for (const Fault& fault : faults()) {
        Side broken = base;
        broken.options.insert(broken.options.end(), fault.options.begin(), fault.options.end());
        const std::string what = fmt::format("{} {} {}", fidelity, fault.name, std::string(job).substr(7, 14));
        expect(what, before, life(job, broken), all_rails ? fault.on_rings : Move::not_faster);
      }
    }
  }
}

TEST_F(MetamorphicTest, FaultsNeverSpeedUpACollective) {
  for (const char* fidelity : {"analytic", "flow"}) {
    for (const char* op : {"all-reduce", "all-gather", "all-to-all"}) {
      Side base;
      base.options = {"--fidelity",  fidelity, "--op",        op,      "--ranks", "64",
                      "--min-bytes", "256MiB", "--max-bytes", "256MiB"};
      const std::optional<double> before = nccl(base);
      for (const Fault& fault : faults()) {
        Side broken = base;
        broken.options.insert(broken.options.end(), fault.options.begin(), fault.options.end());
        expect(fmt::format("{} {} {}", fidelity, op, fault.name), before, nccl(broken), fault.on_rings);
      }
    }
  }
}

// More faults of a kind are not better than fewer.
TEST_F(MetamorphicTest, MoreFaultsAreNotBetter) {
  std::optional<double> before = life(kSharded, {});
  Words options;
  for (int server = 1; server <= 3; ++server) {
    options.insert(options.end(), {"--fail", fmt::format("train{:03}:gpu{}", server, server)});
    const std::optional<double> now = life(kSharded, {{}, {}, options});
    expect(fmt::format("{} cables", server), before, now, Move::slower);
    before = now;
  }
  before = life(kSharded, {});
  for (const char* loss : {"1e-5", "1e-4", "1e-3", "1e-2", "5e-2"}) {
    const std::optional<double> now = life(kSharded, {{}, {}, {"--errors", fmt::format("{}={}", kPort, loss)}});
    expect(loss, before, now, Move::not_faster);
    before = now;
  }
  before = life(kSharded, {});
  for (const char* rate : {"400G", "200G", "100G", "25G"}) {
    const std::optional<double> now = life(kSharded, {{}, {}, {"--slow", fmt::format("{}={}", kPort, rate)}});
    expect(rate, before, now, Move::not_faster);
    before = now;
  }
}

// Servers without a port cannot run a job: no command shows a step or a time as if they could.
TEST_F(MetamorphicTest, WhatCannotRunIsNotTimed) {
  const std::string pod = cluster({});
  const std::string job = file("job.yaml", kSharded);
  EXPECT_EQ(run({weft_binary(), "sim", "life", pod, job, "--fail", "train001"}).code, 3);
  EXPECT_EQ(run({weft_binary(), "sim", "nccl", pod, "--ranks", "64", "--fail", "train001"}).code, 3);
  const Outcome compared = run({weft_binary(), "sim", "compare", pod, job, job, "--fail", "train001"});
  EXPECT_EQ(compared.code, 3);
  EXPECT_NE(compared.out.find("Failure of A"), std::string::npos) << compared.out;
  const std::string results = file("sweep.ndjson", "");
  const Outcome swept = run({weft_binary(), "sim", "sweep", pod, job, "--set", "job.training.micro_batch=1",
                             "--results", results, "--fail", "train001", "-o", "json"});
  EXPECT_NE((swept.out + swept.err).find("cannot run the job after the faults"), std::string::npos)
      << swept.out << swept.err;
}

// What `sim life` advises for an exchange with experts, bubbles and exposed parameters: set in the job file, it gives
// the step that was promised.
TEST_F(MetamorphicTest, AdviceHoldsWhenItIsFollowed) {
  struct Case {
    const char* job;
    std::vector<Edit> edits;
    const char* how;
    Edit followed;
  };
  const std::vector<Case> cases{
      {kWideExperts, {}, "training.overlap.expert: true", {"steps: 1000", "overlap: {expert: true}"}},
      {kStages,
       {{"global_batch: 128", "global_batch: 16"}, {"precision: bf16", "precision: fp8"}},
       "training.global_batch: 32",
       {"global_batch: 16", "global_batch: 32"}},
      {kSharded,
       {{"framework: compiled", "framework: compiled\n  precision: fp8"}},
       "training.fsdp.reshard: false",
       {"steps: 1000", "steps: 1000\n  fsdp: {reshard: false}"}}};
  for (const Case& one : cases) {
    const std::string text = edited(one.job, one.edits);
    const Outcome outcome =
        run({weft_binary(), "sim", "life", cluster({}), file("job.yaml", text), "--memory", "ignore", "-o", "json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded());
    double promised = 0;
    for (const Json& change : json["changes"]) {
      if (change["how"] == one.how) promised = change["step_s"].get<double>();
    }
    ASSERT_GT(promised, 0) << one.how << " is not in " << json["changes"].dump();
    const Outcome after =
        run({weft_binary(), "sim", "life", cluster({}), file("job.yaml", edited(text, {one.followed})), "--memory",
             "ignore", "--no-what-if", "-o", "json"});
    ASSERT_EQ(after.code, 0) << after.err;
    EXPECT_NEAR(Json::parse(after.out)["figures"]["step_s"].get<double>() / promised, 1, 0.02) << one.how;
  }
}

std::vector<Pair> job_pairs() {
  const Edit whole{"steps: 1000", "recompute: full"};
  return {
      {"longer sequence, per token",
       kStages,
       {{}, {whole}, {}},
       {{}, {whole, {"sequence: 8192", "sequence: 32768"}}, {}},
       Move::slower},
      {"larger model",
       kSharded,
       {{}, {{"micro_batch: 1", "micro_batch: 1\n  recompute: full"}}, {}},
       {{}, {{"micro_batch: 1", "micro_batch: 1\n  recompute: full"}, {"llama-3.1-8b", "llama-3.1-70b"}}, {}},
       Move::slower},
      {"recomputation",
       kSharded,
       {},
       {{}, {{"micro_batch: 1", "micro_batch: 1\n  recompute: full"}}, {}},
       Move::slower},
      {"more micro-batches", kStages, {}, {{}, {{"global_batch: 128", "global_batch: 256"}}, {}}, Move::not_slower},
      {"fewer micro-batches", kStages, {}, {{}, {{"global_batch: 128", "global_batch: 64"}}, {}}, Move::not_faster},
      {"more stages at one batch", kStages, {}, {{}, {{"pipeline: 4", "pipeline: 8"}}, {}}, Move::not_faster},
      {"no overlap of gradients", kStages, {}, {{}, {{"steps: 1000", "overlap: {data: false}"}}, {}}, Move::not_faster},
      {"no overlap of tensor collectives",
       kStages,
       {},
       {{}, {{"steps: 1000", "overlap: {tensor: false}"}}, {}},
       Move::not_faster},
      {"no FlashAttention",
       kStages,
       {{}, {{"steps: 1000", "recompute: full"}}, {}},
       {{}, {{"steps: 1000", "recompute: full\n  attention_kernel: unfused"}}, {}},
       Move::slower},
      {"FP8", kStages, {}, {{}, {{"precision: bf16", "precision: fp8"}}, {}}, Move::faster},
      {"eager", kSharded, {}, {{}, {{"framework: compiled", "framework: eager"}}, {}}, Move::slower},
      {"slower backend", kSharded, {}, {{{"speed: 400G", "speed: 200G"}}, {}, {}}, Move::slower},
      {"more servers, same batch per GPU",
       kSharded,
       {{}, {}, {}},
       {{}, {{"nodes: 8", "nodes: 16"}, {"global_batch: 64", "global_batch: 128"}}, {}},
       Move::faster},
      {"sockets", kSharded, {}, {{}, {}, {"--transport", "tcp"}}, Move::slower},
      {"units of 8 servers, experts", kExperts, {}, {{{"unit: 32", "unit: 8"}}, {}, {}}, Move::not_faster},
      {"units at 4:1, experts",
       kExperts,
       {{{"unit: 32", "unit: 8"}}, {}, {"--fidelity", "analytic"}},
       {{{"unit: 32", "unit: 8"}, {"oversubscription: 1:1", "oversubscription: 4:1"}}, {}, {"--fidelity", "analytic"}},
       Move::not_faster},
      {"units at 4:1, experts, flow",
       kExperts,
       {{{"unit: 32", "unit: 8"}}, {}, {"--fidelity", "flow"}},
       {{{"unit: 32", "unit: 8"}, {"oversubscription: 1:1", "oversubscription: 4:1"}}, {}, {"--fidelity", "flow"}},
       Move::not_faster},
      {"fewer GPUs of the same model",
       kStages,
       {},
       {{}, {{"pipeline: 4", "pipeline: 4"}, {"nodes: 8", "nodes: 4"}}, {}},
       Move::slower},
      {"a copy per expert, not per server",
       kWideExperts,
       {},
       {{}, {{"steps: 1000", "experts: {dispatch: all-to-all}"}}, {}},
       Move::slower},
      {"dispatch in FP8", kWideExperts, {}, {{}, {{"steps: 1000", "experts: {fp8_dispatch: true}"}}, {}}, Move::faster},
      {"experts of a token on one server",
       kWideExperts,
       {},
       {{}, {{"steps: 1000", "experts: {token_servers: 1}"}}, {}},
       Move::faster},
      {"uneven experts", kWideExperts, {}, {{}, {{"steps: 1000", "experts: {imbalance: 30}"}}, {}}, Move::slower},
      {"more uneven experts",
       kWideExperts,
       {{}, {{"steps: 1000", "experts: {imbalance: 30}"}}, {}},
       {{}, {{"steps: 1000", "experts: {imbalance: 60}"}}, {}},
       Move::slower},
      {"overlapped exchange", kWideExperts, {}, {{}, {{"steps: 1000", "overlap: {expert: true}"}}, {}}, Move::faster},
      {"hybrid sharding on a slow backend",
       kSharded,
       {{{"speed: 400G", "speed: 200G"}}, {{"sequence: 4096", "sequence: 1024"}}, {}},
       {{{"speed: 400G", "speed: 200G"}},
        {{"sequence: 4096", "sequence: 1024"},
         {"sharding: parameters", "sharding: parameters\n  parallel: {replicate: 8}"}},
        {}},
       Move::faster},
      {"parameters stay gathered",
       kSharded,
       {},
       {{}, {{"steps: 1000", "fsdp: {reshard: false}"}}, {}},
       Move::not_slower},
      {"no prefetching", kSharded, {}, {{}, {{"steps: 1000", "fsdp: {prefetch: 0}"}}, {}}, Move::not_faster},
      {"gathers in FP8",
       kSharded,
       {{}, {{"steps: 1000", "precision: fp8"}}, {}},
       {{}, {{"steps: 1000", "precision: fp8\n  fsdp: {fp8_gather: true}"}}, {}},
       Move::not_slower},
      {"larger samples",
       kSharded,
       {},
       {{}, {{"data: {volume: datasets}", "data: {volume: datasets, sample: 2GB}"}}, {}},
       Move::not_faster},
      {"slower storage",
       kSharded,
       {{}, {{"data: {volume: datasets}", "data: {volume: datasets, sample: 2GB}"}}, {}},
       {{{"server: storage-nvme-2u, count: 12", "server: storage-nvme-2u, count: 6"}},
        {{"data: {volume: datasets}", "data: {volume: datasets, sample: 2GB}"}},
        {}},
       Move::not_faster},
  };
}

// A GPU with a lower power limit is slower, one with the limit of its datasheet as fast as without.
TEST_F(MetamorphicTest, APowerLimitSlowsAJob) {
  const std::string gpus = contents(source_dir() + "/catalog/gpus.yaml");
  const std::size_t item = gpus.find("  - id: h100-sxm\n");
  ASSERT_NE(item, std::string::npos);
  std::optional<double> before = life(kStages, {});
  for (const auto& [watts, move] :
       {std::pair("700W", Move::not_slower), {"600W", Move::slower}, {"400W", Move::slower}}) {
    std::string changed = gpus;
    changed.insert(changed.find("    tdp: ", item), fmt::format("    power_limit: {}\n", watts));
    const std::optional<double> now = life(kStages, {{}, {}, {"--catalog", file("gpus.yaml", changed)}});
    expect(watts, before, now, move);
    before = now;
  }
}

TEST_F(MetamorphicTest, JobsMoveAsTheyShould) {
  for (const Pair& pair : job_pairs())
    expect(pair.name, life(pair.job, pair.base), life(pair.job, pair.changed), pair.move);
}

}  // namespace
}  // namespace weft
