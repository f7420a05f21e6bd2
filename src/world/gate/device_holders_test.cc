#include "world/gate/device_holders.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file_descriptor.h"
#include "base/folder.h"

namespace weft::world {
namespace {

namespace fs = std::filesystem;

class DeviceHoldersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weft_devices_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    for (const char* device : {"gpu0", "gpu1"}) std::ofstream(folder / device) << "stand-in\n";
    query.devices = {(folder / "gpu*").string()};
  }
  void TearDown() override { fs::remove_all(folder); }

  fs::path folder;
  HolderQuery query;
};

TEST_F(DeviceHoldersTest, FindsTheProcessThatHoldsADevice) {
  const Result<std::vector<DeviceHolder>> none = find_device_holders(query);
  ASSERT_TRUE(none.ok()) << none.error().text();
  EXPECT_TRUE(none->empty());
  const int file = ::open((folder / "gpu1").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const Result<std::vector<DeviceHolder>> found = find_device_holders(query);
  ::close(file);
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().pid, ::getpid());
  EXPECT_EQ(found->front().device, (folder / "gpu1").string());
  EXPECT_EQ(describe(*found).substr(0, 4), "pid ");
  query.ignored = {found->front().program};
  EXPECT_TRUE(find_device_holders(query)->empty());
}

TEST_F(DeviceHoldersTest, AnotherNameOfTheDeviceIsFound) {
  fs::create_hard_link(folder / "gpu0", folder / "other");
  const int file = ::open((folder / "other").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const Result<std::vector<DeviceHolder>> found = find_device_holders(query);
  ::close(file);
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_EQ(found->size(), 1U);
}

TEST_F(DeviceHoldersTest, CharacterDevicesAreComparedByNumber) {
  query.devices = {"/dev/null"};
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const Result<std::vector<DeviceHolder>> found = find_device_holders(query);
  ::close(file);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_TRUE(std::any_of(found->begin(), found->end(), [](const auto& each) { return each.pid == ::getpid(); }));
}

TEST_F(DeviceHoldersTest, NothingReadIsAnError) {
  query.devices = {(folder / "nvidia*").string()};
  EXPECT_FALSE(find_device_holders(query).ok()) << "no device file: nothing is known";
  query.devices = {(folder / "gpu*").string()};
  query.proc = (folder / "proc").string();
  EXPECT_FALSE(find_device_holders(query).ok()) << "no /proc";
  fs::create_directory(query.proc);
  EXPECT_FALSE(find_device_holders(query).ok()) << "an empty /proc";
  fs::create_directories(fs::path(query.proc) / "17" / "fd");
  EXPECT_TRUE(find_device_holders(query).ok());
  std::ofstream(fs::path(query.proc) / "18");  // its fd cannot be a folder
  EXPECT_FALSE(find_device_holders(query).ok()) << "a process that cannot be read";
}

TEST(DescribeHolders, NamesAtMostThree) {
  std::vector<DeviceHolder> holders;
  for (pid_t pid = 1; pid <= 5; ++pid) holders.push_back({pid, "python3", "/dev/nvidia0"});
  EXPECT_EQ(describe(holders),
            "pid 1 (python3) holds /dev/nvidia0, pid 2 (python3) holds /dev/nvidia0, pid 3 (python3) holds "
            "/dev/nvidia0 and 2 more");
}

}  // namespace
}  // namespace weft::world
