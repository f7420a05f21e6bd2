#include "world/local/engine_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "world/core/rank_environment.h"
#include "world/local/part_folder.h"
#include "world/local/user_rights.h"

namespace weft::world {
namespace {

namespace fs = std::filesystem;
using control::AttemptName;

constexpr int kLockRounds = 100;  // of 10 ms

// Modes are set explicitly: users read their logs, and only weft reads plans, which contain their environments.
Status make_state(const std::string& state) {
  const std::pair<const char*, mode_t> folders[] = {
      {"", 0755}, {"/attempts", 0700}, {"/logs", 0755}, {"/requests", 0755}};
  for (const auto& [name, mode] : folders) {
    const std::string path = state + name;
    if (Status made = make_folders(path, mode); !made.ok()) return made;
    if (*name != '\0' && ::chmod(path.c_str(), mode) != 0) return disk_error(errno, "set the mode", path);
  }
  return {};
}

}  // namespace

Result<std::string> make_engine_state(const std::string& state) {
  if (Status made = make_state(state); !made.ok()) return made.error();
  std::error_code failed;
  std::string path = fs::canonical(state, failed).string();
  if (failed) return Error{ErrorCode::unavailable, failed.message(), state};
  return path;
}

// An engine that was just killed may have left a child that has not closed its descriptors yet, so this waits a little.
Result<FileDescriptor> lock_engine_state(const std::string& state) {
  const std::string path = state + "/lock";
  FileDescriptor file = open_descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!file.ok()) return disk_error(errno, "open", path);
  for (int round = 0; round < kLockRounds; ++round) {
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
    if (errno != EWOULDBLOCK && errno != EINTR) return disk_error(errno, "lock", path);
    ::usleep(10'000);
  }
  return Error{ErrorCode::conflict, "another weft uses this state directory", state};
}

Status check_node_names(const std::vector<std::string>& nodes) {
  std::set<std::string> names;
  for (const std::string& node : nodes) {
    if (node.empty() || node.find('\0') != std::string::npos || contains(node, ","))
      return Error{ErrorCode::invalid_input, fmt::format("'{}' is not a valid node name", node), {}};
    if (!names.insert(node).second)
      return Error{ErrorCode::invalid_input, fmt::format("two nodes are named '{}'", node), {}};
  }
  return {};
}

std::optional<AttemptName> parse_attempt_name(std::string_view text) {
  const std::size_t dot = text.find('.');
  AttemptName name;
  if (dot == std::string_view::npos) return std::nullopt;
  const auto job = std::from_chars(text.data(), text.data() + dot, name.job);
  const auto attempt = std::from_chars(text.data() + dot + 1, text.data() + text.size(), name.attempt);
  if (job.ec != std::errc() || job.ptr != text.data() + dot || attempt.ec != std::errc() ||
      attempt.ptr != text.data() + text.size())
    return std::nullopt;
  return name;
}

std::vector<std::string> list_folder(const std::string& path) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Status write_request_file(const std::string& state, const AttemptName& name, control::OperationId operation) {
  const std::string path = checkpoint_request_file(state, name);
  const std::string content = fmt::format("{}\n", operation);
  if (const Result<std::string> before = read_file(path, 4096); before.ok() && *before == content) return {};
  if (Status written = write_file(path, content); !written.ok()) return written;
  if (::chmod(path.c_str(), 0644) != 0) return disk_error(errno, "set the mode", path);
  return {};
}

Status make_checkpoint_directory(const std::string& directory, std::uint32_t uid, std::uint32_t gid) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) == 0) return {};
  {
    const ActAsUser rights(uid, gid);
    if (rights.ok() && make_folders(directory, 0755).ok()) return {};
  }
  // The user may not write to the volume, so it cannot interfere with what root creates there.
  if (::mkdir(directory.c_str(), 0755) == 0 && ::lchown(directory.c_str(), uid, gid) == 0) return {};
  if (errno == EEXIST) return {};  // another node was faster
  return Error{
      ErrorCode::unavailable,
      fmt::format("cannot create the checkpoint directory {}: {}", directory, std::generic_category().message(errno)),
      {}};
}

}  // namespace weft::world
