#include "store/etcd_layout.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "base/text.h"
#include "base/utf8.h"
#include "store/integrity.h"

namespace weft::store {
namespace {

constexpr std::string_view kMagic = "weft-store";
constexpr std::size_t kShownFingerprint = 100;
constexpr std::size_t kRecordHeader = 8;  // length and checksum
constexpr std::uint64_t kMaxParts = 1'000'000;

template <class T>
std::optional<T> read_number(std::string_view text) {
  T number{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Error damaged(std::string_view what) {
  return {ErrorCode::internal, fmt::format("{} is damaged; restore the store from a backup of etcd", what), {}};
}

void append_u32(std::string& text, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8)
    text += static_cast<char>((number >> static_cast<unsigned>(shift)) & 0xffU);
}

std::uint32_t read_u32(std::string_view text) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number |= static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])) << (8U * static_cast<unsigned>(i));
  return number;
}

// Snapshots are named by weft itself: digits and dots.
bool is_id(std::string_view text) {
  return !text.empty() && text.size() <= 100 && text.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::optional<SnapshotEntry> read_snapshot_line(const std::vector<std::string_view>& words) {
  if (words.size() != 6) return std::nullopt;
  const auto sequence = read_number<Sequence>(words[1]);
  const auto parts = read_number<std::uint64_t>(words[3]);
  const auto bytes = read_number<std::uint64_t>(words[4]);
  const auto checksum = read_number<std::uint32_t>(words[5]);
  if (!sequence || !parts || !bytes || !checksum || !is_id(words[2]) || *parts == 0 || *parts > kMaxParts)
    return std::nullopt;
  return SnapshotEntry{*sequence, std::string(words[2]), *parts, *bytes, *checksum};
}

}  // namespace

std::string EtcdKeys::journal(Sequence first, std::size_t part) const {
  return fmt::format("{}/journal/{:020}.{:06}", prefix, first, part);
}

std::string EtcdKeys::snapshot(const std::string& id, std::size_t part) const {
  return fmt::format("{}/snapshot/{}.{:06}", prefix, id, part);
}

Sequence EtcdKeys::first_of(std::string_view journal_key) const {
  const std::string begin = prefix + "/journal/";
  if (!journal_key.starts_with(begin) || journal_key.size() != begin.size() + 27) return 0;
  return read_number<Sequence>(journal_key.substr(begin.size(), 20)).value_or(0);
}

std::string write_meta(const std::string& fingerprint) {
  return fmt::format("{} {}\n{}", kMagic, kEtcdFormat, fingerprint);
}

Status check_meta(std::string_view value, const std::string& fingerprint, const std::string& where) {
  const std::size_t line = value.find('\n');
  const std::vector<std::string_view> words = split(value.substr(0, line), ' ');
  const auto format = words.size() == 2 ? read_number<int>(words[1]) : std::nullopt;
  if (line == std::string_view::npos || words.front() != kMagic || !format || *format < 1)
    return Error{ErrorCode::internal, "is not a journal of weft, or is damaged; use another prefix", where};
  if (*format > kEtcdFormat)
    return Error{ErrorCode::refused,
                 fmt::format("was written by a newer version (format {}, this version reads up to {}); upgrade weft",
                             *format, kEtcdFormat),
                 where};
  const std::string_view stored = value.substr(line + 1);
  if (stored == fingerprint) return {};
  return Error{ErrorCode::refused,
               fmt::format("belongs to another cluster (its fingerprint is `{}`, this cluster's is `{}`); use a prefix "
                           "for each cluster",
                           printable(stored, kShownFingerprint), printable(fingerprint, kShownFingerprint)),
               where};
}

std::string write_tail(const Tail& tail) { return fmt::format("{} {}", tail.last, tail.write); }

Result<Tail> parse_tail(std::string_view value) {
  const std::vector<std::string_view> words = split(value, ' ');
  const auto last = words.size() == 2 ? read_number<Sequence>(words[0]) : std::nullopt;
  if (!last || !is_id(words[1])) return damaged("the key `tail`");
  return Tail{*last, std::string(words[1])};
}

std::string write_manifest(const Manifest& manifest) {
  std::string text = fmt::format("first {}\n", manifest.first);
  for (const SnapshotEntry& entry : manifest.snapshots)
    text +=
        fmt::format("snapshot {} {} {} {} {}\n", entry.sequence, entry.id, entry.parts, entry.bytes, entry.checksum);
  return text;
}

Result<Manifest> parse_manifest(std::string_view value) {
  Manifest manifest;
  manifest.first = 0;
  for (const std::string_view line : split(value, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.front() == "first" && words.size() == 2 && manifest.first == 0) {
      manifest.first = read_number<Sequence>(words[1]).value_or(0);
      continue;
    }
    std::optional<SnapshotEntry> entry = words.front() == "snapshot" ? read_snapshot_line(words) : std::nullopt;
    const bool in_order = entry && (manifest.snapshots.empty() || manifest.snapshots.back().sequence < entry->sequence);
    if (!in_order) return damaged("the key `manifest`");
    manifest.snapshots.push_back(std::move(*entry));
  }
  if (manifest.first == 0) return damaged("the key `manifest`");
  return manifest;
}

std::string write_commit(Sequence first, const std::vector<std::string>& records) {
  std::string bytes;
  std::size_t size = 0;
  for (const std::string& record : records) size += kRecordHeader + record.size();
  bytes.reserve(size);
  for (const std::string& record : records) {
    append_u32(bytes, static_cast<std::uint32_t>(record.size()));
    append_u32(bytes, compute_checksum(Kind::record, first++, record));
    bytes += record;
  }
  return bytes;
}

Result<std::vector<std::string>> parse_commit(Sequence first, std::string_view bytes, const std::string& where) {
  std::vector<std::string> records;
  RecordCheck check(first, where);
  while (!bytes.empty()) {
    const std::size_t size = bytes.size() < kRecordHeader ? std::numeric_limits<std::size_t>::max() : read_u32(bytes);
    if (size > bytes.size() - std::min(bytes.size(), kRecordHeader))
      return Error{ErrorCode::internal,
                   fmt::format("record {} is cut off; restore the store from a backup of etcd", first + records.size()),
                   where};
    const std::string_view record = bytes.substr(kRecordHeader, size);
    if (Status checked = check.check(first + records.size(), read_u32(bytes.substr(4)), record); !checked.ok())
      return checked.error();
    records.emplace_back(record);
    bytes.remove_prefix(kRecordHeader + size);
  }
  return records;
}

}  // namespace weft::store
