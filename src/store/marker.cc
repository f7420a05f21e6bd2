#include "store/marker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "store/integrity.h"

namespace weft::store {
namespace {

constexpr std::string_view kHeader = "weft store format ";
constexpr std::string_view kLabel = "acknowledged ";
constexpr std::size_t kSlots = 2;
constexpr std::size_t kSlotBytes = 47;
constexpr std::size_t kMaxMarkerBytes = 4096;

std::string format_slot(Sequence acknowledged) {
  return fmt::format("{}{:020} crc {:08x}\n", kLabel, acknowledged,
                     compute_checksum(Kind::marker, acknowledged, kLabel));
}

// None if it is damaged.
std::optional<Sequence> parse_slot(std::string_view text) {
  Sequence acknowledged = 0;
  if (text.size() != kSlotBytes) return std::nullopt;
  const char* digits = text.data() + kLabel.size();
  (void)std::from_chars(digits, digits + 20, acknowledged);
  if (text != format_slot(acknowledged)) return std::nullopt;
  return acknowledged;
}

Result<int> parse_format(std::string_view header, const std::string& path) {
  int format = 0;
  const bool labeled = header.starts_with(kHeader);
  if (labeled) header.remove_prefix(kHeader.size());
  const auto parsed = std::from_chars(header.data(), header.data() + header.size(), format);
  if (!labeled || parsed.ec != std::errc() || parsed.ptr != header.data() + header.size() || format < 1)
    return Error{ErrorCode::internal, "is damaged; restore the store from a backup", path};
  if (format > kFormat)
    return Error{ErrorCode::refused,
                 fmt::format("was written by a newer version (format {}, this version reads up to {}); upgrade weft",
                             format, kFormat),
                 path};
  return format;
}

}  // namespace

Status Marker::create(const std::string& directory) {
  const std::string slot = format_slot(0);
  return write_file(path_in(directory), fmt::format("{}{}\n{}{}", kHeader, kFormat, slot, slot));
}

Result<Marker> Marker::open(const std::string& directory) {
  Marker marker;
  marker.path_ = path_in(directory);
  Result<std::string> text = read_file(marker.path_, kMaxMarkerBytes);
  if (!text.ok()) return text.error();
  const std::size_t line_end = std::min(text->find('\n'), text->size());
  if (const Result<int> format = parse_format(std::string_view(*text).substr(0, line_end), marker.path_); !format.ok())
    return format.error();
  marker.slots_at_ = std::min(line_end + 1, text->size());
  bool found = false;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    const std::size_t at = std::min(marker.slots_at_ + slot * kSlotBytes, text->size());
    const std::optional<Sequence> value = parse_slot(std::string_view(*text).substr(at, kSlotBytes));
    if (!value.has_value() || (found && *value < marker.acknowledged_)) continue;
    found = true;
    marker.acknowledged_ = *value;
    marker.next_slot_ = 1 - slot;
  }
  if (!found) return Error{ErrorCode::internal, "is damaged; restore the store from a backup", marker.path_};
  marker.file_ = open_descriptor(marker.path_, O_WRONLY);
  if (!marker.file_.ok()) return file_error(errno, "open", marker.path_);
  return marker;
}

Status Marker::write(Sequence acknowledged) {
  const std::string slot = format_slot(acknowledged);
  const auto at = static_cast<off_t>(slots_at_ + next_slot_ * kSlotBytes);
  ssize_t put = 0;
  do {
    put = ::pwrite(file_.get(), slot.data(), slot.size(), at);
  } while (put < 0 && errno == EINTR);
  // A file system that never overwrites in place may have no space: the records are durable all the same.
  if (put < 0 && (errno == ENOSPC || errno == EDQUOT)) return {};
  if (put != static_cast<ssize_t>(slot.size()))
    return Error{ErrorCode::internal, file_error(put < 0 ? errno : EIO, "write", path_).message, path_};
  acknowledged_ = acknowledged;
  next_slot_ = 1 - next_slot_;
  return {};
}

Status Marker::sync() {
  while (::fdatasync(file_.get()) != 0) {
    if (errno == EINTR) continue;
    return Error{ErrorCode::internal, file_error(errno, "sync", path_).message, path_};
  }
  return {};
}

}  // namespace weft::store
