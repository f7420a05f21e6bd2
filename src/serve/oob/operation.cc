#include "serve/oob/operation.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/enum_names.h"
#include "base/file.h"
#include "base/human_format.h"
#include "oob/durable/file.h"
#include "oob/durable/private_folder.h"
#include "oob/journal/scan.h"
#include "oob/redfish/json.h"

namespace weft::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kStates = {"queued", "running", "done", "failed", "interrupted"};
constexpr std::string_view kRecord = ".json";
constexpr std::string_view kResult = ".result";
constexpr std::size_t kMaxRecord = 1U << 20U;
constexpr std::size_t kMaxResult = 64U << 20U;

bool is_id(std::string_view text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::int64_t whole(const Value& value, std::string_view name) {
  return static_cast<std::int64_t>(oob::number(value, {name}).value_or(0));
}

// Times as numbers, which the API does not show.
Value file_value(const OobOperation& operation) {
  Value value = operation_value(operation, true);
  value.set("since_ms", operation.since_ms).set("began_ms", operation.began_ms).set("ended_ms", operation.ended_ms);
  return value;
}

}  // namespace

std::string_view to_text(OobState state) { return kStates[static_cast<std::size_t>(state)]; }

Value operation_value(const OobOperation& operation, bool with_progress) {
  const auto time = [](std::int64_t ms) { return ms == 0 ? Value() : Value(format_utc(ms)); };
  Value value = Value::map()
                    .set("operation", operation.id)
                    .set("verb", operation.verb)
                    .set("hosts", operation.hosts)
                    .set("state", to_text(operation.state))
                    .set("who", operation.user)
                    .set("reason", operation.reason)
                    .set("request_id", operation.request_id)
                    .set("since", time(operation.since_ms))
                    .set("began", time(operation.began_ms))
                    .set("ended", time(operation.ended_ms))
                    .set("exit_code", operation.exit_code ? Value(*operation.exit_code) : Value())
                    .set("result", operation.result)
                    .set("detail", operation.detail);
  if (!with_progress) return value;
  Value::List lines;
  for (const std::string& line : operation.progress) lines.emplace_back(line);
  value.set("progress", Value(std::move(lines)));
  return value;
}

Result<OobOperation> read_operation(std::string_view text) {
  const Result<Value> value = oob::read_json_reply(text);
  if (!value.ok()) return value.error();
  OobOperation operation;
  operation.id = oob::raw_text(*value, {"operation"});
  const std::optional<OobState> state = find_enum<OobState>(kStates, oob::raw_text(*value, {"state"}));
  if (!is_id(operation.id) || !state) return Error{ErrorCode::invalid_input, "is not an operation", {}};
  operation.state = *state;
  operation.verb = oob::raw_text(*value, {"verb"});
  operation.hosts = oob::raw_text(*value, {"hosts"});
  operation.user = oob::raw_text(*value, {"who"});
  operation.reason = oob::raw_text(*value, {"reason"});
  operation.request_id = oob::raw_text(*value, {"request_id"});
  operation.result = oob::raw_text(*value, {"result"});
  operation.detail = oob::raw_text(*value, {"detail"});
  operation.since_ms = whole(*value, "since_ms");
  operation.began_ms = whole(*value, "began_ms");
  operation.ended_ms = whole(*value, "ended_ms");
  if (const auto code = oob::number(*value, {"exit_code"}); code && *code >= 0 && *code < 256)
    operation.exit_code = static_cast<int>(*code);
  for (const std::string& line : oob::texts(*value, {"progress"})) operation.progress.push_back(line);
  while (operation.progress.size() > kMaxOobProgress) operation.progress.pop_front();
  return operation;
}

std::string OobOperationStore::path(const std::string& id, std::string_view ending) const {
  CHECK(is_id(id), "operations are named by hexadecimal digits");
  return fmt::format("{}/{}{}", folder_, id, ending);
}

Result<std::vector<OobOperation>> OobOperationStore::open(std::vector<std::string>& problems) {
  if (Status made = oob::make_private_folder(folder_); !made.ok()) return made.error();
  std::vector<OobOperation> operations;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failed)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(kRecord) || !is_id(std::string_view(name).substr(0, name.size() - kRecord.size()))) continue;
    const Result<std::string> text = read_file(entry.path().string(), kMaxRecord);
    Result<OobOperation> operation = text.ok() ? read_operation(*text) : text.error();
    if (!operation.ok() || operation->id + std::string(kRecord) != name) {
      problems.push_back(fmt::format("{} was skipped: {}", entry.path().string(),
                                     operation.ok() ? "it is of another operation" : operation.error().message));
      continue;
    }
    operations.push_back(std::move(*operation));
  }
  if (failed) return Error{ErrorCode::unavailable, "cannot be read: " + failed.message(), folder_};
  std::sort(operations.begin(), operations.end(), [](const OobOperation& a, const OobOperation& b) {
    return a.since_ms != b.since_ms ? a.since_ms < b.since_ms : a.id < b.id;
  });
  for (OobOperation& operation : operations) {
    if (operation.has_ended()) continue;
    const bool began = operation.state == OobState::running;
    operation.state = began ? OobState::interrupted : OobState::failed;
    operation.result = began ? "interrupted" : "not_started";
    operation.detail = began ? "the server stopped while it ran; the journal says what was carried out"
                             : "the server stopped before it began";
    if (Status saved = save(operation); !saved.ok()) return saved.error();
  }
  return operations;
}

Status OobOperationStore::save(const OobOperation& operation) const {
  return oob::replace_file(path(operation.id, kRecord), write_json(file_value(operation)));
}

Status OobOperationStore::save_result(const std::string& id, std::string_view json) const {
  return oob::replace_file(path(id, kResult), json);
}

std::string OobOperationStore::read_result(const std::string& id) const {
  return read_file(path(id, kResult), kMaxResult).value_or("");
}

void OobOperationStore::remove(const std::string& id) const {
  std::error_code ignored;
  fs::remove(path(id, kResult), ignored);
  fs::remove(path(id, kRecord), ignored);
}

Result<Value> find_in_journal(const std::string& path, const std::string& id) {
  const Result<FileDescriptor> file = oob::open_file(path, O_RDONLY);
  if (!file.ok()) return file.error();
  const Result<std::uint64_t> size = oob::settled_size(file.value(), path);
  if (!size.ok()) return size.error();
  struct Seen {
    std::string verb;
    bool ended = false;
  };
  std::map<std::string, Seen> operations;
  std::uint64_t entries = 0;
  const std::string mark = fmt::format(", operation {})", id);
  oob::JournalScan scan;
  scan.on_entry = [&](oob::JournalLine&& line) {
    const oob::JournalEntry& entry = line.entry;
    const bool known = operations.find(entry.operation) != operations.end();
    // Another process may have ended it: a resume, or an abandonment.
    if (!entry.who.ends_with(mark)) {
      if (known && entry.phase == oob::Phase::end) operations[entry.operation].ended = true;
      return;
    }
    ++entries;
    if (entry.phase == oob::Phase::begin) operations[entry.operation] = {entry.verb, false};
    if (known && entry.phase == oob::Phase::end) operations[entry.operation].ended = true;
  };
  if (const Status scanned = oob::scan_file(file.value(), size.value(), path, scan); !scanned.ok())
    return scanned.error();
  Value::List found;
  for (const auto& [operation, seen] : operations)
    found.push_back(Value::map().set("operation", operation).set("verb", seen.verb).set("ended", seen.ended));
  return Value::map().set("entries", entries).set("operations", Value(std::move(found)));
}

}  // namespace weft::serve
