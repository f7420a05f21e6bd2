#include "bmcsim/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/host_range.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace weft::bmcsim {
namespace {

using Kind = FaultKind;
using Takes = FaultArgument;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::array<FaultWord, 3> kNone{};
constexpr std::array<FaultWord, 3> kWhere{
    {{"resources", "all but the service root and the sessions"}, {"all", "every response"}, {}}};
constexpr std::uint32_t kMaxGpu = 255;
constexpr std::uint32_t kMaxXid = 999;
constexpr std::int64_t kDefaultXid = (std::int64_t{XidFault().gpu} << 16) + XidFault().code;

// In the order of FaultKind.
constexpr std::array<FaultRule, kFaultKinds> kRules{{
    {Kind::silent_accept, "silent_accept", Takes::count, "after", 0, kNone,
     "resets are accepted and have no effect: the first AFTER ones, or all of them with 0"},
    {Kind::wrong_reset, "wrong_reset", Takes::none, "", 0, kNone,
     "GracefulRestart powers off at once, ForceRestart shuts the operating system down; neither restarts"},
    {Kind::no_power_cycle, "no_power_cycle", Takes::none, "", 0, kNone, "PowerCycle is not supported"},
    {Kind::slow, "slow", Takes::time, "time", 5 * kSecond, kNone, "every response takes TIME longer"},
    {Kind::session_limited, "session_limited", Takes::count, "sessions", 2, kNone,
     "at most SESSIONS sessions, which never time out"},
    {Kind::flapping, "flapping", Takes::time, "period", 2 * kSecond, kNone,
     "reachable for PERIOD, then unreachable for PERIOD, and so on"},
    {Kind::dead,
     "dead",
     Takes::word,
     "how",
     kDeadSilent,
     {{{"silent", "connecting times out"},
       {"reset", "connections are reset at once"},
       {"mute", "connections are accepted and nothing is ever sent"}}},
     "the BMC does not respond"},
    {Kind::stuck_off, "stuck_off", Takes::none, "", 0, kNone, "On is accepted, the machine stays off"},
    {Kind::stuck_on, "stuck_on", Takes::none, "", 0, kNone, "a power off is accepted, the machine stays on"},
    {Kind::lying_state,
     "lying_state",
     Takes::word,
     "state",
     kLieOn,
     {{{"on", ""}, {"off", ""}, {}}},
     "always reports this power state"},
    {Kind::malformed, "malformed", Takes::word, "where", kOnResources, kWhere, "response bodies are not JSON"},
    {Kind::endless, "endless", Takes::word, "where", kOnResources, kWhere, "response bodies never end"},
    {Kind::endless_headers, "endless_headers", Takes::word, "where", kOnResources, kWhere,
     "response headers never end"},
    {Kind::truncated, "truncated", Takes::word, "where", kOnResources, kWhere, "response bodies end early"},
    {Kind::wrong_certificate,
     "wrong_certificate",
     Takes::word,
     "how",
     kCertificateOfOther,
     {{{"authority", "signed by another certificate authority"}, {"name", "for another address"}, {}}},
     "the TLS certificate is wrong"},
    {Kind::expired_certificate, "expired_certificate", Takes::none, "", 0, kNone,
     "the TLS certificate expired yesterday"},
    {Kind::http_500, "http_500", Takes::word, "where", kOnResources, kWhere,
     "responds with status 500 (internal server error)"},
    {Kind::busy, "busy", Takes::count, "times", 3, kNone,
     "responds with status 503 and Retry-After, TIMES times, or always with 0"},
    {Kind::unauthorized_always, "unauthorized_always", Takes::none, "", 0, kNone, "rejects correct passwords"},
    {Kind::password_change_required, "password_change_required", Takes::none, "", 0, kNone,
     "allows nothing until the password was changed"},
    {Kind::async_reset, "async_reset", Takes::time, "time", kSecond, kNone,
     "a reset is a Redfish task that completes after TIME"},
    {Kind::task_never_ends, "task_never_ends", Takes::none, "", 0, kNone, "a reset is a Redfish task that never ends"},
    {Kind::redirect, "redirect", Takes::word, "where", kOnResources, kWhere, "redirects to another host"},
    {Kind::stale_etag, "stale_etag", Takes::none, "", 0, kNone, "If-Match never matches"},
    {Kind::slow_trickle, "slow_trickle", Takes::time, "time", kSecond / 10, kNone,
     "sends one byte of a response per TIME"},
    {Kind::wrong_content_type, "wrong_content_type", Takes::word, "where", kOnResources, kWhere,
     "responses claim to be HTML"},
    {Kind::default_credentials, "default_credentials", Takes::none, "", 0, kNone,
     "the login is the factory's, admin/admin"},
    {Kind::no_boot_progress, "no_boot_progress", Takes::none, "", 0, kNone,
     "reports neither BootProgress nor LastResetTime"},
    {Kind::update_fails,
     "update_fails",
     Takes::word,
     "how",
     0,
     {{{"clean", "the old version still works"}, {"half", "the component is broken"}, {}}},
     "a firmware update fails"},
    {Kind::update_stuck, "update_stuck", Takes::none, "", 0, kNone, "the task of a firmware update never ends"},
    {Kind::update_unchanged, "update_unchanged", Takes::none, "", 0, kNone,
     "a firmware update completes, and the version is the old one"},
    {Kind::update_task_lost, "update_task_lost", Takes::none, "", 0, kNone,
     "the task of a firmware update is gone after the restart"},
    {Kind::update_drops, "update_drops", Takes::none, "", 0, kNone, "an image is received, and the response is lost"},
    {Kind::update_push_uri, "update_push_uri", Takes::none, "", 0, kNone,
     "receives images as OpenBMC does: HttpPushUri"},
    {Kind::xid, "xid", Takes::xid, "gpu", kDefaultXid, kNone,
     "GPU number GPU (from 1) raises XID CODE: at the start, and when the operating system runs after each boot"},
    {Kind::no_events, "no_events", Takes::none, "", 0, kNone, "no EventService: events are only in the logs"},
    {Kind::events_lost, "events_lost", Takes::count, "every", 2, kNone,
     "every EVERY-th event is not sent, only logged; all of them with 1"},
    {Kind::events_twice, "events_twice", Takes::none, "", 0, kNone, "every event is sent twice"},
    {Kind::events_late, "events_late", Takes::time, "time", 20 * kSecond, kNone, "events are sent TIME late"},
    {Kind::stream_drops, "stream_drops", Takes::count, "after", 1, kNone,
     "the connection of an event stream is lost after AFTER events"},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    if (static_cast<std::size_t>(kRules[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order());

const FaultRule* rule_named(std::string_view name) {
  const auto found =
      std::find_if(kRules.begin(), kRules.end(), [&](const FaultRule& rule) { return rule.name == name; });
  return found == kRules.end() ? nullptr : &*found;
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  names.reserve(kFaultKinds);
  for (const FaultRule& rule : kRules) names.push_back(rule.name);
  return names;
}

std::vector<std::string_view> words_of(const FaultRule& rule) {
  std::vector<std::string_view> words;
  words.reserve(rule.words.size());
  for (const FaultWord& each : rule.words) {
    if (!each.word.empty()) words.push_back(each.word);
  }
  return words;
}

Result<std::uint32_t> parse_number(std::string_view text, std::uint32_t lowest, std::uint32_t highest) {
  const Result<std::int64_t> number = parse_integer(text);
  if (number.ok() && *number >= lowest && *number <= highest) return static_cast<std::uint32_t>(*number);
  return Error{ErrorCode::invalid_input,
               fmt::format("{} is not a number from {} to {}", in_backticks(text), lowest, highest),
               {}};
}

// "3" or "3:79".
Result<std::int64_t> parse_xid(std::string_view text) {
  XidFault fault;
  const std::size_t colon = text.find(':');
  const Result<std::uint32_t> gpu = parse_number(text.substr(0, colon), 1, kMaxGpu);
  if (!gpu.ok()) return gpu.error();
  fault.gpu = *gpu;
  if (colon != std::string_view::npos) {
    const Result<std::uint32_t> code = parse_number(text.substr(colon + 1), 1, kMaxXid);
    if (!code.ok()) return code.error();
    fault.code = *code;
  }
  return to_argument(fault);
}

Result<std::int64_t> parse_argument(const FaultRule& rule, std::string_view text) {
  if (rule.argument == Takes::xid) return parse_xid(text);
  if (rule.argument == Takes::time) {
    const Result<Duration> time = parse_duration(text);
    return time.ok() ? Result(time->count()) : Result<std::int64_t>(time.error());
  }
  if (rule.argument == Takes::count) {
    const Result<std::uint32_t> count = parse_number(text, 0, 1'000'000);
    return count.ok() ? Result(std::int64_t{*count}) : Result<std::int64_t>(count.error());
  }
  for (std::size_t i = 0; rule.argument == Takes::word && i < rule.words.size(); ++i) {
    if (!text.empty() && rule.words[i].word == text) return static_cast<std::int64_t>(i);
  }
  if (rule.argument == Takes::none) {
    return Error{ErrorCode::invalid_input, fmt::format("{} takes no argument", rule.name), {}};
  }
  return Error{ErrorCode::invalid_input,
               fmt::format("{} is not one of {}", in_backticks(text), fmt::join(words_of(rule), ", ")),
               {}};
}

// The keys of the arguments in a file: one, or none, and two of an XID.
bool has_key(const FaultRule& rule, std::string_view key) {
  return rule.argument != Takes::none && (key == rule.key || (rule.argument == Takes::xid && key == "code"));
}

// `argument` with the value of this key.
Result<std::int64_t> parse_key(const FaultRule& rule, std::string_view key, std::string_view text,
                               std::int64_t argument) {
  if (rule.argument != Takes::xid) return parse_argument(rule, text);
  XidFault fault = xid_fault(argument);
  const Result<std::uint32_t> number = parse_number(text, 1, key == "code" ? kMaxXid : kMaxGpu);
  if (!number.ok()) return number.error();
  (key == "code" ? fault.code : fault.gpu) = *number;
  return to_argument(fault);
}

// How the default of a rule is written.
std::string default_of(const FaultRule& rule) {
  if (rule.argument == Takes::time) return to_text(Duration(rule.fallback));
  if (rule.argument == Takes::word) return std::string(rule.words[static_cast<std::size_t>(rule.fallback)].word);
  if (rule.argument == Takes::count) return fmt::format("{}", rule.fallback);
  const XidFault fault = xid_fault(rule.fallback);
  return fmt::format("{}:{}", fault.gpu, fault.code);
}

// Parses a faults file; every problem has its location.
class FaultReader {
 public:
  explicit FaultReader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  std::vector<NamedFault> read(const YamlNode& root) {
    const YamlNode* version = root.find("weft_faults");
    if (root.kind != YamlNode::Kind::mapping || version == nullptr || version->scalar != "1") {
      diagnostics_.error(version != nullptr ? version->place : root.place,
                         "a file of faults begins with `weft_faults: 1`");
      return {};
    }
    for (const YamlEntry& entry : root.entries) {
      if (entry.key == "faults") {
        read_faults(entry.value);
      } else if (entry.key != "weft_faults") {
        diagnostics_.error(entry.key_place, fmt::format("unknown key {}", in_backticks(entry.key)),
                           did_you_mean(entry.key, {"faults"}), entry.key.size());
      }
    }
    return std::move(faults_);
  }

 private:
  void read_faults(const YamlNode& node) {
    if (node.kind != YamlNode::Kind::mapping) {
      if (node.kind != YamlNode::Kind::null) {
        diagnostics_.error(node.place, fmt::format("faults are a mapping of host ranges, not {}", describe_kind(node)));
      }
      return;
    }
    for (const YamlEntry& entry : node.entries) {
      const Result<std::vector<std::string>> hosts = expand_hosts(entry.key);
      if (!hosts.ok()) {
        diagnostics_.error(entry.key_place, hosts.error().message, {}, entry.key.size());
        continue;
      }
      if (entry.value.kind == YamlNode::Kind::sequence) {
        for (const YamlNode& item : entry.value.items) read_one(item, *hosts);
      } else {
        read_one(entry.value, *hosts);
      }
    }
  }

  void read_one(const YamlNode& node, const std::vector<std::string>& hosts) {
    const YamlNode* kind = node.find("kind");
    if (node.kind != YamlNode::Kind::mapping || kind == nullptr || kind->kind != YamlNode::Kind::scalar) {
      diagnostics_.error(node.place, "a fault is a mapping with its `kind`", "{kind: silent_accept}");
      return;
    }
    const FaultRule* rule = rule_named(kind->scalar);
    if (rule == nullptr) {
      diagnostics_.error(kind->place, fmt::format("unknown fault {}", in_backticks(kind->scalar)),
                         did_you_mean(kind->scalar, kind_names()), kind->scalar.size());
      return;
    }
    std::int64_t argument = rule->fallback;
    for (const YamlEntry& entry : node.entries) {
      if (entry.key == "kind") continue;
      if (!has_key(*rule, entry.key)) {
        const std::string_view more = rule->argument == Takes::xid ? " and `code`" : "";
        diagnostics_.error(entry.key_place, fmt::format("{} has no {}", rule->name, in_backticks(entry.key)),
                           rule->argument == Takes::none ? "" : fmt::format("it takes `{}`{}", rule->key, more),
                           entry.key.size());
        return;
      }
      const Result<std::int64_t> value = parse_key(*rule, entry.key, entry.value.scalar, argument);
      if (!value.ok()) {
        diagnostics_.error(entry.value.place, value.error().message, {}, entry.value.scalar.size());
        return;
      }
      argument = *value;
    }
    faults_.reserve(faults_.size() + hosts.size());
    for (const std::string& host : hosts) faults_.push_back({host, rule->kind, argument});
  }

  Diagnostics& diagnostics_;
  std::vector<NamedFault> faults_;
};

}  // namespace

void FaultSet::add(FaultKind kind, std::int64_t argument) {
  mask_ |= std::uint64_t{1} << index(kind);
  arguments_[index(kind)] = argument;
}

std::span<const FaultRule, kFaultKinds> fault_rules() { return kRules; }
const FaultRule& rule_of(FaultKind kind) { return kRules[static_cast<std::size_t>(kind)]; }
std::string_view to_text(FaultKind kind) { return rule_of(kind).name; }

std::string fault_heading(const FaultRule& rule) {
  if (rule.argument == Takes::none) return std::string(rule.name);
  return fmt::format("{}[:{}{}]", rule.name, to_upper(rule.key), rule.argument == Takes::xid ? "[:CODE]" : "");
}

std::string fault_text(const FaultRule& rule) {
  std::string text(rule.meaning);
  if (rule.argument == Takes::none) return text;
  std::vector<std::string> words;
  for (const FaultWord& each : rule.words) {
    if (!each.word.empty() && !each.meaning.empty()) words.push_back(fmt::format("{} ({})", each.word, each.meaning));
    if (!each.word.empty() && each.meaning.empty()) words.emplace_back(each.word);
  }
  if (!words.empty()) text += fmt::format("; {}: {}", to_upper(rule.key), fmt::join(words, ", "));
  return fmt::format("{} [default: {}]", text, default_of(rule));
}

XidFault xid_fault(std::int64_t argument) {
  return {static_cast<std::uint32_t>(argument >> 16U), static_cast<std::uint32_t>(argument & 0xFFFF)};
}

std::int64_t to_argument(const XidFault& fault) { return (std::int64_t{fault.gpu} << 16U) + fault.code; }

Result<std::vector<NamedFault>> parse_fault(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return Error{ErrorCode::invalid_input, fmt::format("{} is not HOSTS=KIND[:ARG]", in_backticks(text)), {}};
  }
  Result<std::vector<std::string>> hosts = expand_hosts(text.substr(0, equals));
  if (!hosts.ok()) return hosts.error();
  std::string_view name = text.substr(equals + 1);
  const std::size_t colon = name.find(':');
  const FaultRule* rule = rule_named(name.substr(0, colon));
  if (rule == nullptr) {
    const std::string near = did_you_mean(name.substr(0, colon), kind_names());
    return Error{ErrorCode::invalid_input,
                 fmt::format("unknown fault {}; {}", in_backticks(name.substr(0, colon)),
                             near.empty() ? fmt::format("faults: {}", fmt::join(kind_names(), ", ")) : near),
                 {}};
  }
  std::int64_t argument = rule->fallback;
  if (colon != std::string_view::npos) {
    const Result<std::int64_t> given = parse_argument(*rule, name.substr(colon + 1));
    if (!given.ok()) return given.error();
    argument = *given;
  }
  std::vector<NamedFault> faults;
  faults.reserve(hosts->size());
  for (std::string& host : *hosts) faults.push_back({std::move(host), rule->kind, argument});
  return faults;
}

std::optional<std::vector<NamedFault>> read_faults(const Sources& sources, FileId file, Diagnostics& diagnostics) {
  const std::optional<YamlNode> root = parse_yaml(sources, file, diagnostics);
  if (!root) return std::nullopt;
  const std::size_t before = diagnostics.error_count();
  std::vector<NamedFault> faults = FaultReader(diagnostics).read(*root);
  if (diagnostics.error_count() != before) return std::nullopt;
  return faults;
}

}  // namespace weft::bmcsim
