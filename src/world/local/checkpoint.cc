#include "world/local/checkpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unordered_set>

#include "base/check.h"
#include "base/file_descriptor.h"
#include "base/folder.h"
#include "base/text.h"
#include "lazy/crypto.h"

namespace weft::world {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kPrefix = "step-";
constexpr std::size_t kStepDigits = 12;
constexpr std::int64_t kMaxStep = 999'999'999'999;
constexpr std::string_view kManifest = "manifest.json";
constexpr std::int64_t kMaxManifestBytes = 16 << 20;

struct CheckpointFile {
  std::string path;
  std::int64_t bytes = 0;
  std::string sha256;
};

struct Manifest {
  CheckpointInfo info;
  std::vector<CheckpointFile> files;
};

Error rejection(std::string message) { return {ErrorCode::invalid_input, std::move(message), {}}; }

Error read_error(int code, std::string_view what) {
  const ErrorCode kind = code == ENOENT ? ErrorCode::not_found : ErrorCode::unavailable;
  if (code == ELOOP) return rejection(fmt::format("{} is a symbolic link", what));
  if (code == ENOENT) return {kind, fmt::format("{} is missing", what), {}};
  return {kind, fmt::format("cannot read {}: {}", what, std::generic_category().message(code)), {}};
}

FileDescriptor open_at(int folder, const std::string& name, int flags) {
  int fd = -1;
  do {
    fd = ::openat(folder, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW);  // NOLINT(cppcoreguidelines-pro-type-vararg)
  } while (fd < 0 && errno == EINTR);
  return FileDescriptor(fd);
}

// A regular file below `folder`, without following a link in any part of the path.
Result<FileDescriptor> open_below(int folder, const std::string& path) {
  FileDescriptor inner;
  const std::vector<std::string_view> parts = split(path, '/');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const int outer = inner.ok() ? inner.get() : folder;
    FileDescriptor next = open_at(outer, std::string(parts[i]), O_RDONLY | O_DIRECTORY);
    // A link where a folder is expected: ENOTDIR, like any other file.
    if (!next.ok()) return read_error(errno, path);
    inner = std::move(next);
  }
  // Without waiting: it may be a FIFO.
  FileDescriptor file = open_at(inner.ok() ? inner.get() : folder, std::string(parts.back()), O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return read_error(errno, path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return read_error(errno, path);
  if (!S_ISREG(info.st_mode)) return rejection(fmt::format("{} is not a regular file", path));
  return file;
}

Result<std::string> read_manifest(const FileDescriptor& file, std::int64_t bytes) {
  if (bytes > kMaxManifestBytes)
    return rejection(fmt::format("{} has {} bytes, more than {}", kManifest, bytes, kMaxManifestBytes));
  std::string text(static_cast<std::size_t>(bytes), '\0');
  std::size_t used = 0;
  while (used < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return read_error(errno, kManifest);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
  }
  text.resize(used);
  return text;
}

std::optional<std::int64_t> find_integer(const Json& object, const char* key, std::int64_t max) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned()) {
    const auto value = found->get<std::uint64_t>();
    return value <= static_cast<std::uint64_t>(max) ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  }
  const auto value = found->get<std::int64_t>();
  return value >= 0 && value <= max ? std::optional(value) : std::nullopt;
}

