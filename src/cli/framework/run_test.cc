#include "cli/framework/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/document.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "cli/framework/command.h"
#include "cli/framework/help.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// A run inside this process, with streams and environment set by the test.
struct Session {
  std::string out;
  std::string err;
  bool terminal = false;
  bool out_is_full = false;
  std::map<std::string, std::string> variables;
  std::size_t rows = 0;
  std::string pager;  // the last one used
  std::string paged;

  Exit run(const std::vector<std::string>& words) {
    out.clear();
    err.clear();
    Io io;
    io.write_out = [this](std::string_view text) -> Status {
      if (out_is_full) return Error{ErrorCode::unavailable, "cannot write: No space left on device", "standard output"};
      out += text;
      return {};
    };
    io.write_err = [this](std::string_view text) { err += text; };
    io.environment = [this](const char* name) { return variables.contains(name) ? variables[name] : std::string(); };
    io.out_is_terminal = terminal;
    io.rows = rows;
    io.columns = 100;
    io.page = [this](const std::string& program, std::string_view text) -> Status {
      if (program == "absent") return Error{ErrorCode::not_found, "no such pager", program};
      pager = program;
      paged += text;
      return {};
    };
    io.err_is_terminal = terminal;
    return run_weft(words, io);
  }
};

std::string broken_file() {
  std::string path = testing::TempDir() + "/weft_broken.yaml";
  std::ofstream(path) << "weft: 1\nnaem: x\n";
  return path;
}

constexpr const char* kEscape = "\x1b[";

TEST(RunTest, NoArgumentsPrintHelp) {
  Session session;
  EXPECT_EQ(session.run({}), Exit::ok);
  EXPECT_EQ(session.out, main_help());
  EXPECT_THAT(session.err, IsEmpty());
}

TEST(RunTest, HelpOfEveryCommandBeginsWithExamples) {
  for (const Command& command : all_commands()) {
    Session session;
    EXPECT_EQ(session.run({"help", command.name}), Exit::ok);
    EXPECT_THAT(session.out, StartsWith("Examples:\n  # "));
    EXPECT_THAT(session.out, HasSubstr("\nUsage: weft " + command.name));
    for (const Option& option : command.options) EXPECT_THAT(session.out, HasSubstr("--" + option.name));
    for (const Option& option : global_options()) EXPECT_THAT(session.out, HasSubstr("--" + option.name));
    EXPECT_THAT(session.out, Not(HasSubstr(" \n")));
    const std::string by_word = session.out;
    const std::vector<std::string> words =
        command.group().empty()
            ? std::vector<std::string>{command.name, "--help"}
            : std::vector<std::string>{std::string(command.group()), std::string(command.last_word()), "--help"};
    EXPECT_EQ(session.run(words), Exit::ok);
    EXPECT_EQ(session.out, by_word);
  }
}

TEST(RunTest, HelpTopics) {
  Session session;
  for (const Topic& topic : all_topics()) {
    EXPECT_EQ(session.run({"help", topic.name}), Exit::ok);
    EXPECT_THAT(session.out, StartsWith(topic.summary));
  }
  EXPECT_EQ(session.run({"help", "exit-code"}), Exit::usage);
  EXPECT_THAT(session.out, IsEmpty());
  EXPECT_EQ(session.err,
            "weft help: no command or topic is named `exit-code`\n  did you mean `exit-codes`?\n  run `weft help` for "
            "a list\n");
}

TEST(RunTest, FullDiskIsReported) {
  Session session;
  session.out_is_full = true;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{}, {"version"}, {"--version"}, {"help", "show"}, {"man"}, {"catalog"}}) {
    EXPECT_EQ(session.run(words), Exit::unavailable);
    EXPECT_EQ(session.err, "weft: standard output: cannot write: No space left on device\n");
  }
}

