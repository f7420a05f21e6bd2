// QO080 and up: settings of ports with a lossless class besides the classes: pause, MTU, FEC, scheduling weights, and
// whether they match the cluster file.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "check/core/match.h"
#include "check/qos/intent_qos.h"
#include "check/qos/lossless_ports.h"
#include "check/qos/trace_ends.h"
#include "check/rules/qos.h"

namespace weft::check {

namespace {

SourceLocation line_of(const LosslessPort& port, const SourceLocation& place) {
  return place.known() ? place : port.interface->place;
}

void check_configured_global_pause(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::Setting<bool>& pause = port.interface->global_pause;
    if (!is_on(pause)) continue;
    lines.add("pause", port.name, line_of(port, pause.place),
              fmt::format("802.3x pause is enabled together with priority flow control ({})", port.interface->name));
  }
  for (const config::NicConfig& nic : input.config().nics) {
    const bool pfc =
        std::any_of(nic.pfc.begin(), nic.pfc.end(), [](const config::Setting<bool>& s) { return is_on(s); });
    if (!pfc || !is_on(nic.global_pause)) continue;
    lines.add("nic", nic.name, nic.global_pause.place.known() ? nic.global_pause.place : nic.place,
              "the NIC has 802.3x pause enabled together with priority flow control");
  }
  lines.report(report);
}

// MTU of the fabric's hosts: the cluster file's, or a NIC's if it is larger.
std::int64_t host_mtu(const CheckInput& input, model::FabricKind fabric) {
  std::int64_t mtu = *input.cluster().data_fabric_spec(fabric).mtu;
  for (const config::NicConfig* nic : nics_of(input.config(), fabric)) {
    if (nic->mtu.known()) mtu = std::max(mtu, *nic->mtu);
  }
  return mtu;
}

void check_configured_port_mtu(const CheckInput& input, Report& report) {
  FindingGroups lines;
  std::set<std::pair<const config::SwitchConfig*, model::DeviceId>> seen;
  std::map<model::FabricKind, std::int64_t> wanted_by;
  for (const LosslessPort& port : lossless_ports(input)) {
    const auto [known, added] = wanted_by.emplace(port.fabric, 0);
    if (added) known->second = host_mtu(input, port.fabric);
    const std::int64_t wanted = known->second;
    const config::Setting<std::int64_t>& mtu = port.interface->mtu;
    if (mtu.known() && *mtu < wanted) {
      lines.add(
          fmt::format("port {} {}", *mtu, wanted), port.name, line_of(port, mtu.place),
          fmt::format("{} forwards frames of at most {} bytes, hosts send {}", port.interface->name, *mtu, wanted));
    }
    if (!seen.insert({port.config, port.device}).second) continue;
    for (const config::InterfaceConfig& svi : port.config->interfaces) {
      if (svi.kind != config::InterfaceConfig::Kind::svi || !svi.mtu.known() || *svi.mtu >= wanted) continue;
      lines.add(fmt::format("svi {} {}", *svi.mtu, wanted), port.name,
                svi.mtu.place.known() ? svi.mtu.place : svi.place,
                fmt::format("{} routes frames of at most {} bytes, hosts send {}", svi.name, *svi.mtu, wanted));
    }
  }
  lines.report(report);
}

// 200G and faster is PAM4 on every lane in weft's catalog, and PAM4 needs RS(544,514): IEEE 802.3bs, 802.3ck.
void check_configured_fec(const CheckInput& input, Report& report) {
  FindingGroups lines;
  for (const LosslessPort& port : lossless_ports(input)) {
    const config::Setting<std::string>& fec = port.interface->fec;
    if (port.speed < gigabits(200)) continue;
    const bool silent = !fec.known() && port.config->dialect == config::Dialect::sonic && port.interface->speed.given();
    if (fec.known() ? (*fec == "rs" || *fec == "auto") : !silent) continue;
    const std::string how = silent ? "without a `fec` setting" : fmt::format("with fec {}", *fec);
    lines.add(to_text(port.speed) + how, port.name, line_of(port, fec.place),
              fmt::format("{} runs {} {}: PAM4 needs RS-FEC", port.interface->name, to_text(port.speed), how));
  }
  lines.report(report);
}

void check_configured_link_shares(const CheckInput& input, Report& report) {
  FindingGroups lines;
  std::set<std::pair<std::string, const config::PortQos*>> seen;
  for (const LosslessPort& port : lossless_ports(input)) {
    if (port.queue < 0 || !seen.insert({port.name, port.qos}).second) continue;
    const config::QueueQos& data = port.qos->queues[static_cast<std::size_t>(port.queue)];
    if (!data.weight.known() || (data.scheduling.known() && *data.scheduling == config::Scheduling::strict)) continue;
    std::int64_t sum = 0;
    for (const config::QueueQos& queue : port.qos->queues) {
      const bool strict = queue.scheduling.known() && *queue.scheduling == config::Scheduling::strict;
      if (queue.weight.known() && !strict) sum += *queue.weight;
    }
    const SourceLocation place = line_of(port, data.weight.place);
    if (port.config->dialect != config::Dialect::sonic && sum > 100) {
      lines.add(port.name, place, fmt::format("the shares of all queues add up to {} %", sum));
      continue;
    }
    if (!input.has_cluster() || sum <= 0) continue;
    const model::QosSpec& qos = *input.cluster().data_fabric_spec(port.fabric).qos;
    const std::int64_t share = port.config->dialect == config::Dialect::sonic ? *data.weight * 100 / sum : *data.weight;
    if (!qos.bandwidth_percent.from_file() || share + 5 >= *qos.bandwidth_percent) continue;
    const std::string text = fmt::format("the lossless class has {} % of a link guaranteed, the cluster file sets {} %",
                                         share, *qos.bandwidth_percent);
    lines.add(text, port.name, place, text, {{qos.bandwidth_percent.place, "set here"}});
  }
  lines.report(report);
}

struct Difference {
  std::string text;
  SourceLocation place;
  SourceLocation wanted;
};

void compare_times(const LosslessPort& port, const model::QosSpec& qos, std::vector<Difference>& out) {
  const auto one = [&](const char* what, const model::Sourced<Duration>& wanted, const config::Setting<Duration>& is) {
    if (!wanted.from_file() || !is.known() || *is == *wanted) return;
    out.push_back({fmt::format("{} {} instead of {}", what, to_text(*is), to_text(*wanted)), is.place, wanted.place});
  };
  one("watchdog detection", qos.watchdog_detection, port.qos->watchdog.detection);
  one("watchdog restoration", qos.watchdog_restoration, port.qos->watchdog.restoration);
  one("watchdog poll", qos.watchdog_poll, port.config->watchdog_poll);
}

void compare_marking(const LosslessPort& port, const model::QosSpec& qos, std::vector<Difference>& out) {
  if (port.queue < 0) return;
  const config::QueueQos& queue = port.qos->queues[static_cast<std::size_t>(port.queue)];
  const auto bytes = [&](const char* what, const model::Sourced<Bytes>& wanted, const config::Setting<Bytes>& is) {
    if (!wanted.from_file() || !is.known() || *is == *wanted) return;
    out.push_back(
        {fmt::format("{} {} instead of {}", what, is.value.count(), wanted->count()), is.place, wanted.place});
  };
  bytes("ECN minimum", qos.ecn_min, queue.ecn_min);
  bytes("ECN maximum", qos.ecn_max, queue.ecn_max);
  const config::Setting<int>& percent = queue.ecn_percent;
  if (!is_on(queue.ecn) || !qos.ecn_percent.from_file() || !percent.known() || *percent < 5) return;  // QO069 reports
  if (*percent == *qos.ecn_percent) return;
  out.push_back({fmt::format("ECN probability {} % instead of {} %", *percent, *qos.ecn_percent), percent.place,
                 qos.ecn_percent.place});
}

// Settings that work but differ from the cluster file: the next deployment reverts them.
void check_qos_drift(const CheckInput& input, Report& report) {
  FindingGroups lines;
  std::set<std::string> told;
  for (const LosslessPort& port : lossless_ports(input)) {
    std::vector<Difference> differences;
    const model::QosSpec& qos = *input.cluster().data_fabric_spec(port.fabric).qos;
    compare_marking(port, qos, differences);
    compare_times(port, qos, differences);
    if (differences.empty() || !told.insert(port.name).second) continue;
    std::vector<std::string> texts;
    std::vector<Finding::Related> related;
    for (const Difference& difference : differences) {
      texts.push_back(difference.text);
      related.push_back({difference.wanted, "set here"});
    }
    const std::string text = fmt::format("runs {}", fmt::join(texts, ", "));
    lines.add(text, port.name, line_of(port, differences[0].place), text, std::move(related));
  }
  lines.report(report);
}

// Settings in which ports of one role may differ without any of them being wrong.
std::string fine_print(const LosslessPort& port) {
  std::string out;
  if (port.queue >= 0) {
    const config::QueueQos& queue = port.qos->queues[static_cast<std::size_t>(port.queue)];
    out = fmt::format("{}|{}|{}|{}", queue.ecn_min.value.count(), queue.ecn_max.value.count(), queue.ecn_percent.value,
                      queue.weight.value);
  }
  return out;
}

bool has_active_ecn(const LosslessPort& port) {
  return port.queue >= 0 && is_on(port.qos->queues[static_cast<std::size_t>(port.queue)].ecn);
}

void check_port_qos_consistency(const CheckInput& input, Report& report) {
  const std::vector<LosslessPort> ports = lossless_ports(input);
  // device, toward servers or switches, speed
  std::map<std::tuple<std::string, bool, BitRate>, std::map<std::string, std::vector<const LosslessPort*>>> kinds;
  for (const LosslessPort& port : ports) {
    if (port.device == model::kNone<model::DeviceId> || !has_active_ecn(port)) continue;
    const model::DeviceId peer = input.cluster().port(input.cluster().peer_of(port.port)).device;
    const bool host = input.cluster().group_of(peer).kind == model::DeviceKind::server;
    kinds[{port.name, host, port.speed}][fine_print(port)].push_back(&port);
  }
  FindingGroups lines;
  for (const auto& [key, variants] : kinds) {
    if (variants.size() < 2) continue;
    const auto least = std::min_element(variants.begin(), variants.end(),
                                        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const auto& [name, host, speed] = key;
    const LosslessPort& first = *least->second[0];
    const config::QueueQos& queue = first.qos->queues[static_cast<std::size_t>(first.queue)];
    lines.add(fmt::format("{} {}", host, speed.count()), name, line_of(first, queue.ecn_min.place),
              fmt::format("{} has different ECN marking or link shares than other {} ports of {}",
                          first.interface->name, host ? "server" : "switch", to_text(speed)));
  }
  lines.report(report);
}

void check_lossy_fabric_pfc(const CheckInput& input, Report& report) {
  const model::Cluster& cluster = input.cluster();
  FindingGroups lines;
  for (const config::SwitchConfig& config : input.config().switches) {
    for (const model::DeviceId device : devices_of(cluster, input.config(), config)) {
      const model::FabricKind fabric = cluster.group_of(device).fabric;
      if (fabric != model::FabricKind::frontend && fabric != model::FabricKind::oob) continue;
      for (const config::InterfaceConfig& interface : config.interfaces) {
        if (interface.kind != config::InterfaceConfig::Kind::front_panel || interface.qos >= config.qos.size())
          continue;
        const auto& pfc = config.qos[interface.qos].pfc;
        const auto on = std::find_if(pfc.begin(), pfc.end(), [](const config::Setting<bool>& s) { return is_on(s); });
        if (on == pfc.end()) continue;
        lines.add(std::string(model::to_text(fabric)), cluster.name_of(device),
                  on->place.known() ? on->place : interface.place,
                  fmt::format("{} pauses priority {}, but the {} fabric is lossy", interface.name, on - pfc.begin(),
                              model::to_text(fabric)));
        break;
      }
    }
  }
  lines.report(report);
}

}  // namespace

std::vector<Rule> qos_port_rules() {  // NOLINT(readability-function-size): a table
  static constexpr std::string_view kLeaf = "running/be-train-u001-leaf1.json";
  return {
      {.id = "QO080",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "802.3x pause is enabled together with priority flow control",
       .reason = "A link pause stops all classes at once, including notifications and routing; most NICs disable "
                 "priority flow control while link pause is on.",
       .source = "IEEE 802.1Qbb; Container Networking Architecture for AI Workloads (Patel): disable global pause",
       .fix = "disable link pause on both ends",
       .example = {.file = "running/nic-template.yaml",
                   .from = "pauseFrames: {enabled: false}\n        ecn: {enabled: true, priority: 3}",
                   .to = "pauseFrames: {enabled: true}\n        ecn: {enabled: true, priority: 3}"},
       .run = check_configured_global_pause},
      {.id = "QO081",
       .severity = Severity::error,
       .needs = RuleNeeds::both,
       .title = "a switch port has a smaller MTU than hosts",
       .reason = "RDMA neither fragments nor discovers the path MTU: frames that do not fit are dropped silently.",
       .source = "Container Networking Architecture for AI Workloads (Patel): 9000 on VF, PF, switch ports and SVIs, "
                 "validate end to end",
       .fix = "raise the port's MTU to 9216",
       .example = {.file = kLeaf,
                   .from = "\"description\": \"train001 be1\", \"speed\": \"400000\", \"mtu\": \"9216\"",
                   .to = "\"description\": \"train001 be1\", \"speed\": \"400000\", \"mtu\": \"4200\""},
       .run = check_configured_port_mtu},
      {.id = "QO082",
       .severity = Severity::error,
       .needs = RuleNeeds::config,
       .title = "a PAM4 port runs without RS-FEC",
       .reason = "PAM4 links have continuous bit errors and rely on error correction. Without it the link remains down "
                 "or loses packets.",
       .source = "IEEE 802.3bs and 802.3ck; sonic-net/sonic-buildimage #23561: config_db lacks RS-FEC for PAM4 speeds",
       .fix = "set fec to rs",
       .example =
           {.file = kLeaf,
            .from = "\"description\": \"train001 be1\", \"speed\": \"400000\", \"mtu\": \"9216\", \"fec\": \"rs\"",
            .to = "\"description\": \"train001 be1\", \"speed\": \"400000\", \"mtu\": \"9216\", \"fec\": \"none\""},
       .run = check_configured_fec},
      {.id = "QO083",
       .severity = Severity::warning,
       .needs = RuleNeeds::config,
       .title = "link shares do not match the lossless class's configured share",
       .reason = "Under load every queue gets only its share. A lossless class with too small a share pauses its "
                 "senders although the link has capacity; shares above 100 % are rejected or scaled silently.",
       .source = "IEEE 802.1Qaz",
       .fix = "set the weights so that the lossless class gets `qos.bandwidth_percent`",
       .example = {.file = kLeaf,
                   .from = "\"rdma\": {\"type\": \"DWRR\", \"weight\": \"60\"}",
                   .to = "\"rdma\": {\"type\": \"DWRR\", \"weight\": \"20\"}"},
       .run = check_configured_link_shares},
      {.id = "QO084",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a switch's settings differ from the cluster file",
       .reason = "The device works, but its settings are unplanned: the next rollout reverts them, and devices differ "
                 "until then.",
       .source = "configuration management: the cluster file is the desired state, drift is reported",
       .fix = "restore the device to the value in the file, or write the new value into the file",
       .example = {.file = kLeaf,
                   .from = "\"green_drop_probability\": \"20\"",
                   .to = "\"green_drop_probability\": \"50\""},
       .run = check_qos_drift},
      {.id = "QO085",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "ports of the same role have different ECN or scheduler settings",
       .reason = "Ports of the same role carry equal parts of a collective; one that marks earlier or gets less "
                 "bandwidth delays all others.",
       .source = "configuration management: one profile per port role",
       .fix = "use one profile for all ports of the same role and speed",
       .example = {.file = kLeaf,
                   .from = "\"green_drop_probability\": \"20\"}\n  },\n  \"QUEUE\": {\n    \"Ethernet0|0\": "
                           "{\"scheduler\": \"best_effort\"},\n    \"Ethernet0|1\": {\"scheduler\": \"background\"},\n "
                           "   \"Ethernet0|3\": {\"scheduler\": \"rdma\", \"wred_profile\": \"ROCE_ECN\"}",
                   .to =
                       "\"green_drop_probability\": \"20\"},\n    \"EARLY\": {\"ecn\": \"ecn_all\", "
                       "\"wred_green_enable\": \"true\", \"green_min_threshold\": \"600000\", \"green_max_threshold\": "
                       "\"2400000\", \"green_drop_probability\": \"20\"}\n  },\n  \"QUEUE\": {\n    \"Ethernet0|0\": "
                       "{\"scheduler\": \"best_effort\"},\n    \"Ethernet0|1\": {\"scheduler\": \"background\"},\n    "
                       "\"Ethernet0|3\": {\"scheduler\": \"rdma\", \"wred_profile\": \"EARLY\"}"},
       .run = check_port_qos_consistency},
      {.id = "QO086",
       .severity = Severity::warning,
       .needs = RuleNeeds::both,
       .title = "a switch of a lossy fabric has PFC enabled",
       .reason = "Frontend and out-of-band carry TCP, which needs drops to adapt its rate. Pauses spread the effect of "
                 "one slow client to every server of the leaf.",
       .source = "Container Networking Architecture for AI Workloads (Patel): no PFC or ECN classes on the frontend, "
                 "queues remain lossy",
       .fix = "disable priority flow control",
       .example = {.file = "running/oob-leaf001.cfg",
                   .from = "",
                   .to = "policy-map type network-qos LOSSLESS\n  class type network-qos c-8q-nq3\n    mtu 9216\n    "
                         "pause pfc-cos 3\nsystem qos\n  service-policy type network-qos LOSSLESS\ninterface "
                         "Ethernet1/1\n  priority-flow-control mode on\n"},
       .run = check_lossy_fabric_pfc},
  };
}

}  // namespace weft::check
