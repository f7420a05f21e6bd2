// Hosts and pods that forward between their networks, and the pods' secondary networks.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/host_range.h"
#include "base/wildcard.h"
#include "check/core/match.h"
#include "check/reach/reachability_model.h"

namespace weft::check {
namespace {

// Any number but 0 enables a kernel setting.
bool is_on(std::string_view value) {
  if (value == "true") return true;
  return !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos &&
         value.find_first_not_of('0') != std::string_view::npos;
}

bool switches_forwarding(std::string_view key) {
  return key == "net.ipv4.ip_forward" || key == "net.ipv4.conf.all.forwarding";
}

// Where forwarding is enabled, and the per-interface overrides. Linux uses the setting of the receiving interface, not
// of the sending one (ip-sysctl: conf/interface/forwarding).
struct Forwarding {
  bool on = false;
  SourceLocation place;
  std::string text;
  std::map<std::string, bool> own;  // by interface

  void set(std::string_view key, std::string_view value, const SourceLocation& where) {
    constexpr std::string_view kStart = "net.ipv4.conf.";
    constexpr std::string_view kEnd = ".forwarding";
    if (switches_forwarding(key)) {
      on = is_on(value);
      place = where;
      text = fmt::format("{} = {}", key, value);
    } else if (key.starts_with(kStart) && key.ends_with(kEnd) && key.size() > kStart.size() + kEnd.size()) {
      own[std::string(key.substr(kStart.size(), key.size() - kStart.size() - kEnd.size()))] = is_on(value);
      if (!on && is_on(value)) {
        place = where;
        text = fmt::format("{} = {}", key, value);
      }
    }
  }
  [[nodiscard]] bool any() const {
    return on || std::any_of(own.begin(), own.end(), [](const auto& entry) { return entry.second; });
  }
  [[nodiscard]] bool receives(const std::string& interface) const {
    const auto found = own.find(interface);
    return found != own.end() ? found->second : on;
  }
};

// Segments of a host: those from which it accepts packets to forward, and all of them.
struct HostLinks {
  std::set<std::size_t> receives;
  std::set<std::size_t> all;

