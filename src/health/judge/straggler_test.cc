// Stragglers, slowdowns and hangs of jobs: by algebra, under noise, and with reports as they arrive in practice.
#include "health/judge/straggler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/rounds.h"

namespace weft::health {
namespace {

sched::Moment at(double seconds) { return sched::Moment(static_cast<std::int64_t>(seconds * 1e9)); }

std::string node_name(int node) { return "n" + std::to_string(1000 + node); }

JobStep report(int node, std::int64_t step, double busy, std::uint32_t rank = 0) {
  JobStep out;
  out.job = "17";
  out.node = node_name(node);
  out.rank = rank;
  out.step = step;
  out.step_seconds = 5.0;
  out.busy_seconds = busy;
  out.at = at(1'000'000 + 5.0 * static_cast<double>(std::min<std::int64_t>(step, 1'000'000)));
  return out;
}

using Busy = std::function<double(int node, std::int64_t step)>;

// All nodes report steps [from, to).
void run(StragglerJudge& judge, int nodes, std::int64_t from, std::int64_t to, const Busy& busy) {
  for (std::int64_t step = from; step < to; ++step) {
    for (int node = 0; node < nodes; ++node) judge.add(report(node, step, busy(node, step)));
  }
}

std::string names(const StragglerJudge& judge) {
  std::string out;
  for (const StragglerFinding& each : judge.suspects()) out += (out.empty() ? "" : " ") + each.node;
  return out;
}

Busy slow_nodes(std::vector<int> slow, double factor) {
  return [slow = std::move(slow), factor](int node, std::int64_t) {
    return std::find(slow.begin(), slow.end(), node) != slow.end() ? 4.0 * factor : 4.0;
  };
}

TEST(Straggler, OneOfManyIsSixPercentSlower) {
  StragglerJudge judge;
  run(judge, 64, 0, 40, slow_nodes({7}, 1.06));  // windows 0 and 1 are judged: 2 and 3 may still get reports
  EXPECT_EQ(judge.window_count(), 2U);
  EXPECT_EQ(names(judge), "");
  run(judge, 64, 40, 50, slow_nodes({7}, 1.06));
  ASSERT_EQ(judge.suspects().size(), 1U);
  const StragglerFinding found = judge.suspects().front();
  EXPECT_EQ(found.job, "17");
  EXPECT_EQ(found.node, "n1007");
  EXPECT_DOUBLE_EQ(found.ratio, 1.06);
  EXPECT_EQ(found.windows, 3U);
  EXPECT_EQ(found.peers, 64U);
}

TEST(Straggler, FivePercentIsTheLimit) {
  StragglerJudge judge;
  run(judge, 64, 0, 100, slow_nodes({7}, 1.0499));
  EXPECT_EQ(names(judge), "");
  StragglerJudge other;
  run(other, 64, 0, 100, slow_nodes({7}, 1.0501));
  EXPECT_EQ(names(other), "n1007");
}

TEST(Straggler, ARecoveredNodeIsNoSuspect) {
  StragglerJudge judge;
  run(judge, 16, 0, 60, slow_nodes({3}, 1.2));
  EXPECT_EQ(names(judge), "n1003");
  run(judge, 16, 60, 90, slow_nodes({}, 1));
  EXPECT_EQ(names(judge), "");
  run(judge, 16, 90, 150, slow_nodes({3}, 1.2));
  const std::vector<StragglerFinding> found = judge.take_new_suspects();
  ASSERT_EQ(found.size(), 2U);  // once for each time that it was slow
  EXPECT_TRUE(judge.take_new_suspects().empty());
  const Signal signal = signal_of(found.front(), at(5));
  EXPECT_EQ(signal.name, "job:straggler");
  EXPECT_EQ(signal.node, "n1003");
  EXPECT_EQ(signal.detail("ratio"), "1.200");
  EXPECT_EQ(signal.at, at(5));
}

TEST(Straggler, TwoWindowsAreNotEnough) {
  StragglerJudge judge;
  run(judge, 16, 0, 300, [](int node, std::int64_t step) { return node == 3 && step / 10 % 3 != 0 ? 5.0 : 4.0; });
  EXPECT_EQ(names(judge), "");
}

TEST(Straggler, TwoOfOneRack) {
  StragglerJudge judge;
  run(judge, 64, 0, 60, slow_nodes({8, 9}, 1.10));
  EXPECT_EQ(names(judge), "n1008 n1009");
}

TEST(Straggler, OneSlowGpuOfEightIsSeen) {
  StragglerJudge judge;
  for (std::int64_t step = 0; step < 50; ++step) {
    for (int node = 0; node < 16; ++node) {
      for (std::uint32_t gpu = 0; gpu < 8; ++gpu)
        judge.add(report(node, step, node == 5 && gpu == 6 ? 4.4 : 4.0, static_cast<std::uint32_t>(node) * 8 + gpu));
    }
  }
  ASSERT_EQ(names(judge), "n1005");
  EXPECT_EQ(judge.suspects().front().rank, 46U);
}

// A step of a few that takes long (a data loader, garbage collection) is not a slow node.
TEST(Straggler, SingleLongStepsDoNotCount) {
  StragglerJudge judge;
  run(judge, 16, 0, 300, [](int node, std::int64_t step) { return node == 3 && step % 3 == 0 ? 40.0 : 4.0; });
  EXPECT_EQ(names(judge), "");
}

TEST(Straggler, MixedJobsHaveNone) {
  StragglerJudge judge;
  run(judge, 16, 0, 60, [](int node, std::int64_t) { return node < 5 ? 5.0 : 4.0; });
  EXPECT_EQ(names(judge), "");
  ASSERT_EQ(judge.notes().size(), 1U);
  EXPECT_EQ(judge.notes().front().limit, JobLimit::mixed);
  EXPECT_EQ(judge.notes().front().nodes, 5U);
  StragglerJudge quarter;
  run(quarter, 16, 0, 60, [](int node, std::int64_t) { return node < 4 ? 5.0 : 4.0; });
  EXPECT_EQ(quarter.suspects().size(), 4U);
  StragglerJudge half;
  run(half, 16, 0, 60, [](int node, std::int64_t) { return node < 8 ? 5.0 : 4.0; });
  EXPECT_EQ(names(half), "");
}

TEST(Straggler, StagesAreComparedAmongThemselves) {
  const auto staged = [](bool with_stage) {
    StragglerJudge judge;
    for (std::int64_t step = 0; step < 60; ++step) {
      for (int node = 0; node < 32; ++node) {
        const int stage = node / 8;
        JobStep one = report(node, step, (4.0 + stage) * (node == 13 ? 1.1 : 1.0));
        if (with_stage) one.stage = std::to_string(stage);
        judge.add(one);
      }
    }
    return names(judge);
  };
  EXPECT_EQ(staged(true), "n1013");
  EXPECT_EQ(staged(false), "");
}

TEST(Straggler, FewNodesHaveNoMajority) {
  for (const int nodes : {1, 2, 3}) {
    StragglerJudge judge;
    run(judge, nodes, 0, 60, slow_nodes({0}, 2.0));
    EXPECT_EQ(names(judge), "") << nodes;
    ASSERT_EQ(judge.notes().size(), 1U);
    EXPECT_EQ(judge.notes().front().limit, JobLimit::too_few_peers);
  }
  StragglerJudge judge;
  run(judge, 4, 0, 60, slow_nodes({0}, 2.0));
  EXPECT_EQ(names(judge), "n1000");
}

TEST(Straggler, StepTimesAloneNameNoNode) {
  StragglerJudge judge;
  for (std::int64_t step = 0; step < 300; ++step) {
    for (int node = 0; node < 16; ++node) {
      JobStep one = report(node, step, 0);
      one.busy_seconds.reset();
      one.step_seconds = step < 150 ? 5.0 : 5.6;
      judge.add(one);
    }
  }
  EXPECT_EQ(names(judge), "");
  ASSERT_EQ(judge.notes().size(), 1U);
  EXPECT_EQ(judge.notes().front().limit, JobLimit::no_busy_times);
  ASSERT_EQ(judge.slowdowns().size(), 1U);
  EXPECT_NEAR(judge.slowdowns().front().ratio, 1.12, 1e-9);
  StragglerJudge steady;
  run(steady, 16, 0, 300, slow_nodes({}, 1));
  EXPECT_TRUE(steady.slowdowns().empty());
}

// Standard normal.
double normal(RandomStream& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}
double upper_tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

// P(Binomial(n, p) >= k).
double binomial_tail(int n, double p, int k) {
  double sum = 0;
  for (int i = k; i <= n; ++i) {
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) + i * std::log(p) +
                    (n - i) * std::log1p(-p));
  }
  return sum;
}

