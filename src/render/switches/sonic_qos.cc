// SONiC: classes of a lossless fabric, with queues, ECN marking, PFC and buffers.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "render/switches/sonic_tables.h"

namespace weft::render::sonic_render {
namespace {

constexpr std::string_view kMap = "ROCE";
constexpr int kClassCount = 8;
constexpr int kDscpCount = 64;
// Percent of the link speed. CNPs are sent at most once every few microseconds per flow: far less than this, and a
// malfunctioning NIC cannot starve other traffic.
constexpr std::int64_t kCnpCapPercent = 5;

std::string speed_name(BitRate speed) { return fmt::format("{}G", speed.count() / 1'000'000'000); }
std::string wred_name(BitRate speed) { return fmt::format("{}_{}", kMap, speed_name(speed)); }
std::string cnp_name(BitRate speed) { return fmt::format("cnp_{}", speed_name(speed)); }

std::int64_t meters_up(Length length) { return std::max<std::int64_t>(1, (length.count() + 999) / 1000); }

std::string profile_name(const SwitchPort& port) {
  return fmt::format("pg_lossless_{}_{}m_profile", port.speed.count() / 1'000'000, meters_up(port.cable));
}

std::string joined(const std::vector<int>& numbers) { return fmt::format("{}", fmt::join(numbers, ",")); }

std::string pfc_list(const ClassPlan& classes) { return joined(classes.pfc); }

// A class has the same number as priority, group and queue: classes are never merged.
void add_maps(Tables& tables, const ClassPlan& classes) {
  const bool by_dscp = tables.plan.fabric->qos->trust.value == model::TrustMode::dscp;
  Value to_class = Value::map();
  for (int code = 0; code < (by_dscp ? kDscpCount : kClassCount); ++code) {
    const int data = by_dscp ? classes.dscp : classes.priority;
    const int cnp = by_dscp ? classes.cnp_dscp : classes.cnp_priority;
    const int to = code == data ? classes.priority : code == cnp ? classes.cnp_priority : classes.best_effort;
    to_class.put(std::to_string(code), text(to));
  }
  tables.root[by_dscp ? "DSCP_TO_TC_MAP" : "DOT1P_TO_TC_MAP"].put(std::string(kMap), std::move(to_class));
  Value to_group = Value::map();
  Value to_queue = Value::map();
  Value pfc_to_group = Value::map();
  for (int number = 0; number < kClassCount; ++number) {
    to_group.put(std::to_string(number), text(classes.is_paused(number) ? number : classes.best_effort));
    to_queue.put(std::to_string(number), text(number));
    if (classes.is_paused(number)) pfc_to_group.put(std::to_string(number), text(number));
  }
  tables.root["TC_TO_PRIORITY_GROUP_MAP"].put(std::string(kMap), std::move(to_group));
  tables.root["MAP_PFC_PRIORITY_TO_QUEUE"].put(std::string(kMap), to_queue);
  tables.root["TC_TO_QUEUE_MAP"].put(std::string(kMap), std::move(to_queue));
  if (!pfc_to_group.empty()) {
    tables.root["PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"].put(std::string(kMap), std::move(pfc_to_group));
  }
}

void add_port_maps(Tables& tables, const ClassPlan& classes) {
  const model::QosSpec& qos = tables.plan.fabric->qos.value;
  const bool by_dscp = qos.trust.value == model::TrustMode::dscp;
  Value row = Value::map();
  row.put(by_dscp ? "dscp_to_tc_map" : "dot1p_to_tc_map", kMap);
  row.put("tc_to_pg_map", kMap);
  row.put("tc_to_queue_map", kMap);
  row.put("pfc_to_queue_map", kMap);
  if (!classes.pfc.empty()) {
    row.put("pfc_to_pg_map", kMap);
    row.put("pfc_enable", pfc_list(classes));
    row.put("pfcwd_sw_enable", qos.pfc_watchdog.value ? pfc_list(classes) : std::string());
  }
  Value ports = Value::map();
  for (const std::string& name : tables.names) ports.put(name, row);
  tables.root.put("PORT_QOS_MAP", std::move(ports));
}

Value weighted(int percent) {
  Value row = Value::map();
  row.put("type", "DWRR");
  row.put("weight", text(percent));
  return row;
}

void add_schedulers(Tables& tables, const ClassPlan& classes, const std::vector<BitRate>& speeds) {
  const model::QosSpec& qos = tables.plan.fabric->qos.value;
  Value schedulers = Value::map();
  schedulers.put("best_effort", weighted(100 - classes.bandwidth_percent));
  schedulers.put("rdma", weighted(classes.bandwidth_percent));
  for (const BitRate speed : speeds) {
    const std::int64_t cap = speed.count() / 8 * kCnpCapPercent / 100;  // bytes per second
    Value row = Value::map();
    row.put("type", "STRICT");
    row.put("meter_type", "bytes");
    row.put("cir", text(cap));
    row.put("pir", text(cap));
    schedulers.put(cnp_name(speed), std::move(row));
  }
  tables.root.put("SCHEDULER", std::move(schedulers));
  if (!qos.ecn.value) return;
  for (const BitRate speed : speeds) {
    const model::EcnThresholds thresholds = model::ecn_thresholds(qos, speed);
    Value row = Value::map();
    row.put("ecn", "ecn_all");
    for (const std::string_view color : {"green", "yellow", "red"}) {
      row.put(fmt::format("wred_{}_enable", color), "true");
      row.put(fmt::format("{}_min_threshold", color), text(thresholds.min.count()));
      row.put(fmt::format("{}_max_threshold", color), text(thresholds.max.count()));
      row.put(fmt::format("{}_drop_probability", color), text(qos.ecn_percent.value));
    }
    tables.root["WRED_PROFILE"].put(wred_name(speed), std::move(row));
  }
}

void add_queues(Tables& tables, const ClassPlan& classes) {
  const bool marks = tables.plan.fabric->qos->ecn.value;
  Value queues = Value::map();
  for (std::size_t i = 0; i < tables.plan.ports.size(); ++i) {
    const BitRate speed = tables.plan.ports[i].speed;
    for (int number = 0; number < kClassCount; ++number) {
      Value row = Value::map();
      if (number == classes.priority || (classes.is_paused(number) && number != classes.cnp_priority)) {
        row.put("scheduler", "rdma");
        if (marks) row.put("wred_profile", wred_name(speed));
      } else if (number == classes.cnp_priority) {
        row.put("scheduler", cnp_name(speed));
      } else if (number == classes.best_effort) {
        row.put("scheduler", "best_effort");
      } else {
        continue;
      }
      queues.put(fmt::format("{}|{}", tables.names[i], number), std::move(row));
    }
  }
  tables.root.put("QUEUE", std::move(queues));
}

// Milliseconds, within the range of SONiC's YANG model, and never shorter than the polling interval.
void add_watchdog(Tables& tables, const ClassPlan& classes) {
  const model::QosSpec& qos = tables.plan.fabric->qos.value;
  if (classes.pfc.empty() || !qos.pfc_watchdog.value) return;
  const auto within = [](Duration time, std::int64_t low, std::int64_t high) {
    return std::clamp<std::int64_t>(time.count() / 1'000'000, low, high);
  };
  const std::int64_t poll = within(classes.watchdog.poll, 100, 1000);
  Value watchdog = Value::map();
  Value global = Value::map();
  global.put("POLL_INTERVAL", text(poll));
  watchdog.put("GLOBAL", std::move(global));
  Value row = Value::map();
  row.put("action", qos.watchdog_action.value == model::WatchdogAction::drop      ? "drop"
                    : qos.watchdog_action.value == model::WatchdogAction::forward ? "forward"
                                                                                  : "alert");
  row.put("detection_time", text(within(classes.watchdog.detection, poll, 5000)));
  row.put("restoration_time", text(within(classes.watchdog.restoration, poll, 60'000)));
  for (const std::string& name : tables.names) watchdog.put(name, row);
  tables.root.put("PFC_WD", std::move(watchdog));
}

std::vector<BitRate> speeds_of(const SwitchPlan& plan) {
  std::vector<BitRate> speeds;
  for (const SwitchPort& port : plan.ports) speeds.push_back(port.speed);
  std::sort(speeds.begin(), speeds.end());
  speeds.erase(std::unique(speeds.begin(), speeds.end()), speeds.end());
  return speeds;
}

Value profile(std::string_view pool, Bytes size, int alpha) {
  Value row = Value::map();
  row.put("pool", pool);
  row.put("size", text(size.count()));
  row.put("dynamic_th", text(alpha));
  return row;
}

Value pool(std::string_view type, Bytes size) {
  Value row = Value::map();
  row.put("type", type);
  row.put("mode", "dynamic");
  row.put("size", text(size.count()));
  return row;
}

struct Reserved {
  Bytes sizes;   // of all lossless groups
  Bytes shared;  // shared headroom, on chips that support it
};

// One profile per speed and cable length. buffermgrd creates its own under the same names if it has a table.
Reserved add_lossless_profiles(Tables& tables, const ClassPlan& classes, Value& profiles) {
  const SwitchPlan& plan = tables.plan;
  const Hardware known = hardware_of(*plan.model);
  auto asic = model::asic_headroom(known.hwsku.empty() ? std::string_view(plan.model->asic.value) : known.hwsku);
  if (!asic) asic = model::asic_headroom(plan.model->asic.value);
  Reserved out;
  if (!asic) return out;
  std::map<std::string, model::Headroom> made;
  for (const SwitchPort& port : plan.ports) {
    const auto [at, added] = made.try_emplace(profile_name(port));
    if (added) {
      at->second =
          model::pfc_headroom(*asic, port.speed, meters(meters_up(port.cable)), plan.mtu, static_cast<int>(port.lanes));
      Value row = profile("ingress_lossless_pool", at->second.size, 0);
      row.put("xon", text(at->second.xon.count()));
      row.put("xoff", text(at->second.xoff.count()));
      profiles.put(at->first, std::move(row));
    }
    out.sizes += at->second.size * static_cast<std::int64_t>(classes.pfc.size());
    if (asic->shared_pool) out.shared += at->second.xoff * static_cast<std::int64_t>(classes.pfc.size());
  }
  return out;
}

struct QueueRange {
  std::string numbers;  // "4-7"
  bool lossless = false;
};
std::vector<QueueRange> queue_ranges(const ClassPlan& classes) {
  std::vector<QueueRange> out;
  for (int first = 0; first < kClassCount;) {
    int last = first;
    while (last + 1 < kClassCount && classes.is_paused(last + 1) == classes.is_paused(first)) ++last;
    out.push_back(
        {first == last ? std::to_string(first) : fmt::format("{}-{}", first, last), classes.is_paused(first)});
    first = last + 1;
  }
  return out;
}

void add_buffer_rows(Tables& tables, const ClassPlan& classes) {
  Value groups = Value::map();
  Value queues = Value::map();
  Value lengths = Value::map();
  const auto put = [](Value& to, const std::string& name, const std::string& numbers, std::string profile) {
    Value row = Value::map();
    row.put("profile", std::move(profile));
    to.put(fmt::format("{}|{}", name, numbers), std::move(row));
  };
  const std::vector<QueueRange> ranges = queue_ranges(classes);
  for (std::size_t i = 0; i < tables.plan.ports.size(); ++i) {
    const std::string& name = tables.names[i];
    const SwitchPort& port = tables.plan.ports[i];
    put(groups, name, std::to_string(classes.best_effort), "ingress_lossy_profile");
    for (const int priority : classes.pfc) put(groups, name, std::to_string(priority), profile_name(port));
    for (const QueueRange& range : ranges) {
      put(queues, name, range.numbers, range.lossless ? "egress_lossless_profile" : "egress_lossy_profile");
    }
    lengths.put(name, fmt::format("{}m", meters_up(port.cable)));
  }
  tables.root.put("BUFFER_PG", std::move(groups));
  tables.root.put("BUFFER_QUEUE", std::move(queues));
  tables.root["CABLE_LENGTH"].put("AZURE", std::move(lengths));  // the only row that buffermgrd reads
  Value in = Value::map();
  Value out = Value::map();
  Value in_row = Value::map();
  Value out_row = Value::map();
  in_row.put("profile_list", "ingress_lossless_profile");
  out_row.put("profile_list", "egress_lossless_profile,egress_lossy_profile");
  for (const std::string& name : tables.names) {
    in.put(name, in_row);
    out.put(name, out_row);
  }
  tables.root.put("BUFFER_PORT_INGRESS_PROFILE_LIST", std::move(in));
  tables.root.put("BUFFER_PORT_EGRESS_PROFILE_LIST", std::move(out));
}

}  // namespace

void add_qos(Tables& tables) {
  if (!tables.plan.lossless() || tables.plan.ports.empty()) return;
  const ClassPlan classes = plan_classes(tables.cluster(), tables.plan);
  add_maps(tables, classes);
  add_port_maps(tables, classes);
  add_schedulers(tables, classes, speeds_of(tables.plan));
  add_queues(tables, classes);
  add_watchdog(tables, classes);
}

// Two pools in one memory: reserved headroom is subtracted from the shared buffer.
void add_buffers(Tables& tables) {
  const SwitchPlan& plan = tables.plan;
  if (!plan.lossless() || plan.ports.empty()) return;
  const ClassPlan classes = plan_classes(tables.cluster(), plan);
  if (classes.pfc.empty()) return;
  Value profiles = Value::map();
  profiles.put("ingress_lossless_profile", profile("ingress_lossless_pool", Bytes(0), 7));
  profiles.put("ingress_lossy_profile", profile("ingress_lossless_pool", Bytes(0), 3));
  profiles.put("egress_lossless_profile", profile("egress_lossless_pool", Bytes(0), 7));
  profiles.put("egress_lossy_profile", profile("egress_lossy_pool", Bytes(0), 3));
  const Reserved reserved = add_lossless_profiles(tables, classes, profiles);
  const Bytes all = plan.model->buffer.value;
  const Bytes shared = std::min(reserved.shared, all / 2);
  const Bytes left = std::max(all - reserved.sizes - shared, all / 8);
  const Bytes ingress = left / 1024 * 1024;
  Value pools = Value::map();
  Value lossless = pool("ingress", ingress);
  if (shared.count() > 0) lossless.put("xoff", text(shared.count()));
  pools.put("ingress_lossless_pool", std::move(lossless));
  pools.put("egress_lossless_pool", pool("egress", all));
  pools.put("egress_lossy_pool", pool("egress", ingress));
  tables.root.put("BUFFER_POOL", std::move(pools));
  tables.root.put("BUFFER_PROFILE", std::move(profiles));
  add_buffer_rows(tables, classes);
}

}  // namespace weft::render::sonic_render
