#include "access/audit/read.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>

#include "access/audit/head.h"
#include "base/human_format.h"
#include "base/text.h"
#include "oob/durable/file.h"
#include "oob/journal/line.h"

namespace weft::access {
namespace {

constexpr std::size_t kChunk = 64U << 10U;
constexpr std::size_t kMaxTail = 2 * oob::kMaxJournalLine;  // what is longer is no entry
constexpr std::string_view kPrefix = "audit-";
constexpr std::string_view kSuffix = ".ndjson";
constexpr std::size_t kDigits = 6;
constexpr std::string_view kNumberKey = R"({"number": )";
constexpr std::string_view kTimeKey = R"(, "time": ")";

// The number at the start of a line; nullopt: it does not begin as an entry does.
std::optional<std::uint64_t> number_of(std::string_view line, std::string_view* time = nullptr) {
  if (!line.starts_with(kNumberKey)) return std::nullopt;
  line.remove_prefix(kNumberKey.size());
  std::uint64_t number = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
  if (read.ec != std::errc() || number == 0) return std::nullopt;
  line.remove_prefix(static_cast<std::size_t>(read.ptr - line.data()));
  if (!line.starts_with(kTimeKey)) return std::nullopt;
  line.remove_prefix(kTimeKey.size());
  if (time != nullptr) *time = line.substr(0, line.find('"'));
  return number;
}

// Calls `on_line` for every line that ends before `end`, the last first, until it returns false.
Status scan_backwards(const FileDescriptor& file, const std::string& path, std::uint64_t end,
                      const std::function<bool(std::string_view)>& on_line) {
  std::string tail;  // the end of a line that begins before `at`
  for (std::uint64_t at = end; at > 0;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, at));
    at -= size;
    Result<std::string> text = oob::read_at(file, at, size, path);
    if (!text.ok()) return text.error();
    if (text->size() != size) return Error{ErrorCode::conflict, "became shorter while it was read", path};
    *text += tail;
    std::size_t stop = text->size();
    for (;;) {
      const std::size_t before = stop == 0 ? std::string::npos : text->rfind('\n', stop - 1);
      if (before == std::string::npos) break;
      const std::string_view line = std::string_view(*text).substr(before + 1, stop - before - 1);
      if (!line.empty() && !on_line(line)) return {};
      stop = before;
    }
    tail = text->substr(0, stop);
    if (tail.size() > kMaxTail) tail = "?";
  }
  if (!tail.empty()) on_line(tail);
  return {};
}

// The first line that begins at or after `from` as an entry does; nullopt: none does before `end`.
struct LineStart {
  std::uint64_t offset = 0;
  std::uint64_t number = 0;
};
Result<std::optional<LineStart>> find_line(const FileDescriptor& file, const std::string& path, std::uint64_t from,
                                           std::uint64_t end) {
  bool at_start = from == 0;
  std::string rest;
  for (std::uint64_t at = from; at < end;) {
    const Result<std::string> bytes =
        oob::read_at(file, at, static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, end - at)), path);
    if (!bytes.ok()) return bytes.error();
    if (bytes->empty()) break;
    rest += *bytes;
    at += bytes->size();
    std::size_t begin = 0;
    for (;;) {
      if (at_start) {
        const std::string_view line = std::string_view(rest).substr(begin);
        // The opening is shorter than this; a line that is cut by the end of the chunk is looked at again.
        if (line.size() < 128 && !contains(line, "\n") && at < end) break;
        if (const std::optional<std::uint64_t> number = number_of(line))
          return std::optional<LineStart>(LineStart{at - rest.size() + begin, *number});
        at_start = false;
      }
      const std::size_t next = rest.find('\n', begin);
      if (next == std::string::npos) {
        begin = rest.size();
        break;
      }
      begin = next + 1;
      at_start = true;
    }
    rest.erase(0, begin);
  }
  return std::optional<LineStart>();
}

