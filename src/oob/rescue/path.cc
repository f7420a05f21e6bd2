#include "oob/rescue/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <set>

#include "base/host_range.h"
#include "base/ip.h"
#include "base/utf8.h"

namespace weft::oob {
namespace {

using Devices = std::set<std::uint32_t>;  // by device index

class PathJudge {
 public:
  PathJudge(RescuePlan& plan, const RescueHosts& hosts)
      : plan_(plan), hosts_(hosts), cluster_(hosts.cluster()), inventory_(hosts.inventory()) {
    for (std::uint32_t i = 0; i < cluster_.ports().size(); ++i) {
      const model::Port& port = cluster_.port(static_cast<model::PortId>(i));
      if (port.address != Ipv4{}) ports_by_address_.emplace(weft::to_text(port.address), static_cast<model::PortId>(i));
    }
    for (const std::uint32_t jump : *hosts_.members("jump hosts"))
      jumps_.push_back(model::index_of(inventory_.targets()[jump].device));
  }

  void assume(const std::vector<std::string>& down, Diagnostics& diagnostics) {
    for (const std::string& item : down) {
      bool fabric = false;
      for (int k = 0; k < model::kFabrics; ++k) {
        const auto kind = static_cast<model::FabricKind>(k);
        if (item != model::to_text(kind)) continue;
        down_fabrics_.insert(kind);
        fabric = true;
      }
      if (fabric) continue;
      const Result<std::vector<std::uint32_t>> chosen = hosts_.select(item);
      if (!chosen.ok()) {
        diagnostics.error({}, fmt::format("`assume_down`: {}", chosen.error().message));
        continue;
      }
      for (const std::uint32_t target : *chosen) off_.insert(model::index_of(inventory_.targets()[target].device));
    }
    for (std::uint32_t i = 0; i < cluster_.devices().size(); ++i) {
      const model::DeviceGroup& group = cluster_.group_of(static_cast<model::DeviceId>(i));
      if (group.kind == model::DeviceKind::network_switch && down_fabrics_.contains(group.fabric)) off_.insert(i);
    }
  }

  void judge() {
    if (jumps_.empty())
      add(RescueSeverity::warning, "", "the cluster file has no jump host: the path from outside is not verified");
    for (RescueStep& step : plan_.steps) {
      if (step.absent) continue;
      step_ = step.id;
      judge_action(step.action);
      for (const RescueCheck& check : step.needs) judge_precondition(check);
      step.way = leaves_of(step.action.targets);
      const Devices before = off_;
      if (step.action.kind == RunbookDo::power && step.action.verb != RunbookPower::on) {
        for (const std::uint32_t target : step.action.targets)
          off_.insert(model::index_of(inventory_.targets()[target].device));
      }
      for (const RescueBack& back : step.back) {
        if (back.action) judge_action(*back.action);
      }
      off_ = before;
      follow(step.action);
    }
  }

 private:
  void add(RescueSeverity severity, std::string step, std::string text) {
    for (const RescueFinding& known : plan_.findings) {
      if (known.step == step && known.text == text) return;
    }
    plan_.findings.push_back({severity, std::move(step), std::move(text)});
  }

  void judge_action(const RescueAction& action) {
    if (action.kind == RunbookDo::run) return judge_words(action.words, action.over, "depends on");
    if (!action.needs_hosts()) return;
    const bool takes = action.kind == RunbookDo::power && action.verb != RunbookPower::on;
    const bool power = action.kind == RunbookDo::power;
    Devices dead = off_;
    judge_reach(action.targets, dead, power, "{} cannot be reached: {}", takes);
    if (!takes) return;
    for (const std::uint32_t target : action.targets) dead.insert(model::index_of(inventory_.targets()[target].device));
    judge_jumps(action, dead);
    judge_reach(action.targets, dead, true, "{} cannot be powered on again: the step cuts its own access ({})", true);
  }

  // A step that powers off every jump host removes all access, including its own.
  void judge_jumps(const RescueAction& action, const Devices& dead) {
    if (jumps_.empty()) return;
    const auto taken = [&](std::uint32_t jump) { return dead.contains(jump); };
    if (std::all_of(jumps_.begin(), jumps_.end(), taken)) {
      add(RescueSeverity::error, step_, "powers off every jump host and so cuts all access");
      return;
    }
    for (const std::uint32_t target : action.targets) {
      const Target& host = inventory_.targets()[target];
      if (std::find(jumps_.begin(), jumps_.end(), model::index_of(host.device)) != jumps_.end())
        add(RescueSeverity::warning, step_, fmt::format("powers off {}: run it from another jump host", host.name));
    }
  }

