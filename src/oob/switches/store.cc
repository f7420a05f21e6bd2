#include "oob/switches/store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <unordered_set>

#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/human_format.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/value.h"
#include "oob/durable/private_folder.h"

namespace weft::oob {
namespace {

constexpr std::size_t kDigits = 64;       // of a SHA-256
constexpr std::size_t kFewestDigits = 6;  // minimum to name a version

bool is_digest(std::string_view text) {
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Result<std::string> device_folder(const std::string& root, const std::string& device) {
  if (device.empty() || device.find('/') != std::string::npos || device.starts_with('.') ||
      !is_safe_relative_path(device))
    return Error{ErrorCode::invalid_input, "is not a valid folder name", in_backticks(device)};
  return root + "/" + device;
}

std::string index_line(const ConfigVersion& version, std::string_view kind) {
  return write_json_line(Value::map({{"kind", kind},
                                     {"time", format_utc(version.time_ms)},
                                     {"who", version.who},
                                     {"operation", version.operation},
                                     {"cause", version.cause},
                                     {"sha256", version.sha256},
                                     {"digest", version.digest},
                                     {"bytes", version.bytes}}));
}

struct Index {
  std::vector<ConfigVersion> versions;
  std::string good;  // name of the version last marked good; empty: none
};

std::string text_of(const YamlNode& line, std::string_view key) {
  const YamlNode* node = line.find(key);
  return node != nullptr && node->kind == YamlNode::Kind::scalar ? node->scalar : std::string();
}

void read_line(std::string_view line, Index& index) {
  Diagnostics problems;
  const std::optional<YamlNode> node = parse_json_text(line, SourceLocation{}, problems);
  if (!node || node->kind != YamlNode::Kind::mapping) return;  // truncated by a crash
  ConfigVersion version;
  version.sha256 = text_of(*node, "sha256");
  if (!is_digest(version.sha256)) return;
  const std::string kind = text_of(*node, "kind");
  if (kind == "good") index.good = version.sha256;
  if (kind != "version") return;
  const std::optional<std::int64_t> time = parse_date(text_of(*node, "time"));
  version.time_ms = time.value_or(0);
  version.who = text_of(*node, "who");
  version.operation = text_of(*node, "operation");
  version.cause = text_of(*node, "cause");
  version.digest = text_of(*node, "digest");
  const std::string bytes = text_of(*node, "bytes");
  std::from_chars(bytes.data(), bytes.data() + bytes.size(), version.bytes);
  index.versions.push_back(std::move(version));
}

Result<Index> read_index(const std::string& folder) {
  Index index;
  const Result<std::string> text = read_file(folder + "/index.ndjson");
  if (!text.ok() && text.error().code == ErrorCode::not_found) return index;
  if (!text.ok()) return text.error();
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->find('\n', at);
    if (end == std::string::npos) break;  // a line without its end was never acknowledged
    read_line(std::string_view(*text).substr(at, end - at), index);
    at = end + 1;
  }
  return index;
}

// Contents without an index line after a crash. Only under the lock of the index.
Status take_up_orphans(const std::string& folder, const std::string& who, Index& index, LineFile& lines) {
  std::unordered_set<std::string> known;
  for (const ConfigVersion& version : index.versions) known.insert(version.sha256);
  std::vector<ConfigVersion> found;
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/versions", problem)) {
    const std::string name = entry.path().filename().string();
    if (!is_digest(name) || known.count(name) != 0) continue;
    const Result<std::string> content = read_file(entry.path().string());
    if (!content.ok() || sha256(*content) != name) continue;
    struct stat info {};
    if (::stat(entry.path().c_str(), &info) != 0) continue;
    found.push_back({.sha256 = name,
                     .time_ms = std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000,
                     .who = who,
                     .cause = "recovered",
                     .bytes = content->size()});
  }
  std::sort(found.begin(), found.end(), [](const ConfigVersion& a, const ConfigVersion& b) {
    return a.time_ms != b.time_ms ? a.time_ms < b.time_ms : a.sha256 < b.sha256;
  });
  for (ConfigVersion& version : found) {
    if (Status added = lines.append(index_line(version, "version")); !added.ok()) return added;
    index.versions.push_back(std::move(version));
  }
  return {};
}

}  // namespace

