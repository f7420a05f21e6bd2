// Parameters of a lossless class: PFC headroom, ECN thresholds, watchdog times. Shared by check, render and the
// simulator. Formulas cite their source; constants per ASIC generation are data (lossless.cc), verified against the
// vendors' tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/quantity.h"
#include "model/catalog.h"
#include "model/spec.h"

namespace weft::model {

// Switch ASIC parameters of a PFC headroom calculation.
struct AsicHeadroom {
  std::string_view family;   // "Spectrum-4"
  std::int64_t cell;         // bytes
  std::int64_t pipeline;     // bytes: xon of a port of up to four lanes
  bool peer_response_fixed;  // 3.8 KB at every speed (SN2700 to SN4700); else IEEE 802.3 31B pause quanta
  bool kmac_delay;           // adds 120 ns at the port's speed (Spectrum-4 and later)
  std::int64_t extra;        // bytes: added by the class to the propagation delay, fitted to the vendor's table
  int small_packets;         // percent of traffic with the worst cell utilization (SONiC's small_packet_percentage)
  bool shared_pool;          // the vendor's table assumes a shared headroom pool: size is xon alone
  bool estimated;            // not verified against a vendor's table
};

// By the catalog's `asic` text or by a SONiC hwsku (ACS-SN5600); nullopt if unknown. Returns the smaller one for a
// family whose tables differ by SKU.
[[nodiscard]] std::optional<AsicHeadroom> asic_headroom(std::string_view asic_or_hwsku);

struct Headroom {
  Bytes xoff;  // buffer for data that still arrives after a pause is sent
  Bytes xon;
  Bytes size;  // xon + xoff, plus one frame on eight lanes; xon alone with a shared pool
};
// `lanes`: electrical lanes of the port (8 doubles xon). `mtu`: largest frame of the port.
[[nodiscard]] Headroom pfc_headroom(const AsicHeadroom& asic, BitRate speed, Length cable, std::int64_t mtu, int lanes);

// Total headroom reserved by the lossless classes of all cabled ports of a switch, all in use at once.
struct HeadroomTotal {
  Bytes all;
  std::int64_t ports = 0;
};
class HeadroomSum {
 public:
  HeadroomSum(const AsicHeadroom& asic, std::int64_t mtu, std::int64_t lossless_classes)
      : asic_(asic), mtu_(mtu), classes_(lossless_classes) {}
  void add(BitRate speed, Length cable, int lanes);
  [[nodiscard]] const HeadroomTotal& total() const { return total_; }

 private:
  AsicHeadroom asic_;
  std::int64_t mtu_;
  std::int64_t classes_;
  HeadroomTotal total_;
};

struct EcnThresholds {
  Bytes min;
  Bytes max;
};
// From the file, or by the documented rule: 2 KB per Gb/s, and four times that.
[[nodiscard]] EcnThresholds ecn_thresholds(const QosSpec& qos, BitRate speed);

struct WatchdogTimes {
  Duration poll;
  Duration detection;
  Duration restoration;
};
// sonic-utilities' rule: 200 ms per 32 ports, poll at most 1 s; values in the file override it.
[[nodiscard]] WatchdogTimes watchdog_times(const QosSpec& qos, std::int64_t ports);

// Type of service (traffic class) byte that marks a DSCP as ECN-capable: 106 for DSCP 26.
[[nodiscard]] constexpr int traffic_class_of(int dscp) { return (dscp << 2) | 2; }

}  // namespace weft::model
