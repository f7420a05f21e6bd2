#include "health/readers/log_line.h"

#include "health/readers/line_scan.h"
#include "health/readers/log_time.h"

namespace weft::health {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMaxUptimeSeconds = 4'000'000'000;  // beyond a century: not a time since boot

sched::Moment since_boot(std::uint64_t seconds, std::int64_t nanoseconds, sched::Moment boot) {
  if (boot == sched::Moment() || seconds > kMaxUptimeSeconds) return {};
  return boot + Duration(static_cast<std::int64_t>(seconds) * kSecond + nanoseconds);
}

// "kernel: ", "python3[123]: " in front of a message; false: neither.
bool take_program(std::string_view& text, LogLine& line) {
  std::string_view rest = text;
  const std::string_view word = leading_word(rest, "-_./@()");
  rest.remove_prefix(word.size());
  if (take(rest, "[")) (void)take_until(rest, "]");
  if (word.empty() || !take(rest, ":") || !(rest.empty() || rest.starts_with(" "))) return false;
  line.program = word;
  skip_spaces(rest);
  text = rest;
  return true;
}

std::string_view take_token(std::string_view& text) {
  const std::string_view token = take_until(text, " ");
  skip_spaces(text);
  return token == "-" ? std::string_view() : token;
}

// RFC 5424, 6.3: "-", or elements in brackets whose values may have brackets in quotes.
bool skip_structured_data(std::string_view& text) {
  if (take(text, "-")) return true;
  bool any = false;
  while (text.starts_with("[")) {
    bool quoted = false;
    std::size_t i = 1;
    for (; i < text.size() && (quoted || text[i] != ']'); ++i) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        quoted = !quoted;
    }
    if (i >= text.size()) return false;
    text.remove_prefix(i + 1);
    any = true;
  }
  return any;
}

// "APP PROCID MSGID SD MSG" behind time and host
bool read_structured_tail(std::string_view text, LogLine& line) {
  line.program = take_token(text);
  (void)take_token(text);
  (void)take_token(text);
  if (!skip_structured_data(text)) return false;
  if (!text.empty() && !take(text, " ")) return false;
  (void)take(text, "\xEF\xBB\xBF");
  line.message = text;
  return true;
}

// What follows the time in syslog files and in journalctl's output: "host kernel: message"
bool read_host_and_program(std::string_view text, LogLine& line) {
  skip_spaces(text);
  if (take_program(text, line)) {  // without a host: `journalctl --no-hostname`
    line.message = text;
    return true;
  }
  line.host = take_token(text);
  if (line.host.empty()) return false;
  if (!take_program(text, line) && !text.starts_with("[")) return read_structured_tail(text, line);
  line.message = text;
  return true;
}

// "<134>1 2019-08-19T04:18:38.274652-04:00 host kernel - - - message", the version taken
std::optional<LogLine> split_rfc5424(std::string_view text) {
  LogLine line;
  if (!take(text, "- ")) {
    const auto time = take_iso_time(text);
    if (!time || !take(text, " ")) return std::nullopt;
    line.at = time->at;
  }
  line.host = take_token(text);
  if (!read_structured_tail(text, line)) return std::nullopt;
  return line;
}

std::optional<LogLine> split_iso(std::string_view text) {
  const auto time = take_iso_time(text);
  if (!time || !take(text, " ")) return std::nullopt;
  LogLine line;
  line.at = time->at;
  if (time->comma) {  // dmesg --time-format iso, which has no host
    line.message = text;
    return line;
  }
  if (!read_host_and_program(text, line)) return std::nullopt;
  return line;
}

// RFC 3164: "Feb  4 05:03:41 host kernel: message"
std::optional<LogLine> split_rfc3164(std::string_view text, const LogClock& clock) {
  const auto month = take_month(text);
  if (!month || !take(text, " ")) return std::nullopt;
  skip_spaces(text);
  const auto day = take_digits(text, 1, 2);
  if (!day || *day == 0 || *day > 31 || !take(text, " ")) return std::nullopt;
  const auto time = take_time_of_day(text);
  if (!time || !take(text, " ")) return std::nullopt;
  LogLine line;
  line.at = place_in_year(*month, *day, time->nanoseconds, clock.now);
  if (!read_host_and_program(text, line)) return std::nullopt;
  return line;
}

// The time in the brackets of dmesg. `dmesg --reltime` has steps ("+0.000110") and minutes without a year
// ("Feb18 23:56"), which place nothing.
bool read_stamp(std::string_view stamp, const LogClock& clock, LogLine& line) {
  skip_spaces(stamp);
  if (stamp.empty()) return false;
  if (is_digit(stamp.front())) {
    const auto seconds = take_number(stamp);
    if (!seconds || !take(stamp, ".") || stamp.empty() || !is_digit(stamp.front())) return false;
    const std::int64_t fraction = take_fraction(stamp);
    line.at = since_boot(*seconds, fraction, clock.boot);
    return stamp.empty();
  }
  if (take(stamp, "+")) return leading_word(stamp, ".") == stamp && !stamp.empty();
  if (const auto moment = read_ctime(stamp)) {
    line.at = *moment;
    return true;
  }
  return take_month(stamp) && contains(stamp, ":") && stamp.size() <= 9;
}

