#include "model/lossless.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace weft::model {

namespace {

constexpr std::int64_t kKilobyte = 1024;
// Meters per second in fiber or copper, as in SONiC's dynamic headroom calculation (two thirds of the speed of light in
// vacuum).
constexpr double kPropagation = 198'000'000;
constexpr double kMacPhyDelay = 0.8 * kKilobyte;        // bytes
constexpr double kFixedPeerResponse = 3.8 * kKilobyte;  // bytes
constexpr double kKmacSeconds = 120e-9;                 // Spectrum-4 and later
constexpr std::int64_t kPauseQuantum = 512 / 8;         // bytes: IEEE 802.3 annex 31B, 512 bit times
constexpr std::int64_t kPipeline = 19 * kKilobyte;      // xon of NVIDIA's tables
constexpr std::int64_t kBroadcomPipeline = 74 * 254;    // 74 cells: `size` of SONiC's Tomahawk 5 tables

// `extra` and `small_packets` are fitted, not documented: SONiC's HLD describes a lossless MTU of 1024 bytes and half
// the traffic in small packets, but the tables shipped for these switches are reproduced only with the constants below,
// exactly (SN2700, SN3700, SN4700, both SN5600) or within 1 KB (SN5640). Cells: 96 bytes on Spectrum, 144 on -2 and -3,
// 192 on -4 and -5. Without a table: pause quanta of IEEE 802.3 31B.3.7, worst-case packets only, the chip's cell.
constexpr AsicHeadroom kSpectrum{"Spectrum", 96, kPipeline, true, false, 1264, 100, false, false};
constexpr AsicHeadroom kSpectrum2{"Spectrum-2", 144, kPipeline, true, false, 1280, 100, false, false};
constexpr AsicHeadroom kSpectrum3{"Spectrum-3", 144, kPipeline, true, false, 1280, 100, false, false};
constexpr AsicHeadroom kSpectrum4{"Spectrum-4", 192, kPipeline, false, true, 4352, 50, true, false};
constexpr AsicHeadroom kSpectrum4Acs{"Spectrum-4", 192, kPipeline, false, true, 1392, 100, false, false};
constexpr AsicHeadroom kSpectrum5{"Spectrum-5", 192, kPipeline, false, true, 4320, 3, true, false};
constexpr AsicHeadroom kTomahawk{"Tomahawk", 254, kBroadcomPipeline, false, true, 9100, 100, true, true};
constexpr AsicHeadroom kTrident{"Trident", 256, kBroadcomPipeline, false, true, 9100, 100, true, true};
constexpr AsicHeadroom kCloudScale{"Cloud Scale", 208, 2 * 9216, false, true, 9216, 100, false, true};
constexpr AsicHeadroom kSiliconOne{"Silicon One", 384, 2 * 9216, false, true, 9216, 100, false, true};

struct NamePart {
  std::string_view part;  // upper case
  const AsicHeadroom* asic;
};
// The first match in the name wins: SKUs before families, longer before shorter.
constexpr std::array<NamePart, 23> kNames = {{
    {"ACS-SN5600", &kSpectrum4Acs}, {"SN5640", &kSpectrum5},
    {"SN5610", &kSpectrum5},        {"SN56", &kSpectrum4},
    {"SN54", &kSpectrum4},          {"SN4", &kSpectrum3},
    {"SN34", &kSpectrum2},          {"SN3", &kSpectrum2},
    {"SN22", &kSpectrum},           {"SN2", &kSpectrum},
    {"SPECTRUM-5", &kSpectrum5},    {"SPECTRUM-4", &kSpectrum4},
    {"SPECTRUM-3", &kSpectrum3},    {"SPECTRUM-2", &kSpectrum2},
    {"SPECTRUM", &kSpectrum},       {"TOMAHAWK", &kTomahawk},
    {"7060X6", &kTomahawk},         {"7060DX5", &kTomahawk},
    {"QFX52", &kTomahawk},          {"TRIDENT", &kTrident},
    {"CLOUD SCALE", &kCloudScale},  {"NEXUS", &kCloudScale},
    {"SILICON ONE", &kSiliconOne},
}};

struct QuantaOfSpeed {
  std::int64_t gigabits;
  std::int64_t quanta;
};
// Pause response times, IEEE 802.3 31B.3.7, in quanta. The standard has no values beyond 800G yet: the time is kept
// constant.
constexpr std::array<QuantaOfSpeed, 9> kQuanta = {
    {{10, 67}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905}, {800, 905}, {1600, 1810}}};