TEST(RunTest, ColorFollowsTerminalVariablesAndOption) {
  const std::string path = broken_file();
  Session session;
  EXPECT_EQ(session.run({"show", path}), Exit::usage);
  EXPECT_THAT(session.err, Not(HasSubstr(kEscape)));
  session.run({"show", path, "--color", "always"});
  EXPECT_THAT(session.err, HasSubstr(kEscape));

  session.terminal = true;
  session.run({"show", path});
  EXPECT_THAT(session.err, HasSubstr(kEscape));
  session.run({"show", path, "--color=never"});
  EXPECT_THAT(session.err, Not(HasSubstr(kEscape)));
  session.variables["NO_COLOR"] = "1";
  session.run({"show", path});
  EXPECT_THAT(session.err, Not(HasSubstr(kEscape)));
  session.run({"show", path, "--color", "always"});
  EXPECT_THAT(session.err, HasSubstr(kEscape));
  session.variables = {{"NO_COLOR", ""}, {"TERM", "xterm"}};
  session.run({"show", path});
  EXPECT_THAT(session.err, HasSubstr(kEscape));
  session.variables = {{"TERM", "dumb"}};
  session.run({"show", path});
  EXPECT_THAT(session.err, Not(HasSubstr(kEscape)));
}

TEST(RunTest, MachineFormatsAreNeverColored) {
  Session session;
  session.terminal = true;
  EXPECT_EQ(session.run({"catalog", "list", "gpus"}), Exit::ok);
  EXPECT_THAT(session.out, HasSubstr(kEscape));
  for (const char* format : {"json", "yaml", "ndjson", "csv"}) {
    EXPECT_EQ(session.run({"catalog", "list", "gpus", "--color", "always", "-o", format}), Exit::ok);
    EXPECT_THAT(session.out, Not(HasSubstr(kEscape))) << format;
  }
}

TEST(RunTest, DesignRefusesInvalidValues) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "the size is missing: give --gpus N, --servers N, --power POWER, or --goal GOAL"},
      {{"--gpus", "8", "--servers", "1"}, "--gpus, --servers and --power are mutually exclusive"},
      {{"--gpus", "0"}, "--gpus: `0` is not an integer of at least 1"},
      {{"--gpus", "-8"}, "--gpus: `-8` is not an integer of at least 1"},
      {{"--gpus", "many"}, "--gpus: `many` is not an integer of at least 1"},
      {{"--gpus", "99999999999999999999"}, "--gpus: `99999999999999999999` is not an integer of at least 1"},
      {{"--gpus", "8", "--inference", "101"}, "--inference: `101` is not an integer between 0 and 100"},
      {{"--gpus", "8", "--planes", "0"}, "--planes: `0` is not an integer between 1 and 8"},
      {{"--gpus", "8", "--oversubscription", "0:0"}, "--oversubscription: "},
      {{"--gpus", "8", "--data", "great"}, "--data: `great` is not one of good, better or best"},
      {{"--power", "2 bananas"}, "--power: "},
      {{"--power", "0W"}, "--power: must be greater than 0"},
      {{"--gpus", "8", "--name", "a: b"}, "--name: "},
      {{"--gpus", "8", "--server="}, "--server: is empty"},
  };
  for (const auto& [options, problem] : cases) {
    std::vector<std::string> words = {"design"};
    words.insert(words.end(), options.begin(), options.end());
    Session session;
    EXPECT_EQ(session.run(words), Exit::usage) << problem;
    EXPECT_THAT(session.err, StartsWith("weft design: " + problem));
    EXPECT_THAT(session.out, IsEmpty());
  }
}

