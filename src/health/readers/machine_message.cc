// What processors, memory controllers and firmware report: machine checks, EDAC, APEI, memory failures, throttling.
#include <fmt/format.h>

#include "health/readers/kernel_message.h"
#include "health/readers/line_scan.h"

namespace weft::health {
namespace {

constexpr std::uint64_t kUncorrected = 1ULL << 61U;  // MCi_STATUS.UC (Intel SDM volume 3B, 17.3.2.2; AMD APM volume 2)

void add_status(Signal& signal, std::uint64_t status) {
  signal.details.push_back({"status", fmt::format("0x{:016x}", status)});
}

// "CPU 12: Machine Check: 0 Bank 7: 8c00004000010092", "CPU 10: Machine Check Exception: 5 Bank 0: b200000080060001"
std::optional<Signal> read_machine_check(std::string_view text) {
  const std::optional<std::uint64_t> cpu = take_number(text);
  if (!cpu || !take(text, ": Machine Check")) return std::nullopt;
  const bool exception = take(text, " Exception");
  if (!take(text, ": ")) return std::nullopt;
  (void)take_until(text, " Bank ");
  const std::optional<std::uint64_t> bank = take_number(text);
  (void)take(text, ": ");
  const std::optional<std::uint64_t> status = take_number(text, 16);
  if (!exception && !status) return std::nullopt;
  Signal signal;
  const bool uncorrected = exception || (*status & kUncorrected) != 0;
  signal.name = uncorrected ? "mce:uncorrected" : "mce:corrected";
  signal.part = "CPU " + std::to_string(*cpu);
  add_detail(signal, "bank", bank);
  if (status) add_status(signal, *status);
  return signal;
}

// As EDAC decodes it on AMD processors: "CPU:0 (17:31:0) MC27_STATUS[Over|CE|MiscV|...]: 0xd82000000002080b"
std::optional<Signal> read_amd_machine_check(std::string_view text) {
  const std::optional<std::uint64_t> cpu = take_number(text);
  (void)take_until(text, " MC");
  const std::optional<std::uint64_t> bank = take_number(text);
  if (!cpu || !bank || !take(text, "_STATUS[")) return std::nullopt;
  const std::string_view flags = take_until(text, "]");
  if (!take(text, ": 0x")) return std::nullopt;
  const std::optional<std::uint64_t> status = take_number(text, 16);
  if (!status) return std::nullopt;
  Signal signal;
  signal.name = (*status & kUncorrected) != 0 ? "mce:uncorrected" : "mce:corrected";
  signal.part = "CPU " + std::to_string(*cpu);
  add_detail(signal, "bank", bank);
  add_status(signal, *status);
  if (contains(flags, "Deferred")) add_detail(signal, "deferred", "1");
  return signal;
}

// "event severity: corrected", after "{37}[Hardware Error]: " of GHES or "[Hardware Error]: " of BERT (the boot before)
std::optional<Signal> read_firmware_record(std::string_view text, bool has_number) {
  if (!take(text, "event severity: ")) return std::nullopt;
  Signal signal;
  for (const std::string_view severity : {"corrected", "recoverable", "fatal"}) {
    if (text.starts_with(severity)) signal.name = "ghes:" + std::string(severity);
  }
  if (signal.name.empty()) return std::nullopt;  // "info"
  add_detail(signal, "record", has_number ? "ghes" : "bert");
  return signal;
}

std::optional<Signal> read_hardware_error(std::string_view message) {
  bool has_number = false;
  if (take(message, "{")) {
    has_number = take_number(message).has_value();
    if (!take(message, "}")) return std::nullopt;
  } else if (!take(message, "mce: ")) {
    (void)take(message, "core: ");
  }
  if (!take(message, "[Hardware Error]:")) return std::nullopt;
  skip_spaces(message);
  if (message.starts_with("Machine check events logged")) {
    Signal signal;
    signal.name = "mce:logged";
    return signal;
  }
  if (take(message, "CPU ")) return read_machine_check(message);
  if (take(message, "CPU:")) return read_amd_machine_check(message);
  return read_firmware_record(message, has_number);
}

// "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#2_DIMM#0 (channel:2 slot:0 ...)"; before 3.5
// "EDAC MC0: CE page 0x283, offset 0xce0, grain 8, syndrome 0x6ec3, row 0, channel 1 "DIMM_B1": amd64_edac"
std::optional<Signal> read_edac(std::string_view text) {
  const std::optional<std::uint64_t> controller = take_number(text);
  if (!controller || !take(text, ": ")) return std::nullopt;
  const std::optional<std::uint64_t> count = take_number(text);
  if (count) skip_spaces(text);
  const bool corrected = take(text, "CE ");
  if (!corrected && !take(text, "UE ")) return std::nullopt;
  Signal signal;
  signal.name = corrected ? "edac:corrected" : "edac:uncorrected";
  std::string_view label;
  if (auto rest = find_after(text, " on ")) {
    label = take_until(*rest, " (");
  } else if (auto quoted = find_after(text, "\"")) {
    label = take_until(*quoted, "\"");
  }
  if (!label.empty()) signal.part = "DIMM " + printable(label, kMaxKernelDetail);
  add_detail(signal, "controller", controller);
  add_detail(signal, "count", count);
  return signal;
}

// "0x1251d6: recovery action for dirty LRU page: Recovered"
std::optional<Signal> read_memory_failure(std::string_view text) {
  const std::string_view page = take_until(text, ": ");
  if (!page.starts_with("0x") || !take(text, "recovery action for ")) return std::nullopt;
  Signal signal;
  signal.name = "mem:page_offlined";
  add_detail(signal, "page", page);
  const std::size_t colon = text.rfind(": ");
  add_detail(signal, "kind", text.substr(0, colon));
  if (colon != std::string_view::npos) add_detail(signal, "result", to_lower(leading_word(text.substr(colon + 2), "")));
  return signal;
}

// "CPU3: Package temperature above threshold, cpu clock throttled (total events = 12705)"
std::optional<Signal> read_throttling(std::string_view text) {
  const std::optional<std::uint64_t> cpu = take_number(text);
  if (!cpu || !take(text, ": ")) return std::nullopt;
  if (!contains(text, "emperature above threshold")) return std::nullopt;
  const std::string_view level = take_until(text, " ");
  Signal signal;
  signal.name = "cpu:throttled";
  signal.part = "CPU " + std::to_string(*cpu);
  if (level != "Temperature") add_detail(signal, "level", to_lower(level));
  add_detail(signal, "total", find_number(text, "total events = "));
  return signal;
}

}  // namespace

std::optional<Signal> read_machine_message(std::string_view message) {
  if (take(message, "EDAC MC")) return read_edac(message);
  if (take(message, "Memory failure: ")) return read_memory_failure(message);
  std::string_view throttled = message;
  (void)take(throttled, "mce: ");
  if (take(throttled, "CPU") && !throttled.empty() && is_digit(throttled.front())) return read_throttling(throttled);
  return read_hardware_error(message);
}

}  // namespace weft::health
