#include "health/readers/hgx_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "base/text.h"
#include "health/readers/bmc_phrases.h"

namespace weft::health {
namespace {

// The lowest SXid that NVSwitch drivers have (10001, HOST_PRIV_ERROR). Firmware of 2020 to 2023 logs 20009 as "9" and
// 19084 as "84".
constexpr std::uint32_t kFirstSxid = 10'000;
constexpr std::uint32_t kMaxCode = 1'000'000;

std::optional<std::uint32_t> code_at(std::string_view text, std::size_t at) {
  std::uint32_t code = 0;
  if (at >= text.size()) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), code);
  if (error != std::errc() || end == text.data() + at || code > kMaxCode) return std::nullopt;
  return code;
}

// The first word in the form of the driver ("XID 62", "SXID 20009").
struct DriverLine {
  bool is_switch = false;
  std::uint32_t code = 0;
  std::string_view rest;
};

std::optional<DriverLine> find_driver_line(std::string_view text) {
  constexpr std::string_view kWord = "XID ";
  for (std::size_t at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at + 1)) {
    const bool is_switch = at > 0 && text[at - 1] == 'S';
    const std::size_t start = is_switch ? at - 1 : at;
    if (start > 0 && is_letter_or_digit(text[start - 1])) continue;
    const std::optional<std::uint32_t> code = code_at(text, at + kWord.size());
    if (code) return DriverLine{is_switch, *code, text.substr(at + kWord.size())};
  }
  return std::nullopt;
}

// "NVRM: Xid (PCI:0000:3b:00): 79, ...", "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, ...".
struct KernelLine {
  DriverLine line;
  std::string_view address;
};

std::optional<KernelLine> find_kernel_line(std::string_view text) {
  constexpr std::string_view kWord = "Xid (PCI:";
  const std::size_t at = text.find(kWord);
  if (at == std::string_view::npos) return std::nullopt;
  const std::size_t start = at + kWord.size();
  const std::size_t end = text.find("): ", start);
  if (end == std::string_view::npos || end - start > 32) return std::nullopt;
  const std::optional<std::uint32_t> code = code_at(text, end + 3);
  if (!code) return std::nullopt;
  const bool is_switch = at > 0 && text[at - 1] == 'S';
  return KernelLine{{is_switch, *code, text.substr(end + 3)}, text.substr(start, end - start)};
}

// "[Thu Dec 7 02:27:24 UTC 2023]": the host's clock, by which the kernel's log has the same line.
std::string driver_time(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::size_t open = text.find('[');
  const std::size_t close = open == std::string_view::npos ? open : text.find(']', open);
  if (close == std::string_view::npos) return {};
  const std::vector<std::string_view> words = split_at_spaces(text.substr(open + 1, close - open - 1));
  if (words.size() != 6 || words[4] != "UTC" || words[3].size() != 8 || words[5].size() != 4) return {};
  const auto month = std::find(kMonths.begin(), kMonths.end(), words[1]);
  const std::optional<std::uint32_t> day = code_at(words[2], 0);
  const std::optional<std::uint32_t> year = code_at(words[5], 0);
  if (month == kMonths.end() || !day || *day < 1 || *day > 31 || !year || *year < 2000) return {};
  return fmt::format("{:04}-{:02}-{:02}T{}Z", *year, month - kMonths.begin() + 1, *day, words[3]);
}

void add_switch_details(Signal& signal, std::string_view rest) {
  if (contains(rest, "Non-fatal")) {
    signal.details.push_back({"severity", "nonfatal"});
  } else if (contains(rest, "Fatal")) {
    signal.details.push_back({"severity", "fatal"});
  }
  constexpr std::string_view kLink = "Link ";
  const std::size_t at = rest.find(kLink);
  if (at == std::string_view::npos) return;
  if (const auto link = code_at(rest, at + kLink.size())) signal.details.push_back({"link", std::to_string(*link)});
}

