#include "world/local/cgroup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/file.h"
#include "base/file_descriptor.h"
#include "base/text.h"

namespace weft::world {
namespace {

namespace fs = std::filesystem;

struct Cgroup2Mount {
  std::string root;  // of the hierarchy, as seen through this mount
  std::string point;
};

// Fields of mountinfo have octal escapes for spaces and the like.
std::string decode_mount_field(std::string_view field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    unsigned byte = 0;
    if (field[i] == '\\' && i + 3 < field.size() &&
        std::from_chars(field.data() + i + 1, field.data() + i + 4, byte, 8).ptr == field.data() + i + 4) {
      text += static_cast<char>(byte);
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

std::optional<Cgroup2Mount> find_mount() {
  const Result<std::string> text = read_file("/proc/self/mountinfo");
  if (!text.ok()) return std::nullopt;
  for (const std::string_view line : split_lines(*text)) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos || !line.substr(dash + 3).starts_with("cgroup2 ")) continue;
    const std::vector<std::string_view> fields = split_at_spaces(line.substr(0, dash));
    if (fields.size() >= 5) return Cgroup2Mount{decode_mount_field(fields[3]), decode_mount_field(fields[4])};
  }
  return std::nullopt;
}

bool write_control(const std::string& path, std::string_view text) {
  const FileDescriptor file = open_descriptor(path, O_WRONLY);
  return file.ok() && write_all(file.get(), text).error == 0;
}

// The value of "KEY VALUE" in a control file.
std::optional<std::string> read_control(const std::string& path, std::string_view key) {
  const Result<std::string> text = read_file(path, 1U << 20U);
  if (!text.ok()) return std::nullopt;
  for (const std::string_view line : split_lines(*text)) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' '))
      return std::string(trim(line.substr(key.size())));
  }
  return std::nullopt;
}

void kill_members(const std::string& path) {
  const Result<std::string> text = read_file(path + "/cgroup.procs", 16U << 20U);
  if (!text.ok()) return;
  for (const std::string_view line : split_lines(*text)) {
    pid_t pid = 0;
    if (std::from_chars(line.data(), line.data() + line.size(), pid).ec == std::errc() && pid > 1) ::kill(pid, SIGKILL);
  }
}

template <class Action>
void for_each_child(const std::string& path, const Action& action) {
  std::error_code failed;
  fs::directory_iterator at(path, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) action(at->path().string());
  }
}

}  // namespace

std::string find_own_cgroup() {
  const std::optional<Cgroup2Mount> mount = find_mount();
  const Result<std::string> text = read_file("/proc/self/cgroup");
  if (!mount || !text.ok()) return {};
  for (const std::string_view line : split_lines(*text)) {
    if (!line.starts_with("0::/")) continue;
    std::string_view own = line.substr(3);
    if (own.find("/..") != std::string_view::npos) return {};  // outside of our cgroup namespace
    if (mount->root != "/") {
      if (!own.starts_with(mount->root)) return {};
      own.remove_prefix(mount->root.size());
    }
    return own == "/" || own.empty() ? mount->point : mount->point + std::string(own);
  }
  return {};
}

bool is_usable_cgroup(const std::string& path) {
  if (!create_cgroup(path).ok()) return false;
  const std::string probe = path + "/probe";
  const bool created = ::mkdir(probe.c_str(), 0755) == 0 || errno == EEXIST;
  const bool usable = created && ::access((probe + "/cgroup.procs").c_str(), W_OK) == 0 &&
                      ::access((path + "/cgroup.procs").c_str(), W_OK) == 0;
  if (created) ::rmdir(probe.c_str());
  return usable;
}

Status create_cgroup(const std::string& path) {
  (void)::mkdir(path.substr(0, path.rfind('/')).c_str(), 0755);  // an engine removes it when it ends
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return file_error(errno, "create the cgroup", path);
  if (::access((path + "/cgroup.procs").c_str(), F_OK) != 0) return file_error(errno, "use the cgroup", path);
  return {};
}

void kill_cgroup(const std::string& path) {
  if (path.empty() || write_control(path + "/cgroup.kill", "1")) return;  // since Linux 5.14
  kill_members(path);
  for_each_child(path, [](const std::string& child) { kill_cgroup(child); });
}

bool is_cgroup_empty(const std::string& path) {
  if (path.empty() || ::access(path.c_str(), F_OK) != 0) return true;
  return read_control(path + "/cgroup.events", "populated") == "0";
}

bool has_oom_kill(const std::string& path) {
  if (path.empty()) return false;
  const std::optional<std::string> count = read_control(path + "/memory.events", "oom_kill");
  return count && *count != "0";
}

void remove_cgroup(const std::string& path) {
  if (path.empty()) return;
  for_each_child(path, [](const std::string& child) { remove_cgroup(child); });
  ::rmdir(path.c_str());
}

}  // namespace weft::world
