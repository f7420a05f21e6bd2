#include "oob/redfish/quirks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "oob/bmc/bmc.h"
#include "oob/redfish/json.h"
#include "oob/redfish/oem_settings.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Texts = std::vector<std::string>;

Value json(std::string_view text) {
  Result<Value> value = read_json_reply(text);
  CHECK(value.ok(), "the test's JSON is JSON");
  return std::move(value).value();
}

TEST(Quirks, VendorsAreMatchedByReportedValues) {
  EXPECT_EQ(quirk_for({.vendor = "Dell"}).name, "dell-idrac");
  EXPECT_EQ(quirk_for({.manufacturer = "Dell Inc."}).name, "dell-idrac");
  EXPECT_EQ(quirk_for({.oem = {"Supermicro"}}).name, "supermicro");
  EXPECT_EQ(quirk_for({.vendor = "HPE"}).name, "hpe-ilo");
  EXPECT_EQ(quirk_for({.manufacturer = "Lenovo"}).name, "lenovo-xcc");
  EXPECT_EQ(quirk_for({.product = "AMI Redfish Server"}).name, "ami-megarac");
  EXPECT_EQ(quirk_for({.manufacturer = "NVIDIA"}).name, "nvidia-openbmc");
  EXPECT_EQ(quirk_for({.oem = {"Weft"}}).name, "weft-sim");
  EXPECT_EQ(quirk_for({.vendor = "weft"}).name, "weft-sim");
  EXPECT_EQ(quirk_for({.vendor = "OpenBMC"}).name, "openbmc");
  EXPECT_EQ(quirk_for({.manufacturer = "Contoso"}).name, "generic");
  EXPECT_EQ(quirk_for({}).name, "generic");
}

TEST(Quirks, NamesAreUniqueAndResetsAreKnown) {
  std::set<std::string> names;
  for (const Quirk& quirk : all_quirks()) {
    EXPECT_TRUE(names.insert(quirk.name).second) << quirk.name;
    for (const std::string& reset : quirk.missing_resets) EXPECT_TRUE(reset_action_named(reset)) << reset;
  }
  EXPECT_EQ(all_quirks().back().name, "generic");
}

TEST(Quirks, InvalidDocumentsNameTheLine) {
  const auto message = [](const std::string& text) { return parse_quirks(text).error().text(); };
  EXPECT_THAT(message("weft_quirks: 2\nquirks: []\n"), HasSubstr("weft_quirks: 1"));
  EXPECT_THAT(message("weft_quirks: 1\nquirks:\n  - nam: x\n"), HasSubstr("quirks:3:"));
  EXPECT_THAT(message("weft_quirks: 1\nquirks:\n  - name: x\n    logs: SEL\n"), HasSubstr("must be a list"));
  EXPECT_THAT(message("weft_quirks: 1\nquirks:\n  - name: x\n    syslog: {list: a}\n"), HasSubstr("needs a path"));
  EXPECT_THAT(message("weft_quirks: 1\nquirks:\n  - name: x\n    firewall: {path: p, addresses: [a]}\n"),
              HasSubstr("the same length"));
  EXPECT_THAT(message("{"), HasSubstr("quirks:"));
}

TEST(Quirks, IdracStoresServersInAttributes) {
  const Quirk& quirk = quirk_for({.vendor = "Dell"});
  const Value now = json(R"({"Attributes": {"SysLog.1.SysLogEnable": "Enabled", "SysLog.1.Server1": "192.168.0.2",
    "SysLog.1.Server2": "", "SysLog.1.Server3": "192.168.0.4"}})");
  EXPECT_EQ(read_setting(quirk.syslog, now), (Texts{"192.168.0.2", "192.168.0.4"}));
  EXPECT_EQ(read_setting(quirk.syslog, json(R"({"Attributes": {"SysLog.1.SysLogEnable": "Disabled",
    "SysLog.1.Server1": "192.168.0.2"}})")),
            Texts());
  EXPECT_EQ(read_setting(quirk.syslog, json("{}")), std::nullopt);
  const Result<Value> patch = write_setting(quirk.syslog, now, {"10.0.0.1"});
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(write_json_line(*patch),
            R"({"Attributes": {"SysLog.1.Server1": "10.0.0.1", "SysLog.1.Server2": "", "SysLog.1.Server3": "", )"
            R"("SysLog.1.SysLogEnable": "Enabled"}})");
  EXPECT_FALSE(write_setting(quirk.syslog, now, {"a", "b", "c", "d"}).ok());
}

