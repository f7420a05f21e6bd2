#include "oob/manage/settings_run.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/socket.h"

namespace weft::oob {
namespace {

constexpr int kLooks = 6;                             // reads to verify a change
constexpr Duration kLookPause = milliseconds(2'000);  // BMCs restart a service to change it
constexpr std::uint16_t kAnyPort = 443;               // a UDP connect sends nothing; any valid port works

std::string switch_text(const std::optional<bool>& value) { return !value ? "not reported" : *value ? "on" : "off"; }

std::string list_text(const std::optional<std::vector<std::string>>& list, std::string_view when_empty) {
  if (!list) return "not reported";
  if (list->empty()) return std::string(when_empty);
  std::vector<std::string> sorted = *list;
  std::sort(sorted.begin(), sorted.end());
  return told(fmt::format("{}", fmt::join(sorted, ", ")));
}

std::string suites_text(const std::vector<int>& suites) {
  return suites.empty() ? "not reported" : told(fmt::format("{}", fmt::join(suites, ", ")));
}

// What it answers if HTTP is on: that it is on does not mean that anything is served without TLS.
std::string http_text(const BmcSettings& settings) {
  if (settings.http == false) return "off";
  if (!settings.http_answer) return "not probed";
  switch (*settings.http_answer) {
    case HttpAnswer::plain:
      return "served without TLS";
    case HttpAnswer::redirect:
      return "redirected to HTTPS";
    case HttpAnswer::none:
      break;
  }
  return "no answer";
}

struct SettingRow {
  std::string_view key;
  std::string_view title;
  std::string (*text)(const BmcSettings&);
};

constexpr std::array<SettingRow, 10> kRows = {{
    {"ipmi", "IPMI over LAN", [](const BmcSettings& s) { return switch_text(s.ipmi_over_lan); }},
    {"cipher_suites", "Cipher suites", [](const BmcSettings& s) { return suites_text(s.cipher_suites); }},
    {"http", "Plain HTTP", [](const BmcSettings& s) { return switch_text(s.http); }},
    {"http_answer", "Answer to plain HTTP", [](const BmcSettings& s) { return http_text(s); }},
    {"ssh", "SSH", [](const BmcSettings& s) { return switch_text(s.ssh); }},
    {"snmp", "SNMP", [](const BmcSettings& s) { return switch_text(s.snmp); }},
    {"host_interface", "Host interface", [](const BmcSettings& s) { return switch_text(s.host_interface); }},
    {"syslog", "Syslog servers", [](const BmcSettings& s) { return list_text(s.syslog, "none"); }},
    {"firewall", "Allowed subnets", [](const BmcSettings& s) { return list_text(s.firewall, "any address"); }},
    {"ntp", "NTP servers", [](const BmcSettings& s) { return list_text(s.ntp, "none"); }},
}};

// Text of a prefix for comparison: a single address is a /32. A netmask ("10.0.0.0/255.255.255.0") is not converted.
std::string canonical(const std::string& text) {
  if (const Result<Ipv4Prefix> prefix = parse_ipv4_prefix(text); prefix.ok()) return to_text(*prefix);
  if (const Result<Ipv4> address = parse_ipv4(text); address.ok()) return to_text(*address) + "/32";
  return text;
}

bool same_list(const std::vector<std::string>& wanted, const std::vector<std::string>& have) {
  const auto normal = [](const std::vector<std::string>& list) {
    std::vector<std::string> out;
    out.reserve(list.size());
    for (const std::string& item : list) out.push_back(canonical(item));
    std::sort(out.begin(), out.end());
    return out;
  };
  return normal(wanted) == normal(have);
}

template <class T, class Same>
void keep_missing(std::optional<T>& missing, const std::optional<T>& wanted, const std::optional<T>& have,
                  const Same& same) {
  if (wanted && (!have || !same(*wanted, *have))) missing = wanted;
}

bool lets_in(const std::vector<std::string>& allowed, Ipv4 address) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& text) {
    const Result<Ipv4Prefix> prefix = parse_ipv4_prefix(canonical(text));
    return prefix.ok() && prefix->contains(address);
  });
}

