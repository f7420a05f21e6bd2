#include "health/readers/journal_json.h"

#include <limits>

#include "base/json.h"
#include "health/readers/line_scan.h"

namespace weft::health {
namespace {

constexpr std::string_view kMessageKey = "\"MESSAGE\"";
constexpr std::size_t kMaxEntryBytes = 1U << 20U;

// journalctl writes a value as text; as an array of bytes if it is not UTF-8; as an array of values if the field occurs
// more than once; as null if it is too long.
std::string read_value(const YamlNode* node) {
  if (node == nullptr) return {};
  if (node->kind == YamlNode::Kind::scalar) return node->scalar;
  std::string bytes;
  if (node->kind != YamlNode::Kind::sequence || node->items.empty()) return bytes;
  for (const YamlNode& item : node->items) {
    if (item.kind != YamlNode::Kind::scalar || item.quoted) return read_value(&node->items.front());
    std::string_view digits = item.scalar;
    const auto byte = take_number(digits);
    if (!byte || *byte > 255 || !digits.empty()) return {};
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

sched::Moment read_time(const YamlNode* node) {
  const std::string value = read_value(node);
  std::string_view digits = value;
  const auto microseconds = take_number(digits);
  constexpr std::uint64_t kMaxMicroseconds = std::numeric_limits<std::int64_t>::max() / 1000;
  if (!microseconds || !digits.empty() || *microseconds > kMaxMicroseconds) return {};
  return sched::Moment(static_cast<std::int64_t>(*microseconds) * 1000);
}

// _TRANSPORT is set by journald; SYSLOG_IDENTIFIER by the program that writes the entry, which may call itself
// "kernel".
std::string read_program(const YamlNode& entry) {
  std::string transport = read_value(entry.find("_TRANSPORT"));
  std::string program = read_value(entry.find("SYSLOG_IDENTIFIER"));
  if (transport == "kernel") return "kernel";
  if (!transport.empty() && (program == "kernel" || program.empty())) return transport;
  return program;
}

}  // namespace

bool is_journal_entry(std::string_view line) {
  if (!take(line, "{")) return false;
  skip_spaces(line);
  return line.starts_with("\"") && trim_end(line).ends_with("}") && contains(line, kMessageKey);
}

std::optional<std::string_view> find_raw_message(std::string_view line) {
  std::optional<std::string_view> value = find_after(line, kMessageKey);
  if (!value) return std::nullopt;
  skip_spaces(*value);
  if (!take(*value, ":")) return std::nullopt;
  skip_spaces(*value);
  if (!take(*value, "\"")) return std::nullopt;
  return value;
}

std::optional<JournalRecord> read_journal_entry(std::string_view line) {
  if (line.size() > kMaxEntryBytes) return std::nullopt;
  Diagnostics diagnostics;
  YamlLimits limits;
  limits.bytes = kMaxEntryBytes;
  limits.depth = 4;
  const std::optional<YamlNode> entry = parse_json_text(line, SourceLocation(), diagnostics, limits);
  if (!entry || entry->kind != YamlNode::Kind::mapping) return std::nullopt;
  JournalRecord record;
  record.message = read_value(entry->find("MESSAGE"));
  if (record.message.empty()) return std::nullopt;
  record.host = read_value(entry->find("_HOSTNAME"));
  record.program = read_program(*entry);
  record.at = read_time(entry->find("__REALTIME_TIMESTAMP"));
  return record;
}

}  // namespace weft::health
