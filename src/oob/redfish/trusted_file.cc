#include "oob/redfish/trusted_file.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/utf8.h"
#include "http/fingerprint.h"
#include "oob/durable/file.h"
#include "oob/durable/permissions.h"
#include "oob/durable/private_folder.h"
#include "oob/redfish/certificate.h"

namespace weft::oob {
namespace {

constexpr std::uint64_t kMaxBytes = 64U << 20U;  // a million BMCs need less
constexpr std::string_view kHeading =
    "# Certificates of BMCs accepted with `weft oob trust`: device, address, SHA-256, since when, by whom.\n";

bool is_before(const TrustedCertificate& a, const TrustedCertificate& b) {
  return std::tie(a.device, a.address) < std::tie(b.device, b.address);
}

// The text up to the next space, which is removed with it; the rest if there is none.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::string text_of(const std::vector<TrustedCertificate>& entries) {
  std::string text(kHeading);
  for (const TrustedCertificate& entry : entries)
    text += fmt::format("{} {} {} {} {}\n", entry.device, entry.address, entry.fingerprint, entry.since,
                        printable(entry.who));
  return text;
}

}  // namespace

std::string trusted_file(const std::string& state) { return state + "/trusted-certificates"; }

Result<std::vector<TrustedCertificate>> parse_trusted(std::string_view text, const std::string& path) {
  std::vector<TrustedCertificate> entries;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    TrustedCertificate entry;
    entry.device = take_word(line);
    entry.address = take_word(line);
    const std::string_view fingerprint = take_word(line);
    entry.fingerprint = "sha256:" + http::parse_fingerprint(fingerprint);
    entry.since = take_word(line);
    entry.who = line;
    if (entry.device.empty() || entry.address.empty() || entry.fingerprint != fingerprint)
      return Error{ErrorCode::invalid_input, "is not `DEVICE ADDRESS:PORT sha256:DIGITS`",
                   fmt::format("{}:{}", path, number)};
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), is_before);
  const auto same = std::adjacent_find(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return !is_before(a, b) && !is_before(b, a);
  });
  if (same != entries.end())
    return Error{ErrorCode::invalid_input,
                 fmt::format("{} at {} is listed twice", printable(same->device, 100), printable(same->address, 100)),
                 path};
  return entries;
}

Result<std::vector<TrustedCertificate>> read_trusted(const std::string& path) {
  const Result<FileDescriptor> file = open_file(path, O_RDONLY | O_NOFOLLOW);
  if (!file.ok() && file.error().code == ErrorCode::not_found) return std::vector<TrustedCertificate>{};
  if (!file.ok()) return file.error();
  if (Status fine = check_only_owner_writes(path); !fine.ok()) return fine.error();
  const Result<struct stat> info = stat_of(*file, path);
  if (!info.ok()) return info.error();
  if (!S_ISREG(info->st_mode) || static_cast<std::uint64_t>(info->st_size) > kMaxBytes)
    return Error{ErrorCode::invalid_input, "is not a file of trusted certificates", path};
  const Result<std::string> text = read_at(*file, 0, static_cast<std::size_t>(info->st_size), path);
  if (!text.ok()) return text.error();
  return parse_trusted(*text, path);
}

Status change_trusted(const std::string& path, const std::function<void(std::vector<TrustedCertificate>&)>& change) {
  if (Status made = make_private_folder(folder_of(path)); !made.ok()) return made;
  const std::string lock_path = path + ".lock";
  const Result<FileDescriptor> lock_file = open_file(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock_file.ok()) return lock_file.error();
  if (Status locked = lock(*lock_file, LockKind::exclusive, lock_path, kLockLimit); !locked.ok()) return locked;
  const HeldLock held(*lock_file);
  Result<std::vector<TrustedCertificate>> entries = read_trusted(path);
  if (!entries.ok()) return entries.error();
  change(*entries);
  std::sort(entries->begin(), entries->end(), is_before);
  return replace_file(path, text_of(*entries));
}

const TrustedCertificate* find_trusted(const std::vector<TrustedCertificate>& entries, const Endpoint& endpoint) {
  const std::string address = authority_of(endpoint);
  const auto found = std::lower_bound(entries.begin(), entries.end(),
                                      TrustedCertificate{endpoint.device, address, {}, {}, {}}, is_before);
  return found != entries.end() && found->device == endpoint.device && found->address == address ? &*found : nullptr;
}

}  // namespace weft::oob