std::optional<std::string> find_string(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

bool is_digest(std::string_view text) {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
}

Result<CheckpointFile> parse_file(const Json& entry) {
  if (!entry.is_object()) return rejection("a file in the manifest is not an object");
  const std::optional<std::string> path = find_string(entry, "path");
  if (!path || !is_safe_relative_path(*path) || *path == kManifest)
    return rejection(fmt::format("the path '{}' in the manifest is not within the checkpoint", path.value_or("")));
  const std::optional<std::int64_t> bytes = find_integer(entry, "bytes", std::numeric_limits<std::int64_t>::max());
  const std::optional<std::string> digest = find_string(entry, "sha256");
  if (!bytes || !digest || !is_digest(*digest))
    return rejection(fmt::format("the manifest has no size or SHA-256 of {}", *path));
  return CheckpointFile{*path, *bytes, *digest};
}

Status parse_files(const Json& entries, Manifest& manifest) {
  std::unordered_set<std::string> paths;
  for (const Json& entry : entries) {
    Result<CheckpointFile> file = parse_file(entry);
    if (!file.ok()) return file.error();
    if (!paths.insert(file->path).second) return rejection(fmt::format("the manifest names {} twice", file->path));
    if (manifest.info.bytes > std::numeric_limits<std::int64_t>::max() - file->bytes)
      return rejection("the sizes in the manifest are out of range");
    manifest.info.bytes += file->bytes;
    manifest.files.push_back(std::move(file).value());
  }
  return {};
}

Result<Manifest> parse_manifest(const std::string& text) {
  const Json root = Json::parse(text, nullptr, false);  // without exceptions
  if (root.is_discarded() || !root.is_object()) return rejection("the manifest is torn or not JSON");
  if (find_integer(root, "format", 1) != 1) return rejection("the manifest has an unsupported format");
  Manifest manifest;
  const std::optional<std::int64_t> job = find_integer(root, "job", std::numeric_limits<std::int64_t>::max());
  const std::optional<std::int64_t> attempt =
      find_integer(root, "attempt", std::numeric_limits<control::AttemptNumber>::max());
  const std::optional<std::int64_t> step = find_integer(root, "step", kMaxStep);
  const auto files = root.find("files");
  if (!job || !attempt || !step || files == root.end() || !files->is_array())
    return rejection("the manifest lacks a job, attempt, step or list of files");
  manifest.info.attempt = {static_cast<control::JobNumber>(*job), static_cast<control::AttemptNumber>(*attempt)};
  manifest.info.step = *step;
  if (Status parsed = parse_files(*files, manifest); !parsed.ok()) return parsed.error();
  return manifest;
}

std::int64_t in_nanoseconds(std::int64_t seconds, std::int64_t nanoseconds) {
  return seconds * 1'000'000'000 + nanoseconds;
}

// The directory is created under its temporary name when the writer begins. Not all file systems keep that time.
Duration measure_write(int folder, std::int64_t written_ns) {
  struct statx info {};
  if (::statx(folder, "", AT_EMPTY_PATH, STATX_BTIME, &info) != 0 || (info.stx_mask & STATX_BTIME) == 0) return {};
  const std::int64_t begun = in_nanoseconds(info.stx_btime.tv_sec, info.stx_btime.tv_nsec);
  return Duration(std::max<std::int64_t>(written_ns - begun, 0));
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct OpenCheckpoint {
  FileDescriptor folder;
  Manifest manifest;
};

Result<OpenCheckpoint> open_checkpoint(const std::string& path) {
  OpenCheckpoint open;
  open.folder = open_descriptor(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!open.folder.ok()) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) return rejection("it is a symbolic link");
    return read_error(errno, "the directory");
  }
  const Result<FileDescriptor> file = open_below(open.folder.get(), std::string(kManifest));
  if (!file.ok()) return file.error();
  struct stat info {};
  if (::fstat(file->get(), &info) != 0) return read_error(errno, kManifest);
  const Result<std::string> text = read_manifest(*file, info.st_size);
  if (!text.ok()) return text.error();
  Result<Manifest> manifest = parse_manifest(*text);
  if (!manifest.ok()) return manifest.error();
  open.manifest = std::move(manifest).value();
  CheckpointInfo& checkpoint = open.manifest.info;
  checkpoint.path = path;
  checkpoint.name = last_part(path);
  if (parse_checkpoint_name(checkpoint.name) != checkpoint.step)
    return rejection(fmt::format("the manifest is of step {}", checkpoint.step));
  checkpoint.written_ns = in_nanoseconds(info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  checkpoint.took = measure_write(open.folder.get(), checkpoint.written_ns);
  return open;
}

std::string to_hex(const unsigned char* bytes, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) append_format(text, "{:02x}", bytes[i]);
  return text;
}

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

Result<std::string> digest_file(int file, const std::string& path) {
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  CHECK(context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1, "libcrypto has no SHA-256");
  std::vector<char> piece(1U << 20U);
  for (;;) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return read_error(errno, path);
    if (got == 0) break;
    CHECK(EVP_DigestUpdate(context.get(), piece.data(), static_cast<std::size_t>(got)) == 1, "SHA-256 failed");
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1, "SHA-256 failed");
  return to_hex(digest.data(), size);
}

