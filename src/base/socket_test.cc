#include "base/socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>

#include <cerrno>

namespace weft {
namespace {

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

// A port of 127.0.0.1 that is bound, and listens on request.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof own;
    auto* generic = reinterpret_cast<sockaddr*>(&own);
    EXPECT_EQ(::bind(socket_.get(), generic, size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), generic, &size), 0);
    number_ = ntohs(own.sin_port);
  }
  void listen() const { EXPECT_EQ(::listen(socket_.get(), 4), 0); }
  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  FileDescriptor socket_;
  std::uint16_t number_ = 0;
};

TEST(Socket, ConnectsOrReportsTheError) {
  const Port port;
  const Lookup found = look_up_host("127.0.0.1", port.number(), SOCK_STREAM);
  ASSERT_EQ(found.error, 0);
  const Connection refused = connect_socket(*found.list, in(std::chrono::seconds(10)));
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.stopped, Connection::Step::connect);
  EXPECT_EQ(refused.error, ECONNREFUSED);
  port.listen();
  const Connection made = connect_socket(*found.list, in(std::chrono::seconds(10)));
  EXPECT_TRUE(made.ok());
  EXPECT_TRUE(made.socket.ok());
  EXPECT_EQ(wait_until_ready(made.socket.get(), POLLOUT, in(std::chrono::seconds(10))), 0);
  EXPECT_EQ(wait_until_ready(made.socket.get(), POLLIN, in(std::chrono::milliseconds(20))), ETIMEDOUT);
}

TEST(Socket, LooksUpTheRequestedFamily) {
  EXPECT_EQ(look_up_host("127.0.0.1", 1, SOCK_DGRAM, AF_INET).list->ai_family, AF_INET);
  EXPECT_NE(look_up_host("::1", 1, SOCK_DGRAM, AF_INET).error, 0);
  EXPECT_NE(look_up_host("not a host", 1, SOCK_STREAM).error, 0);
}

}  // namespace
}  // namespace weft
