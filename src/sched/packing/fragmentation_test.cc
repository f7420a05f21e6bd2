#include "sched/packing/fragmentation.h"

#include <gtest/gtest.h>

namespace weft::sched {
namespace {

NodeShape server(Milli cpu, std::int32_t gpus) {
  NodeShape shape;
  shape.cpu = cpu;
  shape.memory_mib = 1000;
  shape.gpus = gpus;
  shape.model = gpus > 0 ? 0 : -1;
  return shape;
}

NodeFree with(const NodeShape& shape, std::initializer_list<int> gpus) {
  NodeFree free = empty_node(shape);
  std::size_t g = 0;
  for (const int milli : gpus) free.gpu[g++] = static_cast<std::int16_t>(milli);
  return free;
}

Request asks(Milli cpu, std::int32_t gpus, Milli milli) {
  Request request;
  request.cpu = cpu;
  request.gpus = gpus;
  request.gpu_milli = milli;
  return request;
}

// The cases of the paper's definition: enough GPUs, too few, too little CPU, no GPU requested.
TEST(Fragmentation, OfOneTaskType) {
  const NodeShape shape = server(8000, 4);
  const NodeFree free = with(shape, {1000, 600, 300, 0});
  EXPECT_EQ(fragment_of(asks(1000, 1, 500), shape, free), 300);
  EXPECT_EQ(fragment_of(asks(1000, 1, 300), shape, free), 0);
  EXPECT_EQ(fragment_of(asks(1000, 1, 1000), shape, free), 900);
  EXPECT_EQ(fragment_of(asks(1000, 2, 1000), shape, free), 1900);
  EXPECT_EQ(fragment_of(asks(9000, 1, 100), shape, free), 1900);
  EXPECT_EQ(fragment_of(asks(1000, 0, 0), shape, free), 1900);
}

TEST(Fragmentation, OfTasksThatAcceptOtherModels) {
  const NodeShape shape = server(8000, 2);
  Request request = asks(1000, 1, 1000);
  request.models = 2;
  EXPECT_EQ(fragment_of(request, shape, empty_node(shape)), 2000);
  request.models = 3;
  EXPECT_EQ(fragment_of(request, shape, empty_node(shape)), 0);
}

TEST(Fragmentation, IsTheMeanOverTheTypes) {
  const NodeShape shape = server(8000, 4);
  const NodeFree free = with(shape, {1000, 600, 300, 0});
  const std::vector<TaskType> types = {{asks(1000, 1, 500), 1, 0.25}, {asks(1000, 2, 1000), 3, 0.75}};
  EXPECT_DOUBLE_EQ(fragment_of(types, shape, free), 0.25 * 300 + 0.75 * 1900);
  EXPECT_DOUBLE_EQ(fragment_of(types, shape, with(shape, {0, 0, 0, 0})), 0);
}

TEST(Fragmentation, ChecksMemoryIfTypesHaveIt) {
  const NodeShape shape = server(8000, 1);
  Request request = asks(1000, 1, 1000);
  request.memory_mib = 1001;
  EXPECT_EQ(fragment_of(request, shape, empty_node(shape)), 1000);
}

}  // namespace
}  // namespace weft::sched
