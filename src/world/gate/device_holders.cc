#include "world/gate/device_holders.h"

#include <dirent.h>
#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/text.h"

namespace weft::world {
namespace {

struct Device {
  std::string path;
  struct stat facts {};
};

bool is_same(const struct stat& one, const struct stat& other) {
  if ((one.st_mode & S_IFMT) != (other.st_mode & S_IFMT)) return false;
  if (S_ISCHR(one.st_mode) || S_ISBLK(one.st_mode)) return one.st_rdev == other.st_rdev;
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

Error failure(const std::string& what, int code) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's strerror is
  return {ErrorCode::unavailable, fmt::format("{}: {}", what, std::strerror(code)), {}};
}

Result<std::vector<Device>> find_devices(const std::vector<std::string>& patterns) {
  std::vector<Device> devices;
  for (const std::string& pattern : patterns) {
    glob_t found{};
    // NOLINTNEXTLINE(concurrency-mt-unsafe): changes nothing that is shared
    const int status = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
    const std::unique_ptr<glob_t, void (*)(glob_t*)> release(&found, ::globfree);
    if (status == GLOB_NOMATCH) continue;
    if (status != 0) return failure("cannot list " + pattern, errno);
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      Device device;
      device.path = found.gl_pathv[i];
      if (::stat(device.path.c_str(), &device.facts) != 0) return failure("cannot read " + device.path, errno);
      devices.push_back(std::move(device));
    }
  }
  if (devices.empty()) {
    std::string all;
    for (const std::string& pattern : patterns) all += (all.empty() ? "" : ", ") + pattern;
    return Error{ErrorCode::unavailable,
                 fmt::format("no device file matches {}: whether its GPUs are used is not known", all),
                 {}};
  }
  return devices;
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

// NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread uses this folder
const dirent* next_entry(const Folder& folder) { return ::readdir(folder.get()); }

std::string program_of(const std::string& process) {
  std::array<char, 4096> target{};
  const ssize_t length = ::readlink((process + "/exe").c_str(), target.data(), target.size());
  if (length <= 0) return "?";
  std::string_view path(target.data(), static_cast<std::size_t>(length));
  if (path.ends_with(" (deleted)")) path.remove_suffix(10);
  return std::string(path.substr(path.rfind('/') + 1));
}

bool is_gone(int code) { return code == ENOENT || code == ESRCH; }

// The first device that a process holds open; "": none, or the process has ended.
Result<std::string> held_device(const std::string& process, const std::vector<Device>& devices) {
  const std::string path = process + "/fd";
  const Folder folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return is_gone(errno) ? Result<std::string>(std::string()) : failure("cannot read " + path, errno);
  std::string found;
  errno = 0;
  for (const dirent* entry = next_entry(folder); entry != nullptr; entry = next_entry(folder)) {
    if (entry->d_name[0] == '.') continue;
    struct stat facts {};
    const std::string file = path + '/' + entry->d_name;
    if (::stat(file.c_str(), &facts) != 0) {
      // A descriptor that was closed since, or a file without a name: the device files have one.
      if (!is_gone(errno) && errno != EACCES && errno != ENOTDIR) return failure("cannot read " + file, errno);
      errno = 0;
      continue;
    }
    const auto match =
        std::find_if(devices.begin(), devices.end(), [&](const Device& each) { return is_same(each.facts, facts); });
    if (match != devices.end() && (found.empty() || match->path < found)) found = match->path;
    errno = 0;
  }
  if (errno != 0 && !is_gone(errno)) return failure("cannot read " + path, errno);
  return found;
}

}  // namespace

Result<std::vector<DeviceHolder>> find_device_holders(const HolderQuery& query) {
  const Result<std::vector<Device>> devices = find_devices(query.devices);
  if (!devices.ok()) return devices.error();
  const Folder folder(::opendir(query.proc.c_str()), ::closedir);
  if (!folder) return failure("cannot read " + query.proc, errno);
  std::vector<DeviceHolder> holders;
  std::size_t processes = 0;
  for (const dirent* entry = next_entry(folder); entry != nullptr; entry = next_entry(folder)) {
    const std::string_view name = entry->d_name;
    if (name.empty() || !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    ++processes;
    const std::string process = query.proc + '/' + std::string(name);
    const Result<std::string> device = held_device(process, *devices);
    if (!device.ok()) return device.error();
    if (device->empty()) continue;
    std::string program = program_of(process);
    if (std::find(query.ignored.begin(), query.ignored.end(), program) != query.ignored.end()) continue;
    holders.push_back({static_cast<pid_t>(std::stol(std::string(name))), std::move(program), *device});
  }
  if (processes == 0) {
    return Error{ErrorCode::unavailable, fmt::format("{} lists no process: is it mounted?", query.proc), {}};
  }
  std::sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return holders;
}

std::string describe(const std::vector<DeviceHolder>& holders) {
  constexpr std::size_t kMaxShown = 3;
  std::string out;
  for (std::size_t i = 0; i < std::min(holders.size(), kMaxShown); ++i) {
    append_format(out, "{}pid {} ({}) holds {}", out.empty() ? "" : ", ", holders[i].pid, holders[i].program,
                  holders[i].device);
  }
  if (holders.size() > kMaxShown) append_format(out, " and {} more", holders.size() - kMaxShown);
  return out;
}

}  // namespace weft::world
