#include "oob/switches/transport_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>

#include "base/host_range.h"
#include "base/json.h"
#include "base/process.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace weft::oob {
namespace {

constexpr std::size_t kShrunk = 10;     // a config this many times shorter than the last is rejected
constexpr std::size_t kErrorLines = 5;  // where an error message would be; later lines may be a banner with such words
constexpr std::size_t kMaxExpanded = 4096;  // maximum number of ports in one NVUE range

void for_each_line(std::string_view text, const std::function<void(std::string_view)>& use) {
  for (const std::string_view line : split_lines(text)) use(line);
}

bool is_noise(const SwitchSystem& system, std::string_view line) {
  const std::string_view words = trim(line, kLineSpaces);
  return std::any_of(system.noise.begin(), system.noise.end(),
                     [&](std::string_view start) { return words.starts_with(start); });
}

bool is_comment(std::string_view words) { return words.starts_with('!') || words.starts_with('#'); }

// Certificates and keys as IOS-like systems write them ("certificate self-signed 01" ... "quit") and as PEM (RFC 7468).
class CertificateFilter {
 public:
  // Whether the line belongs to a certificate.
  bool takes(std::string_view words) {
    if (!end_.empty()) {
      if (words.find(end_) != std::string_view::npos) end_ = {};
      return true;
    }
    if (words.find("-----BEGIN ") != std::string_view::npos) {
      if (words.find("-----END ") == std::string_view::npos) end_ = "-----END ";
      return true;
    }
    if (words.starts_with("certificate self-signed") || words.starts_with("certificate ca ")) {
      end_ = "quit";
      return true;
    }
    return false;
  }

