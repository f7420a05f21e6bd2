#include "health/readers/kernel_log.h"

#include <algorithm>
#include <array>

#include "health/readers/journal_json.h"
#include "health/readers/kernel_message.h"
#include "health/readers/line_scan.h"
#include "health/readers/log_line.h"
#include "health/readers/pci_address.h"

namespace weft::health {
namespace {

constexpr std::size_t kMaxMessageBytes = 4096;  // of which signals are read; the kernel's own limit is 1024
constexpr std::size_t kMaxTextBytes = 990;      // 1,000 with the last character and "..."
constexpr std::size_t kMaxHostBytes = 255;

using MessageReader = std::optional<Signal> (*)(std::string_view message);

struct Family {
  std::string_view beginning;
  MessageReader read;
};

// How messages begin that may be signals. Most lines of a log begin otherwise, and cost no more than this comparison.
constexpr Family kFamilies[] = {
    {"NVRM: ", read_nvidia_message},
    {"nvidia-nvswitch", read_nvidia_message},
    {"mce: ", read_machine_message},
    {"core: [Hardware Error]", read_machine_message},
    {"[Hardware Error]", read_machine_message},
    {"{", read_machine_message},
    {"EDAC MC", read_machine_message},
    {"Memory failure: ", read_machine_message},
    {"CPU", read_machine_message},
    {"mlx5_", read_network_message},
    {"NETDEV WATCHDOG: ", read_network_message},
    {"nvme ", read_storage_message},
    {"EXT", read_storage_message},
    {"XFS ", read_storage_message},
    {"BTRFS", read_storage_message},
    {"nfs: server ", read_storage_message},
    {"NFS: server ", read_storage_message},
    {"Lustre", read_storage_message},
    {"Buffer I/O error on ", read_storage_message},
    {"I/O error, dev ", read_storage_message},
    {"blk_update_request: ", read_storage_message},
    {"print_req_error: ", read_storage_message},
    {"end_request: ", read_storage_message},
    {"critical ", read_storage_message},
    {"Kernel panic", read_kernel_fault},
    {"Out of memory: ", read_kernel_fault},
    {"Memory cgroup out of memory: ", read_kernel_fault},
    {"BUG: ", read_kernel_fault},
    {"Oops", read_kernel_fault},
    {"Internal error: Oops", read_kernel_fault},
    {"kernel BUG at ", read_kernel_fault},
    {"Unable to handle kernel ", read_kernel_fault},
    {"general protection fault", read_kernel_fault},
    {"NMI watchdog: ", read_kernel_fault},
    {"watchdog: ", read_kernel_fault},
    {"rcu: INFO: ", read_kernel_fault},
    {"INFO: ", read_kernel_fault},
};

// Whether any of these begins with a byte: one look instead of a comparison with each.
constexpr std::array<bool, 256> kFirstBytes = [] {
  std::array<bool, 256> first{};
  for (const Family& family : kFamilies) first[static_cast<unsigned char>(family.beginning.front())] = true;
  return first;
}();

bool may_begin_family(std::string_view message) {
  return !message.empty() && kFirstBytes[static_cast<unsigned char>(message.front())];
}

// "nvme 0000:03:00.0: PCIe Bus Error: ...": messages about a device begin with its driver, whichever that is.
bool names_pci_device(std::string_view message) {
  (void)take_until(message, " ");
  return take_pci_address(message).has_value();
}

bool may_be_about_link(std::string_view message) { return contains(message, "ink ") || contains(message, "NETDEV "); }

bool may_be_signal(std::string_view message) {
  const auto begins = [&](const Family& family) { return message.starts_with(family.beginning); };
  return (may_begin_family(message) && std::any_of(std::begin(kFamilies), std::end(kFamilies), begins)) ||
         names_pci_device(message) || may_be_about_link(message.substr(0, kMaxMessageBytes));
}

std::optional<Signal> read_message(std::string_view message) {
  if (may_begin_family(message)) {
    for (const Family& family : kFamilies) {
      if (!message.starts_with(family.beginning)) continue;
      if (auto signal = family.read(message)) return signal;
    }
  }
  if (names_pci_device(message)) {
    if (auto signal = read_pcie_message(message)) return signal;
  }
  return may_be_about_link(message) ? read_network_message(message) : std::nullopt;
}

// rsyslog shortens repetitions: "message repeated 9 times: [ block nvme0n1: no available path - failing I/O]"
std::optional<std::uint64_t> take_repetition(std::string_view& message) {
  std::string_view rest = message;
  if (!take(rest, "message repeated ")) return std::nullopt;
  const auto times = take_number(rest);
  if (!times || !take(rest, " times: [")) return std::nullopt;
  skip_spaces(rest);
  if (rest.ends_with("]")) rest.remove_suffix(1);
  message = rest;
  return times;
}

std::optional<Signal> read_parts(const LogLine& line) {
  std::string_view message = line.message;
  std::optional<Signal> signal;
  if (line.program == "kernel" || line.program.empty()) {
    if (line.from_user) return std::nullopt;
    skip_kernel_stamps(message);
    const auto times = take_repetition(message);
    message = message.substr(0, kMaxMessageBytes);
    signal = read_message(message);
    if (signal) add_detail(*signal, "repeated", times);
  } else {
    message = message.substr(0, kMaxMessageBytes);
    signal = read_service_message(line.program, message);
  }
  if (!signal) return std::nullopt;
  signal->node = printable(line.host.substr(0, kMaxHostBytes));
  signal->at = line.at;
  signal->text = printable(message, kMaxTextBytes);
  signal->source = SignalSource::kernel;
  return signal;
}

std::optional<Signal> read_journal_line(std::string_view line) {
  const std::optional<std::string_view> raw = find_raw_message(line);
  if (raw && !may_be_signal(*raw) && !contains(line, "fabric")) return std::nullopt;
  const std::optional<JournalRecord> record = read_journal_entry(line);
  if (!record) return std::nullopt;
  LogLine parts;
  parts.host = record->host;
  parts.program = record->program;
  parts.message = record->message;
  parts.at = record->at;
  return read_parts(parts);
}

// The driver writes "The NVIDIA GPU 0000:b3:00.0 ... fallen off the bus" as one message of three lines; dmesg puts no
// time in front of the later ones.
std::optional<Signal> read_continuation(std::string_view line) {
  const std::string_view message = trim(line.substr(0, kMaxMessageBytes));
  if (!line.starts_with(" ") || !message.starts_with("NVRM: fallen off the bus")) return std::nullopt;
  LogLine parts;
  parts.message = message;
  return read_parts(parts);
}

}  // namespace

std::optional<Signal> read_kernel_line(std::string_view line, const LogClock& clock) {
  line = trim_end(line);
  if (is_journal_entry(line)) return read_journal_line(line);
  const std::optional<LogLine> parts = split_log_line(line, clock);
  return parts ? read_parts(*parts) : read_continuation(line);
}

bool is_log_line(std::string_view line) {
  return is_journal_entry(line) || split_log_line(line, LogClock()).has_value();
}

}  // namespace weft::health
