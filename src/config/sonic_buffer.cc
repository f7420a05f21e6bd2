// SONiC: buffer pools and profiles, schedulers, WRED and the PFC watchdog, with the limits of SONiC's YANG models.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/utf8.h"
#include "config/number_list.h"
#include "config/sonic_reader.h"

namespace weft::config::sonic {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

}  // namespace

void Reader::read_pools() {
  for (const auto& [name, entry] : rows("BUFFER_POOL")) {
    const YamlNode& object = entry->value;
    PoolConfig& pool = out_.pools.emplace_back();
    pool.name = name;
    pool.place = entry->key_place;
    const auto type = choice(object, "type", {"ingress", "egress", "both"});
    pool.ingress = type.value_or("ingress") != "egress";
    (void)choice(object, "mode", {"static", "dynamic"});
    if (const auto size = number(object, "size", 0, kAny)) {
      pool.size = {Bytes(*size), place_of(object, "size"), fmt::format("BUFFER_POOL|{}|size", name)};
    }
    if (const auto xoff = number(object, "xoff", 0, kAny)) {
      pool.shared_headroom = {Bytes(*xoff), place_of(object, "xoff"), fmt::format("BUFFER_POOL|{}|xoff", name)};
    }
    if (number(object, "percentage", 0, 255) && object.find("size") != nullptr) {
      error(place_of(object, "percentage"), "`percentage` and `size` exclude each other");
    }
  }
}

void Reader::check_profiles() {
  for (const auto& [name, entry] : rows("BUFFER_PROFILE")) {
    const YamlNode& object = entry->value;
    for (const std::string_view key : {"static_th", "size", "xon_offset", "xon", "xoff"}) {
      (void)number(object, key, 0, kAny);
    }
    (void)number(object, "dynamic_th", -8, 7);
    (void)choice(object, "headroom_type", {"static", "dynamic"});
    (void)reference(object, "pool", "BUFFER_POOL");
  }
}

// Tables that weft does not interpret, but whose references SONiC checks.
void Reader::check_profile_uses() {
  for (const auto& [key, entry] : rows("BUFFER_QUEUE")) {
    (void)reference(entry->value, "profile", "BUFFER_PROFILE");
    const auto parts = key_parts(key);
    if (parts.size() != 2) continue;  // a chassis names host, ASIC, port and queue
    for (const std::string_view port : split_text(parts[0], ',')) {
      (void)check_port(port, entry->key_place, "BUFFER_QUEUE");
    }
    if (!parse_number_list(parts[1], 0, 15)) {
      error(entry->key_place, fmt::format("{} is not a queue number or range", in_backticks(parts[1])));
    }
  }
  for (const std::string_view table : {"BUFFER_PORT_INGRESS_PROFILE_LIST", "BUFFER_PORT_EGRESS_PROFILE_LIST"}) {
    for (const auto& [key, entry] : rows(table)) {
      for (const std::string_view port : split_text(key, ',')) (void)check_port(port, entry->key_place, table);
      const YamlNode* list = entry->value.find("profile_list");
      if (list == nullptr) continue;
      const auto check = [&](std::string_view name, const SourceLocation& place) {
        if (!name.empty() && name.front() == '[' && name.back() == ']') {
          name = name.substr(name.find('|') + 1, name.size() - name.find('|') - 2);
        }
        if (row("BUFFER_PROFILE", name) != nullptr) return;
        error(place, fmt::format("`profile_list` refers to {}, which is not in BUFFER_PROFILE", in_backticks(name)));
      };
      for (const YamlNode& item : list->items) check(item.scalar, item.place);
      if (list->kind != YamlNode::Kind::scalar) continue;
      for (const std::string_view name : split_text(list->scalar, ',')) check(name, list->place);
    }
  }
}

