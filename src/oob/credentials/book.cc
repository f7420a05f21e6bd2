#include "oob/credentials/book.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/host_range.h"
#include "base/utf8.h"
#include "base/value.h"
#include "base/yaml.h"

namespace weft::oob {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kLogDigits = 16;

// Parsers quote the offending text: removed here, since it may be a password.
std::string without_quotes(std::string_view message) {
  std::string out;
  bool inside = false;
  for (const char c : message) {
    if (c == '`') {
      inside = !inside;
      if (inside) out += "it";
    } else if (!inside) {
      out += c;
    }
  }
  return out;
}

class BookReader {
 public:
  BookReader(const Sources& sources, FileId file) : sources_(sources), file_(file) {}

  Result<CredentialBook> read() {
    std::optional<YamlNode> root = parse_yaml(sources_, file_, diagnostics_);
    if (root) read_root(*root);
    if (!diagnostics_.has_errors()) return std::move(book_);
    for (const Diagnostic& found : diagnostics_.sorted()) {
      if (found.severity != Severity::error) continue;
      std::string message = without_quotes(found.message);
      const std::size_t more = diagnostics_.error_count() - 1;
      if (more > 0) message += fmt::format(" (and {} more {})", more, more == 1 ? "problem" : "problems");
      return Error{ErrorCode::invalid_input, std::move(message), sources_.describe(found.place)};
    }
    return Error{ErrorCode::invalid_input, "cannot be read", sources_.path(file_)};
  }

 private:
  void bad(const SourceLocation& place, std::string message) { diagnostics_.error(place, std::move(message)); }

  void read_root(const YamlNode& root) {
    if (root.kind != YamlNode::Kind::mapping) return bad({file_, 1, 1}, "is not a file of credentials");
    const YamlNode* version = root.find("weft_credentials");
    if (version == nullptr)
      return bad(root.place, "`weft_credentials: 1` is missing: it identifies a credentials file of weft");
    if (version->kind != YamlNode::Kind::scalar || version->scalar != kVersion)
      return bad(version->place, "weft_credentials must be 1, the only version there is");
    // First, since the other entries default to its user.
    if (const YamlNode* node = root.find("default"); node != nullptr) book_.fallback = read_entry(*node, false);
    for (const YamlEntry& entry : root.entries) {
      if (entry.key == "groups") {
        read_groups(entry.value);
      } else if (entry.key == "devices") {
        read_devices(entry.value);
      } else if (entry.key == "log") {
        read_log(entry.value);
      } else if (entry.key != "weft_credentials" && entry.key != "default") {
        bad(entry.key_place, "unknown key: the file has weft_credentials, default, groups, devices and log");
      }
    }
  }

  void read_log(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::scalar || node.scalar.size() != kLogDigits)
      return bad(node.place, "log is written by weft alone: 16 hexadecimal digits");
    book_.log = node.scalar;
  }

  std::optional<std::string> text_of(const YamlNode& node, std::string_view what) {
    if (node.kind == YamlNode::Kind::scalar) return node.scalar;
    bad(node.place, fmt::format("{} must be text", what));
    return std::nullopt;
  }

  std::optional<Credential> read_entry(const YamlNode& node, bool may_lean) {
    if (node.kind != YamlNode::Kind::mapping) {
      bad(node.place, "an entry must have user and password: {user: NAME, password: TEXT}");
      return std::nullopt;
    }
    Credential credential;
    bool has_password = false;
    const std::size_t before = diagnostics_.error_count();
    for (const YamlEntry& entry : node.entries) {
      if (entry.key == "user") {
        credential.user = text_of(entry.value, "user").value_or("");
      } else if (entry.key == "password") {
        has_password = true;
        credential.password = Secret(text_of(entry.value, "password").value_or(""));
      } else if (entry.key == "pending") {
        credential.pending = Secret(text_of(entry.value, "pending").value_or(""));
      } else {
        bad(entry.key_place, "unknown key: an entry has user, password and pending");
      }
    }
    if (diagnostics_.error_count() > before) return std::nullopt;
    if (!has_password) bad(node.place, "the entry has no password");
    if (credential.user.empty() && may_lean && book_.fallback) credential.user = book_.fallback->user;
    if (credential.user.empty()) bad(node.place, "the entry has no user, and the file has no default user");
    if (diagnostics_.error_count() > before) return std::nullopt;
    return credential;
  }

  void read_groups(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::null) return;
    if (node.kind != YamlNode::Kind::mapping) return bad(node.place, "groups must be a mapping of group names");
    for (const YamlEntry& entry : node.entries) {
      std::optional<Credential> credential = read_entry(entry.value, true);
      if (entry.key.empty() || entry.key.front() == '@') {
        bad(entry.key_place, "a group is named without @");
      } else if (credential) {
        book_.groups.insert_or_assign(entry.key, std::move(*credential));
      }
    }
  }

  void read_devices(const YamlNode& node) {
    if (node.kind == YamlNode::Kind::null) return;
    if (node.kind != YamlNode::Kind::mapping) return bad(node.place, "devices must be a mapping of host ranges");
    std::unordered_map<std::string, std::uint32_t> lines;
    for (const YamlEntry& entry : node.entries) {
      const std::optional<Credential> credential = read_entry(entry.value, true);
      if (entry.key.starts_with('@')) {
        bad(entry.key_place, "a group stands under groups, without @");
        continue;
      }
      const Result<std::vector<std::string>> hosts = expand_hosts(entry.key);
      if (!hosts.ok()) {
        bad(entry.key_place, "the key is not a host range");
        continue;
      }
      if (lines.size() + hosts->size() > kMaxHosts) return bad(entry.key_place, "names too many devices");
      for (const std::string& host : hosts.value()) add_device(host, entry.key_place, credential, lines);
    }
  }

  void add_device(const std::string& host, const SourceLocation& place, const std::optional<Credential>& credential,
                  std::unordered_map<std::string, std::uint32_t>& lines) {
    const auto [known, fresh] = lines.try_emplace(host, place.line);
    if (!fresh) return bad(place, fmt::format("a device has an entry already, on line {}", known->second));
    if (credential) book_.devices.insert_or_assign(host, *credential);
  }

  const Sources& sources_;
  FileId file_;
  Diagnostics diagnostics_;
  CredentialBook book_;
};

