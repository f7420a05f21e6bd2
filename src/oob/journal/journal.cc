#include "oob/journal/journal.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/enum_names.h"
#include "base/hash.h"
#include "base/human_format.h"
#include "lazy/crypto.h"
#include "oob/durable/file.h"
#include "oob/durable/group_commit.h"
#include "oob/journal/line.h"
#include "oob/journal/scan.h"

namespace weft::oob {
namespace {

constexpr std::array<std::string_view, 6> kPhases = {"begin", "intent", "seen", "outcome", "end", "note"};

// An entry that waits to be written.
struct Pending {
  JournalEntry entry{};
  std::string middle{};
  Status status{};
};

Result<std::vector<JournalEntry>> read_entries(const std::string& path) {
  const Result<FileDescriptor> file = open_file(path, O_RDONLY);
  if (!file.ok()) return file.error();
  const Result<std::uint64_t> size = settled_size(file.value(), path);
  if (!size.ok()) return size.error();
  std::vector<JournalEntry> entries;
  JournalScan scan;
  scan.on_entry = [&](JournalLine&& line) { entries.push_back(std::move(line.entry)); };
  Status scanned = scan_file(file.value(), size.value(), path, scan);
  if (!scanned.ok()) return scanned.error();
  if (!scan.problems().empty()) return Error{ErrorCode::invalid_input, scan.problems().front(), path};
  return entries;
}

class ReadOnlyJournal final : public Journal {
 public:
  explicit ReadOnlyJournal(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] Status append(JournalEntry /*entry*/) override {
    return Error{ErrorCode::refused, "cannot be written: nothing was sent", path_};
  }
  [[nodiscard]] Result<std::vector<JournalEntry>> read() const override {
    Result<std::vector<JournalEntry>> entries = read_entries(path_);
    if (!entries.ok() && entries.error().code == ErrorCode::not_found) return std::vector<JournalEntry>{};
    return entries;
  }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::string head() const override { return {}; }

 private:
  std::string path_;
};

class FileJournal final : public Journal {
 public:
  FileJournal(std::string path, std::string who, Clock& clock, std::function<void(const JournalEntry&)> on_append,
              FileDescriptor file, std::optional<JournalAnchor> anchor)
      : path_(std::move(path)),
        who_(std::move(who)),
        clock_(clock),
        on_append_(std::move(on_append)),
        file_(std::move(file)),
        anchor_(std::move(anchor)),
        group_([this](const std::vector<Pending*>& batch) { commit(batch); }) {}

  // Finds the end of the chain and repairs what a crash left there.
  [[nodiscard]] Status begin() {
    Status locked = lock(file_, LockKind::exclusive, path_, kLockLimit);
    if (!locked.ok()) return locked;
    const HeldLock held(file_);
    const Result<struct stat> info = stat_of(file_, path_);
    if (!info.ok()) return info.error();
    if (!S_ISREG(info->st_mode)) return Error{ErrorCode::invalid_input, "is not a regular file", path_};
    if (::fchmod(file_.get(), info->st_mode & 0700U) != 0) return file_error(errno, "change the mode", path_);
    Result<ChainPlace> end = find_chain_end(file_, static_cast<std::uint64_t>(info->st_size), path_);
    if (!end.ok()) return end.error();
    set_place(std::move(end).value());
    Status settled = settle();
    if (settled.ok()) settled = sync_file(file_, path_);
    if (settled.ok() && anchor_ && !anchored_) write_anchor();  // a new one: trusted from here on
    return settled;
  }

  [[nodiscard]] Status reserve(std::uint64_t bytes) override {
    const Result<struct stat> info = stat_of(file_, path_);
    if (!info.ok()) return info.error();
    // Behind the end of the file, whose size does not change.
    while (::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, info->st_size, static_cast<off_t>(bytes)) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOSYS) return {};
      if (errno != EINTR) return file_error(errno, "reserve space", path_);
    }
    return {};
  }

  [[nodiscard]] Status append(JournalEntry entry) override {
    Pending pending;
    pending.entry = std::move(entry);
    pending.entry.who = who_;
    pending.middle = line_middle(pending.entry);
    // Headroom for the number, the time and the two hashes.
    if (pending.middle.size() + 512 > kMaxJournalLine)
      return Error{ErrorCode::invalid_input, "an entry is longer than a journal's line may be", path_};
    group_.submit(pending);
    return std::move(pending.status);
  }