 private:
  std::string_view end_;
};

std::string normalized_lines(const SwitchSystem& system, std::string_view text) {
  std::string out;
  CertificateFilter certificates;
  for_each_line(text, [&](std::string_view line) {
    const std::string_view words = trim(line, kLineSpaces);
    if (words.empty() || is_noise(system, line) || certificates.takes(words) || is_comment(words)) return;
    out += trim_end(line, kLineSpaces);
    out += '\n';
  });
  return out;
}

std::string one_blank_between(std::string_view words) {
  std::string out;
  for (const char c : words) {
    const bool blank = c == ' ' || c == '\t';
    if (!blank) out += c;
    if (blank && !out.empty() && out.back() != ' ') out += ' ';
  }
  return out;
}

void tidy(std::vector<std::string>& statements) {
  std::sort(statements.begin(), statements.end());
  statements.erase(std::unique(statements.begin(), statements.end()), statements.end());
}

void flatten(const YamlNode& node, const std::string& path, std::string_view between, std::vector<std::string>& out) {
  const auto below = [&](std::string_view key) {
    return path.empty() ? std::string(key) : path + std::string(between) + std::string(key);
  };
  switch (node.kind) {
    case YamlNode::Kind::null:
      out.push_back(path);
      return;
    case YamlNode::Kind::scalar:
      out.push_back(below(node.scalar));
      return;
    case YamlNode::Kind::sequence:
      if (node.items.empty()) out.push_back(path);
      for (const YamlNode& item : node.items) flatten(item, path, between, out);
      return;
    case YamlNode::Kind::mapping:
      if (node.entries.empty()) out.push_back(path);
      for (const YamlEntry& entry : node.entries) flatten(entry.value, below(entry.key), between, out);
      return;
  }
}

std::optional<std::vector<std::string>> json_statements(std::string_view text) {
  Diagnostics problems;
  const std::optional<YamlNode> tree = parse_json_text(text, SourceLocation{}, problems);
  if (!tree || tree->kind != YamlNode::Kind::mapping) return std::nullopt;
  std::vector<std::string> out;
  flatten(*tree, {}, " | ", out);
  tidy(out);
  return out;
}

// Expands "swp1-2,swp61" to its ports. NVUE writes ranges where it can, but not consistently.
std::vector<std::string> expanded_ports(const std::string& word) {
  std::vector<std::string> ports;
  for (std::size_t at = 0; at <= word.size();) {
    const std::size_t end = std::min(word.find(',', at), word.size());
    const std::string part = word.substr(at, end - at);
    at = end + 1;
    const std::size_t dash = part.rfind('-');
    const std::size_t digits = dash == std::string::npos ? dash : part.find_last_not_of("0123456789", dash - 1);
    const bool range = dash != std::string::npos && dash > 0 && dash + 1 < part.size() && digits != std::string::npos &&
                       digits + 1 < dash && part.find_first_not_of("0123456789", dash + 1) == std::string::npos;
    if (!range) {
      ports.push_back(part);
      continue;
    }
    const Result<std::vector<std::string>> names =
        expand_hosts(part.substr(0, digits + 1) + "[" + part.substr(digits + 1) + "]");
    if (!names.ok() || names->size() + ports.size() > kMaxExpanded) return {word};
    ports.insert(ports.end(), names->begin(), names->end());
  }
  return ports;
}

void add_nv_set(std::vector<std::string> words, std::vector<std::string>& out) {
  const bool ranged = words.size() > 1 && words[0] == "interface" && words[1].find_first_of("-,") != std::string::npos;
  const std::vector<std::string> ports = ranged ? expanded_ports(words[1]) : std::vector<std::string>{{}};
  for (const std::string& port : ports) {
    if (ranged) words[1] = port;
    out.push_back(fmt::format("nv set {}", fmt::join(words, " ")));
  }
}

// The YAML of `nv config show` is a list of {header: ...} and {set: tree}.
void nvue_yaml_statements(std::string_view text, std::vector<std::string>& out) {
  Sources sources;
  Diagnostics problems;
  const FileId file = sources.add("configuration", std::string(text));
  for (const YamlNode& document : parse_yaml_stream(sources, file, problems)) {
    for (const YamlNode& item : document.items) {
      const YamlNode* set = item.find("set");
      if (set == nullptr) continue;
      std::vector<std::string> paths;
      flatten(*set, {}, "\n", paths);
      for (const std::string& path : paths) {
        std::vector<std::string> words;
        for_each_line(path, [&](std::string_view word) { words.emplace_back(word); });
        add_nv_set(std::move(words), out);
      }
    }
  }
}

std::vector<std::string> nvue_statements(std::string_view text) {
  std::vector<std::string> out;
  bool commands = false;
  for_each_line(text, [&](std::string_view line) {
    const std::string_view trimmed_line = trim(line, kLineSpaces);
    if (!trimmed_line.starts_with("nv set ")) return;
    commands = true;
    Result<std::vector<std::string>> words = split_words(trimmed_line);
    if (!words.ok() || words->size() < 3) return;
    words->erase(words->begin(), words->begin() + 2);
    add_nv_set(std::move(*words), out);
  });
  if (!commands) nvue_yaml_statements(text, out);
  tidy(out);
  return out;
}

std::vector<std::string> line_statements(const SwitchSystem& system, std::string_view text) {
  struct Level {
    std::size_t indent = 0;
    std::string words;
  };
  std::vector<Level> stack;
  std::vector<std::string> out;
  for_each_line(normalized_lines(system, text), [&](std::string_view line) {
    const std::string words = one_blank_between(trim(line, kLineSpaces));
    if (words == "end" || words == "exit") return;
    const std::size_t indent = line.find_first_not_of(" \t");
    while (!stack.empty() && stack.back().indent >= indent) stack.pop_back();
    std::string statement;
    for (const Level& level : stack) statement += level.words + " / ";
    statement += words;
    stack.push_back({indent, words});
    out.push_back(std::move(statement));
  });
  tidy(out);
  return out;
}

std::vector<std::string> brace_statements(const SwitchSystem& system, std::string_view text) {
  std::vector<std::string> stack;
  std::vector<std::string> out;
  for_each_line(normalized_lines(system, text), [&](std::string_view line) {
    std::string words = one_blank_between(trim(line, kLineSpaces));
    if (words == "}") {
      if (!stack.empty()) stack.pop_back();
      return;
    }
    const bool opens = words.ends_with('{');
    if (opens || words.ends_with(';')) words.pop_back();
    words = std::string(trim(words, kLineSpaces));
    if (opens) {
      stack.push_back(words);
      return;
    }
    out.push_back(fmt::format("{}{}{}", fmt::join(stack, " / "), stack.empty() ? "" : " / ", words));
  });
  tidy(out);
  return out;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

// Keywords that are followed by a secret: "password 5 HASH", "secret sha512 HASH", "community NAME", "key 7 HASH".
constexpr std::array<std::string_view, 11> kSecretWords = {
    "password",        "secret",         "community",  "auth-password",
    "priv-password",   "key-string",     "passphrase", "encrypted-password",
    "hashed-password", "pre-shared-key", "md5"};
// Words between the keyword and the secret: its encoding.
bool is_secret_kind(std::string_view word) {
  return word == "0" || word == "5" || word == "7" || word == "8" || word == "9" || word == "sha512" ||
         word == "encrypted" || word == "hash" || word == "md5";
}

std::string masked_line(std::string_view line) {
  std::string out;
  bool hide = false;
  bool key = false;  // "tacacs-server key 7 ..." but not "key chain NAME" or "key 1"
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t blank = line.find_first_not_of(" \t:=|\"',", at);
    out += line.substr(at, std::min(blank, line.size()) - at);
    if (blank == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(hide ? " \t\"'," : " \t:=|\"',", blank), line.size());
    const std::string_view word = line.substr(blank, end - blank);
    at = end;
    if (hide && is_secret_kind(word)) {
      out += word;
      continue;
    }
    out += hide ? std::string_view("<hidden>") : word;
    hide = (!hide && std::find(kSecretWords.begin(), kSecretWords.end(), word) != kSecretWords.end()) ||
           (key && word == "7");
    key = word == "key" || word == "passkey";
    if (word == "passkey") hide = true;
  }
  return out;
}

}  // namespace