  void judge_reach(const std::vector<std::uint32_t>& targets, const Devices& dead, bool power, std::string_view text,
                   bool jumps_judged) {
    const bool lost_all = !jumps_.empty() && std::all_of(jumps_.begin(), jumps_.end(),
                                                         [&](std::uint32_t jump) { return dead.contains(jump); });
    if (lost_all) {
      if (!jumps_judged)
        add(RescueSeverity::error, step_, "all jump hosts are down at this point: nothing can be reached");
      return;
    }
    const Devices seen = reached(dead);
    std::map<std::string, std::vector<std::string>> lost;  // by cause
    for (const std::uint32_t target : targets) {
      const std::optional<std::string> why = power ? no_power_path(target, seen, dead) : no_path(target, seen, dead);
      if (why) lost[*why].push_back(inventory_.targets()[target].name);
    }
    for (auto& [why, names] : lost)
      add(RescueSeverity::error, step_, fmt::format(fmt::runtime(text), fold_hosts(std::move(names)), why));
  }

  // Switches reachable from the jump hosts that are up.
  [[nodiscard]] Devices reached(const Devices& dead) const {
    Devices seen;
    std::deque<std::uint32_t> queue;
    const auto visit = [&](std::uint32_t device) {
      const model::DeviceGroup& group = cluster_.group_of(static_cast<model::DeviceId>(device));
      if (group.kind != model::DeviceKind::network_switch || dead.contains(device) || seen.contains(device)) return;
      if (group.fabric != model::FabricKind::oob && group.fabric != model::FabricKind::frontend) return;
      seen.insert(device);
      queue.push_back(device);
    };
    if (jumps_.empty()) {
      for (const std::uint32_t one : *hosts_.members("oob switches"))
        visit(model::index_of(inventory_.targets()[one].device));
    }
    for (const std::uint32_t jump : jumps_) {
      if (!dead.contains(jump)) for_each_peer(jump, visit);
    }
    while (!queue.empty()) {
      const std::uint32_t device = queue.front();
      queue.pop_front();
      for_each_peer(device, visit);
    }
    return seen;
  }

