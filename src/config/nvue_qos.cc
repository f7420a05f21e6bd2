// NVUE QoS: profiles, `qos roce`, and the resulting settings of a port. Defaults are those of the Cumulus Linux 5 user
// guide (Quality of Service; RDMA over Converged Ethernet). Classes are switch priorities, queues are traffic classes.
#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nvue_reader.h"

namespace weft::config::nvue {
namespace {

constexpr std::string_view kGlobal = "default-global";
constexpr std::int64_t kEcnMin = 150'000;    // bytes
constexpr std::int64_t kEcnMax = 1'500'000;  // bytes

// "40000", "40000 B" or "150KB".
std::optional<Bytes> bytes_of(std::string_view text) {
  if (const auto plain = parse_digits(text)) return Bytes(*plain);
  const auto sized = parse_bytes(std::string(text));
  return sized.ok() ? std::optional(sized.value()) : std::nullopt;
}

// "200", "200ms" or "0:00:00.200000" as milliseconds.
std::optional<std::int64_t> milliseconds_of(std::string_view text) {
  if (const auto plain = parse_digits(text)) return *plain <= 1'000'000 ? plain : std::nullopt;
  const std::size_t colon = text.rfind(':');
  const std::string seconds =
      colon == std::string_view::npos ? std::string(text) : fmt::format("{}s", text.substr(colon + 1));
  const auto time =
      parse_duration(seconds[0] == '0' && seconds.size() > 2 && seconds[1] != '.' ? seconds.substr(1) : seconds);
  return time.ok() ? std::optional(time.value().count() / 1'000'000) : std::nullopt;
}

}  // namespace

void Reader::take_qos(const Command& command) {
  const std::string_view what = command.at(1);
  if (what == "roce") return take_roce(command);
  if (what == "mapping") return take_mapping(command);
  if (what == "pfc") return take_pfc_profile(command);
  if (what == "congestion-control") return take_congestion(command);
  if (what == "egress-scheduler") return take_scheduler(command);
  if (what == "egress-queue-mapping" && command.at(3) == "switch-priority") {
    auto& map = profiles_.queues[std::string(command.at(2))];
    const auto queue = command.size() > 6 ? number(command, 6, 0, kClasses - 1) : std::nullopt;
    for (const int priority : list(command, 4, 0, kClasses - 1)) {
      if (queue)
        map[static_cast<std::size_t>(priority)] = {static_cast<int>(queue.value_or(0)), command.place(6),
                                                   fmt::format("qos egress-queue-mapping {}", command.at(2))};
    }
    return;
  }
  if (what == "remark") {
    RemarkProfile& remark = profiles_.remark[std::string(command.at(2))];
    if (command.at(3) != "switch-priority" || command.at(5) != "dscp") return;
    const auto dscp = number(command, 6, 0, kDscps - 1);
    for (const int priority : list(command, 4, 0, kClasses - 1)) {
      if (dscp)
        remark.dscp[static_cast<std::size_t>(priority)] = {static_cast<int>(dscp.value_or(0)), command.place(6),
                                                           fmt::format("qos remark {}", command.at(2))};
    }
    return;
  }
  if (what == "link-pause") {
    profiles_.pause.emplace(command.at(2));
    return;
  }
  if (what == "pfc-watchdog") {
    const bool interval = command.at(2) == "polling-interval";
    const auto value = interval ? milliseconds_of(command.at(3)) : parse_digits(command.at(3));
    if (!value || *value < 1 || *value > 1'000'000) {
      warn(command.place(3), fmt::format("{} is not a watchdog setting", in_backticks(command.at(3))));
      return;
    }
    const Setting<std::int64_t> given(value.value_or(0), command.place(3),
                                      fmt::format("qos pfc-watchdog {}", command.at(2)));
    (interval ? watchdog_interval_ : watchdog_robustness_) = given;
    return;
  }
  if (what != "traffic-pool" && what != "advance-buffer-config") ++out_.skipped;
}

// qos roce [enable on|off] [state enabled|disabled] [mode lossless|lossy]
void Reader::take_roce(const Command& command) {
  const std::string_view what = command.at(2);
  const bool off = (what == "enable" || what == "state") && !is_on(command.at(3));
  roce_ = {!off, command.place(1), "qos roce"};
  if (what != "mode") return;
  if (command.at(3) != "lossless" && command.at(3) != "lossy") {
    warn(command.place(3),
         fmt::format("unsupported RoCE mode {}: expected lossless or lossy", in_backticks(command.at(3))));
    return;
  }
  roce_mode_ = {std::string(command.at(3)), command.place(3), "qos roce mode"};
}

void Reader::take_mapping(const Command& command) {
  MappingProfile& profile = profiles_.mapping[std::string(command.at(2))];
  const std::string path = fmt::format("qos mapping {}", command.at(2));
  const std::string_view what = command.at(3);
  if (what == "trust") {
    const std::string_view trust = command.at(4);
    if (trust != "l2" && trust != "l3" && trust != "port" && trust != "both") {
      warn(command.place(4), fmt::format("unsupported trust {}: expected l2, l3, port or both", in_backticks(trust)));
      return;
    }
    profile.trust = {std::string(trust), command.place(4), path + " trust"};
    return;
  }
  if (what == "port-default-sp") {
    if (const auto priority = number(command, 4, 0, kClasses - 1)) {
      profile.port_default = {static_cast<int>(priority.value_or(0)), command.place(4), path + " port-default-sp"};
    }
    return;
  }
  if ((what != "dscp" && what != "pcp") || command.at(5) != "switch-priority") return;
  const bool dscp = what == "dscp";
  const auto priority = number(command, 6, 0, kClasses - 1);
  if (!priority) return;
  const Setting<int> to(static_cast<int>(priority.value_or(0)), command.place(6),
                        fmt::format("{} {} {}", path, what, command.at(4)));
  for (const int value : list(command, 4, 0, dscp ? kDscps - 1 : kClasses - 1)) {
    (dscp ? profile.dscp[static_cast<std::size_t>(value)] : profile.pcp[static_cast<std::size_t>(value)]) = to;
  }
}

void Reader::take_pfc_profile(const Command& command) {
  PfcProfile& profile = profiles_.pfc[std::string(command.at(2))];
  const std::string path = fmt::format("qos pfc {}", command.at(2));
  const std::string_view what = command.at(3);
  if (what == "switch-priority") {
    for (const int priority : list(command, 4, 0, kClasses - 1)) {
      profile.priority[static_cast<std::size_t>(priority)] = {true, command.place(4), path + " switch-priority"};
    }
    return;
  }
  if (what == "tx" || what == "rx") {
    const Setting<bool> state(is_on(command.at(4)), command.place(4), fmt::format("{} {}", path, what));
    (what == "tx" ? profile.tx : profile.rx) = state;
    return;
  }
  if (what == "cable-length" || what.empty()) return;
  const auto bytes = bytes_of(command.at(4));
  if (!bytes) {
    warn(command.place(4), fmt::format("{} is not a number of bytes", in_backticks(command.at(4))));
    return;
  }
  const Setting<Bytes> given(bytes.value_or(Bytes()), command.place(4), fmt::format("{} {}", path, what));
  if (what == "xoff-threshold") profile.xoff_threshold = given;
  if (what == "xon-threshold") profile.xon_threshold = given;
  if (what == "port-buffer") profile.port_buffer = given;
}

void Reader::take_congestion(const Command& command) {
  QueueProfile& profile = profiles_.congestion[std::string(command.at(2))];
  if (command.at(3) != "traffic-class") return;
  const std::string path = fmt::format("qos congestion-control {}", command.at(2));
  const std::string_view what = command.at(5);
  const SourceLocation place = command.place(6);
  const bool threshold = what == "min-threshold" || what == "max-threshold";
  const Bytes bytes = threshold ? bytes_of(command.at(6)).value_or(Bytes(-1)) : Bytes();
  if (bytes.count() < 0) {
    warn(place, fmt::format("{} is not a number of bytes", in_backticks(command.at(6))));
    return;
  }
  const auto percent = what == "probability" ? number(command, 6, 0, 100) : std::nullopt;
  for (const int queue : list(command, 4, 0, kClasses - 1)) {
    QueueQos& to = profile.queue[static_cast<std::size_t>(queue)];
    profile.listed[static_cast<std::size_t>(queue)] = true;
    if (what == "ecn") to.ecn = {is_on(command.at(6)), place, path + " ecn"};
    if (what == "min-threshold") to.ecn_min = {bytes, place, path + " min-threshold"};
    if (what == "max-threshold") to.ecn_max = {bytes, place, path + " max-threshold"};
    if (percent) to.ecn_percent = {static_cast<int>(percent.value_or(0)), place, path + " probability"};
    if (!to.ecn.known()) to.ecn = {true, command.place(4), path};
  }
}

void Reader::take_scheduler(const Command& command) {
  QueueProfile& profile = profiles_.scheduler[std::string(command.at(2))];
  if (command.at(3) != "traffic-class") return;
  const std::string path = fmt::format("qos egress-scheduler {}", command.at(2));
  const std::string_view what = command.at(5);
  const auto percent = what == "bw-percent" ? number(command, 6, 0, 100) : std::nullopt;
  const bool mode = what == "mode" && (command.at(6) == "strict" || command.at(6) == "dwrr");
  if (what == "mode" && !mode) {
    warn(command.place(6), fmt::format("unsupported mode {}: expected strict or dwrr", in_backticks(command.at(6))));
  }
  for (const int queue : list(command, 4, 0, kClasses - 1)) {
    QueueQos& to = profile.queue[static_cast<std::size_t>(queue)];
    profile.listed[static_cast<std::size_t>(queue)] = true;
    const Scheduling meant = command.at(6) == "strict" ? Scheduling::strict : Scheduling::weighted;
    if (mode) to.scheduling = {meant, command.place(6), path};
    if (percent) to.weight = {static_cast<int>(percent.value_or(0)), command.place(6), path};
  }
}

void Reader::finish_qos() {
  const auto key_of = [](const InterfaceQos& qos) {
    std::string key;
    for (const Setting<std::string>* named :
         {&qos.mapping, &qos.pfc, &qos.congestion, &qos.scheduler, &qos.queues, &qos.remark}) {
      key += named->value + ";";
    }
    return key + (qos.watchdog.known() ? (qos.watchdog.value ? "on" : "off") : "");
  };
  std::map<std::string, std::uint32_t> distinct;
  distinct.emplace(key_of({}), 0);
  out_.qos.push_back(port_qos({}));
  for (std::size_t i = 0; i < out_.interfaces.size(); ++i) {
    if (out_.interfaces[i].kind != InterfaceConfig::Kind::front_panel) continue;
    const InterfaceQos& own = interface_qos_[i];
    const auto [known, added] = distinct.emplace(key_of(own), static_cast<std::uint32_t>(out_.qos.size()));
    if (added) out_.qos.push_back(port_qos(own));
    out_.interfaces[i].qos = known->second;
    const bool pauses = own.pause.known() || profiles_.pause.count(kGlobal) > 0;
    if (pauses)
      out_.interfaces[i].global_pause =
          own.pause.known() ? Setting<bool>(true, own.pause.place, own.pause.path)
                            : vendor_default(true, "qos link-pause default-global applies to every port");
  }
  if (watchdog_interval_.known()) {
    out_.watchdog_poll = {milliseconds(watchdog_interval_.value), watchdog_interval_.place, watchdog_interval_.path};
  }
}

template <class Profile>
const Profile* Reader::profile(const std::map<std::string, Profile, std::less<>>& all,
                               const Setting<std::string>& named, std::string_view kind) {
  const auto found = all.find(named.known() ? std::string_view(named.value) : kGlobal);
  if (found != all.end()) return &found->second;
  if (named.known() && named.value != kGlobal) {
    error_once(named.place,
               fmt::format("`qos {} profile` refers to {}, which is not configured", kind, in_backticks(named.value)));
  }
  return nullptr;
}

PortQos Reader::port_qos(const InterfaceQos& interface) {
  PortQos qos;
  apply_mapping(interface, qos);
  apply_queues(interface, qos);
  apply_pfc(interface, qos);
  apply_ecn(interface, qos);
  apply_scheduling(interface, qos);
  apply_watchdog(interface, qos);
  const RemarkProfile* remark = profile(profiles_.remark, interface.remark, "remark");
  for (std::size_t dscp = 0; remark != nullptr && dscp < kDscps; ++dscp) {
    if (qos.dscp_to_class[dscp].known())
      qos.rewrite[dscp] = remark->dscp[static_cast<std::size_t>(qos.dscp_to_class[dscp].value)];
  }
  return qos;
}

void Reader::apply_mapping(const InterfaceQos& interface, PortQos& qos) {
  const MappingProfile* mapping = profile(profiles_.mapping, interface.mapping, "mapping");
  const bool said = mapping != nullptr && mapping->trust.known();
  const std::string trust = said ? mapping->trust.value : roce_.value ? "both" : "l2";
  const bool by_dscp = trust == "l3" || trust == "both";
  const bool by_pcp = trust == "l2" || trust == "both";
  if (said || roce_.value) {
    const SourceLocation place = said ? mapping->trust.place : roce_.place;
    const std::string path = said ? mapping->trust.path : roce_.path;
    if (trust != "port") qos.trust = {by_dscp ? model::TrustMode::dscp : model::TrustMode::pcp, place, path};
  } else {
    qos.trust = vendor_default(model::TrustMode::pcp, "Cumulus trusts the 802.1p priority by default");
  }
  const int port_default = mapping != nullptr && mapping->port_default.known() ? mapping->port_default.value : 0;
  const std::string ignored =
      fmt::format("trust is {}, so the DSCP is ignored: switch priority {}", trust, port_default);
  for (std::size_t i = 0; i < kDscps; ++i) {
    const Setting<int> written = mapping != nullptr ? mapping->dscp[i] : Setting<int>();
    if (!by_dscp) {
      qos.dscp_to_class[i] = vendor_default(port_default, ignored);
    } else if (written.known()) {
      qos.dscp_to_class[i] = written;
    } else {
      qos.dscp_to_class[i] =
          vendor_default(static_cast<int>(i / 8), "Cumulus maps DSCP 8n to 8n+7 to switch priority n by default");
    }
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    const Setting<int> written = mapping != nullptr ? mapping->pcp[i] : Setting<int>();
    qos.pcp_to_class[i] =
        !by_pcp ? vendor_default(port_default, fmt::format("trust is {}, so the 802.1p priority is ignored", trust))
        : written.known()
            ? written
            : vendor_default(static_cast<int>(i), "Cumulus maps 802.1p n to switch priority n by default");
  }
}

void Reader::apply_queues(const InterfaceQos& interface, PortQos& qos) {
  const auto* map = profile(profiles_.queues, interface.queues, "egress-queue-mapping");
  for (std::size_t i = 0; i < kClasses; ++i) {
    qos.class_to_group[i] = vendor_default(static_cast<int>(i), "a switch priority is its own ingress group");
    qos.pfc_to_group[i] = qos.class_to_group[i];
    if (map != nullptr && (*map)[i].known()) {
      qos.class_to_queue[i] = (*map)[i];
    } else if (roce_.value) {
      qos.class_to_queue[i] = {i == 3 || i == 6 ? static_cast<int>(i) : 0, roce_.place, roce_.path};
    } else {
      qos.class_to_queue[i] =
          vendor_default(static_cast<int>(i), "Cumulus maps switch priority n to traffic class n by default");
    }
    qos.pfc_to_queue[i] = qos.class_to_queue[i];
  }
}

void Reader::apply_pfc(const InterfaceQos& interface, PortQos& qos) {
  const PfcProfile* pfc = profile(profiles_.pfc, interface.pfc, "pfc");
  const bool listed = pfc != nullptr &&
                      std::any_of(pfc->priority.begin(), pfc->priority.end(), [](const auto& p) { return p.known(); });
  const bool roce = roce_.value && roce_mode_.value != "lossy";
  const Setting<bool> off = pfc != nullptr && pfc->tx.known() && !pfc->tx.value   ? pfc->tx
                            : pfc != nullptr && pfc->rx.known() && !pfc->rx.value ? pfc->rx
                                                                                  : Setting<bool>();
  bool any = false;
  for (std::size_t i = 0; i < kClasses; ++i) {
    Setting<bool>& to = qos.pfc[i];
    if (listed && pfc->priority[i].known()) {
      to = off.known() ? off : pfc->priority[i];
    } else if (roce && !listed) {  // an explicit list replaces that of `qos roce`
      to = {i == 3, roce_.place, roce_.path};
    } else if (roce_.value && !roce && !listed) {
      to = {false, roce_mode_.place, roce_mode_.path};
    } else {
      to = vendor_default(false, "no `qos pfc` profile lists the switch priority");
    }
    any = any || to.value;
    GroupQos& group = qos.groups[i];
    group.lossless = to;
    if (!to.value || pfc == nullptr) continue;
    group.size = pfc->port_buffer;
    group.xon = pfc->xon_threshold;
    // Pause frames are sent when `xoff-threshold` of the port buffer is full; the rest is headroom.
    if (pfc->port_buffer.known() && pfc->xoff_threshold.known()) {
      group.xoff = {pfc->port_buffer.value - pfc->xoff_threshold.value, pfc->port_buffer.place, pfc->port_buffer.path};
    }
  }
  const auto decisive =
      std::find_if(qos.pfc.begin(), qos.pfc.end(), [&](const auto& p) { return p.value == any && p.given(); });
  if (decisive != qos.pfc.end()) {
    qos.pfc_mode = {any ? model::PfcMode::on : model::PfcMode::off, decisive->place, decisive->path};
  } else {
    qos.pfc_mode = vendor_default(model::PfcMode::off,
                                  "PFC is disabled on Cumulus unless `qos roce` or a `qos pfc` profile enables it");
  }
}

void Reader::apply_ecn(const InterfaceQos& interface, PortQos& qos) {
  const QueueProfile* ecn = profile(profiles_.congestion, interface.congestion, "congestion-control");
  for (std::size_t i = 0; i < kClasses; ++i) {
    QueueQos& queue = qos.queues[i];
    const bool listed = ecn != nullptr && ecn->listed[i];
    if (listed) queue = ecn->queue[i];
    const bool by_roce = !listed && roce_.value && (i == 0 || i == 3);
    const bool by_default = !listed && !by_roce && ecn == nullptr && i == 0;
    if (by_roce) queue.ecn = {true, roce_.place, roce_.path};
    if (by_default) queue.ecn = vendor_default(true, "Cumulus marks on egress queue 0 by default");
    if (!queue.ecn.known()) queue.ecn = vendor_default(false, "no congestion-control profile lists the traffic class");
    if (!queue.ecn.value) continue;
    const std::string why = "Cumulus marks from 150000 to 1500000 bytes with 100 percent by default";
    const auto from_roce = [&](auto value) {
      return by_roce ? Setting(value, roce_.place, roce_.path) : vendor_default(value, why);
    };
    if (!queue.ecn_min.known()) queue.ecn_min = from_roce(Bytes(kEcnMin));
    if (!queue.ecn_max.known()) queue.ecn_max = from_roce(Bytes(kEcnMax));
    if (!queue.ecn_percent.known()) queue.ecn_percent = from_roce(100);
  }
}

void Reader::apply_scheduling(const InterfaceQos& interface, PortQos& qos) {
  const QueueProfile* scheduler = profile(profiles_.scheduler, interface.scheduler, "egress-scheduler");
  for (std::size_t i = 0; i < kClasses; ++i) {
    QueueQos& queue = qos.queues[i];
    if (scheduler != nullptr && scheduler->listed[i]) {
      queue.scheduling = scheduler->queue[i].scheduling;
      queue.weight = scheduler->queue[i].weight;
    } else if (roce_.value && (i == 0 || i == 3 || i == 6)) {
      queue.scheduling = {i == 6 ? Scheduling::strict : Scheduling::weighted, roce_.place, roce_.path};
      if (i != 6) queue.weight = {50, roce_.place, roce_.path};
    } else if (scheduler == nullptr && !roce_.value) {
      const std::string why = "Cumulus shares bandwidth among eight queues, 12 and 13 percent in turn, by default";
      queue.scheduling = vendor_default(Scheduling::weighted, why);
      queue.weight = vendor_default(i % 2 == 0 ? 12 : 13, why);
    }
  }
}

void Reader::apply_watchdog(const InterfaceQos& interface, PortQos& qos) {
  WatchdogQos& watchdog = qos.watchdog;
  watchdog.on =
      interface.watchdog.known()
          ? interface.watchdog
          : vendor_default(false, "the PFC watchdog is disabled unless `qos pfc-watchdog` is set on the interface");
  if (!watchdog.on.value) return;
  const std::int64_t interval = watchdog_interval_.known() ? watchdog_interval_.value : 100;
  const std::int64_t rounds = watchdog_robustness_.known() ? watchdog_robustness_.value : 3;
  const Setting<std::int64_t>& said = watchdog_interval_.known() ? watchdog_interval_ : watchdog_robustness_;
  const Duration detection = milliseconds(std::min<std::int64_t>(interval * rounds, 1'000'000'000));
  watchdog.detection =
      said.known() ? Setting<Duration>(detection, said.place, said.path)
                   : vendor_default(detection, "Cumulus polls every 100 ms and detects after 3 polls by default");
  watchdog.action = vendor_default(model::WatchdogAction::drop, "Cumulus drops packets for a stuck queue");
}

}  // namespace weft::config::nvue
