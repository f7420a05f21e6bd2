#include "health/readers/xid_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "health/readers/line_scan.h"
#include "health/readers/pci_address.h"

namespace weft::health {
namespace {

// The driver's last code is 172 (2026); a line with a number far beyond it is damaged.
constexpr std::uint64_t kMaxXid = 999;

// "PCI:0000:3b:00", "0000:3b:00.0", "0001:00", "GPU-e11dfcca-..." and, with MIG, " GPU-I:05 GPU-CI:00" behind it.
void read_device(std::string_view device, Signal& signal) {
  std::string_view rest = device;
  (void)take(rest, "PCI:");
  if (const auto address = take_pci_address(rest)) {
    signal.part = "GPU " + format_pci_device(*address);
  } else if (rest.starts_with("GPU-") && !rest.starts_with("GPU-I:") && !rest.starts_with("GPU-CI:")) {
    signal.part = "GPU " + std::string(leading_word(rest, "-"));
  }
  add_detail(signal, "gi", find_number(device, " GPU-I:"));
  add_detail(signal, "ci", find_number(device, " GPU-CI:"));
}

std::string_view without_quotes(std::string_view value) { return trim(value, "'\""); }

// "pid=1234, name=python3, channel 0x0000000a, " in front of the text: each of them is missing in some drivers.
void take_process(std::string_view& text, Signal& signal) {
  if (take(text, "pid=")) {
    const std::string_view pid = without_quotes(take_until(text, ","));
    std::string_view digits = pid;
    const auto number = take_number(digits);
    if (number && digits.empty()) add_detail(signal, "pid", number);
    skip_spaces(text);
  }
  if (take(text, "name=")) {
    const std::string_view name = without_quotes(take_until(text, ", "));
    if (name != "<unknown>") add_detail(signal, "process", name);
  }
}

void read_channel(std::string_view text, Signal& signal) {
  for (const std::string_view word : {"Ch ", "channel 0x", "Channel ID ", "Channel "}) {
    std::string_view rest = text;
    if (!take(rest, word)) continue;
    const auto number = take_number(rest, 16);
    if (number) signal.details.push_back({"channel", fmt::format("0x{:x}", *number)});
    return;
  }
}

// The words of "(0x10000, 0x0, ...)" or "[0x0000000a 0x1]": of Xid 74 registers, of NVLink 5 interrupt and error
// status.
std::vector<std::string_view> read_words(std::string_view text, std::size_t most) {
  std::vector<std::string_view> words;
  const std::size_t open = text.find_first_of("([");
  if (open == std::string_view::npos) return words;
  text.remove_prefix(open + 1);
  while (words.size() < most) {
    const std::size_t first = text.find_first_not_of(", ");
    if (first == std::string_view::npos) break;
    text.remove_prefix(first);
    const std::string_view word = leading_word(text, "");
    if (word.size() < 3 || word.size() > 18 || !(word.starts_with("0x") || word.starts_with("0X"))) break;
    words.push_back(word);
    text.remove_prefix(word.size());
  }
  return words;
}

void add_words(Signal& signal, std::string_view key, const std::vector<std::string_view>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    signal.details.push_back({std::string(key) + std::to_string(i), to_lower(words[i])});
  }
}

// Xid 74: "NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0, 0x0, 0x0, 0x0)"
void read_nvlink(std::string_view text, Signal& signal) {
  add_detail(signal, "link", find_number(text, "link "));
  if (const auto rest = find_after(text, "link ")) add_words(signal, "reg", read_words(*rest, 7));
}

// Xid 144 to 150: "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 ...)", and "XC 1 i 2" before R575.
void read_nvlink5(std::string_view text, Signal& signal) {
  const std::vector<std::string_view> tokens = split_at_spaces(text.substr(0, text.find_first_of("([")));
  if (tokens.size() < 2) return;
  const bool fatal = equals_ignoring_case(tokens[1], "fatal");
  if (!fatal && !equals_ignoring_case(tokens[1], "nonfatal") && !equals_ignoring_case(tokens[1], "non-fatal")) return;
  const std::string_view subunit = tokens[0].substr(tokens[0].rfind('/') + 1);  // "TLW_RX/TLW_RX_PIPE0"
  add_detail(signal, "unit", subunit.substr(0, subunit.find('_')));
  add_detail(signal, "subunit", subunit);
  add_detail(signal, "severity", fatal ? "fatal" : "nonfatal");
  for (std::size_t i = 2; i + 1 < tokens.size(); ++i) {
    if (tokens[i] == "Link" && tokens[i + 1] != "-1") add_detail(signal, "link", find_number(tokens[i + 1], ""));
  }
  const std::vector<std::string_view> words = read_words(text, 8);
  if (!words.empty()) {
    std::string_view first = words.front().substr(2);
    // NVIDIA's catalog numbers subcodes by bits 20 to 25 of the first word.
    if (const auto info = take_number(first, 16)) add_detail(signal, "subcode", (*info >> 20U) & 0x3FU);
  }
  add_words(signal, "status", words);
}

// Xid 154: "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
void read_recovery_action(std::string_view text, Signal& signal) {
  const auto before = find_after(text, " changed from 0x");
  auto after = find_after(text, ") to 0x");
  if (!before || !after) return;
  std::string_view number = *before;
  const auto old_action = take_number(number, 16);
  const auto action = take_number(*after, 16);
  add_detail(signal, "action", action);
  if (action && take(*after, " (")) add_detail(signal, "action_text", take_until(*after, ")"));
  add_detail(signal, "action_before", old_action);
}

// Xid 13, 156, 157: "on (GPC 8, TPC 5, SM 1)", "Retiring TPC 4 from GPC 2"
void read_processor(std::string_view text, Signal& signal) {
  add_detail(signal, "gpc", find_number(text, "GPC "));
  add_detail(signal, "tpc", find_number(text, "TPC "));
  add_detail(signal, "sm", find_number(text, ", SM "));
}

// Xid 31: "MMU Fault: ENGINE GRAPHICS GPC6 GPCCLIENT_T1_13 faulted @ 0x6f6f_320c2000. Fault is of type FAULT_PDE
// ACCESS_TYPE_VIRT_READ"
void read_mmu_fault(std::string_view text, Signal& signal) {
  if (auto rest = find_after(text, "ENGINE ")) {
    const std::vector<std::string_view> tokens = split_at_spaces(take_until(*rest, " faulted"));
    if (!tokens.empty()) add_detail(signal, "engine", leading_word(tokens.front(), "_"));
    if (tokens.size() > 2) add_detail(signal, "gpc", find_number(tokens[1], "GPC"));
    if (tokens.size() > 1) add_detail(signal, "client", leading_word(tokens.back(), "_"));
  }
  if (const std::size_t at = text.find("FAULT_"); at != std::string_view::npos) {
    add_detail(signal, "fault", leading_word(text.substr(at), "_"));
  }
  if (const std::size_t at = text.find("ACCESS_TYPE_"); at != std::string_view::npos) {
    add_detail(signal, "access", leading_word(text.substr(at), "_"));
  }
}

// The address in "physAddr 0x18f31d80 partition 16", "New row (0x0000000018f31d80) marked", "on
// boot(0x00000000007fffa8)", "retirement at 0x0000000000001234".
void read_memory_address(std::string_view text, Signal& signal) {
  for (const std::string_view words : {"physAddr 0x", "ow (0x", "Remapper: (0x", "Error: (0x", "boot(0x", " at 0x"}) {
    const auto rest = find_after(text, words);
    if (!rest) continue;
    std::string digits = "0x";
    for (const char c : leading_word(*rest, "_")) {  // "0x0000_0000_0123_4567" in some drivers
      if (c != '_') digits += to_lower(c);
    }
    add_detail(signal, "address", digits);
    return;
  }
}

// Xid 48, 63, 64, 92, 94, 95, 140, 160, 171 and 172: which memory, and how far the error got.
void read_memory_error(std::string_view text, Signal& signal) {
  read_memory_address(text, signal);
  add_detail(signal, "partition", find_number(text, " partition "));
  add_detail(signal, "subpartition", find_number(text, "subpartition "));
  add_detail(signal, "bank", find_number(text, "bank "));
  add_detail(signal, "row", find_number(text, " row "));
  // "Contained: SM (0x1). RST: No, D-RST: No"
  const bool contained = text.starts_with("Contained: ");
  if (contained || text.starts_with("Uncontained: ")) {
    add_detail(signal, "containment", contained ? "contained" : "uncontained");
    std::string_view rest = text.substr(text.find(": ") + 2);
    add_detail(signal, "cause", take_until(rest, "."));
    if (const auto reset = find_after(rest, "RST: ")) add_detail(signal, "reset", to_lower(leading_word(*reset, "")));
    if (const auto drain = find_after(rest, "D-RST: ")) {
      add_detail(signal, "drain_reset", to_lower(leading_word(*drain, "")));
    }
  }
  // "... (possible firmware handling failure) DRAM:0, LTC:0, MMU:0, PCIE:0"
  add_detail(signal, "dram_errors", find_number(text, " DRAM:"));
  add_detail(signal, "ltc_errors", find_number(text, " LTC:"));
  add_detail(signal, "mmu_errors", find_number(text, " MMU:"));
  add_detail(signal, "pcie_errors", find_number(text, " PCIE:"));
}

void read_details(std::uint64_t code, std::string_view text, Signal& signal) {
  read_channel(text, signal);
  if (code == 13 || code == 156 || code == 157) read_processor(text, signal);
  if (code == 31) read_mmu_fault(text, signal);
  if (code == 45) add_detail(signal, "previous", find_number(text, "caused by previous Xid "));
  if (code == 74) read_nvlink(text, signal);
  if (code == 137) add_detail(signal, "link", find_number(text, " on link "));
  if (code >= 144 && code <= 150) read_nvlink5(text, signal);
  if (code == 154) read_recovery_action(text, signal);
  constexpr std::array<std::uint64_t, 10> kMemory = {48, 63, 64, 92, 94, 95, 140, 160, 171, 172};
  if (std::find(kMemory.begin(), kMemory.end(), code) != kMemory.end()) read_memory_error(text, signal);
}

}  // namespace

std::optional<Signal> read_xid(std::string_view text) {
  if (!take(text, "(")) return std::nullopt;
  Signal signal;
  const std::string_view device = take_until(text, ")");
  if (!take(text, ":")) return std::nullopt;
  skip_spaces(text);
  const std::optional<std::uint64_t> code = take_number(text);
  if (!code || *code == 0 || *code > kMaxXid) return std::nullopt;
  if (!text.empty() && !take(text, ",") && !text.starts_with(" ") && !text.starts_with(".")) return std::nullopt;
  skip_spaces(text);
  signal.name = "xid:" + std::to_string(*code);
  read_device(device, signal);
  take_process(text, signal);
  read_details(*code, text, signal);
  return signal;
}

}  // namespace weft::health
