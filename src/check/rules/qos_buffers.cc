// QO060 to QO079: headroom, marking thresholds and watchdogs as configured on switches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "check/core/match.h"
#include "check/qos/intent_qos.h"
#include "check/qos/lossless_ports.h"
#include "check/rules/qos.h"

namespace weft::check {

namespace {

constexpr std::int64_t kTolerance = 2048;  // bytes: allowed difference between weft's formula and a vendor's table

SourceLocation line_of(const LosslessPort& port, const SourceLocation& place) {
  return place.known() ? place : port.interface->place;
}

// --- headroom

struct HeadroomNeed {
  model::AsicHeadroom asic;
  model::Headroom room;
};

std::optional<HeadroomNeed> need_of(const CheckInput& input, const LosslessPort& port) {
  const auto asic = asic_of(input, port);
  if (!asic || asic->estimated || port.speed.count() == 0 || port.cable.count() == 0) return std::nullopt;
  return HeadroomNeed{*asic, model::pfc_headroom(*asic, port.speed, port.cable, port.mtu, port.lanes)};
}

// The older chip whose table has this value for the same port, or "".
std::string_view other_generation(const LosslessPort& port, const HeadroomNeed& need, Bytes xoff) {
  for (const char* name : {"Spectrum-5", "Spectrum-4", "Spectrum-3", "Spectrum-2", "Spectrum"}) {
    const model::AsicHeadroom asic = *model::asic_headroom(name);
    if (asic.family == need.asic.family) continue;
    // Profiles exist for a few lengths: the next longer one counts as equal.
    for (const Length cable : {port.cable, meters(5), meters(40), meters(300)}) {
      if (cable < port.cable) continue;
      const Bytes theirs = model::pfc_headroom(asic, port.speed, cable, 9100, port.lanes).xoff;
      if (std::abs((theirs - xoff).count()) <= kTolerance / 2) return asic.family;
    }
  }
  return "";
}

template <class Function>
void short_groups(const CheckInput& input, Function function) {
  for (const LosslessPort& port : lossless_ports(input)) {
    const auto need = need_of(input, port);
    if (!need) continue;
    for (const config::GroupQos& group : port.qos->groups) {
      if (!is_on(group.lossless) || !group.xoff.given()) continue;
      if (*group.xoff + Bytes(kTolerance) < need->room.xoff) function(port, group, *need);
    }
  }
}

void check_configured_headroom(const CheckInput& input, Report& report) {
  FindingGroups lines;
  short_groups(input, [&](const LosslessPort& port, const config::GroupQos& group, const HeadroomNeed& need) {
    if (!other_generation(port, need, *group.xoff).empty()) return;
    lines.add(port.name, group.xoff.place,
              fmt::format("headroom of {} bytes is {} less than {} needs for {} over {} m with {}-byte frames",
                          group.xoff.value.count(), (need.room.xoff - *group.xoff).count(), need.asic.family,
                          to_text(port.speed), port.cable.count() / 1000, port.mtu));
  });
  lines.report(report);
}

void check_headroom_generation(const CheckInput& input, Report& report) {
  FindingGroups lines;
  short_groups(input, [&](const LosslessPort& port, const config::GroupQos& group, const HeadroomNeed& need) {
    const std::string_view other = other_generation(port, need, *group.xoff);
    if (other.empty()) return;
    lines.add(port.name, group.xoff.place,
              fmt::format("headroom of {} bytes is for {}: {} needs {} for {}", group.xoff.value.count(), other,
                          need.asic.family, need.room.xoff.count(), to_text(port.speed)));
  });
  lines.report(report);
}

void check_buffer_profile_size(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    // Only on Spectrum does the size include xon and xoff; SONiC's profiles for other chips keep the headroom separate
    // (pg_profile_lookup.ini of Trident and Tomahawk: a size of a few cells).
    const config::Setting<std::string>& hwsku = port.config->hardware;
    if (hwsku.known() ? !model::asic_headroom(*hwsku) : !asic_of(input, port)) continue;
    const std::vector<config::PoolConfig>& pools = port.config->pools;
    const bool shared = std::any_of(pools.begin(), pools.end(), [](const config::PoolConfig& pool) {
      return pool.shared_headroom.known() && pool.shared_headroom.value.count() > 0;
    });
    for (const config::GroupQos& group : port.qos->groups) {
      if (!is_on(group.lossless) || !group.size.given() || !group.xon.given() || !group.xoff.given()) continue;
      const Bytes sum = *group.xon + *group.xoff;
      if (*group.size >= (shared ? *group.xon : sum)) continue;
      lines.add(
          port.name, group.size.place,
          fmt::format("a reserved size of {} bytes is less than {}", group.size.value.count(),
                      shared ? fmt::format("xon {}", group.xon.value.count())
                             : fmt::format("xon {} and xoff {}", group.xon.value.count(), group.xoff.value.count())));
    }
  }
  lines.report(report);
}

// Compares ingress pools, shared headroom and the reservations of all lossless groups with the chip's buffer.
void check_configured_buffer_total(const CheckInput& input, Report& report) {
  std::map<std::pair<const config::SwitchConfig*, model::DeviceId>, Bytes> reserved;
  for (const LosslessPort& port : lossless_ports(input)) {
    Bytes& sum = reserved[{port.config, port.device}];
    for (const config::GroupQos& group : port.qos->groups) {
      if (is_on(group.lossless) && group.size.known()) sum += *group.size;
    }
  }
  FindingGroups lines;
  for (const auto& [key, sum] : reserved) {
    const auto& [config, device] = key;
    if (device == model::kNone<model::DeviceId>) continue;
    const model::SwitchModel& model = *input.cluster().group_of(device).network_switch;
    Bytes total = sum;
    const config::Setting<Bytes>* largest = nullptr;
    for (const config::PoolConfig& pool : config->pools) {
      if (!pool.ingress) continue;
      for (const config::Setting<Bytes>* part : {&pool.size, &pool.shared_headroom}) {
        if (!part->given()) continue;
        total += **part;
        if (largest == nullptr || **part > **largest) largest = part;
      }
    }
    if (largest == nullptr || total <= *model.buffer) continue;
    lines.add(input.cluster().name_of(device), largest->place,
              fmt::format("ingress pools and headroom add up to {}, {} has {}", about(total), *model.name,
                          about(*model.buffer)));
  }
  lines.report(report);
}

void check_configured_cable_length(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::Setting<Length>& said = port.interface->cable_length;
    if (port.device == model::kNone<model::DeviceId> || !said.given() || said.value.count() == 0 || *said >= port.cable)
      continue;
    lines.add(port.name, said.place,
              fmt::format("CABLE_LENGTH is {}, the designed cable is {}", to_text(*said), to_text(port.cable)));
  }
  lines.report(report);
}

