#include "serve/api/event_view.h"

#include <gtest/gtest.h>

#include "control/transitions.h"

namespace weft::serve {
namespace {

using control::Record;
using control::RecordKind;

sched::Machine machine() {
  sched::NodeShape a;
  a.name = "gpu-001";
  sched::NodeShape b = a;
  b.name = "gpu-002";
  return *sched::Machine::build({a, b}, {{}, {}}, {}, {"all"});
}

TEST(EventView, NamesInsteadOfNumbers) {
  Record record;
  record.kind = RecordKind::part_sealed;
  record.at = sched::Moment(1'760'000'000'567'000'000);
  record.job = 7;
  record.attempt = 2;
  record.node = sched::NodeId{1};
  record.code = static_cast<std::uint8_t>(control::PartEnd::exited);
  record.value = 137;
  record.text = "killed by signal 9";
  EXPECT_EQ(write_json_line(event_value(record, 12, machine())),
            R"({"sequence": 12, "time": "2025-10-09T08:53:20.567Z", "kind": "part_sealed", "job": 7, "attempt": 2, )"
            R"("node": "gpu-002", "code": "exited", )"
            R"("text": "job 7: attempt 2 exited on gpu-002 with status 137: killed by signal 9"})");
}

TEST(EventView, ARemovedReservationHasItsReason) {
  Record record;
  record.kind = RecordKind::reservation_ended;
  record.key = "dimm";
  EXPECT_EQ(event_sentence(record, machine()), "maintenance dimm is over");
  record.user = "bob";
  EXPECT_EQ(event_sentence(record, machine()), "maintenance dimm is removed by bob");
  record.text = "the DIMM is fine";
  EXPECT_EQ(event_sentence(record, machine()), "maintenance dimm is removed by bob: the DIMM is fine");
  EXPECT_EQ(event_sentence(reduce_record(record, access::Access("eve", {{access::Role::user, "team"}})), machine()),
            "maintenance dimm is over")
      << "who does not see everything";
}

// Records of every kind yield a sentence that is more than the kind's name.
TEST(EventView, EveryKindHasASentence) {
  for (std::uint8_t kind = 0; kind < control::kRecordKinds; ++kind) {
    Record record;
    record.kind = static_cast<RecordKind>(kind);
    const std::string_view name = to_text(record.kind);
    const bool of_job = name.starts_with("job_") || name.starts_with("attempt_") || name.starts_with("checkpoint_") ||
                        name.starts_with("part_") || name.starts_with("orphan_") || name.starts_with("drill_");
    if (of_job) record.job = 3;
    record.attempt = of_job ? 1 : 0;
    const std::string sentence = event_sentence(record, machine());
    EXPECT_FALSE(sentence.empty());
    EXPECT_EQ(sentence.find('_'), std::string::npos) << sentence;
  }
}

}  // namespace
}  // namespace weft::serve
