// weft check, rules and explain from the command line: formats, exit codes, suppressions, baselines, bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/test_places.h"
#include "check/core/rule.h"
#include "cli/framework/run.h"
#include "oob/audit/audit.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kPod16 = source_dir() + "/examples/pod16.yaml";

struct Check : testing::Test {
  fs::path folder;
  std::string out;
  std::string err;

  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder = fs::path(testing::TempDir()) / (std::string("weft_check_") + test->name());
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  int run(const std::vector<std::string>& words) {
    out.clear();
    err.clear();
    cli::Io io;
    io.write_out = [this](std::string_view text) -> Status {
      out += text;
      return {};
    };
    io.write_err = [this](std::string_view text) { err += text; };
    io.environment = [](const char*) { return std::string(); };
    io.today = [] { return std::string("2026-11-15"); };
    return static_cast<int>(cli::run_weft(words, io));
  }
  std::string put(const std::string& name, const std::string& text) {
    const fs::path path = folder / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }
  static std::string pod16() {
    std::ifstream in(kPod16);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // The good example with one text replaced.
  std::string edited(const std::string& from, const std::string& to) {
    std::string text = pod16();
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return put("cluster.yaml", text.replace(at, from.size(), to));
  }
};

TEST_F(Check, GoodFileHasNoFindings) {
  EXPECT_EQ(run({"check", kPod16}), 0);
  EXPECT_THAT(out, HasSubstr("no findings in"));
  EXPECT_THAT(err, IsEmpty());
}

TEST_F(Check, TextShowsTheLineWithACaret) {
  const std::string path = edited("audit: true", "audit: false");
  EXPECT_EQ(run({"check", path}), 1);
  EXPECT_THAT(out, HasSubstr("warning[SE011]: actions are not logged"));
  EXPECT_THAT(out, HasSubstr("|   audit: false\n"));
  EXPECT_THAT(out, HasSubstr("|          ^"));
  EXPECT_THAT(out, HasSubstr("= help: set `security.audit: true`"));
  EXPECT_THAT(out, HasSubstr("1 warning in"));
}

TEST_F(Check, OneLinePerFinding) {
  const std::string path = edited("audit: true", "audit: false");
  EXPECT_EQ(run({"check", path, "-o", "lines"}), 1);
  EXPECT_THAT(out, testing::MatchesRegex(".*cluster.yaml:[0-9]+:10: warning: actions are not logged .SE011.\n"));
}

TEST_F(Check, Json) {
  const std::string path = edited("audit: true", "audit: false");
  EXPECT_EQ(run({"check", path, "-o", "json"}), 1);
  const Json json = Json::parse(out);
  EXPECT_EQ(json["schema_version"], 1);
  ASSERT_EQ(json["findings"].size(), 1U);
  EXPECT_EQ(json["findings"][0]["rule"], "SE011");
  EXPECT_EQ(json["findings"][0]["severity"], "warning");
  EXPECT_EQ(json["findings"][0]["place"]["file"], path);
  EXPECT_EQ(json["summary"]["warnings"], 1);
}

// SARIF 2.1.0, sections 3.13 to 3.27: what consumers such as code-scanning services require.
TEST_F(Check, Sarif) {
  const std::string path = edited("audit: true", "audit: false");
  EXPECT_EQ(run({"check", path, "-o", "sarif"}), 1);
  const Json json = Json::parse(out);
  EXPECT_EQ(json["version"], "2.1.0");
  const Json& driver = json["runs"][0]["tool"]["driver"];
  EXPECT_EQ(driver["rules"].size(), check::all_rules().size());
  const Json& result = json["runs"][0]["results"].at(0);
  EXPECT_EQ(result["ruleId"], "SE011");
  EXPECT_EQ(driver["rules"][result["ruleIndex"].get<std::size_t>()]["id"], "SE011");
  EXPECT_EQ(result["level"], "warning");
  const Json& physical = result["locations"][0]["physicalLocation"];
  EXPECT_THAT(physical["artifactLocation"]["uri"].get<std::string>(), testing::StartsWith("file:///"));
  EXPECT_GT(physical["region"]["startLine"].get<int>(), 0);
  EXPECT_EQ(result["partialFingerprints"]["weft/v1"].get<std::string>().size(), 16U);
}

TEST_F(Check, Junit) {
  const std::string path = edited("audit: true", "audit: false");
  EXPECT_EQ(run({"check", path, "-o", "junit"}), 1);
  EXPECT_THAT(out, HasSubstr("failures=\"1\""));
  EXPECT_THAT(out, HasSubstr("<testcase classname=\"weft.SE\" name=\"SE011 "));
  EXPECT_THAT(out, HasSubstr("<failure type=\"warning\" message=\"actions are not logged\">"));
  EXPECT_THAT(out, Not(HasSubstr("&&")));
}

TEST_F(Check, SuppressionNeedsAReasonAndIsCounted) {
  std::string path = edited("  audit: true\n", "  audit: false\nsuppress:\n  - {rule: SE011}\n");
  EXPECT_EQ(run({"check", path}), 2);
  EXPECT_THAT(err, HasSubstr("reason"));
  path = edited("  audit: true\n", "  audit: false\nsuppress:\n  - {rule: se011, reason: \"a laboratory\"}\n");
  EXPECT_EQ(run({"check", path}), 0);
  EXPECT_THAT(out, HasSubstr("1 suppressed"));
  EXPECT_EQ(run({"check", path, "--no-suppress"}), 1);
  EXPECT_EQ(run({"check", path, "-o", "sarif"}), 0);
  const Json json = Json::parse(out);
  EXPECT_EQ(json["runs"][0]["results"][0]["suppressions"][0]["justification"], "a laboratory");
}

TEST_F(Check, SuppressionOfAnotherSubjectOrDayIsIgnored) {
  std::string path =
      edited("  audit: true\n", "  audit: false\nsuppress:\n  - {rule: SE011, subject: \"x*\", reason: \"no\"}\n");
  EXPECT_EQ(run({"check", path, "-o", "lines"}), 1);
  EXPECT_THAT(out, HasSubstr("[SE011]"));
  EXPECT_THAT(out, HasSubstr("[OP001]"));
  path =
      edited("  audit: true\n", "  audit: false\nsuppress:\n  - {rule: SE011, reason: \"soon\", until: 2026-11-15}\n");
  EXPECT_EQ(run({"check", path}), 0) << "the last day still counts";
  EXPECT_EQ(run({"check", path, "--today", "2026-11-16", "-o", "lines"}), 1);
  EXPECT_THAT(out, HasSubstr("[SE011]"));
  EXPECT_THAT(out, HasSubstr("[OP002]"));
  path = edited("  audit: true\n", "  audit: true\nsuppress:\n  - {rule: SE011, reason: \"r\", until: 2026-13-01}\n");
  EXPECT_EQ(run({"check", path}), 2);
}

TEST_F(Check, BaselineOmitsKnownFindings) {
  const std::string path = edited("audit: true", "audit: false");
  const std::string baseline = (folder / "known.json").string();
  EXPECT_EQ(run({"check", path, "--write-baseline", baseline}), 0);
  EXPECT_EQ(run({"check", path, "--baseline", baseline}), 0);
  EXPECT_THAT(out, HasSubstr("1 in the baseline"));
  const std::string worse = put(
      "cluster.yaml", "# one line further down\n" + [&] {
        std::ifstream in(path);
        std::stringstream text;
        text << in.rdbuf();
        std::string all = text.str();
        const std::size_t at = all.find("sign_on: oidc");
        return all.replace(at, 13, "sign_on: none");
      }());
  EXPECT_EQ(run({"check", worse, "--baseline", baseline, "-o", "lines"}), 1);
  EXPECT_THAT(out, HasSubstr("[SE008]"));
  EXPECT_THAT(out, Not(HasSubstr("[SE011]"))) << "known although its line moved";
}

TEST_F(Check, BadBaselineIsReported) {
  for (const char* text : {"", "[]", "{}", "{\"kind\":\"baseline\"}", "{\"kind\":\"baseline\",\"schema_version\":2}",
                           "{\"kind\":\"baseline\",\"schema_version\":1,\"known\":[]}"}) {
    const std::string baseline = put("known.json", text);
    EXPECT_EQ(run({"check", kPod16, "--baseline", baseline}), 2) << text;
    EXPECT_THAT(err, HasSubstr("known.json"));
  }
  EXPECT_EQ(run({"check", kPod16, "--baseline", (folder / "absent").string()}), 2);
}

TEST_F(Check, RulesCanBeChosen) {
  const std::string path = edited("  sign_on: oidc\n  secrets: vault\n", "  sign_on: none\n  secrets: files\n");
  EXPECT_EQ(run({"check", path, "-o", "lines", "--rule", "SE008"}), 1);
  EXPECT_THAT(out, Not(HasSubstr("[SE009]")));
  EXPECT_EQ(run({"check", path, "-o", "lines", "--rule", "se", "--skip", "SE009"}), 1);
  EXPECT_THAT(out, HasSubstr("[SE008]"));
  EXPECT_THAT(out, Not(HasSubstr("[SE009]")));
  EXPECT_EQ(run({"check", path, "-o", "lines", "--severity", "error"}), 1);
  EXPECT_THAT(out, Not(HasSubstr("[SE008]")));
  EXPECT_EQ(run({"check", path, "--rule", "SE08"}), 2);
  EXPECT_EQ(run({"check", path, "--rule", "SE808"}), 2);
  EXPECT_THAT(err, HasSubstr("did you mean `SE008`?"));
}

TEST_F(Check, NotesDoNotFailUnlessAsked) {
  const std::string path = edited("secrets: vault", "secrets: kubernetes");
  EXPECT_EQ(run({"check", path}), 0);
  EXPECT_THAT(out, HasSubstr("note[SE010]"));
  EXPECT_EQ(run({"check", path, "--fail-on", "note"}), 1);
}

TEST_F(Check, NothingToCheckIsAUsageError) {
  EXPECT_EQ(run({"check"}), 2);
  EXPECT_EQ(run({"check", "--live", kPod16}), 2);
  EXPECT_EQ(run({"check", (folder / "absent.yaml").string()}), 2);
  EXPECT_EQ(run({"check", kPod16, "--today", "tomorrow"}), 2);
  const std::string leaf = source_dir() + "/examples/running/be-train-u001-leaf1.json";
  EXPECT_EQ(run({"check", kPod16, "--config", "nosuch=" + leaf}), 2);
  EXPECT_THAT(err, HasSubstr("the cluster has no device `nosuch`"));
  EXPECT_EQ(run({"check", kPod16, "--config", (folder / "absent.json").string()}), 2);
}

TEST_F(Check, ExplainShowsReasonFixAndExample) {
  for (const check::Rule& rule : check::all_rules()) {
    EXPECT_EQ(run({"explain", std::string(rule.id)}), 0);
    EXPECT_THAT(out, HasSubstr(std::string(rule.id)));
    EXPECT_THAT(out, HasSubstr("What to do"));
    EXPECT_THAT(out, HasSubstr("Example"));
  }
  EXPECT_EQ(run({"explain", "qo1"}), 2);
  EXPECT_EQ(run({"explain", "QO"}), 2);
}

TEST_F(Check, RulesAreListedByArea) {
  EXPECT_EQ(run({"rules", "-o", "json"}), 0);
  const Json listed = Json::parse(out);
  std::set<std::string> ids;
  for (const Json& rule : listed["rules"]) EXPECT_TRUE(ids.insert(rule["rule"]).second) << rule["rule"];
  for (const check::Rule& rule : check::all_rules()) EXPECT_TRUE(ids.contains(std::string(rule.id))) << rule.id;
  for (const oob::AuditRule& rule : oob::audit_rules()) EXPECT_TRUE(ids.contains(std::string(rule.id))) << rule.id;
  EXPECT_EQ(run({"rules", "SE"}), 0);
  EXPECT_THAT(out, Not(HasSubstr("BE001")));
}

}  // namespace
}  // namespace weft
