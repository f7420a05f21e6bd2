#include "oob/rescue/record.h"

#include <algorithm>
#include <array>

namespace weft::oob {
namespace {

constexpr std::array<std::string_view, 7> kOutcomes = {"not reached", "done",        "skipped", "failed",
                                                       "backed out",  "back failed", "asked"};

std::string text_in(const Value& map, std::string_view key) {
  const Value* found = map.is_map() ? map.find(key) : nullptr;
  return found != nullptr && found->is_text() ? found->text() : std::string();
}

std::int64_t number_in(const Value& map, std::string_view key) {
  const Value* found = map.is_map() ? map.find(key) : nullptr;
  if (found == nullptr) return 0;
  if (const auto* number = std::get_if<std::int64_t>(&found->state())) return *number;
  if (const auto* real = std::get_if<double>(&found->state())) return static_cast<std::int64_t>(*real);
  return 0;
}

RescueOutcome outcome_named(const std::string& text) {
  const auto found = std::find(kOutcomes.begin(), kOutcomes.end(), text);
  return found == kOutcomes.end() ? RescueOutcome::failed : static_cast<RescueOutcome>(found - kOutcomes.begin());
}

void read_begin(const JournalEntry& entry, RescueRecord& record) {
  record.operation = entry.operation;
  record.runbook = text_in(entry.detail, "runbook");
  record.hash = text_in(entry.detail, "hash");
  record.digest = text_in(entry.detail, "plan");
  record.cluster = text_in(entry.detail, "cluster");
  record.reason = text_in(entry.detail, "reason");
  const Value* parameters = entry.detail.is_map() ? entry.detail.find("parameters") : nullptr;
  if (parameters == nullptr || !parameters->is_map()) return;
  for (const Value::Entry& one : parameters->entries()) {
    if (one.value.is_text()) record.parameters.emplace_back(one.key, one.value.text());
  }
}

void read_intent(const Value& detail, RescueStepRecord& step) {
  const std::string what = text_in(detail, "what");
  if (what == "back") {
    step.going_back = true;
    step.failure = text_in(detail, "failure");
  } else if (what == "host") {
    step.hosts_begun.insert(text_in(detail, "host"));
  } else {
    const std::set<std::string> hosts = step.hosts_done;
    step = {};
    step.hosts_done = hosts;  // a config that is in place stays so when the step is retried
    step.begun = true;
    step.operation = text_in(detail, "operation");
    if (const Value* rest = detail.find("hosts"); rest != nullptr && rest->is_list()) {
      for (const Value& host : rest->items()) {
        if (host.is_text()) step.hosts.push_back(host.text());
      }
    }
    step.begun_ms = number_in(detail, "at_ms");
  }
}

void read_seen(const Value& detail, RescueStepRecord& step) {
  const std::string what = text_in(detail, "what");
  if (what == "acted") {
    step.acted = true;
    step.acted_text = text_in(detail, "text");
    step.file = text_in(detail, "file");
  } else if (what == "host") {
    step.hosts_done.insert(text_in(detail, "host"));
  } else if (what == "back") {
    step.back_done.insert(static_cast<std::size_t>(number_in(detail, "part")));
  }
}

void read_outcome(const Value& detail, RescueStepRecord& step) {
  step.outcome = outcome_named(text_in(detail, "result"));
  step.why = text_in(detail, "why");
  step.begun = false;
  step.ended_ms = number_in(detail, "at_ms");
  step.took_ms = number_in(detail, "took_ms");
  if (const std::string file = text_in(detail, "file"); !file.empty()) step.file = file;
}

void read_step(const JournalEntry& entry, RescueRecord& record) {
  const std::string id = text_in(entry.detail, "step");
  if (id.empty()) return;
  RescueStepRecord& step = record.steps[id];
  if (entry.phase == Phase::intent) read_intent(entry.detail, step);
  if (entry.phase == Phase::seen) read_seen(entry.detail, step);
  if (entry.phase == Phase::outcome) read_outcome(entry.detail, step);
}

}  // namespace

std::string_view to_text(RescueOutcome outcome) { return kOutcomes[static_cast<std::size_t>(outcome)]; }

std::optional<RescueRecord> read_rescue(const std::vector<JournalEntry>& entries, const std::string& operation) {
  RescueRecord record;
  bool begun = false;
  for (const JournalEntry& entry : entries) {
    if (entry.operation != operation) continue;
    if (entry.verb == kRescueVerb && entry.phase == Phase::begin) {
      read_begin(entry, record);
      begun = true;
    } else if (entry.verb == kRescueVerb && entry.phase == Phase::end) {
      record.ended = true;
      record.result = text_in(entry.detail, "result");
    } else if (entry.verb == kRescueStepVerb) {
      read_step(entry, record);
    }
  }
  if (!begun) return std::nullopt;
  return record;
}

std::vector<RescueRecord> open_rescues(const std::vector<JournalEntry>& entries, const std::string& runbook) {
  std::vector<RescueRecord> open;
  for (const JournalEntry& entry : entries) {
    if (entry.verb != kRescueVerb || entry.phase != Phase::begin) continue;
    std::optional<RescueRecord> record = read_rescue(entries, entry.operation);
    if (!record || record->ended || (!runbook.empty() && record->runbook != runbook)) continue;
    open.push_back(std::move(*record));
  }
  return open;
}

}  // namespace weft::oob