std::int64_t pause_quanta(BitRate speed) {
  for (const QuantaOfSpeed& row : kQuanta) {
    if (speed <= gigabits(row.gigabits)) return row.quanta;
  }
  return kQuanta.back().quanta;
}

std::int64_t round_up(double bytes) {
  const auto whole = static_cast<std::int64_t>(bytes);
  const std::int64_t up = static_cast<double>(whole) < bytes ? whole + 1 : whole;
  return (up + kKilobyte - 1) / kKilobyte * kKilobyte;
}

// Buffer used per byte if packets of the worst-case size leave cells nearly empty (SONiC HLD, "worst case factor").
double cell_occupancy(const AsicHeadroom& asic) {
  const auto cell = static_cast<double>(asic.cell);
  const double worst = asic.cell > 128 ? cell / 64 : 2 * cell / (1 + cell);
  return (100 - asic.small_packets + asic.small_packets * worst) / 100;
}

}  // namespace

std::optional<AsicHeadroom> asic_headroom(std::string_view asic_or_hwsku) {
  const std::string name = to_upper(asic_or_hwsku);
  for (const NamePart& known : kNames) {
    if (name.find(known.part) != std::string::npos) return *known.asic;
  }
  return std::nullopt;
}

// sonic-net/SONiC doc/qos/dynamically-headroom-calculation.md; sonic-swss cfgmgr/buffer_headroom_mellanox.lua.
Headroom pfc_headroom(const AsicHeadroom& asic, BitRate speed, Length cable, std::int64_t mtu, int lanes) {
  const auto rate = static_cast<double>(speed.count());  // bit/s
  const double meters_long = static_cast<double>(cable.count()) / 1000;
  const double on_cable = 2 * meters_long * rate / kPropagation / 8;  // round trip
  const double peer =
      asic.peer_response_fixed ? kFixedPeerResponse : static_cast<double>(pause_quanta(speed) * kPauseQuantum);
  const double kmac = asic.kmac_delay ? rate * kKmacSeconds / 8 : 0;
  const double propagation = static_cast<double>(mtu) + on_cable + kMacPhyDelay + peer + kmac;
  const double xoff = static_cast<double>(asic.extra) + propagation * cell_occupancy(asic);
  const bool eight = lanes >= 8;
  const std::int64_t xon = eight ? 2 * asic.pipeline : asic.pipeline;
  Headroom out;
  out.xoff = Bytes(round_up(xoff));
  out.xon = Bytes(xon);
  const double overhead = eight ? static_cast<double>(mtu) : 0;
  out.size = asic.shared_pool ? out.xon : Bytes(round_up(xoff + static_cast<double>(xon) + overhead));
  return out;
}

void HeadroomSum::add(BitRate speed, Length cable, int lanes) {
  const Headroom one = pfc_headroom(asic_, speed, cable, mtu_, lanes);
  total_.all += (one.xoff + one.xon) * classes_;
  ++total_.ports;
}

EcnThresholds ecn_thresholds(const QosSpec& qos, BitRate speed) {
  // Between the vendors' static values and HPCC's 4 KB per Gb/s: marking must start well before PFC; the ratio of four
  // is common to all of them.
  const std::int64_t per_gigabit = 2 * 1000;
  const std::int64_t min = multiply_divide(speed.count(), per_gigabit, gigabits(1).count());
  EcnThresholds out{Bytes(min), Bytes(4 * min)};
  if (qos.ecn_min.has_value()) out.min = *qos.ecn_min;
  if (qos.ecn_max.has_value()) {
    out.max = *qos.ecn_max;
  } else if (qos.ecn_min.has_value()) {
    out.max = out.min * 4;
  }
  if (qos.ecn_max.has_value() && !qos.ecn_min.has_value()) out.min = out.max / 4;
  return out;
}

// sonic-utilities pfcwd/main.py, start_default.
WatchdogTimes watchdog_times(const QosSpec& qos, std::int64_t ports) {
  const std::int64_t steps = std::max<std::int64_t>(1, (ports - 1) / 32 + 1);
  const Duration base = milliseconds(200 * steps);
  WatchdogTimes out{std::min(base, milliseconds(1000)), base, base};
  if (qos.watchdog_detection.has_value()) out.detection = *qos.watchdog_detection;
  if (qos.watchdog_restoration.has_value()) out.restoration = *qos.watchdog_restoration;
  if (qos.watchdog_poll.has_value()) {
    out.poll = *qos.watchdog_poll;
  } else {
    out.poll = std::min({out.poll, out.detection, out.restoration});
  }
  return out;
}

}  // namespace weft::model
