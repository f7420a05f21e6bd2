#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "config/host_readers.h"
#include "config/host_text.h"

namespace weft::config {
namespace {

using host_text::Line;

// Slurm keys are case-insensitive; a line of NodeName, PartitionName and the like is stored whole under its first key.
bool is_record(std::string_view key) {
  for (const char* record :
       {"nodename", "partitionname", "nodeset", "downnodes", "frontendname", "switchname", "name", "blockname"}) {
    if (key == record) return true;
  }
  return false;
}

void read_slurm_line(const Line& line, SettingsFile& out, Diagnostics& diagnostics) {
  std::string_view text = line.text;
  if (const std::size_t remark = text.find(" #"); remark != std::string_view::npos)
    text = trim(text.substr(0, remark), kLineSpaces);
  if (to_lower(text.substr(0, 8)).starts_with("include ")) return;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    diagnostics.warning(line.place, fmt::format("ignored {}: expected key=value", in_backticks(text)));
    return;
  }
  const std::string key = to_lower(trim(text.substr(0, equals), kLineSpaces));
  const std::string_view rest = trim(text.substr(equals + 1), kLineSpaces);
  if (is_record(key)) {
    out.entries.push_back({key, std::string(rest), line.place});
    return;
  }
  // Several settings may share a line; only a quoted value contains spaces.
  const auto words = split_at_spaces(rest, kLineSpaces);
  const bool single = words.size() < 2 || words[1].find('=') == std::string_view::npos || rest.front() == '"';
  out.entries.push_back({key, host_text::unquoted(single ? rest : words[0]), line.place});
  for (std::size_t i = 1; !single && i < words.size(); ++i) {
    const std::size_t at = words[i].find('=');
    if (at == std::string_view::npos) continue;
    out.entries.push_back({to_lower(words[i].substr(0, at)), host_text::unquoted(words[i].substr(at + 1)), line.place});
  }
}

void read_sysctl_line(const Line& line, SettingsFile& out, Diagnostics& diagnostics) {
  std::string_view text = line.text;
  if (text.front() == ';') return;
  if (text.front() == '-') text.remove_prefix(1);  // ignore errors for this key
  if (text.starts_with("sysctl -w ")) text = trim(text.substr(10), kLineSpaces);
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    diagnostics.warning(line.place, fmt::format("ignored {}: expected key = value", in_backticks(text)));
    return;
  }
  std::string key(trim(text.substr(0, equals), kLineSpaces));
  std::replace(key.begin(), key.end(), '/', '.');
  out.entries.push_back({std::move(key), host_text::unquoted(trim(text.substr(equals + 1), kLineSpaces)), line.place});
}

// /path client(options) client(options): one entry per client. A path with spaces is quoted.
void read_exports_line(const Line& line, SettingsFile& out) {
  std::string_view text = line.text;
  std::string path;
  if (text.front() == '"') {
    const std::size_t end = text.find('"', 1);
    if (end == std::string_view::npos) return;
    path = text.substr(1, end - 1);
    text = trim(text.substr(end + 1), kLineSpaces);
  } else {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    path = text.substr(0, end);
    text = trim(text.substr(end), kLineSpaces);
  }
  std::string defaults;
  bool any = false;
  for (const std::string_view client : split_at_spaces(text, kLineSpaces)) {
    if (client.front() == '#') break;
    if (client.front() == '-' && !any) {  // "-sec=krb5p,rw": defaults for the following clients
      defaults = client.substr(1);
      continue;
    }
    any = true;
    std::string value(client);
    if (!defaults.empty()) {
      const std::size_t open = value.find('(');
      if (open == std::string::npos) {
        value += "(" + defaults + ")";
      } else {
        value.insert(open + 1, defaults + ",");
      }
    }
    out.entries.push_back({path, std::move(value), line.place});
  }
  // A path without clients is exported to all hosts.
  if (!any) out.entries.push_back({path, defaults.empty() ? "*" : "*(" + defaults + ")", line.place});
}

// fstab and /proc/mounts: "source point type options 0 0"; mount(8): "source on point type T (options)". The key is the
// mount point, the value "source type options".
void read_mount_line(const Line& line, SettingsFile& out, Diagnostics& diagnostics) {
  const auto words = split_at_spaces(line.text, kLineSpaces);
  const auto on = std::find(words.begin(), words.end(), "on");
  const auto type = std::find(words.begin(), words.end(), "type");
  if (on != words.end() && type != words.end() && on < type && type - on >= 2 && type + 1 != words.end()) {
    std::string options;
    if (type + 2 != words.end()) options = *(type + 2);
    if (!options.empty() && options.front() == '(') options.erase(0, 1);
    if (!options.empty() && options.back() == ')') options.pop_back();
    out.entries.push_back(
        {std::string(*(on + 1)), fmt::format("{} {} {}", words[0], *(type + 1), options), line.place});
    return;
  }
  if (words.size() < 4) {
    diagnostics.warning(line.place, fmt::format("ignored {}: not a mount entry", in_backticks(line.text)));
    return;
  }
  out.entries.push_back({std::string(words[1]), fmt::format("{} {} {}", words[0], words[2], words[3]), line.place});
}

// "nvme connect ..." in a script, and the lines of discovery.conf. The key is the address, the value the options.
void read_nvme_line(const Line& line, SettingsFile& out) {
  std::string rest;
  bool starts = line.text.starts_with("-");
  for (const host_text::Command& words : host_text::commands_of(line.text)) {
    const std::size_t slash = words[0].find_last_of('/');
    const bool program = words[0].substr(slash == std::string::npos ? 0 : slash + 1) == "nvme";
    const bool connects = program && words.size() > 1 && words[1].starts_with("connect");
    if (!connects && !starts) continue;
    std::string storage;
    host_text::Command command = words;
    if (starts) command.insert(command.begin(), "nvme");
    const std::string* address = nullptr;
    for (const char* name : {"--traddr", "-a"}) {
      if (address == nullptr) address = host_text::option(command, name, storage);
    }
    for (std::size_t i = 1; i < command.size(); ++i) rest += (rest.empty() ? "" : " ") + command[i];
    out.entries.push_back({address == nullptr ? std::string() : *address, std::move(rest), line.place});
    rest.clear();
  }
}

}  // namespace

void read_settings(SettingsFile::Kind kind, const Sources& sources, FileId file, ConfigSet& set,
                   Diagnostics& diagnostics) {
  SettingsFile out;
  out.kind = kind;
  out.file = file;
  for (const Line& line : host_text::lines_of(sources, file, '#')) {
    switch (kind) {
      case SettingsFile::Kind::slurm:
      case SettingsFile::Kind::gres:
      case SettingsFile::Kind::cgroup:
        read_slurm_line(line, out, diagnostics);
        break;
      case SettingsFile::Kind::sysctl:
      case SettingsFile::Kind::nccl:
        read_sysctl_line(line, out, diagnostics);
        break;
      case SettingsFile::Kind::exports:
        read_exports_line(line, out);
        break;
      case SettingsFile::Kind::mounts:
        read_mount_line(line, out, diagnostics);
        break;
      case SettingsFile::Kind::nvme:
        read_nvme_line(line, out);
        break;
    }
  }
  set.settings.push_back(std::move(out));
}

}  // namespace weft::config