std::optional<Signal> signal_of_line(const DriverLine& line) {
  Signal signal;
  if (!line.is_switch) {
    signal.name = fmt::format("xid:{}", line.code);
    return signal;
  }
  if (line.code == 0 || contains(line.rest, "Severity ") || contains(line.rest, "Data {")) return std::nullopt;
  if (line.code < kFirstSxid) {
    signal.name = "hgx:nvswitch_error";
    signal.details.push_back({"code", std::to_string(line.code)});
  } else {
    signal.name = fmt::format("sxid:{}", line.code);
  }
  add_switch_details(signal, line.rest);
  return signal;
}

struct Meaning {
  std::string_view needle;
  std::string_view name;
  std::string_view reason{};
};

// In this order: the first that the text contains.
constexpr std::array<Meaning, 43> kMeanings = {{
    {"overtemp", "hgx:overtemp"},
    {"therm overt", "hgx:overtemp"},
    {"upper fatal temp", "hgx:overtemp"},
    {"upper critical temp", "hgx:overtemp"},
    {"thermal warning", "hgx:temp_warning"},
    {"sram ecc uncorrectable", "hgx:ecc_uncorrected", "sram"},
    {"sram ecc error", "hgx:ecc_uncorrected", "sram"},
    {"uncorrectable ecc", "hgx:ecc_uncorrected"},
    {"ecc uncorrectable", "hgx:ecc_uncorrected"},
    {"double bit ecc", "hgx:ecc_uncorrected"},
    {"correctable ecc", "hgx:ecc_corrected"},
    {"ecc correctable", "hgx:ecc_corrected"},
    {"single bit ecc", "hgx:ecc_corrected"},
    {"row remapping failure", "hgx:row_remap_failed"},
    {"row remapping failed", "hgx:row_remap_failed"},
    {"row remapping pending", "hgx:row_remap_pending"},
    {"row remapping count", "hgx:row_remapped"},
    {"training error", "hgx:nvlink_error", "training"},
    {"crc", "hgx:nvlink_error", "crc"},
    {"recovery error", "hgx:nvlink_error", "recovery"},
    {"replay error", "hgx:nvlink_error", "replay"},
    {"runtime error", "hgx:nvlink_error", "runtime"},
    {"nvlink", "hgx:nvlink_error"},
    {"link width", "hgx:pcie_error", "width"},
    {"link speed", "hgx:pcie_error", "speed"},
    {"abnormal speed", "hgx:pcie_error", "speed"},
    {"abnormal width", "hgx:pcie_error", "width"},
    {"link goes down", "hgx:pcie_error", "down"},
    {"pcie non fatal", "hgx:pcie_error", "non_fatal"},
    {"pcie nonfatal", "hgx:pcie_error", "non_fatal"},
    {"pcie link error   nonfatal", "hgx:pcie_error", "non_fatal"},
    {"pcie link error   correctable", "hgx:pcie_error", "correctable"},
    {"pcie", "hgx:pcie_error"},
    {"abnormal power", "hgx:power_fault"},
    {"power good", "hgx:power_fault"},
    {"powergood", "hgx:power_fault"},
    {"vr fa", "hgx:power_fault"},
    {"physically missing", "hgx:part_missing"},
    {"abnormal presence", "hgx:part_missing"},
    {"reset required", "hgx:reset_required"},
    {"firmware", "hgx:firmware_error"},
    {"secure boot", "hgx:firmware_error"},
    {"spi flash", "hgx:firmware_error"},
}};

bool is_baseboard_part(std::string_view part) {
  constexpr std::array<std::string_view, 12> kParts = {
      "GPU", "NVSwitch", "NVLink", "HGX", "PCIe", "HMC", "CPU_", "FPGA", "HSC", "Baseboard", "ERoT", "ProcessorModule"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view start) { return part.starts_with(start); });
}

}  // namespace

