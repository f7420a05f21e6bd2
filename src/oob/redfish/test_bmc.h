// A Redfish session on the test service, for the tests of RedfishBmc.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "oob/bmc/connector.h"
#include "oob/redfish/bmc.h"
#include "oob/redfish/test_service.h"

namespace weft::oob {

using test::TestService;

// A session on the test service; waits take no time.
class RedfishBmcTest : public testing::Test {
 protected:
  void serve(TestService::Hook hook = nullptr) { service_ = std::make_unique<TestService>(std::move(hook)); }
  Bmc& bmc() {
    if (bmc_ == nullptr) {
      Result<std::unique_ptr<Bmc>> dialled =
          dial_redfish(service_->endpoint(), TestService::kUser, Secret(TestService::kPassword), clock_);
      CHECK(dialled.ok(), "the test's service takes its own password");
      bmc_ = std::move(dialled).value();
    }
    return *bmc_;
  }
  void TearDown() override {
    bmc_.reset();
    EXPECT_EQ(service_->open_sessions(), 0U);
  }

  ManualClock clock_;
  std::unique_ptr<TestService> service_;
  std::unique_ptr<Bmc> bmc_;
};

}  // namespace weft::oob
