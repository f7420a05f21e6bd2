// End-to-end tests of the executable: its output on both streams, and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/test_places.h"
#include "base/test_prerequisites.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cli/framework/command.h"
#include "model/load.h"
#include "program.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using testing_program::contents;
using testing_program::Outcome;
using testing_program::ProgramTest;
using testing_program::put;
using testing_program::Words;

class CliTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    make_folder("cli");
    cluster_ = (folder_ / "cluster.yaml").string();
    const Outcome made = weft({"design", "--gpus", "128", "--inference", "25", "-q", "-f", cluster_});
    ASSERT_EQ(made.code, 0) << made.err;
  }
  static Outcome weft(Words words, const std::string& input = {}) {
    words.insert(words.begin(), weft_binary());
    return run(words, input);
  }
  // A command line for bash, where $weft is the executable and $c the cluster file.
  static Outcome shell(const std::string& line) {
    return run(
        {"bash", "-c", "weft='" + weft_binary() + "'; c='" + cluster_ + "'; cd '" + folder_.string() + "'; " + line});
  }
  static void expect_valid_completion(const std::string& name) {
    const Outcome script = weft({"completion", name});
    ASSERT_EQ(script.code, 0);
    ASSERT_THAT(script.out, HasSubstr("weft"));
    const Outcome checked = run({name, "-n", file("completion." + name, script.out)});
    EXPECT_EQ(checked.code, 0) << checked.err;
  }

  static inline std::string cluster_;
};

Words view_names(bool pictures) {
  Words names;
  for (const cli::Choice& choice : cli::find_command("show")->arguments.front().choices) {
    if (choice.name != "page" && choice.name.starts_with("svg-") == pictures) names.push_back(choice.name);
  }
  return names;
}

// Rows of fields, by RFC 4180. An unclosed quote returns nothing.
std::vector<Words> parse_csv(const std::string& text) {
  std::vector<Words> rows;
  Words row(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      const bool doubled = c == '"' && i + 1 < text.size() && text[i + 1] == '"';
      if (c != '"' || doubled) row.back() += c;
      if (doubled) ++i;
      if (c == '"' && !doubled) quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      row.emplace_back();
    } else if (c == '\n') {
      rows.push_back(row);
      row.assign(1, "");
    } else if (c != '\r') {
      row.back() += c;
    }
  }
  return quoted ? std::vector<Words>{} : rows;
}

Words lines_of(const std::string& text) {
  Words lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Rows of all tables and facts of a document.
std::size_t rows_of(const Json& document) {
  std::size_t rows = 0;
  for (const auto& [key, value] : document.items()) {
    if (key != "notes" && value.is_structured()) rows += value.size();
  }
  return rows;
}

// ---- help, version, completion ----

TEST_F(CliTest, VersionAndHelpGoToStdout) {
  for (const Words& words : std::vector<Words>{{"version"}, {"--version"}, {"-V"}}) {
    const Outcome outcome = weft(words);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_THAT(outcome.out, ContainsRegex("^weft [0-9]+\\.[0-9]+\\.[0-9]+( \\([0-9a-f]{12}(, modified)?\\))?\n$"));
    EXPECT_THAT(outcome.err, IsEmpty());
  }
  const Outcome none = weft({});
  EXPECT_EQ(none.code, 0);
  EXPECT_THAT(none.out, StartsWith("Examples:\n"));
  EXPECT_EQ(none.out, weft({"help"}).out);
  EXPECT_EQ(none.out, weft({"--help"}).out);
  EXPECT_EQ(weft({"show", "-h"}).out, weft({"help", "show"}).out);
}

TEST_F(CliTest, MistakesGoToStderrWithSuggestion) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"shwo"}, "weft: unknown command `shwo`\n  did you mean `show`?\n  `weft help` lists the commands\n"},
      {{"show", "--fabirc", "oob"},
       "weft show: unknown option `--fabirc`\n  did you mean `--fabric`?\n  `weft show --help` for help\n"},
      {{"show", "c.yaml", "--output", "jsn"},
       "weft show: --output: `jsn` is not one of table, wide, json, yaml, ndjson or csv\n  did you mean `json`?\n  "
       "`weft show --help` for help\n"},
      {{"catalog", "shwo"},
       "weft: `catalog` has no subcommand `shwo`\n  did you mean `show`?\n  available commands: list, show or check\n"},
      {{"checklist"},
       "weft checklist: missing CLUSTER\n  usage: weft checklist CLUSTER [OPTIONS]\n  or name the file weft.yaml, or "
       "set "
       "WEFT_CLUSTER: see `weft help cluster-file`\n  `weft checklist --help` for help\n"},
  };
  for (const auto& [words, text] : cases) {
    const Outcome outcome = weft(words);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_EQ(outcome.err, text);
  }
}

