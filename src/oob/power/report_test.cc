#include "oob/power/report.h"

#include <gtest/gtest.h>

namespace weft::oob {
namespace {

Evidence seen(const char* text) { return {.kind = EvidenceKind::state_seen, .text = text}; }

TEST(PowerEvidence, EqualSequencesGiveEqualText) {
  const Evidence cycle{.kind = EvidenceKind::accepted, .text = "PowerCycle"};
  const std::string quick = evidence_summary({seen("on"), cycle, seen("off"), seen("on")});
  EXPECT_EQ(quick, "on seen, PowerCycle accepted, off seen, on seen");
  EXPECT_EQ(evidence_summary({seen("on"), cycle, seen("powering off"), seen("off"), seen("powering on"), seen("on")}),
            quick);
  EXPECT_EQ(evidence_summary({seen("on"), cycle, seen("off"), seen("off"), seen("on"), seen("on")}), quick);
}

TEST(PowerEvidence, FinalTransientStateIsShown) {
  EXPECT_EQ(evidence_summary({seen("off"), seen("powering on")}), "off seen, powering on seen");
  EXPECT_EQ(evidence_summary({seen("powering off")}), "powering off seen");
  EXPECT_EQ(evidence_summary({}), "");
}

}  // namespace
}  // namespace weft::oob
