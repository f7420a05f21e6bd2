#include "control/record.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "base/enum_names.h"
#include "base/text.h"
#include "control/fields.h"

namespace weft::control {
namespace {

constexpr std::array<std::string_view, kRecordKinds> kNames = {
    "job_submitted",      "job_held",         "job_released",
    "job_cancel",         "job_ended",        "attempt_placed",
    "attempt_unplaced",   "checkpoint_asked", "checkpoint_chosen",
    "attempt_starting",   "part_running",     "part_sealed",
    "attempt_checkpoint", "attempt_stopping", "attempt_ended",
    "checkpoint_written", "orphan_stopped",   "outcome",
    "node_boot",          "node_health",      "node_drain",
    "node_resume",        "node_off",         "cordon_seen",
    "cordon_removed",     "session_opened",   "session_step",
    "session_closed",     "breaker",          "lease",
    "tenant_use",         "format",           "drill_begun",
    "drill_ended",        "reservation_made", "reservation_ended",
    "stage_proposed",     "proposal_ended",   "lease_granted",
    "lease_step",         "lease_move",       "lease_order",
    "lease_policy"};

template <class Integer>
bool read_integer(std::string_view text, Integer& value, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && stop == end && !text.empty();
}

// "3:ff,4:0f" with GPUs in hexadecimal; MIG slices follow as "3:1/0f0000..." (two digits per GPU).
void append_slot(std::string& out, const sched::Slot& slot) {
  append_format(out, "{}:{:x}", sched::index_of(slot.node), slot.gpus);
  static constexpr std::array<std::uint8_t, sched::kMaxGpus> kNone{};
  if (slot.mig == kNone) return;
  out += '/';
  for (const std::uint8_t slices : slot.mig) append_format(out, "{:02x}", slices);
}

bool read_slot(std::string_view text, sched::Slot& slot) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  std::uint32_t node = 0;
  if (!read_integer(text.substr(0, colon), node)) return false;
  slot.node = static_cast<sched::NodeId>(node);
  std::string_view rest = text.substr(colon + 1);
  const std::size_t slash = rest.find('/');
  if (!read_integer(rest.substr(0, slash), slot.gpus, 16)) return false;
  if (slash == std::string_view::npos) return true;
  rest = rest.substr(slash + 1);
  if (rest.size() != 2 * slot.mig.size()) return false;
  for (std::size_t g = 0; g < slot.mig.size(); ++g) {
    if (!read_integer(rest.substr(2 * g, 2), slot.mig[g], 16)) return false;
  }
  return true;
}

bool read_slots(std::string_view text, std::vector<sched::Slot>& slots) {
  for (const std::string_view part : split(text, ',')) {
    if (!read_slot(part, slots.emplace_back())) return false;
  }
  return true;
}

bool read_boots(std::string_view text, std::vector<BootId>& boots) {
  for (const std::string_view part : split(text, ',')) {
    if (!read_integer(part, boots.emplace_back(), 16)) return false;
  }
  return true;
}

bool read_moment(const FieldReader& reader, sched::Moment& moment) {
  std::int64_t count = 0;
  if (!reader.number(count)) return false;
  moment = sched::Moment(count);
  return true;
}

bool read_text(const FieldReader& reader, std::string& text) {
  text = reader.text();
  return true;
}

bool read_field(const FieldReader& reader, Record& record) {
  const std::string_view key = reader.key();
  if (key.size() != 1) return false;
  switch (key[0]) {
    case 't':
      return read_moment(reader, record.at);
    case 'j':
      return reader.unsigned_number(record.job);
    case 'a':
      return reader.number(record.attempt);
    case 'o':
      return reader.unsigned_number(record.operation);
    case 's':
      return reader.unsigned_number(record.session);
    case 'n': {
      std::uint32_t node = 0;
      if (!reader.number(node)) return false;
      record.node = static_cast<sched::NodeId>(node);
      return true;
    }
    case 'c':
      return reader.number(record.code);
    case 'v':
      return reader.number(record.value);
    case 'u':
      return read_moment(reader, record.until);
    case 'w':
      return read_text(reader, record.user);
    case 'k':
      return read_text(reader, record.key);
    case 'x':
      return read_text(reader, record.text);
    case 'm':
      return read_text(reader, record.note);
    case 'p':
      return read_slots(reader.raw(), record.slots);
    case 'b':
      return read_boots(reader.raw(), record.boots);
    default:
      return false;
  }
}

}  // namespace

Error newer_format(std::string_view what, std::int64_t format) {
  return {ErrorCode::invalid_input,
          fmt::format("the {} has format {}, written by a newer version of weft; this version reads formats up to {}. "
                      "Start the newer version instead",
                      what, format, kJournalFormat),
          {}};
}

std::string_view to_text(RecordKind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string to_text(const Record& record) {
  FieldWriter writer;
  writer.number("t", record.at.count());
  writer.number("j", static_cast<std::int64_t>(record.job));
  writer.number("a", record.attempt);
  writer.number("o", static_cast<std::int64_t>(record.operation));
  writer.number("s", static_cast<std::int64_t>(record.session));
  writer.number("n", sched::index_of(record.node));
  writer.number("c", record.code);
  writer.number("v", record.value);
  writer.number("u", record.until.count());
  writer.text("w", record.user);
  writer.text("k", record.key);
  writer.text("x", record.text);
  writer.text("m", record.note);
  std::string slots;
  for (const sched::Slot& slot : record.slots) {
    if (!slots.empty()) slots += ',';
    append_slot(slots, slot);
  }
  writer.text("p", slots);
  std::string boots;
  for (const BootId boot : record.boots) append_format(boots, "{}{:x}", boots.empty() ? "" : ",", boot);
  writer.text("b", boots);
  std::string line(to_text(record.kind));
  const std::string fields = writer.take();
  if (!fields.empty()) (line += '\t') += fields;
  return line;
}

Result<Record> parse_record(std::string_view line) {
  const std::size_t tab = line.find('\t');
  const std::optional<RecordKind> kind = find_enum<RecordKind>(kNames, line.substr(0, tab));
  if (!kind) {
    return Error{ErrorCode::invalid_input,
                 fmt::format("unknown record `{}`; written by a newer version of weft?",
                             line.substr(0, std::min<std::size_t>(tab, 60))),
                 {}};
  }
  Record record;
  record.kind = *kind;
  FieldReader reader(tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1));
  while (reader.next()) {
    if (!read_field(reader, record)) {
      return Error{ErrorCode::invalid_input,
                   fmt::format("{}: unknown field or invalid value: {}={}", to_text(*kind), reader.key(), reader.raw()),
                   {}};
    }
  }
  if (reader.malformed())
    return Error{ErrorCode::invalid_input, fmt::format("{}: malformed field", to_text(*kind)), {}};
  return record;
}

}  // namespace weft::control
