// The acceptance scripts checked with a shell, shellcheck and fio, run against mocked servers, and their limits
// compared with published figures.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/test_prerequisites.h"
#include "lab.h"
#include "rendered.h"

namespace weft {
namespace {

using testing_lab::Lab;
using testing_lab::Outcome;
using testing_rendered::load_example;
using testing_rendered::load_rendering;
using testing_rendered::Rendering;

std::unique_ptr<Rendering> rendered(const std::string& example) {
  auto out = load_example(example);
  out->render("acceptance");
  return out;
}

std::vector<std::string> cells_of(const std::string& table, const std::string& row) {
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream words(line);
    for (std::string cell; std::getline(words, cell, '\t');) cells.push_back(cell);
    if (!cells.empty() && cells[0] == row) return cells;
  }
  return {};
}

class Acceptance : public ::testing::TestWithParam<const char*> {};

TEST_P(Acceptance, ScriptsAreShell) {
  for (const char* program : {"bash", "dash", "shellcheck"}) WEFT_NEEDS_PROGRAM(program);
  const auto rendering = rendered(GetParam());
  Lab lab("scripts");
  rendering->write_to(lab.folder());
  int scripts = 0;
  for (const auto& [path, file] : rendering->sink.files) {
    if (!path.ends_with(".sh")) continue;
    EXPECT_EQ(lab.run({"bash", "-n", path}, 20, true).code, 0) << path;
    EXPECT_EQ(lab.run({"dash", "-n", path}, 20, true).code, 0) << path;
    const Outcome checked = lab.run({"shellcheck", path}, 60, true);
    EXPECT_EQ(checked.code, 0) << path << "\n" << checked.out;
    ++scripts;
  }
  EXPECT_GE(scripts, 5);
}

INSTANTIATE_TEST_SUITE_P(Examples, Acceptance,
                         ::testing::Values("pod16.yaml", "superpod-h100-4su.yaml", "pod32.yaml", "nexus8.yaml"),
                         [](const auto& each) {
                           std::string name = each.param;
                           name.resize(name.find('.'));
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

// Each item once per round, each pair once in all rounds.
TEST(AcceptancePairs, EveryPairIsTestedOnce) {
  const auto rendering = rendered("pod16.yaml");
  Lab lab("pairs");
  rendering->write_to(lab.folder());
  for (const int count : {1, 2, 3, 5, 16, 31}) {
    const Outcome told = lab.run({"sh", "acceptance/pairs.sh", "rounds", std::to_string(count)});
    const int rounds = std::stoi(told.out);
    EXPECT_EQ(rounds, count < 2 ? 0 : count % 2 == 0 ? count - 1 : count);
    std::set<std::pair<int, int>> met;
    for (int round = 1; round <= rounds; ++round) {
      std::istringstream pairs(
          lab.run({"sh", "acceptance/pairs.sh", "round", std::to_string(round), std::to_string(count)}).out);
      std::set<int> seen;
      for (int a = 0, b = 0; pairs >> a >> b;) {
        EXPECT_TRUE(seen.insert(a).second && seen.insert(b).second) << count << " round " << round;
        EXPECT_TRUE(met.emplace(a, b).second) << a << " " << b;
        EXPECT_TRUE(a >= 1 && a < b && b <= count);
      }
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(count - count % 2)) << count << " round " << round;
    }
    EXPECT_EQ(met.size(), static_cast<std::size_t>(count * (count - 1) / 2)) << count;
    // A unit smaller than the largest has no pairs in the remaining rounds.
    if (count > 1) {
      EXPECT_EQ(lab.run({"sh", "acceptance/pairs.sh", "round", std::to_string(rounds + 1), std::to_string(count)}).out,
                "");
    }
  }
}

// 400 Gb/s ports: 360 on Ethernet (the guide requires more than 350), 380 on InfiniBand (Azure's health check).
TEST(AcceptanceLimits, FollowTheHardware) {
  const auto roce = rendered("pod16.yaml");
  const auto train = cells_of(roce->sink.content("acceptance/pools.tsv"), "train");
  ASSERT_EQ(train.size(), 13U);
  EXPECT_EQ(train[4], "400");
  EXPECT_EQ(train[5], "360");
  EXPECT_EQ(train[9], "320");     // 80 % of 8 x 50 GB/s
  EXPECT_EQ(train[10], "337.5");  // 75 % of 450 GB/s, one direction of NVLink on an H100
  EXPECT_NE(roce->sink.content("acceptance/env.sh").find("RDMA_FLAGS='-x 3 --tclass=106'"), std::string::npos);
  EXPECT_NE(roce->sink.content("acceptance/env.sh").find("BACKEND_PAYLOAD='8972'"), std::string::npos);
  const auto infiniband = rendered("superpod-h100-4su.yaml");
  const auto dgx = cells_of(infiniband->sink.content("acceptance/pools.tsv"), "dgx");
  ASSERT_EQ(dgx.size(), 13U);
  EXPECT_EQ(dgx[5], "380");
  EXPECT_NE(infiniband->sink.content("acceptance/env.sh").find("RDMA_FLAGS=''"), std::string::npos);
  // Eight boxes of 80 GB/s, 90 %; one server has two ports of 200 Gb/s: 50 GB/s, 90 %.
  const auto scratch = cells_of(roce->sink.content("acceptance/storage.tsv"), "scratch");
  ASSERT_EQ(scratch.size(), 5U);
  EXPECT_EQ(scratch[1], "45000000000");
  EXPECT_EQ(scratch[3], "576000000000");
}

TEST(AcceptanceFio, JobFilesParse) {
  WEFT_NEEDS_PROGRAM("fio");
  const auto rendering = rendered("pod16.yaml");
  Lab lab("fio");
  lab.variable("FIO_DIR", lab.folder().string());
  rendering->write_to(lab.folder());
  int jobs = 0;
  for (const auto& [path, file] : rendering->sink.files) {
    if (!path.ends_with(".fio")) continue;
    const Outcome parsed = lab.run({"fio", "--parse-only", path}, 20, true);
    EXPECT_EQ(parsed.code, 0) << path << "\n" << parsed.out;
    ++jobs;
  }
  EXPECT_GT(jobs, 0);
}

// A mock of ssh: answers like servers, except for `slow`, whose second rail is bad, and `blind`, which lost a GPU.
constexpr const char* kPretend = R"sh(#!/bin/sh
host=$1
case "$2" in
*"ib_write_bw"*"10."*)
  rate=391.20
  case "$host:$2" in train003:*mlx5_be2*) rate=212.75 ;; esac
  echo " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
  echo " 1048576    46000          392.01             $rate              0.046700" ;;
