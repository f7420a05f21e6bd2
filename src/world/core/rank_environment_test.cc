#include "world/core/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace weft::world {
namespace {

std::string master_port(const control::AttemptName& name, const std::string& state) {
  control::StartAttempt command;
  command.name = name;
  command.spec = std::make_shared<control::JobSpec>();
  EnvironmentContext context;
  context.state = state;
  return common_variables(command, context, make_layout(command.slots))["MASTER_PORT"];
}

// Jobs on one server listen on one address. A shared port lets the ranks of one connect to rank 0 of the other.
TEST(RankEnvironment, PortsDifferByJobAttemptAndEngine) {
  std::set<std::string> ports;
  for (control::JobNumber job = 1; job <= 5'000; ++job) ports.insert(master_port({job, 1}, "/var/lib/weft"));
  EXPECT_EQ(ports.size(), 5'000U);
  EXPECT_NE(master_port({1, 1}, "/var/lib/weft"), master_port({1, 2}, "/var/lib/weft"));
  EXPECT_NE(master_port({1, 1}, "/var/lib/weft"), master_port({1, 1}, "/srv/weft"));
  EXPECT_EQ(master_port({1, 1}, "/var/lib/weft"), master_port({1, 1}, "/var/lib/weft"));
}

// Ports from 32768 may be in use by any outgoing connection.
TEST(RankEnvironment, PortsAreBelowThoseOfOutgoingConnections) {
  for (control::JobNumber job = 1; job <= 100'000; job += 997) {
    for (control::AttemptNumber attempt = 1; attempt <= 40; ++attempt) {
      const int port = std::stoi(master_port({job, attempt}, "/var/lib/weft"));
      EXPECT_GE(port, 20'000);
      EXPECT_LT(port, 32'768);
    }
  }
}

}  // namespace
}  // namespace weft::world