Status verify_file(int folder, const CheckpointFile& expected) {
  const Result<FileDescriptor> file = open_below(folder, expected.path);
  if (!file.ok()) return file.error();
  struct stat info {};
  if (::fstat(file->get(), &info) != 0) return read_error(errno, expected.path);
  if (info.st_size != expected.bytes)
    return rejection(fmt::format("{} has {} bytes, the manifest says {}", expected.path, info.st_size, expected.bytes));
  const Result<std::string> digest = digest_file(file->get(), expected.path);
  if (!digest.ok()) return digest.error();
  if (*digest != expected.sha256) return rejection(fmt::format("the checksum of {} differs", expected.path));
  return {};
}

// Names of checkpoints in the directory of a job.
Result<std::vector<std::string>> list_names(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(directory.c_str()), &::closedir);
  if (folder == nullptr) {
    const int code = errno;
    const std::size_t slash = directory.rfind('/');
    const std::string volume = slash == std::string::npos || slash == 0 ? "/" : directory.substr(0, slash);
    struct stat info {};
    if (code == ENOENT && ::stat(volume.c_str(), &info) == 0) return names;
    return file_error(code, "read the checkpoint directory", directory);
  }
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());  // NOLINT(concurrency-mt-unsafe): a stream of our own
    if (entry == nullptr) break;
    if (parse_checkpoint_name(entry->d_name)) names.emplace_back(entry->d_name);
  }
  if (errno != 0) return file_error(errno, "read the checkpoint directory", directory);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  if (step < 0 || step > kMaxStep) return {};
  return fmt::format("{}{:0{}}", kPrefix, step, kStepDigits);
}

std::optional<std::int64_t> parse_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || name.size() != kPrefix.size() + kStepDigits) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  if (!std::all_of(name.begin(), name.end(), is_digit)) return std::nullopt;
  std::int64_t step = 0;
  (void)std::from_chars(name.data(), name.data() + name.size(), step);
  return step;
}

Result<CheckpointInfo> verify_checkpoint(const std::string& path, control::JobNumber job) {
  const auto located = [&](const Error& error) { return Error{error.code, error.message, path}; };
  const Result<OpenCheckpoint> open = open_checkpoint(path);
  if (!open.ok()) return located(open.error());
  const CheckpointInfo& info = open->manifest.info;
  if (job != 0 && info.attempt.job != job)
    return located(rejection(fmt::format("it is of job {}, not of job {}", info.attempt.job, job)));
  for (const CheckpointFile& file : open->manifest.files) {
    if (const Status verified = verify_file(open->folder.get(), file); !verified.ok()) return located(verified.error());
  }
  return info;
}

Result<std::vector<CheckpointInfo>> list_checkpoints(const std::string& directory, std::int64_t since_ns) {
  const Result<std::vector<std::string>> names = list_names(directory);
  if (!names.ok()) return names.error();
  std::vector<CheckpointInfo> checkpoints;
  for (const std::string& name : *names) {
    const std::string path = fmt::format("{}/{}", directory, name);
    struct stat info {};
    if (::lstat(fmt::format("{}/{}", path, kManifest).c_str(), &info) != 0) continue;
    if (in_nanoseconds(info.st_mtim.tv_sec, info.st_mtim.tv_nsec) < since_ns) continue;
    if (const Result<OpenCheckpoint> open = open_checkpoint(path); open.ok())
      checkpoints.push_back(open->manifest.info);
  }
  return checkpoints;
}

NewestCheckpoint find_newest(const std::vector<std::string>& directories, control::JobNumber job) {
  NewestCheckpoint newest;
  std::vector<std::pair<std::string, std::string>> candidates;  // name, path
  for (const std::string& directory : directories) {
    const Result<std::vector<std::string>> names = list_names(directory);
    if (!names.ok()) {
      newest.readable = false;
      newest.rejected.push_back(names.error().text());
      continue;
    }
    for (const std::string& name : *names) candidates.emplace_back(name, fmt::format("{}/{}", directory, name));
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [name, path] : candidates) {
    Result<CheckpointInfo> verified = verify_checkpoint(path, job);
    if (verified.ok()) {
      newest.intact = std::move(verified).value();
      break;
    }
    newest.rejected.push_back(verified.error().text());
  }
  return newest;
}

}  // namespace weft::world
