#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "oob/journal/syslog.h"

namespace weft::oob {
namespace {

// RFC 5424 section 6.2.1.
constexpr int kLogAudit = 13;
constexpr int kError = 3;
constexpr int kWarning = 4;
constexpr int kNotice = 5;
constexpr int kInformational = 6;

constexpr std::size_t kMaxMessage = 8192;  // RFC 5425 section 4.3.1: receivers SHOULD accept that much
constexpr std::size_t kMaxParameter = 512;
constexpr std::size_t kMaxHostname = 255;  // RFC 5424 section 6
constexpr std::size_t kMaxMessageId = 32;
constexpr std::string_view kBom = "\xEF\xBB\xBF";  // section 6.4: marks the text as UTF-8

int severity_of(const JournalEntry& entry) {
  if (entry.phase == Phase::seen) return kInformational;
  if (entry.phase == Phase::outcome) {
    const Value* result = entry.detail.find("result");
    if (result == nullptr) result = entry.detail.find("outcome");
    if (result != nullptr && result->is_text()) {
      if (result->text() == "unknown") return kError;
      if (result->text() == "not done" || result->text() == "not_done") return kWarning;
    }
    return kNotice;
  }
  const bool odd = entry.verb.ends_with(".refused") || entry.verb.ends_with(".torn");
  return entry.phase == Phase::note && odd ? kWarning : kNotice;
}

// PRINTUSASCII of section 6, truncated to the maximum length; "-" if empty.
std::string header_word(std::string_view text, std::size_t most) {
  std::string out;
  for (const char c : text.substr(0, most)) out += c > ' ' && c < '\x7F' ? c : '?';
  return out.empty() ? "-" : out;
}

// At most `most` bytes, never splitting a character.
std::string_view cut_utf8(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t next = end + decode_utf8(text, end).size;
    if (next > most) break;
    end = next;
  }
  return text.substr(0, end);
}

// PARAM-VALUE of section 6.3.3: UTF-8, with \ before ", \ and ].
std::string parameter(std::string_view name, std::string_view value) {
  std::string out = fmt::format(" {}=\"", name);
  for (const char c : printable(cut_utf8(value, kMaxParameter))) {
    if (c == '"' || c == '\\' || c == ']') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string message_text(const JournalEntry& entry) {
  std::string text = fmt::format("{} {}", entry.verb, to_text(entry.phase));
  if (!entry.device.empty()) text += " " + entry.device;
  if (!entry.who.empty()) text += " by " + entry.who;
  if (!entry.detail.empty()) text += " " + write_json_line(entry.detail);
  return printable(text);
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  int port = 0;
  for (const char c : text) port = port * 10 + (c - '0');
  if (port == 0 || port > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(port);
}

}  // namespace

std::string syslog_message(const JournalEntry& entry, std::string_view hostname) {
  std::string message =
      fmt::format("<{}>1 {} {} weft - {} ", kLogAudit * 8 + severity_of(entry), header_word(entry.time, 64),
                  header_word(hostname, kMaxHostname), header_word(entry.verb, kMaxMessageId));
  // 32473 is the enterprise number that RFC 5612 reserves for documentation: weft has no number of its own.
  message += "[weft@32473";
  message += parameter("number", std::to_string(entry.number));
  message += parameter("phase", to_text(entry.phase));
  message += parameter("operation", entry.operation);
  message += parameter("device", entry.device);
  message += parameter("who", entry.who);
  message += parameter("hash", entry.hash);
  message += "] ";
  message += kBom;
  const std::string text = message_text(entry);
  const std::size_t room = kMaxMessage - message.size();
  if (text.size() <= room) return message + text;
  message += cut_utf8(text, room - 3);
  return message + "...";
}

Result<SyslogTarget> parse_syslog_target(std::string_view text) {
  const Error bad{ErrorCode::invalid_input,
                  fmt::format("{} is not a log server: tcp://HOST:PORT, tls://HOST:PORT or HOST", in_backticks(text)),
                  {}};
  SyslogTarget target;
  if (text.starts_with("tls://")) {
    target.tls = true;
    text.remove_prefix(6);
  } else if (text.starts_with("tcp://")) {
    text.remove_prefix(6);
  } else if (text.find("://") != std::string_view::npos) {
    return bad;
  }
  target.port = target.tls ? 6514 : 514;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad;
    target.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && port.front() != ':') return bad;
  } else {
    const std::size_t colon = text.find(':');
    // More than one colon: an IPv6 address, without a port.
    const bool bare = colon != std::string_view::npos && text.find(':', colon + 1) != std::string_view::npos;
    target.host = bare ? text : text.substr(0, colon);
    if (!bare && colon != std::string_view::npos) port = text.substr(colon);
  }
  if (!port.empty()) {
    const std::optional<std::uint16_t> number = port_of(port.substr(1));
    if (!number) return bad;
    target.port = *number;
  }
  const bool odd = std::any_of(target.host.begin(), target.host.end(), [](char c) {
    return !(c > ' ' && c < '\x7F') || c == '/' || c == '@' || c == '?' || c == '#';
  });
  if (target.host.empty() || odd) return bad;
  return target;
}

std::string to_text(const SyslogTarget& target) {
  const bool v6 = target.host.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", target.tls ? "tls" : "tcp", v6 ? "[" : "", target.host, v6 ? "]" : "",
                     target.port);
}

std::string SyslogReport::text(const SyslogTarget& target) const {
  if (left == 0 && problem.empty()) return {};
  const std::string why = problem.empty() ? "" : ": " + problem;
  if (left == 0) return fmt::format("the log server {} could not be brought up to date{}", to_text(target), why);
  return fmt::format("{} {} not yet at the log server {}{}; the next command sends {}", left,
                     left == 1 ? "entry" : "entries", to_text(target), why, left == 1 ? "it" : "them");
}

}  // namespace weft::oob