void check_configured_pfc_priorities(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::PortQos& qos = *port.qos;
    std::vector<int> extra;
    std::vector<std::int64_t> wanted;
    if (input.has_cluster()) wanted = *input.cluster().data_fabric_spec(port.fabric).qos->pfc_priorities;
    SourceLocation place;
    bool right_one = wanted.empty();
    for (int p = 0; p < config::kClasses; ++p) {
      const config::Setting<bool>& pfc = qos.pfc[static_cast<std::size_t>(p)];
      if (!is_on(pfc)) continue;
      const int group =
          qos.pfc_to_group[static_cast<std::size_t>(p)].known() ? *qos.pfc_to_group[static_cast<std::size_t>(p)] : p;
      const config::Setting<bool> has_headroom = group >= 0 && group < config::kClasses
                                                     ? qos.groups[static_cast<std::size_t>(group)].lossless
                                                     : config::Setting<bool>(false, {}, {});
      const bool lossless = !has_headroom.known() || *has_headroom;  // unknown counts as lossless
      const bool meant = wanted.empty() || std::find(wanted.begin(), wanted.end(), p) != wanted.end();
      right_one = right_one || meant;
      if (wanted.empty() ? lossless : meant) continue;
      extra.push_back(p);
      place = line_of(port, pfc.place);
    }
    if (extra.empty() || !right_one) continue;  // the trace reports a missing data priority
    lines.add(port.name, place,
              fmt::format("PFC is enabled on priority {}, which carries no lossless data", fmt::join(extra, ", ")));
  }
  lines.report(report);
}

// --- marking

const config::QueueQos* data_queue(const LosslessPort& port) {
  return port.queue < 0 ? nullptr : &port.qos->queues[static_cast<std::size_t>(port.queue)];
}

bool has_ecn_marking(const config::QueueQos* queue) {
  return queue != nullptr && is_on(queue->ecn) && queue->ecn_min.known() && queue->ecn_max.known();
}

void check_ecn_threshold_order(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::QueueQos* queue = data_queue(port);
    // Equal thresholds are a step: DCTCP (RFC 8257, section 3.1) marks that way.
    if (!has_ecn_marking(queue) || *queue->ecn_min <= *queue->ecn_max) continue;
    lines.add(port.name, line_of(port, queue->ecn_min.place),
              fmt::format("the minimum ECN threshold, {} bytes, is above the maximum, {}", queue->ecn_min.value.count(),
                          queue->ecn_max.value.count()));
  }
  lines.report(report);
}