std::string without_noise(const SwitchSystem& system, std::string_view text) {
  if (system.shape == ConfigShape::json) {
    // The same database may be printed in a different order.
    if (const auto statements = json_statements(text)) return joined_lines(*statements);
  }
  if (system.shape == ConfigShape::nvue) return normalized(system, text);
  std::string out;
  for_each_line(text, [&](std::string_view line) {
    if (is_noise(system, line) || trim(line, kLineSpaces).empty()) return;
    out += trim_end(line, kLineSpaces);
    out += '\n';
  });
  return out;
}

std::string normalized(const SwitchSystem& system, std::string_view text) {
  if (system.shape == ConfigShape::json || system.shape == ConfigShape::nvue)
    return joined_lines(statements_of(system, text));
  return normalized_lines(system, text);
}

std::vector<std::string> statements_of(const SwitchSystem& system, std::string_view text) {
  switch (system.shape) {
    case ConfigShape::json:
      if (std::optional<std::vector<std::string>> statements = json_statements(text)) return std::move(*statements);
      break;
    case ConfigShape::nvue:
      return nvue_statements(text);
    case ConfigShape::braces:
      return brace_statements(system, text);
    case ConfigShape::lines:
      break;
  }
  return line_statements(system, text);
}

std::string masked(std::string_view text) {
  std::string out;
  for_each_line(text, [&](std::string_view line) {
    out += printable(masked_line(line));
    out += '\n';
  });
  return out;
}

Status plausible_config(const SwitchSystem& system, std::string_view text, std::optional<std::size_t> last_bytes) {
  const auto no = [](std::string why) { return Error{ErrorCode::invalid_input, std::move(why), {}}; };
  if (trim(text).empty()) return no("the switch returned an empty configuration");
  std::size_t seen = 0;
  std::string complaint;
  std::string last;
  for_each_line(text, [&](std::string_view line) {
    const std::string_view words = trim(line, kLineSpaces);
    if (words.empty()) return;
    last = std::string(words);
    if (++seen > kErrorLines || !complaint.empty()) return;
    const bool refused =
        words.starts_with("% ") || std::any_of(system.refused.begin(), system.refused.end(),
                                               [&](std::string_view sign) { return words.starts_with(sign); });
    if (refused) complaint = printable(words, 120);
  });
  if (!complaint.empty()) return no(fmt::format("the switch returned an error: {}", complaint));
  if (system.shape == ConfigShape::json && !json_statements(text))
    return no("the output of the switch is not a JSON object");
  if (system.shape == ConfigShape::nvue && nvue_statements(text).empty())
    return no("the switch returned a configuration without statements");
  if (!system.last_line.empty() && last != system.last_line)
    return no(fmt::format("the configuration is truncated: it does not end with `{}`", system.last_line));
  if (last_bytes && text.size() * kShrunk < *last_bytes)
    return no(fmt::format("the configuration has {} bytes, the previous one had {}", text.size(), *last_bytes));
  return {};
}

}  // namespace weft::oob
