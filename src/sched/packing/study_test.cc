#include "sched/packing/study.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <map>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "sched/packing/report.h"
#include "sched/traces/gzip.h"
#include "sched/traces/workload.h"

namespace weft::sched {
namespace {

const std::string kTraces = test_data_dir() + "/traces/";

TaskType type(Milli cpu, std::int32_t gpus, Milli milli, std::int64_t count) {
  TaskType result;
  result.request.cpu = cpu;
  result.request.gpus = gpus;
  result.request.gpu_milli = gpus > 0 ? milli : 0;
  result.count = count;
  return result;
}

std::int64_t asked_for(const std::vector<TaskType>& types, const std::vector<std::uint32_t>& arrivals) {
  std::int64_t sum = 0;
  for (const std::uint32_t index : arrivals) sum += types[index].request.gpu_total();
  return sum;
}

TEST(PackStudy, ArrivalsReachTheDemand) {
  const std::vector<TaskType> types = {type(1, 1, 500, 30), type(1, 0, 0, 20), type(1, 4, 1000, 5)};
  const std::vector<std::uint32_t> more = draw_arrivals(types, 100'000, 1.3, 1);
  EXPECT_LE(asked_for(types, more), 130'000);
  EXPECT_GT(asked_for(types, more), 130'000 - 4000);
  std::vector<std::int64_t> counts(types.size());
  for (const std::uint32_t index : more) ++counts[index];
  for (std::size_t i = 0; i < types.size(); ++i) EXPECT_GE(counts[i], types[i].count);  // contains the list itself
  EXPECT_EQ(draw_arrivals(types, 100'000, 1.3, 1), more);
  EXPECT_NE(draw_arrivals(types, 100'000, 1.3, 2), more);
  // A list that requests too much loses some.
  EXPECT_LE(asked_for(types, draw_arrivals(types, 10'000, 1.3, 1)), 13'000);
}

TEST(PackStudy, MeanAndDeviation) {
  const std::vector<double> values = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(spread_of(values).mean, 2.5);
  EXPECT_DOUBLE_EQ(spread_of(values).deviation, std::sqrt(5.0 / 3.0));
  EXPECT_DOUBLE_EQ(spread_of(std::vector<double>{7}).deviation, 0);
}

struct Openb {
  Machine machine;
  std::vector<TaskType> types;
};

std::optional<Openb> read_openb(const std::string& name) {
  Sources sources;
  Diagnostics diagnostics;
  const Result<std::string> pods = read_text_file(kTraces + "openb/openb_pod_list_" + name + ".csv.gz");
  const Result<std::string> nodes = read_text_file(kTraces + "openb/openb_node_list_gpu_node.csv.gz");
  if (!pods.ok() || !nodes.ok()) return std::nullopt;
  const auto workload = read_workload(sources.add(name, *pods), sources, {}, diagnostics);
  if (!workload) return std::nullopt;
  auto machine = read_openb_nodes(sources.add("nodes", *nodes), sources, workload->models, diagnostics);
  if (!machine) return std::nullopt;
  return Openb{std::move(*machine), task_types(std::span<const Job>(workload->jobs))};
}

// The authors' final allocations of a workload, by policy, over their ten seeds.
std::map<std::string, Spread> published(const std::string& workload) {
  const Result<std::string> text = read_text_file(kTraces + "fgd_expected/analysis_allo_discrete.csv.gz");
  std::map<std::string, std::vector<double>> values;
  std::size_t line = 0;
  while (text.ok() && line < text->size()) {
    const std::size_t end = std::min(text->find('\n', line), text->size());
    const std::string_view row = std::string_view(*text).substr(line, end - line);
    line = end + 1;
    const std::string start = "openb_pod_list_" + workload + ",";
    if (!row.starts_with(start)) continue;
    const std::string policy(row.substr(start.size(), row.find(',', start.size()) - start.size()));
    const std::string_view last = row.substr(row.rfind(',') + 1);
    double value = 0;
    std::from_chars(last.data(), last.data() + last.size(), value);
    values[policy].push_back(value);
  }
  std::map<std::string, Spread> result;
  for (const auto& [policy, list] : values) result[policy] = spread_of(list);
  return result;
}

class Published : public testing::TestWithParam<const char*> {};

// One arrival order versus the published mean of ten: within half a point plus twice their deviation.
TEST_P(Published, PoliciesGiveOutWhatTheAuthorsFound) {
  WEFT_NEEDS_DATA("traces/openb");
  WEFT_NEEDS_DATA("traces/fgd_expected");
  const std::optional<Openb> openb = read_openb(GetParam());
  ASSERT_TRUE(openb);
  std::map<std::string, Spread> expected = published(GetParam());
  const std::int64_t capacity = openb->machine.gpus() * kWholeGpu;
  ASSERT_EQ(capacity, 6'212'000);
  const std::vector<std::uint32_t> arrivals = draw_arrivals(openb->types, capacity, 1.3, 43);
  std::map<PackPolicy, double> found;
  for (const auto& [policy, name] :
       {std::pair(PackPolicy::random, "01-Random"), std::pair(PackPolicy::best_fit, "05-BestFit"),
        std::pair(PackPolicy::fgd, "06-FGD")}) {
    found[policy] = run_pack(openb->machine, openb->types, arrivals, policy, 43).allocated;
    ASSERT_GT(expected[name].mean, 80);
    EXPECT_NEAR(found[policy], expected[name].mean, 0.5 + 2 * expected[name].deviation) << name;
  }
  const PackRun weft = run_pack(openb->machine, openb->types, arrivals, PackPolicy::weft, 43);
  EXPECT_GT(weft.allocated, found[PackPolicy::fgd] + 0.4);
  EXPECT_GT(weft.allocated, expected["06-FGD"].mean + 0.4);
  EXPECT_GT(weft.at(100), 94);
  EXPECT_LT(weft.fragmented, 100 - weft.allocated);
}

INSTANTIATE_TEST_SUITE_P(Openb, Published, testing::Values("default", "gpushare40", "multigpu20"));

TEST(PackStudy, TypicalTasksOfThePaper) {
  WEFT_NEEDS_DATA("traces/openb");
  const std::optional<Openb> openb = read_openb("default");
  ASSERT_TRUE(openb);
  EXPECT_EQ(typical_tasks(openb->types).size(), 35U);
}

TEST(PackReport, RowsNumbersAndPlot) {
  PackWorkload workload;
  workload.name = "mine";
  workload.gpus = 10;
  PackRun run;
  for (int k = 0; k <= 120; ++k) run.curve.push_back({std::min(k, 95) * 1.0, 0, 0});
  run.allocated = 95;
  run.fragmented = 3;
  PackRun other = run;
  other.allocated = 97;
  workload.results.push_back({PackPolicy::fgd, {run, other}});
  workload.bounds = {{10'000, 9'800}, {10'000, 9'900}};
  const std::string table = write(pack_document({workload}, 1.2), {});
  for (const char* const word : {"mine", "fgd", "96.00", "1.41", "95.00", "4.00", "3.00", "98.50", "2.50", "120 %"}) {
    EXPECT_NE(table.find(word), std::string::npos) << word << "\n" << table;
  }
  const std::string picture = pack_plot({workload});
  for (const char* const word : {"<svg", "mine", "fgd 5.00 %", "bound 1.50 %", "GPUs requested"}) {
    EXPECT_NE(picture.find(word), std::string::npos) << word;
  }
  workload.bounds.clear();
  EXPECT_EQ(write(pack_document({workload}, 1.2), {}).find("GAP is"), std::string::npos);
}

}  // namespace
}  // namespace weft::sched