std::optional<ResourceMessage> read_resource_message(std::string_view message) {
  constexpr std::string_view kStart = "The resource property ";
  if (!message.starts_with(kStart)) return std::nullopt;
  message.remove_prefix(kStart.size());
  struct Form {
    std::string_view middle;
    bool is_end;
  };
  constexpr std::array<Form, 4> kForms = {{{" has detected errors of type ", false},
                                           {" has corrected errors of type ", true},
                                           {" has exceeded error threshold of value ", false},
                                           {" has exceeded its warning threshold of value ", false}}};
  for (const Form& form : kForms) {
    const std::size_t at = message.find(form.middle);
    if (at == std::string_view::npos) continue;
    const std::string_view what = message.substr(0, at);
    const std::size_t space = what.find(' ');
    ResourceMessage out;
    out.part = what.substr(0, space);
    if (space != std::string_view::npos) out.property = trim(what.substr(space + 1));
    out.error = trim(message.substr(at + form.middle.size()), " '.");
    out.is_end = form.is_end;
    return out;
  }
  return std::nullopt;
}

bool is_driver_line(std::string_view message) {
  return contains(message, "Driver Event Message") || find_driver_line(message).has_value() ||
         find_kernel_line(message).has_value();
}

std::optional<Signal> driver_signal(std::string_view message) {
  if (const std::optional<KernelLine> kernel = find_kernel_line(message)) {
    std::optional<Signal> signal = signal_of_line(kernel->line);
    if (signal) signal->part = fmt::format("{} {}", kernel->line.is_switch ? "NVSwitch" : "GPU", kernel->address);
    return signal;
  }
  const std::optional<DriverLine> line = find_driver_line(message);
  if (!line) return std::nullopt;
  std::optional<Signal> signal = signal_of_line(*line);
  if (!signal) return std::nullopt;
  if (const auto resource = read_resource_message(message)) signal->part = resource->part;
  if (std::string time = driver_time(message); !time.empty())
    signal->details.push_back({"driver_time", std::move(time)});
  return signal;
}

std::string_view throttle_signal(std::string_view reason) {
  if (const std::size_t dot = reason.rfind('.'); dot != std::string_view::npos) reason.remove_prefix(dot + 1);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kReasons = {{
      {"SWPowerCap", "hgx:power_cap"},
      {"HWSlowdown", "hgx:hw_slowdown"},
      {"HWThermalSlowdown", "hgx:thermal_slowdown"},
      {"SWThermalSlowdown", "hgx:thermal_slowdown"},
      {"HWPowerBrakeSlowdown", "hgx:power_brake"},
      {"SyncBoost", "hgx:sync_boost"},
  }};
  for (const auto& [text, name] : kReasons) {
    if (text == reason) return name;
  }
  return {};
}

std::optional<Signal> resource_signal(const ResourceMessage& message) {
  // What NVIDIA's own tests of the event listener log.
  if (message.error == "Custom event" || message.error == "None") return std::nullopt;
  if (!is_baseboard_part(message.part)) return std::nullopt;
  Signal signal;
  signal.part = message.part;
  if (message.property == "ThrottleReason") {
    signal.name = throttle_signal(message.error);
    if (signal.name.empty()) return std::nullopt;
    const std::size_t dot = message.error.rfind('.');
    signal.details.push_back(
        {"reason", std::string(dot == std::string_view::npos ? message.error : message.error.substr(dot + 1))});
    return signal;
  }
  const std::string text = normalize_event_text(fmt::format("{} {}", message.property, message.error));
  const auto found = std::find_if(kMeanings.begin(), kMeanings.end(),
                                  [&](const Meaning& meaning) { return contains(text, meaning.needle); });
  signal.name = found == kMeanings.end() ? "hgx:resource_error" : found->name;
  if (found != kMeanings.end() && !found->reason.empty())
    signal.details.push_back({"reason", std::string(found->reason)});
  if (!message.property.empty()) signal.details.push_back({"property", std::string(message.property)});
  return signal;
}

}  // namespace weft::health
