// Small files, folders and links of a machine (or of a copy of its /sys and /proc), read without trusting them: bounded
// in size and number, never waiting, and what cannot be read is written down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::hostprobe {

// Where to look. Anything but "/" is a copy, such as an unpacked sosreport or a tree made by a test: then only files
// are read, and no system call asks the running kernel.
struct ProbeRoot {
  std::string root = "/";
  [[nodiscard]] bool live() const { return root == "/"; }
};

class ProbeFiles {
 public:
  explicit ProbeFiles(ProbeRoot root);

  // The content less blanks at the end; nothing when there is no such file or it cannot be read (an interface that is
  // down answers EINVAL when asked for its speed). `path` has no slash in front.
  [[nodiscard]] std::optional<std::string> text(const std::string& path) const;
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& path) const;  // decimal, or 0x...
  // Names in a folder, sorted; empty when there is none.
  [[nodiscard]] std::vector<std::string> names(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  // Last part of what a link points to: the driver's name, the PCI address.
  [[nodiscard]] std::string link_name(const std::string& path) const;
  [[nodiscard]] bool live() const { return root_.live(); }

 private:
  [[nodiscard]] std::string full(const std::string& path) const;
  ProbeRoot root_;
};

}  // namespace weft::hostprobe
