#include "access/audit/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <utility>

#include "oob/durable/file.h"
#include "oob/durable/private_folder.h"

namespace weft::access {
namespace {

constexpr Duration kRetryPause = milliseconds(1'000);  // between two attempts to begin a new file

std::string name_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

Error refuse(const std::string& folder, const std::string& why) {
  return {
      ErrorCode::conflict,
      fmt::format("{}; nothing was written. Restore the folder from a backup, or, to begin a new audit log, move it "
                  "aside and keep it as evidence",
                  why),
      folder};
}

}  // namespace

AuditLog::AuditLog(AuditOptions options, oob::Clock& clock, FileDescriptor lock, HeadFile head)
    : options_(std::move(options)), clock_(clock), lock_(std::move(lock)), head_(std::move(head)) {
  if (!options_.make_id) options_.make_id = &oob::new_operation_id;
}

AuditLog::~AuditLog() = default;

Result<std::unique_ptr<AuditLog>> AuditLog::open(AuditOptions options, oob::Clock& clock) {
  if (Status made = oob::make_private_folder(options.folder); !made.ok()) return made.error();
  Result<FileDescriptor> lock =
      oob::lock_file(options.folder + "/audit.lock", fmt::format("{} (process {})", options.server, ::getpid()));
  if (!lock.ok()) return lock.error();
  Result<std::vector<AuditFile>> files = find_audit_files(options.folder);
  if (!files.ok()) return files.error();
  const std::string head_path = audit_head_path(options.folder, options.head_path);
  Result<HeadFile> head = HeadFile::open(head_path, false);
  if (!head.ok() && head.error().code == ErrorCode::not_found) {
    if (!files->empty()) return refuse(options.folder, fmt::format("{} is missing", head_path));
    head = HeadFile::open(head_path, true);
  }
  if (!head.ok()) {
    return head.error().code == ErrorCode::conflict ? refuse(options.folder, head.error().text()) : head.error();
  }
  std::unique_ptr<AuditLog> log(
      new AuditLog(std::move(options), clock, std::move(lock).value(), std::move(head).value()));
  if (Status checked = log->check_head(*files); !checked.ok()) return checked.error();
  // A file that was made just before a crash, without its first entry.
  if (!files->empty() && files->back().index > log->head_.head().file && !read_audit_link(files->back()).ok()) {
    const std::string& path = files->back().path;
    if (std::rename(path.c_str(), (path + ".incomplete").c_str()) != 0) return file_error(errno, "rename", path);
    files->pop_back();
  }
  const Status opened = log->open_file(files->empty() ? 1 : files->back().index);
  if (!opened.ok()) return opened.error();
  if (log->options_.syslog) {
    oob::SyslogOptions syslog;
    syslog.target = *log->options_.syslog;
    syslog.ca_file = log->options_.syslog_ca;
    log->export_ = std::make_unique<AuditExport>(log->options_.folder, syslog);
  }
  return log;
}

// The entry that audit.head names has to be in the log. Later ones may be there too: the head is not synced.
Status AuditLog::check_head(const std::vector<AuditFile>& files) const {
  const AuditHead& head = head_.head();
  if (head.number == 0) return {};
  const std::string path = audit_file_path(options_.folder, head.file);
  const AuditFile* file = nullptr;
  for (const AuditFile& each : files) {
    if (each.index == head.file) file = &each;
  }
  if (file == nullptr) {
    return refuse(options_.folder,
                  fmt::format("{} is missing, and audit.head names entry {} of it", name_of(path), head.number));
  }
  const Result<std::string> hash = find_audit_hash(*file, head.number);
  if (!hash.ok()) return hash.error();
  if (*hash == head.hash) return {};
  return refuse(options_.folder,
                hash->empty() ? fmt::format("the audit log was cut: {} has no entry {}, which audit.head names",
                                            name_of(path), head.number)
                              : fmt::format("the audit log was replaced or altered: entry {} of {} is not the one that "
                                            "audit.head names",
                                            head.number, name_of(path)));
}

// An existing file, or the first one.
Status AuditLog::open_file(std::uint64_t index) {
  const std::string path = audit_file_path(options_.folder, index);
  Result<std::unique_ptr<oob::Journal>> journal = oob::open_journal(
      path, options_.server, clock_, [this, index](const oob::JournalEntry& entry) { on_append(entry, index); });
  if (!journal.ok()) {
    return journal.error().code == ErrorCode::conflict ? refuse(options_.folder, journal.error().text())
                                                       : journal.error();
  }
  AuditHead head = head_.head();
  if (index > head.file) {
    const Result<AuditLink> link = read_audit_link({index, path});
    if (!link.ok()) return link.error();
    head = {index, link->base, 0, {}};
    if (Status written = head_.write(head); !written.ok()) return written;
  }
  journal_ = std::move(journal).value();
  file_ = index;
  return {};
}

// The next file: its first entry names the last one of the file before. Until that entry is on disk, the log goes on
// without the file.
Status AuditLog::start_file(std::uint64_t index, std::string_view why) {
  const AuditHead last = head();
  const std::string path = audit_file_path(options_.folder, index);
  // What an earlier attempt left there was never accepted.
  (void)std::remove(path.c_str());
  Result<std::unique_ptr<oob::Journal>> journal = oob::open_journal(
      path, options_.server, clock_, [this, index](const oob::JournalEntry& entry) { on_append(entry, index); });
  if (!journal.ok()) return journal.error();
  oob::JournalEntry entry;
  entry.operation = options_.make_id();
  entry.phase = oob::Phase::note;
  entry.verb = kLogContinued;
  entry.detail = Value::map()
                     .set("reason", why)
                     .set("before", Value::map()
                                        .set("file", name_of(audit_file_path({}, last.file)))
                                        .set("entries", last.base + last.number)
                                        .set("number", last.number)
                                        .set("hash", last.hash));
  if (Status appended = (*journal)->append(std::move(entry)); !appended.ok()) {
    (void)std::remove(path.c_str());
    return appended;
  }
  journal_ = std::move(journal).value();
  file_ = index;
  const std::lock_guard guard(head_mutex_);
  return head_.sync();
}

void AuditLog::on_append(const oob::JournalEntry& entry, std::uint64_t file) {
  const std::lock_guard guard(head_mutex_);
  AuditHead head = head_.head();
  if (file > head.file) head.base += head.number;
  head.file = file;
  head.number = entry.number;
  head.hash = entry.hash;
  const Status written = head_.write(head);
  head_problem_ = written.ok() ? std::string() : written.error().text();
  if (export_) export_->wake();
}

void AuditLog::rotate(std::uint64_t from, std::string_view why) {
  const std::unique_lock guard(file_mutex_);
  if (file_ != from) return;  // another thread did
  const Duration now = clock_.now();
  if (has_retried_ && now - last_retry_ < kRetryPause) return;
  const Status started = start_file(from + 1, why);
  has_retried_ = !started.ok();
  last_retry_ = now;
}

Status AuditLog::append(oob::JournalEntry entry) {
  Status status;
  std::uint64_t file = 0;
  const auto attempt = [&] {
    const std::shared_lock guard(file_mutex_);
    file = file_;
    status = journal_->append(entry);
  };
  attempt();
  // After a failed sync a journal writes nothing more, since what is on disk is unknown: a new file does.
  if (!status.ok() && status.error().code == ErrorCode::unavailable) {
    const std::uint64_t failed = file;
    rotate(failed, "the file before could not be synced");
    bool is_new = false;
    {
      const std::shared_lock guard(file_mutex_);
      is_new = file_ != failed;
    }
    if (is_new) attempt();
  }
  if (status.ok()) {
    std::error_code code;
    const std::uintmax_t size = std::filesystem::file_size(audit_file_path(options_.folder, file), code);
    if (!code && size >= options_.max_bytes) rotate(file, "the file before is full");
  }
  const std::lock_guard guard(head_mutex_);
  if (status.ok() && !head_problem_.empty())
    status = Error{ErrorCode::unavailable, "the head of the audit log: " + head_problem_, {}};
  problem_ = status.ok() ? std::string() : status.error().text();
  return status;
}

Result<AuditTicket> AuditLog::begin(const AuditIntent& intent) {
  AuditTicket ticket{options_.make_id(), intent};
  ticket.intent.body = {};
  ticket.intent.members.clear();
  Status status = append(journal_entry(intent, ticket.request));
  if (!status.ok()) return status.error();
  return ticket;
}

Status AuditLog::finish(const AuditTicket& ticket, const AuditOutcome& outcome) {
  return append(journal_entry(ticket.intent, outcome, ticket.request));
}

Status AuditLog::note(const AuditNote& note) { return append(journal_entry(note, options_.make_id())); }

AuditHead AuditLog::head() const {
  const std::lock_guard guard(head_mutex_);
  return head_.head();
}

std::string AuditLog::problem() const {
  const std::lock_guard guard(head_mutex_);
  return problem_;
}

std::string AuditLog::syslog_problem() const { return export_ ? export_->problem() : std::string(); }

}  // namespace weft::access
