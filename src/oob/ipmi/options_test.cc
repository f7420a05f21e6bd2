#include "oob/ipmi/options.h"

#include <gtest/gtest.h>

#include "oob/ipmi/error.h"
#include "oob/ipmi/lazy_freeipmi.h"
#include "oob/ipmi/settings.h"

namespace weft::oob {
namespace {

Endpoint endpoint() {
  Endpoint endpoint;
  endpoint.device = "n1";
  endpoint.protocol = Protocol::ipmi;
  endpoint.host = "10.0.0.1";
  return endpoint;
}

TEST(IpmiOptions, AddressesHavePorts) {
  Endpoint to = endpoint();
  EXPECT_EQ(ipmi_options(to)->address, "10.0.0.1:623");
  to.port = 6230;
  EXPECT_EQ(ipmi_options(to)->address, "10.0.0.1:6230");
  to.host = "fd00::1";
  EXPECT_EQ(ipmi_options(to)->address, "[fd00::1]:6230");
  EXPECT_EQ(ipmi_options(to)->host, "fd00::1");
}

TEST(IpmiOptions, CipherSuiteZeroAndWeakSuitesAreRefused) {
  Endpoint to = endpoint();
  EXPECT_EQ(ipmi_options(to)->suites, std::vector<int>{17});
  to.cipher_suites = {17, 3};
  EXPECT_EQ(ipmi_options(to)->suites, (std::vector<int>{17, 3}));
  // 0 has none; 1, 2, 15 and 16 do not encrypt; nor do 6, 7 and 11; 4 and 5 are xRC4, which is not supported; others do
  // not exist.
  for (const int suite : {0, 1, 2, 4, 5, 6, 7, 11, 15, 16, 18, -1, 255}) {
    to.cipher_suites = {17, suite};
    const Result<IpmiOptions> options = ipmi_options(to);
    ASSERT_FALSE(options.ok()) << suite;
    EXPECT_EQ(options.error().code, ErrorCode::refused) << suite;
    EXPECT_EQ(options.error().where, "n1");
  }
  to.cipher_suites.clear();
  EXPECT_EQ(ipmi_options(to).error().code, ErrorCode::invalid_input);
}

TEST(IpmiOptions, WorkaroundsUseFreeIpmiNames) {
  Endpoint to = endpoint();
  to.workarounds = {"opensesspriv", "solpayloadsize", "solchannelsupport"};
  const Result<IpmiOptions> options = ipmi_options(to);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->session_flags, static_cast<unsigned>(IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_OPEN_SESSION_PRIVILEGE));
  EXPECT_EQ(options->console_flags, static_cast<unsigned>(IPMICONSOLE_WORKAROUND_OPEN_SESSION_PRIVILEGE |
                                                          IPMICONSOLE_WORKAROUND_IGNORE_SOL_PAYLOAD_SIZE |
                                                          IPMICONSOLE_WORKAROUND_SKIP_CHANNEL_PAYLOAD_SUPPORT));
  // All names of ipmiconsole(8) are accepted.
  to.workarounds = {"authcap",
                    "intel20",
                    "supermicro20",
                    "sun20",
                    "opensesspriv",
                    "nochecksumcheck",
                    "solpacketseq",
                    "serialalertsdeferred",
                    "solpayloadsize",
                    "solport",
                    "solstatus",
                    "none",
                    "integritycheckvalue",
                    "solchannelsupport"};
  EXPECT_TRUE(ipmi_options(to).ok());
  to.workarounds = {"opensespriv"};
  const Result<IpmiOptions> wrong = ipmi_options(to);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_input);
  EXPECT_NE(wrong.error().message.find("'opensespriv'"), std::string::npos);
  EXPECT_NE(wrong.error().message.find("opensesspriv"), std::string::npos);
}

