#include "inspect/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/host_range.h"
#include "base/human_format.h"
#include "base/text.h"
#include "base/wildcard.h"
#include "design/cable_labels.h"
#include "design/views_common.h"
#include "inspect/describer.h"
#include "inspect/things.h"

namespace weft::inspect {
namespace {

namespace views = design::views;

bool has_digit(std::string_view text) { return std::any_of(text.begin(), text.end(), is_digit); }

class Search {
 public:
  Search(const model::Cluster& cluster, std::string_view text)
      : cluster_(cluster), text_(to_lower(text)), pattern_(text_.find_first_of("*?") != std::string::npos) {}

  std::vector<Match> run() {
    const Result<Ipv4> address = parse_ipv4(text_);
    const Result<Ipv6> ipv6 = parse_ipv6(text_);
    const Result<Ipv4Prefix> prefix = parse_ipv4_prefix(text_);
    if (address.ok()) {
      find_address(*address);
    } else if (ipv6.ok()) {
      find_address(*ipv6);
    } else if (prefix.ok()) {
      find_prefix(*prefix);
    } else {
      find_names();
      find_models();
      find_ports();
      find_cables();
      find_address_texts();
    }
    std::stable_sort(matches_.begin(), matches_.end(), [](const Match& a, const Match& b) { return a.rank < b.rank; });
    return std::move(matches_);
  }

 private:
  // Of the text in this value: see Match::rank. Nothing if it is not in it.
  [[nodiscard]] std::optional<int> rank_in(std::string_view value) const {
    if (pattern_) return wildcard_match(text_, value, LetterCase::ignored) ? std::optional(0) : std::nullopt;
    if (value.size() < text_.size()) return std::nullopt;
    const auto same = [](char a, char b) { return a == weft::to_lower(b); };
    const auto* found =
        std::search(value.begin(), value.end(), text_.begin(), text_.end(), [&](char a, char b) { return same(b, a); });
    if (found == value.end()) return std::nullopt;
    if (value.size() == text_.size()) return 0;
    return found == value.begin() ? 1 : 2;
  }

  struct FieldText {
    std::string_view field;
    std::string value;
    bool whole = false;  // numbers: a part of one is not a match
  };

  // Notes a thing once, for the field that matches best.
  bool note(std::string_view kind, const std::string& name, const std::vector<FieldText>& fields,
            const std::string& where) {
    std::optional<Match> best;
    for (const FieldText& one : fields) {
      const std::optional<int> rank = rank_in(one.value);
      if (!rank || (one.whole && (*rank != 0 || pattern_)) || (best && best->rank <= *rank)) continue;
      best = Match{*rank, std::string(kind), name, where, std::string(one.field), one.value};
    }
    if (!best) return false;
    matches_.push_back(std::move(*best));
    return true;
  }

  void add(std::string kind, std::string name, std::string where, std::string field, std::string value) {
    matches_.push_back({0, std::move(kind), std::move(name), std::move(where), std::move(field), std::move(value)});
  }

  [[nodiscard]] std::string place_of(model::DeviceId id) const {
    const std::string units = units_text(cluster_, id);
    return views::rack_name(cluster_, id) + (units.empty() ? "" : " " + units);
  }

  void find_names() {
    for_each_thing(cluster_, [&](const Thing& thing) {
      std::vector<FieldText> fields = {{"name", thing.name}};
      std::string where;
      switch (thing.kind) {
        case ThingKind::device:
          add_device_fields(thing.id<model::DeviceId>(), fields);
          where = place_of(thing.id<model::DeviceId>());
          break;
        case ThingKind::subnet: {
          const model::Subnet& subnet = cluster_.subnets()[thing.index];
          where = weft::to_text(subnet.prefix);
          fields.push_back({"prefix", where});
          fields.push_back({"VLAN", std::to_string(subnet.vlan), true});
          if (subnet.ipv6.length > 0) fields.push_back({"IPv6 prefix", weft::to_text(subnet.ipv6)});
          break;
        }
        case ThingKind::rack: {
          const model::Rack& rack = cluster_.racks()[thing.index];
          where = fmt::format("row {}, position {}", rack.row, rack.column);
          break;
        }
        case ThingKind::unit:
          where = fmt::format("{}, {}", model::to_text(cluster_.units()[thing.index].fabric),
                              plural(cluster_.units()[thing.index].servers, "server"));
          break;
        case ThingKind::pool: {
          const model::PoolSpec& pool = (*cluster_.spec().pools)[thing.index];
          where = fmt::format("{} x {}", *pool.count, *pool.server);
          break;
        }
        case ThingKind::partition:
          where = "pools " + join(*(*cluster_.spec().partitions)[thing.index].pools, ", ");
          break;
        case ThingKind::tenant:
          where = "partitions " + join(*(*cluster_.spec().tenants)[thing.index].partitions, ", ");
          break;
        case ThingKind::storage:
          where = std::string(model::text_of(*(*cluster_.spec().storage)[thing.index].kind));
          break;
        case ThingKind::service:
          where = "pool " + *(*cluster_.spec().services)[thing.index].pool;
          break;
        default:
          break;
      }
      note(to_text(thing.kind), thing.name, fields, where);
    });
  }

