// End-to-end tests of `weft sim workload`: SimAI workloads and Chakra traces on the example clusters.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/test_places.h"
#include "workload/import/chakra_fixture.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using workload::ChakraCollective;
using workload::fixtures::collective;
using workload::fixtures::kernel;
using workload::fixtures::NodeWriter;
using workload::fixtures::receive;
using workload::fixtures::send;
using workload::fixtures::trace_of;
using Words = std::vector<std::string>;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

std::string contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class WorkloadTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::path(testing::TempDir()) / ("weft_workload_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static Outcome run(const Words& words) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto redirect = [](const char* name, int descriptor) {
        const int flags = O_WRONLY | O_CREAT | O_TRUNC;
        const int file = ::open((folder_ / name).c_str(), flags, 0600);  // NOLINT(cppcoreguidelines-pro-type-vararg)
        if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
      };
      redirect("stdout", STDOUT_FILENO);
      redirect("stderr", STDERR_FILENO);
      std::string weft = weft_binary();
      std::vector<char*> arguments = {weft.data(), const_cast<char*>("sim"), const_cast<char*>("workload")};
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      ::execv(arguments[0], arguments.data());
      ::_exit(127);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    Outcome outcome;
    outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    outcome.out = contents(folder_ / "stdout");
    outcome.err = contents(folder_ / "stderr");
    return outcome;
  }
  static Json json(Words words) {
    words.insert(words.end(), {"-o", "json"});
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  static std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  static std::string example(const std::string& name) { return source_dir() + "/examples/" + name; }

  static inline fs::path folder_;
};

// Forward, backward and weight gradients of both micro-batches add up; all tensor communication is exposed.
TEST_F(WorkloadTest, SimaiWorkload) {
  const Json result = json({example("pod32.yaml"), example("workload/dense_tp4_dp8.txt")});
  EXPECT_EQ(result["kind"], "workload");
  const Json& summary = result["summary"];
  EXPECT_EQ(summary["ranks"], 32);
  // Kernels: two times 60 us + 2 x (0.9 + 1.4) ms forward and twice that backward, but for the embedding's input
  // gradient of 1 ns; eleven updates of 100 ns.
  EXPECT_NEAR(summary["compute_us"].get<double>(), 2 * (2 * 60 + 3 * 2 * 2300) + 11 * 0.1, 0.01);
  EXPECT_GE(summary["total_us"].get<double>(),
            summary["compute_us"].get<double>() + summary["exposed_us"].get<double>() - 0.01);
  ASSERT_EQ(result["communication"].size(), 2U);
  for (const Json& row : result["communication"]) {
    if (row["group"] == "tensor") {
      EXPECT_EQ(row["busy_us"], row["exposed_us"]);
      EXPECT_EQ(row["calls"], 19);
    } else {
      EXPECT_LT(row["exposed_us"].get<double>(), row["busy_us"].get<double>());
    }
  }
}

