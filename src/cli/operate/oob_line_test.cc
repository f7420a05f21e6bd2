// Command lines of `weft oob` as requests: the inverse of what the server writes from a request.
#include "cli/operate/oob_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/operate/oob_answer.h"
#include "serve/oob/test_fleet.h"

namespace weft::cli {
namespace {

using serve::OobParameter;
using serve::OobPass;
using serve::OobValues;
using serve::OobVerb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kCluster = "the-cluster.yaml";

std::string sample_of(const OobParameter& parameter) {
  if (parameter.field.name == "runbook") return "pfc-storm";
  if (parameter.pass == OobPass::inverted_flag) return "false";
  if (parameter.pass == OobPass::repeated) return "one,two";
  if (parameter.pass == OobPass::lines) return "tor=a\nspine=b c";
  if (!parameter.field.choices.empty()) return std::string(parameter.field.choices.back());
  switch (parameter.field.type) {
    case serve::FieldType::integer:
      return "7";
    case serve::FieldType::boolean:
      return "true";
    case serve::FieldType::duration:
      return "5m";
    case serve::FieldType::hosts:
      return "train[001-004]";
    case serve::FieldType::text:
    case serve::FieldType::content:
      break;
  }
  return "-x =1";
}

OobValues samples_of(const OobVerb& verb, bool only_required) {
  OobValues values;
  for (const OobParameter& parameter : verb.parameters) {
    if (!only_required || parameter.field.required) values[std::string(parameter.field.name)] = sample_of(parameter);
  }
  return values;
}

Result<OobVerbCall> parse(const std::vector<std::string>& words) {
  const ParsedLine line = parse_line(words);
  if (!line.problem.empty()) return Error{ErrorCode::invalid_input, line.problem, "parser"};
  Io io;
  const Context context(io, *line.command, line.arguments);
  return find_oob_verb_call(read_oob_line(context));
}

// What a user would type for the command line of the server.
std::vector<std::string> words_on_server(std::vector<std::string> words) {
  words.erase(words.begin());
  std::erase(words, kCluster);
  const auto end = std::find(words.begin(), words.end(), "--");
  words.insert(end, "--server=https://weft.example.org");
  return words;
}

TEST(OobLineTest, IsTheInverseOfTheServersCommandLine) {
  serve::OobConfig config;
  config.cluster_file = kCluster;
  for (const OobVerb& verb : serve::oob_verbs()) {
    // One device is a list with one name, too.
    if (verb.pattern.find("{device}") != std::string_view::npos) continue;
    for (const bool only_required : {false, true}) {
      const auto call = check_oob_call(verb, samples_of(verb, only_required), serve::test_inventory());
      ASSERT_TRUE(call.ok()) << verb.id << call.error().text();
      const auto words = words_on_server(oob_command_line(config, *call, serve::OobMode::execute, "XID 79"));
      const Result<OobVerbCall> found = parse(words);
      ASSERT_TRUE(found.ok()) << verb.id << ": " << found.error().text();
      // Without a change, `weft oob settings` reads.
      const bool reads = verb.id == "oob.settings-change" && only_required;
      EXPECT_EQ(found->verb->id, reads ? "oob.settings" : verb.id);
      EXPECT_EQ(found->values, call->values) << verb.id;
    }
  }
}

TEST(OobLineTest, BodiesHaveTheTypesOfTheTable) {
  const Result<OobVerbCall> call = parse({"oob", "power", "on", "train001", "--no-stagger", "--starts", "4", "--hold",
                                          "5s", "--force", "--socket", "/s", "--reason", "x"});
  ASSERT_TRUE(call.ok()) << call.error().text();
  EXPECT_EQ(call->path(), "/oob/power");
  EXPECT_EQ(write_json_line(call->body()),
            R"({"action": "on", "devices": "train001", "hold": "5s", "force": true, "stagger": false, "starts": 4})");
  const Result<OobVerbCall> runbook = parse({"rescue", "show", "cold-start", "--context", "a"});
  ASSERT_TRUE(runbook.ok()) << runbook.error().text();
  EXPECT_EQ(runbook->path(), "/oob/runbooks/cold-start");
  EXPECT_EQ(write_json_line(runbook->body()), "{}");
}

TEST(OobLineTest, WhatTheServerHasIsAUsageError) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"oob", "status", "--credentials", "file:x"}, "--credentials cannot be combined with --server"},
      {{"oob", "status", "c.yaml", "train001"}, "unexpected argument"},
      {{"oob", "power", "off"}, "missing HOSTS"},
      {{"oob", "power", "of", "train001"}, "`of` is not one of on, off, soft, cycle, reset"},
      {{"oob", "users", "train001", "--disable", "a", "--limit", "many"}, "--limit: `many` is not a number"},
      {{"oob", "settings", "--ipmi", "off"}, "missing HOSTS"},
      {{"oob", "console", "train001", "--for", "1m"}, "with --server, --log-only is needed"},
      {{"oob", "events", "train001", "--clear", "--since", "1h"}, "cannot be combined with the other options"},
      {{"rescue", "show", "./mine.yaml"}, "is a file of this machine"}};
  for (const auto& [words, message] : cases) {
    std::vector<std::string> line = words;
    line.insert(line.end(), {"--server", "https://h"});
    const Result<OobVerbCall> call = parse(line);
    ASSERT_FALSE(call.ok()) << message;
    EXPECT_THAT(call.error().text(), HasSubstr(message));
  }
}