// The threshold at which a group alone in a dynamic pool starts to pause: 2^alpha / (1 + 2^alpha) of the pool.
std::optional<Bytes> pause_point(const LosslessPort& port) {
  Bytes pool;
  for (const config::PoolConfig& one : port.config->pools) {
    if (one.ingress && one.size.known()) pool = std::max(pool, *one.size);
  }
  std::optional<Bytes> first;
  for (const config::GroupQos& group : port.qos->groups) {
    if (!is_on(group.lossless)) continue;
    std::optional<Bytes> own;
    if (group.static_limit.known()) own = *group.static_limit;
    if (!own && group.alpha.known() && pool.count() > 0) {
      const double share = std::exp2(*group.alpha);
      own = Bytes(static_cast<std::int64_t>(static_cast<double>(pool.count()) * share / (1 + share)));
    }
    if (own && (!first || *own < *first)) first = own;
  }
  return first;
}

void check_configured_ecn_before_pfc(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::QueueQos* queue = data_queue(port);
    const auto pause = pause_point(port);
    if (!has_ecn_marking(queue) || !pause || *queue->ecn_min >= *queue->ecn_max || *queue->ecn_max < *pause) continue;
    lines.add(port.name, line_of(port, queue->ecn_max.place),
              fmt::format("marking reaches its maximum at {} bytes, but pausing starts at {}",
                          queue->ecn_max.value.count(), pause->count()));
  }
  lines.report(report);
}

void check_configured_ecn_thresholds(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::QueueQos* queue = data_queue(port);
    if (!has_ecn_marking(queue) || port.speed.count() == 0 || !queue->ecn_max.given()) continue;
    if (*queue->ecn_min >= *queue->ecn_max) continue;
    const Bytes delay = bandwidth_delay(port.speed);
    if (*queue->ecn_max * 4 < delay) {
      lines.add(port.name, queue->ecn_max.place,
                fmt::format("at {} marking reaches its maximum at {} bytes, a small part of the {} bytes in flight",
                            to_text(port.speed), queue->ecn_max.value.count(), delay.count()));
    } else if (*queue->ecn_min > delay * 8) {
      lines.add(port.name, queue->ecn_min.place,
                fmt::format("at {} marking starts at {} bytes, many times the {} bytes in flight", to_text(port.speed),
                            queue->ecn_min.value.count(), delay.count()));
    }
  }
  lines.report(report);
}

void check_configured_marking_probability(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::QueueQos* queue = data_queue(port);
    if (queue == nullptr || !is_on(queue->ecn) || !queue->ecn_percent.given() || *queue->ecn_percent >= 5) continue;
    lines.add(port.name, queue->ecn_percent.place,
              fmt::format("a full queue marks only {} % of its packets", *queue->ecn_percent));
  }
  lines.report(report);
}

// --- watchdog

void check_configured_watchdog_time(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::WatchdogQos& watchdog = port.qos->watchdog;
    const config::Setting<Duration>& poll = port.config->watchdog_poll;
    if (port.config->dialect != config::Dialect::sonic || !is_on(watchdog.on) || !watchdog.detection.given()) continue;
    if (poll.known() && *watchdog.detection < *poll) continue;  // SONiC itself rejects that: OP011
    const Duration rule = model::watchdog_times(model::QosSpec{}, port_count(input, port)).detection;
    if (*watchdog.detection >= rule) continue;
    lines.add(port.name, watchdog.detection.place,
              fmt::format("the watchdog acts after {}, {} ports need {}", to_text(*watchdog.detection),
                          port_count(input, port), to_text(rule)));
  }
  lines.report(report);
}

void check_configured_watchdog_action(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::WatchdogQos& watchdog = port.qos->watchdog;
    if (!is_on(watchdog.on) || !watchdog.action.given() || *watchdog.action == model::WatchdogAction::drop) continue;
    lines.add(port.name, watchdog.action.place, "the watchdog does not clear a stuck queue");
  }
  lines.report(report);
}

}  // namespace

