#include "serve/http/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>

#include "serve/http/test_socket.h"

namespace weft::serve {
namespace {

using testing::HasSubstr;

unsigned mode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

TEST(UnixSocketTest, SetsPermissionsWhateverTheUmask) {
  const TestFolder folder;
  for (const mode_t mask : {mode_t{0}, mode_t{077}}) {
    const mode_t before = ::umask(mask);
    const Result<UnixListener> listener = listen_unix(folder.file("s"), 0660);
    ::umask(before);
    ASSERT_TRUE(listener.ok()) << listener.error().text();
    EXPECT_EQ(mode_of(folder.file("s")), 0660U);
    remove_socket_file(*listener);
    EXPECT_FALSE(exists(folder.file("s")));
  }
}

TEST(UnixSocketTest, RefusesAWorldWritableFolder) {
  const TestFolder folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0777), 0);
  const Result<UnixListener> listener = listen_unix(folder.file("s"), 0660);
  ASSERT_FALSE(listener.ok());
  EXPECT_EQ(listener.error().code, ErrorCode::refused);
  EXPECT_THAT(listener.error().text(), HasSubstr("world-writable"));
  ASSERT_EQ(::chmod(folder.path().c_str(), 01777), 0);
  EXPECT_TRUE(listen_unix(folder.file("s"), 0660).ok()) << "sticky";
}

TEST(UnixSocketTest, ReplacesTheFileOfADeadServer) {
  const TestFolder folder;
  { ASSERT_TRUE(listen_unix(folder.file("s"), 0660).ok()); }
  ASSERT_TRUE(exists(folder.file("s"))) << "left behind, as after a crash";
  const Result<FileDescriptor> before = connect_unix(folder.file("s"), test_deadline());
  ASSERT_FALSE(before.ok());
  EXPECT_THAT(before.error().text(), HasSubstr("no weft serve is listening on " + folder.file("s")));
  ASSERT_TRUE(listen_unix(folder.file("s"), 0660).ok());
}

TEST(UnixSocketTest, LeavesALiveServerAlone) {
  const TestFolder folder;
  const Result<UnixListener> first = listen_unix(folder.file("s"), 0660);
  ASSERT_TRUE(first.ok());
  const Result<UnixListener> second = listen_unix(folder.file("s"), 0660);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  EXPECT_EQ(second.error().text(), "another weft serve is listening on " + folder.file("s"));
  EXPECT_TRUE(connect_unix(folder.file("s"), test_deadline()).ok());
}

TEST(UnixSocketTest, NeverRemovesAnythingElse) {
  const TestFolder folder;
  std::ofstream(folder.file("file")) << "data";
  ASSERT_EQ(::symlink("/nonexistent", folder.file("link").c_str()), 0);
  ASSERT_EQ(::mkdir(folder.file("folder").c_str(), 0700), 0);
  for (const char* name : {"file", "link", "folder"}) {
    const Result<UnixListener> listener = listen_unix(folder.file(name), 0660);
    ASSERT_FALSE(listener.ok()) << name;
    EXPECT_THAT(listener.error().text(), HasSubstr("not a socket"));
  }
  EXPECT_TRUE(exists(folder.file("file")));
}

TEST(UnixSocketTest, RemovesOnlyItsOwnFile) {
  const TestFolder folder;
  const Result<UnixListener> first = listen_unix(folder.file("s"), 0660);
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(::rename(folder.file("s").c_str(), folder.file("old").c_str()), 0);
  const Result<UnixListener> second = listen_unix(folder.file("s"), 0660);
  ASSERT_TRUE(second.ok());
  remove_socket_file(*first);
  EXPECT_TRUE(exists(folder.file("s"))) << "it is the second server's";
}

TEST(UnixSocketTest, LimitsThePath) {
  const TestFolder folder;
  const std::string path = folder.file(std::string(200, 'a'));
  const Result<UnixListener> listener = listen_unix(path, 0660);
  ASSERT_FALSE(listener.ok());
  EXPECT_THAT(listener.error().text(), HasSubstr("at most 107 bytes"));
  const Result<FileDescriptor> client = connect_unix(path, test_deadline());
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().code, ErrorCode::invalid_input);
  EXPECT_FALSE(listen_unix("", 0660).ok());
  const std::string longest = folder.file(std::string(107 - folder.path().size() - 1, 'b'));
  EXPECT_TRUE(listen_unix(longest, 0660).ok());
  EXPECT_FALSE(listen_unix(folder.file("missing/s"), 0660).ok());
}

TEST(UnixSocketTest, AFullQueueEndsAtTheDeadline) {
  const TestFolder folder;
  const FileDescriptor server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder.file("s");
  std::memcpy(address.sun_path, path.data(), path.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): sockets
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(server.get(), 0), 0);
  const Result<FileDescriptor> first = connect_unix(path, test_deadline());
  ASSERT_TRUE(first.ok());
  const Deadline soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  const Result<FileDescriptor> second = connect_unix(path, soon);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::timeout);
  EXPECT_THAT(listen_unix(path, 0660).error().text(), HasSubstr("another weft serve is listening"));
}

}  // namespace
}  // namespace weft::serve