void Reader::check_schedulers() {
  for (const auto& [name, entry] : rows("SCHEDULER")) {
    const YamlNode& object = entry->value;
    (void)choice(object, "type", {"DWRR", "WRR", "STRICT"});
    (void)choice(object, "meter_type", {"packets", "bytes"});
    (void)number(object, "weight", 1, 100);
    (void)number(object, "priority", 0, 9);
    const std::int64_t cir = number(object, "cir", 0, kAny).value_or(0);
    const auto pir = number(object, "pir", 0, kAny);
    const auto cbs = number(object, "cbs", 0, 4294967295);
    const auto pbs = number(object, "pbs", 0, 4294967295);
    if (pir && cir == 0) error(place_of(object, "pir"), "`pir` needs a `cir`");
    if (pir && cir > 0 && *pir < cir) error(place_of(object, "pir"), "`pir` is less than `cir`");
    if (cbs && cir == 0) error(place_of(object, "cbs"), "`cbs` needs a `cir`");
    if (pbs && pir.value_or(0) == 0) error(place_of(object, "pbs"), "`pbs` needs a `pir`");
    if (pbs && cbs && *pbs < *cbs) error(place_of(object, "pbs"), "`pbs` is less than `cbs`");
  }
}

void Reader::check_wred() {
  for (const auto& [name, entry] : rows("WRED_PROFILE")) {
    const YamlNode& object = entry->value;
    check_name(*entry);
    (void)choice(object, "ecn",
                 {"ecn_none", "ecn_green", "ecn_yellow", "ecn_red", "ecn_green_yellow", "ecn_green_red",
                  "ecn_yellow_red", "ecn_all"});
    for (const std::string_view color : {"green", "yellow", "red"}) {
      const auto min = number(object, fmt::format("{}_min_threshold", color), 0, kAny);
      const std::string max_key = fmt::format("{}_max_threshold", color);
      const auto max = number(object, max_key, 0, kAny);
      if (min && max && *max < *min) {
        error(place_of(object, max_key), fmt::format("`{}` is less than `{}_min_threshold`", max_key, color));
      }
      (void)number(object, fmt::format("{}_drop_probability", color), 0, 100);
      (void)choice(object, fmt::format("wred_{}_enable", color), {"true", "false"});
    }
  }
}

void Reader::check_lossless_parameters() {
  for (const auto& [name, entry] : rows("DEFAULT_LOSSLESS_BUFFER_PARAMETER")) {
    check_name(*entry);
    if (entry->value.find("default_dynamic_th") == nullptr) {
      error(entry->key_place, "`default_dynamic_th` is missing");
    }
    (void)number(entry->value, "default_dynamic_th", -8, 7);
    (void)number(entry->value, "over_subscribe_ratio", 0, 65535);
  }
}