TEST_F(CliTest, EveryShellHasACompletionScript) {
  for (const char* name : {"bash", "zsh", "fish"}) {
    const Outcome script = weft({"completion", name});
    EXPECT_EQ(script.code, 0) << name;
    EXPECT_THAT(script.out, HasSubstr("weft")) << name;
  }
}

TEST_F(CliTest, BashReadsItsCompletion) {
  WEFT_NEEDS_PROGRAM("bash");
  expect_valid_completion("bash");
}

TEST_F(CliTest, ZshReadsItsCompletion) {
  WEFT_NEEDS_PROGRAM("zsh");
  expect_valid_completion("zsh");
}

TEST_F(CliTest, FishReadsItsCompletion) {
  WEFT_NEEDS_PROGRAM("fish");
  expect_valid_completion("fish");
}

TEST_F(CliTest, BashCompletes) {
  const auto complete = [](const std::string& words, int at) {
    return shell("eval \"$($weft completion bash)\"; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(at) +
                 "; _weft; echo \"${COMPREPLY[@]}\"")
        .out;
  };
  EXPECT_EQ(complete("weft sh", 1), "show\n");
  EXPECT_EQ(complete("weft show rac", 2), "racks\n");
  EXPECT_EQ(complete("weft show racks clus", 3), "cluster.yaml\n");
  EXPECT_EQ(complete("weft show racks c.yaml --output js", 5), "json\n");
  EXPECT_EQ(complete("weft show --output = js", 4), "json\n");
  EXPECT_EQ(complete("weft -o csv show --fab", 4), "--fabric\n");
  EXPECT_EQ(complete("weft catalog ''", 2), "list show check\n");
  EXPECT_EQ(complete("weft catalog show h100-s", 3), "h100-sxm\n");
  EXPECT_EQ(complete("weft design --gpu h100-s", 3), "h100-sxm\n");
  EXPECT_EQ(complete("weft design --gpus ''", 3), "\n");
}

TEST_F(CliTest, VersionNamesCommitAndLibraries) {
  const Json document = Json::parse(weft({"version", "-o", "json"}).out);
  EXPECT_EQ(document["kind"], "version");
  const Json& build = document["build"];
  EXPECT_THAT(weft({"version"}).out, StartsWith("weft " + build["version"].get<std::string>()));
  EXPECT_THAT(build["commit"].get<std::string>(), ContainsRegex("^([0-9a-f]{40}|unknown)$"));
  EXPECT_THAT(build["commit_date"].get<std::string>(), ContainsRegex("^([0-9]{4}-[0-9]{2}-[0-9]{2}|unknown)$"));
  std::set<std::string> found;
  for (const Json& library : document["libraries"]) {
    if (library["found"].get<bool>()) found.insert(library["name"].get<std::string>());
  }
  for (const char* name : {"libyaml", "fmt", "zlib", "Boost", "OpenSSL", "libcurl", "SQLite"}) {
    EXPECT_THAT(found, Contains(name));
  }
}

TEST_F(CliTest, ManPageHasItsSections) {
  const Outcome page = weft({"man"});
  EXPECT_EQ(page.code, 0);
  for (const char* section : {".TH WEFT 1 ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH COMMANDS",
                              ".SH OPTIONS", ".SH \"EXIT STATUS\"", ".SH ENVIRONMENT", ".SH EXAMPLES"}) {
    EXPECT_THAT(page.out, HasSubstr(section));
  }
  EXPECT_EQ(weft({"man", "oob", "statsu"}).code, 2);
  EXPECT_EQ(weft({"man", "oob", "status"}).out, weft({"man", "weft-oob-status"}).out);
  EXPECT_EQ(weft({"man", "show", "--directory", folder_.string()}).code, 2);
}

