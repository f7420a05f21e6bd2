// NX-OS QoS: class maps, policy maps, where they apply, and the resulting settings of a port. Classes are qos-groups;
// group n uses egress queue n.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"
#include "config/number_list.h"
#include "config/nxos_reader.h"

namespace weft::config::nxos {
namespace {

struct DscpName {
  std::string_view name;
  int value;
};

constexpr DscpName kDscpNames[] = {{"default", 0}, {"cs1", 8},   {"af11", 10}, {"af12", 12}, {"af13", 14}, {"cs2", 16},
                                   {"af21", 18},   {"af22", 20}, {"af23", 22}, {"cs3", 24},  {"af31", 26}, {"af32", 28},
                                   {"af33", 30},   {"cs4", 32},  {"af41", 34}, {"af42", 36}, {"af43", 38}, {"cs5", 40},
                                   {"ef", 46},     {"cs6", 48},  {"cs7", 56}};

std::optional<int> dscp_named(std::string_view word) {
  for (const DscpName& known : kDscpNames) {
    if (equals_ignoring_case(word, known.name)) return known.value;
  }
  const auto number = parse_digits(word);
  return number && *number < kDscps ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

// "150 kbytes" in bytes. Packets and times are not buffer sizes.
std::optional<Bytes> amount(std::string_view number, std::string_view unit) {
  const auto value = parse_digits(number);
  if (!value || *value > 1'000'000'000'000) return std::nullopt;
  if (unit == "bytes" || unit.empty()) return Bytes(*value);
  if (unit == "kbytes") return Bytes(*value * 1000);
  if (unit == "mbytes") return Bytes(*value * 1'000'000);
  return std::nullopt;
}

std::string_view after(const ConfigLine& line, std::string_view word, std::size_t step = 1) {
  const auto found = std::find(line.words.begin(), line.words.end(), word);
  const auto left = static_cast<std::size_t>(line.words.end() - found);
  return left > step ? *(found + static_cast<std::ptrdiff_t>(step)) : std::string_view();
}

bool has_word(const ConfigLine& line, std::string_view word) {
  return std::find(line.words.begin(), line.words.end(), word) != line.words.end();
}

// The queue in a predefined class name: c-out-8q-q3, c-out-q3, c-8q-nq3, c-nq3, c-in-q3; "default" is queue 0.
int group_in_name(std::string_view name) {
  if (name == "class-default" || (name.size() > 8 && name.substr(name.size() - 8) == "-default")) return 0;
  const std::size_t q = name.rfind('q');
  if (name.substr(0, 2) != "c-" || q == std::string_view::npos) return -1;
  const auto number = parse_digits(name.substr(q + 1));
  return number && *number < kClasses ? static_cast<int>(*number) : -1;
}

bool matches_marking(const ClassMap& map, std::size_t value, bool dscp) {
  bool any = false;
  for (const QosMatch& match : map.matches) {
    const std::vector<bool>& set = dscp ? match.dscps : match.cos;
    const bool hit = !set.empty() && set[value];
    if (map.all && !hit) return false;
    any = any || hit;
  }
  return any;
}

}  // namespace

bool Reader::open_class_map(const ConfigLine& line) {
  block_ = Block::class_map;
  std::size_t word = 1;
  std::string_view type = "qos";
  if (line.at(word) == "type") {
    type = line.at(word + 1);
    word += 2;
  }
  const bool any = line.at(word) == "match-any";
  const bool all = line.at(word) == "match-all";
  if (any || all) ++word;
  auto& maps = type == "network-qos" ? network_classes_ : type == "queuing" ? queuing_classes_ : qos_classes_;
  class_map_ = &maps[std::string(line.at(word))];
  class_map_->all = !any;  // NX-OS defaults to match-all
  return true;
}

std::vector<bool> Reader::dscp_set(const ConfigLine& line, std::size_t word) {
  std::vector<bool> set(kDscps, false);
  for (const std::string_view piece : split_text(line.rest(word), ',', 128)) {
    const std::size_t dash = piece.find('-');
    const auto first = dscp_named(trim(piece.substr(0, dash)));
    const auto last = dash == std::string_view::npos ? first : dscp_named(trim(piece.substr(dash + 1)));
    if (!first || !last || *first > *last) {
      warn(line, word, fmt::format("{} is not a DSCP between 0 and 63", in_backticks(piece)));
      return {};
    }
    for (int i = *first; i <= *last; ++i) set[static_cast<std::size_t>(i)] = true;
  }
  return set;
}

bool Reader::take_match(const ConfigLine& line) {
  if (line.at(0) == "description") return true;
  if (line.at(0) != "match" || class_map_ == nullptr || class_map_->matches.size() >= 1024) return false;
  std::size_t word = line.at(1) == "ip" ? 2 : 1;
  const std::string_view what = line.at(word);
  QosMatch match;
  if (what == "dscp") {
    match.dscps = dscp_set(line, word + 1);
    if (match.dscps.empty()) return true;
  } else if (what == "cos" || what == "precedence" || what == "qos-group") {
    const auto numbers = parse_number_list(line.rest(word + 1), 0, kClasses - 1);
    if (!numbers || numbers->empty()) {
      warn(line, word + 1, fmt::format("{} {} is not between 0 and 7", what, in_backticks(line.rest(word + 1))));
      return true;
    }
    if (what == "qos-group") match.group = numbers->front();
    if (what == "cos") match.cos.assign(kClasses, false);
    if (what == "precedence") match.dscps.assign(kDscps, false);
    for (const int number : *numbers) {
      if (what == "cos") match.cos[static_cast<std::size_t>(number)] = true;
      for (int i = 0; what == "precedence" && i < 8; ++i)
        match.dscps[static_cast<std::size_t>(number) * 8 + static_cast<std::size_t>(i)] = true;
    }
  } else {
    match.other = true;  // access lists and protocols do not match on a marking
  }
  class_map_->matches.push_back(std::move(match));
  return true;
}

bool Reader::open_policy_map(const ConfigLine& line) {
  block_ = Block::policy_map;
  const bool typed = line.at(1) == "type";
  const std::string_view type = typed ? line.at(2) : "qos";
  Policies& policies = type == "network-qos" ? network_policies_
                       : type == "queuing"   ? queuing_policies_
                                             : qos_policies_;
  policy_map_ = &policies[std::string(line.at(typed ? 3 : 1))];
  policy_map_->place = line.place();
  return true;
}

bool Reader::take_policy(const ConfigLine& line) {
  if (policy_map_ == nullptr) return false;
  if (line.at(0) == "class") {
    std::string_view name = line.at(1) == "type" ? line.at(3) : line.at(1);
    if (policy_map_->classes.size() >= 1024) return false;
    PolicyClass& made = policy_map_->classes.emplace_back();
    made.name = name;
    made.place = line.place();
    return true;
  }
  if (policy_map_->classes.empty()) return line.at(0) == "description";
  return take_policy_action(line, policy_map_->classes.back());
}

bool Reader::take_policy_action(const ConfigLine& line, PolicyClass& policy) {
  const std::string_view word = line.at(0);
  const std::string path = fmt::format("class {}", policy.name);
  if (word == "set" && (line.at(1) == "qos-group" || line.at(1) == "dscp")) {
    const bool group = line.at(1) == "qos-group";
    const auto value = group ? [&]() -> std::optional<int> {
      const auto number = parse_digits(line.at(2));
      return number && *number < kClasses ? std::optional(static_cast<int>(*number)) : std::nullopt;
    }()
        : dscp_named(line.at(2));
    if (!value) {
      warn(line, 2,
           fmt::format("{} is not a {}", in_backticks(line.at(2)), group ? "qos-group between 0 and 7" : "DSCP"));
      return true;
    }
    const Setting<int> given(value.value_or(0), line.place(2), path);
    (group ? policy.group : policy.dscp) = given;
    return true;
  }
  if (word == "bandwidth" || word == "shape") {
    const bool percent = has_word(line, "percent");
    const auto value = parse_digits(word == "shape" ? after(line, "max") : after(line, "percent"));
    if (percent && value && *value <= 100) {
      Setting<int> share(static_cast<int>(value.value_or(0)), line.place(), path);
      if (word == "shape") {
        policy.queue.strict_cap_percent = share;
      } else {
        policy.queue.weight = share;
        if (!policy.queue.scheduling.known()) policy.queue.scheduling = {Scheduling::weighted, line.place(), path};
      }
    }
    return true;
  }
  if (word == "priority") {
    policy.queue.scheduling = {Scheduling::strict, line.place(), path};
    return true;
  }
  if (word == "random-detect" || word == "ecn" || word == "congestion-control") {
    take_random_detect(line, policy);
    return true;
  }
  if (word == "pause") {
    take_pause(line, policy);
    return true;
  }
  return word == "mtu" || word == "queue-limit";
}

// random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0 ecn
void Reader::take_random_detect(const ConfigLine& line, PolicyClass& policy) {
  const std::string path = fmt::format("class {}", policy.name);
  const bool ecn = has_word(line, "ecn");
  if (ecn || !policy.queue.ecn.known()) policy.queue.ecn = {ecn, line.place(), path};
  const auto threshold = [&](std::string_view word, Setting<Bytes>& out) {
    const std::string_view number = after(line, word);
    if (number.empty()) return;
    const auto bytes = amount(number, after(line, word, 2));
    if (bytes) {
      out = {bytes.value_or(Bytes()), line.place(), path};
    } else {
      warn(line, 0,
           fmt::format("ignored {}: not a number of bytes",
                       in_backticks(fmt::format("{} {}", number, after(line, word, 2)))));
    }
  };
  threshold("minimum-threshold", policy.queue.ecn_min);
  threshold("maximum-threshold", policy.queue.ecn_max);
  const auto probability = parse_digits(after(line, "drop-probability"));
  if (probability && *probability <= 100) {
    policy.queue.ecn_percent = {static_cast<int>(probability.value_or(0)), line.place(), path};
  } else if (probability) {
    diagnostics_.warning(line.place(), "a drop probability must be between 0 and 100 percent");
  }
}

void Reader::take_pause(const ConfigLine& line, PolicyClass& policy) {
  const std::string path = fmt::format("class {}", policy.name);
  if (line.at(1) == "pfc-cos") {
    const auto cos = parse_digits(line.at(2));
    if (!cos || *cos >= kClasses) {
      warn(line, 2, fmt::format("PFC priority {} is not between 0 and 7", in_backticks(line.at(2))));
      return;
    }
    policy.pause_cos = {static_cast<int>(cos.value_or(0)), line.place(), path};
    return;
  }
  if (line.at(1) == "no-drop") {
    policy.pause_cos = {group_in_name(policy.name), line.place(), path};
    return;
  }
  const auto bytes = [&](std::string_view word, Setting<Bytes>& out) {
    if (const auto value = amount(after(line, word), "bytes")) out = {value.value_or(Bytes()), line.place(), path};
  };
  bytes("buffer-size", policy.buffer_size);
  bytes("pause-threshold", policy.pause_threshold);
  bytes("resume-threshold", policy.resume_threshold);
}

// service-policy [type qos|queuing|network-qos] [input|output] NAME [no-stats]
bool Reader::take_service_policy(const ConfigLine& line, ServicePolicies& out) {
  if (line.at(0) != "service-policy") return false;
  std::size_t word = 1;
  std::string_view type = "qos";
  if (line.at(word) == "type") {
    type = line.at(word + 1);
    word += 2;
  }
  const bool output = line.at(word) == "output";
  if (output || line.at(word) == "input") ++word;
  Setting<std::string>& slot = type == "network-qos" ? out.network
                               : type == "queuing"   ? (output ? out.queuing_out : out.queuing_in)
                                                     : out.qos;
  slot = {std::string(line.at(word)), line.place(word), "service-policy"};
  return true;
}

// priority-flow-control watch-dog-interval on | watch-dog interval 200 | watch-dog shutdown-multiplier 2
bool Reader::take_global_pfc(const ConfigLine& line) {
  const bool no = line.at(0) == "no";
  const std::size_t at = no ? 2 : 1;
  const std::string_view what = line.at(at);
  if (what == "watch-dog-interval") {
    watchdog_ = {!no && line.at(at + 1) == "on", line.place(), "priority-flow-control watch-dog-interval"};
    return true;
  }
  if (no || (what != "watch-dog" && what != "auto-restore" && what != "fixed-restore")) return what == "watch-dog";
  const auto read = [&](std::string_view number, Setting<std::int64_t>& out, std::int64_t high) {
    const auto value = parse_digits(number);
    if (!value || *value > high) {
      warn(line, 0, fmt::format("{} is not a watchdog setting", in_backticks(number)));
      return;
    }
    out = {value.value_or(0), line.place(), "priority-flow-control watch-dog"};
  };
  if (has_word(line, "interval")) read(after(line, "interval"), watchdog_interval_, 100'000);
  if (has_word(line, "shutdown-multiplier")) read(after(line, "shutdown-multiplier"), watchdog_shutdown_, 1000);
  if (has_word(line, "multiplier")) read(after(line, "multiplier"), watchdog_restore_, 1000);
  return true;
}

void Reader::finish_qos() {
  const auto key_of = [](const InterfaceQos& interface) {
    const auto one = [](const auto& setting, const std::string& text) {
      return fmt::format("{}{};", setting.known(), text);
    };
    return one(interface.policies.qos, interface.policies.qos.value) +
           one(interface.policies.queuing_out, interface.policies.queuing_out.value) +
           one(interface.policies.queuing_in, interface.policies.queuing_in.value) +
           one(interface.pfc_mode, std::to_string(static_cast<int>(interface.pfc_mode.value))) +
           one(interface.watchdog, interface.watchdog.value ? "1" : "0");
  };
  std::map<std::string, std::uint32_t> distinct;
  distinct.emplace(key_of({}), 0);
  out_.qos.push_back(port_qos({}));
  for (std::size_t i = 0; i < out_.interfaces.size(); ++i) {
    if (out_.interfaces[i].kind != InterfaceConfig::Kind::front_panel) continue;
    const auto [known, added] =
        distinct.emplace(key_of(interface_qos_[i]), static_cast<std::uint32_t>(out_.qos.size()));
    if (added) out_.qos.push_back(port_qos(interface_qos_[i]));
    out_.interfaces[i].qos = known->second;
  }
  const std::int64_t interval = watchdog_interval_.known() ? watchdog_interval_.value : 100;
  if (watchdog_interval_.known()) {
    out_.watchdog_poll = {milliseconds(interval), watchdog_interval_.place, watchdog_interval_.path};
  } else if (watchdog_.value) {
    out_.watchdog_poll = vendor_default(milliseconds(interval), "the PFC watchdog polls every 100 ms by default");
  }
}

const PolicyMap* Reader::policy(const Policies& policies, const Setting<std::string>& own,
                                const Setting<std::string>& system) {
  const Setting<std::string>& used = own.known() ? own : system;
  if (!used.known()) return nullptr;
  const auto found = policies.find(used.value);
  if (found != policies.end()) return &found->second;
  // Predefined policies of NX-OS (default-8q-nw-qos-policy and so on) do not appear in a running config.
  if (used.value.substr(0, 8) == "default-") return nullptr;
  error_once(used.place,
             fmt::format("`service-policy` refers to {}, which is not configured", in_backticks(used.value)));
  return nullptr;
}

PortQos Reader::port_qos(const InterfaceQos& interface) {
  PortQos qos;
  const PolicyMap* classify = policy(qos_policies_, interface.policies.qos, system_.qos);
  const bool dangling = classify == nullptr && (interface.policies.qos.known() || system_.qos.known());
  for (Setting<int>& to : qos.dscp_to_class) {
    if (!dangling) to = vendor_default(0, "no `service-policy type qos input` applies: everything is qos-group 0");
  }
  for (Setting<int>& to : qos.pcp_to_class) {
    if (!dangling) to = vendor_default(0, "no `service-policy type qos input` applies: everything is qos-group 0");
  }
  for (std::size_t i = 0; i < kClasses; ++i) {
    qos.class_to_group[i] = vendor_default(static_cast<int>(i), "a qos-group is its own ingress group");
    qos.class_to_queue[i] = vendor_default(static_cast<int>(i), "qos-group n maps to queue n");
    qos.pfc_to_group[i] = vendor_default(static_cast<int>(i), "a priority pauses for the qos-group of its number");
    qos.pfc_to_queue[i] = vendor_default(static_cast<int>(i), "a pause stops the queue of its number");
  }
  apply_classification(classify, qos);
  apply_network(policy(network_policies_, {}, system_.network), interface, qos);
  apply_queuing(policy(queuing_policies_, interface.policies.queuing_out, system_.queuing_out),
                policy(queuing_policies_, interface.policies.queuing_in, system_.queuing_in), qos);
  apply_watchdog(interface, qos);
  return qos;
}

// The first matching class decides; class-default matches the rest.
void Reader::apply_classification(const PolicyMap* policy, PortQos& qos) {
  if (policy == nullptr) return;
  std::vector<bool> dscp_done(kDscps, false);
  std::vector<bool> cos_done(kClasses, false);
  bool by_dscp = false;
  bool by_cos = false;
  for (const PolicyClass& entry : policy->classes) {
    const bool rest = entry.name == "class-default";
    const auto map = qos_classes_.find(entry.name);
    if (!rest && map == qos_classes_.end()) {
      error_once(entry.place, fmt::format("class {} is not configured", in_backticks(entry.name)));
      continue;
    }
    const auto apply = [&](std::vector<bool>& done, std::size_t i, bool dscp) {
      if (done[i] || !(rest || matches_marking(map->second, i, dscp))) return;
      done[i] = true;
      Setting<int> group =
          entry.group.known() ? entry.group : Setting<int>(0, entry.place, fmt::format("class {}", entry.name));
      (dscp ? qos.dscp_to_class[i] : qos.pcp_to_class[i]) = group;
      if (dscp && entry.dscp.known()) qos.rewrite[i] = entry.dscp;
      if (!rest) (dscp ? by_dscp : by_cos) = true;
    };
    for (std::size_t i = 0; i < kDscps; ++i) apply(dscp_done, i, true);
    for (std::size_t i = 0; i < kClasses; ++i) apply(cos_done, i, false);
  }
  if (by_dscp || by_cos)
    qos.trust = {by_dscp ? model::TrustMode::dscp : model::TrustMode::pcp, policy->place, "policy-map type qos"};
}

int Reader::group_of_class(const PolicyClass& policy_class, const std::map<std::string, ClassMap, std::less<>>& maps) {
  const auto map = maps.find(policy_class.name);
  if (map == maps.end()) return group_in_name(policy_class.name);
  for (const QosMatch& match : map->second.matches) {
    if (match.group >= 0) return match.group;
  }
  return group_in_name(policy_class.name);
}

void Reader::apply_network(const PolicyMap* policy, const InterfaceQos& interface, PortQos& qos) {
  qos.pfc_mode = interface.pfc_mode.known()
                     ? interface.pfc_mode
                     : vendor_default(model::PfcMode::automatic, "NX-OS negotiates PFC by default (mode auto)");
  for (std::size_t i = 0; i < kClasses; ++i) {
    qos.pfc[i] = vendor_default(false, "no network-qos class has `pause pfc-cos` for the priority");
    qos.groups[i].lossless = vendor_default(false, "no network-qos class has `pause pfc-cos` for the qos-group");
  }
  if (policy == nullptr) return;
  for (const PolicyClass& entry : policy->classes) {
    const int group = group_of_class(entry, network_classes_);
    if (group < 0 || !entry.pause_cos.known()) continue;
    const auto g = static_cast<std::size_t>(group);
    GroupQos& to = qos.groups[g];
    to.lossless = {true, entry.pause_cos.place, fmt::format("class {}", entry.name)};
    to.profile = {entry.name, entry.place, "policy-map type network-qos"};
    if (entry.pause_cos.value < 0) continue;
    const auto cos = static_cast<std::size_t>(entry.pause_cos.value);
    qos.pfc_to_group[cos] = {group, entry.pause_cos.place, entry.pause_cos.path};
    qos.pfc_to_queue[cos] = {group, entry.pause_cos.place, entry.pause_cos.path};
    const bool off = interface.pfc_mode.known() && interface.pfc_mode.value == model::PfcMode::off;
    qos.pfc[cos] = off ? Setting<bool>(false, interface.pfc_mode.place, interface.pfc_mode.path)
                       : Setting<bool>(true, entry.pause_cos.place, entry.pause_cos.path);
    to.size = entry.buffer_size;
    to.xon = entry.resume_threshold;
    if (entry.buffer_size.known() && entry.pause_threshold.known()) {
      to.xoff = {entry.buffer_size.value - entry.pause_threshold.value, entry.buffer_size.place,
                 entry.buffer_size.path};
    }
  }
}

void Reader::apply_queuing(const PolicyMap* out, const PolicyMap* in, PortQos& qos) {
  for (QueueQos& queue : qos.queues) {
    queue.ecn = vendor_default(false, "no queuing class has `random-detect ... ecn` for the queue");
  }
  if (out != nullptr) {
    for (const PolicyClass& entry : out->classes) {
      const int group = group_of_class(entry, queuing_classes_);
      if (group < 0) continue;
      QueueQos& queue = qos.queues[static_cast<std::size_t>(group)];
      const Setting<bool> silent = queue.ecn;
      queue = entry.queue;
      if (!queue.ecn.known()) queue.ecn = silent;
    }
  }
  if (in == nullptr) return;
  for (const PolicyClass& entry : in->classes) {
    const int group = group_of_class(entry, queuing_classes_);
    if (group < 0 || !entry.buffer_size.known()) continue;
    GroupQos& to = qos.groups[static_cast<std::size_t>(group)];
    to.size = entry.buffer_size;
    to.xon = entry.resume_threshold;
    if (entry.pause_threshold.known()) {
      to.xoff = {entry.buffer_size.value - entry.pause_threshold.value, entry.buffer_size.place,
                 entry.buffer_size.path};
    }
  }
}

// The watchdog runs if it is enabled for both the switch and the interface.
void Reader::apply_watchdog(const InterfaceQos& interface, PortQos& qos) {
  WatchdogQos& watchdog = qos.watchdog;
  const bool off_here = interface.watchdog.known() && !interface.watchdog.value;
  if (!off_here && watchdog_.known() && !watchdog_.value) {
    watchdog.on = watchdog_;
  } else if (!off_here && !watchdog_.known()) {
    watchdog.on = vendor_default(false, "`priority-flow-control watch-dog-interval on` is missing at the top level");
  } else if (!interface.watchdog.known()) {
    watchdog.on = vendor_default(false, "`priority-flow-control watch-dog-interval on` is missing on the interface");
  } else {
    watchdog.on = interface.watchdog;
  }
  if (!watchdog.on.value) return;
  const std::int64_t interval = watchdog_interval_.known() ? watchdog_interval_.value : 100;
  const auto times = [&](const Setting<std::int64_t>& multiplier, std::int64_t silent, std::string why) {
    const std::int64_t by = multiplier.known() ? multiplier.value : silent;
    const Setting<std::int64_t>& said = multiplier.known() ? multiplier : watchdog_interval_;
    if (said.known()) return Setting<Duration>(milliseconds(interval * by), said.place, said.path);
    return vendor_default(milliseconds(interval * by), std::move(why));
  };
  watchdog.detection = times(watchdog_shutdown_, 1, "100 ms, and a shutdown-multiplier of 1, by default");
  watchdog.restoration = times(watchdog_restore_, 10, "100 ms, and a restore multiplier of 10, by default");
  watchdog.action =
      vendor_default(model::WatchdogAction::drop, "NX-OS drops packets queued in and arriving at a stuck queue");
}

}  // namespace weft::config::nxos
