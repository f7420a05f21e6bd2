#include "access/audit/head.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "oob/durable/file.h"
#include "oob/journal/line.h"

namespace weft::access {
namespace {

constexpr std::string_view kKind = "weft-audit-head";
constexpr std::size_t kWords = 7;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// "weft-audit-head TURN FILE BASE NUMBER HASH SHA256"
std::optional<HeadSlot> parse_slot(std::string_view text) {
  const std::vector<std::string_view> words = split(trim_end(text, " \n"), ' ');
  if (words.size() != kWords || words[0] != kKind || !oob::is_hash_text(words[5])) return std::nullopt;
  const std::size_t checked = trim_end(text, " \n").rfind(' ');
  if (sha256(text.substr(0, checked)) != words[6]) return std::nullopt;
  HeadSlot slot;
  std::uint64_t* const numbers[] = {&slot.turn, &slot.head.file, &slot.head.base, &slot.head.number};
  for (std::size_t i = 0; i < std::size(numbers); ++i) {
    const std::optional<std::uint64_t> number = parse_number(words[i + 1]);
    if (!number) return std::nullopt;
    *numbers[i] = *number;
  }
  if (slot.head.file == 0) return std::nullopt;
  slot.head.hash = words[5];
  return slot;
}

}  // namespace

std::string format_head_slot(const AuditHead& head, std::uint64_t turn) {
  std::string text = fmt::format("{} {} {} {} {} {}", kKind, turn, head.file, head.base, head.number,
                                 head.hash.empty() ? oob::first_previous() : head.hash);
  text += " " + sha256(text);
  text.resize(kHeadSlot - 1, ' ');
  return text + "\n";
}

std::optional<HeadSlot> parse_head(std::string_view text) {
  std::optional<HeadSlot> newest;
  for (std::size_t at = 0; at < 2 * kHeadSlot && at < text.size(); at += kHeadSlot) {
    std::optional<HeadSlot> slot = parse_slot(text.substr(at, kHeadSlot));
    if (slot && (!newest || slot->turn > newest->turn)) newest = std::move(slot);
  }
  return newest;
}

Result<HeadFile> HeadFile::open(const std::string& path, bool create) {
  Result<FileDescriptor> file = oob::open_file(path, O_RDWR | O_NOFOLLOW | (create ? O_CREAT | O_EXCL : 0), 0600);
  if (!file.ok()) return file.error();
  HeadFile opened(path, std::move(file).value());
  if (create) {
    const AuditHead none{1, 0, 0, oob::first_previous()};
    for (int slot = 0; slot < 2; ++slot) {
      if (Status written = opened.write(none); !written.ok()) return written.error();
    }
    if (Status synced = opened.sync(); !synced.ok()) return synced.error();
    if (Status synced = oob::sync_folder_of(path); !synced.ok()) return synced.error();
    return opened;
  }
  const Result<std::string> text = oob::read_at(opened.file_, 0, 2 * kHeadSlot, path);
  if (!text.ok()) return text.error();
  std::optional<HeadSlot> slot = parse_head(*text);
  if (!slot) return Error{ErrorCode::conflict, "is damaged: it does not name the last entry of the audit log", path};
  opened.head_ = std::move(slot->head);
  opened.turn_ = slot->turn;
  return opened;
}

Status HeadFile::write(const AuditHead& head) {
  const std::string text = format_head_slot(head, turn_ + 1);
  const auto at = static_cast<off_t>((turn_ + 1) % 2 * kHeadSlot);
  ssize_t put = -1;
  do {
    put = ::pwrite(file_.get(), text.data(), text.size(), at);
  } while (put < 0 && errno == EINTR);
  if (put != static_cast<ssize_t>(text.size())) return file_error(put < 0 ? errno : EIO, "write", path_);
  ++turn_;
  head_ = head;
  return {};
}

Status HeadFile::sync() { return oob::sync_file(file_, path_); }

}  // namespace weft::access
