#include "hostprobe/probe_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/file_descriptor.h"

namespace weft::hostprobe {
namespace {

constexpr std::size_t kMaxText = 256U << 10U;  // bytes; files in /sys are at most a page, /proc/net/route can be longer
constexpr std::size_t kMaxNames = 100'000;

}  // namespace

ProbeFiles::ProbeFiles(ProbeRoot root) : root_(std::move(root)) {
  if (root_.root.empty()) root_.root = "/";
}

std::string ProbeFiles::full(const std::string& path) const {
  return root_.root.ends_with('/') ? root_.root + path : root_.root + "/" + path;
}

std::optional<std::string> ProbeFiles::text(const std::string& path) const {
  // Non-blocking, so that a pipe in a hostile copy cannot block the probe; the size that stat reports for /sys files is
  // useless.
  const FileDescriptor file = open_descriptor(full(path), O_RDONLY | O_NONBLOCK);
  if (!file.ok()) return std::nullopt;
  std::string content;
  std::array<char, 4096> block{};
  bool good = true;
  while (content.size() < kMaxText) {
    const ssize_t count = ::read(file.get(), block.data(), block.size());
    if (count < 0) good = false;
    if (count <= 0) break;
    content.append(block.data(), static_cast<std::size_t>(count));
  }
  if (!good) return std::nullopt;
  while (!content.empty() && std::string_view(" \t\r\n").find(content.back()) != std::string_view::npos) {
    content.pop_back();
  }
  return content;
}

std::optional<std::int64_t> ProbeFiles::number(const std::string& path) const {
  const auto content = text(path);
  if (!content) return std::nullopt;
  const bool hex = content->starts_with("0x");
  const char* first = content->data() + (hex ? 2 : 0);
  const char* last = content->data() + content->size();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(first, last, value, hex ? 16 : 10);
  if (error != std::errc{} || end != last) return std::nullopt;
  return value;
}

std::vector<std::string> ProbeFiles::names(const std::string& path) const {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator at(full(path), error);
  for (; !error && at != std::filesystem::directory_iterator() && found.size() < kMaxNames; at.increment(error)) {
    found.push_back(at->path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool ProbeFiles::exists(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(full(path), error);
}

std::string ProbeFiles::link_name(const std::string& path) const {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(full(path), error);
  return error ? std::string() : target.filename().string();
}

}  // namespace weft::hostprobe
