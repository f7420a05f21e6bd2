#include "oob/bmc/consolidate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oob/bmc/ask_all.h"
#include "oob/bmc/fake_bmc.h"

namespace weft::oob {
namespace {

using testing::ElementsAre;

std::vector<Target> machines(int count) {
  std::vector<Target> targets;
  targets.reserve(static_cast<std::size_t>(count));
  for (int i = 1; i <= count; ++i) targets.push_back(fake_target(fmt::format("train{:03}", i)));
  return targets;
}

std::vector<std::uint32_t> numbers(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

TEST(Consolidate, EqualTextsAreOneRowMostCommonFirst) {
  Consolidation folded;
  for (const std::uint32_t target : {4U, 2U, 0U, 2U}) folded.add("on", target);
  folded.add("off", 1);
  folded.add("n10", 3);
  folded.add("n2", 5);
  std::vector<std::string> keys;
  for (const FoldedRow& row : folded.rows()) keys.push_back(row.key);
  EXPECT_THAT(keys, ElementsAre("on", "n2", "n10", "off"));
  EXPECT_THAT(folded.rows().front().targets, ElementsAre(0, 2, 4));
}

TEST(Consolidate, DevicesAreFoldedIntoRanges) {
  const Inventory inventory(machines(128), {});
  EXPECT_EQ(inventory.fold(numbers(128)), "train[001-128]");
  EXPECT_EQ(inventory.fold(std::vector<std::uint32_t>{0, 1, 4}), "train[001-002,005]");
}

TEST(Consolidate, ALongListOfAllDevicesIsBriefInTables) {
  std::vector<Target> named;
  for (int i = 0; i < 30; ++i) named.push_back(fake_target(fmt::format("node{}", i * i)));
  const Inventory inventory(std::move(named), {});
  EXPECT_EQ(inventory.hosts_cell(numbers(30), 30).brief, "all 30");
  EXPECT_EQ(inventory.hosts_cell(numbers(29), 30).brief, "");
  EXPECT_EQ(inventory.hosts_cell(numbers(3), 3).brief, "") << "a short list is read at once";
}

TEST(Consolidate, UnreachedDevicesAreListedOncePerReason) {
  const Inventory inventory(machines(4), {});
  Document document;
  add_unreached(document, inventory, {});
  EXPECT_TRUE(document.sections.empty());
  const Error silent{ErrorCode::unavailable, "no answer", "x"};
  add_unreached(document, inventory,
                {{0, silent}, {1, silent}, {3, {ErrorCode::refused, "login\x1b[31m refused", {}}}});
  const std::string text = write(document, {});
  EXPECT_THAT(text, testing::HasSubstr("train[001-002]"));
  EXPECT_THAT(text, testing::HasSubstr("login?[31m refused"));  // a BMC cannot color the terminal
}

TEST(Consolidate, WhatABmcDoesNotHaveDoesNotMakeItUnreachable) {
  const Inventory inventory(machines(2), {});
  Document document;
  add_unreached(document, inventory, {{0, {ErrorCode::not_found, "has no log `XID`", {}}}});
  EXPECT_THAT(write(document, {}), testing::Not(testing::HasSubstr("Unreachable")));
  add_unreached(document, inventory, {{1, {ErrorCode::timeout, "timed out", {}}}});
  const std::string text = write(document, {});
  EXPECT_LT(text.find("Not available"), text.find("has no log"));
  EXPECT_LT(text.find("Unreachable"), text.find("timed out"));
}

TEST(Consolidate, LongBmcTextsAreTruncated) {
  EXPECT_EQ(told("fan 1"), "fan 1");
  EXPECT_LT(told(std::string(100'000, 'x')).size(), 300U);
  EXPECT_EQ(told("a\nb"), "a?b");
}

TEST(AskAll, KeepsTheOrderAndNamesDevicesThatDoNotAnswer) {
  ManualClock clock;
  MemoryJournal journal;
  FakeFleet fakes(clock, journal, machines(4));
  fakes.machine("train002").set_faults({.dead = true});
  fakes.machine("train003").before_call = [](const std::string& call) -> std::optional<Error> {
    if (call == "sensors") return Error{ErrorCode::invalid_input, "rubbish", "train003"};
    return std::nullopt;
  };
  std::vector<std::uint32_t> answered;
  const std::vector<Unreached> unreached = ask_all(
      fakes.fleet, numbers(4), [](OpenBmc& open, std::uint32_t) { return open.bmc->sensors(); },
      [&](std::uint32_t target, const std::vector<SensorReading>&) { answered.push_back(target); });
  EXPECT_THAT(answered, ElementsAre(0, 3));
  ASSERT_EQ(unreached.size(), 2U);
  EXPECT_EQ(unreached[0].target, 1U);
  EXPECT_EQ(unreached[1].error.message, "rubbish");
  for (const auto& [name, machine] : fakes.connector.machines) EXPECT_EQ(machine->sessions(), 0) << name;
}

TEST(AskAll, BusyBmcIsRetriedAFewTimes) {
  ManualClock clock;
  MemoryJournal journal;
  FakeFleet fakes(clock, journal, machines(2));
  fakes.machine("train001").set_faults({.busy_dials = 2});
  fakes.machine("train002").set_faults({.busy_dials = -1});
  int answered = 0;
  const std::vector<Unreached> unreached = ask_all(
      fakes.fleet, numbers(2), [](OpenBmc& open, std::uint32_t) { return open.bmc->users(); },
      [&](std::uint32_t, const std::vector<BmcUser>&) { ++answered; });
  EXPECT_EQ(answered, 1);
  ASSERT_EQ(unreached.size(), 1U);
  EXPECT_EQ(unreached[0].error.code, ErrorCode::conflict);
  EXPECT_EQ(clock.now(), milliseconds(3'000 + 6'000));  // 1 + 2, then 1 + 2 + 3 seconds
}

TEST(AskAllConcurrent, ManyDevicesAtOnce) {
  SystemClock clock;
  MemoryJournal journal;
  FakeFleet fakes(clock, journal, machines(200));
  fakes.fleet.width = 32;
  std::atomic<int> answered{0};
  const std::vector<Unreached> unreached = ask_all(
      fakes.fleet, numbers(200), [](OpenBmc& open, std::uint32_t) { return open.bmc->events(); },
      [&](std::uint32_t, const std::vector<LogEvent>&) { ++answered; });
  EXPECT_EQ(answered.load(), 200);
  EXPECT_TRUE(unreached.empty());
}

TEST(AskAll, StoppedCommandNamesDevicesNotQueried) {
  ManualClock clock;
  clock.stop();
  MemoryJournal journal;
  FakeFleet fakes(clock, journal, machines(3));
  const std::vector<Unreached> unreached = ask_all(
      fakes.fleet, numbers(3), [](OpenBmc& open, std::uint32_t) { return open.bmc->events(); },
      [](std::uint32_t, const std::vector<LogEvent>&) {});
  EXPECT_EQ(unreached.size(), 3U);
}

}  // namespace
}  // namespace weft::oob