// Where the first line with this number or a higher one begins; `size` if there is none.
Result<std::uint64_t> find_number(const FileDescriptor& file, const std::string& path, std::uint64_t size,
                                  std::uint64_t number) {
  std::uint64_t low = 0;  // lines that begin before it have lower numbers
  std::uint64_t high = size;
  std::uint64_t found = size;
  while (low < high) {
    const std::uint64_t middle = high - low > kChunk ? low + (high - low) / 2 : low;
    const Result<std::optional<LineStart>> line = find_line(file, path, middle, found);
    if (!line.ok()) return line.error();
    if (!*line || (*line)->number >= number) {
      if (*line) found = (*line)->offset;
      if (middle == low) break;
      high = middle;
    } else {
      low = (*line)->offset + 1;
    }
  }
  return found;
}

// Texts that the line of a matching entry contains: lines without them are not parsed.
std::vector<std::string> parts_of(const AuditFilter& filter) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) parts.push_back(fmt::format("\"{}\": {}", key, write_json_line(Value(value))));
  };
  add("verb", filter.operation);
  add("device", filter.object);
  add("actor", filter.actor);
  return parts;
}

class PageReader {
 public:
  explicit PageReader(const AuditFilter& filter)
      : filter_(filter), parts_(parts_of(filter)), limit_(std::clamp<std::size_t>(filter.limit, 1, kMaxAuditPage)) {}

  [[nodiscard]] Status read(const AuditFile& file) {
    const Result<AuditLink> link = read_audit_link(file);
    if (!link.ok()) return link.error();
    base_ = link->base;
    if (filter_.before != 0 && filter_.before <= base_ + 1) return {};
    const Result<FileDescriptor> opened = oob::open_file(file.path, O_RDONLY);
    if (!opened.ok()) return opened.error();
    const Result<struct stat> info = oob::stat_of(*opened, file.path);
    if (!info.ok()) return info.error();
    auto end = static_cast<std::uint64_t>(info->st_size);
    if (filter_.before != 0) {
      const Result<std::uint64_t> found = find_number(*opened, file.path, end, filter_.before - base_);
      if (!found.ok()) return found.error();
      end = *found;
    }
    Status scanned = scan_backwards(*opened, file.path, end, [&](std::string_view line) { return take(line); });
    newest_ = link->number;
    return scanned;
  }

  [[nodiscard]] bool is_done() const { return done_; }
  [[nodiscard]] AuditPage take_page() { return std::move(page_); }

 private:
  // False: the page is complete.
  bool take(std::string_view line) {
    if (page_.entries.size() == limit_ || scanned_ > kMaxAuditScan) {
      page_.next = last_;
      done_ = true;
      return false;
    }
    scanned_ += line.size() + 1;
    std::string_view time;
    const std::optional<std::uint64_t> number = number_of(line, &time);
    if (number && !filter_.since.empty() && time < filter_.since) {
      done_ = true;
      return false;
    }
    // Entries that the next file does not count: their requests were refused.
    if (number && *number > newest_) return true;
    const bool may_match =
        std::all_of(parts_.begin(), parts_.end(), [&](const std::string& part) { return contains(line, part); });
    if (number && !may_match) {
      last_ = base_ + *number;
      return true;
    }
    const Result<oob::JournalLine> read = oob::parse_line(line);
    if (!read.ok()) {
      ++page_.unreadable;
      return true;
    }
    AuditRecord record = audit_record(read->entry, base_);
    last_ = record.number;
    if (matches(record)) page_.entries.push_back(std::move(record));
    return true;
  }

  [[nodiscard]] bool matches(const AuditRecord& record) const {
    const auto agrees = [](const std::string& wanted, const std::string& is) { return wanted.empty() || wanted == is; };
    return agrees(filter_.actor, record.actor) && agrees(filter_.operation, record.operation) &&
           agrees(filter_.object, record.object);
  }