// The chance that normal noise alone puts a node above k robust deviations in one window. The estimated deviation is
// below s times the true one if half of the nodes are within 0.6745 s of the median: a binomial probability. A node is
// then above the limit if it is k s deviations off, against a median that is uncertain itself (variance pi / 2n). Each
// interval of s counts with its lower end, so that the sum is a bound.
double false_positive_bound(int nodes, double k) {
  constexpr double kStep = 0.01;
  const double width = std::sqrt(1 + std::numbers::pi / 2 / nodes);
  double below = 0;
  double sum = 0;
  for (double s = 0.2; s < 2; s += kStep) {
    const double up_to = binomial_tail(nodes, 1 - 2 * upper_tail(0.6745 * (s + kStep)), nodes / 2);
    sum += (up_to - below) * upper_tail(k * s / width);
    below = up_to;
  }
  return sum;
}

// Windows in which a node is above the limit by noise of 2 %, of one step and one rank: node and window.
std::uint64_t exceedances(double deviations, double ratio, std::uint64_t windows, std::uint32_t in_a_row) {
  StragglerSettings settings;
  settings.deviations = deviations;
  settings.ratio = ratio;
  settings.window_steps = 1;
  settings.windows = in_a_row;
  StragglerJudge judge(settings);
  RandomStream random(20261119, "straggler");
  std::uint64_t found = 0;
  for (std::uint64_t step = 0; step < windows; ++step) {
    for (int node = 0; node < 64; ++node) {
      const double busy = 4.0 * (1 + 0.02 * normal(random));
      judge.add(report(node, static_cast<std::int64_t>(step), busy));
    }
    found += judge.suspects().size();
  }
  return found;
}