TEST(Quirks, IdracFiltersBySubnetsWithMasks) {
  const Quirk& quirk = quirk_for({.vendor = "Dell"});
  const Value now = json(R"({"Attributes": {"IPBlocking.1.RangeAddr": "192.168.1.1", "IPBlocking.1.RangeMask":
    "255.255.255.0", "IPBlocking.1.RangeEnable": "Enabled", "IPBlocking.1.RangeAddr2": "10.0.0.0",
    "IPBlocking.1.RangeMask2": "255.0.0.0", "IPBlocking.1.RangeEnable2": "Disabled"}})");
  EXPECT_EQ(read_setting(quirk.firewall, now), Texts{"192.168.1.0/24"});
  const Result<Value> patch = write_setting(quirk.firewall, now, {"10.2.0.0/15"});
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(write_json_line(*patch),
            R"({"Attributes": {"IPBlocking.1.RangeAddr": "10.2.0.0", "IPBlocking.1.RangeMask": "255.254.0.0", )"
            R"("IPBlocking.1.RangeEnable": "Enabled", "IPBlocking.1.RangeEnable2": "Disabled"}})");
  EXPECT_THAT(write_setting(quirk.firewall, now, {"10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"}).error().message,
              HasSubstr("at most 2 entries"));
  EXPECT_FALSE(write_setting(quirk.firewall, now, {"fe80::/64"}).ok());
  const Value holes = json(R"({"Attributes": {"IPBlocking.1.RangeAddr": "10.0.0.1", "IPBlocking.1.RangeMask":
    "255.0.255.0", "IPBlocking.1.RangeEnable": "Enabled"}})");
  EXPECT_EQ(read_setting(quirk.firewall, holes), Texts{"10.0.0.1/255.0.255.0"});
}

TEST(Quirks, SupermicroHasOneServerOrAList) {
  const SettingPlace& place = quirk_for({.vendor = "Supermicro"}).syslog;
  const Value old = json(R"({"EnableSyslog": true, "SyslogServer": "localhost", "SyslogPortNumber": 514})");
  EXPECT_EQ(read_setting(place, old), Texts{"localhost"});
  EXPECT_EQ(write_json_line(*write_setting(place, old, {"10.0.0.1"})),
            R"({"SyslogServer": "10.0.0.1", "EnableSyslog": true})");
  EXPECT_FALSE(write_setting(place, old, {"a", "b"}).ok());
  const Value fresh = json(R"({"EnableSyslog": true, "SyslogServer": [{"ServerIP": "a", "Port": 514},
    {"ServerIP": null, "Port": null}]})");
  EXPECT_EQ(read_setting(place, fresh), Texts{"a"});
  EXPECT_EQ(write_json_line(*write_setting(place, fresh, {"b"})),
            R"({"SyslogServer": [{"ServerIP": "b"}, {"ServerIP": null}], "EnableSyslog": true})");
  EXPECT_EQ(write_json_line(*write_setting(place, fresh, {})),
            R"({"SyslogServer": [{"ServerIP": null}, {"ServerIP": null}], "EnableSyslog": false})");
}

TEST(Quirks, ChangesAreComparedAsSets) {
  SettingsChange change;
  change.firewall = {"10.0.0.1", "10.1.0.0/16"};
  change.ssh = false;
  BmcSettings now;
  now.firewall = Texts{"10.1.0.0/16", "10.0.0.1/32"};
  EXPECT_EQ(unknown_settings(change, now), "SSH");
  EXPECT_EQ(untaken_settings(change, now), "SSH");
  now.ssh = false;
  EXPECT_EQ(untaken_settings(change, now), "");
  now.firewall = Texts{"10.1.0.0/16"};
  EXPECT_EQ(untaken_settings(change, now), "firewall");
}

TEST(Quirks, TurningNtpOffKeepsItsServers) {
  SettingsChange change;
  change.ntp = Texts();
  EXPECT_EQ(write_json_line(protocol_change(change)), R"({"NTP": {"ProtocolEnabled": false}})");
  EXPECT_TRUE(protocol_change({}).empty());
}

}  // namespace
}  // namespace weft::oob
