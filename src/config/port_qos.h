// What one switch port does with a packet, in the same words for every network operating system: how it classifies,
// where it queues, which classes may pause, where it marks. Readers (sonic.h, nxos.h, nvue.h) fill it; so does the
// intent of the cluster file. Absent settings mean that nothing is known, never that something is off.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/quantity.h"
#include "config/setting.h"
#include "model/spec.h"

namespace weft::config {

inline constexpr int kDscps = 64;
inline constexpr int kClasses = 8;  // traffic classes, priority groups, queues and 802.1p priorities alike

enum class Scheduling : std::uint8_t { strict, weighted };

// An egress queue.
struct QueueQos {
  Setting<bool> ecn;         // marks instead of dropping
  Setting<Bytes> ecn_min;    // marking starts (Kmin)
  Setting<Bytes> ecn_max;    // marking reaches ecn_percent (Kmax)
  Setting<int> ecn_percent;  // marking probability at ecn_max
  Setting<Scheduling> scheduling;
  Setting<int> weight;  // percent, or DWRR weight where the dialect has no percent
  Setting<int> strict_cap_percent;
};

// An ingress priority group.
struct GroupQos {
  Setting<bool> lossless;  // has a buffer profile with headroom
  Setting<Bytes> xoff;     // headroom beyond the pause point
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
  std::array<Setting<bool>, kClasses> pfc;          // sends and obeys pauses on priority p
  Setting<model::PfcMode> pfc_mode;                 // of the port as a whole
  std::array<Setting<int>, kDscps> rewrite;         // DSCP on the way out; absent: as received
  std::array<QueueQos, kClasses> queues;
  std::array<GroupQos, kClasses> groups;
  WatchdogQos watchdog;
};

}  // namespace weft::config
