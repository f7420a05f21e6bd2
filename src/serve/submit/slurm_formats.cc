#include "serve/submit/slurm_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "base/utf8.h"
#include "sched/machine/moment.h"

namespace weft::serve {
namespace {

constexpr std::int64_t kMaxNumber = 1'000'000'000;  // of any part of a value
constexpr std::int64_t kMaxMinutes = 100LL * 366 * 24 * 60;

Error invalid(std::string message) { return Error{ErrorCode::invalid_input, std::move(message), {}}; }

// Digits only: no sign, at most kMaxNumber.
std::optional<std::int64_t> number_of(std::string_view text) {
  if (text.empty() || text.size() > 12 || !std::all_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  const Result<std::int64_t> value = parse_integer(text);
  return value.ok() && *value <= kMaxNumber ? std::optional(*value) : std::nullopt;
}

struct SignalName {
  std::string_view name;
  int number;
};
constexpr SignalName kSignals[] = {{"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT},
                                   {"KILL", SIGKILL}, {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"USR1", SIGUSR1},
                                   {"USR2", SIGUSR2}, {"URG", SIGURG},   {"CONT", SIGCONT}, {"STOP", SIGSTOP},
                                   {"TSTP", SIGTSTP}, {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"XCPU", SIGXCPU}};

class DirectiveSplitter {
 public:
  explicit DirectiveSplitter(std::string_view line) : line_(line) {}

  Result<std::vector<DirectiveWord>> split() {
    for (at_ = 0; at_ < line_.size(); ++at_) {
      const char c = line_[at_];
      if (quote_ != '\0') {
        add_quoted(c);
      } else if (c == '#' && !in_word_) {
        break;
      } else if (c == '\'' || c == '"') {
        start_word();
        quote_ = c;
      } else if (contains(kLineSpaces, std::string_view(&c, 1))) {
        end_word();
      } else {
        start_word();
        add(c == '\\' && at_ + 1 < line_.size() ? line_[++at_] : c);
      }
    }
    if (quote_ != '\0') return invalid("unterminated quote");
    end_word();
    return std::move(words_);
  }

 private:
  void add(char c) { words_.back().text += c; }
  void add_quoted(char c) {
    if (c == quote_) {
      quote_ = '\0';
    } else {
      add(c == '\\' && quote_ == '"' && at_ + 1 < line_.size() ? line_[++at_] : c);
    }
  }
  void start_word() {
    if (!in_word_) words_.push_back({{}, at_});
    in_word_ = true;
  }
  void end_word() { in_word_ = false; }

  std::string_view line_;
  std::size_t at_ = 0;
  char quote_ = '\0';
  bool in_word_ = false;
  std::vector<DirectiveWord> words_;
};

// Seconds of "a", "a:b" or "a:b:c", whose last part is in units of `unit` seconds per part from the left.
std::optional<std::int64_t> clock_seconds(std::string_view text, bool after_days) {
  std::vector<std::int64_t> parts;
  for (const std::string_view part : split(text, ':')) {
    const std::optional<std::int64_t> number = number_of(part);
    if (!number) return std::nullopt;
    parts.push_back(*number);
  }
  if (parts.size() > 3) return std::nullopt;
  if (after_days) {  // hours[:minutes[:seconds]]
    parts.resize(3);
    return (parts[0] * 60 + parts[1]) * 60 + parts[2];
  }
  if (parts.size() == 1) return parts[0] * 60;
  if (parts.size() == 2) return parts[0] * 60 + parts[1];
  return (parts[0] * 60 + parts[1]) * 60 + parts[2];
}

}  // namespace

Result<Duration> parse_slurm_time(std::string_view text) {
  if (equals_ignoring_case(text, "unlimited") || equals_ignoring_case(text, "infinite") || text == "-1") {
    return sched::kUnlimited;
  }
  std::int64_t days = 0;
  std::string_view clock = text;
  const std::size_t dash = text.find('-');
  const Error error = invalid(fmt::format(
      "{} is not a time: expected minutes, minutes:seconds, hours:minutes:seconds or days-hours[:minutes[:seconds]]",
      in_backticks(text)));
  if (dash != std::string_view::npos) {
    const std::optional<std::int64_t> number = number_of(text.substr(0, dash));
    if (!number) return error;
    days = *number;
    clock = text.substr(dash + 1);
  }
  const std::optional<std::int64_t> seconds = clock_seconds(clock, dash != std::string_view::npos);
  if (!seconds) return error;
  const std::int64_t minutes = days * 24 * 60 + (*seconds + 59) / 60;
  if (minutes == 0) return sched::kUnlimited;
  if (minutes > kMaxMinutes) return invalid(fmt::format("{} is more than 100 years", in_backticks(text)));
  return sched::seconds(minutes * 60);
}

Result<std::int64_t> parse_slurm_size(std::string_view text) {
  std::string_view digits = text;
  if (digits.size() > 1 && to_upper(digits.back()) == 'B' && is_letter(digits[digits.size() - 2])) {
    digits.remove_suffix(1);
  }
  char unit = 'M';
  if (!digits.empty() && is_letter(digits.back())) {
    unit = to_upper(digits.back());
    digits.remove_suffix(1);
  }
  const std::optional<std::int64_t> number = number_of(digits);
  const std::size_t power = std::string_view("KMGT").find(unit);
  if (!number || power == std::string_view::npos) {
    return invalid(fmt::format("{} is not a size: expected a number with K, M, G or T", in_backticks(text)));
  }
  if (power == 0) return (*number + 1023) / 1024;
  return *number << (10U * (power - 1));  // at most 10^9 TiB: fits
}

Result<NodeRange> parse_node_range(std::string_view text) {
  const auto count = [](std::string_view part) -> std::optional<std::int64_t> {
    std::int64_t factor = 1;
    if (!part.empty() && to_lower(part.back()) == 'k') factor = 1024;
    if (!part.empty() && to_lower(part.back()) == 'm') factor = 1 << 20;
    if (factor > 1) part.remove_suffix(1);
    const std::optional<std::int64_t> number = number_of(part);
    if (!number || *number == 0) return std::nullopt;
    return *number * factor;
  };
  const std::size_t dash = text.find('-');
  const std::optional<std::int64_t> least = count(text.substr(0, dash));
  const std::optional<std::int64_t> most = dash == std::string_view::npos ? least : count(text.substr(dash + 1));
  if (!least || !most) {
    return invalid(fmt::format("{} is not a number of nodes: expected one such as 4 or 8-32", in_backticks(text)));
  }
  if (*least > *most) return invalid(fmt::format("the minimum of {} is above the maximum", in_backticks(text)));
  return NodeRange{*least, *most};
}

Result<GpuCount> parse_gpu_count(std::string_view text) {
  if (contains(text, ",")) {
    return invalid(fmt::format("{} has several types of GPUs; tasks of a job are equal", in_backticks(text)));
  }
  GpuCount out;
  const std::size_t colon = text.find(':');
  const std::string_view last = colon == std::string_view::npos ? text : text.substr(colon + 1);
  if (const std::optional<std::int64_t> number = number_of(last)) {
    out.count = *number;
    if (colon != std::string_view::npos) out.type = text.substr(0, colon);
    if (colon != 0) return out;
  } else if (colon == std::string_view::npos && !text.empty() && is_letter(text.front())) {
    out.type = text;
    return out;
  }
  return invalid(fmt::format("{} is not a number of GPUs: expected one such as 8 or h100:8", in_backticks(text)));
}

int signal_number(std::string_view text) {
  if (const std::optional<std::int64_t> number = number_of(text)) {
    return *number >= 1 && *number <= 64 ? static_cast<int>(*number) : 0;
  }
  std::string name = to_upper(text);
  if (name.starts_with("SIG")) name.erase(0, 3);
  for (const SignalName& known : kSignals) {
    if (known.name == name) return known.number;
  }
  return 0;
}

Result<SlurmSignal> parse_slurm_signal(std::string_view text) {
  SlurmSignal out;
  std::string_view rest = text;
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    const std::string flags = to_upper(rest.substr(0, colon));
    if (flags.empty() || flags.find_first_not_of("BR") != std::string::npos) {
      return invalid(
          fmt::format("{} is not a signal: expected one such as USR1@120 or B:USR1@120", in_backticks(text)));
    }
    out.batch = contains(flags, "B");
    rest.remove_prefix(colon + 1);
  }
  const std::size_t at = rest.find('@');
  out.number = signal_number(rest.substr(0, at));
  if (out.number == 0) return invalid(fmt::format("{} is not a signal", in_backticks(rest.substr(0, at))));
  if (at == std::string_view::npos) return out;
  const std::optional<std::int64_t> seconds = number_of(rest.substr(at + 1));
  if (!seconds || *seconds > 65'535) {
    return invalid(fmt::format("{} is not a number of seconds between 0 and 65535", in_backticks(rest.substr(at + 1))));
  }
  out.seconds = *seconds;
  return out;
}

Result<std::string> convert_file_pattern(std::string_view pattern, std::string_view job, std::string_view user) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') return invalid("a backslash in a file name is not supported");
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    const char kind = i + 1 < pattern.size() ? pattern[++i] : '\0';
    switch (kind) {
      case 'j':
      case 'J':  // job.step, which for the script is the job
      case 'A':  // the job, unless it is an array
        out += "%j";
        break;
      case 't':
      case 'n':  // the node within the job, which is the task here
        out += "%t";
        break;
      case 'x':
        out += job;
        break;
      case 'u':
        out += user;
        break;
      default:
        return invalid(fmt::format("{} in a file name is not supported; use %j, %x, %u or %t",
                                   in_backticks(pattern.substr(kind == '\0' ? i : i - 1, 2))));
    }
  }
  return out;
}

Result<std::vector<DirectiveWord>> split_directive(std::string_view line) { return DirectiveSplitter(line).split(); }

}  // namespace weft::serve
