#include "oob/journal/scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace weft::oob {
namespace {

constexpr std::size_t kMaxKept = 100;        // problems and notes; the rest is only counted
constexpr std::size_t kChunk = 256U << 10U;  // bytes read at once
constexpr std::size_t kWindow = 64U << 10U;  // read first, from the end
constexpr std::size_t kMaxWindow = kMaxTorn + 2 * kMaxJournalLine;

bool begins_like(std::string_view piece, std::string_view whole) {
  const std::size_t size = std::min(piece.size(), whole.size());
  return piece.substr(0, size) == whole.substr(0, size);
}

// What a crash in the middle of a write leaves: the start of the line being written, or blocks that the file system
// allocated and never filled. A line of full length with an error in it is neither.
bool may_be_torn(std::string_view piece, std::uint64_t due) {
  if (piece.empty()) return false;
  if (piece.find('\0') != std::string_view::npos) return true;
  if (!begins_like(piece, line_opening(due))) return false;
  constexpr std::string_view kPrevious = R"(, "previous": ")";
  constexpr std::string_view kHash = R"(", "hash": ")";
  const std::size_t at = piece.rfind(kPrevious);
  if (at == std::string_view::npos) return true;
  std::string_view rest = piece.substr(at + kPrevious.size());
  if (rest.size() <= 64 || !is_hash_text(rest.substr(0, 64))) return true;
  rest.remove_prefix(64);
  if (!begins_like(rest, kHash)) return false;
  rest.remove_prefix(std::min(rest.size(), kHash.size()));
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789abcdef"), rest.size());
  return digits == rest.size() ? digits <= 64 : digits == 64 && rest.substr(digits) == "\"";
}

bool describes(const JournalEntry& entry, const std::string& torn) {
  if (entry.verb != kTornVerb || entry.phase != Phase::note) return false;
  const Value* bytes = entry.detail.find("bytes");
  const Value* hash = entry.detail.find("sha256");
  if (bytes == nullptr || hash == nullptr || !hash->is_text() || entry.detail.entries().size() != 2) return false;
  const std::int64_t* size = std::get_if<std::int64_t>(&bytes->state());
  return size != nullptr && *size == static_cast<std::int64_t>(torn.size()) && hash->text() == sha256(torn);
}

}  // namespace

void JournalScan::problem(std::uint64_t line, std::string_view what) {
  if (problems_.size() < kMaxKept) {
    problems_.push_back(fmt::format("line {}: {}", line, what));
    return;
  }
  ++more_problems_;
  problems_.resize(kMaxKept);
  problems_.push_back(fmt::format("and {} more", more_problems_));
}

void JournalScan::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (end != std::string_view::npos && partial_.empty() && skipped_ == 0) {
      take_line(part, true);
    } else {
      const std::size_t room = kMaxTorn - std::min(kMaxTorn, partial_.size());
      partial_ += part.substr(0, room);
      skipped_ += part.size() - std::min(part.size(), room);
      if (end == std::string_view::npos) return;
      take_line(partial_, true);
      partial_.clear();
      skipped_ = 0;
    }
    bytes.remove_prefix(end + 1);
  }
}

void JournalScan::finish() {
  if (!partial_.empty()) take_line(partial_, false);
}

void JournalScan::take_line(std::string_view line, bool ended) {
  ++line_;
  const std::uint64_t end = at_ + line.size() + skipped_ + 1;
  if (skipped_ > 0) {
    problem(line_, "is longer than an entry can be");
  } else if (Result<JournalLine> read = parse_line(line); read.ok()) {
    if (ended) {
      take_entry(std::move(read).value(), end);
    } else {
      // Only its line end is missing. It does not count until a writer adds that.
      ends_open_ = ends_whole_ = true;
      torn_ += in_torn_ ? "\n" : "";
      torn_ += line;
    }
  } else {
    std::string claimed;
    if (looks_whole(line, claimed)) {
      problem(line_, read.error().message);
      place_ = {end, place_.number + 1, line_, claimed};
      in_torn_ = false;
      torn_.clear();
    } else {
      take_piece(line, read.error().message);
    }
    ends_open_ = !ended;
  }
  at_ = end;
}

