// End-to-end tests of `weft sim life`, `compare` and `sweep`: their output and files, how they reject a job that cannot
// run, and commonly quoted figures about training clusters.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/test_places.h"
#include "program.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::Words;

// A text with some parts replaced; each must occur.
struct Edit {
  std::string from;
  std::string to;
};
std::string edited(std::string text, const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    const std::size_t at = text.find(edit.from);
    EXPECT_NE(at, std::string::npos) << edit.from;
    if (at != std::string::npos) text.replace(at, edit.from.size(), edit.to);
  }
  return text;
}

// Plain data parallelism, entirely on the backend: nothing overlaps with the gradient reduction.
const std::string kDataJob =
    "job: 1\nname: plain\npool: train\nnodes: 8\ncommand: [train.py]\ntraining:\n  model: llama-3.1-8b\n"
    "  sequence: 4096\n  global_batch: 64\n  micro_batch: 1\n  parallel: {tensor: 1}\n  overlap: {data: false}\n"
    "  steps: 1000\n  data: {volume: datasets}\n  checkpoint: {volume: checkpoints, interval: 30m}\n";

class LifeTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("life"); }

  static Outcome sim(Words words) {
    words.insert(words.begin(), {weft_binary(), "sim"});
    return run(words);
  }
  static Json json(Words words) {
    words.insert(words.end(), {"-o", "json"});
    const Outcome outcome = sim(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  static Json life(const std::string& cluster, const std::string& job, const Words& more = {}) {
    Words words{"life", cluster, job};
    words.insert(words.end(), more.begin(), more.end());
    return json(words);
  }
  static std::string example(const std::string& name) { return source_dir() + "/examples/" + name; }
  static std::string pod() { return example("pod32.yaml"); }
  static std::string job() { return example("llama-70b.job.yaml"); }
  static std::string pod_with(const std::string& name, const std::vector<Edit>& edits) {
    return file(name, edited(contents(pod()), edits));
  }
  static std::string job_with(const std::string& name, const std::vector<Edit>& edits) {
    return file(name, edited(contents(job()), edits));
  }
  static void expect_refused(const std::string& cluster, const std::string& path, const std::string& problem,
                             const std::string& help) {
    const Outcome outcome = sim({"life", cluster, path});
    EXPECT_EQ(outcome.code, 2) << problem;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr(problem));
    EXPECT_THAT(outcome.err, HasSubstr(help));
    EXPECT_THAT(outcome.err, StartsWith(path + ":"));
  }
  // The call with this name that moves the most data.
  static Json call(const Json& result, const std::string& what) {
    Json most;
    for (const Json& row : result["communication"]) {
      if (row["what"] == what && (most.is_null() || row["total_s"] > most["total_s"])) most = row;
    }
    EXPECT_FALSE(most.is_null()) << what;
    return most;
  }
};

double number(const Json& value) { return value.is_number() ? value.get<double>() : NAN; }

// NVIDIA's DGX Cloud benchmarking recipes list 14.61 s per step for this job (NVIDIA/dgxc-benchmarking v25.02, 64 H100,
// BF16).
constexpr double kPublishedStep = 14.61;

TEST_F(LifeTest, FiveStatesAndPartsThatAddUp) {
  const Json result = life(pod(), job());
  ASSERT_EQ(result["kind"], "life");
  std::vector<std::string> names;
  double end = 0;
  for (const Json& state : result["states"]) {
    names.push_back(state["name"]);
    EXPECT_NEAR(number(state["start_s"]), end, 1e-6);
    end = number(state["start_s"]) + number(state["duration_s"]);
  }
  EXPECT_THAT(names, ElementsAre("Submit, schedule, pods running", "NCCL bootstrap", "Data ingest and forward pass",
                                 "Backward pass and gradient reduction", "Optimizer, checkpoint, loop"));
  double sum = 0;
  double whole = 0;
  for (const Json& part : result["step_parts"]) {
    (part["part"] == "step" ? whole : sum) += number(part["time_s"]);
  }
  EXPECT_NEAR(sum, whole, 1e-6 * whole);
  // The three states of an iteration add up to the step.
  double iteration = 0;
  for (std::size_t i = 2; i < 5; ++i) iteration += number(result["states"][i]["duration_s"]);
  EXPECT_NEAR(iteration, whole, 1e-6 * whole);
  EXPECT_NEAR(number(result["figures"]["step_s"]), kPublishedStep, 0.1 * kPublishedStep);
  EXPECT_NEAR(number(result["figures"]["tokens_per_s"]) * number(result["figures"]["step_s"]), 128 * 8192, 1);
  EXPECT_EQ(number(result["states"][0]["backend_bytes"]), 0);
  EXPECT_EQ(result["verdict"]["bound_by"], "compute");
  EXPECT_EQ(result["changes"][0]["how"], "training.precision: fp8");
}

