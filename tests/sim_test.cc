// End-to-end tests of `weft sim`: its output, exit codes, files, and Ctrl-C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/test_places.h"
#include "program.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::Words;

class SimTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("sim"); }

  static Words command(Words words) {
    words.insert(words.begin(), {weft_binary(), "sim"});
    return words;
  }
  static Outcome sim(const Words& words) { return run(command(words)); }
  static Json json(Words words, int code = 0) {
    words.insert(words.end(), {"-o", "json"});
    const Outcome outcome = sim(words);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  static std::string example(const std::string& name) { return source_dir() + "/examples/" + name; }
};

const Words kSmall = {"traffic", "--topology", "leaf-spine:4x4x4", "--bytes", "100KB"};

Words small_with(const Words& more) {
  Words words = kSmall;
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// One 1 MB transfer over one switch at 100 Gb/s: 245 packets of 64 B header, 244 of them with 4096 B payload and one
// with 576, on two links of 1 us. The last packet waits at the switch for the full one before it: the transfer takes
// the serialization of everything on the first link, of a full packet on the second, and both delays.
TEST_F(SimTest, OneTransferByAlgebra) {
  const std::string flows = file("one.flows", "0 0 1 1000000 0 -1\n");
  const double wire_us = (1'000'000 + 245 * 64) * 8 / 100e3;
  const double full_us = (4096 + 64) * 8 / 100e3;
  const Json packet = json({"traffic", "--topology", "star:2", "--flows", flows});
  EXPECT_NEAR(packet["summary"]["max_us"].get<double>(), wire_us + full_us + 2, 0.4);
  EXPECT_EQ(packet["totals"]["data_packets"], 245);
  EXPECT_EQ(packet["totals"]["data_hops"], 490);
  const Json flow = json({"traffic", "--topology", "star:2", "--flows", flows, "--fidelity", "flow"});
  EXPECT_NEAR(flow["summary"]["max_us"].get<double>(), wire_us + 2, 1.0);
}

TEST_F(SimTest, TheSameBytesEveryTimeAndWithTwoThreads) {
  const Outcome once = sim(small_with({"--pattern", "permutation"}));
  ASSERT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(sim(small_with({"--pattern", "permutation"})).out, once.out);
  EXPECT_EQ(sim(small_with({"--threads", "2"})).out, once.out);
  EXPECT_NE(sim(small_with({"--seed", "2"})).out, once.out);
  EXPECT_THAT(once.err, IsEmpty());
}

TEST_F(SimTest, EveryPatternAndTransportAndRouting) {
  for (const char* pattern :
       {"permutation", "affine", "incast", "all-to-all", "storage-reads", "checkpoint", "background"}) {
    const Json result = json(small_with({"--pattern", pattern}));
    EXPECT_EQ(result["summary"]["state"], "complete") << pattern;
    EXPECT_GT(result["summary"]["goodput_bps"].get<double>(), 1e9) << pattern;
  }
  for (const char* transport : {"dcqcn", "pfc-only", "hpcc", "nscc", "receiver", "tcp"}) {
    EXPECT_EQ(json(small_with({"--transport", transport}))["summary"]["unfinished"], 0) << transport;
  }
  for (const char* routing : {"ecmp", "weighted", "resilient", "d-mod-k", "pinned", "adaptive", "flowlet", "spray"}) {
    const Json result = json(small_with({"--routing", routing, "--queue-pairs", "2"}));
    EXPECT_EQ(result["summary"]["routing"], routing);
    EXPECT_EQ(result["summary"]["unfinished"], 0) << routing;
  }
}

TEST_F(SimTest, SeveralPatternsTogether) {
  const Json result = json(small_with({"--pattern", "incast", "--pattern", "background", "--load", "0.1"}));
  ASSERT_EQ(result["patterns"].size(), 2U);
  EXPECT_EQ(result["patterns"][0]["pattern"], "incast");
  EXPECT_EQ(result["patterns"][0]["transfers"], 15);
  EXPECT_GT(result["patterns"][1]["transfers"].get<int>(), 10);
}

TEST_F(SimTest, AllFidelitiesSideBySide) {
  const Json result = json(small_with({"--fidelity", "all", "--bytes", "1MB"}));
  ASSERT_EQ(result["fidelities"].size(), 3U);
  EXPECT_EQ(result["fidelities"][0]["fidelity"], "analytic");
  EXPECT_EQ(result["fidelities"][0]["against"], "flow");
  EXPECT_EQ(result["fidelities"][1]["compared"], 16);
  EXPECT_EQ(result["summary"]["fidelity"], "packet");
}

TEST_F(SimTest, Formats) {
  const Outcome table = sim(kSmall);
  EXPECT_THAT(table.out, StartsWith("Simulation\nNetwork:"));
  EXPECT_THAT(table.out, HasSubstr("\nHottest links\n"));
  const Json document = json(kSmall);
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["kind"], "simulation");
  EXPECT_TRUE(document["notes"].is_array());
  EXPECT_EQ(document["summary"]["trace_hash"].get<std::string>().size(), 16U);
  const Outcome lines = sim(small_with({"-o", "ndjson"}));
  std::istringstream in(lines.out);
  for (std::string line; std::getline(in, line);) EXPECT_TRUE(Json::parse(line, nullptr, false).is_object()) << line;
  EXPECT_THAT(sim(small_with({"-o", "csv"})).out, HasSubstr("hottest_links"));
  EXPECT_THAT(sim(small_with({"-o", "yaml"})).out, HasSubstr("trace_hash:"));
}