TEST(RunTest, ShowReportsUsageErrors) {
  const std::string hint = "  or name the file weft.yaml, or set WEFT_CLUSTER: see `weft help cluster-file`\n";
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"show"}, "weft show: missing CLUSTER\n  usage: weft show [VIEW] CLUSTER [OPTIONS]\n" + hint},
      {{"show", "racks"}, "weft show: missing CLUSTER\n  usage: weft show racks CLUSTER\n" + hint},
      {{"show", "c.yaml", "racks"}, "weft show: the view must precede the cluster file\n  weft show racks c.yaml\n"},
      {{"show", "racks", "c.yaml", "--fabric", "oob"},
       "weft show: --fabric does not apply to `racks`\n  it applies to the views switches, cables, ports or "
       "addresses\n"},
      {{"show", "racks", "c.yaml", "--prices", "p.yaml"},
       "weft show: --prices applies to the view `bom`, not to `racks`\n"},
      {{"show", "racks", "c.yaml", "--effective"}, "weft show: --effective cannot be combined with the view `racks`\n"},
      {{"show", "--effective", "c.yaml", "-o", "csv"},
       "weft show: `effective` is nested data: --output must be yaml, json or ndjson, not csv\n"},
      {{"show", "bom", "-", "--prices", "-"}, "weft show: only one file can be read from standard input\n"},
  };
  for (const auto& [words, text] : cases) {
    Session session;
    EXPECT_EQ(session.run(words), Exit::usage);
    EXPECT_EQ(session.err, text);
    EXPECT_THAT(session.out, IsEmpty());
  }
}

TEST(RunTest, LongResultsOnATerminalGoThroughThePager) {
  Session session;
  session.rows = 20;
  EXPECT_EQ(session.run({"help"}), Exit::ok);
  EXPECT_EQ(session.paged, "") << "not a terminal";
  session.terminal = true;
  EXPECT_EQ(session.run({"help"}), Exit::ok);
  EXPECT_EQ(session.pager, "less");
  EXPECT_EQ(session.paged, main_help());
  EXPECT_EQ(session.out, "");
  session.variables["PAGER"] = "more";
  EXPECT_EQ(session.run({"help"}), Exit::ok);
  EXPECT_EQ(session.pager, "more");
  session.variables["WEFT_PAGER"] = "most -x";
  EXPECT_EQ(session.run({"help", "show"}), Exit::ok);
  EXPECT_EQ(session.pager, "most -x");
}

TEST(RunTest, ShortResultsAndThoseWithoutAPagerAreWritten) {
  Session session;
  session.terminal = true;
  session.rows = 20;
  EXPECT_EQ(session.run({"version"}), Exit::ok);
  EXPECT_THAT(session.out, StartsWith("weft "));
  EXPECT_EQ(session.run({"help", "--no-pager"}), Exit::ok);
  EXPECT_EQ(session.out, main_help());
  for (const char* pager : {"cat", "absent"}) {
    session.variables["WEFT_PAGER"] = pager;
    EXPECT_EQ(session.run({"help"}), Exit::ok);
    EXPECT_EQ(session.out, main_help()) << pager;
  }
  EXPECT_EQ(session.paged, "");
}

TEST(RunTest, HelpFitsTheTerminal) {
  Session session;
  session.variables["COLUMNS"] = "72";
  EXPECT_EQ(session.run({"help", "environment"}), Exit::ok);
  for (const std::string_view line : split_lines(session.out)) EXPECT_LE(display_width(line), 72U) << line;
}

// Runs in a folder of its own, which is the current one meanwhile.
class DefaultClusterTest : public testing::Test {
 protected:
  DefaultClusterTest()
      : before_(fs::current_path()),
        folder_(fs::path(testing::TempDir()) / "weft_default_cluster" /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "a" / "b");
    fs::current_path(folder_ / "a" / "b");
    session.variables["WEFT_CONFIG"] = (folder_ / "config.yaml").string();
  }
  DefaultClusterTest(const DefaultClusterTest&) = delete;
  DefaultClusterTest& operator=(const DefaultClusterTest&) = delete;
  DefaultClusterTest(DefaultClusterTest&&) = delete;
  DefaultClusterTest& operator=(DefaultClusterTest&&) = delete;
  ~DefaultClusterTest() override { fs::current_path(before_); }

  // A file that is no cluster: the error names it.
  void put(const std::string& name) const { std::ofstream(folder_ / name) << "weft: 1\nnaem: " << name << "\n"; }
  std::string file_of(const std::vector<std::string>& words) {
    EXPECT_EQ(session.run(words), Exit::usage);
    const std::size_t end = session.err.find(".yaml:");
    if (end == std::string::npos) return session.err;
    const std::size_t begin = session.err.find_last_of(" \n", end) + 1;
    return session.err.substr(begin, end + 5 - begin);
  }

  Session session;
  fs::path before_;
  fs::path folder_;
};

