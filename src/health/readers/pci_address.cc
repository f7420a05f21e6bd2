#include "health/readers/pci_address.h"

#include <fmt/format.h>

#include "health/readers/line_scan.h"

namespace weft::health {
namespace {

// Hexadecimal digits at the front: how many are allowed tells an address from a time of day or a port.
std::optional<std::uint32_t> take_hex(std::string_view& text, std::size_t least, std::size_t most) {
  std::string_view rest = text;
  const std::optional<std::uint64_t> value = take_number(rest, 16);
  const std::size_t size = text.size() - rest.size();
  if (!value || size < least || size > most) return std::nullopt;
  text = rest;
  return static_cast<std::uint32_t>(*value);
}

}  // namespace

std::optional<PciAddress> take_pci_address(std::string_view& text) {
  std::string_view rest = text;
  const auto first = take_hex(rest, 2, 8);
  if (!first || !take(rest, ":")) return std::nullopt;
  const auto second = take_hex(rest, 2, 2);
  if (!second) return std::nullopt;
  PciAddress address;
  std::string_view longer = rest;
  if (const auto third = take(longer, ":") ? take_hex(longer, 2, 2) : std::nullopt) {
    address = {*first, *second, *third, 0};
    rest = longer;
  } else {
    address = {0, *first, *second, 0};  // "3b:00", and "0001:00" of drivers before 2012
  }
  if (address.bus > 0xFF || address.device > 0x1F) return std::nullopt;
  std::string_view function = rest;
  if (take(function, ".") && !function.empty() && function.front() >= '0' && function.front() <= '7') {
    address.function = static_cast<std::uint32_t>(function.front() - '0');
    rest = function.substr(1);
  }
  text = rest;
  return address;
}

PciAddress from_requester_id(std::uint32_t domain, std::uint32_t id) {
  return {domain, (id >> 8U) & 0xFFU, (id >> 3U) & 0x1FU, id & 7U};
}

std::string format_pci_device(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}", address.domain, address.bus, address.device);
}

std::string format_pci_function(const PciAddress& address) {
  return fmt::format("{}.{}", format_pci_device(address), address.function);
}

}  // namespace weft::health