TEST_F(LifeTest, VerdictNeedsNoWhatIf) {
  const Json result = life(pod(), job(), {"--no-what-if"});
  EXPECT_EQ(result["verdict"]["bound_by"], "compute");
  EXPECT_FALSE(result.contains("changes") && !result["changes"].empty());
}

// A run of several years: picoseconds would overflow after 106 days.
TEST_F(LifeTest, LongRunsAreCountedToTheirEnd) {
  for (const double steps : {1e6, 1e9}) {
    const std::string text = edited(contents(job()), {{"steps: 100000", fmt::format("steps: {:.0f}", steps)}});
    const Json result = life(pod(), file("long.yaml", text), {"--no-what-if", "--fidelity", "analytic"});
    double step = 0;
    for (const Json& part : result["step_parts"]) {
      if (part["part"] == "step") step = part["time_s"].get<double>();
    }
    ASSERT_GT(step, 1);
    const double run_time = result["figures"]["run_time_s"].get<double>();
    const double longest = 9.223372036854775e9;  // 2^63 ns
    EXPECT_NEAR(run_time / std::min(longest, step * steps), 1, 0.001) << steps;
    EXPECT_NEAR(result["tail"]["millisecond_over_run_s"].get<double>(), steps / 1000, 1);
  }
}

TEST_F(LifeTest, TheSameBytesEveryTimeAndWithTwoThreads) {
  const Outcome once = sim({"life", pod(), job()});
  ASSERT_EQ(once.code, 0) << once.err;
  EXPECT_THAT(once.err, IsEmpty());
  EXPECT_EQ(sim({"life", pod(), job()}).out, once.out);
  EXPECT_EQ(sim({"life", pod(), job(), "--threads", "2"}).out, once.out);
  EXPECT_NE(sim({"life", pod(), job(), "--seed", "2"}).out, once.out);
}