TEST_F(DefaultClusterTest, TheNearestSourceWins) {
  EXPECT_THAT(file_of({"show"}), HasSubstr("missing CLUSTER"));
  EXPECT_THAT(file_of({"render"}), HasSubstr("WEFT_CLUSTER"));
  put("preset.yaml");
  std::ofstream(folder_ / "config.yaml") << "weft_config: 1\ndefaults: {cluster: " << (folder_ / "preset.yaml")
                                         << "}\n";
  EXPECT_THAT(file_of({"show"}), EndsWith("preset.yaml"));
  put("weft.yaml");
  EXPECT_THAT(file_of({"show", "racks"}), EndsWith("TheNearestSourceWins/weft.yaml"));
  put("a/b/weft.yaml");
  EXPECT_EQ(file_of({"checklist"}), "weft.yaml");
  put("other.yaml");
  session.variables["WEFT_CLUSTER"] = "../../other.yaml";
  EXPECT_EQ(file_of({"failures"}), "../../other.yaml");
  EXPECT_EQ(file_of({"failures", "../../weft.yaml"}), "../../weft.yaml");
}

TEST_F(DefaultClusterTest, OtherWordsAreNotTakenForIt) {
  put("a/b/weft.yaml");
  put("a/b/job.yaml");
  EXPECT_EQ(file_of({"oob", "status", "train007"}), "weft.yaml");
  EXPECT_THAT(session.err, Not(HasSubstr("cluster file weft.yaml")));
  EXPECT_EQ(file_of({"oob", "power", "cycle", "train007", "--reason", "x", "--yes"}), "weft.yaml");
  EXPECT_THAT(session.err, HasSubstr("cluster file weft.yaml (in this folder)")) << "an action says what it is about";
  EXPECT_EQ(file_of({"sim", "life", "job.yaml"}), "weft.yaml") << "the first of two needed words";
  EXPECT_THAT(file_of({"show", "cabels"}), Not(HasSubstr("weft.yaml:")));
  EXPECT_THAT(file_of({"sim", "traffic", "--topology", "nonsense"}), Not(HasSubstr("naem")));
}

TEST_F(DefaultClusterTest, FilesOfOthersAboveAreIgnored) {
  WEFT_NEEDS_ROOT();  // only root can change the owner of a file
  put("weft.yaml");
  EXPECT_THAT(file_of({"show"}), EndsWith("/weft.yaml"));
  ASSERT_EQ(::chown((folder_ / "weft.yaml").c_str(), 65'534, 65'534), 0);
  EXPECT_THAT(file_of({"show"}), HasSubstr("missing CLUSTER"));
  ASSERT_EQ(::chown((folder_ / "weft.yaml").c_str(), ::geteuid(), ::getegid()), 0);
  ASSERT_EQ(::chown((folder_ / "a").c_str(), 65'534, 65'534), 0);
  EXPECT_THAT(file_of({"show"}), HasSubstr("missing CLUSTER")) << "its owner may put files there";
}

TEST_F(DefaultClusterTest, DefaultsOfTheConfigurationFile) {
  std::ofstream(folder_ / "config.yaml") << "weft_config: 1\ndefaults: {output: csv, color: always, pager: most}\n";
  EXPECT_EQ(session.run({"sim", "models"}), Exit::ok);
  EXPECT_THAT(session.out.substr(0, session.out.find('\n')), HasSubstr(","));
  EXPECT_EQ(session.run({"sim", "models", "-o", "table"}), Exit::ok);
  EXPECT_THAT(session.out, StartsWith(kEscape));
  std::ofstream(folder_ / "config.yaml") << "weft_config: 1\ndefaults: {output: cvs}\n";
  EXPECT_EQ(session.run({"sim", "models"}), Exit::ok) << "works without them";
  EXPECT_THAT(session.err, HasSubstr("did you mean `csv`?"));
}

}  // namespace
}  // namespace weft::cli
