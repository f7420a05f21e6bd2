#include "oob/audit/advisories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_places.h"
#include "oob/audit/default_logins.h"

namespace weft::oob {
namespace {

using testing::HasSubstr;

std::optional<std::vector<Advisory>> read(const std::string& text, std::string* problem = nullptr) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("advisories.yaml", text);
  std::optional<std::vector<Advisory>> advisories = read_advisories(sources, file, diagnostics);
  EXPECT_EQ(advisories.has_value(), !diagnostics.has_errors());
  if (problem != nullptr) *problem = render_all(diagnostics, sources, false);
  return advisories;
}

const char* const kFile = R"(weft_advisories: 1
advisories:
  - id: CVE-2099-0001
    title: the door is open
    severity: error
    source: https://example.org/1
    affects:
      - manufacturer: ["Example*", "*Sample Inc*"]
        model: X1-*
        firmware: [{from: "1.2", below: "1.9.2"}, {at: "2.0"}]
      - {manufacturer: Other, firmware: unknown}
  - id: CVE-2099-0002
    title: hashes for all
    severity: warning
    source: https://example.org/2
    affects: [{manufacturer: "*", firmware: any, with: ipmi}]
)";

BmcIdentity machine(std::string maker, std::string model, std::string firmware) {
  return {std::move(maker), std::move(model), "S1", "", std::move(firmware), ""};
}

TEST(Advisories, VerdictsDependOnModelAndFirmware) {
  const auto advisories = read(kFile);
  ASSERT_TRUE(advisories.has_value());
  ASSERT_EQ(advisories->size(), 2U);
  const Advisory& door = advisories->front();
  EXPECT_EQ(door.severity, Severity::error);
  const auto verdict = [&](const BmcIdentity& identity) { return judge(door, identity, std::nullopt); };
  EXPECT_EQ(verdict(machine("Example GmbH", "X1-9", "1.9.1")), Verdict::affected);
  EXPECT_EQ(verdict(machine("Example GmbH", "X1-9", "1.9.2")), Verdict::not_affected);
  EXPECT_EQ(verdict(machine("Example GmbH", "X1-9", "1.1")), Verdict::not_affected);
  EXPECT_EQ(verdict(machine("The Sample Inc.", "x1-1", "2.0")), Verdict::affected);
  EXPECT_EQ(verdict(machine("Example GmbH", "Y7", "1.9.1")), Verdict::not_affected);
  EXPECT_EQ(verdict(machine("Third", "X1-9", "1.9.1")), Verdict::not_affected);
  EXPECT_EQ(verdict(machine("Example GmbH", "X1-9", "nightly")), Verdict::cannot_tell);
  EXPECT_EQ(verdict(machine("Example GmbH", "X1-9", "")), Verdict::cannot_tell);
  EXPECT_EQ(verdict(machine("", "X1-9", "1.9.1")), Verdict::cannot_tell);
  EXPECT_EQ(verdict(machine("Example GmbH", "", "1.9.1")), Verdict::cannot_tell);
  EXPECT_EQ(verdict(machine("Other", "Z", "5.0")), Verdict::cannot_tell);
}

TEST(Advisories, IpmiAdvisoriesApplyOnlyWithIpmi) {
  const auto advisories = read(kFile);
  ASSERT_TRUE(advisories.has_value());
  const BmcIdentity any = machine("Anyone", "Any", "");
  EXPECT_EQ(judge((*advisories)[1], any, true), Verdict::affected);
  EXPECT_EQ(judge((*advisories)[1], any, false), Verdict::not_affected);
  EXPECT_EQ(judge((*advisories)[1], any, std::nullopt), Verdict::cannot_tell);
}

