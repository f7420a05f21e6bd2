#include "oob/credentials/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "oob/credentials/book.h"
#include "oob/credentials/log.h"
#include "oob/durable/file.h"
#include "oob/durable/group_commit.h"
#include "oob/durable/permissions.h"
#include "oob/journal/journal.h"

namespace weft::oob {
namespace {

constexpr std::uint64_t kMaxBytes = 64U << 20U;  // a million devices need less

// Anyone who can read or replace the file knows every password in it.
Status check_privacy(const struct stat& info, const std::string& path) {
  if (!S_ISREG(info.st_mode)) return Error{ErrorCode::invalid_input, "is not a regular file", path};
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return Error{ErrorCode::refused, "belongs to another user: passwords are read only from a file of one's own", path};
  if ((info.st_mode & 077U) != 0)
    return Error{
        ErrorCode::refused,
        fmt::format("others than its owner may use it (mode {:04o}): chmod 600 {}", info.st_mode & 07777U, path), path};
  return {};
}

// A symlink created by another user could point anywhere.
Status check_link(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return file_error(errno, "read", path);
  if (S_ISLNK(info.st_mode) && info.st_uid != ::geteuid() && info.st_uid != 0)
    return Error{ErrorCode::refused, "is a link that another user made", path};
  return {};
}

struct Put {
  const std::string* device = nullptr;
  const Credential* credential = nullptr;
  Status status{};
};

class FileCredentials final : public CredentialStore {
 public:
  FileCredentials(std::string shown, std::string path)
      : shown_(std::move(shown)),
        path_(std::move(path)),
        group_([this](const std::vector<Put*>& batch) { commit(batch); }) {}

  ~FileCredentials() override {
    if (!wrote_ || broken_) return;
    // If this fails, the side log stays and is read along with the file.
    if (!lock(lock_, LockKind::exclusive, lock_path(), kLockLimit).ok()) return;
    const HeldLock held(lock_);
    if (refresh().ok()) (void)merge();
    log_.close();  // under the lock: the next process to close must not find it locked by one that is exiting
  }