TEST_F(WorkloadTest, PipelineHasABubble) {
  const Outcome outcome = run({example("pod32.yaml"), example("workload/moe_ep8_pp4.txt")});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Pipeline bubble:"));
  EXPECT_THAT(outcome.out, HasSubstr("(4 - 1) / (4 micro-batches x 1 chunks)"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST_F(WorkloadTest, ChakraTracesByTheirPrefix) {
  for (std::uint64_t rank = 0; rank < 8; ++rank) {
    file("even." + std::to_string(rank) + ".et",
         trace_of({kernel(1, 500), collective(2, ChakraCollective::all_reduce, 1 << 26).after({1}),
                   kernel(3, 300).after({1}), kernel(4, 10).after({2, 3})}));
  }
  const Json result = json({example("pod32.yaml"), (folder_ / "even").string()});
  EXPECT_EQ(result["summary"]["ranks"], 8);
  EXPECT_EQ(result["summary"]["operations"], 4);  // all ranks are one class
  EXPECT_EQ(result["summary"]["compute_us"], 810);
  // 64 MiB over NVLink (370.8 GB/s), 14 steps: longer than the kernel beside it.
  const double reduce = 8.4 + 14 * 3.4 + 1.75 * (1 << 26) / 370.8e9 * 1e6;
  // A ring computed by hand; NCCL uses NVLS if it is faster, so the run may be a little shorter.
  EXPECT_NEAR(result["summary"]["total_us"].get<double>(), 500 + reduce + 10, 0.06 * (500 + reduce + 10));
  EXPECT_NEAR(result["summary"]["exposed_us"].get<double>(), result["summary"]["total_us"].get<double>() - 810, 0.01);
}

TEST_F(WorkloadTest, RanksThatDiffer) {
  file("stages.0.et", trace_of({kernel(1, 200), send(2, 1, 50'000'000).after({1})}));
  file("stages.1.et", trace_of({receive(1, 0, 50'000'000), kernel(2, 200).after({1})}));
  const Json result = json({example("pod32.yaml"), (folder_ / "stages").string()});
  ASSERT_EQ(result["classes"].size(), 2U);
  EXPECT_NEAR(result["summary"]["total_us"].get<double>(), 400 + 8.4 + 3.4 + 50e6 / 370.8e9 * 1e6, 3);
  EXPECT_EQ(result["chain"].size(), 4U);
}

TEST_F(WorkloadTest, OneTraceForManyRanks) {
  const std::string trace =
      file("rank.et",
           trace_of({NodeWriter(1, "launch", workload::ChakraType::compute).on_cpu().lasts(5),
                     kernel(2, 100).after({1}), collective(3, ChakraCollective::all_to_all, 1 << 20).after({1})}));
  const Json result = json({example("pod32.yaml"), trace, "--ranks", "64"});
  EXPECT_EQ(result["communication"][0]["ranks"], 64);
  EXPECT_THAT(result["notes"].dump(), HasSubstr("2 of 2 GPU kernels have no dependents"));
}

TEST_F(WorkloadTest, GroupsFromAFile) {
  for (int rank = 0; rank < 4; ++rank) {
    file("groups." + std::to_string(rank) + ".et",
         trace_of({collective(1, ChakraCollective::all_reduce, 4096)
                       .attribute("pg_name", std::string_view(rank < 2 ? "1" : "2"))}));
  }
  const std::string groups = file("groups.json", R"({"1": [0, 1], "2": [2, 3]})");
  const Json result = json({example("pod32.yaml"), (folder_ / "groups").string(), "--groups", groups});
  EXPECT_EQ(result["communication"][0]["ranks"], 2);
}

TEST_F(WorkloadTest, ErrorsAreReported) {
  const auto refused = [&](const Words& words, const std::string& why) {
    Words all = {example("pod32.yaml")};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(why));
    EXPECT_THAT(outcome.out, IsEmpty());
  };
  refused({file("a.txt", "HYBRID_TRANSFORMER all_gpus: 8\n1\nx -1 1 NOTHING 0\n")},
          "a.txt:3:8: error: expected the forward communication, not `NOTHING`");
  refused({file("b.et", "\x05garbage")}, "b.et: ");
  refused({file("c.et", trace_of({kernel(1, 1).after({2}), kernel(2, 1).after({1})}))},
          "dependency cycle of operations");
  refused({file("d.et", "\x07\x0a\x05"), file("e.et", "x")}, "cannot determine the rank of");
  refused({file("f.0.et", trace_of({kernel(1, 1)})), file("f2.0.et", trace_of({kernel(1, 1)}))},
          "duplicate trace of rank 0");
  refused({file("g.et", trace_of({kernel(1, 1)})), "--ranks", "0"}, "--ranks");
  EXPECT_NE(run({example("pod32.yaml"), (folder_ / "not-there").string()}).code, 0);
  EXPECT_EQ(run({example("pod32.yaml")}).code, 2);
}

}  // namespace
}  // namespace weft
