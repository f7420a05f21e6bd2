#include "serve/api/event_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"
#include "control/event.h"
#include "control/job_spec.h"
#include "control/lease_phase.h"
#include "control/stages.h"
#include "control/transitions.h"
#include "serve/api/views.h"

namespace weft::serve {

using control::Record;
using control::RecordKind;

namespace {

std::string node_name(const Record& record, const sched::Machine& machine) { return machine.node(record.node).name; }

bool names_node(RecordKind kind) {
  switch (kind) {
    case RecordKind::part_running:
    case RecordKind::part_sealed:
    case RecordKind::orphan_stopped:
    case RecordKind::node_boot:
    case RecordKind::node_health:
    case RecordKind::node_drain:
    case RecordKind::node_resume:
    case RecordKind::node_off:
    case RecordKind::cordon_seen:
    case RecordKind::cordon_removed:
    case RecordKind::session_opened:
    case RecordKind::session_step:
    case RecordKind::session_closed:
    case RecordKind::stage_proposed:
    case RecordKind::proposal_ended:
    case RecordKind::lease_granted:
    case RecordKind::lease_step:
    case RecordKind::lease_move:
    case RecordKind::lease_order:
    case RecordKind::lease_policy:
      return true;
    default:
      return false;
  }
}

// The name of `code`, which depends on the kind; "": it has none.
std::string_view code_name(const Record& record) {
  switch (record.kind) {
    case RecordKind::job_ended:
      return to_text(static_cast<control::JobState>(record.code));
    case RecordKind::part_sealed:
      return to_text(static_cast<control::PartEnd>(record.code));
    case RecordKind::attempt_stopping:
      return to_text(static_cast<control::StopCause>(record.code));
    case RecordKind::attempt_ended:
      return to_text(static_cast<control::AttemptEnd>(record.code));
    case RecordKind::outcome:
      return to_text(static_cast<control::OperationEnd>(record.code));
    case RecordKind::node_health:
      return to_text(static_cast<control::Health>(record.code));
    case RecordKind::session_step:
      return to_text(static_cast<control::SessionStep>(record.code));
    case RecordKind::session_closed:
      return to_text(static_cast<control::SessionEnd>(record.code));
    case RecordKind::lease_step:
      return to_text(static_cast<control::LeasePhase>(record.code));
    case RecordKind::lease_granted:
    case RecordKind::lease_move:
    case RecordKind::lease_order:
    case RecordKind::lease_policy:
      return lease::to_text(static_cast<control::LeaseOwner>(record.code));
    case RecordKind::drill_ended:
      return to_text(static_cast<control::DrillResult>(record.code));
    case RecordKind::cordon_seen:
      return record.code != 0 ? "cordoned" : "uncordoned";
    case RecordKind::stage_proposed:
    case RecordKind::proposal_ended:
      return to_text(static_cast<control::Stage>(std::min<std::uint8_t>(record.code, control::kStages - 1)));
    case RecordKind::breaker:
      return record.code != 0 ? "tripped" : "reset";
    default:
      return "";
  }
}

std::string placed_on(const Record& record, const sched::Machine& machine) {
  std::vector<std::string> names;
  for (const sched::Slot& slot : record.slots) {
    const std::string& name = machine.node(slot.node).name;
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return fold_hosts(std::move(names));
}

std::string with_text(std::string sentence, const std::string& text) {
  if (!text.empty()) sentence += ": " + text;
  return sentence;
}

std::string by_user(const Record& record) { return record.user.empty() ? std::string() : " by " + record.user; }

std::string job_sentence(const Record& record, const sched::Machine& machine) {
  const std::string_view code = code_name(record);
  switch (record.kind) {
    case RecordKind::job_submitted: {
      const Result<control::JobSpec> spec = control::parse_job_spec(record.text);
      return fmt::format("submitted by {}{}", record.user, spec.ok() ? " as " + spec->shape.name : "");
    }
    case RecordKind::job_held:
      return with_text("held", record.text);
    case RecordKind::job_released:
      return fmt::format("released by {}", record.user);
    case RecordKind::job_cancel:
      return record.text.empty() ? "canceled" : record.text;
    case RecordKind::job_ended:
      return with_text(fmt::format("{}", code), record.text);
    case RecordKind::attempt_placed:
      return fmt::format("attempt {} placed on {}", record.attempt, placed_on(record, machine));
    case RecordKind::attempt_unplaced:
      return with_text(fmt::format("attempt {} withdrawn before its start", record.attempt), record.text);
    case RecordKind::checkpoint_asked:
      return fmt::format("attempt {} looks for the newest intact checkpoint", record.attempt);
    case RecordKind::checkpoint_chosen: {
      std::string sentence = record.text.empty() ? fmt::format("attempt {} starts without a checkpoint", record.attempt)
                                                 : fmt::format("attempt {} restores {} (step {})", record.attempt,
                                                               record.text, record.value);
      // Before the first attempt there are no directories yet.
      return record.key.empty() || record.attempt == 1 ? sentence : sentence + "; rejected: " + record.key;
    }
    case RecordKind::attempt_starting:
      return fmt::format("attempt {} starting", record.attempt);
    case RecordKind::part_running:
      return fmt::format("attempt {} runs on {}", record.attempt, node_name(record, machine));
    case RecordKind::part_sealed:
      return with_text(fmt::format("attempt {} {} on {}{}", record.attempt, code, node_name(record, machine),
                                   record.code == 0 ? fmt::format(" with status {}", record.value) : ""),
                       record.text);
    case RecordKind::attempt_checkpoint:
      return fmt::format("attempt {} asked for a checkpoint before its stop", record.attempt);
    case RecordKind::attempt_stopping:
      return with_text(fmt::format("attempt {} stopping ({})", record.attempt, code), record.text);
    case RecordKind::attempt_ended:
      return with_text(fmt::format("attempt {} ended ({})", record.attempt, code), record.text);
    case RecordKind::checkpoint_written:
      return fmt::format("attempt {} wrote {} (step {})", record.attempt, record.text, record.value);
    case RecordKind::drill_begun:
      return fmt::format("checkpoint drill by {}: attempt {} is to be restored on other nodes", record.user,
                         record.attempt);
    case RecordKind::drill_ended:
      return with_text(fmt::format("checkpoint drill {} with attempt {}", code, record.attempt), record.text);
    case RecordKind::orphan_stopped:
      return fmt::format("attempt {} had ended but ran on {}: stopping it", record.attempt, node_name(record, machine));
    default:
      return std::string(to_text(record.kind));
  }
}

std::string node_sentence(const Record& record) {
  const std::string_view code = code_name(record);
  switch (record.kind) {
    case RecordKind::node_boot:
      return "booted";
    case RecordKind::node_health:
      return with_text(std::string(code), record.text);
    case RecordKind::node_drain:
      return with_text("drained" + by_user(record), record.text);
    case RecordKind::node_resume:
      return with_text("resumed" + by_user(record), record.text);
    case RecordKind::node_off:
      return with_text("off, as verified" + (record.user.empty() ? " by a person" : by_user(record)), record.text);
    case RecordKind::cordon_seen:
      return with_text(std::string(code), record.text);
    case RecordKind::cordon_removed:
      return fmt::format("left-over cordon of repair session {} removed", record.session);
    case RecordKind::session_opened:
      return with_text(fmt::format("repair session {} opened", record.session), record.text);
    case RecordKind::session_step:
      return with_text(fmt::format("repair session {}: {}", record.session, code), record.text);
    case RecordKind::session_closed:
      return with_text(fmt::format("repair session {} closed ({})", record.session, code), record.text);
    case RecordKind::lease_granted:
      return with_text(fmt::format("leased to {} under epoch {}", code, record.value), record.text);
    case RecordKind::lease_step:
      return with_text(fmt::format("lease: {}", code), record.text);
    case RecordKind::lease_move:
      return with_text(fmt::format("moves to {}{}{}", code, record.value != 0 ? ", stopping its jobs" : "",
                                   record.user.empty() ? std::string() : ", by " + record.user),
                       record.text);
    case RecordKind::lease_order:
      return fmt::format("order to {} to {} up to epoch {}", code, record.text, record.value);
    case RecordKind::lease_policy:
      return fmt::format("scheduled for {}", code);
    default:
      return std::string(to_text(record.kind));
  }
}

std::string proposal_sentence(const Record& record, const sched::Machine& machine) {
  const auto stage = static_cast<control::Stage>(std::min<std::uint8_t>(record.code, control::kStages - 1));
  const std::string what = fmt::format("would {} {}", verb_of(stage), node_name(record, machine));
  return with_text(record.kind == RecordKind::stage_proposed ? what : "no longer " + what, record.text);
}

// What a follower who does not see everything gets of records that belong to no job.
enum class Openness : std::uint8_t {
  hidden,   // nothing
  reduced,  // without the texts
  tenant    // if it sees the tenant
};

Openness openness_of(RecordKind kind) {
  switch (kind) {
    case RecordKind::node_boot:
    case RecordKind::node_health:
    case RecordKind::node_drain:
    case RecordKind::node_resume:
    case RecordKind::node_off:
    case RecordKind::cordon_seen:
    case RecordKind::cordon_removed:
    case RecordKind::session_opened:
    case RecordKind::session_step:
    case RecordKind::session_closed:
    case RecordKind::breaker:
    case RecordKind::format:
    case RecordKind::reservation_made:
    case RecordKind::reservation_ended:
    case RecordKind::lease_granted:
    case RecordKind::lease_step:
    case RecordKind::lease_move:
    case RecordKind::lease_policy:
      return Openness::reduced;
    case RecordKind::tenant_use:
      return Openness::tenant;
    default:  // kinds of jobs, outcomes of operations (of whose job is not known), advice to operators, and new kinds
      return Openness::hidden;
  }
}

}  // namespace

bool may_see_event(const Record& record, const control::ControlState& state, const access::Access& access) {
  if (access.sees_everything()) return true;
  if (record.job != 0) return find_visible(state, access, record.job).exists();
  switch (openness_of(record.kind)) {
    case Openness::hidden:
      return false;
    case Openness::reduced:
      return access.has_any_role();
    case Openness::tenant:
      break;
  }
  return access.sees_tenant(record.user);
}

Record reduce_record(Record record, const access::Access& access) {
  if (access.sees_everything() || record.job != 0 || record.kind == RecordKind::tenant_use) return record;
  const bool is_reservation =
      record.kind == RecordKind::reservation_made || record.kind == RecordKind::reservation_ended;
  record.user.clear();
  record.text.clear();
  record.note.clear();
  if (!is_reservation) record.key.clear();  // of a reservation: its name
  return record;
}

std::string event_sentence(const Record& record, const sched::Machine& machine) {
  if (record.job != 0) return fmt::format("job {}: {}", record.job, job_sentence(record, machine));
  if (record.kind == RecordKind::stage_proposed || record.kind == RecordKind::proposal_ended)
    return proposal_sentence(record, machine);
  if (names_node(record.kind)) return fmt::format("node {}: {}", node_name(record, machine), node_sentence(record));
  if (record.kind == RecordKind::breaker)
    return with_text(fmt::format("automatic repair {}", code_name(record)), record.text);
  if (record.kind == RecordKind::reservation_made) {
    return with_text(
        fmt::format("maintenance {} of {} from {} to {}", record.key, placed_on(record, machine),
                    format_utc_seconds(record.value / 1'000'000), format_utc_seconds(record.until.count() / 1'000'000)),
        record.text);
  }
  if (record.kind == RecordKind::reservation_ended) {
    return with_text(fmt::format("maintenance {} is {}", record.key,
                                 record.user.empty() ? std::string("over") : "removed by " + record.user),
                     record.text);
  }
  if (record.kind == RecordKind::outcome) return fmt::format("operation {} {}", record.operation, code_name(record));
  return replace_all(std::string(to_text(record.kind)), "_", " ");
}

Value event_value(const Record& record, std::uint64_t sequence, const sched::Machine& machine) {
  Value value = Value::map();
  value.set("sequence", sequence);
  value.set("time", format_utc(record.at.count() / 1'000'000));
  value.set("kind", to_text(record.kind));
  if (record.job != 0) value.set("job", record.job);
  if (record.attempt != 0) value.set("attempt", record.attempt);
  if (names_node(record.kind)) value.set("node", node_name(record, machine));
  if (record.session != 0) value.set("session", record.session);
  if (const std::string_view code = code_name(record); !code.empty()) value.set("code", code);
  if (!record.user.empty()) value.set("user", record.user);
  value.set("text", event_sentence(record, machine));
  return value;
}

}  // namespace weft::serve
