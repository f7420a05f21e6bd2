#include "bmcsim/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::bmcsim {
namespace {

using ::testing::HasSubstr;

TEST(SimFault, ReadsTheCommandLine) {
  const Result<std::vector<NamedFault>> two = parse_fault("train[001-002]=silent_accept:3");
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2U);
  EXPECT_EQ((*two)[1].device, "train002");
  EXPECT_EQ((*two)[1].kind, FaultKind::silent_accept);
  EXPECT_EQ((*two)[1].argument, 3);
  EXPECT_EQ(parse_fault("a=slow").value()[0].argument, 5'000'000'000);
  EXPECT_EQ(parse_fault("a=slow:20ms").value()[0].argument, 20'000'000);
  EXPECT_EQ(parse_fault("a=dead:mute").value()[0].argument, kDeadMute);
  for (const auto& [text, gpu, code] : {std::tuple("a=xid", 1U, 79U), {"a=xid:8", 8U, 79U}, {"a=xid:3:48", 3U, 48U}}) {
    const XidFault xid = xid_fault(parse_fault(text).value()[0].argument);
    EXPECT_EQ(xid.gpu, gpu) << text;
    EXPECT_EQ(xid.code, code) << text;
  }
}

TEST(SimFault, RejectsInvalidFaults) {
  for (const char* text : {"a", "a=", "a=nonsense", "a=slow:fast", "a=wrong_reset:1", "a=dead:slowly", "a=busy:-1",
                           "a[3-1]=slow", "a=dead:", "a=xid:", "a=xid:0", "a=xid:256", "a=xid:1:", "a=xid:1:0",
                           "a=xid:1:1000", "a=xid:1:79:2", "a=events_lost:x", "a=no_events:1"}) {
    EXPECT_FALSE(parse_fault(text).ok()) << text;
  }
  EXPECT_THAT(parse_fault("a=nonsense").error().message, HasSubstr("silent_accept"));
  EXPECT_THAT(parse_fault("a=silent_acept").error().message, HasSubstr("did you mean `silent_accept`"));
}

TEST(SimFault, ExplainsItsValues) {
  EXPECT_EQ(fault_heading(rule_of(FaultKind::dead)), "dead[:HOW]");
  EXPECT_EQ(fault_heading(rule_of(FaultKind::xid)), "xid[:GPU[:CODE]]");
  EXPECT_EQ(fault_heading(rule_of(FaultKind::no_events)), "no_events");
  for (const FaultRule& rule : fault_rules()) {
    const std::string text = fault_text(rule);
    EXPECT_FALSE(rule.meaning.empty()) << rule.name;
    EXPECT_EQ(text.find("[default: ") != std::string::npos, rule.argument != FaultArgument::none) << text;
    for (const FaultWord& each : rule.words) EXPECT_THAT(text, HasSubstr(std::string(each.word)));
  }
  EXPECT_THAT(fault_text(rule_of(FaultKind::slow)), HasSubstr("[default: 5s]"));
  EXPECT_THAT(fault_text(rule_of(FaultKind::xid)), HasSubstr("[default: 1:79]"));
}

std::string problems_of(const std::string& text) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("f.yaml", text);
  EXPECT_FALSE(read_faults(sources, file, diagnostics).has_value());
  return render_all(diagnostics, sources, false);
}

TEST(SimFault, ReadsAFile) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file = sources.add("f.yaml",
                                  "weft_faults: 1\nfaults:\n  train[001-003]: {kind: silent_accept, after: 2}\n"
                                  "  login1: [{kind: slow, time: 1s}, {kind: malformed, where: all}]\n");
  const std::optional<std::vector<NamedFault>> faults = read_faults(sources, file, diagnostics);
  ASSERT_TRUE(faults.has_value()) << render_all(diagnostics, sources, false);
  ASSERT_EQ(faults->size(), 5U);
  EXPECT_EQ((*faults)[2].argument, 2);
  EXPECT_EQ((*faults)[4].kind, FaultKind::malformed);
  EXPECT_EQ((*faults)[4].argument, 1);
}

TEST(SimFault, ReadsAnXidFromAFile) {
  Sources sources;
  Diagnostics diagnostics;
  const FileId file =
      sources.add("f.yaml", "weft_faults: 1\nfaults:\n  a: {kind: xid, code: 48}\n  b: {kind: xid, gpu: 3}\n");
  const std::optional<std::vector<NamedFault>> faults = read_faults(sources, file, diagnostics);
  ASSERT_TRUE(faults.has_value()) << render_all(diagnostics, sources, false);
  EXPECT_EQ((*faults)[0].argument, to_argument({.gpu = 1, .code = 48}));
  EXPECT_EQ((*faults)[1].argument, to_argument({.gpu = 3, .code = 79}));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaults:\n  a: {kind: xid, code: 0}\n"), HasSubstr("from 1 to 999"));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaults:\n  a: {kind: xid, how: x}\n"), HasSubstr("`gpu` and `code`"));
}

TEST(SimFault, NamesTheLocationOfAProblem) {
  EXPECT_THAT(problems_of("faults: {}\n"), HasSubstr("weft_faults: 1"));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaults:\n  a: {kind: slwo}\n"), HasSubstr("f.yaml:3:13"));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaults:\n  a: {kind: slwo}\n"), HasSubstr("did you mean `slow`"));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaults:\n  a: {kind: slow, after: 2}\n"), HasSubstr("it takes `time`"));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaults:\n  a: {kind: slow, time: soon}\n"), HasSubstr("3:25"));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaults:\n  a: slow\n"), HasSubstr("kind"));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaulst: {}\n"), HasSubstr("did you mean `faults`"));
  EXPECT_THAT(problems_of("weft_faults: 1\nfaults: [1]\n"), HasSubstr("mapping"));
}

TEST(SimFault, SetKeepsArguments) {
  FaultSet set;
  EXPECT_TRUE(set.empty());
  set.add(FaultKind::slow, 7);
  EXPECT_TRUE(set.has(FaultKind::slow));
  EXPECT_FALSE(set.has(FaultKind::dead));
  EXPECT_EQ(set.time(FaultKind::slow), Duration(7));
  for (const FaultRule& rule : fault_rules())
    EXPECT_EQ(parse_fault("x=" + std::string(rule.name)).value()[0].kind, rule.kind);
}

}  // namespace
}  // namespace weft::bmcsim