TEST_F(SimTest, SeriesAddUpToThePayload) {
  const Json result = json(small_with({"--series", "5us"}));
  std::int64_t delivered = 0;
  for (const Json& row : result["series"]) delivered += row["delivered_bytes"].get<std::int64_t>();
  EXPECT_EQ(delivered, 16 * 100'000);
}

TEST_F(SimTest, PicturesAreWritten) {
  const std::string heat = (folder_ / "heat.svg").string();
  const std::string storm = (folder_ / "storm.svg").string();
  const Outcome outcome = sim(small_with({"--pattern", "incast", "--bytes", "1MB", "--transport", "pfc-only",
                                          "--buffer", "1MB", "--heat-map", heat, "--storm-tree", storm}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(contents(heat), StartsWith("<svg xmlns="));
  EXPECT_THAT(contents(storm), HasSubstr("leaf0 &gt; host0 (full egress)"));
  EXPECT_THAT(outcome.out, HasSubstr("leaf0 > host0 (full egress)"));
  const Outcome lost = sim(small_with({"--heat-map", "/nowhere/heat.svg"}));
  EXPECT_EQ(lost.code, 5);
  EXPECT_THAT(lost.err, HasSubstr("/nowhere/heat.svg"));
}

TEST_F(SimTest, TruncatedRunIsPartial) {
  const Json result = json(small_with({"--bytes", "10MB", "--until", "50us"}), 3);
  EXPECT_THAT(result["summary"]["state"].get<std::string>(), StartsWith("cut at 50 us: 16 of 16 transfers"));
}

TEST_F(SimTest, DeadlockIsAResult) {
  const Words words = {"traffic", "--topology", "ring:4x4",   "--no-up-down", "--transport", "pfc-only", "--buffer",
                       "200KB",   "--pattern",  "all-to-all", "--in-flight",  "0",           "--bytes",  "1MB"};
  const Json stuck = json(words, 3);
  EXPECT_THAT(stuck["summary"]["state"].get<std::string>(), StartsWith("deadlock at"));
  EXPECT_THAT(stuck["notes"][0].get<std::string>(), StartsWith("deadlock: buffers wait for each other in a cycle"));
  EXPECT_TRUE(
      std::any_of(stuck["storm"].begin(), stuck["storm"].end(), [](const Json& row) { return row["cycle"] == true; }));
}

TEST_F(SimTest, CtrlCPrintsPartialResults) {
  const pid_t child = start(command({"traffic", "--topology", "fat-tree:1024", "--bytes", "1GB"}));
  ASSERT_TRUE(wait_until_caught(child, SIGINT));  // earlier the signal would end it by default
  ASSERT_EQ(::kill(child, SIGINT), 0);
  const Outcome outcome = wait(child);
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("interrupted at"));
  EXPECT_THAT(outcome.out, HasSubstr("Hottest links"));
  EXPECT_THAT(outcome.err, IsEmpty());  // no progress output without a terminal
}

TEST_F(SimTest, Collective) {
  const Json result =
      json({"collective", "--topology", "leaf-spine:4x4x4", "--min-bytes", "1MB", "--max-bytes", "16MB"});
  EXPECT_EQ(result["kind"], "collective");
  ASSERT_EQ(result["sizes"].size(), 3U);
  EXPECT_EQ(result["sizes"][0]["size_bytes"], 1'000'000);
  EXPECT_EQ(result["sizes"][2]["size_bytes"], 16'000'000);
  EXPECT_EQ(result["sizes"][0]["redop"], "sum");
  for (const Json& row : result["sizes"]) {
    const double algbw = row["size_bytes"].get<double>() / row["time_us"].get<double>() / 1e3;
    EXPECT_NEAR(row["algbw_gb_per_s"].get<double>(), algbw, 0.002);
    EXPECT_NEAR(row["busbw_gb_per_s"].get<double>(), algbw * 2 * 15 / 16, 0.003);
    EXPECT_LT(row["busbw_gb_per_s"].get<double>(), 50);  // a 400G link
  }
  for (const char* op : {"all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-recv"}) {
    const Json other = json({"collective", "--topology", "leaf-spine:2x4x2", "--op", op, "--max-bytes", "4MB"});
    EXPECT_GT(other["summary"]["average_busbw_gb_per_s"].get<double>(), 0.1) << op;
  }
  const Json all = json({"collective", "--topology", "leaf-spine:2x4x2", "--fidelity", "all", "--max-bytes", "1MB",
                         "--min-bytes", "1MB", "--algorithm", "tree"});
  ASSERT_EQ(all["sizes"].size(), 3U);
  EXPECT_TRUE(all["sizes"][0]["error_percent"].is_number());
  EXPECT_TRUE(all["sizes"][2]["error_percent"].is_null());
}

// Every host to its own spine: only hosts and NICs can be the bottleneck. TCP is slower than RDMA, at every fidelity.
TEST_F(SimTest, TcpLosesAThirdToTwoThirdsOfRdma) {
  const Words fabric = {"--topology", "leaf-spine:4x4x4", "--link-rate", "100G", "--routing", "d-mod-k"};
  const auto with = [&](Words words, const Words& more) {
    words.insert(words.end(), fabric.begin(), fabric.end());
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const char* fidelity : {"packet", "flow", "analytic"}) {
    const Words shift = {"traffic", "--pattern", "affine",     "--affine", "1:4",
                         "--bytes", "10MB",      "--fidelity", fidelity};
    const auto end = [&](const Words& more) { return json(with(shift, more))["summary"]["end_us"].get<double>(); };
    const double rdma = end({});
    const double tcp = end({"--transport", "tcp"});
    EXPECT_GT(1 - rdma / tcp, 0.30) << fidelity;
    EXPECT_LT(1 - rdma / tcp, 0.60) << fidelity;
    // Four connections have four cores, and no limit is none.
    EXPECT_LT(end({"--transport", "tcp", "--queue-pairs", "4"}), tcp * 0.6) << fidelity;
    EXPECT_LT(end({"--transport", "tcp", "--host-limit", "0"}), tcp * 0.6) << fidelity;

    const Words ring = {"collective",  "--algorithm", "ring",       "--min-bytes", "64MB",
                        "--max-bytes", "64MB",        "--fidelity", fidelity};
    const auto bus = [&](const Words& more) {
      return json(with(ring, more))["summary"]["average_busbw_gb_per_s"].get<double>();
    };
    const double lost = 1 - bus({"--transport", "tcp"}) / bus({});
    EXPECT_GT(lost, 0.30) << fidelity;
    EXPECT_LT(lost, 0.60) << fidelity;
  }
  const Json tcp = json(with({"traffic", "--pattern", "affine", "--affine", "1:4"}, {"--transport", "tcp"}));
  EXPECT_THAT(tcp["summary"]["bound"].get<std::string>(), StartsWith("host software at 42G per connection"));
  EXPECT_THAT(tcp["notes"].dump(), HasSubstr("RDMA avoids it"));
}

// GPUs of a host communicate over NVLink: hierarchical is the default, and much faster than one NIC could be.
TEST_F(SimTest, ClusterFilesRunWithDefaults) {
  const Json result = json({"collective", example("pod16.yaml"), "--min-bytes", "1GB", "--max-bytes", "1GB"});
  EXPECT_EQ(result["summary"]["algorithm"], "hierarchical");
  EXPECT_EQ(result["summary"]["ranks"], 128);
  EXPECT_EQ(result["summary"]["ranks_per_node"], 8);
  EXPECT_GT(result["summary"]["average_busbw_gb_per_s"].get<double>(), 100);
  const Json traffic = json({"traffic", example("pod16.yaml"), "--bytes", "1MB"});
  EXPECT_EQ(traffic["summary"]["state"], "complete");
  EXPECT_EQ(traffic["summary"]["transfers"], 128);
  const Json some = json({"traffic", example("pod16.yaml"), "--hosts", "train[001-002]", "--bytes", "1MB"});
  EXPECT_EQ(some["summary"]["transfers"], 16);
  const Json reads = json({"traffic", example("pod16.yaml"), "--pattern", "storage-reads", "--bytes", "1MB"});
  EXPECT_THAT(reads["summary"]["network"].get<std::string>(), HasSubstr("storage fabric"));
  EXPECT_EQ(reads["summary"]["state"], "complete");
}

TEST_F(SimTest, FilesOfOtherSimulators) {
  const std::string hpcc = file("hpcc.txt", "1\n0 1 3 100 1000000 0\n");
  const std::string htsim = file("one.cm", "Nodes 16\nConnections 1\n0->1 id 1 start 0 size 1000000\n");
  for (const std::string& flows : {hpcc, htsim}) {
    const Json result = json({"traffic", "--topology", "leaf-spine:4x4x4", "--flows", flows});
    EXPECT_EQ(result["summary"]["transfers"], 1) << flows;
  }
  const Outcome broken = sim({"traffic", "--topology", "star:4", "--flows", file("bad.flows", "0 0 9 1000 0 -1\n")});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("bad.flows:1:5: error:"));
  EXPECT_EQ(sim({"traffic", "--topology", "star:4", "--flows", "/nowhere/x.flows"}).code, 2);
  EXPECT_EQ(sim({"traffic", "--topology", file("bad.topo", "rubbish\n")}).code, 2);
}

struct Refused {
  Words words;
  std::string why;
};

TEST_F(SimTest, BadCommandLinesEndWithAClearMessage) {
  const std::string cluster = example("pod16.yaml");
  const std::vector<Refused> lines = {
      {{"traffic"}, "missing network"},
      {{"traffic", cluster, "--topology", "star:4"}, "mutually exclusive"},
      {{"traffic", cluster, "--link-rate", "400G"}, "--link-rate applies only with --topology"},
      {{"traffic", cluster, "--hosts", "trian001"}, "did you mean `train001`?"},
      {{"traffic", cluster, "--hosts", "train["}, "--hosts:"},
      {{"traffic", cluster, "--ranks", "100000"}, "the network has only"},
      {{"traffic", cluster, "--ranks", "1"}, "two endpoints"},
      {{"traffic", cluster, "--fail", "be-train-u001-leaf1>be-spine999@1us"},
       "the network has no node `be-spine999`; did you mean"},
      {{"traffic", cluster, "--storm", "be-spine001@1us"}, "`be-spine001` is a switch"},
      {{"traffic", "nowhere.yaml"}, "nowhere.yaml"},
      {{"traffic", "--topology", "fat-tree:100"}, "54 or 128"},
      {{"traffic", "--topology", "star:4", "--pattern", "incest"}, "incast"},
      {{"traffic", "--topology", "star:4", "--bytes", "0"}, "--bytes:"},
      {{"traffic", "--topology", "star:4", "--bytes", "-5"}, "--bytes"},
      {{"traffic", "--topology", "star:4", "--bytes", "10MBit"}, "--bytes:"},
      {{"traffic", "--topology", "star:4", "--pattern", "incast", "--fan-in", "9"}, "only 3 other endpoints"},
      {{"traffic", "--topology", "star:4", "--pattern", "incast", "--to", "switch0"}, "the network has no endpoint"},
      {{"traffic", "--topology", "star:4", "--pattern", "affine", "--affine", "2:1"}, "common divisor"},
      {{"traffic", "--topology", "star:4", "--pattern", "affine", "--affine", "x"}, "FACTOR:SHIFT"},
      {{"traffic", "--topology", "star:4", "--pattern", "background", "--load", "7"}, "--load:"},
      {{"traffic", "--topology", "star:4", "--pattern", "background", "--duration", "2h"}, "--duration:"},
      {{"traffic", "--topology", "star:100000", "--pattern", "all-to-all"}, "pairs exceed the maximum"},
      {{"traffic", "--topology", "star:4", "--flows", "a", "--pattern", "incast"}, "mutually exclusive"},
      {{"collective", "--topology", "star:4", "--min-bytes", "1GB", "--max-bytes", "1MB"}, "less than --min-bytes"},
      {{"collective", "--topology", "star:4", "--factor", "1"}, "--factor:"},
      {{"collective", "--topology", "star:4", "--algorithm", "tree", "--op", "all-to-all"},
       "no tree all-to-all is implemented"},
      {{"collective", "--topology", "star:4", "--ranks-per-node", "9"}, "--ranks-per-node:"},
      {{"collective", "--topology", "star:4", "--channels", "0"}, "--channels:"},
      {{"collective", "--topology", "star:4", "--heat-mop", "x"}, "did you mean `--heat-map`?"},
  };
  for (const Refused& each : lines) {
    const Outcome outcome = sim(each.words);
    EXPECT_EQ(outcome.code, 2) << testing::PrintToString(each.words) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(each.why));
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, Not(HasSubstr("internal error")));
  }
}

}  // namespace
}  // namespace weft