void add_firewall_lock_outs(const Inventory& inventory, std::span<const std::uint32_t> targets,
                            const std::vector<std::string>& allowed, const std::vector<Ipv4>& jump_hosts,
                            const std::function<Result<Ipv4>(const std::string&)>& source, std::vector<LockOut>& out) {
  const std::vector<std::uint32_t> all(targets.begin(), targets.end());
  for (const Ipv4 jump : jump_hosts) {
    if (lets_in(allowed, jump)) continue;
    out.push_back({all, fmt::format("--allow would lock out the jump host {}", to_text(jump))});
  }
  Consolidation shut;
  for (const std::uint32_t target : targets) {
    const Endpoint& endpoint = inventory.targets()[target].endpoint;
    if (!endpoint.proxy.empty()) continue;  // the BMC sees the jump host, not us
    const Result<Ipv4> ours = source(endpoint.host);
    if (!ours.ok()) {
      shut.add("cannot determine whether --allow would lock out this machine: " + ours.error().message, target);
    } else if (!lets_in(allowed, *ours)) {
      shut.add(fmt::format("--allow would lock out this machine ({})", to_text(*ours)), target);
    }
  }
  for (FoldedRow& row : shut.rows()) out.push_back({std::move(row.targets), std::move(row.key)});
}

// Changes the settings of one device.
class Changer {
 public:
  Changer(const Fleet& fleet, OpenBmc& open, std::uint32_t target, const SettingsChange& change)
      : fleet_(fleet), bmc_(*open.bmc), target_(target), change_(change) {}

  DeviceEnding run(ActionLog& log) {
    const Result<BmcSettings> before = bmc_.settings();
    if (!before.ok()) return {target_, Ending::not_done, told(before.error().message)};
    const SettingsChange missing = missing_of(change_, *before);
    if (is_nothing(missing)) return {target_, Ending::already, describe(change_)};
    if (log.dry_run()) return {target_, Ending::would, describe(missing)};
    const Status announced = log.intent(Value::map({{"change", describe(missing)}}));
    if (!announced.ok())
      return {target_, Ending::not_done, "the journal cannot be written: " + announced.error().message};
    const Status sent = bmc_.change(missing);
    if (!sent.ok() && sent.error().code == ErrorCode::not_found)
      return {target_, Ending::not_done, "the BMC has no such setting: " + told(sent.error().message)};
    return prove(log, missing, sent);
  }

 private:
  // The settings read back decide, not the BMC's response.
  DeviceEnding prove(ActionLog& log, const SettingsChange& missing, const Status& sent) {
    std::string last = sent.ok() ? std::string() : told(sent.error().message);
    SettingsChange still = missing;
    bool seen = false;
    for (int look = 0; look < kLooks; ++look) {
      const Result<BmcSettings> after = bmc_.settings();
      seen = after.ok();
      if (after.ok()) still = missing_of(missing, *after);
      if (!after.ok()) last = told(after.error().message);
      if (seen && (is_nothing(still) || !sent.ok())) break;
      if (!fleet_.clock.sleep(kLookPause)) break;
    }
    const std::string shows = !seen               ? "not readable"
                              : is_nothing(still) ? "as wanted"
                                                  : "not shown: " + describe(still);
    const Status noted = log.seen(Value::map({{"settings", shows}}));
    if (!seen) {
      return {target_, Ending::unknown,
              fmt::format("sent, but the settings cannot be read back ({}); check with `weft oob settings`", last)};
    }
    if (!is_nothing(still))
      return {target_, Ending::not_done, sent.ok() ? "accepted, but the BMC does not show " + describe(still) : last};
    return {target_, Ending::done,
            describe(missing) + (noted.ok() ? "" : "; the journal cannot be written: " + noted.error().message)};
  }

  const Fleet& fleet_;
  Bmc& bmc_;
  std::uint32_t target_;
  const SettingsChange& change_;
};

}  // namespace

void SettingsFleet::add(std::uint32_t target, BmcSettings settings) {
  const std::lock_guard lock(mutex_);
  settings_[target] = std::move(settings);
}

std::map<std::uint32_t, BmcSettings> SettingsFleet::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_;
}

Document settings_document(const Inventory& inventory, const SettingsFleet& fleet,
                           const std::vector<Unreached>& unreached) {
  Document document;
  document.kind = "oob-settings";
  TableSection table{"settings", "", {}, {}};
  table.columns = {{.key = "setting", .title = "Setting"},
                   {.key = "value", .title = "Value"},
                   {.key = "count", .title = "Count", .align = Column::Align::right},
                   {.key = "devices", .title = "Devices"}};
  const std::map<std::uint32_t, BmcSettings> settings = fleet.settings();
  for (const SettingRow& row : kRows) {
    Consolidation values;
    for (const auto& [target, one] : settings) values.add(row.text(one), target);
    for (const FoldedRow& value : values.rows()) {
      table.rows.push_back({Cell(row.title), value.key, static_cast<std::uint64_t>(value.targets.size()),
                            inventory.hosts_cell(value.targets, settings.size())});
    }
  }
  document.sections.emplace_back(std::move(table));
  add_unreached(document, inventory, unreached);
  return document;
}