// Caller IDs of CONFIG_PRINTK_CALLER: "[   T13] ", "[    C0]"
void skip_caller(std::string_view& text) {
  std::string_view rest = text;
  skip_spaces(rest);
  if (!take(rest, "[")) return;
  skip_spaces(rest);
  if ((take(rest, "T") || take(rest, "C")) && take_number(rest) && take(rest, "]")) text = rest;
}

std::optional<LogLine> split_dmesg(std::string_view text, const LogClock& clock) {
  LogLine line;
  if (!take(text, "[")) return std::nullopt;
  const std::size_t close = text.substr(0, 40).find(']');
  if (close == std::string_view::npos || !read_stamp(text.substr(0, close), clock, line)) return std::nullopt;
  text.remove_prefix(close + 1);
  if (!text.empty() && text.front() != ' ' && text.front() != '[') return std::nullopt;
  skip_caller(text);
  skip_spaces(text);
  // What systemd and others write to /dev/kmsg has their name and process: "systemd[1]: ...".
  std::string_view rest = text;
  if (take_program(rest, line) && contains(text.substr(0, line.program.size() + 1), "[")) {
    line.message = rest;
  } else {
    line.program = {};
    line.message = text;
  }
  return line;
}

// Records of /dev/kmsg: "4,2314,3023054882,-;message", the time in microseconds since boot
std::optional<LogLine> split_kmsg(std::string_view text, const LogClock& clock) {
  const auto priority = take_number(text);
  if (!priority || *priority > 2047 || !take(text, ",")) return std::nullopt;
  const auto sequence = take_number(text);
  if (!sequence || !take(text, ",")) return std::nullopt;
  const auto microseconds = take_number(text);
  if (!microseconds || !take(text, ",")) return std::nullopt;
  const std::size_t end = text.substr(0, 60).find(';');
  if (end == std::string_view::npos) return std::nullopt;
  LogLine line;
  line.at =
      since_boot(*microseconds / 1'000'000, static_cast<std::int64_t>(*microseconds % 1'000'000) * 1000, clock.boot);
  line.message = text.substr(end + 1);
  line.from_user = *priority / 8 != 0;
  return line;
}

// dmesg --decode: "kern  :warn  : ", then a time
std::optional<LogLine> split_decoded(std::string_view text, const LogClock& clock) {
  const std::string_view facility = leading_word(text, "");
  text.remove_prefix(facility.size());
  skip_spaces(text);
  if (facility.empty() || facility.size() > 8 || !take(text, ":")) return std::nullopt;
  const std::string_view level = leading_word(text, "");
  text.remove_prefix(level.size());
  skip_spaces(text);
  if (level.empty() || level.size() > 6 || !take(text, ": ")) return std::nullopt;
  auto line = text.starts_with("[") ? split_dmesg(text, clock) : split_iso(text);
  if (line && facility != "kern") line->from_user = true;
  return line;
}

// "<134>" in front; nullopt, with nothing removed: there is none.
std::optional<std::uint32_t> take_priority(std::string_view& text) {
  std::string_view rest = text;
  if (!take(rest, "<")) return std::nullopt;
  const auto priority = take_digits(rest, 1, 4);
  if (!priority || !take(rest, ">")) return std::nullopt;
  text = rest;
  return priority;
}

}  // namespace

std::optional<LogLine> split_log_line(std::string_view line, const LogClock& clock) {
  const std::optional<std::uint32_t> priority = take_priority(line);
  if (line.empty()) return std::nullopt;
  std::optional<LogLine> parts;
  const char first = line.front();
  if (first == '[') {
    parts = split_dmesg(line, clock);
  } else if (is_digit(first)) {
    std::string_view rest = line;
    parts = take(rest, "1 ") ? split_rfc5424(rest) : split_iso(line);
    if (!parts && !priority) parts = split_kmsg(line, clock);
  } else if (is_letter(first)) {
    parts = split_rfc3164(line, clock);
    if (!parts && !priority) parts = split_decoded(line, clock);
  }
  // Facility 0 is the kernel's, and 1 what programs get that name none.
  if (parts && priority && (*priority / 8 == 1 || (*priority / 8 > 1 && parts->program.empty())))
    parts->from_user = true;
  return parts;
}

void skip_kernel_stamps(std::string_view& message) {
  std::string_view rest = message;
  if (take(rest, "[")) {
    skip_spaces(rest);
    if (take_number(rest) && take(rest, ".") && take_number(rest) && take(rest, "]")) message = rest;
  }
  skip_caller(message);
  skip_spaces(message);
}

}  // namespace weft::health