// One page per command, which weft(1) names and which names every option, one per group, and one per file format.
TEST_F(CliTest, EveryCommandHasAManualPage) {
  ASSERT_EQ(weft({"man", "--directory", folder_.string()}).code, 0);
  const std::string overview = contents((folder_ / "man1/weft.1").string());
  for (const cli::Command& command : cli::all_commands()) {
    const std::string name = "weft-" + replace_all(command.name, " ", "-");
    const std::string page = contents((folder_ / "man1" / (name + ".1")).string());
    EXPECT_THAT(page, HasSubstr(".SH NAME\n" + replace_all(name, "-", "\\-") + " \\- "));
    EXPECT_THAT(overview, HasSubstr(".BR " + replace_all(name, "-", "\\-") + " (1)\n"));
    for (const cli::Option& option : command.options)
      EXPECT_THAT(page, HasSubstr("\\-\\-" + replace_all(option.name, "-", "\\-")));
    if (!command.group().empty()) {
      EXPECT_TRUE(fs::exists(folder_ / "man1" / ("weft-" + std::string(command.group()) + ".1")));
    }
  }
  EXPECT_THAT(contents((folder_ / "man5/weft-cluster.5").string()), HasSubstr("\\fBpools\\fR"));
  EXPECT_EQ(contents((folder_ / "man5/weft-job.5").string()), weft({"man", "weft-job.5"}).out);
}

TEST_F(CliTest, GroffSetsTheManPageWithoutWarnings) {
  WEFT_NEEDS_PROGRAM("groff");
  ASSERT_EQ(weft({"man", "--directory", folder_.string()}).code, 0);
  Words words = {"groff", "-man", "-ww", "-z"};
  for (const char* section : {"man1", "man5"}) {
    for (const auto& entry : fs::directory_iterator(folder_ / section)) words.push_back(entry.path());
  }
  const Outcome set = run(words);
  EXPECT_EQ(set.code, 0);
  EXPECT_THAT(set.err, IsEmpty());
}

TEST_F(CliTest, SchemasAreJsonSchemas) {
  for (const char* format : {"cluster", "catalog", "job", "prices", "access", "endpoints"}) {
    const Outcome outcome = weft({"schema", format});
    EXPECT_EQ(outcome.code, 0);
    const Json schema = Json::parse(outcome.out, nullptr, false);
    ASSERT_FALSE(schema.is_discarded()) << format;
    EXPECT_EQ(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
  }
  EXPECT_EQ(weft({"schema"}).out, weft({"schema", "cluster"}).out);
}

// ---- bad input ----

TEST_F(CliTest, FilesThatCannotBeRead) {
  const Outcome missing = weft({"show", "no/such/cluster.yaml"});
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.out, IsEmpty());
  EXPECT_THAT(missing.err, StartsWith("weft: no/such/cluster.yaml: "));
  EXPECT_THAT(missing.err, HasSubstr("No such file or directory\n"));
  EXPECT_EQ(weft({"show", folder_.string()}).code, 2);
  EXPECT_EQ(weft({"show", cluster_, "--catalog", "nope.yaml"}).code, 2);
  EXPECT_EQ(weft({"show", "bom", cluster_, "--prices", "nope.yaml"}).code, 2);
  EXPECT_EQ(weft({"checklist", "nope.yaml"}).code, 2);
  EXPECT_EQ(weft({"catalog", "check", "nope.yaml"}).code, 2);
}

TEST_F(CliTest, BrokenFilesAreExplainedAtTheirPlace) {
  const std::vector<std::string> texts = {"",
                                          "\n",
                                          "# nothing\n",
                                          "[]",
                                          "weft",
                                          "a: [",
                                          std::string("\0\xff", 2),
                                          "weft: 1\nname: x\nname: y\n",
                                          std::string(1000, '['),
                                          "weft: 1\n\tname: x\n",
                                          "&a [*a]"};
  for (const std::string& text : texts) {
    const Outcome outcome = weft({"show", file("broken.yaml", text)});
    EXPECT_EQ(outcome.code, 2) << text;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr("broken.yaml"));
    EXPECT_THAT(outcome.err, HasSubstr("error: "));
  }
  std::string text = contents(cluster_);
  text.replace(text.find("\nname:"), 6, "\nnaem:");
  const Outcome outcome = weft({"show", file("broken.yaml", text)});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, ContainsRegex("broken.yaml:[0-9]+:1: error: unknown key `naem`"));
  EXPECT_THAT(outcome.err, HasSubstr("did you mean `name`?"));
}

TEST_F(CliTest, StandardInputIsAFile) {
  const Outcome piped = weft({"show", "summary", "-", "-o", "json"}, contents(cluster_));
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out, weft({"show", "summary", cluster_, "-o", "json"}).out);
  EXPECT_EQ(weft({"show", "-"}, "").code, 2);
}