TEST(Straggler, NoiseMakesNoSuspects) {
  const std::uint64_t windows = rounds(10'000);
  const auto samples = static_cast<double>(windows * 64);
  // With the defaults: none in three windows in a row, and in single ones no more than the bound allows.
  const double bound = false_positive_bound(64, 5);
  EXPECT_LT(bound, 5e-5);
  const double expected = samples * bound;
  EXPECT_LE(static_cast<double>(exceedances(5, 1.05, windows, 1)), expected + 5 * std::sqrt(expected) + 1);
  EXPECT_LT(samples * bound * bound * bound, 1e-6);  // suspects by noise alone
  EXPECT_EQ(exceedances(5, 1.05, windows, 3), 0U);
}

// The rate itself, where it can be measured: 2.28 % beyond two deviations, more with an estimated deviation.
TEST(Straggler, NoiseIsThatOfANormalDistribution) {
  const std::uint64_t windows = rounds(10'000);
  const double rate = static_cast<double>(exceedances(2, 1.0, windows, 1)) / static_cast<double>(windows * 64);
  EXPECT_GT(rate, upper_tail(2));
  EXPECT_LT(rate, 1.05 * false_positive_bound(64, 2));
}

TEST(Straggler, SixPercentIsFoundInNoise) {
  StragglerJudge judge;
  RandomStream random(7, "noise");
  run(judge, 64, 0, 200,
      [&](int node, std::int64_t) { return 4.0 * (node == 9 ? 1.10 : 1.0) * (1 + 0.02 * normal(random)); });
  EXPECT_EQ(names(judge), "n1009");
}

TEST(Straggler, OrderAndDuplicatesDoNotMatter) {
  std::vector<JobStep> reports;
  for (std::int64_t step = 0; step < 60; ++step) {
    for (int node = 0; node < 16; ++node) reports.push_back(report(node, step, node == 3 ? 4.5 : 4.0));
  }
  StragglerJudge ordered;
  for (const JobStep& one : reports) ordered.add(one);
  // Within ten steps, in another order, and every one twice.
  RandomStream random(5, "order");
  for (std::size_t from = 0; from < reports.size(); from += 160) {
    for (std::size_t i = 159; i > 0; --i) std::swap(reports[from + i], reports[from + random.below(i + 1)]);
  }
  StragglerJudge shuffled;
  for (const JobStep& one : reports) {
    shuffled.add(one);
    shuffled.add(one);
  }
  EXPECT_EQ(shuffled.suspects(), ordered.suspects());
  EXPECT_EQ(names(shuffled), "n1003");
  EXPECT_GT(shuffled.counts().duplicate, 900U);
  EXPECT_EQ(shuffled.counts().restarts, 0U);
}

TEST(Straggler, LateReportsAreCounted) {
  StragglerJudge judge;
  run(judge, 8, 0, 60, slow_nodes({}, 1));
  judge.add(report(3, 5, 100));
  EXPECT_EQ(judge.counts().late, 1U);
  EXPECT_EQ(judge.counts().restarts, 0U);
}

TEST(Straggler, RestartFromACheckpoint) {
  StragglerJudge judge;
  run(judge, 8, 0, 100, slow_nodes({3}, 1.2));
  EXPECT_EQ(names(judge), "n1003");
  // On other nodes, from step 50 on, later.
  const auto again = [&](std::int64_t from, std::int64_t to, bool timed) {
    for (std::int64_t step = from; step < to; ++step) {
      for (int node = 10; node < 18; ++node) {
        JobStep one = report(node, step, node == 12 ? 4.8 : 4.0);
        one.at = timed ? one.at + sched::seconds(10'000) : sched::Moment();
        judge.add(one);
      }
    }
  };
  again(50, 90, true);
  EXPECT_EQ(judge.counts().restarts, 1U);
  EXPECT_EQ(names(judge), "");
  again(90, 110, true);
  EXPECT_EQ(names(judge), "n1012");
  // Reports without times: a restart once nothing else arrives.
  again(20, 100, false);
  EXPECT_EQ(judge.counts().restarts, 2U);
  EXPECT_EQ(names(judge), "n1012");
}

TEST(Straggler, OddValues) {
  StragglerJudge judge;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double busy : {nan, -1.0, 1e7, std::numeric_limits<double>::infinity()}) judge.add(report(0, 1, busy));
  JobStep odd = report(0, 1, 4);
  odd.step = -1;
  judge.add(odd);
  odd.step = std::numeric_limits<std::int64_t>::max();
  judge.add(odd);
  odd = report(0, 1, 4);
  odd.job.clear();
  judge.add(odd);
  odd = report(0, 1, 4);
  odd.step_seconds = nan;
  judge.add(odd);
  odd = report(0, 1, 4);
  odd.rank = std::numeric_limits<std::uint32_t>::max();
  judge.add(odd);
  EXPECT_EQ(judge.counts().invalid, 9U);
  EXPECT_EQ(judge.job_count(), 0U);
  run(judge, 8, 0, 60, [](int, std::int64_t) { return 0.0; });
  EXPECT_EQ(names(judge), "");
  // One report of a step far away ends all windows before it, and the job goes on.
  judge.add(report(0, std::int64_t{1} << 52, 4));
  EXPECT_EQ(judge.window_count(), 6U);
}

TEST(Straggler, MemoryIsBounded) {
  StragglerJudge judge;
  for (std::size_t job = 0; job < StragglerJudge::kMaxJobs + 10; ++job) {
    JobStep one = report(0, 1, 4);
    one.job = std::to_string(job);
    judge.add(one);
  }
  EXPECT_EQ(judge.job_count(), StragglerJudge::kMaxJobs);
  const std::size_t nodes = StragglerJudge::kMaxNodes;
  StragglerJudge large;
  for (std::size_t node = 0; node < nodes + 10; ++node) large.add(report(static_cast<int>(node), 1, 4));
  EXPECT_EQ(large.counts().beyond, 10U);
  StragglerJudge ranks;
  for (std::uint32_t rank = 0; rank < 1000; ++rank) ranks.add(report(0, 1, 4, rank));
  EXPECT_EQ(ranks.counts().used, StragglerJudge::kMaxRanksPerNode * 10);
}

// 32,768 ranks: 10 MiB of times, whatever the number of steps.
TEST(Straggler, AJobOfFourThousandNodes) {
  constexpr int kNodes = 4'096;
  StragglerJudge judge;
  std::size_t most = 0;
  for (std::int64_t step = 0; step < 60; ++step) {
    for (int node = 0; node < kNodes; ++node) {
      for (std::uint32_t gpu = 0; gpu < 8; ++gpu)
        judge.add(report(node, step, node % 1000 == 7 ? 4.3 : 4.0, static_cast<std::uint32_t>(node) * 8 + gpu));
    }
    most = std::max(most, judge.sample_count());
  }
  EXPECT_EQ(names(judge), "n1007 n2007 n3007 n4007 n5007");
  EXPECT_EQ(most, std::size_t{kNodes} * 8 * 20);
  EXPECT_EQ(judge.counts().beyond, 0U);
}

std::string hung(const StragglerJudge& judge, double now) {
  std::string out;
  for (const HangFinding& each : judge.hangs(at(1'000'000 + now))) {
    out += each.job + "@" + std::to_string(each.step) + "/" + std::to_string(each.limit.count() / 1'000'000'000);
    for (const std::string& node : each.behind) out += " " + node;
  }
  return out;
}

TEST(Hang, NoStepForTenStepTimes) {
  StragglerJudge judge;
  run(judge, 4, 0, 100, slow_nodes({}, 1));  // the last step at 495 s, 5 s per step: 60 s are more than 50 s
  EXPECT_EQ(hung(judge, 495 + 60), "");
  EXPECT_EQ(hung(judge, 495 + 61), "17@99/60");
  judge.add(report(0, 100, 4));
  judge.add(report(2, 100, 4));
  EXPECT_EQ(hung(judge, 500 + 61), "17@100/60 n1001 n1003");
  const std::vector<Signal> signals = signals_of(judge.hangs(at(1'000'000 + 561)).front());
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_EQ(signals.front().name, "job:hang");
  EXPECT_EQ(signals.front().node, "n1001");
  EXPECT_EQ(signals.front().text, "job 17: no step after step 100 for 61 s, more than 60 s");
  judge.remove_job("17");
  EXPECT_EQ(hung(judge, 10'000), "");
}

TEST(Hang, LongStepsTakeLonger) {
  StragglerJudge judge;
  for (std::int64_t step = 0; step < 50; ++step) {
    JobStep one = report(0, step, 4);
    one.step_seconds = 60;
    one.at = at(1'000'000 + 60.0 * static_cast<double>(step));
    judge.add(one);
  }
  EXPECT_EQ(hung(judge, 2940 + 600), "");
  EXPECT_EQ(hung(judge, 2940 + 601), "17@49/600");
}

TEST(Hang, TheFirstStepAndPausesTakeAsLongAsTheyDo) {
  StragglerJudge judge;
  JobStep one = report(0, 0, 4);
  one.step_seconds.reset();
  one.phase = JobPhase::startup;
  judge.add(one);
  EXPECT_EQ(hung(judge, 100'000), "");
  run(judge, 4, 1, 50, slow_nodes({}, 1));
  one = report(0, 50, 4);
  one.phase = JobPhase::checkpoint;
  judge.add(one);
  EXPECT_EQ(hung(judge, 100'000), "");
  run(judge, 4, 51, 52, slow_nodes({}, 1));
  EXPECT_EQ(hung(judge, 255 + 61), "17@51/60");
}

TEST(Hang, StepTimesAreMeasuredWhereNoneAreReported) {
  StragglerJudge judge;
  for (std::int64_t step = 0; step < 50; ++step) {
    for (int node = 0; node < 4; ++node) {
      JobStep one = report(node, step, 4);
      one.step_seconds.reset();
      one.at = at(1'000'000 + 30.0 * static_cast<double>(step) + 0.01 * node);
      judge.add(one);
    }
  }
  EXPECT_EQ(hung(judge, 1470 + 290), "");
  EXPECT_EQ(hung(judge, 1470 + 310), "17@49/299");
}

// A restart by a few steps repeats steps that were done: that is progress.
TEST(Hang, RepeatedStepsAreProgress) {
  StragglerJudge judge;
  run(judge, 4, 0, 100, slow_nodes({}, 1));
  for (std::int64_t step = 85; step < 99; ++step) {
    JobStep one = report(0, step, 4);
    one.at = at(1'000'000 + 600 + 5.0 * static_cast<double>(step - 85));
    judge.add(one);
    EXPECT_EQ(hung(judge, 601 + 5.0 * static_cast<double>(step - 85)), "") << step;
  }
  JobStep same = report(0, 98, 4);
  same.at = at(1'000'000 + 700);
  judge.add(same);  // no progress
  EXPECT_NE(hung(judge, 735), "");
}

TEST(Hang, WithoutTimesNothingIsSaid) {
  StragglerJudge judge;
  for (std::int64_t step = 0; step < 50; ++step) {
    JobStep one = report(0, step, 4);
    one.at = sched::Moment();
    judge.add(one);
  }
  EXPECT_EQ(hung(judge, 1e6), "");
}

}  // namespace
}  // namespace weft::health
