#include "base/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace weft {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(FileDescriptor, ClosesOnceAndMoves) {
  int number = -1;
  {
    FileDescriptor first = open_descriptor("/dev/null", O_RDONLY);
    ASSERT_TRUE(first.ok());
    number = first.get();
    EXPECT_NE(::fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
    FileDescriptor second(std::move(first));
    EXPECT_TRUE(is_open(number));
    second = open_descriptor("/dev/null", O_RDONLY);
    EXPECT_TRUE(second.ok());
    EXPECT_FALSE(is_open(number));
    number = second.get();
  }
  EXPECT_FALSE(is_open(number));
}

TEST(FileDescriptor, ClosingTwiceIsHarmless) {
  FileDescriptor file = open_descriptor("/dev/null", O_RDONLY);
  EXPECT_TRUE(file.close());
  EXPECT_TRUE(file.close());
  EXPECT_FALSE(file.ok());
}

TEST(FileDescriptor, WritesAllOrReportsTheError) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const FileDescriptor from(ends[0]);
  const FileDescriptor to(ends[1]);
  const Written whole = write_all(to.get(), "hello");
  EXPECT_EQ(whole.bytes, 5U);
  EXPECT_EQ(whole.error, 0);
  const Written refused = write_all(from.get(), "hello");
  EXPECT_EQ(refused.bytes, 0U);
  EXPECT_EQ(refused.error, EBADF);
}

TEST(FileDescriptor, ErrorsHaveTheirKind) {
  const FileDescriptor missing = open_descriptor("/nonexistent/file", O_RDONLY);
  const int code = errno;
  EXPECT_FALSE(missing.ok());
  EXPECT_EQ(file_error(code, "read", "x").code, ErrorCode::not_found);
  EXPECT_EQ(file_error(EACCES, "read", "x").code, ErrorCode::refused);
  EXPECT_EQ(file_error(EIO, "read", "x").code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace weft