  void add_device_fields(model::DeviceId id, std::vector<FieldText>& fields) const {
    const model::DeviceGroup& group = cluster_.group_of(id);
    fields.push_back({"model", views::model_id(cluster_, id)});
    std::string role = views::role_of(cluster_, group);
    if (group.kind == model::DeviceKind::network_switch)
      role = fmt::format("{} {}", model::to_text(group.fabric), role);
    fields.push_back({"role", std::move(role)});
    if (cluster_.device(id).asn > 0) fields.push_back({"ASN", std::to_string(cluster_.device(id).asn), true});
    if (group.kind != model::DeviceKind::server || group.pool < 0) return;
    const model::PoolSpec& pool = (*cluster_.spec().pools)[static_cast<std::size_t>(group.pool)];
    for (const auto& [key, value] : *pool.labels) fields.push_back({"label", key + "=" + *value});
    for (const model::HostOverride& one : *pool.overrides) {
      if (!one.hosts.has_value() || !one.labels.has_value()) continue;
      const Result<std::vector<std::string>> hosts = expand_hosts(*one.hosts);
      if (!hosts.ok() || std::find(hosts->begin(), hosts->end(), cluster_.name_of(id)) == hosts->end()) continue;
      for (const auto& [key, value] : *one.labels) fields.push_back({"label", key + "=" + *value});
    }
  }

  // Hardware that the cluster uses, by catalog id and by name.
  void find_models() {
    struct Used {
      std::string name;
      std::int64_t count = 0;
    };
    std::map<std::string, Used> used;
    const auto count = [&](const auto* model, std::int64_t more) {
      if (model == nullptr) return;
      Used& entry = used[model->id->text];
      if (model->name.has_value()) entry.name = *model->name;
      entry.count += more;
    };
    for (std::uint32_t d = 0; d < cluster_.devices().size(); ++d) {
      const auto id = static_cast<model::DeviceId>(d);
      const model::DeviceGroup& group = cluster_.group_of(id);
      count(group.network_switch, 1);
      count(group.pdu, 1);
      if (group.kind != model::DeviceKind::server) continue;
      const model::ServerModel& server = cluster_.server_of(id);
      count(&server, 1);
      if (*server.gpus > 0) count(cluster_.catalog().gpu(*server.gpu), *server.gpus);
      for (const model::PortGroup& ports : *server.ports) {
        if (ports.nic.has_value()) count(cluster_.catalog().nic(*ports.nic), 1);
      }
    }
    for (const model::Rack& rack : cluster_.racks()) count(rack.model, 1);
    std::set<std::uint32_t> assemblies;
    for (const model::Cable& cable : cluster_.cables()) {
      const model::Medium& medium = cluster_.media()[cable.medium];
      if (assemblies.insert(cable.assembly).second) count(medium.cable, 1);
      count(medium.at_a, 0);
      count(medium.at_b, 0);
    }
    for (const auto& [id, entry] : used) {
      note("model", id, {{"name", id}, {"description", entry.name}},
           entry.count > 0 ? fmt::format("{} in use", group_digits(static_cast<std::uint64_t>(entry.count)))
                           : std::string("in use"));
    }
  }

  // With a colon the whole name of a port; otherwise only a port's own name: every name of a host is also in its
  // ports'.
  void find_ports() {
    const bool full = text_.find(':') != std::string::npos;
    for (std::uint32_t p = 0; p < cluster_.ports().size(); ++p) {
      const auto id = static_cast<model::PortId>(p);
      const std::string own = full ? std::string() : cluster_.port_name(id);
      if (!full && (pattern_ || own.size() != text_.size() || !rank_in(own))) continue;
      const std::string name = cluster_.full_port_name(id);
      const bool cabled = cluster_.port(id).cable != model::kNone<model::CableId>;
      note("port", name, {{"name", full ? name : own}},
           cabled ? "to " + cluster_.full_port_name(cluster_.peer_of(id)) : std::string());
    }
  }

  void find_cables() {
    if (!has_digit(text_) && !pattern_) return;  // every label is a number
    const design::CableLabels labels(cluster_);
    for (std::uint32_t c = 0; c < cluster_.cables().size(); ++c) {
      const auto id = static_cast<model::CableId>(c);
      const std::string label = labels.label(id);
      const auto ends = [&] {
        return fmt::format("{} to {}", cluster_.full_port_name(cluster_.cable(id).a),
                           cluster_.full_port_name(cluster_.cable(id).b));
      };
      if (rank_in(label)) note("cable", label, {{"name", label}}, ends());
      if (!labels.leg(id).starts_with("1/")) continue;
      const std::string splitter = labels.splitter(id);
      if (rank_in(splitter)) {
        note("splitter", splitter, {{"name", splitter}}, plural(labels.legs(id).size(), "link"));
      }
    }
  }

