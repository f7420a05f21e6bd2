#include "sched/packing/typical_tasks.h"

#include <gtest/gtest.h>

namespace weft::sched {
namespace {

Request asks(Milli cpu, std::int32_t gpus, Milli milli, std::int32_t memory = 0) {
  Request request;
  request.cpu = cpu;
  request.gpus = gpus;
  request.gpu_milli = milli;
  request.memory_mib = memory;
  return request;
}

TEST(TypicalTasks, CountsDistinctRequestsMostFrequentFirst) {
  const std::vector<Request> list = {asks(2000, 1, 500), asks(1000, 0, 1000), asks(2000, 1, 500),
                                     asks(1000, 0, 0),   asks(2000, 1, 500),  asks(4000, 8, 1000)};
  const std::vector<TaskType> types = task_types(list);
  ASSERT_EQ(types.size(), 3U);
  EXPECT_EQ(types[0].request, asks(2000, 1, 500));
  EXPECT_EQ(types[0].count, 3);
  EXPECT_DOUBLE_EQ(types[0].share, 0.5);
  // The GPU fraction of a task without GPUs is ignored.
  EXPECT_EQ(types[1].request, asks(1000, 0, 0));
  EXPECT_EQ(types[1].count, 2);
}

TEST(TypicalTasks, CountsEveryTaskOfAJob) {
  Job job;
  job.task = asks(1000, 1, 1000);
  job.tasks = 7;
  const std::vector<Job> jobs = {job};
  ASSERT_EQ(task_types(std::span<const Job>(jobs)).size(), 1U);
  EXPECT_EQ(task_types(std::span<const Job>(jobs))[0].count, 7);
}

TEST(TypicalTasks, CoverIsReachedAndSharesAddUpToOne) {
  std::vector<Request> list;
  for (int i = 0; i < 60; ++i) list.push_back(asks(1000, 1, 1000, i % 2));  // memory does not distinguish types
  for (int i = 0; i < 36; ++i) list.push_back(asks(2000, 0, 0));
  for (int i = 0; i < 4; ++i) list.push_back(asks(3000 + i, 1, 1000));
  const std::vector<TaskType> typical = typical_tasks(task_types(list));
  ASSERT_EQ(typical.size(), 2U);  // 96 of 100
  EXPECT_DOUBLE_EQ(typical[0].share, 0.625);
  EXPECT_DOUBLE_EQ(typical[1].share, 0.375);
  EXPECT_EQ(typical_tasks(task_types(list), 1.0).size(), 6U);
  EXPECT_TRUE(typical_tasks({}).empty());
}

}  // namespace
}  // namespace weft::sched