  const AuditFilter& filter_;
  std::vector<std::string> parts_;
  std::size_t limit_;
  AuditPage page_;
  std::uint64_t base_ = 0;
  std::uint64_t newest_ = UINT64_MAX;  // in the file that is read, by the first entry of the next one
  std::uint64_t scanned_ = 0;
  std::uint64_t last_ = 0;  // number of the last entry that was looked at
  bool done_ = false;
};

std::string file_name(const AuditFile& file) { return std::filesystem::path(file.path).filename().string(); }

// What the first entry of a file says of the file before it. `base`: entries before that one.
void verify_link(const AuditFile& file, const AuditLink& link, const oob::JournalVerdict* before, std::uint64_t base,
                 AuditVerdict& verdict) {
  if (before == nullptr) {
    if (file.index == 1) return;
    verdict.notes.push_back(
        fmt::format("{}: the {} entries before it are in files that are not here", file_name(file), link.base));
    return;
  }
  if (link.base != base + link.number) {
    verdict.problems.push_back(fmt::format("{}: says that {} entries are before it, and there are {}", file_name(file),
                                           link.base, base + link.number));
  }
  if (link.number < before->entries) {
    verdict.notes.push_back(
        fmt::format("{}: {} more in the file before it could not be synced, and their requests "
                    "were refused",
                    file_name(file), plural(before->entries - link.number, "entry", "entries")));
  }
}

}  // namespace

std::string audit_file_path(const std::string& folder, std::uint64_t index) {
  return fmt::format("{}/{}{:06}{}", folder, kPrefix, index, kSuffix);
}

std::string audit_head_path(const std::string& folder, const std::string& head_path) {
  return head_path.empty() ? folder + "/audit.head" : head_path;
}

Result<std::vector<AuditFile>> find_audit_files(const std::string& folder) {
  std::vector<AuditFile> files;
  std::error_code code;
  for (std::filesystem::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    const std::string_view digits =
        std::string_view(name).substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
    std::uint64_t index = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || digits.size() < kDigits || index == 0)
      continue;
    std::string path = folder;
    path += '/';
    path += name;
    files.push_back({index, std::move(path)});
  }
  if (code) return file_error(code.value(), "list", folder);
  std::sort(files.begin(), files.end(), [](const AuditFile& a, const AuditFile& b) { return a.index < b.index; });
  for (std::size_t i = 1; i < files.size(); ++i) {
    if (files[i].index == files[i - 1].index + 1) continue;
    return Error{ErrorCode::conflict,
                 fmt::format("the audit log has {} and {}, but no file between them: restore it from a backup",
                             file_name(files[i - 1]), file_name(files[i])),
                 folder};
  }
  return files;
}

Result<AuditLink> read_audit_link(const AuditFile& file) {
  if (file.index == 1) return AuditLink{};
  const Result<FileDescriptor> opened = oob::open_file(file.path, O_RDONLY);
  if (!opened.ok()) return opened.error();
  const Result<std::string> text = oob::read_at(*opened, 0, kChunk, file.path);
  if (!text.ok()) return text.error();
  const Result<oob::JournalLine> line = oob::parse_line(std::string_view(*text).substr(0, text->find('\n')));
  const Value* before = !line.ok() || line->entry.verb != kLogContinued ? nullptr : line->entry.detail.find("before");
  if (before == nullptr || !before->is_map())
    return Error{ErrorCode::conflict, "its first entry does not name the file before it", file.path};
  AuditLink link;
  const auto number = [&](std::string_view key) {
    const Value* value = before->find(key);
    const std::int64_t* given = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->state());
    return given == nullptr || *given < 0 ? std::uint64_t{0} : static_cast<std::uint64_t>(*given);
  };
  link.base = number("entries");
  link.number = number("number");
  if (const Value* hash = before->find("hash"); hash != nullptr && hash->is_text()) link.hash = hash->text();
  return link;
}

