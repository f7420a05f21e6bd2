#include "oob/bmc/cause.h"

#include <gtest/gtest.h>

namespace weft::oob {
namespace {

Error refused(std::string message) { return {ErrorCode::refused, std::move(message), "train01"}; }

TEST(Cause, WhatDiffersInItsRemedyIsKeptApart) {
  EXPECT_EQ(cause_text(refused("certificate not trusted: self-signed certificate; it presents sha256//x")),
            "certificate not trusted");
  EXPECT_EQ(cause_text(refused("user or password refused")), "user or password refused");
  EXPECT_EQ(cause_text(refused("cipher suite not offered: cannot log in with cipher suite 17")),
            "cipher suite not offered");
  EXPECT_EQ(cause_text(refused("HTTP 403: no privilege")), "refused");
  EXPECT_EQ(cause_text({ErrorCode::conflict, "session limit reached: HTTP 503", {}}), "session limit reached");
  EXPECT_EQ(cause_text({ErrorCode::conflict, "HTTP 503", {}}), "busy");
  EXPECT_EQ(cause_text({ErrorCode::timeout, "no response", {}}), "timed out");
  EXPECT_EQ(cause_text({ErrorCode::unavailable, "no connection", {}}), "no answer");
}

TEST(Cause, OnlyARefusedLoginIsAboutCredentials) {
  EXPECT_TRUE(is_about_credentials(refused("user or password refused")));
  EXPECT_TRUE(is_about_credentials(refused("HTTP 403: no privilege")));
  EXPECT_TRUE(is_about_credentials(refused("the password must be changed before anything else is allowed")));
  for (const char* message : {"certificate not trusted: x", "cipher suite not offered: x",
                              "supports only TLS older than 1.2", "redirects to another host or path; not followed"})
    EXPECT_FALSE(is_about_credentials(refused(message))) << message;
  EXPECT_FALSE(is_about_credentials({ErrorCode::timeout, "user or password refused", {}}));
}

}  // namespace
}  // namespace weft::oob
