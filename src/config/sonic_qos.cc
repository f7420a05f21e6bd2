// SONiC: QoS maps and the resulting settings of each port.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "config/number_list.h"
#include "config/sonic_reader.h"

namespace weft::config::sonic {
namespace {

// Ports with distinct QoS; beyond this many, the rest are read as ports without settings of their own.
constexpr std::size_t kMaxDistinct = 4096;

void add_fields(std::string& key, const YamlEntry* entry) {
  key += '{';
  if (entry != nullptr) {
    for (const YamlEntry& field : entry->value.entries)
      key.append(field.key).append("=").append(field.value.scalar) += ';';
  }
  key += '}';
}

}  // namespace

void Reader::read_qos() {
  check_maps();
  check_profiles();
  check_profile_uses();
  check_schedulers();
  check_wred();
  check_watchdog();
  check_lossless_parameters();
  collect_port_rows();

  out_.qos.push_back(port_qos({}, nullptr));
  std::map<std::string, std::uint32_t> distinct;
  for (InterfaceConfig& port : out_.interfaces) {
    const auto rows_of_port = port_rows_.find(port.name);
    if (rows_of_port == port_rows_.end()) continue;
    const auto [known, added] =
        distinct.emplace(qos_key(rows_of_port->second, port), static_cast<std::uint32_t>(out_.qos.size()));
    if (added) {
      if (out_.qos.size() >= kMaxDistinct) {
        warning(port.place, "too many ports with individual QoS settings; the rest is ignored");
        return;
      }
      out_.qos.push_back(port_qos(rows_of_port->second, &port));
    }
    port.qos = known->second;
  }
}

// Ports with equal rows share one PortQos, with the locations of the first port.
std::string Reader::qos_key(const PortRows& rows, const InterfaceConfig& port) {
  std::string key;
  add_fields(key, rows.map);
  for (const YamlEntry* queue : rows.queues) add_fields(key, queue);
  for (const YamlEntry* group : rows.groups) add_fields(key, group);
  key += rows.watchdog == nullptr ? '-' : '+';
  add_fields(key, rows.watchdog);
  key += fmt::format("{} {}", port.speed.value.count(), port.cable_length.value.count() > 0);
  return key;
}

void Reader::check_maps() {
  check_map("DSCP_TO_TC_MAP", 63, 15, "DSCP", "traffic class");
  check_map("DOT1P_TO_TC_MAP", 7, 15, "802.1p priority", "traffic class");
  check_map("TC_TO_PRIORITY_GROUP_MAP", 15, 7, "traffic class", "priority group");
  check_map("TC_TO_QUEUE_MAP", 15, 9, "traffic class", "queue");
  check_map("TC_TO_DSCP_MAP", 15, 63, "traffic class", "DSCP");
  check_map("MAP_PFC_PRIORITY_TO_QUEUE", 7, 7, "PFC priority", "queue");
  check_map("PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", 7, 7, "PFC priority", "priority group");
}

void Reader::check_map(std::string_view table, std::int64_t key_high, std::int64_t value_high, std::string_view key_is,
                       std::string_view value_is) {
  for (const auto& [name, entry] : rows(table)) {
    check_name(*entry);
    for (const YamlEntry& pair : entry->value.entries) {
      const auto key = parse_digits(pair.key);
      if (!key || *key > key_high) {
        error(pair.key_place, fmt::format("{} {} is not between 0 and {}", key_is, in_backticks(pair.key), key_high));
        continue;
      }
      const auto value = number_of(pair.value, fmt::format("{}|{}|{}", table, name, pair.key), 0, value_high);
      const bool classes = value_is != "DSCP";
      if (value && classes && *value >= kClasses) {
        warning(pair.value.place, fmt::format("ignored {} {}: only 0 to 7 are supported", value_is, *value));
      }
    }
  }
}

void Reader::collect_port_rows() {
  for (const auto& [key, entry] : rows("PORT_QOS_MAP")) {
    if (key == "global") continue;
    for (const std::string_view name : split_text(key, ',')) {
      if (check_port(name, entry->key_place, "PORT_QOS_MAP")) port_rows_[std::string(name)].map = entry;
    }
  }
  for (const auto& [key, entry] : rows("PORT_QOS_MAP")) (void)reference(entry->value, "scheduler", "SCHEDULER");
  collect_indexed("QUEUE");
  collect_indexed("BUFFER_PG");
  for (const auto& [key, entry] : rows("PFC_WD")) {
    if (key == "GLOBAL") continue;
    for (const std::string_view name : split_text(key, ',')) {
      if (row("PORT", name) != nullptr || is_part()) port_rows_[std::string(name)].watchdog = entry;
    }
  }
}

// Keys "Ethernet0|3", "Ethernet0,Ethernet4|3-4", and on a chassis "host|asic|Ethernet0|3".
void Reader::collect_indexed(std::string_view table) {
  const YamlEntry* local = row("DEVICE_METADATA", "localhost");
  const bool queues = table == "QUEUE";
  for (const auto& [key, entry] : rows(table)) {
    const auto parts = key_parts(key);
    if (parts.size() == 4 && queues) {
      const auto ours = [&](std::string_view name, std::string_view part) {
        return local != nullptr && field(local->value, name).value_or("") == part;
      };
      if (!ours("hostname", parts[0]) || !ours("asic_name", parts[1])) continue;
    } else if (parts.size() != 2) {
      error(entry->key_place, fmt::format("{} is not a `port|number` key", in_backticks(key)));
      continue;
    }
    const auto numbers = parse_number_list(parts.back(), 0, queues ? 63 : kClasses - 1);
    if (!numbers) {
      error(entry->key_place, fmt::format("{} is not a {}", in_backticks(parts.back()),
                                          queues ? "queue number or range" : "priority group number or range"));
      continue;
    }
    if (queues) {
      (void)reference(entry->value, "scheduler", "SCHEDULER");
      (void)reference(entry->value, "wred_profile", "WRED_PROFILE");
    } else if (field(entry->value, "profile").value_or("NULL") != "NULL") {
      (void)reference(entry->value, "profile", "BUFFER_PROFILE");
    }
    for (const std::string_view name : split_text(parts[parts.size() - 2], ',')) {
      if (name == "CPU" || !check_port(name, entry->key_place, table)) continue;
      PortRows& port = port_rows_[std::string(name)];
      for (const int number : *numbers) {
        if (number >= kClasses) continue;
        (queues ? port.queues : port.groups)[static_cast<std::size_t>(number)] = entry;
      }
    }
  }
}

const YamlEntry* Reader::bound_map(const YamlEntry* port_row, std::string_view field_name, std::string_view table) {
  if (port_row != nullptr && port_row->value.find(field_name) != nullptr) {
    return reference(port_row->value, field_name, table);
  }
  const YamlEntry* global = row("PORT_QOS_MAP", "global");
  return global == nullptr ? nullptr : reference(global->value, field_name, table);
}

template <std::size_t N>
void Reader::apply_map(const YamlEntry* port_row, std::string_view field_name, std::string_view table,
                       std::array<Setting<int>, N>& out, bool identity_without, std::string_view without) {
  const YamlEntry* global = row("PORT_QOS_MAP", "global");
  const bool named = (port_row != nullptr && port_row->value.find(field_name) != nullptr) ||
                     (global != nullptr && global->value.find(field_name) != nullptr);
  const YamlEntry* map = bound_map(port_row, field_name, table);
  if (map == nullptr && named) return;  // a dangling reference: the port's behavior is unknown
  for (std::size_t i = 0; i < N; ++i) {
    const int silent = identity_without ? static_cast<int>(i) : 0;
    out[i] = map == nullptr ? vendor_default(silent, std::string(without))
                            : vendor_default(0, fmt::format("{}|{} has no entry for {}", table, map->key, i));
  }
  if (map == nullptr) return;
  for (const YamlEntry& pair : map->value.entries) {
    const auto key = parse_digits(pair.key);
    const auto value = parse_digits(trim(pair.value.scalar));
    if (!key || *key >= static_cast<std::int64_t>(N)) continue;
    if (!value || *value >= kClasses) {
      out[static_cast<std::size_t>(*key)] = {};
      continue;
    }
    out[static_cast<std::size_t>(*key)] = {static_cast<int>(*value), pair.value.place,
                                           fmt::format("{}|{}|{}", table, map->key, pair.key)};
  }
}

PortQos Reader::port_qos(const PortRows& rows, const InterfaceConfig* port) {
  PortQos qos;
  const YamlEntry* map = rows.map;
  // Without a map, SAI assigns every packet to traffic class, priority group and queue 0.
  apply_map(map, "dscp_to_tc_map", "DSCP_TO_TC_MAP", qos.dscp_to_class, false,
            "no PORT_QOS_MAP binds a dscp_to_tc_map: everything is traffic class 0");
  apply_map(map, "dot1p_to_tc_map", "DOT1P_TO_TC_MAP", qos.pcp_to_class, false,
            "no PORT_QOS_MAP binds a dot1p_to_tc_map: everything is traffic class 0");
  apply_map(map, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", qos.class_to_group, false,
            "no PORT_QOS_MAP binds a tc_to_pg_map: everything is priority group 0");
  apply_map(map, "tc_to_queue_map", "TC_TO_QUEUE_MAP", qos.class_to_queue, false,
            "no PORT_QOS_MAP binds a tc_to_queue_map: everything is queue 0");
  apply_map(map, "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", qos.pfc_to_group, true,
            "without a pfc_to_pg_map a priority pauses for the group of its number");
  apply_map(map, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", qos.pfc_to_queue, true,
            "without a pfc_to_queue_map a pause stops the queue of its number");

  const auto trust_by = [&](std::string_view field_name, model::TrustMode mode) {
    const YamlEntry* global = row("PORT_QOS_MAP", "global");
    const YamlEntry* from = map != nullptr && map->value.find(field_name) != nullptr ? map : global;
    if (from == nullptr || from->value.find(field_name) == nullptr) return false;
    qos.trust = {mode, place_of(from->value, field_name), fmt::format("PORT_QOS_MAP|{}|{}", from->key, field_name)};
    return true;
  };
  if (!trust_by("dscp_to_tc_map", model::TrustMode::dscp)) trust_by("dot1p_to_tc_map", model::TrustMode::pcp);

  // TC_TO_DSCP_MAP rewrites by traffic class.
  if (const YamlEntry* rewrite = bound_map(map, "tc_to_dscp_map", "TC_TO_DSCP_MAP")) {
    for (std::size_t dscp = 0; dscp < qos.rewrite.size(); ++dscp) {
      if (!qos.dscp_to_class[dscp].known()) continue;
      const YamlNode* to = rewrite->value.find(std::to_string(qos.dscp_to_class[dscp].value));
      const auto value = to == nullptr ? std::nullopt : parse_digits(trim(to->scalar));
      if (!value || *value >= kDscps) continue;
      qos.rewrite[dscp] = {static_cast<int>(*value), to->place,
                           fmt::format("TC_TO_DSCP_MAP|{}|{}", rewrite->key, qos.dscp_to_class[dscp].value)};
    }
  }
  apply_pfc(rows, qos);
  const BitRate speed = port == nullptr ? BitRate() : port->speed.value;
  for (std::size_t i = 0; i < kClasses; ++i) {
    qos.queues[i] = queue_qos(rows.queues[i], speed);
    qos.groups[i] = group_qos(rows.groups[i]);
  }
  apply_automatic_headroom(port, qos);
  qos.watchdog = watchdog_qos(rows.watchdog, map);
  return qos;
}

void Reader::apply_pfc(const PortRows& rows, PortQos& qos) {
  const YamlEntry* map = rows.map;
  if (map == nullptr || map->value.find("pfc_enable") == nullptr) {
    for (Setting<bool>& pfc : qos.pfc) pfc = vendor_default(false, "no PORT_QOS_MAP lists the priority in pfc_enable");
    qos.pfc_mode = vendor_default(model::PfcMode::off, "no PORT_QOS_MAP has a pfc_enable for the port");
    return;
  }
  const SourceLocation place = place_of(map->value, "pfc_enable");
  const auto priorities = [&](std::string_view key) -> std::optional<std::vector<int>> {
    const std::string_view text = field(map->value, key).value_or("");
    if (text.empty()) return std::vector<int>();
    if (text.find('-') == std::string_view::npos) {
      if (auto list = parse_number_list(text, 0, kClasses - 1)) return list;
    }
    error(place_of(map->value, key),
          fmt::format("`{}` is {}: expected comma-separated priorities between 0 and 7", key, in_backticks(text)));
    return std::nullopt;
  };
  (void)priorities("pfcwd_sw_enable");
  const auto enabled = priorities("pfc_enable");
  if (!enabled) return;
  const std::string path = fmt::format("PORT_QOS_MAP|{}|pfc_enable", map->key);
  for (std::size_t i = 0; i < kClasses; ++i) {
    const bool on = std::find(enabled->begin(), enabled->end(), static_cast<int>(i)) != enabled->end();
    qos.pfc[i] = {on, place, path};
  }
  qos.pfc_mode = {enabled->empty() ? model::PfcMode::off : model::PfcMode::on, place, path};
}

// The buffer manager creates lossless groups for a port with PFC and a cable length (buffermgrd looks them up in
// pg_profile_lookup.ini), even if BUFFER_PG does not list them.
void Reader::apply_automatic_headroom(const InterfaceConfig* port, PortQos& qos) {
  if (port == nullptr || port->cable_length.value.count() == 0 || port->speed.value.count() == 0) return;
  for (std::size_t priority = 0; priority < kClasses; ++priority) {
    if (!qos.pfc[priority].value || !qos.pfc_to_group[priority].known()) continue;
    GroupQos& group = qos.groups[static_cast<std::size_t>(qos.pfc_to_group[priority].value)];
    if (group.lossless.by != Decided::vendor_default) continue;
    group.lossless = vendor_default(true, "SONiC's buffer manager computes the profile from speed and CABLE_LENGTH");
  }
}

}  // namespace weft::config::sonic