  [[nodiscard]] bool joins(const ReachModel& model) const {
    for (const std::size_t a : receives) {
      for (const std::size_t b : all) {
        if (model.segments[a].fabric != model.segments[b].fabric) return true;
      }
    }
    return false;
  }
};

// By the model's names of a server's ports: be1, sto1, fe1.
HostLinks links_of(const ReachModel& model, model::DeviceId device, const Forwarding& forwarding) {
  HostLinks out;
  for (const model::PortId id : model.cluster->ports_of(device)) {
    const model::Port& port = model.cluster->port(id);
    if (port.fabric == model::FabricKind::oob && port.rail == 0) continue;  // the BMC's
    const bool rails = port.fabric == model::FabricKind::backend || port.fabric == model::FabricKind::storage;
    for (std::size_t i = 0; i < model.segments.size(); ++i) {
      const ReachSegment& segment = model.segments[i];
      if (segment.fabric != port.fabric || (rails && segment.rail != port.rail)) continue;
      out.all.insert(i);
      if (forwarding.receives(model.cluster->port_name(id))) out.receives.insert(i);
    }
  }
  return out;
}

// By the observed addresses of its interfaces.
HostLinks links_of(const ReachModel& model, const config::HostFacts& host, const Forwarding& forwarding) {
  HostLinks out;
  for (const config::HostInterface& interface : host.interfaces) {
    for (const Ipv4 address : interface.addresses) {
      const AddressSpace* space = model.space_of(address);
      if (space == nullptr || space->segment < 0) continue;
      out.all.insert(static_cast<std::size_t>(space->segment));
      if (forwarding.receives(interface.name)) out.receives.insert(static_cast<std::size_t>(space->segment));
    }
  }
  return out;
}

// A node that forwards packets from some of its segments to the others; its default route sends any destination to the
// frontend.
void add_forwarder(ReachModel& model, CrossingKind kind, const std::string& name, const HostLinks& links,
                   const SourceLocation& place, const std::string& text) {
  if (!links.joins(model)) return;
  const NodeId node = model.add_node(name, -1, true);
  const std::uint32_t crossing = model.cross(kind, node, node, {name, place, text});
  for (const std::size_t i : links.receives) {
    const ReachSegment& segment = model.segments[i];
    model.add_edge({segment.out, node, {}, {}, kNoCrossing, {name, "accepts it as a router", place}});
    model.add_edge({segment.in, node, {}, {}, kNoCrossing, {name, "accepts it as a router", place}});
  }
  for (const std::size_t i : links.all) {
    const ReachSegment& segment = model.segments[i];
    const ReachHop hop{name, fmt::format("forwards onto {}: {}", model.nodes[segment.in].name, text), place};
    std::vector<Interval> where{interval_of(segment.prefix)};
    if (segment.fabric == model::FabricKind::frontend) where.clear();
    model.add_edge({node, segment.in, std::move(where), {}, crossing, hop});  // through its port, like its own traffic
  }
}

bool applies_to_group(const ReachModel& model, std::string_view pattern, const model::DeviceGroup& group) {
  if (pattern.empty()) return true;
  for (std::uint32_t n = 0; n < group.count; ++n) {
    if (wildcard_match(pattern, model.cluster->name_of(static_cast<model::DeviceId>(model::index_of(group.first) + n))))
      return true;
  }
  return false;
}

// The value that enables forwarding in a pod, anywhere in the object; null if there is none.
const YamlNode* forwarding_setting(const YamlNode& node) {
  for (const YamlEntry& entry : node.entries) {
    if (entry.key == "sysctls") {
      for (const YamlNode& item : entry.value.items) {
        const YamlNode* name = item.find("name");
        const YamlNode* value = item.find("value");
        if (name == nullptr || value == nullptr) continue;
        if (switches_forwarding(name->scalar) && is_on(value->scalar)) return value;
      }
    }
    if (const YamlNode* found = forwarding_setting(entry.value)) return found;
  }
  for (const YamlNode& item : node.items) {
    if (const YamlNode* found = forwarding_setting(item)) return found;
  }
  return nullptr;
}

}  // namespace

void ReachModel::add_hosts() {
  for (const config::SettingsFile& file : config.settings) {
    if (file.kind != config::SettingsFile::Kind::sysctl) continue;
    Forwarding forwarding;
    for (const config::SettingsFile::Entry& entry : file.entries) forwarding.set(entry.key, entry.value, entry.place);
    if (!forwarding.any()) continue;
    const config::ConfigSet::File* origin = config.file(file.file);
    const std::string pattern = origin != nullptr ? origin->applies_to : std::string();
    for (const model::DeviceGroup& group : cluster->groups()) {
      if (group.kind != model::DeviceKind::server || group.count == 0 || !applies_to_group(*this, pattern, group))
        continue;
      add_forwarder(*this, CrossingKind::forwarding_host, group.name, links_of(*this, group.first, forwarding),
                    forwarding.place, forwarding.text);
    }
  }
  // Hosts observed live: those on the same networks are one router.
  struct LiveRouter {
    std::vector<std::string> hosts;
    Forwarding forwarding;
  };
  std::map<std::pair<std::set<std::size_t>, std::set<std::size_t>>, LiveRouter> alike;
  for (const config::HostFacts& host : config.hosts) {
    Forwarding forwarding;
    for (const auto& [key, value] : host.sysctls) forwarding.set(key, value, host.place);
    if (!forwarding.any()) continue;
    const HostLinks links = links_of(*this, host, forwarding);
    LiveRouter& seen = alike[{links.receives, links.all}];
    if (seen.hosts.empty()) seen.forwarding = forwarding;
    seen.hosts.push_back(host.host);
  }
  for (const auto& [links, seen] : alike) {
    add_forwarder(*this, CrossingKind::forwarding_seen, fold_hosts(seen.hosts), {links.first, links.second},
                  seen.forwarding.place, seen.forwarding.text);
  }
}

void ReachModel::add_pods() {
  std::map<int, ReachZone> pods;
  std::map<std::string, std::vector<std::size_t>> networks;
  for (const config::AttachmentConfig& attachment : config.attachments) {
    for (const config::Setting<Ipv4Prefix>& subnet : attachment.subnets) {
      const AddressSpace* space = space_of(subnet.value.base);
      if (space == nullptr || space->segment < 0) continue;
      networks[attachment.name].push_back(static_cast<std::size_t>(space->segment));
      ReachZone& zone = pods[static_cast<int>(space->fabric)];
      zone.addresses.push_back(interval_of(*subnet));
    }
  }
  for (auto& [fabric, zone] : pods) {
    zone.kind = ZoneKind::pods;
    zone.fabric = fabric;
    zone.name = fmt::format("pods on {}", model::to_text(static_cast<model::FabricKind>(fabric)));
    zone.addresses = join_intervals(std::move(zone.addresses));
    zones.push_back(zone);
  }
  for (const config::KubeObject& object : config.objects) {
    const YamlNode* setting = forwarding_setting(object.tree);
    if (setting == nullptr) continue;
    for (const config::AppConfig& app : config.apps) {
      if (object.kind != app.kind || object.name != app.name || object.space != app.space) continue;
      HostLinks links;
      for (const config::AppConfig::Network& network : app.networks) {
        const auto found = networks.find(network.name);
        if (found != networks.end()) links.all.insert(found->second.begin(), found->second.end());
      }
      for (std::size_t i = 0; i < segments.size() && !links.all.empty(); ++i) {  // eth0
        if (segments[i].fabric == model::FabricKind::frontend) links.all.insert(i);
      }
      links.receives = links.all;
      add_forwarder(*this, CrossingKind::forwarding_pod, fmt::format("{} {}", app.kind, app.name), links,
                    setting->place, "net.ipv4.ip_forward = 1");
    }
  }
}

}  // namespace weft::check
