#include "lease/journal.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "base/random.h"
#include "base/text.h"

namespace weft::lease {
namespace {

using Kind = LeaseRecord::Kind;
constexpr std::array<std::string_view, 13> kKinds = {"add",     "session",  "ask",     "drop",  "grant",
                                                     "held",    "revoke",   "release", "fence", "fenced",
                                                     "restore", "conflict", "clear"};

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '/' || c == ':' || c == '@' || c == '+';
}

// One field without spaces: special characters become %XX, and a leading '=' keeps it non-empty.
std::string escaped(std::string_view text) {
  std::string word = "=";
  for (const char c : text) {
    if (is_plain(c)) {
      word += c;
    } else {
      append_format(word, "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return word;
}

std::optional<std::string> unescaped(std::string_view word) {
  if (word.empty() || word.front() != '=') return std::nullopt;
  std::string text;
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    std::uint8_t value = 0;
    if (i + 2 >= word.size()) return std::nullopt;
    const auto read = std::from_chars(word.data() + i + 1, word.data() + i + 3, value, 16);
    if (read.ec != std::errc{} || read.ptr != word.data() + i + 3) return std::nullopt;
    text += static_cast<char>(value);
    i += 2;
  }
  return text;
}

std::string body_of(const LeaseRecord& r) {
  std::string text = fmt::format("{} {} {}", r.serial, r.at.count(), kKinds[static_cast<std::size_t>(r.kind)]);
  const int owner = static_cast<int>(r.owner);
  switch (r.kind) {
    case Kind::add:
    case Kind::fence:
    case Kind::fenced:
      append_format(text, " {} {}", sched::index_of(r.node), r.number);
      break;
    case Kind::session:
      append_format(text, " {} {} {}", owner, r.session.start, r.session.turn);
      break;
    case Kind::ask:
      append_format(text, " {} {} {} {} {}", r.number, owner, r.reclaim ? 1 : 0, to_text(r.gpus), escaped(r.holder));
      break;
    case Kind::drop:
      append_format(text, " {}", r.number);
      break;
    case Kind::grant:
      append_format(text, " {} {}", r.number, r.epoch);
      break;
    case Kind::held:
    case Kind::revoke:
    case Kind::release:
      append_format(text, " {} {}", r.epoch, to_text(r.gpus));
      break;
    case Kind::restore:
      append_format(text, " {}", sched::index_of(r.node));
      break;
    case Kind::conflict:
      append_format(text, " {} {} {}", owner, to_text(r.gpus), escaped(r.holder));
      break;
    case Kind::clear:
      append_format(text, " {} {}", owner, to_text(r.gpus));
      break;
  }
  return text;
}

// Reads the fields of a line in order; records whether one was invalid.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}

  std::string_view next() {
    const std::size_t end = rest_.find(' ');
    const std::string_view word = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view{} : rest_.substr(end + 1);
    return word;
  }
  template <class Number>
  Number number() {
    const std::string_view word = next();
    Number value{};
    const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
    good_ = good_ && read.ec == std::errc{} && read.ptr == word.data() + word.size() && !word.empty();
    return value;
  }
  LeaseOwner owner() {
    const int value = number<int>();
    good_ = good_ && value >= 0 && value < kLeaseOwners;
    return good_ ? static_cast<LeaseOwner>(value) : LeaseOwner::none;
  }
  sched::NodeId node() { return sched::NodeId{number<std::uint32_t>()}; }
  GpuSet gpus() {
    Result<GpuSet> set = parse_gpu_set(next());
    good_ = good_ && set.ok();
    return set.ok() ? std::move(set).value() : GpuSet{};
  }
  std::string text() {
    std::optional<std::string> value = unescaped(next());
    good_ = good_ && value.has_value();
    return value.value_or(std::string{});
  }
  void fail() { good_ = false; }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void read_fields(Words& words, LeaseRecord& r) {
  switch (r.kind) {
    case Kind::add:
    case Kind::fence:
    case Kind::fenced:
      r.node = words.node();
      r.number = words.number<std::uint64_t>();
      break;
    case Kind::session:
      r.owner = words.owner();
      r.session.start = words.number<std::uint64_t>();
      r.session.turn = words.number<std::uint64_t>();
      break;
    case Kind::ask:
      r.number = words.number<std::uint64_t>();
      r.owner = words.owner();
      r.reclaim = words.number<int>() != 0;
      r.gpus = words.gpus();
      r.holder = words.text();
      break;
    case Kind::drop:
      r.number = words.number<std::uint64_t>();
      break;
    case Kind::grant:
      r.number = words.number<std::uint64_t>();
      r.epoch = words.number<LeaseEpoch>();
      break;
    case Kind::held:
    case Kind::revoke:
    case Kind::release:
      r.epoch = words.number<LeaseEpoch>();
      r.gpus = words.gpus();
      break;
    case Kind::restore:
      r.node = words.node();
      break;
    case Kind::conflict:
      r.owner = words.owner();
      r.gpus = words.gpus();
      r.holder = words.text();
      break;
    case Kind::clear:
      r.owner = words.owner();
      r.gpus = words.gpus();
      break;
  }
}

}  // namespace

std::string to_text(const LeaseRecord& record) {
  const std::string body = body_of(record);
  return fmt::format("{} {:016x}", body, hash64(body));
}

Result<LeaseRecord> parse_lease_record(std::string_view line) {
  const auto bad = [](std::string_view why) { return Error{ErrorCode::invalid_input, std::string(why), {}}; };
  const std::size_t cut = line.rfind(' ');
  if (cut == std::string_view::npos) return bad("not a record of the lease journal");
  const std::string_view body = line.substr(0, cut);
  if (line.substr(cut + 1) != fmt::format("{:016x}", hash64(body))) return bad("its checksum is wrong");
  Words words(body);
  LeaseRecord record;
  record.serial = words.number<std::uint64_t>();
  record.at = sched::Moment(words.number<std::int64_t>());
  const std::string_view kind = words.next();
  std::size_t found = 0;
  while (found < kKinds.size() && kKinds[found] != kind) ++found;
  if (found == kKinds.size()) return bad(fmt::format("'{}' is not a kind of record", kind.substr(0, 20)));
  record.kind = static_cast<Kind>(found);
  read_fields(words, record);
  // Rejects non-canonical spellings (leading zeros, needless escapes, extra fields): they do not re-encode identically.
  if (!words.good() || body_of(record) != body) return bad(fmt::format("its fields are not those of '{}'", kind));
  return record;
}

std::string to_text(std::span<const LeaseRecord> records) {
  std::string text;
  for (const LeaseRecord& record : records) text += to_text(record) + '\n';
  return text;
}

Result<LeaseJournal> parse_lease_journal(std::string_view text) {
  LeaseJournal journal;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      journal.torn = text.size();
      break;
    }
    Result<LeaseRecord> record = parse_lease_record(text.substr(0, end));
    if (!record.ok()) {
      return Error{ErrorCode::invalid_input, record.error().message, fmt::format("lease journal:{}", line)};
    }
    if (record->serial != line) {
      return Error{ErrorCode::invalid_input,
                   fmt::format("found record {} where record {} is expected", record->serial, line),
                   fmt::format("lease journal:{}", line)};
    }
    journal.records.push_back(std::move(record).value());
    text.remove_prefix(end + 1);
  }
  return journal;
}

}  // namespace weft::lease
