// End-to-end tests of `weft oob sim` with third-party clients: curl, redfishtool and sushy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "program.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::put;
using testing_program::Words;
namespace fs = std::filesystem;

class OobSimTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() { make_folder("oob_sim"); }

  void SetUp() override {
    // They would override the client's command line.
    for (const char* name : {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "https_proxy", "http_proxy"}) {
      ::unsetenv(name);  // NOLINT(concurrency-mt-unsafe)
    }
    put(folder_ / "password", "Correct7Horse\n");
  }
  void TearDown() override {
    if (child_ > 0) (void)end();
  }

  // Starts the simulator on the servers of an example cluster and waits until it is ready.
  void begin(Words more = {}) {
    Words words{weft_binary(),
                "oob",
                "sim",
                source_dir() + "/examples/pod32.yaml",
                "@train",
                "--dir",
                dir(),
                "--password-file",
                (folder_ / "password").string(),
                "--report",
                (folder_ / "report.json").string(),
                "--boot-time",
                "200ms",
                "--power-time",
                "100ms"};
    words.insert(words.end(), more.begin(), more.end());
    // Files of an earlier simulator must not be mistaken for this one's.
    for (const char* name : {"sim.err", "report.json"}) fs::remove(folder_ / name);
    // Separate streams: run() uses the suite's for the clients.
    std::string line;
    for (const std::string& word : words) line += "'" + word + "' ";
    line += "> '" + (folder_ / "sim.out").string() + "' 2> '" + (folder_ / "sim.err").string() + "'";
    child_ = start({"/bin/sh", "-c", "exec " + line});
    for (int i = 0; i < 3'000; ++i) {
      const std::string said = contents(folder_ / "sim.err");
      const std::size_t at = said.find("port ");
      if (at != std::string::npos && said.find('\n', at) != std::string::npos) {
        port_ = std::to_string(std::stoi(said.substr(at + 5)));
        const std::size_t on = said.find(" on ") + 4;
        url_ = "https://" + said.substr(on, said.find(' ', on) - on) + ":" + port_;
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    FAIL() << contents(folder_ / "sim.err");
  }
  // Its report.
  Json end() {
    ::kill(child_, SIGTERM);
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    child_ = 0;
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << contents(folder_ / "sim.err");
    return Json::parse(contents(folder_ / "report.json"), nullptr, false);
  }

  static std::string dir() { return (folder_ / "sim").string(); }
  [[nodiscard]] Outcome curl(Words words, bool verified = true) const {
    words.insert(words.begin(), {"curl", "-sS", "--noproxy", "*", "--max-time", "10"});
    if (verified) words.insert(words.end(), {"--cacert", dir() + "/ca.pem"});
    return run(words);
  }
  [[nodiscard]] Json get(const std::string& path) const {
    return Json::parse(curl({"-u", "admin:Correct7Horse", url_ + path}).out, nullptr, false);
  }
  [[nodiscard]] std::string send(const std::string& method, const std::string& path, const std::string& body,
                                 const std::string& token) const {
    return curl({"-o", "/dev/null", "-w", "%{http_code}", "-X", method, "-H", "Content-Type: application/json", "-H",
                 "X-Auth-Token: " + token, "-d", body, url_ + path})
        .out;
  }
  [[nodiscard]] Outcome redfishtool(Words words, const char* auth = "Basic") const {
    words.insert(words.begin(), {"redfishtool", "-r", url_.substr(8), "-u", "admin", "-p", "Correct7Horse", "-A", auth,
                                 "-S", "Always"});
    return run(words);
  }
  // Polls until it holds; false after a minute.
  static bool becomes(const std::function<bool()>& holds) {
    for (int i = 0; i < 3'000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  pid_t child_ = 0;
  std::string port_;
  std::string url_;
};

TEST_F(OobSimTest, WritesWhatOtherCommandsNeed) {
  begin({"--for", "60s"});
  const std::string endpoints = contents(fs::path(dir()) / "endpoints.yaml");
  EXPECT_THAT(endpoints, HasSubstr("weft_endpoints: 1"));
  EXPECT_THAT(endpoints, HasSubstr("train[001-032]"));
  EXPECT_THAT(endpoints, HasSubstr("port: " + port_));
  struct stat about {};
  ASSERT_EQ(::stat((dir() + "/credentials.yaml").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  EXPECT_THAT(contents(fs::path(dir()) / "credentials.yaml"), HasSubstr("Correct7Horse"));
  EXPECT_THAT(contents(folder_ / "sim.err"), HasSubstr("32 BMCs on 127.16."));
  EXPECT_THAT(contents(folder_ / "sim.err"), testing::Not(HasSubstr("Correct7Horse")));
}

TEST_F(OobSimTest, SaysWhatIsWrong) {
  const std::string cluster = source_dir() + "/examples/pod32.yaml";
  const auto sim = [&](Words words) {
    words.insert(words.begin(), {weft_binary(), "oob", "sim", cluster, "--dir", dir(), "--for", "1ms"});
    return run(words);
  };
  EXPECT_THAT(sim({"--fault", "train001=slwo"}).err, HasSubstr("unknown fault `slwo`"));
  EXPECT_THAT(sim({"--fault", "nobody=slow"}).err, HasSubstr("no device `nobody`"));
  EXPECT_THAT(sim({"--base", "10.0.0.1"}).err, HasSubstr("127.0.0.0/8"));
  EXPECT_THAT(sim({"--base", "127.255.255.250"}).err, HasSubstr("outside 127.0.0.0/8"));
  const Outcome faults =
      sim({"--faults", file("faults.yaml", "weft_faults: 1\nfaults:\n  train001: {kind: slow, time: soon}\n")});
  EXPECT_EQ(faults.code, 2);
  EXPECT_THAT(faults.err, HasSubstr("faults.yaml:3:32"));
  EXPECT_EQ(sim({}).code, 0);
}

TEST_F(OobSimTest, CurlSpeaksEveryVerb) {
  WEFT_NEEDS_PROGRAM("curl");
  begin();
  EXPECT_EQ(curl({url_ + "/redfish/v1/"}, false).code, 60);  // CURLE_PEER_FAILED_VERIFICATION without the authority
  EXPECT_EQ(Json::parse(curl({url_ + "/redfish"}).out, nullptr, false)["v1"], "/redfish/v1/");
  const Outcome in =
      curl({"-i", "-H", "Content-Type: application/json", "-d", R"({"UserName":"admin","Password":"Correct7Horse"})",
            url_ + "/redfish/v1/SessionService/Sessions"});
  ASSERT_THAT(in.out, HasSubstr("201 Created"));
  const std::size_t at = in.out.find("X-Auth-Token: ");
  ASSERT_NE(at, std::string::npos);
  const std::string token = in.out.substr(at + 14, 32);
  const std::string reset = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
  EXPECT_EQ(send("POST", reset, R"({"ResetType":"ForceOff"})", token), "204");
  EXPECT_TRUE(becomes([&] { return get("/redfish/v1/Systems/1")["PowerState"] == "Off"; }));
  EXPECT_EQ(send("POST", reset, R"({"ResetType":"On"})", token), "204");
  Json system;
  EXPECT_TRUE(becomes([&] {
    system = get("/redfish/v1/Systems/1");
    return system["BootProgress"]["LastState"] == "OSRunning";
  })) << system;
  EXPECT_EQ(system["PowerState"], "On");
  EXPECT_EQ(send("PATCH", "/redfish/v1/Systems/1", R"({"AssetTag":"row 7"})", token), "204");
  EXPECT_EQ(get("/redfish/v1/Systems/1")["AssetTag"], "row 7");
  EXPECT_EQ(send("PATCH", "/redfish/v1/Systems/1", R"({"Color":"red"})", token), "400");
  EXPECT_EQ(send("PUT", "/redfish/v1/Systems/1", "{}", token), "405");
  EXPECT_EQ(send("DELETE", "/redfish/v1/SessionService/Sessions/1", "", token), "204");
  EXPECT_EQ(send("POST", reset, R"({"ResetType":"On"})", token), "401");
  const Outcome expects = curl({"-o", "/dev/null", "-w", "%{http_code}", "-u", "admin:Correct7Horse", "-H",
                                "Expect: 100-continue", "-H", "Content-Type: application/json", "-X", "PATCH", "-d",
                                R"({"AssetTag":"x"})", url_ + "/redfish/v1/Systems/1"});
  EXPECT_EQ(expects.out, "204");
  EXPECT_EQ(curl({"-I", url_ + "/redfish/v1/"}).code, 0);
  const Json report = end();
  EXPECT_EQ(report["totals"]["sessions"], 0);
  EXPECT_EQ(report["totals"]["resets"]["ForceOff"], 1);
  EXPECT_EQ(report["totals"]["resets"]["On"], 1);
}

TEST_F(OobSimTest, RedfishtoolBelievesIt) {
  WEFT_NEEDS_PROGRAM("redfishtool");
  begin();
  EXPECT_EQ(Json::parse(redfishtool({"Systems"}).out, nullptr, false)["Members@odata.count"], 1);
  EXPECT_EQ(Json::parse(redfishtool({"Systems", "-I", "1", "get"}, "Session").out, nullptr, false)["Name"], "train001");
  EXPECT_EQ(redfishtool({"Systems", "-I", "1", "reset", "ForceOff"}).code, 0);
  EXPECT_TRUE(becomes([&] {
    const Outcome state = redfishtool({"Systems", "-I", "1", "-P", "PowerState", "get"});
    return Json::parse(state.out, nullptr, false)["PowerState"] == "Off";
  }));
  EXPECT_EQ(redfishtool({"Systems", "-I", "1", "reset", "On"}).code, 0);
  EXPECT_EQ(redfishtool({"Systems", "-I", "1", "setBootOverride", "Once", "Pxe"}).code, 0);
  EXPECT_NE(redfishtool({"Systems", "-I", "1", "reset", "Explode"}).code, 0);
  EXPECT_EQ(Json::parse(redfishtool({"Managers", "-I", "BMC", "NetworkProtocol"}).out, nullptr,
                        false)["IPMI"]["ProtocolEnabled"],
            true);
  EXPECT_EQ(Json::parse(redfishtool({"Chassis", "-I", "1", "Thermal"}).out, nullptr, false)["Fans"].size(), 2U);
  const Json log =
      Json::parse(redfishtool({"raw", "GET", "/redfish/v1/Systems/1/LogServices/SEL/Entries"}).out, nullptr, false);
  EXPECT_GE(log["Members"].size(), 2U);  // it started, and its power went off
  EXPECT_EQ(redfishtool({"AccountService", "adduser", "bob", "bobs-password", "Operator"}).code, 0);
  EXPECT_EQ(redfishtool({"AccountService", "setpassword", "bob", "another-word"}).code, 0);
  EXPECT_EQ(redfishtool({"AccountService", "deleteuser", "bob"}).code, 0);
  EXPECT_EQ(redfishtool({"SessionService", "setSessionTimeout", "600"}).code, 0);
  const Json report = end();
  EXPECT_EQ(report["devices"]["train001"]["resets"], Json::parse(R"({"On": 1, "ForceOff": 1})"));
  EXPECT_EQ(report["totals"]["password_changes"], 1);
  EXPECT_EQ(report["totals"]["sessions"], 0);  // it logs out
  EXPECT_EQ(report["totals"]["logins"], 1);
}

TEST_F(OobSimTest, SushyBelievesIt) {
  WEFT_NEEDS_PYTHON("sushy");
  begin();
  const std::string script = file("sushy_test.py", R"(
import sys, time, sushy
from sushy import auth
url, ca = sys.argv[1:3]
root = sushy.Sushy(url, auth=auth.SessionAuth('admin', 'Correct7Horse'), verify=ca)
system = root.get_system_collection().get_members()[0]
assert system.power_state == sushy.PowerState.ON, system.power_state
assert sushy.ResetType.POWER_CYCLE in system.get_allowed_reset_system_values()
def until(state):
    for _ in range(6000):
        system.refresh(force=True)
        if system.power_state == state: return
        time.sleep(0.01)
    raise AssertionError(system.power_state)
system.reset_system(sushy.RESET_FORCE_OFF)
until(sushy.PowerState.OFF)
system.reset_system(sushy.RESET_ON)
until(sushy.PowerState.ON)
system.set_system_boot_options(sushy.BOOT_SOURCE_TARGET_PXE, enabled=sushy.BOOT_SOURCE_ENABLED_ONCE)
system.refresh(force=True)
assert system.boot.target == sushy.BootSource.PXE
assert system.boot.enabled == sushy.BootSourceOverrideEnabled.ONCE
manager = root.get_manager_collection().get_members()[0]
chassis = root.get_chassis_collection().get_members()[0]
assert chassis.thermal.temperatures[0].reading_celsius > 0
assert root.get_update_service().firmware_inventory.get_members()[0].version == manager.firmware_version
assert len(root.get_session_service().sessions.get_members()) == 1
assert root.get_task_service().service_enabled
root._conn._auth.close()
try:
    sushy.Sushy(url, auth=auth.SessionAuth('admin', 'wrong'), verify=ca)
    raise AssertionError('a wrong password was taken')
except sushy.exceptions.AccessError:
    pass
print('believed')
)");
  const Outcome outcome = run({python_with("sushy"), script, url_, dir() + "/ca.pem"});
  EXPECT_EQ(outcome.out, "believed\n") << outcome.err;
  const Json report = end();
  EXPECT_EQ(report["totals"]["sessions"], 0);
  EXPECT_EQ(report["totals"]["refused"], 1);
  EXPECT_EQ(report["totals"]["most_sessions"], 1);
}

TEST_F(OobSimTest, FaultsOfAFileStrike) {
  WEFT_NEEDS_PROGRAM("curl");
  const std::string faults = file("ill.yaml",
                                  "weft_faults: 1\nfaults:\n  train001: [{kind: malformed}, {kind: silent_accept}]\n"
                                  "  train002: {kind: wrong_certificate}\n");
  begin({"--faults", faults, "--fault", "train003=http_500"});
  EXPECT_TRUE(get("/redfish/v1/Systems/1").is_discarded());
  const std::string first = url_.substr(8, url_.rfind(':') - 8);
  const int last = std::stoi(first.substr(first.rfind('.') + 1));
  const auto neighbor = [&](int n) {
    return "https://" + first.substr(0, first.rfind('.') + 1) + std::to_string(last + n) + ":" + port_ +
           "/redfish/v1/Systems";
  };
  EXPECT_EQ(curl({neighbor(1)}).code, 60);
  EXPECT_EQ(curl({"-o", "/dev/null", "-w", "%{http_code}", "-u", "admin:Correct7Horse", neighbor(2)}).out, "500");
  ::kill(child_, SIGUSR1);
  EXPECT_TRUE(becomes([] { return contents(folder_ / "report.json").find("train003") != std::string::npos; }));
}

}  // namespace
}  // namespace weft