std::string ConfigStore::path_of(const std::string& device, const std::string& sha256) const {
  return root_ + "/" + device + "/versions/" + sha256;
}

Result<KeptVersion> ConfigStore::put(const std::string& device, std::string_view content, std::string_view digest,
                                     std::string_view cause, std::string_view operation) {
  const Result<std::string> folder = device_folder(root_, device);
  if (!folder.ok()) return folder.error();
  if (Status made = make_private_folder(*folder + "/versions"); !made.ok()) return made.error();
  Result<LineFile> lines = LineFile::open(*folder + "/index.ndjson");
  if (!lines.ok()) return lines.error();
  Result<Index> index = read_index(*folder);
  if (!index.ok()) return index.error();
  if (Status taken = take_up_orphans(*folder, who_, *index, *lines); !taken.ok()) return taken.error();
  if (!index->versions.empty() && index->versions.back().digest == digest)
    return KeptVersion{Kept::unchanged, index->versions.back()};
  ConfigVersion version{.sha256 = sha256(content),
                        .time_ms = clock_.wall_ms(),
                        .who = who_,
                        .operation = std::string(operation),
                        .cause = std::string(cause),
                        .digest = std::string(digest),
                        .bytes = content.size()};
  // A known content is not written again; the index records that it is back.
  const bool known = std::any_of(index->versions.begin(), index->versions.end(),
                                 [&](const ConfigVersion& other) { return other.sha256 == version.sha256; });
  if (!known || !read(device, version.sha256).ok()) {
    if (Status written = replace_file(path_of(device, version.sha256), content); !written.ok()) return written.error();
  }
  if (Status added = lines->append(index_line(version, "version")); !added.ok()) return added.error();
  return KeptVersion{Kept::added, std::move(version)};
}

Result<std::string> ConfigStore::set_aside(const std::string& device, std::string_view content, std::string_view why) {
  const Result<std::string> folder = device_folder(root_, device);
  if (!folder.ok()) return folder.error();
  const std::string suspects = *folder + "/suspect";
  if (Status made = make_private_folder(suspects); !made.ok()) return made.error();
  const std::string name = sha256(content);
  Result<LineFile> lines = LineFile::open(*folder + "/index.ndjson");
  if (!lines.ok()) return lines.error();
  if (Status written = replace_file(suspects + "/" + name, content); !written.ok()) return written.error();
  const ConfigVersion version{
      .sha256 = name, .time_ms = clock_.wall_ms(), .who = who_, .cause = std::string(why), .bytes = content.size()};
  if (Status added = lines->append(index_line(version, "suspect")); !added.ok()) return added.error();
  return suspects + "/" + name;
}

Status ConfigStore::mark_good(const std::string& device, const std::string& sha256) {
  const Result<std::string> folder = device_folder(root_, device);
  if (!folder.ok()) return folder.error();
  const Result<Index> before = read_index(*folder);
  if (!before.ok()) return before.error();
  if (before->good == sha256) return {};
  if (const Result<std::string> content = read(device, sha256); !content.ok()) return content.error();
  Result<LineFile> lines = LineFile::open(*folder + "/index.ndjson");
  if (!lines.ok()) return lines.error();
  return lines->append(index_line({.sha256 = sha256, .time_ms = clock_.wall_ms(), .who = who_}, "good"));
}

Result<std::vector<ConfigVersion>> ConfigStore::versions(const std::string& device) const {
  const Result<std::string> folder = device_folder(root_, device);
  if (!folder.ok()) return folder.error();
  Result<Index> index = read_index(*folder);
  if (!index.ok()) return index.error();
  return std::move(index->versions);
}

