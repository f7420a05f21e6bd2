#include "health/readers/bmc_signals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "health/readers/bmc_phrases.h"
#include "health/readers/hgx_events.h"
#include "health/readers/report_time.h"
#include "oob/manage/events_view.h"

namespace weft::health {
namespace {

using oob::EventState;
using oob::Health;
using oob::LogEvent;
using oob::SensorReading;

constexpr std::size_t kMaxPart = 128;

// Logs of what people and daemons do. A daemon's line may quote anything.
bool is_other_log(std::string_view log) {
  const std::string_view name = log.substr(log.rfind('/') + 1);
  constexpr std::array<std::string_view, 7> kOthers = {"Journal",   "Dump", "AuditLog", "DiagnosticLog",
                                                       "PostCodes", "IEL",  "SL"};
  return std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
}

// "[PWR-0001] PS5 Status, Power Supply Failure detected": Supermicro's tag, the sensor, the event.
std::string_view without_tag(std::string_view message, bool& tagged) {
  tagged = false;
  const std::size_t end = message.find("] ");
  if (!message.starts_with('[') || end == std::string_view::npos || end > 16) return message;
  tagged = true;
  return message.substr(end + 2);
}

// "Power Supply 2" in "... Verify Power Supply Input (Power Supply 2)", "power supply 1" in "The input power for power
// supply 1 has been restored", "DIMM_A1".
std::string_view numbered_part(std::string_view text) {
  constexpr std::array<std::string_view, 8> kNouns = {"power supply", "psu",  "dimm", "fan",
                                                      "drive",        "disk", "cpu",  "processor"};
  const std::string lower = to_lower(text);
  for (const std::string_view noun : kNouns) {
    for (std::size_t at = lower.find(noun); at != std::string::npos; at = lower.find(noun, at + 1)) {
      if (at > 0 && is_letter(lower[at - 1])) continue;
      std::size_t end = at + noun.size();
      if (end < lower.size() && (lower[end] == ' ' || lower[end] == '_' || lower[end] == '-')) ++end;
      const std::size_t start = end;
      bool digit = false;
      for (; end < lower.size() && (is_letter_or_digit(lower[end]) || lower[end] == '_'); ++end)
        digit = digit || is_digit(lower[end]);
      if (digit && end - start <= 8) return text.substr(at, end - at);
    }
  }
  return {};
}

// What a threshold event of OpenBMC names: "Chassis_0_FAN_2_FRONT critical low threshold assert.", "X sensor crossed
// a".
std::string_view threshold_part(std::string_view message) {
  for (const std::string_view after : {" sensor crossed a ", " warning high threshold ", " warning low threshold ",
                                       " critical high threshold ", " critical low threshold "}) {
    const std::size_t at = message.find(after);
    if (at != std::string_view::npos && message.substr(0, at).find(' ') == std::string_view::npos)
      return message.substr(0, at);
  }
  return {};
}

// "sensor 117" in "Drive Presence (sensor 117)": AMI's records have a number only.
std::string_view ami_sensor(std::string_view message) {
  constexpr std::string_view kStart = " (sensor ";
  const std::size_t at = message.rfind(kStart);
  if (at == std::string_view::npos || !message.ends_with(')')) return {};
  return message.substr(at + 2, message.size() - at - 3);
}

std::string part_of(const LogEvent& event) {
  bool tagged = false;
  const std::string_view text = without_tag(event.message, tagged);
  std::string_view part = threshold_part(text);
  if (part.empty() && tagged && contains(text, ", ")) part = text.substr(0, text.find(", "));
  if (!part.empty()) return std::string(part.substr(0, kMaxPart));
  if (const std::string_view number = ami_sensor(text); !number.empty())
    return fmt::format("{} {}", event.source, number).substr(0, kMaxPart);
  // The log of IPMI has the sensor's name as the source, Redfish's only its type or a category.
  const bool named = event.log == "SEL" && !event.source.empty();
  if (!named) part = numbered_part(text);
  if (part.empty()) part = event.source;
  return std::string(part.substr(0, kMaxPart));
}

void set_state(Signal& signal, bool is_end) {
  if (is_end) signal.details.push_back({"state", "deasserted"});
}

// What every signal of an event has.
Signal finish(Signal signal, const LogEvent& event) {
  signal.source = SignalSource::bmc;
  signal.text = event.message;
  if (const auto ms = oob::event_time(event)) signal.at = moment_of_ms(*ms);
  if (signal.part.empty()) signal.part = part_of(event);
  if (event.severity != Health::unknown)
    signal.details.push_back({"log_severity", std::string(to_text(event.severity))});
  if (event.count != 1) signal.details.push_back({"count", std::to_string(event.count)});
  return signal;
}

std::optional<Signal> threshold_event(const LogEvent& event, const std::string& normalized) {
  const std::optional<Crossing> crossing = read_crossing(normalized);
  if (!crossing) return std::nullopt;
  Signal signal;
  signal.part = part_of(event);
  // The name in the message says more than the type that Redfish gives.
  SensorKind kind = sensor_kind(signal.part, "", "");
  if (kind == SensorKind::other) kind = sensor_kind(event.source, "", "");
  signal.name = threshold_signal(kind, crossing->level, crossing->is_upper);
  if (signal.name.empty()) return std::nullopt;
  const bool is_end = crossing->is_return || event.state == EventState::deasserted || contains(normalized, "deassert");
  if (!is_end && crossing->reading && !is_plausible(kind, *crossing->reading)) return std::nullopt;
  signal.details.push_back({"level", std::string(to_text(crossing->level))});
  signal.details.push_back({"side", crossing->is_upper ? "upper" : "lower"});
  if (crossing->reading) signal.details.push_back({"reading", fmt::format("{}", *crossing->reading)});
  if (crossing->threshold) signal.details.push_back({"threshold", fmt::format("{}", *crossing->threshold)});
  set_state(signal, is_end);
  return finish(std::move(signal), event);
}

std::optional<Signal> phrase_event(const LogEvent& event, const std::string& normalized) {
  const std::optional<Phrase> phrase = classify_event(normalized);
  if (!phrase) return std::nullopt;
  const bool deasserted = event.state == EventState::deasserted || contains(normalized, "deasserted");
  // A part is absent when its presence ends.
  const bool is_end = phrase->is_presence ? !deasserted : phrase->is_end || deasserted;
  // "Fully Redundant | Deasserted" says neither.
  if (phrase->is_end && !phrase->is_presence && deasserted && contains(normalized, "fully redundant"))
    return std::nullopt;
  // A vendor's note without a state that it calls fine is no problem: "Volume 1 status changed to ok".
  const bool noted = event.state == EventState::unknown && event.severity == Health::ok && !is_end;
  if (noted) return std::nullopt;
  Signal signal;
  signal.name = phrase->name;
  if (!phrase->reason.empty()) signal.details.push_back({"reason", std::string(phrase->reason)});
  set_state(signal, is_end);
  return finish(std::move(signal), event);
}

Signal sensor_signal(const SensorReading& reading, std::string_view name, Crossing::Level level) {
  Signal signal;
  signal.name = name;
  signal.part = reading.name.substr(0, kMaxPart);
  signal.value = reading.value;
  signal.source = SignalSource::bmc;
  signal.text = reading.value ? fmt::format("{} is {:g} {}", reading.name, *reading.value, reading.unit)
                              : fmt::format("{} is {}", reading.name, to_text(reading.health));
  signal.text = trim_end(signal.text);
  signal.details.push_back({"level", std::string(to_text(level))});
  if (!reading.unit.empty()) signal.details.push_back({"unit", reading.unit});
  return signal;
}

std::optional<Signal> at_threshold(const SensorReading& reading, SensorKind kind, bool is_upper) {
  const std::optional<double>& limit = is_upper ? reading.high_critical : reading.low_critical;
  // IPMI 2.0, table 42-2: "at or above" the upper, "at or below" the lower threshold.
  if (!limit || (is_upper ? *reading.value < *limit : *reading.value > *limit)) return std::nullopt;
  const std::string_view name = threshold_signal(kind, Crossing::Level::critical, is_upper);
  if (name.empty()) return std::nullopt;
  Signal signal = sensor_signal(reading, name, Crossing::Level::critical);
  signal.details.push_back({"side", is_upper ? "upper" : "lower"});
  signal.details.push_back({"threshold", fmt::format("{}", *limit)});
  return signal;
}

// By the BMC's own judgment: it knows thresholds that it does not report.
std::string_view stated_signal(SensorKind kind, Crossing::Level level) {
  if (kind == SensorKind::other)
    return level == Crossing::Level::warning ? "sel:sensor_warning" : "sel:sensor_critical";
  const std::string_view name = threshold_signal(kind, level, kind != SensorKind::fan && kind != SensorKind::margin);
  return name;
}

}  // namespace

std::optional<Signal> signal_of(const LogEvent& event) {
  if (is_other_log(event.log) || event.message.starts_with("[MEL-")) return std::nullopt;
  if (is_driver_line(event.message)) {
    std::optional<Signal> signal = driver_signal(event.message);
    if (!signal) return std::nullopt;
    set_state(*signal, event.state == EventState::deasserted);
    return finish(std::move(*signal), event);
  }
  if (const auto resource = read_resource_message(event.message)) {
    if (std::optional<Signal> signal = resource_signal(*resource)) {
      set_state(*signal, resource->is_end || event.state == EventState::deasserted);
      return finish(std::move(*signal), event);
    }
  }
  const std::string normalized = normalize_event_text(fmt::format("{} {}", event.source, event.message));
  if (std::optional<Signal> signal = threshold_event(event, normalize_event_text(event.message))) return signal;
  return phrase_event(event, normalized);
}

std::vector<Signal> signals_of(const SensorReading& reading) {
  const SensorKind kind = sensor_kind(reading.name, reading.kind, reading.unit);
  const bool critical = reading.health == Health::critical;
  const bool stated = critical || reading.health == Health::warning;
  const Crossing::Level level = critical ? Crossing::Level::critical : Crossing::Level::warning;
  std::vector<Signal> out;
  if (!reading.value) {
    // A discrete sensor has states and no reading; another one without a reading is absent, whatever its state is.
    if (stated && reading.kind == "discrete")
      out.push_back(sensor_signal(reading, stated_signal(SensorKind::other, level), level));
    return out;
  }
  if (!is_plausible(kind, *reading.value)) return out;
  for (const bool is_upper : {false, true}) {
    if (std::optional<Signal> signal = at_threshold(reading, kind, is_upper)) out.push_back(std::move(*signal));
  }
  if (!out.empty() || !stated) return out;
  const std::string_view name = stated_signal(kind, level);
  if (!name.empty()) out.push_back(sensor_signal(reading, name, level));
  return out;
}

}  // namespace weft::health