// Times are milliseconds.
void Reader::check_watchdog() {
  std::int64_t poll = 0;
  if (const YamlEntry* global = row("PFC_WD", "GLOBAL")) {
    for (const std::string_view key : {"action", "detection_time", "restoration_time"}) {
      if (global->value.find(key) != nullptr) {
        error(place_of(global->value, key), fmt::format("`{}` belongs to a port, not to GLOBAL", key));
      }
    }
    if (const auto given = number(global->value, "POLL_INTERVAL", 100, 1000)) {
      poll = *given;
      out_.watchdog_poll = {milliseconds(poll), place_of(global->value, "POLL_INTERVAL"),
                            "PFC_WD|GLOBAL|POLL_INTERVAL"};
    }
  }
  for (const auto& [name, entry] : rows("PFC_WD")) {
    if (name == "GLOBAL") continue;
    const YamlNode& object = entry->value;
    for (const std::string_view port : split_text(name, ',')) (void)check_port(port, entry->key_place, "PFC_WD");
    (void)choice(object, "action", {"drop", "forward", "alert"});
    (void)choice(object, "pfc_stat_history", {"enable", "disable"});
    if (object.find("POLL_INTERVAL") != nullptr) {
      error(place_of(object, "POLL_INTERVAL"), "`POLL_INTERVAL` belongs to GLOBAL, not to a port");
    }
    const auto check = [&](std::string_view key, std::int64_t high) {
      const auto time = number(object, key, 100, high);
      if (time && *time < poll) {
        error(place_of(object, key),
              fmt::format("`{}` of {} ms is shorter than the POLL_INTERVAL of {} ms", key, *time, poll),
              "a PFC storm is detected only when the watchdog polls");
      }
    };
    check("detection_time", 5000);
    check("restoration_time", 60'000);
  }
}

QueueQos Reader::queue_qos(const YamlEntry* entry, BitRate speed) {
  QueueQos queue;
  if (entry == nullptr && is_part() && root_.find("QUEUE") == nullptr) return queue;
  const YamlEntry* wred = entry == nullptr ? nullptr : reference(entry->value, "wred_profile", "WRED_PROFILE");
  const YamlEntry* scheduler = entry == nullptr ? nullptr : reference(entry->value, "scheduler", "SCHEDULER");
  if (wred != nullptr) {
    apply_wred(*wred, queue);
  } else if (entry == nullptr || entry->value.find("wred_profile") == nullptr) {
    queue.ecn = vendor_default(false, "no QUEUE row binds a WRED_PROFILE to the queue, so it does not mark");
  }
  if (scheduler != nullptr) apply_scheduler(*scheduler, speed, queue);
  return queue;
}

void Reader::apply_wred(const YamlEntry& wred, QueueQos& queue) {
  const YamlNode& object = wred.value;
  const auto path = [&](std::string_view key) { return fmt::format("WRED_PROFILE|{}|{}", wred.key, key); };
  const std::string_view ecn = field(object, "ecn").value_or("ecn_none");
  const bool marks = ecn == "ecn_all" || ecn.find("green") != std::string_view::npos;
  if (object.find("ecn") == nullptr) {
    queue.ecn = vendor_default(false, fmt::format("WRED_PROFILE|{} has no `ecn`, which means ecn_none", wred.key));
  } else {
    queue.ecn = {marks, place_of(object, "ecn"), path("ecn")};
  }
  // The thresholds of a color count only while it is enabled (SAI_WRED_ATTR_GREEN_ENABLE).
  if (marks && field(object, "wred_green_enable").value_or("true") == "false") {
    queue.ecn = {false, place_of(object, "wred_green_enable"), path("wred_green_enable")};
  }
  if (const auto min = number(object, "green_min_threshold", 0, kAny)) {
    queue.ecn_min = {Bytes(*min), place_of(object, "green_min_threshold"), path("green_min_threshold")};
  }
  if (const auto max = number(object, "green_max_threshold", 0, kAny)) {
    queue.ecn_max = {Bytes(*max), place_of(object, "green_max_threshold"), path("green_max_threshold")};
  }
  if (const auto percent = number(object, "green_drop_probability", 0, 100)) {
    queue.ecn_percent = {static_cast<int>(*percent), place_of(object, "green_drop_probability"),
                         path("green_drop_probability")};
  } else if (object.find("green_drop_probability") == nullptr) {
    queue.ecn_percent = vendor_default(100, "a WRED_PROFILE without `green_drop_probability` uses 100 percent");
  }
}

void Reader::apply_scheduler(const YamlEntry& scheduler, BitRate speed, QueueQos& queue) {
  const YamlNode& object = scheduler.value;
  const auto path = [&](std::string_view key) { return fmt::format("SCHEDULER|{}|{}", scheduler.key, key); };
  if (const auto type = choice(object, "type", {"DWRR", "WRR", "STRICT"})) {
    queue.scheduling = {*type == "STRICT" ? Scheduling::strict : Scheduling::weighted, place_of(object, "type"),
                        path("type")};
  } else if (object.find("type") == nullptr) {
    queue.scheduling = vendor_default(Scheduling::weighted, "a SCHEDULER without `type` uses WRR");
  }
  if (const auto weight = number(object, "weight", 1, 100)) {
    queue.weight = {static_cast<int>(*weight), place_of(object, "weight"), path("weight")};
  }
  const std::string_view cap = object.find("pir") != nullptr ? "pir" : "cir";
  const bool in_bytes = field(object, "meter_type").value_or("bytes") == "bytes";
  const auto rate = number(object, cap, 0, kAny);  // bytes per second
  if (!rate || *rate == 0 || !in_bytes || speed.count() == 0 || queue.scheduling.value != Scheduling::strict) return;
  const std::int64_t percent = multiply_divide(*rate, 800, speed.count());
  queue.strict_cap_percent = {static_cast<int>(std::min<std::int64_t>(percent, 100)), place_of(object, cap), path(cap)};
}

GroupQos Reader::group_qos(const YamlEntry* entry) {
  GroupQos group;
  if (entry == nullptr) {
    if (is_part()) return group;  // rendered buffers leave lossless groups to the buffer manager
    group.lossless = vendor_default(false, "no BUFFER_PG row assigns headroom to the priority group");
    return group;
  }
  const auto named = field(entry->value, "profile");
  const SourceLocation place = place_of(entry->value, "profile");
  const std::string path = fmt::format("BUFFER_PG|{}|profile", entry->key);
  if (named && *named == "NULL") {  // dynamic buffer model: the switch computes headroom from speed and cable length
    group.lossless = {true, place, path};
    group.profile = {"NULL", place, path};
    const Rows& parameters = rows("DEFAULT_LOSSLESS_BUFFER_PARAMETER");
    if (!parameters.empty()) {
      const YamlEntry& first = *parameters.begin()->second;
      if (const auto alpha = number(first.value, "default_dynamic_th", -8, 7)) {
        group.alpha = {static_cast<int>(*alpha), place_of(first.value, "default_dynamic_th"),
                       fmt::format("DEFAULT_LOSSLESS_BUFFER_PARAMETER|{}|default_dynamic_th", first.key)};
      }
    }
    return group;
  }
  const YamlEntry* profile = reference(entry->value, "profile", "BUFFER_PROFILE");
  if (profile == nullptr) return group;
  const YamlNode& object = profile->value;
  group.profile = {profile->key, place, path};
  const auto bytes = [&](std::string_view key, Setting<Bytes>& out) {
    if (const auto value = number(object, key, 0, kAny)) {
      out = {Bytes(*value), place_of(object, key), fmt::format("BUFFER_PROFILE|{}|{}", profile->key, key)};
    }
  };
  bytes("xoff", group.xoff);
  bytes("xon", group.xon);
  bytes("size", group.size);
  bytes("static_th", group.static_limit);
  if (const auto alpha = number(object, "dynamic_th", -8, 7)) {
    group.alpha = {static_cast<int>(*alpha), place_of(object, "dynamic_th"),
                   fmt::format("BUFFER_PROFILE|{}|dynamic_th", profile->key)};
  }
  const bool computed = field(object, "headroom_type").value_or("static") == "dynamic";
  group.lossless = {computed || group.xoff.value.count() > 0, place, path};
  return group;
}

WatchdogQos Reader::watchdog_qos(const YamlEntry* entry, const YamlEntry* map) {
  WatchdogQos watchdog;
  if (entry == nullptr) {
    if (is_part() && root_.find("PFC_WD") == nullptr) return watchdog;
    watchdog.on = vendor_default(false, "no PFC_WD row enables the watchdog on the port");
    return watchdog;
  }
  const YamlNode& object = entry->value;
  const auto path = [&](std::string_view key) { return fmt::format("PFC_WD|{}|{}", entry->key, key); };
  watchdog.on = {true, entry->key_place, fmt::format("PFC_WD|{}", entry->key)};
  // Since 202205 the watchdog monitors only the priorities listed here.
  if (map != nullptr && map->value.find("pfcwd_sw_enable") != nullptr &&
      field(map->value, "pfcwd_sw_enable").value_or("").empty()) {
    watchdog.on = {false, place_of(map->value, "pfcwd_sw_enable"),
                   fmt::format("PORT_QOS_MAP|{}|pfcwd_sw_enable", map->key)};
  }
  if (const auto time = number(object, "detection_time", 100, 5000)) {
    watchdog.detection = {milliseconds(*time), place_of(object, "detection_time"), path("detection_time")};
  }
  if (const auto time = number(object, "restoration_time", 100, 60'000)) {
    watchdog.restoration = {milliseconds(*time), place_of(object, "restoration_time"), path("restoration_time")};
  }
  if (const auto action = choice(object, "action", {"drop", "forward", "alert"})) {
    const model::WatchdogAction meant = *action == "drop"      ? model::WatchdogAction::drop
                                        : *action == "forward" ? model::WatchdogAction::forward
                                                               : model::WatchdogAction::alert;
    watchdog.action = {meant, place_of(object, "action"), path("action")};
  } else if (object.find("action") == nullptr) {
    watchdog.action = vendor_default(model::WatchdogAction::drop, "a PFC_WD row without `action` drops");
  }
  return watchdog;
}

}  // namespace weft::config::sonic