Result<std::string> find_audit_hash(const AuditFile& file, std::uint64_t number) {
  const Result<FileDescriptor> opened = oob::open_file(file.path, O_RDONLY);
  if (!opened.ok()) return opened.error();
  const Result<struct stat> info = oob::stat_of(*opened, file.path);
  if (!info.ok()) return info.error();
  const auto size = static_cast<std::uint64_t>(info->st_size);
  const Result<std::uint64_t> at = find_number(*opened, file.path, size, number);
  if (!at.ok()) return at.error();
  // A line that a crash cut off may have the same number as the entry after it.
  const Result<std::string> text = oob::read_at(*opened, *at, oob::kMaxJournalLine + (64U << 10U), file.path);
  if (!text.ok()) return text.error();
  for (const std::string_view line : split_lines(*text)) {
    const std::optional<std::uint64_t> found = number_of(line);
    if (found && *found > number) break;
    const Result<oob::JournalLine> read = oob::parse_line(line);
    if (read.ok() && read->entry.number == number) return read->entry.hash;
  }
  return std::string();
}

Result<AuditPage> read_audit(const std::string& folder, const AuditFilter& filter) {
  const Result<std::vector<AuditFile>> files = find_audit_files(folder);
  if (!files.ok()) return files.error();
  PageReader reader(filter);
  for (auto file = files->rbegin(); file != files->rend() && !reader.is_done(); ++file) {
    if (Status read = reader.read(*file); !read.ok()) return read.error();
  }
  return reader.take_page();
}

Result<AuditVerdict> verify_audit(const std::string& folder, const std::string& head_path) {
  const Result<std::vector<AuditFile>> files = find_audit_files(folder);
  if (!files.ok()) return files.error();
  AuditVerdict verdict;
  const Result<HeadFile> head = HeadFile::open(audit_head_path(folder, head_path), false);
  if (!head.ok()) verdict.problems.push_back(head.error().text());
  std::optional<oob::JournalVerdict> before;
  std::vector<AuditLink> links;
  for (const AuditFile& file : *files) {
    Result<AuditLink> link = read_audit_link(file);
    // The newest may have been made just before a crash, without an entry.
    if (!link.ok() && (file.index != files->back().index || (head.ok() && head->head().file == file.index)))
      verdict.problems.push_back(link.error().text());
    links.push_back(link.ok() ? std::move(*link) : AuditLink());
  }
  for (std::size_t i = 0; i < files->size(); ++i) {
    const AuditFile& file = (*files)[i];
    // An entry that has to be in this file: the one that the next file, or the head, names.
    std::string expected = i + 1 < links.size() ? links[i + 1].hash : std::string();
    if (head.ok() && head->head().file == file.index && head->head().number > 0) expected = head->head().hash;
    Result<oob::JournalVerdict> read = oob::verify_journal(file.path, expected);
    if (!read.ok()) return read.error();
    if (read->entries > 0)
      verify_link(file, links[i], before ? &*before : nullptr, i == 0 ? 0 : links[i - 1].base, verdict);
    for (const std::string& problem : read->problems)
      verdict.problems.push_back(fmt::format("{}: {}", file_name(file), problem));
    for (const std::string& note : read->notes) verdict.notes.push_back(fmt::format("{}: {}", file_name(file), note));
    if (read->entries > 0) verdict.head = read->head;
    verdict.files += 1;
    verdict.entries += read->entries;
    before = std::move(*read);
  }
  const bool has_file = head.ok() && std::any_of(files->begin(), files->end(), [&](const AuditFile& file) {
                          return file.index == head->head().file;
                        });
  if (head.ok() && head->head().number > 0 && !has_file) {
    verdict.problems.push_back(fmt::format("{} is missing, and audit.head names an entry of it",
                                           file_name({0, audit_file_path(folder, head->head().file)})));
  }
  return verdict;
}

}  // namespace weft::access