TEST_F(CliTest, UnknownChecklistItemsAreErrors) {
  const std::string text = contents(cluster_) + "\nchecklist:\n  design.nothing-of-the-kind: done\n";
  const Outcome outcome = weft({"checklist", file("items.yaml", text)});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("error: unknown checklist item `design.nothing-of-the-kind`"));
}

// ---- where the result goes ----

TEST_F(CliTest, FullDiskAndClosedStreams) {
  const Outcome full = shell("\"$weft\" show nodes \"$c\" >/dev/full");
  EXPECT_EQ(full.code, 5);
  EXPECT_EQ(full.err, "weft: standard output: cannot write: No space left on device\n");
  EXPECT_EQ(shell("\"$weft\" --help >/dev/full").code, 5);
  const Outcome closed = shell("\"$weft\" show \"$c\" >&-");
  EXPECT_EQ(closed.code, 5);
  EXPECT_THAT(closed.err, HasSubstr("standard output"));
  EXPECT_EQ(shell("\"$weft\" shwo 2>&-").code, 2);
  const Outcome piped = shell("\"$weft\" show ports \"$c\" | head -n 1; exit \"${PIPESTATUS[0]}\"");
  EXPECT_EQ(piped.code, 0);
  EXPECT_THAT(piped.err, IsEmpty());
}

TEST_F(CliTest, FileIsWrittenWholeOrNotAtAll) {
  const std::string target = (folder_ / "result.csv").string();
  const Outcome written = weft({"show", "cables", cluster_, "-o", "csv", "-f", target});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_THAT(written.out, IsEmpty());
  const std::string before = contents(target);
  EXPECT_TRUE(before == weft({"show", "cables", cluster_, "-o", "csv"}).out);
  EXPECT_EQ(weft({"show", "cables", "nope.yaml", "-o", "csv", "-f", target}).code, 2);
  EXPECT_TRUE(contents(target) == before);

  EXPECT_EQ(weft({"design", "--gpus", "8", "-f", folder_.string()}).code, 2);
  const Outcome nowhere = weft({"design", "--gpus", "8", "-q", "-f", "no/such/folder/c.yaml"});
  EXPECT_EQ(nowhere.code, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("no/such/folder/c.yaml"));
  EXPECT_EQ(weft({"version", "-f", "x"}).code, 2);
  EXPECT_EQ(weft({"man", "-f", "-"}).out, weft({"man"}).out);
}

TEST_F(CliTest, QuietAndVerbose) {
  EXPECT_THAT(weft({"design", "--gpus", "64"}).err, HasSubstr("weft: "));
  EXPECT_THAT(weft({"design", "--gpus", "64", "--quiet"}).err, IsEmpty());
  EXPECT_THAT(weft({"show", cluster_, "-v"}).err, ContainsRegex("[0-9]+ devices, [0-9]+ ports, [0-9]+ links"));
  EXPECT_THAT(weft({"show", cluster_, "-q", "-v"}).err, IsEmpty());
}

// ---- design ----

TEST_F(CliTest, OutputOfDesignCompiles) {
  const std::vector<Words> requests = {
      {"--gpus", "256"},
      {"--gpus", "1"},
      {"--servers", "32", "--network", "infiniband", "--name", "ib32"},
      {"--power", "1MW", "--oversubscription", "2:1"},
      {"--gpus", "512", "--inference", "50%", "--data", "best"},
      {"--gpus", "64", "--profile", "split", "--data", "good"},
      {"--gpus", "128", "--gpu", "b300-sxm", "--planes", "2"},
  };
  for (const Words& request : requests) {
    Words words = {"design"};
    words.insert(words.end(), request.begin(), request.end());
    const Outcome made = weft(words);
    const std::string line = testing::PrintToString(request);
    ASSERT_EQ(made.code, 0) << line << made.err;
    EXPECT_EQ(made.out, weft(words).out) << line;
    const Outcome shown = weft({"show", "-", "-o", "json"}, made.out);
    EXPECT_EQ(shown.code, 0) << line << shown.err;
    EXPECT_THAT(shown.err, Not(HasSubstr("error"))) << line;
  }
}

