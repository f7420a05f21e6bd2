#include "health/readers/bmc_phrases.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace weft::health {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

template <std::size_t Count>
bool has_any(std::string_view text, const std::array<std::string_view, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) { return has(text, part); });
}

// The part between characters that are neither letters nor digits: "fan" in "fan #31h", not in "fanout".
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || !is_letter(text[at - 1]);
    if (starts && (end == text.size() || !is_letter(text[end]))) return true;
  }
  return false;
}

// "p12v", "3.3v", "12v sby": digits before a "v" that ends a word.
bool has_volts(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool ends = i + 1 == text.size() || !is_letter(text[i + 1]);
    if (text[i] == 'v' && ends && is_digit(text[i - 1])) return true;
  }
  return false;
}

bool names_margin(std::string_view name) {
  if (has(name, "tlimit") || has(name, "temp limit") || has(name, "templimit") || has_word(name, "margin")) return true;
  // NVIDIA's baseboards: TEMP_0 is the GPU's temperature, TEMP_1 its margin.
  const bool gpu = has_word(name, "gpu") || has_word(name, "sxm");
  return gpu && name.ends_with("temp 1") && !has(name, "dram");
}

// The number after the first of the words, "=" or spaces: "reading=50.000000", "threshold 1500 rpm".
std::optional<double> number_after(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + word.size());
  const std::size_t start = text.find_first_not_of(" =:<>");
  if (start == std::string_view::npos) return std::nullopt;
  text.remove_prefix(start);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<Crossing::Level> level_in(std::string_view text) {
  if (has(text, "non recoverable") || has(text, "fatal") || has(text, "hard shutdown")) return Crossing::Level::fatal;
  if (has(text, "non critical") || has(text, "noncritical") || has(text, "warning") || has(text, "caution"))
    return Crossing::Level::warning;
  if (has(text, "critical")) return Crossing::Level::critical;
  return std::nullopt;
}

constexpr std::array<std::string_view, 10> kEnds = {
    "has been restored",  "is restored",       "has returned", "returned to",   "back to normal",
    "operating normally", "has been repaired", "is closed",    "changed to ok", "has been cleared",
};

bool is_about_memory(std::string_view text) {
  return has_word(text, "memory") || has_word(text, "dimm") || has_word(text, "dimms") || has_word(text, "dram") ||
         has(text, "ecc");
}
bool is_about_supply(std::string_view text) {
  return has(text, "power supply") || has(text, "power supplies") || has_word(text, "psu") || has_word(text, "ps");
}
bool is_about_drive(std::string_view text) {
  return has_word(text, "drive") || has_word(text, "disk") || has_word(text, "nvme") || has_word(text, "ssd");
}
bool is_about_processor(std::string_view text) {
  return has_word(text, "processor") || has_word(text, "cpu") || has_word(text, "proc");
}
bool says_failed(std::string_view text) {
  return has_word(text, "failure") || has_word(text, "failed") || has_word(text, "fault") || has_word(text, "faulty") ||
         has_word(text, "faulted");
}

std::optional<Phrase> classify_memory(std::string_view text) {
  if (!is_about_memory(text)) return std::nullopt;
  if (has(text, "memory automatically throttled")) return Phrase{"sel:memory_throttled"};
  if (has(text, "scrub failed")) return Phrase{"sel:memory_uncorrected", "scrub"};
  if (has_word(text, "parity") && !has(text, "parity check")) return Phrase{"sel:memory_uncorrected", "parity"};
  const bool errors = has_word(text, "error") || has_word(text, "errors") || has(text, "ecc");
  if (!errors || has_word(text, "cpu")) return std::nullopt;
  if (has(text, "uncorrect") || has(text, "multi bit")) return Phrase{"sel:memory_uncorrected"};
  if (has(text, "logging limit") || has(text, "logging disabled") || has(text, "rate exceeded"))
    return Phrase{"sel:memory_corrected", "limit"};
  if (has(text, "correct") || has(text, "single bit")) return Phrase{"sel:memory_corrected"};
  return std::nullopt;
}