TEST(Advisories, MistakesAreReportedWithTheirLocation) {
  const std::string good(kFile);
  const auto broken = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    std::string problem;
    EXPECT_FALSE(read(text, &problem).has_value()) << to;
    return problem;
  };
  EXPECT_THAT(broken("title: the", "titel: the"), HasSubstr("did you mean `title`?"));
  EXPECT_THAT(broken("severity: error", "severity: awful"), HasSubstr("error, warning or note"));
  EXPECT_THAT(broken("weft_advisories: 1", "weft_advisories: 2"), HasSubstr("weft_advisories: 1"));
  EXPECT_THAT(broken("{at: \"2.0\"}", "{at: \"2.0\", below: \"3\"}"), HasSubstr("only `at`"));
  EXPECT_THAT(broken("{at: \"2.0\"}", "{at: none}"), HasSubstr("digits"));
  EXPECT_THAT(broken("with: ipmi", "with: http"), HasSubstr("must be `ipmi`"));
  EXPECT_THAT(broken("CVE-2099-0002", "CVE-2099-0001"), HasSubstr("twice"));
  EXPECT_THAT(broken("{manufacturer: Other, firmware: unknown}", "{firmware: unknown}"), HasSubstr("`manufacturer`"));
  EXPECT_THAT(broken("{manufacturer: Other, firmware: unknown}", "{manufacturer: Other}"), HasSubstr("`firmware`"));
  EXPECT_THAT(broken("{manufacturer: Other, firmware: unknown}", "17"), HasSubstr("a mapping"));
  for (const char* text : {"", "[]", "1", "weft_advisories: 1", "weft_advisories: 1\nadvisories: {}"}) {
    std::string problem;
    EXPECT_FALSE(read(text, &problem).has_value()) << text;
    EXPECT_THAT(problem, HasSubstr("error"));
  }
}

TEST(Advisories, ShippedExampleIsValid) {
  const Result<std::string> text = read_file(source_dir() + "/examples/advisories.yaml");
  ASSERT_TRUE(text.ok());
  const auto advisories = read(*text);
  ASSERT_TRUE(advisories.has_value());
  EXPECT_EQ(advisories->size(), 4U);
  const auto named = [&](std::string_view id) {
    return *std::find_if(advisories->begin(), advisories->end(), [&](const Advisory& one) { return one.id == id; });
  };
  const BmcIdentity dell = machine("Dell Inc.", "PowerEdge XE9680", "7.10.30.00");
  const BmcIdentity supermicro = machine("Supermicro", "X13SEM-F", "01.03.19");
  EXPECT_EQ(judge(named("CVE-2024-54085"), dell, true), Verdict::not_affected);  // according to Dell
  EXPECT_EQ(judge(named("CVE-2013-4786"), dell, true), Verdict::affected);
  EXPECT_EQ(judge(named("CVE-2013-4786"), dell, false), Verdict::not_affected);
  EXPECT_EQ(judge(named("CVE-2025-7937"), supermicro, false), Verdict::cannot_tell);
  EXPECT_EQ(judge(named("CVE-2025-6198"), dell, false), Verdict::not_affected);
}

TEST(DefaultLogins, VendorLoginsComeFirstAndAtMostTwo) {
  const auto first = [](std::string_view maker) { return std::string(logins_to_try(maker).at(0)->user); };
  EXPECT_EQ(first("Supermicro"), "ADMIN");
  EXPECT_EQ(first("Super Micro Computer, Inc."), "ADMIN");
  EXPECT_EQ(first("Dell Inc."), "root");
  EXPECT_EQ(first("Lenovo"), "USERID");
  for (const char* maker : {"", "IBM", "NVIDIA", "Supermicro", "Nobody Ltd"}) {
    EXPECT_FALSE(logins_to_try(maker).empty()) << maker;
    EXPECT_LE(logins_to_try(maker).size(), kMaxDefaultTries) << maker;
  }
  for (const DefaultLogin& login : default_logins()) EXPECT_FALSE(login.source.empty());
}

TEST(DefaultLogins, FactoryLoginsAreRecognized) {
  EXPECT_TRUE(is_default_login("root", Secret("calvin")));
  EXPECT_TRUE(is_default_login("ADMIN", Secret("ADMIN")));
  EXPECT_FALSE(is_default_login("ADMIN", Secret("admin")));
  EXPECT_FALSE(is_default_login("root", Secret("")));
}

}  // namespace
}  // namespace weft::oob