  [[nodiscard]] Status begin() {
    struct stat info {};
    if (::stat(path_.c_str(), &info) == 0) {
      if (Status fine = check_privacy(info, shown_); !fine.ok()) return fine;
    }
    // Who may write to a folder above may put another file in its place.
    if (Status own = check_only_owner_writes(path_); !own.ok()) return own;
    // In a read-only folder there is no lock, and no writer either.
    Result<FileDescriptor> opened = open_file(lock_path(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!opened.ok()) return load();
    lock_ = std::move(opened).value();
    Status status = lock(lock_, LockKind::exclusive, lock_path(), kLockLimit);
    if (!status.ok()) return status;
    const HeldLock held(lock_);
    writable_ = ::access(folder_of(path_).c_str(), W_OK) == 0;
    status = load();
    // Merges the log of a process that died; if that fails, file and log are read together.
    if (status.ok() && writable_ && log_.ok()) (void)merge();
    return status;
  }

  [[nodiscard]] Result<Credential> find(const std::string& device, const std::string& group) const override {
    const std::shared_lock guard(mutex_);
    if (const Credential* found = book_.find(device, group); found != nullptr) return *found;
    return Error{ErrorCode::not_found, fmt::format("{} has no credential for it, and no default", name()), device};
  }
  [[nodiscard]] bool has_own(const std::string& device) const override {
    const std::shared_lock guard(mutex_);
    return book_.own(device) != nullptr;
  }
  [[nodiscard]] Status put(const std::string& device, const Credential& credential) override {
    if (!writable_) return Error{ErrorCode::refused, "the folder cannot be written", shown_};
    Status fine = check_entry(device, credential);
    if (!fine.ok()) return fine;
    Put item{&device, &credential};
    group_.submit(item);
    return std::move(item.status);
  }
  [[nodiscard]] bool writable() const override { return writable_; }
  [[nodiscard]] std::string name() const override { return "file:" + shown_; }

  [[nodiscard]] Result<std::shared_ptr<void>> hold() override {
    Result<FileDescriptor> file = open_file(path_ + ".hold", O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (!file.ok()) return file.error();
    Status held = lock(file.value(), LockKind::exclusive, path_ + ".hold", Duration(0));
    if (!held.ok())
      return Error{ErrorCode::conflict, "another weft is changing passwords of this store: wait for it to end", shown_};
    return std::shared_ptr<void>(std::make_shared<FileDescriptor>(std::move(file).value()));
  }

 private:
  // The rest runs under the lock (or without one if the folder is read-only).
  [[nodiscard]] std::string lock_path() const { return path_ + ".lock"; }
  [[nodiscard]] std::string log_path() const { return path_ + ".new"; }

  [[nodiscard]] Status load() {
    const Result<FileDescriptor> file = open_file(path_, O_RDONLY);
    if (!file.ok()) return file.error();
    const Result<struct stat> info = stat_of(file.value(), shown_);
    if (!info.ok()) return info.error();
    if (Status fine = check_privacy(info.value(), shown_); !fine.ok()) return fine;
    if (static_cast<std::uint64_t>(info->st_size) > kMaxBytes)
      return Error{ErrorCode::invalid_input, "is too large", shown_};
    Result<std::string> text = read_at(file.value(), 0, static_cast<std::size_t>(info->st_size), shown_);
    if (!text.ok()) return text.error();
    Result<CredentialBook> book = read_credential_book(shown_, std::move(text).value());
    if (!book.ok()) return book.error();
    {
      const std::unique_lock guard(mutex_);
      book_ = std::move(book).value();
    }
    seen_ = info.value();
    log_.close();
    log_id_.clear();
    log_size_ = 0;
    return load_log();
  }

  [[nodiscard]] Status load_log() {
    Result<FileDescriptor> file = open_file(log_path(), (writable_ ? O_RDWR | O_APPEND : O_RDONLY) | O_NOFOLLOW);
    if (!file.ok() && file.error().code == ErrorCode::not_found) return {};
    if (!file.ok()) return file.error();
    const Result<struct stat> info = stat_of(file.value(), log_path());
    if (!info.ok()) return info.error();
    if (Status fine = check_privacy(info.value(), log_path()); !fine.ok()) return fine;
    log_ = std::move(file).value();
    // Locked while it is written to, so that no other process removes it.
    if (writable_) {
      if (Status held = lock(log_, LockKind::shared, log_path(), kLockLimit); !held.ok()) return held;
    }
    return read_log();
  }

  // Continues reading where the last call ended.
  [[nodiscard]] Status read_log() {
    const Result<struct stat> info = stat_of(log_, log_path());
    if (!info.ok()) return info.error();
    const auto size = static_cast<std::uint64_t>(info->st_size);
    if (size < log_size_ || size > kMaxBytes)
      return Error{ErrorCode::conflict, "was changed by something else than weft", log_path()};
    if (size == log_size_ && !log_id_.empty()) return {};
    const Result<std::string> text = read_at(log_, log_size_, static_cast<std::size_t>(size - log_size_), log_path());
    if (!text.ok()) return text.error();
    Result<CredentialLog> log = read_credential_log(log_path(), text.value(), log_id_);
    if (!log.ok()) return log.error();
    if (log->id.empty() || log->id == book_.log) return drop_log();
    log_id_ = log->id;
    log_size_ += log->good;
    // Drops what a crash truncated, so the next line starts at a line boundary.
    if (writable_ && log_size_ < size && ::ftruncate(log_.get(), static_cast<off_t>(log_size_)) != 0)
      return file_error(errno, "write", log_path());
    const std::unique_lock guard(mutex_);
    for (auto& [device, credential] : log->entries) book_.devices.insert_or_assign(device, std::move(credential));
    return {};
  }

  // Empty, or already in the file: its writer died between the last two steps of merge().
  [[nodiscard]] Status drop_log() {
    log_.close();
    if (!writable_) return {};
    if (::unlink(log_path().c_str()) != 0 && errno != ENOENT) return file_error(errno, "remove", log_path());
    return {};
  }

  [[nodiscard]] bool file_changed() const {
    struct stat now {};
    if (::stat(path_.c_str(), &now) != 0) return true;
    return now.st_ino != seen_.st_ino || now.st_dev != seen_.st_dev || now.st_size != seen_.st_size ||
           now.st_mtim.tv_sec != seen_.st_mtim.tv_sec || now.st_mtim.tv_nsec != seen_.st_mtim.tv_nsec;
  }

  // Reads what other processes wrote since.
  [[nodiscard]] Status refresh() {
    if (file_changed()) return load();
    if (!log_.ok()) return load_log();
    const Result<struct stat> info = stat_of(log_, log_path());
    if (!info.ok()) return info.error();
    return is_same_file(info.value(), log_path()) ? read_log() : load();
  }

  [[nodiscard]] Status begin_log() {
    if (log_.ok()) return {};
    Result<FileDescriptor> file = open_file(log_path(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (!file.ok()) return file.error();
    log_ = std::move(file).value();
    Status status = lock(log_, LockKind::shared, log_path(), kLockLimit);
    log_id_ = new_operation_id();
    const std::string opening = log_opening(log_id_);
    if (status.ok()) {
      const Written written = write_all(log_.get(), opening);
      if (written.error != 0) status = file_error(written.error, "write", log_path());
    }
    if (status.ok()) status = sync_file(log_, log_path());
    if (status.ok()) status = sync_folder_of(log_path());
    log_size_ = opening.size();
    if (!status.ok()) {
      log_.close();
      (void)::unlink(log_path().c_str());
    }
    return status;
  }

  void commit(const std::vector<Put*>& batch) {
    Status status = try_commit(batch);
    if (status.ok()) return;
    for (Put* item : batch) {
      if (item->status.ok()) item->status = status;
    }
  }

  [[nodiscard]] Status try_commit(const std::vector<Put*>& batch) {
    if (broken_) return Error{ErrorCode::unavailable, "cannot be synced; nothing more is written to it", log_path()};
    Status status = lock(lock_, LockKind::exclusive, lock_path(), kLockLimit);
    if (!status.ok()) return status;
    const HeldLock held(lock_);
    std::vector<std::optional<Credential>> before;
    before.reserve(batch.size());
    for (const Put* item : batch) before.push_back(own(*item->device));
    status = refresh();
    if (status.ok()) status = begin_log();
    if (!status.ok()) return status;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::optional<Credential> now = own(*batch[i]->device);
      if (now.has_value() != before[i].has_value() || (now && !same(*now, *before[i])))
        batch[i]->status =
            Error{ErrorCode::conflict, "another process changed its credential at the same time", *batch[i]->device};
    }
    return write_batch(batch);
  }

  [[nodiscard]] Status write_batch(const std::vector<Put*>& batch) {
    std::string lines;
    for (const Put* item : batch) {
      if (item->status.ok()) lines += log_line(log_id_, *item->device, *item->credential);
    }
    const Written written = write_all(log_.get(), lines);
    if (written.error != 0) {
      // None of these was acknowledged. If the truncation fails too, the next reader drops incomplete lines.
      (void)!::ftruncate(log_.get(), static_cast<off_t>(log_size_));
      return file_error(written.error, "write", log_path());
    }
    if (Status synced = sync_file(log_, log_path()); !synced.ok()) {
      broken_ = true;
      return synced;
    }
    log_size_ += lines.size();
    wrote_ = true;
    const std::unique_lock guard(mutex_);
    for (const Put* item : batch) {
      if (item->status.ok()) book_.devices.insert_or_assign(*item->device, *item->credential);
    }
    return {};
  }

  // Merges the log into the file, unless another process still writes to it: then that one will.
  [[nodiscard]] Status merge() {
    if (!log_.ok()) return {};
    if (!lock(log_, LockKind::exclusive, log_path(), Duration(0)).ok())
      return lock(log_, LockKind::shared, log_path(), kLockLimit);
    CredentialBook book = book_;
    book.log = log_id_;
    Result<std::string> text = write_credential_book(book);
    if (!text.ok()) return text.error();
    Status replaced = replace_file(path_, text.value());
    if (!replaced.ok()) return replaced;
    // From here on the file records that it contains the log: a crash now only leaves a file to remove.
    if (::unlink(log_path().c_str()) != 0) return file_error(errno, "remove", log_path());
    if (Status synced = sync_folder_of(path_); !synced.ok()) return synced;
    return load();
  }

  [[nodiscard]] std::optional<Credential> own(const std::string& device) const {
    const std::shared_lock guard(mutex_);
    const Credential* found = book_.own(device);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }

  std::string shown_;  // as given by the user
  std::string path_;   // with symlinks resolved
  FileDescriptor lock_;
  bool writable_ = false;
  bool wrote_ = false;
  bool broken_ = false;
  struct stat seen_ {};
  FileDescriptor log_;
  std::string log_id_;
  std::uint64_t log_size_ = 0;       // bytes of it that were read
  mutable std::shared_mutex mutex_;  // guards the book: find() and put() are called from many threads
  CredentialBook book_;
  GroupCommit<Put> group_;
};

}  // namespace

Result<std::unique_ptr<CredentialStore>> open_credentials_file(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{ErrorCode::invalid_input, "is not a file name", "credentials"};
  if (Status fine = check_link(path); !fine.ok()) return fine.error();
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr) return file_error(errno, "read", path);
  auto store = std::make_unique<FileCredentials>(path, real.get());
  if (Status begun = store->begin(); !begun.ok()) return begun.error();
  return std::unique_ptr<CredentialStore>(std::move(store));
}

}  // namespace weft::oob
