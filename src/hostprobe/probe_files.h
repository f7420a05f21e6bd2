// Reads small files, folders and links of a machine (or of a copy of its /sys and /proc) without trusting them: bounded
// in size and number, non-blocking; everything that cannot be read is recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::hostprobe {

// The root to read from. Anything but "/" is a copy, such as an unpacked sosreport or a tree made by a test: then only
// files are read, and the running kernel is not queried.
struct ProbeRoot {
  std::string root = "/";
  [[nodiscard]] bool live() const { return root == "/"; }
};

class ProbeFiles {
 public:
  explicit ProbeFiles(ProbeRoot root);

  // The content without trailing spaces; nullopt if the file does not exist or cannot be read (reading the speed of an
  // interface that is down fails with EINVAL). `path` has no leading slash.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& path) const;  // decimal, or 0x...
  // Names in a folder, sorted; empty if there is no such folder.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  // Last part of a link's target: the driver's name, the PCI address.
  [[nodiscard]] std::string link_name(const std::string& path) const;
  [[nodiscard]] bool live() const { return root_.live(); }

 private:
  [[nodiscard]] std::string full(const std::string& path) const;
  ProbeRoot root_;
};

}  // namespace weft::hostprobe