std::string heading_of(std::string_view text) {
  std::string heading;
  while (text.starts_with('#')) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(1, end - 1);
    if (line.starts_with(' ')) line.remove_prefix(1);
    heading += line;
    heading += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!heading.empty()) heading.pop_back();
  return heading;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode_utf8(text, i);
    if (!point.valid) return false;
    i += point.size;
  }
  return true;
}

Value entry_value(const Credential& credential) {
  Value value = Value::map().set("user", credential.user).set("password", credential.password.reveal());
  if (credential.pending) value.set("pending", credential.pending->reveal());
  return value;
}

using Key = std::tuple<std::string, std::string, std::optional<std::string>>;

Key key_of(const Credential& credential) {
  return {credential.user, credential.password.reveal(),
          credential.pending ? std::optional(credential.pending->reveal()) : std::nullopt};
}

Value devices_value(const CredentialBook& book, bool folded) {
  std::vector<std::pair<std::string, const Credential*>> rows;
  if (folded) {
    std::map<Key, std::vector<std::string>> alike;
    for (const auto& [device, credential] : book.devices) alike[key_of(credential)].push_back(device);
    rows.reserve(alike.size());
    for (auto& [key, names] : alike) {
      const Credential* credential = book.own(names.front());
      rows.emplace_back(fold_hosts(std::move(names)), credential);
    }
  } else {
    rows.reserve(book.devices.size());
    for (const auto& [device, credential] : book.devices) rows.emplace_back(device, &credential);
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return natural_less(a.first, b.first); });
  Value devices = Value::map();
  for (const auto& [name, credential] : rows) devices.put(name, entry_value(*credential));
  return devices;
}

std::string book_text(const CredentialBook& book, bool folded) {
  Value root = Value::map().set("weft_credentials", 1);
  if (!book.log.empty()) root.set("log", book.log);
  if (book.fallback) root.set("default", entry_value(*book.fallback));
  if (!book.groups.empty()) {
    Value groups = Value::map();
    for (const auto& [group, credential] : book.groups) groups.put(group, entry_value(credential));
    root.set("groups", std::move(groups));
  }
  if (!book.devices.empty()) root.set("devices", devices_value(book, folded));
  return write_yaml(std::span<const Value>(&root, 1), book.heading);
}

}  // namespace

bool same(const Credential& a, const Credential& b) {
  return a.user == b.user && a.password == b.password && a.pending == b.pending;
}

bool same(const CredentialBook& a, const CredentialBook& b) {
  const auto alike = [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); };
  return a.fallback.has_value() == b.fallback.has_value() && (!a.fallback || same(*a.fallback, *b.fallback)) &&
         a.log == b.log && std::equal(a.groups.begin(), a.groups.end(), b.groups.begin(), b.groups.end(), alike) &&
         std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(), alike);
}

const Credential* CredentialBook::own(std::string_view device) const {
  const auto found = devices.find(device);
  return found == devices.end() ? nullptr : &found->second;
}

const Credential* CredentialBook::find(std::string_view device, std::string_view group) const {
  if (const Credential* found = own(device); found != nullptr) return found;
  if (const auto found = groups.find(group); found != groups.end()) return &found->second;
  return fallback ? &*fallback : nullptr;
}

Result<CredentialBook> read_credential_book(const std::string& name, std::string text) {
  const std::string heading = heading_of(text);
  Sources sources;
  const FileId file = sources.add(name, std::move(text));
  Result<CredentialBook> book = BookReader(sources, file).read();
  if (book.ok()) book->heading = heading;
  return book;
}

Result<std::string> write_credential_book(const CredentialBook& book) {
  // Ranges are for readability. If a name does not survive folding and expansion, each device gets its own key.
  for (const bool folded : {true, false}) {
    std::string text = book_text(book, folded);
    const Result<CredentialBook> again = read_credential_book("", text);
    if (again.ok() && same(again.value(), book)) return text;
  }
  return Error{ErrorCode::internal, "the credentials cannot be written so that they read back the same", {}};
}

Status check_entry(const std::string& device, const Credential& credential) {
  const Result<std::vector<std::string>> hosts = expand_hosts(device);
  if (!hosts.ok() || hosts->size() != 1 || hosts->front() != device || device.starts_with('@'))
    return Error{ErrorCode::invalid_input, "is not the name of one device", printable(device, 60)};
  if (credential.user.empty() || !is_utf8(credential.user) || !is_utf8(credential.password.reveal()) ||
      (credential.pending && !is_utf8(credential.pending->reveal())))
    return Error{ErrorCode::invalid_input, "user and password must be UTF-8 text", device};
  return {};
}

std::string entry_json(const std::string& device, const Credential& credential) {
  return write_json_line(Value::map()
                             .set("device", device)
                             .set("user", credential.user)
                             .set("password", credential.password.reveal())
                             .set("pending", credential.pending ? Value(credential.pending->reveal()) : Value()));
}

}  // namespace weft::oob