TEST(OobLineTest, ClusterIsLeftOutOnlyWithAServer) {
  EXPECT_EQ(parse_line({"oob", "status"}).problem, "missing CLUSTER");
  EXPECT_EQ(parse_line({"oob", "status", "--socket", "/s"}).problem, "");
  EXPECT_EQ(parse_line({"oob", "status", "c.yaml", "train001"}).problem, "");
  EXPECT_EQ(parse_line({"oob", "status", "c.yaml", "train001", "--context", "a"}).problem,
            "unexpected argument `train001`");
}

TEST(OobAnswerTest, DocumentsKeepTheirRows) {
  const Value json = Value::map()
                         .set("schema_version", 1)
                         .set("kind", "restore")
                         .set("restore", Value::list({Value::map().set("host", "a").set("lines_added", 3),
                                                      Value::map().set("host", "b").set("diff", "-x\n+y\n")}))
                         .set("verdict", Value::map().set("not_done", 0))
                         .set("notes", Value::list({"a note"}));
  std::vector<std::string> texts;
  const std::string shown = write(document_of_json(json, &texts), {});
  EXPECT_EQ(
      shown,
      "Restore\nHost  Lines added  Diff\na               3     -\nb               -     -\n\nVerdict\nNot done:  0\n"
      "\na note\n");
  EXPECT_THAT(texts, ElementsAre("-x\n+y\n"));
  EXPECT_EQ(write(document_of_json(json), {.format = OutputFormat::csv}),
            "section,host,lines_added,diff,key,value\r\nrestore,a,3,,,\r\nrestore,b,,\"-x\n+y\n\",,\r\n"
            "verdict,,,,not_done,0\r\n");
}

TEST(OobAnswerTest, OnlyNewLinesOfProgressAreShown) {
  EXPECT_THAT(new_lines({}, {"a", "b"}), ElementsAre("a", "b"));
  EXPECT_THAT(new_lines({"a", "b"}, {"a", "b", "c"}), ElementsAre("c"));
  EXPECT_THAT(new_lines({"a", "b", "c"}, {"b", "c", "d"}), ElementsAre("d"));
  EXPECT_THAT(new_lines({"a", "b"}, {"a", "b"}), IsEmpty());
  EXPECT_THAT(new_lines({"a"}, {"x", "y"}), ElementsAre("x", "y"));
}

}  // namespace
}  // namespace weft::cli