*ib_write_bw*) ;;
*"nvidia-smi -L"*) case "$host" in train002) echo 7 ;; *) echo 8 ;; esac ;;
*/state*)
  case "$2" in *mlx5_be*) echo "400 Gb/sec (4X NDR)" ;; *) echo "200 Gb/sec (4X HDR)" ;; esac
  echo "4: ACTIVE" ;;
*ethtool*) echo "     rx_prio3_discards: 0" ;;
*dcgmi*) exit 0 ;;
*"ping -M do -s 8972"*be* | *"ping -M do -s 8972"*sto* | *"ping -M do -s 1472"*fe*) exit 0 ;;
*"ping -c"*) exit 1 ;;
*) exit 1 ;;
esac
)sh";

struct StepRun {
  Outcome outcome;
  std::vector<nlohmann::json> lines;
};

StepRun run_step(Lab& lab, const std::string& step) {
  StepRun run;
  run.outcome = lab.run({"sh", "acceptance/run.sh", step}, 60, true);
  std::istringstream lines(Lab::contents(lab.folder() / "results.jsonl"));
  for (std::string line; std::getline(lines, line);) run.lines.push_back(nlohmann::json::parse(line));
  return run;
}

std::set<std::string> failures(const StepRun& run) {
  std::set<std::string> out;
  for (const auto& line : run.lines) {
    if (!line["pass"].get<bool>()) out.insert(line["subject"]);
  }
  return out;
}