TEST(IpmiOptions, TimeoutsAreClamped) {
  Endpoint to = endpoint();
  to.request_limit = milliseconds(10'000);
  EXPECT_EQ(ipmi_options(to)->retransmission, 1000U);
  for (const std::int64_t limit : {std::int64_t{-5}, std::int64_t{0}, std::int64_t{1}, std::int64_t{50}}) {
    to.request_limit = milliseconds(limit);
    const Result<IpmiOptions> options = ipmi_options(to);
    ASSERT_TRUE(options.ok());
    EXPECT_GT(options->retransmission, 0U);
    EXPECT_LT(options->retransmission, options->request_limit);  // otherwise FreeIPMI rejects it, and leaks
  }
  to.request_limit = Duration(INT64_MAX);
  EXPECT_EQ(ipmi_options(to)->request_limit, 3'600'000U);
}

TEST(IpmiOptions, InvalidNamesAndPasswordsAreRejected) {
  EXPECT_TRUE(check_ipmi_user("0123456789abcdef", "n1").ok());
  EXPECT_FALSE(check_ipmi_user("0123456789abcdefg", "n1").ok());
  EXPECT_FALSE(check_ipmi_user(std::string("a\0b", 3), "n1").ok());
  EXPECT_TRUE(check_ipmi_password(Secret("01234567890123456789"), "n1").ok());
  const Status longer = check_ipmi_password(Secret("012345678901234567890"), "n1");
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().message.find("0123"), std::string::npos);
}

TEST(IpmiError, CompletionCodesMapToErrors) {
  EXPECT_EQ(completion_error(0xC0, "x", "n1").code, ErrorCode::conflict);
  EXPECT_EQ(completion_error(0xC1, "x", "n1").code, ErrorCode::not_found);
  EXPECT_EQ(completion_error(0xD4, "x", "n1").code, ErrorCode::refused);
  const Error state = completion_error(0xD5, "do PowerCycle", "n1");
  EXPECT_EQ(state.code, ErrorCode::conflict);
  EXPECT_EQ(state.text(), "n1: cannot do PowerCycle: not possible in the present state (completion code D5h)");
  EXPECT_EQ(completion_error(0x7E, "x", "n1").code, ErrorCode::invalid_input);
  for (int code = 1; code < 256; ++code) {
    const Error error = completion_error(static_cast<std::uint8_t>(code), "x", "n1");
    EXPECT_NE(error.code, ErrorCode::internal) << code;
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(IpmiError, LibraryErrorNumbersMapToErrors) {
  EXPECT_EQ(ipmi_error(IPMI_ERR_PASSWORD_INVALID, "log in", "n1").code, ErrorCode::refused);
  EXPECT_EQ(ipmi_error(IPMI_ERR_SESSION_TIMEOUT, "x", "n1").code, ErrorCode::timeout);
  EXPECT_EQ(ipmi_error(IPMI_ERR_CONNECTION_TIMEOUT, "x", "n1").code, ErrorCode::unavailable);
  EXPECT_EQ(ipmi_error(IPMI_ERR_BMC_BUSY, "x", "n1").code, ErrorCode::conflict);
  EXPECT_EQ(ipmi_error(IPMI_ERR_PASSWORD_INVALID, "log in", "n1").text(), "n1: cannot log in: password invalid");
  EXPECT_EQ(console_error(IPMICONSOLE_ERR_SOL_STOLEN, "read", "n1").code, ErrorCode::conflict);
  EXPECT_EQ(console_error(IPMICONSOLE_ERR_SESSION_TIMEOUT, "read", "n1").code, ErrorCode::timeout);
  EXPECT_EQ(console_error(IPMICONSOLE_ERR_PASSWORD_INVALID, "read", "n1").code, ErrorCode::refused);
}

TEST(IpmiCipherRecords, StandardIdsAreReadAndVendorIdsSkipped) {
  // Suites 0, 3 and 17 (IPMI 2.0, table 22-20): a tag, the id, authentication, integrity, confidentiality.
  EXPECT_EQ(parse_cipher_records({0xC0, 17, 0x03, 0x44, 0x81, 0xC0, 0, 0x00, 0x40, 0x80, 0xC0, 3, 0x01, 0x41, 0x81}),
            (std::vector<int>{0, 3, 17}));
  // Vendor-specific: a tag, an id, three bytes of enterprise number.
  EXPECT_EQ(parse_cipher_records({0xC1, 0x80, 0x11, 0x22, 0x33, 0x01, 0x41, 0x81, 0xC0, 3, 0x01, 0x41, 0x81}),
            std::vector<int>{3});
  EXPECT_TRUE(parse_cipher_records({}).empty());
  EXPECT_TRUE(parse_cipher_records({0xC0}).empty());
  EXPECT_TRUE(parse_cipher_records({0xC1, 0x80}).empty());
}

}  // namespace
}  // namespace weft::oob