std::vector<Ipv4> jump_addresses(const model::Cluster& cluster) {
  std::vector<Ipv4> addresses;
  for (const model::Port& port : cluster.ports()) {
    // Without their own BMCs (rail 0): those are managed devices.
    if (port.fabric != model::FabricKind::oob || port.rail == 0 || port.address.bits == 0) continue;
    const model::DeviceGroup& group = cluster.group_of(port.device);
    if (group.pool < 0) continue;
    const model::PoolSpec& pool = cluster.spec().pools->at(static_cast<std::size_t>(group.pool));
    if (*pool.role == model::PoolRole::jump) addresses.push_back(port.address);
  }
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

Result<Ipv4> source_address_toward(const std::string& host) {
  const Lookup found = look_up_host(host, kAnyPort, SOCK_DGRAM, AF_INET);
  if (found.error != 0) return Error{ErrorCode::unavailable, "the host name has no IPv4 address", host};
  std::array<char, NI_MAXHOST> text{};
  sockaddr_storage ours{};
  socklen_t size = sizeof ours;
  // A UDP connect only selects the route; nothing is sent.
  const Connection made = connect_socket(*found.list, Deadline());
  auto* address = reinterpret_cast<sockaddr*>(&ours);  // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  bool good = made.ok() && getsockname(made.socket.get(), address, &size) == 0;
  good = good && getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  if (!good) return Error{ErrorCode::unavailable, "no route to the host", host};
  return parse_ipv4(text.data());
}

std::vector<LockOut> lock_outs(const Inventory& inventory, std::span<const std::uint32_t> targets,
                               const SettingsChange& change, const std::vector<Ipv4>& jump_hosts,
                               const std::function<Result<Ipv4>(const std::string&)>& source) {
  std::vector<LockOut> out;
  if (change.ipmi_over_lan == false) {
    LockOut only{{}, "--ipmi off would lock out weft: IPMI is the only access"};
    for (const std::uint32_t target : targets) {
      if (inventory.targets()[target].endpoint.protocol == Protocol::ipmi) only.targets.push_back(target);
    }
    if (!only.targets.empty()) out.push_back(std::move(only));
  }
  // An empty list allows everyone.
  if (change.firewall && !change.firewall->empty())
    add_firewall_lock_outs(inventory, targets, *change.firewall, jump_hosts, source, out);
  return out;
}

std::string describe(const SettingsChange& change) {
  std::vector<std::string> words;
  const auto add_switch = [&](std::string_view name, const std::optional<bool>& value) {
    if (value) words.push_back(fmt::format("{} {}", name, *value ? "on" : "off"));
  };
  const auto add_list = [&](std::string_view name, const std::optional<std::vector<std::string>>& list) {
    if (list)
      words.push_back(
          fmt::format("{} {}", name, list->empty() ? "none" : told(fmt::format("{}", fmt::join(*list, " ")))));
  };
  add_switch("ipmi", change.ipmi_over_lan);
  add_switch("http", change.http);
  add_switch("ssh", change.ssh);
  add_switch("snmp", change.snmp);
  add_list("syslog", change.syslog);
  add_list("allow", change.firewall);
  add_list("ntp", change.ntp);
  return fmt::format("{}", fmt::join(words, ", "));
}

bool is_nothing(const SettingsChange& change) {
  return !change.ipmi_over_lan && !change.http && !change.ssh && !change.snmp && !change.syslog && !change.firewall &&
         !change.ntp;
}

SettingsChange missing_of(const SettingsChange& change, const BmcSettings& settings) {
  const auto equal = [](bool a, bool b) { return a == b; };
  SettingsChange missing;
  keep_missing(missing.ipmi_over_lan, change.ipmi_over_lan, settings.ipmi_over_lan, equal);
  keep_missing(missing.http, change.http, settings.http, equal);
  keep_missing(missing.ssh, change.ssh, settings.ssh, equal);
  keep_missing(missing.snmp, change.snmp, settings.snmp, equal);
  keep_missing(missing.syslog, change.syslog, settings.syslog, same_list);
  keep_missing(missing.firewall, change.firewall, settings.firewall, same_list);
  keep_missing(missing.ntp, change.ntp, settings.ntp, same_list);
  return missing;
}

Result<std::vector<DeviceEnding>> change_settings(const Fleet& fleet, std::span<const std::uint32_t> targets,
                                                  const SettingsChange& change, const std::string& reason,
                                                  bool dry_run) {
  const ActionOrder order{"settings", reason, Value::map({{"change", describe(change)}}), dry_run};
  return run_action(fleet, order, targets, [&](OpenBmc& open, std::uint32_t target, ActionLog& log) {
    return Changer(fleet, open, target, change).run(log);
  });
}

}  // namespace weft::oob
