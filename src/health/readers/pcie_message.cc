// PCIe errors: AER in the wording of kernels 3 to 6, DPC, and slots whose link went down.
#include "health/readers/kernel_message.h"
#include "health/readers/line_scan.h"
#include "health/readers/pci_address.h"

namespace weft::health {
namespace {

// "Corrected", "Uncorrected (Non-Fatal)"; since 6.8 "Correctable", "Uncorrectable (Fatal)". Before "Multiple ".
std::string_view take_severity(std::string_view& text) {
  (void)take(text, "Multiple ");
  if (take(text, "Corrected") || take(text, "Correctable")) return "aer:corrected";
  if (!take(text, "Uncorrected") && !take(text, "Uncorrectable")) return {};
  if (take(text, " (Non-Fatal)")) return "aer:nonfatal";
  return take(text, " (Fatal)") ? "aer:fatal" : std::string_view();
}

Signal make_pci_signal(std::string_view name, const PciAddress& address) {
  Signal signal;
  signal.name = name;
  signal.part = "PCI " + format_pci_function(address);
  return signal;
}

// What a port reports of the devices below it: "AER: Corrected error received: 0000:03:00.0", "id=00e8" before 4.17,
// "AER: Correctable error message received from 0000:03:00.0" since 6.8.
std::optional<Signal> read_port_report(std::string_view text, const PciAddress& port) {
  const std::string_view name = take_severity(text);
  if (name.empty() || !take(text, " error ")) return std::nullopt;
  (void)take(text, "message ");
  if (!take(text, "received: ") && !take(text, "received from ")) return std::nullopt;
  PciAddress device = port;
  if (take(text, "id=")) {
    const auto id = take_number(text, 16);
    if (id && *id <= 0xFFFF) device = from_requester_id(port.domain, static_cast<std::uint32_t>(*id));
  } else if (const auto address = take_pci_address(text)) {
    device = *address;
  }
  Signal signal = make_pci_signal(name, device);
  add_detail(signal, "line", "port");
  add_detail(signal, "port", format_pci_function(port));
  return signal;
}

// What a device says of its own error: "PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"
std::optional<Signal> read_device_error(std::string_view text, const PciAddress& device) {
  if (!take(text, "PCIe Bus Error: severity=") && !take(text, "CXL Bus Error: severity=")) return std::nullopt;
  const std::string_view name = take_severity(text);
  if (name.empty()) return std::nullopt;
  Signal signal = make_pci_signal(name, device);
  add_detail(signal, "line", "device");
  if (auto type = find_after(text, "type=")) add_detail(signal, "type", take_until(*type, ","));
  if (auto agent = find_after(text, "(")) add_detail(signal, "agent", take_until(*agent, ")"));
  return signal;
}

// "DPC: containment event, status:0x1f01 source:0x3400"; since 6.16 "..., ERR_FATAL received from 0015:01:00.0"
std::optional<Signal> read_containment(std::string_view text, const PciAddress& port) {
  if (!take(text, "DPC: containment event") && !take(text, "DPC containment event")) return std::nullopt;
  PciAddress device = port;
  if (auto source = find_after(text, "source:0x")) {
    const auto id = take_number(*source, 16);
    if (id && *id != 0 && *id <= 0xFFFF) device = from_requester_id(port.domain, static_cast<std::uint32_t>(*id));
  } else if (auto from = find_after(text, "received from ")) {
    device = take_pci_address(*from).value_or(port);
  }
  Signal signal = make_pci_signal("pcie:dpc", device);
  add_detail(signal, "port", format_pci_function(port));
  if (const auto status = find_after(text, "status:")) add_detail(signal, "status", leading_word(*status, ""));
  return signal;
}

// "Slot(400): Link Down", but not "Slot(272): Link Down/Up ignored (recovered by DPC)"
std::optional<Signal> read_slot(std::string_view text, const PciAddress& port) {
  if (!take(text, "Slot(")) return std::nullopt;
  const std::string_view slot = take_until(text, ")");
  if (!take(text, ": Link Down") || text.starts_with("/")) return std::nullopt;
  Signal signal = make_pci_signal("pcie:link_down", port);
  add_detail(signal, "slot", slot);
  return signal;
}

}  // namespace

std::optional<Signal> read_pcie_message(std::string_view message) {
  // "pcieport 0000:89:02.0: pciehp: Slot(400): ...", "pciehp 0000:16:01.0:pcie004: Slot(2): ..." before 4.19
  (void)take_until(message, " ");
  const std::optional<PciAddress> address = take_pci_address(message);
  if (!address) return std::nullopt;
  (void)take_until(message, ": ");
  skip_spaces(message);
  if (take(message, "AER: ")) {
    skip_spaces(message);
    if (auto signal = read_port_report(message, *address)) return signal;
  }
  if (auto signal = read_device_error(message, *address)) return signal;
  if (auto signal = read_containment(message, *address)) return signal;
  (void)take(message, "pciehp: ");
  return read_slot(message, *address);
}

}  // namespace weft::health