std::optional<Phrase> classify_bus(std::string_view text) {
  if (has_word(text, "serr")) return Phrase{"sel:pci_serr"};
  if (has_word(text, "perr")) return Phrase{"sel:pci_perr"};
  if (has(text, "bus degraded")) return Phrase{"sel:bus_degraded"};
  if (has(text, "fatal nmi") || has(text, "i/o channel check") || has(text, "bus timeout")) return Phrase{"sel:nmi"};
  const bool bus = has_word(text, "bus") || has_word(text, "pcie") || has_word(text, "pci");
  if (!bus || !(has_word(text, "error") || has_word(text, "errors"))) return std::nullopt;
  if (has(text, "uncorrect")) return Phrase{"sel:bus_uncorrected"};
  if (has(text, "correct")) return Phrase{"sel:bus_corrected"};
  if (has(text, "non fatal") || has(text, "nonfatal")) return Phrase{"sel:bus_uncorrected", "non_fatal"};
  if (has_word(text, "fatal")) return Phrase{"sel:bus_fatal"};
  return std::nullopt;
}

std::optional<Phrase> classify_redundancy(std::string_view text) {
  if (!has(text, "redundan")) return std::nullopt;
  if (has(text, "redundant path") || has(text, "redundant interface")) return std::nullopt;
  std::string_view name;
  if (is_about_supply(text) || has(text, "power unit") || has_word(text, "pwr")) name = "sel:psu_redundancy_lost";
  if (has_word(text, "fan") || has_word(text, "fans") || has(text, "cooling")) name = "sel:fan_redundancy_lost";
  if (name.empty()) return std::nullopt;
  const bool not_redundant = has(text, "not redundant") || has(text, "non redundant");
  // "Redundancy Degraded from Fully Redundant", "Non-redundant:Sufficient Resources from Redundant".
  if (has(text, "degraded")) return Phrase{name, "degraded"};
  if (not_redundant || has(text, "lost")) return Phrase{name};
  constexpr std::array<std::string_view, 5> kRegained = {"regained", "restored", "fully redundant", "are redundant",
                                                         "is redundant"};
  if (has_any(text, kRegained)) return Phrase{name, "", true};
  return std::nullopt;
}

std::optional<Phrase> classify_presence(std::string_view text, std::string_view name) {
  if (has(text, "absent") || has(text, "removed") || has(text, "not present")) return Phrase{name, "", false, false};
  if (has(text, "presence") || has(text, "inserted") || has(text, "installed") || has(text, "present"))
    return Phrase{name, "", true, true};
  return std::nullopt;
}

std::optional<Phrase> classify_supply(std::string_view text) {
  if (!is_about_supply(text)) return std::nullopt;
  constexpr std::array<std::string_view, 7> kInput = {"input lost",        "ac lost",         "input power loss",
                                                      "loss of input",     "input power for", "power cord",
                                                      "input out of range"};
  if (has(text, "predictive")) return Phrase{"sel:psu_predicted"};
  if (has_any(text, kInput) || has(text, "input lost or out")) return Phrase{"sel:psu_lost", "input_lost"};
  if (has(text, "configuration error") || has(text, "mismatch")) return Phrase{"sel:psu_mismatch"};
  if (says_failed(text) || has(text, "failure")) return Phrase{"sel:psu_lost", "failure"};
  return classify_presence(text, "sel:psu_absent");
}

std::optional<Phrase> classify_power(std::string_view text) {
  if (has(text, "first ac power on")) return std::nullopt;
  const bool unit = has(text, "power unit");
  if (has(text, "soft power control fail")) return Phrase{"sel:power_fault", "soft_power_control"};
  if (has(text, "240va")) return Phrase{"sel:power_fault", "240va"};
  if (unit && has(text, "interlock")) return Phrase{"sel:power_fault", "interlock"};
  if (unit && (has(text, "ac lost") || has(text, "input lost"))) return Phrase{"sel:power_fault", "input_lost"};
  if (unit && has(text, "predictive")) return Phrase{"sel:power_predicted"};
  if (unit && says_failed(text)) return Phrase{"sel:power_fault", "failure"};
  const bool rail = has(text, "power good") || has(text, "powergood") || has(text, "pwrgd") || has_word(text, "vr") ||
                    has(text, "voltage regulator");
  if (rail && (says_failed(text) || has(text, "lost") || has(text, "negated")))
    return Phrase{"sel:power_fault", "rail"};
  return std::nullopt;
}

