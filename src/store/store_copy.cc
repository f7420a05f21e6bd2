#include "store/store_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/file_descriptor.h"
#include "store/store_directory.h"

namespace weft::store {
namespace {

constexpr int kMaxCopies = 20;  // a server restarts its log with every snapshot: every 20,000 records
constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kBuffer = 65536;

// What tells whether the pages of the database and those of the log belong together. A checkpoint moves pages from the
// log into the database; until the log starts again, which changes its header, the log has all of them too.
struct LogState {
  std::string header;  // "": there is no log
  std::int64_t database_changed = 0;
  friend bool operator==(const LogState&, const LogState&) = default;
};

Result<std::string> read_start(const std::string& path, std::size_t bytes) {
  const FileDescriptor file = open_descriptor(path, O_RDONLY);
  if (!file.ok() && errno == ENOENT) return std::string();
  if (!file.ok()) return file_error(errno, "open", path);
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::read(file.get(), text.data() + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error(errno, "read", path);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

Result<LogState> look_at_log(const std::string& directory) {
  Result<std::string> header = read_start(log_path(directory), kLogHeader);
  if (!header.ok()) return header.error();
  LogState state{std::move(header).value(), 0};
  struct stat info {};
  // With a log, checkpoints may change the database as they like.
  if (state.header.empty() && ::stat(database_path(directory).c_str(), &info) == 0)
    state.database_changed = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return state;
}

// A file that does not exist is not copied.
Status copy_file(const std::string& from, const std::string& to) {
  (void)::unlink(to.c_str());
  const FileDescriptor in = open_descriptor(from, O_RDONLY);
  if (!in.ok() && errno == ENOENT) return {};
  if (!in.ok()) return file_error(errno, "open", from);
  FileDescriptor out = open_descriptor(to, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (!out.ok()) return file_error(errno, "create", to);
  std::array<char, kBuffer> buffer{};
  for (;;) {
    const ssize_t count = ::read(in.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return file_error(errno, "read", from);
    if (count == 0) break;
    const Written written = write_all(out.get(), {buffer.data(), static_cast<std::size_t>(count)});
    if (written.error != 0) return file_error(written.error, "write", to);
  }
  return out.close() ? Status() : file_error(errno, "write", to);
}

Status copy_directory(const std::string& from, const std::string& to) {
  for (int attempt = 0; attempt < kMaxCopies; ++attempt) {
    // The marker first: it says up to where records were durable by then.
    if (Status copied = copy_file(Marker::path_in(from), Marker::path_in(to)); !copied.ok()) return copied;
    const Result<LogState> before = look_at_log(from);
    if (!before.ok()) return before.error();
    if (Status copied = copy_file(database_path(from), database_path(to)); !copied.ok()) return copied;
    if (Status copied = copy_file(log_path(from), log_path(to)); !copied.ok()) return copied;
    const Result<LogState> after = look_at_log(from);
    if (!after.ok()) return after.error();
    if (*before == *after) return {};
  }
  return Error{ErrorCode::unavailable, "cannot be copied: its server replaces the log all the time", from};
}

// Messages name the original: the user knows nothing of the copy.
Error rename_paths(Error error, const std::string& copy, const std::string& original) {
  for (std::string* text : {&error.message, &error.where}) {
    for (std::size_t at = text->find(copy); at != std::string::npos; at = text->find(copy, at + original.size()))
      text->replace(at, copy.size(), original);
  }
  return error;
}

}  // namespace

StoreCopy::StoreCopy(StoreCopy&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), store_(std::move(other.store_)) {}

StoreCopy::~StoreCopy() {
  store_.reset();
  std::error_code ignored;
  if (!folder_.empty()) (void)std::filesystem::remove_all(folder_, ignored);
}

Result<StoreCopy> StoreCopy::open(const std::string& directory, const std::string& fingerprint) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return file_error(errno, "open", directory);
  if (!S_ISDIR(info.st_mode)) return Error{ErrorCode::invalid_input, "is not a directory", directory};
  const Result<std::optional<std::uint64_t>> found = file_size(database_path(directory));
  if (!found.ok()) return found.error();
  if (!found->has_value()) return Error{ErrorCode::not_found, "there is no store in this directory", directory};
  const char* temporary = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): nothing changes the environment
  std::string pattern =
      fmt::format("{}/weft-journal-XXXXXX", temporary != nullptr && *temporary != '\0' ? temporary : "/tmp");
  if (::mkdtemp(pattern.data()) == nullptr) return file_error(errno, "create", pattern);
  StoreCopy copy(pattern);
  if (Status copied = copy_directory(directory, copy.folder_); !copied.ok()) return copied.error();
  Result<std::unique_ptr<SqliteStore>> opened = SqliteStore::open({copy.folder_, fingerprint, false});
  if (!opened.ok()) return rename_paths(opened.error(), copy.folder_, directory);
  copy.store_ = std::move(opened).value();
  return copy;
}

}  // namespace weft::store