  // A part of an address, or a pattern: 10.60.0, 10.6?.0.2
  void find_address_texts() {
    if (text_.find_first_not_of("0123456789.*?") == std::string::npos && contains(text_, ".")) {
      for (std::uint32_t d = 0; d < cluster_.devices().size(); ++d) {
        const auto id = static_cast<model::DeviceId>(d);
        const Ipv4 loopback = cluster_.device(id).loopback;
        if (loopback.bits != 0) note_address(weft::to_text(loopback), AddressOwner{id});
      }
      for (std::uint32_t p = 0; p < cluster_.ports().size(); ++p) {
        const model::Port& port = cluster_.ports()[p];
        if (port.address.bits == 0) continue;
        note_address(weft::to_text(port.address), AddressOwner{port.device, static_cast<model::PortId>(p)});
      }
    }
    if (text_.find_first_not_of("0123456789abcdef:*?") != std::string::npos || !contains(text_, ":")) return;
    for (std::uint32_t p = 0; p < cluster_.ports().size(); ++p) {
      const auto id = static_cast<model::PortId>(p);
      const Ipv6 address = cluster_.ipv6_of(id);
      if (!(address == Ipv6{})) note_address(weft::to_text(address), AddressOwner{cluster_.port(id).device, id});
    }
  }

  void note_address(const std::string& address, const AddressOwner& owner) {
    if (rank_in(address)) note("address", address, {{"address", address}}, owner.name(cluster_));
  }

  void find_address(Ipv4 address) {
    const std::string text = weft::to_text(address);
    for (const AddressOwner& owner : owners_of(cluster_, address)) {
      add("address", text, owner.name(cluster_), "address", text);
    }
    for (const model::Subnet& subnet : cluster_.subnets()) {
      if (!subnet.prefix.contains(address)) continue;
      const std::string prefix = weft::to_text(subnet.prefix);
      const bool gateway = subnet.gateway == address;
      add("subnet", subnet.name, prefix, gateway ? "gateway" : "prefix", gateway ? text : prefix);
    }
    for (const AddressRange& range : address_ranges(cluster_)) {
      const std::string prefix = weft::to_text(range.prefix);
      if (range.prefix.contains(address)) add("address range", range.name, prefix, "prefix", prefix);
    }
  }

  void find_address(const Ipv6& address) {
    const std::string text = weft::to_text(address);
    for (const AddressOwner& owner : owners_of(cluster_, address)) {
      add("address", text, owner.name(cluster_), "address", text);
    }
    for (const model::Subnet& subnet : cluster_.subnets()) {
      const std::string prefix = weft::to_text(subnet.ipv6);
      if (prefix_contains(subnet.ipv6, address)) add("subnet", subnet.name, prefix, "IPv6 prefix", prefix);
    }
  }

  void find_prefix(const Ipv4Prefix& wanted) {
    for (const model::Subnet& subnet : cluster_.subnets()) {
      if (!subnet.prefix.overlaps(wanted)) continue;
      const std::string prefix = weft::to_text(subnet.prefix);
      add("subnet", subnet.name, prefix, "prefix", prefix);
      if (!(subnet.prefix == wanted)) matches_.back().rank = 1;
    }
    for (const AddressRange& range : address_ranges(cluster_)) {
      const std::string prefix = weft::to_text(range.prefix);
      if (!range.prefix.overlaps(wanted)) continue;
      add("address range", range.name, prefix, "prefix", prefix);
      if (!(range.prefix == wanted)) matches_.back().rank = 1;
    }
  }

  const model::Cluster& cluster_;
  std::string text_;
  bool pattern_;
  std::vector<Match> matches_;
};

}  // namespace

SearchResult search(const model::Cluster& cluster, std::string_view text, std::size_t limit) {
  SearchResult result;
  if (text.empty() || text.size() > kMaxName) return result;
  result.matches = Search(cluster, text).run();
  result.total = result.matches.size();
  if (limit > 0 && result.matches.size() > limit) result.matches.resize(limit);
  return result;
}

Document search_view(const SearchResult& result) {
  Document document;
  document.kind = "matches";
  TableSection table{"matches", "", {}, {}};
  table.columns = {views::left("kind", "Kind"), views::left("name", "Name"), views::left("where", "Where"),
                   views::left("matched", "Matched"), views::wide(views::left("value", "Value"))};
  for (const Match& match : result.matches) {
    table.rows.push_back({match.kind, match.name, views::text_cell(match.where), match.field, match.value});
  }
  document.sections.emplace_back(std::move(table));
  if (result.total > result.matches.size()) {
    document.notes.push_back(fmt::format("{} of {} matches; --limit 0 shows all.", group_digits(result.matches.size()),
                                         group_digits(result.total)));
  }
  return document;
}

}  // namespace weft::inspect
