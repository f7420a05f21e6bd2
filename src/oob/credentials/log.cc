#include "oob/credentials/log.h"

#include <fmt/format.h>

#include <optional>

#include "base/hash.h"
#include "base/json.h"
#include "oob/credentials/book.h"

namespace weft::oob {
namespace {

constexpr std::string_view kCheckKey = R"(, "check": ")";
constexpr std::size_t kDigits = 16;

std::string check_of(const std::string& id, std::string_view body) {
  return sha256(fmt::format("{}{}", id, body)).substr(0, kDigits);
}

std::optional<std::pair<std::string, Credential>> read_line(const std::string& id, std::string_view line) {
  const std::size_t tail = kCheckKey.size() + kDigits + 2;
  if (line.size() < tail) return std::nullopt;
  const std::string body = fmt::format("{}}}", line.substr(0, line.size() - tail));
  if (line.substr(line.size() - tail) != fmt::format("{}{}\"}}", kCheckKey, check_of(id, body))) return std::nullopt;
  Diagnostics diagnostics;
  const std::optional<YamlNode> root = parse_json_text(body, {}, diagnostics);
  if (!root || root->kind != YamlNode::Kind::mapping || root->entries.size() != 4) return std::nullopt;
  constexpr std::string_view kKeys[] = {"device", "user", "password", "pending"};
  for (std::size_t i = 0; i < 4; ++i) {
    const YamlEntry& entry = root->entries[i];
    const bool text = entry.value.kind == YamlNode::Kind::scalar && entry.value.quoted;
    if (entry.key != kKeys[i] || !(text || (i == 3 && entry.value.kind == YamlNode::Kind::null))) return std::nullopt;
  }
  Credential credential;
  credential.user = root->entries[1].value.scalar;
  credential.password = Secret(root->entries[2].value.scalar);
  const YamlNode& pending = root->entries[3].value;
  if (pending.kind == YamlNode::Kind::scalar) credential.pending = Secret(pending.scalar);
  const std::string& device = root->entries[0].value.scalar;
  if (!check_entry(device, credential).ok()) return std::nullopt;
  return std::pair(device, std::move(credential));
}

std::optional<std::string> read_opening(std::string_view line) {
  const std::string sample = log_opening(std::string(kDigits, '0'));
  if (line.size() + 1 != sample.size()) return std::nullopt;
  std::string id(line.substr(line.size() - kDigits - 2, kDigits));
  if (id.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  if (log_opening(id) != fmt::format("{}\n", line)) return std::nullopt;
  return id;
}

}  // namespace

std::string log_opening(const std::string& id) {
  return fmt::format("{{\"weft_credentials_log\": 1, \"id\": \"{}\"}}\n", id);
}

std::string log_line(const std::string& id, const std::string& device, const Credential& credential) {
  std::string line = entry_json(device, credential);
  const std::string check = check_of(id, line);
  line.pop_back();
  line += fmt::format("{}{}\"}}\n", kCheckKey, check);
  return line;
}

Result<CredentialLog> read_credential_log(const std::string& name, std::string_view text, const std::string& id) {
  CredentialLog log;
  log.id = id;
  std::size_t number = 0;
  while (log.good < text.size()) {
    const std::size_t end = text.find('\n', log.good);
    if (end == std::string_view::npos) break;
    const std::string_view line = text.substr(log.good, end - log.good);
    ++number;
    if (log.id.empty()) {
      std::optional<std::string> opening = read_opening(line);
      if (!opening) break;
      log.id = std::move(*opening);
    } else {
      auto entry = read_line(log.id, line);
      if (!entry) break;
      log.entries.push_back(std::move(*entry));
    }
    log.good = end + 1;
  }
  const std::string_view rest = text.substr(log.good);
  // A line without its end, or blocks that the file system never filled: a crash. Anything else is corruption.
  if (rest.find('\n') == std::string_view::npos || rest.find('\0') != std::string_view::npos) return log;
  return Error{ErrorCode::invalid_input,
               fmt::format("line {} is damaged: keep a copy, take the line out by hand, and try the passwords of its "
                           "device",
                           number),
               name};
}

}  // namespace weft::oob