  [[nodiscard]] Result<std::vector<JournalEntry>> read() const override { return read_entries(path_); }

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] std::string head() const override {
    const std::lock_guard guard(head_mutex_);
    return place_.hash;
  }

 private:
  [[nodiscard]] Error damaged(std::string_view why) const {
    return {ErrorCode::conflict,
            fmt::format("{}; nothing was written: keep the file, look at it with `weft oob journal --verify`, and move "
                        "it aside to begin a new one",
                        why),
            path_};
  }
  // Under the lock. The anchor never leads, so a journal that ends before it was cut.
  [[nodiscard]] Status check_anchor() {
    if (!anchor_) return {};
    const Result<std::optional<AnchorPoint>> kept = anchor_->point();
    if (!kept.ok()) return kept.error();
    anchored_ = kept->has_value();
    if (!anchored_) return {};
    const AnchorPoint& point = **kept;
    if (point.number < place_.number || (point.number == place_.number && point.hash == place_.hash)) return {};
    return Error{ErrorCode::conflict,
                 fmt::format("ends with entry {}, but {} has entry {}: entries were removed, or an older copy was put "
                             "back; nothing was written: look at it with `weft oob journal --verify`, keep both files, "
                             "and move them aside to begin new ones",
                             place_.number, anchor_->path(), point.number),
                 path_};
  }
  // Lags if it fails, which is no harm: the next entry tries again.
  void write_anchor() { (void)anchor_->write({place_.number, place_.hash}); }

  void set_place(ChainPlace place) {
    const std::lock_guard guard(head_mutex_);
    place_ = std::move(place);
  }

  // Reads what was appended since the last call. `repair`: what must be written before the next entry.
  [[nodiscard]] Status catch_up(std::string& repair) {
    repair.clear();
    const Result<struct stat> info = stat_of(file_, path_);
    if (!info.ok()) return info.error();
    if (!is_same_file(info.value(), path_)) return damaged("the file was moved or removed while in use");
    const auto size = static_cast<std::uint64_t>(info->st_size);
    if (size < place_.offset) return damaged("the file was cut while in use");
    if (size == place_.offset) return {};
    JournalScan scan(place_);
    Status scanned = scan_file(file_, size, path_, scan);
    if (!scanned.ok()) return scanned;
    if (!scan.problems().empty()) return damaged("its end was altered, or is not a journal's");
    set_place(scan.place());
    if (scan.ends_whole()) {
      repair = "\n";
    } else if (!scan.torn().empty()) {
      JournalEntry note;
      note.who = who_;
      note.operation = std::string(16, '0');
      note.verb = kTornVerb;
      note.detail = Value::map().set("bytes", scan.torn().size()).set("sha256", sha256(scan.torn()));
      std::string hash;
      repair = scan.ends_open() ? "\n" : "";
      repair += make_line(place_.number + 1, format_utc(clock_.wall_ms()), line_middle(note), place_.hash, hash) + "\n";
    }
    return {};
  }

  void commit(const std::vector<Pending*>& batch) {
    Status status = try_commit(batch);
    if (status.ok()) return;
    for (Pending* pending : batch) {
      if (pending->entry.hash.empty()) pending->status = status;
    }
  }

  // Entries whose lines are on disk have their hash set; the others do not.
  [[nodiscard]] Status try_commit(const std::vector<Pending*>& batch) {
    if (broken_) return Error{ErrorCode::unavailable, "cannot be synced; nothing more is written to it", path_};
    Status status = lock(file_, LockKind::exclusive, path_, kLockLimit);
    if (!status.ok()) return status;
    const HeldLock held(file_);
    status = settle();
    if (!status.ok()) return status;
    std::vector<std::size_t> ends;
    const std::string lines = make_lines(batch, ends);
    const Written written = write_all(file_.get(), lines);
    Status synced = sync_file(file_, path_);
    if (!synced.ok()) {
      // After a failed fsync the kernel may drop the dirty pages: a later fsync that succeeds proves nothing.
      broken_ = true;
      for (Pending* pending : batch) pending->entry.hash.clear();
      return synced;
    }
    accept(batch, ends, written.bytes);
    if (anchor_) write_anchor();
    return written.error == 0 ? Status() : Status(file_error(written.error, "write", path_));
  }

  // Catches up with other processes and repairs what a crashed one may have left.
  [[nodiscard]] Status settle() {
    std::string repair;
    // If only a line end was missing, another pass (and possibly a note) is needed.
    for (int round = 0; round < 3; ++round) {
      Status caught = catch_up(repair);
      if (!caught.ok()) return caught;
      if (repair.empty()) return check_anchor();
      const Written written = write_all(file_.get(), repair);
      if (written.error != 0) return file_error(written.error, "write", path_);
    }
    return damaged("its end cannot be closed");
  }

  std::string make_lines(const std::vector<Pending*>& batch, std::vector<std::size_t>& ends) {
    std::string lines;
    ends.reserve(batch.size());
    const std::string time = format_utc(clock_.wall_ms());
    std::uint64_t number = place_.number;
    std::string previous = place_.hash;
    for (Pending* pending : batch) {
      JournalEntry& entry = pending->entry;
      entry.number = ++number;
      entry.time = time;
      lines += make_line(number, time, pending->middle, previous, entry.hash);
      lines += '\n';
      previous = entry.hash;
      ends.push_back(lines.size());
    }
    return lines;
  }

  void accept(const std::vector<Pending*>& batch, const std::vector<std::size_t>& ends, std::size_t written) {
    ChainPlace place = place_;
    const std::uint64_t start = place.offset;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      JournalEntry& entry = batch[i]->entry;
      if (ends[i] > written) {
        entry.hash.clear();
        continue;
      }
      place = {start + ends[i], entry.number, 0, entry.hash};
      if (on_append_) on_append_(entry);
    }
    set_place(std::move(place));
  }

  std::string path_;
  std::string who_;
  Clock& clock_;
  std::function<void(const JournalEntry&)> on_append_;
  FileDescriptor file_;
  std::optional<JournalAnchor> anchor_;
  bool anchored_ = false;          // the anchor had a point when it was last read
  mutable std::mutex head_mutex_;  // the position is changed by the thread that leads a commit, and read by head()
  ChainPlace place_;
  bool broken_ = false;
  GroupCommit<Pending> group_;
};

}  // namespace

