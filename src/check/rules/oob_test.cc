// Rules on switch configuration, with configurations built in code: readers have their own tests.
#include "check/rules/oob.h"

#include <gtest/gtest.h>

#include "check/failures/lifeline.h"
#include "model/load.h"

namespace weft::check {
namespace {

// A configuration without findings.
config::SwitchConfig good() {
  config::SwitchConfig config;
  config.dialect = config::Dialect::sonic;
  config.file = 1;
  const SourceLocation place{1, 1, 3};
  config.hostname = {"be-spine001", place, "hostname"};
  config.management.syslog.emplace_back("10.128.4.1", place, "SYSLOG_SERVER");
  config.management.aaa_methods.emplace_back("tacacs+", place, "AAA");
  config.management.aaa_methods.emplace_back("local", place, "AAA");
  config.management.snmp_communities.emplace_back("k7Qp2", place, "SNMP_COMMUNITY");
  config.management.telnet = {false, place, "telnet"};
  return config;
}

std::vector<std::string> findings(const config::SwitchConfig& config) {
  const auto loaded = model::load_cluster_text(
      "cluster.yaml",
      "weft: 1\nname: p\nsite: {rack_power: 100kW}\npools: [{name: train, server: hgx-h100, count: 8}]\n"
      "fabrics: {backend: {leaf: sn5600}, frontend: {subnets: [10.20.0.0/16]}}\n");
  config::ConfigSet set;
  set.files.push_back({1, config::ConfigKind::sonic, "", "be-spine001.json"});
  set.switches.push_back(config);
  const CheckInput input(loaded->cluster.get(), set, loaded->sources, false);
  std::vector<std::string> found;
  for (const Rule& rule : oob_config_rules()) {
    Report report;
    report.begin(rule);
    rule.run(input, report);
    for (const Finding& finding : report.findings()) {
      EXPECT_TRUE(finding.place.known()) << rule.id;
      found.emplace_back(rule.id);
    }
  }
  return found;
}

using Ids = std::vector<std::string>;

TEST(OobConfigRules, EachDefectTriggersOneRule) {
  const SourceLocation place{1, 1, 9};
  EXPECT_EQ(findings(good()), Ids{});
  config::SwitchConfig config = good();
  config.management.telnet = {true, place, "feature telnet"};
  EXPECT_EQ(findings(config), Ids{"OB033"});
  config = good();
  config.management.default_users.emplace_back("admin", place, "username");
  EXPECT_EQ(findings(config), Ids{"OB034"});
  config = good();
  config.management.snmp_communities.emplace_back("public", place, "SNMP_COMMUNITY");
  EXPECT_EQ(findings(config), Ids{"OB035"});
  config = good();
  config.management.syslog.clear();
  EXPECT_EQ(findings(config), Ids{"OB036"});
  config = good();
  config.management.aaa_methods.pop_back();
  EXPECT_EQ(findings(config), Ids{"OB037"});
  config.dialect = config::Dialect::nxos;
  EXPECT_EQ(findings(config), Ids{}) << "NX-OS falls back by itself";
  for (const char* address : {"10.60.1.2", "10.70.1.2", "10.20.9.9"}) {
    config = good();
    config.management.ntp.emplace_back(address, place, "NTP_SERVER");
    EXPECT_EQ(findings(config), Ids{"OB038"}) << address;
  }
  config = good();
  config.management.dns.emplace_back("ns.example.net", place, "DNS_NAMESERVER");
  EXPECT_EQ(findings(config), Ids{}) << "a name says nothing about where it is";
}

TEST(OobConfigRules, MissingSettingsAreNoFinding) {
  config::SwitchConfig config = good();
  config.management.telnet = {};
  config.management.aaa_methods.clear();
  config.management.snmp_communities.clear();
  EXPECT_EQ(findings(config), Ids{});
}

}  // namespace
}  // namespace weft::check