TEST_F(CliTest, DesignReportsUnknownArguments) {
  for (const Words& options : std::vector<Words>{{"--gpu", "h100-smx"}, {"--server", "nope"}, {"--leaf", "nope"}}) {
    const Outcome outcome = weft({"design", "--gpus", "8", options[0], options[1]});
    EXPECT_EQ(outcome.code, 2) << options[1];
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, HasSubstr(options[1]));
  }
}

// ---- views ----

TEST_F(CliTest, EveryViewInEveryFormat) {
  ASSERT_GE(view_names(false).size(), 8U);
  for (const std::string& view : view_names(false)) {
    const Outcome outcome = weft({"show", view, cluster_, "-o", "json"});
    ASSERT_EQ(outcome.code, 0) << view << outcome.err;
    const Json document = Json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(document.is_object()) << view;

    const Outcome yaml = weft({"show", view, cluster_, "-o", "yaml"});
    Sources sources;
    Diagnostics diagnostics;
    const auto root = parse_yaml(sources, sources.add(view, yaml.out), diagnostics);
    ASSERT_TRUE(root.has_value()) << render_all(diagnostics, sources, false);
    EXPECT_EQ(root->entries.size(), document.size()) << view;

    const Words rows = lines_of(weft({"show", view, cluster_, "-o", "ndjson"}).out);
    for (const std::string& row : rows) EXPECT_TRUE(Json::accept(row)) << view << row;

    for (const char* format : {"table", "wide"}) {
      const Outcome text = weft({"show", view, cluster_, "-o", format});
      EXPECT_EQ(text.code, 0);
      EXPECT_THAT(text.out, Not(IsEmpty())) << view;
      EXPECT_THAT(text.out, Not(HasSubstr(" \n"))) << view;
    }
    if (view == "effective") continue;  // a nested file, not tables

    EXPECT_EQ(document["schema_version"], 1) << view;
    EXPECT_TRUE(document["kind"].is_string()) << view;
    EXPECT_EQ(rows.size(), rows_of(document)) << view;
    const std::vector<Words> csv = parse_csv(weft({"show", view, cluster_, "-o", "csv"}).out);
    ASSERT_EQ(csv.size(), rows_of(document) + 1) << view;
    for (const Words& row : csv) EXPECT_EQ(row.size(), csv.front().size()) << view;
  }
}

TEST_F(CliTest, PicturesAreSvg) {
  ASSERT_GE(view_names(true).size(), 2U);
  for (const std::string& view : view_names(true)) {
    const std::string target = (folder_ / "picture.svg").string();
    const Outcome outcome = weft({"show", view, cluster_, "-f", target});
    EXPECT_EQ(outcome.code, 0) << view << outcome.err;
    const std::string picture = contents(target);
    EXPECT_THAT(picture, HasSubstr("<svg ")) << view;
    EXPECT_THAT(picture, HasSubstr("</svg>")) << view;
    EXPECT_EQ(weft({"show", view, cluster_, "-o", "json"}).code, 2) << view;
  }
}

