// Messages of NVIDIA's drivers, and of the fabric manager in the system log.
#include "health/readers/kernel_message.h"
#include "health/readers/line_scan.h"
#include "health/readers/pci_address.h"
#include "health/readers/xid_line.h"

namespace weft::health {
namespace {

// NVSwitch codes have five digits.
constexpr std::uint64_t kMaxSxid = 99'999;

std::optional<Signal> make_gpu_signal(std::string_view name, std::string_view device) {
  Signal signal;
  signal.name = name;
  if (const auto address = take_pci_address(device)) signal.part = "GPU " + format_pci_device(*address);
  return signal;
}

// "GPU 0000:0a:00.0: RmInitAdapter failed! (0x24:0x72:1568)", "rm_init_adapter(0) failed" of older drivers
std::optional<Signal> read_init_failure(std::string_view text, std::string_view device) {
  const bool first = contains(text, "RmInitAdapter failed");
  const auto second = find_after(text, "rm_init_adapter");
  if (!first && !(second && contains(*second, "failed"))) return std::nullopt;
  std::optional<Signal> signal = make_gpu_signal("gpu:init_failed", device);
  if (auto code = find_after(text, "RmInitAdapter failed! (")) add_detail(*signal, "code", take_until(*code, ")"));
  add_detail(*signal, "minor", find_number(text, "minor number "));
  return signal;
}

std::optional<Signal> read_nvrm(std::string_view text) {
  if (take(text, "Xid ")) return read_xid(text);
  std::string_view device = text;
  if (!take(device, "GPU at ") && !take(device, "GPU ") && !take(device, "The NVIDIA GPU ")) device = {};
  // "The NVIDIA GPU 0000:b3:00.0 ... fallen off the bus and is not responding to commands." may be three lines.
  if (contains(text, "fallen off the bus")) return make_gpu_signal("gpu:lost", device);
  return read_init_failure(text, device);
}

// "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)". Two
// lines that follow ("Severity 0 Engine instance ...", "Data {...}") repeat the code for the same event.
std::optional<Signal> read_sxid(std::string_view text) {
  const std::optional<std::uint64_t> index = take_number(text);
  if (!take(text, ": SXid (")) return std::nullopt;
  std::string_view device = take_until(text, ")");
  if (!take(text, ": ")) return std::nullopt;
  const std::optional<std::uint64_t> code = take_number(text);
  if (!code || *code == 0 || *code > kMaxSxid) return std::nullopt;
  if (!text.empty() && !take(text, ",")) return std::nullopt;
  skip_spaces(text);
  if (text.starts_with("Severity ") || text.starts_with("Data {")) return std::nullopt;
  Signal signal;
  signal.name = "sxid:" + std::to_string(*code);
  (void)take(device, "PCI:");
  if (const auto address = take_pci_address(device)) signal.part = "NVSwitch " + format_pci_device(*address);
  add_detail(signal, "switch", index);
  const std::string_view severity = text.substr(0, text.find(','));
  if (equals_ignoring_case(severity, "fatal")) add_detail(signal, "severity", "fatal");
  if (equals_ignoring_case(severity, "non-fatal")) add_detail(signal, "severity", "nonfatal");
  add_detail(signal, "link", find_number(text, "Link "));
  return signal;
}

}  // namespace

std::optional<Signal> read_nvidia_message(std::string_view message) {
  if (take(message, "NVRM: ")) return read_nvrm(message);
  if (take(message, "nvidia-nvswitch")) return read_sxid(message);
  return std::nullopt;
}

std::optional<Signal> read_service_message(std::string_view program, std::string_view message) {
  bool failed = false;
  if (program == "systemd") {
    std::string_view rest = message;
    if (take(rest, "nvidia-fabricmanager.service: ")) {
      failed = rest.starts_with("Failed with result") || rest.starts_with("Main process exited, code=") ||
               rest.starts_with("Control process exited, code=");
      failed = failed && !contains(rest, "status=0/SUCCESS");
    } else {
      failed = take(rest, "Failed to start ") && contains(to_lower(rest.substr(0, 80)), "fabric manager");
    }
  } else if (program == "nv-fabricmanager" || program.starts_with("nvidia-fabricmanager")) {
    failed = contains(message, "failed with error") || contains(message, " failed!");
  }
  if (!failed) return std::nullopt;
  Signal signal;
  signal.name = "service:fabric_manager";
  if (auto error = find_after(message, "[NV_"))
    add_detail(signal, "error", "NV_" + std::string(take_until(*error, "]")));
  if (auto result = find_after(message, "with result '")) add_detail(signal, "result", take_until(*result, "'"));
  return signal;
}

}  // namespace weft::health