Result<std::unique_ptr<Journal>> open_journal(const std::string& path, std::string who, Clock& clock,
                                              std::function<void(const JournalEntry&)> on_append,
                                              const std::string& anchor) {
  Status folders = make_folders_above(path);
  if (!folders.ok()) return folders.error();
  Result<FileDescriptor> file = open_file(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.ok()) return file.error();
  std::optional<JournalAnchor> kept;
  if (!anchor.empty()) {
    if (Result<JournalAnchor> opened = JournalAnchor::open(anchor); opened.ok())
      kept.emplace(std::move(opened).value());
  }
  auto journal = std::make_unique<FileJournal>(path, std::move(who), clock, std::move(on_append),
                                               std::move(file).value(), std::move(kept));
  Status begun = journal->begin();
  if (!begun.ok()) return begun.error();
  Status synced = sync_folder_of(path);
  if (!synced.ok()) return synced.error();
  return std::unique_ptr<Journal>(std::move(journal));
}

std::unique_ptr<Journal> open_journal_read_only(const std::string& path) {
  return std::make_unique<ReadOnlyJournal>(path);
}

std::vector<OpenOperation> open_operations(const std::vector<JournalEntry>& entries) {
  std::vector<OpenOperation> operations;
  std::unordered_map<std::string, std::size_t> open;
  for (const JournalEntry& entry : entries) {
    if (entry.phase == Phase::begin) {
      if (open.try_emplace(entry.operation, operations.size()).second)
        operations.push_back({entry.operation, entry.verb, {}});
    }
    const auto found = open.find(entry.operation);
    if (found == open.end()) continue;
    if (entry.phase == Phase::end) {
      operations[found->second].operation.clear();  // ended
      operations[found->second].entries.clear();
      open.erase(found);
    } else {
      operations[found->second].entries.push_back(entry);
    }
  }
  std::erase_if(operations, [](const OpenOperation& operation) { return operation.operation.empty(); });
  return operations;
}

std::string new_operation_id() {
  std::array<unsigned char, 8> bytes{};
  CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1, "the system has no random numbers");
  std::string text;
  text.reserve(2 * bytes.size());
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string_view to_text(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

std::optional<Phase> phase_named(std::string_view text) { return find_enum<Phase>(kPhases, text); }

Status MemoryJournal::append(JournalEntry entry) {
  const std::lock_guard guard(mutex_);
  entry.number = entries_.size() + 1;
  entries_.push_back(std::move(entry));
  return {};
}

Result<std::vector<JournalEntry>> MemoryJournal::read() const {
  const std::lock_guard guard(mutex_);
  return entries_;
}

}  // namespace weft::oob