std::unique_ptr<Rendering> small_cluster() {
  auto out = load_example("pod16.yaml", {{"count: 16", "count: 4"}, {"unit: 16", "unit: 2"}});
  out->render("acceptance");
  return out;
}

void pretend(Lab& lab, const Rendering& rendering) {
  rendering.write_to(lab.folder());
  lab.put("pretend.sh", kPretend);
  lab.variable("REMOTE", "sh " + (lab.folder() / "pretend.sh").string());
  lab.variable("RESULTS", (lab.folder() / "results.jsonl").string());
  lab.variable("RDMA_PAUSE", "0");
}

TEST(AcceptanceRun, FindsTheSlowRail) {
  const auto rendering = small_cluster();
  Lab lab("rdma");
  pretend(lab, *rendering);
  const StepRun run = run_step(lab, "rdma");
  EXPECT_EQ(run.outcome.code, 1) << run.outcome.out;
  std::map<std::string, int> tested;  // server -> measurements within and across
  for (const auto& line : run.lines) {
    std::string subject = line["subject"];
    for (const char* server : {"train001", "train002", "train003", "train004"}) {
      if (subject.find(" on mlx5_") != std::string::npos && subject.find(server) != std::string::npos) ++tested[server];
    }
  }
  // Two units of two: one round within, one across, eight rails each.
  for (const auto& [server, count] : tested) EXPECT_EQ(count, 16) << server;
  EXPECT_EQ(tested.size(), 4U);
  for (const std::string& subject : failures(run)) {
    EXPECT_NE(subject.find("train003 to"), std::string::npos) << subject;
    EXPECT_NE(subject.find("mlx5_be2"), std::string::npos) << subject;
  }
  EXPECT_FALSE(failures(run).empty());
}

TEST(AcceptanceRun, FindsTheMissingGpu) {
  const auto rendering = small_cluster();
  Lab lab("hosts");
  pretend(lab, *rendering);
  const StepRun run = run_step(lab, "hosts");
  EXPECT_EQ(run.outcome.code, 1);
  EXPECT_EQ(failures(run), std::set<std::string>{"train002 GPUs"}) << run.outcome.out;
}

TEST(AcceptanceRun, PassesHealthyServers) {
  const auto rendering = small_cluster();
  Lab lab("ping");
  pretend(lab, *rendering);
  const StepRun run = run_step(lab, "ping");
  EXPECT_EQ(run.outcome.code, 0) << run.outcome.out;
  std::set<std::string> steps;
  for (const auto& line : run.lines) steps.insert(line["step"]);
  EXPECT_EQ(steps, (std::set<std::string>{"ping", "isolation"}));
  EXPECT_EQ(run_step(lab, "gpu").outcome.code, 0);
  EXPECT_EQ(lab.run({"sh", "acceptance/run.sh", "nonsense"}).code, 2);
}

TEST(AcceptanceScale, StaysLinear) {
  const auto rendering = load_rendering(
      "weft: 1\nname: large\nsite: {switches: row, row_length: 24, rack_power: 60kW}\npools:\n"
      "  - {name: train, server: hgx-h100, count: 12500, per_rack: 4}\n"
      "  - {name: infra, role: infrastructure, server: control-1u, count: 3}\n"
      "  - {name: store, role: storage, server: storage-400g-2u, count: 625, per_rack: 16}\n"
      "fabrics:\n  backend: {leaf: sn5600}\n  storage: {leaf: sn5600, oversubscription: 2:1}\n"
      "  frontend: {leaf: sn5400, subnets: [10.20.0.0/16]}\n  oob: {spine: nexus-9364c-gx}\n");
  ASSERT_NE(rendering, nullptr);
  for (const char* target : {"prometheus", "alertmanager", "grafana", "acceptance"}) rendering->render(target);
  std::size_t bytes = 0;
  for (const auto& [path, file] : rendering->sink.files) bytes += file.content.size();
  EXPECT_LT(bytes, 40'000'000U);  // 13,128 servers and as many other entries: about 1 KB each
  EXPECT_LT(rendering->sink.files.size(), 80U);
}

}  // namespace
}  // namespace weft