  // Over cables of the out-of-band network, and those to the frontend if the file has them.
  template <class Visit>
  void for_each_peer(std::uint32_t device, Visit visit) const {
    const bool frontend = cluster_.group_of(static_cast<model::DeviceId>(device)).fabric == model::FabricKind::frontend;
    for (const model::PortId id : cluster_.ports_of(static_cast<model::DeviceId>(device))) {
      const model::PortId peer = cluster_.peer_of(id);
      if (peer == model::kNone<model::PortId>) continue;
      const model::CableRole role = cluster_.cable(cluster_.cable_of(id)).role;
      if (cluster_.port(id).fabric != model::FabricKind::oob && role != model::CableRole::oob_frontend && !frontend)
        continue;
      visit(model::index_of(cluster_.port(peer).device));
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> leaves(std::uint32_t device) const {
    std::vector<std::uint32_t> found;
    for (const model::PortId id : cluster_.ports_of(static_cast<model::DeviceId>(device))) {
      const model::PortId peer = cluster_.peer_of(id);
      if (peer == model::kNone<model::PortId> || cluster_.port(id).fabric != model::FabricKind::oob) continue;
      const model::DeviceId other = cluster_.port(peer).device;
      if (cluster_.group_of(other).kind == model::DeviceKind::network_switch) found.push_back(model::index_of(other));
    }
    return found;
  }

  [[nodiscard]] bool carries_oob(const Target& target) const {
    return target.role == Role::network_switch && cluster_.group_of(target.device).fabric == model::FabricKind::oob;
  }

  // Why the device's own address is unreachable; empty if it is reachable.
  [[nodiscard]] std::optional<std::string> no_path(std::uint32_t target, const Devices& seen,
                                                   const Devices& dead) const {
    const Target& host = inventory_.targets()[target];
    if (host.device == model::kNone<model::DeviceId>)
      return std::nullopt;  // a chassis from the endpoints file: its path is unknown
    if (carries_oob(host)) {
      if (seen.contains(model::index_of(host.device))) return std::nullopt;
      return fmt::format("{} is reachable only while it runs", host.name);
    }
    const std::vector<std::uint32_t> ends = leaves(model::index_of(host.device));
    if (ends.empty()) return "it has no out-of-band port";
    std::vector<std::string> blocked;
    for (const std::uint32_t leaf : ends) {
      if (seen.contains(leaf)) return std::nullopt;
      blocked.push_back(cluster_.name_of(static_cast<model::DeviceId>(leaf)));
    }
    const bool down = std::any_of(ends.begin(), ends.end(), [&](std::uint32_t leaf) { return dead.contains(leaf); });
    return fmt::format("{} {}", fold_hosts(std::move(blocked)), down ? "is down at this point" : "is cut off");
  }

  // An out-of-band switch has no separate controller: its power is controlled through its PDUs.
  [[nodiscard]] std::optional<std::string> no_power_path(std::uint32_t target, const Devices& seen,
                                                         const Devices& dead) const {
    const Target& host = inventory_.targets()[target];
    if (host.device == model::kNone<model::DeviceId> || !carries_oob(host)) return no_path(target, seen, dead);
    if (seen.contains(model::index_of(host.device))) return std::nullopt;
    if (host.pdus.empty())
      return fmt::format("{} is reachable only while it runs, and its PDUs have no address", host.name);
    for (const std::uint32_t pdu : host.pdus) {
      if (no_path(pdu, seen, dead))
        return fmt::format("{} is reachable only through itself, and so is {}, which feeds it", host.name,
                           inventory_.targets()[pdu].name);
    }
    return std::nullopt;
  }

  // Addresses of data fabrics that are down, and names that resolve to one.
  void judge_words(const std::vector<std::string>& words, const std::string& over, std::string_view verb) {
    for (const model::FabricKind fabric : down_fabrics_) {
      if (over == model::to_text(fabric))
        add(RescueSeverity::error, step_, fmt::format("{} the {} network, which is assumed down", verb, over));
    }
    for (const std::string& word : words) {
      for (const std::string& part : address_parts(word)) judge_part(part, verb);
    }
  }

  void judge_part(const std::string& part, std::string_view verb) {
    const auto found = ports_by_address_.find(part);
    if (found != ports_by_address_.end()) {
      const model::Port& port = cluster_.port(found->second);
      if (port.fabric != model::FabricKind::oob && down_fabrics_.contains(port.fabric))
        add(RescueSeverity::error, step_,
            fmt::format("{} {} ({} of {}), an address of the {} network, which is assumed down", verb, part,
                        cluster_.port_name(found->second), cluster_.name_of(port.device), model::to_text(port.fabric)));
      return;
    }
    const std::string host = part.substr(0, part.find('.'));
    const model::DeviceId device = cluster_.find_device(host);
    if (device == model::kNone<model::DeviceId> || cluster_.group_of(device).kind != model::DeviceKind::server) return;
    if (std::isdigit(static_cast<unsigned char>(part.front())) != 0) return;
    const bool frontend =
        hosts_.inventory().find(host) && hosts_.address(*hosts_.inventory().find(host), "frontend").ok();
    if (frontend && down_fabrics_.contains(model::FabricKind::frontend))
      add(RescueSeverity::error, step_,
          fmt::format("{} the name {}, which resolves to its frontend address: the frontend is assumed down", verb,
                      host));
  }

  // Possible host names in a word: "admin@10.20.50.168:/etc" has one between '@' and ':'.
  [[nodiscard]] static std::vector<std::string> address_parts(std::string_view word) {
    std::vector<std::string> parts;
    std::string part;
    for (std::size_t i = 0; i <= word.size(); ++i) {
      const char c = i < word.size() ? word[i] : ' ';
      if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_') {
        part += c;
      } else if (!part.empty()) {
        parts.push_back(std::move(part));
        part.clear();
      }
    }
    return parts;
  }

  void judge_precondition(const RescueCheck& check) {
    if (check.kind == RunbookSee::command) return judge_words(check.words, {}, "has a precondition that depends on");
    if (check.kind == RunbookSee::port || check.kind == RunbookSee::ping)
      judge_words(check.addresses, check.at == "frontend" ? "frontend" : "", "has a precondition that depends on");
  }

  [[nodiscard]] std::string leaves_of(const std::vector<std::uint32_t>& targets) const {
    std::set<std::string> names;
    for (const std::uint32_t target : targets) {
      const Target& host = inventory_.targets()[target];
      if (host.device == model::kNone<model::DeviceId> || carries_oob(host)) continue;
      for (const std::uint32_t leaf : leaves(model::index_of(host.device)))
        names.insert(cluster_.name_of(static_cast<model::DeviceId>(leaf)));
    }
    return fold_hosts({names.begin(), names.end()});
  }

  // Devices that the step leaves off, and those that it powers on again.
  void follow(const RescueAction& action) {
    if (action.kind != RunbookDo::power) return;
    for (const std::uint32_t target : action.targets) {
      const std::uint32_t device = model::index_of(inventory_.targets()[target].device);
      if (action.verb == RunbookPower::off) {
        off_.insert(device);
      } else {
        off_.erase(device);
      }
    }
  }

  RescuePlan& plan_;
  const RescueHosts& hosts_;
  const model::Cluster& cluster_;
  const Inventory& inventory_;
  std::map<std::string, model::PortId, std::less<>> ports_by_address_;
  std::vector<std::uint32_t> jumps_;
  std::set<model::FabricKind> down_fabrics_;
  Devices off_;
  std::string step_;
};

}  // namespace

void judge_rescue_paths(RescuePlan& plan, const RescueHosts& hosts, const std::vector<std::string>& down,
                        Diagnostics& diagnostics) {
  PathJudge judge(plan, hosts);
  judge.assume(down, diagnostics);
  judge.judge();
}

}  // namespace weft::oob
