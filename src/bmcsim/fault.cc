#include "bmcsim/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/host_range.h"
#include "base/utf8.h"
#include "base/yaml.h"

namespace weft::bmcsim {
namespace {

using Kind = FaultKind;
using Takes = FaultArgument;
constexpr std::array<std::string_view, 3> kWhere{"resources", "all", ""};
constexpr std::int64_t kSecond = 1'000'000'000;

// In the order of FaultKind.
constexpr std::array<FaultRule, kFaultKinds> kRules{{
    {Kind::silent_accept, "silent_accept", Takes::count, "after", 0, {}, "resets are accepted and do nothing"},
    {Kind::wrong_reset,
     "wrong_reset",
     Takes::none,
     "",
     0,
     {},
     "GracefulRestart is a hard off, ForceRestart a soft one"},
    {Kind::no_power_cycle, "no_power_cycle", Takes::none, "", 0, {}, "PowerCycle is not supported"},
    {Kind::slow, "slow", Takes::time, "time", 5 * kSecond, {}, "every answer takes so much longer"},
    {Kind::session_limited, "session_limited", Takes::count, "sessions", 2, {}, "few sessions, never freed by time"},
    {Kind::flapping, "flapping", Takes::time, "period", 2 * kSecond, {}, "unreachable every other period"},
    {Kind::dead, "dead", Takes::word, "how", kDeadSilent, {"silent", "reset", "mute"}, "never responds"},
    {Kind::stuck_off, "stuck_off", Takes::none, "", 0, {}, "On is accepted, the machine stays off"},
    {Kind::stuck_on, "stuck_on", Takes::none, "", 0, {}, "off is accepted, the machine stays on"},
    {Kind::lying_state,
     "lying_state",
     Takes::word,
     "state",
     kLieOn,
     {"on", "off", ""},
     "always reports the same power state"},
    {Kind::malformed, "malformed", Takes::word, "where", kOnResources, kWhere, "response bodies are not JSON"},
    {Kind::endless, "endless", Takes::word, "where", kOnResources, kWhere, "bodies never end"},
    {Kind::endless_headers, "endless_headers", Takes::word, "where", kOnResources, kWhere, "headers never end"},
    {Kind::truncated, "truncated", Takes::word, "where", kOnResources, kWhere, "bodies end early"},
    {Kind::wrong_certificate,
     "wrong_certificate",
     Takes::word,
     "how",
     kCertificateOfOther,
     {"authority", "name", ""},
     "signed by another authority, or for another address"},
    {Kind::expired_certificate, "expired_certificate", Takes::none, "", 0, {}, "a certificate of yesterday"},
    {Kind::http_500, "http_500", Takes::word, "where", kOnResources, kWhere, "fails inside"},
    {Kind::busy, "busy", Takes::count, "times", 3, {}, "503 with Retry-After, so many times"},
    {Kind::unauthorized_always, "unauthorized_always", Takes::none, "", 0, {}, "refuses right passwords"},
    {Kind::password_change_required, "password_change_required", Takes::none, "", 0, {}, "wants a new password first"},
    {Kind::async_reset, "async_reset", Takes::time, "time", kSecond, {}, "a reset is a task of that length"},
    {Kind::task_never_ends, "task_never_ends", Takes::none, "", 0, {}, "a reset is a task that never ends"},
    {Kind::redirect, "redirect", Takes::word, "where", kOnResources, kWhere, "sends clients to another host"},
    {Kind::stale_etag, "stale_etag", Takes::none, "", 0, {}, "If-Match never matches"},
    {Kind::slow_trickle, "slow_trickle", Takes::time, "time", kSecond / 10, {}, "a byte of the answer every so often"},
    {Kind::wrong_content_type, "wrong_content_type", Takes::word, "where", kOnResources, kWhere,
     "reports content type HTML"},
    {Kind::default_credentials, "default_credentials", Takes::none, "", 0, {}, "admin/admin opens it"},
    {Kind::no_boot_progress, "no_boot_progress", Takes::none, "", 0, {}, "reports no boot progress"},
    {Kind::update_fails, "update_fails", Takes::word, "how", 0, {"clean", "half", ""}, "a firmware update fails"},
    {Kind::update_stuck, "update_stuck", Takes::none, "", 0, {}, "the task of a firmware update never ends"},
    {Kind::update_unchanged, "update_unchanged", Takes::none, "", 0, {}, "a firmware update has no effect"},
    {Kind::update_task_lost, "update_task_lost", Takes::none, "", 0, {}, "its task is gone after the restart"},
    {Kind::update_drops, "update_drops", Takes::none, "", 0, {}, "takes an image, and the response is lost"},
    {Kind::update_push_uri, "update_push_uri", Takes::none, "", 0, {}, "takes images as OpenBMC: HttpPushUri"},
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
  std::vector<std::string_view> words(rule.words.begin(), rule.words.end());
  std::erase(words, std::string_view());
  return words;
}

Result<std::int64_t> parse_argument(const FaultRule& rule, std::string_view text) {
  if (rule.argument == Takes::time) {
    const Result<Duration> time = parse_duration(text);
    return time.ok() ? Result(time->count()) : Result<std::int64_t>(time.error());
  }
  if (rule.argument == Takes::count) {
    const Result<std::int64_t> count = parse_integer(text);
    if (count.ok() && *count >= 0 && *count <= 1'000'000) return *count;
    return Error{ErrorCode::invalid_input, fmt::format("{} is not a count from 0 to 1000000", in_backticks(text)), {}};
  }
  for (std::size_t i = 0; rule.argument == Takes::word && i < rule.words.size(); ++i) {
    if (!text.empty() && rule.words[i] == text) return static_cast<std::int64_t>(i);
  }
  if (rule.argument == Takes::none) {
    return Error{ErrorCode::invalid_input, fmt::format("{} takes no argument", rule.name), {}};
  }
  return Error{ErrorCode::invalid_input,
               fmt::format("{} is not one of {}", in_backticks(text), fmt::join(words_of(rule), ", ")),
               {}};
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
      if (rule->argument == Takes::none || entry.key != rule->key) {
        diagnostics_.error(entry.key_place, fmt::format("{} has no {}", rule->name, in_backticks(entry.key)),
                           rule->argument == Takes::none ? "" : fmt::format("it takes `{}`", rule->key),
                           entry.key.size());
        return;
      }
      const Result<std::int64_t> value = parse_argument(*rule, entry.value.scalar);
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
    return Error{
        ErrorCode::invalid_input,
        fmt::format("unknown fault {}; faults: {}", in_backticks(name.substr(0, colon)), fmt::join(kind_names(), ", ")),
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