TEST_F(LifeTest, PageAndTrace) {
  const std::string page = (folder_ / "life.html").string();
  const std::string trace = (folder_ / "life.json").string();
  const Outcome outcome = sim({"life", pod(), job(), "--no-what-if", "--page", page, "--trace", trace});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const std::string html = contents(page);
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>"));
  for (const char* state : {"Submit, schedule, pods running", "NCCL bootstrap", "Data ingest and forward pass",
                            "Backward pass and gradient reduction", "Optimizer, checkpoint, loop"}) {
    EXPECT_THAT(html, HasSubstr(state));
  }
  const Json parsed = Json::parse(contents(trace), nullptr, false);
  ASSERT_TRUE(parsed.is_object());
  std::size_t complete = 0;
  for (const Json& event : parsed["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++complete;
    ASSERT_GE(number(event["dur"]), 0);
    ASSERT_GE(number(event["ts"]), 0);
  }
  EXPECT_GT(complete, 1000U);  // 64 micro-batches forward and backward through 20 chunks
}

TEST_F(LifeTest, AllFidelitiesSideBySide) {
  const Json result = life(pod(), job(), {"--fidelity", "all", "--no-what-if"});
  ASSERT_EQ(result["fidelities"].size(), 3U);
  std::vector<std::string> names;
  for (const Json& row : result["fidelities"]) {
    names.push_back(row["fidelity"]);
    // A rail-optimized fabric without oversubscription: hardly any difference.
    EXPECT_NEAR(number(row["difference_percent"]), 0, 2);
  }
  EXPECT_THAT(names, ElementsAre("analytic", "flow", "packet"));
}

TEST_F(LifeTest, JobsThatCannotRunGetASuggestion) {
  expect_refused(pod(), job_with("tensor.yaml", {{"tensor: 4", "tensor: 3"}}), "3 does not divide 64 heads",
                 "these do: 1, 2, 4, 8");
  expect_refused(pod(), job_with("nodes.yaml", {{"nodes: 8", "nodes: 7"}}), "= 32 does not divide 56 GPUs",
                 "nodes: 4 or 8 would fit");
  expect_refused(pod(), job_with("interleave.yaml", {{"interleave: 5", "interleave: 7"}}),
                 "7 does not divide 20 layers of a stage", "these do: 1, 2, 4, 5, 10, 20");
  expect_refused(pod(), job_with("model.yaml", {{"llama-3.1-70b\n", "lama-3.1-70b\n"}}), "unknown model `lama-3.1-70b`",
                 "did you mean `llama-3.1-70b`?");
  expect_refused(pod(), job_with("family.yaml", {{"llama-3.1-70b\n", "gpt3-9000b\n"}}), "unknown model `gpt3-9000b`",
                 "gpt3-");
  expect_refused(pod(), job_with("many.yaml", {{"nodes: 8", "nodes: 40"}}), "40 servers requested", "at most 31");
  expect_refused(pod(), job_with("batch.yaml", {{"global_batch: 128", "global_batch: 127"}}),
                 "a global batch of 127 sequences does not divide", "global_batch: 126 or 128");
  expect_refused(pod(), job_with("expert.yaml", {{"context: 2", "expert: 2"}}), "has no experts to distribute",
                 "expert: 1");
  expect_refused(pod(), job_with("key.yaml", {{"micro_batch: 1", "micro_bach: 1"}}), "unknown key `micro_bach`",
                 "did you mean `micro_batch`?");
  expect_refused(pod(), file("empty.yaml", ""), "the file is empty", "a job file starts with `job: 1`");
  const std::string whole = contents(job());
  expect_refused(pod(), file("none.yaml", whole.substr(0, whole.find("training:"))),
                 "the job has no `training` section", "training: {model:");
  const std::string old = pod_with("a100.yaml", {{"hgx-h100", "dgx-a100"}, {"speed: 400G", "speed: 200G"}});
  expect_refused(old, job_with("fp8.yaml", {{"precision: bf16", "precision: fp8"}}), "has no FP8 units",
                 "precision: bf16");
}

TEST_F(LifeTest, SuggestionsForMemoryFit) {
  const Edit large{"tensor: 4, pipeline: 4, interleave: 5, context: 2", "tensor: 8"};
  const std::string path = job_with("large.yaml", {large});
  const Outcome refused = sim({"life", pod(), path, "--memory", "refuse"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("error: may be out of memory: a GPU of stage 0 needs"));
  const std::string lead = "one of these would fit: ";
  const std::size_t at = refused.err.find(lead);
  ASSERT_NE(at, std::string::npos) << refused.err;
  std::string ways = refused.err.substr(at + lead.size());
  ways = ways.substr(0, ways.find('\n')) + "; ";
  std::size_t tried = 0;
  for (std::size_t next = 0; (next = ways.find("; ")) != std::string::npos; ways.erase(0, next + 2)) {
    const std::string way = ways.substr(0, next);
    const bool split = way.rfind("pipeline:", 0) == 0 || way.rfind("tensor:", 0) == 0 || way.rfind("context:", 0) == 0;
    std::string text = edited(contents(job()), {large});
    text = split ? edited(text, {{"tensor: 8", way.rfind("tensor:", 0) == 0 ? way : "tensor: 8, " + way}})
                 : edited(text, {{"  steps:", "  " + way + "\n  steps:"}});
    const Json result = life(pod(), file("fits.yaml", text), {"--no-what-if", "--memory", "refuse"});
    EXPECT_GT(number(result["figures"]["tokens_per_s"]), 0) << way;
    ++tried;
  }
  EXPECT_GE(tried, 2U);
}

// 70.6 billion parameters over 8 GPUs: weights and gradients take 2 + 4 bytes of 8.8 billion, 53 GB, or 35 with
// gradients in bf16; whether the job fits in 80 GB depends on that. Over 4 GPUs they take at least 71 GB, which does
// not fit with 20 GB of activations.
TEST_F(LifeTest, MemoryChecks) {
  const std::string split = "tensor: 4, pipeline: 4, interleave: 5, context: 2";
  const std::string open = job_with("open.yaml", {{split, "tensor: 8"}});
  const Outcome warned = sim({"life", pod(), open, "--no-what-if", "--fidelity", "all", "-o", "json"});
  EXPECT_EQ(warned.code, 0);
  const std::string message = "may be out of memory: a GPU of stage 0 needs";
  const std::size_t at = warned.err.find(message);
  ASSERT_NE(at, std::string::npos) << warned.err;
  EXPECT_EQ(warned.err.find(message, at + 1), std::string::npos);  // once, not once per fidelity
  EXPECT_THAT(warned.out, HasSubstr(message));                     // in the notes
  const Outcome ignored = sim({"life", pod(), open, "--no-what-if", "--fidelity", "analytic", "--memory", "ignore"});
  EXPECT_EQ(ignored.code, 0);
  EXPECT_THAT(ignored.err, Not(HasSubstr("memory")));
  EXPECT_THAT(ignored.out, HasSubstr("may be out of memory"));
  const std::string certain = job_with("certain.yaml", {{split, "tensor: 4, context: 2"}});
  const Outcome refused = sim({"life", pod(), certain, "--fidelity", "analytic"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("error: out of memory"));
  EXPECT_EQ(sim({"life", pod(), certain, "--no-what-if", "--fidelity", "analytic", "--memory", "ignore"}).code, 0);
  EXPECT_EQ(sim({"life", pod(), certain, "--memory", "never"}).code, 2);
}

// "The backend is dark ~70 % of the time", and at line rate while gradients are reduced.
TEST_F(LifeTest, ClaimBackendIsDarkButForTheReduction) {
  const Json split = life(pod(), job(), {"--no-what-if"});
  EXPECT_GT(number(split["figures"]["backend_dark_percent"]), 70);
  const Json plain = life(pod(), file("plain.yaml", kDataJob), {"--no-what-if"});
  // The exact share depends on batch size and overlap; it is dark most of the time.
  EXPECT_GT(number(plain["figures"]["backend_dark_percent"]), 50);
  const Json& backward = plain["states"][3];
  EXPECT_GT(number(backward["backend_peak_percent"]), 80) << "reduce-scatter reaches 0.9 of what all-reduce does";
  EXPECT_LT(number(backward["backend_percent"]), 40);
  // It is dark during submission and in the optimizer.
  EXPECT_EQ(number(plain["states"][0]["backend_bytes"]), 0);
  EXPECT_EQ(number(plain["states"][4]["backend_bytes"]), 0);
  std::printf("claim: backend dark %.1f %% (tensor and pipeline), %.1f %% (data); state 4 peak %.1f %%\n",
              number(split["figures"]["backend_dark_percent"]), number(plain["figures"]["backend_dark_percent"]),
              number(backward["backend_peak_percent"]));
}

// "Why is GPU utilization at 40 %? Because the storage fabric can't feed the GPUs." Samples have the mean size of
// MLPerf Storage's 3D U-Net, 146.6 MB; one storage server holds them where three are needed. The number of servers is
// chosen so that the read demand is about 2.5 times the supply: this shows that the cause is found and that its fix
// works.
TEST_F(LifeTest, ClaimStarvedGpusComputeFortyPercent) {
  const Edit few{"{name: store, role: storage, server: storage-nvme-2u, count: 12",
                 "{name: store, role: storage, server: storage-nvme-2u, count: 1"};
  const std::string images =
      file("images.yaml", edited(kDataJob, {{"nodes: 8", "nodes: 13"},
                                            {"llama-3.1-8b", "llama-3.2-1b"},
                                            {"global_batch: 64", "global_batch: 104"},
                                            {"overlap: {data: false}", "overlap: {data: true}"},
                                            {"{volume: datasets}", "{volume: datasets, sample: 146.6MB}"}}));
  const Json starved = life(pod_with("starved.yaml", {few}), images);
  const double before = number(starved["figures"]["gpu_utilisation_percent"]);  // JSON key (words: allow)
  EXPECT_NEAR(before, 40, 5);
  EXPECT_EQ(starved["verdict"]["bound_by"], "storage reads");
  EXPECT_THAT(starved["verdict"]["because"].get<std::string>(), HasSubstr("GPUs need"));
  ASSERT_FALSE(starved["changes"].empty());
  const std::string how = starved["changes"][0]["how"];
  const std::string key = "pools.store.count: ";
  ASSERT_THAT(how, StartsWith(key));
  Edit enough = few;
  enough.to.replace(enough.to.rfind('1'), 1, how.substr(key.size()));
  const Json fed = life(pod_with("fed.yaml", {enough}), images);
  EXPECT_GT(number(fed["figures"]["gpu_utilisation_percent"]), 85);  // JSON key (words: allow)
  EXPECT_NE(fed["verdict"]["bound_by"], "storage reads");
  // The change was simulated: the predicted step time matches.
  EXPECT_NEAR(number(starved["changes"][0]["step_s"]), number(fed["figures"]["step_s"]),
              0.02 * number(fed["figures"]["step_s"]));
  std::printf("claim: GPUs compute %.1f %% when starved; with %s %.1f %%\n", before, how.c_str(),
              number(fed["figures"]["gpu_utilisation_percent"]));  // JSON key (words: allow)
}

// "Standard TCP/IP networking kills throughput by 30-60 %": true at 100 Gb/s, where one connection reaches 42 Gb/s. At
// 400 Gb/s one connection loses far more, and four of them restore the same share.
TEST_F(LifeTest, ClaimSocketsInsteadOfRdma) {
  const std::string plain = file("sockets.yaml", kDataJob);
  const auto loss = [&](const std::string& cluster, const Words& more, bool whole) {
    Words tcp{"--no-what-if", "--transport", "tcp"};
    tcp.insert(tcp.end(), more.begin(), more.end());
    const Json fast = life(cluster, plain, {"--no-what-if"});
    const Json slow = life(cluster, plain, tcp);
    if (whole) return 100 * (1 - number(slow["figures"]["tokens_per_s"]) / number(fast["figures"]["tokens_per_s"]));
    const std::string what = "gradient reduce-scatter";
    return 100 * (1 - number(call(slow, what)["busbw_gb_per_s"]) / number(call(fast, what)["busbw_gb_per_s"]));
  };
  const std::string slow = pod_with("gbe100.yaml", {{"hgx-h100", "dgx-a100"}, {"speed: 400G", "speed: 100G"}});
  const double at_100 = loss(slow, {}, false);
  EXPECT_GT(at_100, 30);
  EXPECT_LT(at_100, 60);
  const double job_100 = loss(slow, {}, true);
  EXPECT_GT(job_100, 25);
  EXPECT_LT(job_100, 60);
  const double at_400 = loss(pod(), {}, false);
  EXPECT_NEAR(at_400, 100 * (1 - 42.0 / 400), 3);
  EXPECT_NEAR(loss(pod(), {"--fidelity", "analytic"}, false), at_400, 2);
  const double four = loss(pod(), {"--queue-pairs", "4"}, false);
  EXPECT_NEAR(four, 100 * (1 - 4 * 42.0 / 400), 5);
  std::printf("claim: sockets cost %.1f %% of busbw at 100 Gb/s (job %.1f %%), %.1f %% at 400 Gb/s, %.1f %% with 4\n",
              at_100, job_100, at_400, four);
}

// Rings of contiguous servers cross between units with one flow per rail; pipeline messages and all-to-all with all.
TEST_F(LifeTest, ClaimOversubscriptionSlowsTrafficBetweenUnits) {
  const Edit units{"count: 32, per_rack: 3, unit: 32, spares: 1", "count: 64, per_rack: 3, unit: 8, spares: 0"};
  const Edit spines{"spines: 4, ", ""};
  const std::string full = pod_with("full.yaml", {units, spines});
  const std::string thin = pod_with("thin.yaml", {units, spines, {"oversubscription: 1:1", "oversubscription: 4:1"}});
  const std::string wide = job_with(
      "wide.yaml", {{"nodes: 8", "nodes: 64"},
                    {"global_batch: 128", "global_batch: 512"},
                    {"tensor: 4, pipeline: 4, interleave: 5, context: 2", "tensor: 8, pipeline: 4, interleave: 5"}});
  const Words flow{"--fidelity", "flow", "--no-what-if", "--quiet"};
  const auto ratio = [&](const Json& one, const Json& four, const std::string& what) {
    return number(call(four, what)["time_us"]) / number(call(one, what)["time_us"]);
  };
  const Json one = life(full, wide, flow);
  const Json four = life(thin, wide, flow);
  const double ring = ratio(one, four, "gradient reduce-scatter");
  const double sends = ratio(one, four, "pipeline send");
  EXPECT_LT(ring, 1.05);
  EXPECT_GT(sends, 1.5);
  EXPECT_GT(number(four["figures"]["step_s"]), number(one["figures"]["step_s"]));
  const std::string experts = job_with(
      "experts.yaml", {{"nodes: 8", "nodes: 64"},
                       {"model: llama-3.1-70b", "model: qwen3-235b-a22b"},
                       {"sequence: 8192", "sequence: 4096"},
                       {"global_batch: 128", "global_batch: 512"},
                       {"tensor: 4, pipeline: 4, interleave: 5, context: 2", "tensor: 4, pipeline: 2, expert: 128"},
                       {"  steps:", "  recompute: full\n  steps:"}});
  const double dispatch = ratio(life(full, experts, flow), life(thin, experts, flow), "expert dispatch");
  EXPECT_GT(dispatch, 1.2);
  std::printf("claim: 4:1 against 1:1: gradients x%.2f, pipeline sends x%.2f, expert all-to-all x%.2f; step %+.1f %%\n",
              ring, sends, dispatch, 100 * (number(four["figures"]["step_s"]) / number(one["figures"]["step_s"]) - 1));
}

TEST_F(LifeTest, SweepResumesAndMarksTheBest) {
  const std::string results = (folder_ / "points.ndjson").string();
  const Words sweep{"sweep",
                    pod(),
                    job(),
                    "--set",
                    "job.training.parallel.tensor=2,4",
                    "--set",
                    "job.training.precision=bf16,fp8",
                    "--fidelity",
                    "analytic",
                    "--results",
                    results};
  const Outcome first = sim(sweep);
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.out, HasSubstr("\n*       4        fp8"));
  EXPECT_THAT(first.out, HasSubstr("* best by tokens_per_s"));
  EXPECT_THAT(first.out, HasSubstr("out of memory"));  // tensor 2
  const std::string lines = contents(results);
  const Outcome second = sim(sweep);
  EXPECT_THAT(second.err, HasSubstr("4 of 4 points are already in " + results));
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(contents(results), lines);
  Words alone = sweep;
  alone.insert(alone.end(), {"--point", "3"});
  EXPECT_EQ(sim(alone).code, 0);
  EXPECT_EQ(contents(results), lines);  // it is there
  // A different option gives different points, and reaches the tasks of an array.
  Words sockets = sweep;
  sockets.insert(sockets.end(), {"--transport", "tcp", "--host-limit", "20G"});
  EXPECT_THAT(sim(sockets).err, Not(HasSubstr("already")));
  sockets.emplace_back("--slurm");
  const Outcome script = sim(sockets);
  ASSERT_EQ(script.code, 0) << script.err;
  EXPECT_THAT(script.out, StartsWith("#!/bin/bash\n#SBATCH"));
  EXPECT_THAT(script.out, HasSubstr("--array=0-3"));
  EXPECT_THAT(script.out, HasSubstr("--host-limit 20G"));
  EXPECT_EQ(run({"bash", "-n", file("sweep.sbatch", script.out)}).code, 0);
}

TEST_F(LifeTest, CompareReportsTheFaster) {
  const std::string other =
      job_with("other.yaml", {{"precision: bf16", "precision: fp8"}, {"name: llama-70b", "name: llama-fp8"}});
  const Json result = json({"compare", pod(), job(), other});
  EXPECT_THAT(result["comparison"]["why"].get<std::string>(), StartsWith("B is 1."));
  EXPECT_EQ(result["comparison"]["a_bound_by"], "compute");
  const Json turned = json({"compare", pod(), other, pod(), job()});
  EXPECT_THAT(turned["comparison"]["why"].get<std::string>(), HasSubstr("times as fast as"));
  EXPECT_THAT(turned["comparison"]["why"].get<std::string>(), StartsWith("A is 1."));
}

}  // namespace
}  // namespace weft