void JournalScan::take_piece(std::string_view piece, const std::string& why) {
  if (!may_be_torn(piece, place_.number + 1) || torn_.size() + piece.size() > kMaxTorn) {
    problem(line_, why);
    return;
  }
  if (!in_torn_) torn_line_ = line_;
  torn_ += in_torn_ ? "\n" : "";
  torn_ += piece;
  in_torn_ = true;
}

void JournalScan::close_torn(const JournalEntry& entry) {
  if (!describes(entry, torn_)) problem(torn_line_, "is truncated, and the next entry does not record it");
  torn_.clear();
  in_torn_ = false;
}

void JournalScan::take_entry(JournalLine&& read, std::uint64_t end) {
  if (in_torn_) {
    close_torn(read.entry);
  } else if (read.entry.verb == kTornVerb) {
    problem(line_, "records a truncated line before it, but there is none");
  }
  const std::uint64_t due = place_.number + 1;
  if (read.entry.number != due) {
    problem(line_, fmt::format("has number {} where {} was due", read.entry.number, due));
  } else if (read.previous != place_.hash) {
    problem(line_, "does not follow the entry before it: one was altered, added or removed");
  }
  if (read.entry.time < last_time_) {
    if (notes_.size() < kMaxKept)
      notes_.push_back(fmt::format("line {}: the clock went back, from {} to {}", line_, last_time_, read.entry.time));
  }
  last_time_ = read.entry.time;
  place_ = {end, read.entry.number, line_, read.entry.hash};
  ++entries_;
  if (on_entry) on_entry(std::move(read));
}

Result<ChainPlace> find_chain_end(const FileDescriptor& file, std::uint64_t size, const std::string& path) {
  for (std::size_t window = kWindow;; window = std::min(window * 4, kMaxWindow)) {
    const std::uint64_t from = size > window ? size - window : 0;
    const Result<std::string> bytes = read_at(file, from, static_cast<std::size_t>(size - from), path);
    if (!bytes.ok()) return bytes.error();
    const std::string_view text = bytes.value();
    // Line ends from last to first; the text before the first line end may have begun earlier.
    for (std::size_t end = text.rfind('\n'); end != std::string_view::npos;) {
      const std::size_t before = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
      if (before == std::string_view::npos && from > 0) break;
      const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
      Result<JournalLine> read = parse_line(text.substr(start, end - start));
      if (read.ok()) return ChainPlace{from + end + 1, read->entry.number, 0, read->entry.hash};
      end = before;
    }
    if (from == 0) return ChainPlace{};
    if (window == kMaxWindow)
      return Error{ErrorCode::invalid_input, "is not a journal: no entry was found near its end", path};
  }
}

Status scan_file(const FileDescriptor& file, std::uint64_t size, const std::string& path, JournalScan& scan) {
  for (std::uint64_t at = scan.place().offset; at < size;) {
    const Result<std::string> bytes =
        read_at(file, at, static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, size - at)), path);
    if (!bytes.ok()) return bytes.error();
    if (bytes->empty()) return Error{ErrorCode::conflict, "became shorter while it was read", path};
    scan.feed(bytes.value());
    at += bytes->size();
  }
  scan.finish();
  return {};
}

Result<std::uint64_t> settled_size(const FileDescriptor& file, const std::string& path) {
  Status locked = lock(file, LockKind::shared, path, kLockLimit);
  if (!locked.ok()) return locked.error();
  const HeldLock held(file);
  const Result<struct stat> info = stat_of(file, path);
  if (!info.ok()) return info.error();
  return static_cast<std::uint64_t>(info->st_size);
}

}  // namespace weft::oob
