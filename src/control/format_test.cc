// Journals and snapshots of earlier formats are read; those of newer ones are refused.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/test_places.h"
#include "base/text.h"
#include "control/controller.h"

namespace weft::control {
namespace {

std::shared_ptr<const sched::Machine> machine_of(std::uint32_t count, std::int32_t gpus) {
  std::vector<sched::NodeShape> nodes;
  std::vector<sched::NodeLabels> labels;
  for (std::uint32_t n = 0; n < count; ++n) {
    sched::NodeShape shape;
    shape.name = "n" + std::to_string(n);
    shape.cpu = 64'000;
    shape.memory_mib = 1 << 20;
    shape.gpus = gpus;
    shape.model = 0;
    nodes.push_back(shape);
    labels.push_back({{}, "r" + std::to_string(n / 4), "l", "p"});
  }
  return std::make_shared<const sched::Machine>(*sched::Machine::build(nodes, labels, {"gpu"}, {"pool"}));
}

std::string read_testdata(const std::string& name) {
  const Result<std::string> read = read_file(source_dir() + "/tests/control_journals/" + name);
  EXPECT_TRUE(read.ok()) << name;
  return read.ok() ? *read : std::string();
}

ControlState replay(const std::shared_ptr<const sched::Machine>& machine, std::string_view journal) {
  ControlState state(machine);
  std::size_t number = 0;
  for (const std::string_view line : split_lines(journal)) {
    ++number;
    const Result<Record> record = parse_record(line);
    EXPECT_TRUE(record.ok()) << number << ": " << record.error().text();
    if (!record.ok()) break;
    const Status applied = state.apply(*record);
    EXPECT_TRUE(applied.ok()) << number << ": " << applied.error().text();
    if (!applied.ok()) break;
  }
  return state;
}

// Format 1 never closed some operations; see StateReader::is_awaited().
std::string without_operations(std::string_view text) {
  std::string out;
  for (const std::string_view line : split_lines(text)) {
    if (!line.starts_with("operation")) (out += line) += '\n';
  }
  return out;
}

struct Golden {
  const char* name;
  std::uint32_t nodes;
  std::int32_t gpus;
};
// Written by the version before format 2, in the simulation.
constexpr Golden kFormat1[] = {{"format1-seed3", 4, 2}, {"format1-seed51", 10, 1}};

TEST(JournalFormat, Format1YieldsTheSameState) {
  for (const Golden& golden : kFormat1) {
    SCOPED_TRACE(golden.name);
    const auto machine = machine_of(golden.nodes, golden.gpus);
    const std::string snapshot = read_testdata(std::string(golden.name) + ".snapshot");
    const ControlState replayed = replay(machine, read_testdata(std::string(golden.name) + ".journal"));
    EXPECT_EQ(without_operations(replayed.to_text()), without_operations(snapshot));
    const Result<ControlState> parsed = ControlState::parse(machine, snapshot);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    EXPECT_EQ(parsed->to_text(), replayed.to_text());
    EXPECT_EQ(parsed->format(), 1U);
  }
}

// Written by the version before format 3: two in the simulation, one from a script of requests and reports.
constexpr Golden kFormat2[] = {{"format2-seed1", 4, 8}, {"format2-seed5", 6, 2}, {"format2-scripted", 8, 8}};

TEST(JournalFormat, Format2YieldsTheSameState) {
  for (const Golden& golden : kFormat2) {
    SCOPED_TRACE(golden.name);
    const auto machine = machine_of(golden.nodes, golden.gpus);
    const std::string snapshot = read_testdata(std::string(golden.name) + ".snapshot");
    const ControlState replayed = replay(machine, read_testdata(std::string(golden.name) + ".journal"));
    EXPECT_EQ(replayed.to_text(), snapshot);
    const Result<ControlState> parsed = ControlState::parse(machine, snapshot);
    ASSERT_TRUE(parsed.ok()) << parsed.error().text();
    EXPECT_EQ(parsed->to_text(), snapshot);
    EXPECT_EQ(parsed->format(), 2U);
    Controller controller(replayed, ControllerOptions{});
    Step step;
    controller.begin(controller.state().now(), step);
    ASSERT_FALSE(step.records.empty());
    EXPECT_EQ(step.records.front().kind, RecordKind::format);
    EXPECT_EQ(controller.state().format(), kJournalFormat);
  }
}

TEST(JournalFormat, Format1IsUpgradedBeforeAnythingElse) {
  const auto machine = machine_of(kFormat1[1].nodes, kFormat1[1].gpus);
  Controller controller(replay(machine, read_testdata("format1-seed51.journal")), ControllerOptions{});
  Step step;
  controller.begin(controller.state().now(), step);
  ASSERT_EQ(controller.error(), "");
  ASSERT_FALSE(step.records.empty());
  EXPECT_EQ(step.records.front().kind, RecordKind::format);
  EXPECT_EQ(controller.state().format(), kJournalFormat);
  const std::string text = controller.state().to_text();
  const Result<ControlState> parsed = ControlState::parse(machine, text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(parsed->to_text(), text);
  Step again;
  controller.begin(controller.state().now(), again);
  EXPECT_TRUE(again.records.empty() || again.records.front().kind != RecordKind::format) << "once";
}

TEST(JournalFormat, NewerFormatsAreRefused) {
  const auto machine = machine_of(4, 8);
  ControlState state(machine);
  Record record;
  record.kind = RecordKind::format;
  record.value = kJournalFormat + 1;
  const Status applied = state.apply(record);
  ASSERT_FALSE(applied.ok());
  EXPECT_EQ(applied.error().text(),
            "the journal has format 5, written by a newer version of weft; this version reads formats up to 4. Start "
            "the newer version instead");
  const Result<ControlState> parsed = ControlState::parse(machine, "state\tformat=5\tunknown=1\nnonsense\n");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().text().find("the snapshot has format 5"), std::string::npos) << parsed.error().text();
  record.value = kJournalFormat;
  EXPECT_TRUE(state.apply(record).ok());
  EXPECT_FALSE(state.apply(record).ok()) << "formats increase";
}

}  // namespace
}  // namespace weft::control