std::vector<Rule> qos_buffer_rules() {  // NOLINT(readability-function-size): a table
  static constexpr std::string_view kLeaf = "running/be-train-u001-leaf1.json";
  return {
      {.id = "QO060",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "PFC headroom is too small for speed, cable and frame size",
       .reason = "Headroom must hold all data in flight when a pause is sent: both directions of the cable, one frame "
                 "at each end, and the peer's reaction time. Data that does not fit is dropped, in a class that must "
                 "not lose packets.",
       .source = "SONiC HLD, dynamic headroom calculation; sonic-swss buffer_headroom_mellanox.lua; verified against "
                 "NVIDIA's tables",
       .fix = "raise xoff of the profile to what the port needs",
       .example = {.file = kLeaf,
                   .from = "\"pg_lossless_400000_10m_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": "
                           "\"258048\", \"xon\": \"19456\", \"xoff\": \"238592\"",
                   .to = "\"pg_lossless_400000_10m_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": "
                         "\"219456\", \"xon\": \"19456\", \"xoff\": \"200000\""},
       .run = check_configured_headroom},
      {.id = "QO061",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "PFC headroom is for another switch generation",
       .reason = "The profile was copied from an older switch. Spectrum-4 counts the peer's reaction in pause quanta: "
                 "at 400G it needs six times the headroom of Spectrum-3.",
       .source = "sonic-buildimage pg_profile_lookup.ini of SN4700 and SN5600",
       .fix = "use the profile of this switch model",
       .example = {.file = kLeaf,
                   .from = "\"pg_lossless_400000_10m_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": "
                           "\"258048\", \"xon\": \"19456\", \"xoff\": \"238592\"",
                   .to = "\"pg_lossless_400000_10m_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": "
                         "\"97280\", \"xon\": \"19456\", \"xoff\": \"77824\""},
       .run = check_headroom_generation},
      {.id = "QO062",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "a lossless profile reserves less than xon and xoff",
       .reason = "The reserved size must hold both the space until pausing ends and the headroom. If it is smaller, "
                 "the last bytes come from the shared pool, which may be exhausted.",
       .source = "SONiC HLD, dynamic headroom calculation: size = xon + xoff; sonic-buildimage pg_profile_lookup.ini "
                 "of ACS-SN5600 (40000 5m) has this error",
       .fix = "set size to xon + xoff, or configure a shared headroom pool",
       .example = {.file = kLeaf,
                   .from = "\"pg_lossless_400000_10m_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": "
                           "\"258048\", \"xon\": \"19456\", \"xoff\": \"238592\"",
                   .to = "\"pg_lossless_400000_10m_profile\": {\"pool\": \"ingress_lossless_pool\", \"size\": "
                         "\"238592\", \"xon\": \"19456\", \"xoff\": \"238592\""},
       .run = check_buffer_profile_size},
      {.id = "QO063",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "buffer pools and headroom exceed the switch buffer",
       .reason = "The switch rejects the configuration, or assigns no buffer to the last ports: with SONiC, ports "
                 "remain without a profile.",
       .source = "SONiC HLD, dynamic headroom calculation: accumulative headroom; vendor data sheets for the buffer",
       .fix = "reduce the pool by the size that lossless groups reserve",
       .example =
           {.file = kLeaf,
            .from =
                "\"ingress_lossless_pool\": {\"type\": \"ingress\", \"mode\": \"dynamic\", \"size\": \"131072000\"}",
            .to = "\"ingress_lossless_pool\": {\"type\": \"ingress\", \"mode\": \"dynamic\", \"size\": \"159000000\"}"},
       .run = check_configured_buffer_total},
      {.id = "QO064",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "CABLE_LENGTH is shorter than the cable",
       .reason = "Headroom is calculated from CABLE_LENGTH. A longer cable holds more data in flight than the headroom "
                 "can absorb.",
       .source = "sonic-swss buffer_headroom_mellanox.lua: bytes on cable = 2 x length x speed / propagation",
       .fix = "set CABLE_LENGTH to the length of the cable, rounded up",
       .example = {.file = kLeaf, .from = "\"Ethernet0\": \"10m\"", .to = "\"Ethernet0\": \"3m\""},
       .run = check_configured_cable_length},
      {.id = "QO065",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "PFC is enabled on more priorities than carry lossless data",
       .reason = "Every paused class spreads congestion to traffic that could be dropped, and takes headroom from the "
                 "lossless classes.",
       .source = "Container Networking Architecture for AI Workloads (Patel): PFC only on the training class; "
                 "sonic-buildimage: 3 and 4",
       .fix = "enable PFC only on the priorities of lossless classes",
       .example =
           {.file = kLeaf,
            .from = "\"Ethernet0\": {\"dscp_to_tc_map\": \"ROCE\", \"tc_to_pg_map\": \"ROCE\", \"tc_to_queue_map\": "
                    "\"ROCE\", \"pfc_to_queue_map\": \"ROCE\", \"pfc_to_pg_map\": \"ROCE\", \"pfc_enable\": \"3\"",
            .to = "\"Ethernet0\": {\"dscp_to_tc_map\": \"ROCE\", \"tc_to_pg_map\": \"ROCE\", \"tc_to_queue_map\": "
                  "\"ROCE\", \"pfc_to_queue_map\": \"ROCE\", \"pfc_to_pg_map\": \"ROCE\", \"pfc_enable\": \"3,4\""},
       .run = check_configured_pfc_priorities},
      {.id = "QO066",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "ECN thresholds are reversed",
       .reason = "Marking must increase from the minimum to the maximum. With reversed thresholds the switch rejects "
                 "them, marks no packets, or marks all at once.",
       .source = "RFC 3168; Floyd and Jacobson, Random early detection (1993)",
       .fix = "set the maximum threshold to at least the minimum",
       .example = {.file = "running-nexus/be-train-u001-leaf1.cfg",
                   .from = "minimum-threshold 800 kbytes",
                   .to = "minimum-threshold 3300 kbytes"},
       .run = check_ecn_threshold_order},
      {.id = "QO067",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "PFC acts before ECN",
       .reason = "The queue pauses its senders before marking reaches its maximum, so congestion control has no effect "
                 "and pauses spread.",
       .source = "DCQCN (SIGCOMM 2015), section 4: PFC threshold above the ECN thresholds",
       .fix = "lower the maximum threshold, or raise the group's share of the pool",
       .example = {.file = kLeaf,
                   .from = "\"xoff\": \"238592\", \"dynamic_th\": \"0\"",
                   .to = "\"xoff\": \"238592\", \"dynamic_th\": \"-6\""},
       .run = check_configured_ecn_before_pfc},
      {.id = "QO068",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "ECN thresholds do not match the port speed",
       .reason = "Thresholds are queue lengths in bytes. A threshold for 25G marks everything at 400G; a threshold for "
                 "400G never marks at 25G.",
       .source = "HPCC (SIGCOMM 2019) artifact: 4 and 16 KB per Gb/s; Huawei AI Fabric: Kmax 2 to 3 times rate x 20 us",
       .fix = "use one profile per speed",
       .example = {.file = kLeaf,
                   .from = "\"green_min_threshold\": \"800000\", \"green_max_threshold\": \"3200000\"",
                   .to = "\"green_min_threshold\": \"10000\", \"green_max_threshold\": \"40000\""},
       .run = check_configured_ecn_thresholds},
      {.id = "QO069",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "the ECN marking probability of a switch is too low",
       .reason = "With a low probability the queue reaches the pause threshold before senders slow down.",
       .source = "published settings: 5 % (SONiC), 10 to 30 % (Huawei), 20 % (HPCC), 100 % (Cumulus, Juniper)",
       .fix = "raise the marking probability to 5 % or more",
       .example = {.file = kLeaf,
                   .from = "\"green_drop_probability\": \"20\"",
                   .to = "\"green_drop_probability\": \"1\""},
       .run = check_configured_marking_probability},
      {.id = "QO071",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "the watchdog detection time of a switch is too short for its ports",
       .reason = "The watchdog polls every port and queue in turn. If the time is too short, it mistakes normal "
                 "congestion for a storm and drops lossless traffic.",
       .source = "sonic-utilities pfcwd start_default: 200 ms per 32 ports; sonic-net/SONiC #1535, false positives",
       .fix = "raise detection_time to 200 ms per 32 ports",
       .example = {.file = kLeaf,
                   .from = "\"Ethernet0\": {\"action\": \"drop\", \"detection_time\": \"400\"",
                   .to = "\"Ethernet0\": {\"action\": \"drop\", \"detection_time\": \"200\""},
       .run = check_configured_watchdog_time},
      {.id = "QO072",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "the watchdog of a switch does not clear a stuck queue",
       .reason = "`forward` keeps sending to a receiver that sent a pause, `alert` does not end the storm. Only `drop` "
                 "releases the ports behind it.",
       .source = "SONiC HLD, PFC watchdog: actions drop, forward, alert",
       .fix = "set the action to drop",
       .example = {.file = kLeaf,
                   .from = "\"Ethernet0\": {\"action\": \"drop\"",
                   .to = "\"Ethernet0\": {\"action\": \"forward\""},
       .run = check_configured_watchdog_action},
  };
}

}  // namespace weft::check
