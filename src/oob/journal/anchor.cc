#include "oob/journal/anchor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "base/hash.h"
#include "oob/journal/line.h"

namespace weft::oob {
namespace {

constexpr std::string_view kWord = "weft-anchor ";
constexpr std::size_t kDigits = 20;
constexpr std::size_t kHash = 64;
constexpr std::size_t kCheck = 16;
constexpr std::size_t kLine = kWord.size() + kDigits + 1 + kHash + 1 + kCheck + 1;

std::string check_of(std::string_view text) { return sha256(text).substr(0, kCheck); }

std::string line_of(const AnchorPoint& point) {
  const std::string text = fmt::format("{}{:020} {}", kWord, point.number, point.hash);
  return fmt::format("{} {}\n", text, check_of(text));
}

std::optional<AnchorPoint> parse_slot(std::string_view file, std::size_t slot) {
  if (file.size() < (slot + 1) * kLine) return std::nullopt;
  const std::string_view line = file.substr(slot * kLine, kLine);
  AnchorPoint point;
  const std::string_view digits = line.substr(std::min(line.size(), kWord.size()), kDigits);
  if (std::from_chars(digits.begin(), digits.end(), point.number).ec != std::errc()) return std::nullopt;
  point.hash = line.substr(kWord.size() + kDigits + 1, kHash);
  // There is one way to write a point: what differs from it is torn.
  if (!is_hash_text(point.hash) || line != line_of(point)) return std::nullopt;
  return point;
}

struct Slots {
  std::array<std::optional<AnchorPoint>, 2> points{};
  [[nodiscard]] std::size_t later() const {
    if (!points[1]) return 0;
    return !points[0] || points[0]->number < points[1]->number ? 1 : 0;
  }
};

Slots parse_slots(std::string_view text) { return {{parse_slot(text, 0), parse_slot(text, 1)}}; }

Result<Slots> read_slots(const FileDescriptor& file, const std::string& path) {
  const Result<std::string> text = read_at(file, 0, 2 * kLine, path);
  if (!text.ok()) return text.error();
  return parse_slots(*text);
}

}  // namespace

std::optional<AnchorPoint> parse_anchor(std::string_view text) {
  const Slots slots = parse_slots(text);
  return slots.points.at(slots.later());
}

Result<std::optional<AnchorPoint>> read_anchor(const std::string& path) {
  const Result<FileDescriptor> file = open_file(path, O_RDONLY | O_NOFOLLOW);
  if (!file.ok() && file.error().code == ErrorCode::not_found) return std::optional<AnchorPoint>();
  if (!file.ok()) return file.error();
  const Result<Slots> slots = read_slots(*file, path);
  if (!slots.ok()) return slots.error();
  return slots->points.at(slots->later());
}

Result<JournalAnchor> JournalAnchor::open(const std::string& path) {
  Result<FileDescriptor> file = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.ok()) return file.error();
  const Result<struct stat> info = stat_of(*file, path);
  if (!info.ok()) return info.error();
  if (!S_ISREG(info->st_mode)) return Error{ErrorCode::invalid_input, "is not a regular file", path};
  return JournalAnchor(path, std::move(file).value());
}

JournalAnchor::~JournalAnchor() {
  if (written_ && file_.ok()) (void)sync_file(file_, path_);
}

Result<std::optional<AnchorPoint>> JournalAnchor::point() const {
  const Result<Slots> slots = read_slots(file_, path_);
  if (!slots.ok()) return slots.error();
  return slots->points.at(slots->later());
}

Status JournalAnchor::write(const AnchorPoint& point) {
  const Result<Slots> slots = read_slots(file_, path_);
  if (!slots.ok()) return slots.error();
  const std::size_t slot = slots->points.at(slots->later()) ? 1 - slots->later() : 0;
  const std::string line = line_of(point);
  const ssize_t put = ::pwrite(file_.get(), line.data(), line.size(), static_cast<off_t>(slot * kLine));
  if (put != static_cast<ssize_t>(line.size())) return file_error(put < 0 ? errno : EIO, "write", path_);
  written_ = true;
  return {};
}

}  // namespace weft::oob
