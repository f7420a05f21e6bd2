// QoS settings of one switch port, in the same terms for every network operating system: classification, queueing, PFC,
// ECN marking. Filled by the readers of SONiC, NX-OS and NVUE and from the intent of the cluster file. An absent
// setting is unknown, not off.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/quantity.h"
#include "config/setting.h"
#include "model/spec.h"

namespace weft::config {

inline constexpr int kDscps = 64;
inline constexpr int kClasses = 8;  // also priority groups, queues and 802.1p priorities

enum class Scheduling : std::uint8_t { strict, weighted };

// An egress queue.
struct QueueQos {
  Setting<bool> ecn;         // marks instead of dropping
  Setting<Bytes> ecn_min;    // marking starts (Kmin)
  Setting<Bytes> ecn_max;    // marking reaches ecn_percent (Kmax)
  Setting<int> ecn_percent;  // marking probability at ecn_max
  Setting<Scheduling> scheduling;
  Setting<int> weight;  // percent, or DWRR weight if the dialect has no percent
  Setting<int> strict_cap_percent;
};

// An ingress priority group.
struct GroupQos {
  Setting<bool> lossless;  // has a buffer profile with headroom
  Setting<Bytes> xoff;     // headroom above the pause threshold
  Setting<Bytes> xon;
  Setting<Bytes> size;  // reserved
  Setting<int> alpha;   // SONiC dynamic_th: share of the free pool is 2^alpha
  Setting<Bytes> static_limit;
  Setting<std::string> profile;
};

struct WatchdogQos {
  Setting<bool> on;
  Setting<Duration> detection;
  Setting<Duration> restoration;
  Setting<model::WatchdogAction> action;
};

struct PortQos {
  Setting<model::TrustMode> trust;
  std::array<Setting<int>, kDscps> dscp_to_class;
  std::array<Setting<int>, kClasses> pcp_to_class;
  std::array<Setting<int>, kClasses> class_to_group;
  std::array<Setting<int>, kClasses> class_to_queue;
  std::array<Setting<int>, kClasses> pfc_to_group;  // priority p pauses on behalf of group pfc_to_group[p]
  std::array<Setting<int>, kClasses> pfc_to_queue;  // a pause on p stops queue pfc_to_queue[p]
  std::array<Setting<bool>, kClasses> pfc;          // sends and honors pause frames on priority p
  Setting<model::PfcMode> pfc_mode;                 // of the port as a whole
  std::array<Setting<int>, kDscps> rewrite;         // egress DSCP; absent: as received
  std::array<QueueQos, kClasses> queues;
  std::array<GroupQos, kClasses> groups;
  WatchdogQos watchdog;
};

}  // namespace weft::config