std::optional<Phrase> classify_processor(std::string_view text) {
  if (has_word(text, "ierr")) return Phrase{"sel:processor_ierr"};
  if (has_word(text, "caterr")) return Phrase{"sel:processor_ierr", "caterr"};
  if (has(text, "thermal trip") || has_word(text, "thermtrip")) return Phrase{"sel:thermal_trip"};
  const bool processor = is_about_processor(text);
  if (has(text, "machine check") && !has(text, "correctable machine check"))
    return Phrase{"sel:machine_check", has(text, "uncorrect") ? "uncorrected" : ""};
  if (has(text, "uncorrectable machine check")) return Phrase{"sel:machine_check", "uncorrected"};
  if (processor && (has(text, "throttled") || has(text, "throttling") || has_word(text, "prochot")))
    return Phrase{"sel:processor_throttled"};
  if (has(text, "cpu complex error")) return Phrase{"sel:machine_check", "uncorrected"};
  if (processor && has(text, "predictive")) return Phrase{"sel:processor_predicted"};
  if (processor && (has(text, "frb1") || has(text, "frb2") || has(text, "frb3") || says_failed(text)))
    return Phrase{"sel:processor_failed"};
  return std::nullopt;
}

std::optional<Phrase> classify_drive(std::string_view text) {
  if (!is_about_drive(text)) return std::nullopt;
  if (has(text, "predictive")) return Phrase{"sel:drive_predicted"};
  if (has(text, "failed array")) return Phrase{"sel:drive_failed", "failed_array"};
  if (has(text, "critical array")) return Phrase{"sel:drive_failed", "critical_array"};
  if (says_failed(text)) return Phrase{"sel:drive_failed"};
  return classify_presence(text, "sel:drive_absent");
}

std::optional<Phrase> classify_fan(std::string_view text) {
  if (!has_word(text, "fan") && !has_word(text, "fans") && !has_word(text, "blower")) return std::nullopt;
  if (has(text, "predictive")) return Phrase{"sel:fan_predicted"};
  if (says_failed(text) || has(text, "stopped") || has(text, "not spinning")) return Phrase{"sel:fan_failed"};
  return classify_presence(text, "sel:fan_absent");
}

std::optional<Phrase> classify_chassis(std::string_view text) {
  if (has(text, "intrusion") && !has(text, "sensor")) return Phrase{"sel:chassis_intrusion"};
  if (has(text, "general chassis intrusion") || has(text, "drive bay intrusion"))
    return Phrase{"sel:chassis_intrusion"};
  if (has(text, "chassis is open")) return Phrase{"sel:chassis_intrusion"};
  if (has(text, "chassis is closed")) return Phrase{"sel:chassis_intrusion", "", true};
  if (has_word(text, "leak") || has(text, "leak detect")) {
    if (has(text, "detected") && !has(text, "no leak")) return Phrase{"sel:leak"};
  }
  return std::nullopt;
}

std::optional<Phrase> classify_log(std::string_view text) {
  if (has(text, "area reset") || has(text, "log cleared")) return Phrase{"sel:log_full", "", true};
  const bool log = has_word(text, "sel") || has(text, "event log") || has(text, "log full");
  if (log && has(text, "almost full")) return Phrase{"sel:log_full", "almost"};
  if (log && (has(text, "sel full") || has(text, "log full") || has(text, "is full"))) return Phrase{"sel:log_full"};
  return std::nullopt;
}

std::optional<Phrase> classify_watchdog(std::string_view text) {
  if (!has(text, "watchdog")) return std::nullopt;
  if (has(text, "disabled") || has(text, "enabled") || has(text, "no action")) return std::nullopt;
  if (has(text, "expired")) return Phrase{"sel:watchdog", "expired"};
  if (has(text, "hard reset") || has(text, "os reset") || has(text, "bios reset"))
    return Phrase{"sel:watchdog", "reset"};
  if (has(text, "power cycle")) return Phrase{"sel:watchdog", "power_cycle"};
  if (has(text, "power down") || has(text, "power off")) return Phrase{"sel:watchdog", "power_off"};
  if (has(text, "interrupt")) return Phrase{"sel:watchdog", "interrupt"};
  return std::nullopt;
}

std::optional<Phrase> classify_other(std::string_view text) {
  if (has(text, "overheat") || has(text, "overtemp") || has(text, "over temperature"))
    return Phrase{"sel:temp_critical"};
  if (has(text, "system hardware failure")) return Phrase{"sel:hardware_failure"};
  return std::nullopt;
}

}  // namespace

std::string normalize_event_text(std::string_view text) {
  std::string out = to_lower(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '_' || c == '-'; }, ' ');
  return out;
}

