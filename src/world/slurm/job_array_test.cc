#include "world/slurm/job_array.h"

#include <gtest/gtest.h>

namespace weft::world {
namespace {

TEST(JobArray, TasksAreRead) {
  const auto tasks = parse_array_tasks("17|3|PENDING|Resources\n17|4|RUNNING|None\n 18 | 0 |TIMEOUT|TimeLimit\n\n");
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(tasks->size(), 3U);
  EXPECT_EQ((*tasks)[0].job, 17U);
  EXPECT_EQ((*tasks)[0].index, 3U);
  EXPECT_EQ((*tasks)[0].reason, "Resources");
  EXPECT_TRUE((*tasks)[0].is_live());
  EXPECT_TRUE((*tasks)[1].is_live());
  EXPECT_EQ((*tasks)[2].job, 18U);
  EXPECT_FALSE((*tasks)[2].is_live());
  EXPECT_TRUE(parse_array_tasks("")->empty());
}

TEST(JobArray, StatesThatAreNotKnownAreLive) {
  ArrayTask task;
  for (const char* state : {"REQUEUE_HOLD", "SPECIAL_EXIT", "COMPLETING", "SOMETHING_NEW"}) {
    task.state = state;
    EXPECT_TRUE(task.is_live()) << state;
  }
  for (const char* state : {"CANCELLED", "COMPLETED", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE"}) {
    task.state = state;
    EXPECT_FALSE(task.is_live()) << state;
  }
}

TEST(JobArray, WhatIsNotATaskIsAnError) {
  for (const char* text :
       {"slurm_load_jobs error\n", "17|3|PENDING\n", "17||RUNNING|None\n", "17|N/A|RUNNING|None\n",
        "99999999999|3|RUNNING|None\n", "17|3||None\n", "17|-1|RUNNING|None\n", "17|3|RUNNING|a|b\n"}) {
    const auto tasks = parse_array_tasks(text);
    ASSERT_FALSE(tasks.ok()) << text;
    EXPECT_NE(tasks.error().text().find("line 1 of squeue"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::world
