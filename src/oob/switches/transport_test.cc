#include "oob/switches/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/process.h"
#include "base/test_prerequisites.h"
#include "oob/switches/transport_text.h"

namespace weft::oob {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const SwitchSystem& system_named(std::string_view name) { return *find_switch_system(name); }

SwitchDevice device_of(std::string_view system) {
  return {"leaf1", "192.0.2.1", "oob", find_switch_system(system), std::string(system)};
}

TEST(ConfigTransport, PlaceholdersAreFilledAsSingleWordsWithoutShell) {
  ManualClock clock;
  const auto transport = open_transport({.words = "printf '%s|' {host} {address} 'a {command} b'"}, clock);
  ASSERT_TRUE(transport.ok());
  const Result<std::string> answer =
      (*transport)->run(device_of("nxos"), "show $HOME; `id` {host}", {}, milliseconds(5'000));
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(*answer, "leaf1|192.0.2.1|a show $HOME; `id` {host} b|");
}

TEST(ConfigTransport, FailuresAreReportedWithTheDevice) {
  ManualClock clock;
  const auto run = [&](const std::string& words, Duration limit) {
    return (*open_transport({.words = words}, clock))->run(device_of("nxos"), "show x", {}, limit);
  };
  const Result<std::string> failed = run("sh -c 'echo no such command >&2; exit 3' {command}", milliseconds(5'000));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::refused);
  EXPECT_EQ(failed.error().where, "leaf1");
  EXPECT_THAT(failed.error().message, HasSubstr("no such command"));
  EXPECT_EQ(run("sleep 30 {command}", milliseconds(100)).error().code, ErrorCode::refused);  // sleep rejects "show x"
  EXPECT_EQ(run("sh -c 'sleep 30' {command}", milliseconds(100)).error().code, ErrorCode::timeout);
  EXPECT_EQ(run("/nowhere/ssh {command}", milliseconds(100)).error().code, ErrorCode::not_found);
}

TEST(ConfigTransport, InvalidCommandsAreRefused) {
  ManualClock clock;
  EXPECT_FALSE(open_transport({.words = "ssh {address}"}, clock).ok());
  EXPECT_FALSE(open_transport({.words = "ssh 'x {command}"}, clock).ok());
  EXPECT_FALSE(open_transport({.jump = "-oProxyCommand=x"}, clock).ok());
  EXPECT_FALSE(open_transport({.user = "a b"}, clock).ok());
}

// The real ssh, up to its command line: it must fail without prompting if there is no server.
TEST(ConfigTransport, SshIsAskedWithoutQuestions) {
  WEFT_NEEDS_PROGRAM("ssh");
  SystemClock clock;
  const auto transport = open_transport({.jump = "", .user = "admin"}, clock);
  SwitchDevice device = device_of("nxos");
  device.address = "127.0.0.1";  // nothing listens on port 22 here, or the host key is unknown
  const Result<std::string> answer = (*transport)->run(device, "show version", {}, milliseconds(10'000));
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
}

// The standard scp sink behaves like a switch's scp server.
TEST(ConfigTransport, TheScpStreamIsWhatScpReads) {
  WEFT_NEEDS_PROGRAM("scp");
  const std::string path = testing::TempDir() + "weft_scp_" + std::to_string(::getpid());
  // Like a switch: the command of the first step, with its path replaced.
  const SwitchSystem system{.name = "test", .push = {{"scp", Feed::scp}}};
  SwitchDevice device{"leaf1", "", "", &system, "test"};
  SystemClock clock;
  const auto transport = open_transport({.words = "{command} -t " + path}, clock);
  const std::string text = "hostname leaf1\ninterface mgmt0\n  no shutdown\n" + std::string(100'000, 'x') + "\n";
  const Status pushed = push_config(**transport, device, text, milliseconds(5'000));
  EXPECT_TRUE(pushed.ok()) << pushed.error().text();
  std::ifstream in(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text);
  std::filesystem::remove(path);
}

TEST(ConfigTransport, ErrorLineInTheOutputIsARefusal) {
  const SwitchSystem system{.name = "test", .push = {{"configure replace x", Feed::nothing}}, .refused = {"% Invalid"}};
  SwitchDevice device{"leaf1", "", "", &system, "test"};
  SystemClock clock;
  const auto transport =
      open_transport({.words = "printf 'working\\n  %% Invalid command at marker\\n' {command}"}, clock);
  const Status pushed = push_config(**transport, device, "x", milliseconds(5'000));
  ASSERT_FALSE(pushed.ok());
  EXPECT_EQ(pushed.error().code, ErrorCode::refused);
  EXPECT_THAT(pushed.error().message, HasSubstr("Invalid command at marker"));
}

TEST(ConfigText, TimestampsAreNoise) {
  const SwitchSystem& nxos = system_named("nxos");
  const std::string a = "\n!Command: show running-config\n!Time: Mon Nov 16 02:00:00 2026\nhostname leaf1\n";
  const std::string b = "!Command: show running-config\n!Time: Mon Nov 16 03:00:00 2026\n\nhostname leaf1  \n";
  EXPECT_EQ(without_noise(nxos, a), without_noise(nxos, b));
  EXPECT_NE(without_noise(nxos, a), without_noise(nxos, "hostname leaf2\n"));
  EXPECT_EQ(normalized(nxos, "ntp clock-period 17179977\n! a remark\nhostname x\n"), "hostname x\n");
}

TEST(ConfigText, CertificateChangesAreVersionsButNotDrift) {
  const SwitchSystem& eos = system_named("eos");
  const std::string a =
      "hostname x\ncrypto pki certificate chain T\n certificate self-signed 01\n  3082 0101\n  quit\nend\n";
  const std::string b =
      "hostname x\ncrypto pki certificate chain T\n certificate self-signed 01\n  3082 0202\n  quit\nend\n";
  EXPECT_NE(without_noise(eos, a), without_noise(eos, b));
  EXPECT_EQ(normalized(eos, a), normalized(eos, b));
  EXPECT_EQ(normalized(eos, "a\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\nb\n"), "a\nb\n");
}

TEST(ConfigText, StatementsHaveTheirBlocksAsPrefix) {
  EXPECT_THAT(statements_of(system_named("nxos"),
                            "hostname x\ninterface Ethernet1/1\n  mtu   9216\n  ip address 10.0.0.1/31\nvlan 5\n"),
              ElementsAre("hostname x", "interface Ethernet1/1", "interface Ethernet1/1 / ip address 10.0.0.1/31",
                          "interface Ethernet1/1 / mtu 9216", "vlan 5"));
  EXPECT_THAT(
      statements_of(system_named("junos"), "system {\n    host-name x;\n    services {\n        ssh;\n    }\n}\n"),
      ElementsAre("system / host-name x", "system / services / ssh"));
  EXPECT_THAT(
      statements_of(system_named("sonic"), R"({"PORT": {"Ethernet0": {"mtu": "9100", "lanes": ["1","2"]}}})"),
      ElementsAre("PORT | Ethernet0 | lanes | 1", "PORT | Ethernet0 | lanes | 2", "PORT | Ethernet0 | mtu | 9100"));
}

TEST(ConfigText, NvueCommandsAndYamlAreEquivalent) {
  const SwitchSystem& nvue = system_named("cumulus");
  const std::string commands =
      "# a comment\nnv set system hostname fe1\nnv set interface swp1-2,swp5 link mtu 1500\n"
      "nv set interface swp1 description 'train001 fe1'\n";
  const std::string yaml =
      "- header:\n    rev-id: 1.0\n- set:\n    system:\n      hostname: fe1\n    interface:\n      swp1-2,swp5:\n"
      "        link:\n          mtu: 1500\n      swp1:\n        description: train001 fe1\n";
  EXPECT_EQ(statements_of(nvue, commands), statements_of(nvue, yaml));
  EXPECT_THAT(statements_of(nvue, commands),
              ElementsAre("nv set interface swp1 description train001 fe1", "nv set interface swp1 link mtu 1500",
                          "nv set interface swp2 link mtu 1500", "nv set interface swp5 link mtu 1500",
                          "nv set system hostname fe1"));
}

TEST(ConfigText, SecretsAreHidden) {
  const std::string text = masked(
      "username admin password 5 $5$abc role network-admin\nsnmp-server community s3cret group x\n"
      "enable secret sha512 $6$zzz\ntacacs-server key 7 \"fewhg\"\nkey chain ROUTES\nip address 10.0.0.1/24\n"
      "SNMP | x | password | hunter2\n");
  for (const char* secret : {"$5$abc", "s3cret", "$6$zzz", "fewhg", "hunter2"})
    EXPECT_THAT(text, Not(HasSubstr(secret)));
  EXPECT_THAT(text, HasSubstr("username admin password 5 <hidden> role network-admin"));
  EXPECT_THAT(text, HasSubstr("key chain ROUTES\nip address 10.0.0.1/24\n"));
  EXPECT_THAT(masked("a\x1b[2Jb\n"), Not(HasSubstr("\x1b")));
}

TEST(ConfigText, ImplausibleConfigsAreRejected) {
  const SwitchSystem& eos = system_named("eos");
  EXPECT_TRUE(plausible_config(eos, "hostname x\nend\n", std::nullopt).ok());
  EXPECT_FALSE(plausible_config(eos, "", std::nullopt).ok());
  EXPECT_FALSE(plausible_config(eos, " \n\n", std::nullopt).ok());
  EXPECT_FALSE(plausible_config(eos, "% Invalid input at line 1\nend\n", std::nullopt).ok());
  EXPECT_FALSE(plausible_config(eos, "hostname x\ninterface Eth", std::nullopt).ok());
  EXPECT_TRUE(plausible_config(eos, "hostname x\nend\n", 150).ok());
  EXPECT_FALSE(plausible_config(eos, "hostname x\nend\n", 151).ok());  // 15 bytes, ten times shorter
  EXPECT_FALSE(plausible_config(system_named("sonic"), "{\"PORT\": {", std::nullopt).ok());
  EXPECT_FALSE(plausible_config(system_named("sonic"), "[1]", std::nullopt).ok());
  EXPECT_TRUE(plausible_config(system_named("sonic"), "{\"PORT\": {}}", std::nullopt).ok());
  EXPECT_FALSE(plausible_config(system_named("cumulus"), "sudo: a password is required\n", std::nullopt).ok());
}

}  // namespace
}  // namespace weft::oob