SensorKind sensor_kind(std::string_view name, std::string_view kind, std::string_view unit) {
  const std::string text = normalize_event_text(name);
  const std::string given = normalize_event_text(kind);
  if (has(text, "leak")) return SensorKind::leak;
  const bool hot = given == "temperature" || unit == "C" || unit == "F";
  if ((hot || given.empty()) && names_margin(text)) return SensorKind::margin;
  if (hot) return SensorKind::temperature;
  if (given == "fan" || unit == "RPM") return SensorKind::fan;
  if (given == "voltage" || unit == "V" || unit == "mV") return SensorKind::voltage;
  if (given == "power" || given == "current" || unit == "W" || unit == "A") return SensorKind::power;
  if (!given.empty()) return SensorKind::other;
  if (has(text, "temp") || has_word(text, "thermal")) return SensorKind::temperature;
  if (has_word(text, "fan") || has(text, "tach")) return SensorKind::fan;
  if (has(text, "volt") || has_volts(text) || has_word(text, "vcore") || has_word(text, "vbat"))
    return SensorKind::voltage;
  if (has_word(text, "power") || has_word(text, "pwr")) return SensorKind::power;
  return SensorKind::other;
}

std::optional<Crossing> read_crossing(std::string_view text) {
  // The digital form of IPMI (event type 05h).
  if (has(text, "limit exceeded") || has(text, "limit not exceeded")) {
    return Crossing{Crossing::Level::critical, true, has(text, "not exceeded"), std::nullopt, std::nullopt};
  }
  const bool upper = has(text, "upper") || has(text, "high threshold");
  const bool lower = has(text, "lower") || has(text, "low threshold");
  const std::optional<Crossing::Level> level = level_in(text);
  if (upper == lower || !level) return std::nullopt;
  const bool going_high = has(text, "going high") || has(text, "greater than");
  const bool going_low = has(text, "going low") || has(text, "less than");
  Crossing crossing;
  crossing.level = *level;
  crossing.is_upper = upper;
  crossing.is_return = upper ? going_low && !going_high : going_high && !going_low;
  crossing.reading = number_after(text, "reading");
  // "Lower Critical" of FreeIPMI comes before ", threshold 1500 RPM"; OpenBMC's "low threshold" before "Threshold=".
  const std::size_t after = text.find("reading");
  crossing.threshold = number_after(after == std::string_view::npos ? text : text.substr(after), "threshold");
  return crossing;
}

std::string_view to_text(Crossing::Level level) {
  constexpr std::array<std::string_view, 3> kTexts = {"warning", "critical", "fatal"};
  return kTexts[static_cast<std::size_t>(level)];
}

std::string_view threshold_signal(SensorKind kind, Crossing::Level level, bool is_upper) {
  const bool critical = level != Crossing::Level::warning;
  switch (kind) {
    case SensorKind::temperature:
      if (!is_upper) return "sel:temp_low";
      return critical ? "sel:temp_critical" : "sel:temp_warning";
    case SensorKind::margin:
      if (is_upper) return {};
      return critical ? "sel:temp_critical" : "sel:temp_warning";
    case SensorKind::fan:
      if (is_upper) return {};
      return critical ? "sel:fan_failed" : "sel:fan_slow";
    case SensorKind::voltage:
      return "sel:voltage";
    case SensorKind::power:
      return is_upper ? "sel:power_high" : "";
    case SensorKind::leak:
      return "sel:leak";
    case SensorKind::other:
      break;
  }
  return {};
}

bool is_plausible(SensorKind kind, double value) {
  if (!std::isfinite(value)) return false;
  if (kind == SensorKind::temperature || kind == SensorKind::margin) return value > -273.15 && value < 1000;
  return true;
}

std::optional<Phrase> classify_event(std::string_view text) {
  using Classifier = std::optional<Phrase> (*)(std::string_view);
  // A power supply's fan is a fan, redundancy comes before what is redundant, and a drive bay's intrusion before
  // drives.
  constexpr std::array<Classifier, 12> kClassifiers = {&classify_log,       &classify_watchdog,   &classify_memory,
                                                       &classify_bus,       &classify_redundancy, &classify_chassis,
                                                       &classify_processor, &classify_drive,      &classify_fan,
                                                       &classify_supply,    &classify_power,      &classify_other};
  for (const Classifier classify : kClassifiers) {
    std::optional<Phrase> phrase = classify(text);
    if (!phrase) continue;
    if (!phrase->is_presence && has_any(text, kEnds)) phrase->is_end = true;
    return phrase;
  }
  return std::nullopt;
}

}  // namespace weft::health
