// End-to-end tests of `weft oob backup`, `drift` and `restore`, on switches simulated by a small script with its
// configuration in a file and faults on demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/random.h"
#include "base/test_places.h"
#include "program.h"

namespace weft {
namespace {

using Json = nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::put;
using testing_program::Words;
namespace fs = std::filesystem;

// switch FOLDER HOST COMMAND: the part of NX-OS that weft needs. HOST.run is its configuration; HOST.dead, .slow,
// .rubbish, .half, .refuses and .dies are its faults.
const char* const kSwitch = R"SH(#!/bin/sh
f=$1/$2
[ -e "$f.dead" ] && { echo "no route to host" >&2; exit 255; }
case $3 in
"show running-config")
  [ -e "$f.slow" ] && sleep 30
  [ -e "$f.rubbish" ] && { echo "% Invalid input"; exit 0; }
  echo "!Time: $(date +%N)"; cat "$f.run" ;;
"scp -t"*) cat > "$f.scp" ;;
"configure replace"*)
  echo push >> "$f.pushes"
  [ -e "$f.refuses" ] && { echo "% Invalid command at line 7"; exit 0; }
  [ -e "$f.lingers" ] && sleep 0.2
  tail -n +2 "$f.scp" | tr -d '\000' > "$f.new"
  [ -e "$f.half" ] && { rm "$f.half"; head -n 5 "$f.new" > "$f.run"; exit 0; }
  [ -e "$f.dies" ] && { touch "$f.dead"; exit 255; }
  mv "$f.new" "$f.run" ;;
"copy running-config startup-config") cp "$f.run" "$f.start" ;;
*) echo "% Invalid command"; exit 1 ;;
esac
)SH";

class OobSwitchesTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    make_folder("oob_switches");
    file("switch", kSwitch);
    ASSERT_EQ(::chmod((folder_ / "switch").c_str(), 0700), 0);
    ASSERT_EQ(run({weft_binary(), "render", cluster(), "-o", (folder_ / "tree").string(), "--target", "nxos"}).code, 0);
  }
  void SetUp() override {
    fs::remove_all(folder_ / "box");
    fs::remove_all(folder_ / "state");
    fs::create_directories(folder_ / "box");
    for (const char* name : {"oob-leaf001", "oob-leaf002", "oob-leaf003"})
      fs::copy_file(folder_ / "tree/nxos" / (std::string(name) + ".cfg"), box(std::string(name) + ".run"));
  }
  static std::string cluster() { return source_dir() + "/examples/pod16.yaml"; }
  static fs::path box(const std::string& name) { return folder_ / "box" / name; }
  static Words words(const std::string& verb, const Words& more) {
    Words all = {weft_binary(), "oob", verb, cluster()};
    all.insert(all.end(), more.begin(), more.end());
    all.insert(all.end(), {"--syslog", "none", "--state", (folder_ / "state").string(), "--via",
                           (folder_ / "switch").string() + " " + (folder_ / "box").string() + " {host} {command}"});
    return all;
  }
  static Outcome weft(const std::string& verb, const Words& more) { return run(words(verb, more)); }
  // Waits for every process with the switches' program in its command line: leftovers of a killed weft.
  static bool switches_are_idle() {
    const std::string program = (folder_ / "switch").string();
    for (int i = 0; i < 6'000; ++i) {
      bool busy = false;
      for (const auto& entry : fs::directory_iterator("/proc")) {
        busy = busy || contents(entry.path() / "cmdline").find(program) != std::string::npos;
      }
      if (!busy) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  static Json rows(const std::string& verb, Words more, int code) {
    more.insert(more.end(), {"-o", "json"});
    const Outcome outcome = weft(verb, more);
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return Json::parse(outcome.out, nullptr, false);
  }
  static void change(const std::string& host) {
    put(box(host + ".run"), contents(box(host + ".run")) + "vlan 13\n  name unlucky\n");
  }
};

const char* const kLeaves = "oob-leaf[001-003]";

TEST_F(OobSwitchesTest, BackupResultsAreGrouped) {
  Outcome outcome = weft("backup", {kLeaves, "--good"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("first         3  oob-leaf[001-003]"));
  change("oob-leaf002");
  put(box("oob-leaf003.dead"), "");
  outcome = weft("backup", {kLeaves, "--diff"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, HasSubstr("+vlan 13\n+  name unlucky\n"));
  EXPECT_THAT(outcome.out, HasSubstr("no route to host"));
  const Json result = rows("backup", {"oob-leaf001,oob-leaf002"}, 0);
  EXPECT_EQ(result.at("backups")[0].at("state"), "unchanged");
  EXPECT_EQ(result.at("backups")[1].at("state"), "unchanged");
  put(box("oob-leaf001.rubbish"), "");
  outcome = weft("backup", {"oob-leaf001"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.out, HasSubstr("output saved in"));
  put(box("oob-leaf002.slow"), "");
  EXPECT_THAT(weft("backup", {"oob-leaf002", "--timeout", "200ms"}).out, HasSubstr("took longer than 200ms"));
  EXPECT_EQ(weft("backup", {"servers"}).code, 2);
}

TEST_F(OobSwitchesTest, DriftComparesWithTheGoodVersionAndTheDesign) {
  EXPECT_EQ(weft("backup", {kLeaves, "--good"}).code, 0);
  EXPECT_EQ(weft("drift", {kLeaves, "--rendered", (folder_ / "tree").string()}).code, 0);
  change("oob-leaf002");
  const Outcome outcome = weft("drift", {kLeaves, "--rendered", (folder_ / "tree").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.out, HasSubstr("+vlan 13\n"));
  // --offline contacts no switch and finds no drift.
  put(box("oob-leaf002.dead"), "");
  EXPECT_EQ(weft("drift", {kLeaves, "--offline"}).code, 0);
  EXPECT_EQ(weft("drift", {kLeaves}).code, 3);
}

TEST_F(OobSwitchesTest, RestoreIsVerifiedAndRolledBack) {
  EXPECT_EQ(weft("backup", {kLeaves, "--good"}).code, 0);
  change("oob-leaf001");
  const std::string changed = contents(box("oob-leaf001.run"));
  EXPECT_EQ(weft("restore", {"oob-leaf001"}).code, 4);
  const Outcome plan = weft("restore", {"oob-leaf001", "--dry-run"});
  EXPECT_EQ(plan.code, 0);
  EXPECT_THAT(plan.out, HasSubstr("-vlan 13\n"));
  EXPECT_EQ(weft("restore", {kLeaves, "--yes", "--reason", "x"}).code, 4);  // more than one
  EXPECT_FALSE(fs::exists(box("oob-leaf001.pushes")));
  const Words yes = {"oob-leaf001", "--yes", "--reason", "drill"};
  put(box("oob-leaf001.refuses"), "");
  EXPECT_EQ(rows("restore", yes, 3).at("restore")[0].at("state"), "not done");
  fs::remove(box("oob-leaf001.refuses"));
  put(box("oob-leaf001.half"), "");
  EXPECT_EQ(rows("restore", yes, 3).at("restore")[0].at("state"), "not done");
  EXPECT_THAT(contents(box("oob-leaf001.run")), HasSubstr("name unlucky"));  // it was rolled back
  EXPECT_EQ(rows("restore", yes, 0).at("restore")[0].at("state"), "done");
  EXPECT_EQ(contents(box("oob-leaf001.start")), contents(box("oob-leaf001.run")));
  EXPECT_EQ(weft("drift", {"oob-leaf001"}).code, 0);
  // And back to the previous version.
  EXPECT_EQ(weft("restore", {"oob-leaf001", "--which", "before", "--yes", "--reason", "drill"}).code, 0);
  EXPECT_THAT(contents(box("oob-leaf001.run")), HasSubstr("name unlucky"));
  put(box("oob-leaf001.dies"), "");
  Words dying = yes;
  dying.insert(dying.end(), {"--within", "1s"});
  const Json unknown = rows("restore", dying, 5);
  EXPECT_EQ(unknown.at("restore")[0].at("state"), "unknown");
  EXPECT_THAT(unknown.at("restore")[0].at("advice").get<std::string>(), HasSubstr("weft oob console"));
}

// SIGKILL at random times of a restore: the next run finds the open operation and only reads; every version is
// complete; --settle never repeats a push.
TEST_F(OobSwitchesTest, KilledRestoresAreSettledWithoutAPush) {
  EXPECT_EQ(weft("backup", {"oob-leaf001", "--good"}).code, 0);
  put(box("oob-leaf001.lingers"), "");
  RandomStream random(11, "restore kill");
  int found = 0;
  for (int round = 0; round < 6; ++round) {
    change("oob-leaf001");
    const pid_t child = start(words("restore", {"oob-leaf001", "--yes", "--reason", "drill"}));
    // Every other time in the middle of the push, regardless of the machine's speed.
    const std::string before = contents(box("oob-leaf001.pushes"));
    for (int i = 0; round % 2 == 1 && i < 6'000 && contents(box("oob-leaf001.pushes")) == before; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(random.below(round % 2 == 1 ? 100 : 500)));
    ::kill(child, SIGKILL);
    (void)wait(child);
    // The switch itself continues with the commands it received.
    ASSERT_TRUE(switches_are_idle());
    const std::string pushes = contents(box("oob-leaf001.pushes"));
    const Outcome resumed = weft("restore", {"oob-leaf001", "--settle", "-o", "json"});
    EXPECT_EQ(contents(box("oob-leaf001.pushes")), pushes);
    if (resumed.err.find("no restore of these switches is incomplete") == std::string::npos) ++found;
    EXPECT_EQ(weft("restore", {"oob-leaf001", "--settle"}).code, 0);  // nothing is left open
    EXPECT_EQ(weft("restore", {"oob-leaf001", "--yes", "--reason", "drill"}).code, 0);
    EXPECT_THAT(contents(box("oob-leaf001.run")), Not(HasSubstr("unlucky")));
  }
  EXPECT_GT(found, 0);
}

}  // namespace
}  // namespace weft