Result<ConfigVersion> ConfigStore::find(const std::string& device, std::string_view which) const {
  const Result<std::string> folder = device_folder(root_, device);
  if (!folder.ok()) return folder.error();
  const Result<Index> index = read_index(*folder);
  if (!index.ok()) return index.error();
  const std::vector<ConfigVersion>& all = index->versions;
  const auto missing = [&](const std::string& what) {
    return Error{ErrorCode::not_found, fmt::format("no {} is stored", what), device};
  };
  if (all.empty()) return missing("backup");
  if (which == "latest") return all.back();
  if (which == "before")
    return all.size() < 2 ? Result<ConfigVersion>(missing("version before the latest")) : *(all.end() - 2);
  const std::string name = which == "good" ? index->good : std::string(which);
  if (which == "good" && name.empty()) return missing("version marked good");
  if (const std::optional<std::int64_t> time = parse_date(which)) {
    const auto later =
        std::find_if(all.rbegin(), all.rend(), [&](const ConfigVersion& version) { return version.time_ms <= *time; });
    return later == all.rend() ? Result<ConfigVersion>(missing(fmt::format("version of {} or before", which))) : *later;
  }
  if (name.size() < kFewestDigits || name.find_first_not_of("0123456789abcdef") != std::string::npos)
    return Error{ErrorCode::invalid_input,
                 fmt::format("unknown version {}: expected latest, before, good, a time, or {} digits of its name",
                             in_backticks(which), kFewestDigits),
                 device};
  const ConfigVersion* found = nullptr;
  for (const ConfigVersion& version : all) {
    if (!version.sha256.starts_with(name)) continue;
    if (found != nullptr && found->sha256 != version.sha256)
      return Error{ErrorCode::conflict, fmt::format("several versions start with {}", name), device};
    found = &version;
  }
  if (found == nullptr) return missing(fmt::format("version {}", name));
  return *found;
}

Result<std::string> ConfigStore::read(const std::string& device, const std::string& name) const {
  const Result<std::string> folder = device_folder(root_, device);
  if (!folder.ok()) return folder.error();
  Result<std::string> content = read_file(path_of(device, name));
  if (content.ok() && sha256(*content) != name)
    return Error{ErrorCode::invalid_input, "the content does not match the hash in its name: the file was modified",
                 path_of(device, name)};
  return content;
}

Result<ConfigStore::Hold> ConfigStore::hold(const std::string& device) const {
  const Result<std::string> folder = device_folder(root_, device);
  if (!folder.ok()) return folder.error();
  if (Status made = make_private_folder(*folder); !made.ok()) return made.error();
  return lock_file(*folder + "/lock", fmt::format("{} (process {})", who_, ::getpid()));
}

std::optional<std::int64_t> parse_date(std::string_view text) {
  // YYYY-MM-DD[THH:MM[:SS[.mmm]]Z]
  const std::string_view form = "0000-00-00T00:00:00.000";
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.size() != 10 && text.size() != 16 && text.size() != 19 && text.size() != form.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == '0' ? !digit : text[i] != form[i]) return std::nullopt;
  }
  const auto number = [&](std::size_t at, std::size_t size) {
    int value = 0;
    if (at + size <= text.size()) std::from_chars(text.data() + at, text.data() + at + size, value);
    return value;
  };
  std::tm date{};
  date.tm_year = number(0, 4) - 1900;
  date.tm_mon = number(5, 2) - 1;
  date.tm_mday = number(8, 2);
  date.tm_hour = number(11, 2);
  date.tm_min = number(14, 2);
  date.tm_sec = number(17, 2);
  const std::tm given = date;
  const std::time_t seconds = ::timegm(&date);
  // timegm() normalizes 30 February to 1 March.
  if (date.tm_mon != given.tm_mon || date.tm_mday != given.tm_mday || date.tm_hour != given.tm_hour ||
      date.tm_min != given.tm_min || date.tm_sec != given.tm_sec)
    return std::nullopt;
  return std::int64_t{seconds} * 1000 + number(20, 3);
}

}  // namespace weft::oob
