#include "serve/oob/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "serve/oob/test_fleet.h"

namespace weft::serve {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

OobConfig config() {
  OobConfig config;
  config.executable = "/usr/bin/weft";
  config.cluster_file = "pod16.yaml";
  config.state = "/var/lib/weft/oob";
  config.credentials = "env:BMC";
  return config;
}

// Values that satisfy the table.
OobValues minimal(const OobVerb& verb) {
  OobValues values;
  for (const OobParameter& parameter : verb.parameters) {
    if (!parameter.field.required) continue;
    std::string value = "x1";
    if (!parameter.field.choices.empty()) value = parameter.field.choices.front();
    if (parameter.field.type == FieldType::hosts) value = "train001";
    if (parameter.field.type == FieldType::duration) value = "5m";
    if (parameter.field.name == "runbook") value = "pfc-storm";
    values[std::string(parameter.field.name)] = value;
  }
  return values;
}

Result<OobCall> check(std::string_view id, const OobValues& values) {
  return check_oob_call(*find_oob_verb(id), values, test_inventory());
}

TEST(OobCommandLine, PowerIsWrittenAsOnTheCommandLine) {
  const Result<OobCall> call =
      check("oob.power", {{"action", "cycle"}, {"devices", "train[007,008]"}, {"hold", "3s"}, {"stagger", "false"}});
  ASSERT_TRUE(call.ok()) << call.error().text();
  EXPECT_THAT(oob_command_line(config(), *call, OobMode::plan, ""),
              ElementsAre("/usr/bin/weft", "oob", "power", "--output=json", "--state=/var/lib/weft/oob",
                          "--credentials=env:BMC", "--hold=3s", "--no-stagger", "--dry-run", "--", "cycle",
                          "pod16.yaml", "train[007-008]"));
  EXPECT_THAT(oob_command_line(config(), *call, OobMode::execute, "XID 79"),
              ElementsAre("/usr/bin/weft", "oob", "power", "--output=json", "--state=/var/lib/weft/oob",
                          "--credentials=env:BMC", "--hold=3s", "--no-stagger", "--reason=XID 79", "--yes", "--",
                          "cycle", "pod16.yaml", "train[007-008]"));
}

TEST(OobCommandLine, EveryVerbKeepsItsValuesBehindOptions) {
  std::set<std::string_view> ids;
  for (const OobVerb& verb : oob_verbs()) {
    EXPECT_TRUE(ids.insert(verb.id).second) << verb.id;
    const Result<OobCall> call = check_oob_call(verb, minimal(verb), test_inventory());
    ASSERT_TRUE(call.ok()) << verb.id << ": " << call.error().text();
    for (const OobMode mode : {OobMode::plan, OobMode::execute}) {
      const std::vector<std::string> words = oob_command_line(config(), *call, mode, "why");
      const auto end = std::find(words.begin(), words.end(), "--");
      ASSERT_NE(end, words.end());
      const bool oob = words[1] == "oob";
      for (auto word = words.begin() + (oob ? 3 : 2); word != end; ++word)
        EXPECT_TRUE(word->starts_with("--")) << *word;
      EXPECT_EQ(std::count_if(end + 1, words.end(), [](const std::string& word) { return word.starts_with('-'); }), 0);
      EXPECT_THAT(words, Contains("--output=json"));
    }
  }
}

TEST(OobCommandLine, NoPlanConfirmsAndNoExecutionIsADryRun) {
  for (const OobVerb& verb : oob_verbs()) {
    if (verb.planning == OobPlanning::none) continue;
    const Result<OobCall> call = check_oob_call(verb, minimal(verb), test_inventory());
    ASSERT_TRUE(call.ok());
    EXPECT_THAT(oob_command_line(config(), *call, OobMode::plan, ""), Not(Contains("--yes"))) << verb.id;
    const std::vector<std::string> lists = oob_command_line(config(), *call, OobMode::plan, "");
    const bool harmless =
        std::count(lists.begin(), lists.end(), "--dry-run") + std::count(lists.begin(), lists.end(), "--open") == 1;
    EXPECT_TRUE(harmless) << verb.id;
    EXPECT_THAT(oob_command_line(config(), *call, OobMode::execute, ""), Not(Contains("--dry-run"))) << verb.id;
  }
}

TEST(OobCommandLine, HostileDevicesAreRefused) {
  const std::vector<std::string> hostile = {"-rf",
                                            "--yes",
                                            "--output=yaml",
                                            "--",
                                            "train001 --yes",
                                            "train001,--yes",
                                            "train001;reboot",
                                            "$(reboot)",
                                            "`reboot`",
                                            "train001|x",
                                            "../../etc/passwd",
                                            "/etc/passwd",
                                            "pod16.yaml",
                                            "train001\n--yes",
                                            std::string("train001\0x", 10),
                                            "train[001-",
                                            "train[001-999999999]",
                                            "train[1-1000000000000000000000]",
                                            "@",
                                            "rack:",
                                            "train999",
                                            "\xff\xfe",
                                            "train001\xE2\x80\xAE",
                                            "*",
                                            "",
                                            ",",
                                            std::string(200'000, 'a'),
                                            std::string(99'000, ',')};
  for (const std::string& devices : hostile) {
    EXPECT_FALSE(check("oob.power", {{"action", "off"}, {"devices", devices}}).ok()) << devices.substr(0, 100);
    EXPECT_FALSE(check("oob.device-events", {{"device", devices}}).ok()) << devices.substr(0, 100);
  }
  EXPECT_FALSE(check("oob.device-events", {{"device", "train[001-002]"}}).ok()) << "a path names one device";
}

TEST(OobCommandLine, HostileReasonsStayOneWord) {
  for (const std::string reason : {"--yes", "-h", "--help", "--", "$(reboot)", "'; reboot", "a b", "--reason=x", "=",
                                   "\"", "\\", "%s%n", "@file", "grüße"}) {
    const Result<OobCall> call = check("oob.power", {{"action", "off"}, {"devices", "train001"}});
    const std::vector<std::string> words = oob_command_line(config(), *call, OobMode::execute, reason);
    EXPECT_EQ(std::count(words.begin(), words.end(), "--reason=" + reason), 1) << reason;
    EXPECT_EQ(words.size(), 12U) << reason;
    EXPECT_EQ(find_text_problem(reason, 1000), "") << reason;
  }
  for (const std::string reason : {"a\nb", "a\rb", "\x1b[2J", "\xff", "\xE2\x80\xAE", "\x7f", "\xC2\x85"})
    EXPECT_NE(find_text_problem(reason, 1000), "");
  EXPECT_NE(find_text_problem(std::string(1001, 'a'), 1000), "");
}

TEST(OobCommandLine, OtherHostileValuesAreRefused) {
  const OobValues power = {{"action", "off"}, {"devices", "train001"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    OobValues values = power;
    values[name] = value;
    return values;
  };
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{{"action", "status"},
                                                                                    {"action", "--open"},
                                                                                    {"deadline", "--yes"},
                                                                                    {"deadline", "-5m"},
                                                                                    {"deadline", "5m --yes"},
                                                                                    {"force", "yes"},
                                                                                    {"limit", "-1"},
                                                                                    {"limit", "1000001"},
                                                                                    {"limit", "99999999999999999999"},
                                                                                    {"limit", "1 "},
                                                                                    {"hold", ""},
                                                                                    {"host-probe", "reboot"},
                                                                                    {"host_probe", "reboot"},
                                                                                    {"state", "/tmp"},
                                                                                    {"credentials", "command:sh"},
                                                                                    {"plan", "true"}}) {
    const Result<OobCall> call = check("oob.power", with(name, value));
    ASSERT_FALSE(call.ok()) << name << "=" << value;
    EXPECT_EQ(call.error().where, name);
  }
  for (const std::string runbook : {"/tmp/mine.yaml", "./mine.yaml", "mine.yml", "../pfc-storm", "--run", "none"})
    EXPECT_FALSE(check("oob.rescue", {{"runbook", runbook}}).ok()) << runbook;
  for (const std::string lines : {"tor", "=x", "--yes", "a b=c", "tor=x\n--run", "tor=\x1b"})
    EXPECT_FALSE(check("oob.rescue", {{"runbook", "pfc-storm"}, {"parameters", lines}}).ok()) << lines;
  EXPECT_FALSE(check("oob.settings-change", {{"devices", "train001"}, {"ntp", "a,,b"}}).ok());
}

TEST(OobCommandLine, ListsAreRepeatedOptions) {
  const Result<OobCall> call =
      check("oob.settings-change", {{"devices", "train001"}, {"log_to", "10.0.0.1, 10.0.0.2"}, {"ipmi", "off"}});
  ASSERT_TRUE(call.ok());
  EXPECT_THAT(call->options, ElementsAre("--ipmi=off", "--log-to=10.0.0.1", "--log-to=10.0.0.2"));
  const Result<OobCall> rescue =
      check("oob.rescue", {{"runbook", "pfc-storm"}, {"parameters", "tor=be-leaf003\nnote=--x=y"}});
  ASSERT_TRUE(rescue.ok());
  EXPECT_THAT(rescue->options, ElementsAre("--set=tor=be-leaf003", "--set=note=--x=y"));
}

TEST(OobCommandLine, EqualSelectionsAreEqual) {
  const Result<OobCall> a = check("oob.power", {{"action", "off"}, {"devices", "train[001-002]"}});
  const Result<OobCall> b = check("oob.power", {{"action", "off"}, {"devices", "train002, train001"}});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->values, b->values);
  EXPECT_EQ(check("oob.status", {})->hosts, "all");
}

TEST(OobCommandLine, TheEnvironmentHasOnlyWhatIsNeeded) {
  ::setenv("BMC_PASSWORD", "secret", 1);      // NOLINT(concurrency-mt-unsafe)
  ::setenv("WEFT_OIDC_SECRET", "secret", 1);  // NOLINT(concurrency-mt-unsafe)
  const auto variables = oob_environment(config(), "alice", "00112233aabbccdd");
  ::unsetenv("BMC_PASSWORD");      // NOLINT(concurrency-mt-unsafe)
  ::unsetenv("WEFT_OIDC_SECRET");  // NOLINT(concurrency-mt-unsafe)
  std::set<std::string> names;
  for (const auto& [name, value] : variables) EXPECT_TRUE(names.insert(name).second) << name;
  EXPECT_THAT(names, Contains("BMC_PASSWORD"));
  EXPECT_THAT(names, Contains("PATH"));
  EXPECT_THAT(names, Not(Contains("WEFT_OIDC_SECRET")));
  EXPECT_THAT(variables, Contains(std::pair<std::string, std::string>("WEFT_ON_BEHALF_OF", "alice")));
  EXPECT_THAT(variables, Contains(std::pair<std::string, std::string>("WEFT_SERVE_OPERATION", "00112233aabbccdd")));
}

TEST(OobVerbs, RowsAskForAReasonAndAnOperator) {
  for (const RouteRow& row : oob_route_rows()) {
    EXPECT_EQ(row.need, Need::operate) << row.id;
    EXPECT_EQ(row.changes, row.method == "POST") << row.id;
    EXPECT_TRUE(row.pattern.starts_with("/oob/")) << row.id;
    const OobVerb* verb = find_oob_verb(row.id);
    if (verb == nullptr || verb->planning == OobPlanning::none) continue;
    const auto has = [&](std::string_view name) {
      return std::any_of(row.body.begin(), row.body.end(), [&](const Field& field) { return field.name == name; });
    };
    EXPECT_TRUE(has("plan") && has("plan_id")) << row.id;
    EXPECT_EQ(verb->reason, Reason::required) << row.id;
  }
}

}  // namespace
}  // namespace weft::serve