TEST_F(CliTest, FabricsSplitTheCables) {
  const std::unique_ptr<model::Loaded> loaded = model::load_cluster(cluster_, {});
  ASSERT_NE(loaded->cluster, nullptr);
  std::size_t total = 0;
  for (const char* fabric : {"backend", "storage", "frontend", "oob"}) {
    const Outcome outcome = weft({"show", "cables", cluster_, "--fabric", fabric, "-o", "json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    total += Json::parse(outcome.out).at("cables").size();
  }
  EXPECT_EQ(total, loaded->cluster->cables().size());
  EXPECT_EQ(Json::parse(weft({"show", "cables", cluster_, "-o", "json"}).out).at("cables").size(), total);
}

TEST_F(CliTest, SummaryIsTheDefaultView) {
  EXPECT_EQ(weft({"show", cluster_}).out, weft({"show", "summary", cluster_}).out);
  EXPECT_EQ(weft({"show", cluster_, "--effective"}).out, weft({"show", "effective", cluster_}).out);
}

TEST_F(CliTest, EffectiveFileIsEquivalent) {
  const Outcome effective = weft({"show", "effective", cluster_});
  ASSERT_EQ(effective.code, 0) << effective.err;
  const Outcome again = weft({"show", "cables", "-", "-o", "csv"}, effective.out);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(again.out == weft({"show", "cables", cluster_, "-o", "csv"}).out);
}

TEST_F(CliTest, PricesMakeATotal) {
  const std::string prices = source_dir() + "/examples/prices.yaml";
  const Outcome outcome = weft({"show", "bom", cluster_, "--prices", prices, "-o", "json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json document = Json::parse(outcome.out);
  std::int64_t sum = 0;
  for (const Json& line : document.at("lines")) {
    const auto total = line.at("count").get<std::int64_t>() * line.at("unit_price_cents").get<std::int64_t>();
    EXPECT_EQ(line.at("total_cents"), total) << line;
    sum += total;
    if (line.at("item") == "sn5600") {
      EXPECT_EQ(line.at("unit_price_cents"), 6'200'000);  // 62,000 USD in examples/prices.yaml
    }
  }
  EXPECT_GT(sum, 0);
  EXPECT_EQ(document.at("facts").at("total_cents"), sum);
  const Outcome broken = weft({"show", "bom", cluster_, "--prices", file("prices.yaml", "items: 3\n")});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr("prices.yaml:1:8: error: "));
}

TEST_F(CliTest, ChecklistExitCodeFollowsItsItems) {
  const Outcome outcome = weft({"checklist", cluster_, "-o", "json"});
  const Json items = Json::parse(outcome.out).at("items");
  ASSERT_GT(items.size(), 20U);
  const bool open =
      std::any_of(items.begin(), items.end(), [](const Json& item) { return item.at("state") == "not done"; });
  EXPECT_EQ(outcome.code, open ? 1 : 0) << outcome.err;
}

TEST_F(CliTest, ExamplesCompile) {
  const fs::path examples = fs::path(source_dir()) / "examples";
  int clusters = 0;
  for (const auto& entry : fs::directory_iterator(examples)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = contents(entry.path());
    if (entry.path().extension() != ".yaml" || ("\n" + text).find("\npools:") == std::string::npos) continue;
    const Outcome outcome = weft({"show", entry.path().string()});
    EXPECT_EQ(outcome.code, 0) << entry.path() << outcome.err;
    ++clusters;
  }
  EXPECT_GE(clusters, 4);
}

// ---- catalog ----

TEST_F(CliTest, EveryItemShowsItsFactsAndSources) {
  const Json list = Json::parse(weft({"catalog", "-o", "json"}).out);
  EXPECT_EQ(list["schema_version"], 1);
  std::size_t items = 0;
  for (const char* table : {"gpus", "nics", "servers", "switches", "transceivers", "cables", "pdus", "racks"}) {
    ASSERT_FALSE(list.at(table).empty()) << table;
    items += list.at(table).size();
    const std::string id = list.at(table).front().at("id");
    const Outcome shown = weft({"catalog", "show", id, "-o", "json"});
    ASSERT_EQ(shown.code, 0) << id << shown.err;
    const Json item = Json::parse(shown.out);
    std::set<std::string> known = {"default"};
    for (const Json& source : item.at("sources")) known.insert(source.at("source").get<std::string>());
    EXPECT_GT(known.size(), 1U) << id;
    for (const Json& fact : item.at("facts")) EXPECT_TRUE(known.contains(fact.at("source").get<std::string>())) << fact;
  }
  EXPECT_EQ(parse_csv(weft({"catalog", "list", "-o", "csv"}).out).size(), items + 1);
  const Outcome unknown = weft({"catalog", "show", "h100-smx"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err,
            "weft catalog show: the catalog has no item `h100-smx`\n  did you mean `h100-sxm`?\n  run `weft catalog "
            "list` for a list\n");
}

TEST_F(CliTest, OwnCatalogFilesAreChecked) {
  const std::string mine = file("mine.yaml",
                                "references:\n  here: {title: measured here, publisher: us}\n"
                                "racks:\n  - {id: rack-60u, name: Tall rack, vendor: us, source: here, height: 60, "
                                "width: 600mm, depth: 1200mm}\n");
  const Outcome checked = weft({"catalog", "check", mine});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.out, mine + ": ok\n");
  const Json racks = Json::parse(weft({"catalog", "list", "racks", "--catalog", mine, "-o", "json"}).out).at("racks");
  EXPECT_TRUE(std::any_of(racks.begin(), racks.end(), [](const Json& rack) { return rack.at("id") == "rack-60u"; }));

  const Outcome broken = weft({"catalog", "check", file("bad.yaml", "racks:\n  - {id: x, hieght: 3}\n")});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.out, IsEmpty());
  EXPECT_THAT(broken.err, HasSubstr("bad.yaml:2:"));
  EXPECT_THAT(broken.err, HasSubstr("did you mean `height`?"));
}

}  // namespace
}  // namespace weft
